"""A scalar program as a Python module that needs only NumPy."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Callable, Sequence

from simpleautodiff.compiled.backends.export import OTHER_PATH
from simpleautodiff.compiled.scalar.kernel import Kernel
from simpleautodiff.compiled.scalar.operations import (
    BOOL,
    FLOAT32,
    FLOAT64,
    INT64,
    OPERATIONS,
    EachByMath,
    Operation,
    call,
)
from simpleautodiff.compiled.scalar.scalar_program import ScalarProgram
from simpleautodiff.program.python_code import module_text, write_literal

NUMPY_NAMES = {FLOAT64: "np.float64", FLOAT32: "np.float32", BOOL: "np.bool_", INT64: "np.int64"}
FOLLOWING = '"""Return 0 and the results, or 1 + the number of the guard that fails, and None."""'
OWN = {
    name: f'''def {name}(x):
    """Return {name} of a number, or of each number of an array."""
    return np.vectorize(math.{name}, otypes=[float])(x)[()].astype(np.asarray(x).dtype)'''
    for name, operation in OPERATIONS.items()
    if isinstance(operation.numpy, EachByMath)
}


def to_python(kernel: Kernel, name: str) -> str:
    """Return a kernel as a Python module that imports only NumPy.

    Its function takes one argument per leaf: a number, or a sequence of as many numbers as the leaf
    has; each may be a column, an array with one number for each example of a batch. It raises
    `ValueError` where a guard fails.

    Examples
    --------
    >>> from simpleautodiff.compiled.scalar.kernel import Leaf
    >>> flat = ScalarProgram()
    >>> x = flat.input()
    >>> flat.outputs = [flat.mul(flat.make("sin", x), flat.const(0.1))]
    >>> text = to_python(Kernel(flat, (Leaf("d", 1),), (Leaf("d", 1),)), "f")
    >>> print(text[text.index("    in0 ="):])
        in0 = np.asarray(in0, np.float64)[()]
        with np.errstate(all="ignore"):
            v1 = np.sin(in0)
            v3 = v1 * 0.1
        return v3
    >>> space = {}
    >>> exec(text, space)
    >>> space["f"]([0.0, float("inf")])
    array([ 0., nan])
    """
    return module(name, prepend_helpers(function_in_python(kernel, name)))


def module(name: str, code: str, constants: Sequence[str] = ()) -> str:
    """Return a module with a function and the definitions that it needs."""
    if "OTHER_PATH" in code:
        pieces = textwrap.wrap(OTHER_PATH, 80, drop_whitespace=False)
        constants = ["OTHER_PATH = (", *[f'    "{piece}"' for piece in pieces], ")", *constants]
    about = f'"""{name}, written by simpleautodiff for NumPy."""'
    return f"{about}\n\n{module_text(prepend_helpers(code), constants)}"


def function_in_python(
    kernel: Kernel, name: str, arguments: Sequence[str] = (), is_path: bool = False
) -> str:
    """Return the function alone, without the definitions that it needs.

    One of several paths returns 1 + the number of the guard that failed, or 0, and the results; its
    arguments are already checked.
    """
    names = list(arguments) or [f"in{n}" for n in range(len(kernel.inputs))]
    given = [f"{own} = np.asarray({own}, {NUMPY_NAMES[leaf.dtype]})[()]"
             for own, leaf in zip(names, kernel.inputs, strict=True)]  # fmt: skip
    opening = (
        [FOLLOWING] if is_path else [*docstring_lines(*describe_leaves(kernel, names)), *given]
    )
    lines = [f"    {line}" if line else "" for line in [*opening, *_lines(kernel, names, is_path)]]
    return "\n".join([f"def {name}({', '.join(names)}):", *lines])


def prepend_helpers(code: str) -> str:
    """Prepend the functions that NumPy lacks."""
    used = [text for own, text in OWN.items() if re.search(rf"(?<![.\w]){own}\(", code)]
    return "\n\n\n".join([*used, code])


def docstring_lines(inputs: Sequence[str], outputs: Sequence[str]) -> list[str]:
    """Return a docstring that describes the arguments and the results."""
    parts = [("Parameters", inputs), ("Returns", outputs)]
    said = [line for title, lines in parts if lines
            for line in ("", title, "-" * len(title), *lines)]  # fmt: skip
    return ['"""Compute what was recorded.', *said, '"""']


def describe_leaves(kernel: Kernel, names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Describe the dtypes of the arguments and of the results."""
    results = [f"out{n}" for n in range(len(kernel.outputs))]
    pairs = zip((*names, *results), (*kernel.inputs, *kernel.outputs), strict=True)
    lines = [
        f"{name} : {NUMPY_NAMES[leaf.dtype][3:]}, "
        + ("a number or a column" if leaf.size == 1 else f"{leaf.size} numbers or columns")
        for name, leaf in pairs
    ]
    return lines[: len(names)], lines[len(names) :]


def failure_text(number: int, is_path: bool) -> str:
    """Write the code for a failed guard."""
    if is_path:
        return f"return {number + 1}, None"
    return f'raise ValueError("guard {number} failed: " + OTHER_PATH)'


def _lines(kernel: Kernel, names: Sequence[str], is_path: bool) -> list[str]:
    """Return the body of the function: steps, guards, results."""
    flat = kernel.program
    inputs = [
        own if leaf.size == 1 else f"{own}[{i}]"
        for own, leaf in zip(names, kernel.inputs, strict=True)
        for i in range(leaf.size)
    ]

    def name(place: int) -> str:
        operation, *args = flat.steps[place]
        if operation == "input":
            return inputs[args[0]]
        return _python_constant(flat, place) if operation == "const" else f"v{place}"

    steps = [
        f"    v{place} = {_python_line(flat, place, name)}"
        for place in flat.live()
        if flat.steps[place][0] not in ("input", "const")
    ]
    return [
        *(['with np.errstate(all="ignore"):'] if steps else []),
        *steps,
        *_python_guards(flat, name, is_path),
        f"return {'0, ' * is_path}{_return_text(kernel, name)}",
    ]


def _python_guards(flat: ScalarProgram, name: Callable[[int], str], is_path: bool) -> list[str]:
    lines = []
    for number, (place, expected) in enumerate(flat.guards):
        fails = f"not np.all({name(place)})" if expected else f"np.any({name(place)})"
        lines += [f"if {fails}:", f"    {failure_text(number, is_path)}"]
    return lines


def _return_text(kernel: Kernel, name: Callable[[int], str]) -> str:
    places, results = iter(kernel.program.outputs), []
    for leaf in kernel.outputs:
        names = [_cast(kernel.program, next(places), name) for _ in range(leaf.size)]
        many = f"np.stack(np.broadcast_arrays({', '.join(names)}))"
        none = f"np.empty(0, {NUMPY_NAMES[leaf.dtype]})"
        results.append(names[0] if leaf.size == 1 else many if names else none)
    return results[0] if len(results) == 1 else f"({', '.join(results)})"


def _cast(flat: ScalarProgram, place: int, name: Callable[[int], str]) -> str:
    is_plain = flat.steps[place][0] == "const"
    return f"{NUMPY_NAMES[flat.dtypes[place]]}({name(place)})" if is_plain else name(place)


def _python_constant(flat: ScalarProgram, place: int) -> str:
    kind, number = flat.dtypes[place], flat.number(place).item()
    if number != number:
        return write_literal(flat.number(place)).text
    if kind == FLOAT64 and math.isfinite(number):
        return repr(number) if math.copysign(1, number) > 0 else f"({number!r})"
    is_plain = kind in (BOOL, INT64) or math.isfinite(number)
    return f"{NUMPY_NAMES[kind]}({number if is_plain else repr(str(number))})"


def _python_line(flat: ScalarProgram, place: int, name: Callable[[int], str]) -> str:
    operation, *args = flat.steps[place]
    return _code(OPERATIONS[operation]).format("", *[name(arg) for arg in args])


def _code(row: Operation) -> str:
    """Return the NumPy code of an operation."""
    function = row.name if row.name in OWN else f"np.{getattr(row.numpy, '__name__', '')}"
    return row.numpy_code or call(function, row.arity)
