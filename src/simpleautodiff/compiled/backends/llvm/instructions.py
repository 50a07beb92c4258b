"""Types, constants and instructions of LLVM, for numbers of any dtype, at any width."""

from __future__ import annotations

import struct

from simpleautodiff.compiled.scalar.operations import OPERATIONS
from simpleautodiff.compiled.scalar.scalar_program import ScalarProgram, from_bits

ELEMENT = {"d": "double", "f": "float", "?": "i1", "l": "i64"}
STORED = {"d": "double", "f": "float", "?": "i8", "l": "i64"}  # bools are bytes in memory
BYTES = {"d": 8, "f": 4, "?": 1, "l": 8}
_BITS = {"d": "i64", "f": "i32", "?": "i1", "l": "i64"}
_SUFFIX = {"d": "f64", "f": "f32", "?": "i1", "l": "i64"}


def vector(element: str, width: int) -> str:
    """Return the type of a vector of `width` elements, or of one element.

    Examples
    --------
    >>> vector("double", 8), vector("double", 1)
    ('<8 x double>', 'double')
    """
    return element if width == 1 else f"<{width} x {element}>"


def instruction(operation: str, dtype: str, width: int, precise: bool = False) -> str | None:
    """Return the text of an operation with slots for result and arguments, if it has one.

    Examples
    --------
    >>> instruction("add", "d", 4)
    '{0} = fadd contract <4 x double> {1}, {2}'
    >>> print(instruction("sin", "d", 4))
    None
    """
    code = OPERATIONS[operation].code(dtype)
    return fill(code.llvm, dtype, width, precise) if code and code.llvm else None


def fill(text: str, dtype: str, width: int, precise: bool = False) -> str:
    """Return the code of an operation for one dtype and width (see `operations.Code`).

    Examples
    --------
    >>> fill("{0} = call FLAGS TYPE @llvm.sqrt.NAME(TYPE {1})", "f", 1)
    '{0} = call contract float @llvm.sqrt.f32(float {1})'
    """
    suffix = _SUFFIX[dtype] if width == 1 else f"v{width}{_SUFFIX[dtype]}"
    for word, meaning in (
        ("FLAGS ", "" if precise or dtype in "?l" else "contract "),
        ("TYPE", vector(ELEMENT[dtype], width)),
        ("TRUTH", vector("i1", width)),
        ("BITS", vector(_BITS[dtype], width)),
        ("DOUBLE", vector("double", width)),
        ("FLOAT", vector("float", width)),
        ("INTEGER", vector("i64", width)),
        ("ONE", number("1", "i64", width)),
        ("TWO", number("2", "i64", width)),
        ("NAME", suffix),
    ):
        text = text.replace(word, meaning)
    return text


def number(text: str, element: str, width: int) -> str:
    """Write a number at a width: as a scalar, or repeated in every lane.

    Examples
    --------
    >>> number("1", "i64", 1), number("1", "i64", 4)
    ('1', 'splat (i64 1)')
    """
    return text if width == 1 else f"splat ({element} {text})"


def constant(program: ScalarProgram, place: int, width: int) -> str:
    """Write the constant value of a step.

    Examples
    --------
    >>> program = ScalarProgram()
    >>> constant(program, program.const(1.0), 2)
    'splat (double 0x3FF0000000000000)'
    """
    dtype, bits = program.dtypes[place], program.steps[place][1]
    if dtype in "df":
        wide = struct.pack(">d", from_bits(bits, dtype))  # LLVM writes a float as a double
        return number(f"0x{wide.hex().upper()}", ELEMENT[dtype], width)
    return number(str(bits) if dtype == "l" else "true" if bits else "false", ELEMENT[dtype], width)
