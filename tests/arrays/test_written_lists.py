"""Lists and tuples of nodes, written by every function of NumPy that writes into an array."""

import numpy as np
import pytest

import simpleautodiff as ad

POINT = np.array([0.4, 1.3])
WHERE = np.array([[True, False], [False, True]])
PLACES = (np.array([0, 1]), np.array([1, 1]))
WRITES = {
    "y.put": lambda y, parts: y.put([0, 2], parts),
    "y.put, repeated": lambda y, parts: y.put([0, 1, 2], parts),
    "y.put of tuples": lambda y, parts: y.put((0, 2), tuple(parts)),
    "np.put": lambda y, parts: np.put(y, [0, 2], parts),
    "np.place": lambda y, parts: np.place(y, WHERE, parts),
    "np.putmask": lambda y, parts: np.putmask(y, WHERE, parts),
    "np.copyto": np.copyto,
    "np.copyto of lists": lambda y, parts: np.copyto(y, [parts, [1.0, parts[0]]]),
    "np.fill_diagonal": np.fill_diagonal,
    "np.add.at": lambda y, parts: np.add.at(y, PLACES, parts),
    "np.multiply.at": lambda y, parts: np.multiply.at(y, PLACES, parts),
    "np.put_along_axis": lambda y, parts: np.put_along_axis(
        y, np.array([[0], [1]]), [[parts[0]], [parts[1]]], 1
    ),
    "y.flat": lambda y, parts: y.flat.__setitem__([0, 3], parts),
    "y[i]": lambda y, parts: y.__setitem__(PLACES, parts),
}


def make_function(write):
    def f(x):
        y = np.full((2, 2), 0.5)
        write(y, [x[0], x[1] * 2])
        return np.sum(np.sin(y) * np.arange(1.0, 5.0).reshape(2, 2) * y)

    return f


@pytest.mark.parametrize("name", WRITES)
def test_lists_of_nodes_can_be_written(name):
    f = make_function(WRITES[name])
    step = 1e-5
    slope = [(f(POINT + e) - f(POINT - e)) / (2 * step) for e in step * np.eye(2)]
    near = {"rtol": 1e-8, "atol": 1e-9}
    gradient = ad.grad(f)
    np.testing.assert_allclose(gradient(POINT), slope, **near)
    np.testing.assert_allclose(ad.jacobian(f, mode="forward")(POINT), slope, **near)
    np.testing.assert_allclose(ad.vmap(gradient)(np.stack([2 * POINT, POINT]))[1], slope, **near)
    compiled = ad.jit(gradient)
    compiled(2 * POINT)
    np.testing.assert_allclose(compiled(POINT), slope, **near)
    curvature = [(gradient(POINT + e) - gradient(POINT - e)) / (2 * step) for e in step * np.eye(2)]
    np.testing.assert_allclose(ad.hessian(f)(POINT), curvature, rtol=1e-7, atol=1e-8)
