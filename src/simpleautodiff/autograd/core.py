"""HIPS autograd's `core`: `make_vjp` and `make_jvp` at a point, and the names of `extend`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simpleautodiff.arrays.registry import FUNCTIONS as primitive_vjps
from simpleautodiff.autograd.deprecated import primitive
from simpleautodiff.autograd.extend import (
    Box,
    VSpace,
    def_linear,
    defjvp,
    defjvp_argnum,
    defjvp_argnums,
    defvjp,
    defvjp_argnum,
    defvjp_argnums,
    notrace_primitive,
    vspace,
)
from simpleautodiff.autograd.hips import pull_back, push_forward
from simpleautodiff.autograd.tracer import getval, isbox

__all__ = [
    "Box",
    "VSpace",
    "def_linear",
    "defjvp",
    "defjvp_argnum",
    "defjvp_argnums",
    "defvjp",
    "defvjp_argnum",
    "defvjp_argnums",
    "getval",
    "isbox",
    "make_jvp",
    "make_vjp",
    "notrace_primitive",
    "primitive",
    "primitive_vjps",
    "vspace",
]
F = Callable[..., Any]


def make_vjp(f: F, x: Any) -> tuple[F, Any]:
    """Return `(pullback, f(x))`.

    Examples
    --------
    >>> from simpleautodiff.autograd.core import make_vjp
    >>> pullback, value = make_vjp(lambda x: x**2, 3.0)
    >>> pullback(1.0), value
    (6.0, 9.0)
    """
    return pull_back(f, x)


def make_jvp(f: F, x: Any) -> F:
    """Return the map from a tangent to `(f(x), its tangent)`.

    Examples
    --------
    >>> from simpleautodiff.autograd.core import make_jvp
    >>> make_jvp(lambda x: x**2, 3.0)(1.0)
    (9.0, 6.0)
    """
    return push_forward(f, x)
