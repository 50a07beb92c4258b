"""np.r_ and np.c_ on nodes: NumPy implements them without its protocols."""

from __future__ import annotations

from typing import Any

import numpy as np

from simpleautodiff.arrays.registry import as_array
from simpleautodiff.errors import RuleError, cite_line
from simpleautodiff.rules.array.dtypes import dtype_of
from simpleautodiff.rules.array.shapes import reshape, shape_of

_WEAK = (bool, int, float, complex)  # they take the dtype of the arrays beside them


def _read_parts(key: Any) -> list[Any]:
    """Return the arrays to join; a slice becomes a range of numbers."""
    parts = key if isinstance(key, tuple) else (key,)
    if any(isinstance(part, str) for part in parts):
        raise RuleError(
            "np.r_ and np.c_ of nodes take no directions in a string; write np.concatenate or "
            f"np.stack{cite_line()}"
        )
    made = [np.r_[part] if isinstance(part, slice) else part for part in parts]
    own = [part if type(part) in _WEAK else dtype_of(part) for part in map(as_array, made)]
    dtype = np.result_type(*own)
    return [
        np.full(1, part, dtype) if type(part) in _WEAK else np.atleast_1d(part) for part in made
    ]


def join_rows(_joiner: Any, key: Any) -> Any:
    """Join along the first axis: np.r_."""
    return np.concatenate(_read_parts(key))


def join_columns(_joiner: Any, key: Any) -> Any:
    """Join vectors as columns, and matrices, along the last axis: np.c_."""
    wide = [reshape(x, (-1, 1)) if len(shape_of(x)) == 1 else x for x in _read_parts(key)]
    return np.concatenate(wide, axis=-1)
