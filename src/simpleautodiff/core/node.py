"""`Node`: a value that remembers which primitive made it, and from which parents.

Vocabulary
----------
value       any number, any array, or a node of a lower level
primitive   one operation with its local derivatives: a row of the table in `rules`
parent      an argument that is a node of the same level; every other argument is a constant
child       a node computed from this one; known for graphs typed by hand, as in the paper
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, final
from weakref import ref

from simpleautodiff.core.engine import engine
from simpleautodiff.core.level import Level, Traced
from simpleautodiff.core.primitive import Args, Primitive, make_stated
from simpleautodiff.errors import ArgumentError, TraceError
from simpleautodiff.values.functions import check_value


class Node(Traced):
    """A value that remembers which primitive made it, and from which parents.

    `Node(2)` starts a graph, `Node(2, name="w")` with a name of yours; the wrapping functions and
    operators grow it.

    Examples
    --------
    >>> from simpleautodiff import Node, mul
    >>> x1, x2 = Node(2), Node(5)
    >>> v2 = mul(x1, x2)
    >>> v2.value, v2.operator, v2.grad_wrt_parents, v2.parent_nodes
    (10, 'mul', [5, 2], [Node(2), Node(5)])
    """

    __slots__ = ("args", "derivative", "index", "primitive")
    primitive: Primitive | None
    args: tuple[Any, ...]
    index: Any  # on a tape: its position; typed by hand: its children
    derivative: Any  # what the last sweep of a graph typed by hand found, if there was one
    verbose = False  # whether every sweep of a graph typed by hand is printed

    __hash__ = object.__hash__

    def __init_subclass__(cls) -> None:
        if not cls.__module__.startswith("simpleautodiff."):
            raise TypeError("Node cannot be subclassed; keep your own data beside it")

    def __init__(
        self, value: Any, parent_nodes: Iterable[Node] = (), operator: str = "input", name: str = ""
    ) -> None:
        self.value = check_value(value, "the value of a Node")
        self.args = tuple(parent_nodes)
        self.primitive = make_stated(operator, ()) if operator != "input" or self.args else None
        self.level = hand_above(value.level) if isinstance(value, Traced) else HAND
        self.index = None
        if name:
            engine.label(self, name)

    @property
    def operator(self) -> str:
        """The name of the primitive that made this node; "input" if none did."""
        return self.primitive.name if self.primitive else "input"

    @property
    def parent_nodes(self) -> list[Node]:
        """The nodes this one was computed from, in the order of the arguments."""
        return [arg for arg in self.args if isinstance(arg, Node)]

    def values(self) -> tuple[Any, ...]:
        """Return the numbers this node was computed from."""
        return tuple([arg.value if isinstance(arg, (Node, Constant)) else arg for arg in self.args])

    def local_derivative(self, k: int) -> Any:
        """Return ∂self/∂args[k]: a number, a linear map, or `ZERO`."""
        return self.primitive.partial(k, self.value, self.values())  # type: ignore[union-attr]

    def local_derivatives(self) -> list[tuple[int, Any]]:
        """Return (k, ∂self/∂args[k]) for each parent."""
        parents = [k for k, arg in enumerate(self.args) if isinstance(arg, Node)]
        return [(k, self.local_derivative(k)) for k in parents if self.primitive is not None]

    @property
    def grad_wrt_parents(self) -> list[Any]:
        """∂self/∂parent for each of `parent_nodes`."""
        if self.primitive is not None and len(self.primitive.partials) < len(self.args):
            return []  # a node made by hand whose derivatives are not stated yet
        return [derivative for _, derivative in self.local_derivatives()]

    @grad_wrt_parents.setter
    def grad_wrt_parents(self, derivatives: list[Any]) -> None:
        if len(derivatives) != len(self.args):
            raise ArgumentError(
                f"{self!r} has {len(self.args)} parents, so grad_wrt_parents needs as many "
                f"numbers; got {len(derivatives)}"
            )
        self.primitive = make_stated(self.operator, derivatives)

    @property
    def child_nodes(self) -> list[Node]:
        """The living nodes computed from this one, in the order they were made."""
        if not isinstance(self.level, Hand):
            raise not_by_hand_error("list of children")
        return Children(self)

    def children(self) -> Iterator[Node]:
        """Yield the living nodes that were computed from this one, in a graph typed by hand."""
        links = self.index
        for link in links if isinstance(links, ChildLinks) else (links,):
            child = link() if link is not None else None
            if child is not None:
                yield child

    @property
    def partial_derivative(self) -> Any:
        """The derivative that the last `forward` or `reverse` over this graph found here."""
        return self.derivative if hasattr(self, "derivative") else engine.unswept(self)

    @partial_derivative.setter
    def partial_derivative(self, derivative: Any) -> None:
        if not isinstance(self.level, Hand):
            raise not_by_hand_error("partial derivative")
        self.derivative = derivative

    def __repr__(self) -> str:
        operator = f", operator={self.operator!r}" if self.primitive else ""
        return f"Node({self.value!r}{operator})"


@final
class TapeNode(Node):
    """A node that a tape records; `index` is its position there.

    It may not be looked up in a dict or a set while its function runs: `arrays` refuses to hash it.
    """

    __slots__ = ()
    __init__ = object.__init__  # a tape fills it in


NODES = frozenset({Node, TapeNode})  # the types of nodes that have not been written to


@final
class Constant:
    """A node of another level among the arguments of a node, for which it is a constant.

    The box is there so that every node among the arguments is a parent.
    """

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return repr(self.value)


class Recorder(Level):
    """A level whose record is a graph of nodes."""

    node_type: type[Node] = TapeNode
    # Whether users see each step: record only theirs; and whether a call that could be one step is
    # recorded by its own steps.
    shown = every_step = False

    def retain(self, x: Any) -> Any:
        """Return a constant, protected from changes while the graph is used."""
        return engine.retain(x)

    def argument(self, arg: Any) -> Any:
        """Return an argument in the form in which a node stores it."""
        if (isinstance(arg, Node) and arg.level is self) or isinstance(arg, (int, float)):
            return arg
        arg = self.retain(arg)
        return Constant(arg) if isinstance(arg, Traced) else arg

    def result(self, primitive: Primitive, args: Args, values: Args, value: Any) -> Node:
        """Make the node of an operation."""
        return self.record(primitive, tuple(map(self.argument, args)), value)

    def record(self, primitive: Primitive | None, args: Args, value: Any) -> Node:
        """Make the node whose value is `primitive`(`args`); without a primitive it is an input."""
        node = Node.__new__(self.node_type)
        node.value, node.primitive, node.args, node.level = value, primitive, args, self
        self.append(node)
        return node

    def append(self, node: Node, /) -> None:
        """Add the new node to the record."""
        raise NotImplementedError


# Graphs typed by hand. ----------------------------------------------------------------------------


@final
class Hand(Recorder):
    """The level of graphs typed by hand, as in the paper: parents know their children, weakly."""

    node_type = Node
    by_hand = True

    def append(self, node: Node, /) -> None:
        """Add the new node to the child lists of its parents."""
        node.index = None
        link = ref(node)
        for arg in node.args:
            if isinstance(arg, Node):
                adopt(arg, link)


@final
class ChildLinks(list["ref[Node]"]):
    """Two children or more, as weak references; dead ones are removed when the list has doubled."""

    limit = 8


def not_by_hand_error(what: str) -> TraceError:
    """Return the error for an attribute that only nodes typed by hand have."""
    return TraceError(
        f"a node inside a function that is being differentiated keeps no {what}; "
        "build the graph by hand with Node(...), or look at trace(f, ...)"
    )


@final
class Children(list[Node]):
    """The living children of a node; appending to the list tells the parent, as in the paper."""

    def __init__(self, parent: Node) -> None:
        super().__init__(parent.children())
        self.parent = parent

    def append(self, child: Node) -> None:
        """Make `child` a child of the node that this list belongs to."""
        super().append(child)
        adopt(self.parent, ref(child))


def adopt(parent: Node, link: ref[Node]) -> None:
    """Add a child to a parent, which stores no reference, one, or several; in x * x just once."""
    links = parent.index
    if links is None:
        parent.index = link
    elif not isinstance(links, ChildLinks):
        parent.index = link if links is link else ChildLinks([links, link])
    elif not links or links[-1] is not link:
        if len(links) >= links.limit:
            links[:] = [link for link in links if link() is not None]
            links.limit = max(8, 2 * len(links))
        links.append(link)


HAND = Hand(0)


def hand_above(level: Level) -> Level:
    """Return the level of nodes typed by hand around values of a level."""
    if level.above is None:
        level.above = Hand(level.number + 2**-20)
    return level.above
