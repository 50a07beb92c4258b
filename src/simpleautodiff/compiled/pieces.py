"""Rows that put pieces into memory: joined, rolled, written, scattered and summed up arrays."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from simpleautodiff.compiled.flat import Flat
from simpleautodiff.compiled.loops import Access, Fold, Loop
from simpleautodiff.compiled.planning import Plan
from simpleautodiff.compiled.symbols import Place
from simpleautodiff.compiled.views import View, places_of, seen_through, steps, whole

Pieces = Iterator[tuple[View, Any]]


def copying(plan: Plan, to: View, source: Any, says: str) -> Loop:
    """Return the loop that puts numbers into a part of a result."""
    flat = Flat()
    kind = plan.kind(to.root) or ""
    loads = []
    known = plan.known(source) if not isinstance(source, View) else None
    if known:
        place = flat.const(known.number, kind)
    else:
        view = source if isinstance(source, View) else plan.view(source)
        own = plan.kind_of_root(view.root)
        loads.append(Access(view.root, own, view.offset, view.within(to.shape)))
        place = flat.to(kind, flat.input(own))
    stores = [(place, Access(to.root, kind, to.offset, to.strides))]
    return Loop(to.shape, flat, loads, stores, [], says)


def _part(plan: Plan, view: View, index: Any) -> View | None:
    return seen_through("getitem", (index,), view, plan.size(view.root))


def _scatter_pieces(plan: Plan, number: int) -> Pieces:
    x, index, shape = plan.lines[number].args
    yield whole(number, shape), 0.0
    part = _part(plan, whole(number, tuple(shape)), index)
    if part:
        yield part, plan.view(x)


def _written_pieces(plan: Plan, number: int) -> Pieces:
    x, value, index = plan.lines[number].args
    result = whole(number, plan.lines[number].shape)
    yield result, plan.view(x) if type(x) is Place else x
    part = _part(plan, result, index)
    if part:
        yield part, plan.view(value) if type(value) is Place else value


def _joined_pieces(plan: Plan, number: int) -> Pieces:
    (axis, ends), *parts = plan.lines[number].args
    result = whole(number, plan.lines[number].shape)
    for k, part in enumerate(parts):
        index = (*[slice(None)] * axis, slice(ends[k], ends[k + 1]))
        to = _part(plan, result, index)
        if to:
            yield to, plan.view(part) if type(part) is Place else part


def _rolled_pieces(plan: Plan, number: int) -> Pieces:
    x, shifts, axes = plan.lines[number].args
    shape = plan.lines[number].shape
    amounts = [0] * len(shape)
    for shift, axis in zip(np.atleast_1d(shifts), np.atleast_1d(axes), strict=True):
        amounts[axis] = (amounts[axis] + int(shift)) % shape[axis]
    halves = [
        [(slice(a, None), slice(None, n - a)), (slice(None, a), slice(n - a, None))] if a else
        [(slice(None), slice(None))]
        for a, n in zip(amounts, shape, strict=True)
    ]  # fmt: skip
    for pairs in itertools.product(*halves):
        to = _part(plan, whole(number, shape), tuple([pair[0] for pair in pairs]))
        source = _part(plan, plan.view(x), tuple([pair[1] for pair in pairs]))
        if to and source:
            yield to, source


PIECES: dict[str, Any] = {
    "scatter": _scatter_pieces,
    "set_item": _written_pieces,
    "concatenate": _joined_pieces,
    "roll": _rolled_pieces,
}


def scattering(plan: Plan, number: int) -> Iterator[Loop]:
    """Put elements where whole numbers say; those that meet are added, one after the other."""
    x, index, shape = plan.lines[number].args
    result, kind = whole(number, tuple(shape)), plan.kind(number) or ""
    yield copying(plan, result, 0.0, f"zeros {shape}")
    where = places_of(result, plan.size(number), index)
    source = plan.view(x)
    flat = Flat()
    own = plan.kind_of_root(source.root)
    place = flat.to(kind, flat.input(own))
    loads = [Access(source.root, own, source.offset, source.within(where.shape))]
    numbers = Access(plan.constant(where), "l", 0, steps(where.shape))
    to = Access(number, kind, 0, (0,) * where.ndim, numbers)
    if np.unique(where).size == where.size:
        yield Loop(where.shape, flat, loads, [(place, to)], [], f"scatter {where.shape}")
    else:
        folds = [Fold("add", place, to, begun=True)]
        yield Loop(where.shape, flat, loads, [], folds, f"scatter-add {where.shape}", alone=True)


def cumulating(plan: Plan, number: int) -> Iterator[Loop]:
    """Add up elements along an axis, one after the other."""
    line = plan.lines[number]
    axis = line.args[1] % len(line.shape)
    kind = plan.kind(number) or ""
    x, result = plan.view(line.args[0]), whole(number, line.shape)
    at = (slice(None),) * axis
    for index in ((*at, slice(0, 1)), (*at, slice(1, None))):
        to, source = _part(plan, result, index), _part(plan, x, index)
        if to and source and index[-1].start == 0:
            yield copying(plan, to, source, f"cumsum {line.shape}")
        elif to and source:
            flat = Flat()
            own = plan.kind_of_root(x.root)
            total = flat.add(flat.input(kind), flat.to(kind, flat.input(own)))
            before = Access(number, kind, 0, to.strides)
            loads = [before, Access(x.root, own, source.offset, source.strides)]
            stores = [(total, Access(number, kind, to.offset, to.strides))]
            yield Loop(to.shape, flat, loads, stores, [], f"cumsum {line.shape}", alone=True)
