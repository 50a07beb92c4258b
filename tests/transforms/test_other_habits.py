"""Habits from elsewhere: each refusal says what to write, and what it says works."""

import math

import numpy as np
import pytest

import simpleautodiff as ad
from simpleautodiff.errors import ArgumentError, AutodiffError, LostDerivativeError


def f(x, y):
    return x * y


@pytest.mark.parametrize(
    "transformation", ["grad", "value_and_grad", "jacobian", "jacfwd", "jacrev", "hessian"]
)
@pytest.mark.parametrize("point", [(2.0, 5.0), (2.0,), (2, 5), (np.ones(2),), ([1.0, 2.0],)])
def test_the_point_among_the_options(transformation, point):
    with pytest.raises(ArgumentError, match="goes into brackets of its own") as error:
        getattr(ad, transformation)(f, *point)
    assert f"write {transformation}(f)({', '.join(map(repr, point))})" in str(error.value)


def test_options_stay_options():
    assert ad.grad(f, 1)(2.0, 5.0) == 2.0
    assert ad.grad(f, (0, 1))(2.0, 5.0) == (5.0, 2.0)
    assert ad.grad(f, "y")(2.0, 5.0) == 2.0
    assert ad.grad(f, np.int64(1))(2.0, 5.0) == 2.0
    assert ad.grad(lambda x: (x * x, "aux"), 0, True)(3.0) == (6.0, "aux")
    assert ad.derivative(lambda x: x**3, 2)(1.0) == 6.0


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("backward", "bar = reverse(y)"),
        ("grad", "grad(f)(x)"),
        ("zero_grad", "nothing to reset"),
        ("requires_grad", "every Node is differentiated"),
        ("detach", "stop_gradient(x)"),
        ("numpy", "x.value"),
    ],
)
def test_attributes_of_other_libraries(name, instead):
    y = ad.Node(2.0) * 3
    assert not hasattr(y, name)
    with pytest.raises(AttributeError) as error:
        getattr(y, name)
    assert instead in str(error.value)
    with pytest.raises(AttributeError, match=f"no {name}"):
        setattr(y, name, 0)


def test_counts_and_indices_are_plain():
    def power(x, n):
        result = 1.0
        for _ in range(n):
            result = result * x
        return result

    with pytest.raises(LostDerivativeError, match=r"range\(int\(n.value\)\)"):
        ad.grad(power, (0, 1))(2.0, 3)
    assert ad.grad(power)(2.0, 3) == 12.0  # as the message says: n is left out
    with pytest.raises(LostDerivativeError, match=r"a\[int\(n.value\)\]"):
        ad.grad(lambda n: [1.0, 2.0][n] * n)(1)


GRID = np.array([0.5, 1.7, 2.5, 3.1])
STEPS = {  # a function of the grid, and the place of the element that it squares
    "floor": (lambda x: x[int(np.floor(x[2]))] ** 2, 2),
    "ceil": (lambda x: x[int(np.ceil(x[2]))] ** 2, 3),
    "rint": (lambda x: x[int(np.rint(x[1]))] ** 2, 2),
    "trunc": (lambda x: x[int(np.trunc(x[1]))] ** 2, 1),
    "sign": (lambda x: x[int(np.sign(x[1]))] ** 2, 1),
    "//": (lambda x: x[int(x[0] // 0.25)] ** 2, 2),
    "clipped": (lambda x: x[int(np.clip(np.floor(5 * x[2]), 0, 2)) + 1] ** 2, 3),
    "an element": (lambda x: x[int(np.floor(x)[2])] ** 2, 2),
    "of a list": (lambda x: list(x)[round(x[1])] ** 2, 2),
    "a range": (lambda x: [x[i] for i in range(math.floor(x[3]))][-1] ** 2, 2),
}


@pytest.mark.parametrize(("f", "at"), STEPS.values(), ids=STEPS.keys())
def test_integers_of_step_functions_are_plain(f, at):
    expected = 2 * GRID * (np.arange(4) == at)
    np.testing.assert_array_equal(ad.grad(f)(GRID), expected)
    np.testing.assert_array_equal(ad.jacfwd(f)(GRID), expected)
    np.testing.assert_array_equal(ad.hessian(f)(GRID), np.diag(2.0 * (np.arange(4) == at)))
    np.testing.assert_array_equal(ad.jit(ad.grad(f))(GRID), expected)


def test_compiled_functions_look_at_the_integer_again():
    slope = ad.jit(ad.grad(lambda x: x[int(np.floor(x[0]))] ** 2))
    for first in (0.5, 2.5, 0.25):
        x = np.array([first, 1.7, 3.5, 3.1])
        np.testing.assert_array_equal(slope(x), 2 * x * (np.arange(4) == int(first)))


def test_integers_that_drop_a_derivative_say_how_to_round():
    with pytest.raises(LostDerivativeError, match=r"int\(np\.floor\(x\)\).*astype\(int\)"):
        ad.grad(lambda x: x[int(x[0])] ** 2)(GRID)
    with pytest.raises(LostDerivativeError, match=r"np\.floor\(x\)\.astype\(int\)"):
        ad.vmap(lambda x: x[int(np.floor(x[0]))] ** 2)(GRID[None])


def test_figures_of_functions():
    for draw in ad.figure, ad.fold:
        with pytest.raises(ArgumentError, match=rf"write {draw.__name__}\(trace\(f, \.\.\.\)\)"):
            draw(f)
        with pytest.raises(ArgumentError, match=r"trace\(f, \.\.\.\)"):
            draw(lambda x: x)
        with pytest.raises(ArgumentError, match=r"got 3\.0"):
            draw(3.0)
    with pytest.raises(ArgumentError, match=r"write figure\(trace\(f, \.\.\.\)\)"):
        ad.figure(f, 2.0, 3.0)
    with pytest.raises(ArgumentError, match="by name: wrt='x1'"):
        ad.figure(ad.trace(f, 2.0, 3.0), "values", "x")
    assert "x" in str(ad.figure(ad.trace(f, 2.0, 3.0)))


def test_a_number_is_not_a_function():
    for show in ad.trace, ad.step:
        with pytest.raises(AutodiffError, match=r"a function is needed, got 6\.0"):
            show(f(2.0, 3.0))
