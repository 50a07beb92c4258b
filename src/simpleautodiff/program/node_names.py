"""The user's own names of nodes typed by hand: `Node(2, name="w")`."""

from __future__ import annotations

from typing import Any
from weakref import KeyedRef

from simpleautodiff.core.engine import engine
from simpleautodiff.core.node import Node
from simpleautodiff.errors import ArgumentError

_LABELS: dict[int, tuple[Any, str]] = {}  # by the id of a node: (weak reference, name)


def _forget(link: KeyedRef[int, Any]) -> None:
    _LABELS.pop(link.key, None)


def label(node: Node, name: str) -> None:
    """Give a node a name, which tables and figures use."""
    if not isinstance(name, str) or not name.strip():
        raise ArgumentError(f"the name of a node is a text, such as 'w'; got {name!r}")
    _LABELS[id(node)] = KeyedRef(node, _forget, id(node)), name


def label_of(node: Node) -> str:
    """Return the name that the user gave a node; empty if none.

    Examples
    --------
    >>> from simpleautodiff import Node
    >>> label_of(Node(2, name="w")), label_of(Node(2))
    ('w', '')
    """
    return _LABELS.get(id(node), (None, ""))[1]


engine.label = label
