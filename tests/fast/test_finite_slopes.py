"""A sweep need not track structural zeros where every slope is finite: what is taken for finite."""

import numpy as np
import pytest

from simpleautodiff import Node
from simpleautodiff.fast.fast_tape import FastTape
from simpleautodiff.fast.finite_slopes import _fits, _grows, _is_finite, has_singular_slopes
from simpleautodiff.rules.row import TABLE


def tape(f, x):
    """Return the tape of a function of a number or an array."""
    recorded = FastTape()
    with recorded, np.errstate(all="ignore"):
        f(recorded.input(x))
    return recorded


HUGE = 1e200
FINITE = {
    "sums": (lambda x: np.sum(x + 3 * x - 1), np.array([np.inf, 1.0])),
    "a product of numbers": (lambda x: x * (x + 1), 2.5),
    "a quotient of numbers": (lambda x: 2 / x + x / 3, 2.5),
    "a product of arrays": (lambda x: x * x, np.array([1.0, -2.0])),
    "a root": (np.sqrt, np.array([1.0, 4.0])),
    "a logarithm": (np.log, 2.0),
    "a size": (np.abs, np.array([1.0, -2.0])),
    "growth": (np.sinh, np.array([1.0, -2.0])),
    "an exponential": (np.exp, 3.0),
    "a moderate number for few digits": (lambda x: x * 1e20, np.ones(2, np.float32)),
    "a huge number": (lambda x: x * HUGE, np.ones(2)),
    "elements": (lambda x: x[0] * 2.0, np.ones(2)),
}
SINGULAR = {
    "a product with infinity": (lambda x: x * np.inf, 2.5),
    "a product of an infinity": (lambda x: x * x, np.inf),
    "a quotient by 0": (lambda x: x / 0.0, np.float64(2.5)),
    "a quotient by a tiny number": (lambda x: x / 1e-310, 2.5),
    "0 by a tiny number": (lambda x: x / 1e-310, 0.0),
    "a huge quotient by a small number": (lambda x: 1e200 / x, np.float64(1e-108)),
    "a product of arrays": (lambda x: x * x, np.array([1.0, np.nan])),
    "a root of 0": (np.sqrt, np.array([1.0, 0.0])),
    "a logarithm of 0": (np.log, np.float64(0.0)),
    "growth": (np.sinh, np.array([1.0, 800.0])),
    "an exponential": (np.exp, np.array([0.0, 800.0])),
    "a huge number for few digits": (lambda x: x * HUGE, np.ones(2, np.float32)),
    "a later step": (lambda x: np.sum(np.sqrt(x) * 2), np.zeros(3)),
}


@pytest.mark.parametrize("name", FINITE)
def test_finite_slopes(name):
    assert not has_singular_slopes(tape(*FINITE[name]))


@pytest.mark.parametrize("name", SINGULAR)
def test_slopes_that_are_infinite_or_not_a_number(name):
    with np.errstate(all="ignore"):
        assert has_singular_slopes(tape(*SINGULAR[name]))


@pytest.mark.parametrize(
    ("name", "grows"),
    [("sinh", True), ("exp", True), ("expm1", True), ("sin", False), ("tanh", False),
     ("atan", False), ("neg", False), ("add", False), ("sum", False)],
)  # fmt: skip
def test_slopes_that_overflow_where_the_argument_does_not(name, grows):
    assert _grows.__wrapped__(TABLE[name]) == grows


@pytest.mark.parametrize(
    ("x", "finite"),
    [(1.0, True), (np.inf, False), (np.nan, False), (3, True), (np.float64(2), True),
     (np.float64(-np.inf), False), (1 + 2j, True), (complex(np.inf, 0), False),
     (np.float32(np.nan), False), (np.ones(3), True), (np.array([1, np.nan]), False),
     (np.array([1j, np.inf]), False), (np.ones(3, int), True), (np.array(np.inf), False),
     (np.ones((2, 0)), True), (np.ma.ones(3), False)],
    ids=repr,
)  # fmt: skip
def test_what_is_finite(x, finite):
    assert _is_finite(x) == finite
    if not isinstance(x, np.ma.MaskedArray):
        assert _is_finite(Node(x)) == finite


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.float16, np.complex64])
def test_the_largest_number_of_a_dtype_fits(kind):
    largest = float(np.finfo(kind).max)
    assert _fits(largest, kind(1))
    assert _fits(-largest, np.ones(2, kind))
    with np.errstate(over="ignore"):
        assert not _fits(np.inf, kind(1))
        assert not _fits(largest * 1.5, np.ones(2, kind))
    assert _fits(largest, 1.0)
    assert _fits(1e300, np.ones(2, int))
