"""The ladder: each rung computes what the one before computes, and the last is the library."""

import ast
import inspect
import math
import operator
import random
import re
from fractions import Fraction

import numpy as np
import pytest

import simpleautodiff as ad
from simpleautodiff import learn
from simpleautodiff.errors import ArgumentError
from simpleautodiff.learn.grading.answers import answer
from simpleautodiff.learn.grading.engine_shapes import find_engine
from simpleautodiff.learn.grading.running import run_case
from simpleautodiff.learn.graphs import parse_graph, random_graph
from simpleautodiff.learn.rungs import CORE_PARTS

PAPER = ("add", "sub", "mul", "log", "sin")
MORE = (*PAPER, "div", "pow", "neg", "exp", "cos")


def engine(number):
    return learn.rung(number).engine


def sweep(number, graph, mode, root):
    """Sweep a graph on one rung, through the interface that the grader uses."""
    case = {"inputs": graph.inputs, "steps": graph.steps, "script": (("build",), (mode, root))}
    return run_case(find_engine(vars(engine(number))), case)["sweeps"][0]


def close(found, wanted):
    return all(found[name] == pytest.approx(wanted[name], rel=1e-10, abs=1e-12) for name in found)


def graphs_for(number, seed):
    rng = random.Random(seed)
    operations = PAPER if number < 2 else MORE
    return random_graph(rng, operations, rng.randrange(1, 12), rng.randrange(1, 4), number >= 2)


@pytest.mark.parametrize("number", range(9))
def test_each_rung_equals_the_next_on_random_programs(number):
    modes = ("forward",) if number < 3 else ("forward", "reverse")
    for seed in range(40):
        graph = graphs_for(number, seed)
        for mode in modes:
            roots = graph.names if mode == "forward" else (graph.output,)
            for root in roots:
                here = sweep(number, graph, mode, root)
                if number < 8:
                    assert close(here, sweep(number + 1, graph, mode, root)), str(graph)
                right = answer(graph, (("build",), (mode, root)))[1][0]
                assert close(here, right), str(graph)


def run_graph(found, graph, values):
    nodes = dict(zip(graph.names, values, strict=True))
    for name, operation, args in graph.steps:
        nodes[name] = found.apply(operation, [nodes.get(arg, arg) for arg in args])
    return nodes[graph.output]


def second_derivative(number, graph, x):
    module = engine(number)
    found = find_engine(vars(module), "grad")

    def first(x):
        return module.grad(lambda x: run_graph(found, graph, [x]))(x)[0]

    return module.grad(first)(x)[0]


@pytest.mark.parametrize("number", [5, 6, 7, 8])
def test_second_derivatives_are_the_library_s(number):
    for seed in range(15):
        graph = random_graph(random.Random(seed), ("add", "sub", "mul", "sin", "exp"), 5, 1, False)
        x = dict(graph.inputs)["x1"]
        right = library_second(graph, x)
        assert second_derivative(number, graph, x) == pytest.approx(right, rel=1e-9, abs=1e-9)


def library_second(graph, x):
    found = find_engine(NAMES, "grad")
    return ad.hessian(lambda x: run_graph(found, graph, [x]))(x)


NAMES = {name: getattr(ad, name) for name in ("grad", "add", "sub", "mul", "sin", "exp", "div")}


@pytest.mark.parametrize("number", [5, 6, 7, 8])
def test_exact_numbers_stay_exact(number):
    g = engine(number).grad(lambda x, y: (x * x - y) / (x + 2 * y))
    # SymPy: d/dx = (x² + 4xy + y)/(x + 2y)², d/dy = -(x + 2x²)/(x + 2y)²
    x, y = Fraction(1, 3), Fraction(2, 5)
    below = (x + 2 * y) ** 2
    found = g(x, y)
    assert found == ((x * x + 4 * x * y + y) / below, -(x + 2 * x * x) / below)
    assert all(isinstance(number, Fraction) for number in found)


@pytest.mark.parametrize("number", [6, 7, 8])
def test_arrays_are_differentiated_as_by_the_library(number):
    r = engine(number)
    rng = np.random.default_rng(1)
    w, b, x = rng.normal(size=(2, 3)), rng.normal(size=(2, 1)), rng.normal(size=(3, 4))

    def f(w, b):
        return r.sum_to(r.sin(w @ x + b) * b, ())

    def library(w, b):
        return np.sum(np.sin(w @ x + b) * b)

    for found, right in zip(r.grad(f)(w, b), ad.grad(library, (0, 1))(w, b), strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-12)
    second = r.grad(lambda w: r.sum_to(r.grad(f)(w, b)[0] ** 2, ()))(w)[0]
    right = ad.grad(lambda w: np.sum(ad.grad(library)(w, b) ** 2))(w)
    np.testing.assert_allclose(second, right, rtol=1e-10)


SHAPES = ((), (3,), (2, 3), (2, 1))


def random_array_program(rng, inputs):
    """List steps of a random program of arrays: an operation, and the places of its arguments."""
    steps = []
    for count in range(inputs, inputs + rng.randrange(2, 8)):
        two = rng.choice(("add", "sub", "mul"))
        one = rng.choice(("neg", "sin", "cos"))
        places = rng.randrange(count), rng.randrange(count)
        steps.append(rng.choice(((two, places), (one, places[:1]))))
    return steps


def run_array_program(names, add_up, steps, *arrays):
    """Run it with the functions of an engine; the result is the sum of all that was computed."""
    held = list(arrays)
    for operation, places in steps:
        does = getattr(operator, operation, None) or getattr(names, operation)
        held.append(does(*(held[place] for place in places)))
    return sum((add_up(array) for array in held[1:]), add_up(held[0]))


@pytest.mark.parametrize("number", [6, 7, 8])
def test_random_programs_of_arrays_have_the_gradients_of_the_next_rung(number):
    for seed in range(25):
        rng = random.Random(seed)
        draw = np.random.default_rng(seed)
        arrays = [draw.normal(size=rng.choice(SHAPES)) for _ in range(rng.randrange(1, 4))]
        steps = random_array_program(rng, len(arrays))

        def gradients(r, arrays=arrays, steps=steps):
            def f(*xs):
                return run_array_program(r, lambda a: r.sum_to(a, ()), steps, *xs)

            return r.grad(f)(*arrays)

        def library(*xs, steps=steps):
            return run_array_program(np, np.sum, steps, *xs)

        found = gradients(engine(number))
        right = ad.grad(library, tuple(range(len(arrays))))(*arrays)
        for others in (right, *([gradients(engine(number + 1))] if number < 8 else [])):
            for mine, other in zip(found, others, strict=True):
                np.testing.assert_allclose(mine, other, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("number", [6, 7, 8])
def test_a_matrix_times_a_vector_has_no_wrong_gradient(number):
    r = engine(number)
    w, x = np.array([[0.0, 1.0], [2.0, 3.0]]), np.array([1.0, 2.0])
    (found,) = r.grad(lambda x: r.sum_to(w @ x, ()))(x)
    np.testing.assert_array_equal(found, [2, 4])  # the sums of the columns
    with pytest.raises(ValueError, match="must be at least 2-dimensional"):
        r.grad(lambda w: r.sum_to(w @ x, ()))(w)  # its derivative is an outer product
    (found,) = r.grad(lambda w: r.sum_to(w @ x.reshape(2, 1), ()))(w)
    np.testing.assert_array_equal(found, [[1, 2], [1, 2]])
    stack = np.stack([w, w + 1])  # of two matrices
    (found,) = r.grad(lambda w: r.sum_to(stack @ w, ()))(w)
    np.testing.assert_array_equal(found, [[6, 6], [10, 10]])


@pytest.mark.parametrize("number", [6, 7, 8])
def test_an_array_is_seeded_in_each_of_its_elements(number):
    r = engine(number)
    x = r.Node(np.array([[1.0, 2.0]]), r.Tape())
    total, product = r.sum_to(x, ()), x @ np.array([[3.0], [4.0]])
    dot = r.forward(x)
    assert dot[total] == 2
    np.testing.assert_array_equal(dot[product], [[7]])
    np.testing.assert_array_equal(r.reverse(product)[x], [[3, 4]])
    np.testing.assert_array_equal(r.reverse(x * x)[x], [[2, 4]])


def run_source(r, text, *point):
    names = {**vars(r)}
    exec(text, names)
    return names["gradient"](*point)


def test_source_computes_what_the_tape_computes():
    r = engine(8)
    for seed in range(20):
        graph = graphs_for(8, seed)
        found = find_engine(vars(r), "grad")

        def f(*xs, graph=graph, found=found):
            return run_graph(found, graph, xs)

        point = [value for _, value in graph.inputs]
        text = r.source(f, *point)
        assert run_source(r, text, *point) == pytest.approx(r.grad(f)(*point), rel=1e-15)
        assert "Node" not in text
        ast.parse(text)


def test_source_of_second_derivatives_and_of_arrays():
    r = engine(8)
    text = r.source(lambda x: r.grad(lambda x: x**3)(x)[0], 2.0)
    assert run_source(r, text, 5.0) == (30.0,)  # 6 x
    a = np.array([[1 / 3, 2.0], [3.0, 4.0]])
    text = r.source(lambda x: r.sum_to(a @ x, ()), np.ones((2, 1)))
    (found,) = run_source(r, text, np.zeros((2, 1)))
    np.testing.assert_array_equal(found, [[1 / 3 + 3], [6]])


def test_a_negative_base_is_written_so_that_it_stays_one():
    r = engine(8)
    text = r.source(lambda x: -2.0 * x**2 - r.power(-2.0, 2) * x, 3.0)
    assert run_source(r, text, 3.0) == (-16.0,)


def test_the_exponent_may_be_a_node_from_the_table_on():
    assert engine(7).grad(lambda x: x**x)(2.0)[0] == pytest.approx(4 * (1 + math.log(2)))


def test_rung_0_has_the_defects_of_the_paper_s_program():
    r = engine(0)
    x1, x2 = r.Node(2), r.Node(5)
    y = r.sub(r.add(r.log(x1), r.mul(x1, x2)), r.sin(x2))
    assert r.forward(x1) is None
    assert y.partial_derivative == 5.5
    r.forward(x2)
    r.forward(x1)
    assert y.partial_derivative == pytest.approx(7.2163, abs=1e-4)  # right is 5.5
    assert r.Node(1).parent_nodes is r.Node(2).parent_nodes
    chain = x1
    for _ in range(2000):
        chain = r.add(chain, x1)
    with pytest.raises(RecursionError):
        r.forward(x1)


def test_rung_1_has_them_no_more():
    r = engine(1)
    x1, x2 = r.Node(2), r.Node(5)
    y = r.sub(r.add(r.log(x1), r.mul(x1, x2)), r.sin(x2))
    assert [r.forward(x)[y] for x in (x1, x2, x1)] == pytest.approx([5.5, 1.71633781, 5.5])
    for _ in range(100):
        r.mul(x1, x2)
    assert len(x1.child_nodes) == 2
    with pytest.raises(ValueError, match=r"log\(Node\(0\.0\)\): the logarithm needs a positive"):
        r.log(r.Node(0.0))
    with pytest.raises(TypeError, match="is a number, not 'two'"):
        r.Node("two")
    chain = [x1]
    for _ in range(10_000):
        chain.append(r.add(chain[-1], x1))
    assert r.forward(x1)[chain[-1]] == 10_001


@pytest.mark.parametrize("number", range(9))
def test_each_rung_is_short_and_says_what_it_is(number):
    text = inspect.getsource(engine(number))
    assert len(text.splitlines()) <= 158
    tree = ast.parse(text)
    assert ast.get_docstring(tree).startswith(f"Rung {number}: ")
    for node in ast.walk(tree):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            assert ast.get_docstring(node) or node.name.startswith("_") or node.name in INNER


INNER = ("add_children", "compute", "wrapped", "gradient", "write")


def test_the_last_rung_is_the_library_itself():
    last = learn.RUNGS[-1]
    assert last.engine is ad
    assert "def forward_sweep" in last.text
    assert "class Tape" in last.text


@pytest.mark.parametrize("number", range(9))
def test_a_difference_says_what_changed_and_why(number):
    text = learn.diff(number, number + 1)
    assert learn.RUNGS[number + 1].why in text
    changed = [line for line in text.splitlines() if line.startswith(("+", "-"))]
    assert changed or "core.sweep" in text
    assert learn.diff(number, number).count("\n") < 5


def test_the_parts_that_became_the_core_s_are_parts_of_a_rung():
    texts = [inspect.getsource(engine(number)) for number in range(9)]
    parts = [word for part, *_ in CORE_PARTS for word in re.findall(r"\w+", part)]
    assert [part for part in parts if not any(f"{part}(" in text for text in texts)] == []


def test_a_difference_can_go_down():
    assert "Without: a tape instead of a search" in learn.diff(4, 3)
    assert "-class Tape" in learn.diff(4, 3)


def test_there_is_no_other_rung():
    with pytest.raises(ArgumentError, match="the rungs are 0 to 9, not 12"):
        learn.rung(12)


def test_graphs_are_read_as_they_are_written():
    graph = parse_graph("a = x; a += z; a = a*2; y = -(a - 3)", x=1, z=2)
    assert [step[1] for step in graph.steps] == ["iadd", "mul", "sub", "neg"]
    assert graph.output == "y"
    assert parse_graph("y = x", x=1).output == "x"
    assert parse_graph("y = 3", x=1).steps == (("y", "constant", (3,)),)
