"""The tape: a level that keeps its nodes in execution order, which is a topological order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simpleautodiff.core.engine import engine
from simpleautodiff.core.level import Level
from simpleautodiff.core.linear import ZERO, filled, plus
from simpleautodiff.core.node import Node, Recorder
from simpleautodiff.core.sweep import forward_sweep, reverse_sweep

Seeds = Sequence[tuple[Node, Any]]


class Tape(list[Node], Recorder):
    """A level that keeps its nodes in execution order, which is topological by construction."""

    def __init__(self) -> None:
        list.__init__(self)
        Level.__init__(self)

    def append(self, node: Node, /) -> None:
        """Append the new node."""
        node.index = len(self)
        super().append(node)

    def argument(self, arg: Any) -> Any:
        """Return an argument as a node stores it: a node of this tape as the tape's own object.

        A retained constant may be another object with the same index.
        """
        if isinstance(arg, Node) and arg.level is self:
            return self[arg.index] if self.open else arg
        return super().argument(arg)

    def input(self, value: Any) -> Node:
        """Start the graph with a node that has no parents."""
        return self.record(None, (), value)

    def own(self) -> None:
        """Make the tape independent of the caller's arrays, so that it can outlive the function."""

    def push(self, seeds: Seeds, results: Sequence[Node]) -> list[Any]:
        """Sweep forward from seeded nodes; return the tangents of `results`, None for a zero."""
        dot = self._add_up(seeds)
        forward_sweep(self, dot)
        return [filled(dot.get(self[node.index])) for node in results]

    def pull(
        self, seeds: Seeds, inputs: Sequence[Node], once: bool = False, partly: bool = False
    ) -> list[Any]:
        """Sweep back from seeded nodes; return the adjoints of `inputs`, None for a zero.

        `once` says that this is the last sweep; it leaves the tape empty. With `partly`, elements
        that are structural zeros are told from others, as further slopes may be infinite.
        """
        bar = self._add_up(seeds)
        for _ in reverse_sweep(self, bar):
            pass
        adjoints = [bar.get(self[node.index]) for node in inputs]
        if once:
            self.clear()
        return adjoints if partly else [*map(filled, adjoints)]

    def _add_up(self, seeds: Seeds) -> dict[Node, Any]:
        """Return the derivatives that a sweep starts from; several seeds of one node are added."""
        derivatives: dict[Node, Any] = {}
        for node, seed in seeds:
            own = self[node.index]
            derivatives[own] = plus(derivatives.get(own, ZERO), seed)
        return derivatives


engine.new_tape = Tape
