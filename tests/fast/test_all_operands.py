"""Operations of two numbers or arrays of every kind: the bits are those of the plain engine.

Each kind of operand stands on each side, as a node and as a constant, at numbers where a short way
ends: integers that are no floats, zeros with signs, what overflows, other dtypes and shapes.
"""

import operator
import warnings

import numpy as np
import pytest

from oracle.engines import engines

OPERATIONS = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "**": operator.pow,
    "maximum": np.maximum,
    "hypot": np.hypot,
}
FUNCTIONS = {ufunc.__name__: ufunc for ufunc in vars(np).values() if getattr(ufunc, "nin", 0) == 1}
FUNCTIONS |= {f.__name__: f for f in (np.sum, np.mean, np.max, np.prod, np.std, np.cumsum, np.sort)}
NUMBERS = [0, -2, True, *(2**k + d for k in (53, 54) for d in (-1, 1, 3)), 2**70 + 1]
NUMBERS += [-0.0, 0.5, 1e200, 5e-324, np.inf, np.nan]
NUMBERS += [np.float64(0.3), np.float32(0.3), np.int64(2**53 + 1), np.array(0.3)]
VARIABLES = [1.5, 0.0, np.float64(-0.3), np.float32(0.7)]
ARRAYS = [np.array([1, 0, 3]).astype(dtype) for dtype in ("f8", "f4", "f2", "g", "i8", "D")]
ARRAYS += [np.linspace(-1.5, 2.0, 6).reshape(2, 3), np.linspace(-1.5, 2.0, 6).reshape(3, 2).T]
ARRAYS += [np.array([[2.5], [0.5]]), np.array([0.5]), np.array(0.3), 2, 0.5, np.float32(2)]


def compute(ad, f, args):
    """Return what f and its derivatives are, with dtypes and bits, or what is refused."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            value, pull = ad.vjp(f, *args)
            return [describe(one) for one in (value, *pull(0.7 * np.ones_like(value)))]
    except Exception as error:
        return type(error).__name__, str(error)


def describe(number):
    """Tell numbers apart by their bits; integers and the signs of complex zeros are free."""
    array = np.asarray(number)
    if array.dtype.kind in "biu":
        array = array.astype(float)
    if array.dtype.kind == "c":
        array = np.array([array.real + 0.0, array.imag + 0.0])
    return isinstance(number, np.ndarray), repr(array)


def compare(f, *args):
    plain, fast, _ = engines()
    assert compute(fast, f, args) == compute(plain, f, args), args


def compare_each(f, a, b):
    """Compare derivatives in the first, the second and both of two arguments."""
    compare(lambda x: f(x, b), a)
    compare(lambda y: f(a, y), b)
    compare(f, a, b)


@pytest.mark.parametrize("name", OPERATIONS)
def test_two_numbers(name):
    for x in VARIABLES:
        for number in NUMBERS:
            compare_each(OPERATIONS[name], x, number)
            compare_each(OPERATIONS[name], number, x)


@pytest.mark.parametrize("name", OPERATIONS)
def test_two_arrays(name):
    for x in ARRAYS:
        for y in ARRAYS:
            compare_each(OPERATIONS[name], x, y)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_one_array(name):
    for x in ARRAYS:
        compare(FUNCTIONS[name], x)
