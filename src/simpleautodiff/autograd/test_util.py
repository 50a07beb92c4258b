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


def _difference(f: F, x: Any, direction: Any) -> tuple[Any, Any]:
    """Return the central difference of f at x along a direction, and the mean of its two values.

    The mean is f(x) as exactly as the difference is the derivative: both errors are of order STEP².
    """
    of_x = vspace(x)
    half = of_x.scalar_mul(direction, STEP / 2)
    ahead, behind = f(of_x.add(x, half)), f(of_x.add(x, of_x.scalar_mul(half, -1.0)))
    of_y = vspace(ahead)
    across = of_y.add(ahead, of_y.scalar_mul(behind, -1.0))
    return of_y.scalar_mul(across, 1 / STEP), of_y.scalar_mul(of_y.add(ahead, behind), 0.5)


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
    _check(f, x, ("fwd",), 1)


def check_vjp(f: F, x: Any) -> None:
    """Compare reverse mode with differences."""
    _check(f, x, ("rev",), 1)


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

    def check(f: F, x: Any) -> None:
        _check(f, x, modes, order)

    of_arguments: F = unary_to_nary(check)(f, argnum)
    return of_arguments


def _check(f: F, x: Any, modes: Sequence[str], order: int) -> Any:
    """Compare the derivatives of f at x up to an order; return f(x).

    The first derivative is what comes back from its own check: no trace is made for it alone.
    """
    if order < 1:
        return f(x)
    of_x = vspace(x)
    direction = of_x.randn()
    difference, value = _difference(f, x, direction)
    if "fwd" in modes:
        check_equivalent(_check(_tangent(f), (x, direction), modes, order - 1), difference)
    if "rev" in modes:
        of_y = vspace(value)
        seed = of_y.randn()
        adjoint = _check(_adjoint(f), (x, of_y.covector(seed)), modes, order - 1)
        _compare_adjoint(f, x, of_x.covector(adjoint), (direction, seed, difference))
    return value


def _tangent(f: F) -> F:
    """Return the function of a point and a tangent there that gives the tangent of f."""
    tangent = lambda given: push_forward(f, given[0])(given[1])[1]  # noqa: E731
    tangent.__name__ = f"jvp_{name_of(f)}"
    return tangent


def _adjoint(f: F) -> F:
    """Return the function of a point and an adjoint of f(x) that gives the adjoint of x."""
    adjoint = lambda given: pull_back(f, given[0])[0](given[1])  # noqa: E731
    adjoint.__name__ = f"vjp_{name_of(f)}"
    return adjoint


def _compare_adjoint(f: F, x: Any, adjoint: Any, along: tuple[Any, Any, Any]) -> None:
    """Compare ⟨direction, adjoint⟩ with ⟨seed, difference⟩."""
    direction, seed, difference = along
    of_x = vspace(x)
    if vspace(adjoint) != of_x:
        raise CheckError(f"the adjoint has the space {vspace(adjoint)}, the argument {of_x}")
    exact = of_x.inner_prod(direction, adjoint)
    numeric = vspace(difference).inner_prod(seed, difference)
    if not scalar_close(numeric, exact):
        raise CheckError(
            f"derivative (VJP) check of {name_of(f)} failed with arg {x}:\n"
            f"analytic: {exact}\nnumeric:  {numeric}"
        )


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
