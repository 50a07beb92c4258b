"""Derivatives in parameters that have no closed form, computed by quadrature or by a series.

Each function states where it is exact to rounding; elsewhere it raises an error.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from simpleautodiff.errors import DomainError, cite_line, short_repr
from simpleautodiff.rules.scalar.special import gauss
from simpleautodiff.rules.scipy_values import scipy_special

Order = tuple[int, ...]
Coefficients = dict[Order, Any]  # Taylor coefficients in the parameters, by their orders


def require(known: Any, call: str, args: tuple[Any, ...], needs: str) -> None:
    """Refuse arguments for which a derivative in a parameter is not computed."""
    if not np.all(known):
        raise DomainError(
            f"the derivative of {call} in a parameter is not computed at "
            f"({', '.join(map(short_repr, args))}): it needs {needs}. Pass the parameter as a "
            f"plain number (node.value is one) if it is constant{cite_line()}"
        )


def read_orders(name: str, *orders: Any) -> Order:
    """Return the orders of a derivative: integers up to 30, of which one is not 0."""
    if not any(orders):
        raise DomainError(f"{name} is a derivative of orders of which one is not 0{cite_line()}")
    return read_integers(name, *orders)


def read_integers(name: str, *orders: Any) -> Order:
    """Return the orders of a derivative or of a moment: integers up to 30."""
    if not all(0 <= order <= 30 and order == int(order) for order in orders):
        raise DomainError(
            f"{name} has orders of 0, 1, ..., 30; it was asked for "
            f"{', '.join(map(short_repr, orders))}{cite_line()}"
        )
    return tuple(map(int, orders))


def _broadcast(*numbers: Any) -> list[Any]:
    return [each[()] for each in np.broadcast_arrays(*(np.asarray(n, float) for n in numbers))]


def differentiate_exp(slopes: Callable[[Order], Any], orders: Order) -> Any:
    """Return the derivative of exp(g) in two parameters, divided by exp(g).

    `slopes` gives the derivatives of g, in numbers of any type: D[m, n] is the derivative of
    D[m - 1, n] by Leibniz' rule for D' = g' D.
    """
    found: dict[Order, Any] = {(0, 0): 1.0}
    for m, n in itertools.product(*(range(order + 1) for order in orders)):
        by = 0 if m else 1
        if m == n == 0:
            continue
        left = (m - 1, n) if m else (m, n - 1)
        found[m, n] = sum(
            math.comb(left[0], i)
            * math.comb(left[1], j)
            * slopes((i + 1 - by, j + by))
            * found[left[0] - i, left[1] - j]
            for i, j in itertools.product(range(left[0] + 1), range(left[1] + 1))
        )
    return found[orders]


# Incomplete gamma and beta functions: integrals over a tail of a density. ------------------------

SHAPE_RANGE = "shapes from 0.001 to 1e8"
_PANEL_EDGES = [0.0, *(4.0**-k for k in range(7, 0, -1)), *(1 - 4.0**-k for k in range(1, 8)), 1.0]
_POINTS = 20
_DROP = 50.0  # exp(-50) is negligible beside 1


def _integrate_tail(drop: Callable[[Any], Any], integrand: Callable[[Any], Any], bend: Any) -> Any:
    """Integrate over w > 0, as far as `drop`, by which the logarithm has fallen, is below 50.

    The logarithm of a density is concave, so that point is found by bisection. The quadrature
    points are dense there, at 0, and where the logarithm bends. They are the last axis, which has
    length 1 in `bend`.
    """
    low, high = np.zeros_like(bend), np.full_like(bend, 1e-9)
    while np.any(short := drop(high) < _DROP):
        low, high = np.where(short, high, low), np.where(short, 2 * high, high)
    for _ in range(6):
        middle = (low + high) / 2
        short = drop(middle) < _DROP
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    u, weights = gauss(_POINTS)
    bend = np.where((bend > 0) & (bend < high), bend, high / 2)
    total = np.zeros_like(bend)
    for (first, last), (start, end) in itertools.product(
        ((np.zeros_like(bend), bend), (bend, high)), itertools.pairwise(_PANEL_EDGES)
    ):
        size = (last - first) * (end - start)
        values = integrand(first + (last - first) * start + size * u)
        total = total + size * np.sum(weights * values, -1, keepdims=True)
    return total[..., 0]


def _in_range(shape: Any) -> Any:
    return (shape >= 1e-3) & (shape <= 1e8)


def gammainc_derivative_value(n: int, a: Any, x: Any, density: Any) -> Any:
    """Compute ∂ⁿ/∂aⁿ of the lower incomplete gamma function, given its density.

    The logarithm s of the variable has the density exp(a s - exp(s))/Γ(a), whose derivative in a
    has one sign where s < digamma(a) and the other beyond: the tail that contains x is integrated.
    """
    a, x = _broadcast(a, x)
    require(_in_range(a), "gammainc", (a, x), SHAPE_RANGE)
    inside, outside = (x > 0) & (x < math.inf), x < 0
    a, x = a[..., None], np.where(inside, x, 1.0)[..., None]
    psi = [scipy_special("polygamma")(k, a) for k in range(n)]
    edge = np.log(x)
    side = np.where(edge < psi[0], -1.0, 1.0)

    def drop(w: Any) -> Any:
        return x * np.expm1(side * w) - side * a * w

    def integrand(w: Any) -> Any:
        first = edge + side * w

        def slopes(order: Order) -> Any:
            return (first if order == (1, 0) else 0.0) - psi[order[0] - 1]

        return np.exp(-drop(w)) * differentiate_exp(slopes, (n, 0))

    tail = (-side * x)[..., 0] * _integrate_tail(drop, integrand, -edge)
    return np.where(inside, density * tail, np.where(outside, math.nan, 0.0))


def betainc_derivative_value(
    m: int, n: int, a: Any, b: Any, x: Any, density: Any, steps: Callable[..., Any]
) -> Any:
    """Compute ∂ᵐ/∂aᵐ ∂ⁿ/∂bⁿ of the incomplete beta function, given its density.

    `steps(k, a, b)` is ψₖ(a + b) - ψₖ(a). The variable is log(t/(1 - t)), and the tail that in
    which x is, as for the incomplete gamma function; the upper one is the lower one of 1 - t.
    """
    a, b, x = _broadcast(a, b, x)
    known = _in_range(a) & _in_range(b) & (x >= 0) & (x <= 1)
    require(known, "betainc", (a, b, x), f"{SHAPE_RANGE}, 0 ≤ x ≤ 1")
    inside = (x > 0) & (x < 1)
    a, b, x = a[..., None], b[..., None], np.where(inside, x, 0.5)[..., None]
    by_a, by_b = ([steps(k, *pair) for k in range(m + n)] for pair in ((a, b), (b, a)))
    by_both = [scipy_special("polygamma")(k, a + b) for k in range(m + n)]
    lower = np.log(x) < -by_a[0] if m >= n else np.log1p(-x) > -by_b[0]
    p, q, x, y = (np.where(lower, *pair) for pair in ((a, b), (b, a), (x, 1 - x), (1 - x, x)))

    def turn(w: Any) -> Any:
        """Return the logarithm of (1 - x)/(1 - t), for log(t/(1 - t)) smaller by w."""
        return np.where(w < 1, np.log1p(x * np.expm1(-w)), np.log(y + x * np.exp(-w)))

    def drop(w: Any) -> Any:
        return p * w + (p + q) * turn(w)

    def integrand(w: Any) -> Any:
        shift = turn(w)
        log_t, log_rest = np.log(x) - w - shift, np.log(y) - shift

        def slopes(order: Order) -> Any:
            i, j = order
            if i and j:
                return by_both[i + j - 1]
            step = (by_a if i else by_b)[i + j - 1]
            return step + np.where(lower == bool(i), log_t, log_rest) if i + j == 1 else step

        return np.exp(-drop(w)) * differentiate_exp(slopes, (m, n))

    tail = (np.where(lower, 1.0, -1.0) * x * y)[..., 0] * _integrate_tail(
        drop, integrand, np.log(x / y)
    )
    return np.where(inside, density * tail, 0.0)


# Hypergeometric functions: their power series, with Taylor coefficients for terms. ---------------

SeriesParameter = tuple[Any, Order]  # its value, and how often it contains each variable
_MAX_TERMS = 20_000


def _multiply(jet: Coefficients, parameter: SeriesParameter) -> Coefficients:
    number, times = parameter
    return {
        order: number * jet[order] + sum(c * jet[lower] for c, lower in _lower_orders(order, times))
        for order in jet
    }


def _divide(jet: Coefficients, parameter: SeriesParameter) -> Coefficients:
    number, times = parameter
    quotient: Coefficients = {}
    for order in jet:
        rest = sum(c * quotient[lower] for c, lower in _lower_orders(order, times))
        quotient[order] = (jet[order] - rest) / number
    return quotient


def _lower_orders(order: Order, times: Order) -> list[tuple[int, Order]]:
    """Return the orders that are lower by one in a variable of a parameter."""
    return [
        (c, (*order[:i], order[i] - 1, *order[i + 1 :]))
        for i, c in enumerate(times)
        if c and order[i]
    ]


def _shift(parameter: SeriesParameter, k: int) -> SeriesParameter:
    return parameter[0] + k, parameter[1]


def _add_up_series(
    start: Coefficients,
    upper: Sequence[SeriesParameter],
    lower: Sequence[SeriesParameter],
    z: Any,
    complain: Any,
) -> Any:
    """Add up Σ start Π(upper)ₖ/Π(lower)ₖ zᵏ/k!, and return its coefficient of the highest order.

    An error is raised if the terms cancel more than five digits, or do not become small.
    """
    wanted = max(start)
    term, total, size, quiet = start, start[wanted], np.abs(start[wanted]), 0
    for k in range(_MAX_TERMS):
        for parameter in upper:
            term = _multiply(term, _shift(parameter, k))
        for parameter in (*lower, (1.0, (0,) * len(wanted))):
            term = _divide(term, _shift(parameter, k))
        term = {order: each * z for order, each in term.items()}
        last = np.abs(term[wanted])
        total, size = total + term[wanted], size + last
        quiet = quiet + 1 if np.all(last <= 1e-18 * size) else 0
        if quiet > 3 + len(wanted) or not np.all(np.isfinite(size)):
            break
    complain((quiet > 0) & np.isfinite(size) & (size <= 1e5 * np.abs(total)))
    return total * math.prod(map(math.factorial, wanted))


def _start(orders: Order, like: Any) -> Coefficients:
    every = itertools.product(*(range(order + 1) for order in orders))
    return {order: np.ones_like(like) if not any(order) else np.zeros_like(like) for order in every}


def _differentiate_in_z(
    jet: Coefficients,
    upper: Sequence[SeriesParameter],
    lower: Sequence[SeriesParameter],
    order: int,
) -> Coefficients:
    """Multiply by Π(upper)ₖ/Π(lower)ₖ, the factor of the derivative of order k."""
    for k in range(order):
        for parameter in upper:
            jet = _multiply(jet, _shift(parameter, k))
        for parameter in lower:
            jet = _divide(jet, _shift(parameter, k))
    return jet


def hyp1f1_derivative_value(orders: Order, k: int, a: Any, b: Any, x: Any) -> Any:
    """Compute a derivative of ₁F₁(a; b; x), of some orders in a and b, and of order k in x.

    For x < 0 it is exp(x) ₁F₁(b - a; b; -x).
    """
    a, b, x = _broadcast(a, b, x)

    def complain(known: Any) -> None:
        require(known, "hyp1f1", (a, b, x), "|x| ≤ 500 and terms that do not cancel")

    complain(np.abs(x) <= 500)
    left = x < 0
    first = _differentiate_in_z(_start(orders, x), [(a, (1, 0))], [(b, (0, 1))], k)
    results = []
    for side, top in ((left, (b - a, (-1, 1))), (~left, (a + k, (1, 0)))):
        if not np.any(side):
            results.append(np.zeros_like(x))
            continue
        z = np.where(side, np.abs(x), 0.0)
        results.append(_add_up_series(first, [top], [(b + k, (0, 1))], z, complain))
    return np.where(left, np.exp(np.minimum(x, 0.0)) * results[0], results[1])


def hyp2f1_derivative_value(orders: Order, k: int, a: Any, b: Any, c: Any, x: Any) -> Any:
    """Compute a derivative of ₂F₁(a, b; c; x), of some orders in a, b, c, and of order k in x.

    For x < 0 it is (1 - x)⁻ᵃ ₂F₁(a, c - b; c; x/(x - 1)).
    """
    a, b, c, x = _broadcast(a, b, c, x)

    def complain(known: Any) -> None:
        args = (a, b, c, x)
        require(known, "hyp2f1", args, "-19 ≤ x ≤ 0.95 and terms that do not cancel")

    complain((x >= -19) & (x <= 0.95))
    left = x < 0
    tops, bottom = [(a, (1, 0, 0)), (b, (0, 1, 0))], (c, (0, 0, 1))
    first = _differentiate_in_z(_start(orders, x), tops, [bottom], k)
    over = np.log1p(-np.minimum(x, 0.0))
    scaled = {
        order: sum(
            first[order[0] - i, order[1], order[2]] * (-over) ** i / math.factorial(i)
            for i in range(order[0] + 1)
        )
        * np.exp(-(a + k) * over)
        for order in first
    }
    results = []
    for side, jet, second, z in (
        (left, scaled, (c - b, (0, -1, 1)), x / (x - 1)),
        (~left, first, (b + k, (0, 1, 0)), x),
    ):
        if not np.any(side):
            results.append(np.zeros_like(x))
            continue
        uppers = [(a + k, (1, 0, 0)), second]
        z = np.where(side, z, 0.0)
        results.append(_add_up_series(jet, uppers, [_shift(bottom, k)], z, complain))
    return np.where(left, *results)


# Hurwitz' zeta function: a sum, and the rest by the formula of Euler and Maclaurin. --------------

_BERNOULLI = (
    *(1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510),
    *(43867 / 798, -174611 / 330),
)


def zeta_derivative_value(n: int, s: Any, q: Any) -> Any:
    """Compute ∂ⁿ/∂sⁿ Σ (q + k)⁻ˢ, for 1 < s ≤ 500 and q > 0."""
    s, q = _broadcast(s, q)
    known = (s > 1) & (s <= 500) & (q > 0) & (q < math.inf)
    require(known, "zeta", (s, q), "1 < s ≤ 500 and 0 < q < inf")
    count = 20 + 2 * int(np.max(s, initial=1.0))
    total = sum((q + k) ** -s * (-np.log(q + k)) ** n for k in range(count))
    end = q + count
    jet: Coefficients = {
        (i,): end**-s * (-np.log(end)) ** i / math.factorial(i) for i in range(n + 1)
    }
    rest = _divide(jet, (s - 1, (1,)))[n,] * end + jet[n,] / 2
    for j, number in enumerate(_BERNOULLI, 1):
        for i in (2 * j - 3, 2 * j - 2):
            jet = _multiply(jet, (s + i, (1,))) if i >= 0 else jet
        rest = rest + number / math.factorial(2 * j) * jet[n,] * end ** (1 - 2 * j)
    return total + math.factorial(n) * rest
