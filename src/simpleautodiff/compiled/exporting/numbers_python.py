"""A flat program as a Python module that needs NumPy alone."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from simpleautodiff.compiled.exporting.numbers_c import INFIX
from simpleautodiff.compiled.numbers.flat import Flat
from simpleautodiff.compiled.numbers.kernel import Kernel, Leaf
from simpleautodiff.compiled.numbers.operations import DOUBLE, FLOAT, OPERATIONS, TRUTH, WHOLE
from simpleautodiff.spelling import module_text

DTYPES = {DOUBLE: "np.float64", FLOAT: "np.float32", TRUTH: "np.bool_", WHOLE: "np.int64"}
_SIGNS = {name: sign for name, sign in INFIX.items() if name not in ("and", "or", "xor")}
_CONVERSIONS = {"to_double": DOUBLE, "to_float": FLOAT, "to_whole": WHOLE}
OWN = {
    name: f'''def {name}(x):
    """Return {name} of a number, or of each number of an array."""
    return np.vectorize(math.{name}, otypes=[float])(x)[()].astype(np.asarray(x).dtype)'''
    for name in ("erf", "erfc")
}


def to_python(kernel: Kernel, name: str) -> str:
    """Return a kernel as a Python module that imports NumPy alone.

    Its function takes one argument per leaf: a number, or a sequence of as many numbers as the leaf
    has; each may be a column, an array with one number for each of many rows. It raises
    `ValueError` where a guard fails.

    Examples
    --------
    >>> flat = Flat()
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
    about = f'"""{name}: a program of {len(kernel.flat.steps)} steps, for NumPy."""'
    return f"{about}\n\n{module_text(with_own(function_in_python(kernel, name)))}"


def function_in_python(kernel: Kernel, name: str) -> str:
    """Return the function alone, without what it needs."""
    arguments = ", ".join(f"in{n}" for n in range(len(kernel.inputs)))
    lines = [f"    {line}" if line else "" for line in [*_about(kernel), *_lines(kernel)]]
    return "\n".join([f"def {name}({arguments}):", *lines])


def with_own(code: str) -> str:
    """Put the functions in front that NumPy does not have."""
    used = [text for own, text in OWN.items() if re.search(rf"(?<![.\w]){own}\(", code)]
    return "\n\n\n".join([*used, code])


def _about(kernel: Kernel) -> list[str]:
    """Return the docstring of the function that is written."""
    lines = ['"""Compute what was recorded, for one row or for columns of many rows.', ""]
    for prefix, leaves in (("in", kernel.inputs), ("out", kernel.outputs)):
        for number, leaf in enumerate(leaves):
            what = "a number or a column" if leaf.size == 1 else f"{leaf.size} numbers or columns"
            lines.append(f"{prefix}{number}: {what}, {DTYPES[leaf.kind][3:]}")
    return [*lines, '"""']


def _lines(kernel: Kernel) -> list[str]:
    """Return the body of the function: arguments, steps, guards, results."""
    flat = kernel.flat
    inputs = [
        f"in{n}" if leaf.size == 1 else f"in{n}[{i}]"
        for n, leaf in enumerate(kernel.inputs)
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
        *[f"in{n} = {_argument(n, leaf)}" for n, leaf in enumerate(kernel.inputs)],
        *(['with np.errstate(all="ignore"):'] if steps else []),
        *steps,
        *_python_guards(flat, name),
        f"return {_returned(kernel, name)}",
    ]


def _argument(number: int, leaf: Leaf) -> str:
    return f"np.asarray(in{number}, {DTYPES[leaf.kind]})[()]"


def _python_guards(flat: Flat, name: Callable[[int], str]) -> list[str]:
    lines = []
    for number, (place, expected) in enumerate(flat.guards):
        lines.append(f"if not np.all({name(place)} == {expected}):")
        reason = f"guard {number} failed: this was recorded for arguments on another path"
        lines.append(f'    raise ValueError("{reason}")')
    return lines


def _returned(kernel: Kernel, name: Callable[[int], str]) -> str:
    places, results = iter(kernel.flat.outputs), []
    for leaf in kernel.outputs:
        names = [_typed(kernel.flat, next(places), name) for _ in range(leaf.size)]
        many = f"np.stack(np.broadcast_arrays({', '.join(names)}))"
        none = f"np.empty(0, {DTYPES[leaf.kind]})"
        results.append(names[0] if leaf.size == 1 else many if names else none)
    return results[0] if len(results) == 1 else f"({', '.join(results)})"


def _typed(flat: Flat, place: int, name: Callable[[int], str]) -> str:
    is_plain = flat.steps[place][0] == "const"
    return f"{DTYPES[flat.kinds[place]]}({name(place)})" if is_plain else name(place)


def _python_constant(flat: Flat, place: int) -> str:
    kind, number = flat.kinds[place], flat.number(place).item()
    if kind == DOUBLE and math.isfinite(number):
        return repr(number) if math.copysign(1, number) > 0 else f"({number!r})"
    is_plain = kind in (TRUTH, WHOLE) or math.isfinite(number)
    return f"{DTYPES[kind]}({number if is_plain else repr(str(number))})"


def _python_line(flat: Flat, place: int, name: Callable[[int], str]) -> str:
    operation, *args = flat.steps[place]
    names = [name(arg) for arg in args]
    if operation in _SIGNS:
        return f"{names[0]} {_SIGNS[operation]} {names[1]}"
    if operation == "select":
        return f"np.where({', '.join(names)})[()]"
    if operation == "neg":
        return f"-{names[0]}"
    if operation in _CONVERSIONS:
        return f"{DTYPES[_CONVERSIONS[operation]]}({names[0]})"
    called = operation if operation in OWN else f"np.{OPERATIONS[operation].compute.__name__}"
    return f"{called}({', '.join(names)})"
