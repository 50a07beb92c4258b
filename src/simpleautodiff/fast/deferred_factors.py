"""Save passes over large arrays: deferred factors of adjoints, and slopes computed in blocks."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from simpleautodiff.core.linear import Linear, PartialAdjoint, pull
from simpleautodiff.core.node import Node
from simpleautodiff.core.primitive import TABLE
from simpleautodiff.fast.cache_blocks import blocks
from simpleautodiff.fast.memory_pool import POOL, compute_pooled
from simpleautodiff.fast.thresholds import THRESHOLDS

ROOM = {4: 2.0**16, 8: 2.0**32, 16: 2.0**32}  # factors between 1/this and this can be deferred


class Scaled:
    """An adjoint as a large array and a factor by which it is still to be multiplied.

    Most factors are combined with another before the array is needed, which saves a pass over it.
    """

    __slots__ = ("array", "factor")
    __array_ufunc__ = None  # makes NumPy call `__radd__` below

    def __init__(self, array: Any, factor: float) -> None:
        self.array = array
        self.factor = factor

    def __add__(self, other: Any) -> Any:
        return self.array * self.factor + other

    __radd__ = __add__


def multiply_by_blocks(
    node: Node, k: int, adjoint: Any, values: tuple[Any, ...], product: Any
) -> Any | None:
    """Multiply an adjoint by a slope, computing both in blocks that fit into the caches.

    The result is written to `product` if that is given. None is returned if the slope is no array,
    is an existing array, or is not elementwise.
    """
    primitive = node.primitive
    assert primitive is not None
    given = (node.value, *values)
    if TABLE.get(primitive.name) is not primitive or primitive.arrays or primitive.settings:
        return None
    if not adjoint.ndim or not all(
        [same_layout(x, adjoint) or type(x) is float or type(x) is int for x in given]
    ):
        return None
    part, masks = None, []  # a partial product, and the mask of each block
    for block in blocks(adjoint, THRESHOLDS.block):
        v, *xs = [x[block] if type(x) is np.ndarray else x for x in given]
        slope = primitive.partial(k, v, tuple(xs))
        part = pull(slope, adjoint[block]) if isinstance(slope, Linear) else None
        if isinstance(part, PartialAdjoint):
            masks.append((block, part.mask))
        elif type(slope) is not np.ndarray or slope is v or any([slope is x for x in xs]):
            return None
        if product is None:
            product = POOL.empty_like(adjoint)
        if part is None:
            np.multiply(adjoint[block], slope, out=product[block])
        else:
            product[block] = part.array
    if part is None:
        return product
    whole = np.empty(product.shape, np.bool_)
    for block, mask in masks:
        whole[block] = mask
    return part.like(product, whole)


def scale(array: Any, factor: float, spare: bool = False) -> Any:
    """Multiply by a deferred factor; in place if the array is not needed again."""
    if factor == 1:
        return array
    return (
        np.multiply(array, factor, out=array)
        if spare
        else compute_pooled(operator.mul, array, factor)
    )


def can_defer(factor: float, array: Any) -> bool:
    """Tell whether a multiplication can be deferred without overflow or underflow.

    The array may later be multiplied by the ratio of two factors, for which float16 has no room.
    """
    most = ROOM.get(array.dtype.itemsize, 1.0) if array.dtype.kind == "f" else 1.0
    return 1 / most < abs(factor) < most


def same_layout(a: Any, b: Any) -> bool:
    """Tell whether two arrays have the same shape and dtype."""
    if type(a) is not np.ndarray or type(b) is not np.ndarray:
        return False
    return a.shape == b.shape and a.dtype is b.dtype
