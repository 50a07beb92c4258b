"""The recorded program: lines of primitives on arrays, guards and results."""

from __future__ import annotations

import inspect
import struct
from collections.abc import Iterator
from types import CodeType
from typing import Any, NamedTuple, final

import numpy as np

from simpleautodiff.core.primitive import Primitive

_KEYED = 2**14  # elements of arrays that are compared by their numbers


class Line(NamedTuple):
    """One step: a row, or a function of NumPy that has no derivative, and its arguments.

    Among the arguments are `Ref`s, alone or in tuples and lists: results of earlier lines.
    """

    what: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    shape: tuple[int, ...]
    dtype: np.dtype[Any] | None
    where: str = ""  # the source line, if it is seldom compiled

    @property
    def name(self) -> str:
        """The name of the row or of the function; "input" for an argument."""
        what = self.what
        return what.name if type(what) is Primitive else getattr(what, "__name__", "input")

    def needs(self) -> list[Ref]:
        """Return the indices of the lines that it refers to, in the order of its arguments."""
        args = self[1]
        if not self[2] and _DEEP.isdisjoint(map(type, args)):
            return [arg for arg in args if type(arg) is Ref]
        found: list[Ref] = []
        _collect(args, found)
        if self.kwargs:
            _collect(self.kwargs, found)
        return found

    def named_arguments(self) -> dict[str, Any]:
        """Return the arguments of a function of NumPy by their names."""
        bound = inspect.signature(self.what).bind(*self.args, **self.kwargs)
        bound.apply_defaults()
        return dict(bound.arguments)

    def renumbered(self, of: Any) -> Line:
        """Return the line with other references."""
        what, args, kwargs, shape, dtype, where = self
        kwargs = with_values(kwargs, of) if kwargs else kwargs
        made: Line = _new_line(Line, (what, with_values(args, of), kwargs, shape, dtype, where))
        return made


@final
class Ref(int):
    """A reference to the result of an earlier line, by its index, as an argument of a line."""

    __slots__ = ()


Stack = tuple[
    tuple[CodeType, int], ...
]  # code of the user's functions, and the running line of each


class Guard(NamedTuple):
    """A bool that decided which path the code took, and the source line of the decision.

    If the code used an integer, the bool says that it equals `number`; for a mask, its bits.
    """

    place: Ref
    expected: bool
    line: str
    number: int | None = None
    stack: Stack = ()  # where the code was, from the innermost function outward


class RecordedProgram(NamedTuple):
    """The record of a function: lines, the first of which are its inputs, guards, and results."""

    lines: list[Line]
    inputs: int
    guards: list[Guard]
    outputs: list[Any]  # a `Ref` or a constant for each leaf of the result

    def decisions(self, last: int) -> list[tuple[bool, int | None]]:
        """Return the outcomes of all guards up to one."""
        return [(guard.expected, guard.number) for guard in self.guards[: last + 1]]


def find_refs(tree: Any) -> Iterator[Ref]:
    """Return the indices of the lines that an argument refers to."""
    found: list[Ref] = []
    _collect((tree,), found)
    return iter(found)


def _collect(parts: Any, found: list[Ref]) -> None:
    """Append what parts of an argument refer to."""
    if type(parts) is dict:
        parts = parts.values()
    for part in parts:
        kind = type(part)
        if kind is Ref:
            found.append(part)
        elif kind in _TREES:
            _collect(part, found)
        elif kind is slice:
            _collect((part.start, part.stop, part.step), found)


_TREES = {tuple, list, dict}
_DEEP = _TREES | {slice}
_new_line: Any = tuple.__new__  # takes half the time of the named tuple's own


def with_values(tree: Any, values: Any) -> Any:
    """Return arguments with each `Ref` replaced by the value of its line."""
    kind = type(tree)
    if kind is Ref:
        return values[tree]
    if kind is tuple:
        return tuple([
            values[part] if type(part) is Ref
            else with_values(part, values) if type(part) in _TREES
            else part
            for part in tree
        ])  # fmt: skip
    if kind is list:
        return [with_values(part, values) for part in tree]
    if kind is dict:
        return {key: with_values(part, values) for key, part in tree.items()}
    return tree


def native(leaf: Any) -> Any:
    """Return a number or an array in the byte order of this machine."""
    if type(leaf) is not np.ndarray or leaf.dtype.isnative:
        return leaf
    return leaf.astype(leaf.dtype.newbyteorder("="))


def argument_key(tree: Any) -> Any:
    """Return a key that is equal for equal arguments: 2 and 2.0, and 0.0 and -0.0, differ."""
    kind = type(tree)
    if kind in (Ref, int, bool, str, type(None)):
        return kind, tree
    if kind is tuple or kind is list:
        return kind, tuple([argument_key(part) for part in tree])
    if kind is dict:
        return tuple([(name, argument_key(part)) for name, part in tree.items()])
    if kind is slice:
        return slice, argument_key((tree.start, tree.stop, tree.step))
    if kind is float:
        return float, struct.pack("d", tree)
    if isinstance(tree, (np.ndarray, np.generic)) and tree.size <= _KEYED:
        return tree.dtype.str, tree.shape, tree.tobytes()
    return id(tree)  # the program keeps it alive, so that the id is unique


def put_inputs_first(recorded: RecordedProgram, more: int) -> RecordedProgram:
    """Return a program with its arguments first; `more` of them were added after other lines."""
    lines = recorded.lines
    order = sorted(range(len(lines)), key=lambda place: lines[place].what is not None)
    of = {old: Ref(new) for new, old in enumerate(order)}
    moved = [
        lines[old]._replace(
            args=with_values(lines[old].args, of), kwargs=with_values(lines[old].kwargs, of)
        )
        for old in order
    ]
    guards = [guard._replace(place=of[guard.place]) for guard in recorded.guards]
    return RecordedProgram(moved, recorded.inputs + more, guards, with_values(recorded.outputs, of))
