"""Wrong orders can be run: their numbers stand beside the right ones."""

import math

import pytest

import simpleautodiff as ad
from simpleautodiff import (
    ArgumentError,
    Node,
    OrderError,
    add,
    all_orders,
    forward,
    log,
    mul,
    preorder,
    reverse,
    sin,
    sub,
    topological_order,
)


@pytest.fixture
def graph():
    x1, x2 = Node(2), Node(5)
    return x1, x2, sub(add(log(x1), mul(x1, x2)), sin(x2))


def test_the_papers_counter_example_gives_wrong_numbers(graph):
    """The paper: v4 is reached from v1 before v2 is known, so 5 of 5.5 is missing."""
    x1, _, y = graph
    wrong = forward(x1, order=preorder(x1))
    assert wrong[y] == y.partial_derivative == 0.5
    assert wrong.right[y] == 5.5
    (edge,) = wrong.violations
    assert [node.operator for node in edge] == ["mul", "add"]
    assert "v4      0.5        5.5     ✗" in str(wrong)
    assert "v4 comes before its parent v2" in str(wrong)


def test_every_topological_order_gives_the_right_numbers(graph):
    x1, x2, y = graph
    for root, expected in ((x1, 5.5), (x2, 2 - math.cos(5))):
        for order in all_orders(root):
            found = forward(root, order=order)
            assert found[y] == pytest.approx(expected, rel=1e-15)
            assert found.violations == []
            assert "every node comes after its parents" in str(found)


def test_reverse_along_a_wrong_order(graph):
    x1, x2, y = graph
    v2 = next(node for node in x1.child_nodes if node.operator == "mul")
    order = [node for node in [x1, x2, *topological_order(x1)[1:]] if node is not v2]
    order += [v2, next(node for node in x2.child_nodes if node.operator == "sin")]
    found = reverse(y, order=order)
    assert found[x1] == 0.5  # by way of log alone
    assert "v2 comes after its child v4" in str(found)
    assert "read from the end, it is done before" in str(found)


def test_what_is_missing_in_an_order_is_named(graph):
    x1, _, y = graph
    order = [node for node in topological_order(x1) if node.operator != "log"]
    found = forward(x1, order=order)
    assert found[y] == 5
    assert "v1 is missing" in str(found)


def test_what_is_no_order_is_refused(graph):
    x1, _, _ = graph
    with pytest.raises(OrderError, match="stands in it twice"):
        forward(x1, order=[x1, x1])
    with pytest.raises(ArgumentError, match="walked from a Node"):
        forward(x1, order=[2])


def test_a_node_as_a_seed_says_what_to_write(graph):
    x1, _, y = graph
    for sweep in (lambda: reverse(y, x1), lambda: forward(x1, y), lambda: forward({x1: y})):
        with pytest.raises(ArgumentError, match=r"write reverse\(y\)\[x\] or forward\(x\)\[y\]"):
            sweep()


def test_an_empty_order_is_shown_with_all_that_is_missing():
    x = ad.Node(2.0)
    y = ad.sin(x) * x
    shown = repr(ad.forward(x, order=[]))
    assert y.value == pytest.approx(1.8185948536513634)
    assert shown.endswith("are missing.")
    assert all(name in shown for name in ("x1", "v1", "v2"))


def test_a_node_made_by_hand_has_no_rule_and_the_error_says_what_to_do():
    x = ad.Node(2.0)
    y = ad.Node(4.0, [x, x], "mul")
    y.grad_wrt_parents = [2.0, 2.0]
    x.child_nodes.append(y)
    assert ad.reverse(y)[x] == 4.0
    assert "∂y/∂x1" in str(ad.trace(y).adjoints())
    for look in (ad.source, ad.compare):
        with pytest.raises(ad.errors.RuleError, match="use simpleautodiff's mul, or look at it by"):
            look(y)
