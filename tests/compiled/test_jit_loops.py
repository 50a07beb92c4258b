"""Loops recorded by one step: they give what the plain function gives, in every mode."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import simpleautodiff as ad
from simpleautodiff.compiled.array.run_numpy import Replay
from simpleautodiff.compiled.backends.llvm.rolled_module import rolled_module
from simpleautodiff.compiled.loops.expand import expand_loops, has_loops
from simpleautodiff.compiled.loops.loop_limits import LOOPS
from simpleautodiff.compiled.loops.loop_line import LoopFunction
from simpleautodiff.compiled.loops.share_steps import share_steps
from simpleautodiff.compiled.record_function import Options, record_program
from simpleautodiff.compiled.rolled.layout import RolledLayout
from simpleautodiff.compiled.rolled.limits import ROLLING
from simpleautodiff.compiled.rolled.roll_loops import roll_loops
from simpleautodiff.compiled.running.rolled_tiers import CALLS_TO_ENTER, TieredRolledProgram
from simpleautodiff.compiled.signature import signature
from simpleautodiff.errors import ArgumentError, NotCompiledWarning
from simpleautodiff.values.pytree import flatten

DRAW = np.random.default_rng(8)
X, U = 0.5, np.linspace(-0.3, 0.9, 11)
MATRIX = DRAW.normal(size=(3, 3)) / 3
LOOPING = {}


@pytest.fixture(autouse=True)
def every_loop_stays_one(monkeypatch):
    monkeypatch.setattr(LOOPS, "lines", 0)
    monkeypatch.setattr(LOOPS, "rows", 0)


def looping(f):
    """Enter a function of a number and an array whose loops are to be one step each."""
    LOOPING[f.__name__] = f
    return f


@looping
def scan_with_results(x, u):
    carry, ys = ad.scan(lambda c, t: (c + 0.1 * (np.sin(c) + t), c * t), x, u)
    return carry * carry + np.sum(ys * np.arange(len(u)))


@looping
def scan_of_structures_from_the_last(x, u):
    def step(carry, t):
        a, b = carry["a"], carry["b"]
        made = {"p": a * t, "q": (np.tanh(t), b)}
        return {"a": b * x, "b": a + 0.1 * (np.sin(a) + t[0])}, made

    rows = np.stack([u, 2 * u], 1)
    carry, ys = ad.scan(step, {"a": x, "b": 0}, rows, reverse=True)
    weights = np.linspace(0.0, 1.0, 2 * len(u)).reshape(-1, 2)
    return (
        carry["a"] * carry["b"]
        + np.sum(ys["p"])
        + np.sum(weights * ys["q"][0] + ys["q"][1][:, None])
    )


@looping
def counted_with_indices(x, u):
    def body(i, v):
        return v * x + u[i] * i + np.stack([u, u * u])[1, i]

    return np.sum(ad.fori_loop(0, len(u), body, u[:3] * x) ** 2)


@looping
def counted_without_first_steps(x, u):
    return ad.fori_loop(3, 9, lambda i, v: (v[1] * x + i, v[0]), (x, np.sum(u)))[0]


@looping
def chosen_by_cond(x, u):
    def step(v, t):
        return ad.cond(v > 0.5, lambda v: v * v, lambda v: v * x + np.sqrt(1.5 - v), v) + t, v

    v, ys = ad.scan(step, x, u)
    return v + np.sum(ys**2)


@looping
def until_it_converges(x, u):
    a = x + np.sum(u**2)
    root = ad.while_loop(lambda v: abs(v * v - a) > 1e-9, lambda v: (v + a / v) / 2, a)
    return root**3


@looping
def until_one_of_several_is_large(x, u):
    def goes_on(state):
        return (state["k"] < 30) & (np.sum(state["v"] ** 2) < 40)

    def body(state):
        return {"k": state["k"] + 1, "v": state["v"] * 1.3 + x}

    state = ad.while_loop(goes_on, body, {"k": 0, "v": u})
    return np.sum(np.sin(state["v"])) * state["k"]


@looping
def loops_in_loops(x, u):
    def inner(c, t):
        return c * 0.9 + np.sin(t) * x, c

    def outer(c, t):
        last, ys = ad.scan(inner, c + t, u * t)
        return last, np.sum(ys)

    c, ys = ad.scan(outer, x, u)
    return c + np.sum(ys**2)


@looping
def while_in_a_loop(x, u):
    def halved(v):
        return ad.while_loop(lambda v: v * v > 0.1, lambda v: v * 0.5 * x, v)

    return ad.scan(lambda c, t: (c + halved(t + 1.0), None), x, u)[0]


@looping
def products_with_matrices(x, u):
    def step(c, t):
        c = np.tanh(MATRIX @ c * x + t)
        return c, c[0] * np.sum(c)

    c, ys = ad.scan(step, u[:3], u)
    return np.sum(c**2) + np.sum(ys)


@looping
def a_decision_that_is_the_same_in_every_step(x, u):
    def step(c, t):
        return (c * t + x, c) if c > -5 else (c, c * c)

    c, ys = ad.scan(step, x, u)
    return c + np.sum(ys)


@looping
def with_few_states(x, u):
    def step(c, t):
        return c + 0.1 * (np.sin(c) + t), c * t

    c, ys = ad.scan(step, x, u, checkpoint=3)
    c, zs = ad.scan(step, c, u, reverse=True, checkpoint=4)
    return c * c + np.sum(ys * zs)


@looping
def one_after_the_other(x, u):
    c = ad.fori_loop(0, 6, lambda i, v: np.sin(v) + x, x)
    c, ys = ad.scan(lambda c, t: (c * 0.5 + t, np.exp(c)), c, u)
    return np.sum(ad.scan(lambda c, y: (c + y, c * y), c, ys)[1])


@looping
def written_in_place(x, u):
    def step(c, t):
        new = c.copy()
        new[0] = t * x
        new[1:] += 0.5 * c[:-1]
        return new, new[2]

    c, ys = ad.scan(step, u[:4] * x, u)
    return np.sum(c**2) + np.sum(ys)


MODES = {
    "value": lambda f: f,
    "grad": lambda f: ad.grad(f, (0, 1)),
    "jvp": lambda f: lambda x, u: ad.jvp(f, (x, u), (1.0, np.cos(u))),
    "reverse of reverse": lambda f: ad.grad(lambda x, u: np.sum(ad.grad(f, 1)(x, u) ** 2), (0, 1)),
    "forward of reverse": lambda f: ad.hessian(f, 1),
    "reverse of forward": lambda f: ad.grad(lambda x, u: ad.jvp(f, (x, u), (1.0, u))[1], (0, 1)),
    "third": lambda f: ad.derivative(f, n=3),
    "linearised": lambda f: lambda x, u: ad.linearize(f, x, u)[1](1.0, np.cos(u)),
}
BY_NUMBERS = {"until_it_converges", "until_one_of_several_is_large", "while_in_a_loop",
              "a_decision_that_is_the_same_in_every_step", "chosen_by_cond"}  # fmt: skip


def agree(made, expected, rtol=1e-9):
    for got, wanted in zip(flatten(made)[0], flatten(expected)[0], strict=True):
        scale = np.max(np.abs(wanted))
        np.testing.assert_allclose(got, wanted, rtol=rtol, atol=rtol * scale)


def is_looping(jitted):
    [found] = jitted.function.known.values()
    return found.root is not None and all(has_loops(path.recorded) for path in found.paths())


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", LOOPING)
def test_it_gives_what_the_function_gives(name, mode):
    g = MODES[mode](LOOPING[name])
    expected = [g(x, U * x) for x in (X, 0.7)]
    for tier in ("numpy", "optimised"):
        jitted = ad.jit(g, tier=tier)
        jitted(X, U * X)
        agree(jitted(X, U * X), expected[0])
        agree(jitted(0.7, U * 0.7), expected[1])
        assert is_looping(jitted), jitted.explain()


@pytest.mark.parametrize("name", LOOPING)
@pytest.mark.parametrize("mode", ["value", "grad"])
def test_loops_in_registers_give_what_their_words_give(name, mode, monkeypatch):
    g, found = MODES[mode](LOOPING[name]), []
    for most in (0, ROLLING.registers):
        monkeypatch.setattr(ROLLING, "registers", most)
        jitted = ad.jit(g, tier="optimised")
        jitted(X, U)
        found.append(jitted(X, U))
        [known] = jitted.function.known.values()
        program = known.root.program
        assert program.layout.words_change or most
        assert program.layout.words_change or program.entry is not None
    agree(found[1], found[0], rtol=1e-14)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", LOOPING)
def test_loops_that_share_steps_have_the_same_bits(name, mode, monkeypatch):
    recorded = record_program(MODES[mode](LOOPING[name]), signature(((X, U), {})), Options())
    _, expected = Replay(recorded.program).run([X, U])
    for most in (LOOPS.shared, 200, 0):  # all of it, rows of some numbers, nothing
        monkeypatch.setattr(LOOPS, "shared", most)
        _, found = Replay(share_steps(recorded.program)).run([X, U])
        assert [x.tobytes() for x in found] == [x.tobytes() for x in expected]


def test_a_step_back_reads_what_is_costly_and_computes_the_rest():
    f = lambda x, u: ad.scan(lambda c, t: (np.sin(c) * np.exp(t * c) + c * t, None), x, u)[0]

    def count(program):
        bodies = [line.what.body for line in program.lines if isinstance(line.what, LoopFunction)]
        names = [[line.name for line in body.lines] for body in bodies]
        return [tuple(map(each.count, ("sin", "cos", "exp", "mul"))) for each in names]

    recorded = record_program(ad.grad(f), signature(((X, U), {})), Options()).program
    (forward, back), (shared, reading) = count(recorded), count(share_steps(recorded))
    assert (forward[:3], back[:3]) == ((1, 0, 1), (1, 1, 1))
    assert (shared[:3], reading[:3]) == ((1, 0, 1), (0, 1, 0))
    assert reading[3] < back[3]  # c * t of the exponential alone is needed no more


@pytest.mark.parametrize(
    ("mode", "kept"),
    [(ad.value_and_grad, [1, 0]), (ad.grad, [0])],  # sin(t), and not c, is read by the second loop
)
def test_what_no_loop_reads_is_not_kept(mode, kept):
    f = lambda x, u: ad.scan(lambda c, t: (c + np.sin(t) * x, None), x, u)[0]
    recorded = record_program(mode(f), signature(((X, U), {})), Options()).program
    shared = share_steps(recorded)
    loops = [line.what for line in shared.lines if isinstance(line.what, LoopFunction)]
    assert [len(loop.results) for loop in loops] == kept
    *_, slope = Replay(shared).run([X, U])[1]
    assert slope == pytest.approx(1 + np.sum(np.sin(U)), rel=1e-14)


FORWARD = {
    "scan_with_results": 1,
    "until_it_converges": 1,
    "counted_with_indices": 1,
    "one_after_the_other": 3,
}


@pytest.mark.parametrize("name", FORWARD)
def test_forward_mode_runs_one_loop_for_values_and_tangents(name):
    g = lambda x, u: ad.jacfwd(LOOPING[name])(x, u)
    recorded = record_program(g, signature(((X, U), {})), Options()).program
    merged = share_steps(recorded)
    loops = [line for line in merged.lines if isinstance(line.what, LoopFunction)]
    assert len(loops) == FORWARD[name]
    assert len([x for x in recorded.lines if isinstance(x.what, LoopFunction)]) == 2 * len(loops)
    np.testing.assert_array_equal(Replay(merged).run([X, U])[1], Replay(recorded).run([X, U])[1])
    jitted = ad.jit(g, tier="optimised")
    for x in (X, 0.7, X):
        np.testing.assert_allclose(jitted(x, U), ad.jacrev(LOOPING[name])(x, U), rtol=1e-12)


def test_loops_that_differ_are_not_merged():
    def f(x, u):
        first = ad.fori_loop(0, 9, lambda i, v: v * 0.9 + x, x)
        other = ad.fori_loop(0, 9, lambda i, v: (v[0] * 0.9 + u[0], v[1] + v[0]), (x, x))
        longer = ad.fori_loop(0, 10, lambda i, v: (v[0] * 0.9 + x, v[1] + v[0]), (x, x))
        same = ad.fori_loop(0, 9, lambda i, v: (v[0] * 0.9 + x, v[1] + v[0]), (x, x))
        return first, other, longer, same

    recorded = record_program(f, signature(((X, U), {})), Options()).program
    merged = share_steps(recorded)
    assert sum(isinstance(line.what, LoopFunction) for line in merged.lines) == 3
    found = Replay(merged).run([X, U])[1]
    np.testing.assert_array_equal(found, Replay(recorded).run([X, U])[1])
    np.testing.assert_allclose(found, flatten(f(X, U))[0], rtol=1e-14)


def test_loops_of_numbers_are_entered_after_some_calls():
    scan = lambda x, u: ad.scan(lambda c, t: (c + 0.1 * (np.sin(c) + t), c), x, u)[0]
    jitted = ad.jit(ad.grad(scan, (0, 1)))
    expected = ad.grad(scan, (0, 1))(X, U)
    for _ in range(CALLS_TO_ENTER + 2):
        agree(jitted(X, U), expected)
    before = jitted.wait().function.known
    counted = [found.calls for found in before.values()]
    agree(jitted(X, U), expected)
    agree(jitted(0.7, U), ad.grad(scan, (0, 1))(0.7, U))
    assert [found.calls for found in before.values()] == counted


@pytest.mark.parametrize("name", [name for name in LOOPING if name not in BY_NUMBERS])
@pytest.mark.parametrize("mode", ["value", "grad", "jvp"])
def test_batches(name, mode):
    g = ad.vmap(MODES[mode](LOOPING[name]), in_axes=(0, None))
    xs = np.array([0.3, 0.5, 0.8])
    jitted = ad.jit(g, tier="optimised")
    jitted(xs, U)
    agree(jitted(xs, U), g(xs, U))
    assert is_looping(jitted), jitted.explain()


@pytest.mark.parametrize("name", ["scan_with_results", "until_it_converges", "loops_in_loops"])
def test_it_is_the_gradient_of_jax(name):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    lax, jnp = jax.lax, jax.numpy
    functions = {
        "scan_with_results": lambda x, u: (
            lambda made: made[0] ** 2 + jnp.sum(made[1] * jnp.arange(len(u)))
        )(lax.scan(lambda c, t: (c + 0.1 * (jnp.sin(c) + t), c * t), x, u)),
        "until_it_converges": lambda x, u: (x + jnp.sum(u**2)) ** 1.5,
        "loops_in_loops": lambda x, u: (lambda made: made[0] + jnp.sum(made[1] ** 2))(
            lax.scan(
                lambda c, t: (lambda made: (made[0], jnp.sum(made[1])))(
                    lax.scan(lambda c, s: (c * 0.9 + jnp.sin(s) * x, c), c + t, u * t)
                ),
                x,
                u,
            )
        ),
    }
    ours = ad.jit(ad.grad(LOOPING[name], (0, 1)), tier="optimised")
    ours(X, U)
    agree(ours(X, U), [np.asarray(x) for x in jax.grad(functions[name], (0, 1))(X, U)])


# What is recorded and compiled. -------------------------------------------------------------------


def record(g, *args):
    return record_program(g, signature((args, {})), Options())[0]


@pytest.mark.parametrize("order", [0, 1, 2])
def test_another_number_of_steps_is_as_many_lines_and_the_same_code(order):
    g = lambda x, u: ad.scan(lambda c, t: (c + 0.1 * (np.sin(c) + t), None), x, u)[0]
    for _ in range(order):
        g = ad.grad(g)
    programs = [record(g, X, np.linspace(0.0, 1.0, count)) for count in (100, 100_000)]
    assert len(programs[0].lines) == len(programs[1].lines) < 60
    layouts = [RolledLayout(roll_loops(program, False), False) for program in programs]
    assert len(layouts[0].words) == len(layouts[1].words)
    assert rolled_module(layouts[0], False, 8) == rolled_module(layouts[1], False, 8)


def test_one_path_serves_every_number_of_steps_of_a_while():
    def root(a):
        far = lambda v: abs(v * v - a) > 1e-12 * a
        return ad.while_loop(far, lambda v: (v + a / v) / 2, a)

    for g in (root, ad.grad(root), ad.grad(ad.grad(root))):
        jitted = ad.jit(g, tier="optimised")
        for a in (2.0, 2.0, 1.0001, 50.0, 3e3, 1e4):
            assert jitted(a) == pytest.approx(g(a), rel=1e-12)
        assert len(next(iter(jitted.function.known.values())).paths()) == 1


def test_what_a_step_says_of_the_next_one_is_not_overwritten():
    def f(x, u):  # the swapped values need memory of their own at the end of a step
        far = lambda s: abs(s[1] - s[0]) > 0.02 * x
        return ad.while_loop(far, lambda s: (s[1], np.cos(s[1] + x * u[0])), (0.0, x))[1]

    jitted = ad.jit(f, tier="optimised")
    for x in (0.9, 0.9, 0.3, 0.5, 0.7):
        assert jitted(x, U) == pytest.approx(f(x, U), rel=1e-14)


@pytest.mark.parametrize("mode", ["value", "grad", "reverse of reverse"])
def test_both_of_two_nested_loops_stay_loops(mode):
    jitted = ad.jit(MODES[mode](LOOPING["loops_in_loops"]), tier="optimised")
    jitted(X, U)
    [found] = jitted.function.known.values()
    loops = [line for line in found.root.recorded.lines if line.name == "loop"]
    assert 0 < len(loops) < 9  # however many steps the outer one has
    assert "step by step" not in jitted.explain()


def test_why_a_loop_is_recorded_step_by_step_is_told():
    table = [1.0, 2.0, 3.0]
    jitted = ad.jit(
        lambda x: ad.fori_loop(0, 3, lambda i, v: v * table[i] + x, x), tier="optimised"
    )
    assert jitted(2.0) == ((2 * 1 + 2) * 2 + 2) * 3 + 2
    assert "a loop is recorded step by step: an integer by which" in jitted.explain()


GROWING = {  # in each, integers leave those of a machine, whose products would wrap around
    "a power of the index": lambda x: ad.fori_loop(0, 600, lambda i, s: s / 2 + x * i**7, x),
    "a carried power": lambda x: ad.fori_loop(
        0, 99, lambda i, s: (s[0] * 3, s[1] / 2 + x * s[0]), (1, x)
    )[1],
    "a carried power in an inner loop": lambda x: ad.fori_loop(
        0,
        9,
        lambda i, s: ad.fori_loop(0, 9, lambda j, s: (s[0] * 3, s[1] / 2 + x * s[0]), s),
        (1, x),
    )[1],
    "until it is large": lambda x: ad.while_loop(
        lambda s: s[0] < 10**19, lambda s: (s[0] * 7, s[1] + x * s[0]), (1, x)
    )[1],
    "a result of each step": lambda x: np.sum(
        ad.scan(lambda c, _: (c * 3, c * x), 1, np.arange(99))[1]
    ),
}


@pytest.mark.parametrize("mode", [lambda f: f, ad.grad], ids=["value", "grad"])
@pytest.mark.parametrize("name", GROWING)
def test_integers_of_the_loops_of_the_package_are_pythons(name, mode):
    f = mode(GROWING[name])
    jitted = ad.jit(f, tier="optimised")
    for x in (1.3, 1.7):
        assert jitted(x) == pytest.approx(f(x), rel=1e-12)


def test_integers_that_stay_small_do_not_prevent_a_loop():
    draw = lambda i, s: ((s[0] * 1103 + 12345) % 65536, np.sin(s[1]) + x_of(s[0]))
    x_of = lambda k: X * k / 65536
    f = ad.jit(lambda x: ad.fori_loop(0, 50, draw, (7, x))[1], tier="optimised")
    number, expected = 7, X
    for _ in range(50):
        number, expected = (number * 1103 + 12345) % 65536, np.sin(expected) + x_of(number)
    assert f(X) == pytest.approx(expected, rel=1e-12)
    assert "step by step" not in f.explain()


@pytest.mark.parametrize("mode", ["value", "grad", "reverse of reverse"])
def test_python_calls_the_code_of_loops_directly(mode):
    g = MODES[mode](LOOPING["one_after_the_other"])
    jitted = ad.jit(g, tier="optimised")
    for _ in range(2):  # the second call compares the program with the function
        jitted(X, U)
    [found] = jitted.function.known.values()
    assert found.root.program.entry is not None
    before = found.calls
    expected = {x: g(x, U) for x in (0.4, 0.6, 0.7)}

    def call(x):  # the words of a loop change while it runs: every thread has its own
        for _ in range(50):
            agree(jitted(x, U), expected[x])

    with ThreadPoolExecutor(3) as threads:
        list(threads.map(call, expected))
    assert found.calls == before


def test_more_steps_than_there_is_room_for_are_another_path():
    def f(x, last):
        goes_on, step = lambda s: s[0] < last, lambda s: (s[0] + 1, s[1] * 1.01)
        return ad.while_loop(goes_on, step, (0, x))[1]

    jitted = ad.jit(ad.grad(f), tier="optimised")
    for last in (10.0, 10.0, 14.0, 100.0, 0.0, 90.0):
        assert jitted(1.0, last) == pytest.approx(1.01**last, rel=1e-13)
    assert len(next(iter(jitted.function.known.values())).paths()) == 2


@pytest.mark.parametrize("mode", ["value", "grad", "jvp", "reverse of reverse"])
def test_decisions_that_differ_from_step_to_step_are_one_path(mode):
    def f(x, u):
        def step(c, t):
            if t > 0.3:
                c = c * t
            elif c > 0.1 or t < -0.1:
                c = c + t * x
            return (c if c < 2 else c / 2), -c

        c, ys = ad.scan(step, x, u)
        return c * c + np.sum(ys)

    g = MODES[mode](f)
    jitted = ad.jit(g, tier="optimised")
    jitted(X, U)
    for u in (U, U[::-1], U + 0.2, U * 0.1, U - 0.1, U + 1.0):
        agree(jitted(X, u), g(X, u))
    assert is_looping(jitted)
    assert len(next(iter(jitted.function.known.values())).paths()) == 1


@pytest.mark.parametrize("mode", ["value", "grad", "jvp"])
def test_ends_that_are_asked_for_with_and(mode):
    def f(x, u):
        def goes_on(state):
            return state[0] < 20 and abs(state[1] - np.cos(state[1] * x)) > 1e-6

        return ad.while_loop(goes_on, lambda s: (s[0] + 1, np.cos(s[1] * x)), (0, np.sum(u)))[1]

    g = MODES[mode](f)
    jitted = ad.jit(g, tier="optimised")
    for x in (0.5, 0.5, 0.1, 0.9, 0.3):
        agree(jitted(x, U), g(x, U))
    assert is_looping(jitted)


def test_carried_arrays_that_a_step_writes_to_go_every_way():
    def f(x, u):
        def step(c, t):
            if t > 0.3:
                c[0] = t * x
            else:
                c[1:] *= x
            return c, c[0]

        c, ys = ad.scan(step, u[:4] * x, u)
        return np.sum(c**2) + np.sum(ys)

    g = ad.grad(f, (0, 1))
    jitted = ad.jit(g, tier="optimised")
    jitted(X, U)
    agree(jitted(X, U[::-1]), g(X, U[::-1]))


def test_a_step_that_raises_on_a_way_that_is_not_gone():
    def f(x, u):
        def step(c, t):
            if c > 1e6:
                raise OverflowError("too large")
            return (c * t if t > 0.3 else c + t), None

        return ad.scan(step, x, u)[0]

    jitted = ad.jit(f, tier="optimised")
    jitted(X, U)
    assert jitted(X, U * 2) == pytest.approx(f(X, U * 2))
    with pytest.raises(OverflowError):
        jitted(2e6, U)


def test_a_decision_that_turns_is_a_path_of_its_own():
    def f(x, u):
        return ad.scan(lambda c, t: (c * t, None) if t > 0 else (c + t, None), x, u)[0]

    jitted = ad.jit(ad.grad(f, (0, 1)), tier="optimised")
    for u in (np.abs(U) + 0.1, np.abs(U) + 0.2, -np.abs(U) - 0.1, U, np.abs(U) + 0.3):
        agree(jitted(X, u), ad.grad(f, (0, 1))(X, u))
    [found] = jitted.function.known.values()
    assert [has_loops(path.recorded) for path in found.paths()] == [True, True, True]


def test_what_is_decided_by_a_loop_is_decided_by_its_numbers():
    def f(x, u):
        c, ys = ad.scan(lambda c, t: (c + t, c), x, u)
        return np.sum(ys) if c > 3.0 else -c * c

    jitted = ad.jit(ad.grad(f), tier="optimised")
    for x in (0.0, 0.0, 1.0, -2.0, 2.9, 4.0):
        assert jitted(x, U) == pytest.approx(ad.grad(f)(x, U))


def test_steps_that_are_not_the_same_function_are_not_compiled():
    draw = np.random.default_rng(1)
    noisy = ad.jit(lambda x: ad.scan(lambda c, _: (c + draw.normal(), None), x, length=50)[0])
    with pytest.warns(NotCompiledWarning, match="where it had given"):
        made = [noisy(1.0) for _ in range(4)]
    assert len(set(made)) == 4
    counted = []

    def f(x):
        def step(c, _):
            counted.append(0)
            return c * (1 + len(counted) % 50), None

        return ad.scan(step, x, length=50)[0]

    jitted = ad.jit(f)
    with pytest.warns(NotCompiledWarning, match="where it had given"):
        assert len({jitted(1e-60) for _ in range(4)}) == 1


def test_short_loops_are_recorded_step_by_step(monkeypatch):
    monkeypatch.setattr(LOOPS, "lines", 400)
    assert not has_loops(record(LOOPING["scan_with_results"], X, U))
    assert has_loops(record(LOOPING["scan_with_results"], X, np.linspace(0.0, 1.0, 200)))


def test_steps_that_numpy_computes():
    def f(x, u):
        return np.sum(ad.scan(lambda c, t: (np.sort(c * x + t)[::-1], None), u[:3], u)[0] * U[:3])

    def g(x, u):
        goes_on = lambda v: np.sum(v**2) > 1e-3
        return np.sum(ad.while_loop(goes_on, lambda v: np.sort(v * x)[::-1], u) * U)

    for function, says in ((f, "argsort"), (g, "NumPy runs its loops")):
        jitted = ad.jit(ad.grad(function), tier="optimised")
        jitted(X, U)
        assert jitted(X, U) == pytest.approx(ad.grad(function)(X, U), rel=1e-12)
        assert says in jitted.explain()


def test_other_kinds_of_numbers():
    def f(x, n):
        def step(c, t):
            return (c[0] * x, c[1] + n, np.logical_not(c[2]), c[3] * np.float32(0.5)), c[1] * t

        init = (1 + 2j, np.arange(3), True, np.float32(1.5))
        return ad.scan(step, init, np.arange(7))

    jitted = ad.jit(f, tier="optimised")
    jitted(X, 2)
    for got, wanted in zip(flatten(jitted(0.3, 2))[0], flatten(f(0.3, 2))[0], strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-6)
        assert np.asarray(got).dtype == np.asarray(wanted).dtype


def test_threads_do_not_share_the_words_of_a_loop():
    from concurrent.futures import ThreadPoolExecutor

    u = np.linspace(0.0, 1.0, 2000)
    g = ad.grad(LOOPING["scan_with_results"], (0, 1))
    jitted = ad.jit(g, tier="optimised")
    jitted(X, u)
    xs = np.linspace(0.1, 0.9, 40)
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda x: jitted(float(x), u), xs))
    for x, one in zip(xs, made, strict=True):
        agree(one, jitted(float(x), u), rtol=1e-15)


def test_it_says_what_it_is():
    jitted = ad.jit(ad.grad(LOOPING["scan_with_results"]), tier="optimised")
    jitted(X, U)
    jitted(X, U)
    [found] = jitted.function.known.values()
    assert isinstance(found.root.program, TieredRolledProgram)
    assert "2 loops, recorded by one step each" in jitted.explain()


# Exports. -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in LOOPING if name not in BY_NUMBERS])
def test_exports_have_every_step(name):
    g = ad.grad(LOOPING[name], (0, 1))
    jitted = ad.jit(g, tier="optimised")
    jitted(X, U)
    space = {}
    exec(jitted.to_python("exported"), space)
    agree(space["exported"](0.7, U), g(0.7, U))


def test_loops_that_end_by_numbers_are_not_exported():
    jitted = ad.jit(LOOPING["until_it_converges"], tier="numpy")
    jitted(X, U)
    with pytest.raises(ArgumentError, match="Python's while"):
        jitted.to_c()


def test_programs_without_loops_stay_as_they_are():
    program = record(lambda x: np.sin(x) * x, X)
    assert expand_loops(program) is program


@pytest.mark.parametrize("first", [-1.0, 2.0])
def test_examples_of_a_while_loop_take_other_numbers_of_steps_at_other_calls(first):
    def halve(x, end):
        return ad.while_loop(lambda s: s[0] < end, lambda s: (s[0] + 1, s[1] / 2), (0, x))[1]

    jitted = ad.jit(ad.vmap(ad.value_and_grad(halve), (None, 0)))
    for end in (first, first, 3.0, 1.0, 0.5, -1.0, 4.0):
        ends = np.array([end, end - 1.0])
        factors = 0.5 ** np.maximum(np.ceil(ends), 0.0)
        found = jitted(3.0, ends)
        np.testing.assert_array_equal(found, [3.0 * factors, factors])
