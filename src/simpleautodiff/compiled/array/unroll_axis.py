"""Unroll a short last axis of a loop, so that another axis can be vectorized."""

from __future__ import annotations

from dataclasses import replace

from simpleautodiff.compiled.array.loops import Access, Fold, Loop
from simpleautodiff.compiled.scalar.scalar_program import ScalarProgram


def unroll_last_axis(loop: Loop) -> Loop:
    """Return the loop without its last axis: the body is repeated for every index along it.

    Examples
    --------
    >>> flat = ScalarProgram()
    >>> x = flat.input()
    >>> square = Fold("add", flat.mul(x, x), Access(1, "d", 0, (1, 0)))
    >>> loop = unroll_last_axis(Loop((100, 3), flat, [Access(0, "d", 0, (3, 1))], [], [square]))
    >>> loop.shape, [access.offset for access in loop.loads], len(loop.folds), len(loop.stores)
    ((100,), [0, 1, 2], 0, 1)
    """
    *shape, count = loop.shape
    new = Loop(tuple(shape), ScalarProgram(loop.body.precise), says=loop.says)
    loop.body.outputs = [place for place, _ in loop.stores] + [fold.place for fold in loop.folds]
    live = loop.body.live()
    copies = [_copy(loop, live, new, k) for k in range(count)]
    for place, to in loop.stores:
        for k, of in enumerate(copies):
            new.stores.append((of[place], _shift(to, k)))
    for fold in loop.folds:
        _fold(new, fold, [of[fold.place] for of in copies])
    return new


def _copy(loop: Loop, live: list[int], new: Loop, k: int) -> dict[int, int]:
    """Write the body for one index along the axis; return the new indices of its steps."""
    of: dict[int, int] = {}
    flat = new.body
    for place in live:
        (operation, *args), dtype = loop.body.steps[place], loop.body.dtypes[place]
        if operation == "input":
            of[place] = _load(new, _shift(loop.loads[args[0]], k))
        elif loop.body.is_zero(place):
            of[place] = flat.zero(dtype)
        elif operation == "const":
            of[place] = flat.const(loop.body.number(place), dtype)
        else:
            of[place] = flat.make(operation, *[of[arg] for arg in args])
    return of


def _load(new: Loop, access: Access) -> int:
    for place, known in zip(new.body.inputs, new.loads, strict=True):
        if (known.slot, known.dtype, known.offset, known.strides) == (
            access.slot, access.dtype, access.offset, access.strides
        ):  # fmt: skip
            return place
    new.loads.append(access)
    return new.body.input(access.dtype)


def _shift(access: Access, k: int) -> Access:
    """Return an access at one index along the last axis."""
    offset = access.offset + k * access.step
    return replace(access, offset=offset, strides=access.strides[:-1])


def _fold(new: Loop, fold: Fold, places: list[int]) -> None:
    """Combine elements along the axis, or keep them apart."""
    if fold.to.step:
        new.folds += [
            replace(fold, place=place, to=_shift(fold.to, k)) for k, place in enumerate(places)
        ]
        return
    whole = places[0]
    for place in places[1:]:
        whole = new.body.make(fold.operation, whole, place)
    to = _shift(fold.to, 0)
    if all(to.strides) and not fold.begun:
        new.stores.append((whole, to))
    else:
        new.folds.append(replace(fold, place=whole, to=to))
