"""Lanes of floats, integers and bools in LLVM functions, written with Python's operators."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from simpleautodiff.compiled.backends.llvm.builder import Builder
from simpleautodiff.compiled.backends.llvm.math.coefficients import DOUBLE, FLOAT, Constants


@dataclass(frozen=True)
class FloatFormat:
    """A float format: its name in LLVM, its bits, and its constants."""

    name: str
    bits: int
    fraction: int
    constants: Constants

    @property
    def bias(self) -> int:
        """The bias of the stored exponent."""
        return (1 << (self.bits - self.fraction - 2)) - 1

    @property
    def least(self) -> float:
        """The least normal number."""
        return 2.0 ** (1 - self.bias)

    @property
    def magic(self) -> float:
        """A number so large that adding it rounds to an integer, which is then in the low bits."""
        return 1.5 * 2.0**self.fraction

    def pattern(self, number: float) -> int:
        """Return the bits of a number."""
        floats, whole = ("<d", "<q") if self.bits == 64 else ("<f", "<i")
        return int(struct.unpack(whole, struct.pack(floats, number))[0])


FORMATS = {
    "double": FloatFormat("double", 64, 52, DOUBLE),
    "float": FloatFormat("float", 32, 23, FLOAT),
}


class MathBuilder(Builder):
    """The instructions of one function; equal instructions are emitted once."""

    def __init__(self, width: int, kind: FloatFormat) -> None:
        super().__init__("v")
        self.width, self.kind = width, kind
        self.declarations: set[str] = set()
        self._known: dict[str, str] = {}
        self.suffix = ("" if width == 1 else f"v{width}") + f"f{kind.bits}"
        self.floats = self.type_of(kind.name)
        self.ints = self.type_of(f"i{kind.bits}")
        self.masks = self.type_of("i1")

    def type_of(self, scalar: str) -> str:
        """Return the type of a vector of a scalar type."""
        return scalar if self.width == 1 else f"<{self.width} x {scalar}>"

    def emit(self, instruction: str) -> str:
        """Return the name of the instruction's result."""
        if instruction not in self._known:
            self._known[instruction] = self.new(instruction)
        return self._known[instruction]

    def _splat(self, scalar: str, text: str) -> str:
        return text if self.width == 1 else f"splat ({scalar} {text})"

    def number(self, value: Floats | float) -> Floats:
        """Return a constant in all lanes."""
        if isinstance(value, Floats):
            return value
        if self.kind.bits == 32:
            value = float(struct.unpack("<f", struct.pack("<f", value))[0])
        pattern = struct.unpack("<Q", struct.pack("<d", value))[0]
        return Floats(self, self._splat(self.kind.name, f"0x{pattern:016X}"))

    def whole(self, value: Ints | int) -> Ints:
        """Return a constant in all lanes, as bits."""
        if isinstance(value, Ints):
            return value
        return Ints(self, self._splat(f"i{self.kind.bits}", str(value)))

    def call(self, name: str, *arguments: Floats) -> Floats:
        """Call an intrinsic function of floats."""
        symbol = f"@llvm.{name}.{self.suffix}"
        types = ", ".join([self.floats] * len(arguments))
        self.declarations.add(f"declare {self.floats} {symbol}({types})")
        given = ", ".join(f"{self.floats} {a.text}" for a in arguments)
        return Floats(self, self.emit(f"call {self.floats} {symbol}({given})"))

    def constants(self, name: str) -> tuple[float, ...]:
        """Return the constants of that name for this float format."""
        return self.kind.constants[name]


class Floats:
    """Floats in lanes."""

    __slots__ = ("builder", "text")

    def __init__(self, builder: MathBuilder, text: str) -> None:
        self.builder, self.text = builder, text

    def _two(self, operator: str, other: Floats | float, swap: bool = False) -> Floats:
        a, b = self.text, self.builder.number(other).text
        a, b = (b, a) if swap else (a, b)
        return Floats(self.builder, self.builder.emit(f"{operator} {self.builder.floats} {a}, {b}"))

    def _compare(self, relation: str, other: Floats | float) -> Mask:
        b = self.builder.number(other).text
        text = f"fcmp {relation} {self.builder.floats} {self.text}, {b}"
        return Mask(self.builder, self.builder.emit(text))

    def __add__(self, other: Floats | float) -> Floats:
        return self._two("fadd", other)

    def __radd__(self, other: float) -> Floats:
        return self._two("fadd", other)

    def __sub__(self, other: Floats | float) -> Floats:
        return self._two("fsub", other)

    def __rsub__(self, other: float) -> Floats:
        return self._two("fsub", other, swap=True)

    def __mul__(self, other: Floats | float) -> Floats:
        return self._two("fmul", other)

    def __rmul__(self, other: float) -> Floats:
        return self._two("fmul", other)

    def __truediv__(self, other: Floats | float) -> Floats:
        return self._two("fdiv", other)

    def __rtruediv__(self, other: float) -> Floats:
        return self._two("fdiv", other, swap=True)

    def __neg__(self) -> Floats:
        return Floats(self.builder, self.builder.emit(f"fneg {self.builder.floats} {self.text}"))

    def __abs__(self) -> Floats:
        return self.builder.call("fabs", self)

    def __lt__(self, other: Floats | float) -> Mask:
        return self._compare("olt", other)

    def __gt__(self, other: Floats | float) -> Mask:
        return self._compare("ogt", other)

    def equals(self, other: Floats | float) -> Mask:
        """Tell where both are the same number."""
        return self._compare("oeq", other)

    def is_unordered(self, other: Floats | float) -> Mask:
        """Tell where one of the two is nan."""
        return self._compare("uno", other)

    @property
    def bits(self) -> Ints:
        """The bits of the floats."""
        text = f"bitcast {self.builder.floats} {self.text} to {self.builder.ints}"
        return Ints(self.builder, self.builder.emit(text))

    @property
    def sign(self) -> Ints:
        """The sign bit; the others are 0."""
        return self.bits & -(1 << (self.builder.kind.bits - 1))

    def flip(self, sign: Ints) -> Floats:
        """Return it with its sign flipped where the bit is set."""
        return (self.bits ^ sign).number


class Ints:
    """Integers in lanes."""

    __slots__ = ("builder", "text")

    def __init__(self, builder: MathBuilder, text: str) -> None:
        self.builder, self.text = builder, text

    def _two(self, operator: str, other: Ints | int) -> Ints:
        b = self.builder.whole(other).text
        text = f"{operator} {self.builder.ints} {self.text}, {b}"
        return Ints(self.builder, self.builder.emit(text))

    def __add__(self, other: Ints | int) -> Ints:
        return self._two("add", other)

    def __sub__(self, other: Ints | int) -> Ints:
        return self._two("sub", other)

    def __and__(self, other: Ints | int) -> Ints:
        return self._two("and", other)

    def __or__(self, other: Ints | int) -> Ints:
        return self._two("or", other)

    def __xor__(self, other: Ints | int) -> Ints:
        return self._two("xor", other)

    def __lshift__(self, places: int) -> Ints:
        return self._two("shl", places)

    def __rshift__(self, places: int) -> Ints:
        return self._two("lshr", places)

    @property
    def odd(self) -> Mask:
        """Tell where the lowest bit is set."""
        text = f"trunc {self.builder.ints} {self.text} to {self.builder.masks}"
        return Mask(self.builder, self.builder.emit(text))

    @property
    def number(self) -> Floats:
        """The floats with these bits."""
        text = f"bitcast {self.builder.ints} {self.text} to {self.builder.floats}"
        return Floats(self.builder, self.builder.emit(text))


class Mask:
    """Bools in lanes."""

    __slots__ = ("builder", "text")

    def __init__(self, builder: MathBuilder, text: str) -> None:
        self.builder, self.text = builder, text

    def _two(self, operator: str, other: str) -> Mask:
        text = f"{operator} {self.builder.masks} {self.text}, {other}"
        return Mask(self.builder, self.builder.emit(text))

    def __and__(self, other: Mask) -> Mask:
        return self._two("and", other.text)

    def __or__(self, other: Mask) -> Mask:
        return self._two("or", other.text)

    def __invert__(self) -> Mask:
        return self._two("xor", "true" if self.builder.width == 1 else "splat (i1 true)")

    def pick(self, yes: Floats | float, no: Floats | float) -> Floats:
        """Return `yes` where the mask is true, and `no` elsewhere."""
        builder = self.builder
        a, b = builder.number(yes).text, builder.number(no).text
        text = f"select {builder.masks} {self.text}, {builder.floats} {a}, {builder.floats} {b}"
        return Floats(builder, builder.emit(text))

    @property
    def sign(self) -> Ints:
        """The sign bit where the mask is true, otherwise 0."""
        return self.pick(-0.0, 0.0).bits


def fma(a: Floats, b: Floats | float, c: Floats | float) -> Floats:
    """Return a b + c, rounded once."""
    return a.builder.call("fma", a, a.builder.number(b), a.builder.number(c))


def polynomial(z: Floats, coefficients: Sequence[float]) -> Floats:
    """Return the polynomial of z with these coefficients, highest first.

    A long one is split into two in z², so that the halves are computed in parallel.
    """
    if len(coefficients) < 8:
        return _horner(z, coefficients)
    square = z * z
    odd, even = coefficients[-2::-2][::-1], coefficients[::-2][::-1]
    return fma(z, _horner(square, odd), _horner(square, even))


def _horner(z: Floats, coefficients: Sequence[float]) -> Floats:
    total = fma(z, coefficients[0], coefficients[1])
    for coefficient in coefficients[2:]:
        total = fma(total, z, coefficient)
    return total


def at_most(x: Floats, bound: Floats | float) -> Floats:
    """Return x, limited to the bound from above; nan stays nan."""
    return (x > bound).pick(bound, x)


def at_least(x: Floats, bound: Floats | float) -> Floats:
    """Return x, limited to the bound from below; nan stays nan."""
    return (x < bound).pick(bound, x)
