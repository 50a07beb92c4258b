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


def make_vjp(f: F) -> Callable[[Any], tuple[F, Any]]:
    """Return the function that gives `(pullback, f(x))`: one adjoint for one argument.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> pullback, value = ad.make_vjp(lambda x: x**2)(3.0)
    >>> pullback(1.0), value
    (6.0, 9.0)
    """

    def pullback_and_value(x: Any) -> tuple[F, Any]:
        value, pullback = vjp(f, x)
        return (lambda seed: pullback(seed)[0]), value

    return pullback_and_value


def make_jvp(f: F) -> Callable[[Any], F]:
    """Return the function that gives, at x, the map from a tangent to `(f(x), its tangent)`.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> ad.make_jvp(lambda x: x**2)(3.0)(1.0)
    (9.0, 6.0)
    """
    return lambda x: lambda tangent: jvp(f, (x,), (tangent,))


def hessian_vector_product(f: F) -> Callable[[Any, Any], Any]:
    """Return the function of (x, v) that gives the Hessian of `f` at x times v.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> ad.hessian_vector_product(lambda x: x[0] ** 2 * x[1])([2.0, 5.0], [1.0, 0.0])
    [10.0, 4.0]
    """
    return lambda x, vector: hvp(f, (x,), (vector,))
