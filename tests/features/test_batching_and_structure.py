"""Batches and nested parameters: each feature of the table, exercised."""

import dataclasses

import numpy as np

import simpleautodiff as ad
from features import shows


@shows("vmap")
def test_vmap():
    # gradients of each example, as in JAX's documentation
    loss = lambda w, x, y: (np.dot(w, x) - y) ** 2
    w, xs, ys = np.array([1.0, -1.0]), np.array([[1.0, 2.0], [0.0, 1.0], [3.0, 1.0]]), np.arange(3)
    found = ad.vmap(ad.grad(loss), in_axes=(None, 0, 0))(w, xs, ys)
    np.testing.assert_allclose(found, 2 * (xs @ w - ys)[:, None] * xs)


@shows("Nested dict/list/tuple parameters")
def test_nested():
    parameters = {"layers": [(2.0, 3.0), (4.0, 5.0)], "scale": 10.0}
    f = lambda p: p["scale"] * sum(w * b for w, b in p["layers"])
    assert ad.grad(f)(parameters) == {"layers": [(30.0, 20.0), (50.0, 40.0)], "scale": 26.0}


@dataclasses.dataclass
class Line:
    slope: float
    offset: float
    name: str = "line"


@shows("Plain dataclasses as parameters")
def test_dataclasses():
    slope = ad.grad(lambda line, x: (line.slope * x + line.offset) ** 2)(Line(2.0, 1.0), 3.0)
    assert slope == Line(42.0, 14.0, "line")


@shows("Select inputs by name")
def test_names():
    f = lambda rate, model: rate * model["w"] ** 2 + model["b"]
    assert ad.grad(f, "model.w")(2.0, {"w": 3.0, "b": 1.0}) == 12.0
    assert ad.grad(f, "rate")(2.0, {"w": 3.0, "b": 1.0}) == 9.0


@shows("Auxiliary outputs (has_aux)")
def test_auxiliary_outputs():
    f = lambda x: (x**2, {"seen": "yes"})
    assert ad.value_and_grad(f, has_aux=True)(3.0) == ((9.0, {"seen": "yes"}), 6.0)
