"""What people found by using the library, so that it stays found."""

import copy
import decimal
import functools
import gc
import math
import pickle
from collections import Counter
from dataclasses import dataclass

import mpmath
import numpy as np
import pytest

import simpleautodiff as ad
from simpleautodiff import Node, forward, grad, reverse
from simpleautodiff.cli import main
from simpleautodiff.values.functions import _forget


@pytest.mark.parametrize("factor", [-3, -1, 0, 1, 2])
def test_a_rule_that_is_a_whole_number(factor):
    f = ad.primitive(factor)(lambda x: factor * x)
    assert grad(f)(0.5) == factor
    assert ad.derivative(f)(0.5) == factor


def test_mixed_derivatives_of_a_power_at_the_exponent_zero():
    f = lambda p: p[0] ** p[1]
    log2 = math.log(2)
    assert ad.hessian(f)([2.0, 0.0]) == [[0.0, 0.5], [0.5, pytest.approx(log2**2)]]
    expected = mpmath.diff(lambda t: (2 + t) ** t, 0, 2)
    assert ad.derivative(lambda t: (2 + t) ** t, 2)(0.0) == pytest.approx(float(expected))
    assert grad(lambda x: x**0)(0.0) == 0.0


def test_a_negative_number_to_a_fractional_power_is_nan_in_every_respect():
    with pytest.warns(ad.DomainWarning):
        value, slope = ad.value_and_grad(lambda x: x**1.5)(-2.0)
    assert math.isnan(value)
    assert math.isnan(slope)


def test_nested_graphs_typed_by_hand():
    a, b = Node(Node(2.0)), Node(Node(3.0))
    y = a * b
    assert forward(a)[y] == 3
    assert reverse(y)[b] == 2

    def g(x):
        a, b = Node(x), Node(x * x)
        y = a * b
        return forward(a)[y]

    assert grad(g)(2.0) == 4.0


def test_copies_inside_a_function_keep_the_derivative():
    for transformation in (grad, ad.derivative):
        assert transformation(lambda x: copy.deepcopy(x) ** 2)(3.0) == 6.0
        assert transformation(lambda x: copy.copy([x])[0] ** 2)(3.0) == 6.0
        with pytest.raises(ad.TraceError, match="cannot be pickled"):
            transformation(lambda x: pickle.loads(pickle.dumps(x)))(3.0)


class Interval:
    """A user's own number whose x - x is not 0."""

    def __init__(self, low, high):
        self.low, self.high = low, high

    def _of(self, other):
        return other if isinstance(other, Interval) else Interval(other, other)

    def __add__(self, other):
        if isinstance(other, Node):
            return NotImplemented
        other = self._of(other)
        return Interval(self.low + other.low, self.high + other.high)

    def __sub__(self, other):
        other = self._of(other)
        return Interval(self.low - other.high, self.high - other.low)

    def __mul__(self, other):
        if isinstance(other, Node):
            return NotImplemented
        other = self._of(other)
        ends = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        return Interval(min(ends), max(ends))

    __radd__, __rmul__ = __add__, __mul__


def test_own_intervals():
    x = Interval(1.0, 2.0)
    for f, low, high in [
        (lambda x: x, 1, 1),
        (lambda x: 3 * x, 3, 3),
        (lambda x: x * x, 2, 4),
        (lambda x: 5.0, 0, 0),
    ]:
        slope = grad(f)(x)
        assert (slope.low, slope.high) == (low, high)


@dataclass
class DataNumber:
    value: float

    def __add__(self, other):
        return DataNumber(self.value + getattr(other, "value", other))

    def __sub__(self, other):
        return DataNumber(self.value - getattr(other, "value", other))

    def __mul__(self, other):
        return DataNumber(self.value * getattr(other, "value", other))

    __radd__, __rmul__ = __add__, __mul__


def test_a_dataclass_with_arithmetic_is_a_number():
    assert grad(lambda x: x * x)(DataNumber(3.0)) == DataNumber(6.0)


def test_a_node_hidden_in_a_users_number_is_noticed():
    with pytest.raises(ad.ResultError, match="NotImplemented"):
        grad(lambda x: Careless(2.0) * x)(Careless(3.0))


class Careless:
    def __init__(self, value):
        self.value = value

    def __mul__(self, other):
        return Careless(self.value * other)

    __add__ = __sub__ = __rmul__ = __mul__


def scaled(f):
    @functools.wraps(f)
    def wrapper(scale, *args):
        return scale * f(*args)

    return wrapper


def test_argnums_never_picks_another_argument():
    f = lambda x, y: x**y
    for twice in [(0, 0), (0, "x"), (0, -2)]:
        with pytest.raises(ad.ArgumentError, match="twice"):
            grad(f, twice)(2.0, 3.0)
    with pytest.raises(ad.ArgumentError, match="no parameter 'x'"):
        grad(scaled(f), "x")(10.0, 2.0, 3.0)
    with pytest.raises(ad.ArgumentError, match="as positions"):
        grad(lambda *a: a[0] * a[1], "a")(2.0, 3.0)
    with pytest.raises(ad.ArgumentError, match="called without 'b'"):
        grad(lambda a, *rest, b=2.0: a * b, "b")(1.0, 3.0, 5.0)
    assert grad(f, [0, 1])(2.0, 3.0) == grad(f, (0, np.int64(1)))(2.0, 3.0)


def test_names_reach_through_transformations():
    f = lambda x, y: x**3 * y
    assert grad(grad(f, "x"), "y")(2.0, 5.0) == 12.0
    assert ad.hessian(f, "x")(2.0, 5.0) == 60.0
    assert grad(ad.checkpoint(f), "y")(2.0, 5.0) == 8.0
    assert ad.checkpoint(two_names).__name__ == "two_names"


def two_names(x, y):
    return x * y


@pytest.mark.parametrize(
    "action",
    [
        lambda: ad.value_and_grad(lambda n: "ab" * n)(3),
        lambda: Node(2) * {"a": 1.0},
        lambda: ad.value_and_grad(lambda x: ad.where(x > 0, None, x))(2.0),
        lambda: ad.vjp(lambda x: x, 2.0)[1]("a"),
        lambda: ad.linearize(lambda x: x, 2.0)[1]("a"),
        lambda: ad.add("a", "b"),
        lambda: forward(Node(1.0), seed="a"),
        lambda: ad.primitive(lambda v, x: x)(lambda x: "a"),
    ],
)
def test_what_is_no_number_is_refused_everywhere(action):
    with pytest.raises(ad.ValueKindError, match="is not a number"):
        action()


def test_structural_zeros_pass_through_checkpoints():
    f = ad.checkpoint(lambda a, b: ad.where(a < 1, a, b))
    assert grad(lambda x: f(x, ad.sqrt(x)))(0.0) == 1.0


def test_a_checkpointed_closure_over_a_node():
    assert grad(lambda w: ad.checkpoint(lambda x: x * w)(w * 2))(2.0) == 8.0
    flag = grad(lambda x: ad.checkpoint(lambda t: (t * t, True))(x)[0])
    assert flag(3.0) == 6.0


def test_checkpoints_and_stated_nodes_register_nothing():
    f = grad(ad.checkpoint(lambda x: x * x))
    before = len(_forget)
    for _ in range(50):
        f(2.0)
        Node(6.0, [Node(2.0)], "mul").grad_wrt_parents = [3.0]
    assert len(_forget) == before


def test_a_rule_may_differentiate_itself():
    rule = lambda v, x: grad(ad.sin)(x)
    f = ad.primitive(rule)(lambda x: math.sin(x))
    assert ad.derivative(f, 2)(1.0) == pytest.approx(-math.sin(1.0))


def test_a_list_of_visited_nodes_is_not_needed_but_members_are_by_identity():
    a, b = Node(1.0), Node(1.0)
    assert len({a: 1, b: 2}) == 2


def test_sweeps_are_looked_up_by_node():
    x = Node(2.0)
    bar = reverse(x * x)
    with pytest.raises(ad.ArgumentError, match="by node"):
        bar["x1"]
    assert bar.get(Node(1.0)) == 0


def test_a_node_stated_without_derivatives():
    x = Node(2.0)
    y = Node(4.0, [x, x], "mul")
    x.child_nodes.append(y)
    for sweep, root in ((forward, x), (reverse, y)):
        with pytest.raises(ad.RuleError, match="grad_wrt_parents = "):
            sweep(root)


def test_sweeps_inside_a_function_say_what_to_use():
    for f in (lambda x: reverse(x * x)[x], lambda x: forward(x)[x]):
        with pytest.raises(ad.AutodiffError, match=r"grad|trace"):
            grad(f)(2.0)


def test_graphs_may_be_swept_at_another_precision():
    with mpmath.workdps(50):
        x = Node(mpmath.mpf(2))
        y = ad.log(x) * x
    assert reverse(y)[x] == pytest.approx(1 + math.log(2))
    with decimal.localcontext(prec=50):
        x = Node(decimal.Decimal(2))
        y = x / 3
    assert float(reverse(y)[x]) == pytest.approx(1 / 3)


def test_nan_is_never_a_silent_zero():
    nan = math.nan
    for f in (ad.relu, lambda x: ad.clip(x, 0.0, 1.0), lambda x: ad.maximum(x, 1.0)):
        assert math.isnan(grad(f)(nan))


def test_counters_are_kept():
    assert grad(lambda c: c["a"] * c["b"])(Counter(a=2, b=3)) == Counter(a=3, b=2)


def test_dict_keys_may_come_in_another_order():
    _, pullback = ad.vjp(lambda x: {"a": x, "b": x * x}, 3.0)
    assert pullback({"b": 1.0, "a": 10.0}) == (16.0,)


def test_a_trace_that_fails_leaves_nothing():
    def fails(x):
        for _ in range(100):
            x = x * x
        raise KeyError(0)

    gc.collect()
    gc.disable()
    try:
        before = sum(issubclass(type(thing), Node) for thing in gc.get_objects())
        for _ in range(5):
            with pytest.raises(KeyError):
                ad.trace(fails, 1.0)
        after = sum(issubclass(type(thing), Node) for thing in gc.get_objects())
    finally:
        gc.enable()
    assert after - before < 5


def test_wrapping_functions_can_be_pickled_and_inspected():
    import inspect

    for function in (ad.sin, ad.mul, ad.absolute, ad.where):
        assert pickle.loads(pickle.dumps(function)) is function
    assert str(inspect.signature(ad.mul)) == "(x, y, /)"


def test_messages_and_formats():
    assert f"{Node(2.0):.3f}" == "2.000"
    assert type(Node(2.0)).__name__ == "Node"
    with pytest.raises(TypeError, match="cannot be subclassed"):
        type("Mine", (Node,), {})
    with pytest.raises(ad.ArgumentError, match="a function is needed"):
        grad(5.0)
    with pytest.raises(ad.ArgumentError, match="hvp takes tuples"):
        ad.hvp(lambda x: x, 2.0, 1.0)
    with pytest.raises(ad.ArgumentError, match=r"write argnums=.x"):
        grad(lambda x: x)(x=2.0)
    with pytest.raises(ad.ArgumentError, match="no known names"):
        grad(max, "x")(1.0, 2.0)
    with pytest.raises(ad.DomainError, match="huge integer"):
        ad.sin(10**5000)
    with pytest.raises(ad.ArgumentError, match="walked from a Node"):
        ad.check_order(["a"])


def test_primitives_say_what_is_missing():
    with pytest.raises(ad.RuleError, match="needs the rules"):
        ad.primitive(lambda x: x)(3.0)
    with pytest.raises(ad.RuleError, match="one rule for each argument, got 1"):
        ad.primitive(lambda v, x: 1)(lambda x, y: x)
    with pytest.raises(ad.RuleError, match=r"\(v, x, ...\)"):
        ad.primitive(lambda x: 1)(lambda x: x)
    with pytest.raises(ad.RuleError, match="returned None"):
        ad.primitive(lambda v, x: None)(lambda x: x)
    with pytest.raises(ad.RuleError, match="could not be tested"):
        ad.primitive(lambda v, x: 1)(lambda x: math.nan)
    four = ad.primitive(1, 1, 1, 1)(lambda a, b, c, d: a + b + c + d)
    assert grad(four, 3)(1.0, 2.0, 3.0, 4.0) == 1.0
    own_log = ad.primitive(lambda v, x: 1 / x, domain=lambda x: x > 0)(lambda x: math.log(x))
    with pytest.warns(ad.DomainWarning):
        assert math.isnan(own_log(-1.0))


def test_check_grad_neither_passes_nor_accuses_too_easily():
    with pytest.raises(ad.ResultError, match="nothing to check"):
        ad.check_grad(lambda x: None, 2.0)
    with pytest.raises(ad.ArgumentError, match="real numbers"):
        ad.check_grad(lambda x: x, 1 + 2j)
    for f, x in [
        (lambda x: ad.sin(1000 * x) * ad.sign(x), 1.0),
        (lambda x: 1 / abs(x), 1e-4),
        (lambda x: ad.log(abs(x)), 1e-3),
        (lambda x: ad.relu(x - 1), 1.01),
    ]:
        (check,) = ad.check_grad(f, x)
        assert check.forward == pytest.approx(check.reference, rel=1e-6)
    small = ad.stop_gradient
    with pytest.raises(ad.CheckError):
        ad.check_grad(lambda x: 1e-6 * small(x) * x, 2.0)


@pytest.mark.parametrize(
    ("arguments", "pieces"),
    [
        (["v1*x", "v1=2", "x=3"], ["w1", "= ∂y/∂v1", "= 3", "= ∂y/∂x", "= 2"]),
        (["x**2 * sin(y)", "x=3", "y=0.5", "--wrt", "y"], ["z = x**2", "∂z/∂y", "7.898"]),
        (["-x**2", "x=2"], ["= -4"]),
        (["sqrt(x)", "x=-1"], ["nan"]),
        (["sin(x)", "x=nan"], ["nan"]),
        (["x**y", "x=99999999", "y=99999999"], ["inf"]),
        (["max(x, y)", "x=1", "y=1"], ["0.5"]),
        (["x*y", "x=1e300", "y=2"], ["e+300"]),
    ],
    ids=lambda v: str(v[0]),
)
def test_the_command_line(arguments, pieces, capsys):
    assert main(arguments) == 0
    out = capsys.readouterr()
    for piece in pieces:
        assert piece in out.out
    assert len(set(out.err.splitlines())) == len(out.err.splitlines())


def test_the_command_line_helps(capsys):
    for option in ("--help", "--version"):
        with pytest.raises(SystemExit) as stop:
            main([option])
        assert stop.value.code == 0
    assert "simpleautodiff" in capsys.readouterr().out


def test_programs_can_be_printed():
    text = str(ad.trace(lambda x, y: ad.log(x) * y, 2.0, 3.0))
    assert text.splitlines()[2:] == [
        f"v1 = log(x) = {math.log(2)}",
        f"v2 = mul(v1, y) = {math.log(2) * 3}",
    ]


def test_nodes_of_other_libraries_meet_in_comparisons():
    assert np.float64(1.0) < Node(2.0)
    assert np.isfinite(Node(2.0))


def test_nodes_pickled_together_stay_connected():
    x = Node(2.0)
    y = x * x
    x2, y2 = pickle.loads(pickle.dumps((x, y)))
    assert reverse(y2)[x2] == 4.0
    assert y2.parent_nodes[0] is x2


def test_float32_stays_float32_beside_float64():
    assert type(grad(lambda x: x * np.float64(2.0))(np.float32(3.0))) is np.float32


@pytest.mark.parametrize("n", [1, 5, 12, 20, 30])
@pytest.mark.parametrize("x", [0.05, 0.9, 3.3, 6.7, 9.8, 25.1])
def test_sinc_of_every_order(n, x):
    with mpmath.workdps(80):
        t = mpmath.pi * mpmath.mpf(x)
        integral = mpmath.quad(
            lambda u: u**n * mpmath.cos(t * u + n * mpmath.pi / 2), mpmath.linspace(0, 1, 30)
        )
        expected = float(mpmath.pi**n * integral)
    scale = float(mpmath.pi**n) / (n + 1)
    assert ad.derivative(ad.sinc, n)(x) == pytest.approx(expected, abs=1e-13 * scale)


def test_sinc_of_arrays_with_infinities_and_of_float32_far_out():
    found = ad.sinc(np.array([np.inf, 0.0, -np.inf, np.nan, 1.5]))
    assert np.isnan(found).tolist() == [True, False, True, True, False]
    assert abs(ad.sinc(np.float32(1001.0))) < 1e-9  # sin(1001 π) = 0


def test_the_slope_of_copysign_in_batches():
    x, y = np.array([2.0, -3.0], np.float32), np.array([-1.0, 0.0], np.float32)
    slopes = ad.vmap(ad.grad(ad.copysign))(x, y)
    assert slopes.tolist() == [-1.0, -1.0]
    assert slopes.dtype == np.float32
