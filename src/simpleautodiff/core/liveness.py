"""Which values the rules of a primitive read, so that a reverse sweep needs them.

A parameter of a rule whose name begins with an underscore is there for its shape and dtype.
"""

from __future__ import annotations

import inspect
from typing import Any

from simpleautodiff.core.linear import LinearRule
from simpleautodiff.core.primitive import Partial, Primitive


def values_read(primitive: Primitive, parents: tuple[int, ...]) -> frozenset[int]:
    """Return whose values the derivatives in `parents` read: positions, -1 for the result."""
    if parents not in primitive.read:
        by_each = [_read_by(primitive.partials[k], primitive.arity) for k in parents]
        primitive.read[parents] = frozenset().union(*by_each)
    return primitive.read[parents]


def _read_by(rule: Partial, arity: int) -> set[int]:
    """Return the arguments that a rule reads, and -1 if it reads the result."""
    if isinstance(rule, LinearRule):
        both = [_named_as_read(function, arity) for function in (rule.push, rule.pull)]
        return set().union(*both) - {-1}  # in place of the result they get a derivative
    return _named_as_read(rule, arity) if callable(rule) else set()


def _named_as_read(function: Any, arity: int) -> set[int]:
    read = set()
    parameters = inspect.signature(function).parameters.values()
    for index, parameter in zip(range(-1, arity), parameters, strict=False):  # no options
        if not parameter.name.startswith("_"):
            several = parameter.kind is parameter.VAR_POSITIONAL
            read |= set(range(index, arity)) if several else {index}
    return read
