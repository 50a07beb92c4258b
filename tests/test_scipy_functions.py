"""Functions of SciPy on nodes: values as SciPy's, derivatives as mpmath's, in every way to call."""

import mpmath
import pytest
import scipy.special as sps
from mpmath import mp, mpf

import simpleautodiff as ad

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


def both(f, *points):
    return f, points


def numbers(*xs):
    return tuple((x,) for x in xs)


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
    "hyp1f1": (mp.hyp1f1, [(0.5, 1.5, 2.0), (2.0, 3.0, -30.0), (1.2, 0.7, 0.1)]),
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
        lambda a, x: mp.gammainc(a, 0, x, regularized=True),
        [(0.5, 0.2), (3.0, 2.0), (1.0, 5.0), (40.0, 30.0), (1e6, 1.001e6)],
    ),
    "gammaincc": (
        lambda a, x: mp.gammainc(a, x, mp.inf, regularized=True),
        [(0.5, 0.2), (3.0, 2.0), (1.0, 5.0), (40.0, 70.0)],
    ),
    "betainc": (
        lambda a, b, x: mp.betainc(a, b, 0, x, regularized=True),
        [(0.5, 0.7, 0.2), (3.0, 2.0, 1e-5), (1.0, 5.0, 0.4), (40.0, 30.0, 0.7)],
    ),
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
    "zeta": (mp.zeta, [(2.0, 0.5), (3.5, 4.0)]),
    "comb": (mp.binomial, [(5.0, 2.0), (7.3, 2.2), (1e6, 2.0)]),
    "factorial": (mp.factorial, numbers(0.0, 0.5, 3.0, 20.0)),
}
CONSTANT = {  # the positions of orders and shapes, in which there is no derivative
    **dict.fromkeys(["jv", "yv", "yn", "iv", "kv", "kn", "ive", "kve", "expn", "zeta"], (0,)),
    **dict.fromkeys(["gammainc", "gammaincc", "chdtr", "pdtr", "hyp0f1", "polygamma"], (0,)),
    **dict.fromkeys(["betainc", "betaincc", "hyp1f1", "hyperu"], (0, 1)),
    **{"gdtr": (1,), "hyp2f1": (0, 1, 2), "multigammaln": (1,)},
}
LOOSE = {"hyperu": 1e-8, "hyp2f1": 1e-9}
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
