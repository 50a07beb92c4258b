"""The paper's interface to graphs typed by hand: `forward`, and `reverse` "in a similar way".

Both find an order, sweep along it, and return the derivatives by node. Each node's
`partial_derivative` holds the same number until the next sweep.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from simpleautodiff.core.engine import engine
from simpleautodiff.core.linear import PartialAdjoint
from simpleautodiff.core.node import Hand, Node, not_by_hand_error
from simpleautodiff.core.order import check_node, execution_order, find_connected, topological_order
from simpleautodiff.core.sweep import accumulate, forward_sweep, reverse_sweep
from simpleautodiff.errors import ArgumentError, TraceError
from simpleautodiff.values.functions import check_value

_FIXED_PRECISION = (int, float, complex, Fraction)  # excludes context-dependent types


class Sweep(dict[Node, Any]):
    """The result of a sweep: a derivative for each node, 0 for a node that was not reached."""

    def __missing__(self, node: Node) -> Any:
        if not isinstance(node, Node):
            raise ArgumentError(f"the derivatives of a sweep are looked up by node, not {node!r}")
        return 0

    def get(self, node: Node, default: Any = 0) -> Any:
        """Return the derivative of a node; `default`, or 0, if the sweep did not reach it."""
        return super().get(node, default)


Roots = Node | Mapping[Node, Any]


def forward(
    root: Roots, seed: Any = 1, verbose: bool = False, order: Sequence[Node] | None = None
) -> Sweep:
    """Compute ∂node/∂root for all nodes, in forward mode: find an order, and sweep along it.

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
    >>> from simpleautodiff import Node, add, forward, log, mul, preorder, sin, sub
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
    seeds = _check_seeds(root, seed)
    found, dot = topological_order(*seeds), Sweep(seeds)
    forward_sweep(found, dot)
    store(dot, found)
    if verbose or Node.verbose:
        engine.narrate("forward", found, seeds, dot)
    return dot if order is None else engine.sweep_along("forward", order, seeds, dot)


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
    >>> from simpleautodiff import Node, add, log, mul, reverse, sin, sub
    >>> x1, x2 = Node(2), Node(5)
    >>> y = sub(add(log(x1), mul(x1, x2)), sin(x2))
    >>> bar = reverse(y)
    >>> bar[x1], round(bar[x2], 3)
    (5.5, 1.716)
    """
    seeds = _check_seeds(root, seed)
    found, bar = execution_order(*seeds), Sweep(seeds)
    for _ in reverse_sweep(found, bar):
        pass
    store(bar, found)
    if verbose or Node.verbose:
        engine.narrate("reverse", found, seeds, bar)
    return bar if order is None else engine.sweep_along("reverse", order, seeds, bar)


def _check_seeds(root: Roots, seed: Any) -> dict[Node, Any]:
    """Return the nodes a sweep starts from, with their seeds, each in the shape of its node."""
    if not isinstance(root, Node) and (not isinstance(root, Mapping) or not root):
        raise ArgumentError(f"a sweep starts from a Node or a mapping {{node: seed}}, not {root!r}")
    given = [(root, seed)] if isinstance(root, Node) else list(root.items())
    seeds: dict[Node, Any] = {}
    for node, number in given:
        if not isinstance(node, Node) or not isinstance(node.level, Hand):
            check_node(node)
            raise not_by_hand_error("derivatives of its own: use grad, jvp or vjp")
        if node.level is not given[0][0].level:
            raise ArgumentError("the nodes a sweep starts from belong to different graphs")
        if isinstance(number, Node) and isinstance(number.level, Hand):
            raise ArgumentError(
                "a seed is a number; for one derivative write reverse(y)[x] or forward(x)[y]"
            )
        is_number = isinstance(number, (int, float))
        accumulate(seeds, node, number if is_number else check_value(number, "a seed"))
    return seeds


def store(sweep: Sweep, order: Sequence[Node]) -> None:
    """Store the results of a sweep in the nodes of the whole graph; 0 where it did not reach.

    They are refused if a value was edited after other nodes were computed from it.
    """
    for node in order:
        primitive = node.primitive
        if primitive is None or not primitive.listed or type(node.value) not in _FIXED_PRECISION:
            continue
        values = node.values()
        try:
            value = primitive.compute(*values)
        except (ArithmeticError, ValueError, TypeError):
            continue  # its value became inf or nan, with a warning, when the node was made
        if value is not node.value and value != node.value and value == value:
            raise TraceError(
                f"{primitive.call(values)} is {value!r}, but its node holds {node.value!r}: a "
                "value was changed after the graph was built. Build the graph again from new nodes."
            )
    for node, derivative in sweep.items():
        if isinstance(derivative, PartialAdjoint):
            sweep[node] = derivative.filled()
    for node in find_connected(order):
        node.derivative = dict.get(sweep, node, 0)
