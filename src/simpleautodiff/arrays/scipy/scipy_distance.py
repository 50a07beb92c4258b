"""The functions of scipy.spatial.distance on nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from simpleautodiff.arrays.lost_derivatives import SCIPY
from simpleautodiff.arrays.registry import Function, answers_scipy, to_dtype
from simpleautodiff.core.level import Traced
from simpleautodiff.errors import RuleError, cite_line
from simpleautodiff.rules.array.dtypes import dtype_of
from simpleautodiff.rules.array.indexing import concatenate, getitem
from simpleautodiff.rules.array.shapes import reshape, shape_of, sum_over
from simpleautodiff.values.functions import optional


def _floats(x: Any) -> Any:
    """Return numbers of 64 bits, which is how SciPy computes distances."""
    return to_dtype(x, float) if isinstance(x, Traced) else np.asarray(x, float)


def _weighted(x: Any, w: Any) -> Any:
    return x if w is None else x * _floats(w)


def _minkowski(u: Any, v: Any, p: Any = 2, w: Any = None) -> Any:
    """Return the p-norm of the difference; at 0 its slope is that of np.linalg.norm."""
    scale = 1.0 if w is None else _floats(w) ** (1 / p)
    return np.linalg.norm((u - v) * scale, ord=p, axis=-1)


def _sqeuclidean(u: Any, v: Any, w: Any = None) -> Any:
    return sum_over(_weighted((u - v) ** 2, w), -1, False)


def _cityblock(u: Any, v: Any, w: Any = None) -> Any:
    return sum_over(_weighted(abs(u - v), w), -1, False)


def _chebyshev(u: Any, v: Any, w: Any = None) -> Any:
    there = True if w is None else np.asarray(w) > 0
    return np.max(np.where(there, abs(u - v), 0.0), axis=-1)


def _cosine(u: Any, v: Any, w: Any = None) -> Any:
    inner = [sum_over(_weighted(a * b, w), -1, False) for a, b in ((u, v), (u, u), (v, v))]
    return 1 - inner[0] / np.sqrt(inner[1] * inner[2])


def _correlation(u: Any, v: Any, w: Any = None) -> Any:
    centred = [x - np.average(x, axis=-1, weights=w)[..., None] for x in (u, v)]
    return _cosine(centred[0], centred[1], w)


def _mahalanobis(u: Any, v: Any, VI: Any) -> Any:
    along = u - v
    return np.sqrt(sum_over((along @ _floats(VI)) * along, -1, False))


METRICS: dict[str, Function] = {
    "chebyshev": _chebyshev,
    "cityblock": _cityblock,
    "correlation": _correlation,
    "cosine": _cosine,
    "euclidean": lambda u, v, w=None: _minkowski(u, v, 2, w),
    "mahalanobis": _mahalanobis,
    "minkowski": _minkowski,
    "sqeuclidean": _sqeuclidean,
}


def _single(metric: Function) -> Function:
    return lambda u, v, *args, **kwargs: metric(_floats(u), _floats(v), *args, **kwargs)


SCIPY.update({f"spatial.distance.{name}": _single(metric) for name, metric in METRICS.items()})


def _metric(metric: Any, given: dict[str, Any]) -> Function:
    """Return the function of the differences that a name says; a function is its own."""
    if callable(metric):
        metric = getattr(metric, "__name__", "")
    names = {"cheby": "chebyshev", "manhattan": "cityblock", "l1": "cityblock", "l2": "euclidean"}
    name = names.get(str(metric).lower(), str(metric).lower())
    if name not in METRICS or (name == "mahalanobis" and given.get("VI") is None):
        raise RuleError(
            f"distances of nodes with the metric {metric!r} have no derivative rule; those with "
            f"{', '.join(METRICS)} (this one with VI=) have one{cite_line()}"
        )
    return lambda u, v: METRICS[name](u, v, **given)


@answers_scipy("spatial.distance.cdist")
def cdist(XA: Any, XB: Any, metric: Any = "euclidean", **given: Any) -> Any:
    """Return the distance of every row of one matrix from every row of another."""
    a, b = _floats(XA), _floats(XB)
    return _metric(metric, given)(getitem(a, (slice(None), None)), getitem(b, (None,)))


@answers_scipy("spatial.distance.pdist")
def pdist(X: Any, metric: Any = "euclidean", **given: Any) -> Any:
    """Return the distances of every two rows of a matrix."""
    x = _floats(X)
    first, second = np.triu_indices(shape_of(x)[0], 1)
    return _metric(metric, given)(getitem(x, first), getitem(x, second))


@answers_scipy("spatial.distance.squareform")
def squareform(X: Any, force: str = "no", checks: bool = True) -> Any:
    """Return the matrix of distances from those of every two rows, or the other way round."""
    places = np.arange(1, 1 + int(np.prod(shape_of(X)))).reshape(shape_of(X))
    function = optional("scipy.spatial.distance", "squareform of an array").squareform
    flat = concatenate([np.zeros(1, dtype_of(X)), reshape(X, (-1,))])
    return getitem(flat, function(places, force, checks=False))
