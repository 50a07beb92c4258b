"""Symbols: numbers and arrays that differ from call to call.

While a program is recorded a symbol also has the number of this call, so that ordinary Python code
can run. Its level records what is done to it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, final

import numpy as np

from simpleautodiff.arrays.batch.opaque import OPERATIONS_WITHOUT_SLOPE, Opaque
from simpleautodiff.compiled.recording.trace_program import Ref
from simpleautodiff.core.engine import engine
from simpleautodiff.core.level import apply
from simpleautodiff.core.node import TapeNode
from simpleautodiff.core.primitive import Primitive
from simpleautodiff.errors import LostDerivativeError, TraceError, cite_line
from simpleautodiff.rules.array.indexing import getitem
from simpleautodiff.rules.row import TABLE

if TYPE_CHECKING:
    from simpleautodiff.compiled.recording.symbol_level import SymbolLevel

FLOAT64_DTYPE = np.dtype(np.float64)
GETITEM = getitem.primitive  # type: ignore[attr-defined]


class NotRecordedError(TraceError):
    """A function cannot be recorded as a program; it can be run without being compiled."""


class LostSymbolError(NotRecordedError, LostDerivativeError):
    """A symbol would be stored in an array that NumPy made; those can be replaced."""


class Symbol(Opaque):
    """A number or an array that differs from call to call."""

    __slots__ = ("concrete", "dtype", "place", "shape")
    level: SymbolLevel
    concrete: Any  # its value in this call
    place: Ref  # the line of the program that computes it
    shape: tuple[int, ...]  # the same at every call, as is the dtype
    dtype: Any

    @property
    def can_decide(self) -> bool:
        """Whether `if` and `while` may depend on it: not in `vmap`, where examples would differ."""
        return not self.level.rows

    def to_plain(self) -> Symbol:
        """Return the symbol itself: it has no plain number."""
        return self

    def cast(self, dtype: Any) -> Any:
        """Return the symbol in another dtype."""
        return apply(TABLE["astype"], self, np.dtype(dtype))

    def __getitem__(self, index: Any) -> Any:
        return apply(GETITEM, self, index)

    def __bool__(self) -> bool:
        if self.shape and self.concrete.size != 1:
            return bool(self.concrete)  # NumPy raises its own error
        return self.level.guard(self)

    def __int__(self) -> int:
        return self._as_integer(int(self.concrete))

    def __index__(self) -> int:
        return self._as_integer(operator.index(self.concrete))

    def _as_integer(self, number: int) -> int:
        """Return the integer of this call; calls with another one are recorded again."""
        whole = self if self.dtype.kind in "biu" else np.trunc(self)
        self.level.guard(whole == number, number)
        return number

    def __float__(self) -> float:
        what = "float(x), as in math.sin(x) or array[i] = x"
        raise LostSymbolError(str(not_recorded(what, "np.sin(x)")))

    def __complex__(self) -> complex:
        raise not_recorded("complex(x)")

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        if self.dtype.kind == "b":  # it is the index of a plain array
            return np.array(self.level.pin(self), *args, **kwargs)
        way = "functions of NumPy, which take x as it is"
        raise LostSymbolError(str(not_recorded("np.asarray(x)", way)))

    def __hash__(self) -> int:
        raise not_recorded("looking x up in a dict or a set", "x == y, or np.where")

    def __format__(self, spec: str) -> str:
        raise not_recorded("writing x as text")

    def __str__(self) -> str:
        return self.__format__("")

    def __repr__(self) -> str:
        return f"Symbol({self.concrete!r})"


@final
class FloatSymbol(Symbol):
    """A symbol that stands for a Python number, with fast paths for operators."""

    __slots__ = ()
    array_like = False
    shape = ()
    dtype = FLOAT64_DTYPE

    def lift_integer(self, number: int) -> Any:
        """Return an integer as a float."""
        return float(number)

    def zeros(self) -> Any:
        """Return the 0 of its type."""
        return 0.0

    def __index__(self) -> int:
        return int(self)  # math.floor(x): the function itself has already used it as an index


engine.scalars.add(FloatSymbol)


def not_recorded(what: str, instead: str = "") -> NotRecordedError:
    """Return the error for what cannot be recorded, with an alternative."""
    way = f"; use {instead}" if instead else ""
    return NotRecordedError(f"{what} cannot be recorded{way}{cite_line()}")


# Fast paths of Python's operators. ------------------------------------------------------------


def _quick_binary(name: str, compute: Callable[[Any, Any], Any], swapped: bool) -> Any:
    primitive = TABLE[name]

    def method(self: Symbol, other: Any) -> Any:
        kind = type(other)
        if kind is FloatSymbol or kind is Symbol:
            if other.level is not self.level:
                return apply(primitive, *((other, self) if swapped else (self, other)))
            number = other.concrete
        elif kind is float or kind is int:
            number = other
        elif kind is TapeNode:
            return NotImplemented  # the node has a fast path of its own
        else:
            return apply(primitive, *((other, self) if swapped else (self, other)))
        try:
            value = compute(number, self.concrete) if swapped else compute(self.concrete, number)
        except (ArithmeticError, ValueError, TypeError):
            return apply(primitive, *((other, self) if swapped else (self, other)))
        if type(value) is not float:
            return self.level.record(
                primitive, (other, self) if swapped else (self, other), {}, value
            )
        mine, theirs = self.place, number if number is other else other.place
        args = (theirs, mine) if swapped else (mine, theirs)
        return self.level.single(primitive, args, value)

    return method


def _quick_plain(function: Any, otherwise: Any) -> Any:
    """Return a comparison, or an operation on bools, with a fast path for single numbers."""

    def method(self: Symbol, other: Any) -> Any:
        kind = type(other)
        if kind is FloatSymbol or kind is Symbol:
            number = other.concrete if other.level is self.level else None
        else:
            number = other if kind is float or kind is int else None
        if number is None:
            return otherwise(self, other)
        value = function(self.concrete, number)
        return self.level.record(function, (self, other), _NOTHING, value)

    return method


def _invert(self: Symbol) -> Any:
    return self.level.record(np.invert, (self,), _NOTHING, np.invert(self.concrete))


_NOTHING: dict[str, Any] = {}


def _quick_unary(primitive: Primitive) -> Callable[[Any], Any]:
    by_type = primitive.by_type
    assert by_type is not None

    def function(x: Any) -> Any:
        try:
            value = by_type[type(x.concrete)](x.concrete)
        except (ArithmeticError, ValueError, TypeError):
            return apply(primitive, x)
        if type(value) is not float:
            return x.level.record(primitive, (x,), _NOTHING, value)
        return x.level.single(primitive, (x.place,), value)

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
    for name, function in OPERATIONS_WITHOUT_SLOPE.items():
        method = f"__{name}__"
        setattr(Symbol, method, _quick_plain(function, getattr(Opaque, method)))
    setattr(Symbol, "__invert__", _invert)  # noqa: B010
    for primitive in TABLE.values():
        if primitive.arity == 1 and primitive.by_type is not None:
            quick = _quick_unary(primitive)
            primitive.by_type[Symbol] = primitive.by_type[FloatSymbol] = quick


_install()
