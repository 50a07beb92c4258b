"""Lower rows (primitives) to scalar operations: the steps for one number.

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

Lowering = Callable[..., int]  # (program, dtype, *indices of steps) -> index of the result
LOWERED_ROWS: dict[str, Lowering] = {}  # by the names of rows
LOWERED_PREDICATES: dict[Any, Lowering] = {}  # functions of NumPy and Python that return a bool
INTEGER_ROWS = frozenset(
    ("add", "sub", "mul", "neg", "abs", "maximum", "minimum", "square", "sign", "clip", "mod",
     "floor_divide", "pos", "conj", "real", "stop_gradient")
)  # of integers they give integers, exactly  # fmt: skip
LIGHT_ROWS = INTEGER_ROWS - {"mod", "floor_divide"} | {"where", "astype"}


def dtype_letter(dtype: Any) -> str | None:
    """Return the letter of a dtype, or None if that dtype is not compiled."""
    if dtype is None or not dtype.isnative:
        return None
    if dtype.kind in "iu":
        return INT64 if dtype.itemsize == 8 and dtype.kind == "i" else None
    return {"d": FLOAT64, "f": FLOAT32, "?": BOOL}.get(dtype.char)


def can_lower(what: Any, dtype: Any) -> bool:
    """Tell whether a row, or a function without a derivative, can be lowered."""
    dtype = dtype_letter(dtype)
    if dtype is None:
        return False
    name = getattr(what, "name", None)
    if name == "where":
        return True
    if name is None:
        return what in LOWERED_PREDICATES and dtype == BOOL
    return name in LOWERED_ROWS and (dtype in (FLOAT64, FLOAT32) or _is_of_integers(name, dtype))


def _is_of_integers(name: str, dtype: str) -> bool:
    return dtype == INT64 and name in INTEGER_ROWS


def is_light(line: Any) -> bool:
    """Tell whether a line of an array program takes a step or two for each element."""
    if line.name == "power":
        return type(line.args[1]) in (int, float) and line.args[1] in (2, 3)
    return line.name in LIGHT_ROWS or (callable(line.what) and line.what in LOWERED_PREDICATES)


def lower(program: ScalarProgram, what: Any, dtype: str, args: list[int]) -> int:
    """Append one row, or one predicate, on single numbers; `dtype` is that of the result."""
    name = getattr(what, "name", None)
    if name == "where":
        condition, *rest = args
        return program.make(
            "select", program.to(BOOL, condition), *[program.to(dtype, x) for x in rest]
        )
    if name is not None:
        return LOWERED_ROWS[name](program, dtype, *[program.to(dtype, x) for x in args])
    common = _common([program.dtypes[x] for x in args])
    return LOWERED_PREDICATES[what](program, common, *[program.to(common, x) for x in args])


def _common(dtypes: list[str]) -> str:
    """Return the dtype in which numbers are compared."""
    for dtype in (FLOAT64, FLOAT32, INT64):
        if dtype in dtypes:
            return FLOAT64 if dtype == FLOAT32 and INT64 in dtypes else dtype
    return BOOL


def _row(name: str) -> Callable[[Lowering], Lowering]:
    def enter(lowered: Lowering) -> Lowering:
        LOWERED_ROWS[name] = lowered
        return lowered

    return enter


for _name in [name for name, row in OPERATIONS.items() if row.gives == "same" and name in TABLE]:
    LOWERED_ROWS[_name] = lambda program, dtype, *args, _name=_name: program.make(_name, *args)
for _name in ("pos", "conj", "real", "stop_gradient"):
    LOWERED_ROWS[_name] = lambda program, dtype, x: x


def _less(program: ScalarProgram, x: int, y: int) -> int:
    return program.make("lt", x, y)


def _select(program: ScalarProgram, condition: int, x: int, y: int) -> int:
    return program.make("select", condition, x, y)


def _is_nan(program: ScalarProgram, x: int) -> int:
    return program.make("ne", x, x)


@_row("square")
def _square(program: ScalarProgram, dtype: str, x: int) -> int:
    return program.mul(x, x)


@_row("reciprocal")
def _reciprocal(program: ScalarProgram, dtype: str, x: int) -> int:
    return program.div(program.const(1, dtype), x)


@_row("deg2rad")
def _deg2rad(program: ScalarProgram, dtype: str, x: int) -> int:
    return program.mul(x, program.const(math.pi / 180, dtype))


@_row("rad2deg")
def _rad2deg(program: ScalarProgram, dtype: str, x: int) -> int:
    return program.mul(x, program.const(180 / math.pi, dtype))


@_row("sign")
def _sign(program: ScalarProgram, dtype: str, x: int) -> int:
    zero, one = program.const(0, dtype), program.const(1, dtype)
    at_most = _select(program, _less(program, x, zero), program.neg(one), _select(
        program, program.make("eq", x, zero), zero, x))  # fmt: skip
    return _select(program, _less(program, zero, x), one, at_most)


@_row("relu")
def _relu(program: ScalarProgram, dtype: str, x: int) -> int:
    return program.make("maximum", x, program.const(0, dtype))


def _unless_nan(operation: str) -> Lowering:
    def lowered(program: ScalarProgram, dtype: str, x: int, y: int) -> int:
        both = _select(program, _is_nan(program, x), y, program.make(operation, x, y))
        return _select(program, _is_nan(program, y), x, both)

    return lowered


LOWERED_ROWS["fmax"] = _unless_nan("maximum")
LOWERED_ROWS["fmin"] = _unless_nan("minimum")


@_row("clip")
def _clip(program: ScalarProgram, dtype: str, x: int, low: int, high: int) -> int:
    return program.make("minimum", program.make("maximum", x, low), high)


@_row("mod")
def _mod(program: ScalarProgram, dtype: str, x: int, y: int) -> int:
    """Return the remainder with the sign of y, as Python does."""
    zero = program.const(0, dtype)
    rest = program.make("fmod", x, y)
    other_side = program.make("xor", _less(program, rest, zero), _less(program, y, zero))
    moved = _select(program, other_side, program.add(rest, y), rest)
    if dtype == INT64:
        return _select(program, program.make("eq", rest, zero), zero, moved)
    return _select(
        program, program.make("eq", rest, zero), program.make("copysign", zero, y), moved
    )


@_row("floor_divide")
def _floor_divide(program: ScalarProgram, dtype: str, x: int, y: int) -> int:
    """Divide and round down, as Python does: from the remainder, which is exact.

    There is one division: two would share a reciprocal, which small numbers do not have.
    """
    if dtype == INT64:
        return program.make("quotient", x, y)
    zero, one = program.const(0, dtype), program.const(1, dtype)
    rest, by_zero = program.make("fmod", x, y), program.make("eq", y, zero)
    other_side = program.make("xor", _less(program, rest, zero), _less(program, y, zero))
    below = program.make("and", other_side, program.make("ne", rest, zero))
    toward_zero = program.div(program.sub(x, rest), y)  # y may be infinite
    quotient = _select(program, below, program.sub(toward_zero, one), toward_zero)
    down = program.make("floor", quotient)
    off = _less(program, program.const(0.5, dtype), program.sub(quotient, down))
    whole = _select(program, off, program.add(down, one), down)
    signs = [program.make("signbit", number) for number in (x, y)]
    none = _select(program, program.make("xor", *signs), program.const(-0.0, dtype), zero)
    known = _select(program, program.make("eq", quotient, zero), none, whole)
    infinity = program.make("copysign", program.const(math.inf, dtype), y)
    return _select(program, by_zero, program.mul(x, infinity), known)


def _exp_of_minus_size(program: ScalarProgram, x: int) -> int:
    return program.make("exp", program.neg(program.make("abs", x)))


@_row("sigmoid")
def _sigmoid(program: ScalarProgram, dtype: str, x: int) -> int:
    e, one = _exp_of_minus_size(program, x), program.const(1, dtype)
    below = program.add(one, e)
    upper = _select(program, _less(program, x, program.const(0, dtype)), e, one)
    return program.div(upper, below)


@_row("sech_squared")
def _sech_squared(program: ScalarProgram, dtype: str, x: int) -> int:
    size = program.make("abs", x)
    e = program.make("exp", program.mul(size, program.const(-2, dtype)))
    below = program.add(program.const(1, dtype), e)
    return program.div(program.mul(e, program.const(4, dtype)), program.mul(below, below))


@_row("softplus")
def _softplus(program: ScalarProgram, dtype: str, x: int) -> int:
    positive = program.make("maximum", x, program.const(0, dtype))
    return program.add(positive, program.make("log1p", _exp_of_minus_size(program, x)))


@_row("logaddexp")
def _logaddexp(program: ScalarProgram, dtype: str, x: int, y: int) -> int:
    apart = program.make("log1p", _exp_of_minus_size(program, program.sub(x, y)))
    general = program.add(program.make("maximum", x, y), apart)
    equal = program.add(x, program.const(math.log(2), dtype))  # also for two infinities
    return _select(program, program.make("eq", x, y), equal, general)


@_row("logaddexp2")
def _logaddexp2(program: ScalarProgram, dtype: str, x: int, y: int) -> int:
    less = program.make("exp2", program.neg(program.make("abs", program.sub(x, y))))
    apart = program.mul(program.make("log1p", less), program.const(1 / math.log(2), dtype))
    general = program.add(program.make("maximum", x, y), apart)
    return _select(
        program, program.make("eq", x, y), program.add(x, program.const(1, dtype)), general
    )


@_row("xlogy")
def _xlogy(program: ScalarProgram, dtype: str, x: int, y: int) -> int:
    return _zero_at_zero(program, dtype, x, y, program.mul(x, program.make("log", y)))


@_row("xlog1py")
def _xlog1py(program: ScalarProgram, dtype: str, x: int, y: int) -> int:
    return _zero_at_zero(program, dtype, x, y, program.mul(x, program.make("log1p", y)))


def _zero_at_zero(program: ScalarProgram, dtype: str, x: int, y: int, product: int) -> int:
    zero = program.const(0, dtype)
    there = program.make("and", program.make("eq", x, zero), program.make("eq", y, y))
    return _select(program, there, zero, product)


@_row("entr")
def _entr(program: ScalarProgram, dtype: str, x: int) -> int:
    zero = program.const(0, dtype)
    product = program.neg(program.mul(x, program.make("log", x)))
    below = _select(program, _less(program, x, zero), program.const(-math.inf, dtype), product)
    return _select(program, program.make("eq", x, zero), zero, below)


@_row("logit")
def _logit(program: ScalarProgram, dtype: str, x: int) -> int:
    one = program.const(1, dtype)
    far = program.make("log", program.div(x, program.sub(one, x)))
    twice = program.mul(program.const(2, dtype), program.sub(x, program.const(0.5, dtype)))
    near = program.sub(program.make("log1p", twice), program.make("log1p", program.neg(twice)))
    inside = program.make("and", _less(program, program.const(0.3, dtype), x), _less(
        program, x, program.const(0.65, dtype)))  # fmt: skip
    return _select(program, inside, near, far)


@_row("sinc")
def _sinc(program: ScalarProgram, dtype: str, x: int) -> int:
    pi, half = program.const(math.pi, dtype), program.const(0.5, dtype)
    turns = program.make("rint", program.mul(x, half))
    within = program.sub(
        x, program.mul(turns, program.const(2, dtype))
    )  # exact: sin has the period 2π
    ratio = program.div(program.make("sin", program.mul(pi, within)), program.mul(pi, x))
    return _select(
        program, program.make("eq", x, program.const(0, dtype)), program.const(1, dtype), ratio
    )


# Predicates. -------------------------------------------------------------------------------------


def _truth(*functions: Any) -> Callable[[Lowering], Lowering]:
    def enter(lowered: Lowering) -> Lowering:
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
        LOWERED_PREDICATES[_function] = lambda program, dtype, x, y, _o=_operation: program.make(
            _o, x, y
        )


@_truth(np.greater, operator.gt)
def _greater(program: ScalarProgram, dtype: str, x: int, y: int) -> int:
    return program.make("lt", y, x)


@_truth(np.greater_equal, operator.ge)
def _at_least(program: ScalarProgram, dtype: str, x: int, y: int) -> int:
    return program.make("le", y, x)


def _on_truths(operation: str) -> Lowering:
    return lambda program, dtype, *args: program.make(
        operation, *[program.to(BOOL, x) for x in args]
    )


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
def _isnan(program: ScalarProgram, dtype: str, x: int) -> int:
    return _is_nan(program, x)


@_truth(np.isfinite)
def _isfinite(program: ScalarProgram, dtype: str, x: int) -> int:
    return _less(program, program.make("abs", x), program.const(math.inf, dtype))


@_truth(np.isinf)
def _isinf(program: ScalarProgram, dtype: str, x: int) -> int:
    return program.make("eq", program.make("abs", x), program.const(math.inf, dtype))


@_truth(np.signbit)
def _signbit(program: ScalarProgram, dtype: str, x: int) -> int:
    return program.make("signbit", x)
