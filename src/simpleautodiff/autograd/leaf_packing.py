"""Pack a structure of nodes and other leaves into one vector, as one argument of a primitive."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from simpleautodiff.core.level import Traced, take_current
from simpleautodiff.rules.array.indexing import concatenate
from simpleautodiff.rules.array.shapes import reshape, shape_of
from simpleautodiff.values.pytree import flatten, matching_leaves, parts_of


def is_node(x: Any) -> bool:
    """Tell whether x is a node, or an array that nodes were written to."""
    return isinstance(x, Traced) or isinstance(take_current(x), Traced)


def is_number(x: Any) -> bool:
    """Tell whether x is a node or a number that may have a derivative."""
    kinds = (float, complex, np.ndarray, np.generic)
    return is_node(x) or (isinstance(x, kinds) and np.result_type(x).kind in "fc")


class Packing:
    """Maps chosen leaves of a structure to a vector and back; a single leaf stays unchanged."""

    def __init__(self, tree: Any, chosen: Callable[[Any], bool]) -> None:
        self.tree = tree
        self.single = parts_of(tree) is None
        self.leaves, self.rebuild = flatten(tree)
        self.places = [i for i, leaf in enumerate(self.leaves) if chosen(leaf)]
        self.shapes = [shape_of(self.leaves[i]) for i in self.places]

    def pack(self, tree: Any) -> Any:
        """Return the chosen leaves of a structure like this one as a vector."""
        if self.single:
            return tree
        leaves = matching_leaves(tree, self.tree, "a derivative that a rule gives")
        return concatenate([reshape(leaves[i], (-1,)) for i in self.places])

    def unpack(self, vector: Any) -> Any:
        """Return the structure with the numbers of a vector instead of the chosen leaves."""
        if self.single:
            return vector
        leaves, start = list(self.leaves), 0
        for place, shape in zip(self.places, self.shapes, strict=True):
            end = start + math.prod(shape)
            leaves[place] = reshape(vector[start:end], shape) if shape else vector[start]
            start = end
        return self.rebuild(iter(leaves))
