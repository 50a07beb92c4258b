"""Intervals of mpmath, and our own, for every row: they enclose, or say that they cannot."""

import itertools
import random

import mpmath
import numpy as np
import pytest

import simpleautodiff as ad
from simpleautodiff.core.level import wrap
from simpleautodiff.rules import TABLE

ELEMENTWISE = sorted(name for name, row in TABLE.items() if not row.arrays)
REFUSED = (  # there is no enclosure of these, or of their slopes
    *("airy", "betainc", "betaincc", "betainccinv", "betaincinv", "binom", "boxcox", "boxcox1p"),
    *("dawsn", "ellipe", "ellipk", "erfcinv", "erfcx", "exprel", "floor_divide", "fresnel_c"),
    *("erfcx_derivative", "fresnel_s", "gammainc", "gammaincc", "gammainccinv", "gammaincinv"),
    *("hyp0f1", "hyp1f1", "hyp2f1", "hyperu", "inv_boxcox", "inv_boxcox1p", "iv", "ive", "jv"),
    *("kv", "kve", "lambertw", "limited_df", "log1prel", "log_ndtr", "mod", "ndtri_exp"),
    *("owens_t", "poch", "poisson_log", "round", "shichi_c", "shichi_s", "sici_c", "sici_s"),
    *("spence", "sph_harm_y", "stdtr", "stdtrit", "wofz", "yv", "zeta"),
    *("betainc_derivative", "expn", "gammainc_derivative", "hyp1f1_derivative"),
    *(
        "hyp2f1_derivative",
        "zeta_derivative",
        "chndtr",
        "ncfdtr",
        "nctdtr",
        "tklmbda",
        "kolmogorov",
    ),
    *("ncx2_density", "ncf_density", "nct_density", "kolmogorov_derivative"),
    *("chndtr_derivative", "ncx2_density_derivative", "ncbeta_derivative", "nct_df_moment"),
    *("ncbeta_density_derivative", "vonmises_cdf", "vonmises_moment"),
)
POSITIVE = (
    *("beta", "betaln", "digamma", "expi", "gamma", "lgamma", "polygamma"),
    "polygamma_step",
    "rgamma",
)
INTEGERS = {"polygamma": (0,), "polygamma_step": (0,), "sinc_derivative": (0,)}
KINDS = {
    "mpmath": (lambda lo, hi: mpmath.iv.mpf([lo, hi]), lambda x: (x.a, x.b)),
    "own": (ad.Interval, lambda x: (x.lo, x.hi)),
}
every_kind = pytest.mark.parametrize(("make", "ends"), KINDS.values(), ids=KINDS)


def points(row, f):
    """Give points at which a row has a value, with some distance between its arguments."""
    tried = (0.3, 1.4, 2.7) if row.name in POSITIVE else (0.3, 1.4, -0.6, 2.7)
    for numbers in itertools.permutations(tried, row.arity):
        point = [1 if i in INTEGERS.get(row.name, ()) else x for i, x in enumerate(numbers)]
        point = [i in row.settings or x for i, x in enumerate(point)]
        with np.errstate(all="ignore"):
            try:
                value = f(*point)
            except (ad.AutodiffError, TypeError, ValueError):
                continue
        if isinstance(value, (int, float)) and np.isfinite(value):
            yield point


def contains(interval, number, ends):
    if isinstance(interval, (int, float)):  # a derivative that is the same everywhere
        return interval == number
    lo, hi = (float(end) for end in ends(interval))
    room = 2e-14 * (1 + abs(number))  # of the floats that are compared with
    return lo - room <= number <= hi + room


@every_kind
@pytest.mark.filterwarnings("ignore::simpleautodiff.DomainWarning")
@pytest.mark.parametrize("name", [name for name in ELEMENTWISE if name not in REFUSED])
def test_rows_enclose(name, make, ends):
    row, generator = TABLE[name], random.Random(name)
    f = wrap(row)
    moved = [i for i in range(row.arity) if i not in (*row.settings, *INTEGERS.get(name, ()))]
    tried = 0
    for point in itertools.islice(points(row, f), 3):
        box = [make(x, x + 0.05) if i in moved else x for i, x in enumerate(point)]
        value = f(*box)
        for _ in range(4):
            t = generator.random() * 0.05
            inside = [x + t if i in moved else x for i, x in enumerate(point)]
            assert contains(value, f(*inside), ends)
            for k in moved:
                assert contains(ad.grad(f, k)(*box), ad.grad(f, k)(*inside), ends), (k, inside)
            tried += 1
    assert tried > 0


@every_kind
@pytest.mark.filterwarnings("ignore::simpleautodiff.DomainWarning")
@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_enclosure_is_refused(name, make, ends):
    f, arity = wrap(TABLE[name]), TABLE[name].arity
    for k in range(arity):
        with pytest.raises(ad.AutodiffError):
            ad.grad(f, k)(*[make(1.2 + 0.1 * i, 1.25 + 0.1 * i) for i in range(arity)])


@every_kind
@pytest.mark.parametrize(
    "f",
    [
        abs,
        ad.relu,
        ad.sign,
        lambda x: x if x > 0 else -x,
        lambda x: ad.maximum(x, 0.5),
        lambda x: ad.clip(x, 0.0, 2.0),
        lambda x: ad.where(x > 0, x, 2 * x),
        lambda x: 2.0 if x == 0.5 else x,
        lambda x: ad.floor(x) * x,
    ],
)
def test_undecided_branches_are_refused(f, make, ends):
    with pytest.raises(ad.DomainError):
        ad.grad(f)(make(-1.0, 1.0))


@every_kind
def test_outside_of_the_domain(make, ends):
    for f in (ad.log, ad.sqrt, ad.asin, ad.acosh, ad.lgamma, ad.digamma):
        with pytest.raises(ad.DomainError):
            f(make(-2.0, 0.5))


def test_mpmaths_precision_is_used():
    before = mpmath.iv.dps
    try:
        mpmath.iv.dps = 40
        third = mpmath.iv.mpf(1) / 3
        with mpmath.workdps(60):
            for f, exact in ((ad.asin, mpmath.asin), (ad.erf, mpmath.erf), (ad.cbrt, mpmath.cbrt)):
                value = f(third)
                assert value.a < exact(mpmath.mpf(1) / 3) < value.b
                assert value.delta < mpmath.mpf("1e-37")
    finally:
        mpmath.iv.dps = before


def test_sinc_is_enclosed_around_0():
    box = mpmath.iv.mpf([-0.01, 0.02])
    slope = ad.grad(ad.sinc)(box)
    for x in np.linspace(-0.01, 0.02, 7):
        assert contains(ad.sinc(box), float(np.sinc(x)), KINDS["mpmath"][1])
        assert contains(slope, float(mpmath.diff(mpmath.sincpi, x)), KINDS["mpmath"][1])
    assert slope.delta < 0.2
