"""Polynomials by their coefficients, highest power first: np.polyval and its relatives."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from simpleautodiff.arrays.given_values import give_values
from simpleautodiff.arrays.numpy.calculus import convolve
from simpleautodiff.arrays.numpy.factorizations import eigvals, lstsq
from simpleautodiff.arrays.registry import Function, as_array, decide, implements, is_batch, widen
from simpleautodiff.core.level import to_plain
from simpleautodiff.errors import InputError, cite_line
from simpleautodiff.rules.array.decompositions import find_examples, refuse_matrix
from simpleautodiff.rules.array.dtypes import dtype_of
from simpleautodiff.rules.array.indexing import concatenate, set_item
from simpleautodiff.rules.array.linear_systems import inv
from simpleautodiff.rules.array.products import matmul
from simpleautodiff.rules.array.shapes import reshape, shape_of, sum_over, transpose
from simpleautodiff.rules.scalar.complex_parts import real
from simpleautodiff.values.functions import is_complex


def _coefficients(p: Any) -> Any:
    p = as_array(p)
    return reshape(p, (-1,)) if not shape_of(p) else p


def _keep_class(own: Function) -> Function:
    """Return poly1d objects where an argument is one, as NumPy does."""

    @functools.wraps(own)
    def function(*args: Any, **kwargs: Any) -> Any:
        if not any(isinstance(arg, np.poly1d) for arg in args):
            return own(*args, **kwargs)
        result = own(*map(_read_coefficients, args), **kwargs)
        return tuple(map(np.poly1d, result)) if isinstance(result, tuple) else np.poly1d(result)

    return function


def _read_coefficients(p: Any) -> Any:
    return p.coeffs if isinstance(p, np.poly1d) else p


def _zeros(n: int, like: Any) -> Any:
    return np.zeros(n, dtype_of(like))


@implements(np.polyval)
def polyval(p: Any, x: Any) -> Any:
    """Evaluate a polynomial."""
    p = as_array(_read_coefficients(p))
    if isinstance(x, np.poly1d):
        return functools.reduce(lambda result, one: result * x + one, list(p), np.poly1d(0))
    x = np.asarray(x) if type(x) in (int, float, complex) else as_array(x)
    result: Any = 0 * x
    for i in range(shape_of(p)[0]):
        result = result * x + p[i]
    return result


def make_poly1d(self: Any, c_or_r: Any, r: bool = False, variable: str | None = None) -> None:
    """Do what np.poly1d(...) does; a coefficient that is 0 stays, as its derivative may not be."""
    coefficients = _coefficients(as_array(np.poly(c_or_r) if r else c_or_r))
    if len(shape_of(coefficients)) > 1:
        raise InputError(f"np.poly1d: Polynomial must be 1d only.{cite_line()}")
    self._coeffs, self._variable = coefficients, variable or "x"


@implements(np.polyadd)
@_keep_class
def polyadd(a1: Any, a2: Any) -> Any:
    """Add polynomials."""
    a, b = _coefficients(a1), _coefficients(a2)
    n = max(len(a), len(b))
    return _pad_front(a, n) + _pad_front(b, n)


def _pad_front(p: Any, n: int) -> Any:
    return concatenate([_zeros(n - len(p), p), p]) if len(p) < n else p


@implements(np.polysub)
@_keep_class
def polysub(a1: Any, a2: Any) -> Any:
    """Subtract polynomials."""
    return polyadd(a1, -_coefficients(a2))


@implements(np.polymul)
@_keep_class
def polymul(a1: Any, a2: Any) -> Any:
    """Multiply polynomials."""
    return convolve(_coefficients(a1), _coefficients(a2))


@implements(np.polydiv)
@_keep_class
def polydiv(u: Any, v: Any) -> tuple[Any, Any]:
    """Divide polynomials: return the quotient and the remainder."""
    rest, v = _coefficients(u) + 0.0, _coefficients(v)
    steps, m = len(rest) - len(v) + 1, len(v)
    quotient: list[Any] = []
    for _ in range(max(steps, 0)):
        factor = rest[0] / v[0]
        quotient.append(reshape(factor, (1,)))
        rest = concatenate([rest[1:m] - factor * v[1:], rest[m:]])
    return (concatenate(quotient) if quotient else _zeros(1, v)), rest[_count_leading_zeros(rest) :]


def _count_leading_zeros(p: Any) -> int:
    """Count the leading coefficients that are close to 0, as np.polydiv does."""
    if is_batch(p) or len(p) < 2:
        return 0
    there = ~np.isclose(to_plain(p), 0, rtol=1e-14)
    return int(np.argmax(there)) if there.any() else len(p) - 1


@implements(np.polyder)
@_keep_class
def polyder(p: Any, m: int = 1) -> Any:
    """Differentiate a polynomial."""
    if m < 0:
        raise InputError(
            f"np.polyder differentiates m times; m is {m}. See np.polyint{cite_line()}"
        )
    p = widen(p) if m else p
    for _ in range(m):
        powers = np.arange(len(p) - 1, 0, -1).astype(dtype_of(p))
        p = p[:-1] * powers
    return p


@implements(np.polyint)
@_keep_class
def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    """Integrate a polynomial; `k` are the integration constants."""
    p = widen(_coefficients(p)) if m else _coefficients(p)
    constants = np.zeros(m, dtype_of(p)) if k is None else _coefficients(k)
    for i in range(m):
        powers = np.arange(len(p), 0, -1).astype(dtype_of(p))
        constant = constants[i if len(constants) > 1 else 0]
        p = concatenate([p / powers, reshape(constant, (1,))])
    return p


@implements(np.poly)
def poly(seq_of_zeros: Any) -> Any:
    """Return the monic polynomial with these roots, or with the eigenvalues of a matrix."""
    zeros = as_array(seq_of_zeros)
    if len(shape_of(zeros)) == 2:
        polynomial = poly(eigvals(zeros))
        return polynomial if is_complex(to_plain(zeros)) else real(polynomial)
    result: Any = np.ones(1, dtype_of(zeros))
    for i in range(len(zeros)):
        result = concatenate([result, _zeros(1, zeros)]) - zeros[i] * concatenate(
            [_zeros(1, zeros), result]
        )
    return result


@implements(np.roots)
def roots(p: Any) -> Any:
    """Return the roots of a polynomial: the eigenvalues of its companion matrix."""
    check_degree(p, 0)
    there = np.arange(len(p)) if is_batch(p) else np.flatnonzero(to_plain(p))
    if not len(there):
        return np.zeros(0)
    behind = len(p) - 1 - there[-1]
    within = p[there[0] : there[-1] + 1]
    n = len(within) - 1
    zeros = np.zeros(behind, dtype_of(p))
    if n:
        below = np.eye(n, k=-1, dtype=dtype_of(p))
        found = _find_roots(set_item(below, -within[1:] / within[0], 0))
        found = concatenate([found, zeros])
    else:
        found = zeros
    return found if n == len(p) - 1 else follow_roots(p, found, behind)


def check_degree(p: Any, leading: int) -> None:
    """Refuse a batch with an example that has fewer roots: its leading coefficient is 0."""
    examples = find_examples(p[leading]) if is_batch(p) and len(p) > 1 else None
    if examples is not None and np.any(examples == 0):
        refuse_matrix(
            p,
            "a polynomial of a batch has the leading coefficient 0, and so fewer roots than "
            "others may have; leave such coefficients out before vmap",
        )


def _find_roots(companion: Any) -> Any:
    """Return eigenvalues; as real numbers if all are, also where NumPy's are always complex."""
    values = eigvals(companion)
    if _ALWAYS_COMPLEX and not is_complex(to_plain(companion)) and decide(are_real, values):
        return real(values)
    return values


def are_real(values: Any) -> Any:
    """Tell whether no number has an imaginary part."""
    return np.bool_(not np.any(np.imag(values)))


_ALWAYS_COMPLEX = np.iscomplexobj(np.linalg.eigvals(np.eye(1)))  # from NumPy 2.5 on


def follow_roots(p: Any, found: Any, behind: int = 0) -> Any:
    """Return roots with the derivatives in all coefficients, those that are 0 among them.

    `found` has their values, and the derivatives in others. Two steps of Newton's method add those
    up to the third. A root 0 that is repeated has infinite slopes.
    """
    single = len(found) - (behind if behind > 1 else 0)
    followed = found[:single]
    for _ in range(2 if single else 0):
        followed = followed - polyval(p, followed) / polyval(polyder(p), followed)
    if behind > 1:
        followed = concatenate([followed, np.sqrt(p[len(p) - behind :])])
    return give_values(followed, lambda: to_plain(found), (), {})


def _check_points(x: Any, y: Any, deg: int, w: Any) -> None:
    """Refuse points that cannot be fitted."""
    shapes = [shape_of(x), shape_of(y)[:1], *([] if w is None else [shape_of(as_array(w))])]
    if deg < 0 or len(set(shapes)) > 1 or len(shapes[0]) != 1 or len(shape_of(y)) > 2:
        raise InputError(
            f"np.polyfit needs a degree of 0, 1, 2, ..., a vector x, and as many numbers (or rows) "
            f"y and weights, not the degree {deg} and arrays of shape {shape_of(x)}, "
            f"{shape_of(y)}{''.join(f', {shape}' for shape in shapes[2:])}{cite_line()}"
        )


@implements(np.polyfit)
def polyfit(
    x: Any,
    y: Any,
    deg: int,
    rcond: Any = None,
    full: bool = False,
    w: Any = None,
    cov: Any = False,
) -> Any:
    """Fit a polynomial by least squares."""
    x, y = widen(as_array(x)), as_array(y)
    _check_points(x, y, deg, w)
    powers = reshape(x, (-1, 1)) ** np.arange(deg, -1, -1)
    if w is not None:
        powers = powers * reshape(as_array(w), (-1, 1))
        y = y * reshape(as_array(w), (-1,) + (1,) * (len(shape_of(y)) - 1))
    scale = np.sqrt(sum_over(powers * powers, 0, False))
    cut = len(to_plain(x)) * np.finfo(dtype_of(x)).eps if rcond is None else rcond
    solution, residuals, rank, s = lstsq(powers / scale, y, cut)
    spread = reshape(scale, (-1,) + (1,) * (len(shape_of(y)) - 1))
    result = solution / spread
    if full:
        return result, residuals, rank, s, cut
    if cov is False:
        return result
    spreads = inv(matmul(transpose(powers, None), powers))
    factor = 1.0 if cov == "unscaled" else residuals / (len(to_plain(x)) - deg - 1)
    single = len(shape_of(y)) == 1
    return result, (spreads * factor if single else reshape(spreads, (deg + 1, -1, 1)) * factor)
