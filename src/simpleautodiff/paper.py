"""The paper's own interface to graphs typed by hand: `forward`, and `reverse` "in a similar way".

Both find an order, sweep along it, and return the derivatives by node; the members
`partial_derivative` of the whole graph say the same until the next sweep.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any

from simpleautodiff.errors import ArgumentError, RuleError, TraceError
from simpleautodiff.masking import unmasked
from simpleautodiff.node import Hand, Node, Tape
from simpleautodiff.number import check_value
from simpleautodiff.order import connected, ends, execution_order, topological_order
from simpleautodiff.program import Program
from simpleautodiff.recording import paused_gc
from simpleautodiff.rules.row import TABLE
from simpleautodiff.rules.shapes import fit
from simpleautodiff.sweep import forward_sweep, numbered, reverse_sweep
from simpleautodiff.text import short


class Sweep(dict[Node, Any]):
    """The result of a sweep: derivatives by node; a node that was not reached has 0."""

    def __missing__(self, node: Node) -> Any:
        if not isinstance(node, Node):
            raise ArgumentError(f"the derivatives of a sweep are looked up by node, not {node!r}")
        return 0

    def get(self, node: Node, default: Any = 0) -> Any:
        """Return the derivative of a node; 0, or `default`, if it was not reached."""
        return super().get(node, default)


Roots = Node | Mapping[Node, Any]


def forward(root: Roots, seed: Any = 1, verbose: bool = False) -> Sweep:
    """Compute ∂node/∂root for all nodes, in forward mode.

    Parameters
    ----------
    root
        The node to differentiate with respect to, an input or not; or a mapping from nodes to their
        seeds, for the derivative in that direction.
    seed
        The tangent of a single root.
    verbose
        Print every value and every step of the sweep.

    Examples
    --------
    >>> from simpleautodiff import Node, add, log, mul, sin, sub
    >>> x1, x2 = Node(2), Node(5)
    >>> y = sub(add(log(x1), mul(x1, x2)), sin(x2))
    >>> dot = forward(x1)
    >>> dot[y], y.partial_derivative, dot[x2]
    (5.5, 5.5, 0)
    """
    seeds = _seeds(root, seed)
    with paused_gc:
        order = _joined([topological_order(node) for node in seeds])
        return _sweep(forward_sweep, order, seeds, "forward" if verbose else "")


def reverse(root: Roots, seed: Any = 1, verbose: bool = False) -> Sweep:
    """Compute ∂root/∂node for all nodes, in reverse mode: all derivatives of one output at once.

    Parameters
    ----------
    root
        The output to differentiate; or a mapping from outputs to their seeds.
    seed
        The adjoint of a single root.
    verbose
        Print every value and every step of the sweep.

    Examples
    --------
    >>> from simpleautodiff import Node, add, log, mul, sin, sub
    >>> x1, x2 = Node(2), Node(5)
    >>> y = sub(add(log(x1), mul(x1, x2)), sin(x2))
    >>> bar = reverse(y)
    >>> bar[x1], round(bar[x2], 3)
    (5.5, 1.716)
    """
    seeds = _seeds(root, seed)
    with paused_gc:
        return _sweep(reverse_sweep, execution_order(*seeds), seeds, "reverse" if verbose else "")


def _seeds(root: Roots, seed: Any) -> dict[Node, Any]:
    seeds = {root: seed} if isinstance(root, Node) else root
    if not isinstance(seeds, Mapping) or not seeds:
        raise ArgumentError(
            f"a sweep starts from a Node or from a mapping {{node: seed}}, got {root!r}"
        )
    for node in seeds:
        if not isinstance(node, Node):
            raise ArgumentError(f"a sweep starts from nodes, got {node!r}: wrap it in Node(...)")
        check_value(seeds[node], "a seed")
        if not isinstance(node.level, Hand):
            raise TraceError(
                "forward and reverse sweep graphs typed with Node(...); inside a function that is "
                "being differentiated use grad, jvp or vjp"
            )
    if len({id(node.level) for node in seeds}) > 1:
        raise ArgumentError("the nodes a sweep starts from belong to different graphs")
    return {node: fit(seed, node.value) for node, seed in seeds.items()}


def _joined(orders: list[list[Node]]) -> list[Node]:
    """Join the orders of several searches: what a later one adds goes before."""
    joined: list[Node] = []
    visited: set[Node] = set()
    for order in orders:
        new = [node for node in order if node not in visited]
        visited.update(new)
        joined = new + joined
    return joined


def _sweep(
    sweep: Callable[[Tape, list[Any]], None],
    order: list[Node],
    seeds: dict[Node, Any],
    verbose: str,
) -> Sweep:
    _check_unchanged(order)
    numbers = [seeds.get(node) for node in order]
    with numbered(order) as tape:
        sweep(tape, numbers)
    found = zip(order, map(unmasked, numbers), strict=True)
    result = Sweep((node, number) for node, number in found if number is not None)
    graph = connected(order)
    for node in graph:
        node.partial_derivative = result[node]
    if verbose:
        print(_narrate(Program(execution_order(*ends(graph))), order, seeds, result, verbose))
    return result


_EXACT = (int, float, complex, Fraction)  # not numbers whose precision depends on a context


def _check_unchanged(order: Iterable[Node]) -> None:
    """Refuse a graph in which a value was edited after others had been computed from it."""
    for node in order:
        row = node.primitive
        if row is not None and len(row.partials) < len(node.args):
            raise RuleError(
                f"{node!r} was made by hand without its derivatives; say "
                "node.grad_wrt_parents = [...] after making it"
            )
        if row is None or TABLE.get(row.name) is not row or type(node.value) not in _EXACT:
            continue
        values = node.values()
        try:
            value = row.compute(*values)
        except (ArithmeticError, ValueError, TypeError):
            continue  # it became inf or nan, with a warning, when it was made
        if value is not node.value and value != node.value and value == value:
            raise TraceError(
                f"{row.call(values)} is {value!r}, but its node holds {node.value!r}: a value was "
                "changed after the graph was built. Build the graph again from new nodes."
            )


def _narrate(
    program: Program, order: list[Node], seeds: dict[Node, Any], sweep: Sweep, mode: str
) -> str:
    """Tell a sweep as the authors' program does: each sum in symbols, then in numbers."""
    name = program.names
    lines = [" = ".join(filter(None, (s.name, s.call, short(s.value)))) for s in program.steps]
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
        numbers = " + ".join(f"({short(a)})({short(b)})" for _, a, b in terms)
        lines.append(f"{left} = {symbols}")
        lines.append(f"{' ' * len(left)} = {numbers} = {short(sweep[node])}")
    return "\n".join(lines)


def _parents(node: Node) -> list[tuple[Node, Any]]:
    return [(node.args[k], derivative) for k, derivative in node.local_derivatives()]
