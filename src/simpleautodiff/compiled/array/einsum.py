"""`einsum` and `matmul` in terms of other rows: a product of matrices, or a product and a sum.

What BLAS can do becomes a product of two matrices or vectors, and their transposes are views. What
has few terms for each number that is read (many small matrices) becomes a loop. The rest is left to
NumPy.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from simpleautodiff.compiled.recording.trace_program import Line, Ref
from simpleautodiff.rules.row import TABLE

if TYPE_CHECKING:
    from simpleautodiff.compiled.array.schedule import Schedule

FEW = 32  # terms of a sum for each number that is read or written: as many are added in a loop
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def contract(plan: Schedule, line: Line) -> Line | None:
    """Return the last of the lines that a sum of products is made of; the others are added."""
    found = _terms(plan, line)
    if found is None:
        return None
    terms, output, operands = found
    sizes: dict[str, int] = {}
    for term, operand in zip(terms, operands, strict=True):
        for letter, n in zip(term, _shape(plan, operand), strict=True):
            sizes[letter] = max(n, sizes.get(letter, 1))
    if len(terms) == 2 and line.name == "einsum":
        product = _product(plan, terms, output, operands, line)
        if product is not None:
            return product
    largest = max([math.prod(_shape(plan, x)) for x in operands] + [math.prod(line.shape)])
    if math.prod(sizes.values()) > FEW * largest and not plan.alone:
        return None
    return _sum_out(plan, terms, output, operands, sizes, line)


def _terms(plan: Schedule, line: Line) -> tuple[list[str], str, list[Any]] | None:
    """Return a letter for every axis of every factor, those of the result, and the factors."""
    operands = list(line.args[1:] if line.name == "einsum" else line.args)
    if not all(type(x) is Ref or isinstance(x, np.ndarray) for x in operands):
        return None
    if any(_dtype(plan, x) != line.dtype or 0 in _shape(plan, x) for x in operands):
        return None
    if line.name == "einsum":
        inputs, output = line.args[0].replace(" ", "").split("->")
        terms = inputs.split(",")
    else:
        left, right = (len(_shape(plan, x)) for x in operands)
        if min(left, right) < 2 or max(left, right) < 3:
            return None
        batch = _LETTERS[: max(left, right) - 2]
        terms = [f"{batch[len(batch) - left + 2 :]}xy", f"{batch[len(batch) - right + 2 :]}yz"]
        output = f"{batch}xz"
    plain = all(len(set(term)) == len(term) and "." not in term for term in terms)
    return (terms, output, operands) if plain else None


def _shape(plan: Schedule, x: Any) -> tuple[int, ...]:
    shape: tuple[int, ...] = plan.lines[x].shape if type(x) is Ref else x.shape
    return shape


def _dtype(plan: Schedule, x: Any) -> Any:
    return plan.lines[x].dtype if type(x) is Ref else x.dtype


def _product(
    plan: Schedule, terms: list[str], output: str, operands: list[Any], line: Line
) -> Line | None:
    """Return a product of matrices or vectors, if it is one: the factors may change places."""
    inner = [letter for letter in terms[0] if letter in terms[1] and letter not in output]
    ranks = [len(term) for term in terms]
    known = len(inner) == 1 and len(set("".join(terms))) == sum(ranks) - 1
    if not known or max(ranks) > 2 or len(output) != sum(ranks) - 2:
        return None
    if output and output[0] not in terms[0]:
        terms, operands = terms[::-1], operands[::-1]
    left = _transpose_to(
        plan, operands[0], terms[0], [x for x in terms[0] if x != inner[0]] + inner
    )
    right = _transpose_to(
        plan, operands[1], terms[1], inner + [x for x in terms[1] if x != inner[0]]
    )
    return line._replace(what=TABLE["matmul"], args=(left, right))


def _transpose_to(plan: Schedule, x: Any, term: str, order: list[str]) -> Any:
    """Return an array with its axes in the order of some letters, axes of length 1 for others."""
    present = [letter for letter in order if letter in term]
    axes = tuple([term.index(letter) for letter in present])
    index = tuple([slice(None) if letter in term else None for letter in order])
    if type(x) is not Ref:
        return np.transpose(x, axes)[index]
    dummy = np.transpose(np.broadcast_to(np.int8(0), _shape(plan, x)), axes)
    turned = Line(TABLE["transpose"], (x, axes), {}, dummy.shape, _dtype(plan, x))
    place = plan.append(turned)
    return plan.append(turned._replace(what=TABLE["getitem"], args=(place, index),
                                       shape=dummy[index].shape))  # fmt: skip


def _sum_out(
    plan: Schedule,
    terms: list[str],
    output: str,
    operands: list[Any],
    sizes: dict[str, int],
    line: Line,
) -> Line | None:
    """Return the sum over the product of all factors, lined up."""
    order = [*output, *[letter for letter in sizes if letter not in output]]
    lined = [_transpose_to(plan, x, term, order) for x, term in zip(operands, terms, strict=True)]
    if math.prod([sizes[x] for x in order]) != math.prod(
        np.broadcast_shapes(*[_shape(plan, x) for x in lined])
    ):
        return None
    total = lined[0]
    for factor in lined[1:]:
        shape = np.broadcast_shapes(_shape(plan, total), _shape(plan, factor))
        total = plan.append(Line(TABLE["mul"], (total, factor), {}, shape, line.dtype))
    if type(total) is not Ref:
        return None
    if len(order) == len(output):
        return line._replace(what=TABLE["astype"], args=(total, line.dtype))
    axes = tuple(range(len(output), len(order)))
    return line._replace(what=TABLE["sum"], args=(total, axes, False))
