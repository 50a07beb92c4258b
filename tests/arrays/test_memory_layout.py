"""What shares memory with what, and how it lies there: written-to arrays equal NumPy's."""

import copy
import importlib.util

import numpy as np
import pytest

import simpleautodiff as ad

X = np.linspace(-1.5, 2.5, 12)
LAYOUTS = {  # arrays of nodes, each lying in memory in its own way
    "rows": lambda x: x.reshape(3, 4) * 1.0,
    "columns": lambda x: x.reshape(4, 3).T * 1.0,
    "transposed": lambda x: (x * 1.0).reshape(4, 3).T,
    "backwards": lambda x: (x * 1.0).reshape(3, 4)[::-1],
    "every other": lambda x: np.repeat(x, 2).reshape(3, 8)[:, ::2],
    "three axes": lambda x: (x * 1.0).reshape(2, 3, 2).transpose(1, 0, 2),
    "vector": lambda x: x * 1.0,
    "vector backwards": lambda x: (x * 1.0)[::-1],
    "made": lambda x: _fill(np.zeros((3, 4)), x),
    "made by columns": lambda x: _fill(np.zeros((3, 4), order="F"), x),
    "made, transposed": lambda x: _fill(np.zeros((4, 3)), x).T,
    "picked": lambda x: (x * 1.0).reshape(3, 4)[:, [2, 0, 1, 3]],
}


def _fill(y, x):
    y[...] = x.reshape(y.shape)
    return y


OPERATIONS = {
    "asarray": lambda y: np.asarray(y),
    "asarray of a dtype": lambda y: np.asarray(y, dtype=float),
    "asarray of another dtype": lambda y: np.asarray(y, dtype=np.longdouble),
    "asarray in C order": lambda y: np.asarray(y, order="C"),
    "asarray in F order": lambda y: np.asarray(y, None, "F"),
    "asanyarray": lambda y: np.asanyarray(y, float),
    "ascontiguousarray": lambda y: np.ascontiguousarray(y),
    "asfortranarray": lambda y: np.asfortranarray(y),
    "require": lambda y: np.require(y),
    "require rows": lambda y: np.require(y, float, ["C", "W"]),
    "require columns": lambda y: np.require(y, None, "F"),
    "asarray_chkfinite": lambda y: np.asarray_chkfinite(y),
    "asarray_chkfinite in F order": lambda y: np.asarray_chkfinite(y, order="F"),
    "view": lambda y: y.view(),
    "array": lambda y: np.array(y),
    "array in C order": lambda y: np.array(y, order="C"),
    "array in F order": lambda y: np.array(y, order="F"),
    "array if needed": lambda y: np.array(y, order="C", copy=None),
    "array of three axes": lambda y: np.array(y, ndmin=3),
    "astype": lambda y: y.astype(float),
    "astype if needed": lambda y: y.astype(np.float64, copy=False),
    "astype in C order": lambda y: y.astype(float, order="C"),
    "astype if needed, in F order": lambda y: y.astype(float, order="F", copy=False),
    "conj": lambda y: y.conj(),
    "conjugate": lambda y: y.conjugate(),
    "np.conj": np.conj,
    "copy": lambda y: y.copy(),
    "copy in F order": lambda y: y.copy(order="F"),
    "copy in A order": lambda y: y.copy("A"),
    "copy in K order": lambda y: y.copy("K"),
    "np.copy": lambda y: np.copy(y),
    "np.copy in C order": lambda y: np.copy(y, order="C"),
    "deepcopy": copy.deepcopy,
    "zeros_like": lambda y: np.zeros_like(y) + 0.0,
    "ones_like, written to": lambda y: _fill(np.ones_like(y), np.ravel(y)),
    "full_like in F order": lambda y: _fill(np.full_like(y, 2.0, order="F"), np.ravel(y)),
    "full in F order": lambda y: np.full(y.shape, y[(0,) * y.ndim], order="F"),
    "sort": lambda y: np.sort(y, axis=0),
    "partition": lambda y: np.partition(y, 1, axis=0),
    "delete": lambda y: np.delete(y, 0, axis=0),
    "insert": lambda y: np.insert(y, 1, 0.25, axis=0),
    "tile": lambda y: np.tile(y, (1,) * y.ndim),
    "repeat": lambda y: np.repeat(y, 2, axis=0),
    "take": lambda y: np.take(y, [1, 0], axis=0),
    "flip, copied": lambda y: np.flip(y).copy(),
    "roll": lambda y: np.roll(y, 1, axis=0),
    "real": lambda y: y.real,
    "sin": np.sin,
    "twice": lambda y: 2 * y,
    "where": lambda y: np.where(y > 0, y, -y),
    "matrix_power": lambda y: np.linalg.matrix_power(y[:2, :2], 1) if y.ndim == 2 else y,
    "cumsum": lambda y: np.cumsum(y, axis=0),
    "concatenate": lambda y: np.concatenate([y, y]),
    "stack": lambda y: np.stack([y, y], axis=-1),
    "an element after": lambda y: _write(y.copy("K"), 0) * 2.0,
}
if hasattr(np, "astype"):
    OPERATIONS["np.astype if needed"] = lambda y: np.astype(y, float, copy=False)


def _write(y, which):
    """Write to the first elements, or through a flat view, if it is one."""
    if which == 0:
        y[(0,) * y.ndim] = 7.0
    elif which == 1:
        y.ravel()[:2] = 5.0
    else:
        y.reshape(-1)[-2:] = 3.0
    return y


def _measure(y, z):
    """Return a number that depends on every element of two arrays in its own way."""
    weigh = lambda a: np.sum(np.cos(np.arange(1.0, a.size + 1)) * np.ravel(a))
    return weigh(y) + weigh(z) ** 2 + weigh((2 * z).T) + np.sum(np.sin(y))


def _make(layout, operation, which):
    def f(x):
        y = LAYOUTS[layout](x)
        z = OPERATIONS[operation](y)
        _write(z, which)
        first = _measure(y, z)
        _write(y, which)
        return first + _measure(z, y)

    return f


@pytest.mark.parametrize("which", [0, 1, 2])
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_arrays_share_memory_as_in_numpy(layout, operation, which):
    f = _make(layout, operation, which)
    expected = f(X)
    value, slope = ad.value_and_grad(f)(X)
    assert value == pytest.approx(expected, rel=1e-14)
    direction = np.cos(3 * X)
    along, tangent = ad.jvp(f, (X,), (direction,))
    assert along == pytest.approx(expected, rel=1e-14)
    assert tangent == pytest.approx(slope @ direction, rel=1e-12, abs=1e-12)
    both = ad.vmap(f)(np.stack([X, 2 * X]))
    np.testing.assert_allclose(both, [expected, f(2 * X)], rtol=1e-13)


@pytest.mark.skipif(not importlib.util.find_spec("llvmlite"), reason="jit needs llvmlite")
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_compiled_functions_share_memory_as_in_numpy(layout, operation):
    f = _make(layout, operation, 1)
    compiled = ad.jit(ad.value_and_grad(f), tier="tape")
    for x in (X, X, 2 * X):
        value, slope = compiled(x)
        assert value == pytest.approx(f(x), rel=1e-13)
        np.testing.assert_allclose(slope, ad.grad(f)(x), rtol=1e-12, atol=1e-12)
