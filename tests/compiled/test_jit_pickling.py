"""Compiled functions are pickled by what they are made of."""

import pickle

import numpy as np
import pytest

import simpleautodiff as ad

pytestmark = pytest.mark.filterwarnings("ignore:llvmlite is not installed:RuntimeWarning")


@ad.jit
def decorated(x):
    return x * 2


def test_a_decorated_function_can_be_pickled():
    assert pickle.loads(pickle.dumps(decorated)) is decorated


def cubed(x):
    return np.sum(x**3)


@pytest.mark.parametrize(
    "make",
    [
        lambda: ad.grad(cubed),
        lambda: ad.value_and_grad(cubed, argnums=0),
        lambda: ad.jacobian(ad.grad(cubed), mode="forward"),
        lambda: ad.hessian(cubed),
        lambda: ad.vmap(ad.grad(ad.jit(cubed)), in_axes=1),
        lambda: ad.jacobian(ad.vmap(ad.derivative(np.sin, n=2))),
    ],
)
def test_compiled_derivatives_can_be_pickled(make):
    jitted, x = ad.jit(make(), precise=True), np.arange(6.0).reshape(2, 3)
    again = pickle.loads(pickle.dumps(jitted))
    assert again.function.options.precise
    argument = x[0] if "derivative" in repr(jitted) else x
    for _ in range(3):
        for got, want in zip(again(argument), jitted(argument), strict=True):
            np.testing.assert_array_equal(got, want)


def test_what_wraps_a_derivative_is_not_taken_for_it():
    from functools import wraps

    @wraps(ad.grad(cubed))
    def wrapper(x):
        return 2 * x

    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(ad.jit(wrapper))
