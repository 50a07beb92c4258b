"""Convert the numbers that a program computes to the result that the function would return."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from simpleautodiff.errors import ArgumentError, TraceError
from simpleautodiff.values.pytree import flatten


def find_finish(outputs: list[Any], result: Any, name: str) -> Callable[[list[Any]], Any]:
    """Return a function that converts numbers to the structure and the types of `result`.

    What is no number of the program is as it was, and must have been so.
    """
    leaves, rebuild = flatten(result)
    if len(leaves) != len(outputs):
        raise TraceError(f"{name} returned another structure when it was run again")
    pairs = [*zip(leaves, outputs, strict=True)]
    makers = [_maker(leaf) if hasattr(output, "concrete") else None for leaf, output in pairs]
    constants = [pair for pair, maker in zip(pairs, makers, strict=True) if maker is None]
    check_same([output for _, output in constants], [leaf for leaf, _ in constants], name)
    fixed = [
        None if maker else copy_array(leaf) for maker, leaf in zip(makers, leaves, strict=True)
    ]

    def finish(numbers: list[Any]) -> Any:
        new = iter(numbers)
        parts = [maker(next(new)) if maker else copy_array(leaf)
                 for maker, leaf in zip(makers, fixed, strict=True)]  # fmt: skip
        return rebuild(iter(parts))

    return finish


def check_same(numbers: list[Any], result: Any, name: str) -> None:
    """Refuse a function that returns other numbers when it is called again.

    `numbers` are the leaves of that second result: numbers, or symbols that have them.
    """
    for leaf, again in zip(flatten(result)[0], numbers, strict=True):
        number = getattr(again, "concrete", again)
        if not _agree(leaf, number):
            raise TraceError(f"{name} gave {number!r} where it had given {leaf!r} before")


def dtype_of_result(leaf: Any) -> Any:
    """Return the dtype of a part of a result; None if it is not a number."""
    is_number = isinstance(leaf, (bool, int, float, complex, np.generic, np.ndarray))
    return np.asarray(leaf).dtype if is_number else None


def check_types(result: Any, again: Any, name: str) -> None:
    """Refuse a function that returns other types at another call."""
    if [*map(_type_of, flatten(result)[0])] != [*map(_type_of, flatten(again)[0])]:
        raise TraceError(f"{name} returns other types at other numbers")


def _type_of(leaf: Any) -> tuple[Any, Any]:
    """Return the class of a part of a result, and its dtype if it is a number."""
    return type(leaf), dtype_of_result(leaf)


def copy_array(leaf: Any) -> Any:
    """Return a result that shares no memory."""
    return leaf.copy() if isinstance(leaf, np.ndarray) else leaf


def _maker(leaf: Any) -> Any:
    """Return a function that makes a number or an array like `leaf`."""
    if isinstance(leaf, np.ndarray):
        dtype, shape = leaf.dtype, leaf.shape
        return lambda x: np.asarray(x, dtype).reshape(shape)
    if isinstance(leaf, np.integer):
        return lambda x: _to_integer(np.asarray(x).reshape(())[()], leaf.dtype.type, np.float64)
    if isinstance(leaf, np.generic):
        return lambda x: np.asarray(x, leaf.dtype).reshape(())[()]
    kind = _to_integer if type(leaf) is int else type(leaf)
    return lambda x: kind(np.asarray(x).reshape(())[()])


def _to_integer(number: Any, whole: Any = int, otherwise: Any = float) -> Any:
    """Return a number without a fraction as an integer; the floor of nan is nan."""
    largest = math.inf if whole is int else 2.0**63  # the range of int64
    return whole(number) if abs(number) < largest else otherwise(number)


def _agree(leaf: Any, number: Any) -> bool:
    """Tell whether two results are equal up to rounding."""
    if not isinstance(leaf, (float, int, complex, np.generic, np.ndarray)):
        return leaf is number or bool(leaf == number)
    a, b = np.asarray(leaf), np.asarray(number)
    if a.shape != b.shape or a.dtype.kind not in "biufc":
        return False
    scale = np.max(np.abs(a[np.isfinite(a)]), initial=0.0)
    loose = 1e-3 if a.dtype.itemsize <= 4 else 1e-6
    return bool(np.allclose(a, b, rtol=loose, atol=loose * float(scale), equal_nan=True))


def write_into(result: Any, out: Any) -> Any:
    """Write a result into the array that the caller gave."""
    if not isinstance(result, np.ndarray) or not isinstance(out, np.ndarray):
        raise ArgumentError(
            f"out=... is an array for a result that is one; the result is a "
            f"{type(result).__name__}, out a {type(out).__name__}"
        )
    if out.shape != result.shape or out.dtype != result.dtype:
        raise ArgumentError(
            f"out has the shape {out.shape} and the kind {out.dtype}, the result {result.shape} "
            f"and {result.dtype}"
        )
    if result is not out and not _is_view(result, out):  # otherwise it was written there directly
        np.copyto(out, result)
    return out


def _is_view(result: Any, of: Any) -> bool:
    """Tell whether an array has exactly the elements of another, in the same memory."""
    return result.__array_interface__["data"] == of.__array_interface__["data"] and bool(
        result.strides == of.strides
    )


def without_out(kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return the keyword arguments without `out`."""
    return {name: arg for name, arg in kwargs.items() if name != "out"}


def is_as_before(old: Any, new: Any) -> bool:
    """Tell whether an argument still has its old elements."""
    if not isinstance(old, np.ndarray):
        return True
    return np.array_equal(old, new, equal_nan=old.dtype.kind in "fc")
