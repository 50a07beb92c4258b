"""The playground's answers, and what the command says where it cannot write the site."""

import contextlib
import io
import json
import os
import stat

import numpy as np
import pytest

from simpleautodiff.cli import main
from simpleautodiff.cli.site.build import read_examples
from simpleautodiff.cli.site.playground import UNREAD, answer

SIGNAL, KERNEL = np.array([0.0, 1.0, 3.0, 2.0, 0.0]), np.array([0.25, 0.5, 0.25])
WINDOWS = np.lib.stride_tricks.sliding_window_view(SIGNAL, 3)[:, ::-1]
A, B = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]]), np.array([1.0, 3.0, 4.0])
Z = 0.5 * 2 - 0.5 + 0.1
SLOPE = 1 - np.tanh(Z) ** 2
EXPECTED = {  # by mathematics
    "The paper's example": {"x1": 5.5, "x2": 2 - np.cos(5)},
    "A neuron": {"w1": 2 * SLOPE, "x1": 0.5 * SLOPE, "w2": 0.5 * SLOPE, "x2": -SLOPE, "b": SLOPE},
    "Newton's method": {"a": 1 / (2 * np.sqrt(2))},
    # 0.5 -> x²+1 = 1.25 -> x/2 = 0.625 -> x²+1 = 1.390625 -> x/2
    "A loop with an if": {"x": 2 * 0.5 / 2 * 2 * 0.625 / 2},
    "Least squares": {"w": 2 * A.T @ (A @ np.ones(2) - B)},
    "A convolution": {"kernel": 2 * WINDOWS.T @ (WINDOWS @ KERNEL)},
}


def run_notebook(text):
    """Run the cells one after the other and return the names that they define."""
    nbformat = pytest.importorskip("nbformat", reason="needs nbformat, which nbclient brings")
    nbformat.validate(nbformat.reads(text, as_version=4))
    names = {}
    for cell in json.loads(text)["cells"]:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)
    return names


@pytest.mark.parametrize("example", read_examples(), ids=lambda example: example["title"])
def test_the_notebook_of_every_example_runs_and_has_the_derivatives(example):
    names = run_notebook(answer(example | {"wanted": "notebook"})["notebook"])
    adjoints = names["t"].adjoints()
    for name, expected in EXPECTED[example["title"]].items():
        np.testing.assert_allclose(adjoints[name], expected, rtol=1e-9)


@pytest.mark.parametrize("example", read_examples(), ids=lambda example: example["title"])
def test_every_example_is_shown_as_a_program_a_page_and_latex(example):
    shown = answer(example)
    assert shown["notes"] == []
    inputs = [shown["program"]["nodes"][i]["name"] for i in shown["program"]["inputs"]]
    assert sorted(inputs) == sorted(EXPECTED[example["title"]])
    assert answer(example | {"wanted": "page"})["page"].startswith("<!doctype html>")
    latex = answer(example | {"wanted": "latex"})["latex"]
    assert latex.count(r"\begin{tabular}") + latex.count(r"\begin{align") >= 3
    assert latex.rstrip().endswith(r"\end{document}")


def test_a_notebook_names_the_arguments_that_were_given():
    text = "def f(a=1.0, b=2.0, *, c):\n    return a + b * c"
    names = run_notebook(answer({"text": text, "at": "b=3, c=5", "wanted": "notebook"})["notebook"])
    adjoints = names["t"].adjoints()
    assert (adjoints["b"], adjoints["c"]) == (5, 3)


@pytest.mark.parametrize(
    ("text", "at", "words"),
    [
        ("x*y", "x=1", "no value for y: add y=..."),
        ("2 x", "x=1", "write * between factors"),
        ("3", "", "every derivative is 0"),
        ("def f(x)\n    return x", "x=1", "line 1 is not Python"),
        ("import numpy as np", "", "there is no function"),
        ("def f(x):\n    return undefined(x)", "x=1", "playground.py:2: return undefined(x)"),
        ("def f(x):\n    return np.sin(x)", "x=1", "write above it: import numpy as np"),
        ("def f(x):\n    return sin(x)", "x=1", "write above it: from simpleautodiff import sin"),
        ("import no_such_package", "", "there is no function"),
        (
            "import none_such\ndef f(x):\n    return x",
            "x=1",
            "this page has NumPy and simpleautodiff",
        ),
        ("def f(x):\n    return float(x)", "x=1", "would drop its derivative"),
        ("def f(x):\n    return x", "x=word", "which is not a number"),
    ],
)
def test_what_cannot_be_shown_is_said(text, at, words):
    told = answer({"text": text, "at": at})
    assert words in told["error"]
    assert "program" not in told


def test_what_a_function_prints_and_warns_of_is_noted():
    text = (
        "import simpleautodiff as ad\n\ndef f(x):\n    print('x is', x.value)\n    return ad.log(x)"
    )
    printed, warned, *_ = answer({"text": text, "at": "x=0"})["notes"]
    assert printed == "x is 0.0"
    assert "log" in warned


def test_a_text_that_was_changed_is_read_again():
    for factor in "2345":  # of the same length, within the same second
        text = f"def f(x):\n    return x * {factor}"
        names = run_notebook(answer({"text": text, "at": "x=1", "wanted": "notebook"})["notebook"])
        assert names["t"].adjoints()["x"] == float(factor)


@pytest.mark.parametrize("text", ["def f(x):\n    return x", "import os\nx", "x\n@f\ndef g(x): 1"])
def test_python_that_came_by_a_link_is_not_run(text):
    told = answer({"text": text, "at": "x=1", "by_link": True})
    assert told == {"error": UNREAD, "notes": []}


def test_a_formula_that_came_by_a_link_is_shown():
    assert "program" in answer({"text": "a = x**2\nsin(a)", "at": "x=1", "by_link": True})


def run(*argv):
    err = io.StringIO()
    with contextlib.redirect_stderr(err), contextlib.redirect_stdout(io.StringIO()):
        code = main(argv)
    return code, err.getvalue()


def put_npm(folder, script, monkeypatch):
    """Put a program called npm where it is found, before all others."""
    npm = folder / "npm"
    npm.write_text(f"#!/bin/sh\n{script}\n")
    npm.chmod(npm.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


def test_without_npm_the_command_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    code, said = run("site", str(tmp_path / "site"))
    assert code == 2
    assert "install Node.js" in said
    assert not (tmp_path / "site").exists()


@pytest.mark.skipif(os.name == "nt", reason="a shell script stands for npm")
def test_what_npm_says_is_passed_on(tmp_path, monkeypatch):
    put_npm(tmp_path, "echo 'npm error 404 Not Found' >&2; exit 1", monkeypatch)
    code, said = run("site", str(tmp_path / "site"))
    assert code == 2
    assert "could not get pyodide@" in said
    assert "404 Not Found" in said


@pytest.mark.skipif(os.name == "nt", reason="a shell script stands for npm")
def test_a_file_that_is_not_the_known_one_is_not_used(tmp_path, monkeypatch):
    put_npm(tmp_path, 'echo other > "$4/pyodide.tgz"', monkeypatch)
    code, said = run("site", str(tmp_path / "site"))
    assert code == 2
    assert "digest" in said
    assert not (tmp_path / "site").exists()
