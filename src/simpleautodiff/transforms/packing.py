"""Join the nodes among arguments, and results, into vectors: for primitives of any structure."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from simpleautodiff.core.level import Traced, take_current, to_plain
from simpleautodiff.core.linear import ZERO
from simpleautodiff.core.sweep import fit
from simpleautodiff.errors import ArgumentError, ResultError
from simpleautodiff.rules.array.indexing import concatenate
from simpleautodiff.rules.array.shapes import reshape, shape_of
from simpleautodiff.values.functions import zero_like
from simpleautodiff.values.pytree import flatten, map_leaves, matching_leaves


class PackedInputs:
    """The nodes among some arguments, which can be joined into one vector."""

    def __init__(self, tree: Any, what: str) -> None:
        self._leaves, self._rebuild = flatten(map_leaves(take_current, tree))
        self._places = [i for i, leaf in enumerate(self._leaves) if isinstance(leaf, Traced)]
        self.shapes = [shape_of(self._leaves[i]) for i in self._places]
        for i in self._places:
            check_real(to_plain(self._leaves[i]), what)

    def join(self) -> Any:
        """Return all elements of all nodes as one vector, which is a node if there are any."""
        parts = [reshape(self._leaves[i], (-1,)) for i in self._places]
        return concatenate(parts) if parts else np.zeros(0)

    def join_adjoints(self, leaves: list[Any]) -> Any:
        """Return the adjoints of the nodes as one vector, from one adjoint per leaf."""
        pairs = [(leaves[i], shape) for i, shape in zip(self._places, self.shapes, strict=True)]
        parts = [np.zeros(shape) if x is ZERO else x for x, shape in pairs]
        return concatenate(
            [reshape(fit(x, np.zeros(s)), (-1,)) for x, (_, s) in zip(parts, pairs, strict=True)]
        )

    def split(self, vector: Any, tangents: bool = False) -> Any:
        """Return the arguments with the elements of `vector` instead of the nodes.

        Among `tangents`, everything that is not a node has the tangent 0.
        """
        leaves, begin = list(self._leaves), 0
        if tangents:
            leaves = [zero_like(leaf) if is_number(leaf) else leaf for leaf in leaves]
        for place, shape in zip(self._places, self.shapes, strict=True):
            end = begin + math.prod(shape)
            leaves[place] = reshape_to(vector[begin:end], shape)
            begin = end
        return self._rebuild(iter(leaves))


class PackedResults:
    """The numbers of a result, which can be joined into one vector and split again."""

    def __init__(self, what: str) -> None:
        self._what = what
        self.leaves: list[Any] = []
        self._rebuild: Any = None

    def join(self, result: Any) -> Any:
        """Return the numbers of a result as one vector; remember its structure."""
        leaves, self._rebuild = flatten(result)
        if not leaves or not all(map(is_number, leaves)):
            raise ResultError(
                f"{self._what} returned {result!r}; it is to return numbers, arrays, or structures "
                "of them"
            )
        self.leaves = leaves
        return concatenate([np.ravel(leaf) for leaf in leaves])

    def join_tangent(self, tangent: Any) -> Any:
        """Return a tangent of the result as one vector."""
        leaves = matching_leaves(
            tangent, self._rebuild(iter(self.leaves)), f"a tangent of {self._what}"
        )
        return concatenate(
            [
                reshape(fit(x, y), (-1,))
                for x, y in zip(leaves, map(np.asarray, self.leaves), strict=True)
            ]
        )

    def split(self, vector: Any) -> Any:
        """Return a vector, or a node of one, in the structure of the result."""
        leaves, begin = [], 0
        for leaf in self.leaves:
            shape = shape_of(leaf)
            leaves.append(reshape_to(vector[begin : begin + math.prod(shape)], shape))
            begin += math.prod(shape)
        return self._rebuild(iter(leaves))


def is_number(x: Any) -> bool:
    """Tell whether x is a number, an array, or a node of one."""
    if isinstance(x, Traced):
        return True
    known = isinstance(x, (int, float, complex, np.number, np.ndarray))
    return known and np.asarray(x).dtype.kind in "biufc"


def check_real(number: Any, what: str) -> None:
    """Reject anything but a float or an array of floats."""
    kind = (number if hasattr(number, "dtype") else np.asarray(number)).dtype.kind
    if kind == "c":
        raise ArgumentError(
            f"{what} has derivatives with respect to real numbers only, got {number!r}; "
            "pass the real and the imaginary part"
        )
    if kind not in "iuf":
        raise ArgumentError(f"{what} computes with floats and arrays of them, got {number!r}")


def reshape_to(vector: Any, shape: tuple[int, ...]) -> Any:
    """Reshape a vector; one of shape () becomes a scalar."""
    return reshape(vector, shape) if shape else vector[0]
