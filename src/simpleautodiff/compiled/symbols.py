"""Running a function on symbols: what is done to them is recorded as a program of rows.

A symbol stands for a number or an array that will be another one at every call. While the program
is recorded it also has a number, that of the call at hand, so that ordinary Python code can go its
way: which way it went is recorded as a *guard*, a truth value that has to be the same at every call
that uses the program.

Transformations stand above: `grad(f)` run on symbols computes with nodes whose values are symbols,
so the program contains the sweep.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, final

import numpy as np

from simpleautodiff.errors import TraceError, at_line
from simpleautodiff.many import Many, ManyLevel
from simpleautodiff.node import apply, evaluate
from simpleautodiff.primitives import Primitive
from simpleautodiff.rules.indexing import getitem
from simpleautodiff.rules.row import TABLE
from simpleautodiff.structure import flatten, map_leaves
from simpleautodiff.sweep import SINGLE
from simpleautodiff.traced import Traced


class NotRecordedError(TraceError):
    """What a function does cannot be recorded as a program; it can be run as it is."""


class Line(NamedTuple):
    """One step: a row, or a function of NumPy that has no derivative, and its arguments.

    Among the arguments are `Place`s, alone or in tuples and lists: results of earlier lines.
    """

    what: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    shape: tuple[int, ...]
    dtype: np.dtype[Any] | None

    @property
    def name(self) -> str:
        """The name of the row or of the function; "input" for an argument."""
        return str(getattr(self.what, "name", getattr(self.what, "__name__", "input")))


@final
class Place(int):
    """The number of a line, where its result is an argument of another."""

    __slots__ = ()


class Guard(NamedTuple):
    """A truth value that decided which way the code went, and where it was asked for."""

    place: Place
    expected: bool
    line: str


class Recorded(NamedTuple):
    """A program of rows: its lines, the first of which are its inputs, guards, and results."""

    lines: list[Line]
    inputs: int
    guards: list[Guard]
    outputs: list[Any]  # of each leaf of the result a `Place`, or a constant


class Symbol(Many):
    """A number or an array that will be another one at every call."""

    __slots__ = ("args", "concrete", "kwargs", "place", "what")
    level: SymbolLevel
    what: Any  # the row or function that made it; None for an argument
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    concrete: Any  # its number at this call, while the program is recorded
    place: int

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape, which is the same at every call."""
        return getattr(self.concrete, "shape", ())

    @property
    def dtype(self) -> Any:
        """The kind of number."""
        return np.result_type(self.concrete)

    def plainly(self) -> Symbol:
        """Return the symbol itself: it has no number to go by."""
        return self

    def astype(self, dtype: Any, copy: bool = True) -> Any:
        """Return the symbol in another kind of number."""
        return apply(TABLE["astype"], self, np.dtype(dtype))

    def __getitem__(self, index: Any) -> Any:
        for part in flatten(index)[0]:
            if isinstance(part, Many) and part.dtype.kind == "b":
                raise _not_recorded("an array chosen by a condition, whose size may change")
        return self.level.run(getitem.primitive, (self, index))  # type: ignore[attr-defined]

    def __bool__(self) -> bool:
        if self.shape and self.concrete.size != 1:
            return bool(self.concrete)  # NumPy's own complaint
        return self.level.guard(self)

    def __int__(self) -> int:
        return self._as_whole(int(self.concrete))

    def __index__(self) -> int:
        return self._as_whole(operator.index(self.concrete))

    def _as_whole(self, number: int) -> int:
        """Return the whole number of this call; calls with another one are recorded anew."""
        whole = self if self.dtype.kind in "biu" else np.trunc(self)
        self.level.guard(whole == number)
        return number

    def __float__(self) -> float:
        raise _not_recorded("float(x), as in math.sin(x) or array[i] = x", "np.sin(x)")

    def __complex__(self) -> complex:
        raise _not_recorded("complex(x)")

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise _not_recorded("np.asarray(x)", "functions of NumPy, which take x as it is")

    def __format__(self, spec: str) -> str:
        return format(self.concrete, spec)

    def __repr__(self) -> str:
        return f"Symbol({self.concrete!r})"


@final
class Single(Symbol):
    """A symbol that stands for one of Python's own numbers, with their quick ways."""

    __slots__ = ()
    many = False

    def lifted(self, number: int) -> Any:
        """Return a whole number as a float."""
        return float(number)

    def zeros(self) -> Any:
        """Return the 0 of its kind."""
        return 0.0


SINGLE.add(Single)


def _not_recorded(what: str, instead: str = "") -> NotRecordedError:
    way = f"; use {instead}" if instead else ""
    return NotRecordedError(f"{what} cannot be recorded{way}{at_line()}")


@final
class SymbolLevel(ManyLevel):
    """The level of symbols: it computes with the numbers of this call, and takes notes."""

    def __init__(
        self,
        rows: bool = False,
        precise: bool = False,
        threads: int = 1,
        tier: str | None = None,
        record_rows: Callable[..., Any] | None = None,
    ) -> None:
        super().__init__()
        self.record_rows = record_rows  # how a function of rows becomes one step
        self.rows = rows  # the program is of one row among many, so no code can go by a number
        self.precise = precise
        self.threads = threads
        self.tier = tier
        self.symbols: list[Symbol] = []
        self.guards: list[Guard] = []
        self.captured: dict[Symbol, Symbol] = {}  # of a level below, and what stands for it here
        self._asked: dict[int, bool] = {}

    def input(self, value: Any) -> Symbol:
        """Begin the program: an argument of the function."""
        return self.record(None, (), {}, value)

    def record(self, what: Any, args: tuple[Any, ...], kwargs: Any, value: Any) -> Symbol:
        """Take note of a step."""
        args = tuple([self._kept(arg) for arg in args])
        kind = type(value)
        symbol: Symbol = Single() if kind is float or kind is int else Symbol()
        symbol.level = self
        symbol.what = what
        symbol.args = args
        symbol.kwargs = kwargs
        symbol.concrete = value
        symbol.place = len(self.symbols)
        self.symbols.append(symbol)
        return symbol

    def run(self, primitive: Primitive, args: tuple[Any, ...]) -> Any:
        """Run a row on the numbers of this call."""
        numbers = tuple([self._concrete(arg) for arg in args])
        value = evaluate(primitive, numbers)
        if primitive is _WHERE:
            value = _in_common_kind(value, *numbers[1:])
        return self.record(primitive, args, {}, value)

    def map_rows(self, f: Any, leaves: list[Any], axes: list[Any], rebuild: Any, size: int) -> Any:
        """Record a function of rows as one step, its own program inside; None if that cannot be."""
        if self.record_rows is None:
            return None
        return self.record_rows(self, f, leaves, axes, rebuild, size)

    def known(self, array: Any) -> Symbol:
        """Record a constant array whose zeros are zeros by structure: a seed of a sweep."""
        index = np.nonzero(array)
        scatter = TABLE["scatter"]
        return self.record(scatter, (array[index], index, array.shape), {}, array)

    def elementwise(self, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """Apply a function of single numbers that has no derivative."""
        return self.answer(function, args, {})

    def answer(self, function: Any, args: Any, kwargs: Any) -> Any:
        """Apply a function that has no derivative."""
        if function in _BY_NUMBERS:
            raise _not_recorded(f"np.{function.__name__}, whose result may change its size,")
        value = function(*self._concrete(args), **self._concrete(kwargs))
        args, kwargs = tuple(args), map_leaves(self._kept, kwargs)
        if not isinstance(value, tuple):
            return self.record(function, args, kwargs, value)
        whole = self.record(function, args, kwargs, value)
        return tuple(
            [self.record(operator.getitem, (whole, i), {}, part) for i, part in enumerate(value)]
        )

    def guard(self, truth: Any) -> bool:
        """Let the code go by a truth value, and note that it did."""
        if not isinstance(truth, Symbol):
            return bool(truth)
        if self.rows:
            raise _not_recorded("a decision that each row makes for itself")
        expected = bool(truth.concrete)
        if truth.place not in self._asked:
            self._asked[truth.place] = expected
            self.guards.append(Guard(Place(truth.place), expected, at_line()))
        return expected

    def _concrete(self, tree: Any) -> Any:
        """Return the numbers of this call in place of symbols."""
        if isinstance(tree, Symbol):
            return tree.concrete
        if type(tree) in _LEAVES:
            return tree
        return map_leaves(lambda leaf: leaf.concrete if isinstance(leaf, Symbol) else leaf, tree)

    def _kept(self, arg: Any) -> Any:
        """Return an argument as the program keeps it: of this level, and nobody changes it."""
        kind = type(arg)
        if kind is float or kind is int:
            return arg
        if isinstance(arg, Symbol):
            return arg if arg.level is self else self._capture(arg)
        if isinstance(arg, Traced):
            raise _not_recorded("a node of another derivative")
        if kind is np.ndarray:
            return arg.copy()
        if kind is tuple:
            return tuple([self._kept(part) for part in arg])
        return arg

    def own(self, x: Any) -> Symbol:
        """Return a result as a symbol of this level."""
        if isinstance(x, Symbol):
            return self._kept(x)  # type: ignore[no-any-return]
        number = np.float64(x) if np.ndim(x) == 0 else np.asarray(x, np.float64)
        return self.record(TABLE["pos"], (number,), {}, number)

    def _capture(self, symbol: Symbol) -> Symbol:
        """Return what stands here for a symbol of a level below: an argument more."""
        if symbol not in self.captured:
            self.captured[symbol] = self.input(symbol.concrete)
        return self.captured[symbol]

    def finish(self, results: list[Any], inputs: int) -> Recorded:
        """Return the program, its arguments first; the symbols let go of their numbers."""
        results = [self._kept(x) for x in results]
        if self.captured:
            self.symbols.sort(key=lambda symbol: symbol.what is not None)  # which is stable
            for place, symbol in enumerate(self.symbols):
                symbol.place = place
            inputs += len(self.captured)
        lines = [
            Line(s.what, tuple([_placed(x) for x in s.args]), _NOTHING, (), _FLOAT64)
            if type(s) is Single and type(s.concrete) is float
            else Line(s.what, _placed(s.args), _placed(s.kwargs), s.shape, _dtype(s.concrete))
            for s in self.symbols
        ]
        outputs = [Place(x.place) if isinstance(x, Symbol) else x for x in results]
        for symbol in self.symbols:
            symbol.concrete = None
        self.symbols = []
        return Recorded(lines, inputs, self.guards, outputs)


_WHERE = TABLE["where"]


def _in_common_kind(value: Any, x: Any, y: Any) -> Any:
    """Return what was chosen of x and y in the kind of both: another call may choose the other."""
    if type(x) is type(y) or np.ndim(value):
        return value
    number = np.result_type(x, y).type(value)
    return number if hasattr(x, "dtype") or hasattr(y, "dtype") else number.item()


_LEAVES = {float, int, bool, np.ndarray, type(None), slice, str, np.float64}
_BY_NUMBERS = {np.nonzero, np.flatnonzero, np.argwhere, np.unique, np.extract, np.compress}


def _placed(tree: Any) -> Any:
    """Return arguments with places for symbols; most are symbols or plain numbers themselves."""
    kind = type(tree)
    if kind is Single or kind is Symbol:
        return Place(tree.place)
    if kind in _LEAVES:
        return tree
    if kind is tuple:
        return tuple([_placed(part) for part in tree])
    return map_leaves(lambda leaf: Place(leaf.place) if isinstance(leaf, Symbol) else leaf, tree)


def _dtype(value: Any) -> Any:
    if type(value) is float:
        return _FLOAT64
    try:
        return np.result_type(value)
    except TypeError:
        return None  # a tuple, or what else a function may give


_FLOAT64 = np.dtype(np.float64)


# The quick ways of Python's operators. ------------------------------------------------------------


def _quick_binary(name: str, compute: Callable[[Any, Any], Any], swapped: bool) -> Any:
    primitive = TABLE[name]

    def method(self: Symbol, other: Any) -> Any:
        kind = type(other)
        if kind is Single or kind is Symbol:
            if other.level is not self.level:
                return apply(primitive, *((other, self) if swapped else (self, other)))
            number = other.concrete
        elif kind is float or kind is int:
            number = other
        else:
            return apply(primitive, *((other, self) if swapped else (self, other)))
        try:
            value = compute(number, self.concrete) if swapped else compute(self.concrete, number)
        except (ArithmeticError, ValueError, TypeError):
            return apply(primitive, *((other, self) if swapped else (self, other)))
        level = self.level
        symbol = Single() if type(value) is float else Symbol()
        symbol.level = level
        symbol.what = primitive
        symbol.args = (other, self) if swapped else (self, other)
        symbol.kwargs = _NOTHING
        symbol.concrete = value
        symbols = level.symbols
        symbol.place = len(symbols)
        symbols.append(symbol)
        return symbol

    return method


_NOTHING: dict[str, Any] = {}


def _quick_unary(primitive: Primitive) -> Callable[[Any], Any]:
    by_type = primitive.by_type
    assert by_type is not None

    def function(x: Any) -> Any:
        try:
            value = by_type[type(x.concrete)](x.concrete)
        except (ArithmeticError, ValueError, TypeError):
            return apply(primitive, x)
        return x.level.record(primitive, (x,), _NOTHING, value)

    return function


def _install() -> None:
    for name, row, compute in (
        ("add", "add", operator.add),
        ("sub", "sub", operator.sub),
        ("mul", "mul", operator.mul),
        ("truediv", "div", operator.truediv),
    ):
        setattr(Symbol, f"__{name}__", _quick_binary(row, compute, swapped=False))
        setattr(Symbol, f"__r{name}__", _quick_binary(row, compute, swapped=True))
    for primitive in TABLE.values():
        if primitive.arity == 1 and primitive.by_type is not None:
            quick = _quick_unary(primitive)
            primitive.by_type[Symbol] = primitive.by_type[Single] = quick


_install()


def is_traced(leaves: list[Any]) -> bool:
    """Tell whether a function is called inside a transformation, or while it is recorded."""
    return any(isinstance(leaf, Traced) for leaf in leaves)


def places(tree: Any) -> Iterator[Place]:
    """Yield the places among the arguments of a line."""
    if type(tree) is Place:
        yield tree
    elif type(tree) in (tuple, list):
        for part in tree:
            yield from places(part)
    elif type(tree) is dict:
        for part in tree.values():
            yield from places(part)
    elif type(tree) is slice:
        yield from places((tree.start, tree.stop, tree.step))


def with_values(tree: Any, values: Any) -> Any:
    """Return arguments with the values of earlier lines in their places."""
    kind = type(tree)
    if kind is Place:
        return values[tree]
    if kind is tuple:
        return tuple([with_values(part, values) for part in tree])
    if kind is list:
        return [with_values(part, values) for part in tree]
    if kind is dict:
        return {key: with_values(part, values) for key, part in tree.items()}
    return tree
