"""Densities of scipy.stats at the ends of their support, and two-sided ones in the middle."""

import math

import mpmath
import numpy as np
import pytest
import scipy.stats as st

import simpleautodiff as ad


def gengamma(x, a, c):
    return abs(c) * x ** (c * a - 1) * mpmath.exp(-(x**c)) / mpmath.gamma(a)


def exponweib(x, a, c):
    return a * c * (1 - mpmath.exp(-(x**c))) ** (a - 1) * mpmath.exp(-(x**c)) * x ** (c - 1)


def burr12(x, c, d):
    return c * d * x ** (c - 1) / (1 + x**c) ** (d + 1)


def burr(x, c, d):
    return c * d * x ** (c * d - 1) / (1 + x**c) ** (d + 1)


def mielke(x, k, s):
    return k * x ** (k - 1) / (1 + x**s) ** (1 + k / s)


def nakagami(x, nu):
    return 2 * nu**nu / mpmath.gamma(nu) * x ** (2 * nu - 1) * mpmath.exp(-nu * x**2)


def exponpow(x, b):
    return b * x ** (b - 1) * mpmath.exp(1 + x**b - mpmath.exp(x**b))


def rice(x, b):
    return x * mpmath.exp(-(x * x + b * b) / 2) * mpmath.besseli(0, x * b)


def argus(x, chi):
    height = chi**3 / mpmath.sqrt(2 * mpmath.pi)
    part = mpmath.gammainc(mpmath.mpf(3) / 2, 0, chi**2 / 2, regularized=True) / 2
    return height / part * x * mpmath.sqrt(1 - x * x) * mpmath.exp(-(chi**2) * (1 - x * x) / 2)


def kappa4(x, h, k):
    """The density, for h and k that are not 0."""
    tail = (1 - k * x) ** (1 / k)
    return tail ** (1 - k) * (1 - h * tail) ** (1 / h - 1)


def genextreme(x, c):
    tail = (1 - c * x) ** (1 / c)
    return tail ** (1 - c) * mpmath.exp(-tail)


def differ_inside(f, x, side):
    """Return the one-sided derivative, by differences in 60 digits that get smaller."""
    with mpmath.workdps(60):
        slopes = []
        for step in (mpmath.mpf(10) ** -30, mpmath.mpf(10) ** -40):
            there = mpmath.mpf(x) + side * step
            slopes.append(mpmath.diff(f, there, h=step / 10**6))
        if abs(slopes[1]) > 1e3 * abs(slopes[0]) > 1e3:
            return math.copysign(math.inf, slopes[1])
        return float(slopes[1])


CASES = [
    (
        "gengamma",
        gengamma,
        [(2.0, 1.0), (1.0, 1.0), (1.0, 2.0), (2.5, 2.0), (4.0, 0.5), (1.2, 1.0)],
    ),
    ("exponweib", exponweib, [(2.0, 1.0), (1.0, 2.0), (1.0, 1.0), (2.0, 2.0)]),
    ("burr12", burr12, [(2.0, 3.0), (1.0, 3.0), (3.0, 1.0), (1.5, 2.0)]),
    ("burr", burr, [(1.0, 1.0), (2.0, 1.0), (0.5, 2.0), (2.0, 0.5)]),
    ("fisk", lambda x, c: burr(x, c, 1), [(1.0,), (2.0,)]),
    ("mielke", mielke, [(2.0, 3.0), (2.0, 0.5), (10.4, 0.5), (1.0, 2.0)]),
    ("nakagami", nakagami, [(0.5,), (1.0,), (2.0,), (0.7,)]),
    ("exponpow", exponpow, [(1.0,), (2.0,), (3.0,)]),
    ("erlang", lambda x, a: gengamma(x, a, 1), [(1.0,), (2.0,), (3.0,)]),
    ("rice", rice, [(0.0,), (0.8,)]),
    ("argus", argus, [(0.5,), (2.0,)]),
]


@pytest.mark.parametrize(
    ("name", "density", "shapes"), [(*case[:2], shapes) for case in CASES for shapes in case[2]]
)
@pytest.mark.filterwarnings("ignore::simpleautodiff.DomainWarning")
@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")
def test_the_slope_of_a_density_at_0_is_the_one_inside(name, density, shapes):
    pdf = getattr(st, name).pdf
    f = lambda x: pdf(x, *shapes)
    if not np.isfinite(f(0.0)):
        return
    expected = differ_inside(lambda x: density(x, *shapes), 0, 1)
    assert ad.value_and_grad(f)(0.0)[0] == f(0.0)
    found = [
        ad.grad(f)(0.0),
        ad.jvp(f, (0.0,), (1.0,))[1],
        ad.vmap(ad.grad(f))(np.array([0.0, 0.3]))[0],
        ad.grad(lambda x: f(x).sum())(np.array([0.0, 0.3]))[0],
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-9)
    inside = ad.grad(f)(0.3)
    exact = mpmath.diff(lambda x: density(x, *map(mpmath.mpf, shapes)), 0.3)
    assert inside == pytest.approx(float(exact), rel=1e-10)


@pytest.mark.parametrize("name", ["gengamma", "exponweib", "burr12", "mielke"])
def test_a_density_that_is_0_at_0_is_so_for_all_shapes(name):
    pdf = getattr(st, name).pdf
    assert ad.grad(lambda a, c: pdf(0.0, a, c), (0, 1))(2.5, 2.0) == (0.0, 0.0)


@pytest.mark.parametrize("x", [0.0, 0.4])
def test_a_falling_power_of_a_gamma_variable(x):
    value, slope = ad.value_and_grad(lambda x: st.gengamma.pdf(x, 2.0, -1.0))(x)
    exact = mpmath.diff(lambda x: gengamma(x, 2, -1), x) if x else 0.0  # x⁻³ exp(-1/x)
    assert value == st.gengamma.pdf(x, 2.0, -1.0)
    assert slope == pytest.approx(float(exact), rel=1e-12)


@pytest.mark.parametrize(
    ("name", "density", "shapes", "end", "side"),
    [
        ("genextreme", genextreme, (1.0,), 1.0, -1),
        ("genextreme", genextreme, (0.5,), 2.0, -1),
        ("genextreme", genextreme, (0.25,), 4.0, -1),
        ("genextreme", genextreme, (-0.5,), -2.0, 1),
        ("kappa4", kappa4, (-0.1, 1.0), 1.0, -1),
        ("kappa4", kappa4, (-0.1, 0.5), 2.0, -1),
        ("kappa4", kappa4, (1.0, 1.0), 0.0, 1),
        ("kappa4", kappa4, (0.5, 0.5), 2 - math.sqrt(2.0), 0),
    ],
)
def test_extreme_values_at_an_end(name, density, shapes, end, side):
    law = getattr(st, name)
    f = lambda x: law.pdf(x, *shapes)
    expected = differ_inside(lambda x: density(x, *map(mpmath.mpf, shapes)), end, side)
    assert ad.value_and_grad(f)(end)[0] == f(end)
    assert ad.grad(f)(end) == pytest.approx(expected, rel=1e-12, abs=1e-12)
    assert ad.vmap(ad.grad(f))(np.array([end, end]))[1] == pytest.approx(
        expected, rel=1e-12, abs=1e-12
    )


def test_the_logarithm_of_a_density_at_its_end():
    """At c = 1 it is x - 1 up to its end 1."""
    assert ad.grad(lambda x: st.genextreme.logpdf(x, 1.0))(1.0) == pytest.approx(1.0, rel=1e-14)


@pytest.mark.parametrize("beta", [0.5, 1.0, 1.7, 2.0, 3.0])
def test_the_generalized_normal_distribution_is_smooth_in_the_middle(beta):
    height = beta / (2 * math.gamma(1 / beta))
    for f, slope in ((st.gennorm.cdf, height), (st.gennorm.sf, -height)):
        f = lambda x, f=f: f(x, beta)
        assert ad.value_and_grad(f)(0.0) == (0.5, pytest.approx(slope, rel=1e-14))
        assert ad.jvp(f, (0.0,), (1.0,))[1] == pytest.approx(slope, rel=1e-14)
        assert ad.vmap(ad.grad(f))(np.zeros(2))[0] == pytest.approx(slope, rel=1e-14)
    quantile = ad.grad(lambda q: st.gennorm.ppf(q, beta))(0.5)
    assert quantile == pytest.approx(1 / height, rel=1e-14)
    assert ad.grad(lambda beta: st.gennorm.cdf(0.0, beta))(beta) == 0.0
    assert ad.grad(lambda x: st.gennorm.cdf(x, beta))(0.4) == pytest.approx(
        st.gennorm.pdf(0.4, beta), rel=1e-13
    )


def test_second_derivatives_in_the_middle_of_a_normal_distribution():
    f = lambda x: st.gennorm.cdf(x, 2.0)  # (1 + erf x)/2
    assert ad.grad(ad.grad(f))(0.0) == 0.0
    assert ad.grad(ad.grad(ad.grad(f)))(0.0) == pytest.approx(-2 / math.sqrt(math.pi), rel=1e-13)


@pytest.mark.parametrize(("c", "slope"), [(1.0, 0.5), (2.0, 0.0), (1.5, 0.0), (0.5, math.inf)])
@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")
@pytest.mark.filterwarnings("ignore::simpleautodiff.DomainWarning")
def test_the_double_weibull_distribution_in_the_middle(c, slope):
    """It is 1/2 + sign(x) (1 - exp(-|x|ᶜ))/2."""
    assert ad.value_and_grad(lambda x: st.dweibull.cdf(x, c))(0.0) == (0.5, slope)
    assert ad.value_and_grad(lambda x: st.dweibull.sf(x, c))(0.0) == (0.5, -slope)
    for x in (0.4, -0.4):
        density = st.dweibull.pdf(x, c)
        assert ad.grad(lambda x: st.dweibull.cdf(x, c))(x) == pytest.approx(density, rel=1e-13)


@pytest.mark.parametrize("method", ["pdf", "logpdf", "cdf", "sf", "logcdf", "logsf", "ppf", "isf"])
def test_students_distribution_of_infinite_freedom_is_normal(method):
    at = (0.3, 0.1, 1.7)
    student = lambda x, loc, scale: getattr(st.t, method)(x, math.inf, loc, scale)
    normal = lambda x, loc, scale: getattr(st.norm, method)(x, loc, scale)
    assert ad.value_and_grad(student)(*at)[0] == student(*at)
    slopes = ad.grad(normal, (0, 1, 2))(*at)
    np.testing.assert_allclose(ad.grad(student, (0, 1, 2))(*at), slopes, rtol=1e-13)
    mixed = lambda x: getattr(st.t, method)(x, np.array([3.0, math.inf]), 0.1, 1.7).sum()
    finite = lambda x: getattr(st.t, method)(x, 3.0, 0.1, 1.7)
    assert ad.grad(mixed)(0.3) == pytest.approx(ad.grad(finite)(0.3) + slopes[0], rel=1e-13)


# Distribution functions. --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "shapes", "end", "slope", "second"),
    [
        ("weibull_min", (1.0,), 0.0, 1.0, -1.0),  # 1 - e^-x
        ("weibull_min", (2.0,), 0.0, 0.0, 2.0),  # 1 - exp(-x²)
        ("weibull_max", (1.0,), 0.0, 1.0, 1.0),  # e^x
        ("gompertz", (2.0,), 0.0, 2.0, -2.0),  # 1 - exp(2 - 2 e^x)
        ("halfnorm", (), 0.0, math.sqrt(2 / math.pi), 0.0),
        ("halfcauchy", (), 0.0, 2 / math.pi, 0.0),  # 2/π arctan x
        ("pareto", (3.0,), 1.0, 3.0, -12.0),  # 1 - x^-3
        ("powerlaw", (3.0,), 1.0, 3.0, 6.0),  # x³
        ("gengamma", (1.0, 1.0), 0.0, 1.0, -1.0),
        ("kappa4", (1.0, 1.0), 1.0, 1.0, 0.0),  # x
        ("truncexpon", (1.0,), 0.0, 1 / (1 - math.exp(-1)), -1 / (1 - math.exp(-1))),
    ],
)
def test_the_slope_of_a_distribution_at_an_end_is_the_one_inside(name, shapes, end, slope, second):
    law = getattr(st, name)
    for method, sign in (("cdf", 1), ("sf", -1)):
        f = lambda x, method=method: getattr(law, method)(x, *shapes)
        value, found = ad.value_and_grad(f)(end)
        assert value == f(end)
        assert found == pytest.approx(sign * slope, rel=1e-13, abs=1e-14)
        assert ad.jvp(f, (end,), (1.0,))[1] == pytest.approx(sign * slope, rel=1e-13, abs=1e-14)
        batch = ad.vmap(ad.grad(f))(np.array([end, end]))
        np.testing.assert_allclose(batch, sign * slope, rtol=1e-13, atol=1e-14)
        compiled = ad.jit(ad.grad(f))
        for _ in range(3):
            assert compiled(end) == pytest.approx(sign * slope, rel=1e-13, abs=1e-14)
        twice = ad.grad(ad.grad(f))(end)
        assert twice == pytest.approx(sign * second, rel=1e-12, abs=1e-12)
        moved = lambda loc, scale, f=f, method=method: getattr(law, method)(
            5 + 2 * end, *shapes, loc=loc, scale=scale
        )
        in_loc, in_scale = ad.grad(moved, (0, 1))(5.0, 2.0)
        assert in_loc == pytest.approx(-sign * slope / 2, rel=1e-13, abs=1e-14)
        assert in_scale == pytest.approx(-sign * slope * end / 2, rel=1e-13, abs=1e-14)


def test_an_end_that_depends_on_a_shape():
    """The distribution exp(-(1 - cx)^(1/c)) ends at 1/c; its slope in c is x at c = x = 1."""
    f = lambda c: st.genextreme.cdf(1.0, c)
    assert ad.grad(f)(1.0) == pytest.approx(1.0, rel=1e-13)


@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")
@pytest.mark.filterwarnings("ignore::simpleautodiff.DomainWarning")
def test_a_distribution_that_begins_steeply():
    f = lambda x: st.weibull_min.cdf(x, 0.5)  # 1 - exp(-√x)
    assert ad.value_and_grad(f)(0.0) == (0.0, math.inf)
    assert ad.grad(lambda x: st.arcsine.cdf(x))(1.0) == math.inf
    assert ad.vmap(f)(np.array([0.0, 1.0]))[0] == 0.0
    inside = ad.grad(lambda x: st.halfgennorm.cdf(x, 0.5))(0.0)  # the density exp(-√x)/2
    assert inside == pytest.approx(0.5, rel=1e-13)


def test_outside_of_a_support_distributions_are_constant():
    for x in (-1.0, 2.0):
        assert ad.grad(lambda x: st.powerlaw.cdf(x, 3.0))(x) == 0.0
    x = np.array([-1.0, 0.0, 0.5, 1.0, 2.0])
    slopes = ad.grad(lambda x: st.powerlaw.cdf(x, 2.0).sum())(x)
    np.testing.assert_allclose(slopes, [0.0, 0.0, 1.0, 2.0, 0.0], rtol=1e-13, atol=1e-15)


def test_a_distribution_of_ones_own_without_a_density():
    class Square(st.rv_continuous):
        def _cdf(self, x):
            return x * x

    law = Square(a=0.0, b=1.0, name="square")
    assert ad.grad(lambda x: law.cdf(x))(0.5) == 1.0
    assert ad.grad(lambda x: law.cdf(x))(1.0) == 2.0
    assert ad.grad(lambda x: law.sf(x))(1.0) == -2.0


@pytest.mark.parametrize("name", ["pdf", "logpdf", "cdf", "sf", "logcdf", "logsf", "ppf", "isf"])
def test_pearsons_distribution_without_skew_is_the_normal_one(name):
    """With skew 0 it is another formula; in a batch some examples have it and others do not."""
    at = np.array([0.2, 0.7]) if name in ("ppf", "isf") else np.array([-1.3, 0.4])
    own = lambda x: np.sum(getattr(st.pearson3, name)(x, 0.0, loc=0.3, scale=1.7))
    normal = lambda x: np.sum(getattr(st.norm, name)(x, loc=0.3, scale=1.7))
    assert own(at) == pytest.approx(normal(at), rel=1e-12)
    np.testing.assert_allclose(ad.grad(own)(at), ad.grad(normal)(at), rtol=1e-11)
    one = lambda skew, x: getattr(st.pearson3, name)(x, skew)
    both = ad.vmap(ad.grad(one, 1))(np.array([0.0, 0.8]), at)
    each = [ad.grad(one, 1)(skew, x) for skew, x in zip([0.0, 0.8], at, strict=True)]
    np.testing.assert_allclose(both, each, rtol=1e-12)


@pytest.mark.parametrize(("x", "c"), [(0.3, 0.55), (0.7, 0.25), (0.9, 0.6)])
def test_a_triangle_has_the_slopes_of_its_two_sides(x, c):
    """Its density is 2x/c to the left of c, and 2(1 - x)/(1 - c) to the right."""
    x, c = mpmath.mpf(x), mpmath.mpf(c)
    if x < c:
        exact = {"pdf": (2 / c, -2 * x / c**2), "cdf": (2 * x / c, -((x / c) ** 2))}
    else:
        far, wide = 1 - x, 1 - c
        exact = {
            "pdf": (-2 / wide, 2 * far / wide**2),
            "cdf": (2 * far / wide, -((far / wide) ** 2)),
        }
    for name, slopes in exact.items():
        found = ad.grad(getattr(st.triang, name), argnums=(0, 1))(float(x), float(c))
        np.testing.assert_allclose(found, np.array(slopes, float), rtol=1e-13)
