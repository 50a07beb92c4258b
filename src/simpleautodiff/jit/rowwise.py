"""A function of rows: its program for one row, compiled for all of them at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from simpleautodiff.arguments import Selection, call
from simpleautodiff.errors import AutodiffError
from simpleautodiff.jit.kernel import Kernel
from simpleautodiff.jit.symbols import Symbol, SymbolLevel
from simpleautodiff.jit.unroll import unroll
from simpleautodiff.structure import flatten
from simpleautodiff.traced import Traced

SAME, ROWS, GATHERED = "same", "rows", "gathered"


class Rows:
    """A flat program that is run for every row of its arguments.

    Called with one array per argument, whose first axis counts the rows (or without that axis, for
    what is the same for all), it returns one array per result.
    """

    def __init__(
        self, name: str, kernel: Kernel, modes: tuple[str, ...], shapes: list[Any]
    ) -> None:
        self.__name__ = f"rows of {name}"
        self.kernel = kernel
        self.modes = modes
        self.shapes = shapes  # of the results, for one row

    def __call__(self, *leaves: Any) -> tuple[Any, ...]:
        """Compute all rows, column by column, with NumPy."""
        size = next(len(x) for x, mode in zip(leaves, self.modes, strict=True) if mode == ROWS)
        columns: list[Any] = []
        for leaf, mode, form in zip(leaves, self.modes, self.kernel.inputs, strict=True):
            table = np.reshape(leaf, (-1 if mode == ROWS else 1, form.size))
            columns += [table[:, k] if mode == ROWS else table[0, k] for k in range(form.size)]
        found = iter(self.kernel.flat.run(columns))
        results = []
        for form, shape in zip(self.kernel.outputs, self.shapes, strict=True):
            table = np.empty((size, form.size), np.dtype(form.kind))
            for k in range(form.size):
                table[:, k] = next(found)
            results.append(table.reshape(size, *shape))
        return tuple(results)


def record_rows(
    level: SymbolLevel, f: Any, leaves: list[Any], axes: list[Any], rebuild: Any, size: int
) -> Any:
    """Record `f` of one row and apply it to all; None where it must be run another way."""
    if not size or any(isinstance(x, Traced) and not isinstance(x, Symbol) for x in leaves):
        return None
    try:
        return _record_rows(level, f, leaves, axes, rebuild)
    except (AutodiffError, TypeError, ValueError, IndexError):
        return None  # the usual way will do it, or say what is wrong


def _record_rows(
    level: SymbolLevel, f: Any, leaves: list[Any], axes: list[Any], rebuild: Any
) -> Any:
    leaves = [
        leaf if axis is None or not axis else np.moveaxis(leaf, axis, 0)
        for leaf, axis in zip(leaves, axes, strict=True)
    ]
    inner = SymbolLevel(rows=True)
    with inner:
        ones = [
            leaf if axis is None else inner.input(_first(leaf))
            for leaf, axis in zip(leaves, axes, strict=True)
        ]
        args, kwargs = rebuild(iter(ones))
        result = call(f, Selection(args, tuple(range(len(args))), args, kwargs), args)
        results, rebuild_results = flatten(result)
        own = [inner.own(x) for x in results]
    mapped = [leaf for leaf, axis in zip(leaves, axes, strict=True) if axis is not None]
    captured = list(inner.captured)
    shapes = [x.shape for x in own]
    recorded = inner.finish(own, len(mapped))
    modes = (ROWS,) * len(mapped) + (SAME,) * len(captured)
    rows = Rows(getattr(f, "__name__", "f"), unroll(recorded), modes, shapes)
    found = level.answer(rows, (*mapped, *captured), {})
    return rebuild_results(iter(found))


def _first(leaf: Any) -> Any:
    return leaf.concrete[0] if isinstance(leaf, Symbol) else leaf[0]
