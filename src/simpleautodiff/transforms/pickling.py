"""Pickle functions that transformations made, by the recipe from which to make them again."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

F = Callable[..., Any]
T = TypeVar("T", bound=F)


class Recipe(NamedTuple):
    """The transformation that made a function, and its arguments."""

    transformation: F
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def remember_recipe(transformation: T) -> T:
    """Decorate a transformation, so that the functions it makes retain their recipe.

    Examples
    --------
    >>> twice = remember_recipe(lambda f: lambda x: 2 * f(x))
    >>> find_recipe(twice(abs)).args
    (<built-in function abs>,)
    """

    @functools.wraps(transformation)
    def transform(*args: Any, **kwargs: Any) -> Any:
        function = transformation(*args, **kwargs)
        function.recipe = Recipe(transform, args, kwargs), id(function)
        return function

    return transform  # type: ignore[return-value]


def find_recipe(f: Any) -> Any:
    """Return the recipe of a function, or the function itself if no transformation made it.

    Unlike the function, its recipe can be pickled.

    Examples
    --------
    >>> find_recipe(abs)
    <built-in function abs>
    """
    recipe, owner = getattr(f, "recipe", (None, 0))
    if recipe is None or owner != id(f):  # functools.wraps copies the attributes of another
        return f
    kwargs = {name: find_recipe(arg) for name, arg in recipe.kwargs.items()}
    return Recipe(recipe.transformation, tuple(map(find_recipe, recipe.args)), kwargs)


def follow_recipe(recipe: Any) -> Any:
    """Make the function again that a recipe describes.

    Examples
    --------
    >>> follow_recipe(find_recipe(remember_recipe(lambda f: lambda x: 2 * f(x))(abs)))(-3)
    6
    """
    if not isinstance(recipe, Recipe):
        return recipe
    kwargs = {name: follow_recipe(arg) for name, arg in recipe.kwargs.items()}
    return recipe.transformation(*map(follow_recipe, recipe.args), **kwargs)
