"""The nodes among arguments as one vector, for primitives of whatever is given."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from simpleautodiff.core.level import Traced, plain, unwrapped
from simpleautodiff.errors import ArgumentError
from simpleautodiff.rules.array.indexing import concatenate
from simpleautodiff.rules.array.shapes import reshape, shape_of
from simpleautodiff.values.pytree import flatten, map_leaves


class Inputs:
    """The nodes among some arguments, which can be joined into one vector."""

    def __init__(self, tree: Any, what: str) -> None:
        self._leaves, self._rebuild = flatten(map_leaves(unwrapped, tree))
        self._places = [i for i, leaf in enumerate(self._leaves) if isinstance(leaf, Traced)]
        self.shapes = [shape_of(self._leaves[i]) for i in self._places]
        for i in self._places:
            check_real(plain(self._leaves[i]), what)

    def join(self) -> Any:
        """Return all elements of all nodes as one vector, which is a node if there are any."""
        parts = [reshape(self._leaves[i], (-1,)) for i in self._places]
        return concatenate(parts) if parts else np.zeros(0)

    def split(self, vector: Any) -> Any:
        """Return the arguments with the elements of `vector` in place of the nodes."""
        leaves, begin = list(self._leaves), 0
        for place, shape in zip(self._places, self.shapes, strict=True):
            end = begin + math.prod(shape)
            leaves[place] = reshape_to(vector[begin:end], shape)
            begin = end
        return self._rebuild(iter(leaves))


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
