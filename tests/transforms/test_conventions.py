"""What the page of conventions says, where no other test is about it."""

import math
import warnings
from operator import itemgetter

import mpmath
import numpy as np
import pytest
import scipy.linalg
import scipy.special

import simpleautodiff as ad
from simpleautodiff import errors
from simpleautodiff.rules.row import TABLE as ROWS

A = np.array
TABLE = (A([0.0, 1.0, 2.0]), A([0.0, 1.0, 5.0]))  # of slopes 1 and 4
WEIGHTS = A([1.0, 10.0, 100.0])  # tell the elements of a result apart

# function of an array, point, gradient
AT_KINKS = {
    "max": (np.max, [1.0, 3.0, 3.0], [0, 1 / 2, 1 / 2]),
    "min": (np.min, [1.0, 1.0, 1.0], [1 / 3] * 3),
    "ptp": (np.ptp, [1.0, 1.0, 4.0], [-1 / 2, -1 / 2, 1]),
    "sort": (lambda x: np.sort(x) @ WEIGHTS, [2.0, 1.0, 1.0], [100, 1, 10]),
    "partition": (lambda x: np.sort(np.partition(x, 1)) @ WEIGHTS, [2.0, 1.0, 1.0], [100, 1, 10]),
    "interp between": (lambda x: np.interp(x[0], *TABLE), [1.0], [4]),
    "interp at the first": (lambda x: np.interp(x[0], *TABLE), [0.0], [1]),
    "interp at the last": (lambda x: np.interp(x[0], *TABLE), [2.0], [4]),
    "unwrap": (lambda x: np.unwrap(x) @ WEIGHTS, [0.0, np.pi, 0.1], [1, 10, 100]),
    "frexp": (lambda x: np.frexp(x[0])[0], [4.0], [1 / 8]),  # 4 = 1/2 × 8, and so up to 8
    "frexp of a negative number": (lambda x: np.frexp(x[0])[0], [-4.0], [1 / 8]),
    "fmod": (lambda x: np.fmod(x[0], x[1]), [6.0, 2.0], [1, -3]),
    "modf": (lambda x: np.modf(x[0])[0] + 10 * np.modf(x[0])[1], [4.0], [1]),
    "std": (np.std, [1.0, 1.0], [0, 0]),
    "norm": (np.linalg.norm, [0.0, 0.0], [0, 0]),
}


@pytest.mark.parametrize("name", AT_KINKS)
def test_derivatives_at_kinks_of_arrays(name):
    f, point, gradient = AT_KINKS[name]
    point = A(point)
    np.testing.assert_allclose(ad.grad(f)(point), gradient, rtol=1e-15)
    np.testing.assert_allclose(ad.jacfwd(f)(point), gradient, rtol=1e-15)


def test_equal_elements_share_beside_a_nan():
    largest = lambda x: np.sum(np.max(x, axis=1))
    with np.errstate(all="ignore"):
        gradient = ad.grad(largest)(A([[math.nan, 1.0], [2.0, 2.0]]))
    np.testing.assert_array_equal(gradient, [[math.nan, math.nan], [0.5, 0.5]])


def test_numpys_own_scalars_follow_errstate():
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        ad.grad(np.log)(np.float64(0))
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ad.value_and_grad(np.log)(np.float64(0)) == (-math.inf, math.inf)


def test_each_error_is_what_the_page_says():
    kinds = {
        TypeError: "LostDerivativeError ValueKindError ArgumentError ResultError",
        ValueError: "RuleError ReadOnlyError",
        ArithmeticError: "DomainError KinkError",
        RuntimeError: "TraceError",
    }
    for kind, names in kinds.items():
        for name in names.split():
            assert issubclass(getattr(errors, name), kind), name
            assert issubclass(getattr(errors, name), errors.AutodiffError), name
    assert issubclass(errors.MatrixError, errors.DomainError)
    assert issubclass(errors.MatrixError, np.linalg.LinAlgError)
    assert issubclass(errors.FloatError, errors.DomainError)
    assert issubclass(errors.FloatError, FloatingPointError)
    assert issubclass(errors.InputError, errors.ArgumentError)
    assert issubclass(errors.InputError, ValueError)
    assert issubclass(errors.InputError, IndexError)
    with pytest.raises(IndexError):
        ad.grad(lambda x: x[3])(np.ones(3))


def test_a_precision_set_inside_the_function_is_over_in_reverse_mode():
    def f(x):
        with mpmath.workdps(40):
            return mpmath.sin(x) if type(x) is mpmath.mpf else ad.sin(x)

    with mpmath.workdps(15):
        third = mpmath.mpf(1) / 3
        with mpmath.workdps(40):
            truth = mpmath.cos(third)
            around = ad.grad(f)(third)
            assert abs(around - truth) < 1e-38
        inside = ad.grad(f)(third)
        assert 1e-20 < abs(inside - truth) < 1e-15  # of the 15 digits outside


def test_a_single_element_is_no_view():
    def f(x):
        y = x * 1.0
        element = y[0, ...]
        element += 10.0
        return y @ WEIGHTS

    assert ad.value_and_grad(f)(np.ones(3))[0] == 111.0
    np.testing.assert_array_equal(ad.grad(f)(np.ones(3)), WEIGHTS)


def test_a_single_number_cannot_be_changed():
    def f(x):
        s = t = x[0] * 2.0
        s += x[1]
        return 100 * t + s

    assert ad.value_and_grad(f)(A([3.0, 5.0]))[0] == 611.0
    np.testing.assert_array_equal(ad.grad(f)(A([3.0, 5.0])), [202, 1])


def test_sums_of_whole_numbers_and_nodes_as_quantiles_are_refused():
    with pytest.raises(ad.AutodiffError):
        ad.grad(lambda x: np.sum(x, dtype=int))(np.ones(3))
    with pytest.raises(ad.AutodiffError):
        ad.grad(lambda q: np.quantile(np.arange(3.0), q))(0.3)
    with pytest.raises(ad.AutodiffError):
        ad.grad(lambda q: np.quantile(q * np.arange(3.0), q))(0.3)


def test_least_squares_need_full_rank_and_pinv_keeps_it():
    low = np.outer([1.0, 2.0], [3.0, 4.0])
    with pytest.raises(ad.AutodiffError, match="rank"):
        ad.grad(lambda a: np.sum(np.linalg.lstsq(a, np.ones(2), rcond=None)[0]))(low)
    # of s u vᵀ the pseudo-inverse is v uᵀ / s: along the matrix itself it shrinks
    u, v = A([0.6, 0.8]), A([0.28, 0.96])
    slope = ad.jvp(np.linalg.pinv, (5 * np.outer(u, v),), (np.outer(u, v),))[1]
    np.testing.assert_allclose(slope, -np.outer(v, u) / 25, rtol=1e-13)
    # and beside it turns with the vectors, by d pinv(A) = pinv(A) pinv(A)ᵀ dAᵀ (1 - A pinv(A))
    w = A([-0.8, 0.6])
    slope = ad.jvp(np.linalg.pinv, (5 * np.outer(u, v),), (np.outer(w, v),))[1]
    np.testing.assert_allclose(slope, np.outer(v, w) / 25, rtol=1e-13)


def test_a_symmetric_matrix_is_read_by_halves_or_shared_by_them():
    a, b = A([[4.0, 1.0], [1.0, 3.0]]), A([1.0, 2.0])
    solve = lambda a: np.sum(scipy.linalg.solve(a, b, assume_a="pos"))
    x, y = np.linalg.solve(a, b), np.linalg.solve(a, np.ones(2))
    both = np.triu(-np.outer(y, x) - np.outer(x, y)) + np.diag(x * y)
    np.testing.assert_allclose(ad.grad(solve)(a), both, rtol=1e-14)
    # l21 = a21 / sqrt(a11): half of its slope belongs to a12, and half to a21
    slope = [[-1 / 16, 1 / 4], [1 / 4, 0]]
    for corner in (
        lambda a: np.linalg.cholesky(a)[1, 0],
        lambda a: scipy.linalg.cholesky(a)[0, 1],
        lambda a: scipy.linalg.cho_factor(a, lower=True)[0][1, 0],
    ):
        np.testing.assert_allclose(ad.grad(corner)(a), slope, rtol=1e-14)
    factor = ad.jvp(lambda a: scipy.linalg.cho_factor(a, lower=True)[0], (a,), (a,))[0]
    assert factor[0, 1] == 0


@pytest.mark.parametrize(("choose", "extreme"), [(max, ad.maximum), (min, ad.minimum)])
def test_pythons_max_gives_the_first_of_equals_all(choose, extreme):
    assert ad.grad(choose, (0, 1))(2.0, 2.0) == (1, 0)
    assert ad.grad(extreme, (0, 1))(2.0, 2.0) == (0.5, 0.5)


def test_a_node_is_found_by_itself_and_not_by_its_value():
    x = ad.Node(1.0)
    assert {1.0: "a"}.get(x) is None
    assert itemgetter(x)({x: "b"}) == "b"


@pytest.mark.parametrize("row", [row for row in ROWS.values() if row.kinks], ids=lambda r: r.name)
def test_kinks_are_in_arguments_that_have_derivatives(row):
    """A kink that names an argument there is not, or one without a rule, is never told."""
    for kink in row.kinks:
        for i in kink.wrt or ():
            assert 0 <= i < row.arity
            assert i not in row.settings
            assert getattr(row.partials[i], "__name__", "") != "refuse"


@pytest.mark.parametrize("name", ["betainc", "betaincc"])
def test_distributions_that_begin_steeply_are_told(name):
    f = getattr(scipy.special, name)
    for a, b, x in [(0.5, 2.0, 0.0), (2.0, 0.5, 1.0)]:
        kinks = ad.find_kinks(lambda x, a=a, b=b: f(a, b, x))(x)
        assert [kink.operator for kink in kinks] == [name]
    assert ad.find_kinks(lambda x: f(0.5, 0.5, x))(0.5) == []
    assert ad.find_kinks(lambda x: f(2.0, 2.0, x))(0.0) == []
