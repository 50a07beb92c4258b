"""What a derivative returns belongs to the caller: no memory is shared."""

import itertools
import types

import numpy as np
import pytest

import simpleautodiff as ad
from simpleautodiff.values.pytree import flatten

LARGE = 5000


def test_derivatives_share_no_memory_with_what_was_given():
    seed = np.ones(3)
    _, pullback = ad.vjp(lambda a, b: a + b, np.zeros(3), np.zeros(3))
    left, right = pullback(seed)
    left[:] = 7
    np.testing.assert_array_equal(seed, 1)
    np.testing.assert_array_equal(right, 1)
    tangent = ad.jvp(lambda x: x.reshape(3, 1), (np.zeros(3),), (seed,))[1]
    tangent[:] = 7
    same = ad.jvp(lambda x: x, (np.zeros(3),), (seed,))[1]
    same[:] = 7
    np.testing.assert_array_equal(seed, 1)
    rows = np.zeros((2, 3))
    ad.vmap(lambda x: x[0])(rows)[:] = 5
    np.testing.assert_array_equal(rows, 0)
    ad.vmap(lambda x: x)(rows)[:] = 5
    np.testing.assert_array_equal(rows, 0)


TWICE = {
    "one object": lambda x: (x, x),
    "one computed": lambda x: (lambda y: [y, y])(np.sin(x)),
    "views": lambda x: {"a": x, "b": x[:1], "c": x.T},
}
DERIVATIVES = {
    "jvp": lambda f, x: ad.jvp(f, (x,), (np.ones_like(x),))[1],
    "linearize": lambda f, x: ad.linearize(f, x)[1](np.ones_like(x)),
    "jacfwd": lambda f, x: ad.jacfwd(f)(x),
    "jacrev": lambda f, x: ad.jacrev(f)(x),
    "vmap": lambda f, x: ad.vmap(f)(np.stack([x, x])),
}


@pytest.mark.parametrize("way", sorted(DERIVATIVES))
@pytest.mark.parametrize("name", sorted(TWICE))
def test_results_that_are_the_same_have_derivatives_of_their_own(name, way):
    x = np.arange(6.0).reshape(2, 3)
    arrays = flatten(DERIVATIVES[way](TWICE[name], x))[0]
    for first, second in itertools.combinations(arrays, 2):
        assert not np.shares_memory(first, second)


@pytest.mark.parametrize("size", [3, LARGE, 100_000])
def test_what_a_function_returned_beside_can_be_written_to(size):
    x = np.linspace(0.0, 1.0, size)
    both = lambda x: (np.sum(y := np.exp(x)), y)
    _, pullback, beside = ad.vjp(both, x, has_aux=True)
    beside[:] = 0
    np.testing.assert_allclose(pullback(1.0)[0], np.exp(x))
    _, push, beside = ad.linearize(both, x, has_aux=True)
    beside[:] = 0
    np.testing.assert_allclose(push(np.ones(size)), np.sum(np.exp(x)))


@pytest.mark.parametrize("size", [2, 100, 400])
def test_gradients_share_no_memory_with_each_other(size):
    x = np.linspace(0.0, 1.0, size * size)
    turned = lambda a, b: np.sum(np.sin(a + b.T))
    reshaped = lambda a, b: np.sum(np.sin(a.ravel() + b.ravel()))
    for f in (turned, reshaped):
        a, b = ad.grad(f, (0, 1))(x.reshape(size, size), x.reshape(size, size))
        assert not np.shares_memory(a, b)
    c, d = ad.grad(lambda c, d: np.sum(np.sin(np.concatenate([c, d]))), (0, 1))(x, x)
    c[:] = 0
    np.testing.assert_allclose(d, np.cos(x))


@pytest.mark.parametrize("f", [lambda y: np.arange(3) * y, lambda y: np.array([0, y, 2 * y])])
def test_fractions_of_seeds_and_tangents_of_integers_stay(f):
    value, pull = ad.vjp(f, 2)
    assert value.dtype == np.arange(3).dtype
    assert pull(np.array([0.5, 0.25, 0.75]))[0] == 0.25 + 2 * 0.75
    np.testing.assert_array_equal(ad.jvp(f, (2,), (0.25,))[1], [0, 0.25, 0.5])


class Quantity:
    """A number with a unit, as other libraries have them: in a slot, inside of another object."""

    __slots__ = ("held",)

    def __init__(self, number):
        self.held = types.SimpleNamespace(number=number)

    __add__ = __sub__ = __mul__ = lambda self, other: self


def test_nodes_deep_inside_of_a_result_are_not_lost():
    with pytest.raises(ad.ResultError, match="Quantity with a node inside"):
        ad.grad(lambda x: Quantity(x * 2))(1.0)
    with pytest.raises(ad.ResultError, match="SimpleNamespace with a node inside"):
        ad.grad(lambda x: types.SimpleNamespace(held=Quantity(x * 2)))(1.0)
    assert ad.grad(lambda x: (x * 2, Quantity(x)), has_aux=True)(1.0)[0] == 2.0


PASSED_ON = {
    "checkpoint": ad.checkpoint(lambda v: v),
    "a view by checkpoint": ad.checkpoint(lambda v: v[::-1]),
    "checkpoint with a policy": ad.checkpoint(
        lambda v: v, policy=ad.checkpoint_policies.dots_saveable
    ),
    "a loop": lambda v: ad.fori_loop(0, 2, lambda _, v: v, v),
    "a loop with few states": lambda v: ad.fori_loop(0, 2, lambda _, v: v, v, checkpoint=1),
    "a scan with few states": lambda v: ad.scan(lambda v, _: (v, None), v, None, 2, checkpoint=1)[
        0
    ],
    "cond": lambda v: ad.cond(True, lambda v: v, lambda v: 2.0 * v, v),
    "on_adjoint": lambda v: ad.on_adjoint(v, lambda bar: bar),
    "stop_gradient": ad.stop_gradient,
}
IN_EVERY_MODE = {
    "plain": lambda f, x: f(x),
    "vjp": lambda f, x: ad.vjp(f, x)[0],
    "jvp": lambda f, x: ad.jvp(f, (x,), (np.ones(3),))[0],
    "both": lambda f, x: ad.jvp(lambda x: ad.vjp(f, x)[0], (x,), (np.ones(3),))[0],
    "vmap": lambda f, x: ad.vmap(f)(np.stack([x, x]))[1],
    "jit": lambda f, x: ad.jit(f, tier="numpy")(x),
}


@pytest.mark.parametrize("way", IN_EVERY_MODE)
@pytest.mark.parametrize("name", PASSED_ON)
def test_what_is_written_to_what_was_passed_on_is_seen_nowhere_else(name, way):
    """What is passed on is a view of an array, or the same numbers for all elements."""

    def of_a_view(x):
        y = x * 1.0
        v = PASSED_ON[name](y[1:])
        v *= 0.5
        return y * x + np.sum(v)

    def of_one_number(x):
        v = PASSED_ON[name](np.full(3, x[0]))
        v[1] *= 0.5
        return v * x

    x = np.array([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(IN_EVERY_MODE[way](of_a_view, x), [3.5, 6.5, 11.5])
    np.testing.assert_array_equal(IN_EVERY_MODE[way](of_one_number, x), [1.0, 1.0, 3.0])
