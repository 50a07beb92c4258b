"""Squares of roots and roots of squares at 0, in every mode: expected values are mathematics."""

import functools
import tracemalloc

import numpy as np
import pytest
from scipy.spatial import distance

import simpleautodiff as ad

ZERO2 = np.zeros(2)
ALONG = np.array([1.0, 2.0])
TWICE = 2 * np.eye(2)


def of_size(f):
    """Make a function of np.abs(x) one of x."""
    return lambda x: f(np.abs(x))


def dot_self(product):
    return of_size(lambda r: product(r, r))


def written(a, b):
    """Write two numbers into an array."""
    out = np.zeros_like(np.stack([a, b]))
    out[0] = a
    out[1] = b
    return out


# name: function of two numbers, its Hessian at 0
SQUARES = {
    "norm**2": (lambda x: np.linalg.norm(x) ** 2, TWICE),
    "norm**2.0": (lambda x: np.linalg.norm(x) ** 2.0, TWICE),
    "v * v": (lambda x: (lambda v: v * v)(np.linalg.norm(x)), TWICE),
    "norm * norm": (lambda x: np.linalg.norm(x) * np.linalg.norm(x), TWICE),
    "np.square": (lambda x: np.square(np.linalg.norm(x)), TWICE),
    "norms of rows": (lambda x: np.sum(np.linalg.norm(x[None], axis=1) ** 2), TWICE),
    "vector_norm": (lambda x: np.linalg.vector_norm(x) ** 2, TWICE),
    "frobenius": (lambda x: np.linalg.norm(x[None], "fro") ** 2, TWICE),
    "sum of abs**2": (lambda x: np.sum(np.abs(x) ** 2), TWICE),
    "abs of an element": (lambda x: abs(x[0]) ** 2 + 3 * abs(x[1]) ** 2, np.diag([2.0, 6.0])),
    "abs(a) * abs(a)": (lambda x: abs(x[0]) * abs(x[0]) + x[1] ** 2, TWICE),
    "std**2": (lambda x: np.std(x) ** 2, np.array([[0.5, -0.5], [-0.5, 0.5]])),
    "nanstd**2": (lambda x: np.nanstd(x) ** 2, np.array([[0.5, -0.5], [-0.5, 0.5]])),
    "hypot**2": (lambda x: np.hypot(x[0], 3 * x[1]) ** 2, np.diag([2.0, 18.0])),
    "r @ r": (lambda x: np.abs(x) @ np.abs(x), TWICE),
    "np.dot": (dot_self(np.dot), TWICE),
    "np.inner": (dot_self(np.inner), TWICE),
    "np.vdot": (dot_self(np.vdot), TWICE),
    "np.einsum": (dot_self(lambda a, b: np.einsum("i,i", a, b)), TWICE),
    "np.einsum of rows": (
        lambda x: np.sum(dot_self(lambda a, b: np.einsum("ij,ij->j", a, b))(x[None])),
        TWICE,
    ),
    "|z|²": (lambda x: np.sum(np.abs(x[:1] + 1j * x[1:]) ** 2), TWICE),
    "power of a spectrum": (lambda x: np.sum(np.abs(np.fft.fft(x)) ** 2), 2 * TWICE),
    "sqrt(sum of squares)**2": (lambda x: np.sqrt(np.sum(x**2)) ** 2, TWICE),
    "(sum of squares)**0.5**2": (lambda x: ((x @ x) ** 0.5) ** 2, TWICE),
    "a bell": (lambda x: np.exp(-(np.linalg.norm(x) ** 2)), -TWICE),
    "norm of sizes": (lambda x: np.linalg.norm(np.abs(x)) ** 2, TWICE),
    "fourth power": (lambda x: np.linalg.norm(x) ** 4 + np.linalg.norm(x) ** 2, TWICE),
    "(2 norm)**2": (lambda x: (2 * np.linalg.norm(x)) ** 2, 4 * TWICE),
    "(norm / 2)**2": (lambda x: (np.linalg.norm(x) / 2) ** 2, TWICE / 4),
    "(-norm)**2": (lambda x: (-np.linalg.norm(x)) ** 2, TWICE),
    "norm**2 / 4": (lambda x: np.linalg.norm(x) ** 2 / 4, TWICE / 4),
    "norm**4": (lambda x: np.linalg.norm(x) ** 4, 0 * TWICE),
    "3 norm norm": (lambda x: 3 * np.linalg.norm(x) * np.linalg.norm(x), 3 * TWICE),
    "norm (norm / -2)": (lambda x: np.linalg.norm(x) * (np.linalg.norm(x) / -2), -TWICE / 2),
    "four norms": (lambda x: (lambda v: v * v * v * v - 2 * v * v)(np.linalg.norm(x)), -2 * TWICE),
    "np.square(3 abs)": (lambda x: np.sum(np.square(3 * abs(x))), 9 * TWICE),
    "(norm (1 + x))**2": (lambda x: (np.linalg.norm(x) * (1 + x[0])) ** 2, TWICE),
    "2 r @ 3 r": (lambda x: (2 * np.abs(x)) @ (3 * np.abs(x)), 6 * TWICE),
    "elements of sizes": (lambda x: abs(x)[0] ** 2 + (3 * abs(x)[1]) ** 2, np.diag([2.0, 18.0])),
    "columns": (lambda x: np.sum((2 * abs(x).reshape(2, 1).T) ** 2), 4 * TWICE),
    "spread": (lambda x: np.sum((np.linalg.norm(x) * np.array([1.0, -2.0])) ** 2), 5 * TWICE),
    "joined": (lambda x: np.sum(np.concatenate([abs(x), -3 * abs(x), x]) ** 2), 11 * TWICE),
    "written": (lambda x: np.sum(written(abs(x[0]), 2 * abs(x[1])) ** 2), np.diag([2.0, 8.0])),
    "(3 sqrt)**2": (lambda x: (3 * np.sqrt(x @ x)) ** 2, 9 * TWICE),
    "a wide bell": (lambda x: np.exp(-((np.linalg.norm(x) / 2) ** 2)), -TWICE / 4),
    "distances": (lambda x: np.sum(distance.pdist(np.stack([x, np.zeros(2)])) ** 2), TWICE),
    "abs(norm)**2": (lambda x: abs(-2 * np.linalg.norm(x)) ** 2, 4 * TWICE),
    "hypot of sizes": (lambda x: np.hypot(abs(x[0]), 3 * abs(x[1])) ** 2, np.diag([2.0, 18.0])),
    "cosh(norm)": (lambda x: np.cosh(np.linalg.norm(x)), TWICE / 2),
    "cos(2 norm)": (lambda x: np.cos(2 * np.linalg.norm(x)), -2 * TWICE),
    "1 - cos(sqrt(x @ x))": (lambda x: 1 - np.cos(np.sqrt(x @ x)), TWICE / 2),
    "sinc(std)": (lambda x: np.sinc(np.std(x)), -(np.pi**2 / 12) * np.array([[1, -1], [-1, 1]])),
    "log(cosh(abs))": (lambda x: np.sum(np.log(np.cosh(np.abs(x)))), TWICE / 2),
    "norm sin(norm)": (lambda x: np.linalg.norm(x) * np.sin(np.linalg.norm(x)), TWICE),
    "tanh(3 norm)**2": (lambda x: np.tanh(3 * np.linalg.norm(x)) ** 2, 9 * TWICE),
    "r @ arctan(r)": (lambda x: np.abs(x) @ np.arctan(2 * np.abs(x)), 2 * TWICE),
    "many factors": (lambda x: (functools.reduce(lambda v, _: 2 * v / 2, range(40), abs(x[0])))**2
                     + x[1] ** 2, TWICE),
}  # fmt: skip


def second_along(f, x):
    """Return the second derivative along a line, forward over forward."""
    once = lambda x: ad.jvp(f, (x,), (ALONG,))[1]
    return ad.jvp(once, (x,), (ALONG,))[1]


WAYS = {
    "hessian": ad.hessian,
    "reverse over reverse": lambda f: ad.jacrev(ad.grad(f)),
    "forward over reverse": lambda f: ad.jacfwd(ad.grad(f)),
    "reverse over forward": lambda f: ad.jacrev(ad.jacfwd(f)),
    "forward over forward": lambda f: ad.jacfwd(ad.jacfwd(f)),
    "compiled": lambda f: ad.jit(ad.hessian(f)),
    "in a batch": lambda f: lambda x: ad.vmap(ad.hessian(f))(np.stack([x + 1, x]))[1],
    "of a batch": lambda f: ad.hessian(lambda x: np.sum(ad.vmap(f)(x[None]))),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", SQUARES)
def test_squares_of_roots_have_their_second_derivatives_at_0(name, way):
    f, expected = SQUARES[name]
    np.testing.assert_allclose(WAYS[way](f)(ZERO2), expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("name", SQUARES)
def test_squares_of_roots_along_a_line(name):
    f, expected = SQUARES[name]
    wanted = ALONG @ expected @ ALONG
    np.testing.assert_allclose(second_along(f, ZERO2), wanted, rtol=1e-14)
    np.testing.assert_allclose(ad.derivative(lambda t: f(t * ALONG), 2)(0.0), wanted, rtol=1e-14)


@pytest.mark.parametrize("name", SQUARES)
def test_squares_of_roots_keep_their_value_and_have_no_kink(name):
    f, _ = SQUARES[name]
    for x in (ZERO2, np.array([0.1, 0.7]), np.array([0.0, 0.3])):
        assert ad.value_and_grad(f)(x)[0] == f(x)
    assert ad.find_kinks(f)(ZERO2) == []
    ad.grad(ad.grad(lambda t: f(t * ALONG)), kinks="raise")(0.0)


@pytest.mark.filterwarnings("ignore::simpleautodiff.DomainWarning")  # of sqrt at 0, by jets
def test_even_powers_of_a_single_number_to_every_order():
    for f in (lambda t: abs(t) ** 4, lambda t: ad.sqrt(t * t) ** 4, lambda t: (abs(t) ** 2) ** 2):
        g = f
        for expected in (0.0, 0.0, 0.0, 24.0):
            g = ad.grad(g)
            assert g(0.0) == expected
        assert ad.derivative(f, 4)(0.0) == 24.0
    assert ad.grad(lambda x: ad.sqrt(x) ** 2)(0.0) == 1.0
    assert ad.jvp(lambda x: ad.sqrt(x) ** 2, (0.0,), (3.0,))[1] == 3.0
    assert ad.derivative(lambda x: ad.sqrt(x) ** 4, 2)(0.0) == 2.0


EVEN = {  # function: its derivatives at 0, of order 2, 4, 6
    "cosh": (np.cosh, [1, 1, 1]),
    "cos": (np.cos, [-1, 1, -1]),
    "cos(-2 v)": (lambda v: np.cos(-2 * v), [-4, 16, -64]),
    "sinc": (np.sinc, [-(np.pi**2) / 3, np.pi**4 / 5, -(np.pi**6) / 7]),
    "v sin v": (lambda v: v * np.sin(v), [2, -4, 6]),
    "v sinh v": (lambda v: v * np.sinh(v), [2, 4, 6]),
    "v tan v": (lambda v: v * np.tan(v), [2, 8, 96]),
    "v tanh v": (lambda v: v * np.tanh(v), [2, -8, 96]),
    "v arctan v": (lambda v: np.arctan(v) * v, [2, -8, 144]),
    "v arcsin v": (lambda v: v * np.arcsin(v), [2, 4, 54]),
    "v arcsinh v": (lambda v: v * np.arcsinh(v), [2, -4, 54]),
    "v arctanh v": (lambda v: v * np.arctanh(v), [2, 8, 144]),
    "sin(v)²": (lambda v: np.sin(v) ** 2, [2, -8, 32]),
    "sin(v) sinh(v)": (lambda v: np.sin(v) * np.sinh(v), [2, 0, -8]),
    "erf(v)²": (lambda v: ad.erf(v) ** 2, np.array([8, -64, 896]) / np.pi),
}


@pytest.mark.parametrize("name", EVEN)
def test_even_functions_of_a_size_are_smooth(name):
    f, expected = EVEN[name]
    g = lambda t: f(np.abs(t))
    wanted = np.array([0, expected[0], 0, expected[1], 0, expected[2]], float)
    np.testing.assert_allclose(ad.taylor(g, 0.0, 6)[1:], wanted / np.cumprod(range(1, 7)), 1e-13)
    second = ad.grad(ad.grad(g))
    for found in (second, ad.jit(second), lambda t: ad.vmap(second)(np.array([t, t + 0.5]))[0]):
        np.testing.assert_allclose(found(0.0), wanted[1], rtol=1e-14)
    np.testing.assert_allclose(ad.grad(ad.grad(second))(0.0), wanted[3], rtol=1e-14)
    t = np.array([0.5, 0.0, -0.3])
    beside = ad.grad(ad.grad(f))
    many = ad.jvp(ad.grad(lambda t: np.sum(g(t))), (t,), (np.ones(3),))[1]
    np.testing.assert_allclose(many, [beside(0.5), wanted[1], beside(0.3)], rtol=1e-13)


def test_what_is_smooth_by_cancelling_is_told():
    """(1 + v) exp(-v) = 1 - v²/2 + ...: each factor has a kink, which the sum has not."""
    f = lambda x: (1 + np.linalg.norm(x)) * np.exp(-np.linalg.norm(x))
    with pytest.raises(ad.KinkError):
        ad.grad(f, kinks="raise")(ZERO2)


def test_a_root_is_found_however_far_it_is():
    def f(x):
        y = abs(x)
        for _ in range(3000):
            y = -y
        return y * y

    assert ad.grad(ad.grad(f))(0.0) == 2.0
    chain = lambda x: functools.reduce(lambda s, _: np.sin(s) + x, range(60), 0 * x)
    squared = lambda x: np.abs(chain(x)) * np.abs(chain(x))
    np.testing.assert_allclose(
        ad.grad(ad.grad(squared))(0.0), ad.grad(ad.grad(lambda x: chain(x) ** 2))(0.0), rtol=1e-14
    )


def test_a_factor_of_a_root_has_its_derivatives():
    """Of (a |x|)² = a² x² at x = 0: ∂²/∂x² = 2 a², all others are 0; at a = 0, too."""
    for a, expected in ((3.0, 18.0), (0.0, 0.0), (1e200, np.inf)):
        f = lambda a, x: (a * abs(x)) ** 2
        with np.errstate(over="ignore"):
            second = ad.grad(ad.grad(f, 1), (0, 1))(a, 0.0)
        assert second == (0.0, expected)
    assert ad.grad(lambda x: (1e200 * abs(x)) ** 2)(1e-200) == pytest.approx(2e200, rel=1e-15)
    assert ad.jit(ad.grad(lambda x: (1e200 * abs(x)) ** 2))(1e-200) == pytest.approx(2e200)


@pytest.mark.usefixtures("quiet")
def test_forward_mode_forgets_the_factors_of_a_root():
    def f(x):
        y = abs(x)
        for _ in range(2000):
            y = y * 0.5
        return y

    tracemalloc.start()
    assert ad.jvp(f, (0.0,), (1.0,))[1] == 0
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200_000


ANYWHERE = np.array([-1.0, 0.0, -0.0, 2.0, np.inf, -np.inf, np.nan])
OUTSIDE = [np.nan, 1.0, 1.0, 1.0, np.nan, np.nan, np.nan]  # of x, where √x is a finite number


@pytest.mark.filterwarnings("ignore::simpleautodiff.DomainWarning")
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of NumPy's own
@pytest.mark.parametrize("factor", [1.0, 3.0])
@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sqrt(x) * np.sqrt(x),
        lambda x: np.sqrt(x) ** 2,
        lambda x: np.square(np.sqrt(x)),
        lambda x: (x**0.5) ** 2,
    ],
)
def test_the_square_of_a_square_root_is_the_same_in_every_mode(f, factor):
    h = lambda x: factor * f(x)
    alone = ad.grad(h)
    compiled = ad.jit(alone)
    ways = {
        "alone": [alone(float(x)) for x in ANYWHERE],
        "array": ad.grad(lambda x: np.sum(h(x)))(ANYWHERE),
        "array without 0": np.insert(
            ad.grad(lambda x: np.sum(h(x)))(ANYWHERE[[0, 3, 4, 5, 6]]), [1, 1], factor
        ),
        "batch": ad.vmap(alone)(ANYWHERE),
        "compiled": [compiled(float(x)) for x in ANYWHERE],
        "forward": [ad.jvp(h, (float(x),), (1.0,))[1] for x in ANYWHERE],
        "batch, forward": ad.vmap(lambda x: ad.jvp(h, (x,), (1.0,))[1])(ANYWHERE),
    }
    for way, found in ways.items():
        wanted = factor * np.array(OUTSIDE)
        np.testing.assert_allclose(found, wanted, rtol=4e-16, err_msg=way)


def test_graphs_typed_by_hand_have_smooth_squares():
    x = ad.Node(0.0)
    v = ad.absolute(x)
    y = ad.mul(v, v)
    assert y.value == 0.0
    assert ad.reverse(y)[x] == 0.0
    assert ad.grad(ad.grad(lambda t: ad.mul(ad.absolute(t), ad.absolute(t))))(0.0) == 2.0


def test_large_arrays_with_some_zeros():
    x = np.linspace(-1, 1, 20001)
    x[::7] = 0.0
    for f in (lambda x: np.sum(np.abs(x) ** 2), lambda x: np.sum(np.abs(x) ** 4)):
        n = 2 if f(np.array([2.0])) == 4 else 4
        np.testing.assert_allclose(ad.grad(f)(x), n * x ** (n - 1), rtol=1e-15)
        hvp = ad.jvp(ad.grad(f), (x,), (np.ones_like(x),))[1]
        np.testing.assert_allclose(hvp, n * (n - 1) * x ** (n - 2), rtol=1e-14)
    fourth = ad.grad(lambda x: np.sum(np.sqrt(x) ** 4))(np.abs(x))
    np.testing.assert_allclose(fourth, 2 * np.abs(x), rtol=1e-15)


# Roots of sums of squares. ------------------------------------------------------------------------

POINTS = np.array([[0.0, 1.0], [0.0, 1.0], [3.0, 5.0]])
AWAY = np.array([0.6, 0.8])  # from the first two points to the third
PULLED = np.array([-AWAY, -AWAY, 2 * AWAY])  # the derivative of the sum of all distances


def pairwise(x):
    return np.sqrt(((x[:, None] - x[None]) ** 2).sum(-1))


ROWS, PLACES = np.array([0, 0, 0]), np.array([0, 1, 1])
ROOTS = {
    "np.sum(x**2)": lambda x: np.sqrt(np.sum(x**2)),
    "np.sum(x**2)**0.5": lambda x: np.sum(x**2) ** 0.5,
    "x @ x": lambda x: np.sqrt(x @ x),
    "x*x + y*y": lambda x: np.sqrt(x[0] * x[0] + x[1] * x[1]),
    "a loop": lambda x: ad.sqrt(sum(x[i] ** 2 for i in range(2))),
    "np.einsum": lambda x: np.sqrt(np.einsum("i,i", x, x)),
    "np.einsum of rows": lambda x: np.sqrt(np.einsum("ij,ij->i", x[None], x[None]))[0],
    "np.vdot": lambda x: np.sqrt(np.vdot(x, x)),
    "np.square": lambda x: np.sqrt(np.square(x).sum()),
    "np.mean": lambda x: np.sqrt(np.mean(x**2)),
    "weights": lambda x: np.sqrt(np.average(x**2, weights=[1.0, 3.0])),
    "weights of einsum": lambda x: np.sqrt(np.array([1.0, 3.0]) @ x**2),
    "np.var": lambda x: np.sqrt(np.var(x)),
    "np.std": np.std,
    "real and imaginary parts": lambda x: np.sqrt(np.sum(((1 + 2j) * x).real ** 2)),
    "z conj(z)": lambda x: np.sqrt(np.sum(((1 + 2j) * x * np.conj((1 + 2j) * x)).real)),
    "|x|**1.5": lambda x: np.sum((x**2) ** 0.75),
    "x**4": lambda x: np.sqrt(np.sum(x**4)),
    "a product": lambda x: np.sqrt(np.sum(x**2) * (1 + x[1] ** 2)),
    "a quotient": lambda x: np.sqrt(np.sum(x**2) / (1 + x[0] ** 2)),
    "a matrix product": lambda x: np.sqrt(x**2 @ (1 + x**2)),
    "elements by arrays": lambda x: np.sqrt(np.sum(x[None][ROWS, PLACES] * x[None][ROWS, PLACES])),
    "norms": lambda x: np.linalg.norm(x) + np.linalg.norm(x, 3) + np.linalg.norm(x, np.inf),
}


@pytest.mark.parametrize("name", ROOTS)
def test_roots_of_squares_are_flat_at_0(name):
    f = ROOTS[name]
    with np.errstate(all="raise"):
        for g in (ad.grad(f), ad.jit(ad.grad(f)), ad.jacfwd(f), ad.jit(ad.jacfwd(f))):
            np.testing.assert_array_equal(g(ZERO2), ZERO2)
        np.testing.assert_array_equal(ad.vmap(ad.grad(f))(np.stack([ZERO2, ALONG]))[0], ZERO2)
    assert ad.value_and_grad(f)(ALONG)[0] == f(ALONG)
    if name != "|x|**1.5":
        assert any(kink.choice.startswith("0") for kink in ad.find_kinks(f)(ZERO2))


@pytest.mark.parametrize("metric", ["euclidean", "minkowski", "mahalanobis", "written out"])
def test_distances_of_equal_points(metric):
    given = {"VI": np.eye(2)} if metric == "mahalanobis" else {}
    both = pairwise if metric == "written out" else lambda x: distance.cdist(x, x, metric, **given)
    f = lambda x: np.sum(both(x)) / 2
    for g in (ad.grad(f), ad.jacfwd(f), ad.jit(ad.grad(f))):
        np.testing.assert_allclose(g(POINTS), PULLED, rtol=1e-15)


def test_infinite_slopes_are_not_hidden():
    """None of these has a finite derivative at 0 that a root of squares could be taken for."""
    infinite = [
        lambda x: np.sum(np.sqrt(x)),
        lambda x: np.sum(x**0.5),
        lambda x: np.sum(np.cbrt(x)),
    ]
    with np.errstate(all="ignore"):
        for f in infinite:
            np.testing.assert_array_equal(ad.grad(f)(ZERO2), [np.inf, np.inf])
            along = ad.jvp(f, (ZERO2,), (ALONG,))[1]
            assert along == np.inf
    unknown = [
        lambda x: np.sum(np.log(x**2)),
        lambda x: np.sum(np.log(np.abs(x) ** 2)),
        lambda x: np.sum(np.cbrt(x**2)),
        lambda x: np.sum((x**2) ** 0.25),
        lambda x: np.sum(x**2 * (1 / x)),
        lambda x: np.sum(np.log(x @ x)),
        lambda x: 1 / np.sqrt(np.sum(x**2)),
        lambda x: 1 / np.linalg.norm(x),
        lambda x: 1 / np.hypot(x[0], x[1]),
        lambda x: np.sum(1 / np.abs(x)),
    ]
    with np.errstate(all="ignore"):
        for f in unknown:
            for g in (ad.grad(f), ad.jacfwd(f), ad.jit(ad.grad(f))):
                assert not np.any(np.isfinite(g(ZERO2)))
        for f in (
            lambda x: np.sqrt(x[0] * x[1]),
            lambda x: np.sqrt(x[0] ** 2 - x[1] ** 2),
            lambda x: np.sqrt(-1.0 * np.sum(x**2)),
            lambda x: np.sqrt(np.sum(x**3)),
            lambda x: np.sqrt(np.sum((x * 1j) ** 2).real),
        ):
            assert np.all(np.isnan(ad.grad(f)(ZERO2)))
        assert ad.grad(lambda x: np.sqrt(x[0] - x[1]))(ZERO2).tolist() == [np.inf, -np.inf]


def test_an_inner_gradient_goes_by_choices_that_are_told():
    for f in (lambda x: ad.relu(x) ** 2, lambda x: abs(x) ** 3, lambda x: np.maximum(x, 0.0) ** 2):
        with pytest.raises(ad.KinkError):
            ad.grad(ad.grad(f), kinks="raise")(0.0)
        with pytest.warns(ad.KinkWarning):
            ad.grad(ad.grad(f), kinks="report")(0.0)
        ad.grad(ad.grad(f), kinks="raise")(0.5)


def test_a_jet_remembers_no_more_than_one_step():
    """A loop of roots needs constant memory in forward mode."""

    def f(x):
        for _ in range(1000):
            x = abs(x)
        return x

    kept = []
    ad.jvp(lambda x: kept.append(f(x)) or kept[0], (0.0,), (1.0,))
    _, (before, *_) = kept[0].rule
    assert before.rule is None


def test_source_code_of_what_holds_at_0_alone_refuses_other_numbers():
    """What was written where a root is 0 has the slopes there; squares are right everywhere."""
    kinds = [lambda x: ad.cosh(abs(x)), lambda x: abs(x) * ad.sin(abs(x)), lambda x: ad.sqrt(x * x)]
    for f in kinds:
        for g in (ad.grad(f), ad.grad(ad.grad(f))):
            with np.errstate(all="ignore"):
                written = ad.source(g, 0.0).function()
            assert written(0.0) == g(0.0)
            with pytest.raises(ValueError, match="another branch"):
                written(0.5)
    assert ad.source(ad.grad(lambda x: (3 * abs(x)) ** 2), 0.0).function()(0.5) == 9.0


def test_a_root_that_divides_is_no_factor():
    """Of (s / |y|) |y| = s at s = 0, the derivative in s is 1."""
    f = lambda s, y: (s / abs(y)) * abs(y)
    assert ad.grad(f, (0, 1))(0.0, 2.0) == (1.0, 0.0)
    assert ad.jit(ad.grad(f, (0, 1)))(0.0, 2.0) == (1.0, 0.0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_root_of_a_choice_is_flat_in_forward_mode_in_arrays_and_batches_too(dtype):
    """Of sqrt(where(x > 0, x, 0 x)) at negative numbers, and sqrt(x) at positive ones."""
    f = lambda x: np.sqrt(np.where(x > 0, x, 0.0 * x))
    x = np.array([-2.0, 3.0], dtype)
    expected = np.array([0.0, 0.5 / np.sqrt(3.0)], dtype)
    single = [ad.jvp(f, (number,), (dtype(1),))[1] for number in x]
    np.testing.assert_allclose(single, expected, rtol=1e-6)
    np.testing.assert_allclose(ad.jvp(f, (x,), (np.ones_like(x),))[1], expected, rtol=1e-6)
    batched = ad.vmap(lambda x: ad.jvp(f, (x,), (np.ones_like(x),))[1])
    np.testing.assert_allclose(batched(x), expected, rtol=1e-6)


@pytest.mark.parametrize("way", ["eager", "vmap", "jit"])
def test_the_square_of_a_multiple_beside_0_needs_no_square_of_the_root(way):
    """With v = |x| and c = 1e-170, (c v)² and its derivatives are finite where v² is not."""
    f = lambda x: (1e-170 * np.abs(x)) ** 2
    second = ad.vmap(ad.grad(ad.grad(lambda x: f(x) * x)))  # 6 c² x
    if way == "eager":
        second = lambda x: ad.hvp(lambda x: np.sum(f(x) * x), (x,), (np.ones(2),))
    elif way == "jit":
        second = ad.jit(second)
        second(np.array([1.0, 2.0]))
    np.testing.assert_allclose(second(np.array([0.0, 1e160])), [0, 6e-180], rtol=1e-14)


def test_a_root_that_a_batched_loop_returns_has_its_slope():
    """Which elements are 0 differs between directions, the root between examples alone."""
    xs = np.array([[1.3, 0.7, -0.4], [-0.6, 0.2, 1.1]])

    def last(x):
        return ad.scan(lambda c, _: (c, np.sqrt(np.sum(c**2))), x, None, 3, checkpoint=1)[1][2]

    slopes = ad.vmap(ad.jacfwd(last))(xs)
    np.testing.assert_allclose(slopes, xs / np.linalg.norm(xs, axis=1, keepdims=True), rtol=1e-14)


@pytest.mark.filterwarnings("ignore::simpleautodiff.DomainWarning")  # of the root, by jets
@pytest.mark.parametrize("x", [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
def test_directions_in_a_batch_through_an_even_function(x):
    """The value at 0 is a constant, and only its derivative differs from direction to direction.

    There are as many directions as elements, so that one could be taken for the other.
    """
    x, weights = np.array(x), np.array([1.0, 2.0, 3.0])
    root = lambda x: np.linalg.norm(np.stack([x, x]), axis=0)  # sqrt(2) |x|
    f = lambda x: np.sum(weights * np.cosh(root(x)))
    expected = np.diag(2 * weights * np.cosh(np.sqrt(2) * x))
    for g in (f, ad.checkpoint(f)):
        np.testing.assert_allclose(ad.jacfwd(ad.jacfwd(g))(x), expected, rtol=1e-14)
        np.testing.assert_allclose(ad.jacrev(ad.jacfwd(g))(x), expected, rtol=1e-14)
    along = lambda x, dx: ad.jvp(lambda x: ad.jvp(f, (x,), (np.ones(3),))[1], (x,), (dx,))[1]
    np.testing.assert_allclose(
        ad.vmap(along, in_axes=(None, 0))(x, np.eye(3)), expected.sum(axis=0), rtol=1e-14
    )


@pytest.mark.filterwarnings("ignore::simpleautodiff.DomainWarning")
def test_directions_in_a_batch_through_an_even_function_of_one_number():
    f = lambda x: np.cos(np.linalg.norm(x))
    hessian = ad.jacfwd(ad.grad(ad.checkpoint(f)))(np.zeros(3))
    np.testing.assert_allclose(hessian, -np.eye(3), atol=1e-15)


@pytest.mark.filterwarnings("ignore")  # of the infinite slopes
@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sqrt(np.abs(x)),
        lambda x: np.abs(x) ** 0.5,
        lambda x: np.sqrt(2 * np.abs(x)),
        lambda x: np.sqrt(np.hypot(x, x)),
        lambda x: np.sqrt(np.sqrt(x * x)),
    ],
)
def test_the_root_of_a_root_is_steep_along_a_line_too(f):
    """The derivative 0 of abs at 0 is a choice, and √|t| has none."""
    for x, dx in ((0.0, 1.0), (np.zeros(3), np.ones(3))):
        slopes = ad.jvp(f, (x,), (dx,))[1]
        assert not np.any(np.isfinite(slopes))
    assert not np.isfinite(ad.taylor(f, 0.0, 2)[1])
    assert not np.isfinite(ad.grad(f)(0.0))
