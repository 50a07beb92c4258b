"""Every step whose derivative is a choice is told, and no other: functions and points."""

import itertools
import math

import numpy as np
import pytest
import scipy.linalg
import scipy.special as sp
import scipy.stats
from numpy.linalg import (
    cond,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    matrix_norm,
    norm,
    pinv,
    svd,
    vector_norm,
)

import simpleautodiff as ad
from simpleautodiff.core.level import apply
from simpleautodiff.rules.row import TABLE
from simpleautodiff.transforms.kinks import is_at_kink

A = np.array
NAN = np.nan
TABULATED = (A([0.0, 1.0, 2.0]), A([0.0, 1.0, 5.0]))
TURN = A([[0.6, 0.8], [-0.8, 0.6]])
BESIDE = A([[1.0, 2.0], [-3.0, 4.5]])


def of_two(f):
    return lambda x: f(x[0], x[1])


# name: function, a point at a kink, a point beside it
AT_KINKS = {
    # signs and steps
    "abs": (np.abs, A([0.0, 1.0]), A([-1e-9, 1.0])),
    "abs of a complex number": (lambda x: np.abs(x * (1 + 2j)), A([0.0]), A([0.1])),
    "fabs": (np.fabs, A([0.0]), A([0.1])),
    "sign": (np.sign, A([0.0]), A([0.1])),
    "copysign": (lambda x: np.copysign(x, 2.0), A([0.0]), A([0.1])),
    "copysign in the sign": (lambda y: np.copysign(2.0, y), A([0.0]), A([0.1])),
    "heaviside": (lambda x: np.heaviside(x, 0.5), A([0.0, 5.0]), A([0.1, 5.0])),
    "relu": (ad.relu, A([0.0]), A([0.1])),
    "floor": (np.floor, A([1.0]), A([1.1])),
    "ceil": (np.ceil, A([1.0]), A([1.1])),
    "trunc": (np.trunc, A([-1.0]), A([0.0])),
    "fix": (np.fix, A([1.0]), A([0.0])),
    "rint": (np.rint, A([1.5]), A([2.0])),
    "np.round": (np.round, A([2.5]), A([2.4])),
    "np.round to decimals": (lambda x: np.round(x, 1), A([1.25]), A([1.26])),
    "round": (lambda x: round(x), 1.5, 1.0),
    "round to digits": (lambda x: round(x, 1), 1.25, 1.26),
    "//": (lambda x: x // 2.0, A([4.0]), A([4.1])),
    "mod": (lambda x: x % 2.0, A([4.0]), A([4.1])),
    "remainder": (lambda x: np.remainder(x, 2.0), A([4.0]), A([4.1])),
    "fmod": (lambda x: np.fmod(x, 2.0), A([4.0]), A([4.1])),
    "divmod": (lambda x: np.divmod(x, 2.0)[1], A([4.0]), A([4.1])),
    "modf": (lambda x: np.modf(x)[0], A([4.0]), A([4.1])),
    "frexp": (lambda x: np.frexp(x)[0], A([-4.0]), A([-4.1])),
    "unwrap": (np.unwrap, A([0.0, np.pi, 0.1]), A([0.0, 3.0, 0.1])),
    # the larger and the smaller
    "maximum": (of_two(np.maximum), A([2.0, 2.0]), A([2.0, 2.1])),
    "minimum": (of_two(np.minimum), A([2.0, 2.0]), A([2.0, 2.1])),
    "fmax": (of_two(np.fmax), A([2.0, 2.0]), A([2.0, NAN])),
    "fmin": (of_two(np.fmin), A([2.0, 2.0]), A([2.0, NAN])),
    "max": (np.max, A([1.0, 2.0, 2.0]), A([1.0, 1.0, 2.0])),
    "max along an axis": (lambda x: np.max(x, 1), A([[1.0, 2.0], [3.0, 3.0]]), np.eye(2)),
    "min": (np.min, A([1.0, 1.0, 2.0]), A([1.0, 2.0, 2.0])),
    "amax": (np.amax, A([2.0, 2.0]), A([2.0, 3.0])),
    "max with initial": (lambda x: np.max(x, initial=2.0), A([1.0, 2.0]), A([1.0, 3.0])),
    "nanmax": (np.nanmax, A([2.0, 2.0, NAN]), A([1.0, 2.0, NAN])),
    "nanmin": (np.nanmin, A([2.0, 2.0, NAN]), A([1.0, 2.0, NAN])),
    "ptp": (np.ptp, A([1.0, 1.0, 2.0]), A([1.0, 1.5, 1.5001, 2.0])),
    "maximum.reduce": (np.maximum.reduce, A([2.0, 2.0, 1.0]), A([2.0, 1.0, 1.0])),
    "fmin.reduce": (np.fmin.reduce, A([1.0, 1.0, 2.0]), A([1.0, 2.0, 2.0])),
    "maximum.accumulate": (np.maximum.accumulate, A([1.0, 3.0, 3.0]), A([1.0, 3.0, 2.0])),
    "minimum.accumulate": (np.minimum.accumulate, A([3.0, 3.0]), A([3.0, 4.0])),
    "clip": (lambda x: np.clip(x, 0, 1), A([0.0, 0.5]), A([-0.1, 0.5])),
    "clip above": (lambda x: np.clip(x, None, 1), A([1.0]), A([0.9])),
    # order
    "sort": (np.sort, A([1.0, 2.0, 1.0]), A([1.0, 2.0, 1.1])),
    "sort along an axis": (lambda x: np.sort(x, 0), A([[1.0], [1.0]]), A([[1.0, 1.0], [2.0, 2.0]])),
    "sort of all": (lambda x: np.sort(x, None), A([[1.0], [1.0]]), BESIDE),
    "partition": (lambda x: np.partition(x, 1), A([1.0, 2.0, 1.0]), A([1.0, 2.0, 1.1])),
    "median": (np.median, A([1.0, 1.0, 5.0]), A([1.0, 1.0, 3.0, 7.0, 7.0])),
    "median along an axis": (lambda x: np.median(x, 1), A([[1.0, 2.0], [2.0, 2.0]]), BESIDE),
    "nanmedian": (np.nanmedian, A([1.0, NAN, 1.0, 5.0]), A([1.0, NAN, 1.1, 5.0])),
    "quantile": (lambda x: np.quantile(x, 0.3), A([1.0, 1.0, 5.0]), A([1.0, 2.0, 5.0])),
    "quantiles": (lambda x: np.quantile(x, [0.5, 1]), A([1.0, 5.0, 5.0]), A([1.0, 4.0, 5.0])),
    "percentile": (lambda x: np.percentile(x, 75), A([1.0, 5.0, 5.0]), A([1.0, 4.0, 5.0])),
    "nanquantile": (lambda x: np.nanquantile(x, 0.3), A([1.0, 1.0, NAN]), A([1.0, 2.0, NAN])),
    "nanpercentile": (lambda x: np.nanpercentile(x, 30), A([1.0, 1.0, NAN]), A([1.0, 2.0, NAN])),
    "interp": (lambda x: np.interp(x, *TABULATED), A([1.0]), A([1.5])),
    "interp at the ends": (lambda x: np.interp(x, *TABULATED), A([2.0]), A([2.5])),
    "interp at the first point": (lambda x: np.interp(x, *TABULATED), A([0.0]), A([-0.5])),
    # infinite slopes
    "sqrt": (np.sqrt, A([0.0]), A([0.1])),
    "cbrt": (np.cbrt, A([0.0]), A([0.1])),
    "x**0.5": (lambda x: x**0.5, A([0.0]), A([0.1])),
    "float_power": (lambda x: np.float_power(x, 0.5), A([0.0]), A([0.1])),
    "0**y": (lambda y: 0.0**y, A([0.0]), A([1.0])),
    "arcsin": (np.arcsin, A([1.0]), A([0.9])),
    "arccos": (np.arccos, A([-1.0]), A([0.9])),
    "arccosh": (np.arccosh, A([1.0]), A([1.1])),
    # the origin
    "hypot": (of_two(np.hypot), A([0.0, 0.0]), A([0.0, 1.0])),
    "arctan2": (of_two(np.arctan2), A([0.0, 0.0]), A([0.0, 1.0])),
    "arctan2 behind": (of_two(np.arctan2), A([0.0, -1.0]), A([0.1, -1.0])),
    "angle": (lambda x: np.angle(x * (1 + 0j)), A([-1.0]), A([1.0])),
    "std": (np.std, A([1.0, 1.0]), A([1.0, 2.0])),
    "nanstd": (np.nanstd, A([1.0, NAN, 1.0]), A([1.0, NAN, 2.0])),
    "norm": (norm, A([0.0, 0.0]), A([0.0, 1.0])),
    "norm, 1": (lambda x: norm(x, 1), A([1.0, 0.0]), A([1.0, 1.0])),
    "norm, 2": (lambda x: norm(x, 2), A([0.0, 0.0]), A([0.0, 1.0])),
    "norm, 3": (lambda x: norm(x, 3), A([0.0, 0.0]), A([2.0, 1.0])),
    "norm, inf": (lambda x: norm(x, np.inf), A([1.0, -1.0]), A([1.0, -2.0])),
    "norm, -inf": (lambda x: norm(x, -np.inf), A([1.0, -1.0]), A([1.0, -2.0])),
    "vector_norm": (vector_norm, A([0.0, 0.0]), A([0.0, 1.0])),
    # matrices
    "matrix_norm": (matrix_norm, np.zeros((2, 2)), np.eye(2)),
    "norm, fro": (lambda x: norm(x, "fro"), np.zeros((2, 2)), np.eye(2)),
    "norm, nuc": (lambda x: norm(x, "nuc"), A([[1.0, 2.0], [2.0, 4.0]]), BESIDE),
    "matrix norm, 1": (lambda x: norm(x, 1), A([[1.0, 2.0], [2.0, 1.0]]), BESIDE),
    "matrix norm, -1": (lambda x: norm(x, -1), A([[1.0, 2.0], [2.0, 1.0]]), BESIDE),
    "matrix norm, inf": (lambda x: norm(x, np.inf), A([[1.0, 2.0], [2.0, 1.0]]), BESIDE),
    "matrix norm, -inf": (lambda x: norm(x, -np.inf), A([[1.0, 2.0], [2.0, 1.0]]), BESIDE),
    "matrix norm, 2": (lambda x: norm(x, 2), TURN, BESIDE),
    "matrix norm, -2": (lambda x: norm(x, -2), TURN, BESIDE),
    "cond": (cond, TURN, BESIDE),
    "eigvalsh": (eigvalsh, np.eye(2), BESIDE),
    "eigvalsh, equal to rounding": (lambda x: eigvalsh(x), 0.1 * TURN @ TURN.T, BESIDE),
    "eigh": (lambda x: eigh(x)[1], 3 * np.eye(3), BESIDE),
    "eig": (lambda x: eig(x)[1], np.diag([1.0, 2.0, 1.0]), BESIDE),
    "eigvals": (eigvals, np.eye(2), BESIDE),
    "svd": (lambda x: svd(x)[0], TURN, BESIDE),
    "singular values": (lambda x: svd(x, compute_uv=False), np.diag([1.0, 0.0]), BESIDE),
    "pinv": (pinv, A([[1.0, 2.0], [2.0, 4.0]]), BESIDE),
    "sqrtm": (lambda x: scipy.linalg.sqrtm(x), np.diag([1.0, 0.0]), np.diag([1.0, 2.0])),
    # scipy.stats
    "uniform": (lambda x: scipy.stats.uniform.pdf(x), A([0.0, 0.5]), A([-0.1, 0.5])),
    "uniform above": (lambda x: scipy.stats.uniform.pdf(x, 1.0, 2.0), A([3.0]), A([2.9])),
    "expon": (lambda x: scipy.stats.expon.cdf(x), A([0.0]), A([0.1])),
    "laplace": (lambda x: scipy.stats.laplace.logpdf(x, 1.0), A([1.0]), A([1.1])),
    # scipy.special
    "i0e": (sp.i0e, A([0.0]), A([0.1])),
    "jv": (lambda x: sp.jv(0.5, x), A([0.0]), A([0.1])),
    "iv": (lambda x: sp.iv(0.5, x), A([0.0]), A([0.1])),
    "ellipe": (sp.ellipe, A([1.0]), A([0.9])),
    "spence": (sp.spence, A([0.0]), A([0.1])),
    "expn": (lambda x: sp.expn(2, x), A([0.0]), A([0.1])),
    "entr": (sp.entr, A([0.0]), A([0.1])),
    "rel_entr": (lambda x: sp.rel_entr(x, 1.0), A([0.0]), A([0.1])),
    "kl_div": (lambda x: sp.kl_div(x, 1.0), A([0.0]), A([0.1])),
    "xlogy": (lambda x: sp.xlogy(x, 0.0), A([0.0]), None),
    "xlog1py": (lambda x: sp.xlog1py(x, -1.0), A([0.0]), None),
    "boxcox": (lambda x: sp.boxcox(x, 0.5), A([0.0]), A([0.1])),
    "boxcox1p": (lambda x: sp.boxcox1p(x, 0.5), A([-1.0]), A([0.0])),
    "gammainc": (lambda x: sp.gammainc(0.5, x), A([0.0]), A([0.1])),
    "gammaincc": (lambda x: sp.gammaincc(0.5, x), A([0.0]), A([0.1])),
    "betainc": (lambda x: sp.betainc(0.5, 2.0, x), A([0.0]), A([0.1])),
    "betaincc": (lambda x: sp.betaincc(2.0, 0.5, x), A([1.0]), A([0.9])),
}  # fmt: skip

SMOOTH = {
    "sinc": (np.sinc, A([0.0])),
    "norm.pdf": (lambda x: scipy.stats.norm.pdf(x), A([0.0])),
    "logaddexp": (of_two(np.logaddexp), A([1.0, 1.0])),
    "logaddexp2": (of_two(np.logaddexp2), A([1.0, 1.0])),
    "x**2": (lambda x: x**2.0, A([0.0])),
    "x**1.0": (lambda x: x**1.0, A([0.0])),
    "x**0": (lambda x: x**0.0, A([0.0])),
    "0**y": (lambda y: 0.0**y, A([2.0])),
    "prod": (np.prod, A([0.0, 0.0])),
    "cumprod": (np.cumprod, A([0.0, 0.0])),
    "i1e": (sp.i1e, A([0.0])),
    "pseudo_huber": (lambda x: sp.pseudo_huber(1.0, x), A([1.0])),
    "huber": (lambda x: sp.huber(1.0, x), A([1.0])),
    "exprel": (sp.exprel, A([0.0])),
    "boxcox in its power": (lambda y: sp.boxcox(2.0, y), A([0.0])),
    "xlogy": (lambda x: sp.xlogy(x, 2.0), A([0.0])),
    "mean of equal elements": (np.mean, A([1.0, 1.0])),
    "argsort": (lambda x: x[np.argsort(x)], A([1.0, 2.0])),
    "copysign of what is constant": (lambda x: np.copysign(x, 0.0), A([2.0])),
    "arctan2 along the cut": (lambda x: np.arctan2(0.0, x), A([-1.0])),
    "a comparison": (lambda x: np.where(x > 0, x, 2 * x), A([0.0])),
}


def kinks_of(f, x):
    with np.errstate(all="ignore"):
        return ad.find_kinks(f)(x)


@pytest.mark.parametrize(("f", "at", "beside"), AT_KINKS.values(), ids=AT_KINKS.keys())
@pytest.mark.filterwarnings("ignore::simpleautodiff.DomainWarning", "ignore:Matrix is singular")
def test_a_kink_is_listed_and_the_point_beside_it_is_not(f, at, beside):
    found = kinks_of(f, at)
    assert found
    assert all("test_kinks.py" in kink.line and kink.choice for kink in found)
    if beside is not None:
        assert kinks_of(f, beside) == []


@pytest.mark.parametrize(("f", "x"), SMOOTH.values(), ids=SMOOTH.keys())
def test_what_is_smooth_is_not_listed(f, x):
    assert kinks_of(f, x) == []


# Rows: where their derivatives jump or are infinite, by differences. ------------------------------

POINTS = {
    1: (-2.0, -1.5, -1.0, -0.5, 0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0),
    2: (-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0),
    3: (-1.0, 0.0, 0.5, 1.0, 2.0),
}
APART = {  # outside the domains of these there are values, and no derivatives
    *("where", "stop_gradient", "round", "clip", "hyp1f1", "hyperu", "poch", "binom", "beta"),
    *("betaln", "poisson_log", "inv_boxcox", "inv_boxcox1p", "polygamma", "sinc_derivative"),
    *("erfcx_derivative", "polygamma_step", "gammainc_derivative", "zeta_derivative", "airy"),
    *("chndtr", "ncx2_density", "nctdtr", "nct_density", "tklmbda", "kolmogorov_derivative"),
    *("vonmises_moment", "vonmises_cdf"),
}
ELEMENTWISE = [
    row
    for row in TABLE.values()
    if not row.arrays and row.arity in POINTS and row.name not in APART
]


def is_a_kink(f, args, i):
    """Tell by differences whether a derivative jumps, or is infinite where there is a value."""
    h = 1e-6
    here, left, right = (
        float(f(*args[:i], args[i] + step, *args[i + 1 :])) for step in (0.0, -h, h)
    )
    if not np.isfinite(here):
        return False
    below, above = (here - left) / h, (right - here) / h
    steep = [abs(slope) for slope in (below, above) if math.isfinite(slope)]
    if len(steep) == 2:
        return abs(above - below) > 1e-3 * (1 + sum(steep))
    halves = [float(f(*args[:i], args[i] + s * h / 100, *args[i + 1 :])) for s in (-1, 1)]
    finer = [abs(x - here) / h * 100 for x in halves if math.isfinite(x)]
    return bool(steep) and finer[0] > 1.5 * steep[0] + 1e-3  # the slope grows without end


@pytest.mark.parametrize("row", ELEMENTWISE, ids=lambda row: row.name)
@pytest.mark.filterwarnings("ignore::simpleautodiff.DomainWarning", "ignore::RuntimeWarning")
def test_rows_declare_the_kinks_that_differences_find(row):
    f = lambda *args: apply(row, *args)
    for args in itertools.product(POINTS[row.arity], repeat=row.arity):
        for i in range(row.arity):
            try:
                row.partial(i, f(*args), args)  # some have no rule
                kink = is_a_kink(f, args, i)
            except (ad.AutodiffError, TypeError, OverflowError):
                continue
            if kink:
                counting = [k for k in row.kinks if k.wrt is None or i in k.wrt]
                assert any(is_at_kink(row, k, args) for k in counting), (args, i)


# Nested transformations. --------------------------------------------------------------------------

NESTED = {
    "abs": (lambda x: np.sum(abs(x) * x), A([1.0, 0.0]), A([1.0, 2.0])),
    "sort": (lambda x: np.sum(np.sort(x) * x), A([1.0, 1.0]), A([1.0, 2.0])),
    "interp": (lambda x: np.sum(np.interp(x, *TABULATED) * x), A([1.0, 0.5]), A([0.2, 1.2])),
    "eigvalsh": (lambda x: np.sum(eigvalsh(x * np.eye(2)) * x), A([1.0, 1.0]), A([1.0, 2.0])),
}


@pytest.mark.parametrize(("f", "at", "beside"), NESTED.values(), ids=NESTED.keys())
def test_kinks_are_found_in_every_nesting(f, at, beside):
    ways = {
        "a batch": ad.vmap(ad.grad(f, kinks="raise")),
        "of a batch": ad.grad(lambda xs: np.sum(ad.vmap(f)(xs)), kinks="raise"),
        "inside": lambda xs: ad.grad(lambda x: np.sum(ad.grad(f, kinks="raise")(x)))(xs[1]),
        "outside": lambda xs: ad.grad(lambda x: np.sum(ad.grad(f)(x)), kinks="raise")(xs[1]),
        "a checkpoint": lambda xs: ad.grad(ad.checkpoint(f), kinks="raise")(xs[1]),
    }
    for name, way in ways.items():
        with pytest.raises(ad.KinkError, match="not unique"):
            assert way(np.stack([beside, at])) is None, name
        assert np.all(np.isfinite(way(np.stack([beside + 0.1, beside])))), name


def test_compiled_functions_tell_kinks():
    slope = ad.jit(ad.grad(lambda x: abs(x) * x, kinks="raise"))
    for x in (2.0, 3.0):
        assert slope(x) == 2 * x
    with pytest.raises(ad.KinkError, match="abs"):
        slope(0.0)


@pytest.mark.parametrize(("f", "at", "beside"), NESTED.values(), ids=NESTED.keys())
def test_kinks_of_arrays_of_other_libraries(f, at, beside):
    torch = pytest.importorskip("torch")
    assert ad.find_kinks(f)(torch.tensor(at))
    assert ad.find_kinks(f)(torch.tensor(beside)) == []


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_medians_keep_the_kind_of_number(kind):
    for f in (np.median, lambda x: np.quantile(x, 1.0), lambda x: np.reshape(x[:1], ())):
        slope = ad.grad(f)(np.array([1, 3, 2], kind))
        assert slope.dtype == kind
        assert np.sum(slope) == 1


NORMS_AND_EIGENVALUES = {
    "norm": (np.linalg.norm, np.zeros(3)),
    "std": (np.std, np.ones(3)),
    "eigenvalues": (lambda a: np.linalg.eigvalsh(a)[0], np.eye(2)),
    "eigenvectors": (lambda a: np.linalg.eigh(a)[1][0, 0], np.eye(2)),
    "singular vectors": (lambda a: np.linalg.svd(a)[0][0, 0], np.eye(2)),
    "norm of matrices": (lambda a: np.linalg.norm(a, 2), np.zeros((2, 2))),
}


@pytest.mark.parametrize(
    ("f", "x"), NORMS_AND_EIGENVALUES.values(), ids=NORMS_AND_EIGENVALUES.keys()
)
def test_kinks_of_norms_and_eigenvalues_are_told(f, x):
    with pytest.raises(ad.KinkError, match="not unique"):
        ad.grad(f, kinks="raise")(x)
    elsewhere = x + np.diag(np.arange(1.0, 3.0)) if x.ndim == 2 else x + np.arange(1.0, 4.0)
    assert np.all(np.isfinite(ad.grad(f, kinks="raise")(elsewhere)))
