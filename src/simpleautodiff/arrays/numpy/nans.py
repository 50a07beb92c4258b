"""What passes over nan: sums, means, extremes, running sums."""

from __future__ import annotations

from typing import Any

import numpy as np

from simpleautodiff.arrays.numpy.reductions import (
    cumprod,
    cumsum_,
    max_,
    mean_,
    min_,
    prod,
    root,
    sum_,
    var,
)
from simpleautodiff.arrays.registry import Function, answers
from simpleautodiff.core.level import plain
from simpleautodiff.errors import RuleError, cite_line
from simpleautodiff.rules.array.dtypes import dtype_of
from simpleautodiff.rules.branches import where as where_row
from simpleautodiff.rules.scalar.complex_parts import imag, real
from simpleautodiff.values.functions import is_complex


@answers(np.nan_to_num)
def nan_to_num(
    x: Any, nan: Any = 0.0, posinf: Any = None, neginf: Any = None, copy: bool = True
) -> Any:
    """Replace nan and inf by numbers, which do not depend on them."""
    if not copy:
        raise RuleError(
            "np.nan_to_num(x, copy=False) of a node is not recorded; write x[...] = "
            f"np.nan_to_num(x){cite_line()}"
        )
    if is_complex(plain(x)):
        parts = [nan_to_num(part, nan, posinf, neginf) for part in (real(x), imag(x))]
        return parts[0] + 1j * parts[1]
    number, limits = plain(x), np.finfo(dtype_of(x))
    high = limits.max if posinf is None else posinf
    low = limits.min if neginf is None else neginf
    bounded = where_row(number > 0, high, where_row(number < 0, low, nan))
    return where_row(np.isfinite(number), x, bounded)


def _there(a: Any, where: Any = True) -> Any:
    """Return where there is a number, among those that are to be looked at."""
    return ~np.isnan(plain(a)) & where


def _passing(name: str, program: Any, fill: float | None) -> Any:
    """Make a reduction pass over nan: by looking at the other elements only."""

    def passing(a: Any, axis: Any = None, **kwargs: Any) -> Any:
        there = _there(a, kwargs.pop("where", True))
        if fill is not None:
            return program(where_row(there, a, fill), axis, **kwargs)
        return program(where_row(there, a, 0.0), axis, where=there, **kwargs)

    passing.__name__ = name
    passing.__doc__ = f"Answer np.{name}."
    return passing


nansum = answers(np.nansum)(_passing("nansum", sum_, 0.0))
nanprod = answers(np.nanprod)(_passing("nanprod", prod, 1.0))
nancumsum = answers(np.nancumsum)(_passing("nancumsum", cumsum_, 0.0))
nancumprod = answers(np.nancumprod)(_passing("nancumprod", cumprod, 1.0))
nanmean = answers(np.nanmean)(_passing("nanmean", mean_, None))
nanvar = answers(np.nanvar)(_passing("nanvar", var, None))


def _extreme(name: str, extreme: Function, nothing: float) -> Function:
    """Return the extreme of what is not nan; nan where there is nothing else."""
    of_rest = _passing(name, extreme, nothing)

    def found(a: Any, axis: Any = None, keepdims: Any = False, **kwargs: Any) -> Any:
        empty = np.all(np.isnan(plain(a)), axis=axis, keepdims=keepdims)
        return where_row(empty, np.nan, of_rest(a, axis, keepdims=keepdims, **kwargs))

    found.__name__, found.__doc__ = name, f"Answer np.{name}."
    return found


nanmax = answers(np.nanmax)(_extreme("nanmax", max_, -np.inf))
nanmin = answers(np.nanmin)(_extreme("nanmin", min_, np.inf))


@answers(np.nanstd)
def nanstd(a: Any, axis: Any = None, **kwargs: Any) -> Any:
    """Return the root of the variance of what is not nan."""
    return root(nanvar(a, axis, **kwargs))
