"""Interpolation on grids and in images: nodes as points, and as values."""

import itertools

import numpy as np
import pytest
import scipy.interpolate
import scipy.ndimage

import simpleautodiff as ad
from references import check_both_modes

RNG = np.random.default_rng(3)
IMAGE = RNG.normal(size=(5, 6))
INSIDE = np.array([[0.2, 1.3, 3.7, 2.6, 1.1], [0.3, 4.6, 1.2, 2.3, 0.8]])
AROUND = np.array([[-2.3, 1.3, 6.7, 2.6, 1.1], [0.3, 7.6, 1.2, -1.7, 0.8]])
ORDERS = [
    *itertools.product(range(1, 6), ["constant", "mirror", "reflect", "grid-wrap", "nearest"]),
    (0, "mirror"),
]
GRID = np.array([0.0, 1.0, 2.5, 4.0, 5.0, 6.0]), np.array([5.0, 4.0, 3.0, 2.2, 1.0, 0.0])
VALUES = RNG.normal(size=(6, 6))
POINTS = np.array([[0.3, 0.7], [1.7, 4.4], [5.3, 2.9], [2.1, 1.8]])
OUTSIDE = np.array([[-0.3, 0.7], [1.7, 5.4], [6.3, 2.9], [2.1, -0.6]])


@pytest.mark.parametrize(("order", "mode"), ORDERS)
def test_map_coordinates(order, mode):
    settings = {"order": order, "mode": mode, "cval": 0.7}
    of_image = lambda image: scipy.ndimage.map_coordinates(image, AROUND, **settings)
    check_both_modes(of_image, IMAGE, exact=1e-13, near=1e-10, transposed=1e-14)
    for points in (INSIDE, AROUND):
        f = lambda points: scipy.ndimage.map_coordinates(IMAGE, points, **settings)
        check_both_modes(f, points, exact=1e-13, near=1e-8, transposed=1e-14)


@pytest.mark.parametrize("mode", ["constant", "mirror"])
def test_map_coordinates_of_batches(mode):
    f = lambda x: scipy.ndimage.map_coordinates(IMAGE, np.stack([x, 2 * x]), order=1, mode=mode)
    slopes = ad.grad(lambda x: f(x).sum())
    points = np.array([[0.3, 1.2], [0.7, 9.0]])
    np.testing.assert_allclose(
        ad.vmap(slopes)(points), np.stack([slopes(x) for x in points]), rtol=1e-14
    )


def test_map_coordinates_outside_has_nearly_the_value_of_the_edge():
    """The value is linear in the image; SciPy's own leaves the edge by 5e-8 beyond 12 elements."""
    far = np.array([[-30.0, 2.0, -4.0], [1.2, 99.0, 2.0]])
    nearest = lambda image: scipy.ndimage.map_coordinates(image, far, mode="nearest")
    value, change = ad.jvp(nearest, (IMAGE,), (IMAGE,))
    np.testing.assert_allclose(change, value, rtol=1e-6)
    np.testing.assert_allclose(change[2], IMAGE[0, 2], rtol=1e-12)


def test_map_coordinates_without_its_filter_and_of_one_axis():
    f = lambda x: scipy.ndimage.map_coordinates(IMAGE[0], [x], prefilter=False)
    check_both_modes(f, np.array([0.3, 2.2, 4.1]), exact=1e-13, near=1e-9, transposed=1e-14)
    x = np.arange(9.0)
    parabola = lambda t: scipy.ndimage.map_coordinates(x**2, t[None], order=2, mode="mirror")
    slope = ad.elementwise_grad(parabola)(np.array([3.5]))
    np.testing.assert_allclose(slope, [7.0], atol=0.02)  # 2 t, but for the mirrors at the ends


TURN = np.array([[0.9, 0.3], [-0.2, 1.1]])
MOVED = {
    "affine_transform": (
        lambda x, turn, **how: scipy.ndimage.affine_transform(x, turn, 0.3, **how),
        TURN,
    ),
    "affine_transform_diagonal": (
        lambda x, scale, **how: scipy.ndimage.affine_transform(
            x, scale, [0.2, -0.4], (4, 7), **how
        ),
        np.array([0.8, 1.1]),
    ),
    "affine_transform_homogeneous": (
        lambda x, turn, **how: scipy.ndimage.affine_transform(x, turn, **how),
        np.block([[TURN, np.array([[0.43], [0.71]])], [0.0, 0.0, 1.0]]),
    ),
    "shift": (lambda x, by, **how: scipy.ndimage.shift(x, by, **how), np.array([0.6, -1.3])),
    "shift_all_axes": (lambda x, by, **how: scipy.ndimage.shift(x, by, **how), np.array(0.6)),
    "rotate": (lambda x, angle, **how: scipy.ndimage.rotate(x, angle, **how), np.array(17.0)),
    "rotate_in_place": (
        lambda x, angle, **how: scipy.ndimage.rotate(x, angle, reshape=False, **how),
        np.array(-40.0),
    ),
}


@pytest.mark.parametrize("mode", ["constant", "mirror", "nearest"])
@pytest.mark.parametrize("order", [3, 4])
@pytest.mark.parametrize("move", MOVED)
def test_moved_images(move, order, mode):
    (move, parameter), how = MOVED[move], {"order": order, "mode": mode, "cval": 0.2}
    near = {"exact": 1e-12, "near": 1e-7, "transposed": 1e-13}
    check_both_modes(lambda x: move(x, parameter, **how), IMAGE, **near)
    if parameter.shape != (3, 3):
        check_both_modes(lambda p: move(IMAGE, p, **how), parameter, **near)
    else:
        check_both_modes(
            lambda p: move(IMAGE, np.vstack([p, [0.0, 0.0, 1.0]]), **how), parameter[:2], **near
        )


@pytest.mark.parametrize("scale", [1.6, (2, 0.5), 1])
def test_zoomed_images(scale):
    zoom = lambda x: scipy.ndimage.zoom(x, scale, order=2, mode="reflect")
    check_both_modes(zoom, IMAGE, exact=1e-12, near=1e-9, transposed=1e-13)


def test_a_quarter_turn_keeps_every_element():
    gradient = ad.grad(lambda x: np.sum(scipy.ndimage.rotate(x, 90, order=1)))(IMAGE)
    np.testing.assert_array_equal(gradient, np.ones((5, 6)))


def test_moved_images_refuse():
    for f, what in [
        (lambda x: scipy.ndimage.zoom(x, 2, grid_mode=True), "grid_mode=True"),
        (lambda x: scipy.ndimage.rotate(np.stack([x, x]), 10), "one image at a time"),
    ]:
        with pytest.raises(ad.RuleError, match=what):
            ad.grad(lambda x, f=f: np.sum(f(x)))(IMAGE)


@pytest.mark.parametrize("settings", [{"mode": "wrap"}, {"output": float}])
def test_map_coordinates_refuses(settings):
    with pytest.raises(ad.RuleError, match="map_coordinates of a node has no rule for"):
        ad.grad(lambda x: np.sum(scipy.ndimage.map_coordinates(x, INSIDE, **settings)))(IMAGE)


def interpolate(values, points, **settings):
    return scipy.interpolate.RegularGridInterpolator(GRID, values, **settings)(points)


@pytest.mark.parametrize("method", ["linear", "slinear", "nearest"])
def test_regular_grids(method):
    tolerances = {"exact": 1e-13, "near": 1e-10, "transposed": 1e-14}
    check_both_modes(lambda x: interpolate(VALUES, x, method=method), POINTS, **tolerances)
    check_both_modes(lambda v: interpolate(v, POINTS, method=method), VALUES, **tolerances)
    several = RNG.normal(size=(6, 6, 2))
    check_both_modes(lambda v: interpolate(v, POINTS, method=method), several, **tolerances)
    for fill in (None, 2.0):
        settings = {"method": method, "bounds_error": False, "fill_value": fill}
        f = lambda x, settings=settings: interpolate(VALUES, x, **settings)
        check_both_modes(f, OUTSIDE, **tolerances)


@pytest.mark.parametrize(("method", "degree"), [("cubic", 3), ("quintic", 5)])
def test_splines_on_regular_grids(method, degree):
    """A polynomial of the degree is found again; SciPy solves for its splines to 1e-6 only."""
    x, y = np.meshgrid(*GRID, indexing="ij")
    values = x**degree - x * y**2
    px, py = POINTS.T
    slopes = np.stack([degree * px ** (degree - 1) - py**2, -2 * px * py], -1)
    f = lambda points: np.sum(interpolate(values, points, method=method))
    np.testing.assert_allclose(ad.grad(f)(POINTS), slopes, rtol=1e-9, atol=1e-9)
    product = ad.hvp(f, (POINTS,), (np.ones_like(POINTS),))
    second = [degree * (degree - 1) * px ** (degree - 2) - 2 * py, -2 * py - 2 * px]
    np.testing.assert_allclose(product, np.stack(second, -1), rtol=1e-8, atol=1e-8)
    along = ad.jvp(lambda v: interpolate(v, POINTS, method=method), (VALUES,), (values,))[1]
    np.testing.assert_allclose(along, px**degree - px * py**2, rtol=1e-9)


def test_points_as_a_tuple_and_as_one_point():
    f = lambda x: scipy.interpolate.RegularGridInterpolator(GRID, VALUES)((x, x[:, None] / 2))
    check_both_modes(f, POINTS[:, 0], exact=1e-13, near=1e-10, transposed=1e-14)
    one = lambda x: scipy.interpolate.RegularGridInterpolator(GRID, VALUES)(x)
    check_both_modes(one, POINTS[0], exact=1e-13, near=1e-10, transposed=1e-14)


def test_regular_grids_refuse():
    with pytest.raises(ad.RuleError, match="no rule for method='pchip'"):
        ad.grad(lambda x: np.sum(interpolate(VALUES, x, method="pchip")))(POINTS)
    with pytest.raises(ad.AutodiffError, match="outside of the grid"):
        ad.grad(lambda x: np.sum(interpolate(VALUES, x)))(OUTSIDE)


def test_splines_of_arrays():
    """A spline through rows has a row for each point."""
    x = np.linspace(0.0, 3.0, 7)
    spline = scipy.interpolate.make_interp_spline(x, np.stack([x**2, x**3], -1), 3)
    slopes = ad.jacobian(spline)(1.3)
    np.testing.assert_allclose(slopes, [2.6, 3 * 1.3**2], rtol=1e-12)
