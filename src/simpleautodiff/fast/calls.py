"""Wrapping functions with a fast path for frequent cases; all others go through `apply`.

A fast path does what `apply` and the level's `record` would do, without calling them.
"""

from __future__ import annotations

import linecache
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from simpleautodiff.core.engine import engine
from simpleautodiff.core.level import REFUSED, WATCHERS, Traced, Written, apply, take_current
from simpleautodiff.core.node import NODES, Constant, Node, TapeNode
from simpleautodiff.core.primitive import Primitive, values_read
from simpleautodiff.fast.direct_pulls import enter
from simpleautodiff.fast.fast_tape import FastTape, is_root_row
from simpleautodiff.fast.faster_values import FASTER
from simpleautodiff.fast.memory_pool import POOL, compute_pooled
from simpleautodiff.fast.thresholds import THRESHOLDS

ARRAYS = {np.ndarray, np.float64}
VALUE_TYPES = {*ARRAYS, float}
IMMUTABLE = {int, float, bool, slice, str, type(None), type(...), np.float64}
FIXED = {*NODES, *IMMUTABLE}
SETTINGS = {*IMMUTABLE, tuple, np.ndarray}
NUMBERS = {int, float, bool, *ARRAYS}
NOT_GIVEN = object()  # an argument that was not given


def wrap(primitive: Primitive) -> Callable[..., Any]:
    """Make the wrapping function of a primitive, with a fast path for the most frequent case."""
    enter(primitive)
    match primitive.arity:
        case 1:
            return _wrap_unary(primitive)
        case 2 if not primitive.settings:
            return _wrap_binary(primitive)
        case _ if is_root_row(primitive):
            return lambda *args: apply(primitive, *args)
        case arity if primitive.settings == tuple(range(1, arity)):
            return _wrap_with_settings(primitive)
        case _:
            return _wrap_several(primitive)


def _apply_unwrapped(wrapping: Any, primitive: Primitive, args: tuple[Any, ...]) -> Any:
    """Run a primitive on the current nodes of written arrays, which may take the fast path."""
    if any([issubclass(type(arg), Written) for arg in args]):
        return wrapping(*map(take_current, args))
    return apply(primitive, *args)


def _faster(primitive: Primitive) -> Callable[..., Any]:
    """Return the function that computes the values of a primitive."""
    faster = FASTER.get(primitive.name)
    return faster(primitive.compute) if faster else primitive.compute


def _restate(primitive: Primitive) -> Callable[..., Any] | None:
    """Return the function that finds a smoother primitive; `carry_root` is for jets only."""
    return None if primitive.squared == () else primitive.restate


def _record(level: Any, primitive: Primitive, args: tuple[Any, ...], value: Any) -> Node:
    """Make the node of an operation."""
    if type(level) is not FastTape:
        return level.record(primitive, tuple(map(level.argument, args)), value)  # type: ignore[no-any-return]
    node = TapeNode()
    node.value = value
    node.primitive = primitive
    node.args = args
    node.level = level
    node.index = len(level)
    level.append(node)
    return level.slim(node) if type(value) is np.ndarray and value.size > THRESHOLDS.small else node


def _wrap_unary(primitive: Primitive) -> Callable[..., Any]:
    by_type = primitive.by_type
    if by_type is None:
        return lambda *args: apply(primitive, *args)
    if primitive.name in FASTER:
        by_type[np.ndarray] = FASTER[primitive.name](by_type[np.ndarray])
    restate, root = _restate(primitive), is_root_row(primitive)

    def wrapping(*args: Any) -> Any:
        if len(args) != 1:
            return apply(primitive, *args)
        (x,) = args
        if type(x) is TapeNode or type(x) is Node:
            value = x.value
            if restate is not None and may_be_0(value) and restate(x) is not None:
                return apply(primitive, x)
            try:
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
        if type(level) is not FastTape or root:
            return level.record(primitive, (level.argument(x),), value)
        node = TapeNode()
        node.value = value
        node.primitive = primitive
        node.args = args
        node.level = level
        node.index = len(level)
        level.append(node)
        large = type(value) is np.ndarray and value.size > THRESHOLDS.small
        return level.slim(node) if large else node

    return wrapping


def _wrap_with_settings(primitive: Primitive) -> Callable[..., Any]:
    """Make a wrapping function with a fast path for one array and plain settings, such as axes."""
    compute, arity = _faster(primitive), primitive.arity
    by_shape = 0 not in values_read(primitive, (0,))

    def wrapping(*args: Any) -> Any:
        x = args[0] if args else None
        recorded = type(x) in NODES
        plain = x.value if recorded else x  # type: ignore[union-attr]
        is_array = type(plain) is np.ndarray or type(plain) is np.float64
        if len(args) != arity or not (is_array or (recorded and _is_opaque(plain))):
            return _apply_unwrapped(wrapping, primitive, args)
        settings, fixed = args[1:], True
        for setting in settings:
            kind = type(setting)
            if kind in IMMUTABLE or (kind is tuple and IMMUTABLE.issuperset(map(type, setting))):
                continue
            if kind not in SETTINGS or (kind is tuple and _has_traced(setting)):
                return apply(primitive, *args)
            fixed = False
        try:
            value = compute(plain, *settings) if is_array else apply(primitive, plain, *settings)
        except REFUSED:
            return apply(primitive, *args)
        if not recorded:
            return value
        level: Any = x.level  # type: ignore[union-attr]
        if not fixed:
            args = (x, *[_keep(setting, level) for setting in settings])
        if type(level) is not FastTape or not level.large or not by_shape or level.roots:
            return _record(level, primitive, args, value)
        own = level[x.index]  # type: ignore[union-attr]  # it may have only a shape
        node = _record(level, primitive, (own, *args[1:]), value)
        if own is not x and primitive in WATCHERS:
            WATCHERS[primitive](node, args)
        return node

    return wrapping


def _has_traced(index: tuple[Any, ...]) -> bool:
    """Tell whether an index has a part that a transformation computes with."""
    return any([isinstance(part, Traced) for part in index])


def _is_opaque(x: Any) -> bool:
    """Tell whether a number belongs to a batch, or to a program that is being recorded."""
    return type(x) not in NODES and getattr(type(x), "opaque", False)


def _is_constant(opaque: Any, level: Any) -> bool:
    """Tell whether an opaque number is a constant to a tape."""
    return type(level) is FastTape and bool(opaque.level.number < level.number)


def _is_fixed(setting: Any) -> bool:
    """Tell whether a setting is immutable: a number, a slice, a tuple of such."""
    kind = type(setting)
    return kind in FIXED or (kind is tuple and all([_is_fixed(part) for part in setting]))


def _keep(arg: Any, level: Any) -> Any:
    """Return an argument in the form in which a node stores it."""
    if type(arg) is np.ndarray:
        return level.retain(arg)
    return arg if _is_fixed(arg) else level.argument(arg)


def _wrap_several(primitive: Primitive) -> Callable[..., Any]:
    """Make a wrapping function with a fast path for arrays of one level and plain settings."""
    compute, arity, restate = _faster(primitive), primitive.arity, _restate(primitive)
    settings = primitive.settings

    def wrapping(*args: Any) -> Any:
        level, values, arrays = None, [], False
        for arg in args:
            kind = type(arg)
            if kind in NODES:
                value = arg.value
                if level is None:
                    level = arg.level
                if type(value) not in VALUE_TYPES or arg.level is not level:
                    return apply(primitive, *args)
                values.append(value)
            elif kind in NUMBERS or (kind in SETTINGS and len(values) in settings):
                values.append(arg)
                arrays = arrays or kind in ARRAYS
            else:
                return _apply_unwrapped(wrapping, primitive, args)
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
        kept = tuple([arg if type(arg) in FIXED else _keep(arg, level) for arg in args])
        return _record(level, primitive, kept, value)

    return wrapping


# Two arguments are the bulk of all operations. The function is made from its text so that + - * /
# can be written into it as operators: calling `operator.mul` instead is a fifth slower. The text is
# known to `linecache`, so that debuggers and tracebacks show the lines that run.
_BINARY = """
def wrapping(a=NOT_GIVEN, b=NOT_GIVEN, *rest):
    if rest:
        return apply(primitive, a, b, *rest)
    of_a, of_b = type(a), type(b)
    if of_a is TapeNode or of_a is Node:
        level, x = a.level, a.value
        is_fast = type(level) is FastTape
        {restated}
        if of_b is of_a and b.level is level:
            y = b.value
        elif of_b is float or of_b is int or of_b is float64:
            y = b
        elif of_b is ndarray and b.dtype.kind == "f" and b.ndim:
            y = b = level.retain(b) if reads_b and is_fast else b
        elif is_opaque(b) and is_constant(b, level):
            y, b = b, level.argument(b)
        else:
            return explain(a, b)
    elif of_b is TapeNode:
        level, x, y = b.level, a, b.value
        is_fast = type(level) is FastTape
        if of_a is float or of_a is int or of_a is float64:
            pass
        elif of_a is ndarray and a.dtype.kind == "f" and a.ndim:
            x = a = level.retain(a) if reads_a and is_fast else a
        elif is_opaque(a) and is_constant(a, level):
            a = level.argument(a)
        else:
            return explain(a, b)
    elif of_a is ndarray and (of_b is ndarray or of_b is float or of_b is int):
        try:
            return {plain} if not POOL.open else compute_pooled(compute, a, b)
        except REFUSED:
            return apply(primitive, a, b)
    else:
        return explain(a, b)
    try:
        value = {value} if not POOL.open else compute_pooled(compute, x, y)
    except REFUSED:
        return apply(primitive, take_out(a), take_out(b))
    if {by_level}:
        return level.record(primitive, (level.argument(a), level.argument(b)), value)
    node = TapeNode()
    node.value = value
    node.primitive = primitive
    node.args = (a, b)
    node.level = level
    node.index = len(level)
    level.append(node)
    return level.slim(node) if type(value) is ndarray and value.size > THRESHOLDS.small else node
"""

# Whether another primitive may be recorded instead of this one, tested cheaply.
_PRODUCT = (
    "if (not is_fast or level.roots) and of_b is of_a "
    "and (p := a.primitive) is not None and (q := b.primitive) is not None "
    "and p.squared is not None and q.squared is not None and may_be_0(x) and restate(a, b): "
    "return explain(a, b)"
)
_RESTATED = {
    "mul": _PRODUCT,
    "matmul": _PRODUCT,
    "power": "if may_be_root(a, b) and restate(a, b): return explain(a, b)",
}


def may_be_0(value: Any) -> bool:
    """Tell whether a factor is 0 somewhere; True for a large one, as the graph answers sooner."""
    if type(value) is float or type(value) is np.float64:
        return not value
    if type(value) is not np.ndarray or value.size > THRESHOLDS.medium:
        return True
    return int(np.count_nonzero(value)) < value.size


def _take_out(arg: Any) -> Any:
    """Return a constant without the box in which a node stores it."""
    return arg.value if type(arg) is Constant else arg


def _may_be_root(base: Any, exponent: Any) -> bool:
    """Tell whether a power may be an even power of a root at 0, or a root itself."""
    if type(exponent) in NODES or type(exponent) is np.ndarray:
        return False
    if type(exponent) is int:
        made = base.primitive
        if exponent < 2 or exponent % 2 or made is None or made.squared is None:
            return False
        if not getattr(base.level, "roots", True):
            return False
    return may_be_0(base.value)


def _wrap_binary(primitive: Primitive) -> Callable[..., Any]:
    infix = {operator.add: "+", operator.sub: "-", operator.mul: "*", operator.truediv: "/"}
    sign = infix.get(primitive.compute)
    source = _BINARY.format(
        restated=_RESTATED.get(primitive.name, "pass"),
        value=f"x {sign} y" if sign else "compute(x, y)",
        plain=f"a {sign} b" if sign else "compute(a, b)",
        by_level="True" if is_root_row(primitive) else "not is_fast",  # which notes roots
    )

    def explain(a: Any, b: Any) -> Any:
        if b is NOT_GIVEN:
            return apply(primitive, *[x for x in (a,) if x is not NOT_GIVEN])
        return _apply_unwrapped(names["wrapping"], primitive, (a, b))

    names: dict[str, Any] = {
        "FastTape": FastTape,
        "THRESHOLDS": THRESHOLDS,
        "NOT_GIVEN": NOT_GIVEN,
        "Node": Node,
        "TapeNode": TapeNode,
        "POOL": POOL,
        "REFUSED": REFUSED,
        "apply": apply,
        "compute": _faster(primitive),
        "explain": explain,
        "is_constant": _is_constant,
        "is_opaque": _is_opaque,
        "compute_pooled": compute_pooled,
        "float64": np.float64,
        "may_be_0": may_be_0,
        "may_be_root": _may_be_root,
        "ndarray": np.ndarray,
        "primitive": primitive,
        "restate": primitive.restate,
        "take_out": _take_out,
        "reads_a": 0 in values_read(primitive, (1,)),  # what no rule reads need not be retained
        "reads_b": 1 in values_read(primitive, (0,)),
    }
    filename = f"<simpleautodiff.fast.calls, the wrapping function of {primitive.name}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    exec(compile(source, filename, "exec"), names)
    wrapping: Callable[..., Any] = names["wrapping"]
    return wrapping
