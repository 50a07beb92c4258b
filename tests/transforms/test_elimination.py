"""Jacobians by elimination of vertices, in every order, against the other modes."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import simpleautodiff as ad


def mixed(x):
    product = x[0] * x[1]
    return [ad.sin(product) * x[2], x[0], 3.0, ad.exp(product), x[2] ** 2 * x[0], x[2]]


X = [0.5, 1.3, 2.0]


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_the_jacobian_is_that_of_the_other_modes(mode):
    found = ad.jacobian(mixed, mode="elimination")(X)
    np.testing.assert_allclose(found, ad.jacobian(mixed, mode=mode)(X), rtol=1e-14)
    assert found[1:3] == [[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]  # an input, and a constant


def test_a_result_that_is_used_again_and_one_that_is_returned_twice():
    def f(x):
        y = x * x
        return y, y * x, y

    assert ad.jacobian(f, mode="elimination")(3.0) == (6.0, 27.0, 6.0)


def test_structural_zeros_are_not_multiplied():
    f = lambda x: [ad.where(x < 1, x, ad.sqrt(x)), ad.floor(x) * 2]
    assert ad.jacobian(f, mode="elimination")(0.0) == [1.0, 0.0]


def test_other_numbers_and_other_transformations():
    f = lambda x, y: [x * y / 3, x - y]
    exact = ad.jacobian(f, (0, 1), mode="elimination")(Fraction(1, 2), Fraction(3))
    assert exact == [(1, Fraction(1, 6)), (1, -1)]
    second = ad.jacobian(ad.grad(lambda x: x[0] * x[1] ** 2), mode="elimination")([1.0, 2.0])
    assert second == [[0.0, 4.0], [4.0, 2.0]]
    entry = lambda mode: ad.grad(lambda x: ad.jacobian(mixed, mode=mode)(x)[0][1])(X)
    np.testing.assert_allclose(entry("elimination"), entry("reverse"), rtol=1e-14)
    compiled = ad.jit(ad.jacobian(mixed, mode="elimination"))
    np.testing.assert_allclose(compiled(X), ad.jacobian(mixed)(X), rtol=1e-14)
    many = ad.vmap(ad.jacobian(lambda x: [ad.sin(x), x * x], mode="elimination"))(np.arange(3.0))
    np.testing.assert_allclose(many, [np.cos(np.arange(3.0)), 2 * np.arange(3.0)])


@pytest.mark.parametrize(
    ("f", "x"), [(lambda x: np.sum(x * x), np.ones(3)), (lambda x: x * x, 1.0 + 2.0j)]
)
def test_arrays_and_complex_numbers_are_refused(f, x):
    with pytest.raises(ad.ArgumentError, match=r"single real numbers.*list of numbers"):
        ad.jacobian(f, mode="elimination")(x)


def test_auxiliary_results():
    f = lambda x: (x * x, "kept")
    assert ad.jacobian(f, has_aux=True, mode="elimination")(3.0) == (6.0, "kept")


@st.composite
def programs(draw):
    """Return a program of sums, products and sines, as a list of steps, and its results."""
    count = draw(st.integers(1, 3))
    steps = []
    for size in range(count, count + draw(st.integers(1, 12))):
        pick = st.integers(0, size - 1)
        steps.append((draw(st.sampled_from("+*s")), draw(pick), draw(pick)))
    results = draw(st.lists(st.integers(0, count + len(steps) - 1), min_size=1, max_size=3))
    return count, steps, results


@given(programs(), st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_every_order_of_every_program(program, random):
    count, steps, results = program

    def f(*x):
        values = list(x)
        for kind, i, j in steps:
            a, b = values[i], values[j]
            values.append(ad.sin(a) if kind == "s" else a + b if kind == "+" else a * b)
        return [values[i] for i in results]

    x = [0.3, -0.7, 1.1][:count]
    places = tuple(range(count))
    expected = np.array(ad.jacobian(f, places, mode="reverse")(*x))
    found = ad.jacobian(f, places, mode="elimination")(*x)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
    names = list(ad.eliminate(f, *x).order)
    random.shuffle(names)
    for order in ("markowitz", "forward", "reverse", names):
        shown = ad.eliminate(f, *x, order=order)
        np.testing.assert_allclose(shown.jacobian, expected, rtol=1e-12, atol=1e-14)


def test_a_long_chain_takes_linear_time_and_no_recursion():
    def f(x):
        for _ in range(20_000):
            x = ad.sin(x)
        return x

    assert ad.jacobian(f, mode="elimination")(1.0) == pytest.approx(ad.grad(f)(1.0), rel=1e-12)


def test_multiplications_of_a_waist():
    """Four inputs and four results that meet in one vertex: 4 + 4 edges, and 16 products."""

    def waist(a, b, c, d):
        t = ad.sin(a * b * c * d)
        return [ad.exp(t), ad.sin(t), ad.cos(t), ad.log(t)]

    x = (0.5, 0.6, 0.7, 0.8)
    counts = ad.eliminate(waist, *x).multiplications
    assert counts["forward"] == 2 + 3 + 4 + 4 * 4  # three products and the sine
    assert counts["reverse"] == 4 + 2 * 4 + 2 * 4 + 2 * 4  # the sine and three products
    assert counts["markowitz"] == 2 + 2 + 3 + 4 * 4  # the third product before the second


def test_the_steps_of_the_papers_example():
    shown = ad.eliminate(lambda x1, x2: ad.log(x1) + x1 * x2 - ad.sin(x2), 2.0, 5.0)
    np.testing.assert_allclose(shown.jacobian, [[5.5, 2 - math.cos(5)]], rtol=1e-15)
    lines = str(shown).splitlines()
    assert "∂v4/∂x1 + ∂v4/∂v2 × ∂v2/∂x1  0.5 + 1 × 5" in lines[6]
    assert lines[-1] == "Multiplications: markowitz 6, forward 6, reverse 6."
    for format in ("markdown", "latex", "html"):
        assert "5.5" in shown.to(format)
    latex = shown.to("latex")
    assert latex.isascii()  # what LaTeX reads without packages for Unicode
    assert r"\partial v_{4}/\partial v_{2} \times \partial v_{2}/\partial x_{1}$" in latex
    assert r"& $-0.284$ \\" in latex
    x1, x2 = ad.Node(2.0), ad.Node(5.0)
    typed = ad.eliminate(ad.log(x1) + x1 * x2 - ad.sin(x2), order=["v5", "v4", "v3", "v2", "v1"])
    np.testing.assert_allclose(typed.jacobian, shown.jacobian, rtol=1e-15)
    assert typed.multiplications["this order"] == 6


@pytest.mark.parametrize("order", ["backward", ["v1"], ["v1", "v1"]])
def test_an_order_has_every_vertex_once(order):
    with pytest.raises(ad.ArgumentError, match="order"):
        ad.eliminate(lambda x: ad.sin(x) * x, 1.0, order=order)
