"""Functions to functions: signatures, structures, nesting."""

import copy
import dataclasses
import math
import pickle
from collections import Counter, OrderedDict, defaultdict, namedtuple
from fractions import Fraction

import numpy as np
import pytest

import simpleautodiff as ad
from simpleautodiff import (
    derivative,
    grad,
    hessian,
    hvp,
    jacfwd,
    jacobian,
    jacrev,
    jvp,
    linearize,
    stop_gradient,
    value_and_grad,
    vjp,
)
from simpleautodiff.transforms.recorded_call import RecordedCall


def paper(x1, x2):
    return ad.log(x1) + x1 * x2 - ad.sin(x2)


DX2 = 2 - math.cos(5)


def test_grad_of_the_papers_function():
    assert grad(paper)(2.0, 5.0) == 5.5
    assert grad(paper, 1)(2.0, 5.0) == pytest.approx(DX2)
    assert grad(paper, -1)(2.0, 5.0) == pytest.approx(DX2)
    assert grad(paper, (1, 0))(2.0, 5.0) == pytest.approx((DX2, 5.5))
    assert grad(paper, "x2")(2.0, 5.0) == pytest.approx(DX2)
    assert grad(paper, ("x1", "x2"))(2.0, x2=5.0) == pytest.approx((5.5, DX2))
    assert grad(paper, "x1")(x2=5.0, x1=2.0) == 5.5


def test_value_and_grad_and_has_aux():
    assert value_and_grad(lambda x: x**3)(2.0) == (8.0, 12.0)
    with_aux = lambda x: (x**3, {"square": x * x, "note": "kept"})
    assert grad(with_aux, has_aux=True)(2.0) == (12.0, {"square": 4.0, "note": "kept"})
    (value, aux), slope = value_and_grad(with_aux, has_aux=True)(2.0)
    assert (value, aux["square"], slope) == (8.0, 4.0, 12.0)


def test_jvp_vjp_linearize():
    assert jvp(paper, (2.0, 5.0), (1.0, 0.0)) == (pytest.approx(11.652071455223084), 5.5)
    value, pullback = vjp(paper, 2.0, 5.0)
    assert pullback(1.0) == pytest.approx((5.5, DX2))
    assert pullback(2.0) == pytest.approx((11.0, 2 * DX2))
    assert value == pytest.approx(11.652071455223084)
    value, f_jvp = linearize(paper, 2.0, 5.0)
    assert f_jvp(1.0, 0.0) == 5.5
    assert f_jvp(0.5, 2.0) == pytest.approx(2.75 + 2 * DX2)
    assert vjp(lambda x: (x, "aux"), 1.0, has_aux=True)[2] == "aux"
    assert jvp(lambda x: (x, [x]), (1.0,), (1.0,), has_aux=True)[2] == [1.0]
    assert linearize(lambda x: (x, 7), 1.0, has_aux=True)[2] == 7


@pytest.mark.parametrize("make", [jacobian, jacfwd, jacrev])
def test_jacobians(make):
    f = lambda x: {"p": x[0] * x[1], "q": [x[0], 3.0]}
    assert make(f)([2.0, 5.0]) == {"p": [5.0, 2.0], "q": [[1.0, 0.0], [0.0, 0.0]]}
    g = lambda x, y: (x * y, x + y)
    assert make(g, (0, 1))(2.0, 5.0) == ((5.0, 2.0), (1.0, 1.0))
    assert make(lambda x: x * x)(3.0) == 6.0
    assert make(lambda x: ((x, x * x), "aux"), has_aux=True)(3.0) == ((1.0, 6.0), "aux")


def test_jacobian_takes_the_mode_with_fewer_sweeps(monkeypatch):
    sweeps = []
    for name in ("push", "pull"):
        original = getattr(RecordedCall, name)
        counted = lambda *a, name=name, original=original: sweeps.append(name) or original(*a)
        monkeypatch.setattr(RecordedCall, name, counted)
    jacobian(lambda x: [x * k for k in range(5)])(2.0)
    assert sweeps == ["push"]
    sweeps.clear()
    jacobian(lambda xs: sum(xs))([1.0] * 5)
    assert sweeps == ["pull"]
    sweeps.clear()
    jacobian(lambda xs: sum(xs), mode="forward")([1.0] * 5)
    assert sweeps == ["push"] * 5


def test_hessian_and_hvp():
    f = lambda x: x[0] ** 2 * x[1] + ad.exp(x[1])
    x = [2.0, 1.0]
    expected = [[2.0, 4.0], [4.0, math.e]]
    assert hessian(f)(x) == [pytest.approx(row) for row in expected]
    assert hvp(f, (x,), ([1.0, 2.0],)) == pytest.approx([10.0, 4 + 2 * math.e])
    g = lambda a, b: a * a * b
    assert hessian(g, (0, 1))(3.0, 5.0) == ((10.0, 6.0), (6.0, 0.0))
    assert hvp(g, (3.0, 5.0), (1.0, 0.0)) == (10.0, 6.0)


Point = namedtuple("Point", "x y")


@dataclasses.dataclass(frozen=True)
class Model:
    weights: list
    bias: float
    nothing: None = None


@pytest.mark.parametrize(
    ("argument", "f", "expected"),
    [
        ([1.0, 2.0], lambda p: p[0] * p[1], [2.0, 1.0]),
        ((1.0, (2.0,)), lambda p: p[0] * p[1][0], (2.0, (1.0,))),
        ({"a": 3.0, "b": {"c": 4.0}}, lambda p: p["a"] * p["b"]["c"], {"a": 4.0, "b": {"c": 3.0}}),
        (Point(1.0, 2.0), lambda p: p.x * p.y, Point(2.0, 1.0)),
        (Model([1.0, 2.0], 3.0), lambda m: m.weights[1] * m.bias, Model([0.0, 3.0], 2.0)),
        (OrderedDict(z=1.0, a=2.0), lambda p: p["z"] - p["a"], OrderedDict(z=1.0, a=-1.0)),
        (defaultdict(float, k=2.0), lambda p: p["k"] ** 2, {"k": 4.0}),
        ([None, 2.0, []], lambda p: p[1] * 3, [None, 3.0, []]),
    ],
    ids=["list", "tuple", "dict", "namedtuple", "dataclass", "OrderedDict", "defaultdict", "None"],
)
def test_gradients_have_the_structure_of_the_argument(argument, f, expected):
    result = grad(f)(argument)
    assert result == expected
    assert type(result) is type(argument)


def test_results_may_be_structures_too():
    value, tangent = jvp(lambda x: Model([x, x * x], x**3), (2.0,), (1.0,))
    assert value == Model([2.0, 4.0], 8.0)
    assert tangent == Model([1.0, 4.0], 12.0)
    _, pullback = vjp(lambda x: Point(x, x * x), 2.0)
    assert pullback(Point(1.0, 1.0)) == (5.0,)


def test_perturbation_confusion():
    assert grad(lambda x: x * grad(lambda y: x + y)(1.0))(1.0) == 1.0


@pytest.mark.parametrize("inner", [grad, derivative])
@pytest.mark.parametrize("outer", [grad, derivative])
def test_perturbation_confusion_in_every_mode(inner, outer):
    assert outer(lambda x: x * inner(lambda y: x + y)(1.0))(1.0) == 1.0
    assert outer(lambda x: x * inner(lambda y: x * y)(2.0))(3.0) == 6.0
    assert outer(lambda x: inner(lambda y: x * x * y * y)(x))(2.0) == 24.0


def test_closures_over_outer_variables_and_shadowed_names():
    def outer(x):
        c = x * x
        g = grad(lambda x: c * x**3)
        return g(2.0) + g(x)

    # d/dx [12 x² + 3 x² x²] = 24 x + 12 x³
    assert grad(outer)(1.5) == pytest.approx(24 * 1.5 + 12 * 1.5**3)


def test_a_derivative_with_respect_to_a_hand_typed_node_through_grad():
    x = ad.Node(3.0)
    slope = grad(lambda t: t * t * x)(2.0)
    assert isinstance(slope, ad.Node)
    assert slope.value == 12.0
    assert ad.reverse(slope)[x] == 4.0


@pytest.mark.parametrize("n", range(9))
def test_nth_derivatives_of_exp_of_a_polynomial(n):
    import mpmath

    with mpmath.workdps(40):
        expected = float(mpmath.diff(lambda x: mpmath.exp(x * x) / (1 + x), 0.4, n))
    assert derivative(lambda x: ad.exp(x * x) / (1 + x), n)(0.4) == pytest.approx(
        expected, rel=1e-12
    )


def test_taylor_mode_is_exact_and_polynomial_in_cost():
    assert derivative(lambda x: x**30, n=25)(Fraction(1, 2)) == Fraction(
        math.factorial(30) // math.factorial(5), 2**5
    )
    calls = []

    def counted(x):
        calls.append(1)
        return ad.sin(x) * ad.exp(x) / (1 + x * x)

    assert math.isfinite(derivative(counted, n=20)(0.3))
    assert len(calls) == 1


@pytest.mark.parametrize(
    ("argument", "argnums"), [([1.0, 2.0], 0), (np.ones(2), 0), ({"a": 1.0}, 0), (1.0, (0,))]
)
def test_an_nth_derivative_is_by_one_number(argument, argnums):
    with pytest.raises(ad.ArgumentError, match="with respect to one number; use grad or jacobian"):
        derivative(lambda x: 1.0, argnums=argnums)(argument)


def test_derivatives_of_structures_and_by_name():
    f = lambda a, x: [a * x**3, ad.cos(x)]
    assert derivative(f, 2, "x")(2.0, 1.0) == pytest.approx([12.0, -math.cos(1.0)])
    assert derivative(f, 1, 1)(2.0, 1.0) == pytest.approx([6.0, -math.sin(1.0)])


def test_stop_gradient_blocks_every_order_and_mode():
    assert grad(lambda x: x * stop_gradient(x))(3.0) == 3.0
    assert derivative(lambda x: x * stop_gradient(x), 2)(3.0) == 0.0
    assert jvp(lambda x: stop_gradient([x, x])[0] * x, (3.0,), (1.0,)) == (9.0, 3.0)


def test_structural_zeros():
    f = lambda x: ad.where(x < 1, x, ad.sqrt(x))
    assert grad(f)(0.0) == 1.0
    assert grad(lambda x: ad.where(x > 0, ad.log(x), 0.0))(2.0) == 0.5
    with pytest.warns(ad.DomainWarning, match=r"derivative of sqrt\(0.0\) is inf"):
        assert derivative(f)(0.0) == 1.0


def test_unused_inputs_and_constant_functions():
    assert grad(lambda x, y: x, 1)(1.0, 2.0) == 0.0
    assert grad(lambda x: 7.0)(1.0) == 0.0
    assert value_and_grad(lambda x: 7)(Fraction(1, 2)) == (7, Fraction(0))
    assert derivative(lambda x: 7.0)(1.0) == 0.0
    assert jacobian(lambda x: [1.0, x])(3.0) == [0.0, 1.0]
    assert type(grad(lambda x: 7.0)(np.float32(1))) is np.float32
    assert type(grad(lambda x: x)(np.float32(1))) is np.float32
    assert type(grad(lambda x: x + x)(1.0)) is float


def test_data_dependent_control_flow():
    def newton_root(a):
        x = a
        while abs(x * x - a) > 1e-12:
            x = (x + a / x) / 2
        return x

    assert grad(newton_root)(2.0) == pytest.approx(1 / (2 * math.sqrt(2)), rel=1e-6)
    assert grad(lambda x: x * x if x > 1 else x)(0.5) == 1.0


def test_operators():
    x = 2.5
    cases = [
        (lambda t: 3 + t, 1),
        (lambda t: 3 - t, -1),
        (lambda t: 3 * t, 3),
        (lambda t: 3 / t, -3 / x**2),
        (lambda t: 3**t, 3**x * math.log(3)),
        (lambda t: t**t, x**x * (math.log(x) + 1)),
        (lambda t: 7 % t, -(7 // x)),
        (lambda t: t % 2, 1),
        (lambda t: 7 // t, 0),
        (lambda t: divmod(t, 2)[1], 1),
        (lambda t: divmod(9, t)[1], -(9 // x)),
        (lambda t: -t, -1),
        (lambda t: +t, 1),
        (lambda t: abs(-t), 1),
        (lambda t: round(t) * t, round(x)),
        (lambda t: round(t, 1) * t, round(x, 1)),
        (lambda t: math.floor(t) * t, 2),
        (lambda t: math.ceil(t) * t, 3),
        (lambda t: math.trunc(t) * t, 2),
        (lambda t: np.float64(3) * t, 3),
        (lambda t: np.float32(3) * t, 3),
        (lambda t: np.sin(t) + np.multiply(2, t), math.cos(x) + 2),
    ]
    for f, expected in cases:
        assert grad(f)(x) == pytest.approx(expected, rel=1e-14)
        assert derivative(f)(x) == pytest.approx(expected, rel=1e-14)


def test_names_and_docs_of_what_comes_back():
    assert grad(paper).__name__ == "grad of paper"
    assert "paper" in derivative(paper, 3).__doc__


def test_copies_inside_a_function_keep_the_derivative():
    for transformation in (grad, ad.derivative):
        assert transformation(lambda x: copy.deepcopy(x) ** 2)(3.0) == 6.0
        assert transformation(lambda x: copy.copy([x])[0] ** 2)(3.0) == 6.0
        with pytest.raises(ad.TraceError, match="cannot be pickled"):
            transformation(lambda x: pickle.loads(pickle.dumps(x)))(3.0)


def test_counters_are_kept():
    assert grad(lambda c: c["a"] * c["b"])(Counter(a=2, b=3)) == Counter(a=3, b=2)


def test_dict_keys_may_come_in_another_order():
    _, pullback = ad.vjp(lambda x: {"a": x, "b": x * x}, 3.0)
    assert pullback({"b": 1.0, "a": 10.0}) == (16.0,)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
def test_slopes_of_broadcast_numbers_have_the_dtype_of_the_result(dtype):
    def shift(t):
        return t + np.zeros(3, dtype)

    for slope in (ad.derivative(shift)(2.0), ad.jacobian(shift)(2.0), ad.jacfwd(shift)(2.0)):
        assert slope.dtype == shift(2.0).dtype
        np.testing.assert_array_equal(slope, np.ones(3))
