"""Single operations, constants and functions in C."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from simpleautodiff.compiled.scalar.operations import (
    BOOL,
    FLOAT32,
    FLOAT64,
    INT64,
    OPERATIONS,
    call,
)
from simpleautodiff.errors import ValueKindError

TYPES = {FLOAT64: "double", FLOAT32: "float", BOOL: "unsigned char", INT64: "int64_t"}


def function_in_c(head: str, lines: list[str]) -> str:
    """Write a function with these lines as its body."""
    return "\n".join([head, "{", *(f"    {line}" for line in lines), "}"])


def constant_in_c(number: Any, kind: str) -> str:
    """Write a constant with enough digits to restore it exactly.

    Examples
    --------
    >>> constant_in_c(-0.1, "d"), constant_in_c(0.1, "f"), constant_in_c(3, "l")
    ('(-0.1)', '0.1f', 'INT64_C(3)')
    """
    if kind == BOOL:
        return str(int(number))
    if kind == INT64:
        return "INT64_MIN" if number == -(2**63) else _with_sign(f"INT64_C({abs(number)})", number)
    if math.isnan(number):
        return _with_sign("NAN" if kind == FLOAT32 else "(double)NAN", number)
    if math.isinf(number):
        return _with_sign("INFINITY" if kind == FLOAT32 else "(double)INFINITY", number)
    size = f"{abs(np.float32(number))!s}f" if kind == FLOAT32 else repr(abs(float(number)))
    return _with_sign(size, number)


def _with_sign(size: str, number: Any) -> str:
    return f"(-{size})" if math.copysign(1, number) < 0 else size


def step_in_c(operation: str, kind: str, names: list[str]) -> str:
    """Write one operation on numbers of a dtype.

    Examples
    --------
    >>> step_in_c("add", "d", ["x", "y"]), step_in_c("power", "f", ["x", "y"])
    ('x + y', '(float)pow(x, y)')
    """
    row = OPERATIONS.get(operation)
    if row is None:  # a function of the same file
        text = call(operation, len(names)).format("", *names)
        return f"(float){text}" if kind == FLOAT32 else text
    code = row.code(kind)
    if code is None:
        raise ValueKindError(f"{operation} is not for numbers of dtype {kind!r}.")
    text = code.c.format("", *names)
    rounds = kind == FLOAT32 and row.gives == "same" and code.c.endswith(")")
    return f"(float){text}" if rounds else text  # functions of the C library return a double
