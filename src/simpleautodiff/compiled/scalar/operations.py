"""The one table of scalar operations: what each computes, and how it is written.

A scalar program is made of these operations, and every backend is generated from their rows:

- `numpy` is the definition. It folds constants, and runs a program where nothing was compiled.
- `real`, `integer` and `boolean` hold the code of the operation for each dtype it takes: an
  instruction of LLVM, an expression on Python's own numbers, an expression in C.
- the interpreter has an opcode for each operation and dtype, made of the instruction of LLVM.

To add an operation is to add a row. A function that the C library has needs no code at all; it is
called by its name. (A vector function for LLVM may be added to `backends/llvm/math`.)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

# Dtypes, by NumPy's letters.
FLOAT64, FLOAT32, BOOL, INT64 = "d", "f", "?", "l"
DTYPES = FLOAT64 + FLOAT32 + BOOL + INT64
SCALAR_TYPES = {"d": np.float64, "f": np.float32, "?": np.bool_, "l": np.int64}


def fits_int64(number: int) -> bool:
    """Tell whether a Python integer fits into 64 bits.

    Examples
    --------
    >>> fits_int64(2**63 - 1), fits_int64(2**63)
    (True, False)
    """
    return -(2**63) <= number < 2**63


class OpText(NamedTuple):
    """An operation on numbers of one dtype, in three languages.

    In each of them `{1}`, `{2}`, `{3}` stand for the arguments. An instruction of LLVM is a whole
    line, in which `{0}` is the name of the result, TYPE the type of the arguments, TRUTH the type
    of bools, BITS that of integers of the same size as TYPE, FLAGS what rounding may do, and NAME
    the suffix that intrinsic functions have for TYPE; the same line serves vectors of any width.
    Without an instruction, the function of the C library is called.
    """

    llvm: str
    python: str
    c: str
    raises: bool = False  # whether Python raises where NumPy gives inf or nan


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation: its arguments, its result, and its code in every language."""

    name: str
    arity: int
    numpy: Callable[..., Any]
    gives: str = "same"  # the dtype of the result, or "same": that of the (last) argument
    commutes: bool = False
    exact: bool = False  # for float32 numbers, the float64 result needs no rounding
    real: OpText | None = None  # float64 and float32
    integer: OpText | None = None  # int64
    boolean: OpText | None = None
    library: str = ""  # its name in the C library, if it differs
    numpy_code: str = ""  # its text in an exported Python module, if not a call of `numpy`

    def code(self, dtype: str) -> OpText | None:
        """Return its code for arguments of a dtype; None if it does not take them."""
        return {INT64: self.integer, BOOL: self.boolean}.get(dtype, self.real)

    @property
    def in_c_library(self) -> str:
        """The name of the function of the C library."""
        return self.library or self.name


class EachByMath(NamedTuple):
    """A function of Python's `math` that NumPy lacks, for arrays as well."""

    function: Callable[[float], float]

    def __call__(self, x: Any) -> Any:
        """Compute the numbers one by one."""
        found = [self.function(number) for number in np.ravel(x)]
        return np.array(found, np.result_type(x)).reshape(np.shape(x))[()]


def call(function: str, arity: int) -> str:
    """Write a call of a function, in Python or C.

    Examples
    --------
    >>> call("atan2", 2)
    'atan2({1}, {2})'
    """
    return f"{function}({', '.join([f'{{{k}}}' for k in range(1, arity + 1)])})"


def _infix(llvm: str, python: str, c: str = "", raises: bool = False) -> OpText:
    """Return an operator: between its arguments in Python and C, before them in LLVM."""
    return OpText(
        f"{{0}} = {llvm} TYPE {{1}}, {{2}}", f"{{1}} {python} {{2}}", f"{{1}} {c or python} {{2}}",
        raises,
    )  # fmt: skip


def _intrinsic(function: str, arity: int, python: str, c: str) -> OpText:
    """Return a function for which LLVM has an instruction."""
    args = ", ".join([f"TYPE {{{k}}}" for k in range(1, arity + 1)])
    return OpText(f"{{0}} = call FLAGS TYPE @llvm.{function}.NAME({args})", python, c, raises=True)


def _rounding(name: str, python: str = "", integer: OpText | None = None) -> Operation:
    """Return a function that rounds a float to an integer, as a float."""
    python = f"copysign({python or name}({{1}}), {{1}})"  # keeps the sign of zero
    code = _intrinsic(name, 1, python, call(name, 1))
    return Operation(name, 1, getattr(np, name), exact=True, real=code, integer=integer)


def _wrapping(llvm: str, sign: str) -> OpText:
    """Return integer arithmetic that wraps around at 64 bits."""
    c = f"(int64_t)((uint64_t){{1}} {sign} (uint64_t){{2}})"
    return OpText(f"{{0}} = {llvm} TYPE {{1}}, {{2}}", f"{{1}} {sign} {{2}}", c)


def _extreme(llvm: str, sign: str) -> OpText:
    """Return the maximum or minimum of two floats: the second of equal ones; nan if one is."""
    instructions = f"""\
{{0}}.a = fcmp {llvm} TYPE {{1}}, {{2}}
  {{0}}.b = select TRUTH {{0}}.a, TYPE {{1}}, TYPE {{2}}
  {{0}}.c = fcmp uno TYPE {{1}}, {{1}}
  {{0}} = select TRUTH {{0}}.c, TYPE {{1}}, TYPE {{0}}.b"""
    python = f"{{1}} if {{1}} {sign} {{2}} or {{1}} != {{1}} else {{2}}"
    c = f"({{1}} {sign} {{2}} || {{1}} != {{1}}) ? {{1}} : {{2}}"
    return OpText(instructions, python, c)


def _extreme_of_integers(llvm: str, sign: str) -> OpText:
    instruction = f"{{0}} = call TYPE @llvm.{llvm}.NAME(TYPE {{1}}, TYPE {{2}})"
    python = f"{{1}} if {{1}} {sign} {{2}} else {{2}}"
    return OpText(instruction, python, f"{{1}} {sign} {{2}} ? {{1}} : {{2}}")


def _comparison(name: str, numpy: Any, sign: str, real: str, integer: str, boolean: OpText,
                commutes: bool = False) -> Operation:  # fmt: skip
    return Operation(
        name, 2, numpy, BOOL, commutes,
        real=_infix(f"fcmp {real}", sign), integer=_infix(f"icmp {integer}", sign),
        boolean=boolean, numpy_code=f"{{1}} {sign} {{2}}",
    )  # fmt: skip


def _library(name: str, numpy: Any, arity: int = 1, library: str = "", **more: Any) -> Operation:
    """Return a function of the C library, which Python's `math` has by the same name."""
    code = call(library or name, arity)
    return Operation(
        name, arity, numpy, real=OpText("", code, code, raises=True), library=library, **more
    )


_SAME = OpText("{0} = or TYPE {1}, zeroinitializer", "{1}", "{1}")
_AND, _OR = _infix("and", "and", "&"), _infix("or", "or", "|")
_XOR = _infix("xor", "is not", "!=")
_SELECT = OpText(
    "{0} = select TRUTH {1}, TYPE {2}, TYPE {3}", "{2} if {1} else {3}", "{1} ? {2} : {3}"
)
_REMAINDER = OpText(  # a divisor 0 or -1, which would trap, is replaced by 1: the result is 0
    """\
{0}.a = add TYPE {2}, ONE
  {0}.b = icmp ult TYPE {0}.a, TWO
  {0}.c = select TRUTH {0}.b, TYPE ONE, TYPE {2}
  {0} = srem TYPE {1}, {0}.c""",
    "int_remainder({1}, {2})",
    "({2} == 0 || {2} == -1) ? 0 : {1} % {2}",
)
_QUOTIENT = OpText(  # by 0 and -1, for which there is no instruction, it is the product
    """\
{0}.a = add TYPE {2}, ONE
  {0}.b = icmp ult TYPE {0}.a, TWO
  {0}.c = select TRUTH {0}.b, TYPE ONE, TYPE {2}
  {0}.d = sdiv TYPE {1}, {0}.c
  {0}.e = srem TYPE {1}, {0}.c
  {0}.f = xor TYPE {0}.e, {0}.c
  {0}.g = icmp slt TYPE {0}.f, zeroinitializer
  {0}.h = icmp ne TYPE {0}.e, zeroinitializer
  {0}.i = and TRUTH {0}.g, {0}.h
  {0}.j = sext TRUTH {0}.i to TYPE
  {0}.k = add TYPE {0}.d, {0}.j
  {0}.l = mul TYPE {1}, {2}
  {0} = select TRUTH {0}.b, TYPE {0}.l, TYPE {0}.k""",
    "{1} // {2} if {2} else 0",
    "({2} == 0 || {2} == -1) ? (int64_t)((uint64_t){1} * (uint64_t){2})"
    " : {1} / {2} - ({1} % {2} != 0 && ({1} % {2} < 0) != ({2} < 0))",
)
_ABS_OF_INTEGER = OpText(
    "{0}.a = sub TYPE zeroinitializer, {1}\n"
    "  {0} = call TYPE @llvm.smax.NAME(TYPE {1}, TYPE {0}.a)",
    "abs({1})",
    "{1} < 0 ? (int64_t)(0 - (uint64_t){1}) : {1}",
)
_SIGNBIT = OpText(
    "{0}.a = bitcast TYPE {1} to BITS\n  {0} = icmp slt BITS {0}.a, zeroinitializer",
    "copysign(1, {1}) < 0",
    "signbit({1}) != 0",
)

_TO_FLOAT32 = "int_to_float32({1})"

# fmt: off
OPERATION_TABLE = (
    # Arithmetic.
    Operation("add", 2, np.add, commutes=True, numpy_code="{1} + {2}",
              real=_infix("fadd FLAGS", "+"), integer=_wrapping("add", "+"), boolean=_OR),
    Operation("sub", 2, np.subtract, numpy_code="{1} - {2}",
              real=_infix("fsub FLAGS", "-"), integer=_wrapping("sub", "-")),
    Operation("mul", 2, np.multiply, commutes=True, numpy_code="{1} * {2}",
              real=_infix("fmul FLAGS", "*"), integer=_wrapping("mul", "*"), boolean=_AND),
    Operation("div", 2, np.true_divide, numpy_code="{1} / {2}",
              real=_infix("fdiv FLAGS", "/", raises=True)),
    _library("power", np.power, 2, "pow"),
    _library("atan2", np.arctan2, 2),
    _library("hypot", np.hypot, 2, commutes=True),
    Operation("copysign", 2, np.copysign, exact=True,
              real=_intrinsic("copysign", 2, call("copysign", 2), call("copysign", 2))),
    Operation("maximum", 2, np.maximum, commutes=True, exact=True, real=_extreme("ogt", ">"),
              integer=_extreme_of_integers("smax", ">"), boolean=_OR),
    Operation("minimum", 2, np.minimum, commutes=True, exact=True, real=_extreme("olt", "<"),
              integer=_extreme_of_integers("smin", "<"), boolean=_AND),
    Operation("fmod", 2, np.fmod, exact=True,  # the remainder, with the sign of the first argument
              real=OpText("{0} = frem TYPE {1}, {2}", call("fmod", 2), call("fmod", 2), True),
              integer=_REMAINDER),
    Operation("quotient", 2, np.floor_divide, integer=_QUOTIENT,
              numpy_code="{1} // {2}"),  # of integers; floats have more steps
    Operation("neg", 1, np.negative, exact=True, numpy_code="-{1}",
              real=OpText("{0} = fneg TYPE {1}", "-{1}", "-{1}"),
              integer=OpText("{0} = sub TYPE zeroinitializer, {1}", "-{1}",
                           "(int64_t)(0 - (uint64_t){1})")),
    Operation("abs", 1, np.absolute, exact=True, library="fabs",
              real=_intrinsic("fabs", 1, call("abs", 1), call("fabs", 1))._replace(raises=False),
              integer=_ABS_OF_INTEGER),
    # Functions of one number.
    Operation("sqrt", 1, np.sqrt, real=_intrinsic("sqrt", 1, call("sqrt", 1), call("sqrt", 1))),
    _library("cbrt", np.cbrt),
    _library("exp", np.exp),
    _library("exp2", np.exp2),
    _library("expm1", np.expm1),
    _library("log", np.log),
    _library("log2", np.log2),
    _library("log10", np.log10),
    _library("log1p", np.log1p),
    _library("sin", np.sin),
    _library("cos", np.cos),
    _library("tan", np.tan),
    _library("asin", np.arcsin),
    _library("acos", np.arccos),
    _library("atan", np.arctan),
    _library("sinh", np.sinh),
    _library("cosh", np.cosh),
    _library("tanh", np.tanh),
    _library("asinh", np.arcsinh),
    _library("acosh", np.arccosh),
    _library("atanh", np.arctanh),
    _library("erf", EachByMath(math.erf)),
    _library("erfc", EachByMath(math.erfc)),
    _rounding("floor", integer=_SAME),
    _rounding("ceil", integer=_SAME),
    _rounding("trunc", integer=_SAME),
    _rounding("rint", "round"),  # to the nearest integer, ties to even
    # Bools.
    _comparison("lt", np.less, "<", "olt", "slt", _infix("icmp ult", "<")),
    _comparison("le", np.less_equal, "<=", "ole", "sle", _infix("icmp ule", "<=")),
    _comparison("eq", np.equal, "==", "oeq", "eq", _infix("icmp eq", "=="), commutes=True),
    _comparison("ne", np.not_equal, "!=", "une", "ne", _infix("xor", "!="), commutes=True),
    Operation("and", 2, np.logical_and, BOOL, commutes=True, boolean=_AND),
    Operation("or", 2, np.logical_or, BOOL, commutes=True, boolean=_OR),
    Operation("xor", 2, np.logical_xor, BOOL, commutes=True, boolean=_XOR),
    Operation("not", 1, np.logical_not, BOOL,
              boolean=OpText("{0} = icmp eq TYPE {1}, zeroinitializer", "not {1}", "!{1}")),
    Operation("signbit", 1, np.signbit, BOOL, real=_SIGNBIT,
              integer=OpText("{0} = icmp slt TYPE {1}, zeroinitializer", "{1} < 0", "{1} < 0")),
    Operation("select", 3, lambda condition, x, y: x if condition else y, exact=True,
              real=_SELECT, integer=_SELECT, boolean=_SELECT,
              numpy_code="np.where({1}, {2}, {3})[()]"),
    # Conversions.
    Operation("to_float64", 1, np.float64, FLOAT64,
              real=OpText("{0} = fpext TYPE {1} to DOUBLE", "{1}", "(double){1}"),
              integer=OpText("{0} = sitofp TYPE {1} to DOUBLE", "float({1})", "(double){1}"),
              boolean=OpText("{0} = uitofp TYPE {1} to DOUBLE", "float({1})", "(double){1}")),
    Operation("to_float32", 1, np.float32, FLOAT32,
              real=OpText("{0} = fptrunc TYPE {1} to FLOAT", "float32({1})", "(float){1}"),
              integer=OpText("{0} = sitofp TYPE {1} to FLOAT", _TO_FLOAT32, "(float){1}"),
              boolean=OpText("{0} = uitofp TYPE {1} to FLOAT", _TO_FLOAT32, "(float){1}")),
    Operation("to_int64", 1, np.int64, INT64,  # from a bool, or from a float without a fraction
              real=OpText("{0} = fptosi TYPE {1} to INTEGER", "int({1})", "(int64_t){1}", True),
              boolean=OpText("{0} = zext TYPE {1} to INTEGER", "int({1})", "(int64_t){1}")),
)
# fmt: on

OPERATIONS = {operation.name: operation for operation in OPERATION_TABLE}
