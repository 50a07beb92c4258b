"""A user's own primitives: rules that serve every mode, and wrong ones that are refused."""

import dataclasses
import inspect
import math

import numpy as np
import pytest

import simpleautodiff as ad
from simpleautodiff import ZERO, derivative, grad, jvp, primitive


@primitive(lambda v, x: 1 / (1 + abs(x)) ** 2, kinks=[ad.Kink("x = 0", lambda x: x == 0, "1")])
def softsign(x):
    """Squash x into (-1, 1)."""
    return x / (1 + abs(x))


@primitive(lambda v, x, y: y * ad.cos(x * y), lambda v, x, y: x * ad.cos(x * y))
def sine_of_product(x, y):
    return math.sin(x * y)


def test_one_declaration_serves_both_modes_and_every_order():
    reference = lambda x, y: ad.sin(x * y)
    for f in (grad, derivative):
        assert f(sine_of_product)(0.3, 2.0) == pytest.approx(f(reference)(0.3, 2.0), rel=1e-14)
    assert derivative(sine_of_product, 4)(0.3, 2.0) == pytest.approx(16 * math.sin(0.6), rel=1e-13)
    hessian = ad.hessian(sine_of_product, (0, 1))(0.3, 2.0)
    for row, expected in zip(hessian, ad.hessian(reference, (0, 1))(0.3, 2.0), strict=True):
        assert row == pytest.approx(expected, rel=1e-13)
    mixed = grad(grad(sine_of_product, 0), 1)(0.3, 2.0)
    assert mixed == pytest.approx(grad(grad(reference, 0), 1)(0.3, 2.0), rel=1e-14)
    assert jvp(softsign, (1.0,), (2.0,)) == (0.5, 0.5)
    assert softsign(-3.0) == -0.75
    assert softsign.__doc__ == "Squash x into (-1, 1)."
    assert softsign.__name__ == "softsign"


def test_the_value_function_sees_plain_numbers_only():
    seen = []

    @primitive(lambda v, x: v)
    def exponential(x):
        seen.append(type(x))
        return math.exp(x)

    grad(grad(exponential))(1.0)
    derivative(exponential, 3)(1.0)
    assert set(seen) == {float}


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (lambda v, x: ad.sin(x), "the rule of wrong for argument 1 is wrong: at x = 0.7"),
        (lambda v, x: ad.cos(x) * (1 + 1e-6), "is wrong"),
        (lambda v, x: -ad.cos(x), "differences of the function give"),
        (lambda v, x: ZERO, "it gives 0.0"),
        (lambda v, x: math.cos(x), "cannot be differentiated again"),
        (lambda v, x: ad.stop_gradient(ad.cos(x)), "the derivative of the rule of wrong"),
    ],
)
def test_a_wrong_rule_is_refused(rule, message):
    def wrong(x):
        return math.sin(x)

    with pytest.raises(ad.RuleError, match=message):
        primitive(rule)(wrong)


def test_points_at_which_python_gives_complex_numbers_are_outside_of_the_domain():
    @primitive(lambda v, x, y: y * x ** (y - 1), lambda v, x, y: v * ad.log(x))
    def to_the(x, y):
        return x**y

    assert grad(to_the, (0, 1))(2.0, 3.0) == pytest.approx((12.0, 8 * math.log(2)))
    with pytest.raises(ad.RuleError, match="argument 1 is wrong"):
        primitive(lambda v, x, y: 2 * v, lambda v, x, y: v * ad.log(x))(lambda x, y: x**y)


def test_the_refusal_gives_the_point_and_both_numbers():
    with pytest.raises(ad.RuleError) as caught:
        primitive(lambda v, x, y: y, lambda v, x, y: 2 * x)(lambda x, y: x * y)
    message = str(caught.value)
    assert "argument 2" in message
    assert "x1 = 0.7, x2 = 0.2" in message
    assert "gives 1.4" in message
    assert "give 0.69" in message or "give 0.7" in message


def test_domains_and_points():
    log_like = primitive(lambda v, x: 1 / x, domain=lambda x: x > 0)(lambda x: math.log(x))
    assert grad(log_like)(2.0) == 0.5
    with pytest.raises(ad.RuleError, match="could not be tested"):
        primitive(lambda v, x: 1 / (x - 100), domain=lambda x: x > 100)(lambda x: math.log(x - 100))
    near = primitive(lambda v, x: 1 / (x - 100), points=[101.5, 150])(lambda x: math.log(x - 100))
    assert grad(near)(102.0) == 0.5
    with pytest.raises(ad.RuleError, match="needs one rule for each argument, got 0"):
        primitive()(lambda x: x)


def test_functions_of_arrays():
    @primitive(
        lambda v, x, y: ad.Linear(lambda dx: np.tril(np.outer(dx, y)), lambda dv: np.tril(dv) @ y),
        lambda v, x, y: ad.Linear(lambda dy: np.tril(np.outer(x, dy)), lambda dv: x @ np.tril(dv)),
        points=[(np.array([1.0, -2.0]), np.array([0.5, 3.0, 1.0]))],
    )
    def triangle(x, y):
        return np.tril(x[:, None] * y)

    x, y = np.array([0.3, 0.9]), np.array([-1.0, 2.0])
    for argnum in (0, 1):
        ours = ad.hessian(lambda x, y: np.sum(np.sin(triangle(x, y))), argnum)(x, y)
        theirs = ad.hessian(lambda x, y: np.sum(np.sin(np.tril(np.outer(x, y)))), argnum)(x, y)
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


@pytest.mark.parametrize(
    ("push", "pull", "message"),
    [
        (lambda dx: 2 * dx[::-1], lambda dv: dv[::-1], "argument 1 is wrong"),
        (lambda dx: dx[::-1], lambda dv: dv, "in reverse mode, is wrong"),
    ],
)
def test_wrong_rules_of_arrays(push, pull, message):
    with pytest.raises(ad.RuleError, match=message):
        ad.primitive(lambda v, x: ad.Linear(push, pull), points=[np.array([1.0, 2.0, 4.0])])(
            lambda x: x[::-1]
        )


@pytest.mark.parametrize("factor", [1.0, 3.0])
@pytest.mark.parametrize("size", [10, 40_000])
def test_arrays_of_a_rule_remain_the_users(size, factor):
    c, buffer = np.linspace(1, 2, size), np.empty(size)

    @ad.primitive(lambda v, x: c[: np.size(x)], points=[np.ones(4)])
    def by_a_view(x):
        return c[: np.size(x)] * x

    pull = lambda bar: np.multiply(bar, 2, out=buffer[: np.size(bar)])

    @ad.primitive(lambda v, x: ad.Linear(lambda dot: 2 * dot, pull), points=[np.ones(4)])
    def twice(x):
        return 2 * x

    x, before = np.ones(size), c.copy()
    found = [ad.grad(lambda x: np.sum(factor * by_a_view(x)))(x) for _ in range(2)]
    for slope in found:
        np.testing.assert_allclose(slope, factor * before, rtol=1e-15)
        assert not np.shares_memory(slope, c)
    np.testing.assert_array_equal(c, before)
    both = ad.grad(lambda x, y: np.sum(factor * twice(x)) + np.sum(5 * twice(y)), (0, 1))(x, x)
    np.testing.assert_array_equal(both[0], np.full(size, 2 * factor))
    np.testing.assert_array_equal(both[1], np.full(size, 10.0))


LARGE = 5000


@pytest.mark.parametrize("size", [3, LARGE])
def test_a_primitive_may_use_its_memory_again(size):
    memory = np.empty(size)

    @ad.primitive(lambda v, x: np.cos(x))
    def sine(x):
        return np.sin(x, out=memory) if np.shape(x) else np.sin(x)

    x = np.linspace(0.0, 1.0, size)
    slope = ad.grad(lambda x: np.sum(sine(x) * sine(2 * x)))(x)
    np.testing.assert_allclose(slope, np.cos(x) * np.sin(2 * x) + 2 * np.sin(x) * np.cos(2 * x))


@pytest.mark.parametrize("size", [3, LARGE])
@pytest.mark.parametrize("linear", [False, True])
def test_a_primitive_and_its_rule_may_write_to_their_arguments(size, linear):
    def slope(v, x):
        v += 1.0
        x *= 2.0
        return x

    def rule(v, x):
        factor = slope(v, x)

        def multiply(derivative):
            product = derivative * factor
            derivative[...] = 0.0
            return product

        return ad.Linear(multiply, multiply) if linear else factor

    @ad.primitive(rule, points=[np.ones(2)])
    def square(x):
        x *= x
        return x

    x = np.linspace(0.5, 1.5, size)
    np.testing.assert_array_equal(square(x), x * x)
    f = lambda x: np.sum(square(x) * x + square(2 * x))
    np.testing.assert_allclose(ad.grad(f)(x), 3 * x * x + 8 * x, rtol=1e-14)
    np.testing.assert_allclose(ad.jvp(f, (x,), (x,))[1], np.sum(3 * x**3 + 8 * x * x))
    product = ad.hvp(f, (x,), (np.ones(size),))
    np.testing.assert_allclose(product, 6 * x + 8, rtol=1e-14)
    np.testing.assert_array_equal(x, np.linspace(0.5, 1.5, size))


@pytest.mark.parametrize("factor", [-3, -1, 0, 1, 2])
def test_a_rule_that_is_a_whole_number(factor):
    f = ad.primitive(factor)(lambda x: factor * x)
    assert grad(f)(0.5) == factor
    assert ad.derivative(f)(0.5) == factor


def test_a_rule_may_differentiate_itself():
    rule = lambda v, x: grad(ad.sin)(x)
    f = ad.primitive(rule)(lambda x: math.sin(x))
    assert ad.derivative(f, 2)(1.0) == pytest.approx(-math.sin(1.0))


def test_primitives_say_what_is_missing():
    with pytest.raises(ad.RuleError, match="needs the rules"):
        ad.primitive(lambda x: x)(3.0)
    with pytest.raises(ad.RuleError, match="one rule for each argument, got 1"):
        ad.primitive(lambda v, x: 1)(lambda x, y: x)
    with pytest.raises(ad.RuleError, match=r"\(v, x, ...\)"):
        ad.primitive(lambda x: 1)(lambda x: x)
    with pytest.raises(ad.RuleError, match="returned None"):
        ad.primitive(lambda v, x: None)(lambda x: x)
    with pytest.raises(ad.RuleError, match="could not be tested"):
        ad.primitive(lambda v, x: 1)(lambda x: math.nan)
    four = ad.primitive(1, 1, 1, 1)(lambda a, b, c, d: a + b + c + d)
    assert grad(four, 3)(1.0, 2.0, 3.0, 4.0) == 1.0
    own_log = ad.primitive(lambda v, x: 1 / x, domain=lambda x: x > 0)(lambda x: math.log(x))
    with pytest.warns(ad.DomainWarning):
        assert math.isnan(own_log(-1.0))


@dataclasses.dataclass
class Pair:
    a: object
    b: object


def _spread(v, p, unit):
    """Return the derivative of {"product": p.a * p.b, "parts": (2 p.a, p.b²)}."""
    push = lambda d: {
        "product": d.a * p.b + p.a * d.b,
        "parts": (2 * d.a, 2 * p.b * d.b),
    }
    pull = lambda g: Pair(
        g["product"] * p.b + 2 * g["parts"][0],
        np.sum(g["product"] * p.a) + 2 * p.b * g["parts"][1],
    )
    return ad.Linear(push, pull)


POINTS = [(Pair(np.array([1.0, 2.0]), 3.0), "m")]


@primitive(_spread, None, points=POINTS)
def spread(p, unit):
    assert unit == "m"
    return {"product": p.a * p.b, "parts": (2 * p.a, p.b**2)}


def test_structures_are_arguments_and_results_of_primitives():
    same = lambda p: {"product": p.a * p.b, "parts": (2 * p.a, p.b**2)}
    use = lambda f: lambda p: np.sum(np.sin(f(p)["product"])) + np.sum(f(p)["parts"][0] ** 3)
    f, g = use(lambda p: spread(p, "m")), use(same)
    point = POINTS[0][0]
    found, expected = ad.grad(f)(point), ad.grad(g)(point)
    np.testing.assert_allclose(found.a, expected.a, rtol=1e-14)
    assert found.b == pytest.approx(expected.b, rel=1e-14)
    direction = Pair(np.array([0.3, -0.1]), 0.7)
    assert jvp(f, (point,), (direction,))[1] == pytest.approx(jvp(g, (point,), (direction,))[1])
    found, expected = ad.hvp(f, (point,), (direction,)), ad.hvp(g, (point,), (direction,))
    np.testing.assert_allclose(found.a, expected.a, rtol=1e-13)
    many = Pair(np.stack([point.a, 2 * point.a]), np.array([3.0, 4.0]))
    np.testing.assert_allclose(ad.vmap(ad.grad(f))(many).b, ad.vmap(ad.grad(g))(many).b)
    only_b = ad.grad(lambda b: np.sum(spread(Pair(point.a, b), "m")["product"]))
    assert only_b(3.0) == pytest.approx(3.0)
    beside = lambda f: lambda b: np.sum(f(Pair(point.a, b))["product"])  # a has no tangent
    for of in (lambda p: spread(p, "m"), same):
        assert jvp(beside(of), (3.0,), (2.0,))[1] == pytest.approx(6.0)
    plain = spread(point, "m")
    assert type(plain) is dict
    assert plain["parts"][1] == 9.0


def test_a_wrong_rule_of_structures_is_refused():
    wrong = lambda v, p: ad.Linear(lambda d: (d["x"], 3 * d["x"]), lambda g: {"x": g[0] + 2 * g[1]})
    with pytest.raises(ad.RuleError, match="the rule of double for argument 1 is wrong"):

        @primitive(wrong, points=[{"x": 1.5}])
        def double(p):
            return p["x"], 2 * p["x"]


def test_a_straight_through_estimator_is_no_derivative_on_purpose():
    with pytest.raises(ad.RuleError, match="is wrong"):
        primitive(lambda v, x: 1)(np.round)
    rounded = primitive(lambda v, x: 1, check=False, name="rounded")(np.round)
    x = np.array([0.2, 1.7])
    np.testing.assert_array_equal(ad.grad(lambda x: np.sum(rounded(x) ** 2))(x), [0.0, 4.0])
    sign = primitive(lambda v, x: np.where(abs(x) <= 1, 1.0, 0.0), check=False)(np.sign)
    np.testing.assert_array_equal(ad.grad(lambda x: np.sum(sign(x)))(x), [1.0, 0.0])


def test_functions_without_a_signature_are_declared():
    hypot = primitive(lambda v, x, y: x / v, lambda v, x, y: y / v)(np.hypot)
    assert ad.grad(hypot, (0, 1))(3.0, 4.0) == (0.6, 0.8)
    with pytest.raises(ValueError, match="signature"):
        inspect.signature(math.log)
    log = primitive(lambda v, x: 1 / x, points=[1.5])(math.log)
    assert ad.grad(log)(2.0) == 0.5


def test_arguments_that_are_not_differentiated_may_be_anything():
    @primitive(lambda v, x, n, how: n * x ** (n - 1), None, None, points=[(1.5, 3, {"k": "text"})])
    def power(x, n, how):
        assert how in ({"k": "text"}, None)
        return x**n

    assert ad.grad(power)(2.0, 3, None) == 12.0
    assert ad.derivative(power, 2)(2.0, 3, None) == 12.0
