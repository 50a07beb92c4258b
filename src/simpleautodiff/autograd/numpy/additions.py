"""HIPS autograd's additions to NumPy: `make_diagonal`, and `where` of plain values."""

from __future__ import annotations

from typing import Any

import numpy as np

from simpleautodiff.arrays.scipy.sparse_nodes import has_node
from simpleautodiff.errors import RuleError
from simpleautodiff.values.pytree import flatten


def make_diagonal(D: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """Return arrays whose diagonals, along two new axes, are the last axis of D.

    Examples
    --------
    >>> make_diagonal(np.array([1.0, 2.0]), axis1=-1, axis2=-2)
    array([[1., 0.],
           [0., 2.]])
    """
    if offset:
        raise RuleError(f"make_diagonal makes main diagonals; got offset={offset!r}")
    D = np.expand_dims(D, -1)
    matrices = np.where(np.eye(D.shape[-2], dtype=bool), D, np.zeros((), D.dtype))
    return np.moveaxis(matrices, (-1, -2), (axis1, axis2))


def where(*args: Any, **kwargs: Any) -> Any:
    """Return `np.where`; for Python's own numbers and lists, as numbers and lists.

    Examples
    --------
    >>> where(True, 1, 2), where([True, False], [1, 2], [3, 4])
    (1, [1, 4])
    """
    given = (*args, *[kwargs[name] for name in ("condition", "x", "y") if name in kwargs])
    result = np.where(*given)
    leaves = flatten(given)[0]
    if has_node(leaves) or any(isinstance(leaf, (np.ndarray, np.generic)) for leaf in leaves):
        return result
    return result.tolist() if isinstance(result, np.ndarray) else result
