"""Graphs typed by hand and swept: nodes of nodes, stated nodes, lookups, copies."""

import decimal
import gc
import math
import pickle
import weakref

import mpmath
import numpy as np
import pytest

import simpleautodiff as ad
from simpleautodiff import Node, forward, grad, reverse
from simpleautodiff.core import forward_reverse as graphs
from simpleautodiff.core.engine import Engine
from simpleautodiff.core.linear import ZERO, PartialAdjoint, plus
from simpleautodiff.core.order import topological_order
from simpleautodiff.core.tape import Tape
from simpleautodiff.program.node_names import label_of


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


def test_the_derivative_of_a_real_number_by_a_complex_path_is_real():
    # y = Re((1 + 2i) x · (3 - 1i) x) = Re(5 + 5i) x² = 5 x²
    x = Node(2.0)
    y = ad.real((1 + 2j) * x * ((3 - 1j) * x))
    for found in (reverse(y)[x], forward(x)[y]):
        assert type(found) is float
        assert found == 20.0


def test_a_derivative_has_the_shape_of_its_value():
    x = Node(np.ones(3))
    y = x * 2.0
    t = Node(2.0)
    spread = t + np.zeros(3)
    for found, expected in (
        (forward(x)[y], [2.0, 2.0, 2.0]),
        (reverse(y)[x], [2.0, 2.0, 2.0]),
        (forward(t)[spread], [1.0, 1.0, 1.0]),
        (reverse(spread)[t], 3.0),
        (ad.derivative(lambda t: t + np.zeros(3))(2.0), [1.0, 1.0, 1.0]),
        (ad.derivative(lambda t: t + np.zeros(3), n=2)(2.0), [0.0, 0.0, 0.0]),
    ):
        assert np.shape(found) == np.shape(expected)
        np.testing.assert_array_equal(found, expected)


def test_derivatives_made_of_integers_do_not_overflow():
    """The seed 1 times 3, 50 times, is more than NumPy's integers hold."""

    def triple(y):
        for _ in range(50):
            y = y * 3
        return y

    several = lambda x: np.sum(triple(np.stack([x, x])))
    later = lambda x: np.sum(np.stack([triple(x), x]))
    for f, exact in ((several, 2.0 * 3**50), (later, 1.0 + 3**50)):
        x = Node(1.0)
        y = f(x)
        assert reverse(y)[x] == forward(x)[y] == pytest.approx(exact, rel=1e-14)
        assert type(reverse(y)[x]) is float
        assert ad.derivative(f)(1.0) == pytest.approx(exact, rel=1e-14)
        assert ad.jvp(f, (1.0,), (1,))[1] == pytest.approx(exact, rel=1e-14)
        assert ad.vmap(ad.derivative(f))(np.ones(1))[0] == pytest.approx(exact, rel=1e-14)
        nested = ad.derivative(lambda x, f=f: x * ad.derivative(f)(x))
        assert nested(1.0) == pytest.approx(exact, rel=1e-14)
        assert ad.derivative(lambda x, f=f: f(x * x), 2)(1.0) == pytest.approx(2 * exact, rel=1e-14)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64])
def test_derivatives_of_arrays_have_their_dtype(dtype):
    x = Node(np.array([1, 2], dtype))
    for f in (np.sum, lambda x: np.sum(2 * x), lambda x: np.stack([x, x]), lambda x: x[0] * 3):
        y = f(x)
        assert reverse(y)[x].dtype == forward(x)[y].dtype == dtype


def test_derivatives_of_integers_of_python_are_integers():
    x, y = Node(2), Node(5)
    z = np.sum(np.stack([x * y, x]))
    bar = reverse(z)
    assert (bar[x], bar[y]) == (6, 2)
    assert type(bar[x]) is type(bar[y]) is int


def test_a_derivative_of_a_function_that_uses_a_node_typed_by_hand_around_an_outer_one():
    def g(x):
        a = Node(x)
        slope = grad(lambda y: a * y * y)(3.0)  # 6 a
        return reverse(slope)[a] * x

    assert grad(g)(2.0) == 6.0


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


def test_nodes_pickled_together_stay_connected():
    x = Node(2.0)
    y = x * x
    x2, y2 = pickle.loads(pickle.dumps((x, y)))
    assert reverse(y2)[x2] == 4.0
    assert y2.parent_nodes[0] is x2


def test_a_trace_that_fails_leaves_nothing():
    made = []

    def fails(x):
        for _ in range(100):
            x = x * x
            made.append(weakref.ref(x))
        raise KeyError(0)

    gc.disable()
    try:
        for _ in range(5):
            with pytest.raises(KeyError):
                ad.trace(fails, 1.0)
        assert len(made) == 500
        assert all(link() is None for link in made)
    finally:
        gc.enable()


def test_constants_of_a_graph_typed_by_hand_are_kept_and_are_no_parents():
    x, factor = ad.Node(np.array([1.0, 2.0])), np.array([3.0, 4.0])
    y = x * factor
    factor[:] = 0.0
    assert y.parent_nodes == [x]
    assert ad.reverse(y)[x].tolist() == [3.0, 4.0]
    assert ad.forward(x)[y].tolist() == [3.0, 4.0]


def test_a_node_of_a_lower_level_is_no_parent():
    seen = []

    def outer(x):
        def inner(t):
            seen.append(t * x)
            return seen[-1] * t

        return ad.grad(inner)(2.0) * x  # d(x t²)/dt x = 4 x² at t = 2

    assert ad.grad(outer)(3.0) == 24.0
    assert len(seen[0].parent_nodes) == 1


def test_a_graph_typed_by_hand_inside_a_derivative_lies_above_it():
    """Of h x² with h typed around x, ∂/∂h = x² is a number of the derivative outside: 2x there."""

    def f(x):
        h = ad.Node(x)
        y = ad.mul(h, ad.mul(x, x))
        return ad.reverse(y)[h]

    assert ad.grad(f)(3.0) == 6.0
    assert ad.jvp(f, (3.0,), (1.0,))[1] == 6.0


# What the core does by itself, without those who build on it. -------------------------------------


def test_seeds_are_one_and_have_the_shape_of_their_values():
    x = Node(np.array([1.0, 2.0]))
    y = ad.sin(x)
    for sweep, root in ((graphs.forward(x), x), (graphs.reverse(y), y)):
        np.testing.assert_array_equal(sweep[root], [1.0, 1.0])
    x = Node(3.0)
    y = x * x
    assert graphs.forward(x)[y] == graphs.reverse(y)[x] == 6.0
    assert graphs.forward(x, 2)[y] == graphs.reverse(y, 2)[x] == 12.0


class Half(PartialAdjoint):
    """An adjoint of which not everything exists: it must be asked to add others."""

    def __init__(self, array):
        self.array = array

    def __add__(self, other):
        return Half(self.array + getattr(other, "array", other))


@pytest.mark.parametrize(
    ("a", "b", "total"), [(2.0, Half(3.0), 5.0), (Half(3.0), 2.0, 5.0), (Half(1.0), Half(3.0), 4.0)]
)
def test_a_sum_with_an_adjoint_of_which_not_everything_exists(a, b, total):
    assert plus(a, b).array == total
    assert plus(a, ZERO) is plus(ZERO, a) is a
    assert plus(b, ZERO) is plus(ZERO, b) is b


def test_what_is_partly_zero_and_what_is_not_are_added_in_either_order():
    choice = lambda x: np.sum(np.maximum(x, 0.0) * 2 + x * x)
    other = lambda x: np.sum(x * x + np.maximum(x, 0.0) * 2)
    for f in (choice, other):
        np.testing.assert_array_equal(grad(f)(np.array([-3.0, 5.0])), [-6.0, 12.0])


def test_nodes_of_a_differentiated_function_are_in_no_order_of_children():
    def f(x):
        with pytest.raises(ad.TraceError, match="keeps no list of children"):
            topological_order(x)
        return x * x

    assert grad(f)(2.0) == 4.0


def test_a_node_is_what_it_is_stated_to_be():
    x = Node(2.0)
    assert Node(7.0, (), "given").operator == "given"
    assert Node(7.0, (), "given").primitive is not None
    assert Node(7.0, [x]).primitive is not None
    assert Node(7.0).primitive is None
    assert label_of(Node(2.0, name="alpha")) == "alpha"


def test_dead_children_are_swept_out_when_their_list_has_doubled():
    x, lengths = Node(1.0), []
    for _ in range(20):
        ad.sin(x)
        lengths.append(len(x.index) if isinstance(x.index, list) else 1)
    assert lengths == [*range(1, 9), *range(1, 9), *range(1, 5)]
    kept = [ad.sin(x) for _ in range(9)]
    lengths = []
    for _ in range(20):
        ad.sin(x)
        lengths.append(len(x.index))
    assert max(lengths) == 2 * len(kept)
    assert len(x.child_nodes) == len(kept) == 9


def test_before_any_sweep_nothing_has_a_derivative():
    assert Engine().unswept(None) == 0  # what the core says where nobody explains
    with pytest.raises(ad.TraceError, match="no partial derivative before a sweep"):
        Node(2.0).partial_derivative


def test_a_tape_is_swept_both_ways_and_emptied_after_the_last_sweep():
    tape = Tape()
    with tape:
        x = tape.input(3.0)
        y = ad.mul(x, x)
        z = ad.sin(tape.input(1.0))
    assert tape.push([(x, 1.0), (x, 0.5)], [y, z]) == [9.0, None]  # 2 x (1 + 1/2)
    assert tape.pull([(y, 1.0)], [x, z]) == [6.0, None]
    assert len(tape) == 4
    assert tape.pull([(y, 2.0)], [x], once=True) == [12.0]
    assert len(tape) == 0
