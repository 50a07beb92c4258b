"""Arguments that are one number for all elements, which need not be loaded."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from simpleautodiff.compiled.scalar.lower_rows import dtype_letter


class KnownNumber(NamedTuple):
    """An argument that is one number for all elements, and whether its dtype is weak."""

    number: Any
    dtype: str
    weak: bool


def uniform_number(arg: Any) -> KnownNumber | None:
    """Return the number that all elements of an array equal, if they do."""
    dtype = dtype_letter(arg.dtype)
    first = arg.reshape(-1)[0]
    same = arg.size == 1 or (arg.view() == first).all()
    if dtype is None or not same or (first == 0 and dtype in "df" and _mixed_zeros(arg)):
        return None
    return KnownNumber(first, dtype, False)


def _mixed_zeros(array: Any) -> bool:
    signs = np.signbit(array)
    return bool(signs.any() and not signs.all())
