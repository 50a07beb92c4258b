"""Random numbers in functions that are differentiated: what works, and what the errors say."""

# ruff: noqa: NPY002 - NumPy's older functions are asked, too

import math
from types import SimpleNamespace

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


MOVED = {  # a draw with nodes as parameters, and its derivatives in terms of the draw v
    "normal": ((0.3, 2.0), lambda v, m, s: (1.0, (v - m) / s)),
    "uniform": ((0.3, 2.0), lambda v, a, b: ((b - v) / (b - a), (v - a) / (b - a))),
    "exponential": ((0.7,), lambda v, s: (v / s,)),
    "laplace": ((0.3, 2.0), lambda v, m, s: (1.0, (v - m) / s)),
    "logistic": ((0.3, 2.0), lambda v, m, s: (1.0, (v - m) / s)),
    "gumbel": ((0.3, 2.0), lambda v, m, s: (1.0, (v - m) / s)),
    "rayleigh": ((0.7,), lambda v, s: (v / s,)),
    "lognormal": ((0.3, 0.6), lambda v, m, s: (v, v * (math.log(v) - m) / s)),
    "weibull": ((1.7,), lambda v, a: (-v * math.log(v) / a,)),
    "pareto": ((2.5,), lambda v, a: (-(1 + v) * math.log1p(v) / a,)),
}


@pytest.mark.parametrize("name", MOVED)
def test_draws_with_nodes_are_plain_draws_that_are_moved(name):
    parameters, slopes = MOVED[name]

    def draw_new(*p):
        return getattr(default_rng(7), name)(*p)

    def draw_by_module(*p):
        np.random.seed(7)
        return getattr(np.random, name)(*p)

    def draw_by_state(*p):
        return getattr(np.random.RandomState(7), name)(*p)

    for draw in (draw_new, draw_by_module, draw_by_state):
        for _ in range(2):
            value, found = ad.value_and_grad(draw, tuple(range(len(parameters))))(*parameters)
            assert value == pytest.approx(draw(*parameters), rel=1e-14)
            assert found == pytest.approx(slopes(value, *parameters), rel=1e-12)


def test_draws_with_arrays_of_parameters():
    def f(x, size=None):
        return default_rng(3).normal(x, np.array([1.0, 2.0, 3.0]), size=size)

    np.testing.assert_array_equal(ad.jacobian(f)(X), np.eye(3))
    np.testing.assert_array_equal(ad.jvp(lambda x: f(x, (2, 3)), (X,), (X,))[1], [X, X])
    np.testing.assert_array_equal(ad.value_and_grad(lambda x: np.sum(f(x)))(X)[0], np.sum(f(X)))


WRITTEN = {
    "default_rng": lambda: np.random.default_rng(3).normal(size=4),
    "random": lambda: np.random.default_rng(3).random(4),
    "RandomState": lambda: np.random.RandomState(3).randn(4),
    "np.random": lambda: (np.random.seed(3), np.random.rand(4))[1],
    "chosen": lambda: np.random.default_rng(3).choice([0.5, 1.5], 4),
}


@pytest.mark.parametrize("draw", WRITTEN)
def test_draws_can_be_written_to(draw):
    draw = WRITTEN[draw]

    def f(a):
        y = draw()
        y[1] = a**2
        y[2:] *= a
        return np.sum(y**2)

    plain = draw()
    slope = 4 * 1.3**3 + 2 * 1.3 * np.sum(plain[2:] ** 2)
    np.testing.assert_allclose(ad.grad(f)(1.3), slope, rtol=1e-14)
    np.testing.assert_allclose(ad.derivative(f)(1.3), slope, rtol=1e-14)
    np.testing.assert_allclose(ad.vmap(ad.grad(f))(np.array([1.3, 1.3])), slope, rtol=1e-14)


def test_generators_by_any_name():
    for f in (
        lambda x: np.sum(rng.normal(x, 2.0)),
        lambda x: np.sum(normal(x)),
        lambda x: Model().draw(x),
        lambda x: np.sum(default_rng(1).normal(loc=x)),
    ):
        np.testing.assert_array_equal(ad.grad(f)(X), np.ones(3))


HELD = SimpleNamespace(rng=default_rng(0))  # where no stand-in is put
REFUSED = {  # what is called -> what the error names, and the way out
    "held elsewhere": (lambda x: HELD.rng.normal(x[0]), r"normal draws.*loc \+ scale \*"),
    "multivariate_normal": (lambda x: rng.multivariate_normal(x, np.eye(3)), r"cholesky\(cov\) @"),
    "poisson": (lambda x: rng.poisson(x[0]), r"rng\.poisson draws.*node\.value.*density"),
    "gamma": (lambda x: rng.gamma(x[0]), "density"),
    "dirichlet": (lambda x: rng.dirichlet(x), "density"),
    "binomial": (lambda x: rng.binomial(3, x[0]), "density"),
    "permutation": (
        lambda x: HELD.rng.permutation(x), r"x\[HELD\.rng\.permutation\(len\(x\)\)\]"
    ),
    "choice": (lambda x: HELD.rng.choice(x), r"x\[HELD\.rng\.choice\(len\(x\)"),
    "shuffle": (
        lambda x: HELD.rng.shuffle(np.stack([x, x]), axis=1), r"x\[HELD\.rng\.permutation"
    ),
    "probabilities": (lambda x: rng.choice(3, p=x / np.sum(x)), r"p\.value"),
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
def test_shuffling_a_node_moves_its_derivative():
    def f(x):
        rng.shuffle(x)
        return x @ np.array([1.0, 2.0, 3.0])

    assert sorted(ad.grad(f)(X)) == [1.0, 2.0, 3.0]


def shuffle_rows(draw, x, **how):
    y = x * 1.0
    draw.shuffle(y.reshape(4, 2), **how)
    return y


CHOSEN = {
    "permutation": lambda draw, x: draw.permutation(x),
    "permutation of rows": lambda draw, x: draw.permutation(x.reshape(4, 2)),
    "choice": lambda draw, x: draw.choice(x),
    "choice of some": lambda draw, x: draw.choice(x, (2, 2)),
    "choice of each once": lambda draw, x: draw.choice(x, 5, replace=False),
    "choice with weights": lambda draw, x: draw.choice(x, 3, p=np.arange(8) / 28),
    "shuffle": shuffle_rows,
}
CHOSEN_BY_GENERATOR = {  # of np.random.Generator only
    "permuted": lambda draw, x: draw.permuted(x),
    "permuted along an axis": lambda draw, x: draw.permuted(x.reshape(4, 2), axis=0),
    "permutation of columns": lambda draw, x: draw.permutation(x.reshape(2, 4), axis=1),
    "choice of rows": lambda draw, x: draw.choice(x.reshape(4, 2), 3, axis=0),
    "shuffle of columns": lambda draw, x: shuffle_rows(draw, x, axis=1),
}


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("name", [*CHOSEN, *CHOSEN_BY_GENERATOR])
def test_elements_are_chosen_as_from_a_plain_array(name, kind):
    choose = (CHOSEN | CHOSEN_BY_GENERATOR)[name]

    def by_generator(x):
        draw = default_rng(7)
        return choose(draw, x), draw.random()

    def by_state(x):
        draw = np.random.RandomState(7)
        return choose(draw, x), draw.random()

    def by_module(x):
        np.random.seed(7)
        return choose(np.random, x), np.random.random()

    x = np.arange(1, 9).astype(kind) / 7
    for f in (by_generator, by_state, by_module) if name in CHOSEN else (by_generator,):
        expected, following = f(x)
        (found, after), tangent = ad.jvp(f, (x,), (x,))
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(tangent[0], expected)  # its elements are moved, too
        assert after == following


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
