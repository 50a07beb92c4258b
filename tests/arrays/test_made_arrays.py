"""Arrays that NumPy makes inside a derivative, in plain NumPy code that is not changed."""

import threading
from collections import deque

import mpmath
import numpy as np
import pytest
import scipy.fft
import scipy.interpolate
import scipy.linalg
import scipy.optimize
import scipy.stats
from numpy import array as array_by_name, zeros as zeros_by_name
from scipy.special import logsumexp

import simpleautodiff as ad
from simpleautodiff.arrays import made_arrays

X = np.array([0.6, 1.3, 2.1])


def join_numbers(x):
    return np.sum(np.array([x[0], x[1] ** 2, 3.0]) * np.array([1.0, 2.0, 3.0]))


def nest_lists(x):
    return np.linalg.det(np.array([[x[0], 1.0], [2.0, x[1] * x[2]]]))


def nest_rows(x):
    return np.sum(np.array([x, x**2]) ** 2)


def convert(x):
    return np.sum(np.asarray(x) ** 2) + np.sum(np.ascontiguousarray(x)) + np.asarray(x[0]) ** 2


def write_elements(x):
    y = np.zeros(3)
    y[0] = x[0] * x[1]
    y[1] += x[2]
    y[1] *= x[0]
    return np.sum(y**2)


def write_slices(x):
    y = np.ones((3, 3))
    y[0] = x
    y[1:, 1] = x[:2] ** 2
    return np.sum(y @ y)


def write_through_views(x):
    y = np.zeros((2, 3))
    row = y[1]
    row[:2] = x[1:]
    y.T[0, 0] = x[0] ** 2
    y.reshape(-1)[2] = x[1]
    return np.sum(y**3)


def fill_a_range(x):
    y = np.arange(3.0)
    y[1] = x[0] ** 2
    y[2] *= x[1]
    return y @ y


def write_after_arithmetic(x):
    out = np.empty_like(np.ones(3)) * 0 + 2
    out[0] = x[1]
    return np.prod(out)


def write_to_an_identity(x):
    a = np.eye(3)
    a[0, 1] = x[0]
    a[2, 0] = x[1] ** 2
    return np.linalg.det(a + np.diag(np.ones(3))) * np.trace(np.linalg.inv(a))


def write_to_a_diagonal(x):
    a = np.diag(np.ones(3))
    a[0, 1], a[1, 0] = x[0], x[1]
    return np.linalg.det(a)


def write_to_joined(x):
    y = np.concatenate([np.ones(2), np.full(2, 0.5)])
    y[1] = x[0]
    y[3] = y[1] * x[2]
    return np.prod(y) + np.sum(y) * x[1]


def reduce_lists(x):
    a, b, c = x
    return np.sum([a, b**2]) + np.mean([a, c]) + np.max([a, b]) + np.dot([a, b], [b, c])


def solve_lists(x):
    a, b, c = x
    return np.linalg.norm([a, b]) + np.linalg.solve([[a, 1.0], [0.0, b]], [1.0, c])[0]


def collect_then_join(x):
    collected = []
    for i in range(3):
        collected.append(x[i] ** (i + 1))  # noqa: PERF401
    return np.prod(np.array(collected)) + np.std(collected)


def fill_with_a_node(x):
    return np.sum(np.full((2, 2), x[0]) ** 2) * np.full(3, x[1])[2]


def append_and_insert(x):
    return np.prod(np.append([x[0]], [x[1], 3.0])) * np.prod(np.insert(np.ones(3), 1, x[2]))


def add_dimensions(x):
    return np.atleast_1d(x[0])[0] * np.atleast_2d([x[1], x[2]])[0, 1]


def write_results(x):
    out = np.zeros(3)
    np.add(x, 1.0, out=out)
    np.multiply(out, x, out=out)
    return np.sum(out**2)


def by_name(x):
    y = zeros_by_name((2, 2))
    y[0] = x[:2]
    return np.sum((array_by_name([x[1], 2 * x[2]]) + y) ** 2)


def like_an_array_that_was_written_to(x):
    y = x.copy()
    y[0] = 1.0
    z = np.zeros(3, like=y)
    z[0] = x[1] ** 2
    return np.sum(z * y)


def join_arrays_that_were_written_to(x):
    y = np.zeros(2)
    y[0] = x[0]
    return np.sum(np.array([y, y * x[1]]) ** 2)


def integers_and_masks_beside(x):
    mask, count = np.ones_like(x, dtype=bool), np.zeros_like(x, dtype=int)
    count[1] = 2
    return np.sum(x[mask]) * np.sum(x[count] ** 2)


def log_sum_by_name(x):
    return logsumexp(x * np.array([1.0, 2.0, 0.5])) + logsumexp([x[0], x[1]])


def rosenbrock(x):
    return scipy.optimize.rosen(x)


def copy_by_array(x):
    y, z = np.array(x), np.array(x, copy=True)
    y[0] = x[1] ** 2
    z *= y
    return np.sum(x * z) + np.sum(np.array(y) - y)


def join_a_deque(x):
    recent = deque(maxlen=2)
    for each in x:
        recent.append(each**2)
    return np.sum(recent) * np.prod(np.array(recent))


def join_what_is_yielded(x):
    first = np.fromiter((each**2 for each in x), float, 2)
    return np.sum(first) * np.prod(np.fromiter((np.sin(each) for each in x), dtype=float))


def reduce_lists_by_ufuncs(x):
    highest = np.maximum.reduce([x, x[::-1], np.ones(3)])
    return np.logaddexp.reduce([x[0], x[1]]) + np.sum(highest) + np.add.reduce([x[1] ** 2, x[2]])


def join_lists_of_several_lengths(x):
    rows = np.vstack([[x[0], x[1]], [1.0, x[2]]])
    return np.linalg.det(rows) + np.prod(np.hstack([x, [x[0]], [2.0]]))


def methods_of_made_arrays(x):
    a = np.eye(3) * 2.0
    total = np.cov(np.array([[1.0, 2.0, 4.0], [0.5, 0.0, 1.0], [1.0, 0.0, 0.0]])).sum(axis=0)
    total[1] += x[0]
    return (
        a.dot(x).dot(total)
        + np.sum(np.ones(3).clip(0.2, x))
        + a.T.dot(np.array([x[1], 1.0, x[2]]))[0]
    )


def put_into_a_made_array(x):
    y = np.zeros(5)
    np.put(y, [0, 3, 4], x)
    np.copyto(y[1:2], x[:1] ** 2)
    np.place(y, y == 0.0, x[2])
    return np.prod(y)


def fit_and_average(x):
    return np.sum(np.polyfit([0, 1, 2], x, 1) ** 2) + np.average([1, 2, 4], weights=x)


def one_number_of_a_normal(x):
    s = np.array([[x[0]]])
    return scipy.stats.multivariate_normal.logpdf(np.array([x[1]]), np.zeros(1), s) * x[2]


def rotate(x):
    c, s = np.cos(x[0]), np.sin(x[0])
    rotation = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    return np.sum((rotation @ x) ** 3)


PROGRAMS = [
    join_numbers, nest_lists, nest_rows, convert, write_elements, write_slices,
    write_through_views, fill_a_range, write_after_arithmetic, write_to_an_identity,
    write_to_a_diagonal, write_to_joined, reduce_lists, solve_lists, collect_then_join,
    fill_with_a_node, append_and_insert, add_dimensions, write_results, by_name,
    like_an_array_that_was_written_to, join_arrays_that_were_written_to,
    integers_and_masks_beside, log_sum_by_name, rosenbrock, rotate, copy_by_array, join_a_deque,
    join_what_is_yielded, reduce_lists_by_ufuncs, join_lists_of_several_lengths,
    methods_of_made_arrays, put_into_a_made_array, fit_and_average, one_number_of_a_normal,
]  # fmt: skip


def differences(f, x):
    """Return the gradient by central differences, extrapolated: exact to about 1e-10."""

    def at(h):
        return np.array([(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(len(x))])

    h = 2e-3
    return (64 * at(h / 4) - 20 * at(h / 2) + at(h)) / 45


each_program = pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)


@each_program
def test_gradients(f):
    expected = differences(f, X.copy())
    for _ in range(2):  # at the first call, and when it is known what the function needs
        value, gradient = ad.value_and_grad(f)(X)
        assert value == pytest.approx(f(X.copy()), rel=1e-14)
        np.testing.assert_allclose(gradient, expected, rtol=1e-8, atol=1e-9)


@each_program
def test_forward_mode_and_second_order(f):
    direction = np.array([0.3, -0.4, 1.1])
    gradient = ad.grad(f)
    np.testing.assert_allclose(
        ad.jvp(f, (X,), (direction,))[1], gradient(X) @ direction, rtol=1e-12, atol=1e-12
    )
    hessian = ad.hessian(f)(X)
    expected = np.array([differences(lambda x, i=i: gradient(x)[i], X) for i in range(3)])
    np.testing.assert_allclose(hessian, expected, rtol=1e-7, atol=1e-8)
    again = ad.jacobian(gradient, mode="reverse")(X)
    np.testing.assert_allclose(again, hessian, rtol=1e-10, atol=1e-13)


@each_program
def test_under_vmap_and_jit(f):
    points = np.stack([X, 1.1 * X[::-1], X - 0.2])
    expected = np.stack([ad.grad(f)(x) for x in points])
    np.testing.assert_allclose(ad.vmap(ad.grad(f))(points), expected, rtol=1e-11, atol=1e-12)
    compiled = ad.jit(ad.grad(f))
    for x, gradient in zip(points, expected, strict=True):
        np.testing.assert_allclose(compiled(x), gradient, rtol=1e-11, atol=1e-12)


# Every distribution that SciPy writes in Python. --------------------------------------------------

P = np.array([0.7, 1.6])
SHAPED = {  # distributions, and parameters all of which are differentiated
    "dgamma": lambda x: (1 + x[0],),
    "ncx2": lambda x: (2 + x[0], x[1]),
    "ncf": lambda x: (3 + x[0], 4 + x[1], x[0] * x[1]),
    "nct": lambda x: (4 + x[0], x[1]),
    "vonmises": lambda x: (1 + x[0], x[1]),
}
DISTRIBUTIONS = {
    "weibull_min.logpdf": lambda x: scipy.stats.weibull_min.logpdf(1.3, x[0], scale=x[1]),
    "weibull_min.cdf": lambda x: np.sum(scipy.stats.weibull_min.cdf(x, 1.7)),
    "weibull_min.ppf": lambda x: np.sum(scipy.stats.weibull_min.ppf(x / 3, 1.7)),
    "weibull_min, frozen": lambda x: scipy.stats.weibull_min(x[0], scale=x[1]).logpdf(0.4),
    "nbinom.logpmf": lambda x: np.sum(scipy.stats.nbinom.logpmf(3, x, 0.5)),
    "triang.pdf": lambda x: np.sum(scipy.stats.triang.pdf(x / 2, 0.4)),
    "invgauss.logpdf": lambda x: np.sum(scipy.stats.invgauss.logpdf(x, 1.2)),
    "gompertz.sf": lambda x: np.sum(scipy.stats.gompertz.sf(x, 1.1)),
    "burr12.pdf": lambda x: scipy.stats.burr12.pdf(x[1], 2.0, x[0]),
    "t.cdf": lambda x: np.sum(scipy.stats.t.cdf(x, 4.0)),
    "poisson.cdf": lambda x: np.sum(scipy.stats.poisson.cdf(3, x)),
    "t.cdf in df": lambda x: np.sum(scipy.stats.t.cdf(0.6, x)),
    "gamma.ppf": lambda x: scipy.stats.gamma.ppf(0.3, x[0], scale=x[1]),
    "gamma.isf": lambda x: scipy.stats.gamma.isf(x[0] / 3, x[1], loc=x[0]),
    "gamma, frozen": lambda x: scipy.stats.gamma(x[0], scale=x[1]).ppf(0.3),
    "gamma.logcdf": lambda x: scipy.stats.gamma.logcdf(x[1], x[0]),
    "gamma.logsf": lambda x: scipy.stats.gamma.logsf(x[1], x[0]),
    "beta.ppf": lambda x: scipy.stats.beta.ppf(0.3, *x),
    "beta.isf": lambda x: scipy.stats.beta.isf(0.3, *x),
    "beta.cdf": lambda x: scipy.stats.beta.cdf(0.3, *x),
    "t.ppf": lambda x: scipy.stats.t.ppf(x[0] / 2, x[1]),
    "t.isf": lambda x: scipy.stats.t.isf(x[0] / 2, x[1]),
    "chi2.ppf": lambda x: scipy.stats.chi2.ppf(x[0] / 2, x[1]),
    "chi2.isf": lambda x: scipy.stats.chi2.isf(x[0] / 2, x[1]),
    "f.cdf": lambda x: scipy.stats.f.cdf(0.8, *x),
    "f.ppf": lambda x: scipy.stats.f.ppf(0.4, *x),
    "f.sf": lambda x: scipy.stats.f.sf(0.8, *x),
    "invgamma.ppf": lambda x: scipy.stats.invgamma.ppf(x[0] / 2, x[1]),
    "lognorm.ppf": lambda x: scipy.stats.lognorm.ppf(x[0] / 2, x[1]),
    "loggamma.cdf": lambda x: scipy.stats.loggamma.cdf(x[0], x[1]),
    "genextreme.ppf": lambda x: scipy.stats.genextreme.ppf(x[0] / 2, x[1]),
    "genpareto.ppf": lambda x: scipy.stats.genpareto.ppf(x[0] / 2, x[1], loc=x[0], scale=x[1]),
    "genpareto.isf": lambda x: scipy.stats.genpareto.isf(x[0] / 2, -x[1]),
    "genpareto.cdf": lambda x: scipy.stats.genpareto.cdf(x[0], x[1], scale=x[1]),
    "genpareto.sf": lambda x: np.sum(scipy.stats.genpareto.sf([x[0], 9.0], -x[0] / 2)),
    "genpareto.logpdf": lambda x: scipy.stats.genpareto.logpdf(x[0], x[1] - 1.7),
    "genpareto.logsf of an exponential": lambda x: scipy.stats.genpareto.logsf(x[0], x[1] - 1.6),
    "truncnorm.ppf": lambda x: scipy.stats.truncnorm.ppf(0.3, -x[0], x[1]),
    "chi.ppf": lambda x: scipy.stats.chi.ppf(x[0] / 2, x[1]),
    "skewnorm.cdf": lambda x: scipy.stats.skewnorm.cdf(x[0], x[1]),
    "skewnorm.ppf": lambda x: scipy.stats.skewnorm.ppf(x[0] / 2, x[1]),
    "skewnorm.isf": lambda x: scipy.stats.skewnorm.isf(x[0] / 2, -x[1], loc=x[0], scale=x[1]),
    "invgauss.ppf": lambda x: np.sum(scipy.stats.invgauss.ppf(x / 2, x[1], scale=x[0])),
    "invgauss.isf": lambda x: np.sum(scipy.stats.invgauss.isf(x / 2, x[1])),
    "wald.ppf": lambda x: scipy.stats.wald.ppf(x[0] / 2, scale=x[1]),
    "exponnorm.ppf": lambda x: scipy.stats.exponnorm.ppf(x[0] / 2, x[1]),
    "exponnorm.isf": lambda x: scipy.stats.exponnorm.isf(x[0] / 2, x[1]),
    "foldnorm.ppf": lambda x: np.sum(scipy.stats.foldnorm.ppf(x / 2, x[1], loc=x[0])),
    "recipinvgauss.ppf": lambda x: scipy.stats.recipinvgauss.ppf(x[0] / 2, x[1]),
    "cosine.cdf": lambda x: np.sum(scipy.stats.cosine.cdf(x)),
    "cosine.ppf": lambda x: np.sum(scipy.stats.cosine.ppf(x / 2, scale=x[1])),
    "cosine.isf": lambda x: np.sum(scipy.stats.cosine.isf(x / 2)),
    "kstwobign.cdf": lambda x: np.sum(scipy.stats.kstwobign.cdf(x)),
    "kstwobign.pdf": lambda x: np.sum(scipy.stats.kstwobign.pdf(x)),
    "kstwobign.ppf": lambda x: np.sum(scipy.stats.kstwobign.ppf(x / 2)),
    "kstwobign.isf": lambda x: np.sum(scipy.stats.kstwobign.isf(x / 2)),
    "ncx2.cdf": lambda x: scipy.stats.ncx2.cdf(x[0], 3.0, x[1]),
    **{
        f"{name}.{method}": lambda x, name=name, method=method: getattr(
            getattr(scipy.stats, name), method
        )(x[0] / 2 if method in ("ppf", "isf") else x[0], *SHAPED[name](x))
        for name in SHAPED
        for method in ("cdf", "sf", "ppf", "isf", "logpdf")
    },
    "ncx2.sf": lambda x: scipy.stats.ncx2.sf(x[0], 3.0, x[1]),
    "ncx2.pdf": lambda x: scipy.stats.ncx2.pdf(x[0], 3.0, x[1]),
    "ncx2.ppf": lambda x: scipy.stats.ncx2.ppf(x[0] / 2, 3.0, x[1]),
    "ncx2.isf": lambda x: scipy.stats.ncx2.isf(x[0] / 2, 3.0, x[1], scale=x[1]),
    "ncf.cdf": lambda x: scipy.stats.ncf.cdf(x[0], 5.0, 7.0, x[1]),
    "ncf.sf": lambda x: scipy.stats.ncf.sf(x[0], 5.0, 7.0, x[1]),
    "ncf.pdf": lambda x: scipy.stats.ncf.pdf(x[0], 5.0, 7.0, x[1]),
    "ncf.ppf": lambda x: scipy.stats.ncf.ppf(x[0] / 2, 5.0, 7.0, x[1]),
    "ncf.isf": lambda x: scipy.stats.ncf.isf(x[0] / 2, 5.0, 7.0, x[1]),
    "nct.cdf": lambda x: scipy.stats.nct.cdf(x[0], 5.0, x[1]),
    "nct.cdf of few": lambda x: scipy.stats.nct.cdf(x[0], 0.8, x[1]),
    "nct.sf": lambda x: scipy.stats.nct.sf(x[0], 5.0, x[1]),
    "nct.pdf": lambda x: scipy.stats.nct.pdf(x[0], 5.0, x[1]),
    "nct.ppf": lambda x: scipy.stats.nct.ppf(x[0] / 2, 5.0, x[1]),
    "nct.isf": lambda x: scipy.stats.nct.isf(x[0] / 2, 5.0, x[1]),
    "rice.cdf": lambda x: scipy.stats.rice.cdf(x[0], x[1]),
    "rice.ppf": lambda x: scipy.stats.rice.ppf(x[0] / 2, x[1]),
    "tukeylambda.cdf": lambda x: scipy.stats.tukeylambda.cdf(x[0], x[1] - 1.2),
    "tukeylambda.pdf": lambda x: scipy.stats.tukeylambda.pdf(x[0], x[1] - 1.2),
    "pearson3.cdf": lambda x: scipy.stats.pearson3.cdf(x[0], x[1]),
    "pearson3.ppf": lambda x: scipy.stats.pearson3.ppf(x[0] / 2, x[1]),
    "pearson3.isf": lambda x: scipy.stats.pearson3.isf(x[0] / 2, -x[1], scale=x[1]),
    "pearson3.logpdf": lambda x: scipy.stats.pearson3.logpdf(x[0], -x[1]),
    "pearson3.sf": lambda x: np.sum(scipy.stats.pearson3.sf([x[0], 9.0], -x[1])),
    "vonmises.cdf": lambda x: scipy.stats.vonmises.cdf(x[0], 1.5, loc=x[1] / 9),
    "vonmises.ppf": lambda x: scipy.stats.vonmises.ppf(x[0] / 2, 1.5, scale=x[1]),
    "norminvgauss.cdf": lambda x: scipy.stats.norminvgauss.cdf(x[0], 1.5, 0.4, scale=x[1]),
    "norminvgauss.isf": lambda x: scipy.stats.norminvgauss.isf(x[0] / 2, 1.5, 0.4, loc=x[1]),
    "binom.cdf": lambda x: np.sum(scipy.stats.binom.cdf(3, 7, x / 2)),
    "nbinom.pmf": lambda x: scipy.stats.nbinom.pmf([0, 3, 9], 4 * x[0], x[1] / 2) @ [1.0, 2.0, 3.0],
    "pearson3.logcdf": lambda x: scipy.stats.pearson3.logcdf(x[0], -x[1], scale=x[1]),
    "pearson3.logsf": lambda x: scipy.stats.pearson3.logsf(x[0], x[1], loc=0.1),
    "genpareto.logcdf": lambda x: scipy.stats.genpareto.logcdf(x[0], x[1], scale=x[1]),
    "nbinom.sf": lambda x: np.sum(scipy.stats.nbinom.sf(3, 4, x / 2)),
    "multivariate_normal.entropy": lambda x: scipy.stats.multivariate_normal.entropy(
        np.zeros(2), np.array([[x[0], 0.1], [0.1, x[1]]])
    ),
    "dirichlet.entropy": lambda x: scipy.stats.dirichlet.entropy(x),
    "dirichlet.var": lambda x: scipy.stats.dirichlet.var(x)[0],
    "skew": lambda x: scipy.stats.skew(np.append(x, x**2)),
    "kurtosis": lambda x: scipy.stats.kurtosis(np.append(x, x**2)),
    "zscore": lambda x: scipy.stats.zscore(np.append(x, x**2))[0],
    "gmean": lambda x: scipy.stats.gmean(x),
    "hmean": lambda x: scipy.stats.hmean(x),
    "pmean": lambda x: scipy.stats.pmean(x, 3.0),
    "entropy": lambda x: scipy.stats.entropy(x),
    "relative entropy": lambda x: scipy.stats.entropy(x, [0.3, 0.7]),
    "trim_mean": lambda x: scipy.stats.trim_mean(np.append(x, x**2), 0.3),
    "sem": lambda x: scipy.stats.sem(np.append(x, x**2)),
    "moment": lambda x: scipy.stats.moment(np.append(x, x**2), 3),
    "pearsonr": lambda x: scipy.stats.pearsonr(np.append(x, x**2), [1.0, 0.2, 0.4, 3.0])[0],
    "pearsonr, pvalue": lambda x: (
        scipy.stats.pearsonr(np.append(x, x**2), [1.0, 0.2, 0.4, 3.0]).pvalue
    ),
    "truncnorm.logpdf": lambda x: scipy.stats.truncnorm.logpdf(0.3, -x[0], x[1]),
    "multivariate_normal, frozen": lambda x: scipy.stats.multivariate_normal(
        x, np.array([[x[0], 0.1], [0.1, x[1]]])
    ).logpdf([0.2, 0.4]),
    "dirichlet, frozen": lambda x: scipy.stats.dirichlet(x).logpdf([0.3, 0.7]),
    "linregress": lambda x: scipy.stats.linregress([0.0, 1.0, 3.0], np.append(x, 1.0)).slope,
    "fht": lambda x: np.sum(scipy.fft.fht(x, 0.1, 0.0) ** 2),
    "interp1d": lambda x: scipy.interpolate.interp1d([0.0, 1.0, 2.0], [0.0, 1.0, 4.0])(x)[1],
    "interp1d of nodes": lambda x: scipy.interpolate.interp1d([0.0, 1.0], x)(0.3) ** 2,
}


@pytest.mark.parametrize("f", DISTRIBUTIONS.values(), ids=DISTRIBUTIONS.keys())
def test_functions_that_scipy_writes_with_numpy(f):
    value, gradient = ad.value_and_grad(f)(P)
    assert value == pytest.approx(f(P), rel=1e-14)
    np.testing.assert_allclose(gradient, differences(f, P), rtol=1e-8, atol=1e-10)


QUANTILES = {
    "exponnorm": (1.5,),
    "skewnorm": (2.0,),
    "ncx2": (3.0, 1.2),
    "rice": (1.2,),
    "kstwobign": (),
}


@pytest.mark.parametrize(("name", "shapes"), QUANTILES.items(), ids=QUANTILES)
@pytest.mark.parametrize("method", ["ppf", "isf"])
def test_higher_derivatives_of_quantiles(name, shapes, method):
    """If F(x) = q, the derivatives of x are 1/f, -f′/f³, (3f′² - f f″)/f⁵."""
    law = getattr(scipy.stats, name)
    f = lambda q: getattr(law, method)(q, *shapes)
    x = f(0.3)
    density = lambda t: law.pdf(t, *shapes)
    height, slope, bend = density(x), ad.derivative(density, 1)(x), ad.derivative(density, 2)(x)
    sign = 1 if method == "ppf" else -1
    expected = [
        *(sign / height, -slope / height**3),
        sign * (3 * slope**2 - height * bend) / height**5,
    ]
    found = [ad.derivative(f, n)(0.3) for n in (1, 2, 3)]
    np.testing.assert_allclose(found, expected, rtol=1e-8)
    assert ad.grad(ad.grad(f))(0.3) == pytest.approx(expected[1], rel=1e-8)
    q = np.array([0.2, 0.3, 0.9])
    each = [ad.grad(f)(one) for one in q]
    np.testing.assert_allclose(ad.grad(lambda q: np.sum(f(q)))(q), each, rtol=1e-12)
    assert ad.jit(ad.grad(f))(0.3) == pytest.approx(expected[0], rel=1e-8)


def test_pearsons_distribution_of_a_small_skew():
    law = scipy.stats.pearson3
    for skew in (0.0, 1e-6, -1e-3, 0.01):
        slope = ad.grad(lambda x, skew=skew: law.cdf(x, skew))(0.7)
        assert slope == pytest.approx(law.pdf(0.7, skew), rel=1e-8)
    # F(x) = Φ - φ ((x² - 1) s/6 + (x³ - 3x) s²/16 + (x⁵ - 10x³ + 15x) s²/72 + ...)
    x, skew = 0.7, 0.005
    more = (x**3 - 3 * x) / 8 + (x**5 - 10 * x**3 + 15 * x) / 36
    expected = -scipy.stats.norm.pdf(x) * ((x**2 - 1) / 6 + skew * more)
    assert ad.grad(lambda s: law.cdf(x, s))(skew) == pytest.approx(expected, rel=2e-4)
    with pytest.raises(ad.DomainError, match=r"a skew of at least 0\.005"):
        ad.grad(lambda s: law.cdf(x, s))(0.001)


def test_a_distribution_of_ones_own_has_quantiles():
    class Arch(scipy.stats.rv_continuous):
        def _pdf(self, x, a):
            return a * x ** (a - 1)

    arch = Arch(a=0.0, b=1.0, name="arch")  # F(x) = xᵃ
    assert ad.grad(lambda x: arch.cdf(x, 3.0))(0.4) == pytest.approx(3 * 0.4**2, rel=1e-12)
    slope = 0.3 ** (1 / 3 - 1) / 3
    assert ad.grad(lambda q: arch.ppf(q, 3.0))(0.3) == pytest.approx(slope, rel=1e-8)
    with pytest.raises(ad.RuleError, match=r"not in its shape parameters.*plug\.quad"):
        ad.grad(lambda a: arch.cdf(0.4, a))(3.0)


def test_a_quantile_needs_a_density():
    class Arch(scipy.stats.rv_continuous):
        def _cdf(self, x):
            return x**3

    with pytest.raises(ad.RuleError, match="method _pdf"):
        ad.grad(Arch(a=0.0, b=1.0, name="arch").ppf)(0.3)


@pytest.mark.parametrize(
    ("name", "shapes"),
    [
        ("genhyperbolic", (0.5, 1.5, -0.5)),
        ("geninvgauss", (2.3, 1.5)),
        ("ksone", (10,)),
        ("kstwo", (10,)),
        ("landau", ()),
        ("norminvgauss", (1.25, 0.5)),
    ],
)
def test_distributions_that_are_integrated_in_plain_numbers(name, shapes):
    law = getattr(scipy.stats, name)
    x = law.ppf(0.3, *shapes)
    density = law.pdf(x, *shapes)
    for method, point, expected in (
        *(("cdf", x, density), ("sf", x, -density)),
        *(("ppf", 0.3, 1 / density), ("isf", 0.7, -1 / density)),
    ):
        f = lambda p, method=method: getattr(law, method)(p, *shapes)
        value, slope = ad.value_and_grad(f)(point)
        assert value == f(point)
        assert slope == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: scipy.stats.geninvgauss.cdf(1.3, x[0], 2.0),
        lambda x: scipy.stats.genhyperbolic.cdf(0.3, 0.5, x[0], 0.1),
        lambda x: scipy.stats.gausshyper.ppf(0.3, x[0], 3.0, 1.0, 0.5),
        lambda x: scipy.stats.norminvgauss.ppf(0.3, x[0], 0.1),
    ],
)
def test_parameters_without_a_derivative_are_refused(call):
    with pytest.raises(ad.RuleError, match=r"node\.value is one"):
        ad.grad(call)(X)


@pytest.mark.parametrize("name", ["irwinhall", "ksone", "kstwo"])
def test_parameters_that_are_whole_numbers_are_refused(name):
    law = getattr(scipy.stats, name)
    for method, point in (("cdf", law.ppf(0.3, 10)), ("ppf", 0.3)):
        f = getattr(law, method)
        with pytest.raises(ad.RuleError, match=r"is an integer.*node\.value is one"):
            ad.grad(lambda n, f=f, point=point: f(point, n))(10.0)
    assert ad.grad(lambda x: law.cdf(x, 10))(0.3) == pytest.approx(law.pdf(0.3, 10), rel=1e-6)


def test_stable_distributions_are_refused():
    for method in ("pdf", "logpdf", "cdf"):
        f = getattr(scipy.stats.levy_stable, method)
        for call in (lambda x, f=f: f(x, 1.5, 0.1), lambda a, f=f: f(0.3, a, 0.1)):
            with pytest.raises(ad.LostDerivativeError, match=r"no derivative rule.*levy_stable"):
                ad.grad(call)(1.3)


@pytest.mark.parametrize(
    ("call", "slope"),
    [
        (lambda x: scipy.optimize.minimize(lambda t: np.sum((t - x) ** 2), np.ones(3)).x[0], 1.0),
        (
            lambda x: scipy.optimize.least_squares(lambda t: t**3 - x, np.ones(3)).x[0],
            0.6 ** (-2 / 3) / 3,
        ),
        (lambda x: scipy.optimize.minimize_scalar(lambda t: (t - x[0]) ** 2).x, 1.0),
    ],
)
def test_solvers_carry_derivatives_also_where_arrays_are_made(call, slope):
    def f(x):
        y = np.zeros(2)
        y[0] = call(x)
        return np.sum(y)

    np.testing.assert_allclose(ad.grad(f)(X), [slope, 0.0, 0.0], rtol=1e-9, atol=1e-12)


# What runs, when, and what is left behind. --------------------------------------------------------


def names_replaced():
    return [
        name
        for module in (globals(), vars(np), vars(np.linalg), vars(scipy.stats))
        for name, value in module.items()
        if isinstance(value, made_arrays.Replacement)
    ]


def test_a_function_that_needs_it_is_run_twice_the_first_time_only():
    calls = []

    def f(x):
        calls.append(1)
        return np.sum(np.array([x, x**2]))

    for runs in (2, 3, 4):
        assert ad.grad(f)(3.0) == 7.0
        assert len(calls) == runs


def test_a_function_that_does_not_need_it_is_run_once():
    calls = []

    def f(x):
        calls.append(1)
        return np.stack([x, x**2]).sum()

    assert ad.grad(f)(3.0) == 7.0
    assert len(calls) == 1


def test_writes_of_the_first_run_do_not_show_in_the_second():
    def f(x):
        x[0] = x[0] * 2  # also the caller's array, in NumPy; the derivative is that of one run
        y = np.zeros(2)
        y[0] = x[0]
        return np.sum(y**2)

    np.testing.assert_array_equal(ad.grad(f)(np.array([3.0, 1.0])), [24.0, 0.0])


class Stop(BaseException):
    pass


@pytest.mark.parametrize("stop", [None, Stop, KeyboardInterrupt, RecursionError])
def test_nothing_is_left_replaced_whatever_happens(stop):
    plain_numpy = np
    inside = []

    def f(x):
        y = np.zeros(2)
        y[0] = x
        inside.append(np is not plain_numpy)
        if stop:
            raise stop
        return y[0] ** 2

    if stop:
        with pytest.raises(stop):
            ad.grad(f)(3.0)
    else:
        assert ad.grad(f)(3.0) == 6.0
    assert inside == [True]
    assert names_replaced() == []
    assert np is plain_numpy
    assert type(np.zeros(2)) is np.ndarray
    assert made_arrays.MAKING.get() is False


def test_other_threads_get_plain_arrays_meanwhile():
    seen = []

    def f(x):
        y = np.array([x, x**2])
        thread = threading.Thread(target=lambda: seen.append(type(np.zeros(2))))
        thread.start()
        thread.join()
        return np.sum(y)

    assert ad.grad(f)(3.0) == 7.0
    assert seen == [np.ndarray]


def test_a_module_is_found_while_a_function_in_another_thread_has_its_names_replaced():
    namespace = {"__name__": "of_a_user", "zeros": np.zeros}
    with made_arrays.replacing_numpy([namespace]):
        assert namespace["zeros"] is not np.zeros
        assert made_arrays._find_numpy_users([namespace], set()) == [namespace]
    assert namespace["zeros"] is np.zeros


def test_errors_of_the_users_own_code_are_raised_as_they_are():
    def f(x):
        y = np.array([x, x])
        if len(y) == 2:
            raise ValueError("two are too few")
        return y

    with pytest.raises(ValueError, match="two are too few"):
        ad.grad(f)(3.0)


def test_where_nothing_can_be_done_the_message_stays():
    outside = np.zeros(3)

    def write_outside(x):
        outside[0] = x
        return np.sum(outside)

    with pytest.raises(ad.LostDerivativeError, match="made inside the function"):
        ad.grad(write_outside)(3.0)
    with pytest.raises(ad.LostDerivativeError, match=r"float\(\) of"):
        ad.grad(lambda x: float(x) * x)(3.0)
    with pytest.raises(ad.LostDerivativeError, match="would drop its derivative"):
        ad.grad(lambda x: np.sum(np.array([x, x])) * np.broadcast(x, x).size)(3.5)
    with pytest.raises(ad.LostDerivativeError, match=r"int\(\) of"):
        ad.grad(lambda x: np.array([1, 2]).__setitem__(0, x) or x)(3.0)
    assert type(outside) is np.ndarray
    assert outside.flags.writeable


def test_the_line_that_is_in_the_way_is_told():
    def f(x):
        y = np.zeros(2)
        y[0] = x  # this is answered
        return y[0] * float(x)

    with pytest.raises(ad.LostDerivativeError, match=r"float\(\) of.*return y\[0\] \* float"):
        ad.grad(f)(3.0)


def test_nested_derivatives_each_make_their_arrays():
    def f(x):
        inner = ad.grad(lambda t: np.sum(np.array([t * x, t**2 * x])))(x)  # x + 2 t x at t = x
        return np.prod(np.array([inner, x]))  # x² + 2 x³

    assert ad.grad(f)(2.0) == 4.0 + 24.0
    assert ad.grad(ad.grad(f))(2.0) == 2.0 + 24.0


# What a node says it is. --------------------------------------------------------------------------


def test_isinstance_answers_as_for_plain_values():
    import numbers

    def of_arrays(x):
        y = np.zeros_like(x)
        x[0] = 1.0  # what was written to is still an array
        for z in (x, y, x * 2, x[1:]):
            assert isinstance(z, np.ndarray)
            assert not isinstance(z, float | int)
            assert not np.isscalar(z)
            assert hasattr(z, "__len__")
            assert np.iterable(z)
        assert isinstance(x[1], np.floating | float)
        return np.sum(x)

    def of_numbers(x):
        assert isinstance(x, float)
        assert isinstance(x, (float, np.floating))
        assert isinstance(x, numbers.Real)
        assert np.isscalar(x)
        assert not hasattr(x, "__len__")
        assert not np.iterable(x)
        with pytest.raises(TypeError, match="a single number"):
            len(x)
        assert not isinstance(x, np.ndarray | int | complex)
        return x * x

    np.testing.assert_array_equal(ad.grad(of_arrays)(X), [0.0, 1.0, 1.0])
    assert ad.jvp(of_arrays, (X,), (X,))[1] == pytest.approx(X[1] + X[2])
    assert ad.grad(of_numbers)(3.0) == 6.0
    assert ad.jit(ad.grad(of_numbers))(3.0) == 6.0
    assert ad.grad(ad.grad(of_numbers))(3.0) == 2.0
    np.testing.assert_array_equal(ad.vmap(ad.grad(of_numbers))(X), 2 * X)


def test_a_node_of_a_fraction_is_a_node():
    from fractions import Fraction

    assert ad.grad(lambda x: Fraction(1, 2) * x)(Fraction(3)) == Fraction(1, 2)
    assert ad.grad(lambda x: x if isinstance(x, Fraction) else 2 * x)(Fraction(3)) == 2


def test_of_two_calls_on_a_line_the_refused_one_is_named():
    xs = np.linspace(0.0, 1.0, 6)
    both = lambda y: (
        scipy.interpolate.interp1d(xs, y)(0.3) + scipy.interpolate.UnivariateSpline(xs, y)(0.3)
    )
    with pytest.raises(ad.LostDerivativeError, match=r"no derivative rule for \S*UnivariateSpline"):
        ad.grad(both)(xs)


def test_plain_calls_of_scipy_beside_one_that_is_run_again():
    xs = np.linspace(0.0, 1.0, 6)
    parabola = scipy.interpolate.CubicSpline(xs, xs**2)
    f = lambda t: scipy.interpolate.interp1d(xs, 3 * xs)(t) * parabola.integrate(0, 1)
    assert ad.grad(f)(0.3) == pytest.approx(3 * (1 / 3), rel=1e-14)
    g = lambda s: scipy.stats.norm(0.5, scale=s).logpdf(2.0) * parabola.integrate(0, 1)
    assert ad.grad(g)(3.0) == pytest.approx((1.5**2 / 27 - 1 / 3) / 3, rel=1e-14)


def test_a_matrix_made_inside_without_a_real_logarithm():
    f = lambda x: np.sum(np.abs(scipy.linalg.logm(np.array([[x, 0.3], [0.1, 2.0]]))))
    for _ in range(2):  # the second time it is known to need replacements
        with pytest.raises(ad.DomainError, match="logm of this matrix is not real"):
            ad.grad(f)(-1.0)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_the_shape_of_a_window_has_a_derivative(count):
    def window(beta, i):
        side = mpmath.mpf(2 * i) / (count - 1) - 1 if count > 1 else 0
        return mpmath.besseli(0, beta * mpmath.sqrt(1 - side**2)) / mpmath.besseli(0, beta)

    slope = sum((i + 1) * mpmath.diff(lambda beta, i=i: window(beta, i), 3) for i in range(count))
    f = lambda beta: np.sum(np.kaiser(count, beta) * np.arange(1.0, count + 1))
    assert ad.value_and_grad(f)(3.0) == pytest.approx((f(3.0), float(slope)), rel=1e-12)


@pytest.mark.parametrize(
    "convert",
    [
        lambda x: np.require(x),
        lambda x: np.require(x, np.float64, ["C", "W"]),
        lambda x: np.require([x[0], x[1], x[2]]),
        lambda x: np.asarray_chkfinite(x),
        lambda x: np.asarray_chkfinite([x[0], x[1], x[2]]),
    ],
)
def test_conversions_that_check_an_array(convert):
    np.testing.assert_array_equal(ad.grad(lambda x: np.sum(convert(x) ** 2))(X), 2 * X)
    plain = np.array([1.0, 2.0])
    f = lambda x: np.sum(np.require(plain) * np.asarray_chkfinite(plain)) * np.sum(convert(x))
    np.testing.assert_array_equal(ad.grad(f)(X), [5.0, 5.0, 5.0])


def test_an_array_that_is_not_finite_is_refused_as_by_numpy():
    with pytest.raises(ValueError, match="asarray_chkfinite: the array has infs or nans"):
        ad.grad(lambda x: np.sum(np.asarray_chkfinite(x)))(np.array([1.0, np.inf]))


V = np.array([0.6, 1.3])
SETTINGS = {  # what is put beside an array, or into it, in all forms that NumPy takes
    "full": lambda v: np.full((2, 2), v),
    "full of a list": lambda v: np.full((3, 2), [v[0], 2.0]),
    "full_like": lambda v: np.full_like(np.ones((3, 2)), v),
    "full_like of a number": lambda v: np.full_like([1.0, 2.0], v[1]),
    "pad": lambda v: np.pad(v, 2, constant_values=v),
    "pad of a list": lambda v: np.pad(v, 2, constant_values=[1.0, v[0]]),
    "pad of two axes": lambda v: np.pad(
        np.outer(v, v), 2, constant_values=((v[0], 1.0), (2, v[1]))
    ),
    "pad of each axis": lambda v: np.pad(np.outer(v, v), 2, constant_values=v[:, None]),
    "pad of a plain array": lambda v: np.pad(np.ones(3), (1, 2), constant_values=v[0]),
    "pad by a ramp": lambda v: np.pad(v**2, 2, "linear_ramp", end_values=v),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_that_are_nodes(name):
    f = SETTINGS[name]
    plain, slopes = f(V), ad.jacobian(f)(V)
    np.testing.assert_array_equal(ad.jvp(f, (V,), (V,))[0], plain)
    step = 2.0**-20
    for k, e in enumerate(step * np.eye(2)):
        expected = (f(V + e) - f(V - e)) / (2 * step)
        np.testing.assert_allclose(slopes[..., k], expected, atol=1e-8)


def test_full_like_has_the_dtype_of_the_array():
    filled = lambda x: np.full_like(np.ones(2, np.float32), x)
    value, tangent = ad.jvp(filled, (0.1,), (1.0,))
    assert value.dtype == tangent.dtype == np.float32
    np.testing.assert_array_equal(value, filled(0.1))
    truncated = ad.jvp(lambda x: np.full_like([1, 2], x) * x, (2.5,), (1.0,))
    np.testing.assert_array_equal(truncated, [[5.0, 5.0], [2.0, 2.0]])  # of 2 x
