"""A scalar program: straight-line steps on single numbers, which every backend runs.

A step is a tuple `(operation, *arguments)`; its arguments are the indices of earlier steps. No two
steps are the same: making a step that exists returns its index (common subexpressions are computed
once). Inputs are `("input", k)`, constants `("const", bits)`, where `bits` are those of
the float64, the float32 or the integer, so that 0.0 and -0.0 are two, and a nan is itself.

A structural zero (an element of an array that nothing was written to) is a constant of its own: its
product with anything is a structural zero again, which holds for no other zero: 0.0 × inf is nan.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from simpleautodiff.compiled.scalar.operations import (
    BOOL,
    FLOAT32,
    FLOAT64,
    INT64,
    OPERATIONS,
    SCALAR_TYPES,
)
from simpleautodiff.compiled.scalar.simpler_steps import SIMPLER

LEFT_TO_NUMPY = -3  # the status of code that returns nothing because NumPy may raise an error

Step = tuple[Any, ...]
FOLDED = frozenset(OPERATIONS) - {"select"}


class ScalarProgram:
    """A program under construction: every method that makes a step returns its index.

    Parameters
    ----------
    precise
        Leave out simplifications that could change a result in its last bits.

    Examples
    --------
    >>> program = ScalarProgram()
    >>> x, y = program.input("d"), program.input("d")
    >>> program.outputs = [program.mul(program.add(x, y), program.add(y, x))]
    >>> print(program)
    v0 = input 0
    v1 = input 1
    v2 = add v0 v1
    v3 = mul v2 v2
    return v3
    """

    def __init__(self, precise: bool = False) -> None:
        self.precise = precise
        self.steps: list[Step] = []
        self.dtypes: list[str] = []
        self.inputs: list[int] = []
        self.outputs: list[int] = []
        self.guards: list[tuple[int, bool]] = []  # bools, and their required values
        self.required: list[int] = []  # bools: if one is false, NumPy decides what happens
        self.folded = 0  # steps that were not made because their result was known
        self._indices: dict[Step, int] = {}
        self._zeros: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self.steps)

    # Making steps. --------------------------------------------------------------------------------

    def _new(self, step: Step, dtype: str) -> int:
        key = (*step, dtype) if step[0] == "const" else step
        index = self._indices.get(key)
        if index is None:
            index = self._indices[key] = len(self.steps)
            self.steps.append(step)
            self.dtypes.append(dtype)
        return index

    def input(self, dtype: str = FLOAT64) -> int:
        """Take the next input."""
        index = self._new(("input", len(self.inputs)), dtype)
        self.inputs.append(index)
        return index

    def const(self, number: Any, dtype: str = FLOAT64) -> int:
        """Return the index of a constant."""
        return self._new(("const", to_bits(number, dtype)), dtype)

    def zero(self, dtype: str = FLOAT64) -> int:
        """Return the index of the structural zero."""
        if dtype not in self._zeros:
            self._zeros[dtype] = len(self.steps)
            self.steps.append(("const", 0))
            self.dtypes.append(dtype)
        return self._zeros[dtype]

    def is_zero(self, index: int) -> bool:
        """Tell whether a step is the structural zero."""
        return self._zeros.get(self.dtypes[index]) == index

    def number(self, index: int) -> Any:
        """Return the number that a step is known to be, or None."""
        step = self.steps[index]
        return from_bits(step[1], self.dtypes[index]) if step[0] == "const" else None

    def make(self, operation: str, *args: int) -> int:
        """Return the index of an operation on earlier steps, simplified if possible."""
        simplify = SIMPLER.get(operation)
        found: int | None = simplify(self, *args) if simplify else None
        if found is not None:
            self.folded += 1
            return found
        return self.make_unsimplified(operation, *args)

    def make_unsimplified(self, operation: str, *args: int) -> int:
        """Return the index of an operation, without simplification except constant folding."""
        row = OPERATIONS[operation]
        dtype = self.dtypes[args[-1]] if row.gives == "same" else row.gives
        steps = self.steps
        if steps[args[0]][0] == "const" and steps[args[-1]][0] == "const" and operation in FOLDED:
            self.folded += 1
            with np.errstate(all="ignore"):
                return self.const(row.numpy(*[self.number(arg) for arg in args]), dtype)
        if row.commutes and args[0] > args[1]:
            args = args[1], args[0]
        step = (operation, *args)
        index = self._indices.get(step)
        if index is None:
            index = self._indices[step] = len(steps)
            steps.append(step)
            self.dtypes.append(dtype)
        return index

    def add(self, x: int, y: int) -> int:
        """Add two numbers."""
        return self.make("add", x, y)

    def sub(self, x: int, y: int) -> int:
        """Subtract a number from another."""
        return self.make("sub", x, y)

    def mul(self, x: int, y: int) -> int:
        """Multiply two numbers."""
        return self.make("mul", x, y)

    def div(self, x: int, y: int) -> int:
        """Divide a number by another."""
        return self.make("div", x, y)

    def neg(self, x: int) -> int:
        """Return the negative of a number."""
        return self.make("neg", x)

    def to(self, dtype: str, x: int) -> int:
        """Return a number in another dtype."""
        if self.dtypes[x] == dtype:
            return x
        if self.is_zero(x):
            return self.zero(dtype)
        if dtype == BOOL:
            return self.make("ne", x, self.const(0, self.dtypes[x]))
        return self.make(
            {FLOAT64: "to_float64", FLOAT32: "to_float32", INT64: "to_int64"}[dtype], x
        )

    def require(self, condition: int) -> None:
        """Let the program have no results where a condition does not hold: NumPy decides there."""
        if condition not in self.required:
            self.required.append(condition)

    @property
    def checks(self) -> list[tuple[int, int, bool]]:
        """All conditions, in order: the status where one does not hold, a bool, what it must be."""
        guards = [(1 + k, place, known) for k, (place, known) in enumerate(self.guards)]
        return guards + [(LEFT_TO_NUMPY, place, True) for place in self.required]

    # The whole. -----------------------------------------------------------------------------------

    def live(self) -> list[int]:
        """Return the indices of the steps that outputs and guards need, in order."""
        needed = bytearray(len(self.steps))
        for index in (*self.outputs, *(place for _, place, _ in self.checks), *self.inputs):
            needed[index] = 1
        for index in range(len(self.steps) - 1, -1, -1):
            step = self.steps[index]
            if needed[index] and step[0] != "input" and step[0] != "const":
                for arg in step[1:]:
                    needed[arg] = 1
        return [index for index, is_needed in enumerate(needed) if is_needed]

    def prune(self) -> ScalarProgram:
        """Return the program without steps that nothing needs."""
        new = ScalarProgram(self.precise)
        new.folded = self.folded
        new_index: dict[int, int] = {}
        for old in self.live():
            step, dtype = self.steps[old], self.dtypes[old]
            if step[0] not in ("input", "const"):
                step = (step[0], *[new_index[arg] for arg in step[1:]])
            new_index[old] = len(new.steps)
            new._indices[(*step, dtype) if step[0] == "const" else step] = len(new.steps)
            new.steps.append(step)
            new.dtypes.append(dtype)
        new._zeros = {k: new_index[v] for k, v in self._zeros.items() if v in new_index}
        new.inputs = [new_index[index] for index in self.inputs]
        new.outputs = [new_index[index] for index in self.outputs]
        new.guards = [(new_index[index], expected) for index, expected in self.guards]
        new.required = [new_index[index] for index in self.required]
        return new

    def __str__(self) -> str:
        """Write the steps, one a line."""
        lines = [f"v{i} = {self._format_step(i)}" for i in range(len(self.steps))]
        lines += [f"guard v{index} is {expected}" for index, expected in self.guards]
        lines += [f"require v{index}" for index in self.required]
        lines.append(f"return {' '.join(f'v{index}' for index in self.outputs)}")
        return "\n".join(lines)

    def _format_step(self, index: int) -> str:
        operation, *args = self.steps[index]
        if operation == "const":
            return str(self.number(index))
        if operation == "input":
            return f"input {args[0]}"
        return f"{operation} {' '.join(f'v{arg}' for arg in args)}"

    def run(self, inputs: Sequence[Any]) -> list[Any]:
        """Compute the outputs with NumPy, for numbers or for arrays of one shape."""
        values: list[Any] = []
        with np.errstate(all="ignore"):
            for index, (operation, *args) in enumerate(self.steps):
                if operation == "input":
                    values.append(SCALAR_TYPES[self.dtypes[index]](inputs[args[0]]))
                elif operation == "const":
                    values.append(self.number(index))
                elif operation == "select":
                    values.append(np.where(*[values[arg] for arg in args])[()])
                else:
                    values.append(OPERATIONS[operation].numpy(*[values[arg] for arg in args]))
        return [values[index] for index in self.outputs]


def to_bits(number: Any, dtype: str) -> int:
    """Return the bits of a number as an integer."""
    if dtype == FLOAT64:
        return int(struct.unpack("<q", struct.pack("<d", number))[0])
    if dtype == FLOAT32:
        with np.errstate(over="ignore"):  # too large becomes inf, as in NumPy
            return int(np.float32(number).view(np.int32))
    return int(number)


def from_bits(bits: int, dtype: str) -> Any:
    """Return the number with these bits, as a NumPy scalar."""
    if dtype == FLOAT64:
        return np.float64(struct.unpack("<d", struct.pack("<q", bits))[0])
    if dtype == FLOAT32:
        return np.float32(struct.unpack("<f", struct.pack("<i", bits))[0])
    return SCALAR_TYPES[dtype](bits)
