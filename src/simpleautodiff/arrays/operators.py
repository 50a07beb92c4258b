"""Python's operators on nodes: each calls the primitive of a row of the table."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np

from simpleautodiff.core.level import Traced, to_concrete, to_plain
from simpleautodiff.errors import LostDerivativeError, cite_line
from simpleautodiff.rules.decisions import note_answer
from simpleautodiff.rules.row import UFUNCS
from simpleautodiff.rules.scalar import arithmetic, piecewise
from simpleautodiff.values.functions import is_different, is_equal, undecided_error

BINARY = {
    "add": arithmetic.add,
    "sub": arithmetic.sub,
    "mul": arithmetic.mul,
    "truediv": arithmetic.div,
    "floordiv": arithmetic.floor_divide,
    "mod": arithmetic.mod,
    "pow": arithmetic.power,
}
UNARY = {
    "neg": arithmetic.neg,
    "pos": arithmetic.pos,
    "abs": piecewise.absolute,
    "floor": piecewise.floor,
    "ceil": piecewise.ceil,
    "trunc": piecewise.trunc,
}
COMPARISONS = {
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
}
SIGNS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {"eq": is_equal, "ne": is_different}
PREDICATES: tuple[Any, ...] = (np.isnan, np.isinf, np.isfinite, np.signbit)


def _reflect(wrapping: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    def call_reflected(self: Any, other: Any) -> Any:
        return wrapping(other, self)

    return call_reflected


def _make_comparison(compare: Callable[[Any, Any], Any], sign: str) -> Callable[[Any, Any], Any]:
    """Return a comparison of plain values: it has no derivative, and decides which branch runs."""

    def comparison(self: Any, other: Any) -> Any:
        answer = compare(to_plain(self), to_plain(other))
        if answer is None:
            raise undecided_error(f"whether {to_plain(self)} {sign} {to_plain(other)}")
        for x in (self, other):
            while isinstance(x, Traced) and not x.opaque:
                answer = x.level.answered(answer, sign, self, other)
                x = x.value
        if sign == "==" and (answer is True or answer is np.True_):
            _refuse_special_case(sys._getframe(1))
        return answer

    return comparison


# Functions of libraries that take another formula at special values of a parameter.
_SPECIAL_CASES = {("numpy.linalg", "norm"), ("scipy.stats", "_power_divergence")}


def _refuse_special_case(frame: FrameType) -> None:
    """Raise an error if such a function asks whether its parameter has a special value."""
    module = ".".join(str(frame.f_globals.get("__name__")).split(".")[:2])
    if (module, frame.f_code.co_name) in _SPECIAL_CASES:
        raise LostDerivativeError(
            f"{module}.{frame.f_code.co_name.strip('_')} takes another formula at this value of a "
            "parameter, without its derivative. Pass a plain number (node.value is one)"
            f"{cite_line()}"
        )


def _make_predicate(ufunc: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a predicate of the plain value."""
    return lambda x: note_answer(ufunc(to_plain(x)), ufunc, x)


def _round(x: Any, digits: int | None) -> Any:
    """Round as the number itself does: 0.35 to one decimal is 0.3 for Python, 0.4 for NumPy."""
    if isinstance(to_concrete(x), np.ndarray) or (
        digits and isinstance(to_concrete(x), np.generic)
    ):
        return np.round(x, digits or 0)
    return piecewise.round_(x, digits)


OPERATORS: dict[str, Callable[..., Any]] = {
    **{f"__{name}__": wrapping for name, wrapping in (BINARY | UNARY).items()},
    **{f"__r{name}__": _reflect(wrapping) for name, wrapping in BINARY.items()},
    **{
        f"__{name}__": _make_comparison(_COMPARE.get(name) or getattr(operator, name), sign)
        for name, sign in SIGNS.items()
    },
    "__divmod__": lambda x, y: (x // y, x % y),
    "__rdivmod__": lambda x, y: (y // x, y % x),
    "__round__": lambda x, ndigits=None: _round(x, ndigits),
}
UFUNCS.update({ufunc: OPERATORS[f"__{name}__"] for name, ufunc in COMPARISONS.items()})
UFUNCS.update({question: _make_predicate(question) for question in PREDICATES})
