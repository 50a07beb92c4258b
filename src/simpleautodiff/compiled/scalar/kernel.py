"""A flat program with its arguments and results: what is compiled, and what is called."""

from __future__ import annotations

from typing import NamedTuple

from simpleautodiff.compiled.scalar.scalar_program import Flat

# How the leaves of many rows are given: row after row, one row for all, rows of a table by their
# numbers, or column after column.
ROWS, SAME, GATHERED, COLUMNS = "rows", "same", "gathered", "columns"


class Leaf(NamedTuple):
    """One argument or result: numbers of one kind, side by side in memory."""

    kind: str
    size: int


class Kernel(NamedTuple):
    """A flat program whose inputs and outputs are those of its leaves, one after the other."""

    flat: Flat
    inputs: tuple[Leaf, ...]
    outputs: tuple[Leaf, ...]

    def key(self) -> str:
        """Return a text that is the same for the same program, and for no other."""
        flat = self.flat
        parts = flat.precise, self.inputs, self.outputs, flat.steps, flat.kinds, flat.outputs
        return repr((parts, flat.guards))
