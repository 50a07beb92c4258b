"""Loops of many steps: a first call is recorded, and its program takes the steps."""

import numpy as np
import pytest

import simpleautodiff as ad
from simpleautodiff.compiled.loops.loop_limits import LOOPS
from simpleautodiff.errors import NotCompiledWarning
from simpleautodiff.transforms.snapshots import RECORDER

pytest.importorskip("llvmlite")
STEPS = 3000  # more than LOOPS.steps


def scanned(x, steps=STEPS):
    carry, ys = ad.scan(lambda c, t: (0.9 * c + x * t, c * x), 1.0, np.linspace(0, 1, steps))
    return carry + np.sum(ys) / steps


def counted(x, steps=STEPS):
    return ad.fori_loop(0, steps, lambda i, v: 0.99 * v + np.sin(x * i / steps), x)


def ended(x, steps=STEPS):
    return ad.while_loop(lambda s: s[0] < steps, lambda s: (s[0] + 1, np.cos(s[1] * x)), (0, x))[1]


def nested(x, steps=STEPS):
    """Take a loop that ends by numbers in each step of another."""

    def step(s):
        inner = ad.while_loop(
            lambda u: u[0] < 40, lambda u: (u[0] + 1, np.cos(u[1] * x)), (0, s[1])
        )
        return s[0] + 1, 0.5 * s[1] + inner[1]

    return ad.while_loop(lambda s: s[0] < steps // 40, step, (0, x))[1]


MODES = {
    "value": lambda f: f,
    "grad": ad.grad,
    "jvp": lambda f: lambda x: ad.jvp(f, (x,), (1.0,)),
    "second": lambda f: ad.grad(ad.grad(f)),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("f", [scanned, counted, ended, nested])
def test_every_call_gives_what_the_function_gives(f, mode):
    transformed = MODES[mode](f)
    compiled, expected = ad.jit(transformed), [transformed(x) for x in (0.7, 0.4)]
    for x, right in [(0.7, expected[0]), (0.7, expected[0]), (0.4, expected[1])]:
        np.testing.assert_allclose(compiled(x), right, rtol=1e-9)
    assert RECORDER.get() is None


def test_the_sum_of_a_geometric_series():
    f = ad.jit(ad.grad(lambda q: ad.fori_loop(0, 10**6, lambda i, s: 1 + q * s, 0.0)))
    assert f(0.5) == pytest.approx(4, rel=1e-14)  # d/dq of 1 / (1 - q)


@pytest.mark.parametrize("mode", ["value", "grad"])
def test_python_takes_few_steps(mode):
    taken = []

    def f(x):
        return ad.fori_loop(0, 10**6, lambda i, v: taken.append(i) or np.sin(v * x), x)

    ad.jit(MODES[mode](f))(0.5)
    assert len(taken) < 20

    def g(x):
        def go(s):
            taken.append(s)
            return s[0] < 10**5

        return ad.while_loop(go, lambda s: (s[0] + 1, np.sin(s[1] * x)), (0, x))[1]

    taken.clear()
    ad.jit(MODES[mode](g))(0.5)
    assert len(taken) < LOOPS.steps + 30


def test_short_loops_are_run_by_the_function_itself():
    taken = []

    def f(x):
        return ad.fori_loop(0, LOOPS.steps, lambda i, v: taken.append(i) or v * x, 1.0)

    assert ad.jit(f)(1.0) == 1.0
    assert len(taken) == LOOPS.steps


def test_steps_that_depend_on_more_than_their_arguments_are_not_compiled():
    count = 0

    def f(x):
        def step(i, v):
            nonlocal count
            count += 1
            return v + count * x

        return ad.fori_loop(0, STEPS, step, 0.0)

    compiled = ad.jit(f)
    with pytest.warns(NotCompiledWarning, match="where it had given"):
        compiled(1.0)
    count = 0
    assert compiled(1.0) == STEPS * (STEPS + 1) / 2


def test_what_a_step_raises_is_raised():
    def f(x):
        def step(i, v):
            if i == STEPS - 1:
                raise KeyError("the last step")
            return v * x

        return ad.fori_loop(0, STEPS, step, x)

    with pytest.warns(NotCompiledWarning), pytest.raises(KeyError, match="the last step"):
        ad.jit(f)(0.5)
    assert RECORDER.get() is None


def test_code_that_catches_every_exception_is_stopped_at_a_long_loop_too():
    def f(x):
        try:
            return counted(x)
        except Exception:
            return 0.0

    np.testing.assert_allclose(ad.jit(f)(0.7), counted(0.7))


def test_a_result_that_is_branched_on():
    def f(x):
        return counted(x) if ended(x) > 0.5 else -counted(x)

    compiled = ad.jit(f)
    for x in (0.7, 0.7, 1.9, 1.9, 0.7):
        np.testing.assert_allclose(compiled(x), f(x), rtol=1e-9)


def test_a_compiled_function_in_another_one():
    inner = ad.jit(counted)
    outer = ad.jit(lambda x: inner(x) * ad.fori_loop(0, 10, lambda i, v: v * x, 1.0))
    for _ in range(3):
        np.testing.assert_allclose(outer(0.7), counted(0.7) * 0.7**10)


def test_an_array_that_the_caller_gives_for_the_result():
    f = ad.jit(lambda x: ad.fori_loop(0, STEPS, lambda i, v: 0.5 * v + x, x))
    out = np.empty(3)
    assert f(np.arange(3.0), out=out) is out
    np.testing.assert_allclose(out, 2 * np.arange(3.0))


def test_arrays_that_a_step_writes_to():
    def f(x):
        def step(i, v):
            v = v.copy()
            v[1:] += 0.1 * v[:-1] * x
            return 0.9 * v

        return np.sum(ad.fori_loop(0, STEPS, step, np.ones(4) * x))

    compiled = ad.jit(ad.grad(f))
    for x in (0.3, 0.3, 0.6):
        np.testing.assert_allclose(compiled(x), ad.grad(f)(x), rtol=1e-9)


def write_before(x):
    x[0] += 1.0
    return ad.fori_loop(0, STEPS, lambda i, v: 0.5 * v + x[0], 0.0)


def write_after(x):
    result = ad.fori_loop(0, STEPS, lambda i, v: 0.5 * v + x[0], 0.0)
    x[0] += 1.0
    return result


def write_to_a_view(x):
    result = ad.fori_loop(0, STEPS, lambda i, v: 0.5 * v + x[0], 0.0)
    first = x[:1]
    first[...] = result + 7.0
    return result


@pytest.mark.parametrize("f", [write_before, write_after, write_to_a_view])
def test_a_function_that_writes_to_its_argument_runs_as_it_is(f):
    compiled, own, others = ad.jit(f), np.array([1.0, 2.0]), np.array([1.0, 2.0])
    with pytest.warns(NotCompiledWarning, match="writes to its argument"):
        first = compiled(own)
    assert first == f(others)
    for _ in range(3):
        np.testing.assert_array_equal(own, others)
        assert compiled(own) == f(others)


def test_a_list_that_was_changed_before_a_long_loop_is_an_error():
    def f(xs):
        xs.append(1.0)
        return ad.fori_loop(0, STEPS, lambda i, v: 0.5 * v + sum(xs), 0.0)

    with pytest.raises(ad.TraceError, match="writes to its argument"):
        ad.jit(f)([1.0])


def test_numbers_that_are_drawn_before_a_long_loop_are_drawn_at_each_call():
    draw = np.random.default_rng(4)
    compiled = ad.jit(lambda x: counted(x) + draw.normal())
    with pytest.warns(NotCompiledWarning, match="where it had given"):
        assert len({compiled(0.7) for _ in range(4)}) == 4


def test_numbers_of_a_loop_have_the_types_of_a_run_that_is_not_compiled():
    def f(x):
        start = (0.0, 1.0, np.float64(1.0))
        _, y, z = ad.while_loop(
            lambda s: s[0] < 300.0, lambda s: (s[0] + 1.0, s[1] * x + 1.0, s[2] * x), start
        )
        return y, z

    for derivative in (f, lambda x: ad.jvp(f, (x,), (1.0,))):
        wanted, compiled = derivative(0.5), ad.jit(derivative)
        for _ in range(3):
            found = compiled(0.5)
            assert flat_types(found) == flat_types(wanted)


def flat_types(tree):
    return [t for x in tree for t in flat_types(x)] if isinstance(tree, tuple) else [type(tree)]
