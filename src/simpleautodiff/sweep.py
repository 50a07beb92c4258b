"""One pass along a tape by the chain rule, forward or reverse.

A sweep fills a list, one place per node; None means "not reached", so the derivative is 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import FunctionType
from typing import Any

from simpleautodiff.linear import ZERO, pull, push
from simpleautodiff.node import Node, Result, Tape

_ONE = 1


def forward_sweep(tape: Tape, dot: list[Any]) -> None:
    """Carry tangents along the tape: v̇ = Σ over parents u of (∂v/∂u) u̇."""
    for node in tape:
        total = dot[node.index]
        for parent, derivative in node.local_derivatives():
            tangent = dot[parent.index]
            if tangent is None:
                continue
            term = push(derivative, tangent)
            if term is not ZERO:
                total = term if total is None else total + term
        dot[node.index] = total


def reverse_sweep(tape: Tape, bar: list[Any]) -> None:
    """Carry adjoints back along the tape: ū gains v̄ (∂v/∂u) from each child v of u.

    One and two arguments, which is nearly all nodes, are written out: this loop is the time that
    reverse mode takes.
    """
    for node in reversed(tape):
        adjoint = bar[node.index]
        primitive = node.primitive
        if adjoint is None or primitive is None:
            continue
        args = node.args
        if len(args) == 2:
            a, b = args
            a_is_parent = type(a) is Result and a.level is tape
            b_is_parent = type(b) is Result and b.level is tape
            x = a.value if a_is_parent else a
            y = b.value if b_is_parent else b
            rule_a, rule_b = primitive.partials
            if a_is_parent:
                if rule_a is _ONE:
                    term = adjoint
                elif type(rule_a) is FunctionType:
                    try:
                        derivative = rule_a(node.value, x, y)
                    except (ArithmeticError, ValueError):
                        derivative = primitive.partial(0, node.value, (x, y))
                    if type(derivative) is float:
                        term = adjoint * derivative
                    else:
                        term = pull(derivative, adjoint)
                else:
                    term = pull(rule_a, adjoint)
                if term is not ZERO:
                    i = a.index
                    old = bar[i]
                    bar[i] = term if old is None else old + term
            if b_is_parent:
                if rule_b is _ONE:
                    term = adjoint
                elif type(rule_b) is FunctionType:
                    try:
                        derivative = rule_b(node.value, x, y)
                    except (ArithmeticError, ValueError):
                        derivative = primitive.partial(1, node.value, (x, y))
                    if type(derivative) is float:
                        term = adjoint * derivative
                    else:
                        term = pull(derivative, adjoint)
                else:
                    term = pull(rule_b, adjoint)
                if term is not ZERO:
                    i = b.index
                    old = bar[i]
                    bar[i] = term if old is None else old + term
        else:
            for parent, derivative in node.local_derivatives():
                term = pull(derivative, adjoint)
                if term is not ZERO:
                    i = parent.index
                    old = bar[i]
                    bar[i] = term if old is None else old + term


def accumulations(tape: Tape, bar: list[Any]) -> Iterator[tuple[Node, Node, Any, Any]]:
    """Do the reverse sweep one accumulation at a time.

    Yields `(child, parent, ∂child/∂parent, sum so far)` after each change of the parent's adjoint.
    """
    for node in reversed(tape):
        if bar[node.index] is None:
            continue
        for parent, derivative in node.local_derivatives():
            term = pull(derivative, bar[node.index])
            if term is ZERO:
                continue
            old = bar[parent.index]
            bar[parent.index] = term if old is None else old + term
            yield node, parent, derivative, bar[parent.index]


def as_tape(order: Iterable[Node]) -> Tape:
    """Copy the nodes of an order to a tape, which numbers them.

    A parent that is not in the order is a constant to it.
    """
    tape = Tape()
    copies: dict[Any, Node] = {}
    for node in order:
        args = tuple(
            copies.get(arg, arg.value) if node.is_parent(arg) else arg for arg in node.args
        )
        copies[node] = tape.record(node.primitive, args, node.value)
    return tape
