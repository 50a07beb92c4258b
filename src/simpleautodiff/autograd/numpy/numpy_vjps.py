"""HIPS autograd's `unbroadcast`: sum over the axes along which an array was broadcast."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from simpleautodiff.rules.array.shapes import shape_of

F = Callable[..., Any]


def unbroadcast(x: Any, like: Any) -> Any:
    """Return x summed to the shape of `like`, a node, an array or a tuple that begins with a shape.

    Examples
    --------
    >>> unbroadcast(np.ones((3, 2)), np.zeros(2))
    array([3., 3.])
    """
    target = tuple(like[0]) if isinstance(like, tuple) else shape_of(like)
    x = np.sum(x, axis=tuple(range(np.ndim(x) - len(target)))) if np.ndim(x) > len(target) else x
    repeated = [i for i, (n, m) in enumerate(zip(np.shape(x), target, strict=True)) if n != m]
    return np.sum(x, axis=tuple(repeated), keepdims=True) if repeated else x


def unbroadcast_f(like: Any, f: F) -> F:
    """Return a function whose result is that of f, summed to the shape of `like`."""
    return lambda g: unbroadcast(f(g), like)
