"""A C file: its opening comment, includes, constants, functions and an example."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from simpleautodiff.compiled.backends.c.c_steps import TYPES, constant_in_c, function_in_c
from simpleautodiff.compiled.backends.interface import BAD_INDEX, NO_MEMORY

SINGULAR_CODE = -3
_WIDTH = 6  # constants per line
_HEADERS = {
    "math.h": "",
    "stddef.h": r"\b(size_t|ptrdiff_t)\b",
    "stdint.h": r"\bu?int64_t\b|\bINT64_",
    "stdlib.h": r"\b(malloc|free)\(",
    "string.h": r"\b(memcpy|memset)\(",
}
_FAILURES = {
    NO_MEMORY: "there is no memory to work in",
    BAD_INDEX: "an index does not fit its array",
    SINGULAR_CODE: "a matrix is singular, or not positive definite",
}
_OTHER_PATH = [
    " *  > 0  no path that was recorded fits these arguments: call the function with such",
    " *       arguments before it is exported",
]


class Parameter(NamedTuple):
    """An argument or a result: its name, dtype and shape."""

    name: str
    dtype: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)


class CFile:
    """A file under construction; constants and functions that are equal are written once.

    Examples
    --------
    >>> file = CFile("f", [Parameter("x", "d", (2,))], [Parameter("y", "d", ())])
    >>> file.head()
    'int f(const double *restrict x, double *restrict y)'
    >>> file.loop("double *x", ["x[0] = 1;"]), file.loop("double *x", ["x[0] = 1;"])
    ('f_loop0', 'f_loop0')
    """

    def __init__(
        self, name: str, inputs: Sequence[Parameter], outputs: Sequence[Parameter]
    ) -> None:
        self.name, self.inputs, self.outputs = name, list(inputs), list(outputs)
        self.helpers: dict[str, str] = {}  # functions that several lines may call, by name
        self.functions: list[str] = []
        self._constants: dict[tuple[str, str], str] = {}
        self._loops: dict[str, str] = {}

    # Parts. ---------------------------------------------------------------------------------------

    def pointers(self) -> list[str]:
        """Declare one pointer per argument and result."""
        return [
            *[f"const {TYPES[kind]} *restrict {name}" for name, kind, _ in self.inputs],
            *[f"{TYPES[kind]} *restrict {name}" for name, kind, _ in self.outputs],
        ]

    def names(self) -> list[str]:
        """Return the names of all arguments and results."""
        return [parameter.name for parameter in (*self.inputs, *self.outputs)]

    def head(self, name: str = "", kind: str = "int", before: Sequence[str] = ()) -> str:
        """Declare a function of all arguments and results."""
        return f"{kind} {name or self.name}({', '.join([*before, *self.pointers()]) or 'void'})"

    def loop(self, parameters: str, lines: list[str]) -> str:
        """Return the name of the function with these parameters and lines."""
        key = "\n".join([parameters, *lines])
        if key not in self._loops:
            name = self._loops[key] = f"{self.name}_loop{len(self._loops)}"
            self.functions.append(function_in_c(f"static void {name}({parameters})", lines))
        return self._loops[key]

    def constant(self, array: Any, kind: str) -> str:
        """Return the name of a constant array."""
        numbers = [constant_in_c(number, kind) for number in array.ravel().tolist()]
        rows = [", ".join(numbers[k : k + _WIDTH]) for k in range(0, len(numbers), _WIDTH)]
        inside = ",\n    ".join(rows)
        text = f"[{array.size}] = {{\n    {inside}\n}};"
        return self._constants.setdefault((kind, text), f"{self.name}_c{len(self._constants)}")

    def try_paths(self, names: list[str], turns: list[tuple[int, int, int, str]]) -> None:
        """Write the function that takes the path that fits, among functions of these names.

        Each turn is a path, the guard that fails there, the path to go on with, and its source
        line.
        """
        args = ", ".join(self.names())
        lines = [f"int path = 0, status = {names[0]}({args});"]
        for number, guard, turn, where in turns:
            lines.append(f"if (path == {number} && status == {guard + 1}) {{  /* {where} */")
            lines.append(f"    path = {turn};")
            lines.append(f"    status = {names[turn]}({args});")
            lines.append("}")
        self.functions.append(function_in_c(self.head(), [*lines, "return status;"]))

    # The whole. -----------------------------------------------------------------------------------

    def text(self, more: Sequence[str] = ()) -> str:
        """Return the file; `more` describes further functions in it."""
        constants = [f"static const {TYPES[kind]} {name}{text}"
                     for (kind, text), name in self._constants.items()]  # fmt: skip
        body = [*constants, *self.helpers.values(), *self.functions, self._example()]
        whole = "\n\n".join(body)
        included = [f"#include <{header}>" for header, sign in _HEADERS.items()
                    if re.search(sign, whole)]  # fmt: skip
        plain = ["#ifdef __cplusplus", "#define restrict", "#endif"]
        opening = [*self._about("\n".join(body[:-1]), more), *included, *plain]
        return "\n".join(opening) + "\n\n" + whole + "\n"

    def _about(self, code: str, more: Sequence[str]) -> list[str]:
        failed = [f" *   {status}  {reason}" for status, reason in _FAILURES.items()
                  if f"return {status};" in code]  # fmt: skip
        other = _OTHER_PATH if re.search(r"return [1-9]\d*;", "\n".join(self.functions)) else []
        example = f"{self.name.upper()}_EXAMPLE"
        return [
            f"/* {self.name}, written by simpleautodiff.",
            " *",
            *_wrap(self.head().replace("restrict ", "")),
            " *",
            " * Arguments:",
            *[_describe(parameter) for parameter in self.inputs],
            " * Results:",
            *[_describe(parameter) for parameter in self.outputs],
            " * Arrays lie row by row. Results must not overlap arguments, or each other.",
            " * It may run in several threads at a time.",
            " *",
            " * It returns",
            " *    0  if all went well; the results are not to be used otherwise",
            *other,
            *failed,
            *([" *", *[f" * {line}" for line in more]] if more else []),
            " *",
            f" * Compile:  cc -std=c99 -O2 -c {self.name}.c    (and link with -lm)",
            f" * Example:  cc -std=c99 -O2 -D{example} {self.name}.c -lm && ./a.out",
            " */",
        ]

    def _example(self) -> str:
        lines = [f"static {TYPES[kind]} {name}[{max(1, math.prod(shape))}];"
                 for name, kind, shape in (*self.inputs, *self.outputs)]  # fmt: skip
        lines += ["int status, i;"] if self.inputs or self.outputs else ["int status;"]
        for one in self.inputs:
            value = f"({TYPES[one.dtype]})(1.0 / (i + 1))" if one.dtype in "df" else "0"
            lines.append(f"for (i = 0; i < {one.size}; i++) {one.name}[i] = {value};")
        lines.append(f"status = {self.name}({', '.join(self.names())});")
        lines.append('printf("status %d\\n", status);')
        for one in self.outputs:
            shown = f'printf("{one.name}[%d] = %.9g\\n", i, (double){one.name}[i]);'
            lines.append(f"for (i = 0; i < {min(one.size, 10)}; i++) {shown}")
        main = function_in_c("int main(void)", [*lines, "return status != 0;"])
        return f"#ifdef {self.name.upper()}_EXAMPLE\n#include <stdio.h>\n\n{main}\n#endif"


def _describe(one: Parameter) -> str:
    shape = "".join(f"[{n}]" for n in one.shape)
    return f" *   {one.name}: {TYPES[one.dtype]}{shape or ', one number'}"


def _wrap(text: str, width: int = 92) -> list[str]:
    """Return a declaration in lines of a comment."""
    lines, line = [], " *  "
    for part in re.split("(?<=,) ", text):
        if len(line) + len(part) > width:
            lines.append(line)
            line = " *      "
        line = f"{line} {part}"
    return [*lines, line]
