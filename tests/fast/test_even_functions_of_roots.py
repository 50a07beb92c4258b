"""An even function of a root is smooth where the root is 0, for numbers and arrays of every size.

For even g, g(|x|) is g(x): so is its second derivative, which the rule of the root does not give.
"""

import numpy as np
import pytest

import simpleautodiff as ad
from simpleautodiff.fast.thresholds import THRESHOLDS

EVEN = {  # and the second derivative
    "square": (np.square, lambda x: 2 + 0 * x),
    "the second power": (lambda r: r**2, lambda x: 2 + 0 * x),
    "the second power, as a float": (lambda r: r**2.0, lambda x: 2 + 0 * x),
    "the second power by np.power": (lambda r: np.power(r, 2), lambda x: 2 + 0 * x),
    "the fourth power": (lambda r: r**4, lambda x: 12 * x**2),
    "a product with itself": (lambda r: r * r, lambda x: 2 + 0 * x),
    "a product of multiples": (lambda r: (3 * r) * (r / 2), lambda x: 3 + 0 * x),
    "cosine": (np.cos, lambda x: -np.cos(x)),
    "hyperbolic cosine": (np.cosh, np.cosh),
    "odd functions": (lambda r: np.sin(r) * np.tanh(r), None),
    "sinc": (np.sinc, None),
}
AT_ZERO = {"odd functions": 2.0, "sinc": -(np.pi**2) / 3}
ROOTS = {
    "abs": np.abs,
    "sqrt": lambda x: np.sqrt(x * x),
    "hypot": lambda x: np.hypot(x, 0.0),
}
POINTS = {
    "a number": 0.0,
    "a NumPy number": np.float64(0),
    "another number": 0.75,
    "no zeros": np.array([0.5, -1.0]),
    "a zero": np.array([0.5, 0.0, -1.0]),
    "many": np.linspace(-1, 1, THRESHOLDS.small + 1),
    "very many": np.linspace(-1, 1, THRESHOLDS.medium + 1),
}


@pytest.mark.parametrize("name", EVEN)
@pytest.mark.parametrize("root", ROOTS)
def test_second_derivatives(root, name):
    (g, second), take_root = EVEN[name], ROOTS[root]
    f = lambda x: np.sum(g(take_root(x)))
    for x in POINTS.values():
        along = ad.hvp(f, (x,), (np.ones_like(x),))
        again = ad.grad(lambda x: np.sum(ad.grad(f)(x)))(x)
        for found in (along, again):
            if second is None:
                np.testing.assert_allclose(np.extract(x == 0, found), AT_ZERO[name], rtol=1e-12)
            else:
                np.testing.assert_allclose(found, second(x), rtol=1e-9, atol=1e-12)
