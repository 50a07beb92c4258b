"""Run a function on symbols, and record what is done to them as a program.

A symbol stands for a number or an array that differs from call to call. Which branch the code took
for the numbers of this call is recorded as a *guard*, a bool that has to be the same at every call
that uses the program.

Transformations stand above: `grad(f)` run on symbols computes with nodes whose values are symbols,
so the program contains the sweep.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import Any

import numpy as np

from simpleautodiff.arrays.batch.opaque import OpaqueLevel
from simpleautodiff.compiled.recording.constant_copies import ConstantCopies
from simpleautodiff.compiled.recording.estimates import Estimates
from simpleautodiff.compiled.recording.symbols import (
    FLOAT64_DTYPE,
    FloatSymbol,
    NotRecordedError,
    Symbol,
    not_recorded,
)
from simpleautodiff.compiled.recording.trace_program import (
    Guard,
    Line,
    RecordedProgram,
    Ref,
    Stack,
    native,
    put_inputs_first,
)
from simpleautodiff.core.level import Traced, evaluate
from simpleautodiff.core.primitive import Primitive
from simpleautodiff.errors import RAISED_BY_NUMBERS, TraceError, cite_line, find_user_frame
from simpleautodiff.rules.restating import find_value_alone
from simpleautodiff.rules.row import TABLE
from simpleautodiff.values.pytree import map_leaves

OnLong = tuple[int, Callable[[Stack], None]]  # after how many lines to tell the running code
_NO_NAMES: dict[str, Any] = {}  # keyword arguments: most steps have none
_new_line: Any = tuple.__new__  # takes half the time of the named tuple's own


class SymbolLevel(OpaqueLevel):
    """The level of symbols: it computes with the values of this call, and records each step."""

    selects = False  # whether `cond` computes both branches, and selects
    decides = True  # whether code may branch on its symbols

    def __init__(
        self,
        rows: bool = False,
        precise: bool = False,
        threads: int = 1,
        tier: str | None = None,
        record_batched: Callable[..., Any] | None = None,
        estimates: Estimates | None = None,
        on_long: OnLong | None = None,
    ) -> None:
        super().__init__()
        self.estimates = estimates or Estimates()
        self.on_long = on_long  # after how many lines to call a function with the running code
        self.restart()
        self.record_batched = record_batched  # records a batched function as one step
        self.rows = rows  # the program is of one example of a batch: code cannot branch on numbers
        self.decides = not rows and self.decides
        self.precise = precise
        self.threads = threads
        self.tier = tier

    def restart(self) -> None:
        """Start again with nothing recorded."""
        self.lines: list[Line] = []
        self.checked_at = self.on_long[0] if self.on_long else -1  # lines
        self.guards: list[Guard] = []
        self.captured: dict[
            int, tuple[Symbol, Symbol]
        ] = {}  # symbols of an outer function, with their symbols here
        self.catches = ""  # the line of an error that the code may catch, if any
        self._copies = ConstantCopies()
        self._pinned: set[Ref] = set()  # masks that must be the same at every call
        self._asked: dict[int, bool] = {}
        self._caller = find_user_frame()
        self._decisions_at: dict[tuple[int, int], tuple[str, Stack]] = {}

    def input(self, value: Any) -> Symbol:
        """Add an argument of the function to the program."""
        return self.record(None, (), {}, value)

    def record(self, what: Any, args: tuple[Any, ...], kwargs: Any, value: Any) -> Symbol:
        """Record a step."""
        self._check_open()
        if not self.catches and _raises_errors():
            self.catches = cite_line()
        args = tuple([self._as_argument(arg) for arg in args])
        if type(value) is int:
            value = float(value)  # math.floor(x), which may be nan in another call
        if type(value) is float:
            return self.single(what, args, value, kwargs)
        symbol = Symbol()
        symbol.level, symbol.concrete, symbol.place = self, value, Ref(len(self.lines))
        symbol.shape = shape = getattr(value, "shape", ())
        symbol.dtype = dtype = _dtype(value)
        where = cite_line() if _is_seldom_compiled(what) else ""
        self.lines.append(_new_line(Line, (what, args, kwargs, shape, dtype, where)))
        if len(self.lines) == self.checked_at:
            self._tell_long()
        return symbol

    def single(
        self, what: Any, args: tuple[Any, ...], value: float, kwargs: Any = _NO_NAMES
    ) -> FloatSymbol:
        """Record a step that returns a Python number."""
        if not self.open:
            self._check_open()
        symbol, lines = FloatSymbol(), self.lines
        symbol.level = self
        symbol.concrete = value
        symbol.place = Ref(len(lines))
        lines.append(_new_line(Line, (what, args, kwargs, (), FLOAT64_DTYPE, "")))
        if len(lines) == self.checked_at:
            self._tell_long()
        return symbol

    def take_in(self, tree: Any) -> Any:
        """Return arguments on this level, to which no other can be added."""
        return tree

    def run(self, primitive: Primitive, args: tuple[Any, ...]) -> Symbol:
        """Run a row on the numbers of this call."""
        return self.run_row(*find_value_alone(primitive, args))

    def run_row(self, primitive: Primitive, args: tuple[Any, ...]) -> Symbol:
        """Run a row that is recorded unchanged."""
        if primitive.name in _INDEXED:
            k = _INDEXED[primitive.name]
            if type(args[k]) not in _LEAVES:
                args = (*args[:k], map_leaves(self._pin_mask, args[k]), *args[k + 1 :])
        numbers = tuple([self._concrete(arg) for arg in args])
        value = self._evaluate(evaluate, primitive, numbers)
        if primitive is _WHERE:
            value = _in_common_dtype(value, *numbers[1:])
        return self.record(primitive, args, {}, value)

    def map_examples(
        self, f: Any, leaves: list[Any], axes: list[Any], rebuild: Any, size: int
    ) -> Any:
        """Record a batched function as one step with its own program; None if impossible."""
        if self.record_batched is None:
            return None
        return self.record_batched(self, f, leaves, axes, rebuild, size)

    def mark_structural_zeros(self, array: Any) -> Symbol:
        """Record a constant array whose zeros are structural zeros: a seed of a sweep."""
        index = np.nonzero(array)
        scatter = TABLE["scatter"]
        return self.record(scatter, (array[index], index, array.shape), {}, array)

    def elementwise(self, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """Apply an elementwise function that has no derivative."""
        return self.answer(function, args, {})

    def answer(self, function: Any, args: Any, kwargs: Any) -> Any:
        """Apply a function that has no derivative."""
        if function in _BY_NUMBERS:
            raise not_recorded(f"np.{function.__name__}, whose result may change its size,")
        if function in _BY_MASK and isinstance(args[0], Symbol):
            return function(self.pin(np.not_equal(args[0], 0)), *args[1:], **kwargs)
        value = self._evaluate(function, *self._concrete(args), **self._concrete(kwargs))
        args, kwargs = tuple(args), map_leaves(self._as_argument, kwargs) if kwargs else {}
        if not isinstance(value, tuple):
            return self.record(function, args, kwargs, value)
        whole = self.record(function, args, kwargs, value)
        return tuple(
            [self.record(operator.getitem, (whole, i), {}, part) for i, part in enumerate(value)]
        )

    def _evaluate(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Apply a function to numbers; note an error that the code may catch.

        A program has no errors, so it cannot repeat what the code does then.
        """
        try:
            return function(*args, **kwargs)
        except RAISED_BY_NUMBERS:
            self.catches = self.catches or cite_line()
            raise

    def guard(self, truth: Any, number: int | None = None) -> bool:
        """Let the code branch on a bool, or use an integer, and record a guard for it."""
        return self.note_guard(truth, number)

    def note_guard(self, truth: Any, number: int | None = None) -> bool:
        """Record a guard: the program is valid while a bool has its current value."""
        if not isinstance(truth, Symbol):
            return bool(truth)
        self._check_open()
        if self.rows:
            raise not_recorded("a decision that each row makes for itself")
        self.estimates.check()
        return self._add_guard(truth, bool(truth.concrete), number)

    def _add_guard(self, truth: Symbol, expected: bool, number: int | None = None) -> bool:
        if truth.place not in self._asked:
            self._asked[truth.place] = expected
            line, stack = self._find_decision()
            self.guards.append(Guard(truth.place, expected, line, number, stack))
        return expected

    def assume(self, truth: Symbol) -> bool:
        """Let the code branch on a bool, as if it were true where this call has only estimates."""
        return self._add_guard(truth, True) if self.estimates.made else self.guard(truth)

    def _find_decision(self) -> tuple[str, Stack]:
        """Return the line at which the code decides, as text, and the functions that led to it."""
        frame = find_user_frame(known=(self._caller,))
        if frame is None or frame is self._caller:
            return " in a sweep of the derivative", ()
        key = id(frame.f_code), frame.f_lineno
        if key not in self._decisions_at:
            self._decisions_at[key] = cite_line(), tuple(self._walk_out(frame))
        return self._decisions_at[key]

    def _tell_long(self) -> None:
        """Report which functions of the user are running, each time many lines were recorded."""
        assert self.on_long is not None
        every, tell = self.on_long
        self.checked_at += every
        frame = find_user_frame(known=(self._caller,))
        if frame is not None and frame is not self._caller:
            tell(tuple(self._walk_out(frame)))

    def _walk_out(self, frame: FrameType | None) -> Iterator[tuple[CodeType, int]]:
        """Yield the user's functions that are running, out to the caller of the recorded one."""
        while frame is not None and frame is not self._caller:
            yield frame.f_code, frame.f_lineno
            frame = find_user_frame(frame.f_back, (self._caller,)) if frame.f_back else None

    def pin(self, mask: Any) -> Any:
        """Return a mask with its value in this call; calls with another one are recorded again."""
        held: Any = mask.concrete
        if (place := self._own(mask).place) in self._pinned:
            return held
        self._pinned.add(place)
        self.guard(np.all(mask == held), int.from_bytes(np.packbits(held).tobytes()))
        return held

    def _pin_mask(self, part: Any) -> Any:
        """Return a part of an index, with a mask pinned: its count of elements must be known."""
        return self.pin(part) if isinstance(part, Symbol) and part.dtype.kind == "b" else part

    def _check_open(self) -> None:
        """Refuse to compute with a symbol of a function that has been recorded."""
        if not self.open:
            raise TraceError(
                "a symbol of a function that jit has recorded is used after that: it stands for "
                "another number at every call. Do not keep symbols in variables outside the "
                f"function; return what is needed later{cite_line()}"
            )

    def _concrete(self, tree: Any) -> Any:
        """Replace symbols by the numbers of this call."""
        kind = type(tree)
        if kind in _LEAVES:
            return tree
        if kind is Symbol or kind is FloatSymbol:
            return tree.concrete
        if kind is tuple or kind is list:
            return kind([self._concrete(part) for part in tree])
        return map_leaves(lambda leaf: leaf.concrete if isinstance(leaf, Symbol) else leaf, tree)

    def _as_argument(self, arg: Any) -> Any:
        """Return an argument as the program stores it: on this level, protected from changes."""
        kind = type(arg)
        if kind in _NUMBERS:
            return arg
        if kind is Symbol or kind is FloatSymbol:
            return arg.place if arg.level is self else self._own(arg).place
        if issubclass(kind, Traced):
            raise not_recorded("a node of another derivative")
        if kind is np.ndarray:
            return native(arg) if not arg.dtype.isnative else self._copies.take(arg)
        if kind is tuple or kind is list:
            return kind([self._as_argument(part) for part in arg])
        if kind is slice:
            return slice(
                *self._as_argument((_whole(arg.start), _whole(arg.stop), _whole(arg.step)))
            )
        return arg

    def own(self, x: Any) -> Symbol:
        """Return a result as a symbol of this level."""
        if isinstance(x, Symbol):
            return self._own(x)
        number = np.float64(x) if np.ndim(x) == 0 else np.asarray(x, np.float64)
        return self.record(TABLE["pos"], (number,), {}, number)

    def _own(self, symbol: Symbol) -> Symbol:
        """Return a symbol of this level; one of an outer function becomes a further argument."""
        if symbol.level is self:
            return symbol
        if id(symbol) not in self.captured:
            self.captured[id(symbol)] = symbol, self.input(symbol.concrete)
        return self.captured[id(symbol)][1]

    def finish(self, results: list[Any], inputs: int) -> RecordedProgram:
        """Return the program, its arguments first."""
        if self.catches:
            raise NotRecordedError(
                "an error by numbers, which the code catches, cannot be recorded; test the numbers "
                f"instead{self.catches}"
            )
        outputs = [self._as_argument(x) if isinstance(x, Symbol) else x for x in results]
        recorded = RecordedProgram(self.lines, inputs, self.guards, outputs)
        self.lines, self.guards, self._caller = [], [], None
        self._copies = ConstantCopies()
        return put_inputs_first(recorded, len(self.captured)) if self.captured else recorded


def _is_seldom_compiled(what: Any) -> bool:
    """Tell whether a report may have to cite the source line of a step."""
    if isinstance(what, Primitive):
        return what.arrays and what.name not in _OFTEN_COMPILED
    return what is not None and not isinstance(what, np.ufunc) and what is not operator.getitem


def _whole(part: Any) -> Any:
    """Return the end of a slice as a plain number."""
    return operator.index(part) if isinstance(part, Symbol) else part


_OFTEN_COMPILED = frozenset(
    ("getitem", "set_item", "scatter", "reshape", "transpose", "broadcast_to", "sum", "sum_to",
     "max", "min", "matmul", "einsum", "concatenate", "roll", "cumsum", "astype")
)  # fmt: skip
_WHERE = TABLE["where"]


def _in_common_dtype(value: Any, x: Any, y: Any) -> Any:
    """Return the choice between x and y in their common dtype: another call may differ."""
    if type(x) is type(y) or isinstance(value, np.ndarray):
        return value
    if {type(x), type(y)} == _PYTHON_NUMBERS:
        return float(value)
    number = np.result_type(x, y).type(value)
    return number if hasattr(x, "dtype") or hasattr(y, "dtype") else number.item()


_NUMBERS = {float, int, bool, type(None), np.float64}
_PYTHON_NUMBERS = {float, int}
_LEAVES = {*_NUMBERS, np.ndarray, slice, str}
_BY_NUMBERS = {np.unique, np.extract, np.compress}
_BY_MASK = {np.nonzero, np.flatnonzero, np.argwhere}
_INDEXED = {"getitem": 1, "set_item": 2, "scatter": 1}  # the position of the index


def _raises_errors() -> bool:
    """Tell whether the code has asked for errors, which are ignored while it is recorded."""
    asked = warnings.filters and warnings.filters[0][0] == "error"
    return bool(asked) or "raise" in np.geterr().values()


def _dtype(value: Any) -> Any:
    if isinstance(value, (np.ndarray, np.generic)):
        return value.dtype
    if isinstance(value, tuple):
        return None
    try:
        return np.result_type(value)
    except TypeError:
        return None  # a tuple, or another kind of result
