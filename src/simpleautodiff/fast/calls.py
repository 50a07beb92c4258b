"""Wrapping functions with a short way for the frequent cases; all others go by `apply`.

A short way does what `apply` and the level's `record` would do, without calling them.
"""

from __future__ import annotations

import linecache
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from simpleautodiff.core.engine import engine
from simpleautodiff.core.level import REFUSED, WATCHERS, apply
from simpleautodiff.core.liveness import values_read
from simpleautodiff.core.node import Node
from simpleautodiff.core.primitive import Primitive
from simpleautodiff.fast.fast_tape import FastTape
from simpleautodiff.fast.faster_values import FASTER
from simpleautodiff.fast.limits import LIMITS
from simpleautodiff.fast.memory_pool import POOL, compute_pooled

ARRAYS = {np.ndarray, np.float64}
IMMUTABLE = {int, float, bool, slice, str, type(None), np.float64}
FIXED = {Node, *IMMUTABLE}
SETTINGS = {*IMMUTABLE, tuple, np.ndarray}
MISSING = object()  # an argument that was not given
_new = object.__new__


def wrap(primitive: Primitive) -> Callable[..., Any]:
    """Make the wrapping function of a primitive, with a short way for the most frequent case."""
    match primitive.arity:
        case 1:
            return _wrap_unary(primitive)
        case 2 if not primitive.settings:
            return _wrap_binary(primitive)
        case arity if primitive.settings == tuple(range(1, arity)):
            return _wrap_with_settings(primitive)
        case _:
            return _wrap_several(primitive)


def _faster(primitive: Primitive) -> Callable[..., Any]:
    """Return what computes the values of a primitive."""
    faster = FASTER.get(primitive.name)
    return faster(primitive.compute) if faster else primitive.compute


def _restate(primitive: Primitive) -> Callable[..., Any] | None:
    """Return what finds a smoother primitive for nodes; of those that carry roots, jets need it."""
    return None if primitive.squared == () else primitive.restate


def _record(level: Any, primitive: Primitive, args: tuple[Any, ...], value: Any) -> Node:
    """Make the node of an operation."""
    if type(level) is not FastTape:
        return level.record(primitive, tuple(map(level.argument, args)), value)  # type: ignore[no-any-return]
    node = _new(Node)
    node.value = value
    node.primitive = primitive
    node.args = args
    node.level = level
    node.index = len(level)
    level.append(node)
    return level.slim(node) if type(value) is np.ndarray and value.size > LIMITS.small else node


def _wrap_unary(primitive: Primitive) -> Callable[..., Any]:
    by_type = primitive.by_type
    if by_type is None:
        return lambda *args: apply(primitive, *args)
    if primitive.name in FASTER:
        by_type[np.ndarray] = FASTER[primitive.name](by_type[np.ndarray])
    restate = _restate(primitive)

    def wrapping(*args: Any) -> Any:
        if len(args) != 1:
            return apply(primitive, *args)
        (x,) = args
        if type(x) is Node:
            if restate is not None and restate(x) is not None:
                return apply(primitive, x)
            try:
                value = x.value
                compute = by_type[type(value)]
                value = compute(value) if not POOL.open else compute_pooled(compute, value)
            except REFUSED:
                return apply(primitive, x)
        elif type(x) is float or type(x) is np.ndarray or type(x) in engine.scalars:
            try:
                compute = by_type[type(x)]
                return compute(x) if not POOL.open else compute_pooled(compute, x)
            except REFUSED:
                return apply(primitive, x)
        else:
            return apply(primitive, x)
        level: Any = x.level
        if type(level) is not FastTape:
            return level.record(primitive, (level.argument(x),), value)
        node = _new(Node)
        node.value = value
        node.primitive = primitive
        node.args = args
        node.level = level
        node.index = len(level)
        level.append(node)
        return level.slim(node) if type(value) is np.ndarray and value.size > LIMITS.small else node

    return wrapping


def _wrap_with_settings(primitive: Primitive) -> Callable[..., Any]:
    """Make a wrapping with a short way for one array and plain settings, such as axes."""
    compute, arity = _faster(primitive), primitive.arity
    by_shape = 0 not in values_read(primitive, (0,))

    def wrapping(*args: Any) -> Any:
        if len(args) != arity:
            return apply(primitive, *args)
        x, *settings = args
        for setting in settings:
            if type(setting) not in SETTINGS:
                return apply(primitive, *args)
        recorded = type(x) is Node
        plain = x.value if recorded else x
        if type(plain) is np.ndarray or type(plain) is np.float64:
            try:
                value = compute(plain, *settings)
            except REFUSED:
                return apply(primitive, *args)
        elif recorded and _is_opaque(plain):
            value = apply(primitive, plain, *settings)
        else:
            return apply(primitive, *args)
        if not recorded:
            return value
        level = x.level
        if by_shape and type(level) is FastTape:
            x = level[x.index]  # of which perhaps only the shape is kept
        node = _record(level, primitive, (x, *[_setting(s, level) for s in settings]), value)
        if x is not args[0] and primitive in WATCHERS:
            WATCHERS[primitive](node, args)
        return node

    return wrapping


def _is_opaque(x: Any) -> bool:
    """Tell whether a number is one that a batch or a program being recorded computes with."""
    return type(x) is not Node and getattr(type(x), "opaque", False)


def _is_constant(opaque: Any, level: Any) -> bool:
    """Tell whether an opaque number is a constant to a tape."""
    return type(level) is FastTape and bool(opaque.level.number < level.number)


def _setting(setting: Any, level: Any) -> Any:
    """Return a setting as a node keeps it."""
    kind = type(setting)
    if kind in IMMUTABLE or (kind is tuple and IMMUTABLE.issuperset(map(type, setting))):
        return setting
    return level.argument(setting)


def _wrap_several(primitive: Primitive) -> Callable[..., Any]:
    """Make a wrapping with a short way for arrays of one level and plain settings, such as axes."""
    compute, arity, restate = _faster(primitive), primitive.arity, _restate(primitive)

    def wrapping(*args: Any) -> Any:
        level, values, arrays = None, [], False
        for arg in args:
            kind = type(arg)
            if kind is Node:
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
        if level and restate is not None and restate(*args):
            return apply(primitive, *args)
        try:
            value = compute(*values)
        except REFUSED:
            return apply(primitive, *args)
        if level is None:
            return value
        kept = tuple([arg if type(arg) in FIXED else level.argument(arg) for arg in args])
        return _record(level, primitive, kept, value)

    return wrapping


# Two arguments are the bulk of all operations. The function is made from its text so that + - * /
# can be written into it as operators: calling `operator.mul` instead is a fifth slower. The text is
# known to `linecache`, so that debuggers and tracebacks show the lines that run.
_BINARY = """
def wrapping(a=MISSING, b=MISSING, *rest):
    if rest:
        return apply(primitive, a, b, *rest)
    if type(a) is Node:
        {restated}
        level, x = a.level, a.value
        if type(b) is Node and b.level is level:
            y = b.value
        elif type(b) is float or type(b) is int or type(b) is float64:
            y = b
        elif type(b) is ndarray and b.dtype.kind == "f" and b.ndim:
            y = b = level.retain(b) if reads_b and type(level) is FastTape else b
        elif is_opaque(b) and is_constant(b, level):
            y, b = b, level.argument(b)
        else:
            return explain(a, b)
    elif type(b) is Node and (type(a) is float or type(a) is int or type(a) is float64):
        level, x, y = b.level, a, b.value
    elif type(b) is Node and type(a) is ndarray and a.dtype.kind == "f" and a.ndim:
        level, y = b.level, b.value
        x = a = level.retain(a) if reads_a and type(level) is FastTape else a
    elif type(b) is Node and is_opaque(a) and is_constant(a, b.level):
        level, x, y = b.level, a, b.value
        a = level.argument(a)
    elif type(a) is ndarray and (type(b) is ndarray or type(b) is float or type(b) is int):
        try:
            return {plain} if not POOL.open else compute_pooled(compute, a, b)
        except REFUSED:
            return apply(primitive, a, b)
    else:
        return explain(a, b)
    try:
        value = {value} if not POOL.open else compute_pooled(compute, x, y)
    except REFUSED:
        return apply(primitive, a, b)
    if type(level) is not FastTape:
        return level.record(primitive, (level.argument(a), level.argument(b)), value)
    node = new(Node)
    node.value = value
    node.primitive = primitive
    node.args = (a, b)
    node.level = level
    node.index = len(level)
    level.append(node)
    return level.slim(node) if type(value) is ndarray and value.size > LIMITS.small else node
"""

# When another primitive may be recorded in place of this one, with as few questions as can be.
_PRODUCT = (
    "if type(b) is Node and (p := a.primitive) is not None and (q := b.primitive) is not None "
    "and p.squared is not None and q.squared is not None "
    "and may_be_0(a.value) and restate(a, b): return explain(a, b)"
)
_RESTATED = {
    "mul": _PRODUCT,
    "matmul": _PRODUCT,
    "power": "if type(b) is not Node and restate(a, b): return explain(a, b)",
}


def _may_be_0(value: Any) -> bool:
    """Tell whether a factor is 0 somewhere, or is so large that the graph is sooner asked."""
    if type(value) is float or type(value) is np.float64:
        return not value
    return type(value) is not np.ndarray or value.size > LIMITS.medium or not value.all()


def _wrap_binary(primitive: Primitive) -> Callable[..., Any]:
    infix = {operator.add: "+", operator.sub: "-", operator.mul: "*", operator.truediv: "/"}
    sign = infix.get(primitive.compute)
    source = _BINARY.format(
        restated=_RESTATED.get(primitive.name, "pass"),
        value=f"x {sign} y" if sign else "compute(x, y)",
        plain=f"a {sign} b" if sign else "compute(a, b)",
    )

    def explain(a: Any, b: Any) -> Any:
        return apply(primitive, *[x for x in (a, b) if x is not MISSING])

    names: dict[str, Any] = {
        "FastTape": FastTape,
        "LIMITS": LIMITS,
        "MISSING": MISSING,
        "Node": Node,
        "POOL": POOL,
        "REFUSED": REFUSED,
        "apply": apply,
        "compute": _faster(primitive),
        "explain": explain,
        "is_constant": _is_constant,
        "is_opaque": _is_opaque,
        "compute_pooled": compute_pooled,
        "float64": np.float64,
        "may_be_0": _may_be_0,
        "ndarray": np.ndarray,
        "new": _new,
        "primitive": primitive,
        "restate": primitive.restate,
        "reads_a": 0 in values_read(primitive, (1,)),  # what no rule reads need not be retained
        "reads_b": 1 in values_read(primitive, (0,)),
    }
    filename = f"<simpleautodiff.fast.calls, the wrapping function of {primitive.name}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    exec(compile(source, filename, "exec"), names)
    wrapping: Callable[..., Any] = names["wrapping"]
    return wrapping
