"""Record a sweep step by step, and note which node each tangent or adjoint belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from simpleautodiff.arrays.given_values import Call, GivenValue
from simpleautodiff.core.jet import Jet, JetLevel
from simpleautodiff.core.level import Traced, take_current
from simpleautodiff.core.linear import filled
from simpleautodiff.core.node import NODES, Constant, Node
from simpleautodiff.core.primitive import Primitive
from simpleautodiff.core.sweep import reverse_sweep
from simpleautodiff.core.tape import Seeds, Tape
from simpleautodiff.display.code.conditions import Condition, attach_condition, condition_of
from simpleautodiff.transforms.located_tapes import LocatedTape
from simpleautodiff.values.pytree import flatten, map_leaves


class Change(NamedTuple):
    """One change of a derivative, in steps of the tape that records it.

    It is the derivative of the node `of`; an adjoint changes `through` a child.
    """

    of: Node
    through: Node | None
    time: int  # how many steps had been recorded
    value: Any


class Decision(NamedTuple):
    """A condition or a call on which the code branched, and what it answered."""

    asked: Condition | Call
    answer: Any

    def operands(self) -> list[Node]:
        """Return the nodes that decide."""
        return _operands_of(self.asked)


class SourceTape(LocatedTape):
    """A tape on which a function, and perhaps a sweep through it, is recorded.

    `end` is the result of the function that is swept; `accent` is "dot" or "bar".
    """

    shown = every_step = True
    written = True  # as code: values are given by calls, see `arrays.given_values`

    def __init__(self) -> None:
        super().__init__()
        self.end: Node | None = None
        self.accent = ""
        self.changes: list[Change] = []
        self.decisions: list[Decision] = []

    def answered(self, answer: Any, sign: str, x: Any, y: Any) -> Any:
        """Attach the condition to a bool array, so that it can be evaluated again.

        By a single answer the code goes its way; it is noted.
        """
        super().answered(answer, sign, x, y)
        sides = self._find_on_tape(x), self._find_on_tape(y)
        if isinstance(answer, (bool, np.bool_)):
            self.decisions.append(Decision(Condition(sign, sides), bool(answer)))
            return answer
        return attach_condition(answer, sign, *sides)

    def note_call(self, answer: Any, function: Any, args: Any, kwargs: Any) -> None:
        """Note the answer of a function of NumPy by which the code goes its way."""
        args, kwargs = map_leaves(lambda x: self._find_on_tape(take_current(x)), (args, kwargs))
        self.decisions.append(Decision(Call(function, args, kwargs, None), answer))

    def note_condition(self, condition: Condition, answer: Any) -> None:
        """Note a condition on arrays by whose answer the code goes its way."""
        self.decisions.append(Decision(condition, answer))

    def record(self, primitive: Primitive | None, args: tuple[Any, ...], value: Any) -> Node:
        """Record a step; note how many elements a mask selects: elsewhere it has to be as many."""
        name = "" if primitive is None else primitive.name
        for index in map(inner, args) if name in _INDEXED else ():
            for part in index if isinstance(index, tuple) else (index,):
                if condition_of(part) is not None:
                    self.note_call(
                        np.count_nonzero(np.asarray(part)), np.count_nonzero, (part,), {}
                    )
        return super().record(primitive, args, value)

    def _find_on_tape(self, x: Any) -> Any:
        """Return the node on this tape that a value of a higher level refers to."""
        while isinstance(x, Traced) and x.level is not self:
            x = x.value
        return x

    def operands(self, node: Node) -> list[Node]:
        """Return the nodes that a node needs: its parents, and what conditions and calls read."""
        return [x for arg in node.args for x in _operands_of(arg)]

    def change(self, of: Any, through: Any, value: Any) -> None:
        """Record a new tangent or adjoint."""
        if type(of) in NODES and of.level is self:
            self.changes.append(Change(of, through, len(self), filled(value)))

    def forget(self) -> None:
        """Treat the record as that of a function without a known sweep."""
        self.end, self.accent = None, ""
        self.changes.clear()


def inner(arg: Any) -> Any:
    """Return an argument that is not a parent."""
    return arg.value if type(arg) is Constant else arg


def call_of(arg: Any) -> Call | None:
    """Return the recorded call that computed an argument; None if no call did."""
    given = inner(arg)
    return given.call if isinstance(given, GivenValue) else None


_INDEXED = {"getitem", "scatter", "set_item"}


def _operands_of(arg: Any) -> list[Node]:
    if type(arg) in NODES:
        return [arg]
    if call := arg if isinstance(arg, Call) else call_of(arg):
        return [x for leaf in flatten((call.args, call.kwargs))[0] for x in _operands_of(leaf)]
    condition = arg if isinstance(arg, Condition) else condition_of(inner(arg))
    return [x for side in condition.sides for x in _operands_of(side)] if condition else []


class WatchedLevel(JetLevel):
    """Forward mode that reports each tangent to a tape, one level down."""

    def __init__(self, below: SourceTape) -> None:
        super().__init__(1)
        self.below = below

    def result(
        self, primitive: Primitive, args: tuple[Any, ...], values: tuple[Any, ...], value: Any
    ) -> Jet:
        """Return the jet, and record its tangent."""
        jet = super().result(primitive, args, values, value)
        self.below.change(value, None, filled(jet.higher[0]))
        return jet


class WatchedTape(Tape):
    """A tape whose reverse sweep reports each change of an adjoint to a tape, one level down."""

    every_step = True

    def __init__(self, below: SourceTape) -> None:
        super().__init__()
        self.below = below

    def pull(
        self, seeds: Seeds, inputs: Sequence[Node], once: bool = False, partly: bool = False
    ) -> list[Any]:
        """Sweep back, one accumulation at a time."""
        bar = dict(seeds)
        for node, seed in bar.items():
            self.below.change(node.value, None, seed)
        for child, k, _, total in reverse_sweep(self, bar):
            self.below.change(child.args[k].value, child.value, total)
        adjoints = [bar.get(node) for node in inputs]
        return adjoints if partly else [*map(filled, adjoints)]
