"""What cannot be done is refused, by an error of ours that names the operand and the way out."""

import math
import statistics
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import simpleautodiff as ad
from simpleautodiff import Node, forward, grad, jvp, vjp
from simpleautodiff.core.order import execution_order, topological_order

HERE = r"test_refusals\.py:\d+"


def refuses(error, message, action):
    with pytest.raises(error, match=message):
        action()


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda x: float(x), r"float\(\) of Node\(2.0\) would drop its derivative"),
        (lambda x: int(x), r"int\(\) of Node\(2.0\)"),
        (lambda x: complex(x), r"complex\(\) of Node\(2.0\)"),
        (lambda x: math.sin(x), r"simpleautodiff's or NumPy's: np.sin\(x\) for math.sin\(x\)"),
        (lambda x: [1, 2, 3][x], "the use as an index"),
        (lambda x: bool(x), "if node != 0"),
        (lambda x: 1 if x else 2, HERE),
        (lambda x: np.array([x, x]), r"np.stack\(\[a, b\]\)"),
        (lambda x: f"{float(x)}", HERE),
    ],
)
def test_nothing_drops_a_derivative(action, message):
    refuses(TypeError, message, lambda: action(Node(2.0)))
    with pytest.raises(ad.AutodiffError):
        grad(action)(2.0)


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda x: statistics.mean(list(x)), r"for statistics\.mean\(x\) write np\.mean\(x\)"),
        (lambda x: x.data, r"x\.data of a node would drop its derivative; use x\.value\.data"),
        (lambda x: x.ctypes, r"use x\.value\.ctypes"),
        (lambda x: x.base, r"use x\.value\.base"),
        (lambda x: x.byteswap(), r"use x\.value\.byteswap\(\)"),
        (lambda x: x.setflags(write=False), r"has no effect; use x\.copy\(\)"),
        (lambda x: np.vecdot(x, x, axes=[0, 0], keepdims=True), "no derivative rule.* axes"),
    ],
)
def test_what_looks_into_memory_says_what_to_write(action, message):
    with pytest.raises(ad.AutodiffError, match=message):
        grad(action)(np.ones(3))


def test_a_node_has_no_memory_to_ask_for():
    assert not any(hasattr(Node(np.ones(3)), name) for name in ("data", "ctypes", "base"))


@pytest.mark.parametrize("value", ["2", None, [1.0], {"a": 1}, (1,), object(), b"1", {1, 2}])
def test_values_that_are_no_numbers(value):
    refuses(ad.ValueKindError, "not a number", lambda: Node(value))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("2", r"is '2', which is not a number. Convert it first: float\(text\)"),
        (None, "forget to return"),
        (np.array(["a"]), "array of <U1"),
    ],
)
def test_the_message_says_what_to_do(value, message):
    refuses(ad.ValueKindError, message, lambda: Node(value))
    refuses(ad.ValueKindError, "argument 2 of mul", lambda: ad.mul(Node(1.0), "2"))
    refuses(ad.ValueKindError, "argument 1 of sin", lambda: ad.sin("2"))


def test_an_object_that_is_no_number_inside_a_structure():
    refuses(
        ad.ValueKindError, "an argument of f", lambda: grad(f_of_dict)({"a": 1.0, "b": object()})
    )


def f_of_dict(p):
    return p["a"]


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda x: None, "forget to return"),
        (lambda x: "text", "not a number"),
        (lambda x: [x, x], "a list of 2. Use jacobian"),
        (lambda x: (x, x), "returned a tuple of 2"),
        (lambda x: {"y": x}, "returned a dict of 1"),
        (lambda x: x > 1, "a comparison has no derivative"),
        (lambda x: print, "not a number"),
    ],
)
def test_results_that_grad_cannot_take(f, message):
    refuses(ad.ResultError, message, lambda: grad(f)(2.0))


def test_results_that_other_transformations_cannot_take():
    refuses(ad.ResultError, "forget to return", lambda: jvp(lambda x: None, (1.0,), (1.0,)))
    refuses(ad.ResultError, r"the result\[1\]", lambda: vjp(lambda x: [x, object()], 1.0))
    refuses(ad.ResultError, r"result\['b'\]", lambda: ad.jacobian(lambda x: {"b": {1}})(1.0))
    refuses(ad.ResultError, "forget to return", lambda: ad.jacobian(lambda x: {"b": "no"})(1.0))
    refuses(ad.ResultError, "has_aux=True needs", lambda: grad(lambda x: x, has_aux=True)(1.0))
    refuses(ad.ResultError, "nothing to show", lambda: ad.trace(lambda x: 1.0, 2.0))


def two(x, y):
    return x * y


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda: ad.sin(), "sin takes 1 argument, got 0"),
        (lambda: ad.sin(1.0, 2.0), "sin takes 1 argument, got 2"),
        (lambda: ad.mul(Node(1)), "mul takes 2 arguments, got 1"),
        (lambda: ad.mul(1, 2, 3), "mul takes 2 arguments, got 3"),
        (lambda: ad.where(True, 1), "where takes 3 arguments, got 2"),
        (lambda: grad(two)(1.0), r"two\(x, y\) does not take these arguments: missing a required"),
        (lambda: grad(two)(1.0, 2.0, 3.0), "too many positional arguments"),
        (lambda: grad(two)(), "argnums=0, but two was called with 0 positional arguments"),
        (lambda: grad(two, 2)(1.0, 2.0), "argnums=2"),
        (lambda: topological_order(3.0), r"walked from a Node, got 3\.0: wrap it in Node"),
        (lambda: execution_order(3.0), r"walked from a Node, got 3\.0: wrap it in Node"),
        (lambda: grad(two, 1)(1.0, y=2.0), "with 1 positional argument; write argnums='y'"),
        (lambda: grad(two, "z")(1.0, 2.0), "two has no parameter 'z'; it has x, y"),
        (lambda: grad(lambda alpha: alpha, "alhpa")(1.0), "did you mean 'alpha'"),
        (lambda: grad(two, "y")(1.0), "was called without 'y'"),
        (lambda: grad(two, 1.5)(1.0, 2.0), "argnums is a position"),
        (lambda: grad(two, True)(1.0, 2.0), "argnums is a position"),
        (lambda: grad(two, np.ones(2))(1.0, 2.0), r"write grad\(f\)\(array"),
        (lambda: jvp(two, (1.0, 2.0), (1.0,)), "the tangents of jvp must have the structure"),
        (lambda: jvp(two, 1.0, 1.0), "jvp takes tuples"),
        (lambda: vjp(two, 1.0, 2.0)[1]((1.0, 2.0)), "the seed of a pullback"),
        (lambda: ad.linearize(two, 1.0, 2.0)[1](1.0), "linearised function"),
        (lambda: ad.jacobian(two, mode="sideways"), "mode is 'auto', 'forward', 'reverse', 'elim"),
        (lambda: ad.derivative(two, n=-1), "order of a derivative is 0, 1, 2"),
        (lambda: ad.derivative(two, n=1.5), "order of a derivative"),
        (lambda: ad.derivative(sum)([1.0, 2.0]), "with respect to one number"),
        (lambda: ad.derivative(two, 1, (0, 1))(1.0, 2.0), "with respect to one number"),
        (lambda: ad.forward(3.0), "a sweep starts from a Node"),
        (lambda: ad.reverse({}), "a sweep starts from a Node"),
        (lambda: ad.reverse({1.0: 2.0}), "a graph is walked from a Node"),
        (lambda: ad.reverse({Node(1): 1, Node(Node(1)): 1}), "different graphs"),
        (lambda: ad.topological_order(2.0), "walked from a Node"),
        (lambda: ad.check_grad(two), "needs a point"),
        (lambda: ad.check_grad(two, 1.0, 2.0, order=0), "order of a check"),
        (lambda: ad.trace(two, 1.0), "does not take these arguments"),
        (lambda: ad.trace(two), r"write its arguments after it, as in trace\(f, x, y\)"),
        (lambda: ad.explore(two), r"write its arguments after it, as in trace\(f, x, y\)"),
        (lambda: ad.Program([Node(1)], numbering="roman"), "numbering is 'paper' or 'execution'"),
        (lambda: ad.Program([Node(1)]).node("v9"), "there is no 'v9' here"),
    ],
)
def test_arguments_that_do_not_fit(action, message):
    refuses(ad.ArgumentError, message, action)


def test_stated_derivatives_must_fit_the_parents():
    node = Node(6.0, [Node(2.0), Node(3.0)], "mul")
    assert node.grad_wrt_parents == []
    with pytest.raises(ad.ArgumentError, match="2 parents"):
        node.grad_wrt_parents = [1.0]


def test_a_type_error_of_the_users_own_function_is_left_alone():
    def f(x):
        return len(x)

    refuses(TypeError, "single number, not an array", lambda: grad(f)(1.0))


DOMAIN = [
    (lambda x: ad.log(x), 0.0, r"log\(0.0\) is not a finite number; log needs x > 0", -math.inf),
    (lambda x: ad.log(x), -1.0, r"log\(-1.0\)", math.nan),
    (lambda x: 1 / x, 0.0, r"div\(1, 0.0\).*div needs y ≠ 0", math.inf),
    (lambda x: x / x, 0.0, r"div\(0.0, 0.0\)", math.nan),
    (lambda x: ad.sqrt(x), -1.0, r"sqrt\(-1.0\)", math.nan),
    (lambda x: x ** (1 / 3), -8.0, r"power\(-8.0, 0.333", math.nan),
    (lambda x: x**-1, 0.0, r"power\(0.0, -1\)", math.inf),
    (lambda x: ad.exp(x), 1000.0, r"exp\(1000.0\)", math.inf),
    (lambda x: x % 0, 1.0, r"mod\(1.0, 0\)", math.nan),
]


@pytest.mark.parametrize(("f", "x", "message", "value"), DOMAIN, ids=lambda v: str(v)[:20])
def test_python_floats_become_what_numpy_gives_and_warn(f, x, message, value):
    with pytest.warns(ad.DomainWarning, match=message) as caught:
        result = f(Node(x))
    assert result.value == value or (math.isnan(value) and math.isnan(result.value))
    assert caught[0].filename == __file__
    assert "test_refusals.py" in str(caught[0].message)


def test_numbers_without_inf_are_refused():
    refuses(
        ad.DomainError,
        r"div\(Fraction\(1, 2\), Fraction\(0, 1\)\).*stop there",
        lambda: Node(Fraction(1, 2)) / Fraction(0),
    )
    refuses(ad.DomainError, "stop there", lambda: Node(Decimal(1)) / Node(Decimal(0)))
    refuses(ad.ValueKindError, "Convert the numbers to one kind", lambda: Node(Decimal(1)) + 0.5)


def test_a_derivative_at_a_pole_warns():
    with pytest.warns(ad.DomainWarning, match=r"the derivative of sqrt\(0.0\) is inf"):
        assert grad(ad.sqrt)(0.0) == math.inf


def test_a_node_of_a_finished_trace():
    saved = []

    def leak(x):
        saved.append(x)
        return x * x

    grad(leak)(3.0)
    refuses(ad.TraceError, "already been computed", lambda: grad(lambda x: x * saved[0])(1.0))
    refuses(ad.TraceError, "has_aux=True", lambda: ad.jacobian(lambda x: [saved[0]])(1.0))
    refuses(ad.TraceError, "keeps no list of children", lambda: saved[0].child_nodes)
    import pickle

    refuses(ad.TraceError, "cannot be pickled", lambda: pickle.dumps(saved[0]))


def test_what_has_no_rule():
    refuses(ad.RuleError, "no derivative rule for np.gcd.*five lines", lambda: np.gcd(Node(1.0), 2))
    refuses(
        ad.LostDerivativeError,
        r"into a plain array.*inside the function, with np\.zeros",
        lambda: np.sin(Node(1.0), out=np.zeros(1)),
    )
    refuses(ad.LostDerivativeError, "np.bincount", lambda: np.add.at(np.zeros(2), 0, Node(1.0)))

    class Plain:
        __add__ = __sub__ = __mul__ = __radd__ = __rmul__ = lambda self, other: self

    refuses(
        ad.RuleError, "no sin for numbers of type Plain.*register_number", lambda: ad.sin(Plain())
    )


def test_register_number_needs_a_type():
    refuses(ad.ValueKindError, "needs a type", lambda: ad.register_number(3, {}))


def test_every_error_is_one_of_ours_and_of_pythons():
    kinds = {getattr(ad, name) for name in ad.__all__ if name.endswith("Error")}
    assert len(kinds) == 17
    for kind in kinds - {ad.AutodiffError}:
        assert issubclass(kind, ad.AutodiffError)
        pythons = [base for base in kind.__mro__ if base.__module__ == "builtins"]
        assert pythons[0] is not Exception, kind


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
