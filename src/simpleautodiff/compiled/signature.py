"""What a call looks like: which arguments may change from call to call, and which may not."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np

from simpleautodiff.structure import children
from simpleautodiff.traced import Traced


class Call(NamedTuple):
    """The arguments of one call, taken apart."""

    key: Hashable  # equal for calls that one program can answer
    tree: Any  # (args, kwargs)
    leaves: list[Any]
    varies: list[int]  # which leaves are numbers or arrays that may change

    @property
    def inputs(self) -> list[Any]:
        """The numbers and arrays that may change."""
        return [self.leaves[i] for i in self.varies]


def signature(tree: Any) -> Call | None:
    """Describe a call; None if there is something among its arguments that cannot be compared.

    That is so for arrays of objects, and inside another transformation.
    """
    leaves: list[Any] = []
    try:
        key = _key(tree, leaves)
        hash(key)
    except TypeError:
        return None
    varies = [i for i, leaf in enumerate(leaves) if may_vary(leaf)]
    return Call(key, tree, leaves, varies)


def _key(tree: Any, leaves: list[Any]) -> Hashable:
    kind = type(tree)
    if kind is float:
        leaves.append(tree)
        return float
    parts = children(tree)
    if parts is not None:
        return (kind, *[(name, _key(part, leaves)) for name, part in parts])
    leaves.append(tree)
    if may_vary(tree):
        return (kind, tree.dtype, tree.shape) if isinstance(tree, np.ndarray) else (kind,)
    if isinstance(tree, Traced):
        raise TypeError("what stands for a number cannot be compared with others")
    return kind, tree


def may_vary(leaf: Any) -> bool:
    """Tell numbers and arrays that may change from what is part of the program.

    Floats and arrays change from call to call. Whole numbers, strings and the like decide how code
    runs (how often a loop, which axis): a program is made for each of them.
    """
    kind = type(leaf)
    if kind is float or kind is complex:
        return True
    if kind is np.ndarray:
        return leaf.dtype.kind in "fiubc"
    return isinstance(leaf, (np.floating, np.complexfloating))
