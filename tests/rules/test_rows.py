"""Every row of the table against mpmath at 50 digits, its conventions, and the domain edges."""

import inspect
import math
import pickle
import warnings
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import scipy.special

import references as refs
import simpleautodiff as ad
from simpleautodiff import grad
from simpleautodiff.core.primitive import find_values_read

TABLE, WRAPPINGS = refs.TABLE, refs.WRAPPINGS


every_row = pytest.mark.parametrize("row", [pytest.param(row, id=n) for n, row in TABLE.items()])


def places(row):
    """Yield every point of a row with every argument that it may be differentiated by."""
    for point in refs.points(row):
        for i in refs.variables(row):
            yield point, i


def along(row, point, i):
    """Return the row as a function of its argument i."""
    wrapping = WRAPPINGS[row.name]
    return lambda x: wrapping(*point[:i], x, *point[i + 1 :])


def orders(row, *by):
    """Say how often a reference is differentiated by each argument."""
    return tuple(by.count(i) for i in range(row.arity))


def named(cases):
    """Name test cases (function, point, ...) by the call they are about."""
    return [pytest.param(*case, id=f"{case[0]}({', '.join(map(str, case[1]))})") for case in cases]


def assert_close(number, expected, rel, floor=0.0, at=None):
    assert refs.close(number, expected, rel, floor), f"{number!r} is not {expected} at {at}"


# Every row is complete. ---------------------------------------------------------------------------


def test_every_row_has_a_reference_and_a_wrapping():
    assert set(refs.REFERENCES) == set(TABLE)
    assert set(WRAPPINGS) == set(TABLE)


@every_row
def test_has_points(row):
    assert len(refs.points(row)) >= 8
    assert len(set(refs.points(row))) == len(refs.points(row))


@every_row
def test_says_what_it_is(row):
    assert TABLE[row.name] is row
    assert row.arity == len(row.partials)
    for said in (row.name, row.text, row.latex, row.reason, row.domain.text):
        assert said.strip()
    for kink in row.kinks:
        assert kink.text.strip()
        assert kink.choice.strip()


@every_row
def test_prints_with_its_arguments(row):
    names = ["first", "second", "third"][: row.arity]
    for template in (row.text, row.latex):
        written = template.format(*names)
        assert all(name in written for name in names)
    assert row.latex.format(*names).count("{") == row.latex.format(*names).count("}")


@every_row
def test_documents_itself(row):
    wrapping = WRAPPINGS[row.name]
    assert wrapping.__name__ == {"abs": "absolute"}.get(row.name, row.name)
    for said in (row.reason, row.domain.text, *[kink.choice for kink in row.kinks]):
        assert said in wrapping.__doc__


@pytest.mark.parametrize("name", sorted(refs.FIXED))
def test_what_is_no_real_number_has_the_derivative_zero(name):
    row = TABLE[name]
    for point in refs.points(row):
        for i in refs.FIXED[name]:
            assert row.partial(i, WRAPPINGS[name](*point), point) is ad.ZERO


# Values and derivatives. --------------------------------------------------------------------------


@every_row
def test_value(row):
    for point in refs.points(row):
        expected = refs.reference(row.name, point)
        nodes = [ad.Node(x) if i in refs.variables(row) else x for i, x in enumerate(point)]
        for value in (
            WRAPPINGS[row.name](*point),
            WRAPPINGS[row.name](*nodes).value,
            row.compute(*point),
        ):
            assert_close(value, expected, 1e-14, 1e-16, at=point)  # 1e-16: half a last place of 1


@every_row
def test_first_derivative(row):
    for point, i in places(row):
        f = along(row, point, i)
        expected = refs.reference(row.name, point, orders(row, i))
        reverse = ad.grad(f)(point[i])
        _, forward = ad.jvp(f, (point[i],), (1.0,))
        assert_close(reverse, expected, 1e-11, 1e-13, at=point)
        assert_close(forward, expected, 1e-11, 1e-13, at=point)
        assert forward == pytest.approx(reverse, rel=1e-13, abs=1e-13)
        assert ad.derivative(f)(point[i]) == forward


@every_row
def test_all_arguments_at_once(row):
    by = tuple(refs.variables(row))
    for point in refs.points(row):
        gradient = ad.grad(WRAPPINGS[row.name], by)(*point)
        for i, partial in zip(by, gradient, strict=True):
            assert_close(
                partial, refs.reference(row.name, point, orders(row, i)), 1e-11, 1e-13, at=point
            )


@every_row
def test_second_derivative(row):
    for point, i in places(row):
        f, x = along(row, point, i), point[i]
        expected = refs.reference(row.name, point, orders(row, i, i))
        for second in (
            ad.derivative(f, n=2)(x),
            ad.grad(ad.grad(f))(x),
            ad.jvp(ad.grad(f), (x,), (1.0,))[1],
            ad.grad(ad.derivative(f))(x),
            ad.hessian(f)(x),
            ad.hvp(f, (x,), (1.0,)),
        ):
            assert_close(second, expected, 1e-10, 1e-13, at=point)


@every_row
def test_third_derivative(row):
    for point, i in places(row):
        f, x = along(row, point, i), point[i]
        expected = refs.reference(row.name, point, orders(row, i, i, i))
        for third in (
            ad.derivative(f, n=3)(x),
            ad.grad(ad.grad(ad.grad(f)))(x),
            ad.jvp(ad.grad(ad.grad(f)), (x,), (1.0,))[1],
            ad.grad(ad.derivative(f, n=2))(x),
            ad.derivative(ad.grad(f), n=2)(x),
        ):
            assert_close(third, expected, 1e-10, 1e-13, at=point)


@pytest.mark.parametrize("name", [name for name in TABLE if len(refs.variables(TABLE[name])) > 1])
def test_mixed_second_derivatives(name):
    row = TABLE[name]
    by = refs.variables(row)
    for point in refs.points(row):

        def f(xs, point=point):
            args = list(point)
            for i, x in zip(by, xs, strict=True):
                args[i] = x
            return WRAPPINGS[name](*args)

        hessian = ad.hessian(f)([point[i] for i in by])
        for i, derivatives in zip(by, hessian, strict=True):
            for j, second in zip(by, derivatives, strict=True):
                expected = refs.reference(name, point, orders(row, i, j))
                assert_close(second, expected, 1e-10, 1e-13, at=(point, i, j))


# NumPy's scalars and ufuncs. ----------------------------------------------------------------------


def as_scalars(row, point, kind):
    by = refs.variables(row)
    return tuple(kind(x) if i in by else x for i, x in enumerate(point))


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@every_row
def test_numpy_scalars_keep_their_kind(row, kind):
    tolerance = 64 * float(np.finfo(kind).eps)
    for point in refs.points(row):
        args = as_scalars(row, point, kind)
        value = WRAPPINGS[row.name](*args)
        assert type(value) is kind
        assert_close(value, refs.reference(row.name, args), tolerance, tolerance, at=args)
        for name in row.numpy:
            if hasattr(np, name):
                np.testing.assert_array_max_ulp(value, kind(getattr(np, name)(*args)), 2, kind)
        for i in refs.variables(row):
            reverse = ad.grad(WRAPPINGS[row.name], i)(*args)
            _, forward = ad.jvp(along(row, args, i), (args[i],), (kind(1),))
            assert type(reverse) is kind
            assert type(forward) is kind
            assert reverse == pytest.approx(forward, rel=tolerance, abs=1e-13)
            expected = refs.reference(row.name, args, orders(row, i))
            assert_close(reverse, expected, tolerance, tolerance, at=args)


UFUNCS = [
    (row, ufunc)
    for row in TABLE.values()
    for ufunc in row.numpy
    if isinstance(getattr(np, ufunc, None), np.ufunc)
]


@pytest.mark.parametrize(("row", "ufunc"), UFUNCS, ids=[name for _, name in UFUNCS])
def test_ufunc_of_a_node_is_the_row(row, ufunc):
    for point in refs.points(row):
        for i in refs.variables(row):
            gradient = ad.grad(getattr(np, ufunc), i)(*point)
            assert gradient == ad.grad(WRAPPINGS[row.name], i)(*point)
        assert getattr(np, ufunc)(*map(ad.Node, point)).operator == row.name


# Kinks: the choices that the documentation makes. -------------------------------------------------

QUIET_KINKS = [  # function, point, the derivative by each argument
    ("abs", (0.0,), (0.0,)),
    ("abs", (-0.0,), (0.0,)),
    ("relu", (0.0,), (0.0,)),
    ("maximum", (1.5, 1.5), (0.5, 0.5)),
    ("minimum", (1.5, 1.5), (0.5, 0.5)),
    ("fmax", (-2.0, -2.0), (0.5, 0.5)),
    ("fmin", (-2.0, -2.0), (0.5, 0.5)),
    ("fmax", (math.nan, 2.0), (0.0, 1.0)),
    ("fmax", (2.0, math.nan), (1.0, 0.0)),
    ("fmin", (math.nan, 2.0), (0.0, 1.0)),
    ("fmin", (2.0, math.nan), (1.0, 0.0)),
    ("clip", (0.0, 0.0, 1.0), (0.5, 0.5, 0.0)),
    ("clip", (1.0, 0.0, 1.0), (0.5, 0.0, 0.5)),
    ("hypot", (0.0, 0.0), (0.0, 0.0)),
    ("atan2", (0.0, 0.0), (0.0, 0.0)),
    ("atan2", (0.0, -2.0), (-0.5, 0.0)),
    ("copysign", (0.0, 1.0), (0.0, 0.0)),
    ("copysign", (2.0, 0.0), (1.0, 0.0)),
    ("copysign", (2.0, -0.0), (-1.0, 0.0)),
    ("power", (0.0, 0.0), (0.0, None)),
    ("power", (3.0, 0.0), (0.0, math.log(3.0))),
    ("power", (0.0, 1.0), (1.0, 0.0)),
    ("power", (0.0, 2.0), (0.0, 0.0)),
    ("power", (0.0, 2.5), (0.0, 0.0)),
    ("mod", (6.0, 2.0), (1.0, -3.0)),
    ("floor_divide", (6.0, 2.0), (0.0, 0.0)),
    *[(name, (2.0,), (0.0,)) for name in ("floor", "ceil", "trunc")],
    *[("rint", (x,), (0.0,)) for x in (0.5, 1.5, -2.5)],
    *[("sign", (x,), (0.0,)) for x in (0.0, 3.0, -3.0)],
    ("round", (0.5, 0), (0.0, None)),
]


@pytest.mark.parametrize("kind", [float, np.float64, np.float32])
@pytest.mark.parametrize(("name", "point", "expected"), named(QUIET_KINKS))
def test_choice_at_a_kink(name, point, expected, kind):
    args = as_scalars(TABLE[name], point, kind)
    for i, derivative in enumerate(expected):
        if derivative is not None:
            f, x = along(TABLE[name], args, i), args[i]
            reverse = ad.grad(f)(x)
            assert reverse == kind(derivative)
            assert ad.jvp(f, (x,), (kind(1),))[1] == reverse
            assert ad.derivative(f)(x) == reverse


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize(("name", "point", "expected"), named(QUIET_KINKS))
def test_choice_at_a_kink_keeps_the_kind_of_number(name, point, expected, kind):
    args = as_scalars(TABLE[name], point, kind)
    for i, derivative in enumerate(expected):
        if derivative is not None:
            f, x = along(TABLE[name], args, i), args[i]
            assert type(ad.grad(f)(x)) is kind
            assert type(ad.jvp(f, (x,), (kind(1),))[1]) is kind
            assert type(ad.derivative(f)(x)) is kind


INFINITE = [  # function, point, argument, its derivative
    ("sqrt", (0.0,), 0, math.inf),
    ("cbrt", (0.0,), 0, math.inf),
    ("asin", (1.0,), 0, math.inf),
    ("asin", (-1.0,), 0, math.inf),
    ("acos", (1.0,), 0, -math.inf),
    ("acos", (-1.0,), 0, -math.inf),
    ("acosh", (1.0,), 0, math.inf),
    ("power", (0.0, 0.5), 0, math.inf),
]


@pytest.mark.parametrize(("name", "point", "i", "expected"), named(INFINITE))
def test_infinite_slope_is_infinite_and_says_so(name, point, i, expected):
    f = along(TABLE[name], point, i)
    message = rf"the derivative of {name}\({point[0]}"
    with pytest.warns(ad.DomainWarning, match=message):
        assert ad.grad(f)(point[i]) == expected
    with pytest.warns(ad.DomainWarning, match=message):
        assert ad.jvp(f, (point[i],), (1.0,))[1] == expected


def test_the_exponent_of_zero_to_the_power_of_zero():
    with pytest.warns(ad.DomainWarning, match=r"log\(0\.0\)"):
        assert ad.grad(lambda y: 0.0**y)(0.0) == -math.inf


def test_every_kink_is_pinned():
    pinned = [(name, point) for name, point, _ in QUIET_KINKS]
    pinned += [(name, point) for name, point, _, _ in INFINITE]
    for row in TABLE.values():
        for kink in row.kinks:
            assert any(name == row.name and kink.happens(*point) for name, point in pinned), (
                f"{row.name} at {kink.text}"
            )


def test_ties_keep_exact_numbers_exact():
    tie = Fraction(3, 7)
    assert ad.grad(ad.maximum, (0, 1))(tie, tie) == (Fraction(1, 2), Fraction(1, 2))
    assert ad.grad(ad.clip)(tie, tie, 1) == Fraction(1, 2)


@pytest.mark.parametrize("n", range(7))
def test_every_derivative_of_sinc_at_zero(n):
    expected = 0.0 if n % 2 else (-1) ** (n // 2) * math.pi**n / (n + 1)
    assert ad.derivative(ad.sinc, n=n)(0.0) == pytest.approx(expected, rel=1e-15, abs=0.0)
    nested = ad.sinc
    for _ in range(n):
        nested = ad.grad(nested)
    assert nested(0.0) == pytest.approx(expected, rel=1e-15, abs=0.0)


@pytest.mark.parametrize("power", range(6))
@pytest.mark.parametrize("n", range(7))
@pytest.mark.parametrize("kind", [int, float])
def test_every_derivative_of_a_whole_power_at_zero(power, n, kind):
    expected = math.factorial(n) if n == power else 0
    f = lambda x: x ** kind(power)
    assert ad.derivative(f, n=n)(0.0) == expected
    nested = f
    for _ in range(min(n, 4)):
        nested = ad.grad(nested)
    assert nested(0.0) == (math.factorial(power) if min(n, 4) == power else 0)


@pytest.mark.parametrize("x", [-2.0, -0.5, 1.5])
@pytest.mark.parametrize("power", [-2, -1, 2, 3, -3.0, 4.0])
def test_whole_power_of_a_negative_number(x, power):
    assert ad.grad(lambda x: x**power)(x) == pytest.approx(power * x ** (power - 1), rel=1e-15)
    second = power * (power - 1) * x ** (power - 2)
    assert ad.derivative(lambda x: x**power, n=2)(x) == pytest.approx(second, rel=1e-15)


def test_the_branch_not_taken_does_not_count():
    f = lambda x: ad.where(x < 1, x, ad.sqrt(x))
    assert ad.grad(f)(0.0) == 1.0


def test_the_branch_not_taken_does_not_count_in_forward_mode():
    f = lambda x: ad.where(x < 1, x, ad.sqrt(x))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ad.DomainWarning)  # of sqrt, which was computed
        assert ad.jvp(f, (0.0,), (1.0,))[1] == 1.0


# Outside the domain. ------------------------------------------------------------------------------

EDGES = [  # function, point, what NumPy or SciPy gives
    ("log", (0.0,), np.log),
    ("log", (-1.0,), np.log),
    ("log2", (0.0,), np.log2),
    ("log10", (-2.0,), np.log10),
    ("log1p", (-1.0,), np.log1p),
    ("log1p", (-2.0,), np.log1p),
    ("div", (1.0, 0.0), np.divide),
    ("div", (-1.0, 0.0), np.divide),
    ("div", (0.0, 0.0), np.divide),
    ("mod", (1.0, 0.0), np.mod),
    ("floor_divide", (1.0, 0.0), np.floor_divide),
    ("reciprocal", (0.0,), np.reciprocal),
    ("sqrt", (-1.0,), np.sqrt),
    ("asin", (2.0,), np.arcsin),
    ("acos", (-2.0,), np.arccos),
    ("acosh", (0.5,), np.arccosh),
    ("atanh", (1.0,), np.arctanh),
    ("atanh", (-1.0,), np.arctanh),
    ("atanh", (2.0,), np.arctanh),
    ("power", (0.0, -1), np.power),
    ("power", (-8.0, 1 / 3), np.power),
    ("power", (10.0, 400.0), np.power),
    ("exp", (1000.0,), np.exp),
    ("exp2", (2000.0,), np.exp2),
    ("expm1", (1000.0,), np.expm1),
    ("sinh", (-1000.0,), np.sinh),
    ("cosh", (1000.0,), np.cosh),
    ("gamma", (0.0,), scipy.special.gamma),
    ("gamma", (-1.0,), scipy.special.gamma),
    ("gamma", (200.0,), scipy.special.gamma),
    ("lgamma", (0.0,), scipy.special.gammaln),
    ("lgamma", (-1.0,), scipy.special.gammaln),
]


@pytest.mark.parametrize(("name", "point", "numpy"), named(EDGES))
def test_outside_the_domain_is_what_numpy_gives_and_a_warning(name, point, numpy):
    with np.errstate(all="ignore"):
        expected = float(numpy(*map(np.float64, point)))
    assert not math.isfinite(expected)
    message = rf"{name}\({', '.join(map(repr, point))}\) is not a finite number".replace(".", r"\.")
    with pytest.warns(ad.DomainWarning, match=message):
        value = WRAPPINGS[name](*point)
    with pytest.warns(ad.DomainWarning, match=message):
        node = WRAPPINGS[name](*map(ad.Node, point))
    np.testing.assert_equal([value, node.value], [expected, expected])


@pytest.mark.parametrize("operation", ["1 / x", "x ** -1", "1.0 / x", "x ** -1.0", "2 // x"])
def test_operators_leave_the_domain_with_a_warning_too(operation):
    with pytest.warns(ad.DomainWarning, match="is not a finite number"):
        node = eval(operation, {"x": ad.Node(0.0)})
    assert node.value == math.inf


@pytest.mark.parametrize(
    ("name", "x", "expected"),
    [("log", 0.0, math.inf), ("log1p", -1.0, math.inf), ("reciprocal", 0.0, -math.inf)],
)
def test_derivative_at_a_pole(name, x, expected):
    with pytest.warns(ad.DomainWarning, match=rf"{name}\({x}\)"):
        assert ad.grad(WRAPPINGS[name])(x) == expected
    with pytest.warns(ad.DomainWarning, match=rf"{name}\({x}\)"):
        assert ad.derivative(WRAPPINGS[name])(x) == expected


NUMPY_UNARY = [(row, ufunc) for row, ufunc in UFUNCS if row.arity == 1]


@pytest.mark.parametrize(("row", "ufunc"), NUMPY_UNARY, ids=[name for _, name in NUMPY_UNARY])
@pytest.mark.parametrize("x", [math.nan, math.inf, -math.inf])
def test_nan_and_inf_give_what_numpy_gives(row, ufunc, x):
    with np.errstate(all="ignore"):
        expected = float(getattr(np, ufunc)(x))
    if math.isnan(expected) and not math.isnan(x):
        with pytest.warns(ad.DomainWarning, match=rf"{row.name}\({x}\)"):
            value = WRAPPINGS[row.name](x)
    else:
        value = WRAPPINGS[row.name](x)
    np.testing.assert_equal(value, expected)


@pytest.mark.filterwarnings("ignore:numpy.fix is deprecated")
@pytest.mark.parametrize("name", ["floor", "ceil", "trunc", "rint", "fix", "around", "round"])
def test_whole_numbers_are_numpys_to_the_sign_of_zero(name):
    function = getattr(np, name)
    for x in (-0.0, 0.0, -0.3, 0.3, -0.5, 0.5, -1.5, 2.5, -1e-30, 1e30, -math.inf, math.nan):
        for kind in (float, np.float64, np.float32, lambda x: np.array([x, x])):
            number = kind(x)
            expected = function(number)
            value, _ = ad.jvp(function, (number,), (np.ones_like(number),))
            np.testing.assert_array_equal(value, expected)
            np.testing.assert_array_equal(np.signbit(value), np.signbit(expected))


@pytest.mark.parametrize(
    ("name", "x", "expected"),
    [("abs", math.inf, 1.0), ("abs", -math.inf, -1.0), ("relu", math.inf, 1.0)],
)
def test_slope_at_infinity(name, x, expected):
    assert ad.grad(WRAPPINGS[name])(x) == expected


# Large and small numbers: a row inside a derivative of a derivative is still the row itself. ------

SHARE = 1 / (1 + math.exp(-1.0))
EXTREME = [  # function, point, argument, the first and the second derivative
    ("softplus", (800.0,), 0, 1.0, 0.0),
    ("softplus", (-800.0,), 0, 0.0, 0.0),
    ("sigmoid", (800.0,), 0, 0.0, 0.0),
    ("sigmoid", (-800.0,), 0, 0.0, 0.0),
    ("sigmoid", (-700.0,), 0, math.exp(-700.0), math.exp(-700.0)),
    ("logaddexp", (1000.0, 1001.0), 0, 1 - SHARE, SHARE * (1 - SHARE)),
    ("logaddexp", (1000.0, 1001.0), 1, SHARE, SHARE * (1 - SHARE)),
    ("logaddexp", (-1000.0, -1001.0), 0, SHARE, SHARE * (1 - SHARE)),
    ("logaddexp", (1000.0, -1000.0), 0, 1.0, 0.0),
    ("logaddexp2", (3000.0, 3001.0), 0, 1 / 3, 2 / 9 * math.log(2)),
    ("logaddexp2", (-3000.0, -3001.0), 0, 2 / 3, 2 / 9 * math.log(2)),
    ("hypot", (3e-200, 4e-200), 0, 0.6, 0.64 / 5e-200),
    ("hypot", (3e200, 4e200), 1, 0.8, 0.36 / 5e200),
    ("cbrt", (-8.0,), 0, 1 / 12, 1 / 144),
]


@pytest.mark.parametrize(("name", "point", "i", "first", "second"), named(EXTREME))
def test_no_overflow_in_any_order_of_nesting(name, point, i, first, second):
    f, x = along(TABLE[name], point, i), point[i]
    assert ad.grad(f)(x) == pytest.approx(first, rel=1e-12, abs=0.0)
    assert ad.jvp(f, (x,), (1.0,))[1] == pytest.approx(first, rel=1e-12, abs=0.0)
    assert ad.derivative(f, n=2)(x) == pytest.approx(second, rel=1e-12, abs=0.0)
    assert ad.grad(ad.grad(f))(x) == pytest.approx(second, rel=1e-12, abs=0.0)
    assert ad.hvp(f, (x,), (1.0,)) == pytest.approx(second, rel=1e-12, abs=0.0)
    assert ad.grad(ad.derivative(f))(x) == pytest.approx(second, rel=1e-12, abs=0.0)


@pytest.mark.parametrize("name", ["log1p", "expm1"])
def test_small_numbers_keep_their_digits_in_any_order_of_nesting(name):
    value = WRAPPINGS[name]
    x = 1e-17
    assert value(x) == x
    assert ad.value_and_grad(value)(x)[0] == x
    inner = ad.jvp(lambda x: ad.value_and_grad(value)(x)[0], (x,), (1.0,))
    assert inner == (x, 1.0)
    assert ad.value_and_grad(lambda x: ad.value_and_grad(value)(x)[0])(x) == (x, 1.0)


def test_mixed_derivatives_of_a_power_at_the_exponent_zero():
    f = lambda p: p[0] ** p[1]
    log2 = math.log(2)
    assert ad.hessian(f)([2.0, 0.0]) == [[0.0, 0.5], [0.5, pytest.approx(log2**2)]]
    expected = mpmath.diff(lambda t: (2 + t) ** t, 0, 2)
    assert ad.derivative(lambda t: (2 + t) ** t, 2)(0.0) == pytest.approx(float(expected))
    assert grad(lambda x: x**0)(0.0) == 0.0


def test_a_negative_number_to_a_fractional_power_is_nan_in_every_respect():
    with pytest.warns(ad.DomainWarning):
        value, slope = ad.value_and_grad(lambda x: x**1.5)(-2.0)
    assert math.isnan(value)
    assert math.isnan(slope)


def test_nan_is_never_a_silent_zero():
    nan = math.nan
    for f in (ad.relu, lambda x: ad.clip(x, 0.0, 1.0), lambda x: ad.maximum(x, 1.0)):
        assert math.isnan(grad(f)(nan))


def test_wrapping_functions_can_be_pickled_and_inspected():
    for function in (ad.sin, ad.mul, ad.absolute, ad.where):
        assert pickle.loads(pickle.dumps(function)) is function
    assert str(inspect.signature(ad.mul)) == "(x, y, /)"


@pytest.mark.parametrize("n", [1, 5, 12, 20, 30])
@pytest.mark.parametrize("x", [0.05, 0.9, 3.3, 6.7, 9.8, 25.1])
def test_sinc_of_every_order(n, x):
    with mpmath.workdps(80):
        t = mpmath.pi * mpmath.mpf(x)
        integral = mpmath.quad(
            lambda u: u**n * mpmath.cos(t * u + n * mpmath.pi / 2), mpmath.linspace(0, 1, 30)
        )
        expected = float(mpmath.pi**n * integral)
    scale = float(mpmath.pi**n) / (n + 1)
    assert ad.derivative(ad.sinc, n)(x) == pytest.approx(expected, abs=1e-13 * scale)


def test_sinc_of_arrays_with_infinities_and_of_float32_far_out():
    found = ad.sinc(np.array([np.inf, 0.0, -np.inf, np.nan, 1.5]))
    assert np.isnan(found).tolist() == [True, False, True, True, False]
    assert abs(ad.sinc(np.float32(1001.0))) < 1e-9  # sin(1001 π) = 0


def test_the_slope_of_copysign_in_batches():
    x, y = np.array([2.0, -3.0], np.float32), np.array([-1.0, 0.0], np.float32)
    slopes = ad.vmap(ad.grad(ad.copysign))(x, y)
    assert slopes.tolist() == [-1.0, -1.0]
    assert slopes.dtype == np.float32


OF_ORDERS = {"polygamma", "sinc_derivative"}  # the first argument is one whole number
ELEMENTWISE = {
    name: row
    for name, row in TABLE.items()
    if not (row.arrays or row.settings or row.floats or name in OF_ORDERS) and row.arity <= 2
}


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_a_rule_reads_what_it_says(name):
    row = ELEMENTWISE[name]
    for start in (0.3, 1.2):
        args = [np.array([start, start + 0.4]), np.array([0.7, 2.1])][: row.arity]
        with np.errstate(all="ignore"):
            value = row.compute(*args)
            for k in range(row.arity):
                read = find_values_read(row, (k,))
                nan = np.full(2, np.nan)
                known = row.partial(k, value, tuple(args))
                blind = row.partial(
                    k,
                    value if -1 in read else nan,
                    tuple(arg if i in read else nan for i, arg in enumerate(args)),
                )
                if isinstance(known, (np.ndarray, float, int)):
                    np.testing.assert_array_equal(blind, known)


@pytest.mark.parametrize(
    ("x", "y"), [(1.0, 1e-9), (1e-9, 1.0), (3.0, 4.0), (7e202, 1e190), (1e-120, 2e-130), (5.0, 0.0)]
)
def test_second_derivatives_of_hypot_keep_all_digits(x, y):
    """They are y²/v³, -xy/v³ and x²/v³, by mpmath; 1/v - x²/v³ would cancel."""
    with mpmath.workdps(40):
        p, q = mpmath.mpf(x), mpmath.mpf(y)
        cube = mpmath.sqrt(p * p + q * q) ** 3
        expected = [[q * q / cube, -p * q / cube], [-p * q / cube, p * p / cube]]
        expected = [[float(number) for number in row] for row in expected]
    for mode in (ad.jacfwd, ad.jacrev):
        found = mode(ad.jacrev(ad.hypot, (0, 1)), (0, 1))(x, y)
        np.testing.assert_allclose(found, expected, rtol=4e-16)
    compiled = ad.jit(ad.hessian(lambda z: np.hypot(z[0], z[1])), tier="tape")
    compiled(np.array([1.0, 2.0]))
    np.testing.assert_allclose(compiled(np.array([x, y])), expected, rtol=1e-15)
