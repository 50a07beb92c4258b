"""A scalar program: straight-line steps on single numbers, which every backend runs.

A step is a tuple `(operation, *arguments)`; its arguments are the indices of earlier steps. No two
steps are the same: making a step that exists returns its index (common subexpressions are computed
once). Inputs are `("input", k)`, constants `("const", bits)`, where `bits` are those of
the float64, the float32 or the integer, so that 0.0 and -0.0 are two, and a nan is itself.

A structural zero (an element of an array that nothing was written to) is a constant of its own: its
product with anything is a structural zero again, which holds for no other zero: 0.0 × inf is nan.
"""

from __future__ import annotations

import math
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
        simplify = _SIMPLER.get(operation)
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

    # The whole. -----------------------------------------------------------------------------------

    def live(self) -> list[int]:
        """Return the indices of the steps that outputs and guards need, in order."""
        needed = bytearray(len(self.steps))
        for index in (*self.outputs, *(index for index, _ in self.guards), *self.inputs):
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
        return new

    def __str__(self) -> str:
        """Write the steps, one a line."""
        lines = [f"v{i} = {self._format_step(i)}" for i in range(len(self.steps))]
        lines += [f"guard v{index} is {expected}" for index, expected in self.guards]
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


# Simplifications. ------------------------------------------------------------------------------


# Most steps cannot be simplified; this is checked first, as programs can be long.
_PLAIN = frozenset(OPERATIONS) - {"neg"} | {"input"}


def _simpler_add(program: ScalarProgram, x: int, y: int) -> int | None:
    if program.steps[x][0] in _PLAIN and program.steps[y][0] in _PLAIN:
        return None
    if program.is_zero(x):
        return y
    if program.is_zero(y):
        return x
    if program.precise:
        return None
    for one, other in ((x, y), (y, x)):
        if program.number(one) == 0:
            return other
        if program.steps[one][0] == "neg":
            return program.sub(other, program.steps[one][1])
    return None


def _simpler_sub(program: ScalarProgram, x: int, y: int) -> int | None:
    if program.steps[x][0] in _PLAIN and program.steps[y][0] in _PLAIN:
        return None
    if program.is_zero(y):
        return x
    if program.is_zero(x):
        return program.neg(y)
    if program.precise:
        return None
    if program.number(y) == 0:
        return x
    if program.steps[y][0] == "neg":
        return program.add(x, program.steps[y][1])
    return None


def _simpler_mul(program: ScalarProgram, x: int, y: int) -> int | None:
    if program.steps[x][0] in _PLAIN and program.steps[y][0] in _PLAIN:
        return None
    if program.is_zero(x) or program.is_zero(y):
        return program.zero(program.dtypes[x])
    for one, other in ((x, y), (y, x)):
        number = program.number(one)
        if number == 1:
            return other
        if number == -1:
            return program.neg(other)
        if program.steps[one][0] == "neg" and program.number(other) is None:
            return program.neg(program.mul(program.steps[one][1], other))
    return None


def _simpler_div(program: ScalarProgram, x: int, y: int) -> int | None:
    if program.is_zero(x):
        return x
    divisor = program.number(y)
    if divisor is None:
        return (
            program.neg(program.div(program.steps[x][1], y))
            if program.steps[x][0] == "neg"
            else None
        )
    if divisor == 1:
        return x
    fraction, exponent = np.frexp(divisor)
    if abs(fraction) == 0.5 and abs(exponent) < 120:  # the reciprocal is a float32, too
        return program.mul(
            x, program.const(1 / divisor, program.dtypes[y])
        )  # exact: a power of two
    return None


def _simpler_neg(program: ScalarProgram, x: int) -> int | None:
    if program.is_zero(x):
        return x
    return program.steps[x][1] if program.steps[x][0] == "neg" else None


def _simpler_abs(program: ScalarProgram, x: int) -> int | None:
    return program.make("abs", program.steps[x][1]) if program.steps[x][0] == "neg" else None


def _simpler_select(program: ScalarProgram, condition: int, x: int, y: int) -> int | None:
    known = program.number(condition)
    if known is not None:
        return x if known else y
    if x == y:
        return x
    if program.is_zero(x) and program.is_zero(y):
        return x
    return None


def _simpler_not(program: ScalarProgram, x: int) -> int | None:
    return program.steps[x][1] if program.steps[x][0] == "not" else None


def _simpler_power(program: ScalarProgram, x: int, y: int) -> int | None:
    exponent = program.number(y)
    if exponent is None or program.precise or not abs(exponent) <= 8:
        return None
    if exponent == int(exponent):
        return _whole_power(program, x, int(exponent))
    is_half = 2 * exponent % 2 == 1 and abs(exponent) <= 4
    return _half_power(program, x, int(2 * exponent)) if is_half else None


def _whole_power(program: ScalarProgram, x: int, n: int) -> int:
    if n < 0:  # a power of the reciprocal, which overflows only if the result does
        return _whole_power(program, program.div(program.const(1, program.dtypes[x]), x), -n)
    if n == 0:
        return program.const(1, program.dtypes[x])
    if n == 1:
        return x
    half = _whole_power(program, x, n // 2)
    square = program.mul(half, half)
    return program.mul(square, x) if n % 2 else square


def _half_power(program: ScalarProgram, x: int, n: int) -> int:
    """Append x^(n/2) of an odd n: of -0.0 and -inf it is 0 and inf, which no root is."""
    dtype = program.dtypes[x]
    lowest, largest = [program.const(sign * math.inf, dtype) for sign in (-1, 1)]
    root = program.make("abs", program.make("sqrt", x))
    root = program.make("select", program.make("eq", x, lowest), largest, root)
    part = root if n > 0 else program.div(program.const(1, dtype), root)
    whole = abs(n) // 2 if n > 0 else -(abs(n) // 2)
    return program.mul(_whole_power(program, program.make("abs", x), whole), part)


_SIMPLER: dict[str, Any] = {
    "add": _simpler_add,
    "sub": _simpler_sub,
    "mul": _simpler_mul,
    "div": _simpler_div,
    "neg": _simpler_neg,
    "abs": _simpler_abs,
    "select": _simpler_select,
    "not": _simpler_not,
    "power": _simpler_power,
}
