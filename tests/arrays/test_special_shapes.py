"""Functions of scipy.stats at parameters for which SciPy takes another formula."""

import math

import mpmath
import numpy as np
import pytest
import scipy.integrate
import scipy.linalg
import scipy.signal
import scipy.stats as st
from scipy.spatial import distance

import simpleautodiff as ad
from oracle.engines import engines


def kappa4(x, h, k):
    tail = (1 - k * x) ** (1 / k) if k else mpmath.exp(-x)
    return (1 - h * tail) ** (1 / h) if h else mpmath.exp(-tail)


def skewnorm(x, a):
    density = lambda t: mpmath.exp(-x * x * (1 + t * t) / 2) / (1 + t * t) / mpmath.pi
    return mpmath.ncdf(x) - mpmath.quad(density, [0, a])


def difference(f, axis):
    """Return the difference of f to both sides of a point, in 60 digits: an exact derivative."""
    step = mpmath.mpf(10) ** -15

    def slope(*at):
        there, back = list(at), list(at)
        there[axis] += step
        back[axis] -= step
        return (f(*there) - f(*back)) / (2 * step)

    return slope


@pytest.mark.parametrize(
    ("name", "cdf", "shapes"),
    [
        ("kappa4", kappa4, (0.0, 0.0)),
        ("kappa4", kappa4, (0.0, 0.3)),
        ("kappa4", kappa4, (0.2, 0.0)),
        ("genextreme", lambda x, c: kappa4(x, 0, c), (0.0,)),
        ("genextreme", lambda x, c: kappa4(x, 0, c), (-0.4,)),
        ("skewnorm", skewnorm, (0.0,)),
    ],
)
def test_shapes_at_which_scipy_takes_another_formula(name, cdf, shapes):
    """The distribution function by mpmath; its slope in x is the density."""
    law, at = getattr(st, name), np.array([0.3, *shapes])
    with mpmath.workdps(60):
        exact = list(map(mpmath.mpf, at))
        pdf, axes = difference(cdf, 0), range(len(at))
        slopes, density = [difference(cdf, axis)(*exact) for axis in axes], pdf(*exact)
        of_density = [difference(pdf, axis)(*exact) for axis in axes]
        quantile = [1 / density, *(-slope / density for slope in slopes[1:])]
        expected = {
            "cdf": slopes,
            "sf": [-slope for slope in slopes],
            "logcdf": [slope / cdf(*exact) for slope in slopes],
            "pdf": of_density,
            "logpdf": [slope / density for slope in of_density],
            "ppf": quantile,
            "isf": [-quantile[0], *quantile[1:]],
        }
    for method, gradient in expected.items():
        f = lambda x, method=method: getattr(law, method)(*x)
        point = at.copy()
        if method in ("ppf", "isf"):
            point[0] = getattr(law, {"ppf": "cdf", "isf": "sf"}[method])(*at)
        value, found = ad.value_and_grad(f)(point)
        assert value == f(point)
        np.testing.assert_allclose(found, np.array(gradient, float), rtol=1e-11, atol=1e-13)


X = 0.4


@pytest.mark.parametrize(
    ("f", "shape", "slope"),
    [
        (lambda nc: st.ncx2.cdf(X, 3.0, nc), 0.0, (st.chi2.cdf(X, 5) - st.chi2.cdf(X, 3)) / 2),
        (lambda nc: st.ncx2.sf(X, 3.0, nc), 0.0, (st.chi2.cdf(X, 3) - st.chi2.cdf(X, 5)) / 2),
        (lambda nc: st.ncx2.pdf(X, 3.0, nc), 0.0, (st.chi2.pdf(X, 5) - st.chi2.pdf(X, 3)) / 2),
        (lambda nc: st.ncx2.logpdf(X, 3.0, nc), 0.0, X / 6 - 0.5),
        (
            lambda nc: st.ncx2.ppf(st.chi2.cdf(X, 3), 3.0, nc),
            0.0,
            (st.chi2.cdf(X, 3) - st.chi2.cdf(X, 5)) / 2 / st.chi2.pdf(X, 3),
        ),
        (lambda c: st.triang.pdf(X, c), 1.0, -2 * X),
        (lambda c: st.triang.cdf(X, c), 1.0, -X * X),
        (lambda c: st.triang.pdf(X, c), 0.0, 2 * (1 - X)),
        (lambda c: st.triang.cdf(X, c), 0.0, -((1 - X) ** 2)),
        (lambda b: st.rice.logpdf(X, b), 0.0, 0.0),
        (lambda b: ad.grad(lambda b: st.rice.logpdf(X, b))(b), 0.0, -1 + X * X / 2),
        (lambda kappa: st.vonmises.logpdf(X, kappa), 0.0, math.cos(X)),
        (lambda kappa: st.vonmises_line.pdf(X, kappa), 0.0, math.cos(X) / (2 * math.pi)),
        (lambda x: st.genlogistic.logpdf(x, 0.4), 0.0, -0.3),
        (lambda x: st.genlogistic.pdf(x, 0.4), 0.0, -0.3 * 0.4 / 2**1.4),
        (lambda lmbda: st.yeojohnson(np.array([X, -X]), lmbda)[0], 0.0, math.log1p(X) ** 2 / 2),
        (lambda lmbda: st.yeojohnson(np.array([X, -X]), lmbda)[1], 2.0, math.log1p(X) ** 2 / 2),
    ],
)
def test_the_slope_in_a_special_shape(f, shape, slope):
    """The formulas of neighbouring shapes are differentiated by hand."""
    assert ad.value_and_grad(f)(shape)[0] == f(shape)
    assert ad.grad(f)(shape) == pytest.approx(slope, rel=1e-13, abs=1e-15)
    assert ad.jvp(f, (shape,), (1.0,))[1] == pytest.approx(slope, rel=1e-13, abs=1e-15)


@pytest.mark.parametrize("x", [-1.0, 2.0])
def test_beta_outside_of_its_support(x):
    for f in (st.beta.cdf, st.beta.sf):
        for argument in range(3):
            value, slope = ad.value_and_grad(lambda *at, f=f: f(*at), argument)(x, 2.3, 0.6)
            assert (value, slope) == (f(x, 2.3, 0.6), 0.0)


def mean(numbers):
    return mpmath.fsum(numbers) / len(numbers)


def variance(numbers):
    return mean([(x - mean(numbers)) ** 2 for x in numbers])


def box_cox(x, power):
    return (x**power - 1) / power if power else mpmath.log(x)


def yeo_johnson(x, power):
    return box_cox(1 + x, power) if x >= 0 else -box_cox(1 - x, 2 - power)


def log_likelihood(transform, slope, power, data):
    transformed = [transform(x, power) for x in data]
    slopes = mpmath.fsum([mpmath.log(slope(x)) for x in data])
    return (power - 1) * slopes - len(data) * mpmath.log(variance(transformed)) / 2


def power_mean(power, data):
    powers = mean([x**power for x in data])
    return powers ** (1 / power) if power else mpmath.exp(mean([mpmath.log(x) for x in data]))


@pytest.mark.parametrize("power", [0.0, 2.0, 0.3])
@pytest.mark.parametrize(
    ("f", "reference", "shift"),
    [
        (
            lambda power, data: st.boxcox_llf(power, data),
            lambda power, data: log_likelihood(box_cox, lambda x: x, power, data),
            0.0,
        ),
        (
            lambda power, data: st.yeojohnson_llf(power, data),
            lambda power, data: log_likelihood(
                yeo_johnson, lambda x: (1 + abs(x)) ** (1 if x >= 0 else -1), power, data
            ),
            1.0,
        ),
        (lambda power, data: st.pmean(data, power), power_mean, 0.0),
    ],
)
def test_powers_of_data(f, reference, shift, power):
    data = np.array([0.6, 1.7, 0.9, 2.4]) - shift
    value, (in_power, in_data) = ad.value_and_grad(f, (0, 1))(power, data)
    assert value == f(power, data)
    with mpmath.workdps(60):
        exact = [mpmath.mpf(power), *map(mpmath.mpf, data)]
        of_all = lambda power, *data: reference(power, data)
        slopes = [float(difference(of_all, i)(*exact)) for i in range(len(exact))]
    np.testing.assert_allclose([in_power, *in_data], slopes, rtol=1e-12, atol=1e-13)


def test_fitting_a_power_is_refused():
    with pytest.raises(ad.LostDerivativeError, match="solve_minimum"):
        ad.grad(lambda x: st.yeojohnson(x)[0].sum())(np.array([0.6, 1.7, 0.9]))


SIZES = np.array([0.5, 1.2, 2.3])


@pytest.mark.parametrize("order", [1.0, 2.0, 3.0])
@pytest.mark.parametrize(
    "norm",
    [
        lambda x, p: np.linalg.norm(x, p),
        lambda x, p: np.linalg.norm(np.stack([x, -x]), ord=p, axis=1)[1],
        lambda x, p: np.linalg.vector_norm(x, ord=p),
        lambda x, p: scipy.linalg.norm(x, p),
        lambda x, p: distance.minkowski(2.0 * x, x, p),
        lambda x, p: distance.cdist(2.0 * x[None], x[None], "minkowski", p=p)[0, 0],
    ],
)
def test_the_slope_of_a_norm_in_its_order(norm, order):
    """Of (Σ xᵖ)^(1/p), whose logarithm is differentiated by hand."""
    powers = SIZES**order
    total = powers.sum()
    by_hand = (
        (powers @ np.log(SIZES) / total - np.log(total) / order) / order * total ** (1 / order)
    )
    in_order = lambda p: norm(SIZES, p)
    in_both = ad.grad(lambda x, p: norm(x, p), (0, 1))(SIZES, order)
    assert ad.grad(in_order)(order) == pytest.approx(by_hand, rel=1e-13)
    assert ad.jvp(in_order, (order,), (1.0,))[1] == pytest.approx(by_hand, rel=1e-13)
    assert ad.vmap(ad.grad(in_order))(np.array([order]))[0] == pytest.approx(by_hand, rel=1e-13)
    assert in_both[1] == pytest.approx(by_hand, rel=1e-13)
    slopes = SIZES ** (order - 1) * total ** (1 / order - 1)
    np.testing.assert_allclose(in_both[0], slopes, rtol=1e-13)


def test_parameters_that_are_plain_numbers():
    with pytest.raises(ad.LostDerivativeError, match="another formula at this value"):
        ad.grad(lambda k: st.power_divergence(SIZES, lambda_=k).statistic)(1.0)
    with pytest.raises(ad.RuleError, match="the order of a norm of matrices is a plain number"):
        ad.grad(lambda p: np.linalg.norm(p * np.eye(2), p))(2.0)


def test_the_spacing_of_a_smoothed_derivative():
    x = np.arange(7.0) ** 2
    f = lambda delta: scipy.signal.savgol_filter(x, 5, 2, deriv=1, delta=delta)
    np.testing.assert_allclose(ad.jacobian(f)(0.5), -f(0.5) / 0.5, rtol=1e-12, atol=1e-12)


def test_the_circular_deviation_of_equal_angles_has_slope_0():
    f = lambda x: st.circstd(x)
    for angles in (np.zeros(3), np.full(4, 1.0)):
        assert ad.grad(f)(angles).tolist() == [0.0] * len(angles)
    angles = np.array([0.3, 0.9, 6.1])
    value, gradient = ad.value_and_grad(f)(angles)
    assert value == f(angles)
    with mpmath.workdps(40):
        deviation = lambda *x: mpmath.sqrt(
            -2 * mpmath.log(abs(mean([mpmath.expj(angle) for angle in x])))
        )
        by_hand = [difference(deviation, i)(*map(mpmath.mpf, angles)) for i in range(3)]
    np.testing.assert_allclose(gradient, np.array(by_hand, float), rtol=1e-13)
    narrow = ad.grad(lambda x: st.circstd(x, high=7.0, low=1.0))(angles)
    scale = 6 / (2 * math.pi)
    np.testing.assert_allclose(narrow, ad.grad(lambda x: f(x))(angles / scale), rtol=1e-13)
    with pytest.raises(ad.RuleError, match="nan_policy"):
        ad.grad(lambda x: st.circstd(x, nan_policy="omit"))(angles)


def test_equal_distributions_have_a_distance_of_slope_0():
    p, q = np.array([1.0, 2.0, 3.0]), np.array([2.0, 1.0, 0.5])
    assert ad.grad(distance.jensenshannon)(p, 2 * p).tolist() == [0.0] * 3
    assert ad.grad(lambda p: distance.jensenshannon(p, p))(p).tolist() == [0.0] * 3
    value, gradient = ad.value_and_grad(lambda p: distance.jensenshannon(p, q, base=2.0))(p)
    assert value == distance.jensenshannon(p, q, base=2.0)

    def by_hand(*p):
        p, r = [x / mpmath.fsum(p) for x in p], [mpmath.mpf(x) / 3.5 for x in q]
        terms = [
            a * mpmath.log(2 * a / (a + b)) + b * mpmath.log(2 * b / (a + b))
            for a, b in zip(p, r, strict=True)
        ]
        return mpmath.sqrt(mpmath.fsum(terms) / 2 / mpmath.log(2))

    with mpmath.workdps(40):
        slopes = [difference(by_hand, i)(*map(mpmath.mpf, p)) for i in range(3)]
    np.testing.assert_allclose(gradient, np.array(slopes, float), rtol=1e-13)
    both = ad.grad(lambda p: distance.jensenshannon(np.stack([p, q]), np.stack([q, q]), axis=1)[0])
    np.testing.assert_allclose(both(p) / math.sqrt(math.log(2)), gradient, rtol=1e-13)


@pytest.mark.parametrize("n", [4, 5])
@pytest.mark.parametrize("dx", [0.0, 0.3])
def test_an_integral_is_proportional_to_its_step(n, dx):
    y = np.arange(n) ** 2.0
    slope = ad.grad(lambda dx: scipy.integrate.simpson(y, dx=dx))(dx)
    assert slope == pytest.approx((n - 1) ** 3 / 3, rel=1e-14)  # exact for parabolas


def test_two_copies_of_the_package_patch_the_same_functions():
    for package in [ad, *engines()[:2], ad]:
        assert package.grad(st.rayleigh.cdf)(0.77) == pytest.approx(
            st.rayleigh.pdf(0.77), rel=1e-14
        )
        assert package.grad(st.expon.cdf)(0.0) == 1.0
