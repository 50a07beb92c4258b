"""A program as calls of bodies, with moves of elements between them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from numpy.typing import NDArray

from simpleautodiff.compiled.array.view_accesses import View, whole
from simpleautodiff.compiled.recording.trace_program import RecordedProgram
from simpleautodiff.errors import TraceError


class NotRolledError(TraceError):
    """A body cannot be compiled."""


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
    needs: Sequence[int]


class Row(NamedTuple):
    """A row, or an element, of an array in loops: its address advances with every step.

    `each` says by how many elements it does so with every row of some loops, from `first` on.
    """

    of: int
    first: int
    each: dict[int, int]


class LoopBegin(NamedTuple):
    """The start of a loop: calls are repeated up to its end.

    Attributes
    ----------
    loop : int
        Its number.
    limit, go : int
        The results that hold the number of steps, and whether there is a first one.
    told : tuple of int
        The results in which the loop says whether no guard failed, whether there is a next step,
        and how many steps it has taken.
    results : list of int
        Arrays whose rows are written.
    reverse : bool
        Whether it begins with the last row.
    next : int or None
        The result in which a step says whether there is a next one; None if only the limit counts.
    """

    loop: int
    limit: int
    go: int
    told: tuple[int, int, int]
    results: list[int]
    reverse: bool
    next: int | None = None


class LoopEnd(NamedTuple):
    """The end of a loop, and the results that every step needs."""

    loop: int
    kept: list[int]


Call = BodyCall | Move | LineCall | LoopBegin | LoopEnd


class RolledProgram(NamedTuple):
    """A program as calls of bodies, in order, with moves between them.

    Attributes
    ----------
    recorded : RecordedProgram
        The program that was rolled up.
    bodies : list of RecordedProgram
        Programs that are called.
    calls : list of BodyCall, Move, LineCall, LoopBegin or LoopEnd
        The calls, in order.
    views : dict
        The views among the lines.
    rows : dict
        Lines that are the current row of another in a loop.
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
        """Return the view of the elements of a line."""
        return self.views.get(number) or whole(number, self.recorded.lines[number].shape)

    @property
    def size(self) -> int:
        """The number of lines of all bodies."""
        return sum([len(body.lines) for body in self.bodies])


def find_roots(call: Call, rolled: RolledProgram) -> Iterable[int]:
    """Yield the results that a call reads or writes."""
    if isinstance(call, LoopBegin):
        yield from (call.limit, call.go, *call.told, *call.results)
    elif isinstance(call, LoopEnd):
        yield from call.kept
    elif isinstance(call, LineCall):
        yield call.number
        yield from [rolled.view(place).root for place in call.needs]
    elif isinstance(call, Move):
        yield call.to.root
        if isinstance(call.by, View):
            yield call.by.root
    else:
        yield from call.results
        for given in call.given:
            if given.view is not None:
                yield given.view.root
