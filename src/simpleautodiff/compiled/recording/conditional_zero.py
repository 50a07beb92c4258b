"""Derivatives that are structural zeros at some calls, and numbers at others.

`maximum(x, 0)` does not depend on x where x < 0: that slope is a structural zero, which stays zero
even times inf. Which it is differs from call to call, so that a bool goes along with the slope, and
with what it is multiplied with, until it is added to another number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

from simpleautodiff.compiled.recording.symbols import Symbol
from simpleautodiff.compiled.recording.trace_program import NOTHING
from simpleautodiff.core.level import Traced
from simpleautodiff.core.primitive import Primitive
from simpleautodiff.rules.row import TABLE

if TYPE_CHECKING:
    from simpleautodiff.compiled.recording.symbol_level import SymbolLevel

_WHERE, _ADD, _SUB = TABLE["where"], TABLE["add"], TABLE["sub"]
# Rows that are 0 where their first argument is, or where any is.
_FIRST = {"neg", "pos", "conj", "astype", "div", "broadcast_to", "reshape", "transpose", "getitem",
          "scatter", "sum", "sum_to", "cumsum", "roll"}  # fmt: skip
_ANY = {"mul", "matmul"}


@final
class ConditionalZero(Symbol):
    """A number that is a structural zero at calls where `absent` holds, and `rest` at others."""

    __slots__ = ("absent", "rest")
    absent: Any
    rest: Any

    @property
    def many(self) -> bool:
        """Whether it stands for a number of NumPy's, or for one of Python's own."""
        return type(self.concrete) is not float

    def lift_integer(self, number: int) -> Any:
        """Return an integer in this dtype."""
        return super().lift_integer(number) if self.array_like else float(number)

    def zeros(self) -> Any:
        """Return the 0 of its dtype."""
        return super().zeros() if self.array_like else 0.0


for _name in ("add", "sub", "mul", "truediv"):  # not the quick ways of numbers that are there
    setattr(ConditionalZero, f"__{_name}__", getattr(Traced, f"__{_name}__"))
    setattr(ConditionalZero, f"__r{_name}__", getattr(Traced, f"__r{_name}__"))


def run_conditional(level: SymbolLevel, primitive: Primitive, args: tuple[Any, ...]) -> Any:
    """Run a row on numbers some of which may be structural zeros; None where the result is none."""
    if not any(type(arg) is ConditionalZero or arg is NOTHING for arg in args):
        return None
    if primitive is _WHERE:
        return _choose(level, *args) if getattr(args[0], "shape", None) == () else None
    if primitive is _ADD or primitive is _SUB:
        x, y = args
        if type(x) is not ConditionalZero or type(y) is not ConditionalZero:
            return None
        both = level.run_plain(primitive, args)  # which is 0 where both are
        return _mark(level, both, x.absent & y.absent, both)
    if primitive.name not in _ANY and (
        primitive.name not in _FIRST or type(args[0]) is not ConditionalZero
    ):
        return None
    given = args if primitive.name in _ANY else args[:1]
    absent = [arg.absent for arg in given if type(arg) is ConditionalZero]
    rest = [arg.rest if type(arg) is ConditionalZero else arg for arg in given]
    either = absent[0] if len(absent) == 1 else absent[0] | absent[1]
    return _conditional_zero(
        level, either, level.run_plain(primitive, (*rest, *args[len(given) :]))
    )


def _conditional_zero(level: SymbolLevel, absent: Any, rest: Any) -> ConditionalZero:
    return _mark(level, level.run_plain(_WHERE, (absent, NOTHING, rest)), absent, rest)


def _mark(level: SymbolLevel, value: Any, absent: Any, rest: Any) -> ConditionalZero:
    maybe = ConditionalZero()
    maybe.level, maybe.concrete, maybe.place = level, value.concrete, value.place
    maybe.absent, maybe.rest = absent, rest
    return maybe


def _choose(level: SymbolLevel, condition: Any, x: Any, y: Any) -> Any:
    """Choose between two numbers of which at least one may be a structural zero."""
    if x is NOTHING:
        x, y, condition = y, x, ~condition
    if x is NOTHING:
        return 0.0
    if y is NOTHING:
        absent = ~condition | x.absent if type(x) is ConditionalZero else ~condition
        return _conditional_zero(level, absent, x.rest if type(x) is ConditionalZero else x)
    if type(x) is not ConditionalZero:
        x, y, condition = y, x, ~condition
    rest = level.run_plain(_WHERE, (condition, x.rest, y.rest if type(y) is ConditionalZero else y))
    absent = condition & x.absent
    return _conditional_zero(
        level, absent | ~condition & y.absent if type(y) is ConditionalZero else absent, rest
    )
