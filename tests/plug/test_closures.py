"""What the functions given to SciPy's solvers hold: nodes in every place of a Python program."""

import functools
import types
from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest
import scipy.integrate
import scipy.interpolate
import scipy.optimize as opt

import simpleautodiff as ad
from simpleautodiff.plug.closures import HeldNodes, pass_held


class Cube:
    """A user's class: the number whose root is asked for is an attribute of it."""

    number = 0.0

    def __init__(self, *number):
        self.calls = 0
        if number:
            self.number = number[0]

    def miss(self, x):
        self.calls += 1
        return x**3 - self.number


class LargeCube(Cube):
    def miss(self, x):
        return super().miss(x)


class Slots:
    __slots__ = ("number",)

    def __init__(self, number):
        self.number = number

    miss = Cube.miss
    calls = property(lambda self: 0, lambda self, count: None)


@dataclass(frozen=True, slots=True)
class Frozen:
    number: object

    def miss(self, x):
        return x**3 - self.number


class Pair(NamedTuple):
    one: object
    number: object


class Link:
    def __init__(self, number, following):
        self.number, self.following = number, following


NUMBERS = {}
number = 0.0
calls = 0


def miss_global(x):
    global calls
    calls += 1
    return x**3 - number


def miss_by_helper(x):
    return find_miss(x)


def find_miss(x):
    return x**3 - NUMBERS["number"]


def hold_globally(a):
    global number
    number = a
    return miss_global


def hold_in_class(a):
    Cube.number = a
    return Cube().miss


def hold_in_base(a):
    Cube.number = a
    return LargeCube().miss


def hold_in_namespace(a):
    space = types.SimpleNamespace(number=a)
    return lambda x: x**3 - space.number


def hold_in_local_class(a):
    class Local:
        def miss(self, x):
            return x**3 - a

    return Local().miss


def hold_in_static_method(a):
    class Local:
        @staticmethod
        def miss(x):
            return x**3 - a

    return Local.miss


def hold_in_class_method(a):
    class Local:
        number = a

        @classmethod
        def miss(cls, x):
            return x**3 - cls.number

    return Local.miss


def hold_in_property(a):
    class Local:
        number = property(lambda self: a)
        miss = Frozen.miss

    return Local().miss


def hold_in_circle(a):
    own = types.SimpleNamespace(number=a)
    own.itself = own
    return lambda x: x**3 - own.itself.itself.number


def hold_in_long_list(a):
    link = None
    for i in range(3000):
        link = Link(a if i == 7 else 0.0, link)

    def miss(x):
        each, total = link, 0.0
        while each is not None:
            each, total = each.following, total + each.number
        return x**3 - total

    return miss


def hold_in_spline(name):
    def hold(a):
        make = getattr(scipy.interpolate, name)
        spline = make(np.arange(4.0), np.stack([0 * a, a, 2 * a, 3 * a]))
        return lambda x: x**3 - spline(1.0)

    return hold


def hold_in_cache(a):
    twice = functools.cache(lambda: 2 * a)
    return lambda x: x**3 - twice() / 2


HOLDING = {
    "a global variable": hold_globally,
    "a global dict, by a helper": lambda a: NUMBERS.update(number=a) or miss_by_helper,
    "a class": hold_in_class,
    "a base class": hold_in_base,
    "slots": lambda a: Slots(a).miss,
    "a frozen dataclass": lambda a: Frozen(a).miss,
    "a named tuple": lambda a: functools.partial(lambda p, x: x**3 - p.number, Pair(1.0, a)),
    "a deque": lambda a: functools.partial(lambda p, x: x**3 - p[1], deque([1.0, a])),
    "a namespace": hold_in_namespace,
    "a local class": hold_in_local_class,
    "a static method": hold_in_static_method,
    "a class method": hold_in_class_method,
    "a property": hold_in_property,
    "a circle": hold_in_circle,
    "a long list": hold_in_long_list,
    "a polynomial": lambda a: (lambda p: lambda x: x**3 - p(1.0))(np.poly1d([a])),
    "a slope": lambda a: ad.grad(lambda x: x**4 / 4 - a * x),
    "a cache": hold_in_cache,
    **{
        name: hold_in_spline(name)
        for name in ("CubicSpline", "PchipInterpolator", "make_interp_spline", "interp1d")
    },
}


@pytest.mark.parametrize("name", HOLDING)
def test_functions_hold_nodes_anywhere(name):
    hold, a = HOLDING[name], 2.5
    root = lambda a: opt.brentq(hold(a), 0.0, 3.0)
    assert ad.grad(root)(a) == pytest.approx(a ** (-2 / 3) / 3, rel=1e-7)
    assert ad.derivative(root)(a) == pytest.approx(a ** (-2 / 3) / 3, rel=1e-7)
    slopes = ad.vmap(ad.grad(root))(np.array([1.0, a]))
    np.testing.assert_allclose(slopes, [1 / 3, a ** (-2 / 3) / 3], rtol=1e-7)
    area = lambda a: scipy.integrate.quad(hold(a), 0, 1)[0]
    assert ad.grad(area)(a) == pytest.approx(-1.0)


def test_what_functions_count_stays_counted():
    """The solver's evaluations, and those of the derivative."""
    global calls, number
    number, calls = 2.5, 0
    opt.brentq(miss_global, 0.0, 3.0)
    plainly, calls = calls, 0
    ad.grad(lambda a: opt.brentq(hold_globally(a), 0.0, 3.0))(2.5)
    assert plainly <= calls <= plainly + 5
    cube = Cube(2.5)
    ad.grad(lambda a: setattr(cube, "number", a) or opt.brentq(cube.miss, 0.0, 3.0))(2.5)
    assert plainly <= cube.calls <= plainly + 5


def test_nodes_of_an_earlier_derivative_are_no_part_of_a_later_one():
    history = []

    def root(a):
        history.append(a)
        return opt.brentq(lambda x: x**3 - a + 0 * len(history), 0.0, 3.0)

    assert ad.grad(root)(1.0) == ad.grad(root)(1.0) == pytest.approx(1 / 3)


def test_functions_that_hold_no_node_stay_themselves():
    counter = []
    plain = lambda x: counter.append(x)

    def f(a):
        (same, other), held = pass_held(plain, lambda x: plain(x) or a * x)
        assert same(1.0, *held) is None
        return other(2.0, *held)

    assert ad.grad(f)(3.0) == 2.0
    assert counter == [1.0, 2.0]


def test_a_function_that_calls_itself():
    def f(a):
        def power(x, n):
            return a * x if n == 0 else power(x, n - 1) * x

        (by_argument,), held = pass_held(power)
        return by_argument(2.0, 3, *held)

    assert ad.grad(f)(3.0) == 16.0


def test_a_part_in_two_places_has_one_copy():
    def f(a):
        shared = [a]
        held = HeldNodes({"one": shared, "two": (shared, 1.0)})
        made = held.replace([5.0])
        assert made["one"] is made["two"][0]
        assert made["one"] == [5.0]
        assert len(held.nodes) == 1
        return a

    assert ad.grad(f)(3.0) == 1.0
