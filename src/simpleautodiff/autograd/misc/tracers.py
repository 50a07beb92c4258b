"""HIPS autograd's `const_graph`: a function recorded once."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

F = Callable[..., Any]


def const_graph(f: F, *args: Any, **kwargs: Any) -> F:
    """Return a function that records `f` at its first call and replays that; it is `jit`.

    Examples
    --------
    >>> from simpleautodiff.misc.tracers import const_graph
    >>> twice = const_graph(lambda x: 2 * x)
    >>> twice(3.0), twice(4.0)
    (6.0, 8.0)
    """
    from simpleautodiff.compiled import jit

    compiled: F = jit(partial(f, *args, **kwargs))
    return compiled
