"""One pass along a tape by the chain rule, forward or reverse.

A sweep fills a list, one place per node; None means "not reached", so the derivative is 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from sys import getrefcount
from typing import Any

import numpy as np

from simpleautodiff.keeping import SMALL
from simpleautodiff.linear import ZERO, Linear, LinearRule, Masked, pull, push
from simpleautodiff.node import Held, Node, Result, Tape, constant
from simpleautodiff.rules.piecewise import where
from simpleautodiff.rules.row import TABLE
from simpleautodiff.rules.shapes import fit, shape_of


def forward_sweep(tape: Tape, dot: list[Any]) -> None:
    """Carry tangents along the tape: v̇ = Σ over parents u of (∂v/∂u) u̇."""
    for node in tape:
        total = dot[node.index]
        if not any(type(arg) is Result and dot[arg.index] is not None for arg in node.args):
            continue
        for k, derivative in node.local_derivatives():
            tangent = dot[node.args[k].index]
            if tangent is None:
                continue
            term = push(derivative, tangent)
            if term is not ZERO:
                term = fit(term, node.value)
                total = term if total is None else total + term
        dot[node.index] = total


def reverse_sweep(tape: Tape, bar: list[Any], once: bool = False) -> None:
    """Carry adjoints back along the tape: ū gains v̄ (∂v/∂u) from each child v of u.

    `once` says that neither the tape nor the adjoints of what are no inputs are needed again: large
    arrays are freed as soon as the sweep has passed them.

    This loop is the time that reverse mode takes, so the commonest rows, + - * of single numbers,
    are written out; everything else goes by its rules.
    """
    plus, minus, times = TABLE["add"], TABLE["sub"], TABLE["mul"]
    result, held = Result, Held
    arrays: ArraySweep | None = None
    for node in reversed(tape):
        adjoint = bar[node.index]
        if adjoint is None:
            continue
        primitive = node.primitive
        if type(adjoint) is not float and type(adjoint) not in SINGLE:
            if primitive is not None:
                arrays = arrays or ArraySweep(bar, once)
                if type(adjoint) is not Masked and (
                    type(adjoint) is not np.ndarray or adjoint.size <= SMALL
                ):
                    arrays.pull_small(node, adjoint)
                    continue
                arrays.pull(node, adjoint)
                if once:
                    bar[node.index] = None
                    del tape[node.index :]
                    node.args = ()
        elif primitive is plus or primitive is minus:
            a, b = node.args
            if type(a) is result:
                i = a.index
                old = bar[i]
                bar[i] = adjoint if old is None else old + adjoint
            if type(b) is result:
                i = b.index
                old = bar[i]
                term = adjoint if primitive is plus else -adjoint
                bar[i] = term if old is None else old + term
        elif primitive is times:
            a, b = node.args
            if type(a) is result:
                i = a.index
                old = bar[i]
                term = adjoint * (b.value if type(b) is result or type(b) is held else b)
                bar[i] = term if old is None else old + term
            if type(b) is result:
                i = b.index
                old = bar[i]
                term = adjoint * (a.value if type(a) is result or type(a) is held else a)
                bar[i] = term if old is None else old + term
        elif primitive is not None:
            _pull_rules(node, adjoint, bar)


def _pull_rules(node: Node, adjoint: Any, bar: list[Any]) -> None:
    """Carry back the adjoint of a single number by the rules of its row."""
    args = node.args
    if len(args) == 1:
        (arg,) = args
        slope = _slope(node, 0, arg.value)
        term = adjoint * slope if type(slope) is float else pull(slope, adjoint)
        if term is not ZERO:
            old = bar[arg.index]
            bar[arg.index] = term if old is None else old + term
        return
    values = node.values()
    for k, arg in enumerate(args):
        if type(arg) is Result:
            term = pull(_slope(node, k, *values), adjoint)
            if term is not ZERO:
                old = bar[arg.index]
                bar[arg.index] = term if old is None else old + term


SINGLE = {float, int}  # kinds of adjoints of single numbers
REFUSED = (ArithmeticError, ValueError, TypeError)  # what plain numbers raise in a rule


class ArraySweep:
    """A reverse sweep as far as it meets arrays.

    What was broadcast has to be added up. An adjoint that was computed here, so that nobody else
    has it, is `owned`: further terms are added to it in place.
    """

    def __init__(self, bar: list[Any], once: bool) -> None:
        self.bar = bar
        self.once = once
        self.owned: set[int] = set()

    def pull(self, node: Node, adjoint: Any) -> None:
        """Carry the adjoint of a node back to its parents."""
        if type(adjoint) is Masked:
            self._pull_masked(node, adjoint)
        else:
            self._pull_large(node, adjoint)

    def pull_small(self, node: Node, adjoint: Any) -> None:
        """Carry back an adjoint of few numbers, or of another kind than NumPy's."""
        args, value, bar, primitive = node.args, node.value, self.bar, node.primitive
        values = [arg.value if type(arg) is Result or type(arg) is Held else arg for arg in args]
        for k, arg in enumerate(args):
            if type(arg) is not Result:
                continue
            rule, like, i = primitive.partials[k], arg.value, arg.index  # type: ignore[union-attr]
            if type(rule) is LinearRule:
                if rule.add and self._add_in_place(rule.add, arg, adjoint, values):
                    continue
                term = rule.pull(adjoint, *values)
            elif type(rule) is int:
                term = adjoint if rule == 1 else -adjoint
            else:
                try:
                    slope = rule(value, *values)
                except REFUSED:
                    slope = primitive.partial(k, value, tuple(values))  # type: ignore[union-attr]
                term = adjoint * slope if type(slope) is np.ndarray else pull(slope, adjoint)
            if term is ZERO:
                continue
            if (
                type(term) is not np.ndarray
                or type(like) is not np.ndarray
                or term.shape != like.shape
                or term.dtype is not like.dtype
            ):
                term = _fitted(term, like)
            old = bar[i]
            bar[i] = term if old is None else _joined(old, term)

    def _pull_large(self, node: Node, adjoint: Any) -> None:
        """Carry back an adjoint of many numbers, with as few new arrays as can be."""
        parents = [k for k, arg in enumerate(node.args) if type(arg) is Result]
        values = node.values()
        spare = self.once and node.index in self.owned  # nobody else has this adjoint
        for k in parents:
            arg = node.args[k]
            term, new, shared = self._term(node, k, adjoint, values, spare and k == parents[-1])
            spare = spare and not shared
            if term is ZERO:
                continue
            if type(term) is not np.ndarray or not _alike(term, arg.value):
                term, new = _fitted(term, arg.value), False
            old = self.bar[arg.index]
            if old is None:
                self.bar[arg.index] = term
                if new:
                    self.owned.add(arg.index)
            else:
                self._add(arg.index, old, term, new)

    def _term(
        self, node: Node, k: int, adjoint: Any, values: tuple[Any, ...], spare: bool
    ) -> tuple[Any, bool, bool]:
        """Return a contribution, if it is a new array, and if it is (a view of) the adjoint.

        A spare adjoint is not needed again, and its place is taken by the product.
        """
        primitive: Any = node.primitive
        rule = primitive.partials[k]
        if type(rule) is LinearRule:
            if rule.add and self._add_in_place(rule.add, node.args[k], adjoint, values):
                return ZERO, False, False
            return rule.pull(adjoint, *values), False, True
        slope = primitive.partial(k, node.value, values)
        if type(slope) is int and slope == 1:
            return adjoint, spare, True
        if type(slope) is Linear or slope is ZERO:
            return pull(slope, adjoint), False, True
        if spare and (type(slope) in (int, float) or _alike(slope, adjoint)):
            return np.multiply(adjoint, slope, out=adjoint), True, True
        if _alike(slope, adjoint) and slope.base is None and getrefcount(slope) == 2:
            return np.multiply(adjoint, slope, out=slope), True, False  # nobody else has it
        return adjoint * slope, True, False

    def _pull_masked(self, node: Node, adjoint: Masked) -> None:
        values = node.values()
        for k, arg in enumerate(node.args):
            term = _pulled_masked(node, k, adjoint, *values) if type(arg) is Result else ZERO
            if term is not ZERO:
                term, old = _fitted(term, arg.value), self.bar[arg.index]
                self.bar[arg.index] = term if old is None else _joined(old, term)
                self.owned.discard(arg.index)

    def _add(self, i: int, old: Any, term: Any, new: bool) -> None:
        """Add a term to an adjoint; in place, if one of them is nobody else's."""
        if type(old) is np.ndarray is type(term) and term.dtype is old.dtype:
            place = old if i in self.owned else term if new else None
            total: Any = np.add(old, term, out=place)
        else:
            total = _joined(old, term)
        self.bar[i] = total
        if type(total) is np.ndarray:
            self.owned.add(i)

    def _add_in_place(self, add: Any, arg: Node, adjoint: Any, values: Sequence[Any]) -> bool:
        """Add the adjoint of a few elements of a large array in place, if that can be done."""
        like, i = arg.value, arg.index
        if type(like) is not np.ndarray or like.size <= SMALL:
            return False
        if not isinstance(adjoint, (np.ndarray, np.generic)):
            return False  # a node or a batch cannot be added to an array
        old = self.bar[i]
        if getattr(adjoint, "dtype", None) != like.dtype or (
            old is not None and (type(old) is not np.ndarray or old.dtype != like.dtype)
        ):
            return False
        if i not in self.owned:
            self.bar[i] = np.zeros(like.shape, like.dtype) if old is None else old.copy()
            self.owned.add(i)
        add(self.bar[i], adjoint, *values)
        return True


def _alike(a: Any, b: Any) -> bool:
    """Tell whether two arrays have the same shape and kind."""
    if type(a) is not np.ndarray or type(b) is not np.ndarray:
        return False
    return a.shape == b.shape and a.dtype is b.dtype


def _pulled_masked(node: Node, k: int, adjoint: Masked, *values: Any) -> Any:
    """Carry back an adjoint some of whose elements are structural zeros, and keep them so."""
    assert node.primitive is not None
    with np.errstate(all="ignore"):  # what happens where nothing counts is nobody's business
        derivative = node.primitive.partial(k, node.value, values)
    if isinstance(derivative, Linear) and derivative.moves:
        return _moved(adjoint, derivative.pull)
    if derivative is ZERO or isinstance(derivative, Linear):
        pulled = pull(derivative, adjoint.array)
        both = type(pulled) is Masked and pulled.keep.shape == adjoint.keep.shape
        return Masked(pulled.array, pulled.keep & adjoint.keep) if both else pulled
    if shape_of(derivative) == adjoint.keep.shape:
        derivative = where(adjoint.keep, derivative, 0)
    return Masked(adjoint.array * derivative, adjoint.keep)


def _fitted(term: Any, like: Any) -> Any:
    if type(term) is not Masked:
        return fit(term, like)
    if term.keep.shape == shape_of(like):
        return Masked(fit(term.array, like), term.keep)
    return _moved(term, lambda bar: fit(bar, like))


def _moved(adjoint: Masked, move: Any) -> Any:
    """Move the elements of a masked adjoint, and the mask with them."""
    moved = unmasked(move(adjoint.array))
    keep = unmasked(move(adjoint.keep.astype(float))) > 0
    return Masked(moved, keep) if shape_of(keep) else moved


def _joined(old: Any, term: Any) -> Any:
    """Add a term to an adjoint; only two masked ones stay masked, where neither has elements."""
    if type(old) is np.ndarray and type(term) is np.ndarray:
        return old + term
    if type(old) is Masked and type(term) is Masked:
        return Masked(old.array + term.array, old.keep | term.keep)
    return unmasked(old) + unmasked(term)


def unmasked(adjoint: Any) -> Any:
    """Return an adjoint as an ordinary array, with zeros where nothing counts."""
    return adjoint.array if type(adjoint) is Masked else adjoint


def _slope(node: Node, k: int, *values: Any) -> Any:
    """Return the local derivative of a node in its k-th argument."""
    rule = node.primitive.partials[k]  # type: ignore[union-attr]
    try:
        return rule(node.value, *values)
    except (ArithmeticError, ValueError, TypeError):  # outside its domain, or no function
        return node.primitive.partial(k, node.value, values)  # type: ignore[union-attr]


def accumulations(tape: Tape, bar: list[Any]) -> Iterator[tuple[Node, int, Any, Any]]:
    """Do the reverse sweep one accumulation at a time.

    Yields `(child, k, ∂child/∂parent, sum so far)` after each change of the adjoint of a parent,
    which is the k-th argument of the child.
    """
    for node in reversed(tape):
        if bar[node.index] is None:
            continue
        for k, derivative in node.local_derivatives():
            parent = node.args[k]
            term = unmasked(pull(derivative, bar[node.index]))
            if term is ZERO:
                continue
            term = fit(term, parent.value)
            old = bar[parent.index]
            bar[parent.index] = term if old is None else old + term
            yield node, k, derivative, bar[parent.index]


@contextmanager
def numbered(order: Iterable[Node]) -> Iterator[Tape]:
    """Copy the nodes of an order to a tape, which numbers them, for the time of a sweep.

    A parent that is not in the order is a constant to it.
    """
    tape = Tape()
    copies: dict[Any, Node] = {}
    for node in order:
        args = [
            arg if type(arg) is not Result else copies.get(arg, constant(arg.value, tape))
            for arg in node.args
        ]
        copies[node] = tape.record(node.primitive, tuple(args), node.value)
    try:
        yield tape
    finally:
        tape.clear()
