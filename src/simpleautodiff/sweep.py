"""One pass along a tape by the chain rule, forward or reverse.

A sweep fills a list, one place per node; None means "not reached", so the derivative is 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

import numpy as np

from simpleautodiff.array_sweep import ArraySweep
from simpleautodiff.keeping import SMALL
from simpleautodiff.linear import ZERO, Masked, Scaled, pull, push
from simpleautodiff.masking import fitted, joined, pulled_masked, unmasked
from simpleautodiff.node import Held, Node, Result, Tape, constant
from simpleautodiff.rules.row import TABLE
from simpleautodiff.rules.shapes import fit

SINGLE = {float, int}  # kinds of adjoints of single numbers
REFUSED = (ArithmeticError, ValueError, TypeError)  # outside its domain, or no function
MEDIUM = 2**14  # elements: up to here a pass over them costs less than to think how to do without
PART = 500  # nodes of a tape that is used up are freed together, while the cache still has them


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

    `once` says that neither the tape nor the adjoints of what are no inputs are needed again: nodes
    are freed soon after the sweep has passed them, large arrays at once.

    This loop is the time that reverse mode takes, so the commonest rows, + - * and functions of
    single numbers, are written out; everything else goes by its rules.
    """
    plus, minus, times = TABLE["add"], TABLE["sub"], TABLE["mul"]
    result, held, ndarray = Result, Held, np.ndarray
    arrays: ArraySweep | None = None
    backward = reversed(tape)
    for _ in range(0, len(tape), PART):
        for node in islice(backward, PART):
            adjoint = bar[node.index]
            if adjoint is None:
                continue
            primitive, kind = node.primitive, type(adjoint)
            if kind is not float and (kind is ndarray or kind not in SINGLE):
                arrays = arrays or ArraySweep(bar, once)
                if primitive is not None:
                    if kind is ndarray:
                        if adjoint.size > MEDIUM:
                            arrays.pull_large(node, adjoint, 1.0)
                        else:
                            arrays.pull_small(node, adjoint)
                            if adjoint.size <= SMALL:
                                continue
                    elif kind is Scaled:
                        arrays.pull_large(node, adjoint.array, adjoint.factor)
                    elif kind is Masked:
                        arrays.pull_masked(node, adjoint)
                    else:
                        arrays.pull_small(node, adjoint)
                        continue
                    if once:
                        bar[node.index] = None
                        del tape[node.index :]
                        node.args = ()
                elif kind is Scaled:
                    arrays.settle(node.index, adjoint)
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
        if once:
            _let_go(tape, node.index)


def _let_go(tape: Tape, start: int) -> None:
    """Free the end of a tape; its last node, which may be held as the result, holds the others.

    What the sweep has not passed yet stays: large arrays may have been freed up to here already.
    """
    if len(tape) > start:
        tape[-1].args = ()
        del tape[start:]


def _pull_rules(node: Node, adjoint: Any, bar: list[Any]) -> None:
    """Carry back the adjoint of a single number by the rules of its row."""
    args = node.args
    if len(args) == 1:
        (arg,) = args
        try:
            slope = node.primitive.partials[0](node.value, arg.value)  # type: ignore[union-attr]
        except REFUSED:
            slope = node.primitive.partial(0, node.value, (arg.value,))  # type: ignore[union-attr]
        term = adjoint * slope if type(slope) is float else pull(slope, adjoint)
        if term is not ZERO:
            old = bar[arg.index]
            bar[arg.index] = term if old is None else old + term
        return
    values = node.values()
    for k, arg in enumerate(args):
        if type(arg) is Result:
            term = pull(_slope(node, k, values), adjoint)
            if term is not ZERO:
                old = bar[arg.index]
                bar[arg.index] = term if old is None else joined(old, term)


def _slope(node: Node, k: int, values: tuple[Any, ...]) -> Any:
    """Return the local derivative of a node in its k-th argument."""
    rule = node.primitive.partials[k]  # type: ignore[union-attr]
    try:
        return rule(node.value, *values)
    except REFUSED:
        return node.primitive.partial(k, node.value, values)  # type: ignore[union-attr]


def accumulations(tape: Tape, bar: list[Any]) -> Iterator[tuple[Node, int, Any, Any]]:
    """Do the reverse sweep one accumulation at a time.

    Yields `(child, k, ∂child/∂parent, sum so far)` after each change of the adjoint of a parent,
    which is the k-th argument of the child.
    """
    own = list(bar)  # which know the elements that do not count; the others are zeros in `bar`
    for node in reversed(tape):
        adjoint = own[node.index]
        if adjoint is None:
            continue
        for k, derivative in node.local_derivatives():
            parent = node.args[k]
            if type(adjoint) is Masked:
                term = pulled_masked(node, k, adjoint, *node.values())
            else:
                term = pull(derivative, adjoint)
            if term is ZERO:
                continue
            term, old = fitted(term, parent.value), own[parent.index]
            own[parent.index] = term if old is None else joined(old, term)
            bar[parent.index] = unmasked(own[parent.index])
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
