"""Hooks that see and change adjoints, and micrograd's habits."""

import math
import random

import numpy as np
import pytest
from simpleautodiff.micrograd import Value

import simpleautodiff as ad


@pytest.mark.parametrize("form", [lambda f: f, ad.vmap, ad.jit], ids=["plain", "vmap", "jit"])
def test_a_hook_sees_the_whole_adjoint_of_an_intermediate(form):
    found = []

    def f(x):
        hidden = ad.on_adjoint(np.sin(x), lambda bar: found.append(ad.stop_gradient(bar)))
        return np.sum(hidden**2) + 3 * hidden[0]

    x = np.array([0.3, 0.7])
    given = np.stack([x, x]) if form is ad.vmap else x
    gradient = form(ad.grad(f))(given)
    expected = (2 * np.sin(x) + [3, 0]) * np.cos(x)
    np.testing.assert_allclose(gradient, [expected, expected] if form is ad.vmap else expected)
    assert len(found) == 1


def test_gradients_of_intermediates_of_a_network():
    adjoints = {}

    def loss(w, x, watch):
        hidden = watch("hidden", np.tanh(w @ x))
        return np.sum(watch("output", hidden**2))

    watch = lambda name, v: ad.on_adjoint(v, lambda bar: adjoints.update({name: bar}))
    w, x = np.array([[1.0, 0.5], [0.2, -0.4]]), np.array([0.3, 0.8])
    plain = ad.grad(loss)(w, x, lambda name, v: v)
    np.testing.assert_array_equal(ad.grad(loss)(w, x, watch), plain)
    np.testing.assert_allclose(adjoints["hidden"], 2 * np.tanh(w @ x))
    np.testing.assert_allclose(adjoints["output"], [1.0, 1.0])


def test_a_hook_changes_the_adjoint():
    clip = lambda bar: np.clip(bar, -1.0, 1.0)
    f = lambda x: np.sum(np.array([5.0, 0.5, -7.0]) * ad.on_adjoint(x, clip))
    np.testing.assert_array_equal(ad.grad(f)(np.ones(3)), [1.0, 0.5, -1.0])
    reversal = lambda x: ad.on_adjoint(x, lambda bar: -2 * bar)
    assert ad.grad(lambda x: reversal(x) ** 2)(3.0) == -12.0
    assert ad.grad(ad.grad(lambda x: reversal(x) ** 3))(1.0) == 24.0  # (-2)(-2) 6 x
    tree = {"a": 1.0, "b": (2.0,)}
    twice = lambda p: ad.on_adjoint(p, lambda bar: 2 * bar)
    assert ad.grad(lambda p: twice(p)["a"] * twice(p)["b"][0])(tree) == {"a": 4.0, "b": (2.0,)}


def test_what_a_hook_writes_to_an_adjoint_changes_nothing():
    def note(bar):
        bar[0] = 99.0
        seen.append(bar)

    seen = []
    f = lambda x: np.sum(x**2 + ad.on_adjoint(x, note) * x)
    np.testing.assert_array_equal(ad.grad(f)(np.array([1.0, 2.0])), [4.0, 8.0])
    np.testing.assert_array_equal(seen, [[99.0, 2.0]])


def test_values_and_forward_mode_know_no_hook():
    refuse = lambda bar: pytest.fail("a hook was called")
    assert ad.on_adjoint(2.0, refuse) == 2.0
    assert ad.derivative(lambda x: ad.on_adjoint(x, refuse) ** 2)(3.0) == 6.0
    with pytest.raises(ad.ArgumentError, match="a function is needed"):
        ad.on_adjoint(2.0, None)


def test_the_example_of_micrograd():
    a, b = Value(-4.0), Value(2.0)
    c = a + b
    d = a * b + b**3
    c += c + 1
    c += 1 + c + (-a)
    d += d * 2 + (b + a).relu()
    d += 3 * d + (b - a).relu()
    e = c - d
    f = e**2
    g = f / 2.0
    g += 10.0 / f
    g.backward()
    assert round(g.data, 4) == 24.7041
    assert round(a.grad, 4) == 138.8338
    assert round(b.grad, 4) == 645.5773


def test_training_as_with_micrograd():
    random.seed(1)
    w, b = [Value(random.uniform(-1, 1)) for _ in range(2)], Value(0.0)
    data = [((1.0, 2.0), 0.5), ((-1.0, 0.5), -0.3), ((0.4, -2.0), 0.1)]
    losses = []
    for _ in range(200):
        outs = [((w[0] * x[0] + w[1] * x[1] + b).tanh(), y) for x, y in data]
        loss = sum((out - y) ** 2 for out, y in outs)
        for p in (*w, b):
            p.grad = 0.0
        loss.backward()
        for p in (*w, b):
            p.data -= 0.1 * p.grad
        losses.append(loss.data)
    assert losses[-1] < 1e-3 < losses[0]
    x = Value(2.0)
    y = x.exp() / x.log()
    y.backward()
    y.backward()  # it adds up
    exact = math.exp(2) / math.log(2) - math.exp(2) / (2 * math.log(2) ** 2)
    assert x.grad == pytest.approx(2 * exact)


def test_functions_of_pytorch_are_refused():
    def relu(x):  # as torch.nn.functional.relu does
        raise TypeError("relu(): argument 'input' (position 1) must be Tensor, not Node")

    with pytest.raises(ad.LostDerivativeError, match=r"simpleautodiff\.relu\(x\) for F\.relu"):
        ad.grad(lambda x: relu(x))(1.0)
