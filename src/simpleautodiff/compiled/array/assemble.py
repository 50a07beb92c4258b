"""Rows that write pieces into memory: joined, rolled, written, scattered and accumulated arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from simpleautodiff.compiled.array.boxes import roll_pieces
from simpleautodiff.compiled.array.gather import are_distinct, find_distances
from simpleautodiff.compiled.array.loops import Access, Fold, Loop
from simpleautodiff.compiled.array.view_accesses import Shape, View, apply_view, find_strides, whole
from simpleautodiff.compiled.recording.trace_program import Ref
from simpleautodiff.compiled.scalar.scalar_program import ScalarProgram
from simpleautodiff.rules.array.indexing import is_basic

if TYPE_CHECKING:
    from simpleautodiff.compiled.array.schedule import LoopSchedule

Pieces = Iterator[tuple[View, Any]]


def copy_loop(plan: LoopSchedule, to: View, source: Any, says: str) -> Loop:
    """Return the loop that copies numbers into a part of a result."""
    flat = ScalarProgram()
    dtype = plan.dtype_of(to.root) or ""
    loads = []
    known = plan.known(source) if not isinstance(source, View) else None
    if known:
        place = flat.const(known.number, dtype)
    else:
        view = source if isinstance(source, View) else plan.view(source)
        own = plan.dtype_of_root(view.root)
        loads.append(Access(view.root, own, view.offset, view.within(to.shape)))
        place = flat.to(dtype, flat.input(own))
    stores = [(place, Access(to.root, dtype, to.offset, to.strides))]
    return Loop(to.shape, flat, loads, stores, [], says)


def _part(plan: LoopSchedule, view: View, index: Any) -> View | None:
    return apply_view("getitem", (index,), view, plan.size(view.root))


def _scatter_pieces(plan: LoopSchedule, number: int) -> Pieces:
    x, index, shape = plan.lines[number].args
    yield whole(number, shape), 0.0
    part = _part(plan, whole(number, tuple(shape)), index)
    if part:
        yield part, plan.view(x)


def _concatenate_pieces(plan: LoopSchedule, number: int) -> Pieces:
    (axis, ends), *parts = plan.lines[number].args
    result = whole(number, plan.lines[number].shape)
    for k, part in enumerate(parts):
        index = (*[slice(None)] * axis, slice(ends[k], ends[k + 1]))
        to = _part(plan, result, index)
        if to:
            yield to, plan.view(part) if type(part) is Ref else part


def _roll_pieces(plan: LoopSchedule, number: int) -> Pieces:
    line = plan.lines[number]
    for target, origin in roll_pieces(line):
        to = _part(plan, whole(number, line.shape), target)
        source = _part(plan, plan.view(line.args[0]), origin)
        if to and source:
            yield to, source


def _assemble(
    pieces: Callable[[LoopSchedule, int], Pieces],
) -> Callable[[LoopSchedule, int], Iterator[Loop]]:
    """Return a function that makes the loops which write pieces into the memory of a result."""

    def assemble(plan: LoopSchedule, number: int) -> Iterator[Loop]:
        line = plan.lines[number]
        for to, source in pieces(plan, number):
            yield copy_loop(plan, to, source, f"{line.name} {line.shape}")

    return assemble


assemble_scatter = _assemble(_scatter_pieces)
assemble_concatenate = _assemble(_concatenate_pieces)
assemble_roll = _assemble(_roll_pieces)


def find_chosen_access(
    plan: LoopSchedule, view: View, chosen: Any, shape: Shape, dtype: str
) -> Access:
    """Return the access to the elements of a view at given distances (see `gather`)."""
    far, behind = chosen
    leading = len(shape) - behind
    where = plan.view(far)
    strides = (*where.within(shape[:leading]), *[0] * behind)
    numbers = Access(where.root, "l", where.offset, strides)
    along = view.strides[len(view.strides) - behind :]
    own = (
        *[0] * leading,
        *[0 if n == 1 else s for n, s in zip(shape[leading:], along, strict=True)],
    )
    return Access(view.root, dtype, view.offset, own, numbers)


def scatter_loops(plan: LoopSchedule, number: int) -> Iterator[Loop]:
    """Write elements at given distances; those at the same distance are added in turn."""
    if plan.lines[number].name == "set_item":
        yield from _write_computed(plan, number)
        return
    x, chosen, shape = plan.lines[number].args
    result, dtype = whole(number, tuple(shape)), plan.dtype_of(number) or ""
    yield copy_loop(plan, result, 0.0, f"zeros {shape}")
    source = plan.view(x)
    flat = ScalarProgram()
    own = plan.dtype_of_root(source.root)
    place = flat.to(dtype, flat.input(own))
    loads = [Access(source.root, own, source.offset, source.strides)]
    to = find_chosen_access(plan, result, chosen, source.shape, dtype)
    far, behind = chosen
    says = f"scatter {source.shape}"
    if type(far) is not Ref and are_distinct(far):
        yield Loop(source.shape, flat, loads, [(place, to)], [], says)
    else:
        rows = bool(behind) and source.shape[-1] > 1
        folds = [Fold("add", place, to, begun=True)]
        yield Loop(source.shape, flat, loads, [], folds, says, alone=not rows, fixed=True)


def assemble_set_item(plan: LoopSchedule, number: int) -> Iterator[Loop]:
    """Copy an array, and write to the elements that an index selects."""
    line = plan.lines[number]
    x, value, index = line.args
    result, says = whole(number, line.shape), f"set_item {line.shape}"
    yield copy_loop(plan, result, plan.view(x) if type(x) is Ref else x, says)
    part = _part(plan, result, index)
    if part:
        yield copy_loop(plan, part, plan.view(value) if type(value) is Ref else value, says)
    if part or is_basic(index):
        return
    far, behind = find_distances(index, result, plan.size(number))
    yield _write_at(plan, number, (far, behind), far.shape, not are_distinct(far))


def _write_at(plan: LoopSchedule, number: int, chosen: Any, leading: Shape, repeats: bool) -> Loop:
    """Return the loop that writes to given distances, one by one if some may be the same."""
    line = plan.lines[number]
    result, says = whole(number, line.shape), f"set_item {line.shape}"
    shape = (*leading, *line.shape[len(line.shape) - chosen[1] :])
    loop = copy_loop(plan, View(number, shape, 0, find_strides(shape)), line.args[1], says)
    to = find_chosen_access(plan, result, chosen, shape, plan.dtype_of(number) or "")
    loop.stores = [(loop.stores[0][0], to)]
    loop.alone = repeats
    return loop


def _write_computed(plan: LoopSchedule, number: int) -> Iterator[Loop]:
    """Copy an array, and write to the elements that computed indices select."""
    line = plan.lines[number]
    x, _, chosen = line.args
    yield copy_loop(
        plan, whole(number, line.shape), plan.view(x) if type(x) is Ref else x, line.name
    )
    yield _write_at(plan, number, chosen, plan.lines[chosen[0]].shape, True)


def assemble_cumsum(plan: LoopSchedule, number: int) -> Iterator[Loop]:
    """Add up elements along an axis, one after another."""
    line = plan.lines[number]
    axis = line.args[1] % len(line.shape)
    dtype = plan.dtype_of(number) or ""
    x, result = plan.view(line.args[0]), whole(number, line.shape)
    at = (slice(None),) * axis
    for index in ((*at, slice(0, 1)), (*at, slice(1, None))):
        to, source = _part(plan, result, index), _part(plan, x, index)
        if to and source and index[-1].start == 0:
            yield copy_loop(plan, to, source, f"cumsum {line.shape}")
        elif to and source:
            flat = ScalarProgram()
            own = plan.dtype_of_root(x.root)
            total = flat.add(flat.input(dtype), flat.to(dtype, flat.input(own)))
            before = Access(number, dtype, 0, to.strides)
            loads = [before, Access(x.root, own, source.offset, source.strides)]
            stores = [(total, Access(number, dtype, to.offset, to.strides))]
            yield Loop(to.shape, flat, loads, stores, [], f"cumsum {line.shape}", alone=True)
