"""HIPS autograd's `unary_to_nary`: operators on functions of one argument, extended to any."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from simpleautodiff.transforms.arguments import Argnums, name_of

F = Callable[..., Any]


def restrict_to(
    f: F, argnum: Argnums, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[F, Any]:
    """Return `f` as a function of one argument, or of a tuple of some, and its value here.

    Examples
    --------
    >>> of_b, b = restrict_to(lambda a, b: a - b, 1, (5.0, 2.0), {})
    >>> of_b(4.0), b
    (1.0, 2.0)
    """
    several = isinstance(argnum, (tuple, list))
    places: Any = argnum if several else (argnum,)

    def of_some(x: Any) -> Any:
        given = list(args)
        for place, part in zip(places, x if several else (x,), strict=True):
            given[place] = part
        return f(*given, **kwargs)

    of_some.__name__ = name_of(f)
    of_some.transformed = f  # type: ignore[attr-defined]
    chosen = tuple([args[place] for place in places])
    return of_some, (chosen if several else chosen[0])


def unary_to_nary(operator: F) -> F:
    """Make an operator on functions of any number of arguments of `operator(f, x)`.

    Examples
    --------
    >>> from simpleautodiff.wrap_util import unary_to_nary
    >>> @unary_to_nary
    ... def double_at(f, x):
    ...     return 2 * f(x)
    >>> double_at(lambda a, b: a - b, argnum=1)(5.0, 2.0)
    6.0
    """

    @wraps(operator)
    def on_functions(f: F, argnum: Argnums = 0, *given: Any, **options: Any) -> F:
        def result(*args: Any, **kwargs: Any) -> Any:
            return operator(*restrict_to(f, argnum, args, kwargs), *given, **options)

        result.__name__ = f"{name_of(operator)}_of_{name_of(f)}_wrt_argnum_{argnum}"
        return result

    return on_functions
