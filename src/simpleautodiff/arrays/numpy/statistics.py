"""Covariances and correlations; counts with weights."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from simpleautodiff.arrays.numpy.contractions import outer
from simpleautodiff.arrays.numpy.reductions import average
from simpleautodiff.arrays.numpy.shaping import diagonal
from simpleautodiff.arrays.registry import answers, as_array, is_batch, to_dtype
from simpleautodiff.core.level import plain
from simpleautodiff.errors import ArgumentError, InputError, cite_line
from simpleautodiff.rules.array.dtypes import dtype_of
from simpleautodiff.rules.array.indexing import concatenate, scatter
from simpleautodiff.rules.array.products import matmul
from simpleautodiff.rules.array.shapes import reshape, shape_of, sum_over, transpose
from simpleautodiff.rules.scalar.complex_parts import conj, real


@answers(np.cov)
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
    weights, free = _weights(x, fweights, aweights, 1 - bias if ddof is None else ddof)
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


def _weights(x: Any, fweights: Any, aweights: Any, ddof: int) -> tuple[Any, Any]:
    """Return the weight of each observation, and what the sum of squares is divided by."""
    if fweights is None and aweights is None:
        return None, shape_of(x)[1] - ddof
    times = 1.0 if fweights is None else as_array(fweights)
    weights = times if aweights is None else times * as_array(aweights)
    if not is_batch(weights) and np.any(plain(weights) < 0):
        raise InputError(f"np.cov: weights cannot be negative{cite_line()}")
    total = sum_over(weights, 0, False)
    if ddof and aweights is not None:
        return weights, total - ddof * sum_over(weights * as_array(aweights), 0, False) / total
    return weights, total - ddof


@answers(np.corrcoef)
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, dtype: Any = None) -> Any:
    """Return the correlations of rows, or of columns."""
    c = cov(x, y, rowvar, dtype=dtype)
    if not shape_of(c):
        return c / c
    scale = np.sqrt(real(diagonal(c)))
    return c / outer(scale, scale)


@answers(np.bincount)
def bincount(x: Any, weights: Any = None, minlength: int = 0) -> Any:
    """Add up weights by their whole numbers."""
    places = np.asarray(plain(x))
    if weights is None:
        return np.bincount(places, minlength=minlength)
    if places.ndim != 1 or shape_of(weights) != places.shape or places.min(initial=0) < 0:
        raise InputError(
            "np.bincount needs a vector of whole numbers from 0 on, and as many weights, not "
            f"arrays of shape {places.shape} and {shape_of(weights)} with the least number "
            f"{places.min(initial=0)}{cite_line()}"
        )
    if operator.index(minlength) < 0:
        raise InputError(f"np.bincount: minlength is {minlength}, less than 0{cite_line()}")
    size = max(int(places.max(initial=-1)) + 1, minlength)
    return scatter(weights, (places,), (size,))
