"""Another primitive in the place of one, with the same value: how, and where roots are at 0.

A *root* is a row whose square is smooth where it is not: `abs`, `hypot`, `sqrt`. See `rules.roots`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from numbers import Real
from typing import Any

import numpy as np

from simpleautodiff.core.jet import Jet
from simpleautodiff.core.level import Traced, plain
from simpleautodiff.core.linear import ZERO
from simpleautodiff.core.node import Constant, Node
from simpleautodiff.core.primitive import TABLE, Args, Partial, Primitive
from simpleautodiff.rules.asked import askable, note_decision
from simpleautodiff.values.functions import is_mpmath_interval
from simpleautodiff.values.other_arrays import Foreign

Restated = tuple[Primitive, Args] | None


def origin(x: Any) -> tuple[Primitive | None, Args]:
    """Return the primitive that made a node, or a jet if it is a root, and its arguments."""
    if type(x) is Node:
        args = [arg.value if type(arg) is Constant else arg for arg in x.args]
        return x.primitive, tuple(args)
    return x.rule if type(x) is Jet and x.rule is not None else (None, ())


def is_root(x: Any) -> bool:
    """Tell whether a node or a jet is a root, whose square is smooth."""
    primitive = x.primitive if type(x) is Node else origin(x)[0]
    return primitive is not None and any(rule is not ZERO for rule in primitive.squared or ())


def is_at_0(x: Any) -> bool:
    """Tell whether a number, or an element of an array, is 0; what is opaque may come to that."""
    number = plain(x)
    if type(number) is np.ndarray and number.dtype != object:
        return not number.all()
    return number == 0 if type(number) is float else happens(number == 0)


def is_same(x: Any, y: Any) -> bool:
    """Tell whether two arguments are one number: one node, or two that were made alike.

    Jets that are no roots are one number if they and their derivatives are equal.
    """
    pairs, seen = [(x, y)], set()
    while pairs:
        a, b = pairs.pop()
        if a is b or (id(a), id(b)) in seen:
            continue
        if type(a) is not type(b):
            return False
        seen.add((id(a), id(b)))
        if type(a) is Node and a.level is b.level and type(a.index) is int and a.index == b.index:
            continue  # a tape may have a slimmer copy of what it shows
        if type(a) is Node or is_root(a):
            (made_a, args_a), (made_b, args_b) = origin(a), origin(b)
            if made_a is None or made_a is not made_b:
                return False
            rules = made_a.squared or made_a.partials  # where a root is flat is no matter
            pairs += [
                (p, q)
                for rule, p, q in zip(rules, args_a, args_b, strict=True)
                if rule is not ZERO or not made_a.squared
            ]
        elif type(a) is Jet:
            pairs += [(a.value, b.value), *zip(a.higher, b.higher, strict=True)]
        elif not (np.array_equal(a, b) if type(a) in _NUMPY else type(a) in _PLAIN and a == b):
            return False
    return True


_NUMPY = {np.ndarray, np.float64, np.float32, np.complex128}
_PLAIN = {int, float, str, bool, slice, tuple, type(None)}


def happens(condition: Any) -> bool:
    """Tell whether a condition holds for some element; what is opaque or lazy may come to that."""
    return isinstance(condition, (Traced, Foreign)) or bool(np.any(condition))


def note_zeros(x: Any) -> None:
    """Note, on a tape that is written as code, which numbers are 0: it holds for those alone."""
    note_decision(askable(x) == 0)


@cache
def square_of(root: Primitive) -> Primitive:
    """Make the primitive of the square of a root, from the root and its arguments."""
    assert root.squared is not None

    def rule_of(rule: Partial) -> Partial:
        return (lambda _v, root, *args: rule(root, *args)) if callable(rule) else rule

    text, latex = (_shift_slots(form, len(root.partials)) for form in (root.text, root.latex))
    squared = replace(
        root,
        name="square",
        partials=(ZERO, *map(rule_of, root.squared)),
        compute=lambda _root, *args: root.compute(*args) ** 2,
        text=f"({text})^2",
        latex=rf"\left({latex}\right)^2",
        reason="the square of a root is a smooth function",
        kinks=(),
        by_type=None,
        settings=tuple([k + 1 for k in root.settings]),
        holomorphic=False,
        listed=False,
        squared=None,
        restate=None,
    )
    return has_value_of(TABLE["square"], squared)


# Of the primitives made here: the row of the table whose value they have, of how many arguments.
_VALUES: dict[Primitive, tuple[Primitive, int]] = {}


def has_value_of(row: Primitive, made: Primitive) -> Primitive:
    """Say that a primitive has the value of a row of its first arguments, and return it."""
    _VALUES[made] = row, row.arity
    return made


def find_value_alone(primitive: Primitive, args: Args) -> tuple[Primitive, Args]:
    """Return the row and arguments that have the same value, where no derivative is asked for."""
    made, count = _VALUES.get(primitive, (primitive, len(args)))
    return made, args[:count]


def _shift_slots(form: str, arity: int) -> str:
    """Count the slots of a printed form from 1 on."""
    return form.format(*[f"{{{k + 1}}}" for k in range(arity)])


@cache
def _with_derivatives_of_last(primitive: Primitive) -> Primitive:
    """Make a primitive with one more argument, of the same value: it has that one's derivatives."""
    stated = replace(
        primitive,
        partials=(*[ZERO] * primitive.arity, 1),
        compute=lambda *args: primitive.compute(*args[:-1]),
        kinks=(),
        by_type=None,
        batch=None,
        listed=False,
        squared=None,
        restate=None,
    )
    STATED.add(stated)
    return has_value_of(primitive, stated)


STATED: set[Primitive] = set()


def restate_as(primitive: Primitive, smooth: Any, *args: Any) -> Restated:
    """Return a primitive that has its own value, and the derivatives of `smooth`."""
    return _with_derivatives_of_last(primitive), (*args, smooth)


def besides_last(rule: Partial) -> Partial:
    """Return the rule of a primitive for one that has an argument more."""
    return (lambda v, *args: rule(v, *args[:-1])) if callable(rule) else rule


def is_constant(y: Any) -> bool:
    """Tell whether an exponent is a plain real number; nodes count as real numbers elsewhere."""
    return isinstance(y, Real) and not isinstance(y, Traced) and not is_mpmath_interval(type(y))
