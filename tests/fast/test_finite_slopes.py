"""A sweep need not track structural zeros where every slope is finite: what is taken for finite."""

import numpy as np
import pytest

import simpleautodiff as ad
from simpleautodiff import Node
from simpleautodiff.fast.fast_tape import FastTape
from simpleautodiff.fast.finite_slopes import _fits, _grows, _is_finite, has_singular_slopes
from simpleautodiff.fast.thresholds import THRESHOLDS
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


SELECTIONS = {  # of increasing elements, the first of which is 0; and what is selected
    "max": (np.max, [-1]),
    "max along an axis": (lambda y: np.sum(np.max(y.reshape(-1, 2), axis=1)), slice(1, None, 2)),
    "max with its axis": (lambda y: np.sum(np.max(y, axis=0, keepdims=True)), [-1]),
    "min": (lambda y: -np.min(-y), [-1]),
    "maximum": (lambda y: np.sum(np.maximum(y, 0.1)), slice(1, None)),
    "minimum": (lambda y: -np.sum(np.minimum(-y, -0.1)), slice(1, None)),
    "where": (lambda y: np.sum(np.where(y > 0, y, 0.0)), slice(1, None)),
    "slice": (lambda y: np.sum(y[1:]), slice(1, None)),
    "element": (lambda y: y[2], [2]),
    "mask": (lambda y: np.sum(y[y > 0]), slice(1, None)),
    "numbers": (lambda y: np.sum(y[[1, 3]]), [1, 3]),
    "sorted": (lambda y: np.sum(np.sort(y)[1:]), slice(1, None)),
    "joined": (lambda y: np.sum(np.concatenate([y, y])[1 : len(y)]), slice(1, None)),
    "stacked": (lambda y: np.sum(np.stack([y, y])[0, 1:]), slice(1, None)),
    "clip": (lambda y: np.sum(np.clip(y, 0.1, None)), slice(1, None)),
}


@pytest.mark.parametrize("size", [4, THRESHOLDS.small + 2, THRESHOLDS.medium + 2])
@pytest.mark.parametrize("repeated", [0, 2**24])
@pytest.mark.parametrize("name", SELECTIONS)
def test_what_is_not_selected_has_the_slope_0_where_its_own_is_infinite(
    name, size, repeated, monkeypatch
):
    monkeypatch.setattr(THRESHOLDS, "repeated", repeated)
    select, selected = SELECTIONS[name]
    x = np.arange(float(size))
    expected = np.zeros(size)
    expected[selected] = 0.5 / np.sqrt(x[selected])
    f = lambda x: select(np.sqrt(x))
    np.testing.assert_array_equal(ad.grad(f)(x), expected)
    np.testing.assert_array_equal(ad.vjp(f, x)[1](1.0)[0], expected)
