"""Simpler steps for a scalar program: what each operation is where its arguments allow it.

Everything here is exact, but for the sign of a zero, and for reciprocals of powers: nothing is done
in a precise program that could change a result in its last bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from simpleautodiff.compiled.scalar.operations import FLOAT32, FLOAT64, OPERATIONS

REAL = (FLOAT64, FLOAT32)
LARGEST_SHIFT = 2.0**100  # of the powers of two that move from one factor to another


class Steps(Protocol):
    """A scalar program, as far as it is used here."""

    precise: bool
    steps: list[tuple[Any, ...]]
    dtypes: list[str]

    def make(self, operation: str, *args: int) -> int:
        """Return the index of an operation on earlier steps."""

    def const(self, number: Any, dtype: str = FLOAT64) -> int:
        """Return the index of a constant."""

    def zero(self, dtype: str = FLOAT64) -> int:
        """Return the index of the structural zero."""

    def is_zero(self, index: int) -> bool:
        """Tell whether a step is the structural zero."""

    def number(self, index: int) -> Any:
        """Return the number that a step is known to be, or None."""


# Most steps cannot be simplified; this is checked first, as programs can be long.
_PLAIN = frozenset(OPERATIONS) - {"neg"} | {"input"}


def split_multiple(program: Steps, index: int) -> tuple[int, float]:
    """Return the number of which a step is a multiple by a power of two, and that power."""
    other, number = _split_factor(program, index)
    return (other, number) if number > 0 and _is_power(number) else (index, 1.0)


def _split_factor(program: Steps, index: int) -> tuple[int, float]:
    """Return the number of which a step is a multiple by a constant, and the constant."""
    step = program.steps[index]
    for factor, other in (step[1:], step[:0:-1]) if step[0] == "mul" else ():
        if program.steps[factor][0] == "const" and program.dtypes[factor] in REAL:
            return other, float(program.number(factor))
    return index, 1.0


def _is_power(number: float) -> bool:
    """Tell whether a factor is a power of two, or its negative, and not too far from 1."""
    return abs(math.frexp(number)[0]) == 0.5 and _is_exact(number)


def _is_exact(number: float) -> bool:
    return 1 / LARGEST_SHIFT <= abs(number) <= LARGEST_SHIFT


def _multiple(program: Steps, number: float, x: int) -> int:
    return program.make("mul", x, program.const(number, program.dtypes[x]))


def _simpler_add(program: Steps, x: int, y: int) -> int | None:
    names = program.steps[x][0], program.steps[y][0]
    if names[0] in _PLAIN and names[1] in _PLAIN:
        return _add_multiples(program, x, y) if x == y or names == ("mul", "mul") else None
    if program.is_zero(x):
        return y
    if program.is_zero(y):
        return x
    if program.precise:
        return None
    for one, other in ((x, y), (y, x)):
        if program.number(one) == 0:
            return other
        if program.steps[one][0] == "neg":
            return program.make("sub", other, program.steps[one][1])
    return None


def _add_multiples(program: Steps, x: int, y: int) -> int | None:
    """Return 2 x for x + x, and 2 (x + y) for 2 x + 2 y."""
    if program.precise or program.dtypes[x] not in REAL:
        return None
    if x == y:
        return _multiple(program, 2.0, x)
    (one, power), (other, same) = split_multiple(program, x), split_multiple(program, y)
    if power == 1 or power != same:
        return None
    return _multiple(program, power, program.make("add", one, other))


def _simpler_sub(program: Steps, x: int, y: int) -> int | None:
    if program.steps[x][0] in _PLAIN and program.steps[y][0] in _PLAIN:
        return None
    if program.is_zero(y):
        return x
    if program.is_zero(x):
        return program.make("neg", y)
    if program.precise:
        return None
    if program.number(y) == 0:
        return x
    if program.steps[y][0] == "neg":
        return program.make("add", x, program.steps[y][1])
    if program.steps[x] == ("neg", y) and program.dtypes[y] in REAL:
        return program.make("neg", _multiple(program, 2.0, y))
    return None


def _simpler_mul(program: Steps, x: int, y: int) -> int | None:
    if program.steps[x][0] in _PLAIN and program.steps[y][0] in _PLAIN:
        return _square_multiple(program, x) if x == y and program.steps[x][0] == "mul" else None
    if program.is_zero(x) or program.is_zero(y):
        return program.zero(program.dtypes[x])
    for one, other in ((x, y), (y, x)):
        number = program.number(one)
        if number == 1:
            return other
        if number == -1:
            return program.make("neg", other)
        if program.steps[one][0] == "neg" and program.number(other) is None:
            return program.make("neg", program.make("mul", program.steps[one][1], other))
        if number is not None and program.dtypes[other] in REAL and not program.precise:
            return _join_factors(program, float(number), other)
    return None


def _square_multiple(program: Steps, x: int) -> int | None:
    """Return 4 x² for (2 x)²."""
    one, power = split_multiple(program, x)
    if program.precise or power == 1 or not _is_exact(power * power):
        return None
    return _multiple(program, power * power, program.make("mul", one, one))


def _join_factors(program: Steps, number: float, x: int) -> int | None:
    """Return (c × 2) x for c (2 x), and -c x for c (-x)."""
    if program.steps[x][0] == "neg":
        return _multiple(program, -number, program.steps[x][1])
    one, factor = _split_factor(program, x)
    if one == x or not _is_exact(number * factor):
        return None
    if not _is_power(number) and not _is_power(factor):
        return None
    return _multiple(program, number * factor, one)


def _simpler_div(program: Steps, x: int, y: int) -> int | None:
    if program.is_zero(x):
        return x
    divisor = program.number(y)
    if divisor is None:
        return (
            program.make("neg", program.make("div", program.steps[x][1], y))
            if program.steps[x][0] == "neg"
            else None
        )
    if divisor == 1:
        return x
    fraction, exponent = np.frexp(divisor)
    if abs(fraction) == 0.5 and abs(exponent) < 120:  # the reciprocal is a float32, too
        return program.make(
            "mul", x, program.const(1 / divisor, program.dtypes[y])
        )  # exact: a power of two
    return None


def _simpler_neg(program: Steps, x: int) -> int | None:
    if program.is_zero(x):
        return x
    return program.steps[x][1] if program.steps[x][0] == "neg" else None


def _simpler_abs(program: Steps, x: int) -> int | None:
    return program.make("abs", program.steps[x][1]) if program.steps[x][0] == "neg" else None


def _simpler_select(program: Steps, condition: int, x: int, y: int) -> int | None:
    known = program.number(condition)
    if known is not None:
        return x if known else y
    assumed = _assume(program, x, condition, True), _assume(program, y, condition, False)
    if assumed != (x, y):
        return program.make("select", condition, *assumed)
    if x == y:
        return x
    if program.is_zero(x) and program.is_zero(y):
        return x
    return None


def _assume(program: Steps, x: int, condition: int, holds: bool, deep: int = 3) -> int:
    """Return a number without the choices by a condition, given whether the condition holds.

    A slope that is not defined at 0, say, is computed from where(x == 0, 1, x) and used where x is
    not 0. Only `deep` steps are looked through.
    """
    step = program.steps[x]
    if step[0] == "select" and step[1] == condition:
        return int(step[2] if holds else step[3])
    if not deep or step[0] in ("input", "const"):
        return x
    args = [_assume(program, arg, condition, holds, deep - 1) for arg in step[1:]]
    return x if args == [*step[1:]] else program.make(step[0], *args)


def _simpler_comparison(operation: str) -> Callable[[Steps, int, int], int | None]:
    """Return what simplifies x < y or x ≤ y: -x < -y is y < x, and 2 x < 6 is x < 3."""

    def simplify(program: Steps, x: int, y: int) -> int | None:
        if program.dtypes[x] not in REAL:
            return None
        if "neg" in (program.steps[x][0], program.steps[y][0]):
            negatives = [_known_negative(program, index) for index in (y, x)]
            if None not in negatives:
                return program.make(operation, *negatives)
        for one, other in ((x, y), (y, x)) if not program.precise else ():
            number, (part, power) = program.number(other), split_multiple(program, one)
            if number is not None and power != 1 and (not number or _is_exact(number / power)):
                limit = program.const(number / power, program.dtypes[x])
                return program.make(operation, *((part, limit) if one == x else (limit, part)))
        return None

    return simplify


def _known_negative(program: Steps, x: int) -> Any:
    """Return the negative of a step if it costs nothing, or None."""
    if program.steps[x][0] == "neg":
        return program.steps[x][1]
    number = program.number(x)
    return None if number is None else program.const(-number, program.dtypes[x])


def _simpler_not(program: Steps, x: int) -> int | None:
    return program.steps[x][1] if program.steps[x][0] == "not" else None


def _simpler_power(program: Steps, x: int, y: int) -> int | None:
    exponent = program.number(y)
    if exponent is None or program.precise or not abs(exponent) <= 8:
        return None
    if exponent == int(exponent):
        return _whole_power(program, x, int(exponent))
    is_half = 2 * exponent % 2 == 1 and abs(exponent) <= 4
    return _half_power(program, x, int(2 * exponent)) if is_half else None


def _whole_power(program: Steps, x: int, n: int) -> int:
    if n < 0:  # a power of the reciprocal, which overflows only if the result does
        return _whole_power(
            program, program.make("div", program.const(1, program.dtypes[x]), x), -n
        )
    if n == 0:
        return program.const(1, program.dtypes[x])
    if n == 1:
        return x
    half = _whole_power(program, x, n // 2)
    square = program.make("mul", half, half)
    return program.make("mul", square, x) if n % 2 else square


def _half_power(program: Steps, x: int, n: int) -> int:
    """Append x^(n/2) of an odd n: of -0.0 and -inf it is 0 and inf, which no root is."""
    dtype = program.dtypes[x]
    lowest, largest = [program.const(sign * math.inf, dtype) for sign in (-1, 1)]
    root = program.make("abs", program.make("sqrt", x))
    root = program.make("select", program.make("eq", x, lowest), largest, root)
    part = root if n > 0 else program.make("div", program.const(1, dtype), root)
    whole = abs(n) // 2 if n > 0 else -(abs(n) // 2)
    return program.make("mul", _whole_power(program, program.make("abs", x), whole), part)


SIMPLER: dict[str, Any] = {
    "add": _simpler_add,
    "sub": _simpler_sub,
    "mul": _simpler_mul,
    "div": _simpler_div,
    "neg": _simpler_neg,
    "abs": _simpler_abs,
    "select": _simpler_select,
    "not": _simpler_not,
    "lt": _simpler_comparison("lt"),
    "le": _simpler_comparison("le"),
    "power": _simpler_power,
}
