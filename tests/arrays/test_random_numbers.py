"""Random numbers in functions that are differentiated: what works, and what the errors say."""

# ruff: noqa: NPY002 - NumPy's older functions are asked, too

import math

import numpy as np
import pytest
from numpy.random import default_rng, normal

import simpleautodiff as ad

rng = default_rng(0)
X = np.array([0.3, 0.4, 0.5])


class Model:
    def __init__(self):
        self.rng = np.random.RandomState(0)

    def draw(self, x):
        return np.sum(self.rng.normal(x))


REFUSED = {  # what is called -> what the error names, and the way out
    "np.random.normal": (lambda x: np.random.normal(x[0]), r"np\.random\.normal draws.*loc \+"),
    "an array": (lambda x: np.sum(rng.normal(x, 2.0)), r"rng\.normal draws.*loc \+ scale \* rng"),
    "a scale": (lambda x: rng.normal(0.0, x[1]), r"scale \* rng\.normal\(size"),
    "imported by name": (lambda x: normal(x[0]), r"^normal draws.*loc \+ scale \* normal"),
    "an attribute": (lambda x: Model().draw(x), r"self\.rng\.normal draws"),
    "made in the call": (lambda x: default_rng(1).normal(x[0]), r"default_rng\(1\)\.normal draws"),
    "uniform": (lambda x: rng.uniform(0.0, x[0]), r"low \+ \(high - low\) \* rng\.uniform"),
    "exponential": (lambda x: rng.exponential(x[0]), r"write scale \* rng\.exponential"),
    "lognormal": (lambda x: rng.lognormal(x[0]), r"np\.exp\(mean \+ sigma \* rng\.normal"),
    "weibull": (lambda x: rng.weibull(x[0]), r"\*\* \(1 / a\)"),
    "pareto": (lambda x: rng.pareto(x[0]), r"/ a\) - 1"),
    "multivariate_normal": (lambda x: rng.multivariate_normal(x, np.eye(3)), r"cholesky\(cov\) @"),
    "poisson": (lambda x: rng.poisson(x[0]), r"rng\.poisson draws.*node\.value.*density"),
    "gamma": (lambda x: rng.gamma(x[0]), "density"),
    "dirichlet": (lambda x: rng.dirichlet(x), "density"),
    "binomial": (lambda x: rng.binomial(3, x[0]), "density"),
    "permutation": (lambda x: rng.permutation(x), r"x\[rng\.permutation\(len\(x\)\)\]"),
    "np.random.permutation": (lambda x: np.random.permutation(x), r"x\[np\.random\.permutation"),
    "choice": (lambda x: rng.choice(x), r"x\[rng\.choice\(len\(x\)"),
    "probabilities": (lambda x: rng.choice(3, p=x / np.sum(x)), r"p\.value"),
    "np.random.choice": (lambda x: np.random.choice(x), r"x\[np\.random\.choice"),
}  # fmt: skip


@pytest.mark.parametrize(("f", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_drawing_with_a_node_is_refused_with_the_way_out(f, message):
    for transformed in (ad.grad(f), lambda x: ad.jvp(f, (x,), (x,)), ad.trace):
        with pytest.raises(ad.LostDerivativeError, match=message) as told:
            transformed(f, X) if transformed is ad.trace else transformed(X)
        assert "test_random_numbers.py" in str(told.value)


def test_a_batch_is_refused_with_the_way_out():
    with pytest.raises(ad.LostDerivativeError, match=r"loc \+ scale \* rng\.normal"):
        ad.vmap(lambda x: rng.normal(x))(X)


@pytest.mark.filterwarnings("ignore:you are shuffling")
def test_shuffling_a_node_is_refused_with_the_way_out():
    with pytest.raises(ad.LostDerivativeError, match=r"x\[rng\.permutation\(len\(x\)\)\]"):
        ad.grad(lambda x: rng.shuffle(x))(X)


def test_other_arrays_are_refused_as_before():
    held = [rng.normal]
    for f in (lambda x: np.frombuffer(x), lambda x: held[0](x)):
        with pytest.raises((ad.LostDerivativeError, TypeError), match=r"Node|bytes-like") as told:
            ad.grad(f)(X)
        assert "draws plain random numbers" not in str(told.value)


WORKS = {
    "size=x.shape": lambda x, draw: np.sum(draw.normal(size=x.shape) * x**2),
    "size=len(x)": lambda x, draw: np.sum(draw.uniform(size=len(x)) * x**2),
    "standard_normal": lambda x, draw: np.sum(draw.standard_normal(np.shape(x)) * x**2),
    "permutation(len(x))": lambda x, draw: np.sum(x[draw.permutation(len(x))] * np.arange(3.0)),
    "choice(n)": lambda x, draw: np.sum(x[draw.choice(len(x), 2)] ** 2),
    "choice with plain p": lambda x, draw: x[draw.choice(3, p=[0.2, 0.3, 0.5])] ** 2,
    "reparameterised": lambda x, draw: np.sum((x + np.exp(x) * draw.normal(size=x.shape)) ** 2),
}


@pytest.mark.parametrize("make", [default_rng, np.random.RandomState])
@pytest.mark.parametrize("f", WORKS.values(), ids=WORKS.keys())
def test_what_does_not_depend_on_the_node_works(f, make):
    h, of = 1e-6, lambda x: f(x, make(5))
    differences = [(of(X + h * e) - of(X - h * e)) / (2 * h) for e in np.eye(3)]
    np.testing.assert_allclose(ad.grad(of)(X), differences, rtol=1e-6, atol=1e-8)


WAYS_OUT = {  # the distribution that NumPy draws, and the same from what the error says
    "uniform": (lambda n: rng.uniform(1.0, 3.0, n), lambda n: 1.0 + 2.0 * rng.uniform(size=n)),
    "lognormal": (lambda n: rng.lognormal(0.2, 1, n), lambda n: np.exp(0.2 + rng.normal(size=n))),
    "weibull": (lambda n: rng.weibull(2.0, n), lambda n: rng.exponential(size=n) ** (1 / 2.0)),
    "pareto": (lambda n: rng.pareto(4.0, n), lambda n: np.exp(rng.exponential(size=n) / 4.0) - 1),
    "rayleigh": (lambda n: rng.rayleigh(1.5, n), lambda n: 1.5 * rng.rayleigh(size=n)),
    "gumbel": (lambda n: rng.gumbel(0.5, 2.0, n), lambda n: 0.5 + 2.0 * rng.gumbel(size=n)),
}  # fmt: skip


@pytest.mark.parametrize(("drawn", "moved"), WAYS_OUT.values(), ids=WAYS_OUT.keys())
def test_the_ways_out_draw_from_the_same_distribution(drawn, moved):
    n = 40_000
    levels = np.linspace(0.05, 0.95, 7)
    one, other = np.quantile(drawn(n), levels), np.quantile(moved(n), levels)
    density = np.gradient(levels, one)
    spread = np.sqrt(2 * levels * (1 - levels) / n) / density
    assert np.all(np.abs(one - other) < 6 * spread + 1e-3)


def test_the_mean_of_a_normal_moves_with_its_parameters():
    draws = default_rng(3).normal(size=100_000)
    slope = ad.grad(lambda p: np.mean((p[0] + p[1] * draws) ** 2))(np.array([0.5, 2.0]))
    np.testing.assert_allclose(slope, [2 * 0.5, 2 * 2.0], atol=10 / math.sqrt(len(draws)) * 4)
