"""Rows of the derivatives of stacked arrays, some of which may be structural zeros."""

from __future__ import annotations

from typing import Any

import numpy as np

from simpleautodiff.core.linear import ZERO, PartialAdjoint, filled
from simpleautodiff.rules.branches import masked
from simpleautodiff.transforms.recorded_call import as_number
from simpleautodiff.values.functions import shape

GROUP = 256  # rows that are stacked together


def take_row(derivative: Any, place: Any) -> Any:
    """Return one row of a derivative."""
    if derivative is ZERO:
        return ZERO
    if isinstance(derivative, PartialAdjoint):
        return masked(derivative.array[place], derivative.mask[place])
    return derivative[place]


def join_rows(rows: list[Any], like: Any) -> Any:
    """Stack rows of the derivative of an array `like`; `ZERO` if all of them are."""
    if all(row is ZERO for row in rows):
        return ZERO
    numbers = stack_rows([as_number(row, like[k]) for k, row in enumerate(rows)])
    if not any(row is ZERO or isinstance(row, PartialAdjoint) for row in rows):
        return numbers
    return masked(numbers, np.stack([_find_mask(row, like[k]) for k, row in enumerate(rows)]))


def _find_mask(row: Any, like: Any) -> Any:
    """Tell which elements of a row are not structural zeros."""
    if isinstance(row, PartialAdjoint):
        return row.mask
    return np.full(shape(filled(like)), row is not ZERO)


def stack_rows(rows: list[Any]) -> Any:
    """Stack rows; many of them in groups, as each piece of a joined array looks at all."""
    if len(rows) <= GROUP:
        return np.stack(rows)
    return np.concatenate([np.stack(rows[k : k + GROUP]) for k in range(0, len(rows), GROUP)])
