"""HIPS autograd's `test_util`: derivatives compared with differences along random directions."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from simpleautodiff.autograd.hips import note_independence
from simpleautodiff.autograd.vspaces import move, vspace
from simpleautodiff.autograd.wrap_util import unary_to_nary
from simpleautodiff.errors import ArgumentError, CheckError
from simpleautodiff.transforms.arguments import Argnums, name_of
from simpleautodiff.transforms.grad import jvp, vjp

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
WIDENING = 100  # of the step, where a difference does not agree with the derivative
Point = tuple[Any, ...]  # the arguments of a function, or their tangents


def scalar_close(a: Any, b: Any) -> bool:
    """Tell whether two numbers agree."""
    apart = abs(a - b)
    return bool(apart < TOLERANCE or apart < TOLERANCE * abs(a + b))


def _difference(f: F, x: Point, directions: Point, step: float = STEP) -> tuple[Any, Any]:
    """Return the central difference of f at x along directions, and the mean of its two values.

    The mean is f(x) as exactly as the difference is the derivative: both errors are of order step².
    """
    ahead = f(*map(move, x, directions, itertools.repeat(step / 2)))
    behind = f(*map(move, x, directions, itertools.repeat(-step / 2)))
    of_y = vspace(ahead)
    across = move(ahead, behind, -1.0)
    return of_y.scalar_mul(across, 1 / step), of_y.scalar_mul(of_y.add(ahead, behind), 0.5)


def _extrapolate(f: F, x: Point, directions: Point) -> Any:
    """Return the limit of central differences of two steps, for functions of large numbers.

    Their rounding errors are those of `STEP`, divided by `WIDENING`.
    """
    wide, narrow = (_difference(f, x, directions, WIDENING * k * STEP)[0] for k in (2, 1))
    return move(narrow, move(narrow, wide, -1.0), 1 / 3)


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
    if not _is_close(x, y):
        raise CheckError(f"Value mismatch:\nx: {x}\ny: {y}")


def _is_close(x: Any, y: Any) -> bool:
    """Tell whether two vectors of one space agree along a random direction."""
    space = vspace(x)
    direction = space.randn()
    return scalar_close(space.inner_prod(x, direction), space.inner_prod(y, direction))


def check_jvp(f: F, x: Any) -> None:
    """Compare forward mode with differences."""
    _check(f, (x,), ("fwd",), 1)


def check_vjp(f: F, x: Any) -> None:
    """Compare reverse mode with differences."""
    _check(f, (x,), ("rev",), 1)


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
        if type(x) is tuple:
            _check(_unpacking(f), x, modes, order)
        else:
            _check(f, (x,), modes, order)

    of_arguments: F = unary_to_nary(check)(f, argnum)
    return of_arguments


def _unpacking(f: F) -> F:
    """Return a function of a tuple as one of its parts."""
    of_parts = lambda *parts: f(parts)  # noqa: E731
    return _name(of_parts, name_of(f), f)


def _check(f: F, x: Point, modes: Sequence[str], order: int) -> Any:
    """Compare the derivatives of f at x up to an order; return f(*x).

    The first derivative is what comes back from its own check: no trace is made for it alone.
    """
    if order < 1:
        return f(*x)
    directions = tuple([vspace(part).randn() for part in x])
    difference, value = _difference(f, x, directions)
    if "fwd" in modes:
        tangent = _check(_tangent(f), x + directions, modes, order - 1)
        if vspace(tangent) != vspace(difference) or not _is_close(tangent, difference):
            check_equivalent(tangent, _extrapolate(f, x, directions))
    if "rev" in modes:
        of_y = vspace(value)
        seed = of_y.randn()
        adjoints = _check(_adjoint(f), (*x, of_y.covector(seed)), modes, order - 1)
        adjoints = adjoints if len(x) > 1 else (adjoints,)
        if not scalar_close(*_pair(x, directions, adjoints, seed, difference)):
            _compare_adjoints(f, x, directions, adjoints, seed)
    return value


def _tangent(f: F) -> F:
    """Return the function of a point and a tangent there that gives the tangent of f."""
    noting = note_independence(f)

    def tangent(*given: Any) -> Any:
        count = len(given) // 2
        return jvp(noting, given[:count], given[count:])[1]

    return _name(tangent, f"jvp_{name_of(f)}", f)


def _adjoint(f: F) -> F:
    """Return the function of a point and an adjoint of f(x) that gives the adjoint of x."""
    noting = note_independence(f)

    def adjoint(*given: Any) -> Any:
        *x, seed = given
        adjoints = vjp(noting, *x)[1](seed)
        return adjoints if len(x) > 1 else adjoints[0]

    return _name(adjoint, f"vjp_{name_of(f)}", f)


def _name(function: F, name: str, f: F) -> F:
    """Name a function that was made of f."""
    function.__name__ = name
    function.transformed = f  # type: ignore[attr-defined]
    return function


def _pair(
    x: Point, directions: Point, adjoints: Point, seed: Any, difference: Any
) -> tuple[Any, Any]:
    """Return ⟨seed, difference⟩ and ⟨directions, adjoints⟩."""
    exact = 0.0
    for part, direction, adjoint in zip(x, directions, adjoints, strict=True):
        of_x = vspace(part)
        adjoint = of_x.covector(adjoint)
        if vspace(adjoint) != of_x:
            raise CheckError(f"the adjoint has the space {vspace(adjoint)}, the argument {of_x}")
        exact = exact + of_x.inner_prod(direction, adjoint)
    return vspace(difference).inner_prod(seed, difference), exact


def _compare_adjoints(f: F, x: Point, directions: Point, adjoints: Point, seed: Any) -> None:
    """Compare ⟨directions, adjoints⟩ with the limit of ⟨seed, difference⟩."""
    difference = _extrapolate(f, x, directions)
    numeric, exact = _pair(x, directions, adjoints, seed, difference)
    if not scalar_close(numeric, exact):
        raise CheckError(
            f"derivative (VJP) check of {name_of(f)} failed with arg {x if len(x) > 1 else x[0]}:\n"
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
