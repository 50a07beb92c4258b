"""A user's own primitives: one rule for both modes and every order, tested when declared."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from simpleautodiff.core.level import to_plain
from simpleautodiff.core.linear import ZERO, Linear
from simpleautodiff.core.primitive import REALS, Domain, Kink, Partial, Primitive
from simpleautodiff.errors import AutodiffError, LostDerivativeError, RuleError, short_repr
from simpleautodiff.rules.row import wrap_documented
from simpleautodiff.transforms.arguments import name_of
from simpleautodiff.transforms.finite_difference import estimate_derivative
from simpleautodiff.transforms.for_some_examples import copy_array
from simpleautodiff.transforms.grad import grad, jvp
from simpleautodiff.transforms.structured_primitive import refuse_structures, take_structures
from simpleautodiff.values.functions import ByType, check_value
from simpleautodiff.values.pytree import flatten, map_leaves

_TEST_POINTS = (0.7, -1.3, 2.1, 0.2, -0.4, 3.6, 12.5, -7.8)
_TOLERANCE = 1e-7


def primitive(
    *partials: Partial,
    domain: Callable[..., Any] | None = None,
    points: Iterable[Any] | None = None,
    kinks: Sequence[Kink] = (),
    reason: str = "declared by the user",
    name: str = "",
    check: bool = True,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare a function as a primitive, with its derivative in each argument.

    Parameters
    ----------
    partials
        For each argument a function of `(v, *arguments)` that gives ∂v/∂argument, written with
        recorded operations; or an integer; or `ZERO`. For a function of arrays it may be a
        `Linear(push, pull)`, which carries tangents forward and adjoints back. Where an argument or
        the result is a dict, tuple or dataclass, so is what these are given, and return. None says
        that the function is not differentiated in this argument, which may have any type.
    domain
        A function of the arguments that tells whether the function has a value there.
    points
        Where to test the rule, if the default points do not suit: numbers, arrays, or tuples with
        one for each argument. A function of arrays needs them.
    kinks
        Where the derivative is not unique, and which one the rule chooses.
    reason, name
        The derivative in words; another name than the function's own.
    check
        False for a rule that is not the derivative on purpose: a straight-through estimator.

    Raises
    ------
    RuleError
        If at some point a rule disagrees with finite differences of the function, or the derivative
        of the rule with finite differences of the rule. The message gives the point and both
        numbers.

    Examples
    --------
    >>> import math
    >>> import simpleautodiff as ad
    >>> @ad.primitive(lambda v, x: 2 / math.sqrt(math.pi) * ad.exp(-x * x))
    ... def my_erf(x):
    ...     return math.erf(x)
    >>> ad.derivative(my_erf, n=3)(0.5) == ad.derivative(ad.erf, n=3)(0.5)
    True
    >>> @ad.primitive(lambda v, x: ad.sin(x))
    ... def my_sin(x):
    ...     return math.sin(x)
    Traceback (most recent call last):
    simpleautodiff.errors.RuleError: the rule of my_sin for argument 1 is wrong: at x = 0.7 ...

    A function of arrays, whose derivative is a linear map, given with its transpose:

    >>> import numpy as np
    >>> kernel = np.array([1.0, 2.0, 1.0])
    >>> push, pull = lambda dx: np.convolve(dx, kernel), lambda dv: np.convolve(dv, kernel, "valid")
    >>> @ad.primitive(lambda v, x: ad.Linear(push, pull), points=[np.ones(4)])
    ... def blur(x):
    ...     return np.convolve(x, kernel)
    >>> ad.grad(lambda x: np.sum(blur(x) ** 2))(np.array([1.0, 0.0, -1.0]))
    array([ 10.,   0., -10.])

    Structures, and an argument that is not differentiated:

    >>> push = lambda d: {"product": d[0] * 3.0 + d[1] * 2.0}
    >>> pull = lambda b: (b["product"] * 3.0, b["product"] * 2.0)
    >>> @ad.primitive(lambda v, p, unit: ad.Linear(push, pull), None, check=False)
    ... def multiply(p, unit):
    ...     return {"product": p[0] * p[1]}
    >>> ad.grad(lambda p: multiply(p, "m²")["product"])((2.0, 3.0)) == (3.0, 2.0)
    True

    A straight-through estimator: the derivative of what is rounded is 1.

    >>> @ad.primitive(lambda v, x: 1, check=False)
    ... def rounded(x):
    ...     return np.round(x)
    >>> float(ad.grad(lambda x: rounded(x) ** 2)(1.7))
    4.0
    """

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        if not callable(function):
            raise RuleError("@primitive needs the rules: @primitive(lambda v, x: ...)")
        own_name = name or name_of(function)
        _check_arity(function, own_name, len(partials))
        arguments = ", ".join(f"{{{i}}}" for i in range(len(partials)))
        fresh = _copy_arrays(function)
        compute = refuse_structures(fresh)
        rules = [_copy_arrays(rule) if callable(rule) else rule for rule in partials]
        row = Primitive(
            own_name,
            tuple([ZERO if rule is None else _as_rule(rule) for rule in rules]),
            compute,
            f"{own_name}({arguments})",
            rf"\operatorname{{{{{own_name}}}}}({arguments})",
            reason,
            domain=Domain("its declared domain", domain) if domain else REALS,
            kinks=tuple(kinks),
            by_type=ByType(own_name, {}, compute),
            arrays=True,  # it is not known to be elementwise
            settings=tuple([i for i, rule in enumerate(partials) if rule is None]),
        )
        wrapping = take_structures(wrap_documented(row), fresh)
        wrapping.__doc__ = function.__doc__
        if check:
            verify(row, wrapping, None if points is None else [_as_tuple(p) for p in points])
        return wrapping

    return declare


def _copy_arrays(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function take and return copies of arrays: it may write to either, then or later."""

    @wraps(function)
    def compute(*args: Any) -> Any:
        value = function(*map_leaves(copy_array, args))
        if type(value) is Linear:
            return Linear(_copy_arrays(value.push), _copy_arrays(value.pull), value.moves)
        return map_leaves(lambda x: x.copy() if isinstance(x, np.ndarray) else x, value)

    return compute


def _as_rule(rule: Partial) -> Partial:
    """Wrap a number as a rule; 1, -1 and `ZERO` are left as they are, as sweeps know them."""
    if rule is ZERO or callable(rule) or rule in (1, -1):
        return rule
    return lambda v, *args: rule


def _check_arity(function: Callable[..., Any], name: str, rules: int) -> None:
    try:
        signature: Any = inspect.signature(function)
    except (TypeError, ValueError):  # some compiled functions have no signature
        signature = "(...)"
    try:
        if signature != "(...)":
            signature.bind(*[0.0] * rules)
        fits = rules > 0
    except TypeError:
        fits = False
    if not fits:
        raise RuleError(
            f"{name}{signature} needs one rule for each argument, got {rules}: "
            "@primitive(rule, ...)"
        )


def _as_tuple(point: Any) -> tuple[Any, ...]:
    if isinstance(point, (int, float)):
        return (float(point),)
    return tuple(point) if isinstance(point, (tuple, list)) else (point,)


def verify(
    row: Primitive,
    wrapping: Callable[..., Any],
    points: list[tuple[Any, ...]] | None = None,
) -> None:
    """Test every rule of a row, and its derivative, against finite differences."""
    tested = 0
    for point in points if points is not None else _choose_points(row):
        try:
            value = wrapping(*point)
        except (ArithmeticError, ValueError):
            continue
        for leaf in flatten(value)[0]:
            check_value(leaf, f"the value of {row.name} at {point}")
        numbers = [x for i, x in enumerate(point) if i not in row.settings]
        if isinstance(value, complex) and not any(isinstance(x, complex) for x in numbers):
            continue  # outside of its domain, as Python's (-1.0) ** 0.5
        single = all(isinstance(x, (int, float, complex)) for x in (value, *numbers))
        test = _verify_at if single else _verify_arrays
        wanted = [i for i in range(row.arity) if i not in row.settings]
        tested += all([test(row, wrapping, i, point) for i in wanted])
        if points is None and tested == 5:
            break
    if not tested:
        raise RuleError(
            f"the rule of {row.name} could not be tested: no point has a value on either side. "
            "Say where: @primitive(..., points=[...])"
        )


def _choose_points(row: Primitive) -> Iterable[tuple[float, ...]]:
    for start in range(len(_TEST_POINTS)):
        cycle = itertools.islice(itertools.cycle(_TEST_POINTS), start, start + 3 * row.arity, 3)
        point = tuple(cycle)
        if row.domain.contains(*point) and not any(kink.happens(*point) for kink in row.kinks):
            yield point


def _verify_at(
    row: Primitive, wrapping: Callable[..., Any], i: int, point: tuple[float, ...]
) -> bool:
    """Test one rule at a point, in every mode; tell whether finite differences exist there."""

    def along(function: Callable[..., Any]) -> Callable[[Any], Any]:
        return lambda x: function(*point[:i], x, *point[i + 1 :])

    def slope(*args: Any) -> Any:
        return _evaluate_rule(row, i, wrapping(*args), args)

    at = ", ".join(f"{n} = {x!r}" for n, x in zip(_name_arguments(row.arity), point, strict=True))
    what = f"the rule of {row.name} for argument {i + 1}"
    known = _compare(what, at, slope(*point), along(row.compute), point[i])
    _compare(
        f"{what}, in reverse mode,", at, grad(wrapping, i)(*point), along(row.compute), point[i]
    )
    try:
        _, second = jvp(along(slope), (point[i],), (1.0,))
    except LostDerivativeError as error:
        raise RuleError(f"the rule of {row.name} cannot be differentiated again: {error}") from None
    _compare(f"the derivative of {what}", at, to_plain(second), along(slope), point[i])
    return known


def _verify_arrays(
    row: Primitive, wrapping: Callable[..., Any], i: int, point: tuple[Any, ...]
) -> bool:
    """Test one rule along a line through a point that is made of arrays."""
    x = point[i]
    weights = map_leaves(lambda leaf: _make_varied(np.cos, leaf), wrapping(*point))
    direction = flatten(map_leaves(lambda leaf: _make_varied(np.sin, leaf), x))[0]
    leaves, rebuild = flatten(x)

    def along(t: Any) -> Any:
        there = rebuild(leaf + t * d for leaf, d in zip(leaves, direction, strict=True))
        moved = wrapping(*point[:i], there, *point[i + 1 :])
        pairs = zip(flatten(moved)[0], flatten(weights)[0], strict=True)
        return sum(np.sum(np.real(leaf) * w) for leaf, w in pairs)

    def slope(t: Any) -> Any:
        return jvp(along, (t,), (1.0,))[1]

    at = " and ".join(_describe(x) for x in point)
    what = f"the rule of {row.name} for argument {i + 1}"
    known = _compare(what, at, slope(0.0), along, 0.0)
    _compare(f"{what}, in reverse mode,", at, grad(along)(0.0), along, 0.0)
    _compare(f"the derivative of {what}", at, jvp(slope, (0.0,), (1.0,))[1], slope, 0.0)
    return known


def _make_varied(function: Callable[..., Any], like: Any) -> Any:
    return function(np.arange(1.0, np.size(like) + 1)).reshape(np.shape(like))


def _describe(x: Any) -> str:
    return f"an array of shape {np.shape(x)}" if isinstance(x, np.ndarray) else short_repr(x)


def _evaluate_rule(row: Primitive, i: int, value: Any, args: tuple[Any, ...]) -> Any:
    try:
        derivative = row.partial(i, value, args)
    except AutodiffError:
        raise
    except TypeError as error:
        raise RuleError(
            f"the rule of {row.name} for argument {i + 1} cannot be called with the result and the "
            f"{row.arity} arguments, (v, x, ...): {error}"
        ) from None
    if derivative is None:
        raise RuleError(f"the rule of {row.name} for argument {i + 1} returned None")
    return 0.0 if derivative is ZERO else derivative


def _compare(what: str, at: str, given: Any, function: Callable[[float], Any], x: float) -> bool:
    expected, error = estimate_derivative(function, x)
    scale = max(abs(expected), abs(given))
    if not error <= 1e-3 * scale + 1e-9:
        return False  # too close to a kink, a pole or the edge of the domain
    if abs(given - expected) <= _TOLERANCE * scale + 10 * error + 1e-11:
        return True
    raise RuleError(
        f"{what} is wrong: at {at} it gives {given!r}, but differences of the function give "
        f"{expected!r} ± {error:.1e}"
    )


def _name_arguments(arity: int) -> list[str]:
    return ["x"] if arity == 1 else [f"x{i + 1}" for i in range(arity)]
