"""The command line: each command, what it prints, which exit code, and that it stays quiet."""

import io
import json
import math
import os
import pathlib
import pty
import re
import shlex
import subprocess
import sys

import mpmath
import numpy as np
import pytest

import simpleautodiff as ad
from simpleautodiff.cli import main
from simpleautodiff.cli.options import COMMANDS
from simpleautodiff.display.notation.line_breaks import count_columns
from waiting import PATIENCE

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "command-line.md"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(pathlib.Path(ad.__file__).parent.parent)}
ENVIRONMENT.pop("COLUMNS", None)  # pytest's workers have it
EXAMPLE = ["log(x1) + x1*x2 - sin(x2)", "x1=2", "x2=5"]
MODEL = """
import numpy as np

import beside

NUMBER = 3

def f(x, y, k=2.0):
    product = x * y
    return np.sin(product) + product**k

def loss(w):
    return np.sum(np.tanh(w) ** 2)

def loses(x):
    return float(x)

def raises(x):
    return {}["missing"] * x

def warns(x):
    return beside.two * np.log(x) if x > 1 else ad_log(x)

def ad_log(x):
    import simpleautodiff as ad
    return ad.log(x)

def several(*numbers):
    return numbers[0]

calls = []

def changes(x):
    calls.append(x)
    return x * len(calls)
"""


@pytest.fixture
def model(tmp_path, monkeypatch):
    """Write a module of the user's, and one beside it that it imports."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "beside.py").write_text("two = 2\n")
    yield str(tmp_path / "model.py")
    for name in ("model", "beside"):
        sys.modules.pop(name, None)


def out(capsys, *arguments):
    assert main(list(arguments)) == 0
    return capsys.readouterr().out


# What is computed


def test_explain_prints_the_papers_tables_the_graph_and_the_words(capsys):
    for arguments in ([], ["explain"], EXAMPLE, ["explain", *EXAMPLE]):
        text = out(capsys, *arguments)
        for piece in ("Values", "x̄2 + v̄2 × x1", "= 1.716", "ẋ1 × x2 + ẋ2 × x1 = 1 × 5 + 0 × 2"):
            assert piece in text
        for title in ("Forward mode", "Reverse mode", "Graph", "In words"):
            assert title in text
        assert text.startswith("y = log(x1) + x1*x2 - sin(x2)   at x1 = 2, x2 = 5\n")


def test_a_mode_shows_one_sweep(capsys):
    assert "Reverse mode" not in out(capsys, *EXAMPLE, "--mode", "forward")
    assert "Forward mode" not in out(capsys, *EXAMPLE, "--mode=reverse")


def test_the_sweep_starts_where_it_is_told(capsys):
    text = out(capsys, "x**2 * sin(y)", "y=0.5", "x=3", "--wrt", "y")
    assert "Forward mode: derivatives with respect to y" in text
    assert f"{9 * math.cos(0.5):.3f}" in text


def test_explain_of_the_second_order_explains_the_derivative(capsys):
    text = out(capsys, "x**3", "x=2", "--order", "2", "--mode", "reverse")
    assert text.startswith("y = ∂(x**3)/∂x   at x = 2\n")
    assert re.search(r"x̄ +.*∂y/∂x +.*= 12\n", text)


def test_the_headline_fits(capsys):
    text = out(capsys, "a = x*y; sin(a) + a", "x=1", "y=2")
    assert text.startswith("  a = x*y\n  sin(a) + a\nat x = 1, y = 2\n")
    text = out(capsys, " + ".join(["sin(x)"] * 20), "x=1")
    assert max(map(len, text.split("\n\n")[0].splitlines())) <= 80


def test_table_prints_one_table(capsys):
    assert out(capsys, "table", *EXAMPLE).splitlines()[-1].endswith("= 11.652")
    assert out(capsys, "table", *EXAMPLE, "--mode", "forward").splitlines()[-1].endswith("= 5.5")
    assert out(capsys, "table", *EXAMPLE, "--mode", "reverse").splitlines()[-1].endswith("= 1.716")


@pytest.mark.parametrize("mode", [[], ["--mode", "forward"], ["--mode", "reverse"]])
def test_grad_has_all_digits(mode, capsys):
    text = out(capsys, "grad", "exp(x)/3", "x=0.1", *mode)
    with mpmath.workdps(30):
        assert float(text) == pytest.approx(float(mpmath.exp(mpmath.mpf(0.1)) / 3), rel=2e-16)
    assert len(text.strip().lstrip("0.")) >= 16
    assert out(capsys, "grad", "x**2*y", "x=2", "y=5", "--wrt", "x", *mode) == "20\n"


@pytest.mark.parametrize("mode", [[], ["--mode", "forward"], ["--mode", "reverse"]])
def test_grad_of_higher_orders(mode, capsys):
    text = out(capsys, "grad", "x1**3 * x2**2", "x1=2", "x2=5", "--order", "3", *mode)
    assert text.splitlines() == [
        "∂³y/∂x1³ = 150",
        "∂³y/∂x1²∂x2 = 120",
        "∂³y/∂x1∂x2² = 24",
        "∂³y/∂x2³ = 0",
    ]


def test_grad_in_json(capsys):
    answer = json.loads(out(capsys, "grad", "log(x*y)", "x=0.5", "y=4", "--format", "json"))
    assert answer["derivatives"] == {"x": 2.0, "y": 0.25}
    assert answer["at"] == {"x": 0.5, "y": 4.0}
    assert main(["grad", "log(x)", "x=0", "--format", "json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["derivatives"] == {"x": "inf"}
    assert "log(0.0)" in captured.err


def test_check_agrees(capsys):
    text = out(capsys, "check", *EXAMPLE)
    assert text.count("1.716337814536773") == 3
    assert text.endswith("They agree.\n")
    checks = json.loads(out(capsys, "check", "x**4", "x=2", "--order", "2", "--format", "json"))
    assert checks["checks"][0]["reference"] == pytest.approx(48)


def test_values_may_be_formulas(capsys):
    assert float(out(capsys, "grad", "sin(x)", "x=pi")) == -1
    assert float(out(capsys, "grad", "x**2", "x = 1/4")) == 0.5
    assert float(out(capsys, "grad", "x**2", "x=-2")) == -4


def test_a_formula_may_begin_with_a_minus(capsys):
    assert out(capsys, "grad", "-x**2", "x=3") == "-6\n"
    assert out(capsys, "grad", "--x", "x=3") == "1\n"


# Where it comes from


def test_a_formula_from_standard_input(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.StringIO("a = x*y\nsin(a) + a\n"))
    assert out(capsys, "grad", "-", "x=0", "y=7", "--wrt=x") == "14\n"
    monkeypatch.setattr(sys, "stdin", io.StringIO("def f(y, x):\n    return y / x\n"))
    assert out(capsys, "grad", "-", "x=2", "y=3", "--wrt", "x") == "-0.75\n"


def test_a_function_in_a_file(model, capsys):
    expected = 2 * math.cos(2) + 2 * 2 * 2
    assert float(out(capsys, "grad", f"{model}:f", "x=1", "y=2", "--wrt", "x")) == expected
    assert out(capsys, "grad", f"{model}:f", "x=1", "y=2", "k=1", "--wrt", "x,y").count("\n") == 2
    text = out(capsys, f"{model}:f", "x=1", "y=2")
    assert text.startswith("z = f(x, y) of model.py   at x = 1, y = 2\n")


def test_arrays_go_to_functions_in_files(model, capsys):
    for mode in ("forward", "reverse"):
        text = out(capsys, "grad", f"{model}:loss", "w=[0, 1]", "--mode", mode)
        slope = 2 * math.tanh(1) * (1 - math.tanh(1) ** 2)
        assert json.loads(text) == pytest.approx([0, slope])
        second = out(capsys, "grad", f"{model}:loss", "w=[0, 0]", "--order", "2", "--mode", mode)
        assert json.loads(second) == [[2, 0], [0, 2]]


SEVERAL_RESULTS = """
import numpy as np
from simpleautodiff import log

def array(x, y):
    return np.array([x * y, x + y])

def listed(x, y):
    return [x * y, x + y]

def named(x, y):
    return {"a": x * y, "b": np.array([x, log(y)])}
"""


@pytest.fixture
def several(tmp_path):
    (tmp_path / "several.py").write_text(SEVERAL_RESULTS)
    return str(tmp_path / "several.py")


@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize("name", ["array", "listed"])
def test_grad_gives_the_derivatives_of_all_results(several, capsys, name, mode):
    text = out(capsys, "grad", f"{several}:{name}", "x=3", "y=2", "--mode", mode)
    assert text == "∂z/∂x = [2, 1]\n∂z/∂y = [3, 1]\n"
    second = ("grad", f"{several}:{name}", "x=3", "y=2", "--order", "2", "--mode", mode)
    assert out(capsys, *second).splitlines()[1] == "∂²z/∂x∂y = [1, 0]"


def test_results_in_a_dictionary_keep_their_names(several, capsys):
    command = ("grad", f"{several}:named", "x=3", "y=4", "--wrt", "y")
    assert out(capsys, *command) == "{a: 3, b: [0, 0.25]}\n"
    found = json.loads(out(capsys, *command, "--format", "json"))
    assert found["derivatives"] == {"y": {"a": 3.0, "b": [0.0, 0.25]}}
    outside = ("grad", f"{several}:named", "x=3", "y=-1", "--wrt", "y")
    assert main(outside) == 0
    assert capsys.readouterr().out.endswith(", nan]}\n")  # log(-1) has no derivative


def test_a_check_names_the_derivatives_of_all_results(several, capsys):
    text = out(capsys, "check", f"{several}:array", "x=3", "y=2")
    assert re.findall("∂.*", text) == ["∂z[0]/∂x", "∂z[1]/∂x", "∂z[0]/∂y", "∂z[1]/∂y"]
    numbers = re.findall(r"forward +(\S+)", text)
    assert numbers == ["2", "1", "3", "1"]
    as_in_tables = out(capsys, "check", f"{several}:listed", "x=3", "y=2")
    assert re.findall("∂.*", as_in_tables) == ["∂z1/∂x", "∂z2/∂x", "∂z1/∂y", "∂z2/∂y"]
    by_element = out(capsys, "check", "x*x", "x=[1, 2]", "--order", "2")
    assert re.findall("∂.*", by_element)[:2] == ["∂²y[0]/∂x[0]²", "∂²y[1]/∂x[0]²"]
    many = out(capsys, "check", "x*x", f"x={list(range(1, 13))}")
    assert many.startswith("direction 1\n")


def test_an_exercise_about_arrays_says_what_to_give(several, capsys):
    assert main(["exercise", f"{several}:array", "x=3", "y=2"]) == 2
    assert "a function that makes no arrays" in capsys.readouterr().err


def test_the_source_of_several_results_is_that_of_their_jacobian(several, capsys):
    space = {}
    exec(out(capsys, "source", f"{several}:array", "x=3", "y=2"), space)
    by_x, by_y = space["jacobian_of_array"](5.0, 7.0)
    assert (by_x.tolist(), by_y.tolist()) == ([7, 1], [5, 1])


@pytest.mark.parametrize("command", ["explain", "table", "graph"])
@pytest.mark.parametrize("name", ["array", "listed"])
def test_derivatives_of_several_results_are_shown_as_functions(several, capsys, command, name):
    main([command, f"{several}:{name}", "x=3", "y=2", "--order", "2", "--wrt", "y"])
    written = capsys.readouterr()
    assert not written.err
    assert "3" in written.out  # ∂(x y)/∂y


@pytest.mark.parametrize(
    ("target", "code", "message"),
    [
        ("", 2, "say which function; it has model.py:f, model.py:loss"),
        (":g", 2, "there is no function 'g'"),
        (":NUMBER", 2, "not a function"),
        (":several", 2, "cannot be given by name"),
        (":loses", 2, "model.py:16: return float(x)"),
        (":raises", 1, "KeyError: 'missing'"),
    ],
)
def test_functions_that_cannot_be_used(target, code, message, model, capsys):
    assert main(["grad", f"{model}{target}", "x=2"]) == code
    captured = capsys.readouterr()
    assert message in captured.err
    assert "Traceback" not in captured.err


def test_files_that_cannot_be_read(tmp_path, capsys):
    assert main(["grad", f"{tmp_path}/none.py:f", "x=1"]) == 2
    assert "No such file" in capsys.readouterr().err
    (tmp_path / "broken.py").write_text("def f(x:\n")
    assert main(["grad", f"{tmp_path}/broken.py:f", "x=1"]) == 2
    assert "is not Python" in capsys.readouterr().err


def test_warnings_name_the_users_line(model, capsys):
    assert main(["grad", f"{model}:warns", "x=0"]) == 0
    assert "(at model.py:" in capsys.readouterr().err


def test_derivatives_that_disagree_are_exit_code_1(model, capsys):
    assert main(["check", f"{model}:changes", "x=3"]) == 1
    assert "a value that changes from call to call" in capsys.readouterr().err


@pytest.mark.parametrize("point", [[], ["x=2"], ["a=1", "b=[1, 2]"]])
def test_a_constant_has_the_derivative_zero(point, capsys):
    assert main(["grad", "3", *point, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)["derivatives"]
    assert set(found) == {text[0] for text in point or ["x=0"]}
    assert not np.any([np.any(derivative) for derivative in found.values()])
    for mode in ("forward", "reverse"):
        assert main(["grad", "2*3", "--mode", mode, "--order", "2"]) == 0
        assert capsys.readouterr().out == "0\n"
    for command in ("explain", "table", "graph", "step"):
        assert main([command, "3", "x=2"]) == 0
        assert "every derivative is 0" in capsys.readouterr().out
    assert main(["check", "3", "x=2"]) == 0
    assert "They agree." in capsys.readouterr().out


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_outside_its_domain_a_function_has_no_derivative(mode, capsys):
    assert main(["grad", "log(x)", "x=-1", "--mode", mode]) == 0
    answer = capsys.readouterr()
    assert answer.out == "nan\n"
    assert "log(-1.0) is not a finite number; log needs x > 0" in answer.err
    assert main(["grad", "log(x)*y", "x=-1", "y=2", "--format", "json", "--order", "2"]) == 0
    derivatives = json.loads(capsys.readouterr().out)["derivatives"]
    assert set(derivatives.values()) == {"nan"}


@pytest.mark.parametrize("format", ["text", "markdown", "latex", "html", "json"])
@pytest.mark.parametrize("command", ["table", "explain"])
def test_a_sweep_to_a_nan_says_that_its_numbers_are_no_derivatives(command, format, capsys):
    problem = ["log(x1)+x1*x2", "--format", format, "--mode"]
    for mode in ("forward", "reverse"):
        for x1, said in (("-3", True), ("3", False)):
            assert main([command, *problem, mode, f"x1={x1}", "x2=5"]) == 0
            assert ("y is nan: it has no derivative here" in capsys.readouterr().out) is said


def test_outside_the_domain_there_is_nothing_to_check(capsys):
    assert main(["check", "log(x)", "x=-3"]) == 0
    answer = capsys.readouterr().out
    assert "y is nan: it has no derivative here" in answer
    assert "kink" not in answer
    assert main(["check", "log(x)", "x=-3", "--format", "json"]) == 0
    assert "y is nan" in json.loads(capsys.readouterr().out)["verdict"]


def test_of_several_results_those_that_are_nan_have_no_derivative(tmp_path, capsys):
    model = tmp_path / "model.py"
    model.write_text("import numpy as np\ndef f(x):\n    return np.log(x)\n")
    with np.errstate(all="ignore"):
        assert main(["grad", f"{model}:f", "x=[-1, 2]"]) == 0
    assert capsys.readouterr().out.replace("-0,", "0,") == "[[nan, nan], [0, 0.5]]\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["grad", "x\x1b[31m", "x=1"],
        ["grad", "x + \x1b]0;title\x07", "x=1"],
        ["grad", "\u202ex", "x=1"],
        ["grad", "x", "x\x1b[31m=1"],
        ["grad", "x", "x=\x1b[31m1"],
        ["grad", "no\x1b[31mmodel.py:f", "x=1"],
        ["\x1b[2Jgrad", "x=1"],
    ],
)
def test_no_message_controls_the_terminal(arguments, capsys):
    assert main(arguments) == 2
    shown = capsys.readouterr().err
    assert shown
    assert all(sign.isprintable() for line in shown.splitlines() for sign in line)


@pytest.mark.parametrize("command", ["grad", "explain", "table", "graph", "source", "check"])
def test_a_strict_command_refuses_what_is_outside_a_domain(command, capsys):
    assert main([command, "log(x)", "x=-1", "--strict"]) == 1
    answer = capsys.readouterr()
    assert answer.out == ""
    assert answer.err.startswith("simpleautodiff: log(-1.0) is not a finite number")
    assert main([command, "log(x)", "x=1", "--strict"]) == 0
    capsys.readouterr()


# What is refused


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["x +", "x=1"], "something is missing at the end"),
        (["x*y", "x=1"], "no value for y: add y=..."),
        (["x*y*z"], "no value for x, y, z: add x=... y=... z=..."),
        (["x", "z=1"], "'z' is not in the formula; its variables are x"),
        (["x*y", "x=2,", "y=3"], "not a number; put spaces between values: x=2"),
        (["sinx", "x=1"], "'x' is not in the formula; write sin(x)"),
        (["2*xy + 1", "x=1", "y=2"], "'x' is not in the formula; for a product write x*y"),
        (["x=2"], 'the formula is missing: write one before the values, as in "x**2" x=2'),
        (["x1=2", "x2=[1, 2]"], "the formula is missing"),
        (["x*y", "x=1+2j", "y=3"], "'1+2j', which is not real; complex numbers are for Python"),
        (["alpha*y", "alpa=1"], "did you mean alpha?"),
        (["x*pi", "x=1", "pi=3"], "'pi' is a constant"),
        (["x", "x=1", "x=2"], "x has two values"),
        (["x", "x=abc"], "'abc', which is not a number"),
        (["x", "x="], "not a number"),
        (["x", "x=9**9**9"], "not a number"),
        (["x", "x=[]"], "not a number"),
        (["x", "7"], "name=number"),
        (["x", "x=1e400"], "'1e400', which is too large for a float"),
        (["x", "x=-1e400"], "too large for a float"),
        (["x", "x=[1, 1e400]"], "'1e400', which is too large for a float"),
        (["x", "x=[1" + "0" * 400 + "]"], "too large for a float"),
        (["x", "x=" + "1" * 5000], "too large for a float"),
        (["x", "x=" + "[" * 100_000], "nested too deeply"),
        (["x", "x=" + "[" * 70 + "1" + "]" * 70], "not a number"),
        (["x*1e400", "x=1"], "the number is too large"),
        (["3", "x=1e400"], "too large for a float"),
        (["3", "pi=1"], "'pi' is a constant"),
        (["3", "--format", "svg"], "every derivative is 0"),
        (["x", "x=1", "--wrt", "q"], "no variable 'q'"),
        (["grad", "x", "x=1", "--wrt", "x,q"], "no variable 'q'"),
        (["__import__('os')", "x=1"], "there is no function '__import__'"),
        (["x**2*9**9**9", "x=1"], "too large"),
        (["log(0)*x", "x=1"], "outside a domain"),
        (["(" * 10_000 + "x" + ")" * 10_000, "x=1"], "20,001 characters"),
        (["(" * 4000 + "x" + ")" * 4000, "x=1"], "nested"),
        (["x" * 1_000_000, "x=1"], "1,000,000 characters"),
        (["x²", "x=1"], "use ** for powers"),
        (["explore", "x*y", "x=1"], "no value for y"),
        (["explore", "--output", "a.html"], "--output page.html"),
        (["graph", "loog(x)", "x=1"], "did you mean log?"),
        (["source", "x*y", "x=1"], "no value for y"),
        (["step", "x*y", "x=1"], "no value for y"),
        (["check", "x*y", "x=1"], "no value for y"),
        (["grad", "x*y", "x=2,y=3"], "put spaces between values: x=2 y=3"),
        (["grad", "x*y", "x=2; y=3"], "put spaces between values: x=2 y=3"),
        (["grad", "x*y", "2", "3"], "a value is given as name=number"),
    ],
    ids=lambda v: str(v)[:30],
)
def test_bad_input_gives_one_message_and_exit_code_2(arguments, message, capsys):
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert "Traceback" not in captured.err
    assert captured.out == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["gard", "x**2", "x=3"], "there is no command 'gard'; did you mean grad?"),
        (["frobnicate", "x**2", "x=3"], "there is no command 'frobnicate'\nsee simpleautodiff"),
        (["x", "x=1", "--fromat", "json"], "did you mean --format?"),
        (["grad", "x", "x=1", "--format", "svg"], "invalid choice: 'svg'"),
        (
            ["graph", "x", "x=1", "--output", "none/a.jpg"],
            "a.jpg; the name of its file ends in .txt, .svg, .tex, .html, .pdf, .png\n",
        ),
        (
            ["grad", "x", "x=1", "--output", "none/a.svg"],
            "a.svg; the name of its file ends in .txt, .json",
        ),
        (["grad", "x", "x=1", "--mode", "sideways"], "invalid choice: 'sideways'"),
        (["grad", "x", "x=1", "--order", "0"], "an integer from 1 to 8"),
        (["explore", "--port", "99999"], "up to 65535"),
        (["graph", "x", "x=1", "--show", "nothing"], "invalid choice"),
    ],
)
def test_bad_options_give_one_message_and_exit_code_2(arguments, message, capsys):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert message in capsys.readouterr().err


def test_a_megabyte_on_standard_input_is_refused_quickly(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.StringIO("x+" * 500_000 + "x"))
    assert main(["grad", "-", "x=1"]) == 2
    assert "too long" in capsys.readouterr().err


def test_every_command_helps_within_80_columns(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    for arguments in (["--help"], *([command, "--help"] for command in COMMANDS)):
        with pytest.raises(SystemExit) as stop:
            main(arguments)
        assert stop.value.code == 0
        text = capsys.readouterr().out
        assert max(map(len, text.splitlines())) <= 80
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"simpleautodiff {ad.__version__}\n"


# Where it goes


def test_output_goes_to_a_file(tmp_path, capsys):
    file = tmp_path / "answer.json"
    assert out(capsys, "grad", "x**2", "x=3", "--output", str(file)) == ""
    assert json.loads(file.read_text())["derivatives"] == {"x": 6.0}
    assert out(capsys, "grad", "x**2", "x=3", "--output", "-") == "6\n"
    assert main(["grad", "x**2", "x=3", "--output", str(tmp_path / "none" / "a.txt")]) == 1
    assert "No such file" in capsys.readouterr().err


def command(*arguments):
    return [sys.executable, "-m", "simpleautodiff", *arguments]


def test_python_dash_m():
    done = subprocess.run(command("x*x", "x=3"), capture_output=True, text=True)
    assert done.returncode == 0
    assert "∂y/∂x" in done.stdout


def test_letters_that_the_terminal_lacks_are_replaced():
    done = subprocess.run(
        command(*EXAMPLE),
        capture_output=True,
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
    )
    assert done.returncode == 0
    assert b"5.5" in done.stdout


def test_a_closed_pipe_is_quiet():
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(command(*EXAMPLE), stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


class Interrupted(io.StringIO):
    def read(self, size=-1):
        raise KeyboardInterrupt


def test_an_interruption_is_quiet(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", Interrupted())
    assert main(["grad", "-", "x=1"]) == 130
    assert capsys.readouterr() == ("", "")


def on_a_terminal(*arguments, **environment):
    """Run the command in a terminal, of 80 columns if not said, and return what stays there.

    A progress bar, which a busy machine brings, is erased by the command itself.
    """
    kept = ""
    for written in write_on_a_terminal(*arguments, **environment).split("\r\x1b[K"):
        kept = kept[: kept.rfind("\n") + 1] + written
    return kept


def write_on_a_terminal(*arguments, **environment):
    """Run the command in a terminal and return all that it writes there."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        command(*arguments),
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env={**os.environ, "COLUMNS": "80", "TERM": "xterm", **environment},
    )
    os.close(slave)
    shown = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    os.close(master)
    process.wait(PATIENCE)
    return shown.decode()


@pytest.mark.slow
def test_colours_only_where_they_are_wanted():
    assert "\x1b[1mValues\x1b[0m" in on_a_terminal(*EXAMPLE, NO_COLOR="")
    assert "\x1b" not in on_a_terminal(*EXAMPLE, NO_COLOR="1")
    assert "\x1b" not in on_a_terminal(*EXAMPLE, TERM="dumb")
    assert "\x1b[31m" in on_a_terminal("grad", "loog(x)", "x=1", NO_COLOR="")


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_no_line_wraps_on_a_terminal_and_nothing_is_lost(columns):
    formula = "sin(x*y*z + exp(x)) * cos(x*y*z - exp(y)) / sqrt(x**2 + y**2 + z**2)"
    arguments = "table", f"{formula} + {formula}", "x=1.2345", "y=2", "z=3", "--mode", "reverse"
    shown = on_a_terminal(*arguments, NO_COLOR="1", COLUMNS=str(columns))
    lengths = [sum(c not in "\u0304\u0307\r" for c in line) for line in shown.splitlines()]
    assert max(lengths) <= columns
    piped = subprocess.run(command(*arguments), capture_output=True, text=True, check=True).stdout
    assert "".join(shown.replace("─", "").split()) == "".join(piped.replace("─", "").split())


@pytest.mark.parametrize("command_name", ["table", "explain", "graph", "exercise"])
def test_a_pipe_is_as_wide_as_columns_says(command_name):
    arguments = command_name, "sin(x1*x2) + exp(x1*x2)*log(x1)", "x1=2", "x2=5.125"
    told = {"COLUMNS": "44", "NO_COLOR": "1"}
    piped = subprocess.run(
        command(*arguments), capture_output=True, text=True, check=True, env={**os.environ, **told}
    ).stdout
    assert piped == on_a_terminal(*arguments, **told).replace("\r\n", "\n")
    without = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    free = subprocess.run(command(*arguments), capture_output=True, text=True, env=without).stdout
    assert max(map(len, free.splitlines())) > 44


def test_the_rows_of_a_table_that_is_too_wide_look_alike():
    problem = "log(x1)*x2", "x1=2", "x2=5", "--mode", "forward"
    shown = on_a_terminal("table", *problem, NO_COLOR="1", COLUMNS="50")
    rows = [line.rstrip() for line in shown.splitlines() if "─" not in line]
    assert rows[0] == "ẋ1  = ∂x1/∂x1 = 1"
    assert len({count_columns(row.partition("=")[0]) for row in rows}) == 1  # below each other
    assert not any("  " in row.partition("=")[2] for row in rows)


def test_a_narrow_terminal_has_the_arrows_of_a_graph_as_a_list():
    formula = "sin(x*y) + cos(x*y) * exp(sin(x*y))"
    arguments = "graph", formula, "x=1", "y=2"
    assert "▶│" in on_a_terminal(*arguments, COLUMNS="300")
    narrow = on_a_terminal(*arguments, COLUMNS="60")
    assert "▶│" not in narrow
    assert max(map(len, narrow.splitlines())) <= 60
    for name in "x", "y", "v1", "v2", "v3", "v4", "v5", "v6":
        assert re.search(rf"^{name} = .* ─▶ ", narrow, re.MULTILINE)
    whole = on_a_terminal("explain", *arguments[1:], COLUMNS="60", NO_COLOR="1")
    assert narrow.strip() in whole  # its list has the numbers, too


def test_a_wide_terminal_is_used():
    told = [on_a_terminal(*EXAMPLE, COLUMNS=columns, NO_COLOR="1") for columns in ("60", "200")]
    narrow, wide = (text[text.index("In words") :] for text in told)
    assert max(map(len, wide.splitlines())) > 100
    assert narrow.split() == wide.split()


@pytest.mark.slow
def test_a_bar_shows_what_takes_long(tmp_path):
    slow = tmp_path / "slow.py"
    slow.write_text("import time\ndef f(x, y):\n    time.sleep(3)\n    return x * y\n")
    shown = write_on_a_terminal("grad", f"{slow}:f", "x=1", "y=2")
    assert re.search(r"differentiating  █* +1/2  50%  \d+ s", shown)
    assert shown.replace("\r\n", "\n").endswith("∂z/∂x = 2\n∂z/∂y = 1\n")


# What the page says


def examples():
    for block in re.findall(r"```console\n(.*?)```", PAGE.read_text(), re.DOTALL):
        for example in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            line, _, expected = example.partition("\n")
            yield line, expected


@pytest.mark.slow
def test_the_pages_examples_are_true(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    there = list(examples())
    assert len(there) > 10
    for line, expected in there:
        if line == "cat model.py":
            (tmp_path / "model.py").write_text(expected)
        run = line.replace("simpleautodiff", f"{shlex.quote(sys.executable)} -m simpleautodiff")
        done = subprocess.run(run, shell=True, capture_output=True, text=True, env=ENVIRONMENT)
        assert done.stdout + done.stderr == expected, line


def test_the_page_lists_every_command_and_its_formats():
    rows = dict(re.findall(r"^\| `(\w+)` \|.*\| ([\w ]*) ?\|$", PAGE.read_text(), re.MULTILINE))
    assert {name: tuple(rows[name].split()) for name in COMMANDS} == {
        name: command.formats for name, command in COMMANDS.items()
    }


def test_check_of_arrays_and_at_jumps(capsys, tmp_path):
    (tmp_path / "m.py").write_text("import numpy as np\ndef g(w): return np.sum(np.tanh(w) ** 2)\n")
    assert main(["check", f"{tmp_path / 'm.py'}:g", "w=[1,2]"]) == 0
    assert "They agree." in capsys.readouterr().out
    assert main(["check", "floor(x)*x", "x=2"]) == 0
    assert "a kink or a jump is near" in capsys.readouterr().out


def test_words_of_one_mode(capsys):
    assert main(["explain", "x*y", "x=2", "y=3", "--mode", "forward"]) == 0
    out = capsys.readouterr().out
    assert "Forward from x" in out
    assert "Reverse from" not in out


@pytest.mark.parametrize(
    ("arguments", "pieces"),
    [
        (["v1*x", "v1=2", "x=3"], ["w1", "= ∂y/∂v1", "= 3", "= ∂y/∂x", "= 2"]),
        (["x**2 * sin(y)", "x=3", "y=0.5", "--wrt", "y"], ["z = x**2", "∂z/∂y", "7.898"]),
        (["-x**2", "x=2"], ["= −4"]),
        (["sqrt(x)", "x=-1"], ["nan"]),
        (["sin(x)", "x=nan"], ["nan"]),
        (["x**y", "x=99999999", "y=99999999"], ["inf"]),
        (["max(x, y)", "x=1", "y=1"], ["0.5"]),
        (["x*y", "x=1e300", "y=2"], ["e+300"]),
    ],
    ids=lambda v: str(v[0]),
)
def test_the_command_line(arguments, pieces, capsys):
    assert main(arguments) == 0
    out = capsys.readouterr()
    for piece in pieces:
        assert piece in out.out
    assert len(set(out.err.splitlines())) == len(out.err.splitlines())


def test_the_command_line_helps(capsys):
    for option in ("--help", "--version"):
        with pytest.raises(SystemExit) as stop:
            main([option])
        assert stop.value.code == 0
    assert "simpleautodiff" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["x", "x=3,5"], "the decimal point is a dot: x=3.5"),
        (["x**2", "x", "=", "3"], "write x=3, without spaces"),
        (["x**2", "x=", "3"], "write x=3, without spaces"),
        (["x**2", "x", "=3"], "write x=3, without spaces"),
        (["sin^2(x)", "x=1"], "write sin(x)**2"),
        (["2*sin^2(x*(x+1))", "x=1"], "write sin(...)**2"),
    ],
)
def test_a_value_or_a_power_that_is_written_otherwise_gets_a_hint(arguments, hint, capsys):
    assert main(["grad", *arguments]) == 2
    assert hint in capsys.readouterr().err
