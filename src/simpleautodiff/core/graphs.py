"""The paper's own interface to graphs typed by hand: `forward`, and `reverse` "in a similar way".

Both find an order, sweep along it, and return the derivatives by node; the members
`partial_derivative` of the whole graph say the same until the next sweep.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from simpleautodiff.core.engine import engine
from simpleautodiff.core.linear import filled
from simpleautodiff.core.node import Hand, Node
from simpleautodiff.core.order import connected, execution_order, topological_order
from simpleautodiff.core.primitive import Primitive
from simpleautodiff.core.sweep import accumulate, forward_sweep, reverse_sweep
from simpleautodiff.errors import ArgumentError, RuleError, TraceError
from simpleautodiff.values.functions import check_value

_EXACT = (int, float, complex, Fraction)  # not numbers whose precision depends on a context


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
    """Compute ∂node/∂root for all nodes, in forward mode: find an order, and sweep along it.

    The root is a node, or a mapping from nodes to their seeds. What users call is in
    `program/paper`: it sweeps along orders of their own, too.
    """
    order, dot = _begin(root, seed, topological_order)
    seeds = dict(dot)
    forward_sweep(order, dot)
    return _remember("forward" if verbose else "", order, seeds, dot)


def reverse(root: Roots, seed: Any = 1, verbose: bool = False) -> Sweep:
    """Compute ∂root/∂node for all nodes, in reverse mode: all derivatives of one output at once."""
    order, bar = _begin(root, seed, execution_order)
    seeds = dict(bar)
    for _ in reverse_sweep(order, bar):
        pass
    return _remember("reverse" if verbose else "", order, seeds, bar)


def _begin(
    root: Roots, seed: Any, find_order: Callable[..., list[Node]]
) -> tuple[list[Node], dict[Node, Any]]:
    """Return the order of a sweep, and its seeds, each in the shape of its node."""
    nodes = [root] if isinstance(root, Node) else root
    if not nodes or (nodes is root and not isinstance(root, Mapping)):
        raise ArgumentError(
            f"a sweep starts from a Node or from a mapping {{node: seed}}, got {root!r}"
        )
    for node in nodes:
        if not isinstance(node, Node):
            raise ArgumentError(f"a sweep starts from nodes, got {node!r}: wrap it in Node(...)")
        if not isinstance(node.level, Hand):
            raise TraceError(
                "forward and reverse sweep graphs typed with Node(...); inside a function that is "
                "being differentiated use grad, jvp or vjp"
            )
        if node.level is not next(iter(nodes)).level:
            raise ArgumentError("the nodes a sweep starts from belong to different graphs")
    seeds: dict[Node, Any] = {}
    for node in nodes:
        accumulate(seeds, node, check_value(seed if nodes is not root else root[node], "a seed"))
    order = find_order(*seeds)
    for node in order:
        if node.primitive is not None:
            check_unchanged(node, node.primitive)
    return order, seeds


def check_unchanged(node: Node, primitive: Primitive) -> None:
    """Refuse a node of which a parent was edited after it had been computed."""
    if len(primitive.partials) < len(node.args):
        raise RuleError(
            f"{node!r} was made by hand without its derivatives; say "
            "node.grad_wrt_parents = [...] after making it"
        )
    if not primitive.listed or type(node.value) not in _EXACT:
        return
    values = node.values()
    try:
        value = primitive.compute(*values)
    except (ArithmeticError, ValueError, TypeError):
        return  # it became inf or nan, with a warning, when it was made
    if value is not node.value and value != node.value and value == value:
        raise TraceError(
            f"{primitive.call(values)} is {value!r}, but its node holds {node.value!r}: a "
            "value was changed after the graph was built. Build the graph again from new nodes."
        )


def _remember(mode: str, order: list[Node], seeds: dict[Node, Any], found: Any) -> Sweep:
    """Let the whole graph know what a sweep has found, and print it if a mode is named."""
    sweep = Sweep({node: filled(derivative) for node, derivative in found.items()})
    for node in connected(order):
        node.partial_derivative = sweep.get(node, 0)
    if mode:
        engine.narrate(mode, order, seeds, sweep)
    return sweep
