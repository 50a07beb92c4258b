"""HIPS autograd's `util`: small functions that its users import."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any

from simpleautodiff.autograd.test_util import check_grads

F = Callable[..., Any]


def func(f: F) -> F:
    """Return the function itself."""
    return f


def subvals(x: Iterable[Any], replaced: Iterable[tuple[int, Any]]) -> tuple[Any, ...]:
    """Return a tuple with the values at some indices replaced.

    Examples
    --------
    >>> subvals((1, 2, 3), [(0, 5)])
    (5, 2, 3)
    """
    given = list(x)
    for place, value in replaced:
        given[place] = value
    return tuple(given)


def subval(x: Iterable[Any], place: int, value: Any) -> tuple[Any, ...]:
    """Return a tuple with the value at one index replaced."""
    return subvals(x, [(place, value)])


def quick_grad_check(
    f: F, arg0: Any, extra_args: tuple[Any, ...] = (), kwargs: Any = None, **options: Any
) -> None:
    """Compare the derivative in the first argument with differences; deprecated."""
    warnings.warn("quick_grad_check is deprecated; write test_util.check_grads", stacklevel=2)
    check_grads(f, modes=["rev"], order=1)(arg0, *extra_args, **(kwargs or {}))
