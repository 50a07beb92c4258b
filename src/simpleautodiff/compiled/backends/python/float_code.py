"""Scalar programs as Python functions of floats: the fallback where nothing can be compiled.

Each step is a line. Where Python raises and NumPy gives inf or nan (1/0, log(0), exp(1000)),
everything is computed again by slower lines that check.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simpleautodiff.compiled.scalar.kernel import Kernel, as_leaves, empty_leaves
from simpleautodiff.compiled.scalar.operations import (
    FLOAT32,
    INT64,
    OPERATIONS,
    Operation,
    call,
)
from simpleautodiff.compiled.scalar.scalar_program import ScalarProgram
from simpleautodiff.compiled.scalar.split import Part, SplitProgram, split_program
from simpleautodiff.errors import ValueKindError

PYTHON_PART_STEPS = 500  # steps per function: Python's compiler is slow for long ones
_SIGN = 2**63

_RAISED = (ArithmeticError, ValueError)


def _float32(x: float) -> float:
    return ctypes.c_float(x).value


def _int_to_float32(x: int) -> float:
    return float(np.float32(np.int64(x)))


def _wrap(x: int) -> int:
    """Return an integer modulo 2**64, as an int64."""
    return (x + _SIGN) % (2 * _SIGN) - _SIGN


def _int_remainder(x: int, y: int) -> int:
    return int(math.copysign(1, x)) * (abs(x) % abs(y)) if y else 0


def _by_numpy(row: Operation) -> Callable[..., float]:
    def compute(*args: float) -> float:
        with np.errstate(all="ignore"):
            return float(row.numpy(*map(np.float64, args)))

    return compute


def _never_raising(row: Operation, python: str) -> Callable[..., float]:
    """Return an operation that returns NumPy's result where Python raises."""
    names = ["x", "y", "z"][: row.arity]
    function = eval(f"lambda {', '.join(names)}: {python.format('', *names)}", _QUICK)
    compute = _by_numpy(row)

    def try_python(*args: float) -> float:
        try:
            return float(function(*args))
        except _RAISED:
            return compute(*args)

    return try_python


def _saturate(x: float) -> int:
    """Return the nearest int64 to a float, 0 for nan."""
    try:
        return _wrap(int(x))
    except _RAISED:
        return 0 if x != x else _wrap(_SIGN - (x > 0))


# Functions for the lines of a program: fast ones, and careful ones after an error.
_QUICK: dict[str, Any] = {
    **{row.name: _by_numpy(row) for row in OPERATIONS.values()},
    **{name: value for name, value in vars(math).items() if not name.startswith("_")},
    "hypot": _by_numpy(OPERATIONS["hypot"]),  # math.hypot rounds differently
    "__builtins__": {},
    **{"abs": abs, "float": float, "int": int, "round": round, "bool": bool},
    **{"float32": _float32, "int_to_float32": _int_to_float32},
    **{"wrap": _wrap, "int_remainder": _int_remainder},
}
_CAREFUL = {
    **_QUICK,
    **{
        row.name: _never_raising(row, row.real.python)
        for row in OPERATIONS.values()
        if row.real and row.real.raises
    },
    "to_int64": _saturate,
}


class PythonProgram:
    """A kernel as Python functions, called like the interpreter.

    Examples
    --------
    >>> from simpleautodiff.compiled.scalar.kernel import Leaf
    >>> flat = ScalarProgram()
    >>> x = flat.input()
    >>> flat.outputs = [flat.make("log", x)]
    >>> script = PythonProgram(Kernel(flat, (Leaf("d", 1),), (Leaf("d", 1),)))
    >>> script.run(1.0), script.run(0.0)
    ((0, [array([0.])]), (0, [array([-inf])]))
    """

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._parts = split_program(kernel, PYTHON_PART_STEPS)

    def run(self, *inputs: Any) -> tuple[int, list[NDArray[Any]]]:
        """Return 0, or the status of the first check that failed, and one array per output."""
        kernel = self._kernel
        given = [n for leaf in as_leaves(inputs, kernel.inputs) for n in leaf.tolist()]
        status, numbers = self.run_numbers(given)
        results, start = empty_leaves(kernel.outputs), 0
        for result in results if not status else ():
            result[:] = numbers[start : start + result.size]
            start += result.size
        return status, results

    def run_numbers(self, given: list[Any]) -> tuple[int, list[Any]]:
        """Do the same on Python numbers: one list of all inputs, one of all outputs."""
        try:
            return self._run_parts(self._quick, given)
        except _RAISED:
            return self._run_parts(self._careful, given)

    def _run_parts(self, functions: list[Any], given: list[Any]) -> tuple[int, list[Any]]:
        slots, results = [None] * self._parts.size, [None] * len(self._kernel.program.outputs)
        for function in functions:
            if status := function(given, slots, results):
                return status, results
        return 0, results

    @cached_property
    def _quick(self) -> list[Any]:
        return _compile_parts(self._kernel.program, self._parts, True)

    @cached_property
    def _careful(self) -> list[Any]:
        return _compile_parts(self._kernel.program, self._parts, False)


def _compile_parts(flat: ScalarProgram, parts: SplitProgram, quick: bool) -> list[Any]:
    functions = []
    for part in parts.parts:
        space: dict[str, Any] = dict(_QUICK if quick else _CAREFUL)
        space["number"] = lambda place: flat.number(place).item()
        exec(compile(_source(flat, parts, part, quick), "<program>", "exec"), space)
        functions.append(space["part"])
    return functions


def _source(flat: ScalarProgram, parts: SplitProgram, part: Part, quick: bool) -> str:
    here = set(part.places)

    def name(place: int) -> str:
        operation, *args = flat.steps[place]
        if operation == "input":
            return f"x[{args[0]}]"
        if operation == "const":
            number = flat.number(place).item()
            return f"({number!r})" if number == number else f"number({place})"  # a nan's bits
        return f"v{place}" if place in here else f"w[{parts.slots[place]}]"

    lines = [f"v{place} = {_line(flat, place, name, quick)}" for place in part.places]
    lines += [f"w[{parts.slots[place]}] = v{place}" for place in part.kept]
    lines += [
        f"if {'not ' * expected}{name(place)}: return {status}"
        for status, place, expected in part.checks
    ]
    lines += [f"y[{number}] = {name(place)}" for number, place in part.stores]
    return "def part(x, w, y):\n " + "\n ".join([*lines, "return 0"])


def _line(flat: ScalarProgram, place: int, name: Callable[[int], str], quick: bool) -> str:
    """Return the Python expression of a step."""
    operation, *args = flat.steps[place]
    dtype, names = flat.dtypes[args[-1]], [name(arg) for arg in args]
    row = OPERATIONS[operation]
    code = row.code(dtype)
    if code is None:
        raise ValueKindError(f"{operation} is not for numbers of dtype {dtype!r}.")
    python = code.python if quick or not code.raises else call(operation, row.arity)
    text = python.format("", *names)
    if row.gives != "same" or operation == "select":
        return text
    if dtype == INT64:
        return f"wrap({text})"
    return f"float32({text})" if dtype == FLOAT32 and not row.exact else text
