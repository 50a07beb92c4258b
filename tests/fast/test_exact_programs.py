"""Random programs whose numbers have no rounding: the same bits, however the work is done.

All numbers are small whole numbers, halves, and roots of 0, 1, 4 and 16, so that no sum and no
product is rounded, in whichever order it is computed. Values are those that NumPy gives for plain
arrays, derivatives those of the plain tape. Each program is run on both sides of every size at
which the fast engine changes its method. Nobody's array may be changed, locked or shared after it.
"""

import random
from unittest import mock

import numpy as np
import pytest

import simpleautodiff as ad
from simpleautodiff.core.engine import engine
from simpleautodiff.core.tape import Tape
from simpleautodiff.fast.array_locks import is_locked
from simpleautodiff.fast.fast_tape import FastTape
from simpleautodiff.fast.memory_pool import POOL
from simpleautodiff.fast.thresholds import THRESHOLDS

LARGE = {"small": 0, "repeated": 0, "medium": 0, "pooled": 1, "block": 2, "near": 0, "many": 1}
SIZES = {  # of arrays of 1 to 24 elements
    "small": {"small": 4096},
    "large": LARGE,
    "large, in one block": LARGE | {"block": 1000, "near": 1000},
    "large, in fresh memory": LARGE | {"block": 7, "near": 12, "pooled": 10**6},
    "of every size": LARGE | {"small": 5, "medium": 11, "block": 4, "near": 12},
    "locked, but not large": LARGE | {"small": 5, "medium": 1000, "pooled": 50},
}
SHAPES = [(1,), (3,), (5,), (6,), (7,), (12,), (24,), (2, 3), (3, 4), (4, 6), (3, 1)]
FACTORS = [1.0, -1.0, 2.0, 0.5, -0.25, 4.0, 1, -2]
MOST = 3  # factors of a product: more would need rounding


class Program:
    """A function of three arrays, made of random steps; the same for the same seed."""

    def __init__(self, seed):
        made = random.Random(seed)
        self.seed, self.length = seed, made.randint(2, 9)
        self.shape = made.choice(SHAPES)
        self.dtype = np.dtype(made.choice([np.float64] * 4 + [np.float32]))
        draw = np.random.default_rng(seed)
        whole = lambda: draw.integers(-3, 4, self.shape).astype(self.dtype)
        self.squares = draw.choice([0.0, 1.0, 4.0, 16.0], self.shape).astype(self.dtype)
        self.points = [whole(), whole(), self.squares.copy()]
        self.constants = [whole() for _ in range(4)]
        self.directions = [whole() for _ in range(3)]

    def results(self, x, y, squares):
        """Return what was computed last, and a few other arrays."""
        self.choose = random.Random(self.seed + 1)
        self.made = [(x, 1), (y, 1), (self.root(squares), 1)]
        for _ in range(self.length):
            a, degree = self.choose.choice(self.made)
            step = self.choose.choice(STEPS)
            made = step(self, a, degree)
            if made is not None:
                self.made.append(made)
        last = self.made[-1][0], *[a for a, _ in self.choose.sample(self.made, 2)]
        return tuple([part * self.number() for part in last])

    def total(self, *xs):
        """Return the sum of all elements of all results, with weights."""
        return sum([np.sum(part * self.like(part)) for part in self.results(*xs)])

    def root(self, squares):
        """Take roots, in one of the ways that leave those of 0 out."""
        positive = self.squares > 0
        match self.choose.randrange(5):
            case 0:
                return np.where(positive, np.sqrt(squares), 2.0)
            case 1:
                return np.sqrt(np.where(positive, squares, 1.0))
            case 2:
                some = np.sqrt(squares * 1.0)[positive]
                whole = np.zeros_like(squares) if isinstance(squares, np.ndarray) else squares * 0.0
                whole[positive] = some
                return whole
            case 3:
                y = np.sqrt(squares)
                y[~positive] = self.constants[0][~positive]
                return y
        return squares * 0.25

    def like(self, a):
        """Return a constant of the shape of an array."""
        shape = np.shape(a)
        given = self.choose.choice(self.constants)
        if given.shape == shape:
            return given  # which the tape may lock
        return np.resize(given, shape) if shape else given.flat[0]

    def number(self):
        return self.choose.choice(FACTORS)

    def other(self, a, degree=None):
        """Return an array that can be combined with this one, and how many factors it has."""
        fitting = [
            (b, of_b)
            for b, of_b in self.made
            if np.shape(b) in (np.shape(a), np.shape(a)[1:], (1,) * np.ndim(a), ())
            and (degree is None or degree + of_b <= MOST)
        ]
        return self.choose.choice(fitting) if fitting else (None, 0)

    def part(self, a):
        """Return an index into the first axis of an array."""
        n = len(a)
        k = self.choose.randrange(n)
        return self.choose.choice(
            [k, -1, slice(k, None), slice(None, None, -1), slice(None, None, 2), slice(0, k + 1),
             [k, 0, k], np.arange(n) % 2 == 0, np.array([0, n - 1]), (k, ...),
             (slice(k, k + 1), ...)]
        )  # fmt: skip


def add(p, a, degree):
    b, of_b = p.other(a)
    return p.choose.choice([lambda: a + b, lambda: b + a, lambda: a - b, lambda: b - a])(), max(
        degree, of_b
    )


def multiply(p, a, degree):
    b, of_b = p.other(a, degree)
    return None if b is None else (p.choose.choice([lambda: a * b, lambda: b * a])(), degree + of_b)


def square(p, a, degree):
    exponent = np.full(np.shape(a), 2.0, p.dtype)
    how = p.choose.choice(
        [lambda: a**2, lambda: a**2.0, lambda: np.square(a), lambda: a * a, lambda: np.abs(a) ** 2,
         lambda: np.abs(a) * np.abs(a), lambda: (y := np.abs(a)) * y, lambda: a**exponent]
    )  # fmt: skip
    return (how(), 2 * degree) if 2 * degree <= MOST else None


def scale(p, a, degree):
    number, array = p.number(), p.like(a)
    return p.choose.choice(
        [lambda: number * a, lambda: a * number, lambda: a / number, lambda: a + number,
         lambda: number - a, lambda: -a, lambda: a * array, lambda: array * a, lambda: a - array,
         lambda: a / np.where(array > 0, 2.0, -1.0).astype(p.dtype), lambda: array + a]
    )(), degree + 0.25  # fmt: skip


def choose(p, a, degree):
    b, of_b = p.other(a)
    if np.shape(b) != np.shape(a):
        b = p.like(a)
    mask = p.like(a) > 0
    return p.choose.choice(
        [lambda: np.where(mask, a, b), lambda: np.where(mask, b, a), lambda: np.where(mask, a, 0.5),
         lambda: np.maximum(a, b), lambda: np.minimum(b, a), lambda: np.maximum(a, 0.5),
         lambda: np.abs(a), lambda: np.clip(a, -1.5, 2.5)]
    )(), max(degree, of_b)  # fmt: skip


def move(p, a, degree):
    if not np.ndim(a):
        return None
    shift = p.choose.choice([1, -2])
    return p.choose.choice(
        [lambda: a[p.part(a)], lambda: np.reshape(a, -1), lambda: a.T, lambda: np.roll(a, shift),
         lambda: np.roll(a, shift, axis=0), lambda: np.concatenate([a, a[:1], p.like(a)]),
         lambda: np.stack([a, p.like(a), a]), lambda: a[None] * 1.0, lambda: a[::-1],
         lambda: np.broadcast_to(a, (2, *np.shape(a))), lambda: np.reshape(a, (-1, 1))]
    )(), degree  # fmt: skip


def fold(p, a, degree):
    axis = p.choose.choice([None, 0, -1, tuple(range(np.ndim(a)))]) if np.ndim(a) else None
    keep = p.choose.choice([False, True])
    return p.choose.choice(
        [lambda: np.sum(a, axis=axis, keepdims=keep), lambda: np.sum(a) * p.like(a),
         lambda: np.cumsum(a, axis=0 if np.ndim(a) else None)]
    )(), degree + 0.5  # fmt: skip


def product(p, a, degree):
    if not 1 <= np.ndim(a) <= 2 or 2 * degree > MOST:
        return None
    b = p.choose.choice([lambda: a, lambda: p.like(a)])()
    left, right = (a.T, b) if p.choose.random() < 0.5 else (b.T, a)
    return left @ right, 2 * degree + 0.5


def write(p, a, degree):
    if not np.ndim(a):
        return None
    y, part = a * 1.0, p.part(a)
    if isinstance(part, list) and len(set(part)) < len(part):
        part = part[:1]
    b, of_b = p.other(y[part])
    given = p.choose.choice([p.number(), p.like(y[part]), p.number() if b is None else b])
    match p.choose.randrange(3):
        case 0:
            y[part] = given
        case 1:
            y[part] += given
        case 2:
            z = y[:]
            z[part] = y[part] - given
    return y, max(degree, of_b) + 0.25


def go_round(p, a, degree):
    """Take a way on which the fast engine keeps less: complex numbers, batches, checkpoints."""
    number = p.number()
    return p.choose.choice(
        [lambda: np.real(a * (1 + 2j)), lambda: np.imag((2 - 1j) * a + 1j * p.like(a)),
         lambda: ad.checkpoint(lambda a: a * number + a)(a),
         lambda: ad.vmap(lambda row: row * number + row)(a) if np.ndim(a) else a,
         lambda: a.astype(np.float64), lambda: a * np.ones((), p.dtype),
         lambda: np.asarray([part * number for part in a]) if np.ndim(a) == 1 else a * 1.0]
    )(), degree  # fmt: skip


STEPS = [add, add, multiply, square, scale, scale, choose, move, move, fold, product, write, write,
         go_round]  # fmt: skip


def with_plain_tapes(function, *args):
    assert ad.sin  # with the first row the fast engine is installed
    assert engine.new_tape is FastTape
    with mock.patch.object(engine, "new_tape", Tape):
        return function(*args)


def same(found, expected):
    """Assert that arrays have the same bits, but for the sign of zero."""
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert np.shape(one) == np.shape(other)
        assert np.result_type(one) == np.result_type(other)
        np.testing.assert_array_equal(one, other)


def ask(program):
    """Return all derivatives of a program, after a look at what it leaves behind."""
    points = [x.copy() for x in program.points]
    value, gradient = ad.value_and_grad(program.total, (0, 1, 2))(*points)
    values, pullback = ad.vjp(program.results, *points)
    seeds = tuple([np.ones_like(part) * 2 for part in values])
    first = pullback(seeds)
    kept = [part.copy() for part in (*gradient, *first)]
    second = pullback(seeds)
    along = ad.hvp(program.total, tuple(points), tuple(program.directions))
    twice = ad.grad(
        lambda *xs: sum(
            [
                np.sum(part * direction)
                for part, direction in zip(
                    ad.grad(program.total, (0, 1, 2))(*xs), program.directions, strict=True
                )
            ]
        ),
        (0, 1, 2),
    )(*points)
    same((*gradient, *first), kept)
    same(second, first)
    for part in seeds:
        assert np.all(part == 2)
    same(points, program.points)
    for array in (*points, *program.constants):
        assert array.flags.writeable
    handed_out = [part for part in (*gradient, *first, *second) if type(part) is np.ndarray]
    for k, part in enumerate(handed_out):
        assert part.flags.writeable
        for other in (*handed_out[:k], *points, *program.constants, *seeds):
            assert not np.shares_memory(part, other)
    assert not is_locked()
    assert not POOL.open
    return [value, *values, *gradient, *first, *along, *twice]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("first", range(0, 200, 25))
def test_the_same_bits(first):
    for seed in range(first, first + 25):
        program = Program(seed)
        constants = [array.copy() for array in program.constants]
        expected = with_plain_tapes(ask, program)
        plain = program.results(*[x.copy() for x in program.points])
        for chosen in SIZES.values():
            with mock.patch.multiple(THRESHOLDS, **chosen):
                found = ask(program)
            same(found, expected)
            same(found[1 : 1 + len(plain)], plain)
            same(program.constants, constants)
