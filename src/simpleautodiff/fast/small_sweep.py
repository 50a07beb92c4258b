"""The reverse sweep for small arrays, where Python's overhead dominates NumPy's work."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from simpleautodiff.core.level import REFUSED
from simpleautodiff.core.linear import ZERO, LinearRule, plus, pull
from simpleautodiff.core.node import Constant, Node, TapeNode
from simpleautodiff.core.primitive import Primitive
from simpleautodiff.fast.direct_pulls import NUMPY_TYPES, PULLS
from simpleautodiff.fast.faster_values import ADD_IN_PLACE, UNMASKED, fit_quickly
from simpleautodiff.fast.finite_slopes import has_singular_slopes
from simpleautodiff.fast.freed_memory import keep_freed_memory
from simpleautodiff.fast.thresholds import THRESHOLDS

_add = np.add
_ARRAY, _DOUBLE = np.ndarray, np.dtype(float)
_PYTHON = {int, float}
_SINGLE = {*_PYTHON, np.float64}


def find_slope(primitive: Any, k: int, value: Any, values: Sequence[Any]) -> Any:
    """Return a local derivative, by its rule alone if nothing has to be widened or explained."""
    rule = primitive.partials[k]
    if type(rule) is int or not callable(rule):
        return rule
    if len(values) == 1 or type(value) is float or _are_alike(value, values):
        try:
            return rule(value, *values)
        except REFUSED:
            pass  # which the row explains, or turns into NumPy's inf or nan
    return primitive.partial(k, value, tuple(values))


def _are_alike(value: Any, values: Sequence[Any]) -> bool:
    """Tell whether values have the dtype of a result of NumPy, or are Python's numbers."""
    if type(value) is np.float64 and _SINGLE.issuperset(map(type, values)):
        return True
    if type(value) not in NUMPY_TYPES:
        return False
    dtype = value.dtype
    return all([x.dtype is dtype if type(x) in NUMPY_TYPES else type(x) in _PYTHON for x in values])


class SmallSweep:
    """The part of a reverse sweep that handles small arrays.

    Broadcast terms have to be summed. An adjoint that was computed here, so that nothing else
    refers to it, is `owned`: adjoints of its elements are added to it in place.

    Where a slope is infinite or nan, structural zeros must be told from other zeros. That is
    expensive and rarely needed. So the sweep guesses that there are no such slopes, if it can be
    repeated: the product of a structural zero and such a slope is nan, which stays nan to the end.
    """

    def __init__(
        self, tape: Any, bar: list[Any], once: bool, masks: bool | None, partly: bool
    ) -> None:
        self.tape = tape
        self.bar = bar
        self.once = once
        self.masks = masks  # whether structural zeros must be tracked
        self.partly = partly  # whether adjoints of inputs keep them, too
        self.guess: Any = None  # how NumPy treats errors, if its warnings are off for a guess
        self.owned: set[int] = set()
        keep_freed_memory()

    def end(self) -> bool:
        """End the sweep; tell whether it has guessed that no slope is infinite."""
        if self.guess is not None:
            np.seterr(**self.guess)
        return self.guess is not None

    def pull_small(self, node: Node, adjoint: Any) -> None:
        """Carry back a small adjoint, or one that is not NumPy's."""
        direct = PULLS.get(node.primitive)  # type: ignore[arg-type]
        if direct is None or not direct(self, node, adjoint):
            self.pull_by_rules(node, adjoint)

    def pull_by_rules(self, node: Node, adjoint: Any) -> None:
        """Carry back an adjoint by the rules of the row."""
        args = node.args
        values = [x.value if type(x) is TapeNode or type(x) is Constant else x for x in args]
        for k, arg in enumerate(args):
            if type(arg) is TapeNode:
                term = self._pull_argument(node, k, adjoint, values)
                if term is not ZERO:
                    self.add(arg, term)

    def _pull_argument(self, node: Node, k: int, adjoint: Any, values: Sequence[Any]) -> Any:
        """Return the contribution of a small adjoint to one argument, from its rule."""
        primitive: Any = node.primitive
        rule = primitive.partials[k]
        if type(rule) is LinearRule:
            arg = node.args[k]
            if self._add_elements(primitive, arg, adjoint, values):
                return ZERO
            return self._pull_of(primitive, rule, arg)(adjoint, *values)
        slope = find_slope(primitive, k, node.value, values)
        return adjoint * slope if type(slope) is np.ndarray else pull(slope, adjoint)

    def _add_elements(self, primitive: Any, arg: Node, adjoint: Any, values: Sequence[Any]) -> bool:
        """Add the adjoint of a few elements of a large array in place, if possible."""
        add = ADD_IN_PLACE.get(primitive.name)
        if add is None or type(arg.value) is not np.ndarray or arg.value.size <= THRESHOLDS.small:
            return False
        given = (adjoint, 1.0, False, False)
        return not self.needs_masks(arg) and self.add_in_place(add, arg, given, values)

    def add_in_place(self, add: Any, arg: Node, term: Any, values: Sequence[Any]) -> bool:
        """Add the adjoint of a few elements of a large array in place, if possible."""
        raise NotImplementedError

    def _pull_of(self, primitive: Primitive, rule: LinearRule, arg: Node) -> Any:
        """Return the function that pulls an adjoint back through a linear rule."""
        if primitive.name in UNMASKED and not self.needs_masks(arg):
            return UNMASKED[primitive.name]
        return rule.pull

    def needs_masks(self, arg: Node) -> bool:
        """Tell whether the adjoint of a node may be multiplied by a slope that is infinite or nan.

        Then structural zeros must be told from other zeros. Inputs have no slopes.
        """
        if arg.primitive is None and not self.partly:
            return False
        if self.masks is None:
            self.masks = self._find_masks()
        return self.masks

    def is_free_of_masks(self, arg: Node) -> bool:
        """Tell whether no masks are needed, if that is known without a look at every slope."""
        known = self.masks is not None or self.tape.repeatable
        return known and not self.needs_masks(arg)

    def _find_masks(self) -> bool:
        if self.tape.can_be_swept_again():
            self.guess = np.geterr()
            np.seterr(all="ignore")
            return False
        with np.errstate(all="ignore"):
            return has_singular_slopes(self.tape)

    def add(self, arg: Node, term: Any) -> None:
        """Add a contribution to the adjoint of a parent."""
        like, i, bar = arg.value, arg.index, self.bar
        kind, wanted = type(term), type(like)
        if kind is _ARRAY and wanted is _ARRAY:
            if term.shape != like.shape or term.dtype is not like.dtype:
                term = fit_quickly(term, like)
        elif kind not in _SINGLE or wanted not in _SINGLE:
            term = fit_quickly(term, like)
            kind = type(term)
        old = bar[i]
        if old is None:
            bar[i] = term
        elif kind is _ARRAY and type(old) is _ARRAY:
            if i in self.owned and old.dtype is term.dtype:
                _add(old, term, old)
            else:
                bar[i] = old + term
                self.owned.add(i)
        else:
            bar[i] = old + term if type(term) is np.float64 else plus(old, term)

    def own(self, arg: Node, adjoint: Any) -> Any:
        """Return the adjoint of a small array, to be added to in place; None if it cannot be.

        An adjoint that is an array has no structural zeros, so that sums with it need no masks.
        """
        like, i, bar = arg.value, arg.index, self.bar
        total, kind = bar[i], type(adjoint)
        if type(like) is not _ARRAY or like.size > THRESHOLDS.small:
            return None
        dtype = like.dtype
        if kind is np.float64:
            if dtype is not _DOUBLE:
                return None
        elif kind is not float and (kind is not _ARRAY or adjoint.dtype is not dtype):
            return None
        if total is not None and (type(total) is not _ARRAY or total.dtype is not dtype):
            return None
        if i in self.owned:
            return total
        if self.needs_masks(arg):
            return None
        total = np.zeros(like.shape, dtype) if total is None else total.copy()
        bar[i] = total
        self.owned.add(i)
        return total
