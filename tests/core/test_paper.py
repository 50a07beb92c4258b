"""Everything the paper shows about log(x1) + x1*x2 - sin(x2) at (2, 5), errata applied."""

import math
from itertools import pairwise

import pytest

import simpleautodiff as ad
from simpleautodiff import (
    Node,
    Program,
    add,
    all_orders,
    check_order,
    execution_order,
    forward,
    log,
    mul,
    preorder,
    reachable,
    reverse,
    sin,
    sub,
    topological_order,
)
from simpleautodiff.display.figures.paper_listings import (
    EVALUATING,
    ORDERING,
    SWEEPING,
    WRAPPING,
)
from simpleautodiff.display.tables.tables import adjoints_table, tangents_table, values_table
from simpleautodiff.program.orders import paper_names


class Graph:
    """The paper's graph, built by its own nested call, with its own names."""

    def __init__(self):
        self.x1, self.x2 = Node(2), Node(5)
        self.y = sub(add(log(self.x1), mul(self.x1, self.x2)), sin(self.x2))
        self.name = paper_names(execution_order(self.y))
        self.node = {name: node for node, name in self.name.items()}

    def names(self, nodes):
        return [self.name[node] for node in nodes]


@pytest.fixture
def graph():
    return Graph()


VALUES = {
    "x1": 2,
    "x2": 5,
    "v1": math.log(2),
    "v2": 10,
    "v3": math.sin(5),
    "v4": math.log(2) + 10,
    "v5": math.log(2) + 10 - math.sin(5),
}
TANGENTS_X1 = {"x1": 1, "x2": 0, "v1": 0.5, "v2": 5, "v3": 0, "v4": 5.5, "v5": 5.5}
ADJOINTS = {"x1": 5.5, "x2": 2 - math.cos(5), "v1": 1, "v2": 1, "v3": -1, "v4": 1, "v5": 1}
OPERATORS = {
    "x1": "input",
    "x2": "input",
    "v1": "log",
    "v2": "mul",
    "v3": "sin",
    "v4": "add",
    "v5": "sub",
}


def test_values_and_operators(graph):
    assert {name: node.value for name, node in graph.node.items()} == pytest.approx(VALUES)
    assert {name: node.operator for name, node in graph.node.items()} == OPERATORS


def test_the_table_of_members_for_v2(graph):
    v2 = graph.node["v2"]
    assert v2.value == 10
    assert v2.parent_nodes == [graph.x1, graph.x2]
    assert graph.names(v2.child_nodes) == ["v4"]
    assert v2.operator == "mul"
    assert v2.grad_wrt_parents == [5, 2]
    forward(graph.x1)
    assert v2.partial_derivative == 5


def test_root_nodes_have_empty_members():
    x1 = Node(2)
    assert (x1.parent_nodes, x1.child_nodes, x1.grad_wrt_parents) == ([], [], [])
    assert x1.operator == "input"  # as in the authors' program


@pytest.mark.parametrize(
    ("name", "partials"),
    [("v1", [0.5]), ("v2", [5, 2]), ("v3", [math.cos(5)]), ("v4", [1, 1]), ("v5", [1, -1])],
)
def test_local_derivatives(graph, name, partials):
    assert graph.node[name].grad_wrt_parents == pytest.approx(partials, rel=1e-15)


def test_forward_table(graph):
    dot = forward(graph.x1)
    assert {name: dot[node] for name, node in graph.node.items()} == TANGENTS_X1
    assert graph.y.partial_derivative == 5.5


def test_reverse_table(graph):
    bar = reverse(graph.y)
    assert {name: bar[node] for name, node in graph.node.items()} == pytest.approx(ADJOINTS)
    assert graph.x1.partial_derivative == 5.5


def test_reachable_subgraph(graph):
    found = reachable(graph.x1)
    assert set(graph.names(found.nodes)) == {"x1", "v1", "v2", "v4", "v5"}
    edges = {(graph.name[u], graph.name[v]) for u, v in found.edges}
    assert edges == {("x1", "v1"), ("x1", "v2"), ("v1", "v4"), ("v2", "v4"), ("v4", "v5")}


def test_the_order_the_listing_prints_and_the_one_of_the_text(graph):
    assert graph.names(topological_order(graph.x1)) == ["x1", "v2", "v1", "v4", "v5"]
    orders = [graph.names(order) for order in all_orders(graph.x1)]
    assert orders == [["x1", "v1", "v2", "v4", "v5"], ["x1", "v2", "v1", "v4", "v5"]]
    for order in all_orders(graph.x1):
        check_order(order)


def test_preorder_is_the_counter_example(graph):
    order = preorder(graph.x1)
    assert graph.names(order) == ["x1", "v1", "v4", "v5", "v2"]
    with pytest.raises(ad.OrderError, match="v2 stands after its child v4"):
        check_order(order)


def test_two_numberings(graph):
    steps = Program(execution_order(graph.y)).steps
    assert [(s.name, s.operator) for s in steps if s.operator] == [
        ("v1", "log"),
        ("v2", "mul"),
        ("v3", "sin"),
        ("v4", "add"),
        ("v5", "sub"),
    ]
    assert [s.args for s in steps] == [
        (),
        (),
        ("x1",),
        ("x1", "x2"),
        ("x2",),
        ("v1", "v2"),
        ("v4", "v3"),
    ]
    executed = Program(execution_order(graph.y), numbering="execution").steps
    assert [s.operator for s in executed if s.operator] == ["log", "mul", "add", "sin", "sub"]


def test_incremental_accumulations_in_the_order_of_the_table(graph):
    items = Program(execution_order(graph.y)).accumulations()
    expected = [  # the paper's table from bottom to top
        ("v4", "v5", True, 1),
        ("v3", "v5", True, -1),
        ("v1", "v4", True, 1),
        ("v2", "v4", True, 1),
        ("x2", "v3", True, -math.cos(5)),
        ("x1", "v2", True, 5),
        ("x2", "v2", False, 2 - math.cos(5)),
        ("x1", "v1", False, 5.5),
    ]
    assert [(i.parent, i.child, i.first) for i in items] == [row[:3] for row in expected]
    assert [i.total for i in items] == pytest.approx([row[3] for row in expected])


def paper_program():
    return ad.trace(lambda x1, x2: log(x1) + x1 * x2 - sin(x2), 2, 5)


def test_tables_read_as_in_the_paper():
    program = paper_program()
    assert str(values_table(program)).splitlines()[3:8] == [
        "v1  = log(x1) = log(2)            = 0.693",
        "v2  = x1 × x2 = 2 × 5             = 10",
        "v3  = sin(x2) = sin(5)            = −0.959",
        "v4  = v1 + v2 = 0.693 + 10        = 10.693",
        "v5  = v4 − v3 = 10.693 − (−0.959) = 11.652",
    ]
    assert str(tangents_table(program, "x1")).splitlines()[3:8] == [
        "v̇1  = ẋ1 / x1           = 1 / 2         = 0.5",
        "v̇2  = ẋ1 × x2 + ẋ2 × x1 = 1 × 5 + 0 × 2 = 5",
        "v̇3  = ẋ2 × cos(x2)      = 0 × cos(5)    = 0",
        "v̇4  = v̇1 + v̇2           = 0.5 + 5       = 5.5",
        "v̇5  = v̇4 − v̇3           = 5.5 − 0       = 5.5",
    ]
    rows = [line.split(" = ")[2:] for line in str(adjoints_table(program)).splitlines()[2:10]]
    assert [[cell.strip() for cell in row] for row in rows] == [
        ["v̄5 × 1", "1 × 1", "1"],
        ["v̄5 × (−1)", "1 × (−1)", "−1"],
        ["v̄4 × 1", "1 × 1", "1"],
        ["v̄4 × 1", "1 × 1", "1"],
        ["v̄3 × cos(x2)", "−1 × cos(5)", "−0.284"],
        ["v̄2 × x2", "1 × 5", "5"],
        ["x̄2 + v̄2 × x1", "−0.284 + 1 × 2", "1.716"],
        ["x̄1 + v̄1 / x1", "5 + 1 / 2", "5.5"],
    ]


LISTINGS = "\n\n".join((WRAPPING, ORDERING, SWEEPING, ""))


def run_star(code, **names):
    space = dict(names)
    exec("from simpleautodiff import *", space)
    exec(code, space)
    return space


def test_the_papers_calls_run_unchanged():
    space = run_star(
        "x1 = Node(2)\nx2 = Node(5)\n"
        "y = sub(add(log(x1), mul(x1, x2)),sin(x2))\n"
        "order = topological_order(x1)\nforward(x1)\n"
    )
    assert space["y"].partial_derivative == 5.5
    assert [n.operator for n in space["order"]] == ["input", "mul", "log", "add", "sub"]


def test_the_papers_own_listings_run_on_our_nodes():
    space = run_star(f"{LISTINGS}{EVALUATING}\nforward(x1)\n")
    assert space["y"].partial_derivative == 5.5
    assert ad.reverse(space["y"])[space["x2"]] == pytest.approx(2 - math.cos(5))


def test_a_derivative_is_that_of_the_last_sweep_of_the_same_graph(graph):
    other = Node(2)
    late = mul(graph.y, 2)
    with pytest.raises(ad.TraceError, match=r"before a sweep: call forward\(x\) or reverse\(y\)"):
        _ = late.partial_derivative
    forward(graph.x1)
    forward(other)
    assert (graph.y.partial_derivative, late.partial_derivative) == (5.5, 11)
    assert mul(late, 3).partial_derivative == 0  # it came after the sweep
    reverse(other)
    assert (graph.y.partial_derivative, other.partial_derivative) == (5.5, 1)


def test_a_node_inside_a_derivative_keeps_no_partial_derivative():
    def f(x):
        x.partial_derivative = 1.0
        return x

    with pytest.raises(ad.TraceError, match="keeps no partial derivative"):
        ad.grad(f)(2.0)


def test_the_stars_shadow_no_builtin():
    import builtins

    assert not set(ad.__all__) & set(dir(builtins))


def test_a_sweep_does_not_see_the_last_one(graph):
    results = [forward(x)[graph.y] for x in (graph.x1, graph.x2, graph.x1)]
    assert results == pytest.approx([5.5, 2 - math.cos(5), 5.5], rel=1e-15)
    forward(graph.x2)
    assert graph.node["v1"].partial_derivative == 0
    assert graph.y.partial_derivative == pytest.approx(2 - math.cos(5))


def test_forward_from_an_interior_node(graph):
    dot = forward(graph.node["v2"])
    assert (dot[graph.y], dot[graph.node["v1"]], dot[graph.x1]) == (1, 0, 0)


def test_seeds_and_several_outputs(graph):
    other = mul(graph.y, graph.x1)
    assert forward(graph.x1, seed=3)[graph.y] == 16.5
    both = forward({graph.x1: 1, graph.x2: 2})
    assert both[graph.y] == pytest.approx(5.5 + 2 * (2 - math.cos(5)))
    bar = reverse({graph.y: 10, other: 1})
    expected = 10 * 5.5 + graph.y.value + 2 * 5.5
    assert bar[graph.x1] == pytest.approx(expected)
    assert reverse(graph.y)[other] == 0


def test_verbose_prints_the_right_numbers(graph, capsys):
    forward(graph.x1, verbose=True)
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert "= (5)(1) + (2)(0) = 5" in lines
    assert "= (1)(5.5) + (-1)(0) = 5.5" in lines
    assert "dv2/dx1 = (dv2/dx1)(dx1/dx1) + (dv2/dx2)(dx2/dx1)" in lines
    assert "v1 = log(x1) = 0.693" in lines
    reverse(graph.y, verbose=True)
    assert "= (1)(0.5) + (1)(5) = 5.5" in capsys.readouterr().out


def test_verbose_does_not_print_a_small_number_as_zero(capsys):
    x = Node(1e-5)
    y = mul(x, Node(2))
    forward(x, verbose=True)
    out = capsys.readouterr().out
    assert "x1 = 1e-05" in out
    assert "= 2e-05" in out
    assert y.partial_derivative == 2


def test_a_second_example_begins_with_x1_again(graph):
    again = Graph()
    assert again.names([again.x1, again.x2, again.y]) == ["x1", "x2", "v5"]


def test_a_value_edited_afterwards_is_noticed(graph):
    graph.x1.value = 3
    with pytest.raises(ad.TraceError, match=r"mul\(3, 5\) is 15, but its node holds 10.*Build"):
        forward(graph.x1)
    with pytest.raises(ad.TraceError, match="changed after the graph was built"):
        reverse(graph.y)


def test_no_shared_default_list():
    a, b = Node(1), Node(2)
    mul(a, a)
    assert b.parent_nodes == []
    assert b.child_nodes == []
    assert a.parent_nodes is not b.parent_nodes


def test_x_minus_x_and_x_times_x(graph):
    x = Node(3.0)
    assert reverse(sub(x, x))[x] == 0
    assert reverse(mul(x, x))[x] == 6
    assert forward(x)[mul(x, x)] == 0  # made after the sweep
    y = mul(x, x)
    assert forward(x)[y] == 6
    assert x.child_nodes == [y]


def test_orders_are_strictly_increasing_along_edges(graph):
    for order in all_orders(graph.x2):
        positions = {node: i for i, node in enumerate(order)}
        assert all(positions[u] < positions[v] for u, v in reachable(graph.x2).edges), graph.names(
            order
        )
    counts = [len(order) for order in all_orders(graph.x2)]
    assert all(a == b for a, b in pairwise(counts))
