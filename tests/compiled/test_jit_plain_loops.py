"""Python's own loops, with as many steps as the numbers say: one path serves every number."""

import numpy as np
import pytest

import simpleautodiff as ad
from simpleautodiff.compiled.loops.loop_limits import LOOPS
from simpleautodiff.compiled.loops.plain_loops import UNBOUND, repeat, repeat_over
from simpleautodiff.compiled.loops.rewrite_loops import GO_ON
from simpleautodiff.values.pytree import flatten

U = np.linspace(-0.3, 0.9, 5)
LOOPING = {}


@pytest.fixture(autouse=True)
def second_paths_are_loops(monkeypatch):
    monkeypatch.setattr(LOOPS, "lines", 0)


def looping(f):
    """Enter a function of a number and an array whose number of steps depends on both."""
    LOOPING[f.__name__] = f
    return f


@looping
def root(x, u):
    a = v = 1.0 + x * x + np.sum(u**2)
    while abs(v * v - a) > 1e-9 * 10.0 ** (10 * x):
        v = (v + a / v) / 2
    return v**3


@looping
def several_variables(x, u):
    count, total, speed, done = 0, x, 0.1, False
    while not done:
        speed = speed * (1.1 + x) + 0.01 * np.sum(u)
        total += speed * x
        count += 1
        done = total > 6.0
    return total * count + speed


@looping
def left_by_a_break(x, u):
    v = x
    while True:
        change = np.cos(v * x + u[0]) - v
        v = v + 0.5 * change
        if abs(change) < 0.01 * x:
            break
    return v * change + v


@looping
def counted_until_it_is_large(x, u):
    v, last = x + 1.0, 0
    for k in range(2, 40, 3):
        if v > 25.0:
            break
        last = k
        v = v * (1.0 + x) + u[1] ** 2 * k
    return v * k + last


@looping
def counted_back(x, u):
    v = x
    for k in range(30, 0, -2):
        v = v + 0.1 * x * k
        if v > 9.0 - u[2]:
            break
    return v * v


@looping
def returned_from_inside(x, u):
    v = x + 0.1
    for k in range(50):
        w = v * (1 + x) + u[3]
        if w > 9.0:
            return w * v + k
        v = w
        if k > 48:
            raise ValueError("it does not become large")
    return v


@looping
def of_arrays(x, u):
    v, old = u + 1.0, u * 0.0
    while np.sum(abs(v - old)) > 0.05 * x:
        old, v = v, np.sin(v * x) + 0.3 * u
    return np.sum(v * old)


@looping
def which_decides_inside(x, u):
    v, k = x, 0
    while v < 8.0:
        k += 1
        if v > 2.0:
            v = v * (1 + x)
        elif k % 2 == 0:
            v = v + 0.3 + u[1] ** 2
            continue
        else:
            v = v + 0.5 * x
        v = v + 0.01
    return v * k


@looping
def loops_in_loops(x, u):
    total, w = x, 1.0
    while total < 9.0:
        v = total
        while v > 1.0:
            v = v * (0.5 + 0.1 * x)
            w = w + 0.1 * v
        total = total + v + x + 0.1 * u[0]
    return total * w


@looping
def inside_a_counted_loop(x, u):
    total = x
    for k in range(1, 6):
        v = total + k
        while v * v - 2.0 > 10.0 ** (1 - 10 * x):
            v = (v + 2.0 / v) / 2
        total = total + 0.1 * v * u[4]
    return total


@looping
def with_another_first_step(x, u):
    v, old = x, None
    while old is None or abs(v - old) > 0.02 * x:
        old, v = v, np.cos(v + x * u[0])
    return v * old


@looping
def in_a_function_that_it_calls(x, u):
    def halve(v, most):
        while v > most:
            v = v * (0.4 + 0.1 * np.sin(v))
        return v

    return halve(9.0 * x**4 + u[4], 0.05) + _double(x)


def _double(v):
    while _is_small(v):
        v = v * (2.0 + 0.1 * v)
    return v


def _is_small(v):
    if v > 7.0:
        return False
    return bool(v > -1.0)


@looping
def one_after_the_other(x, u):
    v = x
    while v < 6.0:
        v = v * (1.3 + 0.1 * x)
    w = v * u[4]
    while w > 0.2:
        w = w * (0.2 + 0.7 * x)
    return v + w


@looping
def over_rows(x, u):
    total = x
    for row in np.stack([u, u * x, u + x, 2 * u, u - x, u, u, u]) + 0.2:
        total = total + np.sum(row)
        if total > 18.0 - 18.0 * x:
            break
    return total * total


@looping
def written_in_place(x, u):
    v, k = u * x, 0
    while np.sum(v) < 9.0 * x:
        v[0] = v[1] + 1.0 + x
        v[1:] *= 1.0 + 0.1 * x
        k = k + 1
    return np.sum(v**2) * k


MODES = {
    "value": lambda f: f,
    "grad": lambda f: ad.grad(f, (0, 1)),
    "jvp": lambda f: lambda x, u: ad.jvp(f, (x, u), (1.0, np.cos(u))),
    "reverse of reverse": lambda f: ad.grad(lambda x, u: np.sum(ad.grad(f, 1)(x, u) ** 2), (0, 1)),
    "forward of reverse": lambda f: ad.hessian(f, 0),
}
POINTS = (0.5, 0.9, 0.3, 0.7, 0.6, 0.8, 0.4, 0.45, 0.95, 0.35)


def agree(made, expected, rtol=1e-9):
    for got, wanted in zip(flatten(made)[0], flatten(expected)[0], strict=True):
        scale = np.max(np.abs(wanted))
        np.testing.assert_allclose(got, wanted, rtol=rtol, atol=rtol * scale)


def count_steps(f, x, u):
    """Return how often f asks for a number's truth: as many paths as there are such counts."""
    asked = []
    jitted = ad.jit(f, tier="numpy")
    jitted(x, u)
    [found] = jitted.function.known.values()
    asked += [guard.expected for guard in found.root.recorded.guards]
    return tuple(asked)


@pytest.mark.parametrize("name", LOOPING)
def test_the_numbers_of_steps_differ(name):
    assert len({count_steps(LOOPING[name], x, U) for x in POINTS}) > 3


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", LOOPING)
def test_one_path_gives_what_the_function_gives(name, mode):
    g = MODES[mode](LOOPING[name])
    jitted = ad.jit(g, tier="optimised")
    for x in POINTS:
        agree(jitted(x, U), g(x, U))
    [found] = jitted.function.known.values()
    assert found.looped is not None, (found.not_looped, jitted.explain())
    assert len(found.looped.all()) <= 3, jitted.explain()
    before = len(found.paths())
    for x in (0.52, 0.65, 0.88, 0.33):
        agree(jitted(x, U), g(x, U))
    assert len(found.paths()) == before


# What is rewritten, and when. ---------------------------------------------------------------------


def paths_of(jitted):
    [found] = jitted.function.known.values()
    return found


def test_integers_that_grow_are_not_cut_off():
    def series(x):
        n, factorial, power, total = 0, 1, 1.0, 0.0
        while power / factorial > 1e-17:
            total += power / factorial
            n += 1
            factorial *= n
            power = power * x
        return total

    jitted = ad.jit(ad.grad(series), tier="optimised")
    for x in (0.5, 0.7, 1.0, 3.0, 9.0):  # 9.0 needs 50!
        assert jitted(x) == pytest.approx(np.exp(x), rel=1e-12)
    assert paths_of(jitted).looped is not None


def test_a_limit_that_python_counts_is_kept():
    def f(x):
        for k in range(6):  # noqa: B007 - it is read after the loop
            x = x / 2
            if x < 1.0:
                break
        return x if k < 4 else -x

    jitted = ad.jit(f, tier="optimised")
    for x in (3.0, 3.0, 5.0, 20.0, 40.0, 1e4, 1.0, 63.0, 64.0):
        assert jitted(x) == f(x)
    assert paths_of(jitted).looped is not None


def test_what_is_after_else_is_done_if_nothing_has_broken_off():
    def f(x):
        v = x
        while v < 100.0:
            v = v * 1.5 + 0.1
            if abs(v - 20.0) < 2.0:
                break
        else:
            v = v / 2 + x
            extra = 3.0 * x
            v = v + extra
        return v * x

    jitted = ad.jit(ad.value_and_grad(f), tier="optimised")
    for x in (1.0, 2.0, 0.3, 0.1, 50.0, 0.02, 7.0, 0.004, 1e-3):
        agree(jitted(x), ad.value_and_grad(f)(x), rtol=1e-13)
    assert paths_of(jitted).looped is not None


def test_a_break_after_else_leaves_the_outer_loop():
    def f(x):
        total, v = 0.0, x
        while total < 50.0:
            v = v * 1.2
            for k in range(3):
                if v * k > 6.0:
                    total = total + v
                    break
            else:
                total = total + 0.5
                if v > 1e3:
                    break
                continue
            total = total + 0.1 * x
        return total + v

    jitted = ad.jit(ad.value_and_grad(f), tier="optimised")
    for x in (1.0, 0.5, 2.0, 0.1, 3.0, 0.01, -1.0, 0.7):
        agree(jitted(x), ad.value_and_grad(f)(x), rtol=1e-13)


def test_what_is_raised_inside_is_raised():
    def f(x):
        k = 0
        while x > 1.0:
            x, k = x / 3, k + 1
            if k > 9:
                raise ArithmeticError(f"after {k} steps")
        return x

    jitted = ad.jit(ad.grad(f), tier="optimised")
    for x in (2.0, 4.0, 10.0, 30.0, 100.0):
        assert jitted(x) == pytest.approx(ad.grad(f)(x), rel=1e-14)
    assert paths_of(jitted).looped is not None
    for _ in range(2):
        with pytest.raises(ArithmeticError, match="after 10 steps"):
            jitted(1e6)


EFFECTS = {
    "a list": lambda: _append,
    "an attribute": lambda: _Counter().count,
    "a dict": lambda: _in_a_dict,
    "an index": lambda: _indexed,
    "a closure": lambda: _closed_over,
    "a variable of an outer function": lambda: _counted_outside(),
    "a generator": lambda: lambda x: sum(_generated(x)),
}


def _append(x):
    history = []
    while x > 1.0:
        history.append(x)
        x = x / 2
    return sum(history) + x


class _Counter:
    def count(self, x):
        self.steps = 0
        while x > 1.0:
            x = x / 2
            self.steps += 1
        return x * self.steps


def _in_a_dict(x):
    seen = {"x": x}
    kept = seen
    while seen["x"] > 1.0:
        seen["x"] = seen["x"] / 2
    return kept["x"]


def _indexed(x):
    k, table = 0, [0.1, 0.2] * 50
    while x > 1.0:
        x, k = x / 2 + table[k], k + 1
    return x


def _closed_over(x):
    half = lambda: x / 2
    while half() > 1.0:
        x = half()
    return x


def _counted_outside():
    count = 0

    def f(x):
        nonlocal count
        count = 0
        while x > 1.0:
            x = x / 2
            count += 1
        return x * count

    return f


def _generated(x):
    while x > 1.0:
        x = x / 2
        yield x


@pytest.mark.parametrize("name", EFFECTS)
def test_loops_with_other_effects_are_paths(name):
    f = EFFECTS[name]()
    jitted = ad.jit(f, tier="optimised")
    for x in (3.0, 3.0, 5.0, 20.0, 2.0, 0.5, 40.0):
        assert jitted(x) == pytest.approx(f(x), rel=1e-14)
    assert paths_of(jitted).looped is None


def test_an_array_that_is_changed_under_two_names():
    def f(x):
        v = x * 1.0
        first = v
        while v[0] < 4.0:
            v += 1.0
        return v - first  # they are one array

    jitted = ad.jit(f, tier="optimised")
    for x in (2.5, 5.0, 0.5, 1.5):
        np.testing.assert_array_equal(jitted(np.array([x, 1.0])), [0.0, 0.0])


def _add_under_two_names(x):
    v = x[:3] * 1.0
    other, total = v, x[0]
    while total < 4.0 + x[0]:
        v += 0.1 * x[:3]
        total = total + 0.5 + x[1] ** 2
    return total + np.sum(other * x[3:6])


def _read_by_another_name(x):
    v = x[:3] * 1.0
    other, total = v, x[0]
    while total < 4.0 + x[0]:
        v += 0.1 * x[:3]
        total = total + 0.5 + x[1] ** 2 + other[0] * x[3]
    return total


def _write_to_a_view(x):
    v = x[:3] * 1.0
    part, total = v[1:], x[0]
    while total < 4.0 + x[0]:
        part += 0.1 * x[1:3]
        total = total + 0.5 + x[1] ** 2
    return total + np.sum(v * x[3:6])


def _exchange(x):
    a, b = x[:3] * 0.5, x[3:6] * 1.0
    first, total = a, x[0]
    while total < 4.0 + x[0]:
        a, b = b, a
        a[1] = np.sin(b[0]) * x[3] + x[2]
        total = total + 0.5 + x[1] ** 2
    return total + np.sum(a) + 2 * np.sum(b) + 3 * np.sum(first)


def _name_a_new_array(x):
    a = x[:3] * 0.5
    first, total = a, x[0]
    while total < 4.0 + x[0]:
        a = a + x[4]
        a *= 0.5
        total = total + 0.5 + x[1] ** 2
    return total + np.sum(first * x[3:6]) + a[0]


def _draw_numbers(x):
    total, seed = x[0], 1
    while total < 4.0 + x[0]:
        seed = (seed * 6364136223846793005 + 1442695040888963407) % 2**62
        total = total + 0.5 + x[1] ** 2 + x[3] * (seed / 2**62)
    return total


def _multiply_integers(x):
    total, count = x[0], 10**10
    while total < 4.0 + x[0]:
        count = count + 1
        total = total + 0.5 + x[1] ** 2 + x[3] * (count * count % 7)
    return total


UNSEEN = [
    *(_add_under_two_names, _read_by_another_name, _write_to_a_view, _exchange),
    *(_name_a_new_array, _draw_numbers, _multiply_integers),
]


@pytest.mark.parametrize("f", UNSEEN)
def test_what_a_step_changes_unseen_is_not_lost(f):
    """At the first points x is 0 but for what the number of steps depends on: they do not tell."""
    first = [np.eye(8)[1] * k for k in (0.0, 0.4, 0.4, 0.6, 0.8, 1.0)]
    later = np.random.default_rng(3).uniform(0.1, 0.5, size=(3, 8))
    for ask in (lambda g: g, ad.grad):
        jitted = ad.jit(ask(f))
        for x in [*first, *later, *later]:
            np.testing.assert_allclose(jitted(x), ask(f)(x), rtol=1e-9, atol=1e-11)


def test_explain_says_why_a_loop_is_not_recorded():
    jitted = ad.jit(_indexed, tier="optimised")
    for x in (3.0, 5.0, 20.0):
        jitted(x)
    assert "a loop is recorded step by step (at test_jit_plain_loops.py" in jitted.explain()
    assert "an integer by which a step of a loop goes cannot be recorded" in jitted.explain()


def test_few_short_paths_are_kept_apart(monkeypatch):
    monkeypatch.setattr(LOOPS, "lines", 400)
    jitted = ad.jit(LOOPING["root"], tier="optimised")
    for x in POINTS:
        jitted(x, U)
    assert paths_of(jitted).looped is None
    halve = ad.jit(_double, tier="optimised")
    for k in range(20):
        assert halve(2.0**-k) == pytest.approx(_double(2.0**-k), rel=1e-14)
    assert len(paths_of(halve).root.all()) == LOOPS.paths
    assert len(paths_of(halve).looped.all()) == 1


def test_the_function_itself_is_as_before():
    f = LOOPING["one_after_the_other"]
    before = f.__code__, _double.__code__
    jitted = ad.jit(f, tier="optimised")
    for x in POINTS:
        jitted(x, U)
    assert paths_of(jitted).looped is not None
    assert f.__code__ is before[0]
    assert _double.__code__ is before[1]


def test_code_without_source_is_paths():
    space = {}
    exec("def f(x):\n    while x > 1.0:\n        x = x / 2\n    return x", space)
    jitted = ad.jit(space["f"], tier="optimised")
    for x in (3.0, 5.0, 20.0, 2.0):
        assert jitted(x) == space["f"](x)
    assert paths_of(jitted).looped is None


def test_loops_of_the_caller_are_left_alone():
    jitted = ad.jit(lambda x: x * x if x > 1.0 else -x, tier="optimised")
    for x in (0.5, 2.0, 0.25, 3.0):
        assert jitted(x) == (x * x if x > 1.0 else -x)
    assert paths_of(jitted).looped is None


def test_exports_have_the_paths_that_were_recorded_step_by_step():
    jitted = ad.jit(_double, tier="optimised")
    for x in (3.0, 1.0, 0.5, 0.3):
        jitted(x)
    assert paths_of(jitted).looped is not None
    space = {}
    exec(jitted.to_python("doubled"), space)
    assert float(space["doubled"](3.0)) == pytest.approx(_double(3.0), rel=1e-14)


RANGES = range(5), range(2, 9, 3), range(9, 2, -1), range(9, 1, -4), range(7, 7), range(1, 8, 6)
LEAVES = GO_ON + 1  # the number of a break


@pytest.mark.parametrize("items", [*RANGES, [3, 1, 7], (4,), {}], ids=str)
@pytest.mark.parametrize("last", [7, 99])
def test_a_rewritten_for_runs_as_it_is_written(items, last):
    def step(item, count, latest):
        return (LEAVES if item == last else GO_ON), count + 1, item

    count, latest, left = 10, UNBOUND, GO_ON
    for item in items:
        count, latest = count + 1, item
        if item == last:
            left = LEAVES
            break
    found = repeat_over(items, step, {"count": 10}, ("count", "latest"), (), True)
    assert found == (left, count, latest)


@pytest.mark.parametrize("limit", [0, 1, 2, 9])
@pytest.mark.parametrize("last", [1, 4, 99])
def test_a_rewritten_while_runs_as_it_is_written(limit, last):
    def step(count, _latest):
        return (LEAVES if count + 1 == last else GO_ON), count + 1, -count

    steps = min(limit, last)
    found = repeat(
        lambda count, _latest: count < limit, step, {"count": 0}, ("count", "latest"), (), True
    )
    latest = 1 - steps if steps else UNBOUND
    assert found == (LEAVES if steps == last else GO_ON, steps, latest)


def test_rows_after_a_break_have_no_slope():
    """Not even where an earlier call, which went on, has left its own in the same memory."""

    def f(x, stop):
        v, total = np.array([1.0, 0.5, -0.25]), 0.0
        for row in x:
            v = np.roll(v, 1) * row[0] + row
            total = total + np.sum(v * v)
            if total > stop:
                break
        return total

    x = np.random.default_rng(0).normal(size=(12, 3)) * 0.5 + 0.5
    slope = ad.jit(ad.grad(f), tier="optimised")
    rows = []
    for stop in (1e9, 10.0, 3.0, 1e9, 5.0, 60.0, 2.0):
        expected = ad.grad(f)(x, stop)
        np.testing.assert_allclose(slope(x, stop), expected, rtol=1e-12, atol=1e-13)
        rows.append(np.count_nonzero(np.any(expected, axis=1)))
    assert len({*rows}) > 3
    assert "recorded by one step" in slope.explain()


def _bump(y, v):
    y[1] += v
    return y


def _written_elsewhere(x):
    s, y = x[0], x * 0.5
    first = y
    while s < 9:
        y = _bump(y, s * 0.1)
        s = s + x[1] + 0.3
    return np.sum(y) + np.sum(first * x)


def _grown_elsewhere(x):
    s, found = x[0], [x[2]]
    grow = found.append
    while s < 9:
        grow(s)
        s = s + x[1] + 0.3
    return sum(found) * x[0]


def _kept_from_some_steps(x):
    s, y = x[0], x * 1.0
    best = y
    while s < 9:
        y = y * 0.9 + s * 0.1
        if s > 5:
            best = y
        s = s + x[1] + 0.3
    return np.sum(best * y)


def _row_of_what_is_written(x):
    s, m = x[0], np.zeros((2, 2))
    row = m[0]
    while s < 9:
        row += s * 0.1
        m[1] = row * x[1]
        s = s + x[1] + 0.3
    return np.sum(m * m) + row[1]


def _attribute(x):
    s, box = x[0], type("Box", (), {})()
    box.v = x[2]
    while s < 9:
        box.v = box.v * 0.5 + s
        s = s + x[1] + 0.3
    return box.v * s


def _in_a_list(x):
    s, y = x[0], x * 1.0
    kept = [y]
    while s < 9:
        y[1] = y[1] + s
        s = s + x[1] + 0.3
    return np.sum(kept[0] ** 2)


@pytest.mark.parametrize(
    "f",
    [
        *(_written_elsewhere, _grown_elsewhere, _kept_from_some_steps),
        *(_row_of_what_is_written, _attribute, _in_a_list),
    ],
)
def test_what_a_while_loop_changes_under_another_name(f):
    points = [[0.5, 0.4, 0.7], [1.5, 0.9, -0.7], [0.1, 0.05, 0.3], [9.5, 0.4, 0.7], [8.9, 0.4, 0.7]]
    jitted = ad.jit(ad.grad(f), tier="optimised")
    for x in map(np.array, points):
        np.testing.assert_allclose(jitted(x), ad.grad(f)(x), rtol=1e-11)
