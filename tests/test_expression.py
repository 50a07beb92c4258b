"""Formulas and the command line: what is read, and what is refused quickly."""

import math
import subprocess
import sys
import time

import pytest

import simpleautodiff as ad
from simpleautodiff.cli import main
from simpleautodiff.expression import parse


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        ("log(x1) + x1*x2 - sin(x2)", (2.0, 5.0), math.log(2) + 10 - math.sin(5)),
        ("-x**2", (3.0,), -9.0),
        ("2**-x", (1.0,), 0.5),
        ("max(x, 1) + abs(-x) % 2 // 1", (2.5,), 2.5 + 0.0),
        ("pi * e * x", (1.0,), math.pi * math.e),
        ("atan2(y, x) + hypot(x, y)", (1.0, 1.0), math.pi / 4 + math.sqrt(2)),
        ("+x + 1e-3 + 10", (0.0,), 10.001),
        ("ln(exp(x))", (0.5,), 0.5),
    ],
)
def test_formulas(text, values, expected):
    f, names = parse(text)
    assert f(*values) == pytest.approx(expected)
    assert len(names) == len(values)


def test_whole_numbers_stay_exact():
    f, _ = parse("x**2 / 3")
    from fractions import Fraction

    assert ad.grad(f)(Fraction(1, 2)) == Fraction(1, 3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "invalid syntax"),
        ("1 +", "invalid syntax"),
        ("__import__('os').system('ls')", "no Call|no function"),
        ("().__class__", "no Attribute"),
        ("x[0]", "no Subscript"),
        ("lambda: 0", "no Lambda"),
        ("[x for x in y]", "no ListComp"),
        ("x if x else 1", "no IfExp"),
        ("'a'", "no Constant"),
        ("True", "no Constant"),
        ("1j", "no Constant"),
        ("sin(x=1)", "no Call"),
        ("sin", r"sin is a function: write sin\(...\)"),
        ("loog(x)", "did you mean log"),
        ("frobnicate(x)", "there is no function 'frobnicate'"),
        ("sin(x, y)", "sin takes 1 argument, not 2"),
        ("x^2", r"powers are written \*\*, not \^"),
        ("_x", "letters, digits"),
        ("é", "letters, digits"),
        ("x; y", "invalid syntax"),
        ("x\x00", "null|cannot be read"),
        ("(" * 10_000 + "x" + ")" * 10_000, "characters|nested"),
        ("(" * 3000 + "x" + ")" * 3000, "nested|parenthes"),
        ("-" * 3000 + "x", "nested"),
        ("+".join("x" * 1000), "nested deeper than 200"),
        ("x" * 1_000_000, "1,000,000 characters"),
        ("1" + "0" * 400, "too large"),
    ],
    ids=lambda v: v[:16],
)
def test_what_is_refused(text, message):
    start = time.perf_counter()
    with pytest.raises(ad.FormulaError, match=message):
        parse(text)
    assert time.perf_counter() - start < 5


def test_the_caret_stands_under_the_mistake():
    with pytest.raises(ad.FormulaError) as caught:
        parse("x + loog(x)")
    lines = str(caught.value).splitlines()
    assert lines[2].index("^") == lines[1].index("loog")


def test_towers_of_powers_end_quickly():
    f, _ = parse("x * 9**9**9")
    with pytest.warns(ad.DomainWarning):
        assert f(1.0) == math.inf


def test_main_prints_the_papers_tables(capsys):
    assert main([]) == 0
    out = capsys.readouterr().out
    for piece in (
        "Values",
        "x̄2 + v̄2 × x1 = -0.284 + 1 × 2 = 1.716",
        "ẋ1 × x2 + ẋ2 × x1 = 1 × 5 + 0 × 2",
        "5.5",
    ):
        assert piece in out


def test_main_with_a_formula_and_a_point(capsys):
    assert main(["x**2 * sin(y)", "y=0.5", "x=3", "--wrt", "y"]) == 0
    out = capsys.readouterr().out
    assert "Forward mode: derivatives with respect to y" in out
    assert f"{9 * math.cos(0.5):.3f}" in out
    assert main(["x - x", "x=3"]) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["x +", "x=1"], "invalid syntax"),
        (["x*y", "x=1"], "no value for y: add y=..."),
        (["x", "z=1"], "'z' is not in the formula; its variables are x"),
        (["x", "x=abc"], "not a number"),
        (["x", "7"], "name=number"),
        (["2 + 3"], "nothing to differentiate"),
        (["x", "x=1", "--wrt", "q"], "no variable 'q'"),
        (["__import__('os')", "x=1"], "no function"),
    ],
)
def test_bad_input_gives_one_message_and_exit_code_2(arguments, message, capsys):
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert "Traceback" not in captured.err
    assert captured.out == ""


def test_a_domain_problem_is_shown_as_a_warning(capsys):
    assert main(["log(x)", "x=0"]) == 0
    captured = capsys.readouterr()
    assert "-inf" in captured.out
    assert "log(0.0)" in captured.err


def test_python_dash_m():
    done = subprocess.run(
        [sys.executable, "-m", "simpleautodiff", "x*x", "x=3"], capture_output=True, text=True
    )
    assert done.returncode == 0
    assert "∂y/∂x" in done.stdout
