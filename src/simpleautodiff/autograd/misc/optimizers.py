"""Gradient descent with HIPS autograd's interface: sgd, rmsprop, adam.

`grad(x, i)` returns the gradient at step i, `callback(x, i, g)` is called at every step; x may be a
nested structure of arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from simpleautodiff.autograd.misc.flatten import flatten

F = Callable[..., Any]


def unflatten_optimizer(optimize: F) -> F:
    """Make an optimizer of vectors, `optimize(grad, x0, callback, ...)`, one of structures.

    Examples
    --------
    >>> from simpleautodiff.misc.optimizers import unflatten_optimizer
    >>> @unflatten_optimizer
    ... def one_step(grad, x0, callback=None):
    ...     return x0 - 0.5 * grad(x0, 0)
    >>> one_step(lambda p, i: {"a": 2 * p["a"]}, {"a": 3.0})["a"]
    np.float64(0.0)
    """

    @wraps(optimize)
    def optimize_structure(
        grad: F, x0: Any, callback: F | None = None, *args: Any, **kwargs: Any
    ) -> Any:
        start, unflatten = flatten(x0)

        def slope_of_vector(vector: Any, i: int) -> Any:
            return flatten(grad(unflatten(vector), i))[0]

        def call_back(vector: Any, i: int, slope: Any) -> None:
            if callback:
                callback(unflatten(vector), i, unflatten(slope))

        return unflatten(optimize(slope_of_vector, start, call_back, *args, **kwargs))

    return optimize_structure


def _descend(grad: F, x: Any, callback: F | None, num_iters: int, step: F) -> Any:
    """Add `step(i, gradient)` for every i."""
    for i in range(num_iters):
        slope = grad(x, i)
        if callback:
            callback(x, i, slope)
        x = x + step(i, slope)
    return x


@unflatten_optimizer
def sgd(
    grad: F,
    x0: Any,
    callback: F | None = None,
    num_iters: int = 200,
    step_size: float = 0.1,
    mass: float = 0.9,
) -> Any:
    """Minimise by gradient descent with momentum.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> from simpleautodiff.misc.optimizers import sgd
    >>> slope = ad.grad(lambda x: (x - 3.0) ** 2)
    >>> round(float(sgd(lambda x, i: slope(x), 0.0)), 3)
    3.0
    """
    velocity: Any = 0.0

    def step(i: int, g: Any) -> Any:
        nonlocal velocity
        velocity = mass * velocity - (1.0 - mass) * g
        return step_size * velocity

    return _descend(grad, x0, callback, num_iters, step)


@unflatten_optimizer
def rmsprop(
    grad: F,
    x0: Any,
    callback: F | None = None,
    num_iters: int = 100,
    step_size: float = 0.1,
    gamma: float = 0.9,
    eps: float = 10**-8,
) -> Any:
    """Minimise by gradients divided by their root mean square.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> from simpleautodiff.misc.optimizers import rmsprop
    >>> slope = ad.grad(lambda x: (x - 3.0) ** 2)
    >>> round(float(rmsprop(lambda x, i: slope(x), 0.0)))
    3
    """
    square: Any = 1.0

    def step(i: int, g: Any) -> Any:
        nonlocal square
        square = square * gamma + g**2 * (1 - gamma)
        return -step_size * g / (np.sqrt(square) + eps)

    return _descend(grad, x0, callback, num_iters, step)


@unflatten_optimizer
def adam(
    grad: F,
    x0: Any,
    callback: F | None = None,
    num_iters: int = 100,
    step_size: float = 0.001,
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 10**-8,
) -> Any:
    """Minimise by moving averages of gradients and of their squares (Kingma and Ba, 2015).

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> from simpleautodiff.misc.optimizers import adam
    >>> slope = ad.grad(lambda p: (p["a"] - 3.0) ** 2)
    >>> found = adam(lambda p, i: slope(p), {"a": 0.0}, num_iters=500, step_size=0.1)
    >>> round(float(found["a"]), 3)
    3.0
    """
    mean: Any = 0.0
    square: Any = 0.0

    def step(i: int, g: Any) -> Any:
        nonlocal mean, square
        mean = (1 - b1) * g + b1 * mean
        square = (1 - b2) * g**2 + b2 * square
        size = np.sqrt(square / (1 - b2 ** (i + 1))) + eps
        return -step_size * mean / (1 - b1 ** (i + 1)) / size

    return _descend(grad, x0, callback, num_iters, step)
