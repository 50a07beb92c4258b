"""A flat program as a C file, which every C compiler takes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from simpleautodiff.compiled.numbers.flat import Flat
from simpleautodiff.compiled.numbers.kernel import Kernel
from simpleautodiff.compiled.numbers.operations import DOUBLE, FLOAT, TRUTH, WHOLE
from simpleautodiff.compiled.numbers.parts import Part, Parts, names_of, to_parts

LENGTH = 250  # steps in a function: compilers take longer than in proportion for long ones
ON_STACK = 4096  # cells: where more are needed, they are allocated

TYPES = {DOUBLE: "double", FLOAT: "float", TRUTH: "unsigned char", WHOLE: "int64_t"}
INFIX = {
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
    "maximum": "{0} > {1} ? {0} : {1}",
    "minimum": "{0} < {1} ? {0} : {1}",
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
    >>> from simpleautodiff.compiled.numbers.kernel import Leaf
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
    pieces = [_opening(kernel, name, rows), *functions_in_c(kernel, name, rows)]
    return "\n\n".join(pieces) + "\n"


def functions_in_c(kernel: Kernel, name: str, rows: bool, head: str = "int") -> list[str]:
    """Return the functions of a kernel alone; `head` stands before their names."""
    parts = to_parts(kernel, LENGTH)
    if len(parts.parts) == 1:
        body = _part(kernel, parts, parts.parts[0], "")
        pieces = [function_in_c(f"{head} {name}({_parameters(kernel)})", _used(kernel, body))]
    else:
        pieces = _in_parts(kernel, name, parts, head)
    return [*pieces, _rows(kernel, name, head)] if rows else pieces


def _opening(kernel: Kernel, name: str, rows: bool) -> str:
    leaves = zip((*kernel.inputs, *kernel.outputs), _leaf_names(kernel), strict=True)
    about = [f" *   {leaf_name}: {TYPES[leaf.kind]}[{leaf.size}]" for leaf, leaf_name in leaves]
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
    types = [f"const {TYPES[leaf.kind]} *" for leaf in kernel.inputs]
    types += [f"{TYPES[leaf.kind]} *" for leaf in kernel.outputs]
    return [kind + name for kind, name in zip(types, _leaf_names(kernel), strict=True)]


def _parameters(kernel: Kernel) -> str:
    return ", ".join(_pointers(kernel)) or "void"


def function_in_c(head: str, lines: list[str]) -> str:
    """Write a function around its lines."""
    return "\n".join([head, "{", *(f"    {line}" for line in lines), "}"])


def _used(kernel: Kernel, lines: list[str]) -> list[str]:
    """Say of the parameters that are not used that this is so."""
    text = "\n".join(lines)
    unused = [f"(void){name};" for name in _leaf_names(kernel) if f"{name}[" not in text]
    return [*unused, *lines]


# Long programs: functions that leave numbers to each other in a work array. -----------------------


def _in_parts(kernel: Kernel, name: str, parts: Parts, head: str) -> list[str]:
    members = [f"    {pointer};" for pointer in (*_pointers(kernel), f"union {name}_cell *w")]
    union = f"union {name}_cell {{ double d; int64_t l; }};"
    pieces = ["\n".join([union, f"struct {name}_leaves {{", *members, "};"])]
    for number, part in enumerate(parts.parts):
        head = f"static int {name}_part{number}(const struct {name}_leaves *at)"
        pieces.append(function_in_c(head, ["(void)at;", *_part(kernel, parts, part, "at->")]))
    return [
        *pieces,
        function_in_c(f"int {name}({_parameters(kernel)})", _calls(kernel, name, parts)),
    ]


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


def _rows(kernel: Kernel, name: str, head: str) -> str:
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
    return function_in_c(f"{head} {name}_rows({', '.join(['size_t count', *pairs])})", lines)


# One step, in C. ----------------------------------------------------------------------------------


def _part(kernel: Kernel, parts: Parts, part: Part, at: str) -> list[str]:
    flat, here = kernel.flat, set(part.places)
    inputs, outputs = names_of(kernel.inputs, at + "in"), names_of(kernel.outputs, at + "out")

    def name(place: int) -> str:
        operation, *args = flat.steps[place]
        if operation == "input":
            return inputs[args[0]]
        if operation == "const":
            return constant_in_c(flat.number(place).item(), flat.kinds[place])
        return f"v{place}" if place in here else _cell(parts.slots[place], flat.kinds[place])

    lines = [
        f"const {TYPES[flat.kinds[place]]} v{place} = {_line(flat, place, name)};"
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


def constant_in_c(number: Any, kind: str) -> str:
    """Write a constant so that no digit of it is lost.

    Examples
    --------
    >>> constant_in_c(-0.1, "d"), constant_in_c(float("inf"), "f"), constant_in_c(3, "l")
    ('(-0x1.999999999999ap-4)', 'INFINITY', 'INT64_C(3)')
    """
    if kind == TRUTH:
        return str(int(number))
    if kind == WHOLE:
        return "INT64_MIN" if number == -(2**63) else _signed(f"INT64_C({abs(number)})", number)
    if math.isnan(number):
        return "NAN" if kind == FLOAT else "(double)NAN"
    size = "INFINITY" if math.isinf(number) else abs(float(number)).hex() + "f" * (kind == FLOAT)
    return _signed(size if kind == FLOAT or "x" in size else f"(double){size}", number)


def _signed(size: str, number: Any) -> str:
    return f"(-{size})" if math.copysign(1, number) < 0 else size


def _line(flat: Flat, place: int, name: Callable[[int], str]) -> str:
    operation, *args = flat.steps[place]
    names = [name(arg) for arg in args]
    return step_in_c(operation, flat.kinds[args[-1]], flat.kinds[place], names)


def step_in_c(operation: str, kind: str, gives: str, names: list[str]) -> str:
    """Write one operation on numbers of a kind, and the kind that it gives.

    Examples
    --------
    >>> step_in_c("add", "d", "d", ["x", "y"]), step_in_c("power", "f", "f", ["x", "y"])
    ('x + y', '(float)pow(x, y)')
    """
    special = {WHOLE: _OF_WHOLE, TRUTH: _OF_TRUTHS}.get(kind, {}).get(operation)
    if special or operation in _OTHER:
        return (special or _OTHER[operation]).format(*names)
    if operation in INFIX:
        return f"{names[0]} {INFIX[operation]} {names[1]}"
    if operation.startswith("to_"):
        return f"({TYPES[gives]}){names[0]}"
    called = f"{_NAMES.get(operation, operation)}({', '.join(names)})"
    return f"(float){called}" if kind == FLOAT else called
