"""The texts from which wrapping functions are made, so that operators are written into them.

Calling `operator.mul` instead of writing `x * y` takes a fifth longer, and a loop over settings
twice as long as a test of each.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

# Two arguments are the bulk of all operations; after them there may be an index.
TEXT_OF_TWO_ARGUMENTS = """
def wrapping(a=NOT_GIVEN, b=NOT_GIVEN, {given}*rest):
    if rest{is_not_fixed}:
        return explain(a, b, {names}*rest)
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
            y = b = level.retain(b) if reads_b or not is_fast else b
        elif is_opaque(b) and is_constant(b, level):
            y, b = b, level.argument(b)
        else:
            return explain(a, b{also})
    elif of_b is TapeNode or of_b is Node:
        level, x, y = b.level, a, b.value
        is_fast = type(level) is FastTape
        if of_a is float or of_a is int or of_a is float64:
            pass
        elif of_a is ndarray and a.dtype.kind == "f" and a.ndim:
            x = a = level.retain(a) if reads_a or not is_fast else a
        elif is_opaque(a) and is_constant(a, level):
            a = level.argument(a)
        else:
            return explain(a, b{also})
    elif of_a is ndarray and (of_b is ndarray or of_b is float or of_b is int):
        try:
            return {plain}
        except REFUSED:
            return apply(primitive, a, b{also})
    else:
        return explain(a, b{also})
    {check}
    try:
        value = {value}
    except REFUSED:
        return apply(primitive, take_out(a), take_out(b){also})
    if {by_level}:
        if of_a is TapeNode or of_b is TapeNode:  # of a tape, which may hold a fork of it
            a, b = level.argument(a), level.argument(b)
        return level.record(primitive, (a, b{also}), value)
    node = TapeNode()
    node.value = value
    node.primitive = primitive
    node.args = (a, b{also})
    node.level = level
    node.index = len(level)
    level.append(node)
    return level.slim(node) if type(value) is ndarray and value.size > THRESHOLDS.small else node
"""

# Whether another primitive may be recorded instead of this one, tested cheaply.
_PRODUCT = (
    "if (not is_fast or level.roots) and of_b is of_a "
    "and (p := a.primitive) is not None and (q := b.primitive) is not None "
    "and p.squared is not None and q.squared is not None "
    "and (type(x) is not float64 or not x) and may_be_0(x) and restate(a, b): "
    "return explain(a, b)"
)
RESTATED = {
    "mul": _PRODUCT,
    "matmul": _PRODUCT,
    "power": "if (of_b is not int or not is_fast or level.roots) "
    "and may_be_root(a, b) and restate(a, b): return explain(a, b)",
}

# One array and plain settings, such as axes or an index.
TEXT_WITH_SETTINGS = """
def wrapping(x=NOT_GIVEN, {given}, *rest):
    recorded = type(x) is TapeNode or type(x) is Node
    plain = x.value if recorded else x
    is_array = type(plain) is ndarray or type(plain) is float64
    if not is_array or rest or not ({fixed}):
        return explain(x, {names}, *rest)
    try:
        value = compute(plain, {names})
    except REFUSED:
        return apply(primitive, x, {names})
    if not recorded:
        return value
    level = x.level
    if type(level) is not FastTape or (by_shape and level.large and not level.roots):
        return record(x, ({names},), value)
    node = TapeNode()
    node.value = value
    node.primitive = primitive
    node.args = (x, {names})
    node.level = level
    node.index = len(level)
    level.append(node)
    return level.slim(node) if type(value) is ndarray and value.size > THRESHOLDS.small else node
"""
IS_FIXED = (
    "(type({0}) in IMMUTABLE or (type({0}) is tuple and IMMUTABLE.issuperset(map(type, {0}))))"
)


def make_wrapping(name: str, source: str, known: dict[str, Any]) -> Callable[..., Any]:
    """Make a wrapping function from its text, which debuggers and tracebacks then show."""
    known = dict(known)
    filename = f"<simpleautodiff.fast.calls, the wrapping function of {name}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    exec(compile(source, filename, "exec"), known)
    wrapping: Callable[..., Any] = known["wrapping"]
    return wrapping
