"""The flat program as Python on Python's own numbers: what runs it where nothing can be compiled.

Each step is a line. Python raises errors where NumPy gives inf or nan (1/0, log(0), exp(1000)):
then all is computed again by lines that are slower and look.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simpleautodiff.compiled.backends.interpreter.bytecode import ROUNDED
from simpleautodiff.compiled.backends.interpreter.machine import as_leaves, empty_leaves
from simpleautodiff.compiled.scalar.kernel import Kernel
from simpleautodiff.compiled.scalar.operations import FLOAT, KINDS, OPERATIONS, TRUTH, WHOLE
from simpleautodiff.compiled.scalar.scalar_program import Flat
from simpleautodiff.compiled.scalar.split import Part, Parts, to_parts

LENGTH = 500  # steps in a function: Python's compiler takes longer for long ones
_SIGN = 2**63

_LINES = {
    "add": "{0} + {1}",
    "sub": "{0} - {1}",
    "mul": "{0} * {1}",
    "neg": "-{0}",
    "abs": "abs({0})",
    "maximum": "{0} if {0} > {1} or {0} != {0} else {1}",
    "minimum": "{0} if {0} < {1} or {0} != {0} else {1}",
    "lt": "{0} < {1}",
    "le": "{0} <= {1}",
    "eq": "{0} == {1}",
    "ne": "{0} != {1}",
    "and": "{0} and {1}",
    "or": "{0} or {1}",
    "xor": "{0} is not {1}",
    "not": "not {0}",
    "signbit": "copysign(1, {0}) < 0",
    "select": "{1} if {0} else {2}",
}
_QUICK = {
    "div": "{0} / {1}",
    **{name: f"copysign({name}({{0}}), {{0}})" for name in ("floor", "ceil", "trunc")},
    "rint": "copysign(round({0}), {0})",
    "to_whole": "int({0})",
}
_OF_TRUTHS = {"add": "or", "mul": "and", "maximum": "or", "minimum": "and"}
_RAISED = (ArithmeticError, ValueError)


def _single(x: float) -> float:
    return ctypes.c_float(x).value


def _single_of_whole(x: int) -> float:
    return float(np.float32(np.int64(x)))


def _whole(x: int) -> int:
    return (x + _SIGN) % (2 * _SIGN) - _SIGN


def _remainder(x: int, y: int) -> int:
    return int(math.copysign(1, x)) * (abs(x) % abs(y)) if y else 0


def _looking(name: str) -> Callable[..., Any]:
    """Return an operation that gives what NumPy gives where Python raises an error."""
    function, compute = getattr(math, name, None), OPERATIONS[name].compute

    def look(*args: float) -> float:
        try:
            if function and name not in ("floor", "ceil", "trunc"):
                return float(function(*args))
        except _RAISED:
            pass
        with np.errstate(all="ignore"):
            return float(compute(*map(np.float64, args)))

    return look


def _look_to_whole(x: float) -> int:
    try:
        return _whole(int(x))
    except _RAISED:
        return 0 if x != x else _whole(_SIGN - (x > 0))


_SHARED = {
    "__builtins__": {},
    **{"abs": abs, "float": float, "int": int, "round": round, "bool": bool},
    **{"inf": math.inf, "nan": math.nan, "copysign": math.copysign},
    **{"single": _single, "single_of_whole": _single_of_whole},
    **{"whole": _whole, "remainder": _remainder},
}
_FUNCTIONS = [name for name in OPERATIONS if name not in _LINES and not name.startswith("to_")]
_QUICKLY = {
    **_SHARED,
    **{name: getattr(math, name) for name in _FUNCTIONS if hasattr(math, name)},
    "power": math.pow,
}
_CAREFULLY = {
    **_SHARED,
    **{name: _looking(name) for name in _FUNCTIONS},
    "to_whole": _look_to_whole,
}


class Script:
    """A kernel as Python functions, called like the tape machine.

    Examples
    --------
    >>> from simpleautodiff.compiled.scalar.kernel import Leaf
    >>> flat = Flat()
    >>> x = flat.input()
    >>> flat.outputs = [flat.make("log", x)]
    >>> script = Script(Kernel(flat, (Leaf("d", 1),), (Leaf("d", 1),)))
    >>> script.run(1.0), script.run(0.0)
    ((0, [array([0.])]), (0, [array([-inf])]))
    """

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._parts = to_parts(kernel, LENGTH)

    def run(self, *inputs: Any) -> tuple[int, list[NDArray[Any]]]:
        """Return 0, or 1 + the number of the first guard that failed, and one array per output."""
        kernel = self._kernel
        given = [n for leaf in as_leaves(inputs, kernel.inputs) for n in leaf.tolist()]
        status, numbers = self.run_numbers(given)
        results, start = empty_leaves(kernel.outputs), 0
        for result in results if not status else ():
            result[:] = numbers[start : start + result.size]
            start += result.size
        return status, results

    def run_numbers(self, given: list[Any]) -> tuple[int, list[Any]]:
        """Do the same on Python's numbers: one list of all inputs, one of all outputs."""
        try:
            return self._called(self._quick, given)
        except _RAISED:
            return self._called(self._careful, given)

    def _called(self, functions: list[Any], given: list[Any]) -> tuple[int, list[Any]]:
        slots, results = [None] * self._parts.size, [None] * len(self._kernel.flat.outputs)
        for function in functions:
            if status := function(given, slots, results):
                return status, results
        return 0, results

    @cached_property
    def _quick(self) -> list[Any]:
        return _compiled(self._kernel.flat, self._parts, True)

    @cached_property
    def _careful(self) -> list[Any]:
        return _compiled(self._kernel.flat, self._parts, False)


def _compiled(flat: Flat, parts: Parts, quick: bool) -> list[Any]:
    functions = []
    for part in parts.parts:
        space: dict[str, Any] = dict(_QUICKLY if quick else _CAREFULLY)
        exec(compile(_source(flat, parts, part, quick), "<program>", "exec"), space)
        functions.append(space["part"])
    return functions


def _source(flat: Flat, parts: Parts, part: Part, quick: bool) -> str:
    here = set(part.places)

    def name(place: int) -> str:
        operation, *args = flat.steps[place]
        if operation == "input":
            return f"x[{args[0]}]"
        if operation == "const":
            return f"({flat.number(place).item()!r})"
        return f"v{place}" if place in here else f"w[{parts.slots[place]}]"

    lines = [f"v{place} = {_line(flat, place, name, quick)}" for place in part.places]
    lines += [f"w[{parts.slots[place]}] = v{place}" for place in part.kept]
    lines += [
        f"if {'not ' * expected}{name(place)}: return {number + 1}"
        for number, place, expected in part.checks
    ]
    lines += [f"y[{number}] = {name(place)}" for number, place in part.stores]
    return "def part(x, w, y):\n " + "\n ".join([*lines, "return 0"])


def _line(flat: Flat, place: int, name: Callable[[int], str], quick: bool) -> str:
    """Return what a step computes, in Python."""
    operation, *args = flat.steps[place]
    kind, names = flat.kinds[args[-1]], [name(arg) for arg in args]
    if operation in ("to_double", "to_float", "to_whole"):
        return _conversion(operation, kind, quick).format(*names)
    if kind == TRUTH:
        operation = _OF_TRUTHS.get(operation, operation)
    if kind == WHOLE and OPERATIONS[operation].gives == "same" and operation != "select":
        line = {"fmod": "remainder({0}, {1})"}.get(operation, _LINES.get(operation, ""))
        return f"whole({line.format(*names)})"
    line = _LINES.get(operation) or (quick and _QUICK.get(operation)) or ""
    line = line.format(*names) if line else f"{operation}({', '.join(names)})"
    return f"single({line})" if kind == FLOAT and operation in ROUNDED else line


def _conversion(operation: str, kind: str, quick: bool) -> str:
    is_float = KINDS[kind] in (np.float64, np.float32)
    if operation == "to_double":
        return "{0}" if is_float else "float({0})"
    if operation == "to_float":
        return "single({0})" if is_float else "single_of_whole({0})"
    return "int({0})" if quick or not is_float else "to_whole({0})"
