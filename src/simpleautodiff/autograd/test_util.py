"""HIPS autograd's `test_util`: derivatives compared with differences along random directions."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from simpleautodiff.autograd.hips import pull_back, push_forward
from simpleautodiff.autograd.vspaces import vspace
from simpleautodiff.autograd.wrap_util import unary_to_nary
from simpleautodiff.errors import ArgumentError, CheckError
from simpleautodiff.transforms.arguments import Argnums, name_of

__all__ = [
    "check_equivalent",
    "check_grads",
    "check_jvp",
    "check_vjp",
    "combo_check",
    "scalar_close",
]
F = Callable[..., Any]
STEP = 1e-6  # of finite differences
TOLERANCE = 1e-6  # absolute, or relative to the sum of the two numbers


def scalar_close(a: Any, b: Any) -> bool:
    """Tell whether two numbers agree."""
    apart = abs(a - b)
    return bool(apart < TOLERANCE or apart < TOLERANCE * abs(a + b))


def _slope(f: F, x: Any) -> tuple[Any, Any]:
    """Return a random direction, and the central difference of f at x along it."""
    of_x = vspace(x)
    direction = of_x.randn()
    half = of_x.scalar_mul(direction, STEP / 2)
    ahead, behind = f(of_x.add(x, half)), f(of_x.add(x, of_x.scalar_mul(half, -1.0)))
    of_y = vspace(ahead)
    return direction, of_y.scalar_mul(of_y.add(ahead, of_y.scalar_mul(behind, -1.0)), 1 / STEP)


def check_equivalent(x: Any, y: Any) -> None:
    """Compare two structures of numbers, along a random direction.

    Raises
    ------
    CheckError
        If their shapes or their numbers differ.
    """
    space = vspace(x)
    if space != vspace(y):
        raise CheckError(f"VSpace mismatch:\nx: {space}\ny: {vspace(y)}")
    direction = space.randn()
    if not scalar_close(space.inner_prod(x, direction), space.inner_prod(y, direction)):
        raise CheckError(f"Value mismatch:\nx: {x}\ny: {y}")


def check_jvp(f: F, x: Any) -> None:
    """Compare forward mode with differences."""
    _check_jvp(f, x, *_slope(f, x))


def _check_jvp(f: F, x: Any, direction: Any, difference: Any) -> None:
    check_equivalent(push_forward(f, x)(direction)[1], difference)


def check_vjp(f: F, x: Any) -> None:
    """Compare reverse mode with differences."""
    _check_vjp(f, x, *_slope(f, x))


def _check_vjp(f: F, x: Any, direction: Any, difference: Any) -> None:
    pullback, value = pull_back(f, x)
    of_x, of_y = vspace(x), vspace(value)
    seed = of_y.randn()
    adjoint = of_x.covector(pullback(of_y.covector(seed)))
    if vspace(adjoint) != of_x:
        raise CheckError(f"the adjoint has the space {vspace(adjoint)}, the argument {of_x}")
    exact = of_x.inner_prod(direction, adjoint)
    numeric = of_y.inner_prod(seed, difference)
    if not scalar_close(numeric, exact):
        raise CheckError(
            f"derivative (VJP) check of {name_of(f)} failed with arg {x}:\n"
            f"analytic: {exact}\nnumeric:  {numeric}"
        )


def check_grads(
    f: F, argnum: Argnums = 0, modes: Sequence[str] = ("fwd", "rev"), order: int = 2
) -> Callable[..., None]:
    """Return a function that compares the derivatives at its arguments up to an order.

    It takes random directions; `simpleautodiff.check_grad` compares all derivatives, and names the
    step that is wrong.

    Raises
    ------
    CheckError
        If they disagree.

    Examples
    --------
    >>> import numpy as np
    >>> from simpleautodiff.test_util import check_grads
    >>> check_grads(lambda x: np.sin(x) * x, modes=["rev"], order=2)(0.7)
    """
    if unknown := set(modes) - {"fwd", "rev"}:
        raise ArgumentError(f"modes are 'fwd' and 'rev'; got {unknown}")
    check: F = _check_grads(f, argnum, modes, order)
    return check


@unary_to_nary
def _check_grads(f: F, x: Any, modes: Sequence[str], order: int) -> None:
    direction, difference = _slope(f, x)
    if "fwd" in modes:
        _check_jvp(f, x, direction, difference)
        if order > 1:
            tangent = lambda x, v: push_forward(f, x)(v)[1]  # noqa: E731
            tangent.__name__ = f"jvp_{name_of(f)}"
            check_grads(tangent, (0, 1), modes, order - 1)(x, vspace(x).randn())
    if "rev" in modes:
        _check_vjp(f, x, direction, difference)
        if order > 1:
            adjoint = lambda x, v: pull_back(f, x)[0](v)  # noqa: E731
            adjoint.__name__ = f"vjp_{name_of(f)}"
            check_grads(adjoint, (0, 1), modes, order - 1)(x, vspace(difference).randn())


def combo_check(f: F, *given: Any, **options: Any) -> Callable[..., None]:
    """Return a function of lists of arguments: `check_grads` at all their combinations.

    Examples
    --------
    >>> import numpy as np
    >>> from simpleautodiff.test_util import combo_check
    >>> combo_check(np.sum, modes=["rev"])([np.ones((2, 2))], axis=[None, 0, 1])
    """

    def check(*args: Any, **kwargs: Any) -> None:
        for chosen in itertools.product(*args):
            for named in itertools.product(*kwargs.values()):
                keywords = dict(zip(kwargs, named, strict=True))
                check_grads(f, *given, **options)(*chosen, **keywords)

    return check
