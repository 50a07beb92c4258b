"""Which arguments are differentiated: positions, names, and what is refused."""

import functools

import numpy as np
import pytest

import simpleautodiff as ad
from simpleautodiff import grad


def scaled(f):
    @functools.wraps(f)
    def wrapper(scale, *args):
        return scale * f(*args)

    return wrapper


def test_argnums_never_picks_another_argument():
    f = lambda x, y: x**y
    for twice in [(0, 0), (0, "x"), (0, -2)]:
        with pytest.raises(ad.ArgumentError, match="twice"):
            grad(f, twice)(2.0, 3.0)
    with pytest.raises(ad.ArgumentError, match="no parameter 'x'"):
        grad(scaled(f), "x")(10.0, 2.0, 3.0)
    with pytest.raises(ad.ArgumentError, match="as positions"):
        grad(lambda *a: a[0] * a[1], "a")(2.0, 3.0)
    with pytest.raises(ad.ArgumentError, match="called without 'b'"):
        grad(lambda a, *rest, b=2.0: a * b, "b")(1.0, 3.0, 5.0)
    assert grad(f, [0, 1])(2.0, 3.0) == grad(f, (0, np.int64(1)))(2.0, 3.0)


def test_names_reach_through_transformations():
    f = lambda x, y: x**3 * y
    assert grad(grad(f, "x"), "y")(2.0, 5.0) == 12.0
    assert ad.hessian(f, "x")(2.0, 5.0) == 60.0
    assert grad(ad.checkpoint(f), "y")(2.0, 5.0) == 8.0
    assert ad.checkpoint(two_names).__name__ == "two_names"


def two_names(x, y):
    return x * y
