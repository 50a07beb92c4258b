"""The paper's three tables, of any function and in every format."""

import json
import math
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

import simpleautodiff as ad
from simpleautodiff.cli.main import main
from simpleautodiff.display.notation.line_breaks import count_columns
from simpleautodiff.display.notation.rich_text import latex_text, to_latex
from simpleautodiff.display.tables.formats import write_text
from simpleautodiff.program.written_numbers import latex_name, write_result, write_short


def paper(x1, x2):
    return ad.log(x1) + x1 * x2 - ad.sin(x2)


@pytest.fixture
def example():
    return ad.trace(paper, 2, 5)


def body(latex):
    """Return the cells of a tabular, without the spaces that LaTeX does not see."""
    rows = [line.strip() for line in latex.splitlines() if line.strip().endswith(r"\\")]
    return [[cell.strip().replace(" ", "") for cell in row[:-2].split("&")] for row in rows]


def test_values_in_latex_as_the_paper_prints_them(example):
    assert body(example.values().to("latex")) == [
        ["$x_{1}$", "", "", "$=2$"],
        ["$x_{2}$", "", "", "$=5$"],
        ["$v_{1}$", r"$=\logx_{1}$", r"$=\log2$", "$=0.693$"],
        ["$v_{2}$", r"$=x_{1}\timesx_{2}$", r"$=2\times5$", "$=10$"],
        ["$v_{3}$", r"$=\sinx_{2}$", r"$=\sin5$", "$=-0.959$"],
        ["$v_{4}$", "$=v_{1}+v_{2}$", "$=0.693+10$", "$=10.693$"],
        ["$v_{5}$", "$=v_{4}-v_{3}$", "$=10.693-(-0.959)$", "$=11.652$"],
        ["$y$", "$=v_{5}$", "", "$=11.652$"],
    ]


def test_tangents_in_latex_as_the_paper_prints_them(example):
    rows = body(example.tangents("x1").to("latex"))
    assert [row[0] for row in rows] == [
        *[rf"$\dot{{x}}_{{{i}}}$" for i in (1, 2)],
        *[rf"$\dot{{v}}_{{{i}}}$" for i in range(1, 6)],
        r"$\dot{y}$",
    ]
    assert [row[1:] for row in rows[2:7]] == [
        [r"$=\dot{x}_{1}/x_{1}$", "$=1/2$", "$=0.5$"],
        [
            r"$=\dot{x}_{1}\timesx_{2}+\dot{x}_{2}\timesx_{1}$",
            r"$=1\times5+0\times2$",
            "$=5$",
        ],
        [r"$=\dot{x}_{2}\times\cosx_{2}$", r"$=0\times\cos5$", "$=0$"],
        [r"$=\dot{v}_{1}+\dot{v}_{2}$", "$=0.5+5$", "$=5.5$"],
        [r"$=\dot{v}_{4}-\dot{v}_{3}$", "$=5.5-0$", "$=5.5$"],
    ]


def test_adjoints_in_latex_as_the_paper_prints_them(example):
    latex = re.sub(r" \\rule\[.*?\]{0pt}{.*?}", "", example.adjoints().to("latex"))  # room alone
    bar = lambda name: rf"\bar{{{name[0]}}}_{{{name[1]}}}"
    frac = lambda v, u: rf"\frac{{\partial{v[0]}_{{{v[1]}}}}}{{\partial{u[0]}_{{{u[1]}}}}}"
    wanted = [  # the paper's table from bottom to top: parent, child, more, put in, result
        ("v4", "v5", False, r"\times1", "1"),
        ("v3", "v5", False, r"\times(-1)", "-1"),
        ("v1", "v4", False, r"\times1", "1"),
        ("v2", "v4", False, r"\times1", "1"),
        ("x2", "v3", False, r"\times\cosx_{2}", "-0.284"),
        ("x1", "v2", False, r"\timesx_{2}", "5"),
        ("x2", "v2", True, r"\timesx_{1}", "1.716"),
        ("x1", "v1", True, "/x_{1}", "5.5"),
    ]
    rows = body(latex)
    assert rows[0] == [f"${bar('v5')}$", r"$=\bar{y}$", "", "", "$=1$"]
    for row, (parent, child, more, factor, result) in zip(rows[1:9], wanted, strict=True):
        before = f"{bar(parent)}+" if more else ""
        assert row[0] == f"${bar(parent)}$"
        assert row[1] == f"$={before}{bar(child)}{frac(child, parent)}$"
        assert row[2] == f"$={before}{bar(child)}{factor}$"
        assert row[4] == f"$={result}$"
    assert [row[4] for row in rows[9:]] == ["$=5.5$", "$=1.716$"]
    assert latex.count(r"\cmidrule{1-5}") == 2
    assert latex.count("{") == latex.count("}")


def test_a_table_is_a_mapping_of_full_numbers(example):
    values, tangents, adjoints = example.values(), example.tangents("x2"), example.adjoints()
    assert values["v5"] == math.log(2) + 10 - math.sin(5)
    assert tangents["v5"] == pytest.approx(2 - math.cos(5), rel=1e-15)
    assert adjoints == {
        "x1": 5.5,
        "x2": adjoints["x2"],
        "v1": 1,
        "v2": 1,
        "v3": -1,
        "v4": 1,
        "v5": 1,
    }
    assert list(values) == ["x1", "x2", "v1", "v2", "v3", "v4", "v5"]
    assert len(adjoints) == 7
    with pytest.raises(KeyError):
        adjoints["v9"]


def test_rows_are_records(example):
    row = example.values().rows[3]
    assert (row.name, row.symbolic, row.numeric, row.result) == ("v2", "x1 × x2", "2 × 5", "10")
    row = example.adjoints().rows[7]
    assert (row.name, row.symbolic, row.numeric) == ("x̄2", "x̄2 + v̄2 × x1", "-0.284 + 1 × 2")
    assert (row.node, row.result) == ("x2", "1.716")


def test_the_numbering_of_execution():
    t = ad.trace(paper, 2, 5, numbering="execution")
    assert [row.symbolic for row in t.values().rows[2:7]] == [
        "log(x1)",
        "x1 × x2",
        "v1 + v2",
        "sin(x2)",
        "v3 - v4",
    ]


class Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.rows, self.texts = [], [], []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        if tag == "tr":
            self.rows.append(dict(attrs).get("data-node"))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def test_html_is_well_formed_and_escaped(example):
    reader = Reader()
    reader.feed(example.adjoints().to("html"))
    assert reader.open == []
    assert reader.rows[1:4] == ["v5", "v4", "v3"]
    assert "= 1.716" in "".join(reader.texts)
    hostile = ad.trace(lambda p: p["<b>"] * 2, {"<b>": 1.0}).values().to("html")
    assert "<b>" not in hostile
    assert "&lt;b&gt;" in hostile


def test_markdown_has_as_many_bars_in_every_row(example):
    lines = example.adjoints().to("markdown").splitlines()
    assert lines[0] == "**Reverse mode: derivatives of y**"
    counts = {len(re.findall(r"(?<!\\)\|", line)) for line in lines[2:]}
    assert len(counts) == 1
    absolute = ad.trace(lambda x: abs(x), -1.0).values().to("markdown")
    assert r"\|x\|" in absolute


def test_json_has_full_numbers_and_no_nan():
    data = json.loads(ad.trace(paper, 2.0, 5.0).adjoints().to("json"))
    assert data["title"] == "Reverse mode: derivatives of y"
    assert data["rows"][-1]["value"] == 2 - math.cos(5)
    data = json.loads(ad.trace(lambda x: x * math.inf, 1.0).values().to("json"))
    assert data["rows"][1]["value"] == "inf"
    data = json.loads(ad.trace(lambda x: np.sin(x), np.arange(12.0)).values().to("json"))
    assert data["rows"][0]["value"]["shape"] == [12]
    assert data["rows"][0]["value"]["slice"] == [0, 1, 2, 3, 4]


def test_rich_has_colours_and_the_same_cells(example):
    pytest.importorskip("rich")
    drawn = example.values().to("rich")
    assert "\x1b[" in drawn
    plain = re.sub(r"\x1b\[[0-9;]*m", "", drawn)
    for cell in ("v4", "0.693 + 10", "10.693 − (−0.959)", "11.652"):
        assert cell in plain
    brackets = ad.trace(lambda x: np.sin(x)[0], np.array([1.0, 2.0])).values().to("rich")
    assert "[1, 2]" in re.sub(r"\x1b\[[0-9;]*m", "", brackets)


def test_without_rich_the_text_is_plain(example, monkeypatch):
    monkeypatch.setitem(sys.modules, "rich.console", None)
    assert example.values().to("rich") == str(example.values())


def test_an_unknown_format_is_refused(example):
    with pytest.raises(ad.ArgumentError, match="one of text, rich, markdown, latex, html, json"):
        example.values().to("pdf")


def test_notebooks_get_html_and_text(example):
    bundle = example.values()._repr_mimebundle_()
    assert bundle["text/plain"] == str(example.values())
    assert bundle["text/html"].endswith("</table>")
    assert bundle["text/latex"] == example.values().to("latex")


@pytest.mark.parametrize("names", [["a"], ["a", "b", "c"], "ab"])
def test_names_are_as_many_as_inputs(names):
    with pytest.raises(ad.ArgumentError, match="has 2 inputs here: names is a list of as many"):
        ad.trace(lambda x, y: x * y, 2.0, 3.0, names=names)


def layer(x, w):
    hidden = np.tanh(x @ w)
    spread = np.var(hidden)
    total = 0.0
    for i in range(2):
        total += hidden[i]
    return total + spread


def test_the_users_own_names_and_lines():
    t = ad.trace(layer, np.eye(2), np.array([0.5, -0.5]))
    own = [(step.operator, step.variable) for step in t.steps if step.variable]
    assert ("tanh", "hidden") in own
    assert ("div", "spread") in own
    assert own.count(("add", "total")) == 2
    assert not any(variable == "hidden" for operator, variable in own if operator != "tanh")
    tanh = next(row for row in t.values().rows if row.variable == "hidden")
    assert tanh.line.endswith("hidden = np.tanh(x @ w)")
    assert "hidden = np.tanh(x @ w)" in str(t.values())
    assert "total" in t.adjoints().to("html")


def test_names_of_several_targets_and_of_other_assignments():
    def f(x):
        a, b = x * 2, x + 1
        c: float = a * b
        return (d := c - x) * d

    t = ad.trace(f, 3.0)
    own = {step.variable: step.operator for step in t.steps if step.variable}
    assert own == {"a": "mul", "b": "add", "c": "mul", "d": "sub"}


def test_what_the_library_itself_does_has_no_name_and_no_line():
    t = ad.trace(ad.grad(lambda x: x**3), 2.0)
    assert {step.variable for step in t.steps} == {""}
    assert t.values()[t.steps[-1].name] == 12.0


def test_arrays_show_their_kind_their_shape_and_a_slice():
    x = np.arange(12.0, dtype=np.float32).reshape(4, 3)
    t = ad.trace(lambda x: np.sum(np.exp(-x)), x)
    assert t.values().rows[0].result == "float32(4, 3) [[0, 1, 2], …]"
    assert t.values().rows[1].symbolic == "-x"
    assert t.adjoints()["x"].dtype == np.float32
    np.testing.assert_allclose(t.adjoints()["x"], -np.exp(-x))


def test_sweeps_of_arrays_and_of_single_elements():
    w = np.array([[0.1, 0.2], [0.3, 0.4]])
    f = lambda x, w: np.sin(w @ x)
    x = np.array([1.0, 2.0])
    t = ad.trace(f, x, w)
    jacobian = np.cos(w @ x)[:, None] * w
    np.testing.assert_allclose(t.tangents("x")["v2"], jacobian.sum(axis=1))
    np.testing.assert_allclose(t.tangents("x[1]")["v2"], jacobian[:, 1])
    np.testing.assert_allclose(t.adjoints()["x"], jacobian.sum(axis=0))
    np.testing.assert_allclose(t.adjoints("v2[0]")["x"], jacobian[0])
    np.testing.assert_allclose(t.tangents("w[0, 1]")["v2"], [np.cos(w @ x)[0] * x[1], 0])
    with pytest.raises(ad.ArgumentError, match="out of bounds"):
        t.tangents("x[7]")
    with pytest.raises(ad.ArgumentError, match="there is no 'u'"):
        t.tangents("u[0]")


def test_rules_of_arrays_are_written_as_formulas():
    t = ad.trace(lambda a, b: np.sum(a @ b), np.ones((2, 3)), np.ones((3, 2)))
    product = t.tangents("a").rows[2]
    assert product.symbolic == "ȧ @ b + a @ ḃ"
    rows = {row.name: row for row in t.adjoints().rows}
    sweep = [row.symbolic for row in t.adjoints().rows]
    assert "v̄1 @ transpose(b)" in sweep
    assert "transpose(a) @ v̄1" in sweep
    assert rows["v̄1"].symbolic == "broadcast_to(v̄2, (2, 2))"


def test_an_infinite_slope_is_shown_and_not_warned_of():
    t = ad.trace(lambda x: ad.where(x < 1, x, ad.sqrt(x)), 0.0)
    assert t.adjoints()["x"] == 1
    assert "inf" in str(t.tangents("x"))


def test_several_outputs_have_a_table_each():
    t = ad.trace(lambda x, y: (x * y, x + y), 2.0, 5.0)
    names = [step.name for step in t.steps if step.operator]
    assert t.adjoints(names[0])["x"] == 5
    assert t.adjoints(names[1])["x"] == 1
    assert [row.name for row in t.values().rows[-2:]] == ["z1", "z2"]


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (np.float64(0.5), "0.5"),
        (np.array(2.0), "2"),
        (np.array([]), "float64(0,) []"),
        (np.array([True, False]), "bool(2,) [True, False]"),
        (np.arange(5), "int64(5,) [0, 1, 2, …]"),
        (1 + 2j, "1 + 2i"),
    ],
)
def test_numbers_in_a_few_digits(number, text):
    assert write_result(number) == text
    assert write_short(number) in text


def test_names_in_latex():
    assert latex_name("x1") == "x_{1}"
    assert latex_name("x1", "dot") == r"\dot{x}_{1}"
    assert latex_name("learning_rate") == r"\mathit{learning\_rate}"
    assert latex_name("p['w']", "bar") == r"\bar{\texttt{p['w']}}"


LOWER = (  # the commands of LaTeX for α to ω; it has none for ο, nor for capitals that are Latin
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi o pi rho varsigma "
    "sigma tau upsilon phi chi psi omega"
)
UPPER = "A B Gamma Delta E Z H Theta I K Lambda M N Xi O Pi P Sigma T Upsilon Phi X Psi Omega"


@pytest.mark.parametrize(
    ("letters", "commands"),
    [("αβγδεζηθικλμνξοπρςστυφχψω", LOWER), ("ΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩ", UPPER)],
)
def test_greek_letters_are_the_commands_that_latex_has(letters, commands):
    for letter, word in zip(letters, commands.split(), strict=True):
        written = word if len(word) == 1 else f"\\{word}"
        assert latex_name(letter) == written
        assert latex_name(f"{letter}2", "bar") == f"\\bar{{{written}}}_{{2}}"
        assert to_latex(f"{letter} + x").replace(" ", "") == f"{written}+x"
        assert latex_text(letter) == f"${written}$"


def test_a_latex_document_of_greek_names_has_no_letters_that_latex_lacks(capsys):
    main(["explain", "α*sin(β1) + θ_2", "α=1", "β1=2", "θ_2=3", "--format", "latex"])
    document = capsys.readouterr().out
    code = [line for line in document.splitlines() if not line.startswith("%")]
    assert [line for line in code if not line.isascii()] == []
    powers = ad.trace(lambda x: ad.exp(x) ** 2 + 1e-9, 1.0).values().to("latex")
    assert r"10^{-9}" in powers


def test_complex_numbers_keep_their_parentheses():
    table = str(ad.trace(lambda z: ad.real((-3 - 4j) * z), 1 + 2j).values())
    assert "(−3 − 4i) × (1 + 2i)" in table


def test_a_trace_shows_itself_in_a_notebook():
    shown = ad.trace(lambda x: x * x, 3.0)._repr_mimebundle_()
    assert "<svg" in shown["text/html"]
    assert "v1" in shown["text/plain"]


def test_a_choice_that_is_made_is_not_written():
    """The slope of |z| is conj(z)/|z| where z is not 0."""
    table = ad.trace(lambda z: abs(z) * 2, 3 + 4j).adjoints()
    assert table.rows[2].symbolic == "v̄1 × (conj(z) / v1)"
    assert table["z"] == pytest.approx(2 * (3 - 4j) / 5)


def network():
    numbers = np.random.default_rng(0)
    shapes = ((3, 4), (4,), (4,), (5, 3), (5,))

    def loss(w1, b1, w2, x, t):
        return np.mean((np.tanh(x @ w1 + b1) @ w2 - t) ** 2)

    return ad.trace(loss, *[numbers.normal(size=shape).round(2) for shape in shapes])


class TestWideTables:
    @pytest.mark.parametrize("which", ["tangents", "adjoints"])
    def test_numbers_say_what_the_symbols_say(self, which):
        def f(x):
            return np.sum(np.linalg.solve(np.outer(x, x) + np.eye(3), x)) + np.max(x)

        for program in (network(), ad.trace(f, np.array([1.0, 2.0, 3.0]))):
            for row in getattr(program, which)().rows:
                if row.numeric:
                    assert ("∂" in row.symbolic) == ("∂" in row.numeric), row.name

    def test_settings_that_say_nothing_are_not_in_latex(self):
        def f(x):
            return np.sum(x.T @ x) + np.sum(np.sum(x, axis=0)) + np.max(x)

        program = ad.trace(f, np.ones((2, 3)))
        text = program.values().to("latex") + ad.source(f, np.ones((2, 3))).latex
        assert "None" not in text
        assert "False" not in text
        assert r"\sum_{\text{axis } 0} x" in text
        assert r"x^{\top}" in text
        assert r"\max x" in text

    def test_the_papers_tables_are_not_broken(self, example):
        assert "linewidth" not in example.adjoints().to("latex")

    @pytest.mark.skipif(not shutil.which("pdflatex"), reason="needs pdflatex")
    def test_arrays_fit_on_the_page(self, tmp_path):
        program = network()
        tables = [program.values(), program.tangents("w1"), program.adjoints()]
        body = "\n\n\\noindent ".join(table.to("latex") for table in tables)
        head = r"\documentclass{article}\usepackage{amsmath,booktabs}\begin{document}\noindent "
        (tmp_path / "t.tex").write_text(head + body + r"\end{document}", encoding="utf-8")
        command = ["pdflatex", "-interaction=batchmode", "-halt-on-error", "t.tex"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
        log = (tmp_path / "t.log").read_text(errors="replace")
        assert done.returncode == 0, log[-2000:]
        too_wide = re.findall(r"Overfull \\hbox \(([\d.]+)pt too wide", log)
        assert all(float(points) < 5 for points in too_wide), too_wide


class TestNames:
    """The user's own names, and that of the result, are taken wherever a name is asked for."""

    @staticmethod
    def f(x1, x2):
        product = x1 * x2
        product = product + 1.0
        return ad.log(x1) + product - ad.sin(x2)

    def test_tables_and_words(self):
        t = ad.trace(self.f, 2.0, 5.0)
        last = next(step.name for step in reversed(t.steps) if step.variable == "product")
        assert str(t.adjoints("product")) == str(t.adjoints(last))
        assert str(t.adjoints("y")) == str(t.adjoints())
        assert t.tangents("product")[t.proper("y")] == 1
        assert t.explain("y", wrt="product", output="y").endswith("its adjoint is 1.")
        assert repr(t) == "<Trace of f, 8 steps>"

    def test_elements(self):
        def g(x):
            squares = x * x
            return squares * 3.0

        t = ad.trace(g, np.array([1.0, 2.0]))
        np.testing.assert_array_equal(t.adjoints("y[1]")["x"], [0, 12])
        np.testing.assert_array_equal(t.tangents("squares[0]")[t.proper("y")], [3, 0])
        assert t.adjoints("y[1]").title == "Reverse mode: derivatives of y[1]"

    def test_steppers_and_figures(self):
        t = ad.trace(self.f, 2.0, 5.0)
        stepper = t.step(mode="reverse", output="y")
        stepper.stop(node="product")
        assert stepper.run().name == t.proper("product")
        assert "Derivatives of y" in ad.figure(t, "adjoints", output="y").svg()
        assert ad.figure(t, "tangents", wrt="product").svg()

    def test_what_there_is_not(self):
        t = ad.trace(self.f, 2.0, 5.0)
        for ask in (t.tangents, t.adjoints, t.explain, lambda name: t.step(wrt=name)):
            for name in ("q", "q[0]", "x1[0]"):
                with pytest.raises(ad.ArgumentError, match="there is no"):
                    ask(name)
        with pytest.raises(ad.ArgumentError, match="missing a required argument"):
            ad.compare(self.f, 2.0)


class TestOtherLayouts:
    """The reverse table as the paper prints it, and both columns as Baydin et al. do."""

    def test_the_papers_reverse_table_line_by_line(self, example):
        """The table of the paper, from its first line to its last."""
        rows = example.adjoints(style="paper").rows
        assert [f"{row.name} {row.symbolic} {row.result}" for row in rows[2:-1]] == [
            "x̄1 x̄1 + v̄1 / x1 5.5",
            "x̄2 x̄2 + v̄2 × x1 1.716",
            "x̄1 v̄2 × x2 5",
            "x̄2 v̄3 × cos(x2) -0.284",
            "v̄2 v̄4 × 1 1",
            "v̄1 v̄4 × 1 1",
            "v̄3 v̄5 × (-1) -1",
            "v̄4 v̄5 × 1 1",
        ]
        assert [row.name for row in (*rows[:2], rows[-1])] == ["x̄1", "x̄2", "v̄5"]
        assert r"\left\uparrow" in example.adjoints(style="paper").to("latex")
        with pytest.raises(ad.ArgumentError, match="style is 'steps' or 'paper'"):
            example.adjoints(style="baydin")

    def test_values_and_tangents_stand_side_by_side(self, example):
        lines = str(example.side_by_side()).splitlines()
        assert lines[0].split() == ["v₋₁", "=", "x1", "=", "2", "v̇₋₁", "=", "ẋ1", "=", "1"]
        assert "v₂   = v₋₁ × v₀ = 2 × 5" in lines[4]
        assert "= v̇₋₁ × v₀ + v̇₀ × v₋₁ = 1 × 5 + 0 × 2 = 5" in lines[4]
        assert "v_{-1}" in example.side_by_side().to("latex")
        assert example.side_by_side(wrt="x2").right["v₅"] == pytest.approx(2 - math.cos(5))

    def test_values_and_adjoints_stand_side_by_side(self, example):
        both = example.side_by_side("reverse")
        lines = str(both).splitlines()
        assert lines[0].endswith("x̄1   = ∂y/∂x1                             = 5.5")
        assert lines[-1].strip() == "v̄₅   = ȳ                                  = 1"
        assert "<table" in both.to("html")
        with pytest.raises(ad.ArgumentError, match="'forward' or 'reverse'"):
            example.side_by_side("backward")


def test_html_has_real_minus_signs_and_powers():
    text = ad.trace(lambda x1: x1**2 - 3 * x1, 0.5).values().to("html")
    assert "x<sub>1</sub><sup>2</sup>" in text
    assert "v<sub>1</sub> − v<sub>2</sub>" in text
    assert "= −1.25" in text
    assert "-" not in re.sub(r"<[^>]*>", "", text)


def test_a_sweep_may_start_with_another_seed(example):
    forward, reverse = example.tangents("x1", seed=3), example.adjoints(seed=0.5)
    assert forward["v5"] == 16.5  # 3 × 5.5
    assert reverse["x1"] == 2.75
    assert forward.rows[0].symbolic == "the seed"
    assert forward.title.endswith("with respect to x1, times 3")
    assert reverse.rows[-2].symbolic == "0.5 × ∂y/∂x1"
    assert example.tangents("x1", seed=1).title == example.tangents("x1").title
    with pytest.raises(ad.ValueKindError, match="a seed"):
        example.tangents("x1", seed="3")


def test_fractions_in_latex_have_room():
    table = ad.trace(lambda x1, x2: ad.log(x1) + x1 * x2, 2.0, 5.0).adjoints()
    rows = [line for line in table.to("latex").splitlines() if line.endswith(r"\\")]
    assert any(r"\frac" in row for row in rows)
    assert all((r"\frac" in row) == (r"\rule[" in row) for row in rows)


def test_side_by_side_has_no_source_lines():
    def f(x1, x2):
        product = x1 * x2
        return product - ad.sin(x2)

    both = ad.trace(f, 2, 5).side_by_side("reverse")
    assert "product" not in both.to("html") + both.to("text")
    assert both.right["v₋₁"] == 5
    heights = [len(table.to("text").splitlines()) for table in (both.left, both.right)]
    assert len(both.to("text").splitlines()) == max(heights)


def test_source_lines_are_above_their_rows_where_the_terminal_is_narrow():
    def f(x1, x2):
        the_first_of_two_products = x1 * x2 * ad.exp(ad.sin(x1) * ad.cos(x2))
        the_second = ad.log(x1) * the_first_of_two_products * ad.sin(the_first_of_two_products)
        return the_first_of_two_products + the_second * ad.exp(-the_first_of_two_products)

    table = ad.trace(f, 2.0, 5.0).values()
    wide = write_text(table).splitlines()
    middle = write_text(table, 90).splitlines()
    narrow = write_text(table, 40).splitlines()
    assert write_text(table, 1000).splitlines() == wide
    for lines, most in (middle, 90), (narrow, 40):
        assert max(map(count_columns, lines)) <= most
    rows = [line for line in middle if line.startswith(("x", "v", "y"))]
    ends = {count_columns(line[: line.rindex(" = ")]) for line in rows if "the_" not in line}
    assert len(ends) == 1  # results are still below each other
    assert sum("the_second = ad.log(x1)" in line for line in middle) == 1  # later by its number
    for row in table.rows:
        assert any(re.match(rf"{row.name} +=", line) for line in narrow)


def test_long_formulas_in_latex_can_be_broken_at_quotients():
    def f(alpha, beta, gamma_rate):
        return np.log1p(np.hypot(alpha, beta) / (1 + gamma_rate**3)) * np.arctan2(alpha, beta)

    latex = ad.trace(f, 1.25, 2.5, 0.33).tangents("alpha").to("latex")
    (row,) = [line for line in latex.splitlines() if line.count(r"\sqrt") > 3]
    assert " / " not in row
    assert row.count(r" /\allowbreak ") >= 4
