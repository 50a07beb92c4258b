"""A progress bar on standard error, drawn only on a terminal."""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from types import FrameType, TracebackType
from typing import Any, TypeVar

from simpleautodiff.cli.loop_share import find_loop_share
from simpleautodiff.core.node import Node
from simpleautodiff.errors import is_user_frame
from simpleautodiff.program.watched_work import watch_work
from simpleautodiff.values.pytree import flatten

T = TypeVar("T")
SILENT_SECONDS = 0.5  # seconds before the bar is drawn
WIDTH = 20  # of a full bar


@dataclass(slots=True)
class Share:
    """How many items of so many are done; `total` is 0 if it is not known.

    Examples
    --------
    >>> Share("counting", 2000, 1500).draw()
    'counting  ███████████████      1,500/2,000  75%'
    """

    what: str
    total: int = 0
    done: int = 0

    def draw(self, width: int = WIDTH) -> str:
        """Draw a bar, with the count and the percentage; only the words if there is no share."""
        if self.total < 2:
            return self.what
        bar = f"{'█' * (width * self.done // self.total):{width}}"
        percent = 100 * self.done // self.total
        return f"{self.what}  {bar} {self.done:,}/{self.total:,}  {percent}%"


class Progress:
    """A progress bar: what is going on, how far it is, and for how long.

    Examples
    --------
    >>> with Progress("counting", 2) as progress:
    ...     progress.step()
    >>> progress.line(3.2)
    'counting  ██████████           1/2  50%  3 s'
    """

    def __init__(self, what: str, total: int = 0) -> None:
        self.whole = Share(what, total)
        self.part: Share | None = None  # what is gone through now
        self._tape: Sized = ()  # of a recording: its inputs and operations
        self._inputs = 0
        self._recorded = 0  # operations of a recording that has run
        self._watched: FrameType | None = None  # from which the function is called now
        self._thread_watched = threading.get_ident()
        self._start = time.perf_counter()
        self._stop = threading.Event()
        terminal = sys.stderr is not None and sys.stderr.isatty()
        self._shown = terminal and os.environ.get("TERM") != "dumb"  # which cannot redraw a line
        self._thread = threading.Thread(target=self._draw, daemon=True)

    def line(self, seconds: float, room: int = 200) -> str:
        """Write the bar, shorter where there is little room.

        How long a recording will be nobody knows: it has the share of the loop that is running, or
        the operations so far, where no length can be read.
        """
        text = self._write(seconds, WIDTH)
        return self._write(seconds, max(WIDTH + room - len(text), 0)) if len(text) > room else text

    def _write(self, seconds: float, width: int) -> str:
        whole, part = self.whole, self._find_loop() or self.part
        operations = self._recorded or max(len(self._tape) - self._inputs, 0)
        so_far = " so far" * (self._watched is not None)
        count = f"  {operations:,} operations{so_far}" if operations else ""
        if part is None and (whole.total < 2 or not self._recorded):
            return f"{whole.draw(width)}{count}  {seconds:.0f} s"
        place = f" {whole.done + 1}/{whole.total}" if whole.total > 1 else ""
        if part is None:
            return f"{whole.what}{place}: {operations:,} operations recorded  {seconds:.0f} s"
        share = part.draw(width) if part.total else f"{part.what}{count}"
        return f"{whole.what}{place}: {share}  {seconds:.0f} s"

    def _find_loop(self) -> Share | None:
        """Return the share of the loop that the function being recorded is running."""
        frames, frame = [], sys._current_frames().get(self._thread_watched)
        while frame is not None and frame is not self._watched:
            frames += [frame] if is_user_frame(frame) else []
            frame = frame.f_back
        loop = find_loop_share(reversed(frames)) if frame is not None else None
        what = self.part.what if self.part else self.whole.what
        return loop and Share(f"{what}, passes of line {loop.line}", loop.total, loop.done)

    def step(self) -> None:
        """Count one more item as done."""
        self.whole.done += 1

    def go_through(self, items: Sequence[T], what: str) -> Iterator[T]:
        """Return the items of one part one after the other, and show how many are done.

        Of parts inside of parts the outermost that has several items is shown.

        Examples
        --------
        >>> progress = Progress("explaining", 5)
        >>> for row in progress.go_through(["v1", "v2", "v3", "v4"], "values"):
        ...     print(progress.line(1.0))
        explaining 1/5: values                       0/4  0%  1 s
        explaining 1/5: values  █████                1/4  25%  1 s
        explaining 1/5: values  ██████████           2/4  50%  1 s
        explaining 1/5: values  ███████████████      3/4  75%  1 s
        """
        if self.part is not None or len(items) < 2:
            yield from items
            return
        part = self.part = Share(what, len(items))
        try:
            for item in items:
                yield item
                part.done += 1
        finally:
            self.part = None

    def watch(self, f: Callable[..., T], what: str = "") -> Callable[..., T]:
        """Return a function that is to be recorded, so that its operations are counted.

        What a program will do is known when it has run: a recording that is a part of the work,
        called `what`, is one of so many, and the parts after it have their shares.

        Examples
        --------
        >>> import simpleautodiff as ad
        >>> progress = Progress("recording")
        >>> def cube(x):
        ...     y = x * x * x
        ...     print(progress.line(1.0))
        ...     return y
        >>> slope = ad.grad(progress.watch(cube))(2.0)
        recording  2 operations so far  1 s
        >>> progress = Progress("explaining", 6)
        >>> slope = ad.grad(progress.watch(cube, "recording"))(2.0)
        explaining 1/6: recording  2 operations so far  1 s
        """

        @wraps(f)
        def watched(*args: Any) -> T:
            levels = (arg.level for arg in flatten(args)[0] if isinstance(arg, Node))
            self._tape = next((level for level in levels if isinstance(level, Sized)), ())
            self._inputs, self._recorded = len(self._tape), 0
            outer = self.part
            self.part = Share(what) if what else outer
            self._watched, self._thread_watched = sys._getframe(), threading.get_ident()
            try:
                result = f(*args)
            finally:
                self.part, self._watched = outer, None
            self._recorded = len(self._tape) - self._inputs
            return result

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
            room = shutil.get_terminal_size().columns - 1
            sys.stderr.write(f"\r\x1b[K{self.line(time.perf_counter() - self._start, room)[:room]}")
            sys.stderr.flush()
        if drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


@contextmanager
def watch_progress(what: str, total: int = 0) -> Iterator[Progress]:
    """Show a progress bar, with the share of whatever is gone through meanwhile.

    Examples
    --------
    >>> from simpleautodiff.program.watched_work import go_through
    >>> with watch_progress("drawing") as progress:
    ...     for box in go_through(["x", "v1"], "boxes"):
    ...         print(progress.line(1.0))
    drawing: boxes                       0/2  0%  1 s
    drawing: boxes  ██████████           1/2  50%  1 s
    """
    with Progress(what, total) as progress, watch_work(progress.go_through):
        yield progress


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
