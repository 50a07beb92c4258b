"""Run a loop of many steps on numbers, while a function is recorded: by machine code of its own."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from simpleautodiff.compiled.loops.loop_line import LoopFunction
from simpleautodiff.compiled.recording.trace_program import Line, RecordedProgram, Ref
from simpleautodiff.compiled.tiers import make_program


def run_long_loop(function: LoopFunction, operands: Sequence[Any], options: Any) -> list[Any]:
    """Return the results of a loop; NumPy takes its steps where they cannot be compiled."""
    limit, go, *inputs = operands
    lines = [_add(None, (), x) for x in inputs]
    loop = Ref(len(lines))
    args = (limit, go, *map(Ref, range(len(inputs))))
    results = [_add(operator.getitem, (loop, k), x) for k, x in enumerate(function.estimate())]
    lines += [Line(function, args, {}, (), None), *results]
    outputs = [Ref(k) for k in range(loop + 1, len(lines))]
    program = make_program(RecordedProgram(lines, len(inputs), [], outputs), options)
    return program.run(inputs)[1]


def _add(what: Any, args: tuple[Any, ...], value: Any) -> Line:
    return Line(what, args, {}, np.shape(value), np.result_type(value))
