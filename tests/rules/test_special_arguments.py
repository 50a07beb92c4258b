"""Functions of scipy.special at arguments where their formula, or that of their slope, changes."""

import math

import mpmath
import numpy as np
import pytest
import scipy.special as sps

import simpleautodiff as ad


def powm1(x, y):
    return x**y - 1


def pseudo_huber(delta, r):
    return delta * (mpmath.sqrt(delta**2 + r**2) - delta)


def inv_boxcox(x, y):
    return (1 + x * y) ** (1 / y)


def fdtr(m, n, x):
    return mpmath.betainc(m / 2, n / 2, 0, m * x / (m * x + n), regularized=True)


def expn(n, x):
    return mpmath.expint(int(n), x)


def binomial(k, n, p):
    n = int(n)
    return sum(mpmath.binomial(n, i) * p**i * (1 - p) ** (n - i) for i in range(int(k) + 1))


def differ(f, at, argument, side):
    """Differentiate by differences in 60 digits, to both sides or to one."""
    step = mpmath.mpf(10) ** (-15 if side == 0 else -25)

    def moved(steps):
        there = list(map(mpmath.mpf, at))
        there[argument] += steps * step
        return f(*there)

    if side == 0:
        return (moved(1) - moved(-1)) / (2 * step)
    return (4 * moved(side) - moved(2 * side) - 3 * moved(0)) / (2 * side * step)


@pytest.mark.parametrize(
    ("name", "at", "argument", "reference", "side"),
    [
        ("powm1", (-0.5, 3.0), 0, powm1, 0),
        ("powm1", (-0.5, -2.0), 0, powm1, 0),
        ("powm1", (0.0, 1.0), 0, powm1, 0),
        ("powm1", (0.0, 2.0), 0, powm1, 0),
        ("powm1", (0.0, 2.0), 1, powm1, 0),
        ("pseudo_huber", (0.0, 0.7), 0, pseudo_huber, 1),
        ("pseudo_huber", (0.0, -0.7), 0, pseudo_huber, 1),
        ("pseudo_huber", (0.3, 0.7), 0, pseudo_huber, 0),
        ("inv_boxcox", (-1.0, 1.0), 0, inv_boxcox, 1),
        ("inv_boxcox", (-1.0, 1.0), 1, inv_boxcox, -1),
        ("inv_boxcox", (-2.0, 0.5), 0, inv_boxcox, 0),
        ("inv_boxcox1p", (-1.0, 1.0), 0, inv_boxcox, 1),
        ("kl_div", (0.0, 0.0), 1, lambda x, y: y, 1),
        ("rel_entr", (0.0, 0.0), 1, lambda x, y: 0 * y, 1),
        ("poch", (-1.0, 0.5), 0, mpmath.rf, 0),
        ("poch", (0.0, 3.0), 0, mpmath.rf, 0),
        ("poch", (-2.0, 1.0), 0, mpmath.rf, 0),
        ("poch", (-1.0, -1.0), 0, mpmath.rf, 0),
        ("beta", (-0.5, -0.5), 0, mpmath.beta, 0),
        ("beta", (0.5, -1.5), 1, mpmath.beta, 0),
        ("beta", (-1.0, 1.0), 0, lambda a, b: 1 / a, 0),
        ("beta", (1.0, -2.0), 1, lambda a, b: 1 / b, 0),
        ("betaln", (-1.0, 1.0), 0, lambda a, b: -mpmath.log(-a), 0),
        ("gammaincinv", (2.0, 0.0), 0, lambda a, p: 0, 0),
        ("gammainccinv", (2.0, 1.0), 0, lambda a, p: 0, 0),
        ("chdtri", (3.0, 1.0), 0, lambda a, p: 0, 0),
        ("betaincinv", (2.0, 0.3, 1.0), 0, lambda a, b, p: 1, 0),
        ("betaincinv", (2.0, 0.3, 0.0), 1, lambda a, b, p: 0, 0),
        ("betainccinv", (1.0, 3.0, 0.0), 0, lambda a, b, p: 1, 0),
        ("fdtr", (1.0, 3.0, 0.0), 0, lambda m, n, x: 0, 0),
        ("fdtr", (1.0, 3.0, 0.0), 1, lambda m, n, x: 0, 0),
        ("fdtr", (2.0, 3.0, 0.0), 2, fdtr, 1),
        ("fdtrc", (1.0, 3.0, 0.0), 0, lambda m, n, x: 1, 0),
        ("fdtrc", (2.0, 3.0, 0.0), 2, lambda m, n, x: 1 - fdtr(m, n, x), 1),
        ("tklmbda", (2.0, 1.0), 0, lambda x, lam: 1, 0),
        ("tklmbda", (-0.7, 3.0), 1, lambda x, lam: 0, 0),
        ("tklmbda", (0.3, 1.0), 0, lambda x, lam: (1 + x) / 2, 0),
        ("stdtr", (math.inf, 0.4), 1, lambda df, x: mpmath.ncdf(x), 0),
        ("stdtr", (math.inf, 0.4), 0, lambda df, x: 0, 0),
        ("stdtrit", (math.inf, 0.4), 1, lambda df, p: mpmath.sqrt(2) * mpmath.erfinv(2 * p - 1), 0),
        ("chndtr", (0.0, 2.0, 3.0), 0, lambda x, df, nc: x * mpmath.exp(-nc / 2) / 2, 1),
        ("chndtr", (0.0, 2.0, 3.0), 2, lambda x, df, nc: 0, 0),
        ("chndtrix", (0.0, 2.0, 3.0), 0, lambda p, df, nc: 2 * p * mpmath.exp(nc / 2), 1),
        ("ncfdtr", (2.0, 4.0, 3.0, 0.0), 3, lambda m, n, nc, x: x * mpmath.exp(-nc / 2), 1),
        ("ncfdtr", (2.0, 4.0, 3.0, 0.0), 2, lambda m, n, nc, x: 0, 0),
        # SciPy takes the integer part of orders and counts.
        ("kn", (1.5, 0.8), 1, lambda n, x: mpmath.besselk(1, x), 0),
        ("yn", (-0.5, 0.8), 1, lambda n, x: mpmath.bessely(0, x), 0),
        ("expn", (2.5, 0.8), 1, expn, 0),
        ("bdtr", (1.5, 3.5, 0.3), 2, binomial, 0),
        ("bdtrc", (1.5, 3.5, 0.3), 2, lambda k, n, p: 1 - binomial(k, n, p), 0),
        ("nbdtr", (-0.5, 3.5, 0.3), 2, lambda k, n, p: p**3, 0),
        ("nbdtrc", (-0.5, 3.5, 0.3), 2, lambda k, n, p: 1 - p**3, 0),
        ("pdtri", (-0.5, 0.3), 1, lambda k, p: -mpmath.log(p), 0),
    ],
)
@pytest.mark.filterwarnings("ignore:.*non-integer arg:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:floating point number truncated:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:.*is not a finite number:simpleautodiff.DomainWarning")
def test_slopes_at_special_arguments(name, at, argument, reference, side):
    function = getattr(sps, name)
    f = lambda x: function(*at[:argument], x, *at[argument + 1 :])
    with mpmath.workdps(60):
        expected = float(mpmath.re(differ(reference, at, argument, side)))
    x = at[argument]
    assert ad.value_and_grad(f)(x)[0] == f(x)
    found = [
        ad.grad(f)(x),
        ad.jvp(f, (x,), (1.0,))[1],
        ad.vmap(ad.grad(f))(np.array([x, x]))[1],
        ad.grad(lambda x: f(x).sum())(np.array([x]))[0],
        ad.jit(ad.grad(f))(x),
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(
    ("f", "x", "slope"),
    [
        (lambda p: sps.kolmogi(p), 1.0, -math.inf),
        (lambda x: sps.ive(0.5, x), 0.0, math.inf),
        (lambda x: sps.fdtr(1.0, 3.0, x), 0.0, math.inf),
        (lambda x: sps.powm1(x, 0.5), 0.0, math.inf),
        (lambda x: sps.chndtr(x, 0.3, 2.0), 0.0, math.inf),
        (lambda x: sps.ncfdtr(1.0, 3.0, 0.5, x), 0.0, math.inf),
    ],
)
@pytest.mark.filterwarnings("ignore::simpleautodiff.DomainWarning")
@pytest.mark.filterwarnings("ignore:.*divide:RuntimeWarning")
def test_infinite_slopes(f, x, slope):
    assert ad.grad(f)(x) == slope


@pytest.mark.parametrize("n", [1, 4, 5])
@pytest.mark.parametrize("turns", [0, 1, -1])
def test_the_kernel_of_dirichlet_is_smooth_at_multiples_of_a_turn(n, turns):
    """Around a multiple of 2π it is ± (1 - (n² - 1) x²/24 + ...)."""
    x, sign = 2 * math.pi * turns, (-1) ** (turns * (n - 1))
    f = lambda x: sps.diric(x, n)
    assert ad.value_and_grad(f)(x)[0] == f(x)
    assert ad.grad(f)(x) == pytest.approx(0, abs=1e-14)
    second = -sign * (n * n - 1) / 12
    assert ad.grad(ad.grad(f))(x) == pytest.approx(second, rel=1e-12)
    assert ad.vmap(ad.jit(ad.grad(ad.grad(f))))(np.array([x]))[0] == pytest.approx(
        second, rel=1e-12
    )
    beside = ad.grad(f)(x + 0.7)
    by_hand = lambda x: mpmath.sin(n * x / 2) / (n * mpmath.sin(x / 2))
    assert beside == pytest.approx(float(mpmath.diff(by_hand, x + 0.7)), rel=1e-12, abs=1e-14)


def test_the_kernel_of_dirichlet_of_what_is_no_count():
    assert np.isnan(ad.value_and_grad(lambda x: sps.diric(x, 2.5))(0.3)[0])


@pytest.mark.parametrize(
    "f",
    [
        lambda n: sps.eval_legendre(n, 0.3),
        lambda n: sps.eval_chebyt(n, 0.3),
        lambda n: sps.eval_laguerre(n, 0.3),
        lambda n: sps.polygamma(n, 0.3),
        lambda n: sps.diric(0.3, n),
        lambda n: sps.sph_harm_y(n, 0, 0.3, 0.4).real,
        lambda n: sps.kn(n, 0.3),
    ],
)
def test_a_derivative_in_a_degree_is_refused(f):
    with pytest.raises(ad.RuleError, match="plain number"):
        ad.grad(f)(2.0)
    assert ad.jit(f)(2) == pytest.approx(f(2), rel=1e-13)


@pytest.mark.filterwarnings("ignore::simpleautodiff.errors.DomainWarning")
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("kind", [float, np.float64, lambda x: np.array([x])])
@pytest.mark.parametrize(
    "f",
    [
        lambda x: sps.boxcox(x, 0.5),
        lambda x: sps.boxcox1p(x - 1, 0.5),
        lambda x: sps.ive(0.5, 60 * x),
        lambda x: sps.kve(0.5, 60 * x),
    ],
)
def test_slopes_outside_of_a_domain_are_nan_and_never_complex(f, kind):
    """The square root of a negative number is nan, as in NumPy, where Python's is complex."""
    slope = ad.grad(lambda x: np.sum(f(x)))(kind(-1.0))
    assert np.asarray(slope).dtype == float
    assert np.isnan(slope).all()


def test_each_example_of_a_batch_has_an_order_of_its_own():
    orders, x = np.array([0.0, 1.0, 2.5, -1.5]), np.array([0.4, 70.0, 3.0, 2.0])
    slope = ad.vmap(ad.grad(lambda n, x: sps.ive(n, x), 1))(orders, x)
    with mpmath.workdps(30):
        wanted = [mpmath.diff(lambda t, n=n: mpmath.exp(-t) * mpmath.besseli(n, t), mpmath.mpf(y))
                  for n, y in zip(orders, x, strict=True)]  # fmt: skip
    np.testing.assert_allclose(slope, np.array(wanted, float), rtol=1e-11)


@pytest.mark.parametrize("at", [-1e-20, -0.1, -10.0, -1e6, -1e12, -1e16, -1e100, -1e300])
def test_the_normal_quantile_of_an_exponential_has_its_slope_far_out(at):
    """log Φ(v) = x has the slope φ/Φ in v, Mills' ratio, which falls as 1/√(-2 x)."""
    with mpmath.workdps(60):
        if at > -1e9:
            start = mpmath.mpf(float(sps.ndtri_exp(at)))
            v = mpmath.findroot(lambda v: mpmath.log(mpmath.ncdf(v)) - mpmath.mpf(at), start)
            slope = mpmath.ncdf(v) / mpmath.npdf(v)
            second = slope * (1 + v * slope)
        else:
            root = mpmath.sqrt(-2 * mpmath.mpf(at))
            slope, second = 1 / root, root**-3
    assert ad.grad(sps.ndtri_exp)(at) == pytest.approx(float(slope), rel=1e-11)
    assert ad.derivative(sps.ndtri_exp, 2)(at) == pytest.approx(float(second), rel=1e-7, abs=0)


FAR = [-1e300, -1e100, -1e17, -1e8, -60.0, -1.5, -0.5, 1e-300, 1e-10, 0.3, 0.7, 1.5, 60.0]
FAR += [1e3, 1e12, 1e17, 1e80, 1e150]


@pytest.mark.filterwarnings("ignore::simpleautodiff.errors.DomainWarning")
@pytest.mark.parametrize("at", FAR)
@pytest.mark.parametrize(
    ("f", "slope"),
    [
        (sps.dawsn, lambda x: mpmath.hyp1f1(1, 0.5, -x * x) if abs(x) < 100 else far_dawsn(x)),
        (sps.ellipk, lambda m: (mpmath.ellipe(m) / (1 - m) - mpmath.ellipk(m)) / (2 * m)),
        (sps.spence, lambda x: mpmath.log(x) / (1 - x)),
        (sps.ellipe, lambda m: (mpmath.ellipe(m) - mpmath.ellipk(m)) / (2 * m)),
        (
            lambda y: sps.inv_boxcox(0.7, y),
            lambda y: inv_boxcox(0.7, y) * (0.7 / (y + 0.7 * y**2) - mpmath.log1p(0.7 * y) / y**2),
        ),
    ],
    ids=["dawsn", "ellipk", "spence", "ellipe", "inv_boxcox"],
)
def test_slopes_far_out_keep_their_digits(f, slope, at):
    """Where formulas would cancel, or functions of SciPy fail."""
    if not np.isfinite(f(at)):
        assert np.isnan(f(at)), "outside of its domain"
        return
    with mpmath.workdps(60 if 1e-30 < abs(at) < 1e30 else 700):
        wanted = float(slope(mpmath.mpf(at)))
    assert ad.grad(f)(at) == pytest.approx(wanted, rel=2e-12, abs=0)


def far_dawsn(x):
    """D' = 1 - 2 x D, by the asymptotic series of D."""
    terms = [mpmath.fac2(2 * k - 1) / (2 * x * x) ** k for k in range(1, 12)]
    return -mpmath.fsum(terms)
