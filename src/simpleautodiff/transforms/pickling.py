"""How functions were made by transformations, so that they can be made again elsewhere."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

F = Callable[..., Any]
T = TypeVar("T", bound=F)


class Made(NamedTuple):
    """How a function was made by a transformation: what is needed to make it again."""

    transformation: F
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def remembered(transformation: T) -> T:
    """Let the functions that a transformation makes know how they were made.

    Examples
    --------
    >>> twice = remembered(lambda f: lambda x: 2 * f(x))
    >>> recipe(twice(abs)).args
    (<built-in function abs>,)
    """

    @functools.wraps(transformation)
    def transform(*args: Any, **kwargs: Any) -> Any:
        function = transformation(*args, **kwargs)
        function.made = Made(transform, args, kwargs), id(function)
        return function

    return transform  # type: ignore[return-value]


def recipe(f: Any) -> Any:
    """Return how a function was made, in the place of each that a transformation has made.

    Unlike the functions themselves, that can be pickled.

    Examples
    --------
    >>> recipe(abs)
    <built-in function abs>
    """
    made, of = getattr(f, "made", (None, 0))
    if made is None or of != id(f):  # functools.wraps copies what it finds
        return f
    kwargs = {name: recipe(arg) for name, arg in made.kwargs.items()}
    return Made(made.transformation, tuple(map(recipe, made.args)), kwargs)


def followed(found: Any) -> Any:
    """Return the function that a recipe is of.

    Examples
    --------
    >>> followed(recipe(remembered(lambda f: lambda x: 2 * f(x))(abs)))(-3)
    6
    """
    if not isinstance(found, Made):
        return found
    kwargs = {name: followed(arg) for name, arg in found.kwargs.items()}
    return found.transformation(*map(followed, found.args), **kwargs)
