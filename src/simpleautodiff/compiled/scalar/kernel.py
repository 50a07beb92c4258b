"""A scalar program with its arguments and results: what is compiled, and what is called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simpleautodiff.compiled.scalar.operations import SCALAR_TYPES
from simpleautodiff.compiled.scalar.scalar_program import ScalarProgram
from simpleautodiff.errors import ArgumentError

# The layout of the examples of a batch, for one leaf: one example after another, one for all,
# examples of a table by their indices, or by columns: each element of all examples together.
ROWS, SAME, GATHERED, COLUMNS = "rows", "same", "gathered", "columns"


class Leaf(NamedTuple):
    """One argument or result: contiguous numbers of one dtype."""

    dtype: str
    size: int


class Kernel(NamedTuple):
    """A scalar program whose inputs and outputs are the elements of its leaves, in order."""

    program: ScalarProgram
    inputs: tuple[Leaf, ...]
    outputs: tuple[Leaf, ...]

    def key(self) -> str:
        """Return a text that identifies the program."""
        program = self.program
        parts = (
            program.precise,
            self.inputs,
            self.outputs,
            program.steps,
            program.dtypes,
            program.outputs,
        )
        return repr((parts, program.checks))


class BatchedKernel:
    """A scalar program that is run for every example of a batch.

    `modes` says how the examples of each input are given, `shapes` are those of the results for one
    example, and `size` is the number of examples if some are given by columns (otherwise 0).
    """

    def __init__(
        self, kernel: Kernel, modes: tuple[str, ...], shapes: list[Any], size: int = 0
    ) -> None:
        self.kernel, self.modes, self.shapes, self.size = kernel, modes, shapes, size


def as_leaves(inputs: Sequence[Any], leaves: Sequence[Leaf]) -> list[NDArray[Any]]:
    """Return one contiguous array for each leaf, in its dtype."""
    arrays: list[NDArray[Any]] = [
        np.ascontiguousarray(given, SCALAR_TYPES[leaf.dtype]).reshape(-1)
        for given, leaf in zip(inputs, leaves, strict=True)
    ]
    for number, (array, leaf) in enumerate(zip(arrays, leaves, strict=True)):
        if array.size != leaf.size:
            raise ArgumentError(f"argument {number} has {array.size} numbers, not {leaf.size}.")
    return arrays


def empty_leaves(leaves: Sequence[Leaf]) -> list[NDArray[Any]]:
    """Return one uninitialised array for each leaf."""
    return [np.empty(leaf.size, SCALAR_TYPES[leaf.dtype]) for leaf in leaves]
