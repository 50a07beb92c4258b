"""Expand the loops of a program, for exports: every step is written out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from simpleautodiff.compiled.array.simplify import compute
from simpleautodiff.compiled.loops.loop_line import LoopFunction, replay_body
from simpleautodiff.compiled.recording.symbol_level import SymbolLevel
from simpleautodiff.compiled.recording.symbols import Symbol
from simpleautodiff.compiled.recording.trace_program import RecordedProgram, Ref, with_values
from simpleautodiff.core.primitive import Primitive
from simpleautodiff.errors import ArgumentError
from simpleautodiff.rules.row import TABLE


def has_loops(recorded: RecordedProgram) -> bool:
    """Tell whether a program has loops that were recorded by one step."""
    return any(isinstance(line.what, LoopFunction) for line in recorded.lines)


def expand_loops(recorded: RecordedProgram) -> RecordedProgram:
    """Return the same program with every step of its loops.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> from simpleautodiff.compiled.loops.loop_limits import LOOPS
    >>> from simpleautodiff.compiled.record_function import Options, record_program
    >>> from simpleautodiff.compiled.signature import signature
    >>> power = lambda x: ad.fori_loop(0, 500, lambda i, v: v * x, 1.0)
    >>> recorded = record_program(power, signature(((1.5,), {})), Options())[0]
    >>> len(recorded.lines), len(expand_loops(recorded).lines)
    (6, 501)
    """
    if not has_loops(recorded):
        return recorded
    level = SymbolLevel()
    with level, np.errstate(all="ignore"):
        values: list[Any] = [
            level.input(np.ones(line.shape, line.dtype)[()])
            for line in recorded.lines[: recorded.inputs]
        ]
        for line in recorded.lines[recorded.inputs :]:
            args, kwargs = with_values(line.args, values), with_values(line.kwargs, values)
            if isinstance(line.what, LoopFunction):
                values.append(_take_steps(line.what, args))
            elif isinstance(line.what, Primitive) or not _has_symbol(args):
                values.append(compute(line, values))
            else:
                values.append(level.answer(line.what, args, kwargs))
        outputs = [_own(values[x], level) if type(x) is Ref else x for x in recorded.outputs]
    guards = [guard._replace(place=_place(values[guard.place])) for guard in recorded.guards]
    return level.finish(outputs, recorded.inputs)._replace(guards=guards)


def _take_steps(function: LoopFunction, operands: Sequence[Any]) -> list[Any]:
    """Take all steps of a loop on symbols."""
    limit, _, *inputs = operands
    if function.exits or function.body.guards or isinstance(limit, Symbol):
        raise ArgumentError(
            "a loop that ends, or decides, by numbers is not exported as it was recorded, by one "
            "step: write it with Python's while, and call the function for the cases to export"
        )
    at, end = function.carries, function.carries + function.columns
    carry, columns, constants = inputs[:at], inputs[at:end], inputs[end:]
    rows: list[Any] = [None] * limit
    for k in range(limit)[::-1] if function.reverse else range(limit):
        now = [*carry, *[column[k] for column in columns], *constants]
        carry, rows[k] = _split(replay_body(function, now, _take_steps, asks=False), at)
    results = [np.stack(column) for column in zip(*rows, strict=True)]
    return [*carry, *results, True, False, limit]


def _split(made: list[Any], at: int) -> tuple[list[Any], list[Any]]:
    return made[:at], made[at:]


def _own(x: Any, level: SymbolLevel) -> Symbol:
    """Return a result as a symbol, even if it is a constant."""
    if isinstance(x, Symbol):
        return x
    number = np.asarray(x)[()]
    return level.record(TABLE["astype"], (number, number.dtype), {}, number)


def _place(symbol: Any) -> Any:
    return symbol.place if isinstance(symbol, Symbol) else symbol


def _has_symbol(args: Sequence[Any]) -> bool:
    return any(isinstance(arg, Symbol) for arg in args)
