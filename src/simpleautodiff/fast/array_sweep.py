"""The reverse sweep for arrays: adjoints are added in place, and multiplications are merged."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import cache
from sys import getrefcount
from typing import Any

import numpy as np

from simpleautodiff.core.level import REFUSED
from simpleautodiff.core.linear import ZERO, Linear, LinearRule, PartialAdjoint, plus, pull
from simpleautodiff.core.node import Constant, Node
from simpleautodiff.core.primitive import TABLE, Primitive
from simpleautodiff.fast.cache_blocks import add_scaled, blocks
from simpleautodiff.fast.faster_values import ADD_IN_PLACE, FASTER_PULLS, UNMASKED, fit_quickly
from simpleautodiff.fast.finite_slopes import has_singular_slopes
from simpleautodiff.fast.limits import LIMITS
from simpleautodiff.fast.memory_pool import (
    POOL,
    compute_pooled,
    has_own_memory,
    unbuffered,
)

ROOM = {4: 2.0**16, 8: 2.0**32, 16: 2.0**32}  # factors between 1/this and this can be deferred


# A contribution to an adjoint: an array; a factor still to be multiplied; whether nothing else
# refers to the array; whether it is, or is a view of, the adjoint it comes from. There are many,
# and creating a plain tuple takes a fifth of the time of a named one.
Term = tuple[Any, float, bool, bool]
NUMPY = {np.ndarray, np.float64}
DIVISORS = {*NUMPY, float, int}
_FIRST = [0]
NOTHING: Term = (ZERO, 1.0, False, False)


def _count_alone() -> int:
    """Return the reference count of an object that only one variable refers to."""
    array = np.empty(0)
    return getrefcount(array)


ALONE = _count_alone()


class Scaled:
    """An adjoint as a large array and a factor by which it is still to be multiplied.

    Most factors are combined with another before the array is needed, which saves a pass over it.
    """

    __slots__ = ("array", "factor")
    __array_ufunc__ = None  # makes NumPy call `__radd__` below

    def __init__(self, array: Any, factor: float) -> None:
        self.array = array
        self.factor = factor

    def __add__(self, other: Any) -> Any:
        return self.array * self.factor + other

    __radd__ = __add__


@cache
def _pull_of(primitive: Primitive, rule: LinearRule) -> Any:
    """Return the function that pulls an adjoint back through a linear rule."""
    faster = FASTER_PULLS.get(primitive.name) if primitive.listed else None
    return faster(rule.pull) if faster else rule.pull


class ArraySweep:
    """The part of a reverse sweep that handles arrays.

    An adjoint that was computed here, so that nothing else refers to it, is `owned`: further terms
    are added to it in place. In the last sweep (`once`), factors of large arrays are deferred
    (`Scaled`) until the arrays are needed.
    """

    def __init__(self, tape: Sequence[Node], bar: list[Any], once: bool) -> None:
        self.tape = tape
        self.masks: bool | None = None  # whether structural zeros must be tracked; None: unknown
        self.bar = bar
        self.once = once
        self.owned: set[int] = set()
        self.rows = tuple([TABLE[name] for name in ("add", "sub", "mul", "div")])

    def pull_small(self, node: Node, adjoint: Any) -> None:
        """Carry back a small adjoint, or one that is not NumPy's.

        Here Python's overhead dominates NumPy's work, so the commonest rows are written out.
        """
        primitive, args = node.primitive, node.args
        added, subtracted, multiplied, divided = self.rows
        if primitive is added or primitive is subtracted:
            a, b = args
            if type(a) is Node:
                self._add_small(a, adjoint)
            if type(b) is Node:
                self._add_small(b, adjoint if primitive is added else -adjoint)
        elif primitive is multiplied:
            a, b = args
            if type(a) is Node:
                y = b.value if type(b) is Node or type(b) is Constant else b
                self._add_small(a, adjoint * y)
            if type(b) is Node:
                x = a.value if type(a) is Node or type(a) is Constant else a
                self._add_small(b, adjoint * x)
        elif len(args) == 1:
            (arg,) = args
            term = self._pull_argument(node, 0, adjoint, (arg.value,))
            if term is not ZERO:
                self._add_small(arg, term)
        elif primitive is not divided or not self._pull_quotient(node, adjoint):
            values = [x.value if type(x) is Node or type(x) is Constant else x for x in args]
            for k, arg in enumerate(args):
                if type(arg) is Node:
                    term = self._pull_argument(node, k, adjoint, values)
                    if term is not ZERO:
                        self._add_small(arg, term)

    def _pull_quotient(self, node: Node, adjoint: Any) -> bool:
        """Carry an adjoint back through x / y with one reciprocal, if all are NumPy's numbers."""
        (a, b), v = node.args, node.value
        y = b.value if type(b) is Node else b
        if type(adjoint) not in NUMPY or type(v) not in NUMPY or type(y) not in DIVISORS:
            return False
        if type(y) is not np.ndarray:
            if not y:
                return False
            slope = 1 / y
        else:
            slope = np.reciprocal(y) if y.dtype.kind == "f" else 1 / y
        if type(a) is Node:
            self._add_small(a, adjoint * slope)
        if type(b) is Node:
            self._add_small(b, adjoint * (-v * slope))
        return True

    def _pull_argument(self, node: Node, k: int, adjoint: Any, values: Sequence[Any]) -> Any:
        """Return the contribution of a small adjoint to one argument, from its rule."""
        primitive: Any = node.primitive
        rule = primitive.partials[k]
        if type(rule) is LinearRule:
            arg = node.args[k]
            add = ADD_IN_PLACE.get(primitive.name)
            add = None if add and self._needs_masks(arg) else add
            if add and type(arg.value) is np.ndarray and arg.value.size > LIMITS.small:
                given = (adjoint, 1.0, False, False)
                if self._add_in_place(add, arg, given, values):
                    return ZERO
            return self._pull_of(primitive, rule, arg)(adjoint, *values)
        if type(rule) is int:
            return adjoint if rule == 1 else -adjoint
        try:
            slope = rule(node.value, *values)
        except REFUSED:
            slope = primitive.partial(k, node.value, tuple(values))
        return adjoint * slope if type(slope) is np.ndarray else pull(slope, adjoint)

    def _pull_of(self, primitive: Primitive, rule: LinearRule, arg: Node) -> Any:
        """Return the function that pulls an adjoint back through a linear rule."""
        if primitive.name in UNMASKED and not self._needs_masks(arg):
            return UNMASKED[primitive.name]
        return _pull_of(primitive, rule)

    def _needs_masks(self, arg: Node) -> bool:
        """Tell whether the adjoint of a node may be multiplied by a slope that is infinite or nan.

        Then structural zeros must be told from other zeros. Inputs have no slopes.
        """
        if arg.primitive is None:
            return False
        if self.masks is None:
            with np.errstate(all="ignore"):
                self.masks = has_singular_slopes(self.tape)
        return self.masks

    def _add_small(self, arg: Node, term: Any) -> None:
        """Add a contribution to the adjoint of a parent."""
        like, i, bar = arg.value, arg.index, self.bar
        if (
            type(term) is not np.ndarray
            or type(like) is not np.ndarray
            or term.shape != like.shape
            or term.dtype is not like.dtype
        ) and not (type(term) is np.float64 and type(like) is np.float64):
            term = fit_quickly(term, like)
        old = bar[i]
        if old is not None:
            term = old + term if type(term) is np.ndarray else plus(old, term)
        bar[i] = term

    def pull_large(self, node: Node, adjoint: Any, factor: float) -> None:
        """Carry back a large adjoint with as few new arrays as possible."""
        args, rules = node.args, node.primitive.partials  # type: ignore[union-attr]
        parents = _FIRST
        if len(args) > 1:
            parents = [k for k, arg in enumerate(args) if type(arg) is Node]
        values: tuple[Any, ...] | None = None
        spare = self.once and node.index in self.owned  # nothing else refers to this adjoint
        for k in parents:
            rule, last = rules[k], spare and k == parents[-1]
            if type(rule) is not int:
                values = node.values() if values is None else values
                term = self._term(node, k, (adjoint, factor, last, False), values)
            elif rule == 1:
                term = (adjoint, factor, last, True)
            else:
                term = self._multiply_by_number((adjoint, factor, last, False), rule)
            stays = term[0] is not ZERO and self._add_large(args[k], term)
            spare = spare and not (stays and term[3])

    def _term(self, node: Node, k: int, adjoint: Term, values: tuple[Any, ...]) -> Term:
        """Return a contribution; it reuses the adjoint's memory if that is not needed again."""
        primitive: Any = node.primitive
        rule = primitive.partials[k]
        array, factor, spare, _ = adjoint
        if type(rule) is LinearRule:
            arg = node.args[k]
            add = ADD_IN_PLACE.get(primitive.name)
            add = None if add and self._needs_masks(arg) else add
            if add and self._add_in_place(add, arg, adjoint, values):
                return NOTHING
            if not rule.moves and 0 in array.strides:
                array = array.copy()  # matrix products are slow with strides of 0
            pull_back = self._pull_of(primitive, rule, arg)
            pulled = pull_back(array, *values)
            if isinstance(pulled, PartialAdjoint):
                return (pull_back(scale(array, factor), *values), 1.0, False, True)
            new = has_own_memory(pulled) and getrefcount(pulled) == ALONE
            return (pulled, factor, new, not new)
        place = array if spare else None
        if primitive is not self.rows[2]:  # the slopes of this row are existing arrays
            waiting = self._defer_number(node, k, adjoint, values)
            if waiting is not None:
                return waiting
            product = _multiply_by_blocks(node, k, array, values, place)
            if isinstance(product, PartialAdjoint):
                scaled = scale(product.array, factor, True)
                return (product.like(scaled, product.mask), 1.0, False, spare)
            if product is not None:
                return (product, factor, True, spare)
        slope = primitive.partial(k, node.value, values)
        if isinstance(slope, Linear) or slope is ZERO:
            return (pull(slope, scale(array, factor)), 1.0, False, True)
        if type(slope) is int or type(slope) is float:
            return self._multiply_by_number(adjoint, slope)
        if place is not None and _same_layout(slope, array):
            return (unbuffered(np.multiply, array, slope, out=place), factor, True, spare)
        return (compute_pooled(operator.mul, array, slope), factor, True, False)

    def _defer_number(
        self, node: Node, k: int, adjoint: Term, values: tuple[Any, ...]
    ) -> Term | None:
        """Return the slope with a deferred factor, if all elements of the adjoint are one number.

        Larger slopes are better computed in blocks, which can reuse the memory of the operand.
        """
        array, factor, _, _ = adjoint
        if not self.once or array.size > 2 * LIMITS.block or any(array.strides):
            return None
        number = factor * float(array.flat[0]) if array.dtype.kind == "f" else 0.0
        slope = node.primitive.partial(k, node.value, values)  # type: ignore[union-attr]
        if _same_layout(slope, array) and has_own_memory(slope) and getrefcount(slope) == ALONE:
            return (slope, number, True, False) if _can_defer(number, array) else None
        return None

    def _multiply_by_number(self, adjoint: Term, slope: float) -> Term:
        """Multiply an adjoint by a number, deferred if possible."""
        array, factor, spare, _ = adjoint
        if slope == 1:
            return (array, factor, spare, True)
        if self.once and _can_defer(factor * slope, array):
            return (array, factor * slope, spare, True)
        spare = spare and array.dtype.kind in "fc"
        product = scale(array, factor, spare)
        product = scale(product, slope, spare or product is not array)
        return (product, 1.0, True, spare)

    def _add_large(self, arg: Node, term: Term) -> bool:
        """Add a contribution to the adjoint of a parent; tell whether its array is used there."""
        array, factor, new, _ = term
        if not _same_layout(array, arg.value):
            array, new = fit_quickly(array, arg.value), False
        if factor != 1 and (type(array) is not np.ndarray or array.size <= LIMITS.small):
            array, factor = array * factor, 1.0
        i = arg.index
        old = self.bar[i]
        if old is not None:
            return self._add(i, old, array, factor, new)
        self.bar[i] = array if factor == 1 else Scaled(array, factor)
        if new:
            self.owned.add(i)
        return True

    def _add(self, i: int, old: Any, array: Any, factor: float, new: bool) -> bool:
        """Add a term to an adjoint, in place if nothing else refers to one of them.

        Returns whether the array of the term is used for the sum.
        """
        before, of_old = (old.array, old.factor) if type(old) is Scaled else (old, 1.0)
        if type(before) is not np.ndarray or not _same_layout(array, before):
            self.bar[i] = plus(old, scale(array, factor))
            if type(self.bar[i]) is np.ndarray:
                self.owned.add(i)
            return True
        if array is before and self.once and _can_defer(of_old + factor, array):
            self.bar[i] = Scaled(array, of_old + factor)
            return True
        owned = i in self.owned
        place = before if owned else array if new else POOL.output_like(before)
        if abs(factor) <= abs(of_old):  # the opposite ratio might overflow
            total = add_scaled(before, array, factor / of_old, place, new)
        else:
            total = add_scaled(array, before, of_old / factor, place, owned)
            of_old = factor
        self.bar[i] = total if of_old == 1 else Scaled(total, of_old)
        self.owned.add(i)
        return total is array

    def _add_in_place(self, add: Any, arg: Node, term: Term, values: Sequence[Any]) -> bool:
        """Add the adjoint of a few elements of a large array in place, if possible."""
        like, i = arg.value, arg.index
        adjoint, factor, spare, _ = term
        if type(like) is not np.ndarray or like.size <= LIMITS.small:
            return False
        if not isinstance(adjoint, (np.ndarray, np.generic)):
            return False  # a node or a batch cannot be added to an array
        old = self.bar[i]
        total, of_old = (old.array, old.factor) if type(old) is Scaled else (old, 1.0)
        if adjoint.dtype != like.dtype or (
            total is not None and (type(total) is not np.ndarray or total.dtype != like.dtype)
        ):
            return False
        if total is None:
            total, of_old = POOL.zeros(like), factor
        elif i not in self.owned:
            total = total.copy()
        ratio = factor / of_old
        if not _can_defer(ratio, total):
            total, of_old, ratio = scale(total, of_old, True), 1.0, factor
        if spare and adjoint.size <= LIMITS.near:
            adjoint, ratio = scale(adjoint, ratio, True), 1.0
        add(total, adjoint, ratio, *values)
        self.bar[i] = total if of_old == 1 else Scaled(total, of_old)
        self.owned.add(i)
        return True

    def settle(self, i: int, adjoint: Scaled) -> None:
        """Apply the deferred factor of the adjoint of an input."""
        self.bar[i] = scale(adjoint.array, adjoint.factor, i in self.owned)

    def pull_partial(self, node: Node, adjoint: PartialAdjoint) -> None:
        """Carry back an adjoint some of whose elements are structural zeros."""
        if not self._needs_masks(node):
            array = adjoint.filled()
            if type(array) is np.ndarray and array.size > LIMITS.medium:
                self.pull_large(node, array, 1.0)
            else:
                self.pull_small(node, array)
            return
        terms = self._terms_if_finite(node, adjoint)
        if terms is None:
            parents = [k for k, arg in enumerate(node.args) if type(arg) is Node]
            terms = [(k, pull(adjoint.local_derivative(node, k), adjoint)) for k in parents]
        for k, term in terms:
            arg = node.args[k]
            if term is not ZERO:
                term, old = fit_quickly(term, arg.value), self.bar[arg.index]
                self.bar[arg.index] = term if old is None else plus(old, term)
                self.owned.discard(arg.index)

    def _terms_if_finite(self, node: Node, adjoint: PartialAdjoint) -> list[tuple[int, Any]] | None:
        """Return the contributions of a large adjoint as if it had no structural zeros.

        If everything is finite, structural zeros stay 0 by themselves; otherwise return None.
        """
        array, primitive, values = adjoint.array, node.primitive, node.values()
        assert primitive is not None
        if type(array) is not np.ndarray or array.size <= LIMITS.medium or primitive.arrays:
            return None
        terms: list[tuple[int, Any]] = []
        with np.errstate(all="ignore"):
            for k, arg in enumerate(node.args):
                if type(arg) is not Node:
                    continue
                rule = primitive.partials[k]
                if type(rule) is int and rule == 1:
                    found, factor = array, 1.0
                elif type(rule) is int or not _same_layout(arg.value, array):
                    return None
                else:
                    found, factor, _, _ = self._term(node, k, (array, 1.0, False, False), values)
                if not _same_layout(found, array):
                    return None
                found = scale(found, factor)
                if found is not array and not np.isfinite(np.add.reduce(found, None)):
                    return None
                terms.append((k, adjoint.like(found, adjoint.mask)))
        return terms


def _multiply_by_blocks(
    node: Node, k: int, adjoint: Any, values: tuple[Any, ...], product: Any
) -> Any | None:
    """Multiply an adjoint by a slope, computing both in blocks that fit into the caches.

    The result is written to `product` if that is given. None is returned if the slope is no array,
    is an existing array, or is not elementwise.
    """
    primitive = node.primitive
    assert primitive is not None
    given = (node.value, *values)
    if TABLE.get(primitive.name) is not primitive or primitive.arrays or primitive.settings:
        return None
    if not adjoint.ndim or not all(
        [_same_layout(x, adjoint) or type(x) is float or type(x) is int for x in given]
    ):
        return None
    part, masks = None, []  # a partial product, and the mask of each block
    for block in blocks(adjoint, LIMITS.block):
        v, *xs = [x[block] if type(x) is np.ndarray else x for x in given]
        slope = primitive.partial(k, v, tuple(xs))
        part = pull(slope, adjoint[block]) if isinstance(slope, Linear) else None
        if isinstance(part, PartialAdjoint):
            masks.append((block, part.mask))
        elif type(slope) is not np.ndarray or slope is v or any([slope is x for x in xs]):
            return None
        if product is None:
            product = POOL.empty_like(adjoint)
        if part is None:
            np.multiply(adjoint[block], slope, out=product[block])
        else:
            product[block] = part.array
    if part is None:
        return product
    whole = np.empty(product.shape, np.bool_)
    for block, mask in masks:
        whole[block] = mask
    return part.like(product, whole)


def scale(array: Any, factor: float, spare: bool = False) -> Any:
    """Multiply by a deferred factor; in place if the array is not needed again."""
    if factor == 1:
        return array
    return (
        np.multiply(array, factor, out=array)
        if spare
        else compute_pooled(operator.mul, array, factor)
    )


def _can_defer(factor: float, array: Any) -> bool:
    """Tell whether a multiplication can be deferred without overflow or underflow.

    The array may later be multiplied by the ratio of two factors, for which float16 has no room.
    """
    most = ROOM.get(array.dtype.itemsize, 1.0) if array.dtype.kind == "f" else 1.0
    return 1 / most < abs(factor) < most


def _same_layout(a: Any, b: Any) -> bool:
    """Tell whether two arrays have the same shape and dtype."""
    if type(a) is not np.ndarray or type(b) is not np.ndarray:
        return False
    return a.shape == b.shape and a.dtype is b.dtype
