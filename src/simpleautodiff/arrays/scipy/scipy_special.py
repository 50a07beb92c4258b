"""The functions of scipy.special on nodes: its ufuncs, by name, and those written in Python."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from simpleautodiff.arrays.newton import order_of
from simpleautodiff.arrays.reductions import axes_of
from simpleautodiff.arrays.registry import SPECIAL_UFUNCS, Function, implements, implements_scipy
from simpleautodiff.core.level import to_plain
from simpleautodiff.errors import RuleError, cite_line
from simpleautodiff.rules.array.shapes import reshape, shape_of, sum_over
from simpleautodiff.rules.branches import where as where_row
from simpleautodiff.rules.scalar import (
    bessel,
    exponential as elementary,
    incomplete,
    information,
    probability,
    special,
)
from simpleautodiff.rules.scalar.arithmetic import power
from simpleautodiff.rules.scipy_values import scipy_special
from simpleautodiff.values.functions import is_complex


def _fix_order(row: Function, order: int) -> Function:
    return lambda x: row(order, x)


def _with_integer_order(row: Function) -> Function:
    """Return a function of an order, of which SciPy takes the integer part, and of x."""
    return lambda n, x: row(n if order_of(n) else np.trunc(to_plain(n)), x)


def _refuse_degree(name: str, *degrees: Any) -> None:
    """Refuse a derivative in a degree, which is a plain number."""
    if order_of(degrees):
        raise RuleError(
            f"scipy.special.{name} has no derivative in its degree or order: pass a plain number "
            f"(node.value is one){cite_line()}"
        )


def _binom(n: Any, k: Any) -> Any:
    """Return the binomial coefficient, continued to where Γ has poles."""
    inside = (to_plain(k) > -1) & (to_plain(k) < to_plain(n) + 1)
    row = probability.binom(where_row(inside, n, 1.0), where_row(inside, k, 0.0))
    pole = (to_plain(n) < 0) & (to_plain(n) == np.floor(to_plain(n)))
    edge = special.gamma(where_row(inside, 1.0, where_row(pole, math.nan, n + 1.0)))
    return where_row(
        inside, row, edge * probability.rgamma(k + 1.0) * probability.rgamma(n - k + 1.0)
    )


def _huber(delta: Any, r: Any) -> Any:
    size = abs(r)
    value = where_row(to_plain(size) <= to_plain(delta), 0.5 * r * r, delta * (size - 0.5 * delta))
    return where_row(to_plain(delta) < 0, math.inf, value)


def _pseudo_huber(delta: Any, r: Any) -> Any:
    """Return δ² (√(1 + (r/δ)²) - 1), in a form that does not cancel for small r.

    At δ = 0 it is 0, with the slope |r| to the right.
    """
    none = to_plain(delta) == 0
    value = r * r / (1 + np.hypot(1.0, r / where_row(none, 1.0, delta)))
    value = where_row(none, delta * abs(r) - delta * delta, value)
    return where_row(to_plain(delta) < 0, math.inf, value)


def _powm1(x: Any, y: Any) -> Any:
    """Return x^y - 1, without cancelling where x is positive."""
    positive = to_plain(x) > 0
    near = elementary.expm1(y * elementary.log(where_row(positive, x, 1.0)))
    return where_row(positive, near, power(where_row(positive, 1.0, x), y) - 1.0)


def _loggamma(x: Any) -> Any:
    """Return log Γ; for a negative number it is complex, so nan among real numbers."""
    return where_row(to_plain(x) < 0, math.nan, special.lgamma(x))


def _fdtri(m: Any, n: Any, p: Any) -> Any:
    """Return the quantile of the F distribution: that of the beta distribution over the rest."""
    share = incomplete.betaincinv(m / 2, n / 2, p)
    return n * share / (m * incomplete.betainccinv(n / 2, m / 2, p))


def _bdtr(k: Any, n: Any, p: Any) -> Any:
    """Return the probability of at most k successes of n."""
    count = np.floor(to_plain(k))
    below = count < to_plain(n)
    share = incomplete.betaincc(count + 1.0, where_row(below, n - count, 1.0), p)
    return where_row(below, share, 1.0)


def _nbdtr(k: Any, n: Any, p: Any) -> Any:
    """Return the probability of at most k failures before n successes."""
    return incomplete.betainc(n, np.floor(to_plain(k)) + 1.0, p)


def _fdtr(m: Any, n: Any, x: Any) -> Any:
    """Return the F distribution."""
    steep, low = _start_steeply(m, n, x)
    return incomplete.betainc(m / 2, n / 2, where_row(steep, low, m * x / (m * x + n)))


def _fdtrc(m: Any, n: Any, x: Any) -> Any:
    """Return 1 minus the F distribution."""
    steep, low = _start_steeply(m, n, x)
    return incomplete.betainc(n / 2, m / 2, where_row(steep, 1.0 - low, n / (m * x + n)))


def _start_steeply(m: Any, n: Any, x: Any) -> tuple[Any, Any]:
    """Tell where x is 0 and the F distribution steep; return the argument of its beta function.

    It does not depend on the degrees of freedom: the distribution is 0 there for all of them.
    """
    return (to_plain(x) == 0) & (to_plain(m) < 2), x * (to_plain(m) / to_plain(n))


def _truncate(x: Any) -> Any:
    """Return the integer part, which is what SciPy takes of a count; an integer has its slope."""
    whole = np.trunc(to_plain(x))
    return where_row(whole == to_plain(x), x, whole)


_ORTHOGONAL: dict[str, tuple[Function, Function]] = {  # by name: degree 1, and the recurrence
    "eval_legendre": (
        lambda x: x,
        lambda k, x, p, q: ((2 * k + 1) * x * p - k * q) / (k + 1),
    ),
    "eval_chebyt": (lambda x: x, lambda k, x, p, q: 2 * x * p - q),
    "eval_chebyu": (lambda x: 2 * x, lambda k, x, p, q: 2 * x * p - q),
    "eval_hermite": (lambda x: 2 * x, lambda k, x, p, q: 2 * x * p - 2 * k * q),
    "eval_hermitenorm": (lambda x: x, lambda k, x, p, q: x * p - k * q),
    "eval_laguerre": (
        lambda x: 1 - x,
        lambda k, x, p, q: ((2 * k + 1 - x) * p - k * q) / (k + 1),
    ),
}


def _make_orthogonal(name: str) -> Function:
    """Return an orthogonal polynomial of a plain degree, by its recurrence."""
    first, following = _ORTHOGONAL[name]

    def evaluate(n: Any, x: Any) -> Any:
        _refuse_degree(name, n)
        degree = to_plain(n)
        if np.ndim(degree) or degree != int(degree) or degree < 0:
            raise RuleError(
                f"scipy.special.{name} of a node takes one degree, 0, 1, 2, ...; it got {degree!r}"
                f"{cite_line()}"
            )
        before, now = 0 * x + 1.0, first(x)
        for k in range(1, int(degree)):
            before, now = now, following(k, x, now, before)
        return now if degree else before

    return evaluate


_IMPLEMENTATIONS: dict[str, Function] = {
    "erf": special.erf,
    "erfc": special.erfc,
    "gamma": special.gamma,
    "gammaln": special.lgamma,
    "loggamma": _loggamma,
    "gammasgn": lambda x: scipy_special("gammasgn")(to_plain(x)),
    "psi": special.digamma,
    "digamma": special.digamma,
    "expit": elementary.sigmoid,
    "exp2": elementary.exp2,
    "expm1": elementary.expm1,
    "log1p": elementary.log1p,
    "cbrt": elementary.cbrt,
    "exp10": lambda x: 10.0**x,
    "log_expit": lambda x: -elementary.softplus(-x),
    "softplus": elementary.softplus,
    "ndtr": lambda x: special.erfc(-x / math.sqrt(2)) / 2,
    "binom": _binom,
    "huber": _huber,
    "pseudo_huber": _pseudo_huber,
    "fresnel": lambda x: (bessel.fresnel_s(x), bessel.fresnel_c(x)),
    "k0e": _fix_order(bessel.kve, 0),
    "k1e": _fix_order(bessel.kve, 1),
    "i0e": _fix_order(bessel.ive, 0),
    "i1e": _fix_order(bessel.ive, 1),
    "yn": _with_integer_order(bessel.yv),
    "kn": _with_integer_order(bessel.kv),
    "expn": _with_integer_order(bessel.expn),
    "chdtr": lambda v, x: incomplete.gammainc(v / 2, x / 2),
    "chdtrc": lambda v, x: incomplete.gammaincc(v / 2, x / 2),
    "gdtr": lambda a, b, x: incomplete.gammainc(b, a * x),
    "gdtrc": lambda a, b, x: incomplete.gammaincc(b, a * x),
    "pdtr": lambda k, m: incomplete.gammaincc(np.floor(to_plain(k)) + 1.0, m),
    "pdtrc": lambda k, m: incomplete.gammainc(np.floor(to_plain(k)) + 1.0, m),
    "chdtri": lambda v, p: 2 * incomplete.gammainccinv(v / 2, p),
    "gdtrix": lambda a, b, p: incomplete.gammaincinv(b, p) / a,
    "pdtri": lambda k, p: incomplete.gammainccinv(_truncate(k) + 1.0, p),
    "fdtr": _fdtr,
    "fdtrc": _fdtrc,
    "fdtri": _fdtri,
    "bdtr": lambda k, n, p: _bdtr(k, _truncate(n), p),
    "bdtrc": lambda k, n, p: 1.0 - _bdtr(k, _truncate(n), p),
    "_binom_cdf": _bdtr,
    "_binom_sf": lambda k, n, p: 1.0 - _bdtr(k, n, p),
    "nbdtr": lambda k, n, p: _nbdtr(_truncate(k), _truncate(n), p),
    "nbdtrc": lambda k, n, p: 1.0 - _nbdtr(_truncate(k), _truncate(n), p),
    "_nbinom_cdf": _nbdtr,
    "_nbinom_sf": lambda k, n, p: 1.0 - _nbdtr(k, n, p),
    "_beta_ppf": lambda p, a, b: incomplete.betaincinv(a, b, p),
    "_cauchy_ppf": lambda q, loc, scale: loc - scale / np.tan(math.pi * q),
    "_cauchy_isf": lambda q, loc, scale: loc + scale / np.tan(math.pi * q),
    "powm1": _powm1,
    "sici": lambda x: (bessel.sici_s(x), bessel.sici_c(x)),
    "shichi": lambda x: (bessel.shichi_s(x), bessel.shichi_c(x)),
    "airy": lambda x: tuple(bessel.airy(k, x) for k in range(4)),
    "_lambertw": lambda x, k, tolerance: bessel.lambertw(x, to_plain(k)),
    **{
        f"{letter}{n}": _fix_order(getattr(bessel, f"{letter}v"), n)
        for letter in "jyik"
        for n in (0, 1)
    },
    **{
        name: getattr(module, name)
        for module, names in (
            (bessel, "jv yv iv kv ive kve hyp0f1 hyp1f1 hyp2f1 hyperu ellipk ellipe exprel spence"),
            (bessel, "dawsn expi exp1"),
            (information, "logit xlogy xlog1py entr rel_entr kl_div boxcox boxcox1p inv_boxcox"),
            (information, "inv_boxcox1p sindg cosdg tandg cosm1"),
            (bessel, "wofz"),
            (probability, "erfinv erfcinv ndtri ndtri_exp owens_t erfcx log_ndtr rgamma betaln"),
            (probability, "beta poch"),
            (incomplete, "gammainc gammaincc gammaincinv gammainccinv betainc betaincc betaincinv"),
            (incomplete, "betainccinv stdtr stdtrit"),
        )
        for name in names.split()
    },
    **{name: _make_orthogonal(name) for name in _ORTHOGONAL},
    "_zeta": bessel.zeta,  # called by scipy.special.zeta
}
SPECIAL_UFUNCS.update(_IMPLEMENTATIONS)


@implements(np.i0)
def i0(x: Any) -> Any:
    """Return the modified Bessel function of order 0."""
    return bessel.iv(0, x)


# Functions written in Python, which convert their arguments. --------------------------------------


@implements_scipy("special.polygamma")
def polygamma(n: Any, x: Any) -> Any:
    """Return the n-th derivative of digamma."""
    _refuse_degree("polygamma", n)
    order = to_plain(n)
    if np.ndim(order) or order != int(order):
        raise RuleError(f"the order of polygamma of a node is one integer, not {order!r}")
    return special.digamma(x) if order == 0 else special.polygamma(int(order), x)


@implements_scipy("special.diric")
def diric(x: Any, n: Any) -> Any:
    """Return sin(nx/2)/(n sin(x/2)), with the distance r from the nearest multiple of 2π as x."""
    _refuse_degree("diric", n)
    count = to_plain(n)
    turns = np.round(to_plain(x) / (2 * math.pi))
    r = (x - 2 * math.pi * turns) / (2 * math.pi)
    known = (count > 0) & (count == np.floor(count))
    odd = np.where(known, turns * (count - 1) % 2 == 1, False)
    ratio = special.sinc(count * r) / special.sinc(r)
    return where_row(known, np.where(odd, -1.0, 1.0) * ratio, math.nan)


@implements_scipy("special.zeta")
def zeta(x: Any, q: Any = None) -> Any:
    """Return the Hurwitz zeta function, Σ (q + k)⁻ˣ."""
    return bessel.zeta(x, 1.0 if q is None else q)


@implements_scipy("special.lambertw")
def lambertw(z: Any, k: Any = 0, tol: float = 1e-8) -> Any:
    """Return a branch of Lambert's function."""
    return bessel.lambertw(z, to_plain(k))


@implements_scipy("special.sph_harm_y")
def sph_harm_y(n: Any, m: Any, theta: Any, phi: Any, *, diff_n: int = 0) -> Any:
    """Return a spherical harmonic."""
    _refuse_degree("sph_harm_y", n, m)
    if diff_n or np.ndim(to_plain(n)) or np.ndim(to_plain(m)):
        raise RuleError(
            "scipy.special.sph_harm_y of a node takes one degree and one order, and diff_n=0; "
            "grad and jacobian give its derivatives"
        )
    return bessel.sph_harm_y(int(to_plain(n)), int(to_plain(m)), theta, phi)


@implements_scipy("special.multigammaln")
def multigammaln(a: Any, d: int) -> Any:
    """Return the logarithm of the multivariate gamma function."""
    total: Any = d * (d - 1) / 4 * math.log(math.pi)
    for j in range(d):
        total = special.lgamma(a - j / 2) + total
    return total


@implements_scipy("special.comb")
def comb(N: Any, k: Any, *, exact: bool = False, repetition: bool = False) -> Any:
    """Return the number of combinations of k out of N, for real numbers too."""
    if exact:
        raise RuleError("comb(..., exact=True) counts integers; it has no derivative")
    if repetition:
        return comb(N + k - 1, k)
    outside = (to_plain(k) > to_plain(N)) | (to_plain(N) < 0) | (to_plain(k) < 0)
    return where_row(outside, 0.0, _binom(N, k))


@implements_scipy("special.factorial")
def factorial(n: Any, exact: bool = False) -> Any:
    """Return Γ(n + 1), and 0 for negative numbers."""
    if exact:
        raise RuleError("factorial(..., exact=True) counts integers; it has no derivative")
    negative = to_plain(n) < 0
    return where_row(negative, 0.0, special.gamma(where_row(negative, 0.0, n) + 1))


@implements_scipy("special.logsumexp")
def logsumexp(
    a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False
) -> Any:
    """Return the logarithm of the sum of exponentials, with weights b."""
    largest = np.max(np.real(to_plain(a)), axis=axis, keepdims=True)
    largest = np.where(np.isfinite(largest), largest, 0).astype(largest.dtype)
    terms = np.exp(a - largest)
    total = sum_over(terms if b is None else b * terms, axis, True)
    result = np.log(abs(total) if return_sign else total) + largest
    sign = total / abs(total) if is_complex(to_plain(total)) else np.sign(to_plain(total))
    if not keepdims:
        axes = axes_of(result, axis)
        new = tuple(n for i, n in enumerate(shape_of(result)) if i not in axes)
        single = bool(axes) and not new  # SciPy returns a scalar here, not an array of one element
        result = result[(0,) * len(axes)] if single else reshape(result, new)
        sign = np.reshape(sign, new)[()]
    return (result, sign) if return_sign else result


@implements_scipy("special.softmax")
def softmax(x: Any, axis: Any = None) -> Any:
    """Return exponentials divided by their sum."""
    return np.exp(log_softmax(x, axis))


@implements_scipy("special.log_softmax")
def log_softmax(x: Any, axis: Any = None) -> Any:
    """Return the logarithms of exponentials divided by their sum."""
    return x - logsumexp(x, axis, keepdims=True)
