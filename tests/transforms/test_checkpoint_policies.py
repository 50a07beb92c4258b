"""Checkpoints by a policy: the same derivatives, and in memory what the policy names."""

import numpy as np
import pytest

import simpleautodiff as ad

policies = ad.checkpoint_policies
GENERATOR = np.random.default_rng(5)
X, W, B = GENERATOR.normal(size=(6, 4)), GENERATOR.normal(size=(4, 4)) / 2, np.full(4, 0.1)


def layer(x, w, b):
    product = ad.checkpoint_name(x @ w, "product")
    bent = np.tanh(np.sin(product) + b)
    bent[0] = bent[1] ** 2  # written to
    return ad.checkpoint_name(np.exp(bent), "out")


def network(f):
    def loss(w, b):
        return np.sum(f(f(X, w, b), w, b) ** 2)

    return loss


POLICIES = {
    "everything": policies.everything_saveable,
    "nothing": policies.nothing_saveable,
    "dots": policies.dots_saveable,
    "names": policies.save_only_these_names("product"),
    "except": policies.save_anything_except_these_names("product"),
    "both": policies.save_from_both_policies(
        policies.dots_saveable, policies.save_only_these_names("out")
    ),
    "own": lambda step: step.operator == "tanh",
}
every_policy = pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)


@every_policy
def test_derivatives_are_those_of_the_function(policy):
    plain, saved = network(layer), network(ad.checkpoint(layer, policy=policy))
    slopes = ad.grad(saved, (0, 1))(W, B), ad.grad(plain, (0, 1))(W, B)
    for found, expected in zip(*slopes, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-13)
    directions = (np.ones_like(W), np.zeros_like(B))
    np.testing.assert_allclose(
        ad.jvp(saved, (W, B), directions)[1], ad.jvp(plain, (W, B), directions)[1], rtol=1e-13
    )
    np.testing.assert_allclose(
        ad.hessian(saved, 1)(W, B), ad.hessian(plain, 1)(W, B), rtol=1e-10, atol=1e-12
    )
    slope = ad.grad(lambda b: np.sum(ad.grad(saved)(W, b) ** 2))(B)
    expected = ad.grad(lambda b: np.sum(ad.grad(plain)(W, b) ** 2))(B)
    np.testing.assert_allclose(slope, expected, rtol=1e-10)


@every_policy
def test_batches_and_compiled_functions(policy):
    plain, saved = network(layer), network(ad.checkpoint(layer, policy=policy))
    many = np.stack([W, W / 2, W.T])
    expected = np.stack([ad.grad(plain)(w, B) for w in many])
    found = ad.vmap(ad.grad(saved), in_axes=(0, None))(many, B)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    compiled = ad.jit(ad.grad(saved))
    for w in many:
        np.testing.assert_allclose(compiled(w, B), ad.grad(plain)(w, B), rtol=1e-12)


def test_memory_tells_what_is_saved():
    def block(x, w):
        y = ad.checkpoint_name(x @ w, "product")
        for _ in range(10):
            y = np.sin(y)
        return y

    def kept(policy):
        f = ad.checkpoint(block, policy=policy)
        return ad.memory(lambda w: np.sum(f(X, w)), W)

    arguments, array = W.nbytes, X @ W
    assert kept(policies.nothing_saveable).total == arguments
    assert kept(policies.dots_saveable).total == arguments + array.nbytes
    assert kept(policies.save_only_these_names("product")).total == arguments + array.nbytes
    sines = kept(lambda step: step.operator == "sin")
    assert sines.total == arguments + 10 * array.nbytes
    (line,) = [line for line in sines.lines if "y = np.sin(y)" in line.line]
    assert line.bytes == 10 * array.nbytes
    everything = kept(policies.everything_saveable)  # X and the arguments of the sines
    assert everything.total == X.nbytes + 10 * array.nbytes


def test_saved_values_are_not_computed_again():
    calls = {"slow": 0, "fast": 0}

    @ad.primitive(lambda _v, x: 2 * x, check=False)
    def slow(x):
        calls["slow"] += 1
        return x * x

    @ad.primitive(lambda _v, x: 3 * x**2, check=False)
    def fast(x):
        calls["fast"] += 1
        return x * x * x

    def f(x):
        return np.sum(fast(fast(slow(x))))

    x = np.linspace(0.5, 1.0, 5)
    expected = ad.grad(f)(x)
    calls.update(slow=0, fast=0)
    saved = ad.checkpoint(f, policy=lambda step: step.operator == "slow")
    np.testing.assert_allclose(ad.grad(saved)(x), expected)
    np.testing.assert_allclose(expected, 18 * x**17)
    assert calls == {"slow": 1, "fast": 3}  # of the last one no rule reads the value


def test_names_are_nothing_elsewhere():
    assert ad.checkpoint_name({"a": 2.0}, "x") == {"a": 2.0}
    assert ad.grad(lambda x: ad.checkpoint_name(x, "x") ** 2)(3.0) == 6.0
    given = [ad.checkpoint_name(np.ones(2), "x")]
    np.testing.assert_array_equal(given[0], np.ones(2))


def test_nodes_from_outside_are_recorded():
    def outer(x):
        inner = ad.checkpoint(lambda y: y * x @ y, policy=policies.dots_saveable)
        return np.sum(inner(2 * x))

    x = np.array([1.0, 2.0])
    np.testing.assert_allclose(ad.grad(outer)(x), 12 * x**2)
