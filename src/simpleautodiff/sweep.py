"""One pass along a tape by the chain rule, forward or reverse.

A sweep fills a list, one place per node; None means "not reached", so the derivative is 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from simpleautodiff.linear import ZERO, Linear, Masked, pull, push
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


def reverse_sweep(tape: Tape, bar: list[Any]) -> None:
    """Carry adjoints back along the tape: ū gains v̄ (∂v/∂u) from each child v of u.

    This loop is the time that reverse mode takes, so the commonest rows, + - * of single numbers,
    are written out; everything else goes by its rules.
    """
    plus, minus, times = TABLE["add"], TABLE["sub"], TABLE["mul"]
    result, held = Result, Held
    for node in reversed(tape):
        adjoint = bar[node.index]
        if adjoint is None:
            continue
        primitive = node.primitive
        if type(adjoint) is not float and type(adjoint) is not int:
            _pull_arrays(node, adjoint, bar)
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
    values = (args[0].value,) if len(args) == 1 else node.values()
    for k, arg in enumerate(args):
        if type(arg) is Result:
            term = _pulled(node, k, adjoint, *values)
            if term is not ZERO:
                old = bar[arg.index]
                bar[arg.index] = term if old is None else old + term


def _pull_arrays(node: Node, adjoint: Any, bar: list[Any]) -> None:
    """Carry back an adjoint that may be an array: what was broadcast has to be added up."""
    values = node.values()
    pulled = _pulled_masked if type(adjoint) is Masked else _pulled
    for k, arg in enumerate(node.args):
        if type(arg) is Result:
            term = pulled(node, k, adjoint, *values)
            if term is not ZERO:
                bar[arg.index] = _joined(bar[arg.index], _fitted(term, arg.value))


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
    if old is None:
        return term
    if type(old) is Masked and type(term) is Masked:
        return Masked(old.array + term.array, old.keep | term.keep)
    return unmasked(old) + unmasked(term)


def unmasked(adjoint: Any) -> Any:
    """Return an adjoint as an ordinary array, with zeros where nothing counts."""
    return adjoint.array if type(adjoint) is Masked else adjoint


def _pulled(node: Node, k: int, adjoint: Any, *values: Any) -> Any:
    """Return what a node's adjoint contributes to that of its k-th argument."""
    primitive: Any = node.primitive
    rule = primitive.partials[k]
    if type(rule) is int:
        return adjoint if rule == 1 else -adjoint if rule == -1 else adjoint * rule
    try:
        derivative = rule(node.value, *values)
    except (ArithmeticError, ValueError, TypeError):  # outside its domain, or no function
        derivative = primitive.partial(k, node.value, values)
    return adjoint * derivative if type(derivative) is float else pull(derivative, adjoint)


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
