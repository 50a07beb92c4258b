"""Which arrays are views of which: NumPy's views, of values that do not remember their arguments.

On a tape that can be read from the record. Jets, batches and symbols have none, and some views are
made by several steps: these are noted here, by weak reference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from weakref import ref

import numpy as np

from simpleautodiff.core.engine import engine
from simpleautodiff.core.level import WATCHERS, Traced, plain, unwrapped
from simpleautodiff.core.node import Hand, Node
from simpleautodiff.core.primitive import TABLE, Primitive
from simpleautodiff.values.functions import shape

Step = Callable[[Any], Any]  # from a writable array to its view


class Seen(NamedTuple):
    """How a view looks at an array: by steps, the last one first."""

    view: ref[Any]
    base: Any
    steps: tuple[Any, ...]  # (those before, the last one)


VIEWS: dict[Primitive, Callable[..., Step | None]] = {}  # -> the step, of what is a view
_seen: dict[int, Seen] = {}
_views: dict[int, dict[int, Seen]] = {}  # of an array, by its id


def note(view: Any, base: Any, step: Step | None) -> None:
    """Remember that one array is a view of another; the view keeps the other alive."""
    key = id(view)
    forget(key)
    if step is None or not isinstance(base, Traced) or view is base:
        return
    before = _seen.get(id(base))
    steps: tuple[Any, ...] = ((), step)
    if before is not None:  # as in NumPy, a view of a view keeps only the first array alive
        base, steps = before.base, (before.steps, step)
    _seen[key] = Seen(ref(view, lambda _: forget(key)), base, steps)
    _views.setdefault(id(base), {})[key] = _seen[key]


def forget(key: int) -> None:
    """Forget what a view was a view of: it is gone, or knows it itself."""
    seen = _seen.pop(key, None)
    if seen is not None:
        views = _views[id(seen.base)]
        del views[key]
        if not views:
            del _views[id(seen.base)]


def seen_by(view: Any) -> Seen | None:
    """Return what an array was noted to be a view of."""
    return _seen.get(id(view))


def views_of(base: Any) -> Iterator[tuple[Any, tuple[Any, ...]]]:
    """Return the living views that were noted of an array, with the steps to them."""
    for seen in list(_views.get(id(base), {}).values()):
        view = seen.view()
        if view is not None:
            yield view, seen.steps


def follow(array: Any, steps: tuple[Any, ...]) -> Any:
    """Go from a writable array to a view of it."""
    order = []
    while steps:
        steps, step = steps
        order.append(step)
    for step in reversed(order):
        array = step(array)
    return array


def fork(x: Any) -> Any:
    """Return another object that is what a node is now: nobody else has it."""
    new = object.__new__(type(x))
    for kind in type(x).__mro__:
        for name in getattr(kind, "__slots__", ()):
            if name != "__weakref__" and hasattr(x, name):
                setattr(new, name, getattr(x, name))
    return new


def retain(x: Any) -> Any:
    """Return a constant of a recorded operation such that no write to it changes the record."""
    if isinstance(x, np.ndarray):
        return x.copy()
    if type(x) is tuple:
        return tuple(
            [retain(part) if isinstance(part, (np.ndarray, Traced)) else part for part in x]
        )
    if not isinstance(x, Traced) or isinstance(x.level, Hand):
        return x  # what is typed by hand is not written to
    return fork(x) if shape(plain(x)) else x


engine.retain = retain


def twin(x: Any) -> Any:
    """Return the same numbers as an array of its own; what is written to one is not to the other.

    Transformations give such arrays to their functions, and to their callers.
    """
    x = unwrapped(x)
    if not isinstance(x, Traced) or not shape(plain(x)) or isinstance(x.level, Hand):
        return x
    if type(x) is not Node:
        return fork(x)
    tape: Any = x.level
    return x if tape.shown else tape.record(TABLE["pos"], (x,), x.value)


def note_views_of(primitive: Primitive, step_of: Callable[..., Step | None]) -> None:
    """Note the results of a primitive as views; `step_of` gives the step to one, from its call."""

    def watch(view: Any, args: tuple[Any, ...]) -> None:
        if not _knows_its_base(view, args[0]):
            note(view, args[0], step_of(view, *args))

    VIEWS[primitive] = step_of
    WATCHERS[primitive] = watch


def _knows_its_base(view: Any, base: Any) -> bool:
    """Tell whether the record itself says what a node is a view of."""
    if type(view) is not Node or view.args[0] is not base:
        return False
    level: Any = view.level
    return isinstance(level, Hand) or level[view.index] is view
