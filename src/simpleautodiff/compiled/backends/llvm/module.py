"""An LLVM module under construction: functions, and the mathematical functions that they call."""

from __future__ import annotations

from simpleautodiff.compiled.backends.llvm import math as vectormath
from simpleautodiff.compiled.backends.llvm.instructions import (
    ELEMENT,
    instruction,
    vector,
)
from simpleautodiff.compiled.scalar.operations import FLOAT64, OPERATIONS
from simpleautodiff.compiled.scalar.scalar_program import ScalarProgram

# Use vectors of the host's full width, even where LLVM would prefer half of it.
ATTRIBUTES = 'nounwind "prefer-vector-width"="512" "min-legal-vector-width"="512"'

_CALLED = vectormath.NAMES - {name for name in OPERATIONS if instruction(name, FLOAT64, 1)}
INLINED_CALLS = 16  # calls: inlining more takes long to compile, and gains nothing


class Module:
    """An LLVM module under construction: it has each function and declaration once.

    Parameters
    ----------
    precise
        Round every operation, and call the C library for mathematical functions: the results are
        the library's, bit for bit.
    own
        Compute mathematical functions with vector code of our own, where there is one; otherwise
        the C library is called.

    Attributes
    ----------
    calls : int
        How many steps such functions compute, in programs that may have many: if there are more
        than INLINED_CALLS, functions are called, otherwise they are inlined.

    Examples
    --------
    >>> module = Module(precise=True)
    >>> module.template("sin", "d", 1)
    '  {0} = call double @sin(double {1}) nobuiltin'
    >>> print(module.text().strip())
    declare double @sin(double) nounwind willreturn memory(none)
    """

    def __init__(self, precise: bool = False, own: bool = True) -> None:
        self.precise = precise
        self.own = own and not precise
        self.calls = 0
        self.functions: list[str] = []
        self._helpers: dict[str, str] = {}
        self._declarations: dict[str, str] = {}
        self._wanted: dict[tuple[str, int, str], None] = {}
        self._templates: dict[tuple[str, str, int], str] = {}
        self._named: dict[str, str] = {}

    def function(self, kind: str, text: str, gives: str = "void") -> str:
        r"""Return the name of the function with a text, from its arguments on.

        Equal functions are written once; a loop over time has many.

        Examples
        --------
        >>> module = Module()
        >>> module.function("copy", "() {\n  ret void\n}")
        'copy0'
        >>> module.function("copy", "() {\n  ret void\n}")
        'copy0'
        """
        if text not in self._named:
            name = self._named[text] = f"{kind}{len(self._named)}"
            self.functions.append(f"define internal {gives} @{name}{text}")
        return self._named[text]

    def count(self, program: ScalarProgram) -> None:
        """Count the steps of a program that mathematical functions compute."""
        if self.own:
            self.calls += sum([program.steps[place][0] in _CALLED for place in program.live()])

    def template(self, operation: str, kind: str, width: int) -> str:
        """Return the text of an operation on a dtype, to be filled with names."""
        key = operation, kind, width
        if key not in self._templates:
            self._templates[key] = self._template(*key)
        return self._templates[key]

    def _template(self, operation: str, kind: str, width: int) -> str:
        row = instruction(operation, kind, width, self.precise)
        if row is not None:
            if operation == "fmod" and kind in "df":
                self.library("fmod", kind)  # LLVM calls fmod for the remainder
            return "  " + row
        if OPERATIONS[operation].code(kind) is None:
            raise TypeError(f"{operation} is not for numbers of dtype {kind!r}: convert them first")
        number = vector(ELEMENT[kind], width)
        args = ", ".join([f"{number} {{{k + 1}}}" for k in range(OPERATIONS[operation].arity)])
        symbol = self._symbol(operation, kind, width)
        if self.precise:
            return f"  {{0}} = call {number} {symbol}({args}) nobuiltin"
        return f"  {{0}} = call contract {number} {symbol}({args})"

    def _symbol(self, operation: str, kind: str, width: int) -> str:
        if self.own and operation in vectormath.NAMES:
            self._wanted[operation, width, ELEMENT[kind]] = None
            return vectormath.symbol(operation, width, ELEMENT[kind])
        name = self.library(operation, kind)
        if width == 1:
            return f"@{name}"
        arity = OPERATIONS[operation].arity
        self._helpers[f"{name}.{width}"] = _lane_by_lane(name, ELEMENT[kind], arity, width)
        return f"@{name}.{width}"

    def library(self, operation: str, kind: str) -> str:
        """Declare a function of the C library, and return its name."""
        name = OPERATIONS[operation].in_c_library + ("f" if kind == "f" else "")
        args = ", ".join([ELEMENT[kind]] * OPERATIONS[operation].arity)
        self.declare(f"{ELEMENT[kind]} @{name}({args}) nounwind willreturn memory(none)")
        return name

    def declare(self, function: str) -> None:
        """Declare a function that is defined elsewhere, once."""
        symbol = function[function.index("@") : function.index("(", function.index("@"))]
        self._declarations.setdefault(symbol, f"declare {function}")

    def text(self) -> str:
        """Return the whole module: all functions, and what they call."""
        own = vectormath.functions(self._wanted)
        for line in sorted(own.declarations):
            self.declare(line.removeprefix("declare "))
        definitions = own.definitions
        if self.calls > INLINED_CALLS:
            definitions = definitions.replace(" alwaysinline ", " noinline ")
        parts = [*self.functions, *self._helpers.values(), definitions]
        return "\n".join([*parts, *self._declarations.values(), ""])


def _lane_by_lane(name: str, element: str, arity: int, width: int) -> str:
    """Write the function that calls the library's for every lane."""
    kind = vector(element, width)
    args = ", ".join([f"{kind} %x{k}" for k in range(arity)])
    lines, result = [], "poison"
    for lane in range(width):
        given = []
        for k in range(arity):
            lines.append(f"  %x{k}.{lane} = extractelement {kind} %x{k}, i64 {lane}")
            given.append(f"{element} %x{k}.{lane}")
        lines.append(f"  %y.{lane} = call {element} @{name}({', '.join(given)}) nobuiltin")
        lines.append(
            f"  %z.{lane} = insertelement {kind} {result}, {element} %y.{lane}, i64 {lane}"
        )
        result = f"%z.{lane}"
    head = f"define internal {kind} @{name}.{width}({args}) noinline memory(none) {ATTRIBUTES} {{"
    return "\n".join([head, *lines, f"  ret {kind} {result}", "}"])
