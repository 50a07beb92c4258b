"""det: the determinant by expansion along minors, all minors of a row at a time.

Below every minor stand those that are left when one of its columns is taken out. So the minors of
the last row are a table with as many elements as there are permutations, and each row above it is a
sum over the last axis. None is used twice: this is the suite's recursion, not a cheaper one.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

import simpleautodiff as ad


@cache
def columns_left(size: int) -> list[Any]:
    """Return for each row the columns that its minors have left, one minor in each line."""
    left = [np.arange(size)[None, :]]
    for count in range(size, 1, -1):
        others = np.array([[j for j in range(count) if j != out] for out in range(count)])
        left.append(left[-1][:, others].reshape(-1, count - 1))
    return left


def determinant(a: Any) -> Any:
    """Expand along the first row, and the minors in the same way."""
    size = len(a)
    left = columns_left(size)
    minors = a[-1][left[-1][:, 0]]
    for row in range(size - 2, -1, -1):
        signs = (-1.0) ** np.arange(size - row)
        minors = np.sum(signs * a[row][left[row]] * minors.reshape(left[row].shape), axis=1)
    return minors[0]


FUNCTIONS = {"primal": ad.jit(determinant), "gradient": ad.jit(ad.grad(determinant))}


def read(given: Any) -> tuple[Any, ...]:
    """Make the matrix."""
    size = given["ell"]
    return (np.array(given["A"], dtype=float).reshape(size, size),)


def write(name: str, value: Any) -> Any:
    """Write a gradient row after row."""
    return np.ravel(value).tolist() if name == "gradient" else float(value)


def workloads(quick: bool = False) -> Iterator[tuple[str, Any]]:
    """Return matrices of 5 rows and more."""
    chance = np.random.RandomState(31337)
    for size in range(5, 8 if quick else 12):
        yield str(size), {"A": chance.rand(size * size).tolist(), "ell": size}
