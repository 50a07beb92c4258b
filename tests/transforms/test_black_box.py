"""Functions that cannot be looked into: derivatives by differences, their cost and error."""

import ctypes.util
import functools
import math
import subprocess
import sys
import warnings

import mpmath
import numpy as np
import pytest

import simpleautodiff as ad


def test_compiled_functions_and_float_are_differentiated():
    gamma = ad.black_box(math.gamma)
    exact = float(mpmath.diff(mpmath.gamma, 3))
    assert ad.grad(gamma)(3.0) == pytest.approx(exact, rel=1e-10)
    assert ad.derivative(gamma)(3.0) == pytest.approx(exact, rel=1e-10)
    assert gamma.report.error < 1e-6
    bessel = ad.black_box(_load_c_function("j0"))
    exact = -float(mpmath.besselj(1, 0.7))
    assert ad.grad(lambda x: bessel(x) + 1)(0.7) == pytest.approx(exact, rel=1e-10)


def _load_c_function(name):
    function = getattr(ctypes.CDLL(ctypes.util.find_library("m")), name)
    function.restype, function.argtypes = ctypes.c_double, [ctypes.c_double]
    return function


def test_a_program_that_prints_few_digits():
    def run(x):
        code = f"import math; print(f'{{math.exp({float(x)!r}):.8g}}')"
        return float(subprocess.run([sys.executable, "-c", code], capture_output=True).stdout)

    program = ad.black_box(run, noise=1e-8)
    assert ad.grad(program)(1.0) == pytest.approx(math.e, rel=1e-5)
    assert program.report.calls == 5
    ad.grad(program)(1.0)
    assert program.report.calls == 5, "it remembers"


def _several(x, y, kind="sum"):
    total = float(x[0]) * float(y["scale"]) if kind == "sum" else 0.0
    return {"a": np.array([total, math.exp(x[1])]), "b": (x[1] ** 2 * float(y["scale"]),)}


def _several_recorded(x, y, kind="sum"):
    return {"a": np.array([x[0] * y["scale"], np.exp(x[1])]), "b": (x[1] ** 2 * y["scale"],)}


@pytest.mark.parametrize("mode", ["differences", "forward", "reverse"])
def test_arrays_and_structures_in_and_out(mode):
    x, y = np.array([1.0, 2.0]), {"scale": 3.0}
    f = _several if mode == "differences" else ad.black_box(_several)
    found = ad.jacobian(f, (0, 1), mode=mode)(x, y, kind="sum")
    expected = ad.jacobian(_several_recorded, (0, 1))(x, y)
    for path in (lambda d: d["a"][0], lambda d: d["a"][1]["scale"], lambda d: d["b"][0][0]):
        np.testing.assert_allclose(path(found), path(expected), rtol=1e-9, atol=1e-10)


def test_second_derivatives_and_mixed_programs():
    box = ad.black_box(lambda x: math.sin(x[0]) * math.exp(x[1]))
    same = lambda x: ad.sin(x[0]) * ad.exp(x[1])
    x = np.array([0.4, 0.3])
    np.testing.assert_allclose(ad.hessian(box)(x), ad.hessian(same)(x), atol=1e-7)
    f = lambda box: lambda x: np.sum(np.tanh(x) * box(x) ** 2)
    np.testing.assert_allclose(ad.grad(f(box))(x), ad.grad(f(same))(x), rtol=1e-9)
    np.testing.assert_allclose(
        ad.vmap(ad.grad(f(box)))(np.stack([x, 2 * x])),
        [ad.grad(f(same))(x), ad.grad(f(same))(2 * x)],
        rtol=1e-9,
    )
    assert ad.jit(ad.grad(lambda t: box([t, 0.0]) ** 2))(0.4) == pytest.approx(math.sin(0.8))


def test_many_points_in_one_call():
    calls = []

    def many(x, c):
        calls.append(x.shape)
        return np.sum(np.exp(x), axis=-1) * c

    box = ad.black_box(many, batched=True)
    x = np.linspace(0.0, 1.0, 20)
    np.testing.assert_allclose(ad.grad(box)(x, 2.0), 2 * np.exp(x), rtol=1e-9)
    assert [shape[1:] for shape in calls] == [(20,)] * 3
    assert sum(shape[0] for shape in calls) == box.report.points == 81
    calls.clear()
    box = ad.black_box(many, batched=True)
    rows = ad.vmap(box)(np.stack([x, x + 1, x + 2]), np.ones(3))
    np.testing.assert_allclose(rows, np.sum(np.exp([x, x + 1, x + 2]), axis=1))
    assert calls == [(3, 20)]
    with pytest.raises(ad.ResultError, match="its first axis is to be 40"):
        ad.grad(ad.black_box(lambda x: np.sum(np.exp(x)) * np.ones(1), batched=True))(x)


def test_the_complex_step_is_exact_to_rounding():
    f = lambda x: np.exp(x) / np.sqrt(np.sin(x) ** 3 + np.cos(x) ** 3)  # Squire and Trapp's
    assert ad.jacobian(f, mode="complex")(1.5) == pytest.approx(4.053427893898621, rel=1e-14)
    matrix = ad.jacobian(lambda x: np.sin(x) * x[0], mode="complex")(np.array([1.0, 2.0]))
    exact = [[math.cos(1) + math.sin(1), 0], [math.sin(2), math.cos(2)]]
    np.testing.assert_allclose(matrix, exact, rtol=1e-14)
    with pytest.raises(ad.ResultError, match="not analytic"):
        ad.jacobian(lambda x: np.abs(x), mode="complex")(1.5)


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (abs, 1e-9),  # a kink
        (lambda x: math.sin(1e9 * x), 0.3),  # faster than every step
        (lambda x: round(math.exp(x), 4), 0.3),  # fewer digits than was said
    ],
)
def test_differences_that_cannot_be_trusted_are_told(f, x):
    box = ad.black_box(f)
    with pytest.warns(ad.DifferenceWarning, match="may be off by"):
        ad.grad(box)(x)
    assert box.report.error > 1e-5


@pytest.mark.parametrize(
    ("f", "x"),
    [
        *(
            (math.sin, 0.5),
            (math.exp, 30.0),
            (math.lgamma, 1e-3),
            (math.sqrt, 1e-2),
            (math.cos, 0.0),
        ),
        *((lambda x: math.sin(1000 * x), 0.3), (math.log, 1e-3), (lambda x: 3.0, 2.0)),
    ],
)
def test_the_error_is_not_larger_than_told(f, x):
    box = ad.black_box(f)
    name = getattr(f, "__name__", "")
    exact = {
        "sin": mpmath.cos,
        "exp": mpmath.exp,
        "lgamma": mpmath.digamma,
        "sqrt": lambda x: 0.5 / mpmath.sqrt(x),
        "cos": lambda x: -mpmath.sin(x),
        "log": lambda x: 1 / x,
    }.get(name, lambda x: 1000 * mpmath.cos(1000 * mpmath.mpf(x)) if f(0) == 0 else 0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ad.DifferenceWarning)
        slope = ad.grad(box)(x)
    size = max(abs(slope), abs(f(x)))
    assert abs(slope - float(exact(x))) <= box.report.error * size + 1e-12


def test_what_is_refused():
    with pytest.raises(ad.ArgumentError, match="'differences' or 'complex'"):
        ad.black_box(math.sin, method="forward")
    with pytest.raises(ad.ArgumentError, match="real numbers only"):
        ad.grad(ad.black_box(lambda z: abs(z) ** 2))(1 + 2j)
    with pytest.raises(ad.ResultError, match="is to return numbers"):
        ad.grad(ad.black_box(lambda x: "text"))(1.0)
    with pytest.raises(ad.ArgumentError, match="leave has_aux out"):
        ad.jacobian(math.sin, has_aux=True, mode="complex")
    with pytest.raises(ValueError, match=r"math domain error|nonnegative input"):
        ad.grad(ad.black_box(math.sqrt))(-1.0)


def test_plain_calls_are_those_of_the_function():
    box = ad.black_box(math.gamma)
    assert box(5.0) == 24.0
    assert type(box(5.0)) is float
    assert box.__name__ == "gamma"
    assert box.report.calls == 1


def test_black_boxes_make_plain_arrays_in_functions_that_put_nodes_into_arrays():
    box = ad.black_box(lambda x: np.array([np.sin(x), x**2]))
    f = lambda x: np.sum(np.array([x, 2 * x])) * np.sum(box(x))
    expected = 3 * (np.sin(0.7) + 0.49) + 2.1 * (np.cos(0.7) + 1.4)
    assert ad.grad(f)(0.7) == pytest.approx(expected, rel=1e-9)


def change_argument(x):
    x *= x
    x[0] += 2 * x[1]
    return x * 1.0


MEMORY = np.empty(2, complex)


def use_memory_again(x):
    memory = MEMORY if np.iscomplexobj(x) else MEMORY.real
    memory[:] = x[0] ** 2 + 2 * x[1] ** 2, x[1] ** 2
    return memory


@pytest.mark.parametrize("f", [change_argument, use_memory_again])
@pytest.mark.parametrize("method", ["differences", "complex"])
def test_a_black_box_may_write_to_its_arguments_and_use_its_memory_again(f, method):
    x = np.array([0.5, 1.5])
    exact = [[1.0, 6.0], [0.0, 3.0]]
    box = ad.black_box(f, method=method)
    for found in (
        ad.jacobian(box)(x),
        ad.jacfwd(box)(x),
        ad.jacobian(f, mode=method)(x),
        ad.vmap(ad.jacobian(box))(x[None])[0],
    ):
        np.testing.assert_allclose(found, exact, rtol=1e-9, atol=1e-9)
    slope = ad.grad(lambda x: np.sum(box(x) * x[0]))(x)  # of x₀ (x₀² + 3 x₁²)
    np.testing.assert_allclose(slope, [7.5, 4.5], rtol=1e-9)
    first, second = box(x), box(2 * x)
    np.testing.assert_array_equal(second, 4 * first)
    np.testing.assert_array_equal(x, [0.5, 1.5])


def test_many_points_in_the_same_memory():
    memory = np.empty((8, 2))

    @functools.partial(ad.black_box, batched=True)
    def box(x):
        np.multiply(x, x, out=memory[: len(x)])
        x[...] = 0.0
        return memory[: len(x)]

    x = np.array([0.5, 1.5])
    np.testing.assert_allclose(ad.jacobian(box)(x), np.diag(2 * x), rtol=1e-9, atol=1e-9)
