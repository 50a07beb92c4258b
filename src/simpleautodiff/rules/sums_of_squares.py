"""Recognise sums of squares in the graph: their root has the derivative 0 where they are 0."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from simpleautodiff.core.level import Traced, apply, to_concrete, to_plain
from simpleautodiff.core.node import NODES, Node
from simpleautodiff.core.primitive import TABLE, Primitive
from simpleautodiff.rules.restating import STATED, is_constant, is_same, origin
from simpleautodiff.values.functions import is_complex, shape

_MOVING = {"astype", "broadcast_to", "cumsum", "getitem", "pos", "reshape", "roll", "scatter",
           "sum", "sum_to", "transpose"}  # fmt: skip
_ADDING = {"add", "concatenate", "set_item", "where"}
_MULTIPLYING = {"div", "einsum", "matmul", "mul"}


@cache
def _make_marked() -> Primitive:
    return replace(TABLE["pos"], by_type=None, listed=False)


def as_sum_of_squares(x: Any) -> Any:
    """Mark x as a sum of squares; the caller knows that it is one, as x @ A @ x for some A."""
    return apply(_make_marked(), x)


def is_sum_of_squares(x: Node) -> bool:
    """Tell whether a node is a sum of squares of real numbers, with weights that are not negative.

    Products and quotients of such sums count as well: where one is 0, its derivative is 0. The
    answer comes from the operations in the graph, not from the numbers.
    """
    seen: set[int] = set()
    waiting: list[Any] = [x]
    while waiting:
        node = waiting.pop()
        if type(node) not in NODES:
            if not _is_not_negative(node):
                return False
        elif id(node) not in seen and not _is_square(node):
            seen.add(id(node))
            terms = _list_terms(node)
            if terms is None:
                return False
            waiting += terms
    return True


def _is_square(node: Node) -> bool:
    """Tell whether a node is a square of real numbers, or the squared size of complex ones."""
    primitive, args = origin(node)
    name, (first, *others) = node.operator, args or (None,)
    if name == "real" and type(first) in NODES and first.operator == "mul":
        pair = first.args
        return any(_is_conjugate(*each) for each in (pair, pair[::-1]))
    if primitive is None or is_complex(to_plain(node.value)):
        return False
    if primitive is _make_marked():
        return True
    if name == "mul" or (name == "matmul" and len(shape(to_plain(node.value))) == 0):
        return is_same(first, others[0])
    if name == "einsum" and first.count(",") == 1:
        left, right = first.split("->")[0].split(",")
        return left == right and is_same(others[0], others[1])
    exponent = float(others[0]) if name == "power" and is_constant(others[0]) else 0.0
    return name == "square" or (exponent >= 2 and exponent % 2 == 0)


def _is_conjugate(z: Any, w: Any) -> bool:
    return type(w) in NODES and w.operator == "conj" and is_same(w.args[0], z)


def _list_terms(node: Node) -> list[Any] | None:
    """Return the arguments that must be sums of squares, or weights, for the node to be one."""
    name, args = node.operator, origin(node)[1]
    if node.primitive in STATED:
        return [args[-1]]
    if name in _MOVING:
        return [args[0]]
    if name in _ADDING:
        assert node.primitive is not None
        return [arg for k, arg in enumerate(args) if k not in node.primitive.settings]
    if name in _MULTIPLYING:
        return [arg for arg in args if not isinstance(arg, str)]
    return None


def _is_not_negative(weight: Any) -> bool:
    """Tell whether all numbers of a constant are ≥ 0; a recorded program checks each time."""
    number = to_plain(weight)
    if is_complex(number):
        return False
    if isinstance(number, Traced) and not getattr(number, "can_decide", False):
        number = to_concrete(number) if not hasattr(number, "concrete") else -1
    return bool(np.all(number >= 0))
