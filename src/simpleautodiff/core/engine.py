"""The seams of the engine: the functions that other packages plug into the core, in one place.

`rules` plugs in how a derivative gets the shape of an array, `arrays` how a constant is protected
from later changes, `program` how a sweep is narrated. `fast` replaces the rest by quicker functions
with the same results; without it the engine is the plain one of `core`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any


def _return_first(x: Any, *others: Any) -> Any:
    return x


def _make_null_contexts() -> AbstractContextManager[Any]:
    return nullcontext(nullcontext())


class Engine:
    """The functions that the core calls and other packages may replace, with their defaults."""

    def __init__(self) -> None:
        # Give a derivative the shape of the value it belongs to: `fit(derivative, value)`.
        self.fit: Callable[[Any, Any], Any] = _return_first
        # The types of real numbers that have no shape: a derivative of one fits any other.
        self.scalars: set[type] = {int, float}
        # Return a constant argument of a node, protected from later changes.
        self.retain: Callable[[Any], Any] = _return_first
        # Print a sweep step by step: `narrate(mode, order, seeds, sweep)`.
        self.narrate: Callable[..., None] = _return_first
        # Remember the name that the user gave to a node: `label(node, name)`.
        self.label: Callable[[Any, str], Any] = _return_first
        # Sweep along the user's order: `sweep_along(mode, order, seeds, right derivatives)`.
        self.sweep_along: Callable[..., Any] = _return_first
        # Return the derivative of a node that no sweep has reached.
        self.unswept: Callable[[Any], Any] = lambda node: 0
        # Make the function that users call for a primitive; None: `core.level.wrap` makes it.
        self.wrap: Callable[[Any], Callable[..., Any]] | None = None
        # Make the tape of a derivative whose steps are not shown.
        self.new_tape: Callable[..., Any] = _return_first
        # The context in which a function is recorded and swept: `with recording() as use, use:`.
        # Two contexts, so that one still cleans up if an interrupt hits the exit of the other.
        self.recording: Callable[[], AbstractContextManager[Any]] = _make_null_contexts
        # Tell whether some array is read-only just while a derivative is computed.
        self.is_locked: Callable[[], bool] = bool
        # Return what `node.__class__` is for the code of a frame, which `isinstance` asks for.
        self.class_of: Callable[[Any, Any], Any] = lambda node, frame: type(node)
        # Return an array that is handed to the caller of a derivative.
        self.release: Callable[[Any], Any] = _return_first

    def __reduce__(self) -> str:
        return "engine"  # unpickled in another process, it is that process's engine


engine = Engine()
