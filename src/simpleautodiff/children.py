"""What a node typed by hand knows of its children: weak references, so that dead results can go."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, final
from weakref import ref

if TYPE_CHECKING:
    from simpleautodiff.node import Node


@final
class Links(list["ref[Node]"]):
    """Weak references to several children; the dead ones are swept out as the list doubles."""

    __slots__ = ("limit",)

    def __init__(self, links: list[ref[Node]]) -> None:
        super().__init__(links)
        self.limit = 8

    def add(self, link: ref[Node]) -> None:
        """Append one child, unless it is the last one already (as in x * x)."""
        if self[-1] is link:
            return
        if len(self) >= self.limit:
            self[:] = [link for link in self if link() is not None]
            self.limit = max(8, 2 * len(self))
        self.append(link)


@final
class Children(list["Node"]):
    """A list of child nodes; appending to it tells the parent, as the paper's listing does."""

    def __init__(self, parent: Node, nodes: list[Node]) -> None:
        super().__init__(nodes)
        self.parent = parent

    def append(self, child: Node) -> None:
        """Make `child` a child of the node this list came from."""
        super().append(child)
        adopt(self.parent, ref(child))


def living(links: Any) -> Iterator[Node]:
    """Yield the children that are still alive."""
    if links is None:
        return
    for link in links if type(links) is Links else (links,):
        child = link()
        if child is not None:
            yield child


def adopt(parent: Node, link: ref[Node]) -> None:
    """Write one more child into what a parent knows: nothing, one reference, or several."""
    links = parent.index  # the slot behind `parent.links`: this runs for every operation
    if links is None:
        parent.index = link
    elif type(links) is Links:
        links.add(link)
    elif links is not link:
        parent.index = Links([links, link])
