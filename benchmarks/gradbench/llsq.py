"""llsq: least squares with a polynomial that is to follow the sign of t."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import simpleautodiff as ad


def by_matrix(x: Any, n: int) -> Any:
    """Return half the sum of squares; the powers of t are a matrix that does not depend on x."""
    t = np.linspace(-1.0, 1.0, n)
    powers = np.ones((n, len(x)))
    powers[:, 1:] = np.cumprod(np.broadcast_to(t[:, None], (n, len(x) - 1)), axis=1)
    return np.sum((np.sign(t) - powers @ x) ** 2) / 2


def by_horner(x: Any, n: int) -> Any:
    """Return the same, with the polynomial by Horner's rule."""
    t = np.linspace(-1.0, 1.0, n)
    y = np.zeros(n)
    for coefficient in x[::-1]:
        y = y * t + coefficient
    return np.sum((np.sign(t) - y) ** 2) / 2


derivative = ad.grad
FORMS = {"constant matrix": by_matrix, "Horner": by_horner}
FUNCTIONS = {"primal": ad.jit(by_matrix), "gradient": ad.jit(derivative(by_matrix))}


def read(given: Any) -> tuple[Any, ...]:
    """Take the coefficients, and the number of points."""
    return np.array(given["x"], dtype=float), int(given["n"])


def workloads(quick: bool = False) -> Iterator[tuple[str, Any]]:
    """Return polynomials of degree 127 and ever more points."""
    chance = np.random.RandomState(31337)
    sizes = (16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8196, 16392)
    for n in sizes[:7] if quick else sizes:
        yield f"n={n}", {"x": chance.rand(128).tolist(), "n": n}
