"""A program as calls of bodies, with moves of elements between them."""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy.typing import NDArray

from simpleautodiff.compiled.array.view_accesses import View, whole
from simpleautodiff.compiled.recording.trace_program import RecordedProgram
from simpleautodiff.errors import TraceError


class NotRolledError(TraceError):
    """A body cannot be compiled."""


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
    needs: list[int]


class Row(NamedTuple):
    """The row of an array at which a loop is: its place moves on with every step."""

    of: int
    loop: int


class LoopBegin(NamedTuple):
    """From here to its end, calls are repeated.

    Attributes
    ----------
    loop : int
        Its number.
    limit, go : int
        Where the number of steps lies, and whether there is a first one.
    told : tuple of int
        Where the loop says whether no guard failed, whether there is a next step, and how many it
        has taken.
    results : list of int
        Arrays whose rows are written.
    reverse : bool
        Whether it begins with the last row.
    next : int or None
        Where a step says whether there is a next one; None if there is until the limit.
    """

    loop: int
    limit: int
    go: int
    told: tuple[int, int, int]
    results: list[int]
    reverse: bool
    next: int | None = None


class LoopEnd(NamedTuple):
    """The end of a loop, and what is needed in every step of it."""

    loop: int
    kept: list[int]


Call = BodyCall | Move | LineCall | LoopBegin | LoopEnd


class RolledProgram(NamedTuple):
    """A program as calls of bodies, in order, with moves between them.

    Attributes
    ----------
    recorded : RecordedProgram
        What was rolled.
    bodies : list of RecordedProgram
        Programs that are called.
    calls : list of BodyCall, Move, LineCall, LoopBegin or LoopEnd
        What is done.
    views : dict
        Lines that lie where others do.
    rows : dict
        Lines that are rows of others, by turns.
    constants : dict
        Lines that are the same at every call.
    """

    recorded: RecordedProgram
    bodies: list[RecordedProgram]
    calls: list[Call]
    views: dict[int, View]
    rows: dict[int, Row] = {}  # noqa: RUF012 - never changed
    constants: dict[int, Any] = {}  # noqa: RUF012 - never changed

    def view(self, number: int) -> View:
        """Return where the elements of a line are."""
        return self.views.get(number) or whole(number, self.recorded.lines[number].shape)

    @property
    def size(self) -> int:
        """How many lines all bodies have together."""
        return sum([len(body.lines) for body in self.bodies])
