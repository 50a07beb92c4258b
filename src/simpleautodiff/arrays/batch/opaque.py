"""Opaque values: batches, and symbols of `jit`. They have a shape and a dtype but no single number.

Code cannot branch on such a value. NumPy functions with a derivative run their implementation made
of primitives; those without one (comparisons, argmax) are evaluated by the level of the value.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

import numpy as np

from simpleautodiff.arrays.registry import (
    FUNCTIONS,
    IN_PLACE_FUNCTIONS,
    SPECIAL_UFUNCS,
    array_function,
)
from simpleautodiff.arrays.shaping import lay_out
from simpleautodiff.arrays.ufuncs import array_ufunc, is_plain
from simpleautodiff.core.level import Level, Traced, take_current, to_plain
from simpleautodiff.rules.row import UFUNCS
from simpleautodiff.values.pytree import flatten, map_leaves


class OpaqueLevel(Level):
    """A level of opaque values, which evaluates functions without a derivative itself."""

    def __init__(self) -> None:
        super().__init__()
        self.running: list[Any] = []  # NumPy functions whose implementation is running

    @contextmanager
    def mark_running(self, function: Any) -> Iterator[None]:
        """Mark a function as running: its implementation may need its own plain result."""
        self.running.append(function)
        try:
            yield
        finally:
            self.running.pop()

    def elementwise(self, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """Apply an elementwise function without a derivative, such as a comparison."""
        raise NotImplementedError

    def map_examples(
        self, f: Any, leaves: list[Any], axes: list[Any], rebuild: Any, size: int
    ) -> Any:
        """Apply a function to every example by a method of this level; None if it has none."""
        return None

    def answer(self, function: Any, args: Any, kwargs: Any) -> Any:
        """Apply an array function without a derivative, such as argmax."""
        raise NotImplementedError


class Opaque(Traced):
    """A scalar or an array without a concrete value; its level computes with it."""

    __slots__ = ()
    array_like = True
    opaque = True
    shape: Any
    dtype: Any

    def cast(self, dtype: Any) -> Any:
        """Return the value in another dtype."""
        raise NotImplementedError

    def astype(self, dtype: Any, order: str = "K", *_: Any, copy: bool = True, **__: Any) -> Any:
        """Return the value in another dtype, as a method of NumPy's arrays does."""
        laid_out = lay_out(self, order)
        return laid_out if not copy and np.dtype(dtype) == self.dtype else laid_out.cast(dtype)

    def zeros(self) -> Any:
        """Return zeros of the shape and dtype of one example."""
        return np.zeros(self.shape, self.dtype)

    def lift_integer(self, number: int) -> Any:
        """Return an integer in this dtype."""
        return self.dtype.type(number)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        level = highest_level(inputs)
        known = ufunc in UFUNCS or ufunc.__name__ in SPECIAL_UFUNCS
        plainly = not is_differentiated(inputs) and (not known or ufunc in level.running)
        if method == "__call__" and not kwargs and (is_plain(ufunc) or plainly):
            return apply_plainly(ufunc, *inputs)
        with level.mark_running(ufunc):
            return array_ufunc(self, ufunc, method, *inputs, **kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        level, again = highest_level((self, args, kwargs)), is_differentiated((args, kwargs))
        is_known = function in FUNCTIONS and (again or function not in level.running)
        if is_known or function in IN_PLACE_FUNCTIONS:
            with level.mark_running(function):
                return array_function(self, function, types, args, kwargs)
        args, kwargs = map_leaves(to_plain, args), map_leaves(to_plain, kwargs)
        if function in _SHAPE_FUNCTIONS:
            return function(*map_leaves(_outline, args), **kwargs)
        return highest_level((to_plain(self), args, kwargs)).answer(function, args, kwargs)


_SHAPE_FUNCTIONS = {
    *(np.shape, np.ndim, np.size, np.result_type, np.iscomplexobj, np.isrealobj),
    *(np.common_type, np.can_cast, np.min_scalar_type),
}


def _outline(x: Any) -> Any:
    """Return an empty array of the shape and dtype of one example."""
    return np.empty(x.shape, x.dtype) if isinstance(x, Opaque) else x


def highest_level(args: Any) -> OpaqueLevel:
    """Return the highest level among the opaque arguments."""
    levels = [x.level for x in flatten(args)[0] if isinstance(x, Opaque)]
    return cast("OpaqueLevel", max(levels, key=lambda level: level.number))


def mark_structural_zeros(array: Any, like: Any) -> Any:
    """Return a constant array whose zeros are structural zeros, if `like` is being recorded.

    Otherwise return the array itself.
    """
    like = to_plain(like)
    while isinstance(like, Opaque):
        if hasattr(like.level, "mark_structural_zeros"):
            return like.level.mark_structural_zeros(array)
        like = getattr(like, "value", None)
    return array


def is_differentiated(args: Any) -> bool:
    """Tell whether any argument carries a derivative: a node, or a batch of one."""
    return any(isinstance(x, Traced) and x is not to_plain(x) for x in flatten(args)[0])


def apply_plainly(function: Any, *args: Any) -> Any:
    """Apply an elementwise function without a derivative to the plain values."""
    args = tuple([to_plain(take_current(arg)) for arg in args])
    return highest_level(args).elementwise(function, args)


def _install() -> None:
    """Give opaque values the operators that have no derivative."""
    for name, function in OPERATIONS_WITHOUT_SLOPE.items():
        setattr(Opaque, f"__{name}__", _make_binary(function))
        if name in ("and", "or", "xor"):  # these commute
            setattr(Opaque, f"__r{name}__", _make_binary(function))
    setattr(Opaque, "__invert__", lambda self: apply_plainly(np.invert, self))  # noqa: B010


_COMPARISON_UFUNCS = {
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "eq": "equal",
    "ne": "not_equal",
}
OPERATIONS_WITHOUT_SLOPE: dict[str, Any] = {
    **{name: getattr(np, word) for name, word in _COMPARISON_UFUNCS.items()},
    **{name: getattr(operator, f"{name}_") for name in ("and", "or")},
    "xor": operator.xor,
}


def _make_binary(function: Any) -> Callable[[Any, Any], Any]:
    return lambda self, other: apply_plainly(function, self, other)


_install()
