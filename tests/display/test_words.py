"""Derivatives in words."""

import math
import re

import numpy as np
import pytest

import simpleautodiff as ad
from simpleautodiff.core.level import apply
from simpleautodiff.display.notation.explain import write_reason
from simpleautodiff.rules.row import TABLE


def paper(x1, x2):
    return ad.log(x1) + x1 * x2 - ad.sin(x2)


@pytest.fixture
def example():
    return ad.trace(paper, 2, 5)


def forward(words):
    return next(line for line in words.splitlines() if line.startswith("Forward"))


def reverse(words):
    return next(line for line in words.splitlines() if line.startswith("Reverse"))


def test_the_sentence_of_the_example(example):
    assert (
        "v5 = v4 − v3, so ∂v5/∂v4 = 1 and ∂v5/∂v3 = −1; v3 is not reachable from x1, so its "
        "derivative is 0; v̇5 = v̇4 − v̇3 = 5.5 − 0 = 5.5."
    ) in example.explain("v5")


def test_the_reason_of_the_row_is_told(example):
    assert "the slope of log at x is 1/x" in example.explain("v1")
    assert "∂v1/∂x1 = 1 / x1 = 0.5" in example.explain("v1")


def test_with_respect_to_another_input(example):
    words = forward(example.explain("v5", wrt="x2"))
    assert words.startswith("Forward from x2: ")
    assert "reachable" not in words
    assert words.endswith(f"= {2 - math.cos(5):.3f}.")


def test_reverse_adds_what_each_child_contributes(example):
    assert reverse(example.explain("x2")) == (
        "Reverse from y: x2 goes into v3 and v2, so x̄2 = v̄3 ∂v3/∂x2 + v̄2 ∂v2/∂x2 = "
        "v̄3 × cos(x2) + v̄2 × x1 = −1 × cos(5) + 1 × 2 = 1.716."
    )
    assert reverse(example.explain("v5")) == "Reverse from y: v5 is y, so its adjoint is 1."


def test_inputs(example):
    assert "x1 is where the sweep starts, so its derivative is 1" in example.explain("x1")
    assert "x2 is another input, so its derivative is 0" in example.explain("x2")


def test_a_factor_that_occurs_twice():
    words = ad.trace(lambda x: x * x, 3.0).explain("v1")
    assert "∂v1/∂x = x = 3 (as argument 1) and ∂v1/∂x = x = 3 (as argument 2)" in words
    assert "v̇1 = ẋ × x + ẋ × x = 1 × 3 + 1 × 3 = 6." in words


def test_a_kink_is_a_choice():
    words = ad.trace(lambda x: abs(x) + x, 0.0).explain("v1")
    assert "A kink of abs, x = 0: the derivative is a choice, 0, the subgradient" in words
    assert "kink" not in ad.trace(lambda x: abs(x) + x, 1.0).explain("v1")
    array = ad.trace(lambda x: np.sum(np.abs(x)), np.array([1.0, 0.0])).explain("v1")
    assert "A kink of abs, x = 0" in array


def test_a_structural_zero_is_known_to_be_zero():
    t = ad.trace(lambda x: ad.where(x < 1, x, ad.sqrt(x)), 0.0)
    words = t.explain("v2")
    assert "∂v2/∂v1 is known to be 0, whatever it is multiplied by" in words
    assert forward(words).endswith("; v̇2 = ẋ = 1.")
    assert "no way leads from v1 to y that counts" in t.explain("v1")
    assert "the derivative of v1 is 0" in ad.trace(lambda x: ad.floor(x) * x, 2.5).explain("v1")


def test_arrays_and_the_users_own_names():
    def model(x, w):
        hidden = np.tanh(w @ x)
        return np.sum(hidden)

    t = ad.trace(model, np.array([1.0, 2.0]), np.eye(2))
    words = t.explain("hidden")
    assert words.startswith(
        "v2 = tanh(v1) = tanh([1, 2]) = float64(2,) [0.762, 0.964], which you call hidden"
    )
    assert "hidden = np.tanh(w @ x)" in words
    product = t.explain("v1")
    assert "∂v1/∂w and ∂v1/∂x are linear maps" in product
    assert "w is not reachable from x" in product
    assert "v̇1 = ẇ @ x + w @ ẋ = [[0, 0], [0, 0]] @ [1, 2] + [[1, 0], [0, 1]] @ [1, 1]" in product
    assert "w̄ = v̄1 ∂v1/∂w = reshape(v̄1, (−1, 1)) × x" in reverse(t.explain("w"))


def test_every_step_of_many_programs_can_be_explained():
    x = np.array([[0.5, 0.25], [0.125, 0.75]])
    programs = [
        lambda x: np.linalg.det(x) + np.sum(np.linalg.inv(x)),
        lambda x: np.sum(np.sort(x, axis=0)[0] * np.cumsum(x, axis=1)),
        lambda x: np.max(x) * np.where(x > 0.3, x, 0.0)[0, 1] + np.mean(x.T @ x),
        lambda x: np.einsum("ij,ij->", x, np.exp(x)) / np.prod(x),
        lambda x: np.logaddexp(x, x.T)[0, 0] ** 2 - np.linalg.norm(x),
    ]
    for f in programs:
        t = ad.trace(f, x)
        for step in t.steps:
            words = t.explain(step.name)
            assert words.endswith(".")
            assert len(words.splitlines()) >= (3 if step.operator else 2)
        for table in (t.values(), t.tangents("x"), t.adjoints()):
            assert str(table)
            assert table.to("latex").count("{") == table.to("latex").count("}")
        np.testing.assert_allclose(t.adjoints()["x"], ad.grad(f)(x))


def test_an_unknown_name_is_refused(example):
    with pytest.raises(ad.ArgumentError, match="there is no 'v9'"):
        example.explain("v9")


def test_the_result_can_be_asked_for_by_its_own_name():
    t = ad.trace(lambda x1, x2: x1 * x2, 2.0, 5.0)
    assert t.explain("y") == t.explain("v1")


def named_y(x, z):
    y = x * z
    return y - y**2.0 / z


ELEMENTARY = [row for row in TABLE.values() if not row.arrays and not row.floats]


@pytest.mark.parametrize("row", ELEMENTARY, ids=lambda row: row.name)
@pytest.mark.parametrize("called", ["xyv", "yxv", "vyx"])
def test_no_letter_of_a_reason_is_another_name_of_the_user(row, called):
    """A reason says what each of its letters is; none of them is the name of something else."""
    names = list(called[: row.arity])
    point = [1.5 if row.name == "acosh" else 0.5, 0.25, 0.75][: row.arity]
    if row.name in ("polygamma", "sinc_derivative", "where", "round"):
        return  # an argument of theirs is no number

    def f(*args):
        return apply(row, *args)

    try:
        program = ad.trace(f, *point, names=names)
    except ad.AutodiffError:
        return  # nothing to explain: constant, or of more arguments than these
    last = program.nodes[-1]
    said = write_reason(program, last)
    here = said.partition("; here")[2].replace(" and ", ", ")
    for letter, name in re.findall(r"(\w+) is (\w+)", here):
        assert letter == name or letter not in names, said


def test_a_constant_exponent_gets_the_power_rule():
    t = ad.trace(lambda x: x**2, 3.0)
    told = t.explain("v1").splitlines()[0]
    rule = (
        "the power rule, for a constant exponent n: the derivative of x^n is n x^(n−1); here n is 2"
    )
    assert told == f"v1 = x^2 = 3^2 = 9: {rule}."
    t = ad.trace(lambda x: 2.0**x, 3.0)
    assert t.explain("v1").splitlines()[0].endswith("the derivative is b^x log b; here b is 2.")


class TestLetters:
    """The letters of a reason are the rule's own: it is said what they are here."""

    def test_numbers(self):
        t = ad.trace(named_y, 2.0, 3.0)
        assert "derivative of a^n is n a^(n−1); here a is v1 and n is 2.\n" in t.explain("v2")
        assert "are 1/b and −v3/b; here a is v2 and b is z.\n" in t.explain("v3")
        assert "here" not in t.explain("v1")

    def test_names_that_are_the_same_are_not_explained(self):
        t = ad.trace(lambda x: ad.sqrt(x) + ad.log(x), 2.0)
        assert "from v1² = x follows 2 v1 dv1 = dx, so the derivative is 1/(2 √x).\n" in t.explain(
            "v1"
        )
        assert "the slope of log at x is 1/x.\n" in t.explain("v2")

    def test_matrices(self):
        t = ad.trace(lambda a, b: np.sum(np.linalg.inv(a) @ b), np.eye(2), np.ones(2))
        assert "dv1 = −v1 dA v1; here A is a." in t.explain("v1")
        assert "d(A B) = dA B + A dB; here A is v1 and B is b." in t.explain("v2")

    def test_the_word_a_is_no_letter(self):
        t = ad.trace(lambda u, w: ad.logaddexp(u, w) + u % w, 2.0, 3.0)
        assert "; here a is u and b is w." in t.explain("v1")
        assert "is piecewise constant; here x is u and y is w." in t.explain("v2")


def test_the_result_has_a_name_of_its_own():
    t = ad.trace(named_y, 2.0, 3.0)  # y is another step and z is an input
    assert t.values().rows[-1].name == "f"
    assert t.adjoints().title == "Reverse mode: derivatives of f"

    def returned(x):
        y = ad.sin(x)
        y = y * 2
        return y

    assert ad.trace(returned, 1.0).values().rows[-1].name == "y"


def test_a_notebook_shows_the_words_line_by_line():
    words = ad.trace(lambda x: x * x, 3.0).explain("v1")
    shown = words._repr_mimebundle_(include=None, exclude=None)
    assert shown["text/plain"] == words
    assert shown["text/html"].count("<p>") == len(words.splitlines())


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_words_say_where_a_nan_comes_from():
    program = ad.trace(lambda x, y: ad.log(x) * y, np.array([1.0, -1.0]), 2.0)
    arises = "nan arises here: log([1, −1]) is not a real number in every element."
    assert arises in program.explain("v1").splitlines()
    assert "nan comes from v1." in program.explain("v2").splitlines()
    program = ad.trace(ad.sin, float("nan"))
    assert "This input is nan: everything computed from it is nan." in program.explain("x")
