"""Long loops of Python that are recorded by one step: the same numbers, however many steps."""

import numpy as np
import pytest

import simpleautodiff as ad
from simpleautodiff.compiled.loops.loop_limits import LOOPS

pytest.importorskip("llvmlite")
SCALES = {"factor": 1.5}


@pytest.fixture(autouse=True)
def few_lines_are_many(monkeypatch):
    monkeypatch.setenv("SIMPLEAUTODIFF_CACHE", "off")
    monkeypatch.setattr(LOOPS, "long", 60)
    monkeypatch.setattr(LOOPS, "lines", 60)


def draw(n=40):
    return np.random.default_rng(n).uniform(0.2, 1.2, size=n)


def recur(x):
    y = np.zeros(len(x))
    y[0] = x[0]
    for t in range(1, len(x)):
        y[t] = x[1] + np.sin(x[t - 1]) * y[t - 1]
    return np.sum(y**2)


def count_backwards(x):
    y = np.ones(len(x))
    for t in range(len(x) - 2, -1, -1):
        y[t] = np.tanh(y[t + 1] * x[t]) + 0.1 * t
    return np.sum(y * x)


def take_pairs(x):
    total, before = 0.0, x[0]
    for a, b in zip(x[1:], x[:-1], strict=True):
        total += a * before
        before = np.sin(a) + 0.5 * b
    return total + before


def number_items(x):
    total = 0.0
    for k, a in enumerate(x):
        total = 0.9 * total + k * a**2
    return total


def go_over_constants(x):
    total = x[0]
    for weight in np.linspace(0.5, 1.5, 40):
        total = np.sin(total) * weight + x[1]
    return total


def read_plain_arrays(x):
    chosen = np.arange(40) * 7 % 40
    factors = np.cos(np.arange(40.0))
    total = 0.0
    for t in range(40):
        total = np.sin(total) + factors[t] * x[chosen[t]]
    return total


def keep_the_last_item(x):
    total = 0.0
    for t in range(len(x)):
        total = np.sin(total + x[t])
    return total * t + x[t]


def go_on_with_two_loops(x):
    y, z = np.zeros(len(x)), np.zeros(len(x))
    y[0] = 1.0
    for t in range(1, len(x)):
        y[t] = np.cos(y[t - 1]) * x[t]
    for t in range(1, len(x)):
        z[t] = 0.5 * z[t - 1] + y[t] * y[t - 1]
    return np.sum(z)


def loop_inside(x):
    state = x[0]
    for t in range(len(x)):
        for _ in range(3):
            state = state + 0.1 * np.sin(state) * x[t]
    return state


def step_of_another_function(x):
    return recur(x) + recur(x[::-1])


def solve(lower, diagonal, right):
    """Solve a bidiagonal system, backwards."""
    y = np.zeros(len(right))
    y[-1] = right[-1] / diagonal[-1]
    for i in range(len(right) - 2, -1, -1):
        pivot = diagonal[i] - 0.1 * lower[i]
        y[i] = (right[i] - lower[i] * y[i + 1]) / pivot
    return y


def loop_of_a_called_function(x):
    lower = 0.5 * x
    lower[0] = 0.1
    state = np.cos(x)
    for _ in range(12):
        state = solve(lower, 1.0 + x, state)
    return np.sum(state**2)


def loop_with_a_loop_in_a_loop(x):
    total = x[0]
    for i in range(8):
        for j in range(7):
            for k in range(9):
                total = np.sin(total) + x[i] * x[j + k]
            total = total * x[j]
        total = total + 0.5 * np.cos(total)
    return total


LOOPED = [
    *(recur, count_backwards, take_pairs, number_items, go_over_constants, read_plain_arrays),
    *(keep_the_last_item, go_on_with_two_loops, loop_inside, step_of_another_function),
    *(loop_of_a_called_function, loop_with_a_loop_in_a_loop),
]


def see_an_alias(x):
    """A second name of the array that the loop writes to."""
    y = np.zeros(len(x))
    y[0] = x[0]
    other = y
    for t in range(1, len(x)):
        y[t] = np.sin(x[t]) + y[t - 1]
    return np.sum(other * x)


def collect(x):
    found = []
    for t in range(len(x)):
        found.append(np.sin(x[t]) * t)  # noqa: PERF401 - that is the subject
    return np.sum(np.array(found))


def decide(x):
    total = 0.0
    for t in range(len(x)):
        total = total + x[t] if total < 3.0 else total * np.cos(x[t])
    return total


def leave(x):
    total = 0.0
    for t in range(len(x)):
        total = np.sin(total) + x[t]
        if t == 30:
            break
    return total


def look_up(x):
    total = x[0]
    for name in ["factor"] * 40:
        total = np.sin(total) * SCALES[name] + x[1]
    return total


def use_the_number_of_the_step(x):
    total = x[0]
    for t in range(40):
        total = np.sin(total) + np.sum(x[: t + 1])
    return total


def change_kind(x):
    state = 0
    for t in range(len(x)):
        state = state * 0.5 + x[t]
    return state


ANYHOW = [
    *(see_an_alias, collect, decide, leave, look_up, use_the_number_of_the_step, change_kind),
]


def ask_second(f):
    return ad.grad(lambda x: np.sum(np.sin(ad.grad(f)(x))))


@pytest.mark.parametrize("f", [*LOOPED, *ANYHOW])
def test_a_long_loop_equals_its_steps(f):
    points = [draw(), draw()[::-1] * 0.7, draw() + 0.3]
    more = [ad.jacfwd, ask_second] if f in (recur, take_pairs, see_an_alias) else []
    for ask in (lambda g: g, ad.grad, *more):
        compiled = ad.jit(ask(f))
        for _ in range(2):
            for x in points:
                np.testing.assert_allclose(compiled(x), ask(f)(x), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("f", LOOPED)
def test_a_loop_is_recorded_by_one_step(f):
    compiled = ad.jit(ad.grad(f))
    for _ in range(3):
        compiled(draw())
    assert "recorded by one step each" in str(compiled.explain())


@pytest.mark.parametrize("f", ANYHOW)
def test_what_is_no_loop_is_compiled_with_all_its_steps(f):
    compiled = ad.jit(ad.grad(f))
    for _ in range(4):
        compiled(draw())
    assert "1 path through the code" in str(compiled.explain())


def test_the_size_of_a_program_does_not_depend_on_the_number_of_steps():
    def count(n):
        compiled = ad.jit(ad.grad(recur))
        for _ in range(3):
            compiled(draw(n))
        return int(str(compiled.explain()).split(" rows recorded")[0].split()[-1])

    assert count(100) == count(1000)


def test_the_way_back_does_not_run_inner_loops_again():
    compiled = ad.jit(ad.grad(loop_of_a_called_function))
    for _ in range(3):
        compiled(draw())
    # one within the other, forward and back
    assert "4 loops, recorded by one step each" in str(compiled.explain())


def test_batches_and_derivatives_of_compiled_functions():
    xs = np.stack([draw(), draw()[::-1], draw() * 0.5])
    expected = np.stack([ad.grad(recur)(x) for x in xs])
    for f in (ad.jit(ad.vmap(ad.grad(recur))), ad.vmap(ad.jit(ad.grad(recur)))):
        for _ in range(3):
            np.testing.assert_allclose(f(xs), expected, rtol=1e-10)
    for _ in range(3):
        np.testing.assert_allclose(ad.grad(ad.jit(recur))(xs[0]), expected[0], rtol=1e-10)


def test_the_code_of_a_function_is_its_own_again():
    before = recur.__code__
    compiled = ad.jit(ad.grad(recur))
    for _ in range(3):
        compiled(draw())
    assert recur.__code__ is before


# First steps with numbers of other dtypes. --------------------------------------------------------


def become_complex(x):
    z = 0.5
    for t in range(len(x)):
        z = np.sqrt(z - x[t]) * 0.5 + 0.1j
    return np.real(z)


def become_complex_in_scan(x):
    return np.real(ad.scan(lambda z, a: (np.sqrt(z - a) * 0.5 + 0.1j, None), 0.5, x)[0])


def become_precise(x):
    s = np.float32(0.1)
    for t in range(len(x)):
        s = s * np.float32(1.1) + x[t]
    return s


@pytest.mark.parametrize("f", [become_complex, become_complex_in_scan, become_precise])
def test_the_first_step_has_the_dtypes_of_python(f):
    """The square root of a negative number is nan in the first step, and no longer in the next."""
    for ask in (lambda g: g, ad.grad):
        compiled = ad.jit(ask(f))
        for x in 2 * [np.linspace(0.1, 0.4, 40), np.zeros(40), np.ones(40)]:
            with np.errstate(invalid="ignore"):
                np.testing.assert_allclose(compiled(x), ask(f)(x), rtol=1e-12)


# What others see of arrays that a loop writes to. -------------------------------------------------


def fill(y, x):
    for t in range(1, len(x)):
        y[t] = np.sin(x[t]) + 0.5 * y[t - 1]


def fill_for_the_caller(x):
    y = np.zeros(len(x))
    y[0] = x[0]
    fill(y, x)
    return np.sum(y * x) + y[-1]


def write_through_a_view(x):
    y = np.zeros((2, len(x)))
    row = y[1]
    row[0] = x[0]
    for t in range(1, len(x)):
        row[t] = np.sin(x[t]) * row[t - 1] + x[0]
    return np.sum(y[1] * x) + np.sum(y)


def read_through_a_view(x):
    y = np.zeros(len(x))
    y[0] = x[0]
    later = y[1:]
    total = 0.0
    for t in range(1, len(x)):
        y[t] = np.sin(x[t]) + 0.1 * y[t - 1]
        total = total + later[t - 1] * x[t]
    return total


def read_by_another_name(x):
    y = x * 0.5
    other = y
    total = 0.0
    for t in range(1, len(x)):
        y[t] = np.sin(x[t]) + 0.1 * y[t - 1]
        total = total + other[t] * x[t]
    return total


def write_by_two_names(x):
    y = x * 0.5
    z = y
    for t in range(1, len(x)):
        y[t] = np.sin(x[t]) + z[t - 1]
        z[t - 1] = 0.3 * x[t]
    return np.sum(y * x)


def name_it_again_inside(x):
    y = x * 0.5
    before = y * 1.0
    for t in range(1, len(x)):
        y[t] = np.sin(before[t - 1]) + x[t]
        before = y
    return np.sum(before * x)


def change_a_list(x):
    parts = [x[0], x[1]]
    for t in range(2, len(x)):
        parts[0] = np.sin(parts[0]) + x[t]
        parts[1] = parts[1] * 0.9 + parts[0]
    return parts[0] * parts[1]


def change_a_list_with_two_names(x):
    parts = [x[0], x[1]]
    same = parts
    for t in range(2, len(x)):
        parts[0] = np.sin(parts[0]) + x[t] * same[1]
        parts[1] = parts[1] * 0.9 + same[0]
    return same[0] * parts[1]


def change_a_dict(x):
    state = {"v": x[0], "s": x[1]}
    for t in range(2, len(x)):
        state["v"] = np.sin(state["v"]) + x[t]
        state["s"] = state["s"] * 0.9 + state["v"]
    return state["s"]


def add_in_place(x):
    y, z = np.zeros(3), np.ones(3)
    alias = y
    for t in range(len(x)):
        y += z * x[t]
        z = np.sin(z) + 0.1 * y
    return np.sum(alias * z)


def write_to_what_it_goes_over(x):
    y = x * 0.5
    for t, v in enumerate(y[:-1]):
        y[t + 1] = np.sin(v) + x[t]
    return np.sum(y * x)


def write_to_a_made_array_that_it_goes_over(x):
    y = np.zeros(len(x))
    y[0] = x[0]
    for v, t in zip(y, range(len(x) - 1), strict=False):
        y[t + 1] = np.sin(v) + x[t]
    return np.sum(y * x)


def go_over_a_made_array(x):
    y = np.zeros(len(x))
    y[1:] = np.sin(x[1:])
    total = x[0]
    for v in y:
        total = np.cos(total) + v
    return total


SEEN = [
    *(write_to_what_it_goes_over, write_to_a_made_array_that_it_goes_over, go_over_a_made_array),
    *(fill_for_the_caller, write_through_a_view, read_through_a_view, read_by_another_name),
    *(write_by_two_names, name_it_again_inside, change_a_list, change_a_list_with_two_names),
    *(change_a_dict, add_in_place),
]


@pytest.mark.parametrize("f", SEEN)
def test_what_a_loop_writes_is_seen_by_every_name(f):
    """At a point where most results are 0, too, so that the first call would not tell."""
    points = [np.zeros(40), draw(), draw()[::-1] * 0.7]
    for ask in (lambda g: g, ad.grad):
        compiled = ad.jit(ask(f))
        for _ in range(2):
            for x in points:
                np.testing.assert_allclose(compiled(x), ask(f)(x), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize(
    "f",
    [
        *(fill_for_the_caller, write_through_a_view, change_a_list, change_a_dict, add_in_place),
        go_over_a_made_array,
    ],
)
def test_what_is_written_in_a_loop_does_not_prevent_one(f):
    compiled = ad.jit(ad.grad(f))
    for _ in range(3):
        compiled(draw())
    assert "recorded by one step each" in str(compiled.explain())


# What a step changes and its variables do not tell. -----------------------------------------------


def write_to_a_row(x):
    y, s = np.zeros((40, 2)), x[0]
    for t in range(1, 40):
        row = y[t]
        s = np.sin(s) * x[t] + y[t - 1, 0]
        row[0] = s + x[t]
    return s


def write_to_a_computed_row(x):
    y, s = np.zeros((40, 2)) + x[0], x[0]
    for t in range(1, 40):
        row = y[t]
        s = np.sin(s) * x[t] + y[t - 1, 0]
        row += s * x[t]
    return s


def write_to_the_rows_it_goes_over(x):
    rows, s = np.zeros((20, 2)), x[0]
    for row in rows:
        row += s * x[3]
        s = np.sin(s) * x[1] + rows[0, 0]
    return s


def put_into(box, k, value):
    box[k] = value
    return 0.0


def change_a_list_in_another_function(x):
    box, s = [x[0]], x[0]
    for t in range(1, 40):
        s = np.sin(s) * x[t] + box[0]
        s = s + put_into(box, 0, s * x[t])
    return s


def change_an_array_in_a_list(x):
    y, s = x[:3] * 0.5, x[0]
    held = [y]
    for t in range(1, 40):
        s = np.sin(s) * x[t] + np.cos(y[1]) - 1
        held[0] += s * x[t]
    return s


def count_elsewhere(x):
    numbers, s = iter(range(100)), x[0]
    for t in range(1, 40):
        s = np.sin(s) * x[t] + next(numbers) * x[t]
    return s


def exchange_names(x):
    a, b = x * 0.5, np.zeros(40)
    first = a
    for t in range(1, 40):
        a, b = b, a
        a[t] = np.sin(b[t - 1]) + x[t]
    return np.sum(a) + 2 * np.sum(b) + 3 * np.sum(first)


def name_a_new_array(x):
    a = x[:3] * 0.5
    first = a
    for t in range(40):
        a = a + x[t]
        a *= 0.5
    return np.sum(first * np.arange(3)) + a[0]


def step_in_another_function(y, t, x):
    y[t] = np.sin(y[t - 1]) + x[t]
    return y


def get_the_same_array_back(x):
    y = x * 0.5
    first = y
    for t in range(1, 40):
        y = step_in_another_function(y, t, x)
    return np.sum(y) + np.sum(first * x)


def multiply_integers(x):
    s, product = x[0], 1
    for t in range(1, 40):
        product = product * t
        s = np.sin(s) + x[t] * (product % 101)
    return s


def raise_integers(x):
    s = x[0]
    for t in range(70):
        s = np.sin(s) + x[t % 40] * (3**t % 5)
    return s


UNSEEN = [
    *(multiply_integers, raise_integers),
    *(write_to_a_row, write_to_a_computed_row, write_to_the_rows_it_goes_over),
    *(change_a_list_in_another_function, change_an_array_in_a_list, count_elsewhere),
    *(exchange_names, name_a_new_array, get_the_same_array_back),
]


@pytest.mark.parametrize("f", UNSEEN)
def test_what_a_step_changes_unseen_is_not_lost(f):
    """The first calls, at 0, do not tell."""
    for ask in (lambda g: g, ad.grad):
        compiled = ad.jit(ask(f))
        for x in (np.zeros(40), np.zeros(40), draw(), draw()[::-1]):
            np.testing.assert_allclose(compiled(x), ask(f)(x), rtol=1e-9, atol=1e-11)


def test_rows_of_a_recorded_index_are_views_in_loops():
    def f(x):
        def step(t, state):
            s, y = state
            row = y[t]
            row[0] = np.sin(s) * x[t] + 1
            row += x[t]
            return y[t, 0] * 0.5 + y[t, 1] + x[t], y

        return ad.fori_loop(1, 40, step, (x[0], np.zeros((40, 2)) + x[0]))[0]

    compiled = ad.jit(ad.grad(f))
    for x in (np.zeros(40), np.zeros(40), draw()):
        np.testing.assert_allclose(compiled(x), ad.grad(f)(x), rtol=1e-9, atol=1e-11)


# Integers, which have no end in Python. -----------------------------------------------------------


def multiply_counts(x):
    total = 0.0
    for t in range(40):
        total = total + np.sin(x[t]) * ((t + 10**10) * (t + 10**10))
    return total


def take_a_remainder_of_a_power(x):
    total = 0.0
    for t in range(40):
        total = total + np.sin(x[t]) * (t * t * t * t * t * t * t * t * t * t * t * t * t % 7)
    return total


def add_without_end(x):
    total, a, b = 0.0, 1, 1
    for t in range(120):
        a, b = b, a + b
        total = total + np.sin(x[t % 40]) * (a % 7)
    return total


def count_beyond_a_machine(x):
    total, count = 0.0, 2**62
    for t in range(80):
        count = count + 2**57
        total = total + np.sin(x[t % 40]) * count
    return total


def draw_numbers(x):
    """By a congruence, whose products are below 2 ** 62."""
    total, seed = 0.0, 12345
    for t in range(40):
        seed = (seed * 1103515245 + 12345) % 2147483648
        total = total + np.sin(x[t] * (seed / 2147483648))
    return total


def draw_numbers_beyond_a_machine(x):
    total, seed = 0.0, 12345
    for t in range(40):
        seed = (seed * 6364136223846793005 + 1442695040888963407) % 2**62
        total = total + np.sin(x[t] * (seed / 2**62))
    return total


def divide_by_factorials(x):
    total, factorial = 0.0, 1
    for t in range(1, 80):
        factorial = factorial * t
        total = total + x[t % 40] ** 2 / factorial
    return total


def change_signs(x):
    total, sign = 0.0, 1
    for t in range(80):
        sign = -sign
        total = total + x[t % 40] ** 2 * sign
    return total


OF_A_MACHINE = [draw_numbers, divide_by_factorials, change_signs]
WITHOUT_END = [
    *(multiply_counts, take_a_remainder_of_a_power, add_without_end, count_beyond_a_machine),
    draw_numbers_beyond_a_machine,
]


@pytest.mark.parametrize("f", [*OF_A_MACHINE, *WITHOUT_END])
def test_integers_are_pythons(f):
    """The first calls, at 0, do not tell."""
    for ask in (lambda g: g, ad.grad):
        compiled = ad.jit(ask(f))
        for x in (np.zeros(40), np.zeros(40), np.zeros(40), draw(), draw()[::-1]):
            np.testing.assert_allclose(compiled(x), ask(f)(x), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("f", OF_A_MACHINE)
def test_integers_that_fit_do_not_prevent_a_loop(f):
    compiled = ad.jit(ad.grad(f))
    for _ in range(3):
        compiled(draw())
    assert "recorded by one step each" in str(compiled.explain())


def carry_along(x):
    q = np.outer(x, np.cos(x))
    i, j = np.indices(q.shape)
    for _ in range(12):
        y, z = np.clip(i + np.sin(q), 0.0, 2.999), np.clip(j - q, 0.0, 2.999)
        below, left = np.floor(y).astype(int), np.floor(z).astype(int)
        s = y - below
        q = (1 - s) * q[below, left] + s * q[below + 1, left]
    return np.sum(q**2)


def test_indices_that_a_step_computes():
    x = np.linspace(-2, 3, 4)
    compiled = ad.jit(ad.grad(carry_along), tier="optimised")
    np.testing.assert_allclose(compiled(x), ad.grad(carry_along)(x), rtol=1e-12)
    assert "recorded by one step" in compiled.explain()
