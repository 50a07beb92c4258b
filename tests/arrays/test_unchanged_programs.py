"""Small programs in plain NumPy, of kinds that need more than NumPy's protocols."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.polynomial import Chebyshev, Hermite, Legendre, Polynomial

import simpleautodiff as ad

POINT = np.array([0.9, 0.7, 1.3])


def sum_by_index(x):
    """Go through the elements of a matrix by np.ndenumerate."""
    total = 0.0
    for (i, j), element in np.ndenumerate(np.outer(x, x)):
        total += element * (i + 1) / (j + 2)
    return total


def keep_state(x):
    """Write into an array that an object holds, from a nested function."""
    state = SimpleNamespace(energy=np.zeros(3))

    def add(i, amount):
        state.energy[i] += amount

    for i in range(3):
        add(i, x[i])
        add((i + 1) % 3, x[i] ** 2)
    return np.sum(state.energy**2)


def weigh_by_place(x):
    """Go through the elements of a matrix by np.nditer, with their indices."""
    table = np.outer(x, x)
    total = sum(element * element for element in np.nditer(table))
    it = np.nditer(table, flags=["multi_index"])
    while not it.finished:
        total += it[0] * it.multi_index[0] - it.iterindex * it.value
        it.iternext()
    return total


made = np.frompyfunc(lambda a, b: a * b + 1, 2, 1)
both = np.frompyfunc(lambda a: (a * a, np.sin(a)), 1, 2)
PROGRAMS = {
    "ndenumerate": sum_by_index,
    "nditer": weigh_by_place,
    "state": keep_state,
    "arange": lambda x: np.sum(np.arange(x[0], 3.1, x[1]) ** 2) + np.arange(x[2]) @ x[:2],
    "poly1d": lambda x: np.poly1d(x)(0.5) * np.poly1d([x[0], 1.0])(x[2]),
    "poly1d, arithmetic": lambda x: (
        (np.poly1d([x[0], 1.0, x[1]]) ** 2 - np.poly1d(x).deriv() * 3)(x[2])
        + np.poly1d([1.0, x[0]], r=True).integ()(0.4)
    ),
    "frompyfunc": lambda x: np.sum(np.asarray(made(x, 2.0), dtype=float) * x),
    "frompyfunc broadcast": lambda x: made(x[:, None], x)[2].sum() + made(x[0], x[1]),
    "frompyfunc of two results": lambda x: both(x)[0] @ both(x)[1],
    "unique": lambda x: np.unique(np.concatenate([x, 2 * x, [1.0]])) @ np.arange(1.0, 8.0),
    "unique of equals": lambda x: np.unique(np.array([x[0], x[1], x[0], 5.0])) @ np.arange(3.0),
    "unique, indices": lambda x: (x[::-1][np.unique(x[::-1], return_index=True)[1]] ** [1, 2, 3])[
        2
    ],
    "unique, counts": lambda x: np.prod(np.multiply(*np.unique(np.r_[x, x], return_counts=True))),
    "unique, back": lambda x: np.unique(x)[np.unique(x, return_inverse=True)[1]] @ np.arange(3.0),
    "union1d": lambda x: np.union1d(x[:2], [0.8, 3.0]) @ np.arange(4.0),
    "Polynomial": lambda x: Polynomial(x)(0.5) * Polynomial(x)(x[0]),
    "Polynomial of a list": lambda x: Polynomial([x[0], 1.0, x[1]])(x[2]),
    "its derivative": lambda x: Polynomial(x).deriv()(0.2) + Polynomial(x).integ()(1.5),
    "its arithmetic": lambda x: (Polynomial([1.0, 2.0]) - 2 * Polynomial(x) * Polynomial(x))(0.4),
    "its powers": lambda x: (Polynomial(x) ** 2)(0.4),
    "from roots": lambda x: Polynomial.fromroots(x)(0.2),
    "Chebyshev": lambda x: Chebyshev(x)(0.3) + Chebyshev(x).deriv(2)(0.1),
    "Legendre in a domain": lambda x: Legendre(x, domain=[0, 2])(0.7),
    "Hermite": lambda x: Hermite(x).coef[1] ** 2 + (Hermite(x) + Hermite([1.0]))(0.2),
}


def difference(f, x, step=1e-4):
    """Return the derivatives of f by central differences of two steps."""

    def central(step):
        return np.array([(f(x + e) - f(x - e)) / (2 * step) for e in step * np.eye(len(x))])

    return (4 * central(step / 2) - central(step)) / 3


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_have_derivatives_in_every_mode(name):
    f = PROGRAMS[name]
    slope = difference(f, POINT)
    near = {"rtol": 1e-7, "atol": 1e-8}
    value, gradient = ad.value_and_grad(f)(POINT)
    np.testing.assert_allclose(value, f(POINT), rtol=1e-14)
    np.testing.assert_allclose(gradient, slope, **near)
    np.testing.assert_allclose(ad.jacobian(f, mode="forward")(POINT), slope, **near)
    np.testing.assert_allclose(
        ad.hessian(f)(POINT), difference(ad.grad(f), POINT), rtol=1e-6, atol=1e-7
    )
    compiled = ad.jit(ad.grad(f))
    compiled(1.1 * POINT)
    np.testing.assert_allclose(compiled(POINT), slope, **near)


@pytest.mark.parametrize("name", ["ndenumerate", "state", "frompyfunc", "unique", "Polynomial"])
def test_programs_run_for_many_examples(name):
    f = PROGRAMS[name]
    points = np.stack([POINT, 1.01 * POINT])
    np.testing.assert_allclose(
        ad.vmap(ad.grad(f))(points), [difference(f, x) for x in points], rtol=1e-7, atol=1e-8
    )


@pytest.mark.parametrize(
    "name", ["legendre", "chebyt", "chebyu", "hermite", "hermitenorm", "laguerre"]
)
@pytest.mark.parametrize("degree", [0, 1, 2, 5])
def test_orthogonal_polynomials_of_scipy(name, degree):
    special = pytest.importorskip("scipy.special")
    f = lambda x: getattr(special, f"eval_{name}")(degree, x)
    x = np.array([0.3, -0.8, 1.0])
    exact = getattr(special, name)(degree).deriv()(x)
    np.testing.assert_allclose(ad.elementwise_grad(f)(x), exact, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(ad.vmap(ad.grad(f))(x), exact, rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(ad.vjp(f, x)[0], f(x))
    with pytest.raises(ad.RuleError, match="takes one degree"):
        ad.grad(lambda x: getattr(special, f"eval_{name}")([1, 2], x).sum())(0.3)


TIES = np.array([2.0, 1.0, 2.0, np.inf, np.nan, np.inf, np.nan])
SHARES = [  # of the elements of TIES in each of the different numbers
    [0, 1, 0, 0, 0, 0, 0],
    [1 / 2, 0, 1 / 2, 0, 0, 0, 0],
    [0, 0, 0, 1 / 2, 0, 1 / 2, 0],
    [0, 0, 0, 0, 1 / 2, 0, 1 / 2],
]


def test_equal_numbers_share_the_derivative_of_the_one_that_is_left():
    for jacobian in (ad.jacobian, ad.jacfwd):
        np.testing.assert_array_equal(jacobian(np.unique)(TIES), SHARES)
    x = np.array([1.0, 2.0, 1.0])
    back = lambda x: (lambda u, i: np.sum(u[i] ** 2))(*np.unique(x, return_inverse=True))
    counted = lambda x: (lambda u, n: np.sum(n * u**2))(*np.unique(x, return_counts=True))
    for f in (back, counted):  # both are Σ x², where the elements stay equal
        np.testing.assert_array_equal(ad.grad(f)(x), 2 * x)
        np.testing.assert_array_equal(ad.jacfwd(f)(x), 2 * x)
        np.testing.assert_array_equal(ad.vmap(ad.grad(f))(np.stack([x, -x])), [2 * x, -2 * x])
        np.testing.assert_array_equal(ad.jit(ad.grad(f))(x), 2 * x)
    (kink,) = ad.find_kinks(np.unique)(x)
    assert kink.choice == "they share equally"
    assert not ad.find_kinks(np.unique)(x[:2])


@pytest.mark.parametrize("axis", [0, 1])
def test_equal_rows_share_the_derivative(axis):
    rows = np.array([[1.0, 2.0], [0.0, 5.0], [1.0, 2.0], [1.0, 0.0]])
    x = np.moveaxis(rows, 0, axis)

    def back(x):
        u, i = np.unique(x, return_inverse=True, axis=axis)
        return np.sum(np.take(u, i, axis) ** 2)

    np.testing.assert_array_equal(ad.grad(back)(x), 2 * x)
    assert ad.find_kinks(back)(x)
    assert not ad.find_kinks(back)(np.moveaxis(rows[1:], 0, axis))
    with pytest.raises(ad.RuleError, match="batch takes no axis"):
        ad.vmap(back)(np.stack([x, x]))


@pytest.mark.parametrize("equal_nan", [True, False])
@pytest.mark.parametrize("x", [TIES, np.array([-0.0, 0.1, 0.1, 0.1]), np.array([[1.0, 2], [2, 1]])])
def test_what_unique_returns_is_what_numpy_returns(x, equal_nan):
    plain = np.unique(x, True, True, True, equal_nan=equal_nan)
    found = np.unique(ad.Node(x), True, True, True, equal_nan=equal_nan)
    for a, b in zip((found[0].value, *found[1:]), plain, strict=True):
        np.testing.assert_array_equal(a, b)
        assert a.dtype == b.dtype
    np.testing.assert_array_equal(np.signbit(found[0].value), np.signbit(plain[0]))


def test_the_most_frequent_number_is_that_of_its_equals():
    stats = pytest.importorskip("scipy.stats")
    slope = ad.grad(lambda x: stats.mode(x).mode)(np.array([1.0, 2.0, 1.0]))
    np.testing.assert_array_equal(slope, [0.5, 0, 0.5])


@pytest.mark.parametrize("name", ["inverse", "counts", "all"])
def test_the_functions_of_the_array_standard_are_those_of_unique(name):
    x, function = np.array([2.0, 1.0, 2.0]), getattr(np, f"unique_{name}")
    shares = [[0, 1, 0], [0.5, 0, 0.5]]
    np.testing.assert_array_equal(ad.jacobian(np.unique_values)(x), shares)
    np.testing.assert_array_equal(ad.jacobian(lambda x: function(x).values)(x), shares)
    plain, found = function(x), function(ad.Node(x))
    assert found._fields == plain._fields
    for a, b in zip(found[1:], plain[1:], strict=True):
        np.testing.assert_array_equal(a, b)
