"""A derivative recorded step by step, with whose tangent or adjoint each number is."""

from __future__ import annotations

from typing import Any, NamedTuple, SupportsIndex

from simpleautodiff.arguments import Selection
from simpleautodiff.display.asked import asked, question_of
from simpleautodiff.graph import Graph
from simpleautodiff.jet import Jet, JetLevel
from simpleautodiff.kinks import LocatedTape
from simpleautodiff.masking import unmasked
from simpleautodiff.node import Held, Node, Result, Tape
from simpleautodiff.primitives import Primitive
from simpleautodiff.traced import Traced
from simpleautodiff.transform import F


class Change(NamedTuple):
    """One change of a derivative, in steps of the tape that records it.

    It is the derivative that belongs to the value `of`; an adjoint changes `through` a child.
    """

    of: Node
    through: Node | None
    time: int  # how many steps had been recorded
    value: Any


class SourceTape(LocatedTape):
    """A tape on which a function, and perhaps a sweep through it, is recorded.

    `end` is the result of the function that is swept, `accent` says "dot" or "bar".
    """

    shown = True

    def __init__(self) -> None:
        super().__init__()
        self.end: Node | None = None
        self.accent = ""
        self.changes: list[Change] = []

    def answered(self, answer: Any, sign: str, x: Any, y: Any) -> Any:
        """Let an array of answers know what was asked, so that it can be asked again."""
        return asked(answer, sign, self._here(x), self._here(y))

    def _here(self, x: Any) -> Any:
        """Return the step on this tape that a number of a higher level stands for."""
        while isinstance(x, Traced) and x.level is not self:
            x = x.value
        return x

    def operands(self, node: Node) -> list[Node]:
        """Return the steps that a step needs: its parents, and what its conditions compare."""
        return [x for arg in node.args for x in _compared(arg)]

    def change(self, of: Any, through: Any, value: Any) -> None:
        """Note a new tangent or adjoint."""
        if type(of) is Result and of.level is self:
            self.changes.append(Change(of, through, len(self), unmasked(value)))

    def forget(self) -> None:
        """Take the record for that of a function of which no sweep is known."""
        self.end, self.accent = None, ""
        self.changes.clear()


def inner(arg: Any) -> Any:
    """Return an argument that is no parent."""
    return arg.value if type(arg) is Held else arg


def _compared(arg: Any) -> list[Node]:
    if type(arg) is Result:
        return [arg]
    question = question_of(inner(arg))
    return [x for side in question.sides for x in _compared(side)] if question else []


class WatchedLevel(JetLevel):
    """Forward mode that tells a tape, one level down, of each tangent."""

    def __init__(self, below: SourceTape) -> None:
        super().__init__(1)
        self.below = below

    def result(
        self, primitive: Primitive, args: tuple[Any, ...], values: tuple[Any, ...], value: Any
    ) -> Jet:
        """Return the jet, and note its tangent."""
        jet = super().result(primitive, args, values, value)
        self.below.change(value, None, jet.higher[0])
        return jet


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
        through = child.value if child is not None and child.primitive is not None else None
        self.below.change(self.tape[place].value, through, value)  # type: ignore[union-attr]
        super().__setitem__(place, value)
