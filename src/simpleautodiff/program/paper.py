"""The paper's `forward` and `reverse`, along any order, and told in the words of its program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simpleautodiff.core import graphs
from simpleautodiff.core.engine import engine
from simpleautodiff.core.graphs import Roots, Sweep
from simpleautodiff.core.linear import filled
from simpleautodiff.core.node import LAST_SWEEP, Hand, Node as Node
from simpleautodiff.core.order import connected, ends, execution_order
from simpleautodiff.core.sweep import accumulate, forward_sweep, reverse_sweep
from simpleautodiff.errors import ArgumentError, TraceError
from simpleautodiff.program.node_names import label
from simpleautodiff.program.notation import Term, write_true
from simpleautodiff.program.orders import find_violations
from simpleautodiff.program.program import Program, Step
from simpleautodiff.program.written_numbers import write_short, write_typed


def forward(
    root: Roots, seed: Any = 1, verbose: bool = False, order: Sequence[Node] | None = None
) -> Sweep:
    """Compute ∂node/∂root for all nodes, in forward mode.

    Parameters
    ----------
    root
        The node to differentiate with respect to, an input or not; or a mapping from nodes to their
        seeds, for the derivative in that direction.
    seed
        The tangent of a single root.
    verbose
        Print every value and every step of the sweep; so does `Node.verbose = True`.
    order
        The order to sweep along, right or wrong; a topological order if it is not given. Along a
        wrong one the numbers are wrong: they are shown beside the right ones, with the edge that is
        to blame.

    Examples
    --------
    >>> from simpleautodiff import Node, add, log, mul, preorder, sin, sub
    >>> x1, x2 = Node(2), Node(5)
    >>> y = sub(add(log(x1), mul(x1, x2)), sin(x2))
    >>> dot = forward(x1)
    >>> dot[y], y.partial_derivative, dot[x2]
    (5.5, 5.5, 0)
    >>> forward(x1, order=preorder(x1))
    order   along it   right
    x1      1          1
    v1      0.5        0.5
    v4      0.5        5.5     ✗
    v5      0.5        5.5     ✗
    v2      5          5
    Not a topological order: v4 comes before its parent v2, whose derivative
    is not known yet and counts as 0.
    """
    _check_seed("forward", seed)
    found = graphs.forward(root, seed, verbose or vars(Node)["verbose"])
    return found if order is None else _sweep_along("forward", order, root, seed, found)


def reverse(
    root: Roots, seed: Any = 1, verbose: bool = False, order: Sequence[Node] | None = None
) -> Sweep:
    """Compute ∂root/∂node for all nodes, in reverse mode: all derivatives of one output at once.

    Parameters
    ----------
    root
        The output to differentiate; or a mapping from outputs to their seeds.
    seed
        The adjoint of a single root.
    verbose
        Print every value and every step of the sweep; so does `Node.verbose = True`.
    order
        The order that is swept from its end, right or wrong; see `forward`.

    Examples
    --------
    >>> from simpleautodiff import Node, add, log, mul, sin, sub
    >>> x1, x2 = Node(2), Node(5)
    >>> y = sub(add(log(x1), mul(x1, x2)), sin(x2))
    >>> bar = reverse(y)
    >>> bar[x1], round(bar[x2], 3)
    (5.5, 1.716)
    """
    _check_seed("reverse", seed)
    found = graphs.reverse(root, seed, verbose or vars(Node)["verbose"])
    return found if order is None else _sweep_along("reverse", order, root, seed, found)


def _check_seed(mode: str, seed: Any) -> None:
    if isinstance(seed, Node):
        start, end = ("x", "y") if mode == "forward" else ("y", "x")
        raise ArgumentError(
            f"{mode} finds the derivatives of all nodes at once: write {mode}({start})[{end}], "
            f"not {mode}({start}, {end}); a seed is a number"
        )


def _say_unswept(_node: Node) -> tuple[None, int]:
    """Say 0 for what the sweeps so far have left out; before any of them, say so."""
    if LAST_SWEEP:
        return None, 0
    raise TraceError(
        "there is no partial derivative before a sweep: call forward(x) or reverse(y) first"
    )


engine.unswept = _say_unswept


def _name(node: Node) -> str:
    """Return the user's name of a node, or x1, v1, ... as the paper numbers its graph."""
    if not isinstance(node.level, Hand):
        raise AttributeError("name")
    return _name_graph([node])[node]


def _name_graph(nodes: Sequence[Node]) -> dict[Node, str]:
    program = Program(execution_order(*ends(connected(nodes))))
    return program.names | program.variables


_MEMBERS: dict[str, Any] = {"name": property(_name, label), "verbose": False}
for _member, _given in _MEMBERS.items():
    setattr(Node, _member, _given)


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
        names = _name_graph(self.order)
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
        return "\n".join([*lines, self._verdict(names)])

    def _verdict(self, names: dict[Node, str]) -> str:
        missing = [names[node] for node in self.right if node not in set(self.order)]
        if not self.violations:
            if missing:
                return f"Not the whole order: {', '.join(missing)} is missing."
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


def _sweep_along(
    mode: str, order: Sequence[Node], root: Roots, seed: Any, right: Sweep
) -> SweepAlongOrder:
    """Sweep along an order, and let the nodes remember what it finds."""
    sweep = SweepAlongOrder(mode, order, right)
    found: dict[Node, Any] = {}
    for node, given in ({root: seed} if isinstance(root, Node) else root).items():
        accumulate(found, node, given)
    if mode == "forward":
        forward_sweep(order, found)
    else:
        for _ in reverse_sweep(order, found):
            pass
    sweep.update({node: filled(derivative) for node, derivative in found.items()})
    for node in connected(order):
        node.partial_derivative = sweep.get(node, 0)
    return sweep


def narrate(mode: str, order: list[Node], seeds: dict[Node, Any], sweep: Sweep) -> None:
    """Print a sweep as the authors' program does."""
    print(_narrate(Program(execution_order(*ends(connected(order)))), order, seeds, sweep, mode))


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
                for u, derivative in _parents(node)
            ]
            left = f"d{name[node]}/d{root}"
        else:
            terms = [
                (f"(d{root}/d{name[v]})(d{name[v]}/d{name[node]})", sweep[v], derivative)
                for v in sorted(node.child_nodes, key=program.position)
                if v in sweep
                for u, derivative in _parents(v)
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


def _parents(node: Node) -> list[tuple[Node, Any]]:
    return [(node.args[k], derivative) for k, derivative in node.local_derivatives()]
