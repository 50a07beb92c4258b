"""The functions of scipy.spatial.distance on nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from simpleautodiff.arrays.lost_derivatives import SCIPY
from simpleautodiff.arrays.numpy.numpy_linalg import norm
from simpleautodiff.arrays.registry import Function, implements_scipy, to_dtype
from simpleautodiff.core.level import Traced, to_plain
from simpleautodiff.errors import RuleError, cite_line
from simpleautodiff.rules.array.dtypes import dtype_of
from simpleautodiff.rules.array.indexing import concatenate, getitem
from simpleautodiff.rules.array.shapes import reshape, shape_of, sum_over
from simpleautodiff.rules.branches import where as where_row
from simpleautodiff.rules.scalar.information import rel_entr
from simpleautodiff.rules.sums_of_squares import as_sum_of_squares
from simpleautodiff.values.functions import optional


def _floats(x: Any) -> Any:
    """Convert to float64, in which SciPy computes distances."""
    return to_dtype(x, float) if isinstance(x, Traced) else np.asarray(x, float)


def _apply_weights(x: Any, w: Any) -> Any:
    return x if w is None else x * _floats(w)


def _minkowski(u: Any, v: Any, p: Any = 2, w: Any = None) -> Any:
    """Return the p-norm of the difference; at 0 its derivative is that of np.linalg.norm."""
    scale = 1.0 if w is None else _floats(w) ** (1 / p)
    return norm((u - v) * scale, ord=p, axis=-1)


def _sqeuclidean(u: Any, v: Any, w: Any = None) -> Any:
    return sum_over(_apply_weights((u - v) ** 2, w), -1, False)


def _cityblock(u: Any, v: Any, w: Any = None) -> Any:
    return sum_over(_apply_weights(abs(u - v), w), -1, False)


def _chebyshev(u: Any, v: Any, w: Any = None) -> Any:
    there = True if w is None else np.asarray(w) > 0
    return np.max(np.where(there, abs(u - v), 0.0), axis=-1)


def _cosine(u: Any, v: Any, w: Any = None) -> Any:
    inner = [sum_over(_apply_weights(a * b, w), -1, False) for a, b in ((u, v), (u, u), (v, v))]
    return 1 - inner[0] / np.sqrt(inner[1] * inner[2])


def _correlation(u: Any, v: Any, w: Any = None) -> Any:
    centred = [x - np.average(x, axis=-1, weights=w)[..., None] for x in (u, v)]
    return _cosine(centred[0], centred[1], w)


def _mahalanobis(u: Any, v: Any, VI: Any) -> Any:
    along = u - v
    return np.sqrt(as_sum_of_squares(sum_over((along @ _floats(VI)) * along, -1, False)))


@implements_scipy("spatial.distance.jensenshannon")
def jensenshannon(
    p: Any, q: Any, base: Any = None, *, axis: int = 0, keepdims: bool = False
) -> Any:
    """Return the distance of two distributions; that of equal ones has the slope 0."""
    p, q = (x / sum_over(x, axis, True) for x in (_floats(p), _floats(q)))
    middle = (p + q) / 2
    divergence = sum_over(rel_entr(p, middle) + rel_entr(q, middle), axis, keepdims) / 2
    divergence = divergence if base is None else divergence / np.log(base)
    none = to_plain(divergence) == 0
    return where_row(none, 0.0, np.sqrt(where_row(none, 1.0, divergence)))


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


def _make_distance(metric: Function) -> Function:
    return lambda u, v, *args, **kwargs: metric(_floats(u), _floats(v), *args, **kwargs)


SCIPY.update(
    {f"spatial.distance.{name}": _make_distance(metric) for name, metric in METRICS.items()}
)


def _find_metric(metric: Any, given: dict[str, Any]) -> Function:
    """Return the distance function for the name of a metric; a function is its own metric."""
    if callable(metric):
        metric = getattr(metric, "__name__", "")
    names = {"cheby": "chebyshev", "manhattan": "cityblock", "l1": "cityblock", "l2": "euclidean"}
    name = names.get(str(metric).lower(), str(metric).lower())
    if name not in METRICS or (name == "mahalanobis" and given.get("VI") is None):
        known = ", ".join(METRICS).replace("mahalanobis", "mahalanobis (with VI=)")
        raise RuleError(
            f"distances of nodes with the metric {metric!r} have no derivative rule; those with "
            f"{known} have one{cite_line()}"
        )
    return lambda u, v: METRICS[name](u, v, **given)


@implements_scipy("spatial.distance.cdist")
def cdist(XA: Any, XB: Any, metric: Any = "euclidean", **given: Any) -> Any:
    """Return the distance of every row of one matrix to every row of another."""
    a, b = _floats(XA), _floats(XB)
    return _find_metric(metric, given)(getitem(a, (slice(None), None)), getitem(b, (None,)))


@implements_scipy("spatial.distance.pdist")
def pdist(X: Any, metric: Any = "euclidean", **given: Any) -> Any:
    """Return the distances between all pairs of rows of a matrix."""
    x = _floats(X)
    first, second = np.triu_indices(shape_of(x)[0], 1)
    return _find_metric(metric, given)(getitem(x, first), getitem(x, second))


@implements_scipy("spatial.distance.squareform")
def squareform(X: Any, force: str = "no", checks: bool = True) -> Any:
    """Convert between the matrix of distances and the vector of its upper triangle."""
    places = np.arange(1, 1 + int(np.prod(shape_of(X)))).reshape(shape_of(X))
    function = optional("scipy.spatial.distance", "squareform of an array").squareform
    flat = concatenate([np.zeros(1, dtype_of(X)), reshape(X, (-1,))])
    return getitem(flat, function(places, force, checks=False))
