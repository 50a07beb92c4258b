"""Single operations, constants and functions as C writes them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from simpleautodiff.compiled.scalar.operations import DOUBLE, FLOAT, TRUTH, WHOLE

TYPES = {DOUBLE: "double", FLOAT: "float", TRUTH: "unsigned char", WHOLE: "int64_t"}
INFIX = {
    **{"add": "+", "sub": "-", "mul": "*", "div": "/"},
    **{"lt": "<", "le": "<=", "eq": "==", "ne": "!=", "and": "&", "or": "|", "xor": "!="},
}
_OTHER = {
    "neg": "-{0}",
    "not": "!{0}",
    "select": "{0} ? {1} : {2}",
    "signbit": "signbit({0}) != 0",
    "maximum": "({0} > {1} || {0} != {0}) ? {0} : {1}",
    "minimum": "({0} < {1} || {0} != {0}) ? {0} : {1}",
}
_OF_WHOLE = {
    **{
        name: f"(int64_t)((uint64_t){{0}} {sign} (uint64_t){{1}})"
        for name, sign in {"add": "+", "sub": "-", "mul": "*"}.items()
    },
    "neg": "(int64_t)(0 - (uint64_t){0})",
    "abs": "{0} < 0 ? (int64_t)(0 - (uint64_t){0}) : {0}",
    "fmod": "({1} == 0 || {1} == -1) ? 0 : {0} % {1}",
    "signbit": "{0} < 0",
    "maximum": "{0} > {1} ? {0} : {1}",
    "minimum": "{0} < {1} ? {0} : {1}",
}
_OF_TRUTHS = {
    **dict.fromkeys(("add", "maximum"), "{0} | {1}"),
    **dict.fromkeys(("mul", "minimum"), "{0} & {1}"),
}
_NAMES = {"power": "pow", "abs": "fabs"}


def function_in_c(head: str, lines: list[str]) -> str:
    """Write a function around its lines."""
    return "\n".join([head, "{", *(f"    {line}" for line in lines), "}"])


def constant_in_c(number: Any, kind: str) -> str:
    """Write a constant with as many digits as it takes to know it again.

    Examples
    --------
    >>> constant_in_c(-0.1, "d"), constant_in_c(0.1, "f"), constant_in_c(3, "l")
    ('(-0.1)', '0.1f', 'INT64_C(3)')
    """
    if kind == TRUTH:
        return str(int(number))
    if kind == WHOLE:
        return "INT64_MIN" if number == -(2**63) else _signed(f"INT64_C({abs(number)})", number)
    if math.isnan(number):
        return "NAN" if kind == FLOAT else "(double)NAN"
    if math.isinf(number):
        return _signed("INFINITY" if kind == FLOAT else "(double)INFINITY", number)
    size = f"{abs(np.float32(number))!s}f" if kind == FLOAT else repr(abs(float(number)))
    return _signed(size, number)


def _signed(size: str, number: Any) -> str:
    return f"(-{size})" if math.copysign(1, number) < 0 else size


def step_in_c(operation: str, kind: str, gives: str, names: list[str]) -> str:
    """Write one operation on numbers of a kind, and the kind that it gives.

    Examples
    --------
    >>> step_in_c("add", "d", "d", ["x", "y"]), step_in_c("power", "f", "f", ["x", "y"])
    ('x + y', '(float)pow(x, y)')
    """
    special = {WHOLE: _OF_WHOLE, TRUTH: _OF_TRUTHS}.get(kind, {}).get(operation)
    if special or operation in _OTHER:
        return (special or _OTHER[operation]).format(*names)
    if operation in INFIX:
        return f"{names[0]} {INFIX[operation]} {names[1]}"
    if operation.startswith("to_"):
        return f"({TYPES[gives]}){names[0]}"
    called = f"{_NAMES.get(operation, operation)}({', '.join(names)})"
    return f"(float){called}" if kind == FLOAT else called
