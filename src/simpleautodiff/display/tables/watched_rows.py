"""Rows and steps that someone watches: how far a long table is, for a progress bar."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from simpleautodiff.values.scoped import scoped

if TYPE_CHECKING:
    from simpleautodiff.display.tables.tables import Table, TableRow

T = TypeVar("T")
Watcher = Callable[[Sequence[Any], str], Iterable[Any]]

WATCHER: ContextVar[Watcher] = ContextVar("WATCHER", default=lambda items, what: items)


def watch_rows(watcher: Watcher) -> AbstractContextManager[None]:
    """Let `watcher` see which rows are made and written; it returns the items one after the other.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> def tell(items, what):
    ...     print(what, len(items))
    ...     return items
    >>> program = ad.trace(lambda x: ad.sin(x) * x, 2.0)
    >>> with watch_rows(tell):
    ...     table = program.values()
    ...     text = table.to("text")
    values 2
    writing 4
    """
    return scoped(WATCHER, watcher)


def go_through(items: Sequence[T], what: str) -> Iterable[T]:
    """Return the items one after the other, seen by the watcher if there is one."""
    return WATCHER.get()(items, what)


def write_sections(table: Table) -> Iterator[Iterator[TableRow]]:
    """Yield the sections of a table that is being written, row by row; none is empty."""
    rows = iter(go_through(table.rows, "writing"))
    for section in filter(None, table.sections):
        yield islice(rows, len(section))
