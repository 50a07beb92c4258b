"""Elements that are not taken, or are overwritten, contribute nothing, whatever their slope is."""

import numpy as np
import pytest

import simpleautodiff as ad

X = np.array([0.0, 4.0, -1.0, 1.0])  # √x has the slopes inf, 1/4, nan, 1/2


def overwritten(write):
    """Make a function of x that adds up the roots, after some of them were overwritten."""

    def f(x):
        y = np.sqrt(x)
        write(y, x)
        return np.sum(y)

    return f


def _set(y, x):
    y[x <= 0] = 0


def _set_slices(y, x):
    y[0] = 0
    y[2:3] = x[1]


OVERWRITTEN = {
    "y[mask] = 0": _set,
    "np.putmask": lambda y, x: np.putmask(y, x <= 0, 0.0),
    "np.copyto": lambda y, x: np.copyto(y, 0.0, where=x <= 0),
    "np.place": lambda y, x: np.place(y, x <= 0, [0.0]),
    "np.put": lambda y, x: np.put(y, [0, 2], [0.0, 0.0]),
    "np.put_along_axis": lambda y, x: np.put_along_axis(y, np.array([0, 2]), 0.0, 0),
    "y.flat[...] = 0": lambda y, x: y.flat.__setitem__([0, 2], 0.0),
    "a view": lambda y, x: y[::2].fill(0.0),
    "a view by einsum": lambda y, x: np.einsum("i->i", y)[::2].fill(0.0),
    "a transposed view by einsum": lambda y, x: np.einsum("ij->ji", y.reshape(2, 2))[0].fill(0.0),
    "np.multiply with where": lambda y, x: np.multiply(0.0, 0.0, out=y, where=x <= 0),
}
TAKEN = {
    "a mask": lambda y, x: y[x > 0],
    "slices": lambda y, x: y[1::2],
    "elements": lambda y, x: y[1] + y[3],
    "indices": lambda y, x: y[[1, 3]],
    "np.take": lambda y, x: np.take(y, [1, 3]),
    "np.compress": lambda y, x: np.compress(x > 0, y),
    "np.extract": lambda y, x: np.extract(x > 0, y),
    "np.delete": lambda y, x: np.delete(y, [0, 2]),
    "np.select": lambda y, x: np.select([x > 0], [y], 0.0),
    "np.where": lambda y, x: np.where(x > 0, y, 0.0),
    "np.sum with where": lambda y, x: np.sum(y, where=x > 0),
    "a reshaped column": lambda y, x: y.reshape(2, 2)[:, 1],
    "np.split": lambda y, x: np.split(y, 4)[1] + np.split(y, 4)[3],
    "a diagonal": lambda y, x: np.diagonal(y[[[1, 0], [2, 3]]]),
    "einsum of a diagonal": lambda y, x: np.einsum("ii->i", y[[[1, 0], [2, 3]]]),
    "einsum of a trace": lambda y, x: np.einsum("ii", y[[[1, 0], [2, 3]]]),
    "einsum of a trace with weights": lambda y, x: np.einsum(
        "ii,i->", y[[[1, 0], [2, 3]]], np.ones(2)
    ),
    "a row of a transposition by einsum": lambda y, x: np.einsum("ij->ji", y.reshape(2, 2))[1],
    "a sum of a column by einsum": lambda y, x: np.einsum("ij->j", y.reshape(2, 2))[1],
    "after products": lambda y, x: (y * 3.0 / 3.0)[1::2],
    "after a constant that is nan": lambda y, x: (y * np.array([np.inf, 1, np.nan, 1]))[1::2],
    "after an overflow": lambda y, x: (y * np.exp(np.array([800.0, 0, 0, 0]) * y**0))[1::2],
}
ROOTS_TAKEN = np.array([0.0, 0.25, 0.0, 0.5])
WRITTEN = {name: overwritten(write) for name, write in OVERWRITTEN.items()}
PARTS = {name: lambda x, take=take: np.sum(take(np.sqrt(x), x)) for name, take in TAKEN.items()}
FUNCTIONS = {**WRITTEN, **PARTS}


@pytest.fixture(autouse=True)
def quietly():
    with np.errstate(all="ignore"):
        yield


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.filterwarnings("ignore")
def test_what_does_not_count_has_the_derivative_0(name):
    f = FUNCTIONS[name]
    value, gradient = ad.value_and_grad(f)(X)
    assert value == f(X) == 3.0
    np.testing.assert_array_equal(gradient, ROOTS_TAKEN)
    np.testing.assert_array_equal(ad.jacfwd(f)(X), ROOTS_TAKEN)
    np.testing.assert_array_equal(ad.jit(ad.grad(f))(X), ROOTS_TAKEN)
    np.testing.assert_array_equal(ad.vjp(f, X)[1](1.0)[0], ROOTS_TAKEN)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.filterwarnings("ignore")
def test_what_does_not_count_has_the_second_derivative_0(name):
    second = np.diag([0.0, -1 / 32, 0.0, -1 / 4])  # of √x: -x^(-3/2) / 4
    f = FUNCTIONS[name]
    np.testing.assert_array_equal(ad.hessian(f)(X), second)
    np.testing.assert_array_equal(ad.jacrev(ad.grad(f))(X), second)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name in FUNCTIONS if "mask" not in name])
def test_what_does_not_count_in_a_batch(name):
    if name in ("np.place", "np.compress", "np.extract"):
        pytest.skip("examples of a batch cannot have different sizes")
    batch = np.stack([X, X + 5.0])
    np.testing.assert_array_equal(ad.vmap(ad.grad(FUNCTIONS[name]))(batch)[0], ROOTS_TAKEN)


def test_large_arrays():
    """Above the sizes at which the fast engine adds in place."""
    x = np.linspace(0.0, 1.0, 70001)
    expected = np.where(x > 0, 0.5 / np.sqrt(np.where(x > 0, x, 1.0)), 0.0)
    np.testing.assert_array_equal(ad.grad(lambda x: np.sum(np.sqrt(x)[1:]))(x), expected)
    weighted = lambda x: np.sum(2.0 * (3.0 * np.sqrt(x))[1:])
    np.testing.assert_allclose(ad.grad(weighted)(x), 6 * expected, rtol=1e-15)

    def twice(x):
        y = np.log(x)
        return np.sum(y[1:]) + y[-1]

    slope = np.where(x > 0, 1 / np.where(x > 0, x, 1.0), 0.0)
    slope[-1] *= 2
    np.testing.assert_array_equal(ad.grad(twice)(x), slope)


@pytest.mark.filterwarnings("ignore:.*log")
def test_single_numbers_joined_and_taken():
    f = lambda x: np.stack([np.log(x[0]), x[1] ** 2])[1]
    np.testing.assert_array_equal(ad.grad(f)(np.array([0.0, 3.0])), [0.0, 6.0])
    g = lambda a, b: np.stack([ad.log(a), b])[1]
    assert ad.grad(g, (0, 1))(0.0, 3.0) == (0.0, 1.0)


def test_the_largest_element_alone_counts():
    a = np.array([0.0, 1.0, 0.5])
    for f in (lambda a: np.max(np.log(a)), lambda a: np.sort(np.log(a))[-1]):
        np.testing.assert_array_equal(ad.grad(f)(a), [0.0, 1.0, 0.0])
        np.testing.assert_array_equal(ad.jacfwd(f)(a), [0.0, 1.0, 0.0])


INFINITE = {  # the root of the extreme has the slope inf at 0, and the other elements none
    "max": lambda a: np.sqrt(np.max(-a)),
    "min": lambda a: np.sqrt(np.min(a)),
    "np.maximum.reduce": lambda a: np.sqrt(np.maximum.reduce(-a)),
    "np.nanmin": lambda a: np.sqrt(np.nanmin(a)),
    "min where": lambda a: np.sqrt(np.min(a, where=[True, True, False], initial=9.0)),
    "along an axis": lambda a: np.sum(np.sqrt(np.min(np.stack([a, a + 1.0]), axis=1)) * [1.0, 0]),
    "with the axis": lambda a: np.sqrt(np.min(a[None], axis=1, keepdims=True))[0, 0],
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", INFINITE)
def test_elements_that_are_not_the_extreme_do_not_count(name):
    f, a = INFINITE[name], np.array([0.0, 1.0, 0.5])
    with np.errstate(all="ignore"):
        for jacobian in (ad.grad, ad.jacfwd):
            g = jacobian(f)
            recorded, beside = ad.jit(g), ad.jit(g)
            beside(a + 0.25), beside(a + 0.25)
            rows = ad.vmap(g)(np.stack([a, a + 0.25]))[0]
            for found in (g(a), recorded(a), recorded(a), beside(a), rows):
                assert np.isinf(found[0])
                np.testing.assert_array_equal(found[1:], 0.0)


def test_equal_extremes_share_and_the_others_have_none():
    a = np.array([2.0, 1.0, 2.0])
    f = lambda a: np.cbrt(np.max(a) - 2.0)
    with np.errstate(all="ignore"):
        for jacobian in (ad.grad, ad.jacfwd):
            np.testing.assert_array_equal(jacobian(f)(a), [np.inf, 0.0, np.inf])
    pattern = ad.sparsity(lambda a: np.stack([np.max(a), a[1]]))(a).toarray()
    np.testing.assert_array_equal(pattern, [[1, 0, 1], [0, 1, 0]])


def test_what_counts_is_not_hidden():
    """An element that is taken keeps its infinite slope; so does 0 times what is infinite."""
    assert ad.grad(lambda x: np.sum(np.sqrt(x)[:2]))(X).tolist() == [np.inf, 0.25, 0.0, 0.0]
    assert np.isnan(ad.grad(lambda x: np.sum(np.sqrt(x) * np.array([0.0, 1, 0, 1])))(X)[0])


def test_the_imaginary_part_of_what_was_chosen_has_all_its_derivatives():
    """sin(Im(i u)) is sin(u), of the elements that were taken."""
    taken = np.array([True, False, True, True])
    f = lambda x: np.sum(np.sin(np.imag(1j * np.where(taken, x, 2.0))))
    np.testing.assert_allclose(ad.grad(f)(X), np.where(taken, np.cos(X), 0.0), rtol=1e-15)
    expected = np.where(taken, -np.sin(X), 0.0)
    np.testing.assert_allclose(np.diag(ad.hessian(f)(X)), expected, rtol=1e-15)
    np.testing.assert_allclose(ad.hvp(f, (X,), (np.ones(4),)), expected, rtol=1e-15)
    again = ad.grad(lambda x: np.sum(ad.grad(f)(x)))(X)
    np.testing.assert_allclose(again, expected, rtol=1e-15)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
@pytest.mark.parametrize("jacobian", [ad.jacfwd, ad.jacrev, ad.jacobian])
def test_an_infinite_slope_is_in_its_own_entry_of_a_jacobian(jacobian, dtype):
    """Each element depends on its own argument alone: 1 / (2 sqrt(x)) on the diagonal."""
    x = np.array([4.0, 0.0, 1.0], dtype)
    found = jacobian(np.sqrt)(x)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found[:, [0, 2]], [[0.25, 0], [0, 0], [0, 0.5]])
    assert not found[[0, 2], 1].any()
    assert not np.isfinite(found[1, 1])
    if dtype is not np.complex128:
        total = jacobian(lambda x: np.sum(np.sqrt(x)))(x)
        np.testing.assert_array_equal(total, [0.25, np.inf, 0.5])
        batched = ad.vmap(jacobian(np.sqrt))(np.stack([x, x + 3]))
        np.testing.assert_array_equal(batched[0], found)


@pytest.mark.filterwarnings("ignore")
def test_an_infinite_curvature_is_in_its_own_entry_of_a_hessian():
    found = ad.hessian(lambda x: np.sum(x**1.5) + x[0] * x[1])(np.array([0.0, 4.0]))
    np.testing.assert_array_equal(found, [[np.inf, 1.0], [1.0, 0.375]])


@pytest.mark.filterwarnings("ignore")
def test_what_is_nan_is_nan_in_a_jacobian():
    found = ad.jacrev(lambda x: np.log(x) * np.nan)(np.array([0.0, 4.0]))
    np.testing.assert_array_equal(found, [[np.nan, 0.0], [0.0, np.nan]])


def test_the_sign_of_the_determinant_of_a_singular_matrix():
    singular = np.array([[1.0, 2.0], [2.0, 4.0]])
    for a in (singular, np.stack([singular, np.eye(2)])):
        sign = lambda a: np.linalg.slogdet(a)[0]
        for derivative in (ad.jacfwd(sign)(a), ad.jacrev(sign)(a)):
            np.testing.assert_array_equal(derivative, np.zeros((*a.shape[:-2], *a.shape)))
    both = np.stack([singular, np.diag([2.0, 4.0])])
    _, tangent = ad.jvp(lambda a: np.linalg.slogdet(a)[1], (both,), (np.stack([np.eye(2)] * 2),))
    np.testing.assert_array_equal(tangent, [np.nan, 0.75])


@pytest.mark.parametrize("inner", [ad.jacfwd, ad.jacrev])
@pytest.mark.parametrize("outer", [ad.jacfwd, ad.jacrev])
def test_a_jacobian_of_a_jacobian_has_zeros_beside_infinite_elements(outer, inner):
    """Element i of x**1.5 depends on x[i] alone; its second derivative is 0.75 / sqrt(x[i])."""
    x = np.array([0.0, 4.0])
    expected = np.zeros((2, 2, 2))
    expected[0, 0, 0], expected[1, 1, 1] = np.inf, 0.375
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(outer(inner(lambda x: x**1.5))(x), expected)
        total = outer(inner(lambda x: np.sum(x**1.5)))(x)
        np.testing.assert_array_equal(total, np.diag([np.inf, 0.375]))


def test_a_jacobian_of_a_constant_array_is_zero():
    np.testing.assert_array_equal(ad.jacrev(lambda x: np.arange(2.0))(np.ones(3)), np.zeros((2, 3)))
    nested = ad.jacfwd(ad.jacrev(lambda x: np.arange(2.0)))(np.ones(3))
    np.testing.assert_array_equal(nested, np.zeros((2, 3, 3)))


def _written_beside(x):
    v = np.zeros(3)
    v[-1] = x
    return v


def _written_past(x):
    v = x * np.array([1.0, 0.0, 1.0])
    v[:2] = 0.0
    return v


BESIDE_CONSTANTS = {
    "v[-1] = x": _written_beside,
    "v[:2] = 0": _written_past,
    "np.stack": lambda x: np.stack([0.0, 0.0, x]),
    "np.array": lambda x: np.array([0.0, 0.0, x]),
    "np.concatenate": lambda x: np.concatenate([np.zeros(2), x * np.ones(1)]),
    "np.pad": lambda x: np.pad(x * np.ones(1), (2, 0)),
    "np.diag": lambda x: np.diag(x * np.ones(2))[0, ::-1].repeat([2, 1]),
}
MODES = {
    "jvp": lambda f: lambda x: ad.jvp(f, (x,), (1.0,))[1],
    "jacfwd": ad.jacfwd,
    "jacrev": ad.jacrev,
    "vmap": lambda f: lambda x: ad.vmap(ad.jacfwd(f))(np.stack([x, x]))[1],
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("tier", [None, "numpy", "tape"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", BESIDE_CONSTANTS)
def test_constants_beside_a_number_have_the_derivative_0(name, mode, tier):
    make = BESIDE_CONSTANTS[name]
    for function, slope in ((np.sqrt, 0.25), (np.log, 0.25), (lambda v: 1 / v, -1 / 16)):
        derivative = MODES[mode](lambda x, of=function: of(make(x)))
        derivative = ad.jit(derivative, tier=tier) if tier else derivative
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(derivative(4.0), [0.0, 0.0, slope])
            np.testing.assert_array_equal(derivative(4.0), [0.0, 0.0, slope])


def _written_by_a_mask(x):
    v = x.copy()
    v[v > 0.5] = x[1]
    return v


CHOICES = {
    "np.maximum": lambda x: np.maximum(x[0], x[1]),
    "np.maximum of arrays": lambda x: np.maximum(x, x[::-1]),
    "np.where": lambda x: np.where(x[0] > x[1], x[0], x[1]),
    "np.where beside a number": lambda x: np.where(x > x[1], x, x[1]),
    "np.where of all": lambda x: np.where(x[0] > 1, x, x[::-1]),
    "np.sort": np.sort,
    "v[v > 0.5] = x": _written_by_a_mask,
}
SELECTED = {  # which argument is each result of a choice, by the arguments
    (2.0, 0.0): [[0], [0, 0], [0], [0, 1], [0, 1], [1, 0], [1, 1]],
    (0.0, -1.0): [[0], [0, 0], [0], [0, 1], [1, 0], [1, 0], [0, 1]],
    (-1.0, 0.0): [[1], [1, 1], [1], [1, 1], [1, 0], [0, 1], [0, 1]],
    (0.0, 0.25): [[1], [1, 1], [1], [1, 1], [1, 0], [0, 1], [0, 1]],
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("tier", [None, "numpy", "tape"])
@pytest.mark.parametrize("jacobian", [ad.jacfwd, ad.jacrev])
@pytest.mark.parametrize("name", CHOICES)
def test_a_choice_that_differs_from_call_to_call_has_its_own_zeros(name, jacobian, tier):
    """Each element of log(choice) depends on the argument that was chosen alone: 1 / x."""
    derivative = jacobian(lambda x: np.log(CHOICES[name](x)))
    derivative = ad.jit(derivative, tier=tier) if tier else derivative
    derivative(np.array([1.0, 3.0]))
    for x, chosen in SELECTED.items():
        taken = np.eye(2, dtype=bool)[chosen[[*CHOICES].index(name)]]
        with np.errstate(all="ignore"):
            expected = np.where(taken, 1 / np.array(x), 0.0)
            found = derivative(np.array(x))
        np.testing.assert_array_equal(np.reshape(found, expected.shape), expected)


PRODUCTS = {  # of an array of roots, of which the first result needs the first row only
    "@": lambda y, w: (y @ w)[0],
    "np.dot": lambda y, w: np.dot(y, w)[0],
    "np.inner": lambda y, w: np.inner(w, y)[0],
    "np.einsum": lambda y, w: np.einsum("ij,j->i", y, w)[0],
    "np.tensordot": lambda y, w: np.tensordot(y, w, 1)[0],
    "np.convolve": lambda y, w: np.convolve(y[:, 0], w)[0],
    "np.fft.fft": lambda y, w: np.fft.fft(y[:, 0]).imag[0],
    "np.linalg.solve": lambda y, w: np.linalg.solve(np.diag(w), y)[0, 0],
}
KEEPING = {
    "sum": lambda y, w: (y * w).sum(axis=1)[0],
    "mean": lambda y, w: (y * w).mean(axis=1)[0] * 2,
    "cumsum": lambda y, w: np.cumsum(y * w, axis=1)[0, 1],
    "np.average": lambda y, w: np.average(y, axis=1, weights=w)[0] * w.sum(),
    "np.outer": lambda y, w: np.outer(y[:, 0], w)[0, 0] + np.kron(y[:, 1], w)[1],
    "the row first": lambda y, w: y[0] @ w,
}


@pytest.mark.parametrize("name", [*PRODUCTS, *KEEPING])
@pytest.mark.filterwarnings("ignore::simpleautodiff.errors.DomainWarning")
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_products_of_arrays_end_structural_zeros(name):
    """The derivative of √m[0] · w in m[0] is w / (2√m[0]); √0 is not taken."""
    m, w = np.array([[4.0, 1.0], [0.0, 9.0]]), np.array([1.0, 2.0])
    slope = ad.grad(lambda m: (PRODUCTS | KEEPING)[name](np.sqrt(m), w))(m)
    if name in PRODUCTS:
        assert np.isnan(slope[1, 0])
    else:
        np.testing.assert_array_equal(slope, [[0.25, 1.0], [0.0, 0.0]])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_zero_of_a_given_tangent_is_a_number():
    f, x = lambda x: x[0] + np.cbrt(x[1]), np.array([2.0, 0.0])
    np.testing.assert_array_equal(ad.grad(f)(x), [1.0, np.inf])
    assert np.isnan(ad.jvp(f, (x,), (np.array([1.0, 0.0]),))[1])
