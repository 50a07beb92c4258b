"""The nodes of the model: compared by identity, by value, or by all fields, as learners' are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable


class ModelNode:
    """A node of the model."""

    def __init__(self, value: float, operation: str = "") -> None:
        self.value, self.operation = value, operation
        self.parents: list[ModelNode] = []
        self.partials: list[float] = []
        self.children: list[ModelNode] = []
        self.of_constants: list[float] = []  # partials with respect to constants


class EqualNode(ModelNode):
    """A node that equals every other one with the same value."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EqualNode) and self.value == other.value

    def __hash__(self) -> int:
        return hash(self.value)


class AlikeNode(ModelNode):
    """A node that equals every other one with the same fields, as dataclasses do."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ModelNode) and are_alike(self, other)

    def __hash__(self) -> int:
        return hash((self.value, self.operation))


def are_alike(one: ModelNode, other: ModelNode) -> bool:
    """Tell whether two nodes have the same value, operation and parents; each pair is met once."""
    pairs, met = [(one, other)], set[tuple[int, int]]()
    while pairs:
        a, b = pairs.pop()
        if a is b or (id(a), id(b)) in met:
            continue
        if (a.value, a.operation, len(a.parents)) != (b.value, b.operation, len(b.parents)):
            return False
        met.add((id(a), id(b)))
        pairs += zip(a.parents, b.parents, strict=True)
    return True


def order_by_uses(
    start: ModelNode, next_of: Callable[[ModelNode], list[ModelNode]], from_queue: bool
) -> list[ModelNode]:
    """List what is reachable, each node when all its uses have been listed."""
    uses, met, todo = Counter[int](), {id(start)}, [start]
    for node in todo:
        for other in next_of(node):
            uses[id(other)] += 1
            todo += [other] if id(other) not in met else []
            met.add(id(other))
    listed, ready = [], [start]
    while ready:
        listed.append(ready.pop(0 if from_queue else -1))
        for other in next_of(listed[-1]):
            uses[id(other)] -= 1
            ready += [other] if not uses[id(other)] else []
    return listed
