"""Process large arrays in blocks that fit into the caches: several steps in one memory pass."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from simpleautodiff.fast.memory_pool import POOL, call_unbuffered
from simpleautodiff.fast.thresholds import THRESHOLDS


def blocks(array: Any, size: int) -> Iterator[slice]:
    """Divide an array along its first axis, as evenly as possible, into blocks of about `size`.

    Examples
    --------
    >>> import numpy as np
    >>> [block.start for block in blocks(np.zeros((20, 3)), 12)]
    [0, 4, 8, 12, 16]
    """
    length = len(array)
    step = math.ceil(length / math.ceil(array.size / size))
    for start in range(0, length, step):
        yield slice(start, start + step)


def add_scaled(total: Any, array: Any, factor: float, out: Any, spare: bool = False) -> Any:
    """Compute total + factor × array for arrays of one layout; `out` may be one of them.

    `spare` says that the array is not needed again.

    Examples
    --------
    >>> import numpy as np
    >>> add_scaled(np.ones(2), np.arange(2.0), 10.0, None)
    array([ 1., 11.])
    """
    if abs(factor) == 1:
        return call_unbuffered(np.add if factor == 1 else np.subtract, total, array, out=out)
    if out is None:
        out = np.empty(array.shape, array.dtype)
    if array.size <= THRESHOLDS.near:
        place = out
        if out is total:
            place = array if spare and array is not total else POOL.empty_like(array)
        return call_unbuffered(np.add, total, np.multiply(array, factor, out=place), out=out)
    products: Any = None
    for block in blocks(array, 2 * THRESHOLDS.block):
        part = array[block]
        products = np.empty_like(part) if products is None else products[: len(part)]
        call_unbuffered(
            np.add, total[block], np.multiply(part, factor, out=products), out=out[block]
        )
    return out
