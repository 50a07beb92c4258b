"""Local derivatives that are not numbers: a structural zero, linear maps, bundles; their sums."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final


@final
class Zero:
    """A derivative that is *known* to be zero, and therefore never multiplied.

    0 × inf is NaN; a branch that was not taken contributes nothing at all, whatever its own
    derivative is. There is one instance, `ZERO`.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return "ZERO"


ZERO = Zero()


class Linear:
    """A linear map: `push` carries a tangent forward, `pull` an adjoint back.

    ⟨push(dx), dy⟩ = ⟨dx, pull(dy)⟩ for every dx and dy. `moves` says that the map only copies and
    adds elements, so that applying it to a mask shows where structural zeros go.
    """

    __slots__ = ("moves", "pull", "push")

    def __init__(
        self, push: Callable[[Any], Any], pull: Callable[[Any], Any], moves: bool = False
    ) -> None:
        self.push = push
        self.pull = pull
        self.moves = moves


class Packing(Linear):
    """A linear map into a bundle or out of one: it hands on partial adjoints as they are."""

    __slots__ = ()


@final
class LinearRule:
    """The rule of an argument in which a primitive is linear.

    `push(dot, *args)` and `pull(bar, *args)` get the arguments of the primitive.
    """

    __slots__ = ("moves", "pull", "push")

    def __init__(
        self, push: Callable[..., Any], pull: Callable[..., Any], moves: bool = False
    ) -> None:
        self.push = push
        self.pull = pull
        self.moves = moves

    def __call__(self, v: Any, *args: Any) -> Linear:
        """Return the local derivative at `args`."""
        return Linear(
            lambda dot: self.push(dot, *args), lambda bar: self.pull(bar, *args), self.moves
        )


class PartialAdjoint:
    """An adjoint, or a tangent, some of whose elements are structural zeros.

    Its methods say how it is carried through a local derivative, reshaped, and made an array.
    Whether a derivative is one is asked of its type, as `isinstance` looks inside a node.
    """

    __slots__ = ()
    unknown = False  # whether nothing is known of it, nor of what depends on it
    array: Any  # with zeros for the elements that do not exist
    mask: Any  # which elements exist
    like: Callable[[Any, Any], PartialAdjoint]  # make one from another array and mask
    local_derivative: Callable[[Any, int], Any]  # of a node, with no warning for absent elements
    pulled_by: Callable[[Any], Any]  # carry it back through a local derivative
    pushed_by: Callable[[Any], Any]  # carry it forward through a local derivative
    fit: Callable[[Any], Any]  # give it the shape of the value it belongs to
    filled: Callable[[], Any]  # make it an ordinary adjoint, with zeros for absent elements


def plus(a: Any, b: Any) -> Any:
    """Add two derivatives, either of which may be `ZERO`."""
    if a is ZERO:
        return b
    if b is ZERO:
        return a
    return b + a if issubclass(type(b), PartialAdjoint) else a + b


def push(derivative: Any, dot: Any) -> Any:
    """Carry the tangent `dot` through a local derivative: a number, a map, or `ZERO`."""
    if derivative is ZERO or dot is ZERO:
        return ZERO
    if issubclass(type(dot), PartialAdjoint):
        return dot.pushed_by(derivative)
    return derivative.push(dot) if issubclass(type(derivative), Linear) else derivative * dot


def pull(derivative: Any, bar: Any) -> Any:
    """Carry the adjoint `bar` back through a local derivative: a number, a map, or `ZERO`."""
    if derivative is ZERO or bar is ZERO:
        return ZERO
    if issubclass(type(bar), PartialAdjoint):
        return bar.pulled_by(derivative)
    return derivative.pull(bar) if issubclass(type(derivative), Linear) else bar * derivative


def filled(bar: Any) -> Any:
    """Return an adjoint as an ordinary number or array, with 0 for structural zeros."""
    return bar.filled() if issubclass(type(bar), PartialAdjoint) else bar
