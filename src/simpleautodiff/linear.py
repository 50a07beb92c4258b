"""Local derivatives that are no number: a structural zero, and linear maps with a transpose."""

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


@final
class Linear:
    """A linear map: `push` carries a tangent forward, `pull` an adjoint back.

    ⟨push(dx), dy⟩ = ⟨dx, pull(dy)⟩ for every dx and dy. A map that `moves` only copies and adds up
    elements, so that it shows where structural zeros go.
    """

    __slots__ = ("moves", "pull", "push")

    def __init__(
        self, push: Callable[[Any], Any], pull: Callable[[Any], Any], moves: bool = False
    ) -> None:
        self.push = push
        self.pull = pull
        self.moves = moves


@final
class LinearRule:
    """The rule of an argument in which a primitive is linear: how it pushes and how it pulls.

    `push(dot, *args)` and `pull(bar, *args)` get the arguments of the primitive. A sweep calls them
    without making the map first; `add(total, bar, factor, *args)`, where there is one, adds the
    pulled adjoint times a number to an array in place, which for one of a few elements is much less
    than making it.
    """

    __slots__ = ("add", "moves", "pull", "push")

    def __init__(
        self,
        push: Callable[..., Any],
        pull: Callable[..., Any],
        moves: bool = False,
        add: Callable[..., None] | None = None,
    ) -> None:
        self.push = push
        self.pull = pull
        self.moves = moves
        self.add = add

    def __call__(self, v: Any, *args: Any) -> Linear:
        """Return the local derivative at `args`."""
        return Linear(
            lambda dot: self.push(dot, *args), lambda bar: self.pull(bar, *args), self.moves
        )


@final
class Masked:
    """An adjoint of an array of which only some elements exist: those a `where` had chosen.

    The others are structural zeros. An elementwise rule leaves them alone, whatever its own value
    there: no 0 × inf.
    """

    __slots__ = ("array", "keep")

    def __init__(self, array: Any, keep: Any) -> None:
        self.array = array
        self.keep = keep

    def __add__(self, other: Any) -> Any:
        """Add an adjoint; only two masked ones stay masked, where neither has elements."""
        if type(other) is Masked:
            return Masked(self.array + other.array, self.keep | other.keep)
        return other + self.array  # in this order: nodes do not know what is `Scaled`


@final
class Scaled:
    """A large array and the number that it is still to be multiplied by: an adjoint on its way.

    Most numbers meet another before the array is needed; multiplying them is one pass less.
    """

    __slots__ = ("array", "factor")
    __array_ufunc__ = None  # an array leaves the sum to this class

    def __init__(self, array: Any, factor: float) -> None:
        self.array = array
        self.factor = factor

    def __add__(self, other: Any) -> Any:
        return self.array * self.factor + other

    __radd__ = __add__


class Bundle:
    """Several numbers as one value: the arguments or the results of a whole function.

    An entry is a number or `ZERO`. Bundles add entry by entry; they are what adjoints and
    tangents of functions with many arguments are made of.
    """

    __slots__ = ("entries",)

    def __init__(self, entries: tuple[Any, ...]) -> None:
        self.entries = entries

    def __add__(self, other: Bundle) -> Bundle:
        pairs = zip(self.entries, other.entries, strict=True)
        return Bundle(tuple(plus(a, b) for a, b in pairs))

    def __repr__(self) -> str:
        return f"({', '.join(map(repr, self.entries))})"

    @classmethod
    def single(cls, index: int, entry: Any, size: int) -> Bundle:
        """Put `entry` at `index`; all else is `ZERO`."""
        return cls(tuple(entry if i == index else ZERO for i in range(size)))


def plus(a: Any, b: Any) -> Any:
    """Add two derivatives, either of which may be `ZERO`."""
    if a is ZERO:
        return b
    return a if b is ZERO else a + b


def push(derivative: Any, dot: Any) -> Any:
    """Carry the tangent `dot` through a local derivative: a number, a map, or `ZERO`."""
    if derivative is ZERO or dot is ZERO:
        return ZERO
    return derivative.push(dot) if type(derivative) is Linear else derivative * dot


def pull(derivative: Any, bar: Any) -> Any:
    """Carry the adjoint `bar` back through a local derivative: a number, a map, or `ZERO`."""
    if derivative is ZERO or bar is ZERO:
        return ZERO
    return derivative.pull(bar) if type(derivative) is Linear else bar * derivative
