"""Rank filters, kernel densities and distances between samples on nodes: values and both modes."""

import numpy as np
import pytest
from scipy import ndimage, signal, stats

import simpleautodiff as ad
from references import check_both_modes

GENERATOR = np.random.default_rng(8)
IMAGE = (1 + GENERATOR.permutation(30).reshape(5, 6)) / 31  # far from ties, where differences fail
X, Y = GENERATOR.normal(size=12), GENERATOR.normal(size=9)
WEIGHTS = GENERATOR.uniform(0.2, 1.0, size=12)
CROSS = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 1]])
HEIGHTS = np.array([[0.11, 0.22, 0.005], [0.315, 0.016, 0.118]])
EDGES = {
    "reflect": {},
    "constant": {"cval": 0.41, "origin": (0, 1)},
    "wrap": {"origin": (0, -1)},
    "mirror": {},
    "nearest": {"axes": (0, 1)},
}


def rank_filters(x, mode, settings):
    """Return what all rank filters make of an array."""
    settings = {"mode": mode, **settings}
    return np.stack(
        [
            ndimage.minimum_filter(x, size=(2, 3), **settings),
            ndimage.maximum_filter(x, footprint=CROSS, **settings),
            ndimage.median_filter(x, footprint=CROSS, **settings),
            ndimage.percentile_filter(x, -20, size=3, **settings),
            ndimage.percentile_filter(x, 100, size=3, **settings),
            ndimage.rank_filter(x, -2, size=3, **settings),
            ndimage.grey_dilation(x, structure=HEIGHTS, **settings),
            ndimage.grey_erosion(x, size=(2, 3), structure=HEIGHTS, **settings),
            ndimage.grey_opening(x, size=3, **settings),
            ndimage.black_tophat(x, footprint=CROSS, **settings),
            ndimage.morphological_laplace(x, size=3, **settings),
            ndimage.morphological_gradient(x, size=3, **settings),
            ndimage.grey_closing(x, size=3, **settings) + ndimage.white_tophat(x, 3, **settings),
        ]
    )


@pytest.mark.parametrize("mode", EDGES)
def test_rank_filters(mode):
    f = lambda x: rank_filters(x, mode, EDGES[mode])
    check_both_modes(f, IMAGE, exact=1e-15, near=1e-6, transposed=1e-12)
    many = np.stack([IMAGE, IMAGE[::-1]])
    np.testing.assert_allclose(ad.vmap(f)(many), [f(image) for image in many], rtol=1e-14)


def kernel_density(data, **settings):
    return lambda *at: stats.gaussian_kde(data, **settings).logpdf(*at)


OTHERS = {
    "maximum_filter1d": (lambda x: ndimage.maximum_filter1d(x, 3, axis=0), IMAGE),
    "minimum_filter1d": (lambda x: ndimage.minimum_filter1d(x, 4, mode="wrap"), IMAGE),
    "medfilt": (lambda x: signal.medfilt(x, 5), X),
    "medfilt2d": (lambda x: signal.medfilt2d(x, 3), IMAGE),
    "gaussian_laplace": (
        lambda x: ndimage.gaussian_laplace(x, (1.0, 0.7), mode=["wrap", "nearest"]),
        IMAGE,
    ),
    "gradient magnitude": (
        lambda x: ndimage.gaussian_gradient_magnitude(x, 0.7, mode="constant"),
        IMAGE,
    ),
    "upfirdn": (lambda x: signal.upfirdn([1.0, 2.0, 0.5], x, 3, 2, axis=0), IMAGE),
    "filter of upfirdn": (lambda h: signal.upfirdn(h, X, 2, 3), Y[:3]),
    "resample_poly": (lambda x: signal.resample_poly(x, 3, 2, axis=1), IMAGE),
    "sosfiltfilt": (
        lambda x: signal.sosfiltfilt(signal.butter(2, 0.3, output="sos"), x),
        np.r_[X, X, X],
    ),
    "lfilter_zi": (lambda a: signal.lfilter_zi([1.0, 0.2], a), np.array([2.0, 0.5, 0.2])),
    "density at": (lambda x: kernel_density(X)(x), Y),
    "density of": (lambda x: stats.gaussian_kde(x)(Y), X),
    "density in the plane": (
        lambda x: kernel_density(x, bw_method="silverman")(IMAGE[:2]),
        X.reshape(2, 6),
    ),
    "density by weights": (lambda w: stats.gaussian_kde(X, weights=w)(Y), WEIGHTS),
    "bandwidth": (lambda h: stats.gaussian_kde(X, bw_method=h[0])(Y), np.array([0.3])),
    "wasserstein": (lambda x: stats.wasserstein_distance(x, Y, WEIGHTS), X),
    "weights of wasserstein": (lambda w: stats.wasserstein_distance(X, Y, w, None), WEIGHTS),
    "energy": (lambda x: stats.energy_distance(Y, x), X),
    "trimmed": (lambda x: np.array([stats.tmean(x, (-1, 1)), stats.iqr(x), stats.tvar(x)]), X),
    "f_oneway": (lambda x: stats.f_oneway(x, Y).statistic, X),
    "chisquare": (lambda w: stats.chisquare(w / np.sum(w), np.full(12, 1 / 12)).pvalue, WEIGHTS),
    "step response": (
        lambda p: signal.step(([1.0], [1.0, p[0], p[1]]), T=np.linspace(0, 1, 5))[1],
        np.array([1.0, 0.5]),
    ),
    "bode": (
        lambda p: signal.bode(([p[0]], [1.0, p[1], 1.0]), w=np.array([0.1, 1.0]))[1],
        np.array([1.0, 0.5]),
    ),
    "window": (lambda b: signal.windows.kaiser(7, b[0]), np.array([2.0])),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_functions(name):
    f, x = OTHERS[name]
    check_both_modes(f, x, exact=1e-12, near=1e-5, transposed=1e-9)


def test_arrays_without_axes_are_written_to():
    """SciPy writes to them by masks, f_oneway for one."""

    def f(x):
        y = np.array(x[0] * x[1])
        y[y < 0] = x[1]
        y[()] *= x[0]
        y[...] += 1.0
        return y + stats.f_oneway(x, Y).statistic

    check_both_modes(f, X, exact=1e-14, near=1e-6, transposed=1e-12)
    np.testing.assert_allclose(ad.jacfwd(f)(X), ad.jacrev(f)(X), rtol=1e-12)


def test_what_they_refuse():
    with pytest.raises(ad.RuleError, match="in x alone"):
        ad.grad(lambda s: np.sum(signal.sosfiltfilt(s, np.ones(40))))(
            signal.butter(2, 0.3, output="sos")
        )
    with pytest.raises(ad.RuleError, match="mode='wrap'"):
        ad.grad(lambda x: np.sum(signal.upfirdn([1.0], x, mode="wrap")))(X)
    with pytest.raises(ad.RuleError, match="rising order"):
        ad.grad(lambda x: np.sum(ndimage.median_filter(x, (2, 3), axes=(1, 0))))(IMAGE)
    with pytest.raises(ad.AutodiffError, match="size or its footprint"):
        ad.grad(lambda x: np.sum(ndimage.median_filter(x)))(IMAGE)
