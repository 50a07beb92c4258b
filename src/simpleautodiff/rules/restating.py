"""Replace a primitive by another with the same value and better derivatives, where a root is 0.

A *root* is a row that is not smooth at 0 while its square is: `abs`, `hypot`, `sqrt`. See
`rules.roots`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from numbers import Real
from typing import Any

import numpy as np

from simpleautodiff.core.jet import Jet
from simpleautodiff.core.level import Traced, to_plain
from simpleautodiff.core.linear import ZERO
from simpleautodiff.core.node import NODES, Constant
from simpleautodiff.core.primitive import TABLE, Args, Partial, Primitive
from simpleautodiff.rules.decisions import as_operand, note_decision
from simpleautodiff.values.functions import is_mpmath_interval
from simpleautodiff.values.other_arrays import Foreign

Restated = tuple[Primitive, Args] | None


def origin(x: Any) -> tuple[Primitive | None, Args]:
    """Return the primitive and the arguments of a node, or of a jet that is a root."""
    if type(x) in NODES:
        args = [arg.value if type(arg) is Constant else arg for arg in x.args]
        return x.primitive, tuple(args)
    return x.rule if type(x) is Jet and x.rule is not None else (None, ())


def may_hold_root(x: Any) -> bool:
    """Tell whether a node or a jet was made by a primitive that is a root, or passes one on."""
    primitive = x.primitive if type(x) in NODES else origin(x)[0]
    return primitive is not None and primitive.squared is not None


def is_root(x: Any) -> bool:
    """Tell whether a node or a jet is a root, whose square is smooth."""
    primitive = x.primitive if type(x) in NODES else origin(x)[0]
    return primitive is not None and any(rule is not ZERO for rule in primitive.squared or ())


def is_at_0(x: Any) -> bool:
    """Tell whether a number, or an element of an array, is 0; an opaque one may be."""
    number = to_plain(x)
    if type(number) is np.ndarray and number.dtype != object:
        return not number.all()
    return number == 0 if type(number) is float else may_hold(number == 0)


def is_same(x: Any, y: Any) -> bool:
    """Tell whether two arguments are the same number: one node, or two computed alike.

    Jets that are not roots are the same if they and their derivatives are equal.
    """
    pairs, seen = [(x, y)], set()
    while pairs:
        a, b = pairs.pop()
        if a is b or (id(a), id(b)) in seen:
            continue
        if type(a) is not type(b):
            return False
        seen.add((id(a), id(b)))
        if type(a) in NODES and a.level is b.level and type(a.index) is int and a.index == b.index:
            continue  # a tape may hold a copy of a node without its value
        if type(a) in NODES or is_root(a):
            (made_a, args_a), (made_b, args_b) = origin(a), origin(b)
            if made_a is None or made_a is not made_b:
                return False
            rules = made_a.squared or made_a.partials  # ignores the mask of a flat root
            pairs += [
                (p, q)
                for rule, p, q in zip(rules, args_a, args_b, strict=True)
                if rule is not ZERO or not made_a.squared
            ]
        elif type(a) is tuple and len(a) == len(b):  # an index may have arrays
            pairs += zip(a, b, strict=True)
        elif type(a) is Jet:
            pairs += [(a.value, b.value), *zip(a.higher, b.higher, strict=True)]
        elif not (
            np.array_equal(a, b) if type(a) in _NUMPY_TYPES else type(a) in _PLAIN_TYPES and a == b
        ):
            return False
    return True


_NUMPY_TYPES = {np.ndarray, np.float64, np.float32, np.complex128}
_PLAIN_TYPES = {int, float, str, bool, slice, type(None), type(...)}


def may_hold(condition: Any) -> bool:
    """Tell whether a condition holds for some element; for an opaque or lazy one it may."""
    return isinstance(condition, (Traced, Foreign)) or bool(np.any(condition))


def note_zeros(x: Any) -> None:
    """Note which numbers are 0 on a tape that becomes source code, which then depends on it."""
    note_decision(as_operand(x) == 0)


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
    return register_value(TABLE["square"], squared)


# For each primitive made here: the row of the table with the same value, and its arity.
_VALUE_ROWS: dict[Primitive, tuple[Primitive, int]] = {}


def register_value(row: Primitive, made: Primitive) -> Primitive:
    """Register that a primitive has the value of a row of its first arguments; return it."""
    _VALUE_ROWS[made] = row, row.arity
    return made


def find_value_alone(primitive: Primitive, args: Args) -> tuple[Primitive, Args]:
    """Return a row and arguments with the same value, for code that needs no derivative."""
    made, count = _VALUE_ROWS.get(primitive, (primitive, len(args)))
    return made, args[:count]


def _shift_slots(form: str, arity: int) -> str:
    """Shift the slots of a printed form by one: {0} becomes {1}."""
    return form.format(*[f"{{{k + 1}}}" for k in range(arity)])


@cache
def _with_derivatives_of_last(primitive: Primitive) -> Primitive:
    """Make a primitive with one more argument, which gives the derivatives, not the value."""
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
    return register_value(primitive, stated)


STATED: set[Primitive] = set()


def restate_as(primitive: Primitive, smooth: Any, *args: Any) -> Restated:
    """Return a primitive that has its own value, and the derivatives of `smooth`."""
    return _with_derivatives_of_last(primitive), (*args, smooth)


def ignore_last(rule: Partial) -> Partial:
    """Return a rule for a primitive that has one more argument."""
    return (lambda v, *args: rule(v, *args[:-1])) if callable(rule) else rule


def is_constant(y: Any) -> bool:
    """Tell whether an exponent is a plain real number; a node, too, is an instance of Real."""
    return isinstance(y, Real) and not isinstance(y, Traced) and not is_mpmath_interval(type(y))
