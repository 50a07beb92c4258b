"""The tape: a level that keeps its nodes in execution order, which is a topological order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simpleautodiff.core.engine import engine
from simpleautodiff.core.level import Level
from simpleautodiff.core.linear import ZERO, filled
from simpleautodiff.core.node import Node, Recorder
from simpleautodiff.core.sweep import forward_sweep, reverse_sweep


class Tape(list[Node], Recorder):
    """A level that keeps its nodes in execution order, which is topological by construction."""

    def __init__(self) -> None:
        list.__init__(self)
        Level.__init__(self)

    def append(self, node: Node, /) -> None:
        """Take the new node in, at the end."""
        node.index = len(self)
        super().append(node)

    def input(self, value: Any) -> Node:
        """Begin the graph: a node with no parents."""
        return self.record(None, (), value)

    def own(self) -> None:
        """Let the tape outlive the function: nothing that others may change is part of it."""

    def push(self, seeds: dict[Node, Any], results: Sequence[Node]) -> list[Any]:
        """Sweep forward from seeded nodes; return the tangents of some others."""
        forward_sweep(self, seeds)
        return [seeds.get(node, ZERO) for node in results]

    def pull(self, seeds: dict[Node, Any], inputs: Sequence[Node]) -> list[Any]:
        """Sweep back from seeded nodes; return the adjoints of some others."""
        reverse_sweep(self, seeds)
        return [filled(seeds.get(node, ZERO)) for node in inputs]

    def pull_once(self, seeds: dict[Node, Any], inputs: Sequence[Node]) -> list[Any]:
        """Sweep back for the last time: the tape is empty afterwards."""
        adjoints = self.pull(seeds, inputs)
        self.clear()
        return adjoints


def new_tape() -> Tape:
    """Return the tape of a derivative that is computed and not shown."""
    tape: Tape = engine.new_tape() if engine.new_tape else Tape()
    return tape
