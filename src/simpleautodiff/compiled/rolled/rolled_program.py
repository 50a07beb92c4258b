"""A program as calls of bodies, with moves of elements between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from numpy.typing import NDArray

from simpleautodiff.compiled.array.view_accesses import View, whole
from simpleautodiff.compiled.recording.trace_program import RecordedProgram


class Given(NamedTuple):
    """What a body is given at a call: a view of an earlier result, or a constant."""

    view: View | None
    constant: Any = None


class BodyCall(NamedTuple):
    """One call of a body: what it is given, and the lines whose results it leaves behind."""

    body: int
    given: list[Given]
    results: list[int]
    guards: int  # how many guards come before those of the body


class Move(NamedTuple):
    """Elements of an array that are set, or added to: by those of a view, or by constants."""

    adds: bool
    to: View
    by: View | NDArray[Any]


class LineCall(NamedTuple):
    """A line that NumPy computes."""

    number: int
    needs: Sequence[int]


class RolledProgram(NamedTuple):
    """A program as calls of bodies, in order, with moves between them.

    Attributes
    ----------
    recorded : RecordedProgram
        What was rolled.
    bodies : list of RecordedProgram
        Programs that are called.
    calls : list of BodyCall, Move or LineCall
        What is done.
    views : dict
        Lines that lie where others do.
    """

    recorded: RecordedProgram
    bodies: list[RecordedProgram]
    calls: list[BodyCall | Move | LineCall]
    views: dict[int, View]

    def view(self, number: int) -> View:
        """Return where the elements of a line are."""
        return self.views.get(number) or whole(number, self.recorded.lines[number].shape)

    @property
    def size(self) -> int:
        """How many lines all bodies have together."""
        return sum([len(body.lines) for body in self.bodies])
