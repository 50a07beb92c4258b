"""What is said of a result that is nan: it has no derivative."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


def write_missing(results: Mapping[str, Any]) -> str:
    """Say which of some results have no derivative because they are nan; nothing if none is.

    Examples
    --------
    >>> write_missing({"y": float("nan")})
    'y is nan: it has no derivative here, only the numbers that the rules compute.'
    >>> write_missing({"y": 2.0})
    ''
    """
    arrays = {name: np.asarray(value) for name, value in results.items()}
    missing = {name: array != array for name, array in arrays.items()}  # also of a Decimal
    said = [
        f"{name} is nan{'' if where.all() else ' in places'}"
        for name, where in missing.items()
        if where.any()
    ]
    if not said:
        return ""
    return f"{', '.join(said)}: it has no derivative here, only the numbers that the rules compute."
