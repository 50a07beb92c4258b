"""An engine that can be wrong in every known way, to see which way explains a learner's numbers.

Each fault is a flag. Without flags it is a right engine: nodes with parents, partial derivatives
and children; an order; the chain rule along it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from simpleautodiff.learn.grading.known_faults import (
    APART,
    ASSIGNED,
    ASSIGNED_TERMS,
    BY_VALUE,
    COMMUTED,
    COMPOSITIONS,
    INVERTED,
    ON_ARRIVAL,
    READY,
    RULES,
    SINGLE_FUNCTIONS,
    SUBTRACTED,
    UNCHAINED,
    VALUE,
    WRONG_RULES,
    ZEROS,
)
from simpleautodiff.learn.grading.model_nodes import (
    AlikeNode,
    EqualNode,
    ModelNode,
    are_alike,
    order_by_uses,
)
from simpleautodiff.learn.graphs import Argument, Graph

HANDED_ON = {("add", 0), ("add", 1), ("iadd", 0), ("iadd", 1), ("sub", 0)}  # with the partial 1


class Model:
    """An engine with some faults."""

    def __init__(
        self, faults: Collection[str] = (), style: str = "search", turned: int = 0
    ) -> None:
        self.faults = frozenset(faults)
        self.style = style
        self.turned = turned
        self.rules = dict(RULES)
        for name in self.faults & WRONG_RULES.keys():
            operation, changes = WRONG_RULES[name]
            compute, partials = self.rules[operation]
            wrong = tuple(changes.get(k, partial) for k, partial in enumerate(partials))
            self.rules[operation] = changes.get(VALUE, compute), wrong
        whole = {op for name in self.faults & ASSIGNED.keys() for op in ASSIGNED[name]}
        self.assigned = {(op, place) for op in whole for place in (0, 1)}
        self.assigned |= {ASSIGNED_TERMS[name] for name in self.faults & ASSIGNED_TERMS.keys()}
        self.unchained = {UNCHAINED[name] for name in self.faults & UNCHAINED.keys()}
        self.kept: dict[str, dict[ModelNode, float]] = {"forward": {}, "reverse": {}}
        self.made: list[ModelNode] = []

    def has(self, *faults: str) -> bool:
        """Tell whether the model has any of these faults."""
        return not self.faults.isdisjoint(faults)

    # Building. ------------------------------------------------------------------------------------

    def input(self, value: float) -> ModelNode:
        """Make an input."""
        by_value = EqualNode if self.has("equal_values", "equal_values_added") else ModelNode
        node = AlikeNode(value) if self.has("equal_fields") else by_value(value)
        self.made.append(node)
        return node

    def apply(self, operation: str, args: Sequence[ModelNode | float]) -> ModelNode:
        """Do one operation."""
        if len(args) == 2 and not isinstance(args[0], ModelNode):
            swap = {"sub": "reflected_sub", "div": "reflected_div"}.get(operation, "")
            commutes = operation in ("add", "mul") and self.has(COMMUTED)
            args = args[::-1] if commutes or (swap and self.has(swap)) else args
        if self.has(*COMPOSITIONS) and self.is_composed(operation):
            return self.compose(operation, args)
        if operation == "neg" and self.has(SUBTRACTED):
            return self.apply("sub", [0, *args])
        values = [arg.value if isinstance(arg, ModelNode) else arg for arg in args]
        apart = self.has(APART) and not all(isinstance(arg, ModelNode) for arg in args)
        compute, rules = (RULES if apart and operation != "pow" else self.rules)[operation]
        value = compute(*values)
        if operation == "iadd" and self.has("in_place_add") and isinstance(args[0], ModelNode):
            args[0].value = value  # the old node with a new number: nothing is recorded
            return args[0]
        node = self.input(value)
        node.operation = operation
        if operation == "div" and self.has(BY_VALUE):
            values[0] = value * values[1]
        partials = [rule(value, *values) for rule in rules]
        is_node = [isinstance(arg, ModelNode) for arg in args]
        kept = [p for p, mine in zip(partials, is_node, strict=True) if mine]
        parents = [arg for arg in args if isinstance(arg, ModelNode)]
        node.parents += parents
        node.of_constants = [p for p, mine in zip(partials, is_node, strict=True) if not mine]
        by_rmul = operation in ("add", "mul") and self.has("constants_shift")  # which is __mul__
        shifts = self.has("constants_shift", "constants_shift_all") and not by_rmul
        node.partials += partials[: len(parents)] if shifts else kept
        for parent in parents:
            parent.children.append(node)
        return node

    def is_composed(self, operation: str) -> bool:
        """Tell whether an operation is composed of others."""
        return operation in (("sub", "div") if self.has(INVERTED) else ("sub", "div", "neg"))

    def compose(self, operation: str, args: Sequence[ModelNode | float]) -> ModelNode:
        """Compose an operation of others, in the way of this engine."""
        *first, last = args
        if not isinstance(last, ModelNode):
            inverse: Any = 1 / last if operation == "div" else -last
        elif operation == "div":
            inverse = self.invert(last)
        else:
            negated: Any = ("neg", [last]) if self.has(INVERTED) else ("mul", [last, -1])
            inverse = self.apply(*negated)
        combine = "mul" if operation == "div" else "add"
        return self.apply(combine, [*first, inverse]) if first else inverse

    def invert(self, node: ModelNode) -> ModelNode:
        """Return 1 / node, by a power or by a rule of its own."""
        if self.has(INVERTED):
            return self.apply("inverse", [node])
        return self.apply("pow", [node, -1])

    def build(self, graph: Graph, held: dict[str, ModelNode]) -> dict[str, Any]:
        """Build a graph on given inputs; return its nodes by name."""
        nodes: dict[str, Any] = dict(held)

        def get(arg: Argument) -> Any:
            return nodes[arg] if isinstance(arg, str) else arg

        for name, operation, args in graph.steps:
            values = [get(arg) for arg in args]
            if operation == "constant":
                nodes[name] = args[0]
            elif not any(isinstance(value, ModelNode) for value in values):
                nodes[name] = RULES[operation][0](*values)
            else:
                nodes[name] = self.apply(operation, values)
        return nodes

    # Orders. --------------------------------------------------------------------------------------

    def order(self, start: ModelNode, next_of: Callable[[ModelNode], list[ModelNode]]) -> Any:
        """List the nodes reachable from a start in the order of a sweep; a fault may change it."""
        seen: set[ModelNode] = set()
        listed: list[ModelNode] = []
        if self.style.startswith("tape") or self.style == "dual":
            end = self.place(start) + 1 if self.style == "tape" else len(self.made)
            return self.made[:end] if self.has("unreversed") else self.made[:end][::-1]
        if self.style in READY:
            return order_by_uses(start, next_of, from_queue=self.style == READY[0])
        if self.has("breadth_first"):
            listed, seen = [start], {start}
            for node in listed:
                for other in self.turn(node, next_of(node)):
                    if other not in seen:
                        seen.add(other)
                        listed.append(other)
            return listed
        early = self.has("preorder")

        def visit(node: ModelNode) -> None:
            if len(listed) > 5000:
                raise RecursionError
            if node in seen and not self.has("no_visited", "no_visited_at_inputs"):
                return
            if self.has("equal_fields_in_order") and any(are_alike(node, n) for n in listed):
                return
            seen.add(node)
            if early:
                listed.append(node)
            for other in self.turn(node, next_of(node)):
                visit(other)
            if not early:
                listed.append(node)

        visit(start)
        return listed if early or self.has("unreversed") else listed[::-1]

    def place(self, node: ModelNode) -> int:
        """Return the index of this very node, not of one that compares equal to it."""
        return next(k for k, other in enumerate(self.made) if other is node)

    def turn(self, node: ModelNode, others: list[ModelNode]) -> list[ModelNode]:
        """Return neighbours in the order of a search; a set may reverse it, as `turned` says."""
        turns = self.turned and self.turned >> self.made.index(node) & 1
        met = list(dict.fromkeys(others)) if self.style == "set" else others
        return met[::-1] if turns or self.style == "stack" else met

    # Sweeps. --------------------------------------------------------------------------------------

    def edges(self, node: ModelNode) -> Iterable[tuple[ModelNode, float]]:
        """Yield each parent with its partial derivative."""
        pairs = list(zip(node.parents, node.partials, strict=False))
        if self.has("first_place"):
            return [(p, node.partials[node.parents.index(p)]) for p in node.parents]
        if self.has("parents_as_set"):
            return list(dict(pairs).items())
        return pairs

    def reverse(self, output: ModelNode) -> dict[ModelNode, float]:
        """Carry adjoints back from an output."""
        if self.style == "dual":  # grad(f) runs forward mode, once for each input
            return {node: self.forward(node).get(output, 0.0) for node in self.made}
        bar = self.find_adjoints(output)
        return self.keep("reverse", bar) if self.has("stale_unreached", "stale_kept") else bar

    def keep(self, mode: str, found: dict[ModelNode, float]) -> dict[ModelNode, float]:
        """Return the numbers in nodes that keep those of earlier sweeps."""
        self.kept[mode] |= found
        return dict(self.kept[mode])

    def find_adjoints(self, output: ModelNode) -> dict[ModelNode, float]:
        """Return the adjoints of one sweep."""
        bar = self.kept["reverse"] if self.has("stale_sum") else {}
        start = self.made[-1] if self.has("from_the_end") else output
        seed = start.value if self.has("seed_is_value") else 1.0
        bar[start] = 0.0 if self.has("no_seed") else seed
        if self.style == "paths":
            self.follow_paths(start, bar.pop(start), bar, [0])
            return bar
        if self.has("recursion"):
            self.recurse(start, bar, [0])
            return bar
        if self.has("dead_children"):
            return self.when_children_are_done(start, bar)
        if self.has("shared_gradient"):
            return self.share_adjoints(self.order(start, lambda node: node.parents), bar)
        arrived: dict[ModelNode, float] = {}  # the adjoint of each node at its last visit
        in_turn: dict[ModelNode, float] = {}  # the sum over all visits of a node
        for node in self.order(start, lambda node: node.parents):
            arrived[node] = bar.get(node, 0.0)
            in_turn[node] = in_turn.get(node, 0.0) + arrived[node]
            if not self.style.startswith("tape") or self.style in ZEROS or node in bar:
                self.pass_back(node, bar)
        if self.has(ON_ARRIVAL) and self.style == "search":
            return arrived
        if self.has("no_visited_at_inputs"):  # inputs add up their adjoint at every visit
            bar.update({node: in_turn.get(node, 0.0) for node in bar if not node.operation})
        if self.has("output_left_out"):
            bar[start] -= seed
        for node in self.made if self.has("used_up") else ():
            node.parents, node.partials = [], []
        return bar

    def multiplies(self, node: ModelNode) -> bool:
        """Tell whether the partials of a node are multiplied by the incoming derivative."""
        if self.has("no_chain_in_functions") and node.operation in SINGLE_FUNCTIONS:
            return False
        if self.has("no_adjoint", "no_adjoint_if_reached") or node.operation in self.unchained:
            return False
        return not (self.has("no_chain") and len(node.parents) == 1)

    def pass_back(self, node: ModelNode, bar: dict[ModelNode, float]) -> None:
        """Pass the adjoint of a node on to its parents."""
        for place, (parent, partial) in enumerate(self.edges(node)):
            term = partial * bar.get(node, 0.0) if self.multiplies(node) else partial
            assigned = self.has("overwritten") or (node.operation, place) in self.assigned
            bar[parent] = term if assigned else bar.get(parent, 0.0) + term

    def follow_paths(
        self, node: ModelNode, term: float, bar: dict[ModelNode, float], calls: list[int]
    ) -> None:
        """Add the contribution of each path: `def backward(self, g): self.grad += g; ...`."""
        calls[0] += 1
        if calls[0] > 5000:
            raise RecursionError
        bar[node] = term if self.has("overwritten") else bar.get(node, 0.0) + term
        for parent, partial in self.edges(node):
            passed = partial * term if self.multiplies(node) else partial
            self.follow_paths(parent, passed, bar, calls)

    def recurse(self, node: ModelNode, bar: dict[ModelNode, float], calls: list[int]) -> None:
        """Pass every contribution on at once, without any order."""
        calls[0] += 1
        if calls[0] > 5000:
            raise RecursionError
        self.pass_back(node, bar)
        for parent in node.parents:
            self.recurse(parent, bar, calls)

    def when_children_are_done(
        self, start: ModelNode, bar: dict[ModelNode, float]
    ) -> dict[ModelNode, float]:
        """Visit a node after all of its children, also those that the output does not need."""
        waiting = {node: len(node.children) for node in self.made}
        ready = [start]
        while ready:
            node = ready.pop()
            self.pass_back(node, bar)
            for parent in node.parents:
                waiting[parent] -= 1
                if waiting[parent] == 0:
                    ready.append(parent)
        return bar

    def share_adjoints(
        self, order: Iterable[ModelNode], bar: dict[ModelNode, float]
    ) -> dict[ModelNode, float]:
        """Add in place, where a sum has handed its own array on: both nodes have the same."""
        arrays = {node: [adjoint] for node, adjoint in bar.items()}
        for node in order:
            for place, (parent, partial) in enumerate(self.edges(node) if node in arrays else ()):
                handed_on = (node.operation, place) in HANDED_ON
                term = arrays[node] if handed_on else [partial * arrays[node][0]]
                if parent in arrays:
                    arrays[parent][0] += term[0]
                else:
                    arrays[parent] = term
        return {node: array[0] for node, array in arrays.items()}

    def forward(self, root: ModelNode) -> dict[ModelNode, float]:
        """Carry tangents on from a node."""
        dot = self.kept["forward"] if self.has("stale_unreached", "stale_sum") else {}
        if self.has("all_seeded"):
            dot.update({node: 1.0 for node in self.made if not node.operation})
        dot[root] = root.value if self.has("seed_is_value") else 0.0 if self.has("no_seed") else 1.0
        order = self.order(root, lambda node: node.children)
        if self.style.startswith("tape"):
            order = self.made[self.place(root) + 1 :]
        if self.style == "dual" or self.has("all_seeded"):
            order = [node for node in self.made if node.operation]
        for node in order:
            if self.has("equal_values_added"):  # added to the number of a node with the same value
                dot[node] = dot.get(node, 0.0) + self.tangent(node, dot)
            elif node != root:
                old = dot.get(node, 0.0) if self.has("stale_sum") else 0.0
                dot[node] = old + self.tangent(node, dot)
        if self.has("stale_kept"):  # old numbers are read by users, not by children
            return self.keep("forward", dot)
        return dot

    def tangent(self, node: ModelNode, dot: dict[ModelNode, float]) -> float:
        """Add up what the parents of a node contribute."""
        terms = []
        for parent, partial in self.edges(node):
            if self.multiplies(node):
                terms.append(partial * dot.get(parent, 0.0))
            else:
                lost = self.has("no_adjoint_if_reached") and parent not in dot
                terms.append(0.0 if lost else partial)
        if self.has("product_of_derivatives") and node.operation == "mul":
            factors = [dot.get(parent, 0.0) for parent in node.parents]
            if len(factors) == 2 or not self.has(APART):
                return math.prod(factors) if len(factors) == 2 else 0.0
        if self.has("overwritten"):
            reached = [t for t, (p, _) in zip(terms, self.edges(node), strict=True) if p in dot]
            return reached[-1] if reached else 0.0
        if self.has("overwritten_by_last"):
            return terms[-1] if terms else 0.0
        return sum(terms) + (sum(node.of_constants) if self.has("constants_seeded") else 0.0)
