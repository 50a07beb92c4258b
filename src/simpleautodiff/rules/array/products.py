"""Rows: products of arrays, which are sums of products of elements."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from simpleautodiff.core.level import to_plain
from simpleautodiff.core.linear import ZERO, Linear, LinearRule
from simpleautodiff.rules.array.shapes import pad_rank, reshape, shape_of, sum_to, transpose
from simpleautodiff.rules.multiples import multiply_roots
from simpleautodiff.rules.restating import restate_as
from simpleautodiff.rules.row import Wrapping, row


def swap(x: Any) -> Any:
    """Transpose the last two axes: a matrix, or each matrix of a stack."""
    n = len(shape_of(x))
    return transpose(x, (*range(n - 2), n - 1, n - 2))


def _as_matrices(a: Any, b: Any) -> tuple[Any, Any]:
    """Return vectors as matmul treats them: as matrices of 1 × n (left) and n × 1 (right)."""
    if len(shape_of(a)) == 1:
        a = reshape(a, (1, *shape_of(a)))
    if len(shape_of(b)) == 1:
        b = reshape(b, (*shape_of(b), 1))
    return a, b


def _pull_left(bar: Any, _a: Any, b: Any) -> Any:
    ranks = len(shape_of(_a)), len(shape_of(b))
    if ranks == (2, 2):
        return matmul(bar, transpose(b, None))
    if ranks == (2, 1):
        return reshape(bar, (-1, 1)) * b
    left, right = _as_matrices(_a, b)
    full = np.broadcast_shapes(shape_of(left)[:-2], shape_of(right)[:-2])
    bar = reshape(bar, (*full, shape_of(left)[-2], shape_of(right)[-1]))
    return reshape(sum_to(matmul(bar, swap(right)), shape_of(left)), shape_of(_a))


def _pull_right(bar: Any, a: Any, _b: Any) -> Any:
    ranks = len(shape_of(a)), len(shape_of(_b))
    if ranks == (2, 2):
        return matmul(transpose(a, None), bar)
    if ranks == (2, 1):
        return matmul(bar, a)
    left, right = _as_matrices(a, _b)
    full = np.broadcast_shapes(shape_of(left)[:-2], shape_of(right)[:-2])
    bar = reshape(bar, (*full, shape_of(left)[-2], shape_of(right)[-1]))
    return reshape(sum_to(matmul(swap(left), bar), shape_of(right)), shape_of(_b))


def _matmul_batch(size: int, which: tuple[bool, ...], a: Any, b: Any) -> Any:
    """Multiply batches of vectors or matrices; with one matrix for all, in a single product."""
    ranks = [len(shape_of(x)) - is_batched for x, is_batched in zip((a, b), which, strict=True)]
    if which == (True, False) and ranks[0] == 1:
        return matmul(a, b) if ranks[1] <= 2 else _multiply_stacks(a, b, which, ranks)
    if which == (True, True) and ranks == [1, 1]:
        return make_einsum(2)("ij,ij->i", a, b)
    if which == (False, True) and ranks == [2, 1]:
        return matmul(b, swap(a))
    return _multiply_stacks(a, b, which, ranks)


def _multiply_stacks(a: Any, b: Any, which: tuple[bool, ...], ranks: list[int]) -> Any:
    """Multiply stacks of matrices, with the axis of the batch in front."""
    if ranks[0] == 1:
        a = reshape(a, (*shape_of(a)[:-1], 1, shape_of(a)[-1]))
    if ranks[1] == 1:
        b = reshape(b, (*shape_of(b), 1))
    rank = max(*ranks, 2)
    a, b = (
        pad_rank(x, rank) if is_batched else x for x, is_batched in zip((a, b), which, strict=True)
    )
    product = matmul(a, b)
    full = shape_of(product)
    new = full[:-2] + full[-2:-1] * (ranks[0] > 1) + full[-1:] * (ranks[1] > 1)
    return reshape(product, new)


def _restate_matmul(a: Any, b: Any) -> Any:
    """Return r @ r as a sum of squares, if r is a root."""
    return _restate_sum("i->", matmul, a, b) if len(shape_of(a)) == 1 else None


def _restate_sum(adding: str, product: Any, *args: Any) -> Any:
    """Return a sum of products, if both factors are arrays that are multiples of a root."""
    a, b = args[-2:]
    smooth = multiply_roots(a, b) if shape_of(a) == shape_of(b) else None
    if smooth is None:
        return None
    return restate_as(product.primitive, make_einsum(1)(adding, smooth), *args)


matmul: Wrapping = row(
    "matmul",
    LinearRule(lambda dot, _a, b: matmul(dot, b), _pull_left),
    LinearRule(lambda dot, a, _b: matmul(a, dot), _pull_right),
    value=np.matmul,
    text="{0} @ {1}",
    latex=r"{0} \, {1}",
    arrays=True,
    reason="d(A B) = dA B + A dB",
    batch=_matmul_batch,
    restate=_restate_matmul,
)


def make_einsum(count: int, optimize: bool = False) -> Wrapping:
    """Return the row of einsum with `count` operands; three and more are always optimized."""
    optimize = optimize or count > 2
    if (count, optimize) not in _EINSUMS:
        _EINSUMS[count, optimize] = row(
            "einsum",
            ZERO,
            *[_einsum_rule(k, optimize) for k in range(count)],
            value=partial(np.einsum, optimize=optimize),
            numpy=(),
            text="einsum({0}, {1}, ...)",
            latex=r"\operatorname{{einsum}}({0})",
            arrays=True,
            reason="it is linear in each factor, with the others held constant",
            settings=(0,),
            listed=False,
            batch=partial(_einsum_batch, optimize),
            restate=_restate_einsum,
        )
    return _EINSUMS[count, optimize]


def _einsum_batch(
    optimize: bool, size: int, which: tuple[bool, ...], subscripts: str, *operands: Any
) -> Any:
    """Give the axis of the batch an unused letter."""
    inputs, output = subscripts.split("->")
    letter = next(c for c in _LETTERS if c not in subscripts)
    terms = [letter * b + term for b, term in zip(which[1:], inputs.split(","), strict=True)]
    batched = ",".join(terms) + "->" + letter + output
    return make_einsum(len(operands), optimize)(batched, *operands)


def _restate_einsum(subscripts: str, *operands: Any) -> Any:
    """Return np.einsum("ij,ij->i", r, r) as a sum of squares, if r is a root."""
    terms, output = subscripts.split("->")
    first, *others = terms.split(",")
    if others != [first] or len(set(first)) < len(first):
        return None
    return _restate_sum(f"{first}->{output}", make_einsum(2), subscripts, *operands)


_EINSUMS: dict[tuple[int, bool], Wrapping] = {}


def _einsum_rule(k: int, optimize: bool) -> Any:
    def rule(v: Any, subscripts: str, *operands: Any) -> Linear:
        inputs, output = subscripts.split("->")
        terms = inputs.split(",")
        wrapping = make_einsum(len(operands), optimize)

        def push(dot: Any) -> Any:
            return wrapping(subscripts, *operands[:k], dot, *operands[k + 1 :])

        def pull(bar: Any) -> Any:
            return _einsum_pull(bar, terms, output, k, operands, optimize)

        return Linear(push, pull, moves=len(operands) == 1)

    return rule


def _einsum_pull(
    bar: Any, terms: list[str], output: str, k: int, operands: tuple[Any, ...], optimize: bool
) -> Any:
    """Contract the adjoint with the other factors, and broadcast it over this factor's own axes."""
    own = terms[k]
    if len(set(own)) != len(own):
        return _einsum_pull_diagonal(bar, terms, output, k, operands, optimize)
    others = [t for i, t in enumerate(terms) if i != k]
    known = set(output).union(*others) if others else set(output)
    result = "".join(letter for letter in own if letter in known)
    rest = [x for i, x in enumerate(operands) if i != k]
    subscripts = ",".join([output, *others]) + "->" + result
    pulled = make_einsum(len(rest) + 1, optimize)(subscripts, bar, *rest)
    sizes = dict(zip(own, shape_of(operands[k]), strict=True))
    spread = reshape(pulled, tuple(sizes[c] if c in known else 1 for c in own))
    dtype = getattr(to_plain(operands[k]), "dtype", float)
    return spread * np.ones(shape_of(operands[k]), dtype=dtype)


def _einsum_pull_diagonal(
    bar: Any, terms: list[str], output: str, k: int, operands: tuple[Any, ...], optimize: bool
) -> Any:
    """Handle a repeated letter, as in the trace ``ii``: the derivative is 0 off the diagonal."""
    own = terms[k]
    free = iter(letter for letter in _LETTERS if letter not in "".join(terms) + output)
    distinct: dict[str, str] = {}
    renamed, deltas, eyes = "", [], []
    for letter, size in zip(own, shape_of(operands[k]), strict=True):
        if letter not in distinct:
            distinct[letter] = letter
            renamed += letter
        else:
            new = next(free)
            renamed += new
            deltas.append(letter + new)
            eyes.append(np.eye(size, dtype=to_plain(operands[k]).dtype))
    new_terms = [*terms[:k], renamed, *terms[k + 1 :], *deltas]
    return _einsum_pull(bar, new_terms, output, k, (*operands, *eyes), optimize)


_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
