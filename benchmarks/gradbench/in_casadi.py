"""A few problems as graphs of CasADi, built before they are timed, where these are small."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi
import numpy as np

LARGEST = 20_000  # operations of a graph that is still built soon


def _call(f: Callable[[Any], Any], x: Any, operations: int) -> Callable[[], Any]:
    if operations > LARGEST:
        raise ValueError(f"not measured above {LARGEST} operations, to keep the benchmark short")
    symbols = casadi.SX.sym("x", np.size(x))
    function = casadi.Function("f", [symbols], [casadi.gradient(f(symbols), symbols)])
    given = np.ravel(x)
    return lambda: function(given).full().ravel()


def hello(x: float) -> Callable[[], Any]:
    return _call(lambda x: x * x, x, 1)


def det(a: Any) -> Callable[[], Any]:
    size = len(a)

    def minor(x: Any, row: int, columns: tuple[int, ...]) -> Any:
        if row == size - 1:
            return x[row * size + columns[0]]
        parts = []
        for j, column in enumerate(columns):
            below = minor(x, row + 1, columns[:j] + columns[j + 1 :])
            parts.append((-1) ** j * x[row * size + column] * below)
        return sum(parts)

    operations = int(3 * np.prod(np.arange(1.0, size + 1)))
    return _call(lambda x: minor(x, 0, tuple(range(size))), a, operations)


def lse(x: Any) -> Callable[[], Any]:
    highest = np.max(x)  # its derivative cancels
    return _call(lambda x: casadi.log(casadi.sum1(casadi.exp(x - highest))), x, 3 * len(x))


def llsq(x: Any, n: int) -> Callable[[], Any]:
    t = np.linspace(-1.0, 1.0, n)
    powers, signs = t[:, None] ** np.arange(len(x)), np.sign(t)
    return _call(lambda x: casadi.sumsqr(signs - powers @ x) / 2, x, 2 * n * len(x))
