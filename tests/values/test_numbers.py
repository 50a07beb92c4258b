"""Any number: the same functions and derivatives in every kind, each with all of its digits."""

import cmath
import decimal
import math
import operator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import sympy
from mpmath import iv, mpc, mpf

import references as refs
import simpleautodiff as ad
from simpleautodiff import Node, grad

TABLE, WRAPPINGS = refs.TABLE, refs.WRAPPINGS


SPECIAL = ("erf", "erfc", "gamma", "lgamma", "digamma", "polygamma")


def paper(x1, x2):
    return ad.log(x1) + x1 * x2 - ad.sin(x2)


def along(name, point, i):
    """Return the row as a function of its argument i."""
    return lambda x: WRAPPINGS[name](*point[:i], x, *point[i + 1 :])


def converted(row, point, kind):
    """Return the point in another kind of number; orders, digits and conditions stay."""
    by = refs.variables(row)
    return tuple(kind(x) if i in by else x for i, x in enumerate(point))


def points(row, kind):
    """Return the points of a row in another kind; rounding may have put one on a kink."""
    for point in refs.points(row):
        point = converted(row, point, kind)
        if not any(kink.happens(*point) for kink in row.kinks):
            yield point


def orders(row, i, n):
    return tuple(n if j == i else 0 for j in range(row.arity))


def assert_close(number, expected, rel, floor=0.0, at=None):
    assert refs.close(number, expected, rel, floor), f"{number!r} is not {expected} at {at}"


def assert_derivatives(name, point, rel, floor=0.0):
    """Compare the value and the first two derivatives by every argument, in every mode."""
    row = TABLE[name]
    assert_close(WRAPPINGS[name](*point), refs.reference(name, point), rel, floor, at=point)
    for i in refs.variables(row):
        f, x = along(name, point, i), point[i]
        first = refs.reference(name, point, orders(row, i, 1))
        second = refs.reference(name, point, orders(row, i, 2))
        assert_close(ad.grad(f)(x), first, rel, floor, at=point)
        assert_close(ad.jvp(f, (x,), (1,))[1], first, rel, floor, at=point)
        assert_close(ad.derivative(f, n=2)(x), second, rel, floor, at=point)
        assert_close(ad.grad(ad.grad(f))(x), second, rel, floor, at=point)
        assert_close(ad.hvp(f, (x,), (1,)), second, rel, floor, at=point)


# Whole numbers and fractions are exact. -----------------------------------------------------------


def test_whole_numbers_stay_whole():
    assert ad.grad(lambda x: x**7)(10**20) == 7 * 10**120
    assert ad.derivative(lambda x: x**7, n=5)(10**20) == 2520 * 10**40
    assert ad.grad(lambda x, y: 3 * x * x * y - y, (0, 1))(2**70, 5) == (30 * 2**70, 3 * 2**140 - 1)
    assert type(ad.grad(lambda x: x * x)(3)) is int


def test_whole_numbers_become_floats_where_they_must():
    assert ad.grad(paper, (0, 1))(2, 5) == (5.5, 2 - math.cos(5))
    assert ad.grad(ad.sin)(0) == 1.0


def test_the_example_of_the_paper_in_fractions():
    derivative = ad.grad(paper)(Fraction(2), Fraction(5))
    assert derivative == Fraction(11, 2)
    assert type(derivative) is Fraction
    tangent = ad.jvp(lambda x1: paper(x1, Fraction(5)), (Fraction(2),), (1,))[1]
    assert tangent == Fraction(11, 2)
    assert type(tangent) is Fraction


RATIONAL = {
    "polynomial": lambda x, y: 3 * x**4 * y - 7 * x * y**2 + x - 1,
    "quotient": lambda x, y: (x**2 - y) / (x + 3 * y),
    "nested quotient": lambda x, y: 1 / (1 + 1 / (x + 1 / y)),
    "negative power": lambda x, y: x**-3 * y**2 - (x * y) ** -1,
    "reciprocal of a square": lambda x, y: ad.reciprocal(ad.square(x) + y),
    "shared": lambda x, y: (lambda v: v * v - v / y)(x * y + x),
    "negated": lambda x, y: -(+x) / -(y - x * 5),
    "divided by whole numbers": lambda x, y: x / 3 + x * y / 7 - y / (2 * x) / 5,
}
FRACTIONS = [(Fraction(2, 3), Fraction(5, 7)), (Fraction(-9, 4), Fraction(11, 8))]


@pytest.mark.parametrize("point", FRACTIONS, ids=str)
@pytest.mark.parametrize("name", RATIONAL)
def test_rational_program_is_exact(name, point):
    f = RATIONAL[name]
    x, y = sympy.symbols("x y")
    at = {x: sympy.Rational(*point[0].as_integer_ratio())}
    at[y] = sympy.Rational(*point[1].as_integer_ratio())

    def exact(*by):
        number = sympy.diff(f(x, y), *by).subs(at)
        return Fraction(int(number.p), int(number.q))

    gradient = ad.grad(f, (0, 1))(*point)
    assert gradient == (exact(x), exact(y))
    assert all(type(derivative) is Fraction for derivative in gradient)
    assert ad.jvp(f, point, (1, 0))[1] == exact(x)
    assert ad.jvp(f, point, (Fraction(1, 2), 3))[1] == exact(x) / 2 + 3 * exact(y)
    for n in (2, 3, 4):
        assert ad.derivative(f, n=n)(*point) == exact(*[x] * n)
    hessian = ad.hessian(lambda v: f(*v))(list(point))
    assert hessian == [[exact(a, b) for b in (x, y)] for a in (x, y)]


# Complex numbers: holomorphic functions, and a refusal for the others. ----------------------------

COMPLEX = [0.3 + 0.4j, -0.6 + 0.2j, 0.5 - 0.7j, 1.3 + 0.8j, -1.1 - 0.4j, 0.2 - 1.4j, 2.1 + 0.3j]
COMPLEX_PAIRS = [
    *((0.3 + 0.4j, 1.2 - 0.5j), (-0.6 + 0.2j, 0.7 + 0.3j), (1.3 + 0.8j, -0.4 + 1.1j)),
    *((0.5 - 0.7j, 0.2 + 0.1j), (2.1 + 0.3j, -0.9 - 0.6j)),
]
COMPLEX_OWN = {
    "where": [(True, *COMPLEX_PAIRS[0]), (False, *COMPLEX_PAIRS[1])],
    "sinc_derivative": [(n, z) for n in range(4) for z in (0.3 + 0.4j, 2.6 - 0.5j)],
    "clip": [(0.3 + 0.4j, 0.1 + 0.1j, 2.0 + 2.0j)],
    "round": [(0.3 + 0.4j, 1)],
}


def complex_points(name):
    return COMPLEX_OWN.get(name) or (
        [(z,) for z in COMPLEX] if TABLE[name].arity == 1 else COMPLEX_PAIRS
    )


HOLOMORPHIC = [name for name, row in TABLE.items() if row.holomorphic and name not in SPECIAL]


@pytest.mark.parametrize(
    ("kind", "rel"),
    [(complex, 1e-11), (np.complex128, 1e-11), (np.complex64, 1e-4), (mpc, 1e-11)],
    ids=["complex", "complex128", "complex64", "mpc"],
)
@pytest.mark.parametrize("name", HOLOMORPHIC)
def test_holomorphic_derivatives(name, kind, rel):
    for point in complex_points(name):
        point = converted(TABLE[name], point, kind)
        assert_derivatives(name, point, rel, rel / 100)
        for i in refs.variables(TABLE[name]):
            assert type(along(name, point, i)(point[i])) is kind
            assert type(ad.grad(along(name, point, i))(point[i])) is kind


NOT_HOLOMORPHIC = [name for name, row in TABLE.items() if row.real]
WITH_A_VALUE = ("sign", "maximum", "minimum", "fmax", "fmin", "rint")  # NumPy has one


@pytest.mark.parametrize("kind", [complex, np.complex128])
@pytest.mark.parametrize("name", NOT_HOLOMORPHIC)
def test_what_is_not_holomorphic_is_refused(name, kind):
    point = converted(TABLE[name], complex_points(name)[0], kind)
    error, message = (ad.AutodiffError, name)
    if name in WITH_A_VALUE:
        error, message = (ad.RuleError, "not holomorphic")
    for i in refs.variables(TABLE[name]):
        f, z = along(name, point, i), point[i]
        for derivative in (
            ad.grad(f),
            ad.derivative(f),
            ad.derivative(f, n=2),
            ad.grad(ad.grad(f)),
            ad.grad(ad.derivative(f)),
        ):
            with pytest.raises(error, match=message):
                derivative(z)


@pytest.mark.parametrize("name", ["lgamma"])
def test_complex_function_that_nobody_has_says_how_to_give_it(name):
    with pytest.raises(ad.RuleError, match=rf"register_number\(complex, {{'{name}'"):
        WRAPPINGS[name](1 + 2j)


@pytest.mark.parametrize("name", ["erf", "erfc", "gamma"])
def test_complex_functions_of_scipy(name):
    z = mpmath.mpc(0.7, 0.4)
    exact = getattr(mpmath, name)
    np.testing.assert_allclose(WRAPPINGS[name](complex(z)), complex(exact(z)), rtol=1e-13)
    slope = ad.derivative(WRAPPINGS[name])(complex(z))
    np.testing.assert_allclose(slope, complex(mpmath.diff(exact, z)), rtol=1e-9)


def test_a_real_function_by_way_of_complex_numbers():
    f = lambda x: (ad.exp(1j * x) * ad.exp(-2j * x) + ad.sin(x * (1 + 1j)) ** 2) / (x + 2j)
    x = sympy.Symbol("x", real=True)
    i = sympy.I
    symbolic = (sympy.exp(-i * x) + sympy.sin(x * (1 + i)) ** 2) / (x + 2 * i)
    expected = complex(sympy.N(sympy.diff(symbolic, x).subs(x, sympy.Rational(7, 10)), 20))
    assert cmath.isclose(ad.grad(f)(0.7), expected, rel_tol=1e-13)
    assert cmath.isclose(ad.jvp(f, (0.7,), (1.0,))[1], expected, rel_tol=1e-13)


# Decimals and mpmath: as many digits as asked for. ------------------------------------------------


def decimal_points(row):
    for point in points(row, lambda x: Decimal(repr(x))):
        if row.name not in ("mod", "floor_divide") or point[0] * point[1] > 0:
            yield point  # of a negative quotient decimals round towards 0, all others down


@pytest.mark.parametrize("digits", [28, 50])
@pytest.mark.parametrize("name", TABLE)
def test_decimals_have_all_digits(name, digits):
    row = TABLE[name]
    with decimal.localcontext(prec=digits):
        for point in decimal_points(row):
            assert_derivatives(name, point, mpf(10) ** (4 - digits), mpf(10) ** (3 - digits))
            assert type(WRAPPINGS[name](*point)) in (Decimal, int)
            for i in refs.variables(row):
                assert type(ad.grad(along(name, point, i))(point[i])) is Decimal


def test_the_example_of_the_paper_in_decimals():
    with decimal.localcontext(prec=50):
        gradient = ad.grad(paper, (0, 1))(Decimal(2), Decimal(5))
    assert gradient[0] == Decimal("5.5")
    with mpmath.workdps(60):
        assert_close(gradient[1], 2 - mpmath.cos(5), mpf(10) ** -49)


def test_decimals_outside_the_domain_raise():
    with pytest.raises(ad.DomainError, match=r"div\(1, Decimal\('0'\)\)"):
        ad.grad(lambda x: 1 / x)(Decimal(0))
    with pytest.raises(ad.DomainError, match=r"div\(1, Fraction\(0, 1\)\)"):
        ad.grad(lambda x: 1 / x)(Fraction(0))


@pytest.mark.parametrize("name", [name for name in TABLE if name != "round"])  # mpf has no round
def test_mpmath_has_all_digits(name):
    row = TABLE[name]
    with mpmath.workdps(50):
        for point in points(row, mpf):
            assert_derivatives(name, point, mpf(10) ** -46, mpf(10) ** -47)
            for i in refs.variables(row):
                assert type(along(name, point, i)(point[i])) is mpf
                assert type(ad.grad(along(name, point, i))(point[i])) is mpf


@pytest.mark.parametrize("order", range(1, 9))
def test_many_derivatives_at_many_digits(order):
    f = lambda x: ad.exp(ad.sin(x)) / (1 + x * x)
    reference = lambda x: mpmath.exp(mpmath.sin(x)) / (1 + x * x)
    with mpmath.workdps(60):
        expected = mpmath.diff(reference, mpf("0.7"), order)
        assert_close(ad.derivative(f, n=order)(mpf("0.7")), expected, mpf(10) ** -50)


# Intervals: the enclosure of a derivative contains the derivative. --------------------------------

INTERVAL_PROGRAMS = {
    "sum": (lambda x: x + 3 + x, lambda x: x + 3 + x),
    "product": (lambda x: x * x * x - 2 * x, lambda x: x**3 - 2 * x),
    "power": (lambda x: x**3, lambda x: x**3),
    "quotient": (lambda x: x / (x + 1), lambda x: x / (x + 1)),
    "exp": (ad.exp, mpmath.exp),
    "sin": (ad.sin, mpmath.sin),
    "cos": (ad.cos, mpmath.cos),
    "log": (ad.log, mpmath.log),
    "sqrt": (ad.sqrt, mpmath.sqrt),
    "all": (
        lambda x: x * ad.exp(x) + ad.sin(x * x),
        lambda x: x * mpmath.exp(x) + mpmath.sin(x * x),
    ),
}


@pytest.mark.parametrize(("low", "high"), [("0.4", "0.5"), ("1.1", "1.3"), ("2", "2")])
@pytest.mark.parametrize("name", INTERVAL_PROGRAMS)
def test_interval_contains_the_derivative(name, low, high):
    f, reference = INTERVAL_PROGRAMS[name]
    x = iv.mpf([low, high])
    enclosures = {
        0: [ad.value_and_grad(f)(x)[0]],
        1: [ad.grad(f)(x), ad.jvp(f, (x,), (1,))[1]],
        2: [ad.derivative(f, n=2)(x), ad.grad(ad.grad(f))(x)],
    }
    with mpmath.workdps(30):
        inside = [mpf(low) + (mpf(high) - mpf(low)) * k / 8 for k in range(9)]
        for n, intervals in enclosures.items():
            for number in inside:
                derivative = mpmath.diff(reference, number, n)
                for interval in intervals:
                    assert interval.a <= derivative + mpf(10) ** -24
                    assert derivative - mpf(10) ** -24 <= interval.b


# Symbols: a derivative is an expression. ----------------------------------------------------------

SYMBOLIC = [
    name
    for name, row in TABLE.items()
    if not row.real and name not in ("where", "stop_gradient", "polygamma", "sinc_derivative")
]


@pytest.mark.parametrize("name", SYMBOLIC)
def test_derivative_of_a_symbol_is_that_of_sympy(name):
    symbols = sympy.symbols("x y", positive=True)[: TABLE[name].arity]
    value = WRAPPINGS[name](*symbols)
    for i, x in enumerate(symbols):
        derivative = ad.grad(WRAPPINGS[name], i)(*symbols)
        assert isinstance(derivative, sympy.Basic)
        assert sympy.simplify(derivative - sympy.diff(value, x)) == 0
        tangents = [int(s is x) for s in symbols]
        forward = ad.jvp(WRAPPINGS[name], symbols, tangents)[1]
        assert sympy.simplify(forward - derivative) == 0
        second = ad.grad(ad.grad(WRAPPINGS[name], i), i)(*symbols) - sympy.diff(value, x, 2)
        at = dict(zip(symbols, (sympy.Rational(3, 7), sympy.Rational(5, 8)), strict=False))
        assert abs(sympy.N(second.subs(at), 30)) < 1e-25


def test_the_example_of_the_paper_in_symbols():
    x1, x2 = sympy.symbols("x1 x2")
    d1, d2 = ad.grad(paper, (0, 1))(x1, x2)
    assert sympy.simplify(d1 - (1 / x1 + x2)) == 0
    assert sympy.simplify(d2 - (x1 - sympy.cos(x2))) == 0
    hessian = ad.hessian(lambda x: paper(*x))([x1, x2])
    expected = sympy.hessian(paper(x1, x2), (x1, x2))
    assert sympy.simplify(sympy.Matrix(hessian) - expected) == sympy.zeros(2)


def test_symbols_on_either_side_of_an_operator():
    x, a = sympy.symbols("x a")
    for f in (lambda t: a * t, lambda t: t * a, lambda t: a - t, lambda t: t / a, lambda t: a**t):
        assert sympy.simplify(ad.grad(f)(x) - sympy.diff(f(x), x)) == 0


# NumPy's scalars keep their kind. -----------------------------------------------------------------


every_scalar = pytest.mark.parametrize(
    ("name", "kind"),
    [
        (name, kind)
        for name in TABLE
        for kind in (np.float16, np.float32, np.float64, np.longdouble)
        if kind is not np.longdouble or name not in SPECIAL  # SciPy has no long double
    ],
)


def representable(row, point):
    """Tell whether value and derivatives up to the third are in the range of this kind."""
    largest = float(min(np.finfo(type(x)).max for x in point if isinstance(x, np.floating))) / 4
    numbers = [refs.reference(row.name, point, orders(row, 0, 0))]
    for i in refs.variables(row):
        numbers += [refs.reference(row.name, point, orders(row, i, n)) for n in (1, 2, 3)]
    return all(abs(number) < largest for number in numbers)


@every_scalar
def test_numpy_scalars(name, kind):
    row = TABLE[name]
    inside = [point for point in points(row, kind) if representable(row, point)]
    assert len(inside) >= 6
    tolerance = 256 * float(np.finfo(kind).eps)
    for point in inside:
        assert_derivatives(name, point, tolerance, tolerance)


@every_scalar
def test_numpy_scalars_keep_their_kind(name, kind):
    row = TABLE[name]
    for point in filter(lambda point: representable(row, point), points(row, kind)):
        for i in refs.variables(row):
            f, x = along(name, point, i), point[i]
            assert type(f(x)) is kind
            assert type(ad.grad(f)(x)) is kind
            assert type(ad.jvp(f, (x,), (kind(1),))[1]) is kind
            assert type(ad.derivative(f, n=2)(x)) is kind


@pytest.mark.parametrize("compare", ["lt", "le", "gt", "ge", "eq", "ne"])
@pytest.mark.parametrize("kind", [int, float, Fraction, Decimal, mpf, np.float32, np.float64])
def test_comparison_with_a_node_on_either_side(kind, compare):
    compare = getattr(operator, compare)
    for a, b in ((1, 2), (2, 2), (2, 1)):
        assert bool(compare(kind(a), ad.Node(kind(b)))) is compare(a, b)
        assert bool(compare(ad.Node(kind(a)), kind(b))) is compare(a, b)
        assert bool(compare(ad.Node(kind(a)), ad.Node(kind(b)))) is compare(a, b)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.longdouble, np.complex64])
def test_whole_and_python_constants_do_not_widen(kind):
    f = lambda x: 2 * x**3 + x / 3 - 1.5 * x + 0.5 / x + (x - 1) ** 2
    x = kind(1.25)
    for number in (
        f(x),
        ad.grad(f)(x),
        ad.jvp(f, (x,), (1,))[1],
        ad.derivative(f, n=3)(x),
        ad.grad(ad.grad(f))(x),
    ):
        assert type(number) is kind


WHOLE = {  # what whole numbers do to a number of any kind, and the same by mpmath
    "x / 3": (lambda x: x / 3, lambda x: x / 3),
    "3 / x": (lambda x: 3 / x, lambda x: 3 / x),
    "x**2 / 7": (lambda x: x**2 / 7, lambda x: x**2 / 7),
    "1 / (3 x)": (lambda x: 1 / (3 * x), lambda x: 1 / (3 * x)),
    "2**x": (lambda x: 2**x, lambda x: 2**x),
    "atan2(1, x)": (lambda x: ad.atan2(1, x), lambda x: mpmath.atan2(1, x)),
    "hypot(x, 1)": (lambda x: ad.hypot(x, 1), lambda x: mpmath.sqrt(x * x + 1)),
    "max(x, 1) / 3": (lambda x: ad.maximum(x, 1) / 3, lambda x: x / 3),
    "copysign(x, -1)": (lambda x: ad.copysign(x, -1), lambda x: -x),
    "7 % x": (lambda x: 7 % x, lambda x: 7 - x * mpmath.floor(7 / x)),
}


@pytest.mark.parametrize(
    ("kind", "digits"),
    [(Decimal, 50), (mpf, 50), (np.longdouble, np.finfo(np.longdouble).precision + 2)],
    ids=["Decimal", "mpf", "longdouble"],
)
@pytest.mark.parametrize("name", WHOLE)
def test_whole_constants_cost_no_digits(name, kind, digits):
    f, reference = WHOLE[name]
    with mpmath.workdps(60):
        first, second = [mpmath.diff(reference, mpf("3.25"), n) for n in (1, 2)]
    with mpmath.workdps(digits), decimal.localcontext(prec=digits):
        x = kind("3.25")
        for derivative in (ad.grad(f)(x), ad.jvp(f, (x,), (1,))[1]):
            assert type(derivative) is kind
            assert_close(derivative, first, mpf(10) ** (2 - digits))
        assert_close(ad.derivative(f, n=2)(x), second, mpf(10) ** (3 - digits), 1e-60)


@pytest.mark.parametrize("name", ["x / 3", "3 / x", "x**2 / 7", "1 / (3 x)", "max(x, 1) / 3"])
def test_whole_constants_keep_exact_numbers_exact(name):
    f, _ = WHOLE[name]
    x = sympy.Symbol("x", positive=True)
    expected = sympy.diff(f(x), x) if "max" not in name else sympy.Rational(1, 3)
    exact = expected.subs(x, sympy.Rational(13, 4))
    gradient = ad.grad(f)(Fraction(13, 4))
    assert gradient == Fraction(int(exact.p), int(exact.q))
    assert type(gradient) is Fraction
    if "max" not in name:
        assert ad.grad(f)(x) == expected
    assert type(ad.grad(f)(Checked(3.25))) is Checked


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.longdouble, np.complex64, mpf])
def test_python_constants_take_the_kind_of_the_input(kind):
    assert type(ad.grad(lambda x: 0.5 * x)(kind(2))) is kind
    assert type(ad.jvp(lambda x: 0.5 * x, (kind(2),), (1,))[1]) is kind


# Nodes are numbers too. ---------------------------------------------------------------------------

SMOOTH = {
    "cube": (lambda x: x**3, lambda x: x**3),
    "exp sin": (lambda x: ad.exp(ad.sin(x)), lambda x: mpmath.exp(mpmath.sin(x))),
    "quotient": (lambda x: ad.log(x) / (1 + x * x), lambda x: mpmath.log(x) / (1 + x * x)),
    "product": (lambda x: ad.sqrt(x) * ad.tanh(x), lambda x: mpmath.sqrt(x) * mpmath.tanh(x)),
    "power": (lambda x: x**x, lambda x: x**x),
    "softplus": (lambda x: ad.softplus(x * x), lambda x: mpmath.log(1 + mpmath.exp(x * x))),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_node_of_a_node_by_hand(name):
    f, reference = SMOOTH[name]
    with mpmath.workdps(30):
        expected = [mpmath.diff(reference, mpf(2), n) for n in range(4)]
    x = ad.Node(2.0)
    xx = ad.Node(x)
    y = f(xx)
    assert_close(y.value.value, expected[0], 1e-13)
    first = ad.reverse(y)[xx]
    assert_close(first.value, expected[1], 1e-13)
    assert_close(ad.reverse(first)[x], expected[2], 1e-12)
    assert_close(ad.forward(x)[first], expected[2], 1e-12)
    assert_close(ad.forward(xx)[y].value, expected[1], 1e-13)
    xxx = ad.Node(xx)
    second = ad.reverse(ad.reverse(f(xxx))[xxx])[xx]
    assert_close(ad.reverse(second)[x], expected[3], 1e-11)


@pytest.mark.parametrize("name", SMOOTH)
def test_node_by_hand_inside_a_transformation(name):
    f, reference = SMOOTH[name]

    def by_hand(x):
        node = ad.Node(x)
        return ad.reverse(f(node))[node]

    with mpmath.workdps(30):
        first, second, third = [mpmath.diff(reference, mpf(2), n) for n in (1, 2, 3)]
    assert_close(by_hand(2.0), first, 1e-13)
    assert_close(ad.grad(by_hand)(2.0), second, 1e-12)
    assert_close(ad.jvp(by_hand, (2.0,), (1.0,))[1], second, 1e-12)
    assert_close(ad.derivative(by_hand, n=2)(2.0), third, 1e-11)


# A number type of one's own. ----------------------------------------------------------------------


class Checked:
    """A number that mixes with itself and with whole numbers only: no float may slip in."""

    def __init__(self, value):
        assert type(value) in (int, float)
        self.value = float(value)

    def with_(self, other, compute):
        if type(other) not in (Checked, int):
            return NotImplemented
        return compute(self.value, other.value if type(other) is Checked else other)

    def __add__(self, other):
        return self.with_(other, lambda a, b: Checked(a + b))

    def __radd__(self, other):
        return self.with_(other, lambda a, b: Checked(b + a))

    def __sub__(self, other):
        return self.with_(other, lambda a, b: Checked(a - b))

    def __rsub__(self, other):
        return self.with_(other, lambda a, b: Checked(b - a))

    def __mul__(self, other):
        return self.with_(other, lambda a, b: Checked(a * b))

    def __rmul__(self, other):
        return self.with_(other, lambda a, b: Checked(b * a))

    def __truediv__(self, other):
        return self.with_(other, lambda a, b: Checked(a / b))

    def __rtruediv__(self, other):
        return self.with_(other, lambda a, b: Checked(b / a))

    def __pow__(self, other):
        return self.with_(other, lambda a, b: Checked(a**b))

    def __rpow__(self, other):
        return self.with_(other, lambda a, b: Checked(b**a))

    def __neg__(self):
        return Checked(-self.value)

    def __eq__(self, other):
        return self.with_(other, operator.eq)

    def __lt__(self, other):
        return self.with_(other, operator.lt)

    def __gt__(self, other):
        return self.with_(other, operator.gt)

    def __hash__(self):
        return hash(self.value)


ad.register_number(
    Checked,
    {
        "sin": lambda x: Checked(math.sin(x.value)),
        "cos": lambda x: Checked(math.cos(x.value)),
        "exp": lambda x: Checked(math.exp(x.value)),
        "log": lambda x: Checked(math.log(x.value)),
        "sqrt": lambda x: Checked(math.sqrt(x.value)),
        "atan": lambda x: Checked(math.atan(x.value)),
    },
)


class Dual:
    """The textbook's dual number a + b ε with ε² = 0, as a user would write it."""

    def __init__(self, a, b=0.0):
        self.a, self.b = a, b

    @staticmethod
    def of(other):
        return other if isinstance(other, Dual) else Dual(other)

    def __add__(self, other):
        other = self.of(other)
        return Dual(self.a + other.a, self.b + other.b)

    def __sub__(self, other):
        other = self.of(other)
        return Dual(self.a - other.a, self.b - other.b)

    def __rsub__(self, other):
        return self.of(other) - self

    def __mul__(self, other):
        other = self.of(other)
        return Dual(self.a * other.a, self.a * other.b + self.b * other.a)

    def __truediv__(self, other):
        other = self.of(other)
        return Dual(self.a / other.a, (self.b * other.a - self.a * other.b) / other.a**2)

    def __rtruediv__(self, other):
        return self.of(other) / self

    def __neg__(self):
        return Dual(-self.a, -self.b)

    __radd__, __rmul__ = __add__, __mul__


ad.register_number(
    Dual,
    {
        "sin": lambda x: Dual(math.sin(x.a), math.cos(x.a) * x.b),
        "cos": lambda x: Dual(math.cos(x.a), -math.sin(x.a) * x.b),
        "exp": lambda x: Dual(math.exp(x.a), math.exp(x.a) * x.b),
        "log": lambda x: Dual(math.log(x.a), x.b / x.a),
    },
)


def test_own_number():
    x1, x2 = Checked(2), Checked(5)
    value, (d1, d2) = ad.value_and_grad(paper, (0, 1))(x1, x2)
    assert [type(number) for number in (value, d1, d2)] == [Checked] * 3
    assert value.value == math.log(2) + 10 - math.sin(5)
    assert (d1.value, d2.value) == (5.5, 2 - math.cos(5))
    assert ad.jvp(paper, (x1, x2), (1, 0))[1].value == 5.5
    assert ad.jvp(paper, (x1, x2), (Checked(1), Checked(0)))[1].value == 5.5
    assert ad.derivative(paper, n=2)(x1, x2).value == -0.25
    assert ad.grad(ad.grad(paper))(x1, x2).value == -0.25
    assert ad.hvp(paper, (x1, x2), (1, 0))[0].value == -0.25


@pytest.mark.parametrize("name", ["sigmoid", "softplus", "expm1", "log1p", "logaddexp", "hypot"])
def test_own_number_uses_the_definition_of_what_it_lacks(name):
    floats = (0.75, 1.5)[: TABLE[name].arity]
    for i in range(len(floats)):
        derivative = ad.grad(WRAPPINGS[name], i)(*map(Checked, floats))
        assert type(derivative) is Checked
        assert derivative.value == pytest.approx(ad.grad(WRAPPINGS[name], i)(*floats), rel=1e-14)


@pytest.mark.parametrize("name", ["erf", "deg2rad", "exp2", "log2", "log10"])
def test_own_number_gets_constants_of_its_own_kind(name):
    derivative = ad.grad(WRAPPINGS[name])
    if name == "erf":
        ad.register_number(Checked, {"erf": lambda x: Checked(math.erf(x.value))})
    result = derivative(Checked(0.75))
    assert type(result) is Checked
    assert result.value == pytest.approx(derivative(0.75), rel=1e-14)


def test_own_number_without_a_function_says_how_to_give_it():
    with pytest.raises(ad.RuleError, match=r"register_number\(Checked, {'tan': your_function}\)"):
        ad.tan(Checked(1))
    with pytest.raises(ad.RuleError, match="there is no tan for numbers of type Checked"):
        ad.grad(ad.tan)(Checked(1))


def test_dual_numbers_over_reverse_mode_are_second_derivatives():
    f = lambda x: ad.exp(ad.sin(x)) * ad.log(x) / (x + 1)
    reference = lambda x: mpmath.exp(mpmath.sin(x)) * mpmath.log(x) / (x + 1)
    gradient = ad.grad(f)(Dual(2.0, 1.0))
    assert_close(gradient.a, mpmath.diff(reference, 2, 1), 1e-13)
    assert_close(gradient.b, mpmath.diff(reference, 2, 2), 1e-12)
    tangent = ad.jvp(f, (Dual(2.0, 1.0),), (1,))[1]
    assert (tangent.a, tangent.b) == pytest.approx((gradient.a, gradient.b), rel=1e-13)


# What does not depend on an input has the derivative 0, of the right kind. ------------------------

KINDS = {
    "int": 3,
    "float": 3.0,
    "complex": 3.0 + 1.0j,
    "Fraction": Fraction(3, 2),
    "Decimal": Decimal("1.5"),
    "mpf": mpf(3),
    "mpc": mpc(3, 1),
    "interval": iv.mpf([1, 2]),
    "float16": np.float16(3),
    "float32": np.float32(3),
    "float64": np.float64(3),
    "longdouble": np.longdouble(3),
    "complex64": np.complex64(3),
    "complex128": np.complex128(3),
    "Checked": Checked(3),
    "Symbol": sympy.Symbol("x"),
}


@pytest.mark.parametrize("name", KINDS)
def test_unused_input_has_the_derivative_zero_of_its_kind(name):
    x = KINDS[name]
    kind = sympy.Basic if name == "Symbol" else type(x)
    zeros = [
        ad.grad(lambda a, b: b * b)(x, x),
        ad.grad(lambda a: x)(x),
        ad.grad(lambda a: 7)(x),
        ad.jvp(lambda a, b: b * b, (x, x), (1, 0))[1],
        ad.jvp(lambda a: x, (x,), (1,))[1],
        ad.derivative(lambda a: x, n=3)(x),
        ad.grad(ad.grad(lambda a: a * 3))(x),
        ad.vjp(lambda a: x * x, x)[1](1)[0],
        *ad.jacobian(lambda v: v[0])([x, x])[1:],
        *ad.hessian(lambda v: v[0] * 3)([x, x])[0],
        *ad.hessian(lambda v: v[0] * 3)([x, x])[1],
    ]
    for zero in zeros:
        assert isinstance(zero, kind)
        assert zero == 0


@pytest.mark.parametrize("name", KINDS)
def test_identity_has_the_derivative_one_of_its_kind(name):
    x = KINDS[name]
    kind = sympy.Basic if name == "Symbol" else type(x)
    ones = [
        ad.grad(lambda a: a)(x),
        ad.grad(lambda a: a + 5)(x),
        ad.jvp(lambda a: a, (x,), (1,))[1],
        ad.derivative(lambda a: a + x)(x),
        ad.jacfwd(lambda a: a)(x),
        ad.grad(lambda v: v[0] - v[1])([x, x])[0],
    ]
    for one in ones:
        assert isinstance(one, kind)
        assert one == 1


@pytest.mark.parametrize("name", KINDS)
def test_constant_function_keeps_its_value(name):
    x = KINDS[name]
    value, gradient = ad.value_and_grad(lambda a: x)(x)
    assert value is x
    assert gradient == 0


class Interval:
    """A user's own number whose x - x is not 0."""

    def __init__(self, low, high):
        self.low, self.high = low, high

    def _of(self, other):
        return other if isinstance(other, Interval) else Interval(other, other)

    def __add__(self, other):
        if isinstance(other, Node):
            return NotImplemented
        other = self._of(other)
        return Interval(self.low + other.low, self.high + other.high)

    def __sub__(self, other):
        other = self._of(other)
        return Interval(self.low - other.high, self.high - other.low)

    def __mul__(self, other):
        if isinstance(other, Node):
            return NotImplemented
        other = self._of(other)
        ends = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        return Interval(min(ends), max(ends))

    __radd__, __rmul__ = __add__, __mul__


def test_own_intervals():
    x = Interval(1.0, 2.0)
    for f, low, high in [
        (lambda x: x, 1, 1),
        (lambda x: 3 * x, 3, 3),
        (lambda x: x * x, 2, 4),
        (lambda x: 5.0, 0, 0),
    ]:
        slope = grad(f)(x)
        assert (slope.low, slope.high) == (low, high)


@dataclass
class DataNumber:
    value: float

    def __add__(self, other):
        return DataNumber(self.value + getattr(other, "value", other))

    def __sub__(self, other):
        return DataNumber(self.value - getattr(other, "value", other))

    def __mul__(self, other):
        return DataNumber(self.value * getattr(other, "value", other))

    __radd__, __rmul__ = __add__, __mul__


def test_a_dataclass_with_arithmetic_is_a_number():
    assert grad(lambda x: x * x)(DataNumber(3.0)) == DataNumber(6.0)


def test_a_node_hidden_in_a_users_number_is_noticed():
    with pytest.raises(ad.ResultError, match="NotImplemented"):
        grad(lambda x: Careless(2.0) * x)(Careless(3.0))


class Careless:
    def __init__(self, value):
        self.value = value

    def __mul__(self, other):
        return Careless(self.value * other)

    __add__ = __sub__ = __rmul__ = __mul__


def test_nodes_of_other_libraries_meet_in_comparisons():
    assert np.float64(1.0) < Node(2.0)
    assert np.isfinite(Node(2.0))


def test_float32_stays_float32_beside_float64():
    assert type(grad(lambda x: x * np.float64(2.0))(np.float32(3.0))) is np.float32
