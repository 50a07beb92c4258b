"""A progress bar on standard error, drawn only on a terminal."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sized
from functools import wraps
from types import TracebackType
from typing import Any, TypeVar

from simpleautodiff.core.node import Node
from simpleautodiff.values.pytree import flatten

T = TypeVar("T")
SILENT_SECONDS = 0.5  # seconds before the bar is drawn
WIDTH = 30


class Progress:
    """A progress bar: what is going on, how far it is, and for how long.

    Examples
    --------
    >>> with Progress("counting", 2) as progress:
    ...     progress.step()
    >>> progress.line(3.2)
    'counting  ███████████████               1/2  3 s'
    """

    def __init__(self, what: str, total: int = 0) -> None:
        self.what, self.total, self.done = what, total, 0
        self.operations: Sized = ()  # of a recording so far
        self._start = time.perf_counter()
        self._stop = threading.Event()
        self._shown = sys.stderr is not None and sys.stderr.isatty()
        self._thread = threading.Thread(target=self._draw, daemon=True)

    def line(self, seconds: float) -> str:
        """Write the bar; if the total is not known, the operations so far and the time."""
        if not self.total:
            count = f"  {len(self.operations):,} operations" if self.operations else ""
            return f"{self.what}{count}  {seconds:.0f} s"
        filled = "█" * (WIDTH * self.done // self.total)
        return f"{self.what}  {filled:{WIDTH - 1}} {self.done}/{self.total}  {seconds:.0f} s"

    def step(self) -> None:
        """Count one more item as done."""
        self.done += 1

    def watch(self, f: Callable[..., T]) -> Callable[..., T]:
        """Return a function that is to be recorded, so that its operations are counted.

        Examples
        --------
        >>> import simpleautodiff as ad
        >>> progress = Progress("recording")
        >>> def cube(x):
        ...     y = x * x * x
        ...     print(progress.line(1.0))
        ...     return y
        >>> slope = ad.grad(progress.watch(cube))(2.0)
        recording  3 operations  1 s
        """

        @wraps(f)
        def watched(*args: Any) -> T:
            levels = (arg.level for arg in flatten(args)[0] if isinstance(arg, Node))
            self.operations = next((level for level in levels if isinstance(level, Sized)), ())
            return f(*args)

        return watched

    def __enter__(self) -> Progress:
        if self._shown:
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: object, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        if self._shown:
            self._thread.join()

    def _draw(self) -> None:
        drawn = False
        while not self._stop.wait(SILENT_SECONDS if not drawn else 0.2):
            drawn = True
            sys.stderr.write(f"\r\x1b[K{self.line(time.perf_counter() - self._start)[:79]}")
            sys.stderr.flush()
        if drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def show_progress(items: Iterable[T], what: str) -> Iterator[T]:
    """Iterate over items, with a progress bar.

    Examples
    --------
    >>> list(show_progress([1, 2, 3], "counting"))
    [1, 2, 3]
    """
    with Progress(what, len(items) if isinstance(items, Sized) else 0) as progress:
        for item in items:
            yield item
            progress.step()
