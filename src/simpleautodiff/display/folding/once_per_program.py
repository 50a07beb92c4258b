"""What is computed once of a program, however many tables and figures show it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from simpleautodiff.program.program import Program

T = TypeVar("T")


def once_per_program(compute: Callable[..., T]) -> Callable[..., T]:
    """Make a function of a program that keeps its results for as long as the program is there.

    The results must not refer to the program, and are not to be changed.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> @once_per_program
    ... def count_steps(program):
    ...     print("counting")
    ...     return len(program)
    >>> program = ad.trace(lambda x: ad.sin(x) * x, 2.0)
    >>> count_steps(program), count_steps(program)
    counting
    (3, 3)
    """
    kept: WeakKeyDictionary[Program, dict[tuple[Any, ...], T]] = WeakKeyDictionary()

    @wraps(compute)
    def look_up(program: Program, *args: Any) -> T:
        known = kept.setdefault(program, {})
        if args not in known:
            known[args] = compute(program, *args)
        return known[args]

    return look_up
