"""The tape: a level that keeps its nodes in execution order, which is a topological order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from simpleautodiff.core.engine import engine
from simpleautodiff.core.level import Level
from simpleautodiff.core.linear import ZERO, filled, plus
from simpleautodiff.core.node import Node, Recorder
from simpleautodiff.core.sweep import forward_sweep, reverse_sweep

Seeds = Iterable[tuple[Node, Any]]


class Tape(list[Node], Recorder):
    """A level that keeps its nodes in execution order, which is topological by construction."""

    def __init__(self) -> None:
        list.__init__(self)
        Level.__init__(self)

    def append(self, node: Node, /) -> None:
        """Take the new node in, at the end."""
        node.index = len(self)
        super().append(node)

    def argument(self, arg: Any) -> Any:
        """Return an argument as a node keeps it; of this tape's nodes, the one on the tape itself.

        A constant that was retained may be another object with the same index.
        """
        if isinstance(arg, Node) and arg.level is self:
            return self[arg.index] if self.open else arg
        return super().argument(arg)

    def input(self, value: Any) -> Node:
        """Begin the graph: a node with no parents."""
        return self.record(None, (), value)

    def own(self) -> None:
        """Let the tape outlive the function: nothing that others may change is part of it."""

    def push(self, seeds: Seeds, results: Sequence[Node]) -> list[Any]:
        """Sweep forward from seeded nodes; return the tangents of some others, None for none."""
        dot = self._add_up(seeds)
        forward_sweep(self, dot)
        return [filled(dot.get(self[node.index])) for node in results]

    def pull(self, seeds: Seeds, inputs: Sequence[Node], once: bool = False) -> list[Any]:
        """Sweep back from seeded nodes; return the adjoints of some others, None for none.

        `once` says that it is the last sweep: the tape is empty afterwards.
        """
        bar = self._add_up(seeds)
        for _ in reverse_sweep(self, bar):
            pass
        adjoints = [filled(bar.get(self[node.index])) for node in inputs]
        if once:
            self.clear()
        return adjoints

    def _add_up(self, seeds: Seeds) -> dict[Node, Any]:
        """Return the derivatives with which a sweep begins; a node may have several seeds."""
        derivatives: dict[Node, Any] = {}
        for node, seed in seeds:
            own = self[node.index]
            derivatives[own] = plus(derivatives.get(own, ZERO), seed)
        return derivatives


engine.new_tape = Tape
