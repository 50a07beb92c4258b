"""Rotations of scipy.spatial.transform whose numbers are nodes: values, all modes, refusals."""

import itertools

import mpmath
import numpy as np
import pytest
import scipy
from scipy.spatial.transform import Rotation, RotationSpline, Slerp

import simpleautodiff as ad
from references import check_both_modes

pytestmark = pytest.mark.skipif(
    tuple(map(int, scipy.__version__.split(".")[:2])) < (1, 17),
    reason="Rotation of older versions of SciPy is compiled and takes plain numbers alone",
)

ANGLES = np.array([0.3, -0.4, 0.5])
SEVERAL = np.array([[0.4, 0.1, -0.3], [2.0, 1.0, -1.5], [0.0, 0.0, 0.0], [0.2, -0.9, 0.5]])
FIXED = Rotation.from_rotvec([0.3, 0.2, -0.5])
POINTS = np.array([[1.0, 2.0, 3.0], [0.5, -0.7, 0.1], [-1.0, 0.3, 0.8], [0.4, 0.4, -0.9]])
TILTED = FIXED.as_matrix() + 0.1 * np.array([[1.0, 0.3, 0.0], [0.2, -0.5, 0.1], [0.0, 0.4, 0.2]])
AXES = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
PROGRAMS = {
    "rotvec": (lambda v: Rotation.from_rotvec(v).as_rotvec(), SEVERAL),
    "degrees": (lambda v: Rotation.from_rotvec(v, degrees=True).as_rotvec(True), ANGLES * 90),
    "euler": (lambda v: Rotation.from_euler("zyx", v).as_matrix(), ANGLES),
    "other angles": (lambda v: Rotation.from_euler("XZX", v).as_euler("YXZ", True), ANGLES),
    "symmetric angles": (lambda v: Rotation.from_euler("xyz", v).as_euler("zxz"), SEVERAL[::3]),
    "one angle": (lambda v: Rotation.from_euler("y", v[0]).apply(POINTS), ANGLES[:1]),
    "quat": (lambda q: Rotation.from_quat(q).as_mrp(), np.array([0.1, 0.2, 0.3, -0.9])),
    "list": (lambda q: Rotation.from_quat([q[0], q[1], 0.0, q[2]]).as_quat(True), ANGLES),
    "scalar first": (
        lambda q: Rotation.from_quat(q, scalar_first=True).as_quat(scalar_first=True),
        np.array([0.1, 0.2, 0.3, -0.9]),
    ),
    "matrix": (lambda m: Rotation.from_matrix(m).as_quat(), FIXED.as_matrix()),
    "identity matrix": (lambda m: Rotation.from_matrix(m).as_rotvec(), np.eye(3)),
    "no rotation": (lambda m: Rotation.from_matrix(m).as_matrix(), TILTED),
    "mrp": (lambda p: Rotation.from_mrp(p).as_quat(), ANGLES),
    "davenport": (
        lambda v: Rotation.from_davenport(AXES, "e", v).as_davenport(AXES[::-1], "intrinsic"),
        ANGLES,
    ),
    "product": (lambda v: (FIXED * Rotation.from_rotvec(v) * FIXED.inv()).as_quat(), SEVERAL),
    "power": (lambda v: (Rotation.from_rotvec(ANGLES) ** v[0]).as_rotvec(), ANGLES),
    "whole powers": (
        lambda v: Rotation.concatenate([Rotation.from_rotvec(v) ** n for n in range(-1, 3)]).apply(
            POINTS, inverse=True
        ),
        ANGLES,
    ),
    "magnitude": (lambda v: (Rotation.from_rotvec(v) * FIXED).magnitude(), SEVERAL),
    "plain rotation": (lambda v: FIXED.apply(v), POINTS),
    "mean": (lambda v: Rotation.from_rotvec(v).mean().as_matrix(), SEVERAL),
    "mean of equal ones": (lambda v: Rotation.from_rotvec(v).mean().as_matrix(), SEVERAL[:1]),
    "weights": (
        lambda w: Rotation.from_rotvec(SEVERAL).mean(weights=w).as_matrix(),
        np.array([1.0, 2.0, 0.5, 1.5]),
    ),
    "parts": (
        lambda v: [r.as_matrix() for r in Rotation.from_rotvec(v)[1:]][-1],
        SEVERAL,
    ),
    "aligned": (
        lambda v: Rotation.align_vectors(v, POINTS)[0].as_quat(),
        FIXED.apply(POINTS) + 0.1 * SEVERAL,
    ),
    "aligned distance": (
        lambda v: Rotation.align_vectors(FIXED.apply(POINTS) + 0.1 * SEVERAL, v)[1],
        POINTS,
    ),
    "one aligned": (lambda v: Rotation.align_vectors(v, POINTS[0])[0].as_matrix(), ANGLES),
    "slerp": (
        lambda v: Slerp([0.0, 1.0], Rotation.from_rotvec([v, ANGLES]))([0.3, 1.0]).as_matrix(),
        SEVERAL[0],
    ),
    "times": (
        lambda t: Slerp([0.0, 1.0, 2.0], Rotation.from_rotvec(SEVERAL[:3]))(t).as_matrix(),
        np.array([0.4, 1.7]),
    ),
    "spline": (
        lambda t: RotationSpline([0.0, 1.0, 2.0], Rotation.from_rotvec(SEVERAL[:3]))(t).as_quat(),
        np.array([0.4, 1.7]),
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_rotations(name):
    f, x = PROGRAMS[name]
    check_both_modes(f, x, exact=1e-12, near=1e-6, transposed=1e-12)
    rows = np.stack([x, 0.9 * x])
    np.testing.assert_allclose(ad.vmap(f)(rows), [f(row) for row in rows], rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["rotvec", "other angles", "matrix", "aligned", "slerp"])
def test_compiled_rotations(name):
    f, x = PROGRAMS[name]
    compiled = ad.jit(ad.jacobian(f))
    for at in (x, 0.99 * x, 1.01 * x):
        np.testing.assert_allclose(compiled(at), ad.jacobian(f)(at), rtol=1e-9, atol=1e-9)


def test_the_zero_rotation_has_all_derivatives():
    """exp(K) = I + K + K²/2 + ... for the matrix K of a cross product."""

    def matrix(v):
        return Rotation.from_rotvec(v).as_matrix()

    zero = np.zeros(3)
    generators = -np.cross(np.eye(3)[:, None, :], np.eye(3))  # K of each axis
    np.testing.assert_allclose(np.moveaxis(ad.jacobian(matrix)(zero), -1, 0), generators)
    second = np.moveaxis(ad.jacobian(ad.jacobian(matrix))(zero), (-2, -1), (0, 1))
    for i, j in itertools.product(range(3), repeat=2):
        a, b = generators[i], generators[j]
        np.testing.assert_allclose(second[i, j], (a @ b + b @ a) / 2, atol=1e-15)
    there_and_back = ad.jacfwd(lambda v: Rotation.from_rotvec(v).as_rotvec())(zero)
    np.testing.assert_allclose(there_and_back, np.eye(3))


@pytest.mark.parametrize("angle", [1e-9, 1e-4, 0.05, 1.0, 2.5, 4.0])
def test_derivatives_at_an_angle_are_exact(angle):
    """Rodrigues' formula, with 40 digits."""

    def element(v):
        return Rotation.from_rotvec(v).as_matrix()[0, 1]

    def rodrigues(x, y, z):
        length = mpmath.sqrt(x * x + y * y + z * z)
        sine = mpmath.sin(length) / length
        return -z * sine + x * y * (1 - mpmath.cos(length)) / length**2

    v = angle * np.array([0.6, -0.64, 0.48])
    with mpmath.workdps(60):
        order = [(1, 0, 0), (0, 1, 0), (0, 0, 1)]
        first = [float(mpmath.diff(rodrigues, tuple(v), n)) for n in order]
        second = float(mpmath.diff(rodrigues, tuple(v), (1, 1, 0)))
    np.testing.assert_allclose(ad.grad(element)(v), first, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(ad.hessian(element)(v)[0, 1], second, rtol=1e-11)


def test_a_rotation_that_is_written_to():
    def f(v):
        rotations = Rotation.identity(2)
        rotations[1] = Rotation.from_rotvec(v)
        return rotations.as_matrix()

    check_both_modes(f, ANGLES, exact=1e-14, near=1e-7, transposed=1e-13)
    assert ad.grad(lambda v: v[0] if Rotation.from_rotvec(v).approx_equal(FIXED, atol=2) else v[1])(
        ANGLES
    ).tolist() == [1, 0, 0]


REFUSED = {
    "gimbal lock": (
        lambda v: Rotation.from_euler("xyz", v).as_euler("xyz"),
        np.array([0.1, np.pi / 2, 0.2]),
        "gimbal lock",
    ),
    "left-handed": (lambda m: Rotation.from_matrix(m).as_quat(), -np.eye(3), "determinant"),
    "no quaternion": (lambda q: Rotation.from_quat(q).as_matrix(), np.zeros(4), "length 0"),
    "axes": (lambda v: Rotation.from_euler("xxy", v).as_quat(), ANGLES, "'xxy' are no axes"),
    "angles": (lambda v: Rotation.from_euler("xy", v).as_quat(), ANGLES, "need 2 angles"),
    "vector": (lambda v: Rotation.from_rotvec(v[:2]).as_quat(), ANGLES, "3 elements"),
    "sensitivity": (
        lambda v: Rotation.align_vectors(v, POINTS, return_sensitivity=True)[0].as_quat(),
        POINTS,
        "sensitivity",
    ),
    "shapes": (lambda v: Rotation.align_vectors(v, POINTS[:2])[1], POINTS, "shapes"),
    "reduce": (
        lambda v: Rotation.from_rotvec(v).reduce(FIXED).as_quat(),
        ANGLES,
        "reduce",
    ),
    "outside": (
        lambda t: Slerp([0.0, 1.0], Rotation.from_rotvec(SEVERAL[:2]))(t[0]).as_quat(),
        ANGLES * 10,
        "outside",
    ),
    "times": (
        lambda t: Slerp(t[:2], Rotation.from_rotvec(SEVERAL[:2]))(0.0).as_quat(),
        ANGLES,
        "increase",
    ),
    "spline": (
        lambda v: RotationSpline([0.0, 1.0], Rotation.from_rotvec(v))(0.5).as_quat(),
        SEVERAL[:2],
        "RotationSpline",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_rotations_refuse(name):
    f, x, message = REFUSED[name]
    with pytest.raises(ad.errors.AutodiffError, match=message):
        ad.jacobian(f)(x)
