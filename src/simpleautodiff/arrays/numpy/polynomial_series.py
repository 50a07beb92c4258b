"""The functions of np.polynomial on nodes: power series and series of orthogonal polynomials.

NumPy's own functions convert their arguments to plain arrays, so they are patched as SciPy's are.
A function that is linear in the coefficients is applied by its matrix, which NumPy's own gives.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from simpleautodiff.arrays.given_values import give_values
from simpleautodiff.arrays.numpy.factorizations import lstsq
from simpleautodiff.arrays.numpy.polynomials import check_degree, follow_roots
from simpleautodiff.arrays.registry import Function, as_array, is_batch
from simpleautodiff.core.level import Traced, take_current, to_plain
from simpleautodiff.errors import RuleError, cite_line
from simpleautodiff.rules.array.dtypes import dtype_of, real_dtype
from simpleautodiff.rules.array.indexing import concatenate, getitem, set_item
from simpleautodiff.rules.array.products import matmul
from simpleautodiff.rules.array.shapes import reshape, shape_of, sum_over


class Family(NamedTuple):
    """A family of polynomials: the one of degree 1, and the recurrence of the others."""

    module: str
    prefix: str
    first: Callable[[Any], Any]
    following: Callable[[int, Any, Any, Any], Any]  # from k, x, and degrees k and k - 1


FAMILIES = (
    Family("polynomial", "poly", lambda x: x, lambda k, x, p, _: x * p),
    Family("chebyshev", "cheb", lambda x: x, lambda k, x, p, q: 2 * x * p - q),
    Family(
        "legendre", "leg", lambda x: x, lambda k, x, p, q: ((2 * k + 1) * x * p - k * q) / (k + 1)
    ),
    Family("hermite", "herm", lambda x: 2 * x, lambda k, x, p, q: 2 * x * p - 2 * k * q),
    Family("hermite_e", "herme", lambda x: x, lambda k, x, p, q: x * p - k * q),
    Family(
        "laguerre",
        "lag",
        lambda x: 1 - x,
        lambda k, x, p, q: ((2 * k + 1 - x) * p - k * q) / (k + 1),
    ),
)


def _to_floats(x: Any) -> Any:
    x = as_array(take_current(x))
    return x if isinstance(x, Traced) else np.asarray(x) * 1.0


def _coefficients(c: Any) -> Any:
    c = _to_floats(c)
    return c if shape_of(c) else reshape(c, (1,))


def _evaluate_basis(family: Family, x: Any, n: int) -> list[Any]:
    """Return the first n polynomials of a family at x."""
    found = [0 * x + 1, family.first(x)]
    while len(found) < n:
        found.append(family.following(len(found) - 1, x, found[-1], found[-2]))
    return found[:n]


def _val(family: Family) -> Function:
    def val(x: Any, c: Any, tensor: bool = True) -> Any:
        x, c = _to_floats(x), _coefficients(c)
        rank = len(shape_of(x)) if tensor else 0
        c = reshape(c, (*shape_of(c), *[1] * rank)) if rank and len(shape_of(c)) > 1 else c
        terms = [c[k] * p for k, p in enumerate(_evaluate_basis(family, x, shape_of(c)[0]))]
        return sum(terms[1:], terms[0])

    return val


def _vander(family: Family) -> Function:
    def vander(x: Any, deg: int) -> Any:
        return np.stack(_evaluate_basis(family, _to_floats(x), deg + 1), axis=-1)

    return vander


def _val2d(family: Family) -> Function:
    def val2d(x: Any, y: Any, c: Any) -> Any:
        c = _to_floats(c)
        rows, columns = (
            np.stack(_evaluate_basis(family, _to_floats(points), n))
            for points, n in zip((x, y), shape_of(c), strict=True)
        )
        return np.einsum("i...,j...,ij->...", rows, columns, c)

    return val2d


def _apply_matrix(matrix: Any, c: Any, axis: int) -> Any:
    """Apply a matrix along an axis of coefficients."""
    moved = np.moveaxis(c, axis, 0)
    rest = shape_of(moved)[1:]
    product = matmul(matrix.astype(real_dtype(c)), reshape(moved, (shape_of(moved)[0], -1)))
    return np.moveaxis(reshape(product, (len(matrix), *rest)), 0, axis)


def _der(original: Function) -> Function:
    def der(c: Any, m: int = 1, scl: float = 1, axis: int = 0) -> Any:
        c = _coefficients(c)
        return _apply_matrix(original(np.eye(shape_of(c)[axis]), m, scl), c, axis)

    return der


def _int(original: Function) -> Function:
    def integral(
        c: Any, m: int = 1, k: Any = (), lbnd: float = 0, scl: float = 1, axis: int = 0
    ) -> Any:
        c = _coefficients(c)
        n = shape_of(c)[axis]
        from_c = _apply_matrix(original(np.eye(n), m, [], lbnd, scl), c, axis)
        constants = original(np.zeros(n), m, k, lbnd, scl).astype(dtype_of(c))
        shape = [1] * len(shape_of(c))
        shape[axis] = -1
        return from_c + constants.reshape(shape)

    return integral


def _trim(c: Any) -> Any:
    """Drop trailing zeros, as NumPy does."""
    if is_batch(c):
        return c
    there = np.flatnonzero(to_plain(c))
    return getitem(c, slice(0, int(there[-1]) + 1 if len(there) else 1))


def _lengthen(c: Any, n: int) -> Any:
    return concatenate([c, np.zeros(n - len(c), dtype_of(c))]) if len(c) < n else c


def _add(sign: int) -> Function:
    def add(c1: Any, c2: Any) -> Any:
        c1, c2 = _coefficients(c1), _coefficients(c2)
        n = max(len(c1), len(c2))
        return _trim(_lengthen(c1, n) + sign * _lengthen(c2, n))

    return add


def _mul(original: Function) -> Function:
    def mul(c1: Any, c2: Any) -> Any:
        c1, c2 = _coefficients(c1), _coefficients(c2)
        n, m = len(c1), len(c2)
        table = np.zeros((n * m, n + m - 1), real_dtype(c1))
        for i in range(n):
            for j in range(m):
                product = original(np.eye(n)[i, : i + 1], np.eye(m)[j, : j + 1])
                table[i * m + j, : len(product)] = product
        pairs = reshape(c1, (-1, 1)) * reshape(c2, (1, -1))
        return _trim(matmul(reshape(pairs, (-1,)), table))

    return mul


def _fit(family: Family) -> Function:
    def fit(x: Any, y: Any, deg: Any, rcond: Any = None, full: bool = False, w: Any = None) -> Any:
        if not isinstance(deg, int):
            raise RuleError(f"a fit to nodes takes all degrees up to one number{cite_line()}")
        x, y = _to_floats(x), _to_floats(y)
        matrix = _vander(family)(x, deg)
        if w is not None:
            w = _to_floats(w)
            matrix = matrix * reshape(w, (-1, 1))
            y = y * reshape(w, (-1, *[1] * (len(shape_of(y)) - 1)))
        scale = np.sqrt(sum_over(matrix * matrix, 0, False))
        cut = len(to_plain(x)) * np.finfo(dtype_of(x)).eps if rcond is None else rcond
        solution, *rest = lstsq(matrix / scale, y, cut)
        result = solution / reshape(scale, (-1, *[1] * (len(shape_of(y)) - 1)))
        return (result, [*rest, cut]) if full else result

    return fit


def _roots(original: Function) -> Function:
    def roots(c: Any) -> Any:
        whole = _coefficients(c)
        check_degree(whole, -1)
        c = _trim(whole)
        n = shape_of(c)[0] - 1
        found = -getitem(c, slice(0, n)) / getitem(c, n)
        if n > 1:
            below = np.eye(n, k=-1, dtype=dtype_of(c))
            found = np.linalg.eigvals(set_item(below, found, (slice(None), -1)))
            found = give_values(found[np.argsort(found)], original, (c,), {})
        return found if n == shape_of(whole)[0] - 1 else follow_roots(whole[::-1], found)

    return roots


def implementations(family: Family, module: Any) -> dict[str, Function]:
    """Return the implementations for a module of np.polynomial, by function name."""
    der, integral, mul = (getattr(module, family.prefix + name) for name in ("der", "int", "mul"))
    found = {
        "val": _val(family),
        "val2d": _val2d(family),
        "vander": _vander(family),
        "der": _der(der),
        "int": _int(integral),
        "add": _add(1),
        "sub": _add(-1),
        "mul": _mul(mul),
        "fit": _fit(family),
    }
    if family.module == "polynomial":
        found["roots"] = _roots(module.polyroots)
        found["fromroots"] = lambda roots: np.flip(np.poly(roots))
    return {family.prefix + name: implementation for name, implementation in found.items()}


def as_series(alist: Any, trim: bool = True) -> list[Any]:
    """Return vectors of coefficients, without zeros at their ends; copies, as they are written."""
    vectors = [np.copy(_coefficients(a)) for a in alist]
    return [np.trim_zeros(v, "b") if trim and np.any(v != 0) else v for v in vectors]


def map_domain(x: Any, old: Any, new: Any) -> Any:
    """Map numbers linearly from one interval to another."""
    scale = (new[1] - new[0]) / (old[1] - old[0])
    return new[0] - old[0] * scale + scale * x


def evaluate_series(series: Any, arg: Any) -> Any:
    """Evaluate one of NumPy's series objects, at a node."""
    offset, scale = series.mapparms()
    name = type(series).__module__.rpartition(".")[2]
    family = next((family for family in FAMILIES if family.module == name), None)
    if family is None:
        raise RuleError(f"a series of type {type(series).__name__} has no rule{cite_line()}")
    return _val(family)(offset + scale * arg, series.coef)
