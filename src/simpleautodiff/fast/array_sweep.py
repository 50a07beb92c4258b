"""The reverse sweep for large arrays: adjoints are added in place, multiplications are merged."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from sys import getrefcount
from typing import Any

import numpy as np

from simpleautodiff.core.linear import ZERO, Linear, LinearRule, PartialAdjoint, plus, pull
from simpleautodiff.core.node import Node, TapeNode
from simpleautodiff.core.primitive import TABLE
from simpleautodiff.fast.cache_blocks import add_scaled
from simpleautodiff.fast.deferred_factors import (
    Scaled,
    can_defer,
    multiply_by_blocks,
    same_layout,
    scale,
)
from simpleautodiff.fast.faster_values import ADD_IN_PLACE, fit_quickly
from simpleautodiff.fast.memory_pool import POOL, call_unbuffered, compute_pooled, has_own_memory
from simpleautodiff.fast.small_sweep import SmallSweep
from simpleautodiff.fast.thresholds import THRESHOLDS

# A contribution to an adjoint: an array; a factor still to be multiplied; whether nothing else
# refers to the array; whether it is, or is a view of, the adjoint it comes from. There are many,
# and creating a plain tuple takes a fifth of the time of a named one.
Term = tuple[Any, float, bool, bool]
_FIRST = [0]
NOTHING: Term = (ZERO, 1.0, False, False)


def _count_alone() -> int:
    """Return the reference count of an object that only one variable refers to."""
    array = np.empty(0)
    return getrefcount(array)


ALONE = _count_alone()


class ArraySweep(SmallSweep):
    """The part of a reverse sweep that handles arrays, small or large.

    Further terms are added in place to large adjoints that are `owned`. In the last sweep (`once`),
    factors of large arrays are deferred (`Scaled`) until the arrays are needed.
    """

    def pull_large(self, node: Node, adjoint: Any, factor: float) -> None:
        """Carry back a large adjoint with as few new arrays as possible."""
        args, rules = node.args, node.primitive.partials  # type: ignore[union-attr]
        parents = _FIRST
        if len(args) > 1:
            parents = [k for k, arg in enumerate(args) if type(arg) is TapeNode]
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
            add = None if add and self.needs_masks(arg) else add
            if add and self.add_in_place(add, arg, adjoint, values):
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
        if primitive is not TABLE["mul"]:  # the slopes of this row are existing arrays
            waiting = self._defer_number(node, k, adjoint, values)
            if waiting is not None:
                return waiting
            product = multiply_by_blocks(node, k, array, values, place)
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
        if place is not None and same_layout(slope, array):
            return (call_unbuffered(np.multiply, array, slope, out=place), factor, True, spare)
        return (compute_pooled(operator.mul, array, slope), factor, True, False)

    def _defer_number(
        self, node: Node, k: int, adjoint: Term, values: tuple[Any, ...]
    ) -> Term | None:
        """Return the slope with a deferred factor, if all elements of the adjoint are one number.

        Larger slopes are better computed in blocks, which can reuse the memory of the operand.
        """
        array, factor, _, _ = adjoint
        if not self.once or array.size > 2 * THRESHOLDS.block or any(array.strides):
            return None
        number = factor * float(array.flat[0]) if array.dtype.kind == "f" else 0.0
        slope = node.primitive.partial(k, node.value, values)  # type: ignore[union-attr]
        if same_layout(slope, array) and has_own_memory(slope) and getrefcount(slope) == ALONE:
            return (slope, number, True, False) if can_defer(number, array) else None
        return None

    def _multiply_by_number(self, adjoint: Term, slope: float) -> Term:
        """Multiply an adjoint by a number, deferred if possible."""
        array, factor, spare, _ = adjoint
        if slope == 1:
            return (array, factor, spare, True)
        if self.once and can_defer(factor * slope, array):
            return (array, factor * slope, spare, True)
        spare = spare and array.dtype.kind in "fc"
        product = scale(array, factor, spare)
        product = scale(product, slope, spare or product is not array)
        return (product, 1.0, True, spare)

    def _add_large(self, arg: Node, term: Term) -> bool:
        """Add a contribution to the adjoint of a parent; tell whether its array is used there."""
        array, factor, new, _ = term
        if not same_layout(array, arg.value):
            array, new = fit_quickly(array, arg.value), False
        if factor != 1 and (type(array) is not np.ndarray or array.size <= THRESHOLDS.small):
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
        if type(before) is not np.ndarray or not same_layout(array, before):
            self.bar[i] = plus(old, scale(array, factor))
            if type(self.bar[i]) is np.ndarray:
                self.owned.add(i)
            return True
        if array is before and self.once and can_defer(of_old + factor, array):
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

    def add_in_place(self, add: Any, arg: Node, term: Term, values: Sequence[Any]) -> bool:
        """Add the adjoint of a few elements of a large array in place, if possible."""
        like, i = arg.value, arg.index
        adjoint, factor, spare, _ = term
        if type(like) is not np.ndarray or like.size <= THRESHOLDS.small:
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
        if not can_defer(ratio, total):
            total, of_old, ratio = scale(total, of_old, True), 1.0, factor
        if spare and adjoint.size <= THRESHOLDS.near:
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
        if not self.needs_masks(node):
            array = adjoint.filled()
            if type(array) is np.ndarray and array.size > THRESHOLDS.medium:
                self.pull_large(node, array, 1.0)
            else:
                self.pull_small(node, array)
            return
        terms = self._terms_if_finite(node, adjoint)
        if terms is None:
            parents = [k for k, arg in enumerate(node.args) if type(arg) is TapeNode]
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
        if type(array) is not np.ndarray or array.size <= THRESHOLDS.medium or primitive.arrays:
            return None
        terms: list[tuple[int, Any]] = []
        with np.errstate(all="ignore"):
            for k, arg in enumerate(node.args):
                if type(arg) is not TapeNode:
                    continue
                rule = primitive.partials[k]
                if type(rule) is int and rule == 1:
                    found, factor = array, 1.0
                elif type(rule) is int or not same_layout(arg.value, array):
                    return None
                else:
                    found, factor, _, _ = self._term(node, k, (array, 1.0, False, False), values)
                if not same_layout(found, array):
                    return None
                found = scale(found, factor)
                if found is not array and not np.isfinite(np.add.reduce(found, None)):
                    return None
                terms.append((k, adjoint.like(found, adjoint.mask)))
        return terms
