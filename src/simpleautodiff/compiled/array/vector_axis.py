"""Choose the axis along which a loop is vectorized, and a short one to unroll.

All choices are compared by a rough count of instructions: elements that are not adjacent along the
vector axis are gathered one by one, sums along it are added up across lanes at the end of every
row, and sums along an unrolled axis stay in registers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from simpleautodiff.compiled.array.loops import Access, Fold, Loop
from simpleautodiff.compiled.array.unroll_axis import unroll_last_axis
from simpleautodiff.compiled.array.view_accesses import find_strides
from simpleautodiff.compiled.scalar.operations import OPERATIONS

MOST_COPIES = 16  # elements of an unrolled axis, at most
UNROLLED_STEPS = 120  # steps of the unrolled body, at most
GATHERED, SCATTERED = 1.5, 2.0  # instructions for each element that is not adjacent
PACKED = 4096  # elements that are packed before a loop, at most
OFTEN = 8  # how often a loop must read each packed element
ROW = 6  # instructions that begin and end a row
MATHEMATICS = 20  # instructions of a function like exp


@dataclass(frozen=True)
class AxisChoice:
    """A choice of the vector axis, and of an axis to unroll, if any."""

    vectors: int
    unrolled: int | None = None


def arrange_axes(loop: Loop, lanes: int) -> Loop:
    """Return the loop with its vector axis last, and perhaps without a short one.

    Examples
    --------
    >>> from simpleautodiff.compiled.scalar.scalar_program import ScalarProgram
    >>> flat = ScalarProgram()
    >>> x = flat.input()
    >>> square = Fold("add", flat.mul(x, x), Access(1, "d", 0, (1, 0)))
    >>> loop = arrange_axes(Loop((100, 3), flat, [Access(0, "d", 0, (3, 1))], [], [square]), 8)
    >>> loop.shape, [access.offset for access in loop.loads], len(loop.folds), len(loop.stores)
    ((100,), [0, 1, 2], 0, 1)
    """
    if lanes == 1 or len(loop.shape) < 2 or loop.fixed or loop.alone:
        return loop
    choice = min(_list_choices(loop), key=lambda choice: _cost(loop, choice, lanes))
    if choice.unrolled is not None:
        loop.move_last(choice.unrolled)
        loop = unroll_last_axis(loop)
        loop.move_last(choice.vectors - (choice.unrolled < choice.vectors))
    else:
        loop.move_last(choice.vectors)
    return loop


def _list_choices(loop: Loop) -> list[AxisChoice]:
    """Return all choices; of equally good ones the first is taken."""
    axes = range(len(loop.shape) - 1, -1, -1)
    short: list[int | None] = [None]
    if all(not access.places and not access.box for access in loop.accesses()):
        short += [
            axis
            for axis in axes
            if loop.shape[axis] <= MOST_COPIES
            and loop.shape[axis] * len(loop.body) <= UNROLLED_STEPS
        ]
    return [AxisChoice(axis, u) for u in short for axis in axes if axis != u]


def _cost(loop: Loop, choice: AxisChoice, lanes: int) -> float:
    """Return roughly how many instructions a loop takes."""
    count = loop.shape[choice.vectors]
    width = min(lanes, 1 << (count - 1).bit_length())
    copies = 1 if choice.unrolled is None else loop.shape[choice.unrolled]
    once, each = float(ROW), float(copies * _weigh(loop))
    for access in loop.loads:
        taken = 1 if choice.unrolled is None or not access.strides[choice.unrolled] else copies
        if access.is_same_along(choice.vectors):
            once += taken
        else:
            each += taken * _price_loading(loop, access, choice, width)
    for _, to in loop.stores:
        each += copies * _price_move(to, choice, width, SCATTERED)
    for fold in loop.folds:
        more_once, more_each = _cost_of_fold(loop, fold, choice, width, copies)
        once, each = once + more_once, each + more_each
    others = math.prod([
        n for axis, n in enumerate(loop.shape) if axis not in (choice.vectors, choice.unrolled)
    ])  # fmt: skip
    return others * (once + each * -(-count // width))


def _cost_of_fold(
    loop: Loop, fold: Fold, choice: AxisChoice, width: int, copies: int
) -> tuple[float, float]:
    """Return the cost of a reduction, per row and per vector."""
    apart = choice.unrolled is not None and fold.to.strides[choice.unrolled]
    results = copies if apart else 1
    if fold.to.is_same_along(choice.vectors):
        return results * (3 * math.log2(width) + 3), float(copies)
    inside = {choice.vectors, choice.unrolled}
    again = any(not step for axis, step in enumerate(fold.to.strides) if axis not in inside)
    moved = _price_move(fold.to, choice, width, SCATTERED)
    if again:
        moved += 1 + _price_move(fold.to, choice, width, GATHERED)
    return 0.0, results * moved + (copies - results)


def _price_loading(loop: Loop, access: Access, choice: AxisChoice, width: int) -> float:
    is_packed = is_worth_packing(loop, access, choice.vectors)
    return 1.0 if is_packed else _price_move(access, choice, width, GATHERED)


def is_worth_packing(loop: Loop, access: Access, axis: int) -> bool:
    """Tell whether elements are better copied first, so that they are adjacent along an axis.

    They must be few, and the loop must read each of them many times.
    """
    if access.places or access.box or access.strides[axis] in (0, 1):
        return False
    count = math.prod([n for n, step in zip(loop.shape, access.strides, strict=True) if step])
    return count <= PACKED and math.prod(loop.shape) >= OFTEN * count


def pack(loop: Loop) -> list[tuple[Access, Access]]:
    """Make a loop read packed copies of elements that are not adjacent, where that pays.

    Returns pairs: the access to be copied before the loop, and its copy.
    """
    packed = []
    for k, access in enumerate(loop.loads):
        if loop.shape and is_worth_packing(loop, access, len(loop.shape) - 1):
            source = replace(access)
            kept = [n if step else 1 for n, step in zip(loop.shape, access.strides, strict=True)]
            along = zip(find_strides(tuple(kept)), access.strides, strict=True)
            access.slot, access.offset = f"copy {k}", 0
            access.strides = tuple([new if step else 0 for new, step in along])
            packed.append((source, access))
    return packed


def _price_move(access: Access, choice: AxisChoice, width: int, apart: float) -> float:
    """Return the cost of loading or storing one vector."""
    by_number = access.places is not None and access.places.strides[choice.vectors]
    step = access.strides[choice.vectors]
    together = not by_number and (step == 1 or (step == 0 and not access.box))
    own = 1.0 if together else apart * width
    return own + (_price_move(access.under, choice, width, apart) if access.under else 0.0)


def _weigh(loop: Loop) -> int:
    """Return roughly how many instructions the body has."""
    return sum([
        _weight_of_step(operation, loop.body.dtypes[args[-1]])
        for operation, *args in loop.body.steps
        if operation not in ("input", "const")
    ])  # fmt: skip


def _weight_of_step(operation: str, dtype: str) -> int:
    code = OPERATIONS[operation].code(dtype)
    return 1 if code and code.llvm else MATHEMATICS
