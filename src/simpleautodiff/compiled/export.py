"""A kernel as source code to take away: a C file, or a Python module that needs NumPy alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from simpleautodiff.compiled.numbers.flat import Flat
from simpleautodiff.compiled.numbers.kernel import Kernel, Leaf
from simpleautodiff.compiled.numbers.operations import DOUBLE, FLOAT, OPERATIONS, TRUTH, WHOLE
from simpleautodiff.compiled.numbers.parts import Part, Parts, names_of, to_parts

LENGTH = 250  # steps in a function: compilers take longer than in proportion for long ones
ON_STACK = 4096  # cells: where more are needed, they are allocated

_TYPES = {DOUBLE: "double", FLOAT: "float", TRUTH: "unsigned char", WHOLE: "int64_t"}
_INFIX = {
    **{"add": "+", "sub": "-", "mul": "*", "div": "/"},
    **{"lt": "<", "le": "<=", "eq": "==", "ne": "!=", "and": "&&", "or": "||", "xor": "!="},
}
_OTHER = {
    "neg": "-{0}",
    "not": "!{0}",
    "select": "{0} ? {1} : {2}",
    "signbit": "signbit({0}) != 0",
    "maximum": "({0} > {1} || {0} != {0}) ? {0} : {1}",
    "minimum": "({0} < {1} || {0} != {0}) ? {0} : {1}",
}
_OF_WHOLE = {
    **{
        name: f"(int64_t)((uint64_t){{0}} {sign} (uint64_t){{1}})"
        for name, sign in {"add": "+", "sub": "-", "mul": "*"}.items()
    },
    "neg": "(int64_t)(0 - (uint64_t){0})",
    "abs": "{0} < 0 ? (int64_t)(0 - (uint64_t){0}) : {0}",
    "fmod": "({1} == 0 || {1} == -1) ? 0 : {0} % {1}",
    "signbit": "{0} < 0",
}
_OF_TRUTHS = {
    **dict.fromkeys(("add", "maximum"), "{0} || {1}"),
    **dict.fromkeys(("mul", "minimum"), "{0} && {1}"),
}
_NAMES = {"power": "pow", "abs": "fabs"}


def to_c(kernel: Kernel, name: str, rows: bool = False) -> str:
    r"""Return a kernel as one C file that needs nothing but the C library.

    Parameters
    ----------
    kernel : Kernel
        What to write.
    name : str
        The name of the function: one pointer per leaf, arguments and then results. It returns 0,
        or 1 + the number of the first guard that failed: then the results are not to be used.
    rows : bool
        Add a function `<name>_rows` that does so for many rows.

    Examples
    --------
    >>> flat = Flat()
    >>> x = flat.input()
    >>> flat.outputs = [flat.mul(flat.make("sin", x), flat.const(0.1))]
    >>> text = to_c(Kernel(flat, (Leaf("d", 1),), (Leaf("d", 1),)), "f")
    >>> print(text[text.index("int f("):])
    int f(const double *in0, double *out0)
    {
        const double v1 = sin(in0[0]);
        const double v3 = v1 * 0x1.999999999999ap-4;
        out0[0] = v3;
        return 0;
    }
    """
    parts = to_parts(kernel, LENGTH)
    pieces = [_opening(kernel, name, rows)]
    if len(parts.parts) == 1:
        body = _part(kernel, parts, parts.parts[0], "")
        pieces.append(_function(f"int {name}({_parameters(kernel)})", _used(kernel, body)))
    else:
        pieces += _in_parts(kernel, name, parts)
    if rows:
        pieces.append(_rows(kernel, name))
    return "\n\n".join(pieces) + "\n"


def _opening(kernel: Kernel, name: str, rows: bool) -> str:
    leaves = zip((*kernel.inputs, *kernel.outputs), _leaf_names(kernel), strict=True)
    about = [f" *   {leaf_name}: {_TYPES[leaf.kind]}[{leaf.size}]" for leaf, leaf_name in leaves]
    many = [
        f" * {name}_rows does so for `count` rows; a row of a leaf is `..._step` elements after",
        " * the one before it (0: the same for all). It stops at a row where a guard fails.",
    ]
    lines = [
        f"/* {name}: a program of {len(kernel.flat.steps)} steps, written by simpleautodiff.",
        *about,
        " * Returns 0, or 1 + the number of the first guard that failed: then the arguments lead",
        " * along another path than the one that was recorded, and the results are not to be used.",
        " * Results must not overlap arguments.",
        *(many if rows else []),
        f" * Compile: cc -std=c99 -O2 -c {name}.c, and link with -lm.",
        " */",
        "#include <math.h>",
        "#include <stddef.h>",
        "#include <stdint.h>",
        "#include <stdlib.h>",
    ]
    return "\n".join(lines)


def _leaf_names(kernel: Kernel) -> list[str]:
    return [f"in{n}" for n in range(len(kernel.inputs))] + [
        f"out{n}" for n in range(len(kernel.outputs))
    ]


def _pointers(kernel: Kernel) -> list[str]:
    """Declare one pointer per leaf."""
    types = [f"const {_TYPES[leaf.kind]} *" for leaf in kernel.inputs]
    types += [f"{_TYPES[leaf.kind]} *" for leaf in kernel.outputs]
    return [kind + name for kind, name in zip(types, _leaf_names(kernel), strict=True)]


def _parameters(kernel: Kernel) -> str:
    return ", ".join(_pointers(kernel)) or "void"


def _function(head: str, lines: list[str]) -> str:
    return "\n".join([head, "{", *(f"    {line}" for line in lines), "}"])


def _used(kernel: Kernel, lines: list[str]) -> list[str]:
    """Say of the parameters that are not used that this is so."""
    text = "\n".join(lines)
    unused = [f"(void){name};" for name in _leaf_names(kernel) if f"{name}[" not in text]
    return [*unused, *lines]


# Long programs: functions that leave numbers to each other in a work array. -----------------------


def _in_parts(kernel: Kernel, name: str, parts: Parts) -> list[str]:
    members = [f"    {pointer};" for pointer in (*_pointers(kernel), f"union {name}_cell *w")]
    union = f"union {name}_cell {{ double d; int64_t l; }};"
    pieces = ["\n".join([union, f"struct {name}_leaves {{", *members, "};"])]
    for number, part in enumerate(parts.parts):
        head = f"static int {name}_part{number}(const struct {name}_leaves *at)"
        pieces.append(_function(head, ["(void)at;", *_part(kernel, parts, part, "at->")]))
    return [*pieces, _function(f"int {name}({_parameters(kernel)})", _calls(kernel, name, parts))]


def _calls(kernel: Kernel, name: str, parts: Parts) -> list[str]:
    cell, large = f"union {name}_cell", parts.size > ON_STACK
    lines = [f"struct {name}_leaves at;", "int status = 0;"]
    if large:
        lines += [f"{cell} *w = malloc({parts.size} * sizeof *w);", "if (!w) return -1;"]
    else:
        lines.append(f"{cell} w[{max(parts.size, 1)}];")
    lines += [f"at.{leaf} = {leaf};" for leaf in (*_leaf_names(kernel), "w")]
    for number in range(len(parts.parts)):
        lines.append(f"if (!status) status = {name}_part{number}(&at);")
    return [*lines, *(["free(w);"] if large else []), "return status;"]


def _rows(kernel: Kernel, name: str) -> str:
    steps = [f"size_t {leaf}_step" for leaf in _leaf_names(kernel)]
    pairs = [f"{one}, {other}" for one, other in zip(_pointers(kernel), steps, strict=True)]
    args = ", ".join(f"{leaf} + row * {leaf}_step" for leaf in _leaf_names(kernel))
    lines = [
        "size_t row;",
        "for (row = 0; row < count; row++) {",
        f"    const int status = {name}({args});",
        "    if (status) return status;",
        "}",
        "return 0;",
    ]
    return _function(f"int {name}_rows({', '.join(['size_t count', *pairs])})", lines)


# One step, in C. ----------------------------------------------------------------------------------


def _part(kernel: Kernel, parts: Parts, part: Part, at: str) -> list[str]:
    flat, here = kernel.flat, set(part.places)
    inputs, outputs = names_of(kernel.inputs, at + "in"), names_of(kernel.outputs, at + "out")

    def name(place: int) -> str:
        operation, *args = flat.steps[place]
        if operation == "input":
            return inputs[args[0]]
        if operation == "const":
            return _constant(flat, place)
        return f"v{place}" if place in here else _cell(parts.slots[place], flat.kinds[place])

    lines = [
        f"const {_TYPES[flat.kinds[place]]} v{place} = {_line(flat, place, name)};"
        for place in part.places
    ]
    for place in part.kept:
        member = "d" if flat.kinds[place] in (DOUBLE, FLOAT) else "l"
        lines.append(f"at->w[{parts.slots[place]}].{member} = v{place};")
    lines += [
        f"if ({'!' * expected}{name(place)}) return {number + 1};"
        for number, place, expected in part.checks
    ]
    lines += [f"{outputs[number]} = {name(place)};" for number, place in part.stores]
    return [*lines, "return 0;"]


def _cell(slot: int, kind: str) -> str:
    conversion = {FLOAT: "(float)", TRUTH: "(unsigned char)"}.get(kind, "")
    return f"{conversion}at->w[{slot}].{'d' if kind in (DOUBLE, FLOAT) else 'l'}"


def _constant(flat: Flat, place: int) -> str:
    """Write a constant so that no digit of it is lost."""
    kind, number = flat.kinds[place], flat.number(place).item()
    if kind == TRUTH:
        return str(int(number))
    if kind == WHOLE:
        return "INT64_MIN" if number == -(2**63) else _signed(f"INT64_C({abs(number)})", number)
    if math.isnan(number):
        return "NAN" if kind == FLOAT else "(double)NAN"
    size = "INFINITY" if math.isinf(number) else abs(number).hex() + "f" * (kind == FLOAT)
    return _signed(size if kind == FLOAT or "x" in size else f"(double){size}", number)


def _signed(size: str, number: Any) -> str:
    return f"(-{size})" if math.copysign(1, number) < 0 else size


def _line(flat: Flat, place: int, name: Callable[[int], str]) -> str:
    operation, *args = flat.steps[place]
    kind, names = flat.kinds[args[-1]], [name(arg) for arg in args]
    special = {WHOLE: _OF_WHOLE, TRUTH: _OF_TRUTHS}.get(kind, {}).get(operation)
    if special or operation in _OTHER:
        return (special or _OTHER[operation]).format(*names)
    if operation in _INFIX:
        return f"{names[0]} {_INFIX[operation]} {names[1]}"
    if operation.startswith("to_"):
        return f"({_TYPES[flat.kinds[place]]}){names[0]}"
    called = f"{_NAMES.get(operation, operation)}({', '.join(names)})"
    return f"(float){called}" if kind == FLOAT else called


# A module of Python. ------------------------------------------------------------------------------

_DTYPES = {DOUBLE: "np.float64", FLOAT: "np.float32", TRUTH: "np.bool_", WHOLE: "np.int64"}
_SIGNS = {name: sign for name, sign in _INFIX.items() if name not in ("and", "or", "xor")}
_CONVERSIONS = {"to_double": DOUBLE, "to_float": FLOAT, "to_whole": WHOLE}
_OWN = {
    name: f'''

def {name}(x):
    """Return {name} of a number, or of each number of an array."""
    return np.vectorize(math.{name}, otypes=[float])(x)[()].astype(np.asarray(x).dtype)
'''
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
    lines = _lines(kernel)
    used = [own for own in _OWN if any(f" {own}(" in line for line in lines)]
    arguments = ", ".join(f"in{n}" for n in range(len(kernel.inputs)))
    imports = ["import math\n"] * bool(used) + ["import numpy as np\n"]
    return "".join(
        [
            f'"""{name}: a program of {len(kernel.flat.steps)} steps, for NumPy."""\n\n',
            "\n".join(imports),
            *[_OWN[own] for own in used],
            f"\n\ndef {name}({arguments}):\n",
            *[f"    {line}\n" if line else "\n" for line in [*_about(kernel), *lines]],
        ]
    )


def _about(kernel: Kernel) -> list[str]:
    """Return the docstring of the function that is written."""
    lines = ['"""Compute what was recorded, for one row or for columns of many rows.', ""]
    for prefix, leaves in (("in", kernel.inputs), ("out", kernel.outputs)):
        for number, leaf in enumerate(leaves):
            what = "a number or a column" if leaf.size == 1 else f"{leaf.size} numbers or columns"
            lines.append(f"{prefix}{number}: {what}, {_DTYPES[leaf.kind][3:]}")
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
    return f"np.asarray(in{number}, {_DTYPES[leaf.kind]})[()]"


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
        none = f"np.empty(0, {_DTYPES[leaf.kind]})"
        results.append(names[0] if leaf.size == 1 else many if names else none)
    return results[0] if len(results) == 1 else f"({''.join(f'{each}, ' for each in results)})"


def _typed(flat: Flat, place: int, name: Callable[[int], str]) -> str:
    is_plain = flat.steps[place][0] == "const"
    return f"{_DTYPES[flat.kinds[place]]}({name(place)})" if is_plain else name(place)


def _python_constant(flat: Flat, place: int) -> str:
    kind, number = flat.kinds[place], flat.number(place).item()
    if kind == DOUBLE and math.isfinite(number):
        return repr(number) if math.copysign(1, number) > 0 else f"({number!r})"
    is_plain = kind in (TRUTH, WHOLE) or math.isfinite(number)
    return f"{_DTYPES[kind]}({number if is_plain else repr(str(number))})"


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
        return f"{_DTYPES[_CONVERSIONS[operation]]}({names[0]})"
    called = operation if operation in _OWN else f"np.{OPERATIONS[operation].compute.__name__}"
    return f"{called}({', '.join(names)})"
