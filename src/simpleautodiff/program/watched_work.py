"""Long work that someone watches: how many items of how many are done, for a progress bar."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Any, TypeVar

from simpleautodiff.values.scoped import scoped

T = TypeVar("T")
Watcher = Callable[[Sequence[Any], str], Iterable[Any]]

WATCHER: ContextVar[Watcher] = ContextVar("WATCHER", default=lambda items, what: items)


def watch_work(watcher: Watcher) -> AbstractContextManager[None]:
    """Let `watcher` see what is gone through; it returns the items one after the other.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> def tell(items, what):
    ...     print(what, len(items))
    ...     return items
    >>> program = ad.trace(lambda x: ad.sin(x) * x, 2.0)
    >>> with watch_work(tell):
    ...     table = program.values()
    ...     text = table.to("text")
    values 2
    writing 4
    """
    return scoped(WATCHER, watcher)


def go_through(items: Sequence[T], what: str) -> Iterable[T]:
    """Return the items one after the other, seen by the watcher if there is one."""
    return WATCHER.get()(items, what)


class WatchedBackwards(list[T]):
    """A list that is seen by the watcher as it is gone through from its end.

    Examples
    --------
    >>> list(reversed(WatchedBackwards("abc", "letters")))
    ['c', 'b', 'a']
    """

    def __init__(self, items: Iterable[T], what: str) -> None:
        super().__init__(items)
        self.what = what

    def __reversed__(self) -> Iterator[T]:
        return iter(go_through(self[::-1], self.what))
