"""A row: the singular vectors that complete those of a matrix that is not square to a basis.

A single one, of a real matrix of full rank, is orthogonal to all others, and so moves as they make
it. Several are any basis of what is left: they have values, but no derivative. Most code that
writes `u, s, vh = np.linalg.svd(a)` does not use them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from simpleautodiff.core.linear import ZERO, Linear
from simpleautodiff.errors import RuleError, cite_line
from simpleautodiff.rules.array.decompositions import pinv
from simpleautodiff.rules.array.indexing import concatenate
from simpleautodiff.rules.array.products import matmul, swap
from simpleautodiff.rules.array.repeated_values import are_close
from simpleautodiff.rules.array.shapes import shape_of
from simpleautodiff.rules.branches import where
from simpleautodiff.rules.row import Wrapping, row
from simpleautodiff.values.functions import is_complex


def _complete(a: Any, right: bool) -> Any:
    """Return the columns of U, or of V, beyond the singular values."""
    u, s, vh = np.linalg.svd(a)
    vectors = np.conj(np.swapaxes(vh, -1, -2)) if right else u
    return vectors[..., s.shape[-1] :]


def _is_single(v: Any) -> bool:
    return bool(shape_of(v)[-1] == 1 and not is_complex(v))


def _invert(a: Any) -> Any:
    """Return the pseudoinverse; nan where the rank is less than full, and more than a line left."""
    s = np.linalg.svd(a, compute_uv=False)
    count = max(shape_of(a)[-2:])
    low = are_close(s[..., -1:], s[..., :1], count)
    return where(low[..., None], np.nan, pinv(a, None))


def _push(dot: Any, v: Any, a: Any, right: bool) -> Any:
    if not _is_single(v):
        return v * np.nan
    p = _invert(a)
    turn = matmul(p, matmul(dot, v)) if right else matmul(swap(p), matmul(swap(dot), v))
    return -turn


def _pull(bar: Any, v: Any, a: Any, right: bool) -> Any:
    if not _is_single(v):
        if isinstance(bar, np.ndarray) and not bar.any():  # not used
            return ZERO
        raise RuleError(
            "np.linalg.svd of a node: the vectors that full_matrices=True adds are any basis of "
            f"what is left, so they have no derivative. Pass full_matrices=False{cite_line()}"
        )
    p = _invert(a)
    if right:
        return -matmul(matmul(swap(p), bar), swap(v))
    return -matmul(v, swap(matmul(p, bar)))


completion: Wrapping = row(
    "completion",
    lambda v, a, right: Linear(
        lambda dot: _push(dot, v, a, right), lambda bar: _pull(bar, v, a, right)
    ),
    ZERO,
    value=_complete,
    numpy=(),
    settings=(1,),
    text="completion({0})",
    latex=r"\operatorname{{completion}} {0}",
    arrays=True,
    holomorphic=False,
    reason="a vector that is orthogonal to the rows of a matrix turns as these do",
    batch=lambda size, which, a, right: completion(a, right),
)


def complete_vectors(vectors: Any, a: Any, right: bool) -> Any:
    """Return U or V, with as many columns as rows."""
    return concatenate([vectors, completion(a, right)], -1)
