"""Every operation as instructions of LLVM: one row each, for numbers of any kind, at any width.

In a row `{0}` is the name of the result and `{1}`, `{2}`, `{3}` are the arguments; TYPE is their
type, TRUTH that of truth values, BITS that of whole numbers of the same size, FLAGS what rounding
may do, and NAME the ending that LLVM's own functions have for TYPE.
"""

from __future__ import annotations

import struct

from simpleautodiff.compiled.scalar.scalar_program import Flat, from_bits

ELEMENT = {"d": "double", "f": "float", "?": "i1", "l": "i64"}
STORED = {"d": "double", "f": "float", "?": "i8", "l": "i64"}  # truth values are bytes in memory
BYTES = {"d": 8, "f": 4, "?": 1, "l": 8}
_BITS = {"d": "i64", "f": "i32", "?": "i1", "l": "i64"}
_ENDING = {"d": "f64", "f": "f32", "?": "i1", "l": "i64"}

_NOT_ZERO = """\
{0}.a = COMPARE TYPE {1}, zeroinitializer
  {0}.b = COMPARE TYPE {2}, zeroinitializer
  {0} = JOIN TRUTH {0}.a, {0}.b"""
_EXTREME = """\
{0}.a = fcmp COMPARE TYPE {1}, {2}
  {0}.b = select TRUTH {0}.a, TYPE {1}, TYPE {2}
  {0}.c = fcmp uno TYPE {1}, {1}
  {0} = select TRUTH {0}.c, TYPE {1}, TYPE {0}.b"""
_INTRINSIC = "{0} = call FLAGS TYPE @llvm.FUNCTION.NAME(TYPE {1})"
_INTRINSIC_OF_TWO = "{0} = call FLAGS TYPE @llvm.FUNCTION.NAME(TYPE {1}, TYPE {2})"


def _logical(compare: str) -> dict[str, str]:
    row = _NOT_ZERO.replace("COMPARE", compare)
    return {name: row.replace("JOIN", name) for name in ("and", "or", "xor")}


_REAL = {
    "add": "{0} = fadd FLAGS TYPE {1}, {2}",
    "sub": "{0} = fsub FLAGS TYPE {1}, {2}",
    "mul": "{0} = fmul FLAGS TYPE {1}, {2}",
    "div": "{0} = fdiv FLAGS TYPE {1}, {2}",
    "neg": "{0} = fneg TYPE {1}",
    "abs": _INTRINSIC.replace("FUNCTION", "fabs"),
    "sqrt": _INTRINSIC.replace("FUNCTION", "sqrt"),
    "floor": _INTRINSIC.replace("FUNCTION", "floor"),
    "ceil": _INTRINSIC.replace("FUNCTION", "ceil"),
    "trunc": _INTRINSIC.replace("FUNCTION", "trunc"),
    "rint": _INTRINSIC.replace("FUNCTION", "rint"),
    "copysign": _INTRINSIC_OF_TWO.replace("FUNCTION", "copysign"),
    "fmod": "{0} = frem TYPE {1}, {2}",
    "maximum": _EXTREME.replace("COMPARE", "ogt"),
    "minimum": _EXTREME.replace("COMPARE", "olt"),
    "lt": "{0} = fcmp olt TYPE {1}, {2}",
    "le": "{0} = fcmp ole TYPE {1}, {2}",
    "eq": "{0} = fcmp oeq TYPE {1}, {2}",
    "ne": "{0} = fcmp une TYPE {1}, {2}",
    **_logical("fcmp une"),
    "not": "{0} = fcmp oeq TYPE {1}, zeroinitializer",
    "signbit": "{0}.a = bitcast TYPE {1} to BITS\n  {0} = icmp slt BITS {0}.a, zeroinitializer",
    "select": "{0} = select TRUTH {1}, TYPE {2}, TYPE {3}",
    "to_whole": "{0} = fptosi TYPE {1} to WHOLE",
}
_DOUBLE = _REAL | {"to_float": "{0} = fptrunc TYPE {1} to FLOAT"}
_FLOAT = _REAL | {"to_double": "{0} = fpext TYPE {1} to DOUBLE"}
_WHOLE = {
    "add": "{0} = add TYPE {1}, {2}",
    "sub": "{0} = sub TYPE {1}, {2}",
    "mul": "{0} = mul TYPE {1}, {2}",
    "neg": "{0} = sub TYPE zeroinitializer, {1}",
    "abs": "{0}.a = sub TYPE zeroinitializer, {1}\n"
    "  {0} = call TYPE @llvm.smax.NAME(TYPE {1}, TYPE {0}.a)",
    "maximum": "{0} = call TYPE @llvm.smax.NAME(TYPE {1}, TYPE {2})",
    "minimum": "{0} = call TYPE @llvm.smin.NAME(TYPE {1}, TYPE {2})",
    # The remainder by 0 and by -1 is 0, where the processor would stop: it is that by 1.
    "fmod": """\
{0}.a = add TYPE {2}, ONE
  {0}.b = icmp ult TYPE {0}.a, TWO
  {0}.c = select TRUTH {0}.b, TYPE ONE, TYPE {2}
  {0} = srem TYPE {1}, {0}.c""",
    "lt": "{0} = icmp slt TYPE {1}, {2}",
    "le": "{0} = icmp sle TYPE {1}, {2}",
    "eq": "{0} = icmp eq TYPE {1}, {2}",
    "ne": "{0} = icmp ne TYPE {1}, {2}",
    **_logical("icmp ne"),
    "not": "{0} = icmp eq TYPE {1}, zeroinitializer",
    "signbit": "{0} = icmp slt TYPE {1}, zeroinitializer",
    "select": _REAL["select"],
    "to_double": "{0} = sitofp TYPE {1} to DOUBLE",
    "to_float": "{0} = sitofp TYPE {1} to FLOAT",
    **dict.fromkeys(("floor", "ceil", "trunc", "rint"), "{0} = or TYPE {1}, zeroinitializer"),
}
_TRUTH = {
    **dict.fromkeys(("or", "add", "maximum"), "{0} = or TYPE {1}, {2}"),
    **dict.fromkeys(("and", "mul", "minimum"), "{0} = and TYPE {1}, {2}"),
    **dict.fromkeys(("xor", "ne"), "{0} = xor TYPE {1}, {2}"),
    "lt": "{0} = icmp ult TYPE {1}, {2}",
    "le": "{0} = icmp ule TYPE {1}, {2}",
    "eq": "{0} = icmp eq TYPE {1}, {2}",
    "not": "{0} = icmp eq TYPE {1}, zeroinitializer",
    "select": _REAL["select"],
    "to_double": "{0} = uitofp TYPE {1} to DOUBLE",
    "to_float": "{0} = uitofp TYPE {1} to FLOAT",
    "to_whole": "{0} = zext TYPE {1} to WHOLE",
}
INSTRUCTIONS = {"d": _DOUBLE, "f": _FLOAT, "l": _WHOLE, "?": _TRUTH}

# What the C library calls the functions that have another name there.
LIBRARY = {"power": "pow"}


def vector(element: str, width: int) -> str:
    """Return the type of so many elements, or of one.

    Examples
    --------
    >>> vector("double", 8), vector("double", 1)
    ('<8 x double>', 'double')
    """
    return element if width == 1 else f"<{width} x {element}>"


def instruction(operation: str, kind: str, width: int, precise: bool = False) -> str | None:
    """Return the text of an operation, with places for result and arguments, if it has one.

    Examples
    --------
    >>> instruction("add", "d", 4)
    '{0} = fadd contract <4 x double> {1}, {2}'
    >>> print(instruction("sin", "d", 4))
    None
    """
    row = INSTRUCTIONS[kind].get(operation)
    if row is None:
        return None
    ending = _ENDING[kind] if width == 1 else f"v{width}{_ENDING[kind]}"
    for word, text in (
        ("FLAGS ", "" if precise or kind in "?l" else "contract "),
        ("TYPE", vector(ELEMENT[kind], width)),
        ("TRUTH", vector("i1", width)),
        ("BITS", vector(_BITS[kind], width)),
        ("DOUBLE", vector("double", width)),
        ("FLOAT", vector("float", width)),
        ("WHOLE", vector("i64", width)),
        ("ONE", number("1", "i64", width)),
        ("TWO", number("2", "i64", width)),
        ("NAME", ending),
    ):
        row = row.replace(word, text)
    return row


def number(text: str, element: str, width: int) -> str:
    """Write a number at a width: alone, or once in every lane.

    Examples
    --------
    >>> number("1", "i64", 1), number("1", "i64", 4)
    ('1', 'splat (i64 1)')
    """
    return text if width == 1 else f"splat ({element} {text})"


def constant(flat: Flat, place: int, width: int) -> str:
    """Write the number that a step is known to be.

    Examples
    --------
    >>> program = Flat()
    >>> constant(program, program.const(1.0), 2)
    'splat (double 0x3FF0000000000000)'
    """
    kind, bits = flat.kinds[place], flat.steps[place][1]
    if kind in "df":
        wide = struct.pack(">d", from_bits(bits, kind))  # LLVM writes a float as the double it is
        return number(f"0x{wide.hex().upper()}", ELEMENT[kind], width)
    return number(str(bits) if kind == "l" else "true" if bits else "false", ELEMENT[kind], width)
