"""Where a nan began, and where a derivative was a choice."""

import math

import numpy as np
import pytest
import scipy.special

import simpleautodiff as ad


def test_nothing_to_find():
    assert ad.find_nan(lambda x: np.sum(np.sin(x)))(np.ones(3)) is None
    assert ad.find_nan(lambda x: x * x)(2.0) is None


def test_the_first_bad_value_with_its_line_and_index():
    def model(x):
        shifted = x - 1.0
        logs = np.log(shifted)
        return np.sum(logs * 2)

    bad = ad.find_nan(model)(np.array([3.0, 1.0, 0.5]))
    assert (bad.phase, bad.operator, bad.index, bad.name) == ("value", "log", (1,), "v2")
    assert "logs = np.log(shifted)" in bad.line
    assert "test_diagnose.py" in str(bad)
    assert "np.log(np.maximum" in str(bad)


def test_the_first_bad_product_with_both_factors():
    def model(x):
        distance = np.sqrt(x)
        return distance * 0.0 + x

    bad = ad.find_nan(model)(0.0)
    assert (bad.phase, bad.operator) == ("derivative", "sqrt")
    assert bad.factors == (0.0, math.inf)
    assert "distance = np.sqrt(x)" in str(bad)
    assert "adjoint 0.0 × slope inf = nan" in str(bad)


def test_an_overflow_is_found_where_it_happens():
    bad = ad.find_nan(lambda x: ad.exp(x) / ad.exp(x))(1000.0)
    assert (bad.phase, bad.operator, bad.value) == ("value", "exp", math.inf)


def test_what_where_does_not_choose_is_no_finding():
    f = lambda x: np.sum(np.where(x > 0, np.log(x), 0.0))
    assert ad.find_nan(f)(np.array([0.0, 1.0])) is None
    beside = ad.find_nan(lambda x: f(x) + np.sum(np.sqrt(x) * 0.0))(np.array([0.0, 1.0]))
    assert (beside.phase, beside.operator, beside.index) == ("derivative", "sqrt", (0,))


def test_a_linear_map_is_told_by_its_largest_numbers():
    a = np.array([[1e200, 1.0], [2.0, 3.0]])
    bad = ad.find_nan(lambda x: np.sum(a @ x * 1e150))(np.array([1e-300, 1e-300]))
    assert (bad.phase, bad.operator, bad.index) == ("derivative", "matmul", (0,))
    assert bad.factors == (1e150, 1e200)
    assert "adjoint up to 1e+150 × the linear map matmul of up to 1e+200 = inf" in str(bad)
    assert "nan" not in str(bad).partition(", test_diagnose")[0]
    assert "Scale an operand" in str(bad)


def test_all_results_are_looked_through():
    f = lambda x: {"fine": x * 2, "steep": np.sqrt(x)}
    bad = ad.find_nan(f)(np.array([1.0, 0.0]))
    assert (bad.phase, bad.operator, bad.index) == ("derivative", "sqrt", (1,))


def test_keyword_arguments_are_passed_on():
    f = lambda x, *, power=1.0: np.sum(x**power)
    x = np.array([0.0, 1.0])
    assert ad.find_nan(f)(x) is None
    assert ad.find_nan(f)(x, power=0.5).operator == "power"


def test_the_shape_is_told():
    x = np.array([[1.0, 2.0, 3.0], [1.0, -1.0, 1.0]])
    bad = ad.find_nan(lambda x: np.sum(np.log(x)))(x)
    assert bad.shape == (2, 3)
    assert "at index (1, 1) of shape (2, 3)" in str(bad)
    alone = ad.find_nan(lambda x: np.log(x))(0.0)
    assert alone.shape == ()
    assert "shape" not in str(alone).partition(", test_diagnose")[0]
    assert "the value of the input x is nan" in str(ad.find_nan(lambda x: x * 2)(np.nan))


@pytest.mark.parametrize(
    ("f", "x", "advice"),
    [
        (np.arcsin, [1.0], "np.clip"),
        (np.arccos, [-1.0], "np.clip"),
        (np.arctanh, [1.0], "np.clip"),
        (np.arccosh, [1.0], "above 1"),
        (np.reciprocal, [0.0], "from 0"),
        (np.prod, [1e200, 1e200], "Add logarithms"),
        (np.cumprod, [1e200, 1e200], "Add logarithms"),
        (scipy.special.gammaln, [-1.0], "poles"),
        (scipy.special.digamma, [0.0], "poles"),
        (np.linalg.det, [[1e200, 0.0], [0.0, 1e200]], "slogdet"),
        (lambda a: np.linalg.slogdet(a)[1], [[0.0, 0.0], [0.0, 0.0]], "diagonal"),
        (np.linalg.inv, [[1e-320, 0.0], [0.0, 1.0]], "diagonal"),
        (lambda a: a @ a, [[1e200, 0.0], [0.0, 1.0]], "Scale an operand"),
    ],
)
def test_every_finding_has_a_way_out(f, x, advice):
    assert advice in str(ad.find_nan(lambda a: np.sum(f(a)))(np.array(x)))


@pytest.mark.parametrize(
    ("f", "x", "expected"),
    [
        (lambda x: abs(x), 0.0, ["abs"]),
        (lambda x: abs(x), 1.0, []),
        (lambda x: np.maximum(x, 0) * ad.relu(x), 0.0, ["maximum", "relu"]),
        (lambda x: np.sum(np.abs(x)), np.array([1.0, 0.0]), ["abs"]),
        (lambda x: np.sum(np.abs(x)), np.array([1.0, 2.0]), []),
        (lambda x: np.clip(x, 0.0, 1.0), 1.0, ["clip"]),
        (lambda x: ad.floor(x) * x, 2.0, ["floor"]),
        (lambda x: np.linalg.norm(x, 0), np.array([1.0, 0.0]), ["abs", "sign"]),
        (lambda x: np.linalg.norm(x, 0), np.array([1.0, 2.0]), []),
    ],
)
def test_kinks_are_listed(f, x, expected):
    found = ad.find_kinks(f)(x)
    assert [kink.operator for kink in found] == expected
    assert all("test_diagnose.py" in kink.line for kink in found)


def test_transformations_report_or_refuse_kinks():
    f = lambda x: np.sum(np.abs(x)) + np.max(x)
    x = np.array([0.0, 2.0, 2.0])
    np.testing.assert_array_equal(ad.grad(f)(x), [0, 1.5, 1.5])
    with pytest.warns(
        ad.KinkWarning, match=r"(?s)v1 = abs.*x = 0.*v3 = max.*equal largest"
    ) as told:
        np.testing.assert_array_equal(ad.grad(f, kinks="report")(x), [0, 1.5, 1.5])
    assert "test_diagnose.py" in str(told[0].message)
    with pytest.raises(ad.KinkError, match="abs"):
        ad.value_and_grad(f, kinks="raise")(x)
    smooth = np.array([1.0, -2.0, 3.0])
    np.testing.assert_array_equal(ad.grad(f, kinks="raise")(smooth), [1, -1, 2])
    with pytest.raises(ad.ArgumentError, match="kinks is None, 'report' or 'raise'"):
        ad.grad(f, kinks="perhaps")


def test_kinks_off_the_way_to_the_result_do_not_count():
    def f(x):
        abs(x)
        return x * 2

    assert ad.find_kinks(f)(0.0) == []
