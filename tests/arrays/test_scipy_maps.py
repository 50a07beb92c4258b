"""Transforms, filters, integrals, distances and splines of SciPy on nodes, by unchanged code."""

import importlib
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import scipy.fft as sf
import scipy.integrate as si
import scipy.interpolate as sp
import scipy.ndimage as nd
import scipy.signal as ss
import scipy.spatial.distance as sd

import simpleautodiff as ad
from references import alike, check_both_modes, differences
from simpleautodiff.arrays.lost_derivatives import SCIPY
from simpleautodiff.arrays.patch_scipy import MODULES, module_of

GENERATOR = np.random.default_rng(11)
V = GENERATOR.normal(size=6)
W = GENERATOR.normal(size=3)
M = GENERATOR.normal(size=(4, 5))
K = GENERATOR.normal(size=(2, 3))
X = np.cumsum(GENERATOR.random(6) + 0.3)
KNOTS = np.linspace(-2.0, 2.0, 7)
LOW, HIGH = ss.butter(2, 0.3)
SECTIONS = ss.butter(4, 0.3, output="sos")
STATE = ss.lfilter_zi(LOW, HIGH)
SECTIONS_STATE = ss.sosfilt_zi(SECTIONS)
STATES = GENERATOR.normal(size=(2, 2, 5))


def filter_sections(x, axis=-1, zi=None):
    return ss.sosfilt(SECTIONS, x, axis, zi)


def parts(z):
    return np.concatenate([np.real(z), np.imag(z)], -1)


TRANSFORMS = {
    **{
        name: (lambda x, f=name: parts(getattr(sf, f)(x**2, norm="ortho")), V)
        for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
    },
    **{
        name: (lambda x, f=name: parts(getattr(sf, f)(x**2, axes=(1, 0))), M)
        for name in ("fft2", "ifft2", "rfft2", "irfft2", "hfft2", "ihfft2")
    },
    **{
        name: (lambda x, f=name: parts(getattr(sf, f)(x**2, s=(4, 3), norm="forward")), M)
        for name in ("fftn", "ifftn", "rfftn", "irfftn", "hfftn", "ihfftn")
    },
    **{
        f"{name} {kind}": (lambda x, f=name, k=kind: getattr(sf, f)(x**2, k, axis=0), M)
        for name in ("dct", "idct", "dst", "idst")
        for kind in (1, 2, 3, 4)
    },
    **{
        name: (lambda x, f=name: getattr(sf, f)(x**2, 3, s=(3, 6), norm="ortho"), M)
        for name in ("dctn", "idctn", "dstn", "idstn")
    },
}
FILTERS = {
    "convolve": (lambda x: ss.convolve(x**2, x[:3], "same") + ss.convolve(V, x, "same"), V),
    "convolve matrices": (lambda x: ss.convolve(x, K**2, "valid") + ss.convolve(K, x, "valid"), M),
    "correlate": (lambda x: ss.correlate(x[:4], x**2) + ss.correlate(x**2, W[:1], "full")[0], V),
    "fftconvolve": (lambda x: ss.fftconvolve(x, x), M),
    "oaconvolve": (lambda x: ss.oaconvolve(x, W, "valid"), V),
    "convolve2d": (lambda x: ss.convolve2d(x**2, x[:2, :3], boundary="wrap"), M),
    "correlate2d": (lambda x: ss.correlate2d(x**2, K, "same", boundary="symm"), M),
    "correlate2d filled": (lambda x: ss.correlate2d(x, x[:2, 1:], fillvalue=0.5), M),
    "lfilter": (lambda x: ss.lfilter(x[:2], np.append(2.0, x[2:4] / 3), V), V),
    "lfilter along": (lambda x: ss.lfilter(LOW, HIGH, x**2, axis=0), M),
    "lfilter from a state": (lambda x: np.append(*ss.lfilter(LOW, HIGH, x, zi=STATE * x[0])), V),
    "sosfilt": (lambda x: ss.sosfilt(SECTIONS, x**2), M),
    "sosfilt from a state": (lambda x: np.append(*filter_sections(x, zi=x[0] * SECTIONS_STATE)), V),
    "sosfilt from a state, along": (lambda x: filter_sections(x**2, 0, STATES)[0], M),
    "sosfiltfilt": (lambda x: ss.sosfiltfilt(SECTIONS, x**2, padlen=3), M),
    "decimate": (lambda x: ss.decimate(x.reshape(-1) ** 2, 2, 2), M),
    "decimate along": (lambda x: ss.decimate(x**2, 2, 4, "fir", axis=0), M),
    "filtfilt": (lambda x: ss.filtfilt(LOW, HIGH, x**2, padlen=3), M),
    "detrend": (lambda x: ss.detrend(x**2) + ss.detrend(x, 0, "constant"), M),
    "hilbert": (lambda x: np.abs(ss.hilbert(x**2)) + np.abs(ss.hilbert(x, 7, axis=0)[:4]), M),
    "hilbert of an even length": (lambda x: parts(ss.hilbert(x**2)), V),
    "resample": (lambda x: ss.resample(x**2, 9), V),
    "savgol_filter": (lambda x: ss.savgol_filter(x**2, 5, 2, deriv=1), V),
    "ndimage convolve": (lambda x: nd.convolve(x, x[:2, :3], mode="nearest"), M),
    "ndimage correlate": (lambda x: nd.correlate(x**2, K, mode="constant", cval=2.0), M),
    "convolve1d": (lambda x: nd.convolve1d(x**2, W, 0, mode="mirror", origin=1), M),
    "correlate1d": (lambda x: nd.correlate1d(M, x[:4], mode="wrap"), V),
    "gaussian_filter": (lambda x: nd.gaussian_filter(x**2, (1.0, 0.5), (0, 1)), M),
    "gaussian_filter1d": (lambda x: nd.gaussian_filter1d(x**2, 0.8, radius=2), V),
    "uniform_filter": (lambda x: nd.uniform_filter(x**2, 2), M),
    "uniform_filter1d": (lambda x: nd.uniform_filter1d(x**2, 3, mode="constant"), V),
    "sobel prewitt": (lambda x: nd.sobel(x**2) + nd.prewitt(x, 0), M),
    "laplace": (lambda x: nd.laplace(x**2), M),
}
INTEGRALS = {
    "trapezoid": (lambda x: si.trapezoid(x**2, x) + si.trapezoid(x, dx=x[0]), X),
    "simpson": (lambda x: si.simpson(M**2, x=x[:5]) + si.simpson(M, dx=x[0]), X),
    "simpson, even": (lambda x: si.simpson(x**3, x=x) + si.simpson(x**2), X),
    "simpson, two points": (lambda x: si.simpson(x[:2], x=x[:2] ** 2), X),
    "cumulative_trapezoid": (lambda x: si.cumulative_trapezoid(x**2, x, initial=0), X),
    "cumulative_simpson": (lambda x: si.cumulative_simpson(x**3, x=x, initial=2.0), X),
    "cumulative_simpson along": (lambda x: si.cumulative_simpson(x**2, dx=0.3, axis=0), M),
    "romb": (lambda x: si.romb(x**3, dx=0.2), M),
}
DISTANCES = {
    **{
        name: (lambda x, m=name: sd.cdist(x, M[:, :3] + 5, m) + sd.pdist(x**2, m)[:4], M[:, 1:4])
        for name in ("euclidean", "sqeuclidean", "cityblock", "chebyshev", "cosine", "correlation")
    },
    "minkowski": (lambda x: sd.pdist(x, "minkowski", p=3, w=W**2), M[:, 1:4]),
    "mahalanobis": (lambda x: sd.cdist(x, x + 4, "mahalanobis", VI=np.diag(W**2)), M[:, 1:4]),
    "two vectors": (lambda x: sd.euclidean(x, V**2) + sd.cosine(x, V**2) + sd.cityblock(x, X), V),
    "jensenshannon": (lambda x: sd.jensenshannon(x**2, V**2 + 1, base=3.0), V),
    "squareform": (lambda x: sd.squareform(x**2), V),
    "squareform back": (lambda x: sd.squareform(x @ x.T, checks=False), M),
}
SPLINES = {
    "CubicSpline": (lambda t: sp.CubicSpline(KNOTS, np.sin(KNOTS))(t), V),
    "CubicSpline of rows": (lambda t: sp.CubicSpline(KNOTS, np.eye(7), axis=1)(t, 1), V),
    "CubicSpline, periodic": (
        lambda t: sp.CubicSpline(KNOTS, np.cos(np.pi * KNOTS), bc_type="periodic")(t * 2),
        V,
    ),
    "PchipInterpolator": (lambda t: sp.PchipInterpolator(KNOTS, KNOTS**2)(t), V),
    "Akima1DInterpolator": (lambda t: sp.Akima1DInterpolator(KNOTS, KNOTS**3)(t / 2), V),
    "BSpline": (lambda t: sp.make_interp_spline(KNOTS, np.exp(KNOTS), 5)(t), V),
}
CASES = {**TRANSFORMS, **FILTERS, **INTEGRALS, **DISTANCES, **SPLINES}
every_case = pytest.mark.parametrize(("f", "x"), CASES.values(), ids=CASES)


@every_case
def test_values_and_first_derivatives(f, x):
    check_both_modes(f, x, exact=1e-13, near=1e-11, transposed=1e-12)


@every_case
def test_second_derivatives(f, x):
    direction = np.cos(np.arange(x.size)).reshape(x.shape)
    total = lambda x: np.sum(np.sin(f(x)))
    product = ad.hvp(total, (x,), (direction,))
    alike(product, differences(ad.grad(total), x, direction), 1e-10)
    alike(ad.grad(lambda x: np.sum(ad.grad(total)(x) * direction))(x), product, 1e-11)


@every_case
def test_batches(f, x):
    many = np.stack([x, 0.99 * x, 1.01 * x])
    alike(ad.vmap(f)(many), np.stack([f(one) for one in many]), 1e-13)
    slope = ad.grad(lambda x: np.sum(np.sin(f(x))))
    alike(ad.vmap(slope)(many), np.stack([slope(one) for one in many]), 1e-12)


@every_case
def test_float32_stays_so(f, x):
    gradient = ad.grad(lambda x: np.sum(f(x)))(x.astype(np.float32))
    assert gradient.dtype == np.float32
    alike(gradient, ad.grad(lambda x: np.sum(f(x)))(x), 1e-4)


@pytest.mark.parametrize("order", range(6))
@pytest.mark.parametrize("mode", ["reflect", "mirror", "nearest", "grid-wrap", "constant"])
def test_coordinates_outside_of_an_image(mode, order):
    """An image is a sum of images of one element each, which SciPy evaluates."""
    elements = np.eye(8)
    at = np.array(
        [[-31.3, -8.4, -2.5, -1.5, -1.2, -0.5, -0.3, 0.2, 3.5, 6.9, 7.2, 7.5, 8.5, 9.7, 40.1]]
    )
    for prefilter in (True, False):
        f = lambda x, p=prefilter: nd.map_coordinates(x, at, order=order, mode=mode, prefilter=p)
        slopes = np.stack([f(each) for each in elements], axis=-1)
        alike(ad.jacobian(f)(np.cos(V[0] * np.arange(8.0))), slopes, 1e-6)


@pytest.mark.parametrize("name", MODULES)
def test_another_import_line(name):
    ours = importlib.import_module(f"simpleautodiff.scipy.{name}")
    theirs = importlib.import_module(f"scipy.{name}")
    own = ("convolve", "odeint")  # with arguments of HIPS autograd
    public = [each for each in dir(theirs) if each[0] != "_" and each not in own]
    functions = [each for each in public if not isinstance(getattr(theirs, each), ModuleType)]
    assert all(getattr(ours, each) is getattr(theirs, each) for each in functions)
    assert set(public) <= set(dir(ours))


COMPLEX = (*(lambda z, f=f: getattr(sf, f)(z) for f in ("fft", "dct")), lambda z: ss.convolve(z, W))


@pytest.mark.parametrize("f", COMPLEX)
def test_complex_numbers(f):
    z = V + 1j * X
    value, tangent = ad.jvp(f, (z,), (1j * z,))
    alike(value, f(z), 1e-13)
    alike(tangent, 1j * f(z), 1e-13)
    (adjoint,) = ad.vjp(f, z)[1](value)
    alike(np.sum(adjoint * z), np.sum(value * f(z)), 1e-12)


def test_norms_and_lengths_of_transforms_into_waves():
    for name in ("dct", "idct", "dst", "idst"):
        for kind in (1, 2, 3, 4):
            for norm in ("backward", "ortho", "forward"):
                for orthogonal in (None, True, False):
                    settings = {"norm": norm, "orthogonalize": orthogonal, "n": 5}
                    f = lambda x, k=kind, s=settings, g=name: getattr(sf, g)(x, k, **s)
                    value, tangent = ad.jvp(f, (V,), (X,))
                    alike(value, f(V), 1e-13)
                    alike(tangent, f(X), 1e-13)


SHAPES = [(6, 3), (3, 6), (4, 4), (5, 2), (1, 3)]


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize(("n", "m"), SHAPES)
def test_sizes_of_convolutions(n, m, mode):
    a, b = GENERATOR.normal(size=(n, n)), GENERATOR.normal(size=(m, m))
    for name in ("convolve", "correlate", "fftconvolve", "convolve2d", "correlate2d"):
        f = lambda a, b, name=name: getattr(ss, name)(a, b, mode)
        alike(ad.jvp(lambda a, f=f: f(a, b), (a,), (a,))[0], f(a, b), 1e-12)
        alike(ad.jvp(lambda b, f=f: f(a, b), (b,), (b,))[1], f(a, b), 1e-12)


@pytest.mark.parametrize("mode", ["reflect", "mirror", "nearest", "wrap", "constant"])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_edges_of_filters(mode, size):
    weights = GENERATOR.normal(size=size)
    settings = {"mode": mode, "cval": 0.7}
    for name in ("convolve1d", "correlate1d"):
        for k in range(-(size // 2) + (name == "convolve1d"), (size + 1) // 2):
            g = lambda x, f=name, k=k: getattr(nd, f)(x, weights, **settings, origin=k)
            alike(ad.jvp(g, (M,), (M,))[0], g(M), 1e-13)


def test_filters_end_in_a_state():
    for n in (1, 2, 6):
        f = lambda x: ss.lfilter(2 * LOW, 2 * HIGH, x, zi=STATE)
        for ours, theirs in zip(ad.jvp(f, (V[:n],), (V[:n],))[0], f(V[:n]), strict=True):
            alike(ours, theirs, 1e-12)


def test_distance_of_equal_points_has_slope_0():
    slope = ad.grad(lambda x: np.sum(sd.cdist(x, M)))(M)
    assert np.all(np.isfinite(slope))


def test_a_spline_that_ends_is_nan_beyond():
    spline = sp.CubicSpline(KNOTS, KNOTS, extrapolate=False)
    np.testing.assert_array_equal(
        ad.jvp(spline, (np.array([-3.0, 0.5, 3.0]),), (np.ones(3),))[0], [np.nan, 0.5, np.nan]
    )


def test_every_function_of_these_modules_is_tried():
    here = Path(__file__)
    text = here.read_text(encoding="utf-8")
    for name in ("test_scipy_grids.py", "test_scipy_samples.py"):
        text += here.with_name(name).read_text(encoding="utf-8")
    modules = {"fft", "integrate", "ndimage", "signal", "spatial.distance"}
    assert modules <= set(MODULES)
    missing = [key for key in SCIPY if module_of(key) in modules and key.split(".")[-1] not in text]
    assert not missing


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: sp.CubicSpline(X, x, bc_type="periodic")(1.0), "not-a-knot.*'periodic'"),
        (lambda x: sp.CubicSpline(x, X)(1.0), "takes plain points x"),
        (lambda x: ss.fftconvolve(np.stack([x, x]), M[:2], axes=1), "no rule for some of the axes"),
        (lambda x: ss.filtfilt(x, x, V), r"scipy\.signal\.lfilter has one"),
        (lambda x: nd.gaussian_filter(M, x[0]), r"pass sigma\.value"),
        (lambda x: nd.convolve1d(x, W, output=np.zeros(6)), "no rule for output"),
        (lambda x: sd.pdist(x[:, None], "braycurtis"), "'braycurtis' have no derivative rule"),
        (lambda x: sf.dct(x, 5), "the type is 1, 2, 3 or 4"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ad.AutodiffError, match=message):
        ad.grad(lambda x: np.sum(call(x)))(V)


THROUGH_NODES = {
    "at numbers": lambda y: sp.CubicSpline(KNOTS, y)([-1.3, 0.2, 2.3]),
    "at a node": lambda y: sp.CubicSpline(KNOTS, y)(y[0]),
    "natural": lambda y: sp.CubicSpline(KNOTS, y, bc_type="natural")(0.4, 1),
    "clamped": lambda y: sp.CubicSpline(KNOTS, y, bc_type="clamped").derivative(2)(0.4),
    "a list": lambda y: sp.CubicSpline(KNOTS, [*y[:6], 1.0], extrapolate=True)(KNOTS + 0.1),
    "of rows": lambda y: sp.CubicSpline(KNOTS, np.outer(y, y), axis=1)([0.3, 1.1]),
    "integral": lambda y: sp.CubicSpline(KNOTS, y).integrate(-1.2, 0.9),
    "antiderivative": lambda y: sp.CubicSpline(KNOTS, y).antiderivative(2)([0.1, 1.3]),
    "coefficients": lambda y: sp.CubicSpline(KNOTS, y).c[1],
}


@pytest.mark.parametrize("name", THROUGH_NODES)
def test_cubic_splines_through_nodes(name):
    f, y = THROUGH_NODES[name], np.cos(KNOTS) / 3
    total = lambda y: np.sum(np.sin(f(y)))
    alike(ad.vjp(f, y)[0], f(y), 1e-14)
    step = 1e-5
    slope = [(total(y + e) - total(y - e)) / (2 * step) for e in step * np.eye(len(y))]
    alike(ad.grad(total)(y), slope, 1e-7)
    alike(ad.jacobian(total, mode="forward")(y), slope, 1e-7)
    alike(ad.vmap(ad.grad(total))(np.stack([2 * y, y]))[1], slope, 1e-7)
    compiled = ad.jit(ad.grad(total))
    compiled(y / 2)
    alike(compiled(y), slope, 1e-7)


def test_roots_of_a_spline_through_nodes_do_not_lose_a_derivative():
    for name in ("roots", "solve"):
        with pytest.raises(ad.RuleError, match=f"{name} of a CubicSpline through nodes"):
            ad.grad(lambda y, name=name: getattr(sp.CubicSpline(KNOTS, y), name)()[0])(KNOTS)


def test_the_recipe_for_values_of_a_spline():
    t = np.array([-1.3, 0.2, 1.7])
    matrix = sp.CubicSpline(KNOTS, np.eye(7))(t)
    alike(matrix @ np.sin(KNOTS), sp.CubicSpline(KNOTS, np.sin(KNOTS))(t), 1e-14)


def test_the_metric_that_needs_a_matrix_is_named():
    with pytest.raises(ad.RuleError, match=r"'seuclidean'.* mahalanobis \(with VI=\), minkowski"):
        ad.grad(lambda x: np.sum(sd.cdist(x, x, "seuclidean")))(np.eye(2))
