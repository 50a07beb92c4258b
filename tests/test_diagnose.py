"""Where a nan began, and where a derivative was a choice."""

import math

import numpy as np
import pytest

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
