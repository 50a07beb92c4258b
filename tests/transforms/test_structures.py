"""Structures as arguments: what is no number stays as it is; parts of them, by path."""

import dataclasses
import enum
from typing import Any

import numpy as np
import pytest

import simpleautodiff as ad


class Kind(enum.Enum):
    DENSE = "dense"


@dataclasses.dataclass(frozen=True)
class Layer:
    name: str
    w: Any
    activation: Any = np.tanh
    kind: Kind = Kind.DENSE


def loss(layer, x):
    assert layer.name == "first"
    assert layer.kind is Kind.DENSE
    return np.sum(layer.activation(layer.w * x))


LAYER = Layer("first", np.array([1.0, 2.0]))
X = np.array([0.3, 0.1])
SLOPE = X * (1 - np.tanh(LAYER.w * X) ** 2)


@pytest.mark.parametrize("f", [loss, ad.jit(loss), ad.checkpoint(loss)])
def test_what_is_no_number_stays_as_it_is(f):
    gradient = ad.grad(f)(LAYER, X)
    assert (gradient.name, gradient.activation, gradient.kind) == ("first", np.tanh, Kind.DENSE)
    np.testing.assert_allclose(gradient.w, SLOPE)


def test_in_every_mode():
    direction = dataclasses.replace(LAYER, w=np.array([1.0, -1.0]))
    expected = SLOPE[0] - SLOPE[1]
    f = lambda layer: loss(layer, X)
    assert ad.jvp(f, (LAYER,), (direction,))[1] == pytest.approx(expected)
    assert ad.linearize(f, LAYER)[1](direction) == pytest.approx(expected)
    assert ad.taylor(f, LAYER, 1, direction=direction)[1] == pytest.approx(expected)
    (adjoint,) = ad.vjp(f, LAYER)[1](1.0)
    np.testing.assert_allclose(adjoint.w, SLOPE)
    np.testing.assert_allclose(ad.jacobian(f)(LAYER).w, SLOPE)
    np.testing.assert_allclose(ad.hvp(f, (LAYER,), (direction,)).w.shape, (2,))
    np.testing.assert_allclose(ad.hessian(f)(LAYER).w.w.shape, (2, 2))


def test_a_text_as_an_argument_is_refused():
    with pytest.raises(ad.ValueKindError, match="text"):
        ad.grad(lambda x: 1.0)("text")


def test_classes_made_by_attrs():
    attrs = pytest.importorskip("attrs")

    @attrs.frozen
    class Spring:
        stiffness: float
        name: str = "spring"

    energy = lambda spring, x: spring.stiffness * x**2 / 2
    assert ad.grad(energy)(Spring(3.0), 2.0) == Spring(2.0)


def test_a_class_with_the_fields_that_attrs_writes():
    class Field:
        name = "stiffness"

    class Spring:
        __attrs_attrs__ = (Field,)

        def __init__(self, stiffness):
            self.stiffness = stiffness

    assert ad.grad(lambda s: s.stiffness**2)(Spring(3.0)).stiffness == 6.0


PARAMS = {"layer1": {"w": np.array([1.0, 2.0]), "b": 0.5}, "layers": [LAYER, LAYER]}


def network(params, x, scale=1.0):
    hidden = params["layer1"]["w"] * x + params["layer1"]["b"]
    return scale * np.sum(hidden**2) + np.sum(params["layers"][1].w ** 3)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("params.layer1.w", lambda g: g["layer1"]["w"]),
        ("params['layer1']['b']", lambda g: g["layer1"]["b"]),
        ("params.layers[1].w", lambda g: g["layers"][1].w),
        ("params.layers.1.w", lambda g: g["layers"][1].w),
        ("params.layer1", lambda g: g["layer1"]),
    ],
)
def test_arguments_by_path(path, expected):
    whole = ad.grad(network)(PARAMS, X)
    found = ad.grad(network, path)(PARAMS, X)
    for mine, other in zip(np.atleast_1d(found), np.atleast_1d(expected(whole)), strict=True):
        np.testing.assert_equal(mine, other)
    np.testing.assert_equal(ad.grad(network, path)(params=PARAMS, x=X), found)


def test_several_paths_and_other_transformations():
    w, (b, x) = (
        ad.grad(network, "params.layer1.w")(PARAMS, X),
        ad.grad(network, ("params.layer1.b", "x"))(PARAMS, X),
    )
    both = ad.grad(network, ("params.layer1.w", "params.layer1.b", "x"))(PARAMS, X)
    np.testing.assert_equal(both, (w, b, x))
    matrix = ad.hessian(network, "params.layer1.w")(PARAMS, X)
    np.testing.assert_allclose(matrix, np.diag(2 * X**2))
    assert ad.derivative(network, argnums="params.layer1.b")(PARAMS, X) == pytest.approx(b)


def test_a_path_that_leads_nowhere_is_refused():
    with pytest.raises(ad.ArgumentError, match=r"no 'layer7' of 'layer7.w' in: layer1, layers"):
        ad.grad(network, "params.layer7.w")(PARAMS, X)
    with pytest.raises(ad.ArgumentError, match="no parameter 'parms'; did you mean 'params'"):
        ad.grad(network, "parms.layer1")(PARAMS, X)
