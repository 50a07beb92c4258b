"""vmap: what is done for a batch at once equals what is done example by example."""

import importlib.util
from pathlib import Path

import jax
import numpy as np
import pytest

import simpleautodiff as ad

jax.config.update("jax_enable_x64", True)
spec = importlib.util.spec_from_file_location("cases", Path(__file__).parent / "test_arrays.py")
cases = importlib.util.module_from_spec(spec)
spec.loader.exec_module(cases)
NOT_OF_ONE_SHAPE = {"boolean"}  # the examples have results of different shapes
CASES = [case for case in cases.CASES if case[0] not in NOT_OF_ONE_SHAPE]
every_case = pytest.mark.parametrize(("name", "f", "x"), CASES, ids=[case[0] for case in CASES])
rng = np.random.default_rng(11)


def examples(x):
    noise = 0.05 * rng.normal(size=(3, *x.shape))
    return x + (noise + np.swapaxes(noise, -1, -2) if x.ndim == 2 and x.shape == (3, 3) else noise)


@every_case
def test_value_and_gradient_of_every_function(name, f, x):
    batch = examples(x)
    expected = np.stack([f(one) for one in batch])
    np.testing.assert_allclose(ad.vmap(f)(batch), expected, rtol=1e-11, atol=1e-13)
    total = lambda x: np.sum(np.sin(f(x)) * cases.weights(expected.shape[1:]))
    slope = ad.grad(total)
    slopes = np.stack([slope(one) for one in batch])
    scale = 1 + np.max(np.abs(slopes))
    np.testing.assert_allclose(ad.vmap(slope)(batch), slopes, rtol=1e-9, atol=1e-11 * scale)
    outside = ad.grad(lambda batch: np.sum(ad.vmap(total)(batch)))(batch)
    np.testing.assert_allclose(outside, slopes, rtol=1e-9, atol=1e-11 * scale)


@every_case
def test_jacobians_swept_all_at_once(name, f, x):
    forward, reverse = ad.jacfwd(f)(x), ad.jacrev(f)(x)
    assert forward.shape == (*np.shape(f(x)), *x.shape)
    scale = 1 + np.max(np.abs(forward), initial=0)
    np.testing.assert_allclose(forward, reverse, rtol=1e-9, atol=1e-11 * scale)
    for place in list(np.ndindex(*x.shape))[:3]:
        unit = np.zeros_like(x)
        unit[place] = 1
        _, column = ad.jvp(f, (x,), (unit,))
        np.testing.assert_allclose(forward[(..., *place)], column, rtol=1e-9, atol=1e-11 * scale)
