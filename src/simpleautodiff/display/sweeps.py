"""A gradient recorded step by step, with whose adjoint each number is."""

from __future__ import annotations

from typing import Any, NamedTuple, SupportsIndex

from simpleautodiff.arguments import Selection
from simpleautodiff.kinks import LocatedTape
from simpleautodiff.node import Node, Tape
from simpleautodiff.sweep import unmasked
from simpleautodiff.transform import F, Graph


class Change(NamedTuple):
    """One change of an adjoint: whose it is, through which child, when, and what it became."""

    node: Node
    child: Node | None
    time: int  # how many steps had been recorded
    value: Any


class SourceTape(LocatedTape):
    """A tape on which a function, and perhaps the sweep of a gradient, is recorded.

    `values` is how many steps are those of the function; `changes` are those of the adjoints.
    """

    def __init__(self) -> None:
        super().__init__()
        self.graph: WatchedGraph | None = None
        self.values = 0
        self.changes: list[Change] = []

    def begin_sweep(self, graph: WatchedGraph) -> None:
        """Note that what follows are the adjoints of a graph."""
        self.graph, self.values = graph, len(self)


class WatchedGraph(Graph):
    """A graph whose sweeps tell a tape, one level down, of each adjoint as it changes."""

    def __init__(self, f: F, selection: Selection, below: SourceTape) -> None:
        super().__init__(f, selection, tape=Tape())
        self.below = below

    def blank(self) -> list[Any]:
        """Return adjoints that are watched."""
        return Watched(self.tape, self.below)


class Watched(list[Any]):
    """The adjoints of a sweep, which note every change.

    A sweep reads the adjoint of the node it has come to; then, for each parent, it reads the
    parent's and sets it. So a read that is followed by a write to the same place is not a new node.
    """

    def __init__(self, tape: Tape, below: SourceTape) -> None:
        super().__init__([None] * len(tape))
        self.tape = tape
        self.below = below
        self.reads: list[Any] = [None, None]

    def __getitem__(self, place: Any) -> Any:
        self.reads = [self.reads[1], place]
        return super().__getitem__(place)

    def __setitem__(self, place: SupportsIndex | slice, value: Any) -> None:
        if self.reads[1] == place:
            self.reads = [None, self.reads[0]]
        child = None if self.reads[1] is None else self.tape[self.reads[1]]
        self.below.changes.append(
            Change(self.tape[place], child, len(self.below), unmasked(value))  # type: ignore[arg-type]
        )
        super().__setitem__(place, value)
