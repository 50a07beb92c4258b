"""Copies and pickles of graphs typed by hand: flat, however deep the graph is."""

from __future__ import annotations

from typing import Any

from simpleautodiff.errors import RuleError, TraceError
from simpleautodiff.node import HAND, Node, Result
from simpleautodiff.order import execution_order
from simpleautodiff.rules.row import TABLE

_Flat = list[tuple[Any, str, tuple[tuple[bool, Any], ...]]]  # value, operator, (is index, what)


def _copy(node: Node) -> Node:
    """Copy one node; the copy has the same parents."""
    if node.level is not HAND:
        return node  # inside a function nodes are never written to
    return HAND.record(node.primitive, node.args, node.value)


def _deepcopy(node: Node, memo: dict[int, Any]) -> Node:
    """Copy a node with all it was computed from; nodes copied together stay connected."""
    if node.level is not HAND:
        return node
    order = execution_order(node)
    for old in order:
        if id(old) not in memo:
            args = tuple(memo[id(arg)] if type(arg) is Result else arg for arg in old.args)
            memo[id(old)] = HAND.record(old.primitive, args, old.value)
    copy: Node = memo[id(node)]
    return copy


def _reduce(node: Node) -> tuple[Any, tuple[_Flat]]:
    """Write the graph of a node as a flat list. Each pickled node brings a graph of its own."""
    _only_by_hand(node)
    order = execution_order(node)
    place = {old: i for i, old in enumerate(order)}
    flat: _Flat = []
    for old in order:
        if old.primitive is not None and TABLE.get(old.operator) is not old.primitive:
            raise RuleError(f"{old!r} cannot be pickled: {old.operator!r} is not in the table")
        args = tuple(
            (True, place[arg]) if type(arg) is Result else (False, arg) for arg in old.args
        )
        flat.append((old.value, old.operator, args))
    return _restore, (flat,)


def _restore(flat: _Flat) -> Node:
    nodes: list[Node] = []
    for value, operator, args in flat:
        new_args = tuple(nodes[what] if is_index else what for is_index, what in args)
        nodes.append(HAND.record(TABLE[operator] if operator else None, new_args, value))
    return nodes[-1]


def _only_by_hand(node: Node) -> None:
    if node.level is not HAND:
        raise TraceError(
            f"{node!r} belongs to a derivative that is being computed and cannot be pickled; "
            "pickle node.value"
        )


def install() -> None:
    """Give `Node` its ways of being copied."""
    Node.__copy__ = _copy  # type: ignore[method-assign,assignment]
    Node.__deepcopy__ = _deepcopy  # type: ignore[method-assign,assignment]
    Node.__reduce__ = _reduce  # type: ignore[assignment,method-assign]


install()
