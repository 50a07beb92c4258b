"""Wrapping functions: what a user calls for a primitive, with short ways for the frequent cases."""

from __future__ import annotations

import operator
from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any

import numpy as np

from simpleautodiff.keeping import SMALL
from simpleautodiff.lineage import VIEWS, note
from simpleautodiff.node import MISSING, Result, apply, constant
from simpleautodiff.primitives import Primitive
from simpleautodiff.recycling import STORE, in_place
from simpleautodiff.traced import Traced

ARRAYS = {np.ndarray, np.float64}
UNCHANGED = {int, float, bool, slice, str, type(None), np.float64}  # nobody can write to them
FIXED = {Result, *UNCHANGED}
SETTINGS = {*UNCHANGED, tuple, np.ndarray}
REFUSED = (ArithmeticError, ValueError, TypeError)  # what plain numbers raise; `apply` explains


def wrap(primitive: Primitive) -> Callable[..., Any]:
    """Make the wrapping function of a primitive, with a short way for the most frequent case."""
    match primitive.arity:
        case 1:
            wrapping = _wrap_unary(primitive)
        case 2 if not primitive.settings:
            wrapping = _wrap_binary(primitive)
        case arity if primitive.settings == tuple(range(1, arity)):
            wrapping = _wrap_set(primitive)
        case _:
            wrapping = _wrap_many(primitive)

    if primitive.by_type is not None:
        primitive.by_type.defer(Traced, wrapping)
    wrapping.__name__ = wrapping.__qualname__ = {"abs": "absolute"}.get(
        primitive.name, primitive.name
    )
    wrapping.__module__ = __package__
    names = _argument_names(primitive.arity)
    wrapping.__signature__ = Signature([Parameter(n, Parameter.POSITIONAL_ONLY) for n in names])  # type: ignore[attr-defined]
    wrapping.__doc__ = _document(primitive)
    wrapping.primitive = primitive  # type: ignore[attr-defined]
    return wrapping


def _wrap_unary(primitive: Primitive) -> Callable[..., Any]:
    by_type = primitive.by_type
    assert by_type is not None

    def wrapping(*args: Any) -> Any:
        if len(args) != 1:
            return apply(primitive, *args)
        (x,) = args
        if type(x) is Result:
            try:
                value = x.value
                compute = by_type[type(value)]
                value = compute(value) if not STORE.open else in_place(compute, value)
            except REFUSED:
                return apply(primitive, x)
        elif type(x) is float or type(x) is np.ndarray:
            try:
                compute = by_type[type(x)]
                return compute(x) if not STORE.open else in_place(compute, x)
            except REFUSED:
                return apply(primitive, x)
        else:
            return apply(primitive, x)
        node = Result()
        node.value = value
        node.primitive = primitive
        node.args = args
        node.level = level = x.level
        node.index = len(level)
        level.append(node)
        return level.slim(node) if type(value) is np.ndarray and value.size > SMALL else node

    return wrapping


def _wrap_set(primitive: Primitive) -> Callable[..., Any]:
    """Make a wrapping with a short way for one array and plain settings, such as axes."""
    compute, arity = primitive.compute, primitive.arity
    by_shape = 0 not in primitive.read((0,))

    def wrapping(*args: Any) -> Any:
        if len(args) != arity:
            return apply(primitive, *args)
        x, *settings = args
        for setting in settings:
            if type(setting) not in SETTINGS:
                return apply(primitive, *args)
        recorded = type(x) is Result
        plain = x.value if recorded else x
        if type(plain) is not np.ndarray and (recorded or type(plain) is not np.float64):
            return apply(primitive, *args)
        try:
            value = compute(plain, *settings)
        except REFUSED:
            return apply(primitive, *args)
        if not recorded:
            return value
        level, given = x.level, x
        if by_shape and level.lean:
            x = level[x.index]  # of which perhaps only the shape is kept
        node = Result()
        node.value = value
        node.primitive = primitive
        node.args = (x, *[s if type(s) in UNCHANGED else constant(s, level) for s in settings])
        node.level = level
        node.index = len(level)
        level.append(node)
        if type(value) is np.ndarray and value.size > SMALL:
            node = level.slim(node)
        if given is not x and primitive in VIEWS:  # the record has lost whom it is a view of
            note(node, given, VIEWS[primitive](node, given, *settings))
        return node

    return wrapping


def _wrap_many(primitive: Primitive) -> Callable[..., Any]:
    """Make a wrapping with a short way for arrays of one level and plain settings, such as axes."""
    compute, arity = primitive.compute, primitive.arity

    def wrapping(*args: Any) -> Any:
        level, values, arrays = None, [], False
        for arg in args:
            kind = type(arg)
            if kind is Result:
                value = arg.value
                if level is None:
                    level = arg.level
                if type(value) is not np.ndarray or arg.level is not level:
                    return apply(primitive, *args)
                values.append(value)
            elif kind in SETTINGS:
                values.append(arg)
                arrays = arrays or kind in ARRAYS
            else:
                return apply(primitive, *args)
        if len(values) != arity or not (level or arrays):
            return apply(primitive, *args)
        try:
            value = compute(*values)
        except REFUSED:
            return apply(primitive, *args)
        if level is None:
            return value
        node = Result()
        node.value = value
        node.primitive = primitive
        node.args = tuple([arg if type(arg) in FIXED else constant(arg, level) for arg in args])
        node.level = level
        node.index = len(level)
        level.append(node)
        return level.slim(node) if type(value) is np.ndarray and value.size > SMALL else node

    return wrapping


# Two arguments are the bulk of all operations. The function is made from its text so that + - * /
# can be written into it as operators: calling `operator.mul` instead is a fifth slower.
_BINARY = """
def wrapping(a=MISSING, b=MISSING, *rest):
    if rest:
        return apply(primitive, a, b, *rest)
    if type(a) is Result:
        level, x = a.level, a.value
        if type(b) is Result and b.level is level:
            y = b.value
        elif type(b) is float or type(b) is int:
            y = b
        elif type(b) is ndarray and b.dtype.kind == "f" and b.ndim:
            y = b = b if level.lean and not reads_b else level.keep(b)
        else:
            return apply(primitive, a, b)
    elif type(b) is Result and (type(a) is float or type(a) is int):
        level, x, y = b.level, a, b.value
    elif type(b) is Result and type(a) is ndarray and a.dtype.kind == "f" and a.ndim:
        level, y = b.level, b.value
        x = a = a if level.lean and not reads_a else level.keep(a)
    elif type(a) is ndarray and (type(b) is ndarray or type(b) is float or type(b) is int):
        try:
            return {plain} if not STORE.open else in_place(compute, a, b)
        except REFUSED:
            return apply(primitive, a, b)
    else:
        return apply(primitive, a, b)
    try:
        value = {value} if not STORE.open else in_place(compute, x, y)
    except REFUSED:
        return apply(primitive, a, b)
    node = Result()
    node.value = value
    node.primitive = primitive
    node.args = (a, b)
    node.level = level
    node.index = len(level)
    level.append(node)
    return level.slim(node) if type(value) is ndarray and value.size > SMALL else node
"""


def _wrap_binary(primitive: Primitive) -> Callable[..., Any]:
    infix = {operator.add: "+", operator.sub: "-", operator.mul: "*", operator.truediv: "/"}
    sign = infix.get(primitive.compute)
    source = _BINARY.format(
        value=f"x {sign} y" if sign else "compute(x, y)",
        plain=f"a {sign} b" if sign else "compute(a, b)",
    )
    names: dict[str, Any] = {
        "MISSING": MISSING,
        "SMALL": SMALL,
        "STORE": STORE,
        "in_place": in_place,
        "ndarray": np.ndarray,
        "REFUSED": REFUSED,
        "Result": Result,
        "apply": apply,
        "compute": primitive.compute,
        "primitive": primitive,
        "reads_a": 0 in primitive.read((1,)),  # a captured array that no rule reads is not copied
        "reads_b": 1 in primitive.read((0,)),
    }
    exec(compile(source, __file__, "exec"), names)
    wrapping: Callable[..., Any] = names["wrapping"]
    return wrapping


def _argument_names(arity: int) -> list[str]:
    return list("xyz"[:arity]) if arity <= 3 else [f"x{i + 1}" for i in range(arity)]


def _document(primitive: Primitive) -> str:
    names = _argument_names(primitive.arity)
    lines = [f"{primitive.text.format(*names)}, recorded if an argument is a node.", ""]
    lines.append(f"Derivative: {primitive.reason}.")
    lines.append(f"Domain: {primitive.domain.text}.")
    lines += [f"At {kink.text}: {kink.choice}." for kink in primitive.kinks]
    return "\n".join(lines)
