"""Formulas: what is read, and what is refused quickly."""

import inspect
import math

import pytest

import simpleautodiff as ad
from simpleautodiff.program.formula import parse


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
        ("", "the formula is empty"),
        ("# only a comment", "the formula is empty"),
        ("1 +", "something is missing at the end"),
        ("__import__('os')", "there is no function '__import__'"),
        ("__import__('os').system('ls')", "no dots"),
        ("().__class__", "no dots"),
        ("np.sin(x)", r"write sin\(...\), not np.sin\(...\)"),
        ("x[0]", "no square brackets"),
        ("lambda: 0", "without lambda: write 0"),
        ("[x for x in y]", "no part of a formula"),
        ("x if x else 1", "no conditions"),
        ("x and y", "no conditions"),
        ("x < 1", "compares nothing"),
        ("'a'", "only real numbers"),
        ("f'{x}'", "no part of a formula"),
        ("True", "only real numbers"),
        ("1j", "only real numbers"),
        ("x, y", "one result"),
        ("x @ y", "the operators of a formula are"),
        ("~x", "the signs of a formula are"),
        ("(a := x)", "no part of a formula"),
        ("sin(*x)", "no part of a formula"),
        ("sin(x=1)", "given by its place"),
        ("sin", r"sin is a function: write sin\(...\)"),
        ("loog(x)", "did you mean log"),
        ("frobnicate(x)", "there is no function 'frobnicate'"),
        ("sin(x, y)", "sin takes 1 argument, not 2"),
        ("Sin(x)", "did you mean sin"),
        ("x^^2", "invalid syntax"),
        ("x²", r"use \*\* for powers"),
        ("2x", r"write \* between factors"),
        ("x y", r"write \* between factors"),
        ("2(x + 1)", r"write \* between factors"),
        ("(x + 1)(x - 1)", r"write \* between factors"),
        ("x(y + 1)", r"for a product write x\*"),
        ("sin x", r"write sin\(...\)"),
        ("|x|", r"write abs\(x\)"),
        ("x!", "gamma"),
        ("π*x", "write pi"),
        ("lambda*x", "word of Python"),
        ("(x", "never closed"),
        ("x * 9**9**9", "too large"),
        ("x + 1/0", "outside a domain"),
        ("_x", r"letters \(a to z, α to ω\)"),
        ("é", r"letters \(a to z, α to ω\)"),
        ("2α", r"write \* between factors"),
        ("x; y", "is not used"),
        ("import os; x", "imports nothing"),
        ("for i in x: pass", "no loops"),
        ("while x: pass", "no loops"),
        ("if x: y", "no conditions"),
        ("return x; x", "never reached"),
        ("def f(x, y=2): return x", "plain parameters"),
        ("def f(*x): return x", "plain parameters"),
        ("@g\ndef f(x): return x", "plain parameters"),
        ("class A: pass", "no part of a formula"),
        ("a = b = x; a", "one name stands before"),
        ("f(x) = x**2", "only a name can stand before ="),
        ("e = x; e", "e is a constant"),
        ("sin = x; sin", "sin is a function: choose another name"),
        ("_a = x; x", r"letters \(a to z"),
        ("a" * 41, "at most 40 letters"),
        ("x\x00", "null|cannot be read"),
        ("(" * 10_000 + "x" + ")" * 10_000, "characters|nested"),
        ("(" * 3000 + "x" + ")" * 3000, "nested|parenthes"),
        ("-" * 3000 + "x", "nested"),
        ("sin(" * 190 + "-" * 20 + "x" + ")" * 190, "nested deeper than 200"),
        ("+".join("x" * 4990), "too long|more than"),
        ("x" * 1_000_000, "1,000,000 characters"),
        ("1" + "0" * 400, "too large"),
    ],
    ids=lambda v: v[:16],
)
def test_what_is_refused(text, message):
    with pytest.raises(ad.FormulaError, match=message):
        parse(text)


def test_the_caret_stands_under_the_mistake():
    with pytest.raises(ad.FormulaError) as caught:
        parse("x + loog(x)")
    lines = str(caught.value).splitlines()
    assert lines[2].index("^") == lines[1].index("loog")


@pytest.mark.parametrize(
    ("text", "under"),
    [
        ("x + y^$2", "$2"),
        ("a = x*y\nb = a + loog(a)\nb", "loog"),
        ("x × é", "é"),
        ("x × y + loog(x)", "loog"),
        ("frob(x) + loog(x)", "frob"),
        ("x + 2y", "2y"),
    ],
)
def test_the_caret_stands_under_the_first_mistake(text, under):
    with pytest.raises(ad.FormulaError) as caught:
        parse(text)
    _, line, caret = str(caught.value).splitlines()
    assert caret.index("^") == line.index(under)


def test_the_caret_is_seen_in_long_formulas():
    with pytest.raises(ad.FormulaError) as caught:
        parse("+".join(["x"] * 900) + " + loog(x)")
    _, line, caret = str(caught.value).splitlines()
    assert line[caret.index("^") :].startswith("loog")
    assert len(line) < 80


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a = x*y; sin(a) + a", ["x", "y"]),
        ("a = x*y\nsin(a) + a", ["x", "y"]),
        ("  a = x\n  a *= y\n  sin(a) + a  # the result", ["x", "y"]),
        ("a = x*y; b = sin(a); r = b + a", ["x", "y"]),
        ("def f(x, y):\n    a = x*y\n    return sin(a) + a", ["x", "y"]),
        ("x = x*y; return sin(x) + x", ["x", "y"]),
    ],
)
def test_formulas_of_several_lines(text, names):
    f, found = parse(text)
    assert found == names
    assert f(2.0, 3.0) == math.sin(6.0) + 6.0
    assert ad.grad(f)(2.0, 3.0) == pytest.approx(3 * math.cos(6.0) + 3)


def test_parameters_have_the_order_of_the_definition():
    f, names = parse("def f(y, x, unused):\n    return x / y")
    assert names == ["y", "x", "unused"]
    assert f(2.0, 3.0, 0.0) == 1.5


def test_a_formula_has_named_parameters():
    f, _ = parse("x / y")
    assert str(inspect.signature(f)) == "(x, y)"
    assert ad.grad(f, "y")(1.0, 2.0) == -0.25


def test_long_sums_are_not_deep():
    f, _ = parse("+".join(["x"] * 1000))
    assert ad.grad(f)(1.0) == 1000.0


def test_signs_of_printed_formulas_are_read():
    f, _ = parse("x1 × x2 − 1 ÷ x1")
    assert f(2.0, 5.0) == 9.5


def test_greek_letters_are_variables_unless_called():
    f, names = parse("beta * gamma(x)")
    assert names == ["beta", "x"]
    assert f(2.0, 4.0) == 12.0


def test_letters_of_the_greek_alphabet_are_names():
    f, names = parse("α*sin(β1) + Ω_max/λ")
    assert names == ["α", "β1", "Ω_max", "λ"]
    assert f(2.0, 0.5, 3.0, 4.0) == pytest.approx(2 * math.sin(0.5) + 0.75)


def test_whole_numbers_stay_small():
    f, _ = parse("a = 9; " + "a = a*a; " * 900 + "x*a")
    assert f(1.0) == math.inf
    g, _ = parse("a = 9; x * a**a**a")
    with pytest.warns(ad.DomainWarning):
        assert g(1.0) == math.inf


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("x^2", "x**2"),
        ("-x^2", "-x**2"),
        ("2^-x", "2**-x"),
        ("x^2^3", "x**2**3"),
        ("3*x^2+1", "3*x**2+1"),
    ],
)
def test_a_caret_is_a_power(text, same):
    """What the tables print is read: x^2 binds as x**2 does."""
    f, g = parse(text)[0], parse(same)[0]
    assert f(1.5) == g(1.5)
