"""Wrapping functions with a fast path for frequent cases; all others go through `apply`.

A fast path does what `apply` and the level's `record` would do, without calling them.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from simpleautodiff.core.engine import engine
from simpleautodiff.core.level import REFUSED, WATCHERS, Traced, Written, apply, take_current
from simpleautodiff.core.node import NODES, Constant, Node, TapeNode
from simpleautodiff.core.primitive import Primitive, find_values_read
from simpleautodiff.fast.direct_pulls import enter
from simpleautodiff.fast.fast_tape import FastTape, is_root_row
from simpleautodiff.fast.faster_values import FASTER
from simpleautodiff.fast.memory_pool import POOL, compute_pooled
from simpleautodiff.fast.thresholds import THRESHOLDS
from simpleautodiff.fast.wrapping_text import (
    IS_FIXED,
    RESTATED,
    TEXT_OF_TWO_ARGUMENTS,
    TEXT_WITH_SETTINGS,
    make_wrapping,
)

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
        case 3 if primitive.settings == (2,) and _restate(primitive) is None:
            return _wrap_binary_with_index(primitive)
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
        if type(level) is not FastTape or (root and not level.roots):
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
    by_shape = 0 not in find_values_read(primitive, (0,))

    def explain(*given: Any) -> Any:
        args = tuple([arg for arg in given if arg is not NOT_GIVEN])
        x: Any = args[0] if args else None
        settings = args[1:]
        plain = x.value if type(x) in NODES else x
        is_array = type(plain) is np.ndarray or type(plain) is np.float64
        is_opaque = type(x) in NODES and _is_opaque(plain)
        if len(args) != arity or not (is_array or is_opaque):
            return _apply_unwrapped(wrapping, primitive, args)
        for setting in settings:
            kind = type(setting)
            if kind not in SETTINGS or (kind is tuple and _has_traced(setting)):
                return apply(primitive, *args)
        try:
            value = compute(plain, *settings) if is_array else apply(primitive, plain, *settings)
        except REFUSED:
            return apply(primitive, *args)
        return record(x, settings, value) if type(x) in NODES else value

    def record(x: Any, settings: tuple[Any, ...], value: Any) -> Node:
        level = x.level
        kept = tuple([_keep(setting, level) for setting in settings])
        if type(level) is not FastTape or not level.large or not by_shape or level.roots:
            return _record(level, primitive, (x, *kept), value)
        own = level[x.index]  # it may have only a shape
        node = _record(level, primitive, (own, *kept), value)
        if own is not x and primitive in WATCHERS:
            WATCHERS[primitive](node, (x, *kept))
        return node

    names = [f"setting{k}" for k in range(1, arity)]
    source = TEXT_WITH_SETTINGS.format(
        given=", ".join([f"{name}=NOT_GIVEN" for name in names]),
        names=", ".join(names),
        fixed=" and ".join([IS_FIXED.format(name) for name in names]),
    )
    known = {"by_shape": by_shape, "explain": explain, "record": record, "compute": compute}
    wrapping = make_wrapping(primitive.name, source, {**_KNOWN, **known, "primitive": primitive})
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
        level: Any = None
        values: list[Any] = []
        arrays, fixed = False, True
        for arg in args:
            kind = type(arg)
            if kind is TapeNode or kind is Node:
                value = arg.value
                if arg.level is not level:
                    if level is not None:
                        return apply(primitive, *args)
                    level = arg.level
                if type(value) not in VALUE_TYPES:
                    return apply(primitive, *args)
                values.append(value)
            elif kind in NUMBERS or (kind in SETTINGS and len(values) in settings):
                values.append(arg)
                arrays = arrays or kind in ARRAYS
                fixed = fixed and kind in IMMUTABLE
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
        kept = args if fixed else tuple([_keep(arg, level) for arg in args])
        return _record(level, primitive, kept, value)

    return wrapping


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

    def explain(a: Any, b: Any, *rest: Any) -> Any:
        if b is NOT_GIVEN or rest:
            return apply(primitive, *[x for x in (a, b) if x is not NOT_GIVEN], *rest)
        return _apply_unwrapped(wrapping, primitive, (a, b))

    wrapping = _make_binary(
        primitive,
        explain,
        restated=RESTATED.get(primitive.name, "pass"),
        value=_POOLED.format(f"x {sign} y" if sign else "compute(x, y)", "x, y"),
        plain=_POOLED.format(f"a {sign} b" if sign else "compute(a, b)", "a, b"),
        **dict.fromkeys(("given", "names", "also", "is_not_fixed"), ""),
        check="pass",
    )
    return wrapping


_POOLED = "{} if not POOL.open else compute_pooled(compute, {})"


def _wrap_binary_with_index(primitive: Primitive) -> Callable[..., Any]:
    """Make a wrapping function with a fast path for two arguments and an index that is fixed."""
    return _make_binary(
        primitive,
        _wrap_several(primitive),
        restated="pass",
        value="compute(x, y, index)",
        plain="compute(a, b, index)",
        given="index=NOT_GIVEN, ",
        names="index, ",
        also=", index",
        is_not_fixed=f" or not {IS_FIXED.format('index')}",
        check="if type(x) not in VALUE_TYPES or type(y) not in VALUE_TYPES: "
        "return explain(take_out(a), take_out(b), index)",
    )


def _make_binary(
    primitive: Primitive, explain: Callable[..., Any], **parts: str
) -> Callable[..., Any]:
    """Make a wrapping function from the text of those with two arguments."""
    # The level notes the first root.
    by_level = "not is_fast" + " or not level.roots" * is_root_row(primitive)
    source = TEXT_OF_TWO_ARGUMENTS.format(by_level=by_level, **parts)
    known = {
        "compute": _faster(primitive),
        "explain": explain,
        "restate": primitive.restate,
        "take_out": _take_out,
        "reads_a": 0
        in find_values_read(primitive, (1,)),  # what no rule reads need not be retained
        "reads_b": 1 in find_values_read(primitive, (0,)),
    }
    return make_wrapping(primitive.name, source, {**_KNOWN, **known, "primitive": primitive})


_KNOWN: dict[str, Any] = {
    "FastTape": FastTape,
    "IMMUTABLE": IMMUTABLE,
    "THRESHOLDS": THRESHOLDS,
    "NOT_GIVEN": NOT_GIVEN,
    "Node": Node,
    "TapeNode": TapeNode,
    "VALUE_TYPES": VALUE_TYPES,
    "POOL": POOL,
    "REFUSED": REFUSED,
    "apply": apply,
    "is_constant": _is_constant,
    "is_opaque": _is_opaque,
    "compute_pooled": compute_pooled,
    "float64": np.float64,
    "may_be_0": may_be_0,
    "may_be_root": _may_be_root,
    "ndarray": np.ndarray,
}
