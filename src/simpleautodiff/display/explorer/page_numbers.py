"""All numbers of a page as one scalar program of its inputs, which the page runs at other points.

The function is run once more, on symbols, and its local derivatives and sweeps are computed. What
is recorded is a function of the elements of the inputs: arithmetic on single numbers, which the
page's scripts do as well as Python does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from simpleautodiff.compiled.record_kernel import record_kernel
from simpleautodiff.compiled.scalar.operations import FLOAT32
from simpleautodiff.core.level import Traced
from simpleautodiff.core.linear import ZERO, Linear
from simpleautodiff.core.node import Node
from simpleautodiff.display.notation.formulas import suppress_warnings
from simpleautodiff.errors import AutodiffError, TraceError
from simpleautodiff.program.program import Program
from simpleautodiff.program.recorded_run import record
from simpleautodiff.values.functions import shape
from simpleautodiff.values.pytree import flatten

MOST_STEPS = 20_000  # that a page brings along

Slot = tuple[Any, ...]  # the place of a number in the document of a page


def record_numbers(
    program: Program, sweeps: Sequence[dict[str, Any]], drawn: set[Node]
) -> dict[str, Any] | None:
    """Return all numbers of a page as one scalar program; None if that is not possible."""
    return _record(program, lambda repeated: _find_numbers(repeated, program, sweeps, drawn))


def record_choices(program: Program) -> dict[str, Any] | None:
    """Return the conditions of `where` as one scalar program; those of `if` are its guards.

    A page that writes and computes the formulas of a program itself needs nothing else of it.
    """
    return _record(program, _find_conditions)


@suppress_warnings()
def _record(
    program: Program, find: Callable[[Program], Iterator[tuple[Slot, Any]]]
) -> dict[str, Any] | None:
    """Return some numbers of a page as one scalar program; None if that is not possible.

    `find` yields them, and where each stands in the document, for the program at other inputs.
    `inputs` are the nodes that the scalar program takes; `slots` and `shapes` say where each of
    its results stands in the document, and which array it is.
    """
    if not hasattr(program, "args") or not all(_is_real(node.value) for node in program.inputs):
        return None
    slots: list[Slot] = []
    shapes: list[list[int]] = []

    def compute(*numbers: Any) -> list[Any]:
        found = list(find(_repeat(program, numbers)))
        slots[:] = [slot for slot, _ in found]
        shapes[:] = [list(shape(number)) for _, number in found]
        return [number for _, number in found]

    point = [_as_float(node.value) for node in program.inputs]
    try:
        kernel, given = record_kernel(compute, point)
    except AutodiffError:
        return None
    flat = kernel.program
    if len(flat) > MOST_STEPS or FLOAT32 in flat.dtypes:
        return None
    return {
        "inputs": [program.position(node) for node in program.inputs],
        "steps": [
            [write_constant(flat.number(i).item())] if step[0] == "const" else list(step)
            for i, step in enumerate(flat.steps)
        ],
        "guards": flat.guards,
        "outputs": list(flat.outputs),
        "slots": [slots[k] for k in given],
        "shapes": [shapes[k] for k in given],
    }


def write_constant(number: float) -> float | str:
    """Write a number for JSON, which has no inf and no nan."""
    return number if math.isfinite(number) else str(number)


def _is_real(value: Any) -> bool:
    kind = np.result_type(value) if isinstance(value, (int, float, np.ndarray, np.number)) else None
    return (
        kind is not None and (kind == np.float64 or isinstance(value, int)) and np.size(value) > 0
    )


def _as_float(value: Any) -> Any:
    return value if isinstance(value, np.ndarray) else float(value)


def _repeat(program: Program, numbers: Sequence[Any]) -> Program:
    """Return the program of the same function at other numbers, under the same names."""
    args = flatten(program.args)[1](iter(numbers))
    made = record(program.f, args, [program.names[node] for node in program.inputs])
    found = Program(made.nodes, program.numbering, made.names, outputs=made.outputs)
    if [node.operator for node in found.nodes] != [node.operator for node in program.nodes]:
        raise TraceError("the function does not do the same twice")
    return found


def _find_numbers(
    repeated: Program, program: Program, sweeps: Sequence[dict[str, Any]], drawn: set[Node]
) -> Iterator[tuple[Slot, Any]]:
    """Yield each number that the page shows, and where it stands."""
    yield from _find_conditions(repeated)
    for i, (node, old) in enumerate(zip(repeated.nodes, program.nodes, strict=True)):
        yield ("nodes", i, "value"), node.value
        for k, derivative in node.local_derivatives() if old in drawn else ():
            if derivative is not ZERO and not isinstance(derivative, Linear):
                yield ("nodes", i, "partials", k), derivative
    for s, sweep in enumerate(sweeps):
        root = repeated.names[repeated.nodes[sweep["root"]]]
        if sweep["mode"] == "forward":
            tangents = repeated.tangents(root)
            for i in sweep["order"]:
                yield ("sweeps", s, "numbers", i), tangents[repeated.names[repeated.nodes[i]]]
        else:
            items = repeated.accumulations(root)
            if [(item.parent, item.child) for item in items] != [
                tuple(program.names[program.nodes[i]] for i in term[:2]) for term in sweep["terms"]
            ]:
                raise TraceError("elsewhere the sweep has other steps")
            for t, item in enumerate(items):
                yield ("sweeps", s, "terms", t, 4), item.total


def _find_conditions(repeated: Program) -> Iterator[tuple[Slot, Any]]:
    """Yield each condition that an operation was given, and where it stands."""
    for i, node in enumerate(repeated.nodes):
        for k in node.primitive.settings if node.primitive else ():
            if isinstance(condition := node.values()[k], Traced):
                yield ("nodes", i, "args", k, 0), condition
