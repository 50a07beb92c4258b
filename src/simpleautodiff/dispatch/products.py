"""Products of arrays: dot, tensordot, einsum, and the others that are made of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from simpleautodiff.dispatch.shaping import diagonal, stack
from simpleautodiff.dispatch.table import answers
from simpleautodiff.errors import ArgumentError, RuleError
from simpleautodiff.rules.complexes import conj
from simpleautodiff.rules.contract import einsum_of, matmul
from simpleautodiff.rules.shapes import reshape, shape_of, sum_over, transpose


@answers(np.dot)
def dot(a: Any, b: Any) -> Any:
    """Multiply as np.dot does."""
    if not shape_of(a) or not shape_of(b):
        return a * b
    if len(shape_of(a)) <= 2 and len(shape_of(b)) <= 2:
        return matmul(a, b)
    return tensordot(a, b, ([-1], [-2 if len(shape_of(b)) > 1 else 0]))


@answers(np.vdot)
def vdot(a: Any, b: Any) -> Any:
    """Multiply two arrays as vectors."""
    return matmul(reshape(conj(a), (-1,)), reshape(b, (-1,)))


@answers(np.inner)
def inner(a: Any, b: Any) -> Any:
    """Sum products over the last axes."""
    return tensordot(a, b, ([-1], [-1])) if shape_of(a) and shape_of(b) else a * b


@answers(np.outer)
def outer(a: Any, b: Any) -> Any:
    """Multiply every element of one vector with every element of another."""
    return reshape(a, (-1, 1)) * reshape(b, (1, -1))


@answers(np.tensordot)
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """Sum products over chosen axes, as one product of matrices."""
    ra, rb = len(shape_of(a)), len(shape_of(b))
    if isinstance(axes, int):
        axes = (range(ra - axes, ra), range(axes))
    axes_a = [int(i) % ra for i in np.atleast_1d(axes[0])]
    axes_b = [int(i) % rb for i in np.atleast_1d(axes[1])]
    free_a = [i for i in range(ra) if i not in axes_a]
    free_b = [i for i in range(rb) if i not in axes_b]
    summed = [shape_of(a)[i] for i in axes_a]
    if summed != [shape_of(b)[i] for i in axes_b]:
        raise ArgumentError(
            f"tensordot sums axes of different lengths: {axes_a} of {shape_of(a)} and {axes_b} of "
            f"{shape_of(b)}"
        )
    size = int(np.prod(summed, dtype=int))
    left = reshape(transpose(a, (*free_a, *axes_a)), (-1, size))
    right = reshape(transpose(b, (*axes_b, *free_b)), (size, -1))
    new = [shape_of(a)[i] for i in free_a] + [shape_of(b)[i] for i in free_b]
    return reshape(matmul(left, right), tuple(new))


@answers(np.einsum)
def einsum(subscripts: str, *operands: Any) -> Any:
    """Sum products as the subscripts say; an ellipsis is written out first."""
    if not isinstance(subscripts, str):
        raise RuleError(
            "np.einsum of a node takes its subscripts as text: np.einsum('ij,j->i', ...)"
        )
    written = _written_out(subscripts.replace(" ", ""), [len(shape_of(x)) for x in operands])
    return einsum_of(len(operands))(written, *operands)


def _written_out(subscripts: str, ranks: list[int]) -> str:
    inputs, arrow, output = subscripts.partition("->")
    terms = inputs.split(",")
    free = [c for c in "ZYXWVUTSRQPONMLKJIHGFEDCBA" if c not in subscripts]
    hidden = [rank - len(t.replace("...", "")) for t, rank in zip(terms, ranks, strict=True)]
    longest = max((h for t, h in zip(terms, hidden, strict=True) if "..." in t), default=0)
    dots = "".join(free[:longest])
    if "..." in inputs and len({h for t, h in zip(terms, hidden, strict=True) if "..." in t}) > 1:
        raise RuleError("np.einsum of a node needs ellipses of one length; reshape first")
    new = [t.replace("...", dots) for t in terms]
    if not arrow:
        letters = "".join(sorted(set("".join(new)) - set(dots)))
        output = dots + "".join(c for c in letters if "".join(new).count(c) == 1)
    return ",".join(new) + "->" + output.replace("...", dots)


@answers(np.kron)
def kron(a: Any, b: Any) -> Any:
    """Return the Kronecker product."""
    rank = max(len(shape_of(a)), len(shape_of(b)))
    sa = (1,) * (rank - len(shape_of(a))) + shape_of(a)
    sb = (1,) * (rank - len(shape_of(b))) + shape_of(b)
    left = reshape(a, [n for s in sa for n in (s, 1)])
    right = reshape(b, [n for s in sb for n in (1, s)])
    return reshape(left * right, tuple(m * n for m, n in zip(sa, sb, strict=True)))


@answers(np.cross)
def cross(a: Any, b: Any) -> Any:
    """Return the cross product of vectors of three along the last axis."""
    a1, a2, a3 = a[..., 0], a[..., 1], a[..., 2]
    b1, b2, b3 = b[..., 0], b[..., 1], b[..., 2]
    return stack([a2 * b3 - a3 * b2, a3 * b1 - a1 * b3, a1 * b2 - a2 * b1], -1)


@answers(np.trace)
def trace(a: Any, offset: int = 0) -> Any:
    """Add up the diagonal."""
    return sum_over(diagonal(a, offset), -1, False)
