"""The names that users of HIPS autograd know, where they differ from ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from simpleautodiff.arguments import Argnums
from simpleautodiff.structure import flatten
from simpleautodiff.transform import grad, hvp, jvp, vjp

F = Callable[..., Any]


def elementwise_grad(f: F, argnums: Argnums = 0) -> F:
    """Return the derivative of each element of an elementwise function.

    It is the gradient of the sum of the result, so every element of the result must depend on one
    element of the argument only.

    Examples
    --------
    >>> import numpy as np
    >>> import simpleautodiff as ad
    >>> ad.elementwise_grad(np.sin)(np.array([0.0, np.pi]))
    array([ 1., -1.])
    """

    def total(*args: Any, **kwargs: Any) -> Any:
        return sum(np.sum(leaf) for leaf in flatten(f(*args, **kwargs))[0])

    total.__wrapped__ = f  # type: ignore[attr-defined]
    return grad(total, argnums)


def _of_one(f: F, argnum: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[F, Any]:
    """Return a function of one of the arguments alone, and that argument."""
    before, x, behind = args[:argnum], args[argnum], args[argnum:][1:]
    return (lambda x: f(*before, x, *behind, **kwargs)), x


def make_vjp(f: F, argnum: int = 0) -> Callable[..., tuple[F, Any]]:
    """Return the function that gives `(pullback, f(*args))`: the adjoint of one argument.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> pullback, value = ad.make_vjp(lambda x: x**2)(3.0)
    >>> pullback(1.0), value
    (6.0, 9.0)
    """

    def pullback_and_value(*args: Any, **kwargs: Any) -> tuple[F, Any]:
        value, pullback = vjp(*_of_one(f, argnum, args, kwargs))
        return (lambda seed: pullback(seed)[0]), value

    return pullback_and_value


def make_jvp(f: F, argnum: int = 0) -> Callable[..., F]:
    """Return the function that gives the map from a tangent to `(f(*args), its tangent)`.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> ad.make_jvp(lambda x: x**2)(3.0)(1.0)
    (9.0, 6.0)
    """

    def push(*args: Any, **kwargs: Any) -> F:
        of_one, x = _of_one(f, argnum, args, kwargs)
        return lambda tangent: jvp(of_one, (x,), (tangent,))

    return push


def hessian_vector_product(f: F, argnum: int = 0) -> F:
    """Return the function of the arguments and a vector: the Hessian in one of them, times it.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> ad.hessian_vector_product(lambda x: x[0] ** 2 * x[1])([2.0, 5.0], [1.0, 0.0])
    [10.0, 4.0]
    >>> ad.hessian_vector_product(lambda a, x: a * x**3, 1)(2.0, 3.0, 1.0)
    36.0
    """

    def product(*args: Any, **kwargs: Any) -> Any:
        *given, vector = args
        of_one, x = _of_one(f, argnum, tuple(given), kwargs)
        return hvp(of_one, (x,), (vector,))

    return product
