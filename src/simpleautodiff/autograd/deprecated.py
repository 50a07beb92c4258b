"""HIPS autograd's `primitive` of old, with methods that set its rules."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from simpleautodiff.autograd import extend
from simpleautodiff.autograd.vspaces import vspace

F = Callable[..., Any]


def primitive(function: F) -> F:
    """Declare a primitive whose rules can also be set by its methods, which are deprecated.

    Examples
    --------
    >>> import warnings
    >>> import simpleautodiff as ad
    >>> from simpleautodiff.autograd import primitive
    >>> square = primitive(lambda x: x * x)
    >>> with warnings.catch_warnings(action="ignore"):
    ...     square.defgrad(lambda ans, x: lambda g: g * 2 * x)
    >>> ad.grad(square)(3.0)
    6.0
    """
    recorded: Any = extend.primitive(function)

    def defgrad(maker: F, argnum: int = 0) -> None:
        _warn("defgrad")
        extend.defvjp(recorded, maker, argnums=(argnum,))

    def defvjp(rule: F, argnum: int = 0) -> None:
        _warn("defvjp")

        def maker(ans: Any, *args: Any, **kwargs: Any) -> F:
            return lambda g: rule(g, ans, vspace(args[argnum]), vspace(g), *args, **kwargs)

        extend.defvjp(recorded, maker, argnums=(argnum,))

    def defvjp_is_zero(argnums: Sequence[int] = (0,)) -> None:
        _warn("defvjp_is_zero")
        extend.defvjp(recorded, *[None for _ in argnums], argnums=argnums)

    recorded.defgrad, recorded.defvjp, recorded.defvjp_is_zero = defgrad, defvjp, defvjp_is_zero
    return recorded  # type: ignore[no-any-return]


def _warn(name: str) -> None:
    text = f"the method {name} is deprecated; write extend.defvjp(function, ...)"
    warnings.warn(text, stacklevel=3)
