"""What the rows of the table are compared with: every function again, by mpmath at 60 digits.

The values here do not come from the library.
"""

import itertools
from functools import cache

import mpmath
import numpy as np
from mpmath import mp, mpf

import simpleautodiff as ad
from simpleautodiff.rules import TABLE as ROWS
from simpleautodiff.rules.scalar import (
    arithmetic,
    complex_parts as complexes,
    exponential as elementary,
    piecewise,
    special,
    trigonometric,
)
from simpleautodiff.transforms.arguments import Selection
from simpleautodiff.transforms.recorded_call import RecordedCall

DIGITS = 60
TABLE = {name: row for name, row in ROWS.items() if not row.arrays and not row.floats}
WRAPPINGS = {
    wrapping.primitive.name: wrapping
    for module in (arithmetic, complexes, elementary, piecewise, special, trigonometric)
    for wrapping in vars(module).values()
    if hasattr(wrapping, "primitive")
}


def _sinc(x):
    return mp.sincpi(x)


def _sinc_derivative(n, x):
    """From sinc x = ∫ cos(πxu) du over 0 ≤ u ≤ 1: differentiate below the integral sign."""
    n, t = int(n), mp.pi * x
    half = mpf(1) / 2
    if n % 2 == 0:  # ± ∫ uⁿ cos(tu) du
        integral = mp.hyp1f2((n + 1) * half, half, (n + 3) * half, -t * t / 4) / (n + 1)
        return mp.pi**n * (-1) ** (n // 2) * integral
    integral = t * mp.hyp1f2((n + 2) * half, 3 * half, (n + 4) * half, -t * t / 4) / (n + 2)
    return mp.pi**n * (-1) ** ((n + 1) // 2) * integral  # ∓ ∫ uⁿ sin(tu) du


REFERENCES = {
    "exp": mp.exp,
    "expm1": lambda x: mp.exp(x) - 1,
    "exp2": lambda x: mpf(2) ** x,
    "log": mp.log,
    "log2": lambda x: mp.log(x) / mp.log(2),
    "log10": lambda x: mp.log(x) / mp.log(10),
    "log1p": lambda x: mp.log(1 + x),
    "sqrt": mp.sqrt,
    "cbrt": lambda x: -mp.cbrt(-x) if mp.im(x) == 0 and x < 0 else mp.cbrt(x),
    "square": lambda x: x**2,
    "reciprocal": lambda x: x**-1,
    "logaddexp": lambda a, b: mp.log(mp.exp(a) + mp.exp(b)),
    "logaddexp2": lambda a, b: mp.log(mpf(2) ** a + mpf(2) ** b) / mp.log(2),
    "sech_squared": lambda x: mp.sech(x) ** 2,
    "sigmoid": lambda x: 1 / (1 + mp.exp(-x)),
    "softplus": lambda x: mp.log(1 + mp.exp(x)),
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "neg": lambda x: -x,
    "pos": lambda x: x,
    "power": lambda x, y: mp.power(x, y),
    "floor_divide": lambda x, y: mp.floor(x / y),
    "mod": lambda x, y: x - y * mp.floor(x / y),
    "conj": lambda x: x,
    "real": lambda x: x,
    "imag": lambda x: 0 * x,
    "abs": mp.fabs,
    "sign": mp.sign,
    "relu": lambda x: x if x > 0 else 0 * x,
    "maximum": lambda x, y: x if x > y else y,
    "minimum": lambda x, y: x if x < y else y,
    "fmax": lambda x, y: x if x > y else y,
    "fmin": lambda x, y: x if x < y else y,
    "clip": lambda x, low, high: low if x < low else high if x > high else x,
    "where": lambda condition, x, y: x if condition else y,
    "copysign": lambda x, y: mp.fabs(x) * mp.sign(y),
    "floor": mp.floor,
    "ceil": mp.ceil,
    "trunc": lambda x: mp.sign(x) * mp.floor(mp.fabs(x)),
    "rint": lambda x: mp.floor(x + mpf(1) / 2),  # away from ties
    "round": lambda x, digits: mp.floor(x * mpf(10) ** digits + mpf(1) / 2) / mpf(10) ** digits,
    "stop_gradient": lambda x: x,
    "sin": mp.sin,
    "cos": mp.cos,
    "tan": mp.tan,
    "asin": mp.asin,
    "acos": mp.acos,
    "atan": mp.atan,
    "atan2": mp.atan2,
    "sinh": mp.sinh,
    "cosh": mp.cosh,
    "tanh": mp.tanh,
    "asinh": mp.asinh,
    "acosh": mp.acosh,
    "atanh": mp.atanh,
    "hypot": lambda x, y: mp.sqrt(x**2 + y**2),
    "deg2rad": lambda x: x * mp.pi / 180,
    "rad2deg": lambda x: x * 180 / mp.pi,
    "erf": mp.erf,
    "erfc": mp.erfc,
    "gamma": mp.gamma,
    "lgamma": lambda x: mp.log(mp.fabs(mp.gamma(x))),
    "digamma": mp.digamma,
    "polygamma": lambda n, x: mp.polygamma(int(n), x),
    "sinc_derivative": _sinc_derivative,
    "sinc": _sinc,
}

# Arguments that are no real number to differentiate by: an order, a condition, a count of digits.
FIXED = {"polygamma": (0,), "sinc_derivative": (0,), "where": (0,), "round": (1,)}

NUMBERS = [
    *(-7.3, -3.7, -2.21, -1.37, -0.83, -0.61, -0.31, -0.04),
    *(0.02, 0.17, 0.29, 0.45, 0.77, 0.93),
    *(1.13, 1.61, 2.43, 3.19, 4.6, 6.1, 8.3, 11.9),
]
PAIRS = [
    *((0.3, 0.7), (0.9, 2.6), (1.7, 0.4), (2.2, 3.1), (4.3, 1.9), (0.6, -1.8), (1.3, -0.7)),
    *((5.1, 2.3), (-0.8, 0.5), (-2.7, 1.1), (-0.4, -3.3), (-3.6, -1.2), (-1.6, 4.2)),
]
TRIPLES = [
    *((0.3, -1.2, 1.4), (-2.6, -1.2, 1.4), (3.3, -1.2, 1.4), (0.9, 0.2, 2.1), (5.7, 0.2, 2.1)),
    *((-0.4, 0.2, 2.1), (-3.1, -4.4, -2.3), (-1.1, -4.4, -2.3), (-6.2, -4.4, -2.3)),
]
OWN_POINTS = {
    "where": [
        *((True, 0.3, -1.7), (False, 0.3, -1.7), (True, 2.9, 4.1), (False, 2.9, 4.1)),
        *((True, -0.6, 0.2), (False, -0.6, 0.2), (True, -5.3, -1.1), (False, -5.3, -1.1)),
    ],
    "round": [
        *((0.34, 1), (2.727, 2), (-1.268, 2), (-0.42, 1), (17.3, 0), (-3.8, 0)),
        *((1234.0, -2), (-5678.0, -3)),
    ],
    "polygamma": [
        *((0, 0.4), (0, 3.3), (1, 0.7), (1, 2.9), (1, 9.5), (2, 0.6), (2, 4.1), (3, 1.3), (4, 2.2)),
    ],
    "sinc_derivative": [
        *((0, 0.3), (0, -2.6), (1, 0.02), (1, 0.9), (1, -3.4), (2, 0.4), (2, 1.7), (3, -0.8)),
        *((3, 2.3), (4, 0.1), (4, -1.2)),
    ],
}


def points(row):
    """Return points inside the domain of a row and away from its kinks."""
    pool = OWN_POINTS.get(row.name) or {
        1: [(x,) for x in NUMBERS],
        2: PAIRS,
        3: TRIPLES,
    }.get(row.arity, [])
    return [
        point
        for point in pool
        if row.domain.contains(*point) and not any(kink.happens(*point) for kink in row.kinks)
    ]


def variables(row):
    """Return which arguments of a row are real numbers to differentiate by."""
    return [i for i in range(row.arity) if i not in FIXED.get(row.name, ())]


def exactly(number):
    """Write a number as mpmath has it, digit for digit; a whole number or a condition stays."""
    if isinstance(number, (bool, int)):
        return number
    if isinstance(number, np.floating):  # a long double is the sum of two doubles
        return mpf(float(number)) + mpf(float(number - type(number)(float(number))))
    return mpmath.mpmathify(number)


@cache
def reference(name, point, orders=()):
    """Return the function at `point`, differentiated `orders[i]` times by argument i."""
    f = REFERENCES[name]
    with mpmath.workdps(DIGITS):
        args = [exactly(x) for x in point]
        by = [i for i, order in enumerate(orders) if order]
        if not by:
            return f(*args)
        if name == "stop_gradient":
            return mpf(0)  # declared constant: that is what it is for

        def of_the_variables(*xs):
            moved = list(args)
            for i, x in zip(by, xs, strict=True):
                moved[i] = x
            return f(*moved)

        where = tuple(args[i] for i in by)
        times = tuple(orders[i] for i in by)
        if len(by) == 1:
            return mp.diff(of_the_variables, where[0], times[0])
        return mp.diff(of_the_variables, where, times)


def close(number, expected, rel, floor=0.0):
    """Tell whether `number` is `expected` up to a relative error, or an absolute one near 0."""
    with mpmath.workdps(DIGITS):
        return abs(exactly(number) - expected) <= rel * abs(expected) + floor


def differences(f, x, direction):
    """Return the slope along a direction to eleven digits or so, by differences of eighth order.

    Of three steps the two that agree best decide: a long one where the function is smooth, so that
    rounding does not count, and a short one next to a kink or a pole.
    """
    along = lambda t: np.asarray(f(x + t * direction))
    by = [(1, 4 / 5), (2, -1 / 5), (3, 4 / 105), (4, -1 / 280)]
    with np.errstate(all="ignore"):
        slopes = [
            sum(w * (along(k * step) - along(-k * step)) for k, w in by) / step
            for step in (2.0**-7, 2.0**-9, 2.0**-12)
        ]
        apart = [np.max(np.abs(a - b), initial=0) for a, b in itertools.pairwise(slopes)]
    return slopes[1 + int(np.nanargmin(apart))]


def alike(a, b, tolerance):
    """Compare two results: shapes, and elements beside the largest of them."""
    assert np.shape(a) == np.shape(b)
    scale = 1 + np.max(np.abs(b), initial=0.0)
    np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * scale)


def check_both_modes(f, x, exact, near, transposed):
    """Compare a value with `f` itself, its tangent with differences, and the modes with each other.

    The three tolerances are for these; the direction of the tangent is returned.
    """
    direction = np.cos(np.arange(x.size)).reshape(x.shape)
    value, tangent = ad.jvp(f, (x,), (direction,))
    alike(value, f(x), exact)
    assert np.result_type(value) == np.result_type(f(x))
    alike(tangent, differences(f, x, direction), near)
    seed = np.sin(np.arange(np.size(value)) + 1.0).reshape(np.shape(value))
    (adjoint,) = ad.vjp(f, x)[1](seed if seed.shape else seed[()])
    alike(np.sum(seed * tangent), np.sum(adjoint * direction), transposed)
    return direction


def numbers_recorded(f, n):
    """Count the numbers that a tape of `f` has for an array of n."""
    graph = RecordedCall(f, Selection((np.ones(n),)))
    return sum(np.size(node.value) for node in graph.tape)
