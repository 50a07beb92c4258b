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
from simpleautodiff.values.functions import as_argument, keep_labels
from simpleautodiff.values.own_operators import ask_class

REFUSED = (ArithmeticError, ValueError, TypeError)  # raised by numbers outside a domain
_numbers = itertools.count(1)
WATCHERS: dict[Primitive, Callable[[Any, tuple[Any, ...]], None]] = {}  # called with each result


class Traced:
    """A value that a transformation passes to a function instead of a number."""

    __slots__ = ("__weakref__", "level", "value")
    value: Any
    level: Level
    shape: Any  # this and all other attributes of arrays are installed by `arrays`
    copy: Any
    writable: Any
    array_like = False  # is treated as an array, even if its shape is ()
    opaque = False  # stands for several numbers, so code must not branch on it

    __hash__ = object.__hash__

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """The class that `isinstance` sees: outside this library, that of the innermost number."""
        return engine.class_of(self, sys._getframe(1))

    def to_plain(self) -> Any:
        """Return the innermost number; for an opaque value, what stands for the numbers."""
        return to_plain(self.value)


class Written:
    """An array that has been written to; `current` is the node or array that it now equals."""

    __slots__ = ()
    current: Any
    writable: Any


def take_current(x: Any) -> Any:
    """Return the current node of an array that was written to; return anything else unchanged."""
    return x.current if issubclass(type(x), Written) else x


def to_plain(x: Any) -> Any:
    """Return the innermost number of a node of nodes; a number is returned unchanged.

    A batch is returned as a batch of plain numbers.
    """
    while isinstance(x, Traced):
        if x.opaque:
            return x.to_plain()
        x = x.value
    return x


def to_concrete(x: Any) -> Any:
    """Return the plain array of a node; for an opaque value, all its examples or this call's."""
    while isinstance(x, Traced):
        x = x.concrete if x.opaque and hasattr(x, "concrete") else x.value
    return x


class Level:
    """One use of a transformation: it decides how operations on its inputs are recorded.

    Levels are numbered as they open, except those of graphs typed by hand: they have a given number
    and are always open.
    """

    above: Level | None = None  # the level of graphs typed by hand around this level's values
    by_hand = False  # whether users type its graphs, so that they see each node
    compared = False  # whether the code has compared numbers

    def __init__(self, number: float | None = None) -> None:
        self.number = next(_numbers) if number is None else number
        self.open = number is not None

    def __enter__(self) -> None:
        self.open = True

    def __exit__(self, *exception: object) -> None:
        self.open = False

    def answered(self, answer: Any, sign: str, x: Any, y: Any) -> Any:
        """Return the answer to ``x > y``; a level may override this to note the comparison."""
        self.compared = True
        return answer

    def run(self, primitive: Primitive, args: Args) -> Any:
        """Run a primitive on this level: on the values of its arguments, one level lower."""
        value = evaluate(primitive, self.values(args))
        if primitive.restate is not None:
            primitive, args = primitive.restate(*args) or (primitive, args)
        return self.result(primitive, args, self.values(args), value)

    def values(self, args: Args) -> Args:
        """Return the arguments with nodes of this level replaced by their values."""
        return tuple(
            [arg.value if isinstance(arg, Traced) and arg.level is self else arg for arg in args]
        )

    def result(self, primitive: Primitive, args: Args, values: Args, value: Any) -> Any:
        """Make the object of this level for `value`, computed from the `values` of `args`."""
        raise NotImplementedError


def apply(primitive: Primitive, *args: Any) -> Any:
    """Run one primitive on nodes and numbers, on the highest level among them."""
    if len(args) != (count := len(primitive.partials)):
        wanted = f"{count} argument{'s' * (count != 1)}"
        raise ArgumentError(f"{primitive.name} takes {wanted}, got {len(args)}{cite_line()}")
    level: Level | None = None
    for i, arg in enumerate(args):
        for part in arg if type(arg) is tuple else (arg,):  # an index has several
            is_traced = isinstance(part, Traced) and not issubclass(type(part), Written)
            if is_traced and (level is None or part.level.number > level.number):
                level = part.level
        if issubclass(type(arg), Written) or not isinstance(arg, (Traced, int, float)):
            if i and (answer := ask_class(primitive.name, args, to_plain(args[0]))):
                return answer[0]
            argument = as_argument(take_current(arg), primitive.name, i, primitive.settings)
            if argument is not arg:
                result = apply(primitive, *args[:i], argument, *args[i + 1 :])
                return result if primitive.arrays else keep_labels(arg, result)
    if level is None:
        return evaluate(primitive, args)
    result = level.run(primitive, args)
    if primitive in WATCHERS:
        WATCHERS[primitive](result, args)
    return result


def evaluate(primitive: Primitive, args: Args) -> Any:
    """Compute the value of a primitive; nodes of lower levels are recorded on their own level."""
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
    """Make the wrapping function of a primitive, the one that users call."""
    if engine.wrap is not None:
        return engine.wrap(primitive)

    def wrapping(*args: Any) -> Any:
        return apply(primitive, *args)

    return wrapping
