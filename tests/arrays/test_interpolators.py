"""Interpolators of scipy.interpolate through nodes: values, all modes, refusals."""

import numpy as np
import pytest
import scipy.interpolate as si

import simpleautodiff as ad
from references import check_both_modes

X = np.array([0.0, 0.7, 1.1, 2.0, 2.6, 3.5])
Y = np.array([0.1, 1.3, 1.9, 1.2, 1.25, 2.7])  # it rises and falls
T = np.array([-0.2, 0.05, 0.75, 1.5, 2.3, 3.1, 3.5])
SEVERAL = np.stack([Y, np.sin(X), np.exp(-X)])
CURVES = {
    "pchip": si.PchipInterpolator,
    "pchip without ends": lambda x, y, **axis: si.PchipInterpolator(
        x, y, extrapolate=False, **axis
    ),
    "akima": lambda x, y, **axis: si.Akima1DInterpolator(x, y, extrapolate=True, **axis),
    "makima": lambda x, y, **axis: si.Akima1DInterpolator(x, y, method="makima", **axis),
    "hermite": lambda x, y, **axis: si.CubicHermiteSpline(x, y, np.cos(y), **axis),
}


@pytest.mark.parametrize("name", CURVES)
def test_curves_through_nodes(name):
    make = CURVES[name]
    inside = T[1:]
    tolerances = {"exact": 1e-12, "near": 1e-6, "transposed": 1e-12}
    check_both_modes(lambda y: make(X, y)(inside), Y, **tolerances)
    check_both_modes(lambda x: make(x, Y)(inside[:-1]), X, **tolerances)
    check_both_modes(lambda t: make(X, np.asarray(Y))(t), inside[:-1] + 0.01, **tolerances)
    check_both_modes(lambda y: make(X, y, axis=1)(inside), SEVERAL, **tolerances)
    check_both_modes(lambda y: make(X, y)(inside, 1), Y, **tolerances)
    check_both_modes(lambda y: make(X, y).derivative()(inside), Y, **tolerances)
    check_both_modes(lambda y: make(X, y).integrate(0.3, 2.9), Y, **tolerances)


@pytest.mark.parametrize("name", ["pchip", "makima"])
def test_curves_of_each_example(name):
    curve = lambda y: CURVES[name](X, y)(T[2:5])
    np.testing.assert_allclose(ad.vmap(curve)(SEVERAL), [curve(y) for y in SEVERAL], rtol=1e-12)
    slopes = ad.vmap(ad.jacobian(curve))(SEVERAL)
    np.testing.assert_allclose(slopes, [ad.jacobian(curve)(y) for y in SEVERAL], rtol=1e-12)


def test_lines_and_flats():
    """Two points give a line; between equal values the monotone interpolator is flat."""
    for make in (si.PchipInterpolator, si.Akima1DInterpolator):
        slope = ad.jacobian(lambda y, make=make: make([0.0, 2.0], y)(0.5))(np.array([1.0, 3.0]))
        np.testing.assert_allclose(slope, [0.75, 0.25], rtol=1e-14)
    flat = lambda y: si.PchipInterpolator([0.0, 1.0, 2.0, 3.0], y)(1.5)
    assert flat(np.array([0.0, 1.0, 1.0, 2.0])) == 1.0
    slopes = ad.grad(flat)(np.array([0.0, 1.0, 1.0, 2.0]))
    np.testing.assert_allclose(slopes, [0.0, 0.5, 0.5, 0.0], atol=1e-14)
    np.testing.assert_allclose(
        ad.grad(lambda y: si.pchip_interpolate(X, y, 0.4, der=1))(Y),
        ad.grad(lambda y: si.PchipInterpolator(X, y)(0.4, 1))(Y),
    )


def test_what_a_curve_through_nodes_does_not_do_is_refused():
    with pytest.raises(ad.RuleError, match="roots of a PchipInterpolator"):
        ad.grad(lambda y: si.PchipInterpolator(X, y).roots()[0])(Y - 1.5)


PERIODIC = {
    "spline": si.CubicSpline,
    "pchip": si.PchipInterpolator,
    "akima": si.Akima1DInterpolator,
    "makima": lambda x, y, **how: si.Akima1DInterpolator(x, y, method="makima", **how),
}


@pytest.mark.parametrize("name", PERIODIC)
def test_periods_of_a_curve(name):
    """SciPy's own values outside of the points, on which y depends linearly or smoothly."""
    tolerances = {"exact": 1e-12, "near": 1e-6, "transposed": 1e-12}
    for f in (
        lambda curve: curve(np.array([-4.0, 0.2, 9.5])),
        lambda curve: curve.integrate(-4.0, 9.5),
        lambda curve: curve.integrate(3.0, 0.1),
        lambda curve: np.nan_to_num(curve.antiderivative()(np.array([0.3, 4.0])), nan=7.0),
    ):
        made = lambda y, f=f: f(PERIODIC[name](X, y, extrapolate="periodic"))
        check_both_modes(made, Y, **tolerances)
        slopes = ad.jacobian(made)(Y) @ np.cos(X)
        step = 1e-5 * np.cos(X)
        np.testing.assert_allclose(
            slopes, (made(Y + step) - made(Y - step)) / 2e-5, rtol=1e-6, atol=1e-8
        )


UNFIT = {
    "points that do not increase": lambda y: si.PchipInterpolator(X[::-1], y),
    "equal points": lambda y: si.Akima1DInterpolator(X * [1, 1, 0, 0, 1, 1], y),
    "fewer values than points": lambda y: si.PchipInterpolator(X, y[1:]),
    "points in rows": lambda y: si.CubicHermiteSpline(X[None], y[None], y[None]),
    "radial points of another dimension": lambda y: si.RBFInterpolator(ASKED, y[:3])(X[:, None]),
    "radial points in no rows": lambda y: si.RBFInterpolator(X, y),
    "fewer radial points than polynomials": lambda y: si.RBFInterpolator(ASKED[:2], y[:2]),
    "no such degree": lambda y: si.RBFInterpolator(X[:, None], y, degree=-2),
    "smoothing of other points": lambda y: si.RBFInterpolator(X[:, None], y, smoothing=np.ones(2)),
}


@pytest.mark.parametrize("name", UNFIT)
def test_what_scipy_refuses_is_refused(name):
    with pytest.raises(ValueError):  # noqa: PT011 (SciPy has words of its own)
        UNFIT[name](Y)
    with pytest.raises(ad.errors.InputError):
        ad.jacobian(lambda y: UNFIT[name](y) and y)(Y)
    with pytest.raises(ad.errors.InputError):
        ad.vmap(lambda y: UNFIT[name](y) and y)(SEVERAL)


PLACES = np.array(
    [[0.0, 0.1], [1.0, 0.2], [0.3, 1.0], [0.9, 1.1], [0.5, 0.45], [0.1, 0.6], [1.3, 0.7]]
)
VALUES = np.sin(3 * PLACES[:, 0]) + PLACES[:, 1] ** 2
ASKED = np.array([[0.4, 0.5], [0.8, 0.3], [1.0, 0.21]])
KERNELS = {
    "linear": {},
    "thin_plate_spline": {},
    "cubic": {"smoothing": 0.1},
    "quintic": {},
    "multiquadric": {"epsilon": 1.3},
    "inverse_multiquadric": {"epsilon": 1.3, "degree": 1},
    "inverse_quadratic": {"epsilon": 0.8, "degree": -1},
    "gaussian": {"epsilon": 2.0, "neighbors": 5},
}


@pytest.mark.parametrize("kernel", KERNELS)
def test_radial_functions(kernel):
    def make(y, d):
        return si.RBFInterpolator(y, d, kernel=kernel, **KERNELS[kernel])

    tolerances = {"exact": 1e-10, "near": 1e-5, "transposed": 1e-9}
    check_both_modes(lambda d: make(PLACES, d)(ASKED), VALUES, **tolerances)
    check_both_modes(lambda y: make(y, VALUES)(ASKED), PLACES, **tolerances)
    check_both_modes(lambda x: make(PLACES, VALUES)(x), ASKED, **tolerances)
    several = np.stack([VALUES, VALUES**2], axis=1)
    check_both_modes(lambda d: make(PLACES, d)(ASKED), several, **tolerances)


def test_settings_of_radial_functions():
    def f(p):
        made = si.RBFInterpolator(PLACES, VALUES, smoothing=p[0], kernel="gaussian", epsilon=p[1])
        return made(ASKED)

    check_both_modes(f, np.array([0.05, 1.4]), 1e-10, 1e-5, 1e-9)
    own = ad.vmap(lambda d: si.RBFInterpolator(PLACES, d)(ASKED))(np.stack([VALUES, VALUES**2]))
    plain = [si.RBFInterpolator(PLACES, d)(ASKED) for d in (VALUES, VALUES**2)]
    np.testing.assert_allclose(own, plain, rtol=1e-10)
    at_a_point = ad.jacobian(lambda d: si.RBFInterpolator(PLACES, d)(PLACES[:1]))(VALUES)
    np.testing.assert_allclose(at_a_point, np.eye(7)[:1], atol=1e-10)


REFUSED = {
    "no such kernel": (lambda d: si.RBFInterpolator(PLACES, d, kernel="wavy"), "kernel"),
    "no epsilon": (lambda d: si.RBFInterpolator(PLACES, d, kernel="gaussian"), "epsilon"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_settings_that_do_not_exist_are_refused(name):
    f, words = REFUSED[name]
    with pytest.raises(ad.RuleError, match=words):
        ad.grad(lambda d: np.sum(f(d)(ASKED)))(VALUES)


@pytest.mark.parametrize(
    "name", ["PchipInterpolator", "Akima1DInterpolator", "CubicSpline", "make_interp_spline"]
)
def test_splines_through_nodes_refuse_what_scipy_refuses(name):
    y = np.array([1.0, 2.0, 4.0, 3.0])
    refused = {
        "falling": (np.array([0.0, 2.0, 1.0, 3.0]), y),
        "twice": (np.array([0.0, 1.0, 1.0, 3.0]), y),
        "nan in x": (np.array([0.0, 1.0, np.nan, 3.0]), y),
        "nan in y": (np.arange(4.0), y * np.nan),
        "another length": (np.arange(3.0), y),
    }
    for x, y in refused.values():
        make = lambda y, x=x: getattr(si, name)(x, y)(1.5)
        with pytest.raises(ValueError, match=r"x|y|infs"):
            make(y)
        with pytest.raises(ValueError, match=r"x|y|infs"):
            ad.grad(make)(y)
