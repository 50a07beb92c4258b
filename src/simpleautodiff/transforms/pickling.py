"""Pickle functions that transformations made, as the recipe by which to make them again."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from types import MethodType
from typing import Any, NamedTuple, TypeVar

from simpleautodiff.transforms.arguments import check_options

F = Callable[..., Any]
T = TypeVar("T", bound=F)


class Recipe(NamedTuple):
    """The transformation that made a function, and its arguments."""

    transformation: F
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


class Transformed(functools.partial[Any]):
    """A function that a transformation made; it is pickled by its recipe."""

    recipe: Recipe
    __wrapped__: F
    __name__: str

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """Act as a method if the function is defined in a class."""
        return self if instance is None else MethodType(self, instance)

    @property
    def __signature__(self) -> inspect.Signature:
        """The parameters of the function of which it is the derivative."""
        try:
            return inspect.signature(self.__wrapped__)
        except ValueError as error:
            raise AttributeError(str(error)) from None

    def __reduce__(self) -> Any:
        name = getattr(self.__wrapped__, "__qualname__", "")
        if name and getattr(sys.modules.get(self.__module__), name, None) is self:
            return name  # it was decorated, so pickle finds it by its name
        return follow_recipe, (find_recipe(self),)

    def __repr__(self) -> str:
        return f"<{self.__name__}>"


def remember_recipe(transformation: T) -> T:
    """Decorate a transformation, so that the functions it makes can be pickled.

    Examples
    --------
    >>> twice = remember_recipe(lambda f: lambda x: 2 * f(x))
    >>> find_recipe(twice(abs)).args
    (<built-in function abs>,)
    """
    options = list(inspect.signature(transformation).parameters)[1:]

    @functools.wraps(transformation)
    def transform(*args: Any, **kwargs: Any) -> Any:
        if len(args) > 1:
            check_options(transformation.__name__, options, args[1:])
        function = transformation(*args, **kwargs)
        made = Transformed(function)
        functools.update_wrapper(made, function)
        wrapped: Any = getattr(function, "__wrapped__", function)  # the differentiated function
        made.__wrapped__, made.recipe = wrapped, Recipe(transform, args, kwargs)
        made.__module__ = getattr(wrapped, "__module__", None) or __name__
        return made

    return transform  # type: ignore[return-value]


def find_recipe(f: Any) -> Any:
    """Return the recipe of a function, or the function itself if no transformation made it.

    Examples
    --------
    >>> find_recipe(abs)
    <built-in function abs>
    """
    if not isinstance(f, Transformed):
        return f
    recipe = f.recipe
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
