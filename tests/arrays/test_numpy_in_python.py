"""What NumPy has in Python and does not ask its arguments, weighted quantiles and histograms."""

import numpy as np
import pytest

import simpleautodiff as ad
from references import alike, check_both_modes, differences

GENERATOR = np.random.default_rng(5)
C = GENERATOR.normal(size=5)
X = GENERATOR.normal(size=4)
M = GENERATOR.normal(size=(4, 3))
T = np.linspace(-1.0, 1.2, 7)
SYMMETRIC = M.T @ M - np.diag([0.5, 3.0, 1.0])
POINTS = GENERATOR.normal(size=(20, 2))
WEIGHTS = GENERATOR.normal(size=20)
FAMILIES = {
    "polynomial": ("poly", "Polynomial"),
    "chebyshev": ("cheb", "Chebyshev"),
    "legendre": ("leg", "Legendre"),
    "hermite": ("herm", "Hermite"),
    "hermite_e": ("herme", "HermiteE"),
    "laguerre": ("lag", "Laguerre"),
}
REAL_ROOTS = np.array([-6.0, 11.0, -6.0, 1.0])  # 1, 2 and 3


def of(family, name):
    return getattr(getattr(np.polynomial, family), FAMILIES[family][0] + name)


def series(family):
    """Return functions of arrays that use what np.polynomial has for a family."""
    kind = getattr(np.polynomial, FAMILIES[family][1])
    return {
        "val": (lambda c: of(family, "val")(c[:4], c) + of(family, "val")(0.3, c[:2]), C),
        "val of columns": (lambda c: of(family, "val")(X, c), M),
        "val at each": (lambda x: of(family, "val")(x[:3], M, tensor=False), X),
        "val2d": (lambda c: of(family, "val2d")(X, c[:, 0], c), M),
        "der": (lambda c: of(family, "der")(c, 2, scl=0.5), C),
        "der along": (lambda c: of(family, "der")(c, axis=1), M),
        "int": (lambda c: of(family, "int")(c, 2, [1.0, 2.0], lbnd=0.3), C),
        "int along": (lambda c: of(family, "int")(c, k=[3.0], axis=1), M),
        "add sub": (lambda c: of(family, "sub")(of(family, "add")(c, c[:2] ** 2), [2.0]), C),
        "mul": (lambda c: of(family, "mul")(c, c[:3]), C),
        "vander": (lambda x: of(family, "vander")(x, 3), X),
        "fit": (lambda y: of(family, "fit")(T, y**2, 3), T + 2),
        "fit of points": (lambda t: of(family, "fit")(t, np.exp(t), 2, w=t**2 + 1), T),
        "object": (lambda x: kind(C, domain=[-4, 5])(x), M),
    }


CASES = {
    **{f"{name} {key}": case for name in FAMILIES for key, case in series(name).items()},
    "polyroots": (lambda c: np.polynomial.polynomial.polyroots(c), REAL_ROOTS),
    "polyroots of a line": (lambda c: np.polynomial.polynomial.polyroots(c[:2]), REAL_ROOTS),
    "r_": (lambda x: np.r_[x, 1.0, 0:3, 0:1:3j, x[0], [1, 2]] * 2, X),
    "r_ of matrices": (lambda x: np.r_[M.T, x[None]], X),
    "c_": (lambda x: np.c_[x, x**2, M], X),
    "svd hermitian": (lambda x: np.linalg.svd((x + x.T) / 2, hermitian=True)[0] ** 2, SYMMETRIC),
    "svd hermitian, right": (
        lambda x: np.linalg.svd(x, hermitian=True)[0] @ np.linalg.svd(x, hermitian=True)[2],
        SYMMETRIC,
    ),
    "singular values, hermitian": (
        lambda x: (
            np.linalg.svd(x, compute_uv=False, hermitian=True) + np.linalg.svd(x, hermitian=True)[1]
        ),
        SYMMETRIC,
    ),
    "histogram": (lambda w: np.histogram(POINTS[:, 0], 4, weights=w**2, density=True)[0], WEIGHTS),
    "histogram of edges": (lambda w: np.histogram(POINTS[:, 0], [-1, 0, 1], weights=w)[0], WEIGHTS),
    "histogram2d": (lambda w: np.histogram2d(*POINTS.T, [3, 2], weights=w)[0], WEIGHTS),
    "histogramdd": (lambda w: np.histogramdd(POINTS, 2, weights=w**2, density=True)[0], WEIGHTS),
    **{
        f"quantile with weights {q}": (
            lambda x, q=q: np.quantile(x, q, axis=0, weights=[1, 0, 2, 1], method="inverted_cdf"),
            M,
        )
        for q in (0.0, 0.4, 1.0, (0.2, 0.9))
    },
    "percentile with weights": (
        lambda x: np.percentile(x, 30, weights=M**2, method="inverted_cdf", keepdims=True),
        M,
    ),
}
every_case = pytest.mark.parametrize(("f", "x"), CASES.values(), ids=CASES)


@every_case
def test_values_and_derivatives(f, x):
    direction = check_both_modes(f, x, exact=1e-12, near=1e-11, transposed=1e-11)
    total = lambda x: np.sum(np.sin(f(x)))
    product = ad.hvp(total, (x,), (direction,))
    alike(product, differences(ad.grad(total), x, direction), 1e-10)


@every_case
def test_batches(f, x):
    many = np.stack([x, 0.99 * x, 1.01 * x])
    alike(ad.vmap(f)(many), np.stack([f(one) for one in many]), 1e-12)


# BLAS's products of float32 may raise the flag for lanes of a vector that they do not use.
@pytest.mark.filterwarnings("ignore:invalid value encountered in matmul:RuntimeWarning")
@every_case
def test_float32_stays_so(f, x):
    gradient = ad.grad(lambda x: np.sum(f(x)))(x.astype(np.float32))
    assert gradient.dtype == np.float32
    alike(gradient, ad.grad(lambda x: np.sum(f(x)))(x), 2e-3)


def test_vectorize_calls_for_every_element():
    f = np.vectorize(lambda a, b: a * b if a > 0 else -a)
    np.testing.assert_array_equal(ad.grad(lambda x: np.sum(f(x, 3.0)))(X), np.where(X > 0, 3, -1))
    both = np.vectorize(lambda a: (a * a, 2 * a))
    np.testing.assert_allclose(ad.grad(lambda x: np.sum(both(x)[0] * both(x)[1]))(M), 6 * M**2)
    assert ad.grad(np.vectorize(lambda a: a**3))(2.0) == 12.0
    step = np.vectorize(lambda a: 1.0 if a > 0 else 0.0)
    np.testing.assert_array_equal(ad.jvp(lambda x: step(x) * x, (X,), (X,))[1], np.maximum(X, 0))


CALLS = {  # functions that get plain arrays, and compute with a node w beside these
    "vectorize": lambda w: np.vectorize(lambda a: w[0] * a if a > 0 else w[1] / a)(X),
    "two results": lambda w: np.vectorize(lambda a, b: (w[0] * a, b))(X, 2.0)[0],
    "signature": lambda w: np.vectorize(lambda r, k: w * np.max(r) ** k, signature="(m),()->(n)")(
        M, 2
    ),
    "excluded": lambda w: np.vectorize(lambda p, a, s=1.0: p[0] * a + s, excluded={0})(
        w, X, s=w[1]
    ),
    "otypes": lambda w: np.vectorize(lambda a: 0 if a < 0 else w[1] * a, otypes="d")(X),
    "along an axis": lambda w: np.apply_along_axis(lambda r: w * r[0] + np.sort(r)[:2], 0, M),
    "piecewise": lambda w: np.piecewise(X, [X < 0, X > 0], [lambda a: w[0] * a, w[1], w[0]]),
    "pad": lambda w: np.pad(M, 1, constant_values=w[0]),
    "take": lambda w: w * np.take(X, np.argsort(w)),
    "poly1d": lambda w: np.polyder(np.poly1d(w) ** 3)(2.0) + np.polymul([1, 2], np.poly1d(w))(X),
    "value of poly1d": lambda w: np.polyval(np.poly1d(w), np.poly1d([1.0, 2.0]))(X),
}


@pytest.mark.parametrize("name", CALLS)
def test_nodes_that_numpys_function_is_not_given(name):
    f, w = CALLS[name], np.array([0.7, -1.3])
    check_both_modes(f, w, exact=1e-15, near=1e-7, transposed=1e-13)
    rows = np.stack([w, 2 * w])
    np.testing.assert_allclose(ad.vmap(f)(rows), [f(row) for row in rows], rtol=1e-13)


@pytest.mark.parametrize("function", [np.quantile, np.nanquantile])
@pytest.mark.parametrize("q", [0.3, [0.3, 0.6]])
@pytest.mark.parametrize(
    "method", ["inverted_cdf", "closest_observation", "lower", "higher", "nearest", "linear"]
)
def test_kinds_of_numbers_of_quantiles(function, q, method):
    x = M.astype(np.float32)
    f = lambda x: function(x, q, axis=0, method=method)
    value = ad.jvp(f, (x,), (x,))[0]
    assert value.dtype == f(x).dtype
    np.testing.assert_allclose(value, f(x), rtol=1e-6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: np.polynomial.chebyshev.chebfromroots(x), r"polynomial\.polyval\(x, c\)"),
        (lambda x: np.ma.array(x, mask=[0, 1, 0, 1]), r"np\.where\(mask, 0\.0, x\)"),
        (lambda x: np.ma.masked_where(X > 0, x), r"np\.where\(mask, 0\.0, x\)"),
        (lambda x: np.lib.stride_tricks.as_strided(x, (2, 2)), "sliding_window_view"),
        (lambda x: np.matrix(x), "@ for products"),
        (lambda x: np.vectorize(lambda a: 0 if a < 0.3 else a)(x), r"otypes=\[float\]"),
        (lambda x: np.vectorize(lambda a: a, otypes=[int])(x), "rounds all results to int64"),
        (
            lambda x: np.apply_along_axis(lambda r: 0 if r[0] == M[0, 0] else x[0], 1, M),
            "rounds all",
        ),
        (lambda x: np.r_["0,2", x], "np.concatenate or np.stack"),
        (lambda x: np.histogram(x)[0], r"np\.histogram\(x\.value\)"),
        (lambda x: np.histogram(x, weights=x)[0], r"weights=w"),
        (lambda x: np.quantile(x, 0.3, weights=X**2), "inverted_cdf"),
        (lambda x: np.polynomial.polynomial.polyfit(X, x, [0, 2]), "all degrees"),
    ],
)
@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_refusals(call, message):
    with pytest.raises(ad.AutodiffError, match=message):
        ad.grad(lambda x: np.sum(call(x)))(X)


def test_plain_numbers_are_numpys_own():
    np.testing.assert_array_equal(np.r_["0,2", X, X].shape, (2, 4))
    assert np.vectorize(lambda a: a + 1)(np.arange(3)).dtype == int
    assert np.polynomial.chebyshev.chebval(0.5, [0, 0, 1]) == -0.5


def test_roots_of_a_power_series_are_those_of_the_plain_coefficients():
    from numpy.polynomial import polynomial

    c = np.array([2.0, -0.3, 0.7, 0.4, 1.3])  # complex roots
    f = lambda c: polynomial.polyroots(c)
    value, tangent = ad.jvp(f, (c,), (np.ones(5),))
    np.testing.assert_array_equal(value, f(c))
    expected = -polynomial.polyval(value, np.ones(5)) / polynomial.polyval(
        value, polynomial.polyder(c)
    )  # from p(r) = 0 follows p'(r) dr + dp(r) = 0
    np.testing.assert_allclose(tangent, expected, rtol=1e-12)
    longer = lambda c: polynomial.polyroots(np.append(c, [0.0, 0.0]))
    np.testing.assert_allclose(ad.jvp(longer, (c,), (np.ones(5),))[1], tangent, rtol=1e-12)


@pytest.mark.parametrize("p", [(1, 2, 0), (0, 1, 3, 2), (0, 0, 1, -3, 2, 0), (2, 0), (0, 2, 0)])
def test_roots_move_with_coefficients_that_are_0(p):
    """From p(r) = 0 follows p'(r) dr + dp(r) = 0, and d²r from the derivative of that."""
    p = np.array(p, float)
    r, n = np.roots(p), len(p)
    slope, curve = np.polyval(np.polyder(p), r), np.polyval(np.polyder(p, 2), r)
    powers = np.vander(r, n)  # dp(r) for each coefficient
    first = -powers / slope[:, None]
    turn = np.array([np.polyval(np.polyder(np.eye(n)[k]), r) for k in range(n)]).T  # dp'(r)
    second = -(curve[:, None] * first**2 + 2 * turn * first) / slope[:, None]
    numpy, series = ad.jacobian(np.roots), lambda p: np.polynomial.polynomial.polyroots(p[::-1])
    np.testing.assert_array_equal(ad.jvp(np.roots, (p,), (p,))[0], r)
    for found in (numpy(p), ad.jacfwd(np.roots)(p)):
        np.testing.assert_allclose(found, first, rtol=1e-12, atol=1e-13)
    order = [int(np.argmin(np.abs(series(p) - root))) for root in r]
    np.testing.assert_allclose(ad.jacobian(series)(p)[order], first, rtol=1e-12, atol=1e-13)
    for k in range(n):
        along = lambda t, k=k: np.roots(p + t * np.eye(n)[k])
        found = ad.jacfwd(ad.jacfwd(along))(0.0)
        np.testing.assert_allclose(found, second[:, k], rtol=1e-11, atol=1e-12)


def test_a_repeated_root_0_has_infinite_slopes_or_stays():
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = ad.jacobian(np.roots)(np.array([1.0, 2.0, 0.0, 0.0]))[2, 3]
        assert not np.isfinite(slope)  # roots are complex from NumPy 2.5 on, and 1 / 0j is nan
        constant = lambda a: np.roots(np.array([1.0, a, 0.0, 0.0]))
        assert ad.grad(lambda a: np.sum(constant(a)))(2.0) == -1
