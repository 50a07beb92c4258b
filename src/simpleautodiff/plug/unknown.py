"""Numbers that a solver found on its way: their values are known, and their derivatives are not.

An estimate, an iterate, or the last x of a solver that did not arrive depends on what is
differentiated, but no equation says how. It can be printed and compared; a derivative that would
need its derivative is refused.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from simpleautodiff.core.level import apply
from simpleautodiff.core.linear import Linear, PartialAdjoint
from simpleautodiff.core.primitive import Primitive
from simpleautodiff.errors import AutodiffError


class UnknownDerivative(PartialAdjoint):
    """A tangent that is not known, and so is what is computed from it; asking for it raises."""

    __slots__ = ("error",)
    unknown = True

    def __init__(self, error: AutodiffError) -> None:
        self.error = error

    def _stay(self, *operands: Any) -> UnknownDerivative:
        return self

    __add__ = __radd__ = __mul__ = __rmul__ = _stay
    fit = pushed_by = pulled_by = _stay

    def filled(self) -> Any:
        """Raise the error that says why the derivative is not known."""
        _refuse(self.error)


def _refuse(error: AutodiffError, *operands: Any) -> Any:
    raise type(error)(str(error))


def with_unknown_derivative(value: Any, held: list[Any], error: AutodiffError) -> Any:
    """Return a plain value as a node that depends on the nodes held; its derivative is the error.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> from simpleautodiff.plug.unknown import with_unknown_derivative
    >>> def f(x):
    ...     guess = with_unknown_derivative(1.25, [x], ad.LostDerivativeError("a guess"))
    ...     return x * (1.0 if guess > 1 else 2.0), guess
    >>> ad.grad(lambda x: f(x)[0])(3.0)
    1.0
    >>> ad.grad(lambda x: f(x)[1])(3.0)
    Traceback (most recent call last):
    ...
    simpleautodiff.errors.LostDerivativeError: a guess
    """
    if not held:
        return value
    rule = functools.partial(_rule, error)
    primitive = Primitive(
        "estimate",
        (rule,) * (1 + len(held)),
        lambda value, *held: np.array(value)[()],
        "estimate({0})",
        "estimate",
        "no equation says how what a solver estimates depends on its problem",
        arrays=True,
        holomorphic=False,
    )
    return apply(primitive, value, *held)


def _rule(error: AutodiffError, *_values: Any) -> Linear:
    return Linear(lambda dot: UnknownDerivative(error), functools.partial(_refuse, error))
