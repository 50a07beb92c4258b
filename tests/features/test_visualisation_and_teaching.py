"""What can be seen of a derivative: each feature of the table, exercised."""

import pathlib
import tokenize
import xml.etree.ElementTree

import simpleautodiff as ad
from features import shows
from simpleautodiff import learn

CORE = pathlib.Path(ad.__file__).parent / "core"


def paper(x1, x2):
    return ad.log(x1) + x1 * x2 - ad.sin(x2)


@shows("Built-in drawing of the computational graph")
def test_drawing():
    svg = ad.figure(ad.trace(paper, 2.0, 5.0)).svg()
    assert xml.etree.ElementTree.fromstring(svg).tag.endswith("svg")
    assert "v5" in svg


@shows("Drawing without a Graphviz binary")
def test_no_binary(monkeypatch):
    monkeypatch.setenv("PATH", "")
    text = str(ad.figure(ad.trace(paper, 2.0, 5.0), "plain"))
    assert "v5" in text


@shows("Value and derivative shown on every node")
def test_values_and_derivatives():
    drawn = str(ad.figure(ad.trace(paper, 2.0, 5.0), "tangents"))
    values = {"v1": "0.693", "v2": "10", "v3": "−0.959", "v4": "10.693", "v5": "11.652"}
    tangents = {"v̇1": "0.5", "v̇2": "5", "v̇3": "0", "v̇4": "5.5", "v̇5": "5.5"}
    for number in values.values():
        assert f" = {number} " in drawn
    for name, number in tangents.items():
        assert f"{name} = {number} " in drawn


@shows("Primal + tangent + adjoint trace tables (Baydin T2/T3)")
def test_tables():
    trace = ad.trace(paper, 2, 5)
    assert trace.values()["v2"] == 10
    assert trace.tangents("x1")["v4"] == trace.adjoints()["x1"] == 5.5
    assert "ẋ1 × x2 + ẋ2 × x1" in str(trace.tangents("x1"))


@shows("Stepping through a sweep, with breakpoints and undo")
def test_stepping():
    stepper = ad.step(paper, 2.0, 5.0, mode="reverse")
    stepper.stop(node="v4")
    stepper.run()
    position = stepper.position
    before = dict(stepper.derivatives)
    stepper.next(2)
    stepper.back(2)
    assert (stepper.position, dict(stepper.derivatives)) == (position, before)
    while not stepper.done:
        stepper.run()
    assert stepper.result()["x1"] == 5.5


@shows("LaTeX/TikZ of the traces and figures")
def test_latex():
    trace = ad.trace(paper, 2.0, 5.0)
    assert r"\begin{" in trace.adjoints().to("latex")
    assert r"\begin{tikzpicture}" in ad.figure(trace).tikz()


@shows("Self-contained interactive HTML")
def test_page(tmp_path):
    path = tmp_path / "f.html"
    ad.explore(paper, 2.0, 5.0, path=path)
    html = path.read_text(encoding="utf-8")
    assert "<script" in html
    assert "src=" not in html.replace('src="data:', "")


@shows("Prose reason for each derivative")
def test_words():
    words = ad.trace(paper, 2, 5).explain("v2")
    assert "v2 = x1 × x2, so ∂v2/∂x1 = x2 = 5 and ∂v2/∂x2 = x1 = 2" in words


@shows("Exercises with an autograder")
def test_exercises():
    sheet = learn.exercise("x*y - x", 2, 5, about=["adjoints"], blanks=1)
    marks = sheet.check({"adjoints x": 4, "adjoints y": 3})  # ∂/∂x = y - 1, ∂/∂y = x
    assert [mark.right for mark in marks] == [True, False]
    report = learn.grade(learn.bugs.load("first_place"), depth=200, programs=3)
    assert report.mistakes == ("first_place",)


@shows("Core readable in a sitting (<1000 lines of Python)")
def test_small_core():
    ignored = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    lines = 0
    for path in CORE.glob("*.py"):
        with tokenize.open(path) as file:
            tokens = [t for t in tokenize.generate_tokens(file.readline) if t.type not in ignored]
        lines += len({t.start[0] for t in tokens})
    assert 0 < lines < 1000


@shows("Operation counts per mode")
def test_counts():
    compared = ad.compare(lambda a, b, c, d: a * b * c * d, 1.0, 2.0, 3.0, 4.0)
    assert 0 < compared["reverse"].operations < compared["forward"].operations
