"""Levels, and `apply`: the one function that runs a primitive on nodes and numbers.

Each use of a transformation (`grad`, `jvp`, ...) opens a level with a fresh, increasing number. An
operation belongs to the highest level among its arguments; whatever is lower is a constant to it.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from typing import Any

from simpleautodiff.core.engine import engine
from simpleautodiff.core.primitive import Args, Primitive
from simpleautodiff.errors import ArgumentError, AutodiffError, cite_line
from simpleautodiff.values.functions import as_argument, check_value

REFUSED = (ArithmeticError, ValueError, TypeError)  # what numbers raise where they have no answer
_numbers = itertools.count(1)
WATCHERS: dict[Primitive, Callable[[Any, tuple[Any, ...]], None]] = {}  # told of each result


class Traced:
    """What every transformation passes to a function in place of a number."""

    __slots__ = ("__weakref__", "level", "value")
    value: Any
    level: Level
    shape: Any  # this and all other attributes of arrays are installed by `arrays`
    copy: Any
    writable: Any
    array_like = False  # to be treated as an array, even where its shape is ()
    opaque = False  # it stands for numbers that differ from use to use

    __hash__ = object.__hash__

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """What `isinstance` is told: outside this library, the class of the number inside."""
        return engine.class_of(self, sys._getframe(1))

    def plainly(self) -> Any:
        """Return the innermost number; of what is opaque, that which stands for the numbers."""
        return plain(self.value)


class Written:
    """What has been written to: `current` is the node, or the array, that it is now."""

    __slots__ = ()
    current: Any
    writable: Any


def unwrapped(x: Any) -> Any:
    """Return what an array that was written to is now; anything else is as it is."""
    return x.current if issubclass(type(x), Written) else x


def plain(x: Any) -> Any:
    """Return the innermost number of a node of nodes; a number is its own.

    A batch stays one: of plain numbers.
    """
    while isinstance(x, Traced):
        if x.opaque:
            return x.plainly()
        x = x.value
    return x


def concrete(x: Any) -> Any:
    """Return the plain array of a node; of what is opaque, that of all examples or of this call."""
    while isinstance(x, Traced):
        x = x.concrete if x.opaque and hasattr(x, "concrete") else x.value
    return x


class Level:
    """One use of a transformation: who records what happens to its inputs, and how.

    Levels are numbered as they open; those typed by hand have the number they are given.
    """

    above: Level | None = None  # of graphs typed by hand around values of this level
    by_hand = False  # whether its graphs are typed by hand, so that nodes are known one by one
    compared = False  # whether the code has asked which of two numbers is larger

    def __init__(self, number: float | None = None) -> None:
        self.number = next(_numbers) if number is None else number
        self.open = False

    def __enter__(self) -> None:
        self.open = True

    def __exit__(self, *exception: object) -> None:
        self.open = False

    def answered(self, answer: Any, sign: str, x: Any, y: Any) -> Any:
        """Return the answer to ``x > y``; a level may note what was asked, or let arrays know."""
        self.compared = True
        return answer

    def run(self, primitive: Primitive, args: Args) -> Any:
        """Run a primitive on this level: on the values of its arguments, one level lower."""
        value = evaluate(primitive, self.values(args))
        if primitive.restate is not None:
            primitive, args = primitive.restate(*args) or (primitive, args)
        return self.result(primitive, args, self.values(args), value)

    def values(self, args: Args) -> Args:
        """Return what the arguments are one level lower."""
        return tuple(
            [arg.value if isinstance(arg, Traced) and arg.level is self else arg for arg in args]
        )

    def result(self, primitive: Primitive, args: Args, values: Args, value: Any) -> Any:
        """Make what stands on this level for `value`, computed from the `values` of `args`."""
        raise NotImplementedError


def apply(primitive: Primitive, *args: Any) -> Any:
    """Run one primitive on nodes and numbers, on the highest level among them."""
    if len(args) != primitive.arity:
        raise ArgumentError(
            f"{primitive.name} takes {primitive.arity} argument"
            f"{'s' * (primitive.arity != 1)}, got {len(args)}{cite_line()}"
        )
    level: Level | None = None
    for i, arg in enumerate(args):
        if isinstance(arg, Traced) and not isinstance(arg, Written):
            if level is None or arg.level.number > level.number:
                level = arg.level
        elif not isinstance(arg, (int, float)):
            setting = i in primitive.settings
            argument = as_argument(unwrapped(arg), setting)
            if argument is not arg:
                return apply(primitive, *args[:i], argument, *args[i + 1 :])
            if not setting:
                check_value(arg, f"argument {i + 1} of {primitive.name}")
            elif type(arg) is tuple:
                level = _highest(arg, level)
    if level is None:
        return evaluate(primitive, args)
    result = level.run(primitive, args)
    if primitive in WATCHERS:
        WATCHERS[primitive](result, args)
    return result


def _highest(index: tuple[Any, ...], level: Level | None) -> Level | None:
    """Return a level, or that of a part of an index if it is higher."""
    for part in index:
        if isinstance(part, Traced) and (level is None or part.level.number > level.number):
            level = part.level
    return level


def evaluate(primitive: Primitive, args: Args) -> Any:
    """Compute the value of a primitive; what is a node on a lower level is recorded there."""
    for arg in args:
        if isinstance(arg, Traced):
            return apply(primitive, *args)
    try:
        return primitive.compute(*args)
    except AutodiffError:
        raise
    except REFUSED as error:
        return primitive.recover(error, args)


def wrap(primitive: Primitive) -> Callable[..., Any]:
    """Make the wrapping function of a primitive: what users call for it."""
    if engine.wrap is not None:
        return engine.wrap(primitive)

    def wrapping(*args: Any) -> Any:
        return apply(primitive, *args)

    return wrapping
