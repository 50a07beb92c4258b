"""Record which arrays are views of which, for values that do not store their arguments.

On a tape, views can be read from the record. Jets, batches and symbols have no record, and some
views are made by several steps: these are noted here, by weak reference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple
from weakref import ref

import numpy as np

from simpleautodiff.core.engine import engine
from simpleautodiff.core.level import WATCHERS, Traced, take_current, to_plain
from simpleautodiff.core.node import NODES, Hand
from simpleautodiff.core.primitive import TABLE, Primitive
from simpleautodiff.values.functions import shape

ViewStep = Callable[[Any], Any]  # from a writable array to its view


class ViewRecord(NamedTuple):
    """How to get a view from an array: by steps, the last one first."""

    view: ref[Any]
    base: Any
    steps: tuple[Any, ...]  # (those before, the last one)


class ViewsOfBase(NamedTuple):
    """The views that were recorded of an array, by their ids."""

    base: ref[Any]
    views: dict[int, ref[Any]]


VIEW_STEPS: dict[
    Primitive, Callable[..., ViewStep | None]
] = {}  # -> the step to a result that is a view
# Both tables are emptied by weak references whose callbacks are methods of dictionaries: no line of
# Python runs when a view dies, in which an interrupt could leave a record behind.
_records: dict[int, ViewRecord] = {}  # by the id of the view
_views: dict[int, ViewsOfBase] = {}  # by the id of the array


def note(view: Any, base: Any, step: ViewStep | None) -> None:
    """Record that an array is a view of another; the view keeps the other alive."""
    key = id(view)
    forget(key)
    if step is None or not isinstance(base, Traced) or view is base:
        return
    before = _records.get(id(base))
    steps: tuple[Any, ...] = ((), step)
    if before is not None:  # as in NumPy, a view of a view keeps only the first array alive
        base, steps = before.base, (before.steps, step)
    _records[key] = ViewRecord(ref(view, partial(_records.pop, key)), base, steps)
    if id(base) not in _views:
        _views[id(base)] = ViewsOfBase(ref(base, partial(_views.pop, id(base))), {})
    views = _views[id(base)].views
    views[key] = ref(view, partial(views.pop, key))


def forget(key: int) -> None:
    """Drop the record of a view that stores its base itself."""
    seen = _records.pop(key, None)
    if seen is not None and id(seen.base) in _views:
        _views[id(seen.base)].views.pop(key, None)


def view_record(view: Any) -> ViewRecord | None:
    """Return what an array was recorded to be a view of."""
    return _records.get(id(view))


def views_of(base: Any) -> Iterator[tuple[Any, tuple[Any, ...]]]:
    """Return the living views that were recorded of an array, with the steps to them."""
    recorded = _views.get(id(base))
    for key, reference in list(recorded.views.items()) if recorded else ():
        view, seen = reference(), _records.get(key)
        if view is not None and seen is not None:  # an interrupt may have prevented its record
            yield view, seen.steps


def follow(array: Any, steps: tuple[Any, ...]) -> Any:
    """Return the view of a writable array that steps lead to."""
    order = []
    while steps:
        steps, step = steps
        order.append(step)
    for step in reversed(order):
        array = step(array)
    return array


def fork(x: Any) -> Any:
    """Return a new object with the current content of a node."""
    new = object.__new__(type(x))
    for base_class in type(x).__mro__:
        for name in getattr(base_class, "__slots__", ()):
            if name != "__weakref__" and hasattr(x, name):
                setattr(new, name, getattr(x, name))
    return new


def retain(x: Any) -> Any:
    """Return a constant of a recorded operation, protected from later writes."""
    if isinstance(x, np.ndarray):
        return x.copy()
    if type(x) is tuple:
        return tuple(
            [retain(part) if isinstance(part, (np.ndarray, Traced)) else part for part in x]
        )
    if not isinstance(x, Traced) or isinstance(x.level, Hand):
        return x  # graphs typed by hand are not written to
    return fork(x) if shape(to_plain(x)) else x


engine.retain = retain


def twin(x: Any) -> Any:
    """Return a copy of the numbers, independent of writes to the original.

    Transformations pass such copies to their functions, and to their callers.
    """
    x = take_current(x)
    if not isinstance(x, Traced) or not shape(to_plain(x)) or isinstance(x.level, Hand):
        return x
    if type(x) not in NODES:
        return fork(x)
    tape: Any = x.level
    return x if tape.shown else tape.record(TABLE["pos"], (x,), x.value)


def note_views_of(primitive: Primitive, step_of: Callable[..., ViewStep | None]) -> None:
    """Record the results of a primitive as views; `step_of` returns the step to one."""

    def watch(view: Any, args: tuple[Any, ...]) -> None:
        if not _is_on_tape(view, args[0]):
            note(view, args[0], step_of(view, *args))

    VIEW_STEPS[primitive] = step_of
    WATCHERS[primitive] = watch


def _is_on_tape(view: Any, base: Any) -> bool:
    """Tell whether the tape itself shows what a node is a view of."""
    if type(view) not in NODES or view.args[0] is not base:
        return False
    level: Any = view.level
    return isinstance(level, Hand) or level[view.index] is view
