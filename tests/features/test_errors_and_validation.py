"""Errors that say what to do: each feature of the table, exercised."""

import math

import numpy as np
import pytest
from simpleautodiff.extend import defvjp, primitive

import simpleautodiff as ad
from features import shows


@shows("Error names the user line of the faulty operation")
def test_the_line_is_named():
    def model(x):
        y = x * 2
        return math.sin(y)

    with pytest.raises(ad.LostDerivativeError, match=r"math\.sin"):
        ad.grad(model)(1.0)
    with pytest.warns(ad.DomainWarning, match=r"test_errors_and_validation.py.*ad.log\(x\)"):
        ad.grad(lambda x: ad.log(x) * 2)(-1.0)


@shows("NaN/Inf provenance: node, line, both factors")
def test_the_origin_of_nan():
    def model(x):
        distance = np.sqrt(x)
        return distance * 0.0 + x

    bad = ad.find_nan(model)(0.0)
    assert (bad.operator, bad.name, bad.factors) == ("sqrt", "v1", (0.0, math.inf))
    assert "distance = np.sqrt(x)" in bad.line


@shows("Report of non-unique derivatives (kinks) met")
def test_kinks():
    f = lambda x: abs(x) + ad.relu(x - 1)
    assert [kink.operator for kink in ad.find_kinks(f)(0.0)] == ["abs"]
    assert ad.find_kinks(f)(0.5) == []
    with pytest.raises(ad.KinkError):
        ad.grad(f, kinks="raise")(1.0)


@shows("Gradient checker")
def test_checker():
    assert ad.check_grad(lambda x: np.sum(np.tanh(x) ** 2), np.array([0.1, 0.5]))


@shows("Checker says which node or rule is wrong")
def test_the_wrong_rule_is_named():
    @primitive
    def softened(x):
        return np.log(1 + np.exp(x))

    defvjp(softened, lambda ans, x: lambda g: g * np.exp(x))  # 1 + exp(x) is forgotten
    with pytest.raises(ad.CheckError, match="softened"):
        ad.check_grad(lambda x: np.sum(np.sin(softened(x * 2) + x)), np.array([0.1, 0.5]))
