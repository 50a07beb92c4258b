"""Gradients of whole programs: eager and compiled, against differences and against JAX."""

from importlib import import_module

import numpy as np
import pytest

import simpleautodiff as ad
from programs.table import NAMES


def program(name):
    module = import_module(f"programs.{name}")
    return module, module.example(module.SIZES[0])


def slope_by_differences(f, x, direction, h=2e-3):
    """Return the derivative along a direction from six values: of sixth order in h."""
    differences = [f(x + k * h * direction) - f(x - k * h * direction) for k in (1, 2, 3)]
    return (45 * differences[0] - 9 * differences[1] + differences[2]) / (60 * h)


@pytest.mark.parametrize("name", NAMES)
def test_eager_and_compiled_gradients_are_slopes(name):
    module, (x, *others) = program(name)
    direction = np.random.default_rng(1).normal(size=x.shape)
    direction *= min(1e-1, 1e-1 * np.max(np.abs(x))) / np.max(np.abs(direction))
    wanted = slope_by_differences(lambda x: module.f(x, *others), x, direction)
    eager = ad.grad(module.f)(x, *others)
    compiled = ad.jit(ad.grad(module.f))
    for _ in range(4):
        found = compiled(x, *others)
    assert np.max(np.abs(found - eager)) <= 1e-11 * np.max(np.abs(eager))
    scale = np.sum(np.abs(eager * direction))
    assert abs(np.sum(eager * direction) - wanted) <= 1e-6 * scale


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_gradients_are_those_of_jax(name):
    jax = pytest.importorskip("jax")
    from programs.table import in_jax

    module, args = program(name)
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    try:
        wanted = np.asarray(in_jax(jax, module, args)())
    finally:
        jax.config.update("jax_enable_x64", before)
    found = ad.grad(module.f)(*args)
    assert np.max(np.abs(found - wanted)) <= 1e-11 * np.max(np.abs(wanted))
