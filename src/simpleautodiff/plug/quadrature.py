"""SciPy's quad, as a differentiable function of its limits and parameters."""

from __future__ import annotations

import functools
import math
from itertools import pairwise
from typing import Any

import numpy as np

from simpleautodiff.core.level import Traced, apply, take_current, to_plain
from simpleautodiff.core.linear import ZERO, Linear
from simpleautodiff.core.primitive import Primitive
from simpleautodiff.errors import ArgumentError, cite_line
from simpleautodiff.plug.closures import pass_held
from simpleautodiff.plug.inputs import (
    F,
    as_tuple,
    check_shape,
    has_nodes,
    plain_solver,
    plain_tree,
    require_plain,
    solve_each,
)
from simpleautodiff.plug.jumps import find_inside, find_steep_place
from simpleautodiff.plug.solver_results import Returned
from simpleautodiff.rules.array.indexing import concatenate
from simpleautodiff.rules.array.shapes import shape_of
from simpleautodiff.transforms.grad import jvp, vjp
from simpleautodiff.transforms.packing import PackedInputs, check_real, reshape_to


def quad(f: F, a: Any, b: Any, args: Any = (), full_output: int = 0, **options: Any) -> Any:
    """Call `scipy.integrate.quad`; the integral can be differentiated.

    It is a function of both limits and of the nodes in `args` and in the closure of f, to every
    order: the derivative in a limit is the integrand there, and the derivative in a parameter is
    the integral of the derivative, found by `quad` with the same options. The second result is
    SciPy's estimate of the error of the integral itself.

    Examples
    --------
    >>> import numpy as np
    >>> import simpleautodiff as ad
    >>> from simpleautodiff import plug
    >>> area = lambda s: plug.quad(lambda x, s: np.exp(-s * x**2), -np.inf, np.inf, args=(s,))[0]
    >>> bool(abs(ad.grad(area)(2.0) - -0.5 * np.sqrt(np.pi) * 2.0**-1.5) < 1e-10)
    True
    """
    (f,), held = pass_held(f)
    args, a, b = (*as_tuple(args), *held), take_current(a), take_current(b)
    solver = plain_solver("integrate", "quad")
    if not has_nodes((a, b, args, options)):
        compute = functools.partial(solver, full_output=full_output, **options)
        return compute(require_plain(f) if callable(f) else f, a, b, args)
    if options.get("complex_func"):
        raise ArgumentError("complex_func of quad: integrate the real and the imaginary part")
    for limit in (to_plain(a), to_plain(b)):
        check_real(limit, "quad")
    _check_weight(a, b, options)
    points = options.get("points")
    options = {name: plain_tree(option) for name, option in options.items()}
    compute = functools.partial(solver, full_output=full_output, **options)
    inputs = PackedInputs(args, "quad")
    integrand = check_shape(f, (), "the integrand is one number")
    alone = lambda a, b, args: compute(require_plain(integrand), a, b, args)  # noqa: E731
    found = solve_each(alone, to_plain(a), to_plain(b), plain_tree(args))
    last: list[Any] = []  # the plain inputs of the last call, and their parts

    def of_vector(x: Any, z: Any) -> Any:
        if type(z) is not np.ndarray:
            return integrand(x, *inputs.split(z))
        if not last or last[0] is not z:
            last[:] = [z, inputs.split(z)]
        return integrand(x, *last[1])

    limits = [a, b] if points is None else _order_limits(a, points, b)
    value = _integrate_between(of_vector, (), limits, inputs.join(), options)
    value = value if points is None else found[0] + (value - to_plain(value))
    way_out = "the integral, its first part, has one"
    return Returned("the result of quad", [value], [found], way_out).complete({0: value})


# What `quad` multiplies the integrand by, with weight= and wvar=.
_WEIGHTS: dict[Any, F] = {
    "cos": lambda x, w: np.cos(w * x),
    "sin": lambda x, w: np.sin(w * x),
    "cauchy": lambda x, c: 1 / (x - c),
}


def _check_weight(a: Any, b: Any, options: dict[str, Any]) -> None:
    """Refuse derivatives that involve that of a weight."""
    weight = options.get("weight")
    if weight is None:
        return
    for name, part in (("wvar", options.get("wvar")), ("a limit", (a, b))):
        if has_nodes(part) and (name == "wvar" or weight not in _WEIGHTS):
            raise ArgumentError(
                f"quad with weight={weight!r} has no derivative in {name}; write the weight into "
                f"the function that is integrated, and leave weight= out{cite_line()}"
            )


def _integrate_between(
    f: F, shape: tuple[int, ...], limits: list[Any], z: Any, options: dict[str, Any]
) -> Any:
    """Return ∫ f(x, z) dx from the first limit to the last; f may jump at those between."""
    if len(limits) > 2:
        options = {name: option for name, option in options.items() if name != "points"}
    return sum(_integrate(f, shape, *ends, z, options) for ends in pairwise(limits))


def _order_limits(a: Any, points: Any, b: Any) -> list[Any]:
    """Return the limits and the points between them, which may be nodes, in their order."""
    low, high = sorted(map(to_plain, (a, b)))
    inner = [take_current(point) for point in points if low < to_plain(take_current(point)) < high]
    inner.sort(key=to_plain, reverse=bool(to_plain(a) > to_plain(b)))
    return [a, *inner, b]


def _integrate(
    f: F, shape: tuple[int, ...], a: Any, b: Any, z: Any, options: dict[str, Any]
) -> Any:
    """Return ∫ f(x, z) dx from a to b, recorded; f returns arrays of `shape`."""
    weight = _WEIGHTS.get(options.get("weight"))
    weighted = f if weight is None else lambda x, z: f(x, z) * weight(x, options["wvar"])

    def rule(v: Any, a: Any, b: Any, z: Any) -> Linear:
        size = shape_of(z)[0]
        steep = solve_each(functools.partial(find_steep_place, f), *map(to_plain, (a, b, z)))
        searched = not isinstance(steep, Traced) and math.isfinite(steep)
        limits = _order_limits(a, [steep], b) if searched and "weight" not in options else [a, b]

        def along(x: Any, both: Any) -> Any:
            return jvp(lambda z: f(x, z), (both[:size],), (both[size:],))[1]

        def back(x: Any, both: Any) -> Any:
            seed = reshape_to(both[size:], shape)
            return vjp(lambda z: f(x, z), both[:size])[1](seed)[0]

        return Linear(
            lambda dz: _integrate_between(along, shape, limits, concatenate([z, dz]), options),
            lambda bar: _integrate_between(
                back, (size,), limits, concatenate([z, np.ravel(bar)]), options
            ),
        )

    rules = (
        lambda v, a, b, z: _limit_derivative(weighted, a, b, z, -1),
        lambda v, a, b, z: _limit_derivative(weighted, b, a, z, 1),
        rule,
    )
    primitive = Primitive(
        "quad",
        rules,
        lambda a, b, z: _integrate_plainly(f, shape, a, b, z, options),
        "quad({0}, {1}, {2})",
        "quad",
        "an integral grows at its limits, and inside as its integrand does",
        real=True,
        arrays=True,
    )
    return apply(primitive, a, b, z)


def _limit_derivative(f: F, x: Any, other: Any, z: Any, sign: int) -> Any:
    """Return the derivative in a limit; 0 for an infinite one."""
    limit = to_plain(x)
    if not isinstance(limit, Traced) and math.isinf(limit):
        return ZERO
    shift = solve_each(functools.partial(find_inside, f), limit, *map(to_plain, (other, z)))
    value = sign * f(x + shift, z)
    if not shape_of(value):
        return value
    return Linear(lambda dx: value * dx, lambda bar: np.sum(value * bar))


def _integrate_plainly(
    f: F, shape: tuple[int, ...], a: Any, b: Any, z: Any, options: dict[str, Any]
) -> Any:
    """Integrate each element of f in plain numbers; all share the evaluations."""
    at = functools.cache(lambda x, _sign: np.asarray(f(x, z), dtype=float))
    integrals = [
        plain_solver("integrate", "quad")(
            lambda x, i=i: float(at(x, math.copysign(1.0, x))[i]), a, b, **options
        )[0]
        for i in np.ndindex(shape)
    ]
    return np.reshape(np.array(integrals), shape)[()]
