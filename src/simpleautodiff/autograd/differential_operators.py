"""HIPS autograd's module of differential operators, under the same names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simpleautodiff.autograd.hips import (
    deriv,
    elementwise_grad,
    grad,
    grad_and_aux,
    grad_named,
    hessian_tensor_product,
    hessian_vector_product,
    holomorphic_grad,
    make_ggnvp,
    make_hvp,
    make_jvp,
    make_vjp,
    multigrad_dict,
    tensor_jacobian_product,
    value_and_grad,
    vector_jacobian_product,
)
from simpleautodiff.transforms.arguments import Argnums
from simpleautodiff.transforms.checkpoint import checkpoint
from simpleautodiff.transforms.jacobian import hessian, jacobian

__all__ = [
    "checkpoint",
    "deriv",
    "elementwise_grad",
    "grad",
    "grad_and_aux",
    "grad_named",
    "hessian",
    "hessian_tensor_product",
    "hessian_vector_product",
    "holomorphic_grad",
    "jacobian",
    "make_ggnvp",
    "make_hvp",
    "make_jvp",
    "make_jvp_reversemode",
    "make_vjp",
    "multigrad_dict",
    "tensor_jacobian_product",
    "value_and_grad",
    "vector_jacobian_product",
]
F = Callable[..., Any]


def make_jvp_reversemode(f: F, argnum: Argnums = 0) -> Callable[..., F]:
    """Return a function that maps arguments to the map from a tangent to that of the result.

    Forward mode exists for everything here, so it is used.

    Examples
    --------
    >>> from simpleautodiff.differential_operators import make_jvp_reversemode
    >>> make_jvp_reversemode(lambda x: x**2)(3.0)(1.0)
    6.0
    """
    push = make_jvp(f, argnum)
    return lambda *args, **kwargs: lambda tangent: push(*args, **kwargs)(tangent)[1]
