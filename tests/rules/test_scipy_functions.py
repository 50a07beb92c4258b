"""Functions of SciPy on nodes: values as SciPy's, derivatives as mpmath's, in every way to call."""

import math

import mpmath
import numpy as np
import pytest
import scipy.special as sps
from mpmath import mp, mpf

import simpleautodiff as ad
from simpleautodiff.rules import TABLE
from simpleautodiff.rules.scalar import (
    bessel,
    incomplete,
    information,
    noncentral,
    poisson_mixtures,
    probability,
    shape_integrals,
)

# The functions of scipy.special against mpmath. ---------------------------------------------------


def ndtr(x):
    return mp.erfc(-x / mp.sqrt(2)) / 2


def ndtri(p):
    return -mp.sqrt(2) * erfcinv(2 * p)


def erfcinv(p):
    if p > 1:
        return -erfcinv(2 - p)
    start = mpf(float(sps.erfcinv(float(p))))
    return mp.findroot(lambda z: mp.log(mp.erfc(z)) - mp.log(p), start)


def ratio(x, y):
    return x * mp.log(x / y)


def sindg(x):
    return mp.sin(x * mp.pi / 180)


def huber(d, r):
    return r * r / 2 if abs(r) <= d else d * (abs(r) - d / 2)


def boxcox(x, y):
    return mp.log(x) if y == 0 else (x**y - 1) / y


def inv_boxcox(x, y):
    return mp.exp(x) if y == 0 else (1 + x * y) ** (1 / y)


def scaled(f, sign):
    return lambda n, x: f(n, x) * mp.exp(sign * abs(x))


def smooth(f, at_zero):
    """Fill the hole of f(x)/x at 0."""
    return lambda x: f(x) / x if x else at_zero


def numbers(*xs):
    return tuple((x,) for x in xs)


def lower_gamma(a, x):
    return mp.gammainc(a, 0, x, regularized=True)


def upper_gamma(a, x):
    return mp.gammainc(a, x, mp.inf, regularized=True)


def lower_beta(a, b, x):
    return mp.betainc(a, b, 0, x, regularized=True)


def stdtr(df, x):
    beyond = lower_beta(df / 2, mpf(1) / 2, df / (df + x * x)) / 2
    return beyond if x < 0 else 1 - beyond


def fdtr(m, n, x):
    return lower_beta(m / 2, n / 2, m * x / (m * x + n))


def binomial_cdf(k, n, p):
    return mp.fsum(mp.binomial(n, j) * p**j * (1 - p) ** (n - j) for j in range(int(k) + 1))


def poisson_mixture(nc, member):
    """Add up the members of a mixture with Poisson's probabilities of mean nc/2."""
    return mp.exp(-nc / 2) * mp.fsum((nc / 2) ** j / mp.factorial(j) * member(j) for j in range(25))


def chndtr(x, df, nc):
    return poisson_mixture(nc, lambda j: lower_gamma(df / 2 + j, x / 2))


def ncfdtr(m, n, nc, x):
    return poisson_mixture(nc, lambda j: lower_beta(m / 2 + j, n / 2, m * x / (m * x + n)))


def ncbeta(a, b, nc, y):
    return poisson_mixture(nc, lambda j: lower_beta(a + j, b, y))


def ncbeta_density(a, b, nc, y):
    member = lambda a: y ** (a - 1) * (1 - y) ** (b - 1) / mp.beta(a, b)
    return poisson_mixture(nc, lambda j: member(a + j))


def vonmises_moment(k, x, kappa):
    density = lambda t: (1 - mp.cos(t)) ** k * mp.exp(kappa * mp.cos(t))
    return mp.quad(density, [0, x / 2, x]) / (2 * mp.pi * mp.besseli(0, kappa))


def nct_df_moment(k, df, nc, t):
    """Integrate s^k φ(t s - nc) times the derivative in a of the gamma distribution at df s²/2."""
    change = lambda u: mp.diff(lambda a: lower_gamma(a, u), df / 2, h=mpf(10) ** -8)
    return mp.quad(
        lambda s: s**k * mp.npdf(t * s - nc) * change(df * s * s / 2),
        [0, 0.3, 0.7, 1, 1.5, 2, 4, 9],
    )


def ncx2_density(x, df, nc):
    half = lambda j: df / 2 + j - 1
    return poisson_mixture(
        nc, lambda j: (x / 2) ** half(j) * mp.exp(-x / 2) / mp.gamma(half(j) + 1) / 2
    )


def ncf_density(m, n, nc, x):
    member = lambda a: (m * x / n) ** (a - 1) * (1 + m * x / n) ** (-a - n / 2) * m / n
    return poisson_mixture(nc, lambda j: member(m / 2 + j) / mp.beta(m / 2 + j, n / 2))


def nct_density(df, nc, t):
    """By parabolic cylinder functions, which are Hermite's functions of negative order."""
    root = mp.sqrt(df + t * t)
    height = 2 * (df / 2) ** (df / 2) / mp.gamma(df / 2) * mp.gamma(df + 1) / root ** (df + 1)
    z = -nc * t / root
    cylinder = mp.exp(z * z / 4 - nc * nc / 2) * mp.pcfd(-df - 1, z)
    return height * cylinder / mp.sqrt(2 * mp.pi)


def nctdtr(df, nc, t):
    if t < 0:
        return 1 - nctdtr(df, -nc, -t)
    half, y = mpf(1) / 2, t * t / (t * t + df)
    even = poisson_mixture(nc * nc, lambda j: lower_beta(j + half, df / 2, y))
    ratio = lambda j: mp.factorial(j) / mp.gamma(j + 3 * half)
    odd = poisson_mixture(nc * nc, lambda j: ratio(j) * lower_beta(j + 1, df / 2, y))
    return ndtr(-nc) + (even + nc / mp.sqrt(2) * odd) / 2


def tklmbda(x, lam):
    start = mpf(float(sps.tklmbda(float(x), float(lam))))
    return mp.findroot(lambda p: boxcox(p, lam) - boxcox(1 - p, lam) - x, start)


def kolmogorov(x):
    return 2 * mp.fsum((-1) ** (k - 1) * mp.exp(-2 * (k * x) ** 2) for k in range(1, 40))


def invert(f, name):
    """Return the inverse of f in its last argument, from where SciPy finds it."""

    def inverse(*args):
        start = mpf(float(getattr(sps, name)(*map(float, args))))
        return mp.findroot(lambda x: f(*args[:-1], x) - args[-1], start)

    return inverse


ORDERS = [(0, 0.4), (1, 2.3), (2, 11.0), (0.5, 3.0), (2.5, 0.7), (3.5, 60.0)]
REFERENCES = {  # the name in scipy.special: mpmath's function, and points
    "erfinv": (mp.erfinv, numbers(-0.999, -0.3, 1e-8, 0.5, 0.99)),
    "erfcinv": (erfcinv, numbers(1e-100, 1e-10, 0.3, 1.2, 1.9)),
    "ndtri": (ndtri, numbers(1e-100, 1e-10, 0.2, 0.5, 0.999)),
    "ndtr": (ndtr, numbers(-30.0, -5.0, -0.4, 0.0, 1.2, 6.0)),
    "log_ndtr": (lambda x: mp.log(ndtr(x)), numbers(-1e6, -300.0, -20.0, -1.0, 0.0, 2.0, 12.0)),
    "erfcx": (
        lambda x: mp.exp(x * x) * mp.erfc(x),
        numbers(-3.0, -0.5, 0.0, 0.3, 1.0, 2.5, 8.0, 30.0, 1e4),
    ),
    "dawsn": (
        lambda x: mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x),
        numbers(-3.0, 0.0, 0.4, 1.3, 4.0, 9.0, 50.0),
    ),
    "jv": (mp.besselj, [*ORDERS, (1, -2.0), (0, 100.3)]),
    "yv": (mp.bessely, ORDERS),
    "yn": (mp.bessely, [(0, 0.4), (1, 2.3), (3, 11.0)]),
    "iv": (mp.besseli, [*ORDERS, (2, -1.5)]),
    "kv": (mp.besselk, ORDERS),
    "kn": (mp.besselk, [(0, 0.4), (1, 2.3), (3, 11.0)]),
    "ive": (scaled(mp.besseli, -1), [*ORDERS, (2, -1.5), (0, 1e6), (1, -1e4), (2.5, 1e5)]),
    "kve": (lambda n, x: mp.besselk(n, x) * mp.exp(x), [*ORDERS, (0, 1e6), (3, 1e5)]),
    **{
        f"{letter}{n}": (lambda x, f=f, n=n: f(n, x), numbers(0.03, 0.8, 3.0, 9.0))
        for letter, f in zip("jyik", (mp.besselj, mp.bessely, mp.besseli, mp.besselk), strict=True)
        for n in (0, 1)
    },
    "i0e": (lambda x: mp.besseli(0, x) * mp.exp(-abs(x)), numbers(-2.0, 0.5, 8.0, 70.0, 1e8)),
    "i1e": (lambda x: mp.besseli(1, x) * mp.exp(-abs(x)), numbers(-2.0, 0.5, 8.0, 70.0, 1e8)),
    "k0e": (lambda x: mp.besselk(0, x) * mp.exp(x), numbers(0.1, 2.0, 1e4, 1e7)),
    "k1e": (lambda x: mp.besselk(1, x) * mp.exp(x), numbers(0.1, 2.0, 1e4, 1e7)),
    "hyp0f1": (mp.hyp0f1, [(1.5, 0.7), (0.6, -4.0), (3.0, 20.0)]),
    "hyp1f1": (
        mp.hyp1f1,
        [(0.5, 1.5, 2.0), (2.0, 3.0, -30.0), (1.2, 0.7, 0.1), (-1.5, 2.5, 4.0), (3.0, 20.0, 60.0)],
    ),
    "hyp2f1": (mp.hyp2f1, [(0.5, 1.5, 2.0, 0.3), (1.0, 1.0, 2.0, -5.0), (0.3, 0.4, 1.1, 0.9)]),
    "hyperu": (mp.hyperu, [(0.5, 1.3, 60.0), (1.5, 2.2, 200.0)]),
    "ellipk": (mp.ellipk, numbers(-8.0, -0.3, 1e-9, 0.5, 0.99)),
    "ellipe": (mp.ellipe, numbers(-8.0, -0.3, 1e-9, 0.5, 0.99)),
    "exprel": (smooth(mp.expm1, 1), numbers(-50.0, -1.0, -1e-9, 1e-6, 0.4, 5.0, 60.0)),
    "spence": (lambda x: mp.polylog(2, 1 - x).real, numbers(0.01, 0.6, 1.0 + 1e-9, 1.7, 9.0)),
    "expi": (mp.ei, numbers(-4.0, -0.2, 0.1, 1.3, 20.0)),
    "exp1": (mp.e1, numbers(0.01, 0.5, 3.0, 30.0)),
    "expn": (mp.expint, [(0, 0.4), (1, 0.7), (2, 3.0), (5, 12.0)]),
    "rgamma": (mp.rgamma, numbers(-3.0, -2.5, -2.0 + 1e-7, 0.0, 0.3, 2.0, 40.0, 130.0)),
    "loggamma": (mp.loggamma, numbers(0.02, 1.0, 3.3, 1e6)),
    "gammaln": (lambda x: mp.log(abs(mp.gamma(x))), numbers(-2.5, 0.02, 1.3, 3.3, 1e6)),
    "betaln": (
        lambda a, b: mp.log(mp.beta(a, b)),
        [(0.3, 0.7), (5.0, 2.5), (1e8, 1.5), (0.4, 1e9), (3e5, 2e5)],
    ),
    "beta": (mp.beta, [(0.3, 0.7), (5.0, 2.5), (1e3, 1.5), (0.4, 1e9), (200.0, 170.0)]),
    "poch": (mp.rf, [(0.3, 0.7), (5.0, 2.5), (1e6, 1.5), (30.0, 8.0)]),
    "binom": (
        mp.binomial,
        [(5.0, 2.0), (7.3, 2.2), (1e6, 2.0), (5.0, 4.9), (-2.5, 3.0), (5.0, 7.0), (3.3, 5.6)],
    ),
    "gammainc": (
        lower_gamma,
        [
            (0.5, 0.2),
            (3.0, 2.0),
            (1.0, 5.0),
            (40.0, 30.0),
            (0.01, 0.3),
            (2.0, 1e-9),
            (700.0, 690.0),
        ],
    ),
    "gammaincc": (
        upper_gamma,
        [(0.5, 0.2), (3.0, 2.0), (1.0, 5.0), (40.0, 70.0), (0.01, 0.3), (2.0, 90.0)],
    ),
    "gammaincinv": (invert(lower_gamma, "gammaincinv"), [(0.5, 0.2), (3.0, 0.9), (40.0, 1e-6)]),
    "gammainccinv": (invert(upper_gamma, "gammainccinv"), [(0.5, 0.2), (3.0, 0.9), (40.0, 1e-6)]),
    "betainc": (
        lower_beta,
        [
            *((0.5, 0.7, 0.2), (3.0, 2.0, 1e-5), (1.0, 5.0, 0.4), (40.0, 30.0, 0.7)),
            *((0.01, 0.5, 1e-6), (0.3, 90.0, 0.01)),
        ],
    ),
    "betaincinv": (invert(lower_beta, "betaincinv"), [(0.5, 0.7, 0.2), (3.0, 2.0, 0.97)]),
    "betainccinv": (
        invert(lambda a, b, x: lower_beta(b, a, 1 - x), "betainccinv"),
        [(0.5, 0.7, 0.2), (3.0, 2.0, 0.97)],
    ),
    "stdtr": (stdtr, [(3.0, 0.4), (1.5, -2.0), (0.7, 30.0), (12.0, 1e-3), (200.0, -3.0)]),
    "stdtrit": (invert(stdtr, "stdtrit"), [(3.0, 0.4), (1.5, 0.9), (12.0, 0.001)]),
    "fdtr": (fdtr, [(3.0, 4.0, 0.7), (0.5, 12.0, 2.0)]),
    "fdtrc": (lambda m, n, x: 1 - fdtr(m, n, x), [(3.0, 4.0, 0.7), (0.5, 12.0, 2.0)]),
    "fdtri": (invert(fdtr, "fdtri"), [(3.0, 4.0, 0.7), (5.0, 12.0, 0.1)]),
    "chdtrc": (lambda v, x: upper_gamma(v / 2, x / 2), [(3.0, 0.4), (7.0, 9.0)]),
    "chdtri": (
        invert(lambda v, x: upper_gamma(v / 2, x / 2), "chdtri"),
        [(3.0, 0.4), (7.0, 0.9)],
    ),
    "gdtrc": (lambda a, b, x: upper_gamma(b, a * x), [(2.0, 0.4, 0.3), (0.3, 4.0, 9.0)]),
    "gdtrix": (
        invert(lambda a, b, x: lower_gamma(b, a * x), "gdtrix"),
        [(2.0, 0.4, 0.3), (0.3, 4.0, 0.9)],
    ),
    "pdtrc": (lambda k, m: lower_gamma(k + 1, m), [(2.0, 0.4), (5.0, 9.0)]),
    "pdtri": (invert(lambda k, m: upper_gamma(k + 1, m), "pdtri"), [(2.0, 0.4), (5.0, 0.9)]),
    "bdtr": (binomial_cdf, [(2.0, 7, 0.3), (7.0, 7, 0.3), (0.0, 4, 0.9)]),
    "bdtrc": (lambda k, n, p: 1 - binomial_cdf(k, n, p), [(2.0, 7, 0.3), (0.0, 4, 0.9)]),
    "nbdtr": (lambda k, n, p: lower_beta(n, k + 1, p), [(2, 7.0, 0.3), (4, 3.0, 0.8)]),
    "nbdtrc": (lambda k, n, p: 1 - lower_beta(n, k + 1, p), [(2, 7.0, 0.3), (4, 3.0, 0.8)]),
    "chndtr": (chndtr, [(3.0, 2.5, 1.2), (0.4, 0.7, 1.0)]),
    "ncfdtr": (ncfdtr, [(3.0, 7.0, 1.5, 0.8), (5.0, 3.0, 0.3, 0.2)]),
    "nctdtr": (nctdtr, [(6.0, 0.7, 1.1), (9.0, -1.2, -0.4)]),
    "tklmbda": (tklmbda, [(0.4, 0.3), (-1.1, 0.5), (2.0, -0.7), (0.3, 2.5)]),
    "kolmogorov": (kolmogorov, numbers(0.4, 0.79, 0.81, 1.3, 2.7)),
    "kolmogi": (invert(kolmogorov, "kolmogi"), numbers(0.02, 0.999, 0.6)),
    "ndtri_exp": (lambda x: ndtri(mp.exp(x)), numbers(-40.0, -2.0, -0.1)),
    "owens_t": (
        lambda h, a: mp.quad(
            lambda t: mp.exp(-h * h * (1 + t * t) / 2) / (1 + t * t) / (2 * mp.pi), [0, a]
        ),
        [(0.5, 0.7), (-2.0, 3.0), (1.5, -0.4)],
    ),
    "powm1": (lambda x, y: x**y - 1, [(1.5, 0.7), (0.2, 3.0)]),
    "betaincc": (
        lambda a, b, x: mp.betainc(a, b, x, 1, regularized=True),
        [(0.5, 0.7, 0.2), (3.0, 2.0, 1e-5), (1.0, 5.0, 0.4), (40.0, 30.0, 0.7)],
    ),
    "chdtr": (
        lambda v, x: mp.gammainc(v / 2, 0, x / 2, regularized=True),
        [(3.0, 0.4), (7.0, 9.0)],
    ),
    "gdtr": (
        lambda a, b, x: mp.gammainc(b, 0, a * x, regularized=True),
        [(2.0, 0.4, 0.3), (0.3, 4.0, 9.0)],
    ),
    "pdtr": (
        lambda k, m: mp.gammainc(k + 1, m, mp.inf, regularized=True),
        [(2.0, 0.4), (5.0, 9.0)],
    ),
    "logit": (lambda x: mp.log(x / (1 - x)), numbers(1e-100, 1e-5, 0.3, 0.5 + 1e-9, 1 - 1e-12)),
    "log_expit": (lambda x: -mp.log(1 + mp.exp(-x)), numbers(-700.0, -1.0, 0.0, 2.0, 60.0)),
    "expit": (lambda x: 1 / (1 + mp.exp(-x)), numbers(-700.0, -1.0, 0.0, 2.0, 30.0)),
    "xlogy": (lambda x, y: x * mp.log(y), [(0.0, 2.0), (1.3, 0.2), (-2.0, 1e-100)]),
    "xlog1py": (lambda x, y: x * mp.log(1 + y), [(0.0, 2.0), (1.3, -0.2), (-2.0, 1e-9)]),
    "entr": (lambda x: -x * mp.log(x), numbers(1e-100, 0.1, 0.9, 7.0)),
    "rel_entr": (ratio, [(0.3, 0.3), (0.2, 3.0), (5.0, 1e-9)]),
    "kl_div": (
        lambda x, y: ratio(x, y) - x + y,
        [(0.3, 0.3), (0.2, 3.0), (5.0, 1e-9), (1.0, 1.0 + 1e-9)],
    ),
    "boxcox": (boxcox, [(2.0, 0.5), (0.3, -1.2), (1e-100, 0.01), (3.0, 1e-12), (1e-5, 4.0)]),
    "boxcox1p": (
        lambda x, y: boxcox(1 + x, y),
        [(2.0, 0.5), (-0.3, -1.2), (1e-12, 0.01), (3.0, 1e-12)],
    ),
    "inv_boxcox": (inv_boxcox, [(2.0, 0.5), (0.3, -1.2), (1e-9, 0.01), (3.0, 1e-12)]),
    "inv_boxcox1p": (
        lambda x, y: inv_boxcox(x, y) - 1,
        [(2.0, 0.5), (0.3, -1.2), (1e-9, 0.01), (3.0, 1e-12)],
    ),
    "huber": (huber, [(1.0, 0.3), (1.0, -2.5), (0.4, 7.0)]),
    "pseudo_huber": (
        lambda d, r: d * d * (mp.sqrt(1 + (r / d) ** 2) - 1),
        [(1.0, 0.3), (1.0, -2.5), (0.4, 1e-9), (1e-5, 7.0)],
    ),
    "sindg": (sindg, numbers(0.0, 30.0, 180.0, -400.0)),
    "cosdg": (lambda x: sindg(x + 90), numbers(0.0, 30.0, 180.0, -400.0)),
    "tandg": (lambda x: sindg(x) / sindg(x + 90), numbers(0.0, 30.0, 180.0, -400.0)),
    "cosm1": (lambda x: mp.cos(x) - 1, numbers(1e-9, 0.3, 4.0)),
    "exp10": (lambda x: mpf(10) ** x, numbers(-300.0, 0.3, 4.0)),
    "exp2": (lambda x: mpf(2) ** x, numbers(-300.0, 0.3, 4.0)),
    "multigammaln": (
        lambda a, d: (
            d * (d - 1) / mpf(4) * mp.log(mp.pi)
            + mp.fsum(mp.loggamma(a - j / mpf(2)) for j in range(d))
        ),
        [(3.5, 3), (1.2, 1), (200.0, 4)],
    ),
    "polygamma": (lambda n, x: mp.polygamma(n, x), [(0, 0.4), (1, 2.0), (3, 7.5)]),
    "zeta": (mp.zeta, [(2.0, 0.5), (3.5, 4.0), (1.1, 1.0), (30.0, 2.5)]),
    "comb": (mp.binomial, [(5.0, 2.0), (7.3, 2.2), (1e6, 2.0)]),
    "factorial": (mp.factorial, numbers(0.0, 0.5, 3.0, 20.0)),
}
CONSTANT = {  # the positions of orders and shapes, in which there is no derivative
    **dict.fromkeys(["jv", "yv", "yn", "iv", "kv", "kn", "ive", "kve", "expn"], (0,)),
    **dict.fromkeys(["pdtr", "pdtrc", "pdtri", "hyp0f1", "polygamma"], (0,)),
    **dict.fromkeys(["hyperu", "bdtr", "bdtrc"], (0, 1)),
    **{"nbdtr": (0,), "nbdtrc": (0,), "multigammaln": (1,), "nctdtr": (0,)},
}
LOOSE = {"hyperu": 1e-8, "hyp2f1": 1e-9, "vonmises_cdf": 1e-12}
NEAR_AN_EDGE = {"logit", "pseudo_huber", "kl_div", "exprel", "spence", "rgamma", "boxcox"}
CASES = [(name, point) for name, (_, points) in REFERENCES.items() for point in points]
every_case = pytest.mark.parametrize(
    ("name", "point"), CASES, ids=[f"{name}{point}" for name, point in CASES]
)


def variables(name, point):
    return [i for i in range(len(point)) if i not in CONSTANT.get(name, ())]


def along(name, point, i):
    return lambda x: getattr(sps, name)(*point[:i], x, *point[i + 1 :])


def reference(name, point, *by):
    """Return mpmath's value, differentiated by the arguments at the positions `by`."""
    digits, h = (80, 20) if name in NEAR_AN_EDGE else (50, 12)
    with mpmath.workdps(digits):
        args = [x if isinstance(x, int) else mpf(x) for x in point]
        f = REFERENCES[name][0]
        if not by:
            return f(*args)
        moving = sorted(set(by))

        def of_the_moving(*xs):
            moved = list(args)
            for i, x in zip(moving, xs, strict=True):
                moved[i] = x
            return f(*moved)

        steps = [abs(args[i]) or mpf(1) / 100 for i in moving]
        scaled = lambda *ts: of_the_moving(
            *[args[i] + t * s for i, t, s in zip(moving, ts, steps, strict=True)]
        )
        times = tuple(by.count(i) for i in moving)
        zeros = (mpf(0),) * len(moving)
        h = mpf(10) ** -h
        derivative = mp.diff(
            scaled,
            zeros if len(moving) > 1 else zeros[0],
            times if len(moving) > 1 else times[0],
            h=h,
        )
        return derivative / mp.fprod(s**n for s, n in zip(steps, times, strict=True))


def assert_close(number, expected, rel, floor=0.0):
    with mpmath.workdps(50):
        assert abs(mpf(float(number)) - expected) <= rel * abs(expected) + floor, (
            f"{number!r} is not {mpmath.nstr(expected, 17)}"
        )


@every_case
def test_value_is_that_of_scipy(name, point):
    for i in variables(name, point):
        value = ad.value_and_grad(along(name, point, i))(point[i])[0]
        assert value == pytest.approx(float(getattr(sps, name)(*point)), rel=1e-13)


@every_case
def test_first_derivative(name, point):
    for i in variables(name, point):
        f, x = along(name, point, i), point[i]
        expected = reference(name, point, i)
        reverse = ad.grad(f)(x)
        assert_close(reverse, expected, LOOSE.get(name, 1e-11), 1e-30)
        assert ad.jvp(f, (x,), (1.0,))[1] == pytest.approx(reverse, rel=1e-14)


@every_case
def test_second_derivatives(name, point):
    by = variables(name, point)
    for i in by:
        f, x = along(name, point, i), point[i]
        expected = reference(name, point, i, i)
        rel = LOOSE.get(name, 1e-9)
        floor = 1e-14 * abs(reference(name, point, i)) / (abs(x) or 1e-2)
        for second in (ad.grad(ad.grad(f))(x), ad.derivative(f, n=2)(x), ad.hvp(f, (x,), (1.0,))):
            assert_close(second, expected, rel, floor)


TWO_ARGUMENTS = [
    case for case in CASES if len(variables(*case)) == 2 and case[0] not in ("huber", "comb")
]


@pytest.mark.parametrize(("name", "point"), TWO_ARGUMENTS, ids=map(str, TWO_ARGUMENTS))
def test_mixed_derivative(name, point):
    f = getattr(sps, name)
    i, j = variables(name, point)
    expected = reference(name, point, i, j)
    inner = lambda x, y: ad.grad(along(name, (*point[:j], y, *point[j + 1 :]), i))(x)
    assert_close(ad.grad(inner, 1)(point[i], point[j]), expected, 1e-9, 1e-25)
    assert ad.value_and_grad(f, (i, j))(*point)[0] == pytest.approx(f(*point), rel=1e-13)


OF_SHAPES = (poisson_mixtures, shape_integrals)
WRAPPINGS = {
    wrapping.primitive.name: wrapping
    for module in (bessel, incomplete, information, noncentral, probability, *OF_SHAPES)
    for wrapping in vars(module).values()
    if hasattr(wrapping, "primitive")
}

# Every row that SciPy computes. -------------------------------------------------------------------

ROWS = {name: row for name, row in TABLE.items() if row.floats}
POINTS = {  # rows that are no function of scipy.special
    "ncx2_density": (
        ncx2_density,
        [(3.0, 2.5, 1.2), (9.0, 4.0, 1.5)],
    ),
    "ncf_density": (
        ncf_density,
        [(3.0, 7.0, 1.5, 0.8), (2.0, 5.5, 1.0, 2.5)],
    ),
    "nct_density": (
        nct_density,
        [(6.0, 0.7, 1.1), (12.0, 2.0, 0.5)],
    ),
    "chndtr_derivative": (
        lambda n, x, df, nc: mp.diff(lambda df: chndtr(x, df, nc), df, n, h=mpf(10) ** -8),
        [(1, 3.0, 2.5, 1.2), (2, 9.0, 4.0, 0.5)],
    ),
    "ncx2_density_derivative": (
        lambda n, x, df, nc: mp.diff(lambda df: ncx2_density(x, df, nc), df, n, h=mpf(10) ** -8),
        [(0, 3.0, 2.5, 1.2), (1, 9.0, 4.0, 0.5), (2, 2.0, 1.0, 1.0)],
    ),
    "ncbeta_derivative": (
        lambda m, n, a, b, nc, y: mp.diff(
            lambda a, b: ncbeta(a, b, nc, y), (a, b), (m, n), h=mpf(10) ** -8
        ),
        [(1, 0, 1.5, 3.5, 1.2, 0.3), (0, 1, 2.0, 1.5, 0.5, 0.8)],
    ),
    "ncbeta_density_derivative": (
        lambda m, n, a, b, nc, y: mp.diff(
            lambda a, b: ncbeta_density(a, b, nc, y), (a, b), (m, n), h=mpf(10) ** -8
        ),
        [(0, 0, 1.5, 3.5, 1.2, 0.3), (1, 0, 2.0, 1.5, 0.5, 0.8), (1, 1, 1.2, 2.5, 0.7, 0.4)],
    ),
    "vonmises_moment": (vonmises_moment, [(0, 0.7, 2.0), (1, -1.2, 0.3), (2, 0.3, 30.0)]),
    "vonmises_cdf": (
        lambda x, kappa: 0.5 + vonmises_moment(0, x, kappa),
        [(0.7, 2.0), (-1.2, 0.3), (0.1, 30.0)],
    ),
    "nct_df_moment": (nct_df_moment, [(1, 6.0, 0.7, 1.1)]),
    "kolmogorov_derivative": (
        lambda n, x: mp.diff(kolmogorov, x, n),
        [(1, 0.4), (2, 0.7), (1, 1.3), (3, 0.9)],
    ),
    "limited_df": (lambda x: +x, numbers(0.5, 3.0, 1e4)),
    "sici_s": (mp.si, numbers(-2.0, 0.0, 1.3, 40.0)),
    "sici_c": (mp.ci, numbers(0.2, 1.3, 40.0)),
    "shichi_s": (mp.shi, numbers(-2.0, 0.0, 1.3, 9.0)),
    "shichi_c": (mp.chi, numbers(0.2, 1.3, 9.0)),
    "airy": (
        lambda k, x: (mp.airyai if k < 2 else mp.airybi)(x, derivative=k % 2),
        [(k, x) for k in range(4) for x in (-6.5, -1.0, 0.0, 0.7, 4.0)],
    ),
    "gammainc_derivative": (
        lambda n, a, x: mp.diff(lambda a: lower_gamma(a, x), a, n, h=mpf(10) ** -8),
        [(1, 0.5, 0.2), (2, 3.0, 2.0), (1, 40.0, 60.0)],
    ),
    "betainc_derivative": (
        lambda m, n, a, b, x: mp.diff(
            lambda a, b: lower_beta(a, b, x), (a, b), (m, n), h=mpf(10) ** -8
        ),
        [(1, 0, 0.5, 0.7, 0.2), (1, 1, 3.0, 2.0, 0.6)],
    ),
    "hyp1f1_derivative": (
        lambda m, n, k, *args: mp.diff(mp.hyp1f1, args, (m, n, k), h=mpf(10) ** -8),
        [(1, 0, 0, 0.5, 1.5, 2.0), (1, 1, 0, 2.0, 3.0, -4.0)],
    ),
    "hyp2f1_derivative": (
        lambda i, j, m, k, *args: mp.diff(mp.hyp2f1, args, (i, j, m, k), h=mpf(10) ** -8),
        [(1, 0, 0, 0, 0.5, 1.5, 2.5, 0.4), (0, 1, 1, 0, 0.5, 1.5, 2.5, -2.0)],
    ),
    "zeta_derivative": (
        lambda n, s, q: mp.diff(lambda s: mp.zeta(s, q), s, n, h=mpf(10) ** -8),
        [(1, 2.0, 0.7), (2, 1.2, 3.0)],
    ),
    "fresnel_s": (mp.fresnels, numbers(-0.7, 0.0, 1.3)),
    "fresnel_c": (mp.fresnelc, numbers(-0.7, 0.0, 1.3)),
    "log1prel": (lambda x: mp.log(1 + x) / x, numbers(-0.9, 1e-9, 0.3, 20.0)),
    "erfcx_derivative": (
        lambda n, x: mp.diff(lambda x: mp.exp(x * x) * mp.erfc(x), x, n),
        [(1, -1.5), (1, 0.2), (2, 3.0), (3, 40.0)],
    ),
    "polygamma_step": (
        lambda n, a, b: mp.polygamma(n, a + b) - mp.polygamma(n, a),
        [(0, 1e6, 0.3), (0, 2.0, 5.0), (1, 3.0, -1.2), (2, 0.7, 0.7)],
    ),
    "poisson_log": (
        lambda k, m: k * mp.log(m) - m - mp.loggamma(k + 1),
        [(0.0, 2.0), (19.0, 30.0), (21.0, 15.0), (1e9, 1.00003e9)],
    ),
}


ORDERS_OF = {  # rows that are derivatives: how many of their first arguments are orders
    **{"erfcx_derivative": 1, "polygamma_step": 1, "gammainc_derivative": 1, "airy": 1},
    **{"betainc_derivative": 2, "hyp1f1_derivative": 3, "hyp2f1_derivative": 4},
    **{"zeta_derivative": 1, "kolmogorov_derivative": 1, "vonmises_moment": 1},
    **{"chndtr_derivative": 1, "ncx2_density_derivative": 1, "nct_df_moment": 1},
    **{"ncbeta_derivative": 2, "ncbeta_density_derivative": 2},
}
WITHOUT_SLOPE = {"nct_df_moment": {1}}
COMPLEX = {"wofz", "lambertw", "sph_harm_y"}  # whose values are complex: see below


def test_every_row_that_scipy_computes_is_tested():
    assert set(ROWS) <= set(REFERENCES) | set(POINTS) | COMPLEX


@pytest.mark.parametrize("name", POINTS)
def test_other_rows(name):
    function, points = POINTS[name]
    wrapping = WRAPPINGS[name]
    constant = {*range(ORDERS_OF.get(name, 0)), *WITHOUT_SLOPE.get(name, ())}
    for point in points:
        with mpmath.workdps(40):
            args = [x if isinstance(x, int) else mpf(x) for x in point]
            assert_close(wrapping(*point), function(*args), LOOSE.get(name, 1e-13), 1e-16)
            for i in set(range(len(point))) - constant:
                along_i = lambda x, args=args, i=i: function(*args[:i], x, *args[i + 1 :])
                expected = mp.diff(along_i, args[i], h=mpf(10) ** -10 * (abs(args[i]) or 1))
                reverse = ad.grad(wrapping, i)(*point)
                assert_close(reverse, expected, 1e-11, 1e-14)


@pytest.mark.parametrize("name", ROWS)
def test_row_says_what_it_is(name):
    row = ROWS[name]
    names = list("abcdefgh"[: row.arity])
    assert row.text.format(*names) == f"{name}({', '.join(names)})"
    assert row.latex.format(*names).count("{") == row.latex.format(*names).count("}")
    assert row.reason
    assert row.domain.text


# Arrays, kinds of numbers, edges. -----------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in REFERENCES if name != "zeta"])
def test_arrays_broadcast_and_agree_with_single_numbers(name):
    points = [point for point in REFERENCES[name][1] if all(abs(x) < 1e5 for x in point)]
    point = points[-1]
    i = variables(name, point)[-1]
    column, row = np.array([[1.0], [1.01]]), np.array([1.0, 0.99, 1.02])
    f = lambda x: getattr(sps, name)(*point[:i], x * row, *point[i + 1 :])
    x = point[i] * column
    single = along(name, point, i)
    each = np.array([[ad.grad(single)(a * b) for b in row] for a in x[:, 0]])
    reverse = ad.grad(lambda x: np.sum(f(x)))(x)
    np.testing.assert_allclose(reverse, np.sum(each * row, 1, keepdims=True), rtol=1e-12)
    value, forward = ad.jvp(f, (x,), (np.ones_like(x),))
    np.testing.assert_allclose(forward, each * row, rtol=1e-12)
    np.testing.assert_allclose(value, f(x), rtol=1e-13)


@pytest.mark.parametrize(
    "name",
    [name for name in REFERENCES if not name.startswith("bdtr")],  # SciPy deprecates their float32
)
def test_float32_is_kept(name):
    point = next(p for p in REFERENCES[name][1] if all(1e-30 < abs(x) < 1e4 for x in p if x))
    for i in variables(name, point):
        x = np.float32(point[i]) * np.ones(2, np.float32)
        given = [np.float32(y) if isinstance(y, float) else y for y in point]
        value, pullback = ad.vjp(along(name, given, i), x)
        assert value.dtype == along(name, given, i)(x).dtype  # of whole orders SciPy's is wider
        derivative = pullback(np.ones(2, value.dtype))[0]
        assert derivative.dtype == np.float32
        tangent = ad.jvp(along(name, given, i), (x,), (np.ones(2, np.float32),))[1]
        assert tangent.dtype == value.dtype
        expected = ad.grad(along(name, point, i))(float(x[0]))
        np.testing.assert_allclose(derivative, expected, rtol=3e-4, atol=1e-6)


@pytest.mark.parametrize("name", ["i0e", "i1e", "log_ndtr", "erfcx", "dawsn", "exprel", "rgamma"])
def test_arrays_near_and_far_agree_with_single_numbers(name):
    f = getattr(sps, name)
    x = np.array([-80.0, -20.0, -3.0, -0.5, 0.0, 0.5, 3.0, 20.0, 80.0])
    x = x[3:-1] if name == "erfcx" else x[1:] if name == "rgamma" else x
    second = ad.elementwise_grad(ad.elementwise_grad(f))
    single = [ad.derivative(f, n=2)(float(number)) for number in x]
    np.testing.assert_allclose(second(x), single, rtol=1e-11, atol=1e-300)


def test_orders_may_be_arrays():
    orders, x = np.arange(4.0)[:, None], np.array([0.3, 2.0])
    gradient = ad.grad(lambda x: np.sum(sps.jv(orders, x)))(x)
    np.testing.assert_allclose(gradient, sps.jvp(orders, x).sum(0), rtol=1e-13)
    n = np.arange(3)[:, None]
    gradient = ad.grad(lambda x: np.sum(sps.expn(n + 1, x)))(x)
    np.testing.assert_allclose(gradient, -sps.expn(n, x).sum(0), rtol=1e-13)


def test_edges():
    assert ad.grad(sps.rgamma)(-3.0) == pytest.approx(-6.0, rel=1e-14)  # (-1)ⁿ n! at -n
    assert ad.grad(sps.xlogy, (0, 1))(0.0, 0.0) == (0.0, 0.0)
    assert ad.grad(sps.xlogy)(0.0, 2.0) == math.log(2)
    assert ad.grad(sps.boxcox, 1)(2.0, 0.0) == pytest.approx(math.log(2) ** 2 / 2, rel=1e-14)
    assert ad.grad(sps.gammainc, 1)(1.0, 0.0) == 1.0
    assert ad.grad(sps.spence)(1.0) == -1.0
    assert ad.grad(lambda x: sps.jv(1, x))(0.0) == 0.5
    assert ad.grad(sps.i0e)(0.0) == 0.0
    assert ad.grad(sps.pseudo_huber, (0, 1))(0.0, 1.5) == (1.5, 0.0)  # as to the right
    assert ad.grad(sps.huber, 1)(1.0, 5.0) == 1.0
    assert ad.grad(sps.log_ndtr)(-1e8) == pytest.approx(1e8, rel=1e-15)
    with pytest.warns(ad.DomainWarning, match="log"):
        assert ad.grad(sps.entr)(0.0) == math.inf


def test_what_is_not_real_is_nan():
    assert math.isnan(sps.loggamma(ad.Node(-0.5)).value)
    assert sps.gammasgn(ad.Node(-0.5)) == -1.0
    s, c = sps.fresnel(ad.Node(0.4))
    assert (s.value, c.value) == sps.fresnel(0.4)


# Complex values. ----------------------------------------------------------------------------------


def assert_complex_close(number, expected):
    with mpmath.workdps(40):
        assert abs(mpmath.mpmathify(complex(number)) - expected) <= 1e-12 * (1 + abs(expected))


def faddeeva(z):
    return mp.exp(-z * z) * mp.erfc(-1j * z)


@pytest.mark.parametrize("z", [0.3, -2.0, 0.4 + 1.2j, 3.0 - 0.2j])
def test_faddeeva(z):
    with mpmath.workdps(40):
        first, second = (mp.diff(faddeeva, mpmath.mpmathify(z), n) for n in (1, 2))
    assert_complex_close(ad.jvp(sps.wofz, (z,), (1.0,))[1], first)
    slope = lambda z: ad.jvp(sps.wofz, (z,), (1.0,))[1]
    assert_complex_close(ad.jvp(slope, (z,), (1.0,))[1], second)
    if isinstance(z, float):
        assert ad.grad(lambda x: np.imag(sps.wofz(x)))(z) == pytest.approx(float(first.imag))


@pytest.mark.parametrize(("z", "k"), [(0.0, 0), (0.7, 0), (-0.3, -1), (2.0 + 1.0j, 0), (5.0, 2)])
def test_lambertw(z, k):
    with mpmath.workdps(40):
        first, second = (
            mp.diff(lambda z: mp.lambertw(z, k), mpmath.mpmathify(z), n) for n in (1, 2)
        )
    slope = lambda z: ad.jvp(lambda z: sps.lambertw(z, k), (z,), (1.0,))[1]
    assert_complex_close(slope(z), first)
    assert_complex_close(ad.jvp(slope, (z,), (1.0,))[1], second)
    if isinstance(z, float):
        assert ad.grad(lambda x: sps.lambertw(x, k).real)(z) == pytest.approx(float(mp.re(first)))
    assert ad.grad(lambda x: sps.lambertw(x).real)(math.e) == pytest.approx(1 / (2 * math.e))


@pytest.mark.parametrize(("n", "m"), [(0, 0), (1, 0), (2, 1), (3, -2), (3, 3), (4, -4)])
def test_spherical_harmonics(n, m):
    """The harmonics by mpmath; at the poles, where ladders of cotangents fail, too."""
    for theta, phi in [(0.7, 0.4), (2.0, -1.3), (0.0, 0.5)]:
        with mpmath.workdps(40):
            at = (mpf(theta) if theta else mpf(10) ** -18, mpf(phi))
            by_theta, by_phi = (
                mp.diff(lambda t, p: mp.spherharm(n, m, t, p), at, orders, h=mpf(10) ** -21)
                for orders in ((1, 0), (0, 1))
            )
        f = lambda t, p: sps.sph_harm_y(n, m, t, p)
        assert_complex_close(ad.jvp(f, (theta, phi), (1.0, 0.0))[1], by_theta)
        assert_complex_close(ad.jvp(f, (theta, phi), (0.0, 1.0))[1], by_phi)
        gradient = ad.grad(lambda *at, f=f: np.real(f(*at)), (0, 1))(theta, phi)
        assert gradient == pytest.approx([float(mp.re(by_theta)), float(mp.re(by_phi))], abs=1e-12)


def test_several_results():
    for name, x in (("sici", 0.7), ("shichi", 0.7), ("airy", -1.3)):
        results = getattr(sps, name)(ad.Node(x))
        assert tuple(r.value for r in results) == getattr(sps, name)(x)


# Where a derivative in a parameter is not computed. ----------------------------------------------


@pytest.mark.parametrize(
    ("f", "x", "message"),
    [
        (lambda a: sps.gammainc(a, 2.0), 1e-5, r"gammainc .* shapes from 0\.001 to 1e8"),
        (lambda a: sps.betainc(a, 2.0, 0.3), 1e9, r"betainc .* shapes from"),
        (lambda a: sps.hyp1f1(a, 2.0, 900.0), 1.5, r"hyp1f1 .* \|x\| ≤ 500"),
        (lambda a: sps.hyp1f1(a, 0.7, 25.0), -30.5, "terms that do not cancel"),
        (lambda a: sps.hyp2f1(a, 2.0, 3.0, 0.999), 1.5, r"hyp2f1 .* -19 ≤ x ≤ 0\.95"),
        (lambda s: sps.zeta(s, 2.0), 800.0, r"zeta .* 1 < s ≤ 500"),
        (lambda df: sps.stdtr(df, 0.4), 1e7, "degrees of freedom"),
    ],
)
def test_what_is_not_computed_is_refused(f, x, message):
    with pytest.raises(ad.DomainError, match=message):
        ad.grad(f)(x)
    with pytest.raises(ad.DomainError, match=r"node\.value"):
        ad.jvp(f, (x,), (1.0,))


def test_the_degrees_of_freedom_of_a_batch():
    slopes = ad.vmap(ad.grad(lambda df: sps.stdtr(df, 0.4)))(np.array([1.5, 7.0]))
    expected = [ad.grad(sps.stdtr)(df, 0.4) for df in (1.5, 7.0)]
    np.testing.assert_allclose(slopes, expected, rtol=1e-13)


def test_tails_of_large_shapes():
    """Far from the mean a density is small; its derivative has all its digits nevertheless."""
    for a, x in [(40.0, 4e-5), (1000.0, 700.0), (1e5, 1.01e5)]:
        with mpmath.workdps(60):
            f, sign = (lower_gamma, 1) if x < a else (upper_gamma, -1)
            along = lambda a, x=x, f=f, sign=sign: sign * f(a, mpf(x))
            expected = mp.diff(along, mpf(a), h=mpf(10) ** -15 * mpf(a))
        assert_close(ad.grad(sps.gammainc)(a, x), expected, 1e-11)


# Functions of whole arrays. -----------------------------------------------------------------------

X = np.array([[0.3, -1.2, 2.0], [700.0, 701.0, 699.5]])


@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 1)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_logsumexp(axis, keepdims):
    f = lambda x: sps.logsumexp(x, axis=axis, keepdims=keepdims)
    value, pullback = ad.vjp(f, X)
    np.testing.assert_array_equal(value, f(X))
    np.testing.assert_allclose(pullback(np.ones_like(value))[0], sps.softmax(X, axis), rtol=1e-13)


def test_logsumexp_with_weights_and_signs():
    b = np.array([1.0, -2.0, 0.5])
    f = lambda x, b: sps.logsumexp(x, b=b, axis=1, return_sign=True)
    value, sign = f(ad.Node(X), b)
    np.testing.assert_allclose(value.value, f(X, b)[0], rtol=1e-15)
    np.testing.assert_array_equal(sign, f(X, b)[1])
    weights = ad.grad(lambda b: np.sum(sps.logsumexp(X[:1], b=abs(b))))(b)
    share = np.exp(X[0]) / np.sum(np.exp(X[0]) * abs(b))
    np.testing.assert_allclose(weights, np.sign(b) * share, rtol=1e-14)


def test_logsumexp_of_one_number_and_of_broadcast_weights():
    assert ad.grad(lambda x: sps.logsumexp(x) * 2)(0.7) == 2.0
    b = np.array([[1.0], [2.0]])
    f = lambda x: sps.logsumexp(x, axis=-1, b=b)
    value, pullback = ad.vjp(f, X[0])
    np.testing.assert_allclose(value, f(X[0]), rtol=1e-15)
    np.testing.assert_allclose(pullback(np.ones(2))[0], 2 * sps.softmax(X[0]), rtol=1e-14)


def test_logsumexp_of_nothing_is_minus_infinity():
    with np.errstate(divide="ignore"):
        assert sps.logsumexp(ad.Node(np.array([-np.inf, -np.inf]))).value == -np.inf
    gradient = ad.grad(lambda x: sps.logsumexp(x))(np.array([-np.inf, 0.0, 1.0]))
    np.testing.assert_allclose(gradient, sps.softmax([-np.inf, 0.0, 1.0]), rtol=1e-15)


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_softmax(axis):
    share = sps.softmax(X, axis)
    value, pullback = ad.vjp(lambda x: sps.softmax(x, axis), X)
    np.testing.assert_allclose(value, share, rtol=1e-12)
    seed = np.arange(6.0).reshape(2, 3)
    expected = share * (seed - np.sum(share * seed, axis, keepdims=True))
    np.testing.assert_allclose(pullback(seed)[0], expected, rtol=1e-11, atol=1e-15)
    value, pullback = ad.vjp(lambda x: sps.log_softmax(x, axis), X)
    np.testing.assert_allclose(value, sps.log_softmax(X, axis), rtol=1e-13)
    expected = seed - share * np.sum(seed, axis, keepdims=True)
    np.testing.assert_allclose(pullback(seed)[0], expected, rtol=1e-11, atol=1e-13)


# Refusals. ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda x: sps.jv(x, 1.0), "v"),
        (lambda x: sps.kve(x, 1.0), "v"),
        (lambda x: sps.hyp0f1(x, 1.0), "v"),
        (lambda x: sps.hyperu(1.0, x, 0.5), "b"),
    ],
)
def test_an_argument_without_a_rule_is_named(call, argument):
    message = rf"in its argument {argument} has no closed form. Pass a plain number"
    with pytest.raises(ad.RuleError, match=message):
        ad.grad(call)(1.5)
    with pytest.raises(ad.RuleError, match=message):
        ad.jvp(call, (1.5,), (1.0,))
    assert ad.grad(lambda x: call(x.value) * x)(1.5) == call(1.5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: sps.polygamma(0.5, x), "order of polygamma of a node is one integer"),
        (lambda x: sps.comb(x, 2, exact=True), "no derivative"),
        (lambda x: sps.factorial(x, exact=True), "no derivative"),
        (lambda x: sps.pbdv(x, 0.2)[0], r"no derivative rule for scipy\.special\.pbdv"),
        (lambda x: sps.log_softmax(1j * x), "complex"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ad.RuleError, match=message):
        ad.grad(call)(2.0)


@pytest.mark.parametrize(
    ("f", "x", "needs"),
    [
        (sps.logit, 2.0, "0 < x < 1"),
        (sps.ndtri, 2.0, "0 < x < 1"),
        (sps.ellipk, 2.0, "m < 1"),
        (lambda x: sps.kv(2, x), -1.0, "x > 0"),
    ],
)
def test_a_float_outside_the_domain_is_told(f, x, needs):
    with pytest.warns(ad.DomainWarning, match=f"needs {needs}; it becomes nan"):
        assert math.isnan(ad.jvp(f, (x,), (1.0,))[0])
    with np.errstate(all="ignore"):
        assert np.isnan(ad.value_and_grad(f)(np.float64(x))[0])  # as of SciPy's own
