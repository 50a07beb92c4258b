"""Multiples of a root, and even and odd functions of them.

With a root v of a smooth s, a multiple x = c v has the smooth square c² s. So has a row that moves
the elements of roots. An odd function h(x) = x k(x²) of a multiple is a multiple again, and an even
one, g(x²), is smooth. Where x is 0, the functions g and k have the power series of h, whose
coefficients are its derivatives at 0.

For a node, the graph shows whether it is a multiple; a jet has no graph, so it carries that along.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from simpleautodiff.core.jet import Jet, JetLevel
from simpleautodiff.core.level import Traced, apply, to_concrete, to_plain
from simpleautodiff.core.linear import ZERO
from simpleautodiff.core.node import NODES, Node
from simpleautodiff.core.primitive import TABLE, Args, Primitive
from simpleautodiff.core.tape import Tape
from simpleautodiff.rules.branches import where
from simpleautodiff.rules.restating import (
    Restated,
    ignore_last,
    is_at_0,
    is_root,
    is_same,
    note_zeros,
    origin,
    register_value,
    restate_as,
    square_of,
)
from simpleautodiff.values.functions import is_complex, lift

_FACTOR_COUNT = {"mul": 2, "div": 1, "neg": 1, "pos": 1}  # how many arguments are factors
_ABSOLUTE_VALUES = ("abs", "hypot")  # whose square is the sum of the squares of their arguments
_ODD: set[str] = set()  # rows of odd functions


@dataclass(frozen=True, slots=True)
class Multiple:
    """A number that is `cofactor` times a root, whose square is smooth."""

    root: Any
    square: Any
    cofactor: Any = 1

    def squared(self) -> Any:
        """Return the square of the number."""
        return _scale(self.cofactor, _scale(self.cofactor, self.square))


def multiply_roots(x: Any, y: Any) -> Any:
    """Return x × y as a smooth number, if a root at 0 is a factor of both; None if not.

    Beside elements that are 0 it is the product as it is: there the square of the root may be
    infinite where x × y is not.
    """
    if type(x) is not type(y) or not _is_multiple(y):
        return None
    if not ((x is y or _is_multiple(x)) and is_at_0(x)):
        return None
    with np.errstate(all="ignore"):  # squares beside 0 may overflow
        first, second = _find_root(x), _find_root(y)
        if not is_same(first.root, second.root):
            return None
        smooth = _scale(first.cofactor, _scale(second.cofactor, first.square))
    zero = to_plain(x) == 0
    if smooth is first.square or (not isinstance(zero, Traced) and np.all(zero)):
        return smooth
    return where(zero, smooth, apply(_without_restating(TABLE["mul"]), x, y))


def _scale(cofactor: Any, x: Any) -> Any:
    return x if type(cofactor) is int and cofactor == 1 else cofactor * x


def carry_root(primitive: Primitive, *args: Any) -> Restated:
    """Return a primitive that stores the root of its arguments, if they are jets."""
    jets = [
        type(arg) is Jet and arg.rule is not None and _is_multiple(arg) and is_at_0(arg)
        for arg in args
    ]
    if not any(jets):
        return None
    with np.errstate(all="ignore"):  # squares beside 0 may overflow
        parts = [
            _find_root(arg) if jet and _reads_root(primitive, k) else None
            for k, (arg, jet) in enumerate(zip(args, jets, strict=True))
        ]
        if not any(parts) or (primitive.name in _ABSOLUTE_VALUES and is_complex(to_plain(args[0]))):
            return None
        return _make_carrying(primitive), (*args, _make_multiple(primitive, args, parts, object()))


@cache
def _make_carrying(primitive: Primitive) -> Primitive:
    """Make a primitive with one more argument, the multiple that it stores."""
    return replace(
        primitive,
        partials=(*map(ignore_last, primitive.partials), ZERO),
        compute=lambda *args: primitive.compute(*args[:-1]),
        by_type=None,
        batch=None,
        settings=(*primitive.settings, primitive.arity),
        listed=False,
        squared=(ZERO,) * (primitive.arity + 1),
        restate=None,
    )


# How a number was computed. -----------------------------------------------------------------------


def _is_multiple(x: Any) -> bool:
    """Tell whether a node or a jet has a root as a factor."""
    if type(x) in NODES:
        made = x.primitive
        if made is None or made.squared is None:
            return False

        def ask(node: Node, sources: list[Node], known: dict[int, bool]) -> bool:
            return is_root(node) or any([known[_identify(source)] for source in sources])

        return bool(_follow(x, "are_multiples", ask))
    made, args = origin(x)
    return is_root(x) or (made is not None and bool(args) and type(args[-1]) is Multiple)


def is_first_root(x: Any) -> bool:
    """Tell whether a node or a jet is a root, and not the absolute value of a multiple of one."""
    if type(x) not in NODES:
        return is_root(x)
    return is_root(x) and not any(map(_is_multiple, _find_sources(x)))


def _find_root(x: Any) -> Multiple:
    """Return a number, which has to be a multiple of a root, as a `Multiple`."""
    if type(x) in NODES:
        found: Multiple = _follow(x, "multiples", _expand_node)
        return found
    primitive, args = origin(x)
    assert primitive is not None
    if type(args[-1]) is Multiple:
        return args[-1]
    return Multiple(x, apply(square_of(primitive), x, *args))


def _expand_node(
    node: Node, sources: list[Node], known: dict[int, Multiple | None]
) -> Multiple | None:
    """Return a node as a `Multiple`, if it is one; its sources have been examined before."""
    primitive, args = origin(node)
    if primitive is None or not _is_multiple(node):
        return None
    own = {id(source) for source in sources}
    parts = [known[_identify(arg)] if id(arg) in own else None for arg in args]
    if any(parts):
        return _make_multiple(primitive, args, parts, node)
    return Multiple(node, apply(square_of(primitive), node, *args))


def _follow(x: Node, name: str, ask: Callable[[Node, list[Node], dict[int, Any]], Any]) -> Any:
    """Apply `ask` to a node after its sources; a tape caches the answers."""
    known = vars(x.level).setdefault(name, {}) if isinstance(x.level, Tape) else {}
    waiting = [x]
    while waiting:
        node = waiting[-1]
        if _identify(node) in known:
            waiting.pop()
            continue
        sources = _find_sources(node)
        missing = [source for source in sources if _identify(source) not in known]
        if missing:
            waiting += missing
        else:
            waiting.pop()
            known[_identify(node)] = ask(node, sources, known)
    return known[_identify(x)]


def _identify(node: Node) -> int:
    """Return the identity of a node: its index on a tape, which may hold a copy of the node."""
    return node.index if isinstance(node.level, Tape) else id(node)


def _find_sources(node: Node) -> list[Node]:
    """Return the arguments of a node from which its root may come."""
    primitive = node.primitive
    if primitive is None or not _passes_roots(primitive, node):
        return []
    return [
        arg
        for k, arg in enumerate(node.args)
        if type(arg) in NODES and arg.level is node.level and _reads_root(primitive, k)
    ]


def _passes_roots(primitive: Primitive, x: Any) -> bool:
    """Tell whether a primitive may return a multiple of a root among its arguments."""
    if primitive.name in _ABSOLUTE_VALUES:
        return not any([is_complex(to_plain(arg)) for arg in origin(x)[1]])
    return primitive.squared == ()


def _reads_root(primitive: Primitive, k: int) -> bool:
    """Tell whether the root of the result may come from argument k."""
    return k < _FACTOR_COUNT.get(primitive.name, primitive.arity) and k not in primitive.settings


def _make_multiple(
    primitive: Primitive, args: Args, parts: Sequence[Multiple | None], x: Any
) -> Multiple:
    """Return x, the result of a primitive, as a multiple of the root of its arguments."""
    k = next(k for k, part in enumerate(parts) if part is not None)
    part = parts[k]
    assert part is not None
    if primitive.name in _FACTOR_COUNT:
        cofactor = apply(primitive, *args[:k], part.cofactor, *args[k + 1 :])
        return Multiple(part.root, part.square, cofactor)
    if primitive.name in _ODD:
        ratio = _apply_to_square(primitive, args[0], part, odd=1)
        return Multiple(part.root, part.square, part.cofactor * ratio)
    squares = [
        arg if i in primitive.settings else arg * arg if found is None else found.squared()
        for i, (arg, found) in enumerate(zip(args, parts, strict=True))
    ]
    return Multiple(
        x, sum(squares) if primitive.name in _ABSOLUTE_VALUES else apply(primitive, *squares)
    )


# Even and odd functions. --------------------------------------------------------------------------


def even(name: str) -> dict[str, Any]:
    """Return what the row of an even function declares: it is smooth in the square of a root."""
    return {"restate": lambda x: restate_even(TABLE[name], x)}


def odd(name: str) -> dict[str, Any]:
    """Return what the row of an odd function declares: its value is a multiple of the root."""
    _ODD.add(name)
    return {"squared": (), "restate": lambda x: carry_root(TABLE[name], x)}


def restate_even(primitive: Primitive, x: Any) -> Restated:
    """Return an even function of a multiple of a root as a function of the square."""
    if not (_is_multiple(x) and is_at_0(x)):
        return None
    with np.errstate(all="ignore"):  # squares beside 0 may overflow
        return restate_as(primitive, _apply_to_square(primitive, x, _find_root(x), odd=0), x)


def _apply_to_square(primitive: Primitive, x: Any, part: Multiple, odd: int) -> Any:
    """Evaluate an even function of x, or an odd one divided by x, through x² where x is 0."""
    zero = to_plain(x) == 0
    note_zeros(x)
    near = _expand(primitive, odd, 0, zero, part.squared())
    if not isinstance(zero, Traced) and np.all(zero):
        return near
    away = apply(_without_restating(primitive), x)
    return where(zero, near, away / where(zero, 1, x) if odd else away)


def _expand(primitive: Primitive, odd: int, j: int, zero: Any, square: Any) -> Any:
    """Return the j-th derivative in x², at 0, of an even function, or of an odd one over x."""
    n = 2 * j + odd
    coefficient = _differentiate_at_0(primitive, n, lift(0, to_concrete(square)))
    number = coefficient * math.factorial(j) / math.factorial(n)
    return apply(_make_term(primitive, odd, j), where(zero, number, 0), zero, square)


def _differentiate_at_0(primitive: Primitive, n: int, zero: Any) -> Any:
    """Return the n-th derivative of a function at 0."""
    if not n:
        return primitive.compute(zero)
    level = JetLevel(n)
    with level:
        derivative = apply(primitive, Jet(zero, [zero + 1, *[ZERO] * (n - 1)], level)).nth(n)
    return zero if derivative is ZERO else derivative


@cache
def _make_term(primitive: Primitive, odd: int, j: int) -> Primitive:
    """Make the primitive that returns its first argument; its derivative is the next term."""
    term = replace(
        TABLE["pos"],
        partials=(ZERO, ZERO, lambda _v, _c, zero, w: _expand(primitive, odd, j + 1, zero, w)),
        compute=lambda number, *_: number,
        by_type=None,
        settings=(1,),
        listed=False,
        squared=None,
        restate=None,
    )
    return register_value(TABLE["pos"], term)


@cache
def _without_restating(primitive: Primitive) -> Primitive:
    """Make a primitive that does not examine how its argument was computed."""
    return register_value(primitive, replace(primitive, by_type=None, listed=False, restate=None))
