"""`einsum` and `matmul` in terms of other rows: matrix products, or a product and a sum.

The letters of two factors belong to a stack, to rows, to columns, or are summed over. Letters of
one group become one axis, so that BLAS gets a stack of matrix products; a factor that all matrices
of a stack share makes one large product. Small products become loops. The rest is left to NumPy.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from simpleautodiff.compiled.recording.trace_program import Line, Ref
from simpleautodiff.rules.array.shapes import keep_dims
from simpleautodiff.rules.row import TABLE

if TYPE_CHECKING:
    from simpleautodiff.compiled.array.schedule import LoopSchedule

FEW = 32  # terms per number read or written, up to which a loop adds them
SHORT_SUM = 8  # terms of a sum that loops add up in registers
SMALL = 512  # multiplications in a matrix product that is too small for BLAS
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_PRODUCTS = ("matmul", "einsum", "mul")


def contract(plan: LoopSchedule, line: Line) -> Line | None:
    """Return the last of the lines that compute a sum of products; the others are added."""
    found = _read_terms(plan, line)
    if found is None:
        return None
    product = _multiply(plan, *found, line) if len(found[0]) == 2 else None
    return product or _loop(plan, *found, line)


def _loop(
    plan: LoopSchedule, terms: list[str], output: str, operands: list[Any], line: Line
) -> Line | None:
    """Return a sum over the product of all factors, unless it has too many terms."""
    if not plan.alone and not plan.exact:
        operands = _sum_first(plan, terms, output, operands)
    sizes = _sizes(plan, terms, operands)
    largest = max([math.prod(_shape(plan, x)) for x in operands] + [math.prod(line.shape)])
    if math.prod(sizes.values()) > FEW * largest and not plan.alone:
        return None
    return _sum_out(plan, terms, output, operands, sizes, line)


def contract_sum(plan: LoopSchedule, line: Line) -> Line | None:
    """Return the sum of a product that nothing else reads as one contraction, if it is one.

    Then no array of all products is made. Elementwise products are left to their loop, unless their
    sum is a matrix product.
    """
    product = plan.read_once.get(line.args[0]) if type(line.args[0]) is Ref else None
    found = _read_terms(plan, product) if product and product.name in _PRODUCTS else None
    if product is None or found is None or len(found[0]) != 2:
        return None
    terms, output, operands = found
    if line.name == "sum":
        kept = keep_dims(product.shape, line.args[1])
    else:
        kept = (1,) * (len(product.shape) - len(line.args[1])) + tuple(line.args[1])
    left = "".join([x for x, n in zip(output, kept, strict=True) if n > 1])
    if product.name == "mul":
        return _multiply(plan, terms, left, operands, line, True)
    return _multiply(plan, terms, left, operands, line) or _loop(plan, terms, left, operands, line)


def _sizes(plan: LoopSchedule, terms: list[str], operands: list[Any]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for term, operand in zip(terms, operands, strict=True):
        for letter, n in zip(term, _shape(plan, operand), strict=True):
            sizes[letter] = max(n, sizes.get(letter, 1))
    return sizes


def _read_terms(plan: LoopSchedule, line: Line) -> tuple[list[str], str, list[Any]] | None:
    """Return a letter for every axis of every factor and of the result, and the factors."""
    given = line.args[1:] if line.name == "einsum" else line.args
    operands = [np.asarray(x) if isinstance(x, np.generic) else x for x in given]
    if not all(type(x) is Ref or isinstance(x, np.ndarray) for x in operands):
        return None
    if any(_dtype(plan, x) != line.dtype or 0 in _shape(plan, x) for x in operands):
        return None
    if line.name == "einsum":
        inputs, output = line.args[0].replace(" ", "").split("->")
        terms = inputs.split(",")
        if "." not in inputs:
            diagonals = [_take_diagonal(plan, *x) for x in zip(terms, operands, strict=True)]
            terms, operands = [x for x, _ in diagonals], [x for _, x in diagonals]
    elif line.name == "mul":
        output = _LETTERS[: len(line.shape)]
        terms = [output[len(output) - len(_shape(plan, x)) :] for x in operands]
    else:
        left, right = (len(_shape(plan, x)) for x in operands)
        if max(left, right) < 3:
            return None
        batch = _LETTERS[: max(left, right) - 2]
        row, column = "x" * (left > 1), "z" * (right > 1)
        terms = [
            f"{batch[len(batch) - left + 2 :] if row else ''}{row}y",
            f"{batch[len(batch) - right + 2 :] if column else ''}y{column}",
        ]
        output = f"{batch}{row}{column}"
    plain = all(len(set(term)) == len(term) and "." not in term for term in terms)
    return (terms, output, operands) if plain else None


def _take_diagonal(plan: LoopSchedule, term: str, x: Any) -> tuple[str, Any]:
    """Return the elements of a factor for which axes with the same letter have the same index."""
    repeated = next((letter for letter in term if term.count(letter) > 1), None)
    if repeated is None:
        return term, x
    first, second = term.index(repeated), term.rindex(repeated)
    others = [k for k in range(len(term)) if k not in (first, second)]
    left = "".join([term[k] for k in others])
    dtype, full = _dtype(plan, x), _shape(plan, x)
    shape, n = tuple([full[k] for k in others]), full[first]
    if type(x) is not Ref:
        x = np.ascontiguousarray(np.diagonal(x, axis1=first, axis2=second))
        return _take_diagonal(plan, left + repeated, x)
    order, each = (*others, first, second), (*[slice(None)] * len(shape), slice(None, None, n + 1))
    x = plan.append(Line(TABLE["transpose"], (x, order), {}, (*shape, n, n), dtype))
    x = plan.append(Line(TABLE["reshape"], (x, (*shape, n * n)), {}, (*shape, n * n), dtype))
    x = plan.append(Line(TABLE["getitem"], (x, each), {}, (*shape, n), dtype))
    return _take_diagonal(plan, left + repeated, x)


def _shape(plan: LoopSchedule, x: Any) -> tuple[int, ...]:
    shape: tuple[int, ...] = plan.lines[x].shape if type(x) is Ref else x.shape
    return shape


def _dtype(plan: LoopSchedule, x: Any) -> Any:
    return plan.lines[x].dtype if type(x) is Ref else x.dtype


def _multiply(
    plan: LoopSchedule,
    terms: list[str],
    output: str,
    operands: list[Any],
    line: Line,
    matrices: bool = False,
) -> Line | None:
    """Return a product of matrices or vectors, or a stack of them, if BLAS should compute it.

    An axis of length 1 is dropped where the other factor is longer. With `matrices`, only
    products of large matrices are returned.
    """
    sizes = _sizes(plan, terms, operands)
    own = _find_letters(plan, terms, operands)
    result = [x for x in output if sizes[x] > 1]
    if result and result[-1] in own[0] and result[-1] not in own[1]:
        terms, operands, own = terms[::-1], operands[::-1], own[::-1]
    rows, columns = ([x for x in own[k] if x in result and x not in own[1 - k]] for k in (0, 1))
    both = [x for x in own[0] if x in own[1]]
    inner = [x for x in both if x not in result]
    batch = [x for x in result if x in both]
    large = [math.prod([sizes[x] for x in letters]) for letters in (rows, inner, columns)]
    if not inner or not _is_for_blas(plan, bool(batch) or matrices, *large):
        return None
    if not plan.alone:
        operands = _sum_first(plan, terms, output, operands)
    elif set(own[0] + own[1]) - set(both + result):
        return None
    stack = [[x] for x in batch]
    left = _lay(plan, operands[0], terms[0], [*stack, *[rows] * bool(rows), inner], sizes)
    right = _lay(plan, operands[1], terms[1], [*stack, inner, *[columns] * bool(columns)], sizes)
    order = [*batch, *rows, *columns]
    groups = [*stack, *[rows] * bool(rows), *[columns] * bool(columns)]
    shape = tuple([math.prod([sizes[x] for x in group]) for group in groups])
    product = line._replace(what=TABLE["matmul"], args=(left, right), shape=shape)
    if order == result and shape == line.shape:
        return product
    apart = tuple([sizes[x] for x in order])
    place = plan.append(product)
    place = plan.append(line._replace(what=TABLE["reshape"], args=(place, apart), shape=apart))
    axes = tuple([order.index(x) for x in result])
    turned = tuple([apart[axis] for axis in axes])
    place = plan.append(line._replace(what=TABLE["transpose"], args=(place, axes), shape=turned))
    return line._replace(what=TABLE["reshape"], args=(place, line.shape))


def _is_for_blas(plan: LoopSchedule, many: bool, rows: int, terms: int, columns: int) -> bool:
    """Tell whether BLAS is faster than a loop over all multiplications."""
    if plan.alone or not many:
        return not many
    return min(rows, columns) > 1 and terms > SHORT_SUM and rows * terms * columns > SMALL


def _sum_first(plan: LoopSchedule, terms: list[str], output: str, operands: list[Any]) -> list[Any]:
    """Return the factors, summed over the letters that neither another one nor the result has."""
    own = _find_letters(plan, terms, operands)
    made = []
    for k, letters in enumerate(own):
        others = {*output, *[letter for other in own[:k] + own[k + 1 :] for letter in other]}
        alone = [letter for letter in letters if letter not in others]
        made.append(_sum_over(plan, operands[k], terms[k], alone))
    return made


def _find_letters(plan: LoopSchedule, terms: list[str], operands: list[Any]) -> list[list[str]]:
    """Return the letters of each factor whose axes are longer than 1."""
    return [
        [x for x, n in zip(term, _shape(plan, operand), strict=True) if n > 1]
        for term, operand in zip(terms, operands, strict=True)
    ]


def _sum_over(plan: LoopSchedule, x: Any, term: str, letters: list[str]) -> Any:
    """Return a factor summed over letters that no other has; those axes stay, with length 1."""
    if not letters:
        return x
    axes = tuple([term.index(letter) for letter in letters])
    if type(x) is not Ref:
        return np.sum(x, axis=axes, keepdims=True)
    shape = keep_dims(_shape(plan, x), axes)
    return plan.append(Line(TABLE["sum"], (x, axes, True), {}, shape, _dtype(plan, x)))


def _lay(
    plan: LoopSchedule, x: Any, term: str, groups: list[list[str]], sizes: dict[str, int]
) -> Any:
    """Return an array with one axis for each group of letters, in this order."""
    kept = [letter for group in groups for letter in group]
    axes = tuple([term.index(letter) for letter in [c for c in term if c not in kept] + kept])
    shape = tuple([math.prod([sizes[letter] for letter in group]) for group in groups])
    if type(x) is not Ref:
        return np.ascontiguousarray(np.transpose(x, axes).reshape(shape))
    if axes != tuple(range(len(axes))):
        full = _shape(plan, x)
        turned = tuple([full[axis] for axis in axes])
        x = plan.append(Line(TABLE["transpose"], (x, axes), {}, turned, _dtype(plan, x)))
    if shape != _shape(plan, x):
        x = plan.append(Line(TABLE["reshape"], (x, shape), {}, shape, _dtype(plan, x)))
    return x


def _transpose_to(plan: LoopSchedule, x: Any, term: str, order: list[str]) -> Any:
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
    plan: LoopSchedule,
    terms: list[str],
    output: str,
    operands: list[Any],
    sizes: dict[str, int],
    line: Line,
) -> Line | None:
    """Return the sum over the product of all factors, with their axes aligned."""
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
