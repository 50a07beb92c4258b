"""Lower rows (primitives) to operations: what a row computes for one number, in steps.

Rows that are not here (Bessel functions, factorisations) are computed by NumPy or SciPy, inside the
same program.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from simpleautodiff.compiled.scalar.operations import BOOL, FLOAT32, FLOAT64, INT64, OPERATIONS
from simpleautodiff.compiled.scalar.scalar_program import ScalarProgram
from simpleautodiff.rules.row import TABLE

Lowered = Callable[..., int]
LOWERED_ROWS: dict[
    str, Lowered
] = {}  # rows: (flat, kind, *places of numbers of that kind) -> place
LOWERED_PREDICATES: dict[Any, Lowered] = {}  # functions that answer yes or no


def dtype_letter(dtype: Any) -> str | None:
    """Return the letter of a dtype, or None if it is none that can be compiled."""
    if dtype is None or not dtype.isnative:
        return None
    if dtype.kind in "iu":
        return INT64 if dtype.itemsize == 8 and dtype.kind == "i" else None
    return {"d": FLOAT64, "f": FLOAT32, "?": BOOL}.get(dtype.char)


def can_lower(what: Any, dtype: Any) -> bool:
    """Tell whether a row, or a function without a derivative, is made of operations here."""
    dtype = dtype_letter(dtype)
    if dtype is None:
        return False
    name = getattr(what, "name", None)
    if name == "where":
        return True
    if name is None:
        return what in LOWERED_PREDICATES and dtype == BOOL
    return name in LOWERED_ROWS and dtype in (FLOAT64, FLOAT32)


def lower(
    flat: ScalarProgram, what: Any, dtype: str, args: list[int], given: tuple[Any, ...] = ()
) -> int:
    """Append one row, or one function that answers yes or no, on single numbers.

    `kind` is that of the result; `given` are settings that are no numbers, as of `round`.
    """
    name = getattr(what, "name", None)
    if name == "where":
        condition, *rest = args
        return flat.make("select", flat.to(BOOL, condition), *[flat.to(dtype, x) for x in rest])
    if name is not None:
        return LOWERED_ROWS[name](flat, dtype, *[flat.to(dtype, x) for x in args])
    common = _common([flat.dtypes[x] for x in args])
    return LOWERED_PREDICATES[what](flat, common, *[flat.to(common, x) for x in args])


def _common(dtypes: list[str]) -> str:
    """Return the kind in which numbers are compared."""
    for dtype in (FLOAT64, FLOAT32, INT64):
        if dtype in dtypes:
            return FLOAT64 if dtype == FLOAT32 and INT64 in dtypes else dtype
    return BOOL


def _row(name: str) -> Callable[[Lowered], Lowered]:
    def enter(lowered: Lowered) -> Lowered:
        LOWERED_ROWS[name] = lowered
        return lowered

    return enter


for _name in [name for name, row in OPERATIONS.items() if row.gives == "same" and name in TABLE]:
    LOWERED_ROWS[_name] = lambda flat, dtype, *args, _name=_name: flat.make(_name, *args)
for _name in ("pos", "conj", "real", "stop_gradient"):
    LOWERED_ROWS[_name] = lambda flat, dtype, x: x


def _less(flat: ScalarProgram, x: int, y: int) -> int:
    return flat.make("lt", x, y)


def _select(flat: ScalarProgram, condition: int, x: int, y: int) -> int:
    return flat.make("select", condition, x, y)


def _is_nan(flat: ScalarProgram, x: int) -> int:
    return flat.make("ne", x, x)


@_row("square")
def _square(flat: ScalarProgram, dtype: str, x: int) -> int:
    return flat.mul(x, x)


@_row("reciprocal")
def _reciprocal(flat: ScalarProgram, dtype: str, x: int) -> int:
    return flat.div(flat.const(1, dtype), x)


@_row("deg2rad")
def _deg2rad(flat: ScalarProgram, dtype: str, x: int) -> int:
    return flat.mul(x, flat.const(math.pi / 180, dtype))


@_row("rad2deg")
def _rad2deg(flat: ScalarProgram, dtype: str, x: int) -> int:
    return flat.mul(x, flat.const(180 / math.pi, dtype))


@_row("sign")
def _sign(flat: ScalarProgram, dtype: str, x: int) -> int:
    zero, one = flat.const(0, dtype), flat.const(1, dtype)
    at_most = _select(flat, _less(flat, x, zero), flat.neg(one), _select(
        flat, flat.make("eq", x, zero), zero, x))  # fmt: skip
    return _select(flat, _less(flat, zero, x), one, at_most)


@_row("relu")
def _relu(flat: ScalarProgram, dtype: str, x: int) -> int:
    return flat.make("maximum", x, flat.const(0, dtype))


def _unless_nan(operation: str) -> Lowered:
    def lowered(flat: ScalarProgram, dtype: str, x: int, y: int) -> int:
        both = _select(flat, _is_nan(flat, x), y, flat.make(operation, x, y))
        return _select(flat, _is_nan(flat, y), x, both)

    return lowered


LOWERED_ROWS["fmax"] = _unless_nan("maximum")
LOWERED_ROWS["fmin"] = _unless_nan("minimum")


@_row("clip")
def _clip(flat: ScalarProgram, dtype: str, x: int, low: int, high: int) -> int:
    return flat.make("minimum", flat.make("maximum", x, low), high)


@_row("mod")
def _mod(flat: ScalarProgram, dtype: str, x: int, y: int) -> int:
    """Return the remainder with the sign of y, as Python does."""
    zero = flat.const(0, dtype)
    rest = flat.make("fmod", x, y)
    other_side = flat.make("xor", _less(flat, rest, zero), _less(flat, y, zero))
    moved = _select(flat, other_side, flat.add(rest, y), rest)
    return _select(flat, flat.make("eq", rest, zero), flat.make("copysign", zero, y), moved)


@_row("floor_divide")
def _floor_divide(flat: ScalarProgram, dtype: str, x: int, y: int) -> int:
    """Divide and round down, as Python does: from the remainder, which is exact.

    There is one division: two would share a reciprocal, which small numbers do not have.
    """
    zero, one = flat.const(0, dtype), flat.const(1, dtype)
    rest, by_zero = flat.make("fmod", x, y), flat.make("eq", y, zero)
    other_side = flat.make("xor", _less(flat, rest, zero), _less(flat, y, zero))
    below = flat.make("and", other_side, flat.make("ne", rest, zero))
    toward_zero = flat.div(_select(flat, by_zero, x, flat.sub(x, rest)), y)  # y may be infinite
    quotient = _select(flat, below, flat.sub(toward_zero, one), toward_zero)
    down = flat.make("floor", quotient)
    off = _less(flat, flat.const(0.5, dtype), flat.sub(quotient, down))
    whole = _select(flat, off, flat.add(down, one), down)
    signs = [flat.make("signbit", number) for number in (x, y)]
    none = _select(flat, flat.make("xor", *signs), flat.const(-0.0, dtype), zero)
    known = _select(flat, flat.make("eq", quotient, zero), none, whole)
    return _select(flat, by_zero, toward_zero, known)


def _exp_of_minus_size(flat: ScalarProgram, x: int) -> int:
    return flat.make("exp", flat.neg(flat.make("abs", x)))


@_row("sigmoid")
def _sigmoid(flat: ScalarProgram, dtype: str, x: int) -> int:
    e, one = _exp_of_minus_size(flat, x), flat.const(1, dtype)
    below = flat.add(one, e)
    upper = _select(flat, _less(flat, x, flat.const(0, dtype)), e, one)
    return flat.div(upper, below)


@_row("softplus")
def _softplus(flat: ScalarProgram, dtype: str, x: int) -> int:
    positive = flat.make("maximum", x, flat.const(0, dtype))
    return flat.add(positive, flat.make("log1p", _exp_of_minus_size(flat, x)))


@_row("logaddexp")
def _logaddexp(flat: ScalarProgram, dtype: str, x: int, y: int) -> int:
    apart = flat.make("log1p", _exp_of_minus_size(flat, flat.sub(x, y)))
    general = flat.add(flat.make("maximum", x, y), apart)
    equal = flat.add(x, flat.const(math.log(2), dtype))  # two infinities, too
    return _select(flat, flat.make("eq", x, y), equal, general)


@_row("logaddexp2")
def _logaddexp2(flat: ScalarProgram, dtype: str, x: int, y: int) -> int:
    less = flat.make("exp2", flat.neg(flat.make("abs", flat.sub(x, y))))
    apart = flat.mul(flat.make("log1p", less), flat.const(1 / math.log(2), dtype))
    general = flat.add(flat.make("maximum", x, y), apart)
    return _select(flat, flat.make("eq", x, y), flat.add(x, flat.const(1, dtype)), general)


@_row("xlogy")
def _xlogy(flat: ScalarProgram, dtype: str, x: int, y: int) -> int:
    return _zero_at_zero(flat, dtype, x, y, flat.mul(x, flat.make("log", y)))


@_row("xlog1py")
def _xlog1py(flat: ScalarProgram, dtype: str, x: int, y: int) -> int:
    return _zero_at_zero(flat, dtype, x, y, flat.mul(x, flat.make("log1p", y)))


def _zero_at_zero(flat: ScalarProgram, dtype: str, x: int, y: int, product: int) -> int:
    zero = flat.const(0, dtype)
    there = flat.make("and", flat.make("eq", x, zero), flat.make("eq", y, y))
    return _select(flat, there, zero, product)


@_row("entr")
def _entr(flat: ScalarProgram, dtype: str, x: int) -> int:
    zero = flat.const(0, dtype)
    product = flat.neg(flat.mul(x, flat.make("log", x)))
    below = _select(flat, _less(flat, x, zero), flat.const(-math.inf, dtype), product)
    return _select(flat, flat.make("eq", x, zero), zero, below)


@_row("logit")
def _logit(flat: ScalarProgram, dtype: str, x: int) -> int:
    one = flat.const(1, dtype)
    far = flat.make("log", flat.div(x, flat.sub(one, x)))
    twice = flat.mul(flat.const(2, dtype), flat.sub(x, flat.const(0.5, dtype)))
    near = flat.sub(flat.make("log1p", twice), flat.make("log1p", flat.neg(twice)))
    inside = flat.make("and", _less(flat, flat.const(0.3, dtype), x), _less(
        flat, x, flat.const(0.65, dtype)))  # fmt: skip
    return _select(flat, inside, near, far)


@_row("sinc")
def _sinc(flat: ScalarProgram, dtype: str, x: int) -> int:
    pi, half = flat.const(math.pi, dtype), flat.const(0.5, dtype)
    turns = flat.make("rint", flat.mul(x, half))
    within = flat.sub(x, flat.mul(turns, flat.const(2, dtype)))  # exact: sin has the period 2π
    ratio = flat.div(flat.make("sin", flat.mul(pi, within)), flat.mul(pi, x))
    return _select(flat, flat.make("eq", x, flat.const(0, dtype)), flat.const(1, dtype), ratio)


# What answers yes or no. --------------------------------------------------------------------------


def _truth(*functions: Any) -> Callable[[Lowered], Lowered]:
    def enter(lowered: Lowered) -> Lowered:
        LOWERED_PREDICATES.update(dict.fromkeys(functions, lowered))
        return lowered

    return enter


_COMPARISONS: dict[str, tuple[Any, ...]] = {
    "lt": (np.less, operator.lt),
    "le": (np.less_equal, operator.le),
    "eq": (np.equal, operator.eq),
    "ne": (np.not_equal, operator.ne),
}
for _operation, _functions in _COMPARISONS.items():
    for _function in _functions:
        LOWERED_PREDICATES[_function] = lambda flat, dtype, x, y, _o=_operation: flat.make(_o, x, y)


@_truth(np.greater, operator.gt)
def _greater(flat: ScalarProgram, dtype: str, x: int, y: int) -> int:
    return flat.make("lt", y, x)


@_truth(np.greater_equal, operator.ge)
def _at_least(flat: ScalarProgram, dtype: str, x: int, y: int) -> int:
    return flat.make("le", y, x)


def _on_truths(operation: str) -> Lowered:
    return lambda flat, dtype, *args: flat.make(operation, *[flat.to(BOOL, x) for x in args])


_CONNECTIVES: dict[str, tuple[Any, ...]] = {
    "and": (np.logical_and, np.bitwise_and, operator.and_),
    "or": (np.logical_or, np.bitwise_or, operator.or_),
    "xor": (np.logical_xor, np.bitwise_xor, operator.xor),
    "not": (np.logical_not, np.invert),
}
for _operation, _functions in _CONNECTIVES.items():
    for _function in _functions:
        LOWERED_PREDICATES[_function] = _on_truths(_operation)


@_truth(np.isnan)
def _isnan(flat: ScalarProgram, dtype: str, x: int) -> int:
    return _is_nan(flat, x)


@_truth(np.isfinite)
def _isfinite(flat: ScalarProgram, dtype: str, x: int) -> int:
    return _less(flat, flat.make("abs", x), flat.const(math.inf, dtype))


@_truth(np.isinf)
def _isinf(flat: ScalarProgram, dtype: str, x: int) -> int:
    return flat.make("eq", flat.make("abs", x), flat.const(math.inf, dtype))


@_truth(np.signbit)
def _signbit(flat: ScalarProgram, dtype: str, x: int) -> int:
    return flat.make("signbit", x)
