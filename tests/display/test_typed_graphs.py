"""Graphs typed by hand go everywhere: tables, figures, steps, pages, source, comparisons."""

import math

import pytest

import simpleautodiff as ad
from simpleautodiff import Node, add, forward, log, mul, reverse, sin, sub


def type_paper(**names):
    x1, x2 = Node(2, name=names.get("x1", "")), Node(5, name=names.get("x2", ""))
    return x1, x2, sub(add(log(x1), mul(x1, x2)), sin(x2))


def test_trace_gives_the_tables_of_the_function():
    _, _, y = type_paper()
    typed, traced = ad.trace(y), ad.trace(lambda x1, x2: log(x1) + x1 * x2 - sin(x2), 2, 5)
    for table in ("values", "tangents", "adjoints"):
        assert str(getattr(typed, table)()) == str(getattr(traced, table)())
    assert typed.explain("v2") == traced.explain("v2")
    assert typed.source().function()(2.0, 5.0) == traced.f(2.0, 5.0)


def test_everything_takes_a_node(tmp_path):
    _, _, y = type_paper()
    stepper = ad.step(y, mode="reverse")
    stepper.next(len(stepper))
    assert stepper.result()["x1"] == 5.5
    page = ad.explore(y, path=tmp_path / "page.html").read_text(encoding="utf-8")
    assert '"name": "v5"' in page
    assert ad.source(y).function()(1.0, 0.0) == 0
    assert ad.compare(y)["reverse"].values[0] == pytest.approx([5.5, 2 - math.cos(5)])
    assert len(ad.fold(y).boxes) == 7
    assert "v5" in ad.figure(y).text()


def test_a_point_beside_a_graph_is_refused():
    _, _, y = type_paper()
    for show in (ad.trace, ad.step, ad.source, ad.compare):
        with pytest.raises(ad.ArgumentError, match="has its point already"):
            show(y, 2.0, 5.0)


def test_labels_are_names_everywhere(capsys):
    w, x, y = type_paper(x1="w", x2="x")
    y.name = "loss"
    t = ad.trace(y)
    assert [step.name for step in t.steps[:3]] == ["w", "x", "v1"]
    assert t.adjoints("loss")["w"] == 5.5
    assert "log(w)" in str(t.values())
    assert (w.name, x.name, y.name) == ("w", "x", "loss")
    assert "w × x" in ad.figure(y).text()
    forward(w, verbose=True)
    assert "v1 = log(w) = 0.693" in capsys.readouterr().out
    with pytest.raises(ad.ArgumentError, match="is a text"):
        Node(2, name=3)


def test_the_members_of_the_authors_program(capsys):
    x1, x2, y = type_paper()
    assert (x1.operator, y.operator) == ("input", "sub")
    assert (x1.name, x2.name, y.name) == ("x1", "x2", "v5")
    assert Node(3, [], "input").parent_nodes == []
    Node.verbose = True
    try:
        forward(x1)
    finally:
        Node.verbose = False
    assert "v2 = mul(x1, x2) = 10" in capsys.readouterr().out
    reverse(y)
    assert capsys.readouterr().out == ""


def test_before_a_sweep_of_its_graph_a_node_has_no_derivative():
    forward(Node(1))
    x1, x2, y = type_paper()
    for node in (x1, x2, y):
        with pytest.raises(ad.TraceError, match=r"call forward\(x\) or reverse\(y\) first"):
            _ = node.partial_derivative
    forward(x1)
    assert (x2.partial_derivative, y.partial_derivative) == (0, 5.5)
