"""Rows: equations whose unknown is a matrix, named after Sylvester and Riccati."""

from __future__ import annotations

from typing import Any

import numpy as np

from simpleautodiff.core.linear import Linear
from simpleautodiff.core.primitive import Domain
from simpleautodiff.rules.array.linear_systems import SYMMETRIC_MATRIX, solve
from simpleautodiff.rules.array.matrix_functions import scipy_linalg
from simpleautodiff.rules.array.products import matmul, swap
from simpleautodiff.rules.array.shapes import reshape, shape_of
from simpleautodiff.rules.row import Wrapping, row

# A X + X B = Q. -----------------------------------------------------------------------------------


def _sylvester_back(a: Any, b: Any, bar: Any) -> Any:
    return sylvester(swap(a), swap(b), bar)


sylvester: Wrapping = row(
    "sylvester",
    lambda v, a, b, _q: Linear(
        lambda dot: -sylvester(a, b, matmul(dot, v)),
        lambda bar: -matmul(_sylvester_back(a, b, bar), swap(v)),
    ),
    lambda v, a, b, _q: Linear(
        lambda dot: -sylvester(a, b, matmul(v, dot)),
        lambda bar: -matmul(swap(v), _sylvester_back(a, b, bar)),
    ),
    lambda _v, a, b, _q: Linear(
        lambda dot: sylvester(a, b, dot), lambda bar: _sylvester_back(a, b, bar)
    ),
    value=lambda a, b, q: scipy_linalg("solve_sylvester")(a, b, q),
    numpy=(),
    text="sylvester({0}, {1}, {2})",
    latex=r"\operatorname{{sylvester}}({0}, {1}, {2})",
    arrays=True,
    reason="from A X + X B = Q follows A dX + dX B = dQ - dA X - X dB",
)


# The equations of Riccati. ------------------------------------------------------------------------


def _solve_stein(c: Any, q: Any) -> Any:
    """Solve X - Cᵀ X C = Q, as one linear system for all elements of X."""
    n = shape_of(c)[-1]
    left, right = reshape(swap(c), (n, 1, n, 1)), reshape(swap(c), (1, n, 1, n))
    system = np.eye(n * n) - reshape(left * right, (n * n, n * n))
    return reshape(solve(system, reshape(q, (n * n, 1))), (n, n))


def _linearise_continuous(x: Any, a: Any, b: Any, r: Any) -> tuple[Any, Any, Any, Any]:
    """Return X, the gain, and the functions that solve for dX, forward and transposed."""
    gain = solve(r, matmul(swap(b), x))
    closed = a - matmul(b, gain)
    forward = lambda q: -sylvester(swap(closed), closed, q)  # noqa: E731
    return x, gain, forward, lambda bar: -sylvester(closed, swap(closed), bar)


def _linearise_discrete(x: Any, a: Any, b: Any, r: Any) -> tuple[Any, Any, Any, Any]:
    """Return X times the closed loop, the gain, and the functions that solve for dX."""
    weighed = matmul(swap(b), x)
    gain = solve(r + matmul(weighed, b), matmul(weighed, a))
    closed = a - matmul(b, gain)
    back = lambda bar: _solve_stein(swap(closed), bar)  # noqa: E731
    return matmul(x, closed), gain, lambda q: _solve_stein(closed, q), back


def _riccati_row(name: str, linearize: Any, reason: str) -> Wrapping:
    """Enter an equation of Riccati for X, whose change solves a linear equation.

    Its right side is dAᵀ M + Mᵀ dA - Mᵀ dB K - Kᵀ dBᵀ M + dQ + Kᵀ dR K, with the gain K.
    """

    def rule(right: Any, back: Any) -> Any:
        def make(v: Any, a: Any, b: Any, _q: Any, r: Any) -> Linear:
            m, gain, forward, backward = linearize(v, a, b, r)
            return Linear(
                lambda dot: forward(right(dot, m, gain)),
                lambda bar: back(backward(bar), m, gain),
            )

        return make

    def both(x: Any) -> Any:
        return x + swap(x)

    return row(
        name,
        rule(lambda da, m, k: both(matmul(swap(m), da)), lambda y, m, k: matmul(m, both(y))),
        rule(
            lambda db, m, k: -both(matmul(swap(m), matmul(db, k))),
            lambda y, m, k: -matmul(matmul(m, both(y)), swap(k)),
        ),
        rule(lambda dq, m, k: dq, lambda y, m, k: y),
        rule(
            lambda dr, m, k: matmul(swap(k), matmul(dr, k)),
            lambda y, m, k: matmul(k, matmul(y, swap(k))),
        ),
        value=lambda *args: scipy_linalg(name)(*args),
        numpy=(),
        text=f"{name}({{0}}, {{1}}, {{2}}, {{3}})",
        latex=rf"\operatorname{{{{{name}}}}}({{0}}, {{1}}, {{2}}, {{3}})".replace("_", r"\_"),
        arrays=True,
        reason=reason,
        domain=Domain(
            "symmetric matrices Q and R",
            lambda a, b, q, r: SYMMETRIC_MATRIX.contains(q) and SYMMETRIC_MATRIX.contains(r),
        ),
    )


solve_continuous_are = _riccati_row(
    "solve_continuous_are",
    _linearise_continuous,
    "with the closed loop C = A - B K, Cᵀ dX + dX C balances the changes of A, B, Q and R",
)
solve_discrete_are = _riccati_row(
    "solve_discrete_are",
    _linearise_discrete,
    "with the closed loop C = A - B K, dX - Cᵀ dX C is what the changes of A, B, Q and R make",
)
