"""The reverse sweep of a tape whose steps are not shown, with the commonest cases written out.

`bar` is a list with the adjoint of each node of the tape; None says that it was not reached.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from simpleautodiff.core.engine import engine
from simpleautodiff.core.level import REFUSED
from simpleautodiff.core.linear import ZERO, PartialAdjoint, plus, pull
from simpleautodiff.core.node import Constant, Node, TapeNode
from simpleautodiff.core.primitive import TABLE
from simpleautodiff.fast.array_sweep import ArraySweep
from simpleautodiff.fast.deferred_factors import Scaled
from simpleautodiff.fast.direct_pulls import PULLS
from simpleautodiff.fast.small_sweep import find_slope
from simpleautodiff.fast.thresholds import THRESHOLDS

FLOATS = {float, np.float64}
_PYTHON, _REALS = {int, float}, {int, *FLOATS}
_WHOLE = {np.ndarray, *_REALS}  # adjoints without structural zeros
_EXACT_UP_TO = 2**53  # integers up to here are exact as floats


def reverse_sweep(
    tape: Any,
    bar: list[Any],
    once: bool = False,
    masks: bool | None = None,
    partly: bool = False,
) -> bool:
    """Carry adjoints back along the tape: ū gains v̄ (∂v/∂u) from each child v of u.

    `once` says that the tape and the adjoints of intermediate nodes are not needed again: large
    arrays are freed as soon as the sweep has passed them. `masks` says whether structural zeros
    must be tracked; None leaves that to the sweep. Returns whether that was a guess. `partly` says
    that adjoints of inputs keep them.

    Reverse mode spends its time in this loop, so the commonest rows, + - * / of single numbers,
    are written out; all others use their rules.
    """
    added, subtracted, multiplied = TABLE["add"], TABLE["sub"], TABLE["mul"]
    divided, reals, whole = TABLE["div"], _REALS, _WHOLE
    result, constant, ndarray = TapeNode, Constant, np.ndarray
    scalars, float64 = engine.scalars, np.float64  # which elements of arrays are
    small, medium, find_pull = THRESHOLDS.small, THRESHOLDS.medium, PULLS.get
    arrays: ArraySweep | None = None  # what handles adjoints that are not single numbers
    try:
        for node in reversed(tape):
            adjoint = bar[node.index]
            if adjoint is None:
                continue
            primitive, kind, size = node.primitive, type(adjoint), 0
            if kind is ndarray:
                size = adjoint.size
            elif kind is float or kind is float64 or kind in scalars:  # then no value has a shape
                if primitive is added or primitive is subtracted:
                    a, b = node.args
                    if type(a) is result:
                        i = a.index
                        old = bar[i]
                        bar[i] = adjoint if old is None else old + adjoint
                    if type(b) is result:
                        i = b.index
                        old = bar[i]
                        if primitive is added:
                            bar[i] = adjoint if old is None else old + adjoint
                        else:
                            bar[i] = -adjoint if old is None else old - adjoint
                    continue
                of = type(node.value)
                is_real = of is float or of is float64 or of in scalars
                if is_real and primitive is multiplied:
                    a, b = node.args
                    if type(a) is result:
                        x = a.value
                        if type(b) is result:
                            i = b.index
                            old = bar[i]
                            bar[i] = adjoint * x if old is None else old + adjoint * x
                            b = b.value
                        elif type(b) is constant:
                            b = b.value
                        i = a.index
                        old = bar[i]
                        bar[i] = adjoint * b if old is None else old + adjoint * b
                    elif type(b) is result:
                        i = b.index
                        old = bar[i]
                        term = adjoint * (a.value if type(a) is constant else a)
                        bar[i] = term if old is None else old + term
                    continue
                if is_real and primitive is divided:
                    a, b = node.args
                    y = b.value if type(b) is result else b
                    of = type(y)
                    if of in reals and (of is not int or abs(y) < _EXACT_UP_TO) and y:
                        slope = 1 / y
                        if type(a) is result:
                            i = a.index
                            old = bar[i]
                            bar[i] = adjoint * slope if old is None else old + adjoint * slope
                        if type(b) is result:
                            i = b.index
                            old, term = bar[i], adjoint * (-node.value * slope)
                            bar[i] = term if old is None else old + term
                        continue
                if primitive is None:
                    continue
                if is_real and not primitive.arrays:
                    if len(node.args) > 1:
                        _pull_rules(node, adjoint, bar)
                        continue
                    (a,), rule = node.args, primitive.partials[0]
                    try:
                        slope = rule if type(rule) is int else rule(node.value, a.value)
                    except REFUSED:  # which the row explains, or turns into NumPy's inf or nan
                        slope = primitive.partial(0, node.value, (a.value,))
                    of = type(slope)
                    term = adjoint * slope if of in reals else pull(slope, adjoint)
                    if term is not ZERO:
                        i = a.index
                        old = bar[i]
                        if old is not None:
                            term = old + term if of in reals else plus(old, term)
                        bar[i] = term
                    continue
            arrays = arrays or ArraySweep(tape, bar, once, masks, partly)
            if primitive is None:
                if kind is Scaled:
                    arrays.settle(node.index, adjoint)
                elif issubclass(kind, PartialAdjoint) and not partly:
                    bar[node.index] = adjoint.filled()
                continue
            if size > medium:
                arrays.pull_large(node, adjoint, 1.0)
            elif kind is Scaled:
                arrays.pull_large(node, adjoint.array, adjoint.factor)
            elif kind not in whole and issubclass(kind, PartialAdjoint):
                arrays.pull_partial(node, adjoint)
            else:
                direct = find_pull(primitive)
                if direct is None or not direct(arrays, node, adjoint):
                    arrays.pull_by_rules(node, adjoint)
                if size <= small:
                    continue
            if once:
                bar[node.index] = None
                if not tape.repeatable:
                    del tape[node.index :]
                    node.args = ()
    finally:
        guessed = arrays is not None and arrays.end()
    return guessed


def _pull_rules(node: Node, adjoint: Any, bar: list[Any]) -> None:
    """Carry back the adjoint of a single number by the rules of its row."""
    args, row = node.args, node.primitive
    assert row is not None  # it has arguments
    if len(args) == 2 and type(args[1]) in _PYTHON:  # an exponent, for example
        arg, other = args
        try:
            slope = row.partials[0](node.value, arg.value, other)
        except REFUSED:
            slope = row.partial(0, node.value, (arg.value, other))
        term = adjoint * slope if type(slope) in _REALS else pull(slope, adjoint)
        if term is not ZERO:
            old = bar[arg.index]
            bar[arg.index] = term if old is None else plus(old, term)
        return
    values = [x.value if type(x) is TapeNode or type(x) is Constant else x for x in args]
    for k, arg in enumerate(args):
        if type(arg) is TapeNode:
            slope = find_slope(row, k, node.value, values)
            term = adjoint * slope if type(slope) in _REALS else pull(slope, adjoint)
            if term is not ZERO:
                old = bar[arg.index]
                bar[arg.index] = term if old is None else plus(old, term)
