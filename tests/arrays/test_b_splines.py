"""B-splines of scipy.interpolate with nodes for coefficients: values, all modes, refusals."""

import numpy as np
import pytest
import scipy.interpolate as si

import simpleautodiff as ad
from references import alike, check_both_modes, differences

X = np.array([0.0, 0.15, 0.3, 0.45, 0.7, 0.8, 1.0])
T = np.array([0.1, 0.37, 0.9])
KNOTS = np.array([0.0, 0, 0, 0, 0.4, 0.7, 1, 1, 1, 1])
C = np.array([1.0, 0.2, -0.7, 1.2, 0.3, 0.5])


def through(y):
    return si.make_interp_spline(X, y)


CASES = {
    "values": lambda c: si.BSpline(KNOTS, c, 3)(T) ** 2,
    "values where the coefficients say": lambda c: si.BSpline(KNOTS, c, 3)(c[:2] ** 2 / 2),
    "a slope": lambda c: si.BSpline(KNOTS, c, 3)(T, nu=1) * c[0],
    "derivative": lambda c: si.BSpline(KNOTS, c, 3).derivative(2)(T) * c[0],
    "antiderivative": lambda c: si.BSpline(KNOTS, c, 3).antiderivative()(T) ** 2,
    "integral": lambda c: si.BSpline(KNOTS, c, 3).integrate(0.1, c[1]),
    "integral beyond the ends": lambda c: si.BSpline(KNOTS, c, 3).integrate(-0.1, 1 + c[1]),
    "integral within the ends": lambda c: si.BSpline(KNOTS, c, 3, False).integrate(-0.1, 1.3),
    "outside": lambda c: si.BSpline(KNOTS, c, 3)(np.array([-0.2, 1.1])) ** 2,
    "along an axis": lambda c: si.BSpline(KNOTS, np.outer([1, 2], c**2), 3, axis=1)(T),
    "knots and coefficients": lambda c: si.BSpline(*si.BSpline(KNOTS, c, 3).tck)(T) ** 2,
    "interpolation": lambda c: through(np.sin(X * c[0]) * c[1])(T) ** 2,
    "interpolation of columns": lambda c: through(np.outer(X, c**2))(T),
    "interpolation along rows": lambda c: si.make_interp_spline(X, np.outer(c**2, X), 2, axis=1)(T),
    "natural ends": lambda c: si.make_interp_spline(X, X * c[0] ** 2, bc_type="natural")(T),
    "splrep and splev": lambda c: si.splev(T, si.splrep(X, np.exp(X * c[0]))),
    "splrep and splev, quadratic": lambda c: si.splev(T, si.splrep(X, np.exp(X * c[0]), k=2)),
    "a slope by splev": lambda c: si.splev(c[3] / 3, si.splrep(X, np.exp(X * c[0])), der=1),
    "splev of plain coefficients": lambda c: si.splev(c[1:2], si.splrep(X, np.exp(X))),
}


@pytest.mark.parametrize("name", CASES)
def test_splines_of_nodes(name):
    f = CASES[name]
    total = lambda c: np.sum(f(c))
    u = check_both_modes(f, C, 1e-12, 1e-8, 1e-12)
    alike(ad.hvp(total, (C,), (u,)), differences(ad.grad(total), C, u), 1e-8)
    alike(ad.vmap(ad.grad(total))(np.stack([C, 2 * C]))[0], ad.grad(total)(C), 1e-12)
    alike(ad.jit(ad.grad(total))(C), ad.grad(total)(C), 1e-12)


@pytest.mark.parametrize("kind", ["linear", "nearest", "quadratic", "cubic", 5])
def test_interp1d_of_nodes(kind):
    y, weights = np.sin(3 * X), si.interp1d(X, np.eye(len(X)), kind, axis=0)(T)
    f = lambda y: np.sum(si.interp1d(X, y, kind)(T) ** 2)
    alike(ad.grad(f)(y), 2 * weights.T @ (weights @ y), 1e-12)
    alike(ad.hessian(f)(y), 2 * weights.T @ weights, 1e-12)
    alike(ad.jit(ad.grad(f))(y), ad.grad(f)(y), 1e-12)


OPEN = np.array([0.0, 0.5, 1.0, 2.0, 2.7, 3.0, 4.0, 5.0, 5.5, 6.0])  # the ends are 2 and 4
AROUND = np.array([0.1, 1.5, 2.1, 3.5, 4.9, 7.0])


@pytest.mark.parametrize("extrapolate", [True, False, "periodic"])
def test_beyond_the_ends_of_a_spline_whose_knots_are_not_repeated(extrapolate):
    """Expected: SciPy's values, and its derivative of order one."""
    made = lambda c: si.BSpline(OPEN, c, 3, extrapolate)
    expected, slopes = made(C)(AROUND), made(C)(AROUND, 1)
    value, own = ad.jvp(made(C), (AROUND,), (np.ones(6),))
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    inside = ~np.isnan(expected)
    assert np.all(inside) == bool(extrapolate)
    alike(own[inside], slopes[inside], 1e-12)
    np.testing.assert_array_equal(
        np.isnan(ad.jvp(lambda c: made(c)(AROUND), (C,), (C,))[0]), ~inside
    )
    alike(ad.jacobian(lambda c: made(c)(AROUND)[inside])(C) @ C, expected[inside], 1e-12)
    alike(ad.jacobian(lambda c: made(c).derivative()(AROUND)[inside])(C) @ C, slopes[inside], 1e-11)


def test_periodic_interpolation():
    y = np.array([0.2, 1.0, -0.3, 0.4, 0.9, 0.1])
    f = lambda y: si.make_interp_spline(X, np.append(y, y[0]), bc_type="periodic")(AROUND)
    check_both_modes(f, y, 1e-12, 1e-8, 1e-12)
    alike(ad.jacobian(f)(y) @ y, f(y), 1e-12)
    alike(ad.vmap(f)(np.stack([y, 2 * y])), [f(y), 2 * f(y)], 1e-12)
    with pytest.raises(ad.errors.InputError, match="begins with"):
        ad.jacobian(lambda y: si.make_interp_spline(X, y, bc_type="periodic")(T))(np.arange(7.0))


def test_pieces_from_right_to_left():
    pieces = si.PPoly(np.array([[1.0, -2.0], [0.5, 3.0]]), np.array([2.0, 1.0, 0.0]))
    at = np.array([-0.5, 0.5, 1.0, 1.5, 2.5])
    value, slopes = ad.jvp(pieces, (at,), (np.ones(5),))
    alike(value, pieces(at), 1e-15)
    alike(slopes, [-2.0, -2.0, -2.0, 1.0, 1.0], 1e-15)


def test_what_splines_of_nodes_refuse():
    for f, message in (
        (lambda c: si.BSpline(np.sort(c), c[:2], 3)(0.3), "knots .* plain numbers"),
        (lambda c: si.BSpline(KNOTS, c, 3, "periodic").integrate(0.0, 2.0), "periodic spline"),
        (lambda c: si.BSpline(KNOTS, c, 3).insert_knot(0.3), "insert_knot of a BSpline of nodes"),
        (lambda c: si.make_interp_spline(np.sort(c), X[1:])(0.3), "plain points x"),
        (lambda c: si.splev(0.3, si.splrep(X, X * c[0], s=0.1)), "interpolates alone"),
        (lambda c: si.splev(0.3, si.splrep(X, X * c[0]), ext=1), "ext=0"),
    ):
        with pytest.raises(ad.RuleError, match=message):
            ad.grad(f)(C)
    assert type(si.BSpline(KNOTS, C, 3)) is si.BSpline
