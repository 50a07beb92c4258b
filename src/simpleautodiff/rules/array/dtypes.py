"""Rows: the conversion to another dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from simpleautodiff.core.level import to_plain
from simpleautodiff.core.linear import ZERO, Linear
from simpleautodiff.core.primitive import TABLE
from simpleautodiff.rules.multiples import carry_root
from simpleautodiff.rules.row import Wrapping, row
from simpleautodiff.values.functions import is_complex
from simpleautodiff.values.other_arrays import Foreign


def dtype_of(x: Any) -> Any:
    """Return the dtype of a number, an array, or a node of either."""
    x = to_plain(x)
    return x.dtype if type(x) is np.ndarray and x.dtype.isnative else np.result_type(x)


def real_dtype(x: Any) -> Any:
    """Return the dtype of the real part: float32 for complex64."""
    return dtype_of(x).type(0).real.dtype


def _astype(x: Any, dtype: Any) -> Any:
    return x.astype(dtype) if type(x) is Foreign else np.asarray(x).astype(dtype)[()]


def _astype_back(bar: Any, x: Any) -> Any:
    return bar if is_complex(to_plain(bar)) != is_complex(to_plain(x)) else astype(bar, dtype_of(x))


astype: Wrapping = row(
    "astype",
    lambda _v, _x, dtype: Linear(
        lambda dot: astype(dot, dtype), lambda bar: _astype_back(bar, _x), True
    ),
    ZERO,
    value=_astype,
    numpy=(),
    settings=(1,),
    text="astype({0}, {1})",
    latex=r"{0}",
    arrays=True,
    reason="the same numbers in another dtype",
    batch=lambda size, which, x, dtype: astype(x, dtype),
    squared=(),
    restate=lambda *args: carry_root(TABLE["astype"], *args),
)
