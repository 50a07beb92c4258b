"""`scan`, `fori_loop`, `while_loop`, `cond`: as Python's loops and JAX's, in every mode."""

import functools
import itertools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import simpleautodiff as ad

XS = np.array([0.3, -0.8, 1.1, 0.4, 0.9])
CHECKPOINTS = [None, 1, 2, 5]


def step(carry, x):
    """Compute a step of a small recurrent network, with a structure as its carry."""
    state, count = carry["state"], carry["count"]
    state = np.tanh(state * 0.7 + x)
    return {"state": state, "count": count + x * x}, (state, np.sum(state) * x)


def by_hand(w, xs, backwards=False):
    """Compute the same in plain NumPy."""
    state, count, first, second = w, 0.0, [], []
    for x in reversed(list(xs)) if backwards else xs:
        state = np.tanh(state * 0.7 + x)
        count = count + x * x
        first.append(state)
        second.append(np.sum(state) * x)
    if backwards:
        first, second = first[::-1], second[::-1]
    return state, count, np.stack(first), np.stack(second)


def total(w, xs, f):
    state, count, first, second = f(w, xs)
    weights = np.linspace(1.0, 2.0, len(XS))
    return np.sum(state**2) + count + np.sum(first[1] * first[3]) + np.sum(second * weights)


def scanned(checkpoint, reverse=False):
    def f(w, xs):
        init = {"state": w, "count": 0.0}
        carry, (first, second) = ad.scan(step, init, xs, reverse=reverse, checkpoint=checkpoint)
        return carry["state"], carry["count"], first, second

    return f


W = np.array([0.2, -0.5])


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("checkpoint", CHECKPOINTS)
class TestScan:
    """Against the same loop, written by hand."""

    def test_values(self, checkpoint, reverse):
        for got, expected in zip(
            scanned(checkpoint, reverse)(W, XS), by_hand(W, XS, reverse), strict=True
        ):
            np.testing.assert_array_equal(got, expected)

    def test_derivatives(self, checkpoint, reverse):
        ours = lambda w, xs: total(w, xs, scanned(checkpoint, reverse))
        plain = lambda w, xs: total(w, xs, lambda w, xs: by_hand(w, xs, reverse))
        for got, expected in zip(
            ad.grad(ours, (0, 1))(W, XS), ad.grad(plain, (0, 1))(W, XS), strict=True
        ):
            np.testing.assert_allclose(got, expected, rtol=1e-14)
        np.testing.assert_allclose(
            ad.jvp(ours, (W, XS), (W * 0 + 1, XS))[1],
            ad.jvp(plain, (W, XS), (W * 0 + 1, XS))[1],
            rtol=1e-14,
        )
        np.testing.assert_allclose(
            ad.hessian(lambda xs: ours(W, xs))(XS),
            ad.hessian(lambda xs: plain(W, xs))(XS),
            rtol=1e-12,
            atol=1e-13,
        )

    def test_differences(self, checkpoint, reverse):
        ours = lambda xs: total(W, xs, scanned(checkpoint, reverse))
        assert ad.check_grad(ours, XS)

    def test_batches(self, checkpoint, reverse):
        ours = ad.grad(lambda xs: total(W, xs, scanned(checkpoint, reverse)))
        batch = np.stack([XS, XS * 0.5, -XS])
        np.testing.assert_allclose(ad.vmap(ours)(batch), [ours(xs) for xs in batch], rtol=1e-13)

    def test_compiled(self, checkpoint, reverse):
        ours = ad.grad(lambda xs: total(W, xs, scanned(checkpoint, reverse)))
        compiled = ad.jit(ours, tier="numpy")
        for xs in (XS, XS, XS * 0.5):
            np.testing.assert_allclose(compiled(xs), ours(xs), rtol=1e-13)


def test_scan_is_jaxs():
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    jnp = jax.numpy

    def with_library(scan, np):
        def f(xs):
            body = lambda c, x: (np.sin(c) * x + c, c * c)
            carry, ys = scan(body, 0.5, xs, reverse=True)
            return carry + np.sum(ys * np.arange(len(xs)))

        return f

    expected = jax.grad(with_library(jax.lax.scan, jnp))(XS)
    for checkpoint in CHECKPOINTS:
        scan = functools.partial(ad.scan, checkpoint=checkpoint)
        np.testing.assert_allclose(ad.grad(with_library(scan, np))(XS), expected, rtol=1e-14)


def test_scan_without_xs_and_without_ys():
    double = lambda x: ad.scan(lambda c, _: (c * 2, None), x, length=10)
    assert double(1.5) == (1.5 * 2**10, None)
    assert ad.grad(lambda x: double(x)[0])(1.5) == 2.0**10
    assert ad.grad(lambda x: ad.scan(lambda c, _: (c * 2, None), x, length=0)[0])(1.5) == 1.0
    f = lambda x: ad.scan(lambda c, _: (c * x, None), 1.0, length=0, checkpoint=2)[0] + x
    assert ad.grad(f)(1.5) == 1.0


@pytest.mark.parametrize("checkpoint", CHECKPOINTS)
def test_what_a_loop_uses_without_being_given_it(checkpoint):
    def f(a, x):
        return ad.fori_loop(0, 6, lambda i, v: v * a + i, x, checkpoint=checkpoint)

    a, x = 0.7, 1.3  # x a⁶ + Σ i a^(5 - i)
    in_a = 6 * x * a**5 + sum(i * (5 - i) * a ** (4 - i) for i in range(6))
    assert ad.grad(f, (0, 1))(a, x) == pytest.approx((in_a, a**6), rel=1e-13)


@pytest.mark.parametrize("checkpoint", CHECKPOINTS)
def test_while_loops_go_back_as_well(checkpoint):
    def root(a):
        far = lambda x: abs(x * x - a) > 1e-14 * a
        return ad.while_loop(far, lambda x: (x + a / x) / 2, a, checkpoint=checkpoint)

    for a in (2.0, 30.0):
        assert root(a) == pytest.approx(a**0.5, rel=1e-14)
        assert ad.grad(root)(a) == pytest.approx(0.5 * a**-0.5, rel=1e-13)
        assert ad.grad(ad.grad(root))(a) == pytest.approx(-0.25 * a**-1.5, rel=1e-12)
        assert ad.jvp(root, (a,), (1.0,))[1] == pytest.approx(0.5 * a**-0.5, rel=1e-13)


def test_a_while_loop_may_take_no_step():
    f = lambda x: ad.while_loop(lambda v: v < 0, lambda v: v * v, x, checkpoint=1)
    assert ad.grad(f)(3.0) == 1.0


def test_fewer_snapshots_retain_less():
    def f(x, checkpoint):
        return np.sum(
            ad.fori_loop(0, 256, lambda i, v: np.sin(v) * 0.9 + x, x, checkpoint=checkpoint)
        )

    x = np.linspace(0.1, 1.0, 50)
    expected = ad.grad(lambda x: f(x, None))(x)
    runs = itertools.count()

    def counted(i, v, x):
        next(runs)
        return np.sin(v) * 0.9 + x

    loop = ad.loop(counted, 256, snapshots=8)
    np.testing.assert_allclose(ad.grad(lambda x: np.sum(loop(x, x)))(x), expected, rtol=1e-13)
    steps = next(runs)  # the value, what is computed again, and each step once more to record it
    assert steps == 256 + ad.schedule(256, 8).evaluations + 256


def test_cond_takes_one_branch():
    def never(x):
        raise AssertionError

    f = lambda x: ad.cond(x > 0, lambda x: x**3, never, x)
    assert ad.grad(f)(2.0) == 12.0
    assert ad.cond(False, never, lambda a, b: a - b, 5, 3) == 2


@given(
    st.lists(st.floats(-2, 2).filter(lambda x: x == 0 or abs(x) > 1e-6), min_size=1, max_size=12),
    st.sampled_from(CHECKPOINTS),
    st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_sums_and_products(xs, checkpoint, reverse):
    xs = np.array(xs)
    f = lambda xs: ad.scan(
        lambda c, x: ((c[0] + x, c[1] * x), c[0]), (0.0, 1.0), xs,
        reverse=reverse, checkpoint=checkpoint,
    )  # fmt: skip
    (added, product), before = f(xs)
    along = xs[::-1] if reverse else xs
    sums = np.concatenate([[0.0], np.cumsum(along)[:-1]])
    np.testing.assert_allclose(added, np.sum(xs), rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(product, np.prod(xs), rtol=1e-13)
    np.testing.assert_allclose(before, sums[::-1] if reverse else sums, rtol=1e-12, atol=1e-13)
    others = [np.prod(np.delete(xs, i)) for i in range(len(xs))]
    np.testing.assert_allclose(ad.grad(lambda xs: f(xs)[0][1])(xs), others, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ad.scan(lambda c, x: c, 0.0, XS), r"returns \(carry, y\).*return carry, None"),
        (lambda: ad.scan(lambda c, x: (c, x), 0.0, 3.0), "first axis of arrays; 3.0 has none"),
        (lambda: ad.scan(lambda c, x: (c, x), 0.0), "xs of one length, or length"),
        (lambda: ad.scan(lambda c, x: (c, x), 0.0, XS, length=4), r"lengths \[4, 5\]"),
        (lambda: ad.scan(lambda c, x: (c, x), 0.0, length=-1), "no less than 0 steps"),
        (lambda: ad.scan(lambda c, x: (XS, x), 0.0, XS), r"began as \(\) and became \(5,\)"),
        (lambda: ad.scan(lambda c, x: ((c, c), x), 0.0, XS), "structure"),
        (lambda: ad.scan(lambda c, x: (c, x), 0.0, XS, checkpoint=0), "a snapshot at least"),
        (lambda: ad.fori_loop(0, 2.5, lambda i, v: v, 1.0), "while_loop ends"),
        (lambda: ad.fori_loop(0, 3, lambda i, v: (v, v), 1.0), "structure"),
        (lambda: ad.while_loop(1, lambda v: v, 1.0), "function"),
        (lambda: ad.cond(True, 1.0, lambda: 2.0), "function"),
    ],
)
def test_what_is_refused(call, message):
    with pytest.raises(ad.ArgumentError, match=message):
        call()


def test_a_loop_of_one_step_with_snapshots():
    """Of 3 (2 w + x) + 2 x."""
    step = lambda w: lambda c, x: (c * w + x, c * x)

    def f(w, xs):
        last, ys = ad.scan(step(w), 2.0, xs, checkpoint=1)
        return 3 * last + np.sum(ys)

    slope, slopes = ad.grad(f, (0, 1))(0.7, np.array([5.0]))
    assert slope == 6.0
    assert slopes.tolist() == [5.0]


# Batches whose examples take different numbers of steps, or different branches. ------------------

NUMBERS = np.array([2.0, 3.0, 100.0, 0.25])


def find_root(a, **how):
    """Newton's method: 0.25 takes other steps than 100."""
    return ad.while_loop(lambda x: abs(x * x - a) > 1e-13 * a, lambda x: (x + a / x) / 2, a, **how)


@pytest.mark.parametrize("how", [{}, {"checkpoint": 2}], ids=["", "checkpoint"])
def test_a_while_loop_of_a_batch_goes_on_for_those_that_need_it(how):
    root = lambda a: find_root(a, **how)
    slopes, curvature = 0.5 / np.sqrt(NUMBERS), -0.25 * NUMBERS**-1.5
    np.testing.assert_allclose(ad.vmap(root)(NUMBERS), np.sqrt(NUMBERS), rtol=1e-12)
    np.testing.assert_array_equal(ad.vmap(root)(NUMBERS), [root(a) for a in NUMBERS])
    for way in (ad.vmap(ad.grad(root)), ad.vmap(ad.jacfwd(root))):
        np.testing.assert_allclose(way(NUMBERS), slopes, rtol=1e-12)
    outside = ad.grad(lambda a: np.sum(ad.vmap(root)(a)))
    np.testing.assert_allclose(outside(NUMBERS), slopes, rtol=1e-12)
    np.testing.assert_allclose(ad.vmap(ad.grad(ad.grad(root)))(NUMBERS), curvature, rtol=1e-9)
    nested = ad.vmap(ad.vmap(root))(NUMBERS.reshape(2, 2))
    np.testing.assert_allclose(nested, np.sqrt(NUMBERS).reshape(2, 2), rtol=1e-12)


def test_a_while_loop_of_a_batch_with_a_structure_for_its_state():
    def count_doublings(a):
        double = lambda s: {"x": s["x"] * 2, "n": s["n"] + 1}
        return ad.while_loop(lambda s: s["x"] < a, double, {"x": 1.0, "n": 0.0})["n"]

    np.testing.assert_array_equal(ad.vmap(count_doublings)(NUMBERS), [1, 2, 7, 0])


@pytest.mark.filterwarnings("ignore")  # of log(0), whose branch is not taken
def test_cond_of_a_batch_selects_for_each_example():
    f = lambda x: ad.cond(x > 0, lambda x: {"y": np.log(x) * x}, lambda x: {"y": -x}, x)["y"]
    x = np.array([2.0, -1.0, 0.0, 3.0])
    np.testing.assert_allclose(ad.vmap(f)(x), [f(number) for number in x], rtol=1e-15)
    expected = [1 + np.log(2), -1, -1, 1 + np.log(3)]
    np.testing.assert_allclose(ad.vmap(ad.grad(f))(x), expected, rtol=1e-15)
    np.testing.assert_allclose(ad.vmap(ad.jacfwd(f))(x), expected, rtol=1e-15)


def write_below(v):
    v[0] = 3.0 * v[1]
    return v


def write_above(v):
    v[1:] = v[0] ** 2
    return v


WRITTEN_ROWS = np.array([[1.0, 2.0, 0.5], [0.5, 0.25, 3.0], [2.0, 0.5, 1.0]])


def choose_writer(x):
    v = np.sin(x)
    return v * ad.cond(x[0] > 0.75, write_below, write_above, v)


def double_until_far(x):
    def step(v):
        v *= 2.0
        v[0] += x[1]
        return v

    v = np.exp(x)
    return v * ad.while_loop(lambda v: np.sum(v) < 50, step, v)


@pytest.mark.parametrize("f", [choose_writer, double_until_far])
@pytest.mark.parametrize("jit", [False, True])
def test_what_one_example_writes_is_not_seen_by_the_others(f, jit):
    """A batch runs both functions of a cond, and further steps of a loop than an example takes."""

    def expected(x):
        v = np.sin(x) if f is choose_writer else np.exp(x)
        w = v.copy()
        if f is choose_writer:
            return v * (write_below(w) if x[0] > 0.75 else write_above(w))
        while np.sum(w) < 50:
            w = w * 2.0
            w[0] += x[1]
        return v * w

    for transform in (lambda f: f, ad.jacrev, ad.jacfwd):
        rows = ad.vmap(transform(f))
        rows = ad.jit(rows) if jit else rows
        answers = np.array([transform(expected)(row) for row in WRITTEN_ROWS])
        for _ in range(2):
            np.testing.assert_allclose(rows(WRITTEN_ROWS), answers, rtol=1e-13)
        alone = [transform(f)(row) for row in WRITTEN_ROWS]
        np.testing.assert_allclose(alone, answers, rtol=1e-13)


class Holder:
    def __init__(self, x):
        self.v = x * 1.0

    def write(self):
        self.v[0] = 2.0
        return self.v[1]


def write_by_closure(x, write):
    v = x * 1.0
    view = v[:1]

    def change():
        write(v, view)
        return x[1]

    return v * ad.cond(x[0] > 0.75, change, lambda: x[0])


def write_by_method(x):
    held = Holder(x)
    return held.v * ad.cond(x[0] > 0.75, held.write, lambda: x[0])


def write_in_steps(x):
    v = x * 1.0

    def step(s):
        v[0] += s
        return 2 * s

    return v * ad.while_loop(lambda s: s < 20, step, x[0])


def write_to_constants(x):
    v = np.zeros(3)

    def change():
        v[0] = 1.0
        return x[1]

    return v * ad.cond(x[0] > 0.75, change, lambda: x[0])


WRITES_OUTSIDE = {
    "an element": lambda x: write_by_closure(x, lambda v, view: v.__setitem__(0, 2.0)),
    "a view": lambda x: write_by_closure(x, lambda v, view: view.fill(2.0)),
    "all": lambda x: write_by_closure(x, lambda v, view: v.__imul__(2.0)),
    "an attribute": write_by_method,
    "steps": write_in_steps,
    "constants": write_to_constants,
}


@pytest.mark.parametrize("name", WRITES_OUTSIDE)
def test_examples_do_not_write_to_arrays_of_outside(name):
    f = WRITES_OUTSIDE[name]
    for rows in (ad.vmap(f), ad.vmap(ad.jacrev(f)), ad.jit(ad.vmap(f))):
        with pytest.raises(ad.errors.TraceError, match="writes to an array of outside"):
            rows(WRITTEN_ROWS)
    for transform in (lambda f: f, ad.jacrev):
        alone = [transform(f)(row) for row in WRITTEN_ROWS]
        parted = ad.vmap(transform(f), branches="both")(WRITTEN_ROWS)
        np.testing.assert_allclose(parted, alone, rtol=1e-14)


def test_examples_may_read_arrays_of_outside():
    def f(x):
        v, weights = x * 1.0, np.arange(3.0)
        v[0] = x[1]

        def one(t):
            t[0] = np.sum(v * weights)
            return t

        return ad.cond(x[0] > 0.75, one, lambda t: t * v[1:2] + weights, v) * v

    answers = [f(row) for row in WRITTEN_ROWS]
    np.testing.assert_allclose(ad.vmap(f)(WRITTEN_ROWS), answers, rtol=1e-15)


def test_what_a_function_of_cond_writes_shows_in_what_it_returns():
    v = np.array([1.0, 2.0])
    np.testing.assert_array_equal(ad.cond(True, write_below, write_above, v), [6.0, 2.0])
    np.testing.assert_array_equal(v, [1.0, 2.0])


def write_state(i, state):
    a, v = state
    v[0] = v[0] * v[1] * a
    v[1:] *= 0.9
    return a, v


@pytest.mark.parametrize("checkpoint", [None, 1, 2, 3, 9])
@pytest.mark.parametrize("jit", [False, True])
def test_what_a_step_writes_shows_in_what_it_returns(checkpoint, jit):
    def looped(x):
        v = np.sin(x)
        last = ad.fori_loop(0, 5, write_state, (x[0], v), checkpoint=checkpoint)[1]
        return np.sum(last**2) + np.sum(v**3)

    def plain(x):
        v = np.sin(x)
        state = x[0], v.copy()
        for i in range(5):
            state = write_state(i, state)
        return np.sum(state[1] ** 2) + np.sum(v**3)

    x = np.array([1.1, 0.7, 1.3])
    for transform in (lambda f: f, ad.grad, ad.hessian):
        derivative = ad.jit(transform(looped)) if jit else transform(looped)
        for _ in range(2):
            np.testing.assert_allclose(derivative(x), transform(plain)(x), rtol=1e-12)


@pytest.mark.parametrize("checkpoint", [None, 1, 9])
@pytest.mark.parametrize("jit", [False, True])
def test_each_y_is_what_it_was_at_its_step(checkpoint, jit):
    def step(v, t):
        v[0] = v[0] * t[0]
        t[1] = 5.0
        return v, v

    def f(x):
        xs = np.stack([x, x + 1.0, x + 2.0])
        last, ys = ad.scan(step, np.ones(2) * x[0], xs, checkpoint=checkpoint)
        return np.sum(ys[:, 0]) + last[0] + np.sum(xs[:, 1])

    def expected(x):  # v = a, a², a² (a + 1), ...
        a, b = x
        rows = a * a + a * a * (a + 1) + a * a * (a + 1) * (a + 2)
        return rows + a * a * (a + 1) * (a + 2) + 3 * b + 3

    x = np.array([0.5, 0.25])
    for transform in (lambda f: f, ad.grad, ad.hessian):
        derivative = ad.jit(transform(f)) if jit else transform(f)
        for _ in range(2):
            np.testing.assert_allclose(derivative(x), transform(expected)(x), rtol=1e-12)


@pytest.mark.parametrize("checkpoint", [1, 2, 9])
def test_constants_that_a_step_writes_to(checkpoint):
    calls = []

    def step(i, state):
        calls.append(i)
        a, v = state
        v[0] = v[0] * 1.5 + 0.1
        v[1] = a
        return np.sin(a * v[0]), v

    def looped(x):
        a, v = ad.fori_loop(0, 6, step, (x, np.ones(3)), checkpoint=checkpoint)
        return a * v[0] + v[1]

    def plain(x):
        state = x, np.ones(3)
        for i in range(6):
            state = step(i, state)
        return state[0] * state[1][0] + state[1][1]

    calls.clear()
    found = ad.grad(looped)(0.7)
    assert len(calls) > 6, "steps are computed again, from few states"
    assert found == pytest.approx(ad.grad(plain)(0.7), rel=1e-12)
    assert ad.hessian(looped)(0.7) == pytest.approx(ad.hessian(plain)(0.7), rel=1e-12)
    assert ad.grad(ad.grad(looped))(0.7) == pytest.approx(ad.hessian(plain)(0.7), rel=1e-12)
