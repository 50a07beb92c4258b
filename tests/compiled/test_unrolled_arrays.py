"""Programs on small arrays become steps on their elements: the same numbers, of the same dtypes."""

import numpy as np
import pytest

import simpleautodiff as ad
from simpleautodiff.compiled.recording.symbol_level import SymbolLevel
from simpleautodiff.compiled.scalar import unroll_arrays
from simpleautodiff.compiled.scalar.operations import SCALAR_TYPES
from simpleautodiff.compiled.scalar.unroll_arrays import NotUnrolledError, unroll, unroll_if_small

X = np.array([[0.3, -1.2, 2.5], [0.7, -0.4, 1.1]])
F = X.astype(np.float32) / 3
N = np.array([[3, -1, 2], [0, 5, -4]])
V = np.array([1.5, -0.5, 0.25])


def record(f, *args):
    level = SymbolLevel()
    with level:
        results = f(*[level.input(arg) for arg in args])
    results = results if type(results) is tuple else (results,)
    return level.finish(list(results), len(args))


def run(f, *args, precise=False):
    """Return the results of the scalar program, one array of numbers for each."""
    kernel = unroll(record(f, *args), precise)
    check_dtypes(kernel.program)
    numbers = [number for arg in args for number in np.ravel(arg)]
    found, results = kernel.program.run(numbers), []
    for leaf in kernel.outputs:
        assert {np.result_type(number) for number in found[: leaf.size]} <= {
            np.dtype(SCALAR_TYPES[leaf.dtype])
        }
        results.append(np.array(found[: leaf.size], SCALAR_TYPES[leaf.dtype]))
        del found[: leaf.size]
    return results


def check_dtypes(program):
    """Require that no operation mixes dtypes: machine code has no such instruction."""
    for name, *args in program.steps:
        dtypes = [program.dtypes[arg] for arg in args if name not in ("input", "const")]
        if name == "select":
            assert dtypes.pop(0) == "?"
        assert len({*dtypes}) <= 1, program


PROGRAMS = {
    "elementwise": (lambda x, v: np.sin(x) * v - x / 3 + 2**v, X, V),
    "an integer first": (lambda n, x: n * x + n / 4 - x, N, X),
    "an integer last": (lambda x, n: x * n - n, X, N),
    "narrow and wide": (lambda f, x: (f + x, f * 2, f * N), F, X),
    "integers": (lambda n: (n * n - 2, n // 3, n % 3, -n, abs(n)), N),
    "chosen": (lambda x, v: np.where(x > v, x, 2.0), X, V),
    "chosen by numbers": (lambda n, x: np.where(n, x, -x), N, X),
    "chosen integers": (lambda n, x: np.where(x > 0, n, x), N, X),
    "chosen among integers": (lambda x, n: np.where(x > 0, n, 7), X, N),
    "compared": (lambda x, n, f: (x < n, n >= 2, f != 0.1, x == x, f <= 2), X, N, F),
    "a number beside an array": (lambda a: (a < V, a >= V, a == V + 0.05, a != V), 0.3),
    "logical": (lambda x: np.logical_and(x > 0, ~(x > 1)) | (x < -1), X),
    "finite": (lambda x: (np.isfinite(x), np.isnan(x / x), np.isinf(1 / x)), X - X[0, 0]),
    "all and any": (lambda x: (np.all(x > -2), np.all(x > 0), np.any(x > 2), np.any(x > 3)), X),
    "largest": (lambda x: (np.max(x), np.min(x), np.max(x, axis=0), np.min(x, axis=-1)), X),
    "largest of two axes": (
        lambda x: (np.max(x, axis=(0, 2)), np.min(x, axis=(-1, 0), keepdims=True)),
        np.stack([X, -X, X * X]),
    ),
    "largest integer": (lambda n: (np.max(n), np.min(n, axis=1)), N),
    "sums": (lambda x: (np.sum(x), np.sum(x, axis=1, keepdims=True), np.cumsum(x, axis=1)), X),
    "sums of integers": (lambda n: (np.sum(n), np.sum(n, axis=0)), N),
    "products": (lambda x, v: (x @ v, x @ x.T, np.einsum("ij,kj->ik", x, x)), X, V),
    "moved": (lambda x: (x.T, np.roll(x, 1), x[:, ::-1], np.reshape(x, (3, 2))), X),
    "joined": (lambda x, v: np.concatenate([x, v[None] * 2, np.ones((1, 3))]), X, V),
    "rounded": (lambda x: (np.round(x), np.round(x, 2), round(x[0, 1], 0)), X * 5.123),
    "other kinds": (lambda x, n: (x.astype(np.float32), x.astype(int), n.astype(float)), X, N),
    "truths": (lambda x: ((x > 0) * x, (x > 0).astype(float), np.sum(x > 0)), X),
    "no elements": (lambda x: (np.sum(x[:0]), np.sum(x[:0], axis=0), x[:, :0] * 2), X),
    "numbers": (lambda a, b: (a * b, a**b, np.hypot(a, b), a > b), 1.5, 2.25),
}


@pytest.mark.parametrize("precise", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_steps_give_what_numpy_gives(name, precise):
    f, *args = PROGRAMS[name]
    with np.errstate(all="ignore"):
        expected = f(*args)
        found = run(f, *args, precise=precise)
    expected = expected if type(expected) is tuple else (expected,)
    assert len(found) == len(expected)
    for got, want in zip(found, map(np.asarray, expected), strict=True):
        assert got.dtype == want.dtype
        close = 4 * np.finfo(want.dtype).eps if want.dtype.kind == "f" else 0
        np.testing.assert_allclose(got, want.ravel(), rtol=close, atol=close)


GRADIENTS = {
    "elements": lambda x: x[0, 0] * x[1, -1] + np.sum(x[[0, 1, 0], [1, 1, 1]] ** 2),
    "written": lambda x: np.sum(np.concatenate([x[:1] * x[1:], x]) ** 3),
    "largest": lambda x: np.max(x * x) + np.sum(np.min(np.sin(x), axis=0)),
    "products": lambda x: np.sum(np.tanh(x @ x.T) ** 2),
    "chosen": lambda x: np.sum(np.where(x > 0, np.exp(x), x**3)),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_the_steps_of_a_gradient(name):
    slope = ad.grad(GRADIENTS[name])
    (found,) = run(slope, X)
    np.testing.assert_allclose(found, slope(X).ravel(), rtol=1e-14, atol=1e-15)


REFUSED = {
    "a function of arrays": (lambda x: np.linalg.inv(x @ x.T), X),
    "digits": (lambda x: round(x, 1), 0.35),  # not a multiple: Python's digits are exact
    "sorted": (lambda x: np.sort(x, axis=1), X),
    "a place that may change": (lambda x: x[0][np.argmax(x[1])], X),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_operation_on_single_numbers_stays_on_arrays(name):
    recorded = record(*REFUSED[name])
    with pytest.raises(NotUnrolledError):
        unroll(recorded)
    assert unroll_if_small(recorded, False) is None


def test_large_arrays_stay_arrays(monkeypatch):
    monkeypatch.setattr(unroll_arrays, "UNROLLED_ARRAY", 6)
    assert unroll_if_small(record(lambda x: x * 2, X), False) is not None
    assert unroll_if_small(record(lambda x: x[:, :, None] * V[:2], X), False) is None
    monkeypatch.setattr(unroll_arrays, "UNROLLED_ELEMENTS", 12)
    assert unroll_if_small(record(lambda x: np.sum(x * 2), X), False) is not None
    assert unroll_if_small(record(lambda x: np.sum(np.sin(x * 2)), X), False) is None
