"""The command line with tables, graphs, words, sources and pages in every format."""

import json
import re
import xml.etree.ElementTree as ElementTree

import pytest

from simpleautodiff.cli import main

EXAMPLE = ["log(x1) + x1*x2 - sin(x2)", "x1=2", "x2=5"]


def out(capsys, *arguments):
    assert main(list(arguments)) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("format", "pieces"),
    [
        ("markdown", ["**Values**", "**Graph**", "v5 = v4 − v3"]),
        ("latex", [r"\documentclass", r"\begin{tabular}", r"\begin{tikzpicture}"]),
        ("html", ["<!doctype html>", "<caption>Values</caption>", "<svg", "In words"]),
        ("svg", ["<svg"]),
        ("tikz", [r"\begin{tikzpicture}"]),
    ],
)
def test_explain_in_every_format(format, pieces, capsys):
    text = out(capsys, *EXAMPLE, "--format", format)
    for piece in pieces:
        assert piece in text
    assert text.count(r"\begin{document}") == text.count(r"\end{document}") <= 1


def test_explain_in_json(capsys):
    answer = json.loads(out(capsys, *EXAMPLE, "--format", "json"))
    assert next(table["title"] for table in answer["tables"]) == "Values"
    assert answer["tables"][1]["rows"][-1]["value"] == 5.5
    assert len(answer["words"]) == 5
    assert ["x1", "v1"] in answer["graph"]["edges"]
    assert len(answer["graph"]["edges"]) == 8  # as in the paper's figure
    assert answer["graph"]["nodes"][2] == {"name": "v1", "operator": "log"}


def test_formulas_have_no_source_lines(capsys):
    assert ".py" not in out(capsys, *EXAMPLE)


def test_graphs(capsys, tmp_path):
    ElementTree.fromstring(out(capsys, "graph", *EXAMPLE, "--format", "svg"))
    assert "x̄1 = 5.5" in out(capsys, "graph", *EXAMPLE, "--mode", "reverse")
    file = tmp_path / "graph.tex"
    out(capsys, "graph", *EXAMPLE, "--output", str(file))
    assert r"\begin{tikzpicture}" in file.read_text()
    frames = out(capsys, "graph", *EXAMPLE, "--show", "construction", "--format", "svg")
    assert len(ElementTree.fromstring(frames)) == 6
    assert out(capsys, "graph", *EXAMPLE, "--show", "construction").count("x1") > 5


def test_source_runs(capsys):
    for mode in ("forward", "reverse"):
        space = {}
        exec(out(capsys, "source", *EXAMPLE, "--mode", mode, "--wrt", "x1"), space)
        (function,) = [f for name, f in space.items() if name.endswith("of_formula")]
        assert function(2.0, 5.0) == 5.5
    assert r"\begin{align*}" in out(capsys, "source", *EXAMPLE, "--format", "latex")


def test_a_table_in_latex_says_which_packages_it_needs(capsys):
    first, second, *_ = out(capsys, "table", *EXAMPLE, "--format", "latex").splitlines()
    assert first == r"% needs \usepackage{amsmath,booktabs}"
    assert second.startswith("$")


def test_steps_by_keys(capsys, monkeypatch):
    import io

    monkeypatch.setattr("sys.stdin", io.StringIO("nnnq"))
    assert "v1 = log(x1) = log(2) = 0.693" in out(capsys, "step", *EXAMPLE)


def test_explore_writes_a_page(capsys, tmp_path):
    file = tmp_path / "page.html"
    out(capsys, "explore", *EXAMPLE, "--output", str(file))
    assert file.read_text().startswith("<!doctype html>")


def test_explore_opens_at_a_formula(capsys, monkeypatch):
    from simpleautodiff.display.explorer import server

    def stop(self, **_):
        raise KeyboardInterrupt

    monkeypatch.setattr(server.Server, "serve_forever", stop)
    text = out(capsys, "explore", "x*y + 1", "x=2", "y=-0.5")
    assert text.split()[4].endswith("/#formula=x*y%20%2B%201&at=x=2,y=-0.5")


def test_explore_of_a_file_says_what_to_write(capsys, tmp_path):
    file = tmp_path / "m.py"
    file.write_text("def f(x):\n    return x * x\n")
    assert main(["explore", f"{file}:f", "x=2"]) == 2
    assert "--output page.html" in capsys.readouterr().err


def test_paper_writes_a_folder(capsys, tmp_path):
    text = out(capsys, "paper", str(tmp_path / "paper"))
    assert len(list((tmp_path / "paper").iterdir())) == int(text.split()[1]) > 10


def test_an_error_is_shown_on_the_users_own_line(capsys, tmp_path):
    """NumPy raises it, or this library for NumPy, but a line of the user's has asked for it."""
    file = tmp_path / "m.py"
    file.write_text(
        "import numpy as np\n"
        "def d(p):\n"
        "    q = np.array([1.0, 2.0]) * p\n"
        "    return np.reshape(q, (3,))\n"
        "def e(p):\n"
        "    return np.sort('a') + p\n"
        "def g(p):\n"
        "    return np.linalg.solve(p, p)\n"
    )
    for name, line in (("d", "m.py:4: "), ("e", "m.py:6: "), ("g", "m.py:8: ")):
        assert main(["explain", f"{file}:{name}", "p=1"]) in (1, 2)
        told = capsys.readouterr().err
        assert line in told
        assert "site-packages" not in told
        assert "finite" not in told


def test_the_result_is_not_called_as_a_part_of_the_formula(capsys):
    text = out(capsys, "explain", "y = x*2; sin(y) + y", "x=1")
    assert "\nz   = v3 " in text
    assert "Reverse mode: derivatives of z" in text
    assert out(capsys, "grad", "y = x*2; sin(y) + y", "x=1", "--order", "2")


def test_source_without_a_variable_is_the_gradient(capsys):
    space = {}
    exec(out(capsys, "source", "x**2*y", "x=3", "y=2"), space)
    assert space["grad_of_formula"](3.0, 2.0) == (12.0, 9.0)


def test_a_document_loads_each_package_once(capsys):
    text = out(capsys, "explain", "x*y", "x=2", "y=3", "--format", "latex")
    loaded = re.findall(r"\\usepackage(?:\[[^]]*\])?\{([^}]*)\}", text)
    packages = ",".join(loaded).split(",")
    assert len(set(packages)) == len(packages) >= 4


def test_a_graph_is_as_large_on_paper_as_there_is_room(capsys):
    def graph(*problem):
        text = out(capsys, "explain", *problem, "--format", "latex")
        return text[text.rindex(r"\noindent") : text.index(r"\begin{tikzpicture}")]

    assert "box" not in graph("x*y", "x=2", "y=3")
    assert r"\resizebox{\linewidth}" in graph("sin(cos(exp(sin(cos(exp(x))))))", "x=1")
    assert r"\rotatebox{90}" in graph("sin(cos(exp(sin(cos(exp(sin(cos(exp(sin(x))))))))))", "x=1")


def test_a_variable_of_a_constant_is_noted(capsys):
    main(["grad", "5", "x=1"])
    written = capsys.readouterr()
    assert written.out.strip() == "0"
    assert "x is not in the formula, which has no variables" in written.err


def test_a_formula_without_steps_has_no_empty_sections(capsys):
    text = out(capsys, "explain", "x", "x=1")
    lines = text.splitlines()
    rules = [number for number, line in enumerate(lines) if line.startswith("──")]
    assert all(number + 1 not in rules for number in rules)
    assert "In words" not in text


def test_a_document_says_what_it_explains(capsys):
    text = out(capsys, "explain", "x1**2*y", "x1=2", "y=3", "--order", "2", "--format", "latex")
    body = text[text.index(r"\begin{document}") :]
    assert r"\texttt{z = $\partial$(x1**2*y)/$\partial$x1   at x1 = 2, y = 3}" in body


def test_all_results_are_named_in_the_headline(tmp_path, capsys):
    (tmp_path / "two.py").write_text("def f(x, y):\n    return x * y, x - y\n")
    text = out(capsys, "explain", f"{tmp_path / 'two.py'}:f", "x=2", "y=3")
    assert text.startswith("z1, z2 = f(x, y) of two.py")
