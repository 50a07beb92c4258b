"""Products of arrays: dot, tensordot, einsum, kron, cross and their relatives."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from simpleautodiff.arrays.given_values import ROUNDED_OTHERWISE
from simpleautodiff.arrays.join_arrays import stack
from simpleautodiff.arrays.registry import Function, as_array, implements, to_dtype
from simpleautodiff.arrays.shaping import diagonal, move_by_index
from simpleautodiff.arrays.writes.views import note
from simpleautodiff.arrays.writes.writable import view_or_copy
from simpleautodiff.arrays.writes.writing import OTHER_VIEWS
from simpleautodiff.core.level import Written, to_plain
from simpleautodiff.errors import ArgumentError
from simpleautodiff.rules.array.products import make_einsum, matmul
from simpleautodiff.rules.array.shapes import reshape, shape_of, sum_over, transpose
from simpleautodiff.rules.scalar.complex_parts import conj
from simpleautodiff.values.functions import is_complex


@implements(np.dot)
def dot(a: Any, b: Any) -> Any:
    """Multiply as np.dot does."""
    a, b = as_array(a), as_array(b)
    if not shape_of(a) or not shape_of(b):
        return a * b
    if len(shape_of(a)) <= 2 and len(shape_of(b)) <= 2:
        return matmul(a, b)
    return tensordot(a, b, ([-1], [-2 if len(shape_of(b)) > 1 else 0]))


@implements(np.vdot)
def vdot(a: Any, b: Any) -> Any:
    """Multiply two arrays as vectors, with the first conjugated."""
    a, b = (x if len(shape_of(x)) == 1 else reshape(x, (-1,)) for x in map(as_array, (a, b)))
    return matmul(conj(a) if is_complex(to_plain(a)) else a, b)


@implements(np.inner)
def inner(a: Any, b: Any) -> Any:
    """Sum products over the last axes."""
    a, b = as_array(a), as_array(b)
    return tensordot(a, b, ([-1], [-1])) if shape_of(a) and shape_of(b) else a * b


@implements(np.outer)
def outer(a: Any, b: Any) -> Any:
    """Multiply every element of one vector with every element of another."""
    return reshape(as_array(a), (-1, 1)) * reshape(as_array(b), (1, -1))


@implements(np.tensordot)
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """Sum products over chosen axes, as one matrix product."""
    a, b = as_array(a), as_array(b)
    ra, rb = len(shape_of(a)), len(shape_of(b))
    if isinstance(axes, int):
        axes = (range(ra - axes, ra), range(axes))
    axes_a, axes_b = (normalize_axis_tuple(*given) for given in ((axes[0], ra), (axes[1], rb)))
    if ra == rb == len(axes_a) == 1:
        return matmul(a, b)
    free_a = [i for i in range(ra) if i not in axes_a]
    free_b = [i for i in range(rb) if i not in axes_b]
    summed = [shape_of(a)[i] for i in axes_a]
    if summed != [shape_of(b)[i] for i in axes_b]:
        raise ArgumentError(
            f"tensordot sums axes of different lengths: {axes_a} of {shape_of(a)} and {axes_b} of "
            f"{shape_of(b)}"
        )
    size = int(np.prod(summed, dtype=int))
    rows, columns = [shape_of(a)[i] for i in free_a], [shape_of(b)[i] for i in free_b]
    left = reshape(transpose(a, (*free_a, *axes_a)), (int(np.prod(rows, dtype=int)), size))
    right = reshape(transpose(b, (*axes_b, *free_b)), (size, int(np.prod(columns, dtype=int))))
    return reshape(matmul(left, right), (*rows, *columns))


@implements(np.einsum)
def einsum(*operands: Any, dtype: Any = None, optimize: Any = False) -> Any:
    """Evaluate an einsum, in either of NumPy's two notations."""
    subscripts, *arrays = operands if isinstance(operands[0], str) else _use_letters(operands)
    arrays = [as_array(x) for x in arrays]
    terms, output = _expand_subscripts(
        subscripts.replace(" ", ""), [len(shape_of(x)) for x in arrays]
    )
    terms, arrays = _take_diagonals(*_drop_broadcast_axes(terms, arrays))
    contract = make_einsum(len(arrays), bool(optimize))
    result = contract(",".join(terms) + "->" + output, *arrays)
    if move := _find_move(operands):
        note(result, _find_operand(operands), lambda y: view_or_copy(y, move))
        return result  # NumPy ignores the dtype then
    return result if dtype is None else to_dtype(result, dtype)


def _find_operand(operands: tuple[Any, ...]) -> Any:
    """Return the single array of an einsum."""
    return operands[1 if isinstance(operands[0], str) else 0]


def _find_move(operands: tuple[Any, ...]) -> Function | None:
    """Return an einsum of one array as a function of it, if NumPy returns a view: "ii->i"."""
    if len(operands) > (2 if isinstance(operands[0], str) else 3):
        return None
    move: Function = lambda x: np.einsum(*[x if y is array else y for y in operands])  # noqa: E731
    array = _find_operand(operands)
    outline = np.empty(shape_of(array), bool)
    return move if np.may_share_memory(move(outline), outline) else None


def _view_by_einsum(*operands: Any, **how: Any) -> Any:
    """Return the view of a writable array that an einsum of it is; None if it is a copy."""
    if not isinstance(_find_operand(operands), Written) or "out" in how:
        return None
    move = _find_move(operands)
    return move and view_or_copy(_find_operand(operands).writable(), move)


def _is_rounded_otherwise(*operands: Any, **how: Any) -> bool:
    """Tell whether NumPy may add up in another order: many arrays, ellipses, diagonals."""
    subscripts, *arrays = operands
    if len(arrays) <= 2 and isinstance(subscripts, str) and "." not in subscripts:
        terms = subscripts.partition("->")[0].split(",")
        if all(len({*term}) == len(term) for term in terms):
            return False
    return _find_move(operands) is None


OTHER_VIEWS[np.einsum] = _view_by_einsum
ROUNDED_OTHERWISE[np.einsum] = _is_rounded_otherwise


def _use_letters(operands: tuple[Any, ...]) -> list[Any]:
    """Return np.einsum(x, [0, 1], y, [1, 2], [0, 2]) in the notation with letters."""
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    lists = [*operands[1::2], *(operands[-1:] if len(operands) % 2 else [])]
    texts = ["".join("..." if i is ... else letters[i] for i in each) for each in lists]
    count = len(operands) // 2
    output = f"->{texts[-1]}" if len(operands) % 2 else ""
    return [",".join(texts[:count]) + output, *operands[0 : 2 * count : 2]]


def _expand_subscripts(subscripts: str, ranks: list[int]) -> tuple[list[str], str]:
    """Replace ellipses and an implicit output by letters."""
    inputs, arrow, output = subscripts.partition("->")
    terms = inputs.split(",")
    if len(terms) != len(ranks):
        raise ArgumentError(
            f"np.einsum: {subscripts!r} is for {len(terms)} arrays, not {len(ranks)}"
        )
    free = "".join(
        c for c in "ZYXWVUTSRQPONMLKJIHGFEDCBAzyxwvutsrqponmlkjihgfedcba" if c not in subscripts
    )
    hidden = [rank - len(t.replace("...", "")) for t, rank in zip(terms, ranks, strict=True)]
    if any(h < 0 or (h and "..." not in t) for t, h in zip(terms, hidden, strict=True)):
        raise ArgumentError(f"np.einsum: {subscripts!r} does not fit arrays of {ranks} axes")
    dots = free[: max(hidden)]
    new = [t.replace("...", dots[len(dots) - h :]) for t, h in zip(terms, hidden, strict=True)]
    if not arrow:
        letters = sorted(set("".join(new)) - set(dots))
        output = "..." + "".join(c for c in letters if "".join(new).count(c) == 1)
    return new, output.replace("...", dots)


def _drop_broadcast_axes(terms: list[str], arrays: list[Any]) -> tuple[list[str], list[Any]]:
    """Drop axes of length 1 whose letter is longer elsewhere: they are broadcast."""
    sizes: dict[str, int] = {}
    for term, array in zip(terms, arrays, strict=True):
        for letter, n in zip(term, shape_of(array), strict=True):
            sizes[letter] = max(n, sizes.get(letter, n)) if sizes.get(letter) != 0 else 0
    new_terms, new_arrays = [], []
    for term, array in zip(terms, arrays, strict=True):
        keep = [n == sizes[c] or n != 1 for c, n in zip(term, shape_of(array), strict=True)]
        new_terms.append("".join(c for c, k in zip(term, keep, strict=True) if k))
        shape = tuple(n for n, k in zip(shape_of(array), keep, strict=True) if k)
        new_arrays.append(array if all(keep) else reshape(array, shape))
    return new_terms, new_arrays


def _take_diagonals(terms: list[str], arrays: list[Any]) -> tuple[list[str], list[Any]]:
    """Take the diagonal of an array whose letters are repeated: other elements are not selected."""
    distinct = ["".join(dict.fromkeys(term)) for term in terms]
    taken = [
        array if term == once else move_by_index(partial(np.einsum, f"{term}->{once}"), array)
        for term, once, array in zip(terms, distinct, arrays, strict=True)
    ]
    return distinct, taken


@implements(np.kron)
def kron(a: Any, b: Any) -> Any:
    """Return the Kronecker product."""
    a, b = as_array(a), as_array(b)
    rank = max(len(shape_of(a)), len(shape_of(b)))
    sa = (1,) * (rank - len(shape_of(a))) + shape_of(a)
    sb = (1,) * (rank - len(shape_of(b))) + shape_of(b)
    left = reshape(a, [n for s in sa for n in (s, 1)])
    right = reshape(b, [n for s in sb for n in (1, s)])
    return reshape(left * right, tuple(m * n for m, n in zip(sa, sb, strict=True)))


@implements(np.cross)
def cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Any:
    """Return the cross product of vectors of three numbers, or of two."""
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = np.moveaxis(as_array(a), axisa, 0), np.moveaxis(as_array(b), axisb, 0)
    if shape_of(a)[0] not in (2, 3) or shape_of(b)[0] not in (2, 3):
        raise ArgumentError(
            f"np.cross needs vectors of two or three numbers, not {shape_of(a)[0]} and "
            f"{shape_of(b)[0]}"
        )
    z = a[0] * b[1] - a[1] * b[0]
    if shape_of(a)[0] == shape_of(b)[0] == 2:
        return z
    a3, b3 = (x[2] if shape_of(x)[0] == 3 else 0.0 for x in (a, b))
    return np.moveaxis(stack([a[1] * b3 - a3 * b[1], a3 * b[0] - a[0] * b3, z]), 0, axisc)


@implements(np.trace)
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """Return the sum of the diagonal."""
    return sum_over(diagonal(a, offset, axis1, axis2), -1, False)
