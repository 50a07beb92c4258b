"""Rotations of scipy.spatial.transform on nodes, as quaternions (x, y, z, w).

SciPy's class Rotation leaves its arithmetic to a backend, a module with a function for each of its
methods. This module is the backend of nodes. Each function gives the value that SciPy's own backend
gives. Lengths that may be 0 enter by their squares, so that all derivatives exist at the zero
rotation, too.
"""

from __future__ import annotations

import functools
import importlib
import itertools
import math
import re
from typing import Any

import numpy as np

from simpleautodiff.arrays.given_values import give_values
from simpleautodiff.arrays.newton import newton_steps
from simpleautodiff.arrays.registry import FUNCTIONS, as_array, decide
from simpleautodiff.core.level import Traced, take_current, to_plain
from simpleautodiff.errors import DomainError, InputError, RuleError, cite_line
from simpleautodiff.rules.array.indexing import concatenate, getitem
from simpleautodiff.rules.array.shapes import broadcast_to, reshape, shape_of
from simpleautodiff.rules.branches import where
from simpleautodiff.values.functions import Function

_VECTOR, _SCALAR = (..., slice(0, 3)), (..., slice(3, 4))  # the parts of a quaternion
_LOCKED = 1e-7  # as near to gimbal lock SciPy no longer tells the first angle from the third


def _call_plainly(name: str, *args: Any, **kwargs: Any) -> Any:
    """Call SciPy's own backend, the compiled one for up to two axes."""
    package = "scipy.spatial.transform._rotation"
    ranks = [np.ndim(arg) for arg in args if isinstance(arg, (np.ndarray, np.generic))]
    if name.startswith("from_") and name != "from_quat":
        backend = f"{package}_{'cy' if ranks[0] < (4 if name == 'from_matrix' else 3) else 'xp'}"
        return getattr(importlib.import_module(backend), name)(*args, **kwargs)
    backend = f"{package}_{'cy' if max(ranks) < 3 else 'xp'}"
    count = 1 if name == "mean" else 2  # the arrays of quaternions and vectors, several of each
    several = [np.atleast_2d(x) if isinstance(x, np.ndarray) else x for x in args[:count]]
    result = getattr(importlib.import_module(backend), name)(*several, *args[count:], **kwargs)
    return result[0] if max(ranks) == 1 or name == "align_vectors" else result


def _gives_scipys_value(own: Function) -> Function:
    """Give the results of a function the values of SciPy's function of the same name."""
    plainly = functools.partial(_call_plainly, own.__name__)

    @functools.wraps(own)
    def function(*args: Any, **kwargs: Any) -> Any:
        return give_values(own(*args, **kwargs), plainly, args, kwargs, near=True)

    return function


def refuse_if(question: Function, x: Any, error: type[Exception], message: str) -> None:
    """Raise an error if the answer to a question about plain numbers is yes."""
    if decide(question, x):
        raise error(f"{message}{cite_line()}")


# What rotations are made from. --------------------------------------------------------------------


@_gives_scipys_value
def from_quat(
    quat: Any, normalize: bool = True, copy: bool = True, scalar_first: bool = False
) -> Any:
    """Return quaternions of length 1."""
    quat = np.roll(quat, -1, axis=-1) if scalar_first else quat
    return _normalize(quat) if normalize else quat


@_gives_scipys_value
def from_rotvec(rotvec: Any, degrees: bool = False) -> Any:
    """Return (v sin(θ/2)/θ, cos(θ/2)) of rotation vectors v of length θ."""
    if shape_of(rotvec)[-1:] != (3,):
        raise InputError(f"a rotation vector has 3 elements; got {shape_of(rotvec)}{cite_line()}")
    rotvec = np.deg2rad(rotvec) if degrees else rotvec
    squares = np.sum(rotvec * rotvec, axis=-1, keepdims=True) / 4
    near = squares < 1  # there, sums of powers of the square
    halves = np.sqrt(where(near, 1.0, squares))
    power = where(near, squares, 0.0)
    sine = where(near, _add_powers(power, _SINE), np.sin(halves) / halves)
    cosine = where(near, _add_powers(power, _COSINE), np.cos(halves))
    return concatenate([rotvec * (sine / 2), cosine], axis=-1)


_SINE = [(-1) ** k / math.factorial(2 * k + 1) for k in range(12)]
_COSINE = [(-1) ** k / math.factorial(2 * k) for k in range(12)]
_ARCTANGENT = [(-1) ** k / (2 * k + 1) for k in range(12)]


def _add_powers(x: Any, coefficients: list[float]) -> Any:
    """Return the sum of powers of x with given coefficients, by Horner's rule."""
    total: Any = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        total = coefficient + x * total
    return total


@_gives_scipys_value
def from_mrp(mrp: Any) -> Any:
    """Return the quaternions of modified Rodrigues parameters, v tan(θ/4)/θ."""
    squares = np.sum(mrp * mrp, axis=-1, keepdims=True)
    return concatenate([2 * mrp, 1 - squares], axis=-1) / (1 + squares)


@_gives_scipys_value
def from_matrix(matrix: Any, assume_valid: bool = False) -> Any:
    """Return the quaternions of matrices; those of the nearest rotations, if they are none."""
    form = _form(matrix)
    if assume_valid:
        rows = form + np.eye(4)  # 4 q qᵀ, if the matrix is a rotation
        largest = np.argmax(np.diagonal(rows, axis1=-2, axis2=-1), axis=-1)[..., None, None]
        return _normalize(np.take_along_axis(rows, largest, axis=-2)[..., 0, :])
    refuse_if(_is_left_handed, matrix, InputError, "a rotation matrix has a positive determinant")
    return _follow(form, "from_matrix", matrix)


def _is_left_handed(matrix: Any) -> Any:
    return np.any(np.linalg.det(matrix) <= 0)


def _form(matrix: Any) -> Any:
    """Return the matrix K for which qᵀ K q = tr(R(q)ᵀ M): the nearest rotation has the largest."""
    turned = np.swapaxes(matrix, -1, -2)
    trace = np.trace(matrix, axis1=-2, axis2=-1)[..., None, None]
    skew = matrix - turned
    axial = np.stack([getitem(skew, (..., *at)) for at in ((2, 1), (0, 2), (1, 0))], axis=-1)
    upper = concatenate([matrix + turned - trace * np.eye(3), axial[..., None]], axis=-1)
    return concatenate([upper, concatenate([axial[..., None, :], trace], axis=-1)], axis=-2)


def _follow(form: Any, name: str, *args: Any) -> Any:
    """Return the vector of length 1 with the largest qᵀ K q: SciPy's, with its derivatives.

    Newton's steps carry them: the other eigenvalues may be equal, and are, of a rotation's matrix.
    """
    quat = _find_top_vector(form, name, [to_plain(arg) for arg in args])
    for _ in newton_steps(form):
        basis = _multiply(quat[..., None, :], np.eye(4)[:3])
        pulled = np.matmul(basis, form)
        left = np.matmul(pulled, quat[..., None])
        matrix = _dot(quat, np.matmul(form, quat[..., None])[..., 0])[..., None, None] * np.eye(3)
        matrix = matrix - np.matmul(pulled, np.swapaxes(basis, -1, -2))
        step = np.linalg.solve(matrix, left - to_plain(left))
        quat = _normalize(quat + np.sum(step * basis, axis=-2))
    return quat


def _find_top_vector(form: Any, name: str, plain: list[Any]) -> Any:
    """Return the plain vector, by SciPy, or by its rule for the signs."""
    if not any(isinstance(arg, Traced) for arg in plain):
        return _call_plainly(name, *plain)
    quat = getitem(np.linalg.eigh(to_plain(form))[1], (..., -1))
    largest = np.argmax(np.abs(quat), axis=-1)[..., None]
    return quat * np.sign(np.take_along_axis(quat, largest, axis=-1))


@_gives_scipys_value
def from_euler(seq: str, angles: Any, degrees: bool = False) -> Any:
    """Return the product of rotations about coordinate axes."""
    extrinsic = _check_sequence(seq, range(1, 4))
    angles = np.deg2rad(angles) if degrees else angles
    angles = angles if shape_of(angles) else reshape(angles, (1,))
    if shape_of(angles)[-1] != len(seq):
        raise InputError(
            f"the axes {seq!r} need {len(seq)} angles, got {shape_of(angles)[-1]}{cite_line()}"
        )
    axes = np.eye(3)[["xyz".index(name) for name in seq.lower()]]
    return _turn_about(axes, angles, extrinsic)


def _turn_about(axes: Any, angles: Any, extrinsic: bool) -> Any:
    """Return the product of rotations about given axes, of length 1."""
    turns = None
    for k in range(shape_of(angles)[-1]):
        half = getitem(angles, (..., slice(k, k + 1))) / 2
        turn = concatenate([np.sin(half) * getitem(axes, (..., k, slice(None))), np.cos(half)], -1)
        if turns is None:
            turns = turn
        else:
            turns = _multiply(turn, turns) if extrinsic else _multiply(turns, turn)
    return turns


def _check_sequence(seq: str, lengths: Any) -> bool:
    """Check the names of axes, and tell whether they are extrinsic: in small letters."""
    known = re.fullmatch("[xyz]+|[XYZ]+", seq) and len(seq) in lengths
    if not known or any(a == b for a, b in itertools.pairwise(seq)):
        raise InputError(
            f"{seq!r} are no axes: they are like 'zyx' (extrinsic) or 'ZYX' (intrinsic), each "
            f"different from the one before{cite_line()}"
        )
    return seq.islower()


@_gives_scipys_value
def from_davenport(axes: Any, order: str, angles: Any, degrees: bool = False) -> Any:
    """Return the product of rotations about axes, each at a right angle to the next one."""
    axes, angles = as_array(axes), np.deg2rad(angles) if degrees else as_array(angles)
    axes = axes[None] if len(shape_of(axes)) < 2 else axes
    angles = angles if shape_of(angles) else reshape(angles, (1,))
    return _turn_about(_normalize(axes), angles, order in ("e", "extrinsic"))


# What rotations give. -----------------------------------------------------------------------------


@_gives_scipys_value
def as_quat(quat: Any, canonical: bool = False, scalar_first: bool = False) -> Any:
    """Return the quaternions; canonical ones have their last number that is not 0 positive."""
    quat = _canonical(quat) if canonical else quat
    return np.roll(quat, 1, axis=-1) if scalar_first else quat


@_gives_scipys_value
def as_matrix(quat: Any) -> Any:
    """Return (w² - |v|²) I + 2 v vᵀ + 2 w [v]×."""
    return _matrix(quat)


def _matrix(quat: Any) -> Any:
    x, y, z, w = (getitem(quat, (..., k)) for k in range(4))
    elements = [
        *(w * w + x * x - y * y - z * z, 2 * (x * y - z * w), 2 * (x * z + y * w)),
        *(2 * (x * y + z * w), w * w - x * x + y * y - z * z, 2 * (y * z - x * w)),
        *(2 * (x * z - y * w), 2 * (y * z + x * w), w * w - x * x - y * y + z * z),
    ]
    return reshape(np.stack(elements, axis=-1), (*shape_of(quat)[:-1], 3, 3))


@_gives_scipys_value
def as_rotvec(quat: Any, degrees: bool = False) -> Any:
    """Return v θ/sin(θ/2), where θ = 2 arctan(|v|/w)."""
    quat = _canonical(quat)
    vector, scalar = getitem(quat, _VECTOR), getitem(quat, _SCALAR)
    squares = np.sum(vector * vector, axis=-1, keepdims=True)
    near = squares < 0.01 * scalar**2  # there, a sum of powers of (|v|/w)²
    cosine = where(near, scalar, 1.0)
    few = _add_powers(where(near, squares, 0.0) / cosine**2, _ARCTANGENT) / cosine
    sine = np.sqrt(where(near, 1.0, squares))
    result = vector * (2 * where(near, few, np.arctan2(sine, scalar) / sine))
    return np.rad2deg(result) if degrees else result


@_gives_scipys_value
def as_mrp(quat: Any) -> Any:
    """Return v tan(θ/4)/θ, of the shorter way round."""
    vector, scalar = getitem(quat, _VECTOR), getitem(quat, _SCALAR)
    sign = where(scalar < 0, -1.0, 1.0)
    return sign * vector / (1 + sign * scalar)


@_gives_scipys_value
def as_euler(quat: Any, seq: str, degrees: bool = False, suppress_warnings: bool = False) -> Any:
    """Return the angles of three turns about coordinate axes, by Bernardes and Viollet."""
    extrinsic = _check_sequence(seq, (3,))
    i, j, k = ("xyz".index(name) for name in (seq.lower() if extrinsic else seq.lower()[::-1]))
    symmetric = i == k
    k = 3 - i - j if symmetric else k
    sign = (i - j) * (j - k) * (k - i) // 2
    first, second, third, scalar = (getitem(quat, (..., at)) for at in (i, j, k, 3))
    third = third * sign
    if symmetric:
        parts = scalar, first, second, third
    else:
        parts = scalar - second, first + third, second + scalar, third - first
    shift = 0.0 if symmetric else np.pi / 2
    angles = _find_angles(*parts, extrinsic, 1 if symmetric else sign, shift)
    return np.rad2deg(angles) if degrees else angles


@_gives_scipys_value
def as_davenport(
    quat: Any, axes: Any, order: str, degrees: bool = False, suppress_warnings: bool = False
) -> Any:
    """Return the angles of three turns about axes, each at a right angle to the next one."""
    extrinsic = order in ("e", "extrinsic")
    axes = _normalize(as_array(axes))
    one, two, three = (getitem(axes, (..., k, slice(None))) for k in range(3))
    one, three = (one, three) if extrinsic else (three, one)
    across = np.cross(one, two)
    shift = np.arctan2(_dot(three, across), _dot(three, one))
    turned = shift < 0  # the other set of angles, as SciPy chooses it
    sign = np.where(turned, -1.0, 1.0)
    shift, two, across = sign * shift, sign[..., None] * two, sign[..., None] * across
    half = shift[..., None] / 2
    moved = _multiply(concatenate([np.sin(half) * two, np.cos(half)], axis=-1), quat)
    vector = getitem(moved, _VECTOR)
    b, c, d = (_dot(vector, axis) for axis in (one, two, across))
    angles = _find_angles(getitem(moved, (..., 3)), b, c, d, extrinsic, 1, shift)
    angles = angles * np.stack([sign**2, sign, sign**2], axis=-1)
    return np.rad2deg(angles) if degrees else angles


def _find_angles(a: Any, b: Any, c: Any, d: Any, extrinsic: bool, sign: int, shift: Any) -> Any:
    """Return three angles, of which the sum and the difference of the outer ones are known."""
    total, difference = np.arctan2(b, a), np.arctan2(d, c)
    second = 2 * np.arctan2(np.hypot(c, d), np.hypot(a, b))
    refuse_if(
        _is_locked,
        second,
        DomainError,
        "angles of rotations have no derivative at gimbal lock, where the first and the third turn "
        "about the same axis; as_matrix(), as_quat() and as_rotvec() have one",
    )
    outer = total - difference, sign * (total + difference)
    in_turn = [outer[0], second - shift, outer[1]]
    angles = np.stack(in_turn if extrinsic else in_turn[::-1], axis=-1)
    return (angles + np.pi) % (2 * np.pi) - np.pi


def _is_locked(angle: Any) -> Any:
    return np.any((np.abs(angle) <= _LOCKED) | (np.abs(angle - np.pi) <= _LOCKED))


@_gives_scipys_value
def magnitude(quat: Any) -> Any:
    """Return the angles of rotations; at no rotation the derivative is that of a norm."""
    length = np.linalg.norm(getitem(quat, _VECTOR), axis=-1)
    return 2 * np.arctan2(length, np.abs(getitem(quat, (..., 3))))


@_gives_scipys_value
def apply(quat: Any, vectors: Any, inverse: bool = False) -> Any:
    """Turn vectors."""
    matrix = _matrix(quat)
    matrix = np.swapaxes(matrix, -1, -2) if inverse else matrix
    return np.matmul(matrix, as_array(vectors)[..., None])[..., 0]


# Rotations of rotations. --------------------------------------------------------------------------


@_gives_scipys_value
def compose_quat(p: Any, q: Any) -> Any:
    """Multiply quaternions."""
    return _multiply(p, q)


def _multiply(p: Any, q: Any) -> Any:
    v, w, p_w, q_w = (getitem(x, part) for part in (_VECTOR, _SCALAR) for x in (p, q))
    vector = p_w * w + q_w * v + np.cross(v, w)
    return concatenate([vector, p_w * q_w - _dot(v, w)[..., None]], axis=-1)


@_gives_scipys_value
def inv(quat: Any) -> Any:
    """Return the quaternions of the inverse rotations."""
    return quat * np.array([-1.0, -1.0, -1.0, 1.0])


def pow(quat: Any, n: Any) -> Any:
    """Return rotations by n times the angle."""
    if not isinstance(n, Traced) and n in (-1, 0, 1):
        return (quat * 0.0 + np.eye(4)[3], quat, inv(quat))[int(n)]
    return from_rotvec(n * as_rotvec(quat))


@_gives_scipys_value
def mean(quat: Any, weights: Any = None, axis: Any = None) -> Any:
    """Return the mean of rotations: the eigenvector of the largest eigenvalue of Σ w q qᵀ."""
    shape = shape_of(quat)[:-1]
    weights = np.ones(shape) if weights is None else broadcast_to(as_array(weights), shape)
    axes = tuple(range(len(shape))) if axis is None else np.atleast_1d(axis) % len(shape)
    products = quat[..., :, None] * quat[..., None, :] * weights[..., None, None]
    return _follow(np.mean(products, axis=tuple(map(int, axes))), "mean", quat, weights, axis)


def approx_equal(p: Any, q: Any, atol: Any = None, degrees: bool = False) -> Any:
    """Tell whether rotations differ by less than a given angle."""
    atol = 1e-8 if atol is None else np.deg2rad(atol) if degrees else atol
    return magnitude(compose_quat(p, inv(q))) < atol


def setitem(quat: Any, value: Any, indexer: Any) -> Any:
    """Return quaternions with some of them replaced."""
    quat = FUNCTIONS[np.copy](quat)
    quat[indexer] = value
    return take_current(quat)


@_gives_scipys_value
def align_vectors(a: Any, b: Any, weights: Any) -> Any:
    """Return the rotation that best turns vectors b to a."""
    if shape_of(a)[0] == 1:
        return _turn_to(a[0], b[0])
    moments = np.swapaxes(weights[:, None] * a, 0, 1) @ b
    return _follow(_form(moments), "align_vectors", a, b, weights)


def _turn_to(a: Any, b: Any) -> Any:
    """Return the shortest rotation that turns the direction of b to that of a."""
    a, b = _normalize(a), _normalize(b)
    return _normalize(concatenate([np.cross(b, a), 1 + _dot(a, b)[..., None]], axis=-1))


def reduce(quat: Any, left: Any = None, right: Any = None) -> Any:
    """Refuse to reduce by symmetries, which chooses among them."""
    raise RuleError(f"Rotation.reduce of nodes has no derivative rule{cite_line()}")


# Parts of the above. ------------------------------------------------------------------------------


def _dot(a: Any, b: Any) -> Any:
    return np.sum(a * b, axis=-1)


def _normalize(vectors: Any) -> Any:
    squares = np.sum(vectors * vectors, axis=-1, keepdims=True)
    refuse_if(_has_zero, squares, InputError, "a quaternion or an axis has the length 0")
    return vectors / np.sqrt(squares)


def _has_zero(x: Any) -> Any:
    return np.any(x == 0)


def _canonical(quat: Any) -> Any:
    """Return quaternions whose last number that is not 0 is positive."""
    x, y, z, w = (getitem(quat, (..., slice(k, k + 1))) for k in range(4))
    turn = (w == 0) & ((x < 0) | ((x == 0) & ((y < 0) | ((y == 0) & (z < 0)))))
    return where((w < 0) | turn, -quat, quat)
