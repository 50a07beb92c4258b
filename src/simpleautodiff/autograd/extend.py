"""Custom primitives with HIPS autograd's interface: `primitive`, then `defvjp` or `defjvp`.

A rule for one mode is enough: the other is its transpose, found by differentiating it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, wraps
from typing import Any

from simpleautodiff.core.level import apply, plain, unwrapped
from simpleautodiff.core.linear import ZERO, Linear
from simpleautodiff.core.primitive import Primitive
from simpleautodiff.errors import RuleError, cite_line
from simpleautodiff.transforms.grad import vjp
from simpleautodiff.values.functions import zero_like
from simpleautodiff.values.pytree import map_leaves

F = Callable[..., Any]
Rules = dict[tuple[str, int | None], Any]  # by mode and argument; None is for any argument
__all__ = [
    "def_linear",
    "defjvp",
    "defjvp_argnum",
    "defjvp_argnums",
    "defvjp",
    "defvjp_argnum",
    "defvjp_argnums",
    "notrace_primitive",
    "primitive",
]


def primitive(function: F) -> F:
    """Declare a function as a primitive; give its rules by `defvjp` or `defjvp`.

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
    rules: Rules = {}

    @wraps(function)
    def call_recorded(*args: Any, **kwargs: Any) -> Any:
        name = function.__name__
        partials = tuple([_local_derivative(name, rules, i, kwargs) for i in range(len(args))])
        compute = partial(function, **kwargs)
        return apply(Primitive(name, partials, compute, name, name, "", arrays=True), *args)

    call_recorded.rules = rules  # type: ignore[attr-defined]
    return call_recorded


def _local_derivative(name: str, rules: Rules, i: int, kwargs: Any) -> F:
    """Return the local derivative in an argument, from the rule of either mode."""

    def rule(v: Any, *args: Any) -> Any:
        pull, push = _rule_for(rules, "pull", i), _rule_for(rules, "push", i)
        if pull is ZERO or push is ZERO:
            return ZERO
        back = pull and pull(v, *args, **kwargs)
        on = push and (lambda dot: push(dot, v, *args, **kwargs))
        if not back and not on:
            raise RuleError(
                f"no derivative rule for {name} in its argument {i + 1}; give it with "
                f"defvjp({name}, ...){cite_line()}"
            )
        return Linear(on or _transpose(back, v), back or _transpose(on, args[i]))

    return rule


def _rule_for(rules: Rules, mode: str, i: int) -> Any:
    of_any = rules.get((mode, None))
    return rules.get((mode, i)) or (of_any and of_any(i))


def _transpose(linear: Any, like: Any) -> F:
    """Return the transpose of a linear map, whose argument has the shape and dtype of `like`."""
    start = zero_like(plain(like))
    return lambda x: vjp(linear, start)[1](x)[0]


def _declare(mode: str, function: F, given: tuple[Any, ...], argnums: Sequence[int] | None) -> None:
    rules = _rules_of(function)
    for i, rule in zip(argnums or range(len(given)), given, strict=False):
        rules[mode, i] = ZERO if rule is None else rule


def _rules_of(function: F) -> Rules:
    if not hasattr(function, "rules"):
        raise RuleError(f"{function!r} is no primitive: put @primitive before its definition")
    rules: Rules = function.rules
    return rules


def defvjp(function: F, *vjpmakers: Any, argnums: Sequence[int] | None = None) -> None:
    """Set the reverse-mode rules of a primitive: `maker(ans, *args)` returns g -> adjoint.

    None means that the derivative is 0.

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
    """Set the forward-mode rules of a primitive: `rule(g, ans, *args)` returns the tangent.

    None means that the derivative is 0, "same" that the primitive is linear in the argument.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> from simpleautodiff.extend import defjvp, primitive
    >>> square = primitive(lambda x: x * x)
    >>> defjvp(square, lambda g, ans, x: 2 * x * g)
    >>> ad.grad(square)(3.0)
    6.0
    """
    for i, rule in zip(argnums or range(len(jvpfuns)), jvpfuns, strict=False):
        same = rule == "same"
        _declare("push", function, (_linear_rule(function, i) if same else rule,), (i,))
        if same and not _rule_for(_rules_of(function), "pull", i):
            _declare("pull", function, (_linear_reverse_rule(function, i),), (i,))


def _linear_rule(function: F, i: int) -> F:
    return lambda g, ans, *args, **kwargs: function(*args[:i], g, *args[i + 1 :], **kwargs)


def _linear_reverse_rule(function: F, i: int) -> F:
    """Return the reverse-mode rule of a linear primitive: the transpose of its own code."""
    push = _linear_rule(function.__wrapped__, i)  # type: ignore[attr-defined]
    return lambda ans, *args, **kwargs: _transpose(lambda g: push(g, ans, *args, **kwargs), args[i])


def defvjp_argnum(function: F, vjpmaker: F) -> None:
    """Set one reverse-mode rule: `maker(argnum, ans, args, kwargs)` returns g -> adjoint.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> from simpleautodiff.extend import defvjp_argnum, primitive
    >>> product = primitive(lambda x, y: x * y)
    >>> defvjp_argnum(product, lambda i, ans, args, kwargs: lambda g: g * args[1 - i])
    >>> ad.grad(product, (0, 1))(2.0, 3.0)
    (3.0, 2.0)
    """
    _rules_of(function)["pull", None] = lambda i: (
        lambda ans, *args, **kwargs: vjpmaker(i, ans, args, kwargs)
    )


def defvjp_argnums(function: F, vjpmaker: F) -> None:
    """Set one reverse-mode rule: `maker(argnums, ans, args, kwargs)` returns g -> adjoints.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> from simpleautodiff.extend import defvjp_argnums, primitive
    >>> total = primitive(lambda *xs: sum(xs))
    >>> defvjp_argnums(total, lambda argnums, ans, args, kwargs: lambda g: (g,) * len(argnums))
    >>> ad.grad(total, (0, 2))(1.0, 2.0, 3.0)
    (1.0, 1.0)
    """

    def maker(i: int, ans: Any, args: Any, kwargs: Any) -> F:
        back = vjpmaker((i,), ans, args, kwargs)
        return lambda g: next(iter(back(g)))

    defvjp_argnum(function, maker)


def defjvp_argnum(function: F, jvpmaker: F) -> None:
    """Set one forward-mode rule: `maker(argnum, g, ans, args, kwargs)` returns the tangent.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> from simpleautodiff.extend import defjvp_argnum, primitive
    >>> product = primitive(lambda x, y: x * y)
    >>> defjvp_argnum(product, lambda i, g, ans, args, kwargs: g * args[1 - i])
    >>> ad.grad(product, (0, 1))(2.0, 3.0)
    (3.0, 2.0)
    """
    _rules_of(function)["push", None] = lambda i: (
        lambda g, ans, *args, **kwargs: jvpmaker(i, g, ans, args, kwargs)
    )


def defjvp_argnums(function: F, jvpmaker: F) -> None:
    """Set one forward-mode rule: `maker(argnums, gs, ans, args, kwargs)` returns the tangent.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> from simpleautodiff.extend import defjvp_argnums, primitive
    >>> total = primitive(lambda *xs: sum(xs))
    >>> defjvp_argnums(total, lambda argnums, gs, ans, args, kwargs: sum(gs))
    >>> ad.jvp(total, (1.0, 2.0), (0.5, 0.25))
    (3.0, 0.75)
    """
    defjvp_argnum(function, lambda i, g, ans, args, kwargs: jvpmaker((i,), (g,), ans, args, kwargs))


def def_linear(function: F) -> None:
    """Declare that a primitive is linear in every argument.

    Examples
    --------
    >>> import numpy as np
    >>> import simpleautodiff as ad
    >>> from simpleautodiff.extend import def_linear, primitive
    >>> product = primitive(np.dot)
    >>> def_linear(product)
    >>> ad.grad(product, 1)(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    array([1., 2.])
    """
    rules = _rules_of(function)
    rules["push", None] = partial(_linear_rule, function)
    rules.setdefault(("pull", None), partial(_linear_reverse_rule, function))


def notrace_primitive(function: F) -> F:
    """Declare a function whose result has no derivative: it is called with plain values.

    Examples
    --------
    >>> import numpy as np
    >>> import simpleautodiff as ad
    >>> from simpleautodiff.extend import notrace_primitive
    >>> positive = notrace_primitive(lambda x: np.flatnonzero(np.asarray(x) > 0))
    >>> ad.grad(lambda x: np.sum(x[positive(x)]))(np.array([-1.0, 2.0]))
    array([0., 1.])
    """

    @wraps(function)
    def call_plainly(*args: Any, **kwargs: Any) -> Any:
        bare = lambda x: plain(unwrapped(x))  # noqa: E731
        return function(*map_leaves(bare, args), **map_leaves(bare, kwargs))

    return call_plainly
