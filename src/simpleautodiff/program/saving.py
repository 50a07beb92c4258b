"""Programs as data: what is pickled of one, and the nodes that are made of it again."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any, NamedTuple

from simpleautodiff.core.level import to_plain
from simpleautodiff.core.node import HAND, NODES, Constant, Node
from simpleautodiff.core.primitive import TABLE, Primitive
from simpleautodiff.errors import TraceError
from simpleautodiff.rules.array.indexing import make_concatenate
from simpleautodiff.rules.array.products import make_einsum

_MAKERS: Any = {"einsum": make_einsum, "concatenate": make_concatenate}  # a row for each count


class SavedNode(NamedTuple):
    """One step: the name of its primitive, and its arguments; a node is given by its position."""

    row: str
    args: tuple[Any, ...]
    parents: tuple[int | None, ...]
    value: Any


def save_nodes(nodes: Sequence[Node]) -> list[SavedNode]:
    """Return nodes as data."""
    place = {node: i for i, node in enumerate(nodes)}
    return [
        SavedNode(
            _name_row(node.primitive),
            tuple([None if type(arg) in NODES else _take_out(arg) for arg in node.args]),
            tuple([place[arg] if type(arg) in NODES else None for arg in node.args]),
            to_plain(node.value),
        )
        for node in nodes
    ]


def load_nodes(saved: Sequence[SavedNode]) -> list[Node]:
    """Make nodes again; they are as if typed by hand."""
    nodes: list[Node] = []
    for step in saved:
        pairs = zip(step.parents, step.args, strict=True)
        args = tuple([arg if parent is None else nodes[parent] for parent, arg in pairs])
        row = _find_row(step.row, len(args)) if step.row else None
        nodes.append(HAND.record(row, args, step.value))
    return nodes


def is_importable(f: Any) -> bool:
    """Tell whether a function can be pickled: found by its name elsewhere."""
    try:
        pickle.dumps(f)
    except (pickle.PicklingError, AttributeError, TypeError):
        return False
    return True


def _take_out(arg: Any) -> Any:
    return to_plain(arg.value) if isinstance(arg, Constant) else arg


def _name_row(row: Primitive | None) -> str:
    if row is None:
        return ""
    known = _find_row(row.name, row.arity)
    if known is None or known.reason != row.reason:
        raise TraceError(
            f"the step {row.name!r} is no row of the table, so it cannot be pickled: its rule is a "
            "function. Pickle the function that was traced, and trace it again"
        )
    return row.name


def _find_row(name: str, arity: int) -> Primitive | None:
    if name in _MAKERS:
        found: Primitive = _MAKERS[name](arity - 1).primitive
        return found
    row = TABLE.get(name)
    return row if row is not None and row.arity == arity else None
