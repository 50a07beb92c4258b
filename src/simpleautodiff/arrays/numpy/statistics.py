"""Covariance, correlation, and weighted counts."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from simpleautodiff.arrays.numpy.contractions import outer
from simpleautodiff.arrays.reductions import average
from simpleautodiff.arrays.registry import as_array, implements, is_batch, to_dtype
from simpleautodiff.arrays.shaping import diagonal
from simpleautodiff.core.level import to_plain
from simpleautodiff.errors import ArgumentError, InputError, cite_line
from simpleautodiff.rules.array.dtypes import dtype_of
from simpleautodiff.rules.array.indexing import concatenate, scatter
from simpleautodiff.rules.array.products import matmul
from simpleautodiff.rules.array.shapes import reshape, shape_of, sum_over, transpose
from simpleautodiff.rules.scalar.complex_parts import conj, real


@implements(np.cov)
def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    dtype: Any = None,
) -> Any:
    """Return the covariances of rows, or of columns."""
    x = _as_rows(m, rowvar)
    x = (
        to_dtype(x, np.result_type(dtype_of(x), np.float64))
        if dtype is None
        else to_dtype(x, dtype)
    )
    if y is not None:
        x = concatenate([x, _as_rows(y, rowvar)])
    weights, free = _find_weights(x, fweights, aweights, 1 - bias if ddof is None else ddof)
    deviation = x - average(x, 1, weights, keepdims=True)
    weighted = deviation if weights is None else deviation * weights
    result = matmul(weighted, conj(transpose(deviation, None))) / free
    return reshape(result, ()) if shape_of(result) == (1, 1) else result


def _as_rows(m: Any, rowvar: bool) -> Any:
    m = as_array(m)
    if len(shape_of(m)) > 2:
        raise ArgumentError(f"np.cov takes at most two axes, not {shape_of(m)}")
    if len(shape_of(m)) < 2:
        return reshape(m, (1, -1))
    return m if rowvar else transpose(m, None)


def _find_weights(x: Any, fweights: Any, aweights: Any, ddof: int) -> tuple[Any, Any]:
    """Return the weight of each observation, and the divisor of the sum of squares."""
    if fweights is None and aweights is None:
        return None, shape_of(x)[1] - ddof
    times = 1.0 if fweights is None else as_array(fweights)
    weights = times if aweights is None else times * as_array(aweights)
    if not is_batch(weights) and np.any(to_plain(weights) < 0):
        raise InputError(f"np.cov: weights cannot be negative{cite_line()}")
    total = sum_over(weights, 0, False)
    if ddof and aweights is not None:
        return weights, total - ddof * sum_over(weights * as_array(aweights), 0, False) / total
    return weights, total - ddof


@implements(np.corrcoef)
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, dtype: Any = None) -> Any:
    """Return the correlations of rows, or of columns."""
    c = cov(x, y, rowvar, dtype=dtype)
    if not shape_of(c):
        return c / c
    scale = np.sqrt(real(diagonal(c)))
    return c / outer(scale, scale)


@implements(np.bincount)
def bincount(x: Any, weights: Any = None, minlength: int = 0) -> Any:
    """Sum weights by the integers in x."""
    bins = np.asarray(to_plain(x))
    if weights is None:
        return np.bincount(bins, minlength=minlength)
    if bins.ndim != 1 or shape_of(weights) != bins.shape or bins.min(initial=0) < 0:
        raise InputError(
            "np.bincount needs a vector of integers from 0 on, and as many weights, not "
            f"arrays of shape {bins.shape} and {shape_of(weights)} with the least number "
            f"{bins.min(initial=0)}{cite_line()}"
        )
    if operator.index(minlength) < 0:
        raise InputError(f"np.bincount: minlength is {minlength}, less than 0{cite_line()}")
    size = max(int(bins.max(initial=-1)) + 1, minlength)
    return scatter(weights, (bins,), (size,))
