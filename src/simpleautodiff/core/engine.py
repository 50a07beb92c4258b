"""The seams of the engine: what other packages put into it, each in one visible place.

`rules` says how a derivative gets the shape of an array, `arrays` how a constant is kept from
later changes, `program` how a sweep is told in words. `fast` replaces the rest by something that
gives the same results sooner; without it the engine is the one that stands in `core`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any


def _as_it_is(x: Any, *others: Any) -> Any:
    return x


def _nothing_changes() -> AbstractContextManager[Any]:
    return nullcontext(nullcontext())


class Engine:
    """What the core asks others for, with what it does when nobody answers."""

    def __init__(self) -> None:
        # Give a derivative the shape of the value it belongs to: `fit(derivative, value)`.
        self.fit: Callable[[Any, Any], Any] = _as_it_is
        # The types of real numbers that have no shape: a derivative of one fits any other.
        self.scalars: set[type] = {int, float}
        # Return a constant argument of a node such that nobody changes it later.
        self.retain: Callable[[Any], Any] = _as_it_is
        # Print a sweep step by step: `narrate(mode, order, seeds, sweep)`.
        self.narrate: Callable[..., None] = _as_it_is
        # Remember a name of the user's for a node: `label(node, name)`.
        self.label: Callable[[Any, str], Any] = _as_it_is
        # Sweep along an order of the user's: `sweep_along(mode, order, seeds, right derivatives)`.
        self.sweep_along: Callable[..., Any] = _as_it_is
        # Say what the derivative of a node is that no sweep has reached.
        self.unswept: Callable[[Any], Any] = lambda node: 0
        # Make the function that users call for a primitive; None: the one of the core.
        self.wrap: Callable[[Any], Callable[..., Any]] | None = None
        # Make the tape of a derivative that is computed and not shown.
        self.new_tape: Callable[..., Any] = _as_it_is
        # The context in which a function is recorded and swept: `with recording() as use, use:`.
        # It gives what is entered, and sees to its end even if that is interrupted.
        self.recording: Callable[[], AbstractContextManager[Any]] = _nothing_changes
        # Tell whether a constant is read-only only while a derivative is computed.
        self.is_locked: Callable[[], bool] = bool
        # Return the class that `isinstance` finds for a node in the code of a frame.
        self.class_of: Callable[[Any, Any], Any] = lambda node, frame: type(node)
        # Return an array that leaves a derivative for good.
        self.release: Callable[[Any], Any] = _as_it_is

    def __reduce__(self) -> str:
        return "engine"  # a function that is sent elsewhere finds the one that is there


engine = Engine()
