"""Give a context variable a value for the length of a `with` statement."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")


@contextmanager
def scoped(variable: ContextVar[T], value: T) -> Iterator[None]:
    """Set a variable that has a default; afterwards, or at an interrupt, it is what it was.

    Examples
    --------
    >>> digits = ContextVar("digits", default=3)
    >>> with scoped(digits, 5):
    ...     digits.get()
    5
    >>> digits.get()
    3
    """
    before = variable.get()
    try:
        variable.set(value)  # within `try`: an interrupt may come before `set` has returned
        yield
    finally:
        variable.set(before)
