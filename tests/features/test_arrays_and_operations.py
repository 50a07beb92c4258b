"""Arrays and their functions: each feature of the table, exercised."""

import pathlib
import re

import mpmath
import numpy as np
import pytest

import simpleautodiff as ad
from features import shows

ROOT = pathlib.Path(__file__).parents[2]


@shows("n-d arrays with broadcasting")
def test_broadcasting():
    a, b = np.ones((2, 1, 3)), np.arange(4.0).reshape(4, 1)
    slopes = ad.grad(lambda a, b: np.sum(a * b), (0, 1))(a, b)
    np.testing.assert_array_equal(slopes[0], np.full((2, 1, 3), 6.0))
    np.testing.assert_array_equal(slopes[1], np.full((4, 1), 6.0))


@shows("150+ NumPy-style functions")
def test_functions():
    page = (ROOT / "docs" / "numpy.md").read_text(encoding="utf-8")  # its ticks are tested
    ticks = [line for line in page.splitlines() if line.startswith("| `") and line.count("✓") >= 3]
    assert len(ticks) >= 150
    assert int(re.search(r"(\d+) functions of NumPy", page)[1]) >= 500


@shows("Linear algebra rules (solve, chol, eig, svd)")
def test_linear_algebra():
    a = np.array([[4.0, 1.0], [1.0, 3.0]])
    ways = [
        lambda a: np.linalg.slogdet(a)[1],
        lambda a: 2 * np.sum(np.log(np.diagonal(np.linalg.cholesky((a + a.T) / 2)))),
        lambda a: np.sum(np.log(np.linalg.eigvalsh((a + a.T) / 2))),
        lambda a: np.sum(np.log(np.linalg.eig(a)[0])),
        lambda a: np.sum(np.log(np.linalg.svd(a)[1])),
        lambda a: np.sum(np.log(np.abs(np.diagonal(np.linalg.qr(a)[1])))),
    ]
    for log_determinant in ways:
        np.testing.assert_allclose(ad.grad(log_determinant)(a), np.linalg.inv(a).T, rtol=1e-12)
    solution = ad.jacobian(lambda b: np.linalg.solve(a, b))(np.ones(2))
    np.testing.assert_allclose(solution, np.linalg.inv(a), rtol=1e-14)


@shows("Special functions (gamma, erf, Bessel, betainc)")
def test_special_functions():
    special = pytest.importorskip("scipy.special")
    cases = [
        (special.gamma, mpmath.gamma, (1.3,)),
        (special.erf, mpmath.erf, (0.4,)),
        (lambda x: special.jv(1.5, x), lambda x: mpmath.besselj(1.5, x), (2.0,)),
        (special.betainc, lambda *p: mpmath.betainc(*p[:2], 0, p[2], True), (1.5, 2.5, 0.3)),
        (special.gammainc, lambda a, x: mpmath.gammainc(a, 0, x, True), (1.7, 0.8)),
    ]
    for f, reference, point in cases:
        slopes = ad.grad(f, tuple(range(len(point))))(*point)
        for k, slope in enumerate(slopes):
            order = tuple(int(i == k) for i in range(len(point)))
            expected = float(mpmath.diff(reference, point, order))
            assert slope == pytest.approx(expected, rel=1e-9), (f, k)


@shows("Unchanged `import numpy as np` code works")
def test_unchanged_code():
    def trapezoid(a, n=200):
        x = np.linspace(0, a, n + 1)
        weights = np.ones(n + 1)
        weights[0] = weights[-1] = 0.5
        values = np.empty(n + 1)
        for i, point in enumerate(x):
            values[i] = np.exp(-(point**2))
        return np.sum(weights * values) * (a / n)

    assert ad.grad(trapezoid)(1.0) == pytest.approx(np.exp(-1.0), rel=1e-4)


@shows("Python ints accepted as the point")
def test_integers():
    assert ad.grad(lambda x: x**3)(2) == 12
    assert ad.hessian(lambda x: x**3)(2) == 12


@shows("float64 by default")
def test_float64():
    assert ad.grad(np.sin)(1.0) == np.cos(1.0)
    assert ad.grad(lambda x: np.sum(x / 3))(np.ones(2)).dtype == np.float64


@shows("Masked branch is NaN-safe: where(x<1,x,sqrt x) at 0")
def test_masked_branch():
    f = lambda x: np.where(x < 1, x, np.sqrt(x))
    assert ad.grad(f)(0.0) == 1.0
    slope = ad.grad(lambda x: np.sum(f(x)))(np.array([0.0, 4.0]))
    np.testing.assert_array_equal(slope, [1.0, 0.25])


@shows("norm(0) and norm(0)^2 give a finite (sub)gradient")
def test_norm_of_zero():
    np.testing.assert_array_equal(ad.grad(np.linalg.norm)(np.zeros(2)), [0, 0])
    squared = lambda x: np.linalg.norm(x) ** 2
    np.testing.assert_array_equal(ad.grad(squared)(np.zeros(2)), [0, 0])
    np.testing.assert_array_equal(ad.hessian(squared)(np.zeros(2)), 2 * np.eye(2))
