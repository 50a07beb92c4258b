"""Copying and pickling graphs of `Node`s, without recursion, however deep the graph is."""

from __future__ import annotations

from typing import Any
from weakref import WeakValueDictionary

from simpleautodiff.core.node import HAND, NODES, Node
from simpleautodiff.core.order import execution_order, find_connected, find_ends
from simpleautodiff.errors import RuleError, TraceError
from simpleautodiff.rules.row import TABLE


def _copy(node: Node) -> Node:
    """Copy one node; the copy has the same parents."""
    if node.level is not HAND:
        return _copy_array(node)  # type: ignore[no-any-return]
    return HAND.record(node.primitive, node.args, node.value)


def _deepcopy(node: Node, memo: dict[int, Any]) -> Node:
    """Copy a node with all its ancestors; nodes copied together stay connected."""
    if node.level is not HAND:
        return _copy_array(node)  # type: ignore[no-any-return]
    order = execution_order(node)
    for old in order:
        if id(old) not in memo:
            args = tuple(memo[id(arg)] if type(arg) in NODES else arg for arg in old.args)
            memo[id(old)] = HAND.record(old.primitive, args, old.value)
    copy: Node = memo[id(node)]
    return copy


class Component:
    """All nodes connected to each other: pickled once, however many of them are pickled."""

    def __init__(self, nodes: list[Node]) -> None:
        self.nodes = nodes
        self.index = {node: i for i, node in enumerate(nodes)}

    def __reduce__(self) -> tuple[Any, tuple[Any]]:
        flat = []
        for node in self.nodes:
            if node.primitive is not None and TABLE.get(node.operator) is not node.primitive:
                raise RuleError(
                    f"{node!r} cannot be pickled: {node.operator!r} is not in the table"
                )
            args = [
                (True, self.index[arg]) if type(arg) in NODES else (False, arg) for arg in node.args
            ]
            flat.append((node.value, node.operator, args))
        return _restore, (flat,)


_components: WeakValueDictionary[int, Component] = WeakValueDictionary()


def _reduce(node: Node) -> tuple[Any, tuple[Component, int]]:
    """Return a node, for pickle, as its index in its connected component."""
    _check_made_by_hand(node)
    component = _components.get(id(node))
    if component is None:
        component = Component(execution_order(*find_ends(find_connected([node]))))
        _components.update((id(each), component) for each in component.nodes)
    return _pick, (component, component.index[node])


def _pick(component: Component, index: int) -> Node:
    return component.nodes[index]


def _restore(flat: list[Any]) -> Component:
    nodes: list[Node] = []
    for value, operator, args in flat:
        new_args = tuple(nodes[what] if is_index else what for is_index, what in args)
        nodes.append(HAND.record(TABLE.get(operator), new_args, value))
    return Component(nodes)


def _check_made_by_hand(node: Node) -> None:
    if node.level is not HAND:
        raise TraceError(
            f"{node!r} belongs to a derivative that is being computed and cannot be pickled; "
            "pickle node.value"
        )


def _copy_array(x: Any) -> Any:
    return x.copy("K") if x.shape else x


COPYING: dict[str, Any] = {  # for values that transformations pass to functions
    "__copy__": _copy_array,
    "__deepcopy__": lambda x, memo: _copy_array(x),
}
NODE_COPYING: dict[str, Any] = {  # for nodes made by hand
    "__copy__": _copy,
    "__deepcopy__": _deepcopy,
    "__reduce__": _reduce,
}
