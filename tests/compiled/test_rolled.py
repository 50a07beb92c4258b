"""Long programs that repeat: rolled up they give what the function itself gives, and unrolled."""

import re

import numpy as np
import pytest

import simpleautodiff as ad
from simpleautodiff.compiled.backends.llvm.rolled_module import rolled_module
from simpleautodiff.compiled.loops.loop_limits import LOOPS
from simpleautodiff.compiled.rolled.bodies import make_move_body
from simpleautodiff.compiled.rolled.layout import RolledLayout
from simpleautodiff.compiled.rolled.limits import ROLLING
from simpleautodiff.compiled.rolled.repeats import cut_at_repeats
from simpleautodiff.compiled.rolled.roll import roll
from simpleautodiff.compiled.rolled.roll_loops import roll_loops
from simpleautodiff.compiled.rolled.rolled_program import LineCall, Move
from simpleautodiff.compiled.running import rolled_tiers
from simpleautodiff.compiled.running.rolled_tiers import TieredRolledProgram
from simpleautodiff.transforms.control_flow import fori_loop, scan

DRAW = np.random.default_rng(5)
PROGRAMS = {}


def program(*args):
    """Enter a function to be differentiated, with its arguments."""

    def enter(f):
        PROGRAMS[f.__name__] = f, args
        return f

    return enter


# Loops as people write them. ----------------------------------------------------------------------

SYMBOLS = DRAW.integers(0, 3, 80)
TRANSITIONS, EMISSIONS = (x / x.sum(1, keepdims=True) for x in (DRAW.random((4, 4)),
                                                                DRAW.random((4, 3))))  # fmt: skip


@program(np.full(4, 0.25), TRANSITIONS, EMISSIONS)
def hidden_markov_model(first, A, B):
    alpha = np.zeros((80, 4)) * first[0]
    alpha[0] = first * B[:, SYMBOLS[0]]
    total = 0.0
    for t in range(1, 80):
        alpha[t] = alpha[t - 1] @ A * B[:, SYMBOLS[t]]
        size = alpha[t].sum()
        alpha[t] = alpha[t] / size
        total = total + np.log(size)
    return total


@program(0.7, DRAW.random(40) + 0.5, DRAW.random(40) + 0.5)
def one_loop_after_another(x, a, b):
    for k in range(40):
        scaled = x * 1.01
        part = a[k]
        x = scaled * part
    for k in range(40):
        angle = np.sin(x)
        size = np.exp(angle)
        part = b[k]
        x = size * part
    for k in range(40):
        x = np.tanh(x) + 0.5
        part = a[39 - k]
        x = x * part
    return x


CHARACTERS = DRAW.random((40, 14))


@program(DRAW.random((8, 14)))
def gated_recurrence(w):
    h = c = np.zeros(14)
    loss = 0.0
    for x in CHARACTERS:
        gates = [1 / (1 + np.exp(-(w[k] * x + w[k + 4] * h))) for k in range(3)]
        c = c * gates[0] + gates[1] * np.tanh(w[3] * x + w[7] * h)
        h = gates[2] * np.tanh(c)
        loss = loss + np.sum((h - x) ** 2)
    return loss


@program(DRAW.random((4, 3)), DRAW.random((4, 3)))
def leapfrog(x, v):
    def pull(x):
        d = x[None] - x[:, None]
        return np.sum(d / (np.sum(d**2, -1) + 0.1)[..., None] ** 1.5, 1)

    a = pull(x)
    for _ in range(30):
        v = v + 0.01 * a
        x = x + 0.02 * v
        a = pull(x)
        v = v + 0.01 * a
    return np.sum(x**2)


@program(np.full(300, 0.8))
def waves(eps):
    e, h = np.zeros(300) * eps[0], np.zeros(299)
    seen = 0.0
    for t in range(40):
        h = h + 0.5 * (e[1:] - e[:-1])
        e[1:-1] = e[1:-1] + 0.5 * (h[1:] - h[:-1]) * eps[1:-1]
        e[40] = e[40] + np.exp(-(((t - 10) / 4) ** 2))
        seen = seen + e[60] ** 2
    return seen


@program(0.3, 1.2)
def ordinary_differential_equation(x, k):
    total = 0.0
    for step in range(150):
        x = x + 0.01 * (k * np.sin(x) - x * step)
        total = total + x * x
    return total


@program(DRAW.random(120), 0.4)
def controls(u, x):
    for t in range(120):
        x = x + 0.05 * (np.sin(x) + u[t])
    return x * x


@program(DRAW.random((20, 8)))
def table_by_elements(c):
    t = np.zeros((20, 8)) * c[0, 0]
    t[0] = c[0]
    for i in range(1, 20):
        t[i, 0] = t[i - 1, 0] + c[i, 0]
        for j in range(1, 8):
            t[i, j] = c[i, j] * np.exp(-t[i - 1, j]) + np.tanh(t[i, j - 1]) + t[i - 1, j - 1]
    return np.sum(t**2)


@program(0.3, 1.2)
def loops_in_loops(x, w):
    for _ in range(12):
        y = x
        for _ in range(20):
            y = 0.5 * (y + (x + 2.0) / (y + 1.0))
        x = x + 0.1 * np.sin(w * y)
    return x


@program(DRAW.random((5, 7)), DRAW.random(5))
def columns_and_slices_back_to_front(b, a):
    for t in range(90):
        a = np.tanh(a * b[:, SYMBOLS[t % 80]] + 0.1 * b[:, t % 7][::-1])
    return np.sum(a)


@program({"a": 0.4, "b": 0.3, "c": 1.2})
def a_structure_that_is_carried(s):
    for _ in range(90):
        s = {
            "a": s["a"] + 0.1 * s["b"],
            "b": s["b"] - 0.1 * np.sin(s["a"]) * s["c"],
            "c": s["c"] * 0.999,
        }
    return s["a"] * s["b"] + s["c"]


@program(DRAW.random(200))
def writes_that_go_on(x):
    u = x.copy()
    for t in range(60):
        u[1:-1] = u[1:-1] + 0.2 * (u[2:] - 2 * u[1:-1] + u[:-2])
        u[t] = u[t] * 0.5
    return np.sum(u**2)


@program(0.3, DRAW.random(5))
def complex_numbers(angle, x):
    z = np.exp(1j * x)
    for _ in range(60):
        z = z * np.exp(1j * angle) + 0.01 * np.conj(z)
    return np.sum(np.abs(z) ** 2) + np.sum(np.real(z))


@program(DRAW.random((3, 3)) + 3 * np.eye(3))
def systems_and_sorting(a):
    x = np.ones(3)
    for t in range(60):
        x = np.sort(np.linalg.solve(a, x) + 0.1 * t)
    return np.sum(x)


def gradient(f, args):
    return ad.grad(f, tuple(range(len(args))))


def sum_of_sines(f, args):
    slope = gradient(f, args)
    return lambda *xs: sum([np.sum(np.sin(leaf)) for leaf in leaves(slope(*xs))])


def leaves(tree):
    if isinstance(tree, dict):
        return [leaf for part in tree.values() for leaf in leaves(part)]
    return [leaf for part in tree for leaf in leaves(part)] if isinstance(tree, tuple) else [tree]


def vector(tree):
    return np.concatenate([np.ravel(leaf) for leaf in leaves(tree)])


def program_of(made):
    [known] = made.function.known.values()
    return known.root.program


@pytest.fixture(autouse=True)
def all_steps_are_recorded(monkeypatch):
    monkeypatch.setattr(LOOPS, "long", 10**9)


@pytest.fixture
def anything_is_rolled(monkeypatch):
    monkeypatch.setattr(ROLLING, "lines", 1)
    monkeypatch.setattr(ROLLING, "flat", 0)
    monkeypatch.setattr(ROLLING, "gain", 1.5)


def rolled_and_unrolled(f, args, monkeypatch, tier, **options):
    """Return what both kinds of programs give, each run twice; the unrolled one by some tier."""
    found = []
    for is_rolled in (True, False):
        monkeypatch.setattr(ROLLING, "lines", 1 if is_rolled else 10**9)
        made = ad.jit(f, tier="optimised" if is_rolled else tier, **options)
        made(*args)
        found.append(vector(made(*args)))
        assert isinstance(program_of(made), TieredRolledProgram) == is_rolled
        assert not is_rolled or program_of(made).tier == "optimised"
    return found


@pytest.mark.usefixtures("anything_is_rolled")
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_gradient_is_that_of_the_function_and_of_the_unrolled_program(name, monkeypatch):
    f, args = PROGRAMS[name]
    expected = vector(gradient(f, args)(*args))
    tier = "optimised" if name in ("controls", "hidden_markov_model") else "tape"
    rolled, unrolled = rolled_and_unrolled(gradient(f, args), args, monkeypatch, tier)
    size = np.max(np.abs(expected))
    np.testing.assert_allclose(rolled, expected, rtol=1e-11, atol=1e-13 * size)
    np.testing.assert_allclose(rolled, unrolled, rtol=1e-11, atol=1e-13 * size)


@pytest.mark.usefixtures("anything_is_rolled")
@pytest.mark.parametrize("name", ["ordinary_differential_equation", "loops_in_loops"])
def test_where_every_bit_counts_it_is_the_same(name, monkeypatch):
    f, args = PROGRAMS[name]
    expected = vector(gradient(f, args)(*args))
    found = rolled_and_unrolled(gradient(f, args), args, monkeypatch, "tape", precise=True)
    assert all(np.array_equal(one, expected) for one in found)


@pytest.mark.usefixtures("anything_is_rolled")
@pytest.mark.parametrize(
    "name",
    ["controls", "leapfrog", "a_structure_that_is_carried", "columns_and_slices_back_to_front"],
)
def test_the_sweep_of_a_sweep(name):
    f, args = PROGRAMS[name]
    twice = gradient(sum_of_sines(f, args), args)
    made = ad.jit(twice, tier="optimised")
    made(*args)
    assert isinstance(program_of(made), TieredRolledProgram)
    np.testing.assert_allclose(vector(made(*args)), vector(twice(*args)), rtol=1e-9, atol=1e-12)


@pytest.mark.usefixtures("anything_is_rolled")
@pytest.mark.parametrize("name", ["hidden_markov_model", "controls"])
def test_jax_agrees(name):
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True):
        jnp = jax.numpy
        f = {"hidden_markov_model": _jax_forward, "controls": _jax_controls}[name](jax, jnp)
        args = PROGRAMS[name][1]
        expected = jax.grad(f, tuple(range(len(args))))(*map(jnp.asarray, args))
        expected = [np.asarray(part) for part in expected]
    made = ad.jit(gradient(PROGRAMS[name][0], args), tier="optimised")
    made(*args)
    np.testing.assert_allclose(vector(made(*args)), vector(tuple(expected)), rtol=1e-10, atol=1e-14)


def _jax_forward(jax, jnp):
    def f(first, A, B):
        def step(carry, symbol):
            alpha = carry[0] @ A * B[:, symbol]
            return (alpha / alpha.sum(), carry[1] + jnp.log(alpha.sum())), None

        begin = first * B[:, SYMBOLS[0]], 0.0
        return jax.lax.scan(step, begin, jnp.asarray(SYMBOLS[1:]))[0][1]

    return f


def _jax_controls(jax, jnp):
    def f(u, x):
        return jax.lax.scan(lambda x, u: (x + 0.05 * (jnp.sin(x) + u), None), x, u)[0] ** 2

    return f


def test_a_program_of_few_steps_is_compiled_as_it_is():
    def repeated(x):
        for _ in range(2000):  # one step after the first is left of each, as 0 adds nothing
            x = x + 0.0 * 1.0
        for _ in range(200):
            x = np.sin(x)
        return x

    made = ad.jit(repeated, tier="optimised")
    assert made(0.5) == made(0.5) == pytest.approx(repeated(0.5), rel=1e-13)
    assert not isinstance(program_of(made), TieredRolledProgram)


# Guards. ------------------------------------------------------------------------------------------


def bouncing(x, k):
    for _ in range(200):
        if x > 1.0:
            x = x - 0.3 * k
        x = x + 0.11 * np.cos(x)
    return x * x


@pytest.mark.usefixtures("anything_is_rolled")
def test_a_guard_that_fails_leaves_at_its_step():
    slope = ad.jit(ad.grad(bouncing, (0, 1)), tier="optimised")
    points = [(0.3, 1.2), (0.3, 1.2), (0.31, 1.2), (0.9, 0.7), (0.3, 1.2), (5.0, 1.0)]
    for point in points:
        assert slope(*point) == pytest.approx(ad.grad(bouncing, (0, 1))(*point), rel=1e-11)
    [known] = slope.function.known.values()
    assert isinstance(known.root.program, TieredRolledProgram)
    assert len(known.paths()) > 1
    guards = known.root.recorded.guards
    assert len(guards) == 200
    assert known.root.program.run([0.3, 1.2])[0] == 0
    status = known.root.program.run([1.5, 1.2])[0]
    assert guards[status - 1].expected is False  # the first one: 1.5 > 1
    assert status == 1


def test_guards_after_what_numpy_computes():
    def f(x):
        for _ in range(100):
            if np.sort(x)[0] > 0.5 and np.median(x) < 9.0:
                x = x * 0.9
            x = np.sort(np.sin(x) + 0.3)
        return np.sum(x)

    slope = ad.jit(ad.grad(f), tier="optimised")
    for x in (
        [0.1, 0.7, 0.3],
        [0.1, 0.7, 0.3],
        [0.9, 0.8, 2.0],
        [0.2, 0.7, 0.3],
        [-5.0, 40.0, 30.0],
    ):
        np.testing.assert_allclose(slope(np.array(x)), ad.grad(f)(np.array(x)), rtol=1e-11)
    [known] = slope.function.known.values()
    assert all(isinstance(path.program, TieredRolledProgram) for path in known.paths())
    assert any(isinstance(call, LineCall) for call in known.root.program.rolled.calls)


@pytest.mark.usefixtures("anything_is_rolled")
def test_guards_that_half_precision_decides():
    def f(x, y):
        for _ in range(60):
            y = np.sin(y) + 0.25
            x = x * np.float16(0.5) if x[0] > 1 else x + np.float16(0.75)
        return np.sum(x * x), y

    made = ad.jit(f, tier="optimised")
    for x in ([0.1, 0.7], [0.1, 0.7], [9.0, 8.0], [0.2, 0.7]):
        found, expected = made(np.array(x, np.float16), 0.3), f(np.array(x, np.float16), 0.3)
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    [known] = made.function.known.values()
    assert [path.program.tier for path in known.paths()] == ["optimised"] * len(known.paths())
    assert any(isinstance(call, LineCall) for call in known.root.program.rolled.calls)


def test_results_may_be_arguments_and_constants_and_the_same_twice():
    def f(x):
        y = x
        for _ in range(300):
            y = np.sin(y) + x[::-1]
        return y, x, y, 7.0, y[1:]

    x = np.array([0.1, 0.2, 0.3])
    made = ad.jit(f, tier="optimised")
    made(x)
    found, expected = made(x), f(x)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    found[0][...] = 0  # no result shares memory with another, or with what comes next
    np.testing.assert_allclose(found[2], expected[0], rtol=1e-12)
    np.testing.assert_allclose(made(x)[0], expected[0], rtol=1e-12)


# What is compiled. --------------------------------------------------------------------------------


def recorded(f, *args):
    made = ad.jit(f, tier="numpy")
    made(*args)
    [known] = made.function.known.values()
    return known.root.recorded


def steps_of(count):
    def f(x, k):
        total = 0.0
        for _ in range(count):
            x = x + 0.01 * (k * np.sin(x) - x)
            total = total + x * x
        return total

    return recorded(ad.grad(f, (0, 1)), 0.3, 1.2)


def test_more_steps_are_more_words_for_the_same_code():
    """Some steps make a body together, so that both counts leave the same remainder."""
    layouts = [RolledLayout(roll(steps_of(count)), False) for count in (404, 404 + 840)]
    texts = [rolled_module(layout, False, 8) for layout in layouts]
    assert texts[0] == texts[1]
    assert 2.5 < len(layouts[1].words) / len(layouts[0].words) < 3.5


def test_memory_of_values_that_nothing_needs_is_used_again():
    def f(x):
        for _ in range(500):
            x = np.cos(x) * 0.9 + 0.1 * x[::-1]
        return x

    forth = RolledLayout(roll(recorded(f, np.ones(50))), False)
    back = RolledLayout(roll(recorded(ad.grad(lambda x: np.sum(f(x))), np.ones(50))), False)
    assert forth.size < 20 * 50 * 8
    assert 500 * 50 * 8 < back.size < 5 * 500 * 50 * 8


def test_checkpoints_save_memory():
    def step(k, x):
        return 0.3 * (np.cos(x) * np.exp(-x * x) + np.sin(3 * x))

    def f(**options):
        def of(x):
            return np.sum(fori_loop(0, 1600, step, x, **options))

        rolled = roll_loops(recorded(ad.grad(of), np.full(20, 0.4)), False)
        return RolledLayout(rolled, False).size

    assert f(checkpoint=40) < 0.1 * f()


def test_scans_are_rolled_up():
    def f(w, xs):
        total, ys = scan(lambda c, x: (np.tanh(w * c + x), c * c), 0.1, xs)
        return total + np.sum(ys)

    args = 0.7, DRAW.random(200)
    made = ad.jit(ad.grad(f, (0, 1)), tier="optimised")
    made(*args)
    assert isinstance(program_of(made), TieredRolledProgram)
    np.testing.assert_allclose(vector(made(*args)), vector(ad.grad(f, (0, 1))(*args)), rtol=1e-11)


def test_elements_are_written_and_added_to_in_place():
    rolled = roll(recorded(gradient(*PROGRAMS["controls"]), *PROGRAMS["controls"][1]))
    moves = [call for call in rolled.calls if isinstance(call, Move)]
    assert sum(move.adds for move in moves) == 119  # all but the first
    assert len({move.to.root for move in moves if move.adds}) == 1
    assert all(np.prod(move.to.shape) == 1 for move in moves if move.adds)


@pytest.mark.usefixtures("anything_is_rolled")
def test_what_numpy_computes_is_named():
    f, args = PROGRAMS["systems_and_sorting"]
    made = ad.jit(f, tier="optimised")
    made(*args)
    rolled = next(iter(made.function.known.values())).root.program.rolled
    lines = [rolled.recorded.lines[call.number].name for call in rolled.calls
             if isinstance(call, LineCall)]  # fmt: skip
    assert "argsort" in lines
    assert "NumPy: argsort, 60 times" in made.explain()


@pytest.mark.usefixtures("anything_is_rolled")
def test_it_says_what_was_rolled_up_and_shows_the_bodies():
    f, args = PROGRAMS["ordinary_differential_equation"]
    made = ad.jit(gradient(f, args), tier="optimised")
    made(*args)
    assert "rows rolled up" in made.explain()
    assert re.search(r"bodies of [1-9]\d*(, [1-9]\d*)* rows", made.explain())
    assert made.source().startswith("body 0:\ngiven v0, v1")
    assert "define i32 @run(" in made.llvm()


@pytest.mark.usefixtures("anything_is_rolled")
def test_very_long_programs_are_compiled_at_once(monkeypatch):
    f, args = PROGRAMS["ordinary_differential_equation"]
    monkeypatch.setattr(rolled_tiers, "AT_ONCE", 1000)
    made = ad.jit(gradient(f, args))
    for _ in range(3):
        made(*args)
    assert program_of(made).tier == "optimised"


def irregular(count, size):
    """Return a function that does not repeat."""
    draw = np.random.default_rng(0)
    functions = [np.sin, np.cos, np.tanh, np.exp, np.arctan, lambda x: x * x]
    order = draw.integers(0, len(functions), count)

    def f(x):
        for k in order:
            x = 0.5 * functions[k](x)
        return x

    return f, np.linspace(0.1, 0.9, size)


def test_single_numbers_that_do_not_repeat_are_one_program():
    f, x = irregular(600, 1)
    made = ad.jit(f, tier="optimised")
    made(float(x[0]))
    assert not isinstance(program_of(made), TieredRolledProgram)


def test_arrays_that_do_not_repeat_are_compiled_in_pieces(monkeypatch):
    f, x = irregular(600, 300)
    monkeypatch.setattr(ROLLING, "whole", 1000)
    made = ad.jit(f, tier="optimised")
    made(x)
    np.testing.assert_allclose(made(x), f(x), rtol=1e-12)
    assert isinstance(program_of(made), TieredRolledProgram)
    assert max(len(body.lines) for body in program_of(made).rolled.bodies) <= ROLLING.most + 1


def test_what_is_too_long_says_so(monkeypatch):
    f, x = irregular(600, 300)
    monkeypatch.setattr(ROLLING, "whole", 1000)
    monkeypatch.setattr(ROLLING, "compiled", 1000)
    made = ad.jit(f)
    for _ in range(4):
        np.testing.assert_allclose(made(x), f(x), rtol=1e-12)
    made.wait()
    assert "its 1201 rows do not repeat, and are too many: NumPy runs them" in made.explain()
    assert program_of(made).tier == "numpy"


# Where a sequence is cut. -------------------------------------------------------------------------


def test_every_line_is_in_one_stretch():
    draw = np.random.default_rng(2)
    for _ in range(60):
        body = [draw.integers(0, 9, draw.integers(1, 60)) for _ in range(3)]
        parts = [body[draw.integers(0, 3)] for _ in range(draw.integers(1, 60))]
        symbols = np.concatenate(parts)
        cuts = cut_at_repeats(symbols)
        assert [start for start, _ in cuts] == [0, *[stop for _, stop in cuts[:-1]]]
        assert cuts[-1][1] == len(symbols)


def test_loops_in_loops_are_few_bodies():
    outer = [*range(100, 130), *([*range(40)] * 25), *range(200, 230)]
    symbols = np.array(outer * 12)
    texts = {symbols[start:stop].tobytes() for start, stop in cut_at_repeats(symbols)}
    assert sum(len(text) // 8 for text in texts) < 300


WAYS = [  # a shape, and the strides of two places for it, in elements
    ((), (), ()),
    ((3,), (1,), (1,)),
    ((3,), (1,), (2,)),
    ((4,), (-1,), (1,)),
    ((2, 3), (3, 1), (3, 1)),
    ((2, 3), (1, 2), (3, 1)),
    ((2, 3), (5, 1), (0, 1)),
    ((1, 3), (7, 1), (3, 1)),
]


@pytest.mark.parametrize(("shape", "to", "by"), WAYS)
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_a_move_knows_how_far_it_reaches(shape, to, by, kind):
    dtype, packed = np.dtype(kind), np.empty(shape, kind)
    for adds in (False, True):
        body = make_move_body(adds, shape, to, by, dtype)
        for operand, way, is_written in zip(body.operands, (to, by), (True, False), strict=True):
            strides = [abs(step) * dtype.itemsize for step in way]
            seen = np.lib.stride_tricks.as_strided(packed, shape, strides)
            low, high = np.lib.array_utils.byte_bounds(seen)
            assert operand == (high - low, is_written)
        apart = [n > 1 for n in shape]
        is_packed = all(
            step * dtype.itemsize == stride
            for way in (to, by)
            for step, stride, far in zip(way, packed.strides, apart, strict=True)
            if far
        )
        assert body.is_copy == (is_packed and not adds)
