"""Constants that are equal and are not the same: signs of zeros and nans, kinds, orders of bytes.

They never share a program, a line of one, or a place in a cache; expected are the numbers that the
function itself gives, bit for bit.
"""

import dataclasses
import functools
import math
import struct
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import simpleautodiff as ad
from simpleautodiff.compiled.array.run_numpy import Replay
from simpleautodiff.compiled.recording.symbol_level import SymbolLevel
from simpleautodiff.compiled.running.array_program import ArrayProgram
from simpleautodiff.program.python_code import write_literal

PAYLOAD = struct.unpack("<d", struct.pack("<Q", 0x7FF8000000000007))[0]
NUMBERS = [0.0, -0.0, math.nan, -math.nan, PAYLOAD, math.inf, -math.inf, 1.5]
KINDS = {int: 2.0, bool: 3.0, float: 5.0, Fraction: 7.0, Decimal: 11.0}


def bits(x):
    x = np.asarray(x)
    return x.dtype.str, x.shape, x.tobytes()


@dataclasses.dataclass(frozen=True)
class Number:
    n: object
    __mul__ = None  # so that it is a leaf


def kind_of(n):
    return KINDS.get(type(n), 13.0)


def sign_of(n):
    return math.copysign(1.0, n)


FIXED = {  # functions of a number and of what decides how they run, and equal ones that differ
    "number": (kind_of, [1, True, Fraction(1), Decimal(1), np.int64(1), np.bool_(True)]),
    "tuple": (lambda n: kind_of(n[0]), [(1,), (True,), (Fraction(1),)]),
    "key": (lambda n: kind_of(next(iter(n))), [{1: 0}, {True: 0}, {1.0: 0}]),
    "frozenset": (lambda n: kind_of(next(iter(n))), [frozenset([k]) for k in (1, True, 1.0)]),
    "frozenset of zeros": (lambda n: sign_of(next(iter(n))), [frozenset([0.0]), frozenset([-0.0])]),
    "slice": (lambda n: kind_of(n.stop), [slice(0, 1), slice(0, True)]),
    "dataclass": (lambda n: kind_of(n.n), [Number(1), Number(True), Number(1.0)]),
    "dataclass of zeros": (lambda n: sign_of(n.n), [Number(0.0), Number(-0.0)]),
    "nested": (lambda n: kind_of(n.n[0]), [Number((1,)), Number((True,)), Number((1.0,))]),
    "decimal": (lambda n: float(len(str(n))), [Decimal("1.0"), Decimal("1.00"), Decimal("-0")]),
    "partial": (
        lambda n: kind_of(n.args[0]),
        [functools.partial(max, 1), functools.partial(max, True), functools.partial(max, 1.0)],
    ),
}


@pytest.mark.parametrize("name", FIXED)
def test_equal_arguments_of_other_kinds_have_programs_of_their_own(name):
    decide, several = FIXED[name]
    compiled = ad.jit(lambda x, n: x * decide(n))
    for _ in range(4):
        for n in several:
            assert compiled(1.5, n) == 1.5 * decide(n)


VARYING = {
    "zeros": [0.0, -0.0, np.float64(0.0), np.float64(-0.0), np.float32(-0.0)],
    "nans": [math.nan, -math.nan, PAYLOAD],
    "kinds": [1, True, 1.0, np.float64(1), np.float32(1), np.float16(1), np.int64(1)],
    "complex": [complex(0.0, 0.0), complex(0.0, -0.0), complex(-0.0, 0.0)],
}


@pytest.mark.parametrize("tier", [None, "tape", "numpy"])
@pytest.mark.parametrize("name", VARYING)
def test_numbers_that_vary_keep_their_bits(name, tier):
    f = lambda x, n: np.copysign(x, np.real(n)) + np.copysign(2 * x, np.imag(n)) / 3
    compiled = ad.jit(f, tier=tier) if tier else ad.jit(f)
    for _ in range(4):
        for n in VARYING[name]:
            assert bits(compiled(1.5, n)) == bits(f(1.5, n))


def signs(x, kind):
    """Add up by the signs of constants; no two of the terms are the same."""
    zero = np.zeros(np.shape(x), kind)
    nan = np.full(np.shape(x), math.nan, kind)
    total = np.copysign(x, zero) + 2 * np.copysign(x, -zero)
    return total + 4 * np.copysign(x, nan) + 8 * np.copysign(x, -nan)


WAYS = {
    "jit": lambda f: ad.jit(f),
    "tape": lambda f: ad.jit(f, tier="tape"),
    "numpy": lambda f: ad.jit(f, tier="numpy"),
    "precise": lambda f: ad.jit(f, precise=True),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("size", [None, 3, 5000])
def test_constants_that_differ_in_a_sign_are_not_merged(size, kind, way):
    x = kind(1.0) if size is None else np.ones(size, kind)
    compiled = WAYS[way](lambda x: signs(x, kind))
    gradient = WAYS[way](ad.grad(lambda x: np.sum(signs(x, kind))))
    for _ in range(4):
        np.testing.assert_array_equal(compiled(x), 1 - 2 + 4 - 8)
        np.testing.assert_array_equal(gradient(x), 1 - 2 + 4 - 8)
    np.testing.assert_array_equal(ad.grad(lambda x: np.sum(signs(x, kind)))(x), -5)


@pytest.mark.parametrize("way", WAYS)
def test_constants_of_other_kinds_are_not_merged(way):
    def f(x):
        x = x.astype(np.float32)
        return (
            np.sum(x * np.float32(0.1))
            + np.sum(x * np.full(3, 0.1))
            + np.sum(x * np.full(3, 0.1, np.float32))
            + np.sum(x * np.array([1, 1, 1]) / 3)
            + np.sum(x * np.array([True, True, True]) / 3)
        )

    x = np.array([0.1, 0.2, 0.3])
    compiled = WAYS[way](f)
    for _ in range(4):
        assert compiled(x).dtype == f(x).dtype
        np.testing.assert_allclose(compiled(x), f(x), rtol=1e-7)


def test_orders_of_bytes_have_programs_of_their_own():
    compiled = ad.jit(lambda x: x * 2 + np.arange(3, dtype=">f8"))
    for _ in range(4):
        for kind in ("<f8", ">f8", "<f4", ">f4", "<i4", ">i4"):
            x = np.array([1, 2, 300], kind)
            np.testing.assert_array_equal(compiled(x), [2, 5, 602])


def test_the_cache_on_disk_tells_constants_apart(tmp_path, monkeypatch):
    monkeypatch.setenv("SIMPLEAUTODIFF_CACHE", str(tmp_path))
    for _ in range(2):
        for constant in NUMBERS:
            compiled = ad.jit(lambda x, c=constant: np.copysign(x, c) * 3 + x, tier="optimised")
            expected = math.copysign(1.5, constant) * 3 + 1.5
            assert [compiled(1.5) for _ in range(3)] == [expected] * 3


def literals():
    pairs = [complex(a, b) for a in NUMBERS for b in [*NUMBERS, -1.5]]
    yield from NUMBERS + pairs
    with np.errstate(all="ignore"):
        for kind in (np.float16, np.float32, np.float64):
            yield from map(kind, NUMBERS)
        for kind in (np.complex64, np.complex128):
            yield from map(kind, pairs)
        for kind in ("f2", "f4", "f8", ">f8", "c16"):
            for number in NUMBERS:
                for size in (1, 3, 20):
                    yield np.full(size, number, kind)
                yield np.array([1, number], kind)
        yield from (np.array([z, 1j]) for z in pairs)


def test_a_constant_in_source_code_has_all_its_bits():
    space = {"np": np, "math": math, "base64": __import__("base64")}
    for constant in literals():
        again = eval(write_literal(constant).text, space)
        assert type(again) is type(constant)
        assert bits(again) == bits(constant), (constant, write_literal(constant).text)


def test_source_code_and_exports_keep_signs():
    for size in (None, 3, 30):
        x = 1.0 if size is None else np.ones(size)
        f = lambda x: np.sum(signs(x, np.float64))
        for made in (f, ad.grad(f)):
            assert bits(ad.source(made, x).function()(x)) == bits(made(x))
        compiled = ad.jit(ad.grad(f))
        for _ in range(2):
            compiled(x)
        space = {}
        exec(compiled.to_python("exported"), space)
        np.testing.assert_array_equal(space["exported"](x), -5)
    compiled = ad.jit(f)
    for _ in range(2):
        compiled(1.0)
    assert "-(double)NAN" in compiled.to_c("exported")


@pytest.mark.parametrize("kind", ["<f8", ">f8", "<i8", ">i8"])
def test_a_recorded_program_keeps_constants_of_its_own_in_native_order(kind):
    constant = np.arange(3).astype(kind)
    level = SymbolLevel()
    with level:
        y = level.input(np.ones(3)) * constant
    program = level.finish([y], 1)
    constant[:] = 7
    kept = [arg for arg in program.lines[-1].args if isinstance(arg, np.ndarray)]
    assert [array.dtype.isnative for array in kept] == [True]
    _, (found,) = Replay(program).run([np.full(3, 2.0)])
    np.testing.assert_array_equal(found, [0.0, 2.0, 4.0])


def test_a_constant_that_changes_between_two_uses_is_two_constants():
    def f(x):
        a = np.arange(2000.0)
        first = np.sum(a * x)
        a[3] = 100.0
        return first, np.sum(a * x)

    x = np.ones(2000)
    total = 1999 * 2000 / 2
    for _ in range(3):
        assert tuple(ad.jit(f, tier="optimised")(x)) == (total, total - 3 + 100)


@pytest.mark.parametrize("at", [0, 1, 3, 1999, 4999])
@pytest.mark.parametrize("numbers", [(0.0, -0.0), (1.0, math.nan), (math.nan, PAYLOAD)])
def test_large_constants_share_memory_only_if_all_bits_agree(at, numbers):
    first, second, third = (np.arange(5000.0) for _ in range(3))
    first[at], second[at], third[at] = numbers[0], numbers[1], numbers[0]

    def f(x):
        return x * first, x * second, x * third

    level = SymbolLevel()
    with level:
        x = level.input(np.ones(5000))
        results = f(x)
    program = ArrayProgram(level.finish([*results], 1))
    assert len(program.plan.constants) == 2
    found = program.run([np.ones(5000)])[1]
    for own, other in zip(found, (first, second, third), strict=True):
        np.testing.assert_array_equal(own, other)
        np.testing.assert_array_equal(np.signbit(own), np.signbit(other))


def test_the_same_constant_is_copied_once():
    matrix = np.arange(3000.0).reshape(1000, 3)
    level = SymbolLevel()
    with level:
        x = level.input(np.ones(3))
        y = np.sum(matrix @ x) + np.sum((matrix * matrix) @ x)
    recorded = level.finish([y], 1)
    held = {id(arg) for line in recorded.lines for arg in line.args if isinstance(arg, np.ndarray)}
    assert len(held) == 2  # the matrix and its square
    assert not held & {id(matrix)}
