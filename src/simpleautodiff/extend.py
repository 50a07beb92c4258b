"""Primitives by the names of HIPS autograd: `primitive`, then `defvjp` or `defjvp`.

A rule for one mode is enough: the other is its transpose, found by differentiating it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, wraps
from typing import Any

from simpleautodiff.errors import RuleError, at_line
from simpleautodiff.linear import ZERO, Linear
from simpleautodiff.node import apply
from simpleautodiff.number import zero_like
from simpleautodiff.primitives import Primitive
from simpleautodiff.structure import map_leaves
from simpleautodiff.traced import plain, unwrapped
from simpleautodiff.transform import vjp

F = Callable[..., Any]
__all__ = ["defjvp", "defvjp", "notrace_primitive", "primitive"]


def primitive(function: F) -> F:
    """Declare a function as a primitive; its rules follow by `defvjp` or `defjvp`.

    Examples
    --------
    >>> import numpy as np
    >>> import simpleautodiff as ad
    >>> from simpleautodiff.extend import defvjp, primitive
    >>> @primitive
    ... def logsumexp(x):
    ...     largest = np.max(x)
    ...     return largest + np.log(np.sum(np.exp(x - largest)))
    >>> defvjp(logsumexp, lambda ans, x: lambda g: g * np.exp(x - ans))
    >>> ad.grad(logsumexp)(np.zeros(4))
    array([0.25, 0.25, 0.25, 0.25])
    """
    rules: dict[tuple[str, int], Any] = {}

    @wraps(function)
    def recorded(*args: Any, **kwargs: Any) -> Any:
        name = function.__name__
        partials = tuple([_partial(name, rules, i, kwargs) for i in range(len(args))])
        compute = partial(function, **kwargs)
        return apply(Primitive(name, partials, compute, name, name, "", arrays=True), *args)

    recorded.rules = rules  # type: ignore[attr-defined]
    return recorded


def _partial(name: str, rules: dict[tuple[str, int], Any], i: int, kwargs: Any) -> F:
    """Return the local derivative in an argument, from the rule for either mode."""

    def rule(v: Any, *args: Any) -> Any:
        pull, push = rules.get(("pull", i)), rules.get(("push", i))
        if pull is ZERO or push is ZERO:
            return ZERO
        back = pull and pull(v, *args, **kwargs)
        on = push and (lambda dot: push(dot, v, *args, **kwargs))
        if not back and not on:
            raise RuleError(
                f"no derivative rule for {name} in its argument {i + 1}; give it with "
                f"defvjp({name}, ...){at_line()}"
            )
        return Linear(on or _transposed(back, v), back or _transposed(on, args[i]))

    return rule


def _transposed(linear: Any, like: Any) -> F:
    """Return the transpose of a linear map of what has the shape and kind of `like`."""
    start = zero_like(plain(like))
    return lambda x: vjp(linear, start)[1](x)[0]


def _declare(mode: str, function: F, given: tuple[Any, ...], argnums: Sequence[int] | None) -> None:
    if not hasattr(function, "rules"):
        raise RuleError(f"{function!r} is no primitive: put @primitive before its definition")
    for i, rule in zip(argnums or range(len(given)), given, strict=False):
        function.rules[mode, i] = ZERO if rule is None else rule


def defvjp(function: F, *vjpmakers: Any, argnums: Sequence[int] | None = None) -> None:
    """Give the rules of a primitive for reverse mode: `maker(ans, *args)` gives g -> adjoint.

    None says that the derivative is 0.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> from simpleautodiff.extend import defvjp, primitive
    >>> scaled = primitive(lambda x, n: x * n)
    >>> defvjp(scaled, lambda ans, x, n: lambda g: g * n, None)
    >>> ad.jvp(lambda x: scaled(x, 3), (2.0,), (1.0,))
    (6.0, 3.0)
    """
    _declare("pull", function, vjpmakers, argnums)


def defjvp(function: F, *jvpfuns: Any, argnums: Sequence[int] | None = None) -> None:
    """Give the rules of a primitive for forward mode: `rule(g, ans, *args)` gives the tangent.

    None says that the derivative is 0, "same" that the primitive is linear in the argument.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> from simpleautodiff.extend import defjvp, primitive
    >>> square = primitive(lambda x: x * x)
    >>> defjvp(square, lambda g, ans, x: 2 * x * g)
    >>> ad.grad(square)(3.0)
    6.0
    """
    rules = [_same(function, i) if rule == "same" else rule for i, rule in enumerate(jvpfuns)]
    _declare("push", function, tuple(rules), argnums)


def _same(function: F, i: int) -> F:
    return lambda g, ans, *args, **kwargs: function(*args[:i], g, *args[i + 1 :], **kwargs)


def notrace_primitive(function: F) -> F:
    """Declare a function whose result has no derivative: it gets plain numbers.

    Examples
    --------
    >>> import numpy as np
    >>> import simpleautodiff as ad
    >>> from simpleautodiff.extend import notrace_primitive
    >>> places = notrace_primitive(lambda x: np.flatnonzero(np.asarray(x) > 0))
    >>> ad.grad(lambda x: np.sum(x[places(x)]))(np.array([-1.0, 2.0]))
    array([0., 1.])
    """

    @wraps(function)
    def plainly(*args: Any, **kwargs: Any) -> Any:
        bare = lambda x: plain(unwrapped(x))  # noqa: E731
        return function(*map_leaves(bare, args), **map_leaves(bare, kwargs))

    return plainly
