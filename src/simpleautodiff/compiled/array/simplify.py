"""Simplify a recorded program: fold constants, share equal lines, drop unneeded lines.

Lines without inputs are computed once; of equal lines one stays; lines that return their argument
(a product with ones, a reshape to the same shape, a conversion to the same dtype) are dropped, and
so are lines that nothing needs: no result is changed. A common factor of all terms of a sum is
taken out of it, unless every bit counts: it may change the last bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from simpleautodiff.compiled.recording.trace_program import (
    Guard,
    Line,
    RecordedProgram,
    Ref,
    argument_key,
    find_refs,
    with_values,
)
from simpleautodiff.core.level import evaluate
from simpleautodiff.core.primitive import Primitive
from simpleautodiff.rules.array.indexing import is_basic
from simpleautodiff.rules.row import TABLE

_LARGE = float(np.finfo(np.float32).max)


def compute(line: Line, values: Any) -> Any:
    """Compute one line with NumPy, given the values of the lines before.

    A function that is not the library's gets arrays of its own, and its result is copied: it may
    keep both, as a cache does, and the memory of the values gets other numbers.
    """
    args = with_values(line.args, values)
    if isinstance(line.what, Primitive):
        if TABLE.get(line.what.name) is line.what:
            return evaluate(line.what, args)
        return _copy_array(evaluate(line.what, tuple(map(_copy_array, args))))
    return line.what(*args, **with_values(line.kwargs, values))


def _copy_array(x: Any) -> Any:
    return x.copy() if isinstance(x, np.ndarray) else x


def clean(recorded: RecordedProgram, precise: bool = False) -> RecordedProgram:
    """Return the same program with fewer lines; `precise` says that every bit counts.

    Examples
    --------
    >>> from simpleautodiff.compiled.recording.symbol_level import SymbolLevel
    >>> level = SymbolLevel()
    >>> with level:
    ...     x = level.input(np.arange(3.0))
    ...     y = np.ones(3) * np.sin(x) + np.sin(x)
    >>> [line.name for line in clean(level.finish([y], 1)).lines]
    ['input', 'sin', 'add']
    """
    new = _Cleaner(precise)
    for number, line in enumerate(recorded.lines):
        new.take(number, line)
    guards = [g._replace(place=new.of[g.place]) for g in recorded.guards]
    outputs = with_values(list(recorded.outputs), new.of)
    return without_dead(RecordedProgram(new.lines, recorded.inputs, guards, outputs))


class _Cleaner:
    """Simplifies the lines of a program one by one."""

    def __init__(self, precise: bool) -> None:
        self.precise = precise
        self.lines: list[Line] = []
        self.of: dict[int, Any] = {}  # by old line: its new index, or its constant value
        self._known: dict[Any, Ref] = {}

    def take(self, number: int, line: Line) -> None:
        """Simplify the next line."""
        if line.what is None:
            self.of[number] = self._append(line)
            return
        line = line._replace(
            args=with_values(line.args, self.of), kwargs=with_values(line.kwargs, self.of)
        )
        self.of[number] = self._place(self._before_writes(line))

    def _before_writes(self, line: Line) -> Line:
        """Read a part of an array from before a write that does not overlap it."""
        while line.name == "getitem" and type(line.args[0]) is Ref:
            written = self.lines[line.args[0]]
            if written.name != "set_item" or type(written.args[0]) is not Ref:
                break
            before = self.lines[written.args[0]]
            alike = before.shape == written.shape and before.dtype == written.dtype
            if not alike or not _are_apart(written.shape, written.args[2], line.args[1]):
                break
            line = line._replace(args=(written.args[0], line.args[1]))
        return line

    def _place(self, line: Line) -> Any:
        """Return the index of a line, or of an equal one; or its value, if it is known."""
        if next(find_refs((line.args, line.kwargs)), None) is None:
            with np.errstate(all="ignore"):
                return compute(line, ())
        same = self._put_back(line) if line.name == "set_item" else self._same_as(line)
        if same is None and not self.precise:
            same = self._factor_out(line) if line.name != "add" else self._put_together(line)
        if same is not None:
            return same
        key = (line.what, argument_key(line.args), argument_key(line.kwargs))
        if key not in self._known:
            self._known[key] = self._append(line)
        return self._known[key]

    def _put_together(self, line: Line) -> Any:
        """Return a sum as the original array, if a part of it was set to 0 and is added back.

        The adjoints of `y[1:] += x` have this form: those of the part are taken out, and put back.
        """
        if len(line.args) != 2 or any([type(arg) is not Ref for arg in line.args]):
            return None
        for part, rest in (line.args, line.args[::-1]):
            found = self._find_part(self.lines[part], self.lines[rest])
            if found is not None:
                return self._place(line._replace(what=TABLE["set_item"], args=found))
        return None

    def _put_back(self, line: Line) -> Ref | None:
        """Return the array that a part of itself is written to, where it was."""
        x, value, index = line.args
        if type(x) is not Ref or type(value) is not Ref or not _is_fixed(index):
            return None
        taken = self.lines[value]
        is_part = taken.name == "getitem" and _same_part(taken.args, (x, index))
        return x if is_part and self.lines[x].dtype == line.dtype else None

    def _find_part(self, part: Line, rest: Line) -> tuple[Any, ...] | None:
        """Return the array, the part and the index, if a part was taken out and set to 0."""
        if part.name != "scatter" or rest.name != "set_item" or not _is_all(rest.args[1], 0):
            return None
        x, _, index = rest.args
        alike = part.shape == rest.shape and part.dtype == rest.dtype and _is_fixed(index)
        if not alike or type(x) is not Ref or not _same_part((x, part.args[1]), (x, index)):
            return None
        return x, part.args[0], index

    def _factor_out(self, line: Line) -> Any:
        """Take a sign out of the sum of an array, or a common factor of all terms."""
        if line.name not in ("sum", "sum_to") or type(line.args[0]) is not Ref:
            return None
        terms = self.lines[line.args[0]]
        if terms.name == "neg" and terms.dtype == line.dtype:
            total = self._place(line._replace(args=(terms.args[0], *line.args[1:])))
            return self._place(line._replace(what=terms.what, args=(total,)))
        for k in (0, 1) if terms.name == "mul" and not line.shape else ():
            factor, other = self._single(terms.args[k]), terms.args[1 - k]
            if factor is not None and type(other) is Ref:
                of = self.lines[other]
                if of.shape == terms.shape and of.dtype == terms.dtype == line.dtype:
                    total = self._sum(other)
                    without = self._times_divisor(factor, total)
                    if without is not None:
                        return without
                    return self._place(line._replace(what=terms.what, args=(factor, total)))
        return None

    def _times_divisor(self, factor: Any, divisor: Any) -> Any:
        """Return a factor times the number that it is divided by; None if it is no quotient.

        For the sum of weights that are divided by their sum, this is exactly 1.
        """
        line = self.lines[factor] if type(factor) is Ref else None
        if line is None or line.name not in ("mul", "div"):
            return None
        if line.name == "div":
            is_divisor = type(line.args[1]) is Ref and line.args[1] == divisor
            return line.args[0] if is_divisor else None
        for k in (0, 1):
            without = self._times_divisor(line.args[k], divisor)
            if without is not None:
                return self._place(line._replace(args=(without, line.args[1 - k])))
        return None

    def _sum(self, array: Ref) -> Any:
        of = self.lines[array]
        return self._place(Line(TABLE["sum"], (array, None, False), {}, (), of.dtype))

    def _single(self, arg: Any) -> Any:
        """Return the number that all elements of an argument equal; None if they differ."""
        if type(arg) is float or type(arg) is int:
            return arg if abs(arg) < _LARGE else None  # finite in every dtype
        if type(arg) is not Ref:
            return None
        line = self.lines[arg]
        if line.name == "broadcast_to":
            return self._single(line.args[0])
        return None if line.shape else arg

    def _append(self, line: Line) -> Ref:
        self.lines.append(line)
        return Ref(len(self.lines) - 1)

    def _same_as(self, line: Line) -> Ref | None:
        """Return the argument that a line returns unchanged, if it does."""
        is_same = _SAME.get(line.name) if isinstance(line.what, Primitive) else None
        for k in (0, 1):
            arg = line.args[k] if is_same and k < len(line.args) else None
            if type(arg) is Ref:
                given = self.lines[arg]
                alike = given.shape == line.shape and given.dtype == line.dtype
                if is_same and alike and is_same(line.args, k, given):
                    return arg
        return None


def _is_first(args: Any, k: int, given: Line) -> bool:
    return k == 0


def _is_real(args: Any, k: int, given: Line) -> bool:
    return k == 0 and given.dtype is not None and given.dtype.kind != "c"


def _is_times_one(args: Any, k: int, given: Line) -> bool:
    return _is_all(args[1 - k], 1)


def _is_by_one(args: Any, k: int, given: Line) -> bool:
    return k == 0 and _is_all(args[1], 1)


def _is_chosen(args: Any, k: int, given: Line) -> bool:
    return k == 1 and isinstance(args[0], np.ndarray) and _is_all(args[0], True)


def _is_unturned(args: Any, k: int, given: Line) -> bool:
    axes = args[1]
    return sum(n != 1 for n in given.shape) < 2 or axes == tuple(range(len(given.shape)))


def _is_whole(args: Any, k: int, given: Line) -> bool:
    if not _is_fixed(args[1]):
        return False
    if not given.shape:
        return True
    whole = _outline(given.shape)
    part = whole[args[1]]
    same = part.__array_interface__["data"] == whole.__array_interface__["data"]
    return bool(same and part.strides == whole.strides)


def _is_fixed(index: Any) -> bool:
    """Tell whether an index has only constant integers and slices."""
    return next(find_refs(index), None) is None and is_basic(index)


def _same_part(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Tell whether two arrays and indices are the same part of one array."""
    keys = [argument_key((x, np.index_exp[index])) for x, index in (one, other)]
    return bool(keys[0] == keys[1])


def _are_apart(shape: tuple[int, ...], one: Any, other: Any) -> bool:
    """Tell whether two parts of an array have no common element."""
    if not shape or not _is_fixed(one) or not _is_fixed(other):
        return False
    whole = _outline(shape)
    first, second = (whole[_as_view(index)] for index in (one, other))
    return not np.may_share_memory(first, second)


def _as_view(index: Any) -> tuple[Any, ...]:
    """Return an index that gives an array even if it selects one element."""
    parts = np.index_exp[index]
    return parts if any([part is Ellipsis for part in parts]) else (*parts, ...)


def _outline(shape: tuple[int, ...]) -> Any:
    """Return a contiguous dummy array of bytes, which is never read."""
    start = np.broadcast_to(np.empty(1, np.int8), shape)
    return np.lib.stride_tricks.as_strided(start, shape, _steps(shape))


def _steps(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(np.cumprod((1, *shape[:0:-1]))[::-1].tolist())


_SAME: dict[str, Callable[[Any, int, Line], bool]] = {
    **dict.fromkeys(("pos", "stop_gradient"), _is_first),
    **dict.fromkeys(("conj", "real"), _is_real),
    **dict.fromkeys(("astype", "reshape", "broadcast_to", "sum_to"), _is_first),
    "transpose": _is_unturned,
    "getitem": _is_whole,
    "where": _is_chosen,
    "mul": _is_times_one,
    "div": _is_by_one,
}


def _is_all(arg: Any, number: float) -> bool:
    kind = type(arg)
    if kind is float or kind is int:
        return bool(arg == number)
    return (
        isinstance(arg, (np.ndarray, np.generic)) and arg.size > 0 and bool((arg == number).all())
    )


def find_needed(program: RecordedProgram, refs: Sequence[Sequence[int]]) -> list[bool]:
    """Tell which lines results, guards or other lines need; `refs` are the needs of each line."""
    needed = [number < program.inputs for number in range(len(refs))]
    for end in find_refs([*program.outputs, *[guard.place for guard in program.guards]]):
        needed[end] = True
    for number in range(len(refs) - 1, -1, -1):
        if needed[number]:
            for place in refs[number]:
                needed[place] = True
    return needed


def without_dead(program: RecordedProgram) -> RecordedProgram:
    """Return a program without the lines that neither results nor guards need."""
    lines = program.lines
    needed = find_needed(program, [line.needs() for line in lines])
    if all(needed):
        return program
    of: dict[int, Any] = {}
    kept: list[Line] = []
    for number, line in enumerate(lines):
        if needed[number]:
            of[number] = Ref(len(kept))
            dropped = len(kept) < number  # some earlier lines
            kept.append(line.renumbered(of) if dropped else line)
    guards = [_renumber(guard, of) for guard in program.guards]
    return RecordedProgram(kept, program.inputs, guards, with_values(program.outputs, of))


def _renumber(guard: Guard, of: dict[int, Any]) -> Guard:
    return guard._replace(place=of[guard.place]) if type(guard.place) is Ref else guard


def compute_constants(made: RecordedProgram, program: RecordedProgram) -> RecordedProgram:
    """Return a program with lines for results and guards that have become constants.

    The real part of 1j * x is one. Whoever runs the program expects what it computed before.
    """
    lines = list(made.lines)

    def find_line(new: Any, old: Any) -> Any:
        if type(new) is Ref or type(old) is not Ref:
            return new
        shape, dtype = program.lines[old].shape, program.lines[old].dtype
        lines.append(Line(TABLE["astype"], (new, dtype), {}, shape, dtype))
        return Ref(len(lines) - 1)

    outputs = [*map(find_line, made.outputs, program.outputs)]
    guards = [
        new._replace(place=find_line(new.place, old.place))
        for new, old in zip(made.guards, program.guards, strict=True)
    ]
    return RecordedProgram(lines, made.inputs, guards, outputs)
