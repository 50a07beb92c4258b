"""Where a derivative was a choice: steps evaluated at kinks, with their values and source lines."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any, NamedTuple

import numpy as np

from simpleautodiff.core.level import Traced, plain
from simpleautodiff.core.node import Node
from simpleautodiff.core.primitive import Kink, Primitive
from simpleautodiff.core.tape import Tape
from simpleautodiff.errors import (
    ArgumentError,
    KinkError,
    KinkWarning,
    cite_line,
    find_user_frame,
    format_line,
)
from simpleautodiff.values.functions import shape
from simpleautodiff.values.other_arrays import Foreign


class LocatedTape(Tape):
    """A tape that notes on which line of the user's code each node was made."""

    def __init__(self) -> None:
        super().__init__()
        self.places: list[tuple[str, int]] = []
        self.instructions: list[tuple[CodeType, int] | None] = []
        frame = find_user_frame()  # whoever asked for the tape; what is made from there has no line
        self.caller = (frame.f_code, frame.f_lasti) if frame else None

    def append(self, node: Node, /) -> None:
        """Take the new node in, and note where the user's code stands."""
        super().append(node)
        self.note(find_user_frame())

    def note(self, frame: FrameType | None) -> None:
        """Note the place of one node."""
        self.places.append((frame.f_code.co_filename, frame.f_lineno) if frame else ("", 0))
        self.instructions.append((frame.f_code, frame.f_lasti) if frame else None)

    def line(self, node: Node) -> str:
        """Return the line of the user's function that made a node; empty if another did."""
        if self.instructions[node.index] == self.caller:
            return ""
        return format_line(*self.places[node.index])


class KinkTape(LocatedTape):
    """A tape to look for kinks on: checkpointed calls are recorded step by step, too."""


class Call(NamedTuple):
    """One call of a function of the user's: where it was called, and a number of its own."""

    function: str
    place: tuple[str, int]
    number: int


class CallTape(LocatedTape):
    """A tape that also notes in which calls of the user's functions each node was made.

    It keeps their frames until it is cleared, so that two calls are never taken for one.
    """

    shown = True

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[Call, ...]] = []
        self._known: dict[FrameType | None, tuple[Call, ...]] = {None: (), sys._getframe(1): ()}

    def note(self, frame: FrameType | None) -> None:
        """Note the place of one node, and the calls that lead to it."""
        super().note(frame)
        if frame not in self._known:
            self._learn(frame)
        self.calls.append(self._known[frame])

    def _learn(self, frame: FrameType | None) -> None:
        """Find the calls that lead to a frame; those of its callers are known from then on."""
        new = []
        while frame not in self._known:
            assert frame is not None
            new.append(frame)
            frame = frame.f_back and find_user_frame(frame.f_back, self._known)
        calls = self._known[frame]
        for inner in reversed(new):
            outer = inner.f_back
            place = (outer.f_code.co_filename, outer.f_lineno) if outer else ("", 0)
            name = inner.f_code.co_name
            if name == "<lambda>" or not name.startswith("<"):  # a comprehension is no call
                calls = (*calls, Call(name, place, len(self._known)))
            self._known[inner] = calls

    def clear(self) -> None:
        """Let go of the nodes and of the frames."""
        super().clear()
        self._known.clear()


@dataclass(frozen=True, slots=True)
class KinkMet:
    """A step evaluated where its derivative is not unique, and the choice that was made."""

    name: str
    operator: str
    values: tuple[Any, ...]
    where: str
    choice: str
    line: str

    def __str__(self) -> str:
        """Tell it in a line."""
        place = f", {self.line}" if self.line else ""
        return f"{self.name} = {self.operator}(...) at {self.where}: {self.choice}{place}"


def kinks_met(tape: LocatedTape, results: Iterable[Any]) -> list[KinkMet]:
    """Return the steps on the way to the results whose derivative was a choice."""
    needed = {id(result) for result in results}
    for node in reversed(tape):
        if id(node) in needed:
            needed.update(id(arg) for arg in node.args if type(arg) is Node)
    steps = [node for node in tape if node.primitive is not None and id(node) in needed]
    return [
        KinkMet(
            f"v{number}",
            node.operator,
            node.values(),
            kink.text,
            kink.choice,
            format_line(*tape.places[node.index]),
        )
        for number, node in enumerate(steps, 1)
        for kink in node.primitive.kinks  # type: ignore[union-attr]
        if _counts(kink, node) and happens(node.primitive, kink, node.values())  # type: ignore[arg-type]
    ]


def _counts(kink: Kink, node: Node) -> bool:
    """Tell whether a kink is one in an argument that is differentiated."""
    return kink.wrt is None or any(type(node.args[i]) is Node for i in kink.wrt)


def happens(primitive: Primitive, kink: Kink, values: tuple[Any, ...]) -> bool:
    """Tell whether a kink happens, at some element of some example."""
    values = tuple([_of_numpy(plain(value)) for value in values])
    many: Any = next((value.level for value in values if isinstance(value, Traced)), None)
    if many is not None:
        return _in_some_example(primitive, kink, values, many)
    if primitive.arrays or not any(shape(value) for value in values):
        return bool(kink.happens(*values))
    elements = np.broadcast(*[np.asarray(value) for value in values])
    return any(kink.happens(*element) for element in elements)


def _of_numpy(value: Any) -> Any:
    return value.numpy() if type(value) is Foreign else value


def _in_some_example(primitive: Primitive, kink: Kink, values: Any, level: Any) -> bool:
    if not hasattr(level, "one_by_one"):
        raise ArgumentError(
            "a compiled function has no numbers yet that could be at a kink: ask for kinks outside "
            f"of jit{cite_line()}"
        )
    told = level.one_by_one(lambda *one: np.asarray(happens(primitive, kink, one)), values)
    return bool(np.any(told.value))


def check_choice(kinks: str | None) -> None:
    """Refuse a way of treating kinks that there is not."""
    if kinks not in (None, "report", "raise"):
        raise ArgumentError(f"kinks is None, 'report' or 'raise'; got {kinks!r}")


def tell(kinks: str, met: list[KinkMet], of: str) -> None:
    """Report kinks, as a warning or as an error."""
    if not met:
        return
    listed = "\n".join(f"  {kink}" for kink in met)
    message = f"{of} was evaluated where its derivative is not unique; a choice was made:\n{listed}"
    if kinks == "raise":
        raise KinkError(message)
    warnings.warn(message, KinkWarning, stacklevel=4)
