"""HIPS autograd's `vspace`: the vector space of a number, an array or a structure of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from simpleautodiff.core.level import take_current, to_plain
from simpleautodiff.errors import ValueKindError
from simpleautodiff.values.pytree import assemble, list_parts


class VSpace:
    """A vector space; a subclass is registered for the types of its vectors."""

    mappings: dict[type, Callable[[Any], VSpace]] = {}  # noqa: RUF012  (of all vector spaces)
    iscomplex = False
    size = 0

    def __init__(self, value: Any) -> None:
        pass

    @classmethod
    def register(cls, kind: type, make: Callable[[Any], VSpace] | None = None) -> None:
        """Register this class as the space of vectors of a type."""
        VSpace.mappings[kind] = make or cls

    def add(self, x: Any, y: Any) -> Any:
        """Return x + y."""
        return self._add(x, y)

    def mut_add(self, x: Any, y: Any) -> Any:
        """Return x + y, where None is 0; x is not changed."""
        return y if x is None else self._add(x, y)

    def scalar_mul(self, x: Any, a: Any) -> Any:
        """Return x times a number."""
        return self._scalar_mul(x, a)

    def inner_prod(self, x: Any, y: Any) -> Any:
        """Return the real inner product of two vectors."""
        return self._inner_prod(x, y)

    def covector(self, x: Any) -> Any:
        """Return the adjoint that corresponds to a vector: its conjugate."""
        return self._covector(x)

    def _add(self, x: Any, y: Any) -> Any:
        return x + y

    _mut_add = _add

    def _scalar_mul(self, x: Any, a: Any) -> Any:
        return x * a

    def _inner_prod(self, x: Any, y: Any) -> Any:
        raise NotImplementedError

    def _covector(self, x: Any) -> Any:
        return x

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"{type(self).__name__}_{self.__dict__}"


class ArrayVSpace(VSpace):
    """The space of the arrays of a shape and dtype.

    Examples
    --------
    >>> space = vspace(np.zeros((2, 3)))
    >>> space.size, float(space.inner_prod(space.ones(), space.ones()))
    (6, 6.0)
    """

    def __init__(self, value: Any) -> None:
        value = np.asarray(value)
        self.shape: tuple[int, ...] = value.shape
        self.dtype = value.dtype if value.dtype.kind in "fc" else np.dtype(float)
        self.iscomplex = value.dtype.kind == "c"

    @property
    def size(self) -> int:  # type: ignore[override]
        """How many real numbers a vector has."""
        return math.prod(self.shape) * (2 if self.iscomplex else 1)

    @property
    def ndim(self) -> int:
        """How many axes a vector has."""
        return len(self.shape)

    def zeros(self) -> Any:
        """Return 0."""
        return np.zeros(self.shape, self.dtype)

    def ones(self) -> Any:
        """Return the sum of the standard basis."""
        return np.full(self.shape, 1 + 1j if self.iscomplex else 1, self.dtype)

    def standard_basis(self) -> Iterator[Any]:
        """Yield the vectors with one 1; if complex, those with one 1j, too."""
        for place in np.ndindex(*self.shape):
            for unit in (1, 1j) if self.iscomplex else (1,):
                vector = self.zeros()
                vector[place] = unit
                yield vector

    def randn(self) -> Any:
        """Return a random vector, of NumPy's global generator."""
        noise: Any = np.random.randn(*self.shape)  # noqa: NPY002  (as in HIPS autograd)
        if self.iscomplex:
            noise = noise + 1j * np.random.randn(*self.shape)  # noqa: NPY002
        return np.asarray(noise, self.dtype)[()]

    def _inner_prod(self, x: Any, y: Any) -> Any:
        product = np.vdot(x, y)  # of conjugates, if complex
        return np.real(product) if self.iscomplex else product

    def _covector(self, x: Any) -> Any:
        return np.conj(x) if self.iscomplex else x


class ContainerVSpace(VSpace):
    """The space of structures: `shape` is the same structure of spaces.

    Examples
    --------
    >>> space = vspace({"a": 1.0, "b": [np.zeros(2)]})
    >>> space.size, space.shape["b"].zeros()
    (3, [array([0., 0.])])
    """

    def __init__(self, value: Any) -> None:
        self.shape = assemble(value, [vspace(part) for part in _parts(value)])

    def _each(self, function: Callable[..., Any], *vectors: Any) -> list[Any]:
        parts = [_parts(vector, self.shape) for vector in (self.shape, *vectors)]
        return [function(*given) for given in zip(*parts, strict=True)]

    def _map(self, function: Callable[..., Any], *vectors: Any) -> Any:
        return assemble(self.shape, self._each(function, *vectors))

    @property
    def size(self) -> int:  # type: ignore[override]
        """How many real numbers a vector has."""
        return sum(self._each(lambda space: space.size))

    def zeros(self) -> Any:
        """Return 0."""
        return self._map(lambda space: space.zeros())

    def ones(self) -> Any:
        """Return the sum of the standard basis."""
        return self._map(lambda space: space.ones())

    def randn(self) -> Any:
        """Return a random vector, of NumPy's global generator."""
        return self._map(lambda space: space.randn())

    def standard_basis(self) -> Iterator[Any]:
        """Yield the standard basis: a basis vector of one part, and zeros elsewhere."""
        zeros = _parts(self.zeros())
        for i, space in enumerate(_parts(self.shape)):
            for unit in space.standard_basis():
                yield assemble(self.shape, [*zeros[:i], unit, *zeros[i + 1 :]])

    def _add(self, x: Any, y: Any) -> Any:
        return self._map(lambda space, a, b: space.add(a, b), x, y)

    def _scalar_mul(self, x: Any, a: Any) -> Any:
        return self._map(lambda space, part: space.scalar_mul(part, a), x)

    def _inner_prod(self, x: Any, y: Any) -> Any:
        return sum(self._each(lambda space, a, b: space.inner_prod(a, b), x, y))

    def _covector(self, x: Any) -> Any:
        return self._map(lambda space, part: space.covector(part), x)


def _parts(value: Any, like: Any = None) -> list[Any]:
    """Return the parts of a structure; those of a dict in the order of the keys of another."""
    if isinstance(like, dict):
        return [value[key] for key in like]
    return list_parts(value) or []


_NUMBERS = (np.ndarray, np.generic, int, float, complex)


def vspace(value: Any) -> Any:
    """Return the vector space of a number, an array, a structure of them, or a registered type.

    Examples
    --------
    >>> vspace([1.0, np.zeros(2)]).zeros()
    [array(0.), array([0., 0.])]
    """
    value = to_plain(take_current(value))
    if type(value) in VSpace.mappings:
        return VSpace.mappings[type(value)](value)
    if isinstance(value, _NUMBERS) and not isinstance(value, (bool, np.bool_)):
        return ArrayVSpace(value)
    if list_parts(value) is not None:
        return ContainerVSpace(value)
    raise ValueKindError(
        f"no vector space is known for {value!r} of type {type(value).__name__}; "
        "register one with VSpace.register"
    )


def move(x: Any, direction: Any, a: float) -> Any:
    """Return x + a times a direction, of one vector space.

    Examples
    --------
    >>> move([1.0, np.zeros(2)], [2.0, np.ones(2)], 0.5)
    [2.0, array([0.5, 0.5])]
    """
    if isinstance(x, (float, np.ndarray)) and isinstance(direction, (float, np.ndarray)):
        return x + a * direction
    space = vspace(x)
    return space.add(x, space.scalar_mul(direction, a))
