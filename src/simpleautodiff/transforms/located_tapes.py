"""Tapes that note where in the user's code each node was made: the line, and the calls to it."""

from __future__ import annotations

import sys
from types import CodeType, FrameType
from typing import NamedTuple

from simpleautodiff.core.node import Node
from simpleautodiff.core.tape import Tape
from simpleautodiff.errors import find_user_frame, format_line


class LocatedTape(Tape):
    """A tape that notes on which line of the user's code each node was made."""

    def __init__(self) -> None:
        super().__init__()
        self.locations: list[tuple[str, int]] = []  # file name and line number of each node
        self.instructions: list[tuple[CodeType, int] | None] = []
        frame = find_user_frame()  # nodes made in the frame that opened the tape have no line
        self.caller = (frame.f_code, frame.f_lasti) if frame else None

    def append(self, node: Node, /) -> None:
        """Append a new node, and note which line of the user's code is running."""
        super().append(node)
        self.note(find_user_frame())

    def note(self, frame: FrameType | None) -> None:
        """Note the location of one node."""
        self.locations.append((frame.f_code.co_filename, frame.f_lineno) if frame else ("", 0))
        self.instructions.append((frame.f_code, frame.f_lasti) if frame else None)

    def line(self, node: Node) -> str:
        """Return the source line of the node, or "" if the user's function did not make it."""
        if self.instructions[node.index] == self.caller:
            return ""
        return format_line(*self.locations[node.index])


class UserCall(NamedTuple):
    """One call of a user's function: its name, the calling line, and a unique number."""

    function: str
    location: tuple[str, int]
    number: int


class CallTape(LocatedTape):
    """A tape that also notes during which calls of the user's functions each node was made.

    It keeps their frames alive until it is cleared, so that two calls never have the same id.
    """

    shown = True

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[UserCall, ...]] = []
        self._known: dict[FrameType | None, tuple[UserCall, ...]] = {
            None: (),
            sys._getframe(1): (),
        }

    def note(self, frame: FrameType | None) -> None:
        """Note the location of one node, and the calls that lead to it."""
        super().note(frame)
        if frame not in self._known:
            self._trace_calls(frame)
        self.calls.append(self._known[frame])

    def _trace_calls(self, frame: FrameType | None) -> None:
        """Find the calls that lead to a new frame, and store those of its callers as well."""
        new = []
        while frame not in self._known:
            assert frame is not None
            new.append(frame)
            frame = frame.f_back and find_user_frame(frame.f_back, self._known)
        calls = self._known[frame]
        for inner in reversed(new):
            outer = inner.f_back
            location = (outer.f_code.co_filename, outer.f_lineno) if outer else ("", 0)
            name = inner.f_code.co_name
            if name == "<lambda>" or not name.startswith("<"):  # a comprehension is no call
                calls = (*calls, UserCall(name, location, len(self._known)))
            self._known[inner] = calls

    def clear(self) -> None:
        """Release the nodes and the frames."""
        super().clear()
        self._known.clear()
