"""A program as calls of bodies, with moves of elements between them."""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy.typing import NDArray

from simpleautodiff.compiled.array.view_accesses import View, whole
from simpleautodiff.compiled.recording.trace_program import RecordedProgram


class Given(NamedTuple):
    """An argument of a call of a body: a view of an earlier result, or a constant."""

    view: View | None
    constant: Any = None


class BodyCall(NamedTuple):
    """One call of a body: its arguments, and the lines whose results it computes."""

    body: int
    given: list[Given]
    results: list[int]
    guards: int  # how many guards come before those of the body


class Move(NamedTuple):
    """Elements of an array that are set, or added to, from a view or from constants."""

    adds: bool
    to: View
    by: View | NDArray[Any]


class LineCall(NamedTuple):
    """A line that NumPy computes."""

    number: int
    needs: list[int]


class RolledProgram(NamedTuple):
    """A program as calls of bodies, in order, with moves between them.

    Attributes
    ----------
    recorded : RecordedProgram
        The program that was rolled up.
    bodies : list of RecordedProgram
        Programs that are called.
    calls : list of BodyCall, Move or LineCall
        The calls, in order.
    views : dict
        The views among the lines.
    """

    recorded: RecordedProgram
    bodies: list[RecordedProgram]
    calls: list[BodyCall | Move | LineCall]
    views: dict[int, View]

    def view(self, number: int) -> View:
        """Return the view of the elements of a line."""
        return self.views.get(number) or whole(number, self.recorded.lines[number].shape)

    @property
    def size(self) -> int:
        """The number of lines of all bodies."""
        return sum([len(body.lines) for body in self.bodies])
