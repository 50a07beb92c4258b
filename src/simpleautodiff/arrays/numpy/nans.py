"""Reductions that ignore nan: sums, means, extrema, cumulative sums."""

from __future__ import annotations

from typing import Any

import numpy as np

from simpleautodiff.arrays.reductions import (
    cumprod,
    cumsum_,
    max_,
    mean_,
    min_,
    prod,
    sum_,
    var,
)
from simpleautodiff.arrays.registry import Function, implements
from simpleautodiff.core.level import to_plain
from simpleautodiff.errors import RuleError, cite_line
from simpleautodiff.rules.array.dtypes import dtype_of
from simpleautodiff.rules.branches import where as where_row
from simpleautodiff.rules.scalar.complex_parts import imag, real
from simpleautodiff.values.functions import is_complex


@implements(np.nan_to_num)
def nan_to_num(
    x: Any, nan: Any = 0.0, posinf: Any = None, neginf: Any = None, copy: bool = True
) -> Any:
    """Replace nan and inf by constants."""
    if not copy:
        raise RuleError(
            "np.nan_to_num(x, copy=False) of a node is not recorded; write x[...] = "
            f"np.nan_to_num(x){cite_line()}"
        )
    if is_complex(to_plain(x)):
        parts = [nan_to_num(part, nan, posinf, neginf) for part in (real(x), imag(x))]
        return parts[0] + 1j * parts[1]
    number, limits = to_plain(x), np.finfo(dtype_of(x))
    high = limits.max if posinf is None else posinf
    low = limits.min if neginf is None else neginf
    bounded = where_row(number > 0, high, where_row(number < 0, low, nan))
    return where_row(np.isfinite(number), x, bounded)


def _mask_nan(a: Any, where: Any = True) -> Any:
    """Return a mask of the elements that are not nan, among those that `where` selects."""
    return ~np.isnan(to_plain(a)) & where


def _ignore_nan(name: str, implementation: Any, fill: float | None) -> Any:
    """Make a reduction ignore nan, by passing it a mask or a neutral fill value."""

    def reduce(a: Any, axis: Any = None, **kwargs: Any) -> Any:
        there = _mask_nan(a, kwargs.pop("where", True))
        if fill is not None:
            return implementation(where_row(there, a, fill), axis, **kwargs)
        return implementation(where_row(there, a, 0.0), axis, where=there, **kwargs)

    reduce.__name__ = name
    reduce.__doc__ = f"Answer np.{name}."
    return reduce


nansum = implements(np.nansum)(_ignore_nan("nansum", sum_, 0.0))
nanprod = implements(np.nanprod)(_ignore_nan("nanprod", prod, 1.0))
nancumsum = implements(np.nancumsum)(_ignore_nan("nancumsum", cumsum_, 0.0))
nancumprod = implements(np.nancumprod)(_ignore_nan("nancumprod", cumprod, 1.0))
nanmean = implements(np.nanmean)(_ignore_nan("nanmean", mean_, None))
nanvar = implements(np.nanvar)(_ignore_nan("nanvar", var, None))


def _ignore_nan_in_extremum(name: str, extreme: Function, nothing: float) -> Function:
    """Return the maximum or minimum of the elements that are not nan; nan if there are none."""
    of_rest = _ignore_nan(name, extreme, nothing)

    def reduce(a: Any, axis: Any = None, keepdims: Any = False, **kwargs: Any) -> Any:
        if np.isnan(to_plain(kwargs.get("initial", 0.0))):
            del kwargs["initial"]
        found = of_rest(a, axis, keepdims=keepdims, **kwargs)
        if "initial" in kwargs:  # then there is one
            return found
        return where_row(np.all(np.isnan(to_plain(a)), axis=axis, keepdims=keepdims), np.nan, found)

    reduce.__name__, reduce.__doc__ = name, f"Answer np.{name}."
    return reduce


nanmax = implements(np.nanmax)(_ignore_nan_in_extremum("nanmax", max_, -np.inf))
nanmin = implements(np.nanmin)(_ignore_nan_in_extremum("nanmin", min_, np.inf))


@implements(np.nanstd)
def nanstd(a: Any, axis: Any = None, **kwargs: Any) -> Any:
    """Return the standard deviation of the elements that are not nan."""
    return np.sqrt(nanvar(a, axis, **kwargs))
