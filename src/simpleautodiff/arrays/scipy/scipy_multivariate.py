"""Distributions of several variables, and their correlation, on nodes: `scipy.stats`."""

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np

from simpleautodiff.arrays.given_values import give_values
from simpleautodiff.arrays.lost_derivatives import INSTEAD
from simpleautodiff.arrays.registry import implements_scipy, is_batch
from simpleautodiff.arrays.scipy.scipy_linalg import solve_triangular
from simpleautodiff.core.level import to_concrete, to_plain
from simpleautodiff.errors import InputError, RuleError, cite_line
from simpleautodiff.rules.array.indexing import concatenate
from simpleautodiff.rules.array.linear_systems import cholesky
from simpleautodiff.rules.array.products import swap
from simpleautodiff.rules.array.shapes import reshape, shape_of, sum_over
from simpleautodiff.rules.branches import where as where_row
from simpleautodiff.rules.scalar.incomplete import betainc
from simpleautodiff.rules.scalar.information import xlogy
from simpleautodiff.rules.scalar.special import lgamma
from simpleautodiff.values.functions import optional

# Correlation. -------------------------------------------------------------------------------------


@implements_scipy("stats.pearsonr")
def pearsonr(x: Any, y: Any, *, alternative: str = "two-sided", method: Any = None) -> Any:
    """Return the correlation of two vectors and its p-value, by the beta distribution."""
    if len(shape_of(x)) != 1 or shape_of(x) != shape_of(y) or shape_of(x)[0] < 3:
        raise InputError(
            "scipy.stats.pearsonr of nodes takes two vectors of one length, at least 3; it got "
            f"{shape_of(x)} and {shape_of(y)}{cite_line()}"
        )
    if alternative != "two-sided" or method is not None:
        raise RuleError(
            "scipy.stats.pearsonr of nodes has no rule for alternative and method; leave them out"
            f"{cite_line()}"
        )
    r = np.corrcoef(x, y)[0, 1]
    half = shape_of(x)[0] / 2 - 1
    pvalue = 2 * betainc(half, half, (1 - abs(r)) / 2)
    compute = optional("scipy.stats", "pearsonr").pearsonr
    plainly = compute(_first_example(x), _first_example(y))
    r, pvalue = give_values((r, pvalue), lambda *both: tuple(compute(*both)), (x, y), {})
    others = list(inspect.signature(type(plainly).__init__).parameters)[3:]
    stored = {name: getattr(plainly, f"_{name}") for name in others} | {"x": x, "y": y}
    return type(plainly)(r, pvalue, **{name: stored[name] for name in others})


def _first_example(x: Any) -> Any:
    """Return a plain array; of a batch of arrays, the first."""
    array = np.asarray(to_concrete(x))
    return array[(0,) * (array.ndim - len(shape_of(x)))]


# Multivariate distributions. ----------------------------------------------------------------------


@implements_scipy("stats.multivariate_normal.logpdf")
def normal_logpdf(x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False) -> Any:
    """Return the log density of a multivariate normal, of a vector or of each row of an array."""
    size = max([1, *shape_of(cov)[-1:], *shape_of(mean)[-1:]])
    rows = shape_of(x)[:-1] if size > 1 or len(shape_of(x)) > 1 else shape_of(x)
    many = tuple(count for count in rows if count != 1)  # SciPy drops axes of length 1
    matrix = cov if len(shape_of(cov)) == 2 else np.eye(size) * cov
    deviation = reshape(x - (0.0 if mean is None else mean), (-1, size))
    if allow_singular and (smallest := _find_threshold(matrix)):
        return reshape(_degenerate_logpdf(deviation, matrix, smallest), many)
    factor = cholesky(matrix)
    white = solve_triangular(factor, swap(deviation), lower=True)
    log_det = 2 * sum_over(np.log(np.diagonal(factor)), -1, False)
    log_density = -(sum_over(white * white, 0, False) + log_det + size * math.log(2 * math.pi)) / 2
    return reshape(log_density, many)


def _find_threshold(cov: Any) -> float:
    """Return the variance below which SciPy counts one as 0; 0 if none is that small."""
    variances = np.linalg.eigvalsh(to_plain(cov))
    smallest = 1e6 * np.finfo(float).eps * float(np.max(np.abs(variances)))
    return smallest if np.min(variances) <= smallest else 0.0


def _degenerate_logpdf(deviation: Any, cov: Any, smallest: float) -> Any:
    """Return the log density of a normal on the range of its covariance; -inf outside of it."""
    variances, directions = np.linalg.eigh(cov)
    inside = to_plain(variances) > smallest
    along = deviation @ directions
    off = np.sqrt(np.sum(to_plain(along)[:, ~inside] ** 2, axis=-1)) >= 1e3 * smallest
    white = along[:, inside] / np.sqrt(variances[inside])
    log_det = sum_over(np.log(variances[inside]), -1, False)
    rank = np.count_nonzero(inside)
    log_density = -(sum_over(white * white, -1, False) + log_det + rank * math.log(2 * math.pi)) / 2
    return where_row(off, -math.inf, log_density)


@implements_scipy("stats.multivariate_normal.pdf")
def normal_pdf(x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False) -> Any:
    """Return the density of a multivariate normal, of a vector or of each row of an array."""
    return np.exp(normal_logpdf(x, mean, cov, allow_singular))


@implements_scipy("stats.dirichlet.logpdf")
def dirichlet_logpdf(x: Any, alpha: Any) -> Any:
    """Return the log density of a Dirichlet distribution."""
    shares = np.moveaxis(_complete_shares(x, alpha), 0, -1)
    total = sum_over(alpha, -1, False)
    log_beta = sum_over(lgamma(alpha), -1, False) - lgamma(total)
    return sum_over(xlogy(alpha - 1, shares), -1, False) - log_beta


def _complete_shares(x: Any, alpha: Any) -> Any:
    """Return the components along the first axis, with the last one, which may be omitted."""
    if shape_of(x)[0] == shape_of(alpha)[0] - 1:
        x = concatenate([x, 1.0 - sum_over(x, 0, True)])
    if len(shape_of(alpha)) != 1 or shape_of(x)[:1] != shape_of(alpha):
        raise InputError(
            f"scipy.stats.dirichlet: shares of shape {shape_of(x)} do not fit alpha of shape "
            f"{shape_of(alpha)}{cite_line()}"
        )
    if not is_batch(alpha) and np.any(to_plain(alpha) <= 0):
        raise InputError(f"scipy.stats.dirichlet: alpha must be greater than 0{cite_line()}")
    if not is_batch(x):
        number = to_plain(x)
        if np.any(number < 0) or np.any(np.abs(np.sum(number, axis=0) - 1) > 1e-9):
            raise InputError(
                "scipy.stats.dirichlet: x must be shares, none below 0, that add up to 1; write "
                f"x / np.sum(x, axis=0){cite_line()}"
            )
    return x


for _name, _arguments in {"multivariate_normal": "mean, cov", "dirichlet": "alpha"}.items():
    for _method in (f"{_name}_gen.__call__", f"{_name}_frozen.logpdf", f"{_name}_frozen.pdf"):
        INSTEAD[f"stats.{_method}"] = (
            f"a distribution is made of plain numbers: write {_name}.logpdf(x, {_arguments})"
        )
