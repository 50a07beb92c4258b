"""What stands for numbers that differ from use to use: batches of examples, symbols of a program.

Such a thing has a shape and a kind, but no number of its own that code could go by. Functions of
NumPy that have a derivative run as programs of rows; those that have none (comparisons, argmax) are
answered by its level.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

import numpy as np

from simpleautodiff.arrays import FUNCTIONS
from simpleautodiff.arrays.registry import SPECIAL, array_function
from simpleautodiff.arrays.ufuncs import array_ufunc, is_plain
from simpleautodiff.core.level import Level, Traced, plain
from simpleautodiff.rules.row import UFUNCS
from simpleautodiff.values.pytree import flatten, map_leaves


class ManyLevel(Level):
    """A level that answers functions without a derivative itself."""

    def __init__(self) -> None:
        super().__init__()
        self.running: list[Any] = []  # functions of NumPy whose programs are being run

    @contextmanager
    def running_program_of(self, function: Any) -> Iterator[None]:
        """Note whose program is running: it may want the plain answer of its own function."""
        self.running.append(function)
        try:
            yield
        finally:
            self.running.pop()

    def elementwise(self, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """Apply a function of single numbers that has no derivative, such as a comparison."""
        raise NotImplementedError

    def map_rows(self, f: Any, leaves: list[Any], axes: list[Any], rebuild: Any, size: int) -> Any:
        """Apply a function to every row in a way of this level's own; None if there is none."""
        return None

    def answer(self, function: Any, args: Any, kwargs: Any) -> Any:
        """Apply a function of arrays that has no derivative, such as argmax."""
        raise NotImplementedError


class Many(Traced):
    """A number or an array that stands for many; its level knows how to compute with it."""

    __slots__ = ()
    array_like = True
    opaque = True
    shape: Any
    dtype: Any

    def zeros(self) -> Any:
        """Return zeros of the shape and kind of one."""
        return np.zeros(self.shape, self.dtype)

    def lifted(self, number: int) -> Any:
        """Return a whole number in this kind."""
        return self.dtype.type(number)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        level = highest(inputs)
        known = ufunc in UFUNCS or ufunc.__name__ in SPECIAL
        plainly = not is_differentiated(inputs) and (not known or ufunc in level.running)
        if method == "__call__" and not kwargs and (is_plain(ufunc) or plainly):
            return without_derivative(ufunc, *inputs)
        with level.running_program_of(ufunc):
            return array_ufunc(self, ufunc, method, *inputs, **kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        level, again = highest((self, args, kwargs)), is_differentiated((args, kwargs))
        if function in FUNCTIONS and (again or function not in level.running):
            with level.running_program_of(function):
                return array_function(self, function, types, args, kwargs)
        args, kwargs = map_leaves(plain, args), map_leaves(plain, kwargs)
        if function in _SHAPES:
            return function(*map_leaves(_outline, args), **kwargs)
        return highest((plain(self), args, kwargs)).answer(function, args, kwargs)


_SHAPES = {
    *(np.shape, np.ndim, np.size, np.result_type, np.iscomplexobj, np.isrealobj),
    *(np.common_type, np.can_cast, np.min_scalar_type),
}


def _outline(x: Any) -> Any:
    """Return an empty array of the shape and kind of one example."""
    return np.empty(x.shape, x.dtype) if isinstance(x, Many) else x


def highest(args: Any) -> ManyLevel:
    """Return the highest level among the arguments that stand for many."""
    levels = [x.level for x in flatten(args)[0] if isinstance(x, Many)]
    return cast("ManyLevel", max(levels, key=lambda level: level.number))


def known(array: Any, like: Any) -> Any:
    """Return a constant array whose zeros are zeros by structure, where `like` is being recorded.

    Elsewhere it is the array itself.
    """
    like = plain(like)
    while isinstance(like, Many):
        if hasattr(like.level, "known"):
            return like.level.known(array)
        like = getattr(like, "value", None)
    return array


def is_differentiated(args: Any) -> bool:
    """Tell whether any argument carries a derivative: a node, or a batch of one."""
    return any(isinstance(x, Traced) and x is not plain(x) for x in flatten(args)[0])


def without_derivative(function: Any, *args: Any) -> Any:
    """Apply a function of single numbers that has no derivative to the plain numbers."""
    args = tuple(map(plain, args))
    return highest(args).elementwise(function, args)


def _install() -> None:
    """Give what stands for many the operators that have no derivative."""
    binary: dict[str, Any] = {
        **{name: getattr(np, word) for name, word in _COMPARISONS.items()},
        **{name: getattr(operator, f"{name}_") for name in ("and", "or")},
        "xor": operator.xor,
    }
    for name, function in binary.items():
        setattr(Many, f"__{name}__", _binary(function))
        if name in ("and", "or", "xor"):
            setattr(Many, f"__r{name}__", _binary(lambda a, b, f=function: f(b, a)))
    setattr(Many, "__invert__", lambda self: without_derivative(np.invert, self))  # noqa: B010


_COMPARISONS = {
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "eq": "equal",
    "ne": "not_equal",
}


def _binary(function: Any) -> Callable[[Any, Any], Any]:
    return lambda self, other: without_derivative(function, self, other)


_install()
