"""What a reverse sweep keeps of a function: which values, made on which line, in bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from simpleautodiff.core.node import NODES, Node
from simpleautodiff.core.primitive import find_values_read
from simpleautodiff.program.recorded_run import record
from simpleautodiff.rules.array.shapes import Bundle
from simpleautodiff.transforms.arguments import name_of


class KeptValue(NamedTuple):
    """A value that a rule reads in the reverse sweep, and the node it belongs to."""

    node: Node
    value: Any
    line: str = ""  # of a value that a checkpointed call saves: where it was made

    @property
    def bytes(self) -> int:
        """How many bytes its numbers take."""
        return int(np.asarray(self.value).nbytes)


def find_kept(nodes: Iterable[Node]) -> list[KeptValue]:
    """Return the values that the rules of recorded steps read, each once.

    A constant belongs to the step that reads it.
    """
    kept: dict[int, KeptValue] = {}
    for node in nodes:
        if node.primitive is not None:
            parents = tuple(k for k, arg in enumerate(node.args) if type(arg) in NODES)
            values = (*node.values(), node.value)
            for k in find_values_read(node.primitive, parents):
                if k not in node.primitive.settings:
                    owner = node if k == -1 else node.args[k]
                    of = owner if type(owner) in NODES else node
                    for item in _split(KeptValue(of, values[k])):
                        number = item.value is values[k] and not np.shape(item.value)
                        kept.setdefault(id(owner if number else item.value), item)
    return list(kept.values())


def _split(item: KeptValue) -> list[KeptValue]:
    """Return the values of a bundle: the arguments of a checkpointed call, and what it saves."""
    if not isinstance(item.value, Bundle):
        return [item]
    node, entries = item.node, item.value.entries
    if node.operator == "bundle":
        return list(map(KeptValue, node.args, entries))
    if item.value is node.value:
        return [KeptValue(node, value) for value in entries]
    return [KeptValue(node, value, line) for line, value in entries]


class LineMemory(NamedTuple):
    """One line of the function: how many steps it recorded, and the bytes that are kept of them."""

    line: str
    steps: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Memory:
    """What the reverse sweep of a function keeps, line by line; printed, the largest first."""

    title: str
    lines: tuple[LineMemory, ...]

    @property
    def total(self) -> int:
        """All bytes."""
        return sum(line.bytes for line in self.lines)

    def __str__(self) -> str:
        ordered = sorted(self.lines, key=lambda line: -line.bytes)
        rows = [
            f"{line.bytes:>13,} bytes  {line.steps:>6,} step{' s'[line.steps != 1]}  {line.line}"
            for line in ordered
        ]
        return "\n".join([f"{self.title}: {self.total:,} bytes", *rows])


def memory(f: Callable[..., Any], *args: Any) -> Memory:
    """Say what reverse mode keeps of `f` at `args` until it sweeps back: per line, in bytes.

    Only values that a rule reads are kept: of x + y none, of x * y both, of exp(x) the result. What
    is said is what the plain engine keeps; operations that are fused keep less.

    Examples
    --------
    >>> import numpy as np
    >>> import simpleautodiff as ad
    >>> def f(x):
    ...     y = np.exp(x)
    ...     return np.sum(y + 1)
    >>> report = ad.memory(f, np.ones(1000))
    >>> report.total
    8000
    >>> [line.bytes for line in report.lines]
    [0, 8000, 0]
    """
    made = record(f, args)
    inputs = ", ".join(made.names.values())
    lines: dict[str, LineMemory] = {}
    kept = {id(node): 0 for node in made.nodes}
    for item in find_kept(made.nodes):
        if item.line:
            old = lines.get(item.line, LineMemory(item.line, 0, 0))
            lines[item.line] = old._replace(bytes=old.bytes + item.bytes)
        else:
            kept[id(item.node)] += item.bytes
    for node in made.nodes:
        line = made.lines.get(node, f"input {inputs}")
        old = lines.get(line, LineMemory(line, 0, 0))
        steps = old.steps + (node.primitive is not None)
        lines[line] = LineMemory(line, steps, old.bytes + kept[id(node)])
    return Memory(f"The reverse sweep of {name_of(f)} keeps", tuple(lines.values()))
