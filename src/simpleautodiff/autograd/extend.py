"""Custom primitives with HIPS autograd's interface: `primitive`, then `defvjp` or `defjvp`.

A rule for one mode is enough: the other is its transpose, found by differentiating it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial, wraps
from typing import Any

import numpy as np

from simpleautodiff.arrays.registry import FUNCTIONS, SPECIAL_UFUNCS
from simpleautodiff.autograd.leaf_packing import Packing, is_node, is_number
from simpleautodiff.autograd.vspaces import VSpace, vspace
from simpleautodiff.core.level import Traced as Box, apply, take_current, to_plain
from simpleautodiff.core.linear import ZERO, Linear
from simpleautodiff.core.primitive import Primitive
from simpleautodiff.errors import RuleError, cite_line
from simpleautodiff.rules.row import UFUNCS
from simpleautodiff.transforms.arguments import name_of
from simpleautodiff.transforms.grad import jvp, vjp
from simpleautodiff.values.functions import zero_like
from simpleautodiff.values.pytree import flatten, map_leaves

F = Callable[..., Any]
Rules = dict[tuple[str, int | None], Any]  # by mode and argument; None stands for any argument
__all__ = [
    "Box",
    "VSpace",
    "def_linear",
    "defjvp",
    "defjvp_argnum",
    "defjvp_argnums",
    "defvjp",
    "defvjp_argnum",
    "defvjp_argnums",
    "notrace_primitive",
    "primitive",
    "vspace",
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
        places = [i for i, arg in enumerate(args) if any(map(is_node, flatten(arg)[0]))]
        if not places:
            return function(*args, **kwargs)
        return _Call(function, rules, args, kwargs, places).record()

    call_recorded.rules = rules  # type: ignore[attr-defined]
    call_recorded.fun = function  # type: ignore[attr-defined]
    return call_recorded


class _Call:
    """One call of a primitive: which of its arguments hold nodes, and the rules for these.

    An argument that is a structure is one vector to the engine, and so is such a result.
    """

    def __init__(
        self, function: F, rules: Rules, args: Sequence[Any], kwargs: Any, places: list[int]
    ) -> None:
        self.function, self.rules, self.args, self.kwargs = function, rules, args, kwargs
        self.places = places
        self.packings = [Packing(args[i], is_node) for i in places]
        self.result: Packing

    def record(self) -> Any:
        name = name_of(self.function)
        partials = tuple([partial(self.differentiate, k) for k in range(len(self.places))])
        row = Primitive(name, partials, self.compute, name, name, "", arrays=True)
        pairs = zip(self.packings, self.places, strict=True)
        packed = apply(row, *[packing.pack(self.args[i]) for packing, i in pairs])
        return self.result.unpack(packed)

    def fill_in(self, parts: Sequence[Any]) -> list[Any]:
        """Return all arguments, with `parts` replacing those that hold nodes."""
        given = list(self.args)
        for i, packing, part in zip(self.places, self.packings, parts, strict=True):
            given[i] = packing.unpack(part)
        return given

    def compute(self, *parts: Any) -> Any:
        result = self.function(*self.fill_in(parts), **self.kwargs)
        self.result = Packing(result, is_number)
        return self.result.pack(result)

    def differentiate(self, k: int, v: Any, *parts: Any) -> Any:
        """Return the local derivative in an argument, from the rule of either mode."""
        i, packing = self.places[k], self.packings[k]
        pull, push = _rule_for(self.rules, "pull", i), _rule_for(self.rules, "push", i)
        if pull is ZERO or push is ZERO:
            return ZERO
        if not pull and not push:
            name = name_of(self.function)
            raise RuleError(
                f"no derivative rule for {name} in its argument {i + 1}; give it with "
                f"defvjp({name}, ...){cite_line()}"
            )
        args, ans = self.fill_in(parts), self.result.unpack(v)
        on = back = None
        if pull:
            pulled = pull(ans, *args, **self.kwargs)
            back = lambda g: packing.pack(pulled(self.result.unpack(g)))  # noqa: E731
        if push:
            on = lambda dot: self.result.pack(  # noqa: E731
                push(packing.unpack(dot), ans, *args, **self.kwargs)
            )
        return Linear(on or _transpose(back, v), back or _transpose(on, parts[k]))


def _rule_for(rules: Rules, mode: str, i: int) -> Any:
    of_any = rules.get((mode, None))
    return rules.get((mode, i)) or (of_any and of_any(i))


def _transpose(linear: Any, like: Any) -> F:
    """Return the transpose of a linear map, whose argument has the shape and dtype of `like`."""
    start = zero_like(to_plain(like))
    return lambda x: vjp(linear, start)[1](x)[0]


def _declare(mode: str, function: F, given: tuple[Any, ...], argnums: Sequence[int] | None) -> None:
    rules = _rules_of(function)
    for i, rule in zip(argnums or range(len(given)), given, strict=False):
        rules[mode, i] = ZERO if rule is None else rule


def _rules_of(function: Any) -> Rules:
    """Return the rules of a primitive; make a function of NumPy or SciPy one, everywhere."""
    function = getattr(function, "of_numpy", function)
    known: dict[Any, Any] = FUNCTIONS
    key = function
    if isinstance(function, np.ufunc):
        known, key = (UFUNCS, key) if key in UFUNCS else (SPECIAL_UFUNCS, function.__name__)
    elif hasattr(function, "implementation"):
        known, key = vars(function), "implementation"
    elif hasattr(function, "rules"):
        return function.rules  # type: ignore[no-any-return]
    elif not isinstance(function, type(np.sum)):
        warnings.warn(
            f"the rules of {name_of(function)} are not used, as it is no primitive: its own steps "
            f"are recorded. Put @primitive before its definition{cite_line()}",
            stacklevel=4,
        )
        return {}
    if not hasattr(known.get(key), "rules"):
        known[key] = _make_primitive(function, known.get(key))
    rules: Rules = known[key].rules
    return rules


def _make_primitive(function: F, implementation: F | None) -> F:
    """Make a primitive from a function of NumPy or SciPy, at first with its existing rules."""
    recorded: Any = primitive(getattr(function, "__wrapped__", function))
    if implementation is not None:

        def of_one(i: int, args: Any, kwargs: Any) -> F:
            return lambda x: implementation(*args[:i], x, *args[i + 1 :], **kwargs)

        recorded.rules["pull", None] = lambda i: (
            lambda ans, *args, **kwargs: lambda g: vjp(of_one(i, args, kwargs), args[i])[1](g)[0]
        )
        recorded.rules["push", None] = lambda i: (
            lambda g, ans, *args, **kwargs: jvp(of_one(i, args, kwargs), (args[i],), (g,))[1]
        )
    return recorded  # type: ignore[no-any-return]


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
        bare = lambda x: to_plain(take_current(x))  # noqa: E731
        return function(*map_leaves(bare, args), **map_leaves(bare, kwargs))

    return call_plainly
