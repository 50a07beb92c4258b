"""Whether every local derivative on a tape is finite, so that a zero adjoint stays 0 by itself."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np

from simpleautodiff.core.level import Traced
from simpleautodiff.core.linear import Linear, LinearRule
from simpleautodiff.core.node import Constant, Node, TapeNode
from simpleautodiff.core.primitive import REALS, TABLE, Primitive, find_values_read
from simpleautodiff.errors import AutodiffError
from simpleautodiff.values.functions import is_array

SINGLE = {int, float, np.float64}


def has_singular_slopes(tape: Iterable[Node]) -> bool:
    """Tell whether some local derivative is infinite or nan, or might be at another call.

    Most slopes are finite if the values that their rules read are. The slopes of rows for which
    that does not hold, because of a domain, a kink or growth, are computed.
    """
    known: set[int] = set()
    regular: dict[Primitive, bool] = {}
    multiplied, divided = TABLE["mul"], TABLE["div"]
    for node in tape:
        primitive = node.primitive
        if primitive is None:
            continue
        if primitive not in regular:
            regular[primitive] = _is_regular(primitive)
        if regular[primitive]:
            continue
        if not primitive.pure:
            return True  # a whole function, or a rule of a user
        if primitive is multiplied or primitive is divided:  # the commonest rows, written out
            x, y = (a.value if type(a) is TapeNode else a for a in node.args)
            if type(x) in SINGLE and type(y) in SINGLE:
                if primitive is divided and not y:
                    return True
                slopes = (x, y) if primitive is multiplied else (1 / y, node.value / y)
                if not (math.isfinite(slopes[0]) and math.isfinite(slopes[1])):
                    return True
                continue
        parents = tuple([k for k, arg in enumerate(node.args) if type(arg) is TapeNode])
        for k in find_values_read(primitive, parents):
            value = node.value if k < 0 else node.args[k]
            value = value.value if type(value) is TapeNode or type(value) is Constant else value
            if type(value) in SINGLE and not _fits(value, node.value):
                return True
            if id(value) not in known:
                if not _is_finite(value):
                    return True
                known.add(id(value))
        if (
            primitive.domain is not REALS
            or primitive.kinks
            or (primitive.listed and _grows(primitive))
        ):
            if isinstance(node.value, Traced):
                return True  # differentiated again: a slope of this slope may be infinite
            values = node.values()
            for k in parents:
                if not isinstance(primitive.partials[k], LinearRule):
                    slope = primitive.partial(k, node.value, values)
                    slope = getattr(slope, "slope", slope)  # `Slopes` holds the array in `slope`
                    if not isinstance(slope, Linear) and not _is_finite(slope):
                        return True
    return False


def _fits(number: Any, result: Any) -> bool:
    """Tell whether a number is finite in the dtype of a result, as 1e200 is not in float32."""
    dtype = result.dtype if isinstance(result, (np.ndarray, np.generic)) else _FLOAT
    return dtype.kind not in "fc" or bool(abs(number) <= np.finfo(dtype).max)


def _is_regular(primitive: Primitive) -> bool:
    """Tell whether slopes are finite for any numbers, as those of sums and indices are."""
    everything = tuple(range(primitive.arity))
    return (
        not find_values_read(primitive, everything)
        and primitive.domain is REALS
        and not primitive.kinks
        and not (primitive.listed and _grows(primitive))
    )


@cache
def _grows(primitive: Primitive) -> bool:
    """Tell whether a slope can overflow where its argument does not, as that of sinh.

    The answer is cached only for rows of the table; others are freed with their programs.
    """
    if primitive.arity != 1 or primitive.arrays:
        return False
    x = np.array([-1e300, -1e3, 1e3, 1e300])
    try:
        with np.errstate(all="ignore"):
            slope = primitive.partial(0, primitive.compute(x), (x,))
    except (ArithmeticError, AutodiffError, TypeError, ValueError):
        return True
    return not isinstance(slope, Linear) and not _is_finite(slope)


def _is_finite(x: Any) -> bool:
    """Tell whether numbers are finite; False for symbols, which may be anything.

    Arrays of other libraries are not checked.
    """
    if type(x) is float or type(x) is np.float64:
        return math.isfinite(x)
    while isinstance(x, Traced):
        if hasattr(x, "concrete"):
            return False
        x = x.value
    if type(x) is not np.ndarray and is_array(x):
        return False
    if isinstance(x, _INEXACT) and getattr(x, "dtype", _FLOAT).kind in "fc":
        return bool(np.isfinite(np.add.reduce(x, None))) if np.ndim(x) else bool(np.isfinite(x))
    return True


_FLOAT = np.dtype(float)
_INEXACT = (float, complex, np.inexact, np.ndarray)
