"""What the paper's `forward` and `reverse` show: wrong orders beside right ones, and each step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simpleautodiff.core.engine import engine
from simpleautodiff.core.forward_reverse import (
    Sweep,
    forward as forward,
    reverse as reverse,
    store,
)
from simpleautodiff.core.node import Hand, Node as Node
from simpleautodiff.core.order import execution_order, find_connected, find_ends
from simpleautodiff.core.sweep import forward_sweep, reverse_sweep
from simpleautodiff.errors import TraceError
from simpleautodiff.program.node_names import label
from simpleautodiff.program.notation import Term, write_true
from simpleautodiff.program.orders import find_violations
from simpleautodiff.program.program import Program, Step
from simpleautodiff.program.written_numbers import write_short, write_typed


def _say_unswept(node: Node) -> int:
    """Say 0 for a node that came after the sweeps of its graph; before any of them, say so."""
    if isinstance(node.level, Hand) and any(map(_is_swept, find_connected([node]))):
        return 0
    raise TraceError(
        "there is no partial derivative before a sweep: call forward(x) or reverse(y) first"
    )


def _is_swept(node: Node) -> bool:
    return hasattr(node, "derivative")


engine.unswept = _say_unswept


def _name(node: Node) -> str:
    """Return the user's name of a node, or x1, v1, ... as the paper numbers its graph."""
    if not isinstance(node.level, Hand):
        raise AttributeError("name")
    return _name_graph([node])[node]


def _name_graph(nodes: Sequence[Node]) -> dict[Node, str]:
    program = Program(execution_order(*find_ends(find_connected(nodes))))
    return program.names | program.variables


setattr(Node, "name", property(_name, label))  # noqa: B010 - a property, which mypy cannot see


class SweepAlongOrder(Sweep):
    """What a sweep along a given order finds, right or wrong; printed, it is beside what is right.

    `right` are the right derivatives; `violations` the edges (parent, child) of which the child
    comes first.
    """

    def __init__(self, mode: str, order: Sequence[Node], right: Sweep) -> None:
        super().__init__()
        self.mode = mode
        self.order = list(order)
        self.right = right
        self.violations = find_violations(self.order)

    def __repr__(self) -> str:
        names = _name_graph([*self.order, *self.right])
        heads = ["order", "along it", "right", ""]
        rows = [
            [names[node], write_short(self[node]), write_short(self.right[node])]
            for node in self.order
        ]
        rows = [[*row, "✗" * (row[1] != row[2])] for row in rows]
        widths = [max(len(row[i]) for row in (heads, *rows)) + 3 for i in range(4)]
        lines = [
            "".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip()
            for row in (heads, *rows)
        ]
        return "\n".join([*lines, self._judge(names)])

    def _judge(self, names: dict[Node, str]) -> str:
        missing = [names[node] for node in self.right if node not in set(self.order)]
        if not self.violations:
            if missing:
                verb = "is" if len(missing) == 1 else "are"
                return f"Not the whole order: {', '.join(missing)} {verb} missing."
            return "A topological order: every node comes after its parents."
        parent, child = (names[node] for node in self.violations[0])
        why = (
            f"{child} comes before its parent {parent}, whose derivative\nis not known yet and "
            "counts as 0"
            if self.mode == "forward"
            else f"{parent} comes after its child {child}, so that,\nread from the end, it is "
            "done before its child has added to its adjoint"
        )
        more = len(self.violations) - 1
        others = f", and {more} more edge{'s' * (more > 1)} like this" if more else ""
        return f"Not a topological order: {why}{others}."


def sweep_along(
    mode: str, order: Sequence[Node], seeds: dict[Node, Any], right: Sweep
) -> SweepAlongOrder:
    """Sweep along an order, right or wrong, and let the nodes store what it finds."""
    sweep = SweepAlongOrder(mode, order, right)
    sweep.update(seeds)
    if mode == "forward":
        forward_sweep(order, sweep)
    else:
        for _ in reverse_sweep(order, sweep):
            pass
    store(sweep, order)
    return sweep


engine.sweep_along = sweep_along


def narrate(mode: str, order: list[Node], seeds: dict[Node, Any], sweep: Sweep) -> None:
    """Print a sweep as the authors' program does."""
    program = Program(execution_order(*find_ends(find_connected(order))))
    print(_narrate(program, order, seeds, sweep, mode))


engine.narrate = narrate


def _narrate(
    program: Program, order: list[Node], seeds: dict[Node, Any], sweep: Sweep, mode: str
) -> str:
    """Print a sweep as the authors' program does: each sum in symbols, then in numbers."""
    name = program.names
    lines = [" = ".join(filter(None, (s.name, s.call, _write_value(s)))) for s in program.steps]
    root = name[next(iter(seeds))] if len(seeds) == 1 else ("seed" if mode == "forward" else "sum")
    for node in order if mode == "forward" else reversed(order):
        if node in seeds:
            continue
        if mode == "forward":
            terms = [
                (f"(d{name[node]}/d{name[u]})(d{name[u]}/d{root})", derivative, sweep[u])
                for u, derivative in _list_parents(node)
            ]
            left = f"d{name[node]}/d{root}"
        else:
            terms = [
                (f"(d{root}/d{name[v]})(d{name[v]}/d{name[node]})", sweep[v], derivative)
                for v in sorted(node.child_nodes, key=program.position)
                if v in sweep
                for u, derivative in _list_parents(v)
                if u is node
            ]
            left = f"d{root}/d{name[node]}"
        symbols = " + ".join(symbol for symbol, _, _ in terms)
        pairs = [(a, b) for _, a, b in terms]
        numbers = write_true(lambda pairs=pairs: _write_products(pairs), sweep[node])  # type: ignore[misc]
        lines.append(f"{left} = {symbols}")
        lines.append(f"{' ' * len(left)} = {numbers} = {write_short(sweep[node])}")
    return "\n".join(lines)


def _write_value(step: Step) -> str:
    return write_short(step.value) if step.operator else write_typed(step.value)


def _write_products(pairs: Sequence[tuple[Any, Any]]) -> Term:
    """Write a sum of products as the authors do: (0.5)(2) + (1)(5)."""
    terms = [(Term(a), Term(b)) for a, b in pairs]
    products = [(a * b).said for a, b in terms]
    said = None if any(product is None for product in products) else sum(products)
    return Term(" + ".join(f"({a})({b})" for a, b in terms), said=said)


def _list_parents(node: Node) -> list[tuple[Node, Any]]:
    return [(node.args[k], derivative) for k, derivative in node.local_derivatives()]
