"""Programs on arrays: compiled = NumPy line by line = as the function is."""

import gc
import math
import sys
import threading
import warnings
from weakref import ref

import numpy as np
import pytest
from simpleautodiff.scipy.special import logsumexp

import simpleautodiff as ad
from array_programs import PRODUCTS, agree, close, record, uses
from simpleautodiff.compiled.array.loops import Access, Fold, Loop
from simpleautodiff.compiled.array.simplify import clean
from simpleautodiff.compiled.running import array_program, array_runner
from simpleautodiff.compiled.running.array_program import ArrayProgram
from simpleautodiff.compiled.scalar.lower_rows import LOWERED_ROWS
from simpleautodiff.compiled.scalar.scalar_program import ScalarProgram
from simpleautodiff.core.level import apply
from simpleautodiff.rules.row import TABLE
from tiers import TIERS, answers

pytest.importorskip("llvmlite")


@pytest.fixture(autouse=True)
def no_disk(monkeypatch):
    monkeypatch.setenv("SIMPLEAUTODIFF_CACHE", "off")


rng = np.random.default_rng(5)
SIZES = [1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64, 100, 1000]


def chain(x):
    return np.sum(np.sin(x) * np.exp(-(x**2)) + np.log(1 + x**2))


@pytest.mark.parametrize("n", SIZES)
def test_elementwise_chains_and_sums_at_every_size(n):
    program = agree(ad.value_and_grad(chain), rng.normal(size=n))
    assert sum(line.startswith("loop") for line in program.explain()) == 1
    agree(ad.value_and_grad(lambda x: logsumexp(x)), rng.normal(size=n))


@pytest.mark.parametrize("n", [1, 5, 16, 17, 33, 1000])
def test_float32_stays_float32(n):
    x = rng.normal(size=n).astype(np.float32)
    agree(ad.value_and_grad(chain), x, rtol=1e-5, atol=1e-5)
    agree(lambda x: (x > 0.1, np.where(x > 0, x, 0.5), x / 3), x, rtol=1e-6)


EDGES = [0.0, -0.0, 0.3, -0.7, 1.0, -1.0, 2.5, -8.0, 1e-300, -3e5, np.inf, -np.inf, np.nan]


@pytest.mark.parametrize("name", sorted(LOWERED_ROWS))
def test_every_row_on_arrays(name):
    """Rows that are computed element by element, at ordinary numbers and at the edges."""
    primitive = TABLE[name]
    edges = EDGES if name != "sinc" else EDGES[:-3]  # sin(inf) is an error outside of programs
    x = np.array([*edges, *np.random.default_rng(2).normal(size=20)])
    args = [np.roll(x, 5 * k) for k in range(primitive.arity)]
    with np.errstate(all="ignore"):
        agree(lambda *xs: apply(primitive, *xs), *args, rtol=1e-13, atol=1e-16)


def test_special_numbers_go_through():
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-310, 1e308, -1.5, 2.0])
    agree(lambda x: (np.exp(x), np.log(x), np.sqrt(x), np.max(x), np.sum(x), x == x), x)
    agree(lambda x: (np.max(x), np.min(x), np.isnan(x), np.isfinite(x), -x), x)


@pytest.mark.parametrize(
    "shape", [(3, 4), (5, 9, 7), (100, 3), (3, 100), (2, 1, 17), (1, 1), (40,)]
)
def test_reductions_over_any_axes(shape):
    x = rng.normal(size=shape)
    axes = [None, *range(len(shape)), tuple(range(len(shape)))]
    axes += [(0, len(shape) - 1)] if len(shape) > 1 else []
    for axis in axes:
        for keep in (False, True):
            agree(
                lambda x, axis=axis, keep=keep: (
                    np.sum(x * x, axis=axis, keepdims=keep),
                    np.max(x, axis=axis, keepdims=keep),
                    np.min(x + 1, axis=axis, keepdims=keep),
                    np.mean(x, axis=axis, keepdims=keep),
                    np.sum(x > 0, axis=axis, keepdims=keep),
                ),
                x,
            )


@pytest.mark.parametrize("shape", [(400, 3), (400, 1), (33, 8), (9, 50, 2), (64, 4, 3), (3, 70)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_short_last_axes(shape, dtype):
    x = rng.normal(size=shape).astype(dtype)
    tolerance = (
        {"rtol": 1e-12, "atol": 1e-12} if dtype is np.float64 else {"rtol": 2e-4, "atol": 2e-4}
    )
    length = lambda x: np.sqrt(np.sum(x * x, axis=-1))
    agree(ad.value_and_grad(lambda x: np.sum(length(x))), x, **tolerance)
    agree(lambda x: (x / length(x)[..., None], np.max(x, axis=-1), np.sum(x, 0)), x, **tolerance)
    agree(lambda x: (np.sum(x), np.sum(x > 0, axis=-1), x * x.mean(axis=0)), x, **tolerance)


def test_a_long_sum_is_as_exact_as_a_pairwise_one():
    x = np.random.default_rng(5).uniform(size=1_000_003)
    got = ArrayProgram(record(np.sum, x)).run([x])[1][0]
    assert abs(got - math.fsum(x)) <= 4 * abs(np.spacing(math.fsum(x)))
    tenths = np.full(2_000_000, 0.1)  # rounding goes one way, again and again
    got = ArrayProgram(record(np.sum, tenths)).run([tenths])[1][0]
    one_by_one = np.cumsum(tenths)[-1]
    assert abs(got - 200_000) < abs(one_by_one - 200_000) / 100


def test_broadcasting_and_its_undoing():
    a, b = rng.normal(size=(6, 1, 5)), rng.normal(size=(4, 1))
    agree(ad.grad(lambda p: np.sum(np.sin(p[0] * p[1]) / (2 + p[1]))), (a, b))
    agree(lambda a, b: a + b, a, b)


def test_views_are_not_copied():
    x = rng.normal(size=(6, 8))
    program = agree(lambda x: np.sum(np.exp(x.T[1:3, ::-1] * x[:, 2:4].T)), x)
    assert sum(line.startswith("loop") for line in program.explain()) == 1
    agree(lambda x: (x.T.reshape(-1) * 2, x.T, x[2], x[:, 3], x[1, 1], x.reshape(4, 12).T), x)
    agree(ad.grad(lambda x: np.sum(np.tanh(x.T.reshape(3, 16))[::2, ::-3] ** 2)), x)


def test_gathers_scatters_and_written_arrays():
    x, index = rng.normal(size=50), rng.integers(-50, 50, 300)
    agree(ad.grad(lambda x: np.sum(np.sin(x[index]) * np.arange(300.0))), x)
    agree(ad.grad(lambda x: np.sum(x[np.array([3, 1, -1])] ** 3)), x)
    m = rng.normal(size=(7, 9))
    agree(ad.grad(lambda m: np.sum(m[[0, 2, 2], [1, 1, 8]] ** 2)), m)
    agree(ad.grad(lambda m: np.sum(np.exp(m[:, [3, 3, 0]]))), m)

    def written(m):
        y = np.zeros_like(m)
        y[1:4] = m[2:5] * 2
        y[:, 0] = 1.0
        return np.sum(np.sin(y) * m)

    agree(ad.value_and_grad(written), m)


def test_rows_by_index_go_along():
    table, index = rng.normal(size=(20, 5)), rng.integers(-20, 20, (3, 7))
    agree(ad.value_and_grad(lambda t: np.sum(np.sin(t[index]) ** 2)), table)
    agree(ad.value_and_grad(lambda t: np.sum(np.sin(t.T[[1, 1, 0]]) ** 2)), table)
    agree(ad.value_and_grad(lambda t: np.sum(t[index[0], index[1] % 5] ** 2)), table)
    agree(ad.grad(lambda t: np.sum(t[index, 2] ** 3)), table)
    thin = rng.normal(size=(20, 1))
    agree(ad.grad(lambda t: np.sum(t[index] ** 2)), thin)
    agree(lambda t: t[np.arange(20) % 3 == 0] * 2, table)


@pytest.mark.parametrize("width", [1, 5, 9])
def test_indices_that_are_arguments(width):
    table = rng.normal(size=(12, width))
    index = rng.integers(-12, 12, 30)

    def f(t, k):
        return np.sum(np.sin(t[k]) * t[k[0]]) + np.sum(t[k, 0] ** 2)

    program = agree(lambda t, k: ad.value_and_grad(f)(t, k), table, index)
    assert not any(line.startswith("NumPy") for line in program.explain())
    wrong = index.copy()
    for bad in (12, -13):
        wrong[17] = bad
        with pytest.raises(IndexError):
            program.run([table, wrong])


def test_indices_that_are_arguments_of_a_forward_jacobian():
    table, index = rng.normal(size=(6, 2)), rng.integers(-6, 6, (4, 3))
    program = agree(lambda t, k: ad.jacfwd(lambda t: np.sin(t[k]))(t), table, index)
    _, (jacobian,) = program.run([table, index])
    places = np.eye(12).reshape(6, 2, 6, 2)[index]  # d t[k] / d t
    np.testing.assert_allclose(jacobian, np.cos(table[index])[..., None, None] * places)


def test_joined_rolled_and_summed_up_arrays():
    x, y = rng.normal(size=(5, 6)), rng.normal(size=(5, 2))
    agree(lambda x, y: np.concatenate([x, y * 2, np.ones((5, 3))], axis=1), x, y)
    agree(ad.grad(lambda p: np.sum(np.concatenate([p[0].T, p[1].T]) ** 3)), (x, y))
    agree(lambda x: np.roll(x, (2, -3), (0, 1)), x)
    agree(lambda x: (np.cumsum(x), np.cumsum(x, axis=0), np.cumsum(x, axis=1)), x)
    agree(ad.grad(lambda x: np.sum(np.cumsum(x, axis=1) ** 2)), x)
    agree(lambda x: np.stack([x, 2 * x]), x)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_products_go_to_blas(dtype):
    tolerance = {"rtol": 1e-12 if dtype is np.float64 else 1e-4, "atol": 1e-4}
    a, b = rng.normal(size=(5, 7)).astype(dtype), rng.normal(size=(7, 4)).astype(dtype)
    v, w = rng.normal(size=7).astype(dtype), rng.normal(size=5).astype(dtype)
    program = agree(
        lambda a, b, v, w: (a @ b, b.T @ a.T, a @ v, w @ a, v @ v, a.T @ w, a[::2, 1:] @ b[1:]),
        a, b, v, w, **tolerance,
    )  # fmt: skip
    assert uses(program, PRODUCTS) == 7
    agree(lambda a, b: (a[:, ::2] @ b[::2], a[::-1] @ b, a[:, ::-1] @ b), a, b, **tolerance)
    agree(
        lambda a, v: (a[:1] @ v, a[:, :1] @ v[:1], a[:1].T @ a[:1], v[::3] @ v[::3]),
        a,
        v,
        **tolerance,
    )
    agree(ad.grad(lambda p: np.sum(np.tanh(p[0] @ p[1] @ p[1].T) ** 2)), (a, b), **tolerance)
    agree(lambda a: a @ np.eye(7, dtype=a.dtype), a, **tolerance)


@pytest.mark.parametrize(
    "subscripts", ["ij,jk->ik", "ij,jk->ki", "ji,jk->ik", "ij,kj->ik", "ij,kj->ki"]
)
def test_einsum_of_two_matrices_goes_to_blas(subscripts):
    sizes = {"i": 4, "j": 6, "k": 5}
    left, right = (
        rng.normal(size=[sizes[c] for c in term]) for term in subscripts.split("->")[0].split(",")
    )
    program = agree(lambda a, b: np.einsum(subscripts, a, b), left, right)
    assert uses(program, PRODUCTS) == 1
    agree(ad.grad(lambda p: np.sum(np.einsum(subscripts, *p) ** 2)), (left, right))


@pytest.mark.parametrize(
    ("subscripts", "shapes"),
    [("ij,j->i", [(4, 6), (6,)]), ("j,ij->i", [(6,), (4, 6)]), ("i,i->", [(6,), (6,)]),
     ("i,j->ij", [(3,), (5,)]), ("bij,bjk->bik", [(9, 2, 3), (9, 3, 2)]),
     ("ij,ij->i", [(4, 5)] * 2), ("ij->ji", [(4, 5)]), ("ij->i", [(4, 5)]),
     ("ij->j", [(4, 5)]), ("ij,ik->", [(4, 5), (4, 3)]), ("ii->i", [(4, 4)]),
     ("i,ij,j->", [(3,), (3, 4), (4,)])],
)  # fmt: skip
def test_einsum_of_other_forms(subscripts, shapes):
    arrays = [rng.normal(size=shape) for shape in shapes]
    agree(lambda *xs: np.einsum(subscripts, *xs), *arrays)
    agree(ad.grad(lambda p: np.sum(np.sin(np.einsum(subscripts, *p)))), tuple(arrays))


def test_products_of_many_small_matrices():
    a, b = rng.normal(size=(50, 3, 3)), rng.normal(size=(50, 3, 2))
    program = agree(lambda a, b: a @ b, a, b)
    assert uses(program, "NumPy") == 0
    agree(lambda a, b: (a[:2, None] @ b[3:7], a[0] @ b, a @ b[0]), a, b)
    agree(ad.vmap(ad.grad(lambda a: np.sum(np.tanh(a @ a) ** 2))), a)


def test_gradient_of_a_network():
    def loss(p, inputs, targets):
        (w1, b1), (w2, b2) = p
        return np.mean((np.tanh(inputs @ w1 + b1) @ w2 + b2 - targets) ** 2)

    layers = [(rng.normal(size=(4, 8)), rng.normal(size=8)), (rng.normal(size=(8, 2)), np.zeros(2))]
    program = agree(
        ad.value_and_grad(loss), layers, rng.normal(size=(60, 4)), rng.normal(size=(60, 2))
    )
    assert not any(line.startswith("NumPy") for line in program.explain())


def test_logistic_regression_and_its_hessian_products():
    x, y = rng.normal(size=(40, 5)), (rng.uniform(size=40) < 0.5).astype(float)

    def loss(w):
        z = x @ w
        return np.sum(np.logaddexp(0, z) - y * z)

    w = rng.normal(size=5)
    agree(ad.value_and_grad(loss), w)
    agree(ad.hessian(loss), w)
    agree(lambda w, v: ad.jvp(ad.grad(loss), (w,), (v,)), w, rng.normal(size=5))


def test_physics_residuals():
    u = rng.normal(size=(12, 11))

    def residual(u):
        around = np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1)
        inner = (u[2:, 1:-1] + u[:-2, 1:-1] - 2 * u[1:-1, 1:-1]) * u[1:-1, 1:-1]
        return np.sum((around - 4 * u + u**3) ** 2) + np.sum(inner**2)

    agree(ad.value_and_grad(residual), u)


@ad.primitive(lambda v, x: 1.0)
def itself(x):
    return x


UNCHANGED = {
    "primitive": itself,
    "hook": lambda x: ad.on_adjoint(x, lambda bar: bar),
    "name": lambda x: ad.checkpoint_name(x, "kept"),
}


@pytest.mark.parametrize("name", sorted(UNCHANGED))
def test_what_returns_its_argument_keeps_its_numbers(name):
    """Its memory is not used again, and is neither the caller's nor that of another result."""
    same = UNCHANGED[name]

    def steps(x):
        for _ in range(3):
            x = same(3 * np.sin(x))
        return x, same(x)

    derivatives = ad.jacfwd(lambda x: steps(x)[0]), ad.grad(lambda x: np.sum(steps(x)[1]))
    jacobian, gradient = [ad.jit(derivative, tier="optimised") for derivative in derivatives]
    for x in (np.array([0.3, -0.7, 1.2]), np.array([1.0, 2.0, -0.5])):
        slope, at = np.ones(3), x
        for _ in range(3):
            slope, at = slope * 3 * np.cos(at), 3 * np.sin(at)
        assert np.allclose(jacobian(x), np.diag(slope), 1e-12)
        assert np.allclose(gradient(x), slope, 1e-12)

    both = ad.jit(lambda x: (same(x), *steps(x)), tier="optimised")
    x = np.array([0.3, -0.7, 1.2])
    for _ in range(3):  # the first call is that of the function itself
        unchanged, third, again = both(x)
    for result in (unchanged, third, again):
        result += 1.0
    assert np.array_equal(x, [0.3, -0.7, 1.2])
    assert np.array_equal(unchanged, x + 1)
    assert np.array_equal(third, again)
    assert np.allclose(third - 1, 3 * np.sin(3 * np.sin(3 * np.sin(x))))


@pytest.mark.parametrize("tier", ["tape", "numpy", "optimised"])
def test_a_function_may_keep_its_arguments_and_its_result(tier):
    """One that remembers its last call sees arrays that nobody changes afterwards."""
    last = []

    @ad.primitive(lambda v, x: 2 * x, points=[1.5])
    def squared(x):
        if not last or not np.array_equal(last[0], x):
            last[:] = [x, x * x]
        return last[1]

    for size in (3, 40, 3000):
        start = np.linspace(-1.0, 2.0, size)
        compiled = ad.jit(lambda x: squared(np.sin(x)), tier=tier)
        for scale in (1.0, 0.5, 2.0, 0.5):
            x = scale * start
            assert np.allclose(compiled(x), np.sin(x) ** 2, 1e-12)
            compiled(x)[...] = 0.0
            assert np.allclose(compiled(x), np.sin(x) ** 2, 1e-12)


def test_what_numpy_has_to_do_is_done_by_it_in_the_same_program():
    x = rng.normal(size=30)
    program = agree(
        ad.value_and_grad(lambda x: np.sum(np.sin(np.sort(np.exp(x))) * np.arange(30.0))), x
    )
    assert any("NumPy: argsort" in line for line in program.explain())
    assert any(line.startswith("loop") for line in program.explain())
    m = rng.normal(size=(4, 4)) + 4 * np.eye(4)
    agree(ad.value_and_grad(lambda m: np.sum(np.linalg.solve(m, np.sin(m[0])) ** 2)), m)
    agree(lambda m: np.linalg.inv(m).T, m)
    whole = np.arange(5, dtype=np.int32)
    agree(lambda x, k: x[:5] * k, x, whole)
    agree(lambda z: np.abs(z * z), rng.normal(size=4) + 1j)


def test_batches():
    x = rng.normal(size=(20, 6))
    agree(ad.vmap(ad.grad(lambda v: np.sum(np.sin(v) * v[0]) + np.max(v))), x)
    agree(ad.vmap(ad.hessian(lambda v: np.prod(v[:3]) + np.sum(v**3))), x)


def test_empty_arrays_and_single_numbers():
    agree(lambda x: (np.sum(x), x * 2, np.sin(x[:0])), np.zeros(0))
    agree(lambda x: (np.sum(x, axis=0), np.concatenate([x, x])), np.zeros((0, 3)))
    agree(lambda s, x: (s * x, np.sum(x) * s, s + 1, s), 2.5, rng.normal(size=9))
    agree(lambda s: (s * s, np.sin(s)), np.float32(0.5), rtol=1e-6)


def test_inputs_of_any_layout():
    x = rng.normal(size=(8, 6))
    program = ArrayProgram(record(lambda x: np.exp(x) + x[0], x))
    for given in (x, np.asfortranarray(x), np.repeat(x, 2, 1)[:, ::2], x[::-1][::-1]):
        np.testing.assert_allclose(program.run([given])[1][0], np.exp(x) + x[0], 1e-14, 1e-15)
    raw = np.zeros(8 * 48 + 1, np.uint8)
    odd = raw[1:].view(np.float64).reshape(8, 6)
    odd[...] = x
    np.testing.assert_allclose(program.run([odd])[1][0], np.exp(x) + x[0], 1e-14, 1e-15)
    locked = x.copy()
    locked.flags.writeable = False
    np.testing.assert_allclose(program.run([locked])[1][0], np.exp(x) + x[0], 1e-14, 1e-15)


def test_equal_steps_of_a_loop_are_compiled_once():
    def f(x):
        for _ in range(20):
            x = x + 0.1 * np.roll(np.sin(x), 1)
        return np.sum(x)

    x = rng.normal(size=50)
    program = agree(ad.value_and_grad(f), x)
    assert program.ir.count("define internal void @loop") < 12
    assert uses(program, "loop") > 30


def test_other_shapes_are_refused():
    program = ArrayProgram(record(np.exp, np.zeros(4)))
    with pytest.raises(ad.ArgumentError, match=r"shape \(5,\)"):
        program.run([np.zeros(5)])


@pytest.mark.parametrize("large", [False, True])
def test_large_results_are_used_again_only_when_nobody_has_them(large, monkeypatch):
    x = rng.normal(size=100)
    for module in (array_program, array_runner):
        monkeypatch.setattr(module, "REUSED_BYTES", x.nbytes + 1 - large)
    program = ArrayProgram(record(lambda x: 2 * x, x))
    kept = [program.run([x + k])[1][0] for k in range(5)]
    for k, result in enumerate(kept):
        np.testing.assert_array_equal(result, 2 * (x + k))
    part = program.run([x])[1][0][10:20]
    for _ in range(4):
        program.run([x + 1])
    np.testing.assert_array_equal(part, 2 * x[10:20])
    del part, result, kept
    first = ref(program.run([x])[1][0])
    is_reused = large and getattr(sys, "_is_gil_enabled", lambda: True)()
    assert (first() is not None) == is_reused  # it is kept to be filled again
    others = [program.run([x + k])[1][0] for k in range(2)]  # of the two that it remembers
    assert any(first() is other for other in others) == is_reused
    for k, result in enumerate(others):
        np.testing.assert_array_equal(result, 2 * (x + k))


def test_results_that_are_inputs_constants_or_the_same():
    x = rng.normal(size=5)
    constant = np.arange(3.0)
    status, got = ArrayProgram(record(lambda x: (x, x, x[1:], constant, 2 * x, 2 * x), x)).run([x])
    assert status == 0
    for i, result in enumerate(got):
        assert not any(
            np.shares_memory(result, o) for j, o in enumerate([*got, x, constant]) if i != j
        )
    np.testing.assert_array_equal(got[3], constant)
    got[0][:] = 0
    assert x.all()


@pytest.mark.parametrize("native", [True, False])
def test_guards_say_which_one_failed_first(native):
    def f(x):
        y = np.sum(x) if np.sum(x) > 0 else -np.sum(x)
        z = np.exp(x) if np.max(x) < 5 else x
        return y * z

    x = np.array([1.0, 2.0, -0.5])
    program = ArrayProgram(record(f, x), native=native)
    assert program.run([x])[0] == 0
    assert program.run([-x])[0] == 1
    assert program.run([x + 4])[0] == 2
    assert program.run([np.array([7.0, -20.0, 0.0])])[0] == 1
    np.testing.assert_allclose(program.run([x])[1][0], f(x), 1e-14)


def test_numpy_waits_for_the_guards_before_it():
    def f(m):
        if np.sum(m) > 0:
            return np.linalg.inv(m)
        return m

    program = ArrayProgram(record(f, np.eye(3)))
    assert program.run([np.zeros((3, 3))]) == (1, [])


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("n", [3, 20, 1000])
def test_a_result_is_not_written_over_what_is_still_read(kind, n):
    x, y = rng.normal(size=(n, 5)).astype(kind), rng.normal(size=n).astype(kind)
    agree(lambda x, y: (y * np.sum(y), np.sum(np.sum(x, axis=1))), x, y, rtol=1e-4, atol=1e-4)
    agree(lambda x, y: (np.sum(np.sum(x, 1)), np.sin(y)), x, y, rtol=1e-4, atol=1e-4)


def test_many_threads_at_once():
    x = [rng.normal(size=40_000) for _ in range(4)]
    program = ArrayProgram(record(ad.value_and_grad(chain), x[0]))
    expected = [program.run([v])[1] for v in x]
    wrong = []

    def work(k):
        for _ in range(30):
            value, gradient = program.run([x[k]])[1]
            if value != expected[k][0] or (gradient != expected[k][1]).any():
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_many_threads_with_memory_of_their_own():
    x = [rng.normal(size=(90, 100)) for _ in range(4)]
    f = lambda x: np.sum(np.sin(x).T.reshape(90, 100) * x)
    program = ArrayProgram(record(f, x[0]))
    assert program.memory.size > 1 << 15
    expected = [program.run([v])[1][0] for v in x]
    np.testing.assert_allclose(expected, [f(v) for v in x], 1e-11)
    wrong = []

    def work(k):
        wrong.extend(k for _ in range(200) if program.run([x[k]])[1][0] != expected[k])

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_code_lives_as_long_as_the_program():
    x = rng.normal(size=9)
    run = ArrayProgram(record(np.exp, x)).run
    gc.collect()
    np.testing.assert_allclose(run([x])[1][0], np.exp(x), 1e-14)


def test_precise_is_the_library():
    x = rng.normal(size=100)
    got = ArrayProgram(record(lambda x: np.sin(x) * x + 1, x), precise=True).run([x])[1][0]
    np.testing.assert_array_equal(got, np.array([math.sin(v) * v + 1 for v in x]))


# Random programs. ---------------------------------------------------------------------------------


def _unary(x, r):
    functions = [np.sin, np.tanh, np.exp, np.abs, np.negative, lambda x: x / 2, lambda x: x**2,
                 lambda x: np.sqrt(1 + x * x), lambda x: np.where(x > 0.1, x, 0.5 * x)]  # fmt: skip
    return functions[r.integers(len(functions))](np.clip(x, -3.0, 3.0))


def _shaped(x, r):
    n = x.ndim
    choices = [lambda: x.T, lambda: x.reshape(-1), lambda: x[..., ::-1],
               lambda: x[1:] if len(x) > 1 else x, lambda: np.expand_dims(x, 0),
               lambda: np.roll(x, 1, n - 1), lambda: np.cumsum(x, axis=0),
               lambda: np.concatenate([x, 2 * x], axis=n - 1),
               lambda: x[r.integers(0, len(x), 4)], lambda: np.swapaxes(x, 0, n - 1)]  # fmt: skip
    return choices[r.integers(len(choices))]()


def _reduced(x, r):
    axis = [None, 0, x.ndim - 1][r.integers(3)]
    keep = bool(r.integers(2))
    return [np.sum, np.max, np.mean, np.min][r.integers(4)](x, axis=axis, keepdims=keep)


def random_function(seed):
    def f(a, b):
        r = np.random.default_rng(seed)
        values = [a, b, a * 2 - 1]
        for _ in range(12):
            x = values[r.integers(len(values))]
            kind = r.integers(5)
            if kind == 0 and x.ndim:
                values.append(_shaped(x, r))
            elif kind == 1 and x.ndim:
                values.append(_reduced(x, r))
            elif kind == 2:
                values.append(_unary(x, r))
            else:
                y = values[r.integers(len(values))]
                try:
                    np.broadcast_shapes(x.shape, y.shape)
                except ValueError:
                    continue
                values.append([np.add, np.multiply, np.maximum, np.subtract][r.integers(4)](x, y))
        return tuple(values[-4:])

    return f


@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed):
    r = np.random.default_rng(1000 + seed)
    shape = tuple(r.integers(1, 10, r.integers(1, 4)).tolist())
    a, b = r.normal(size=shape), r.normal(size=shape[-1:])
    f = random_function(seed)
    agree(f, a, b, rtol=1e-10, atol=1e-10)
    agree(ad.grad(lambda p: sum(np.sum(np.sin(v)) for v in f(*p))), (a, b), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("seed", range(40, 48))
def test_random_programs_in_float32(seed):
    r = np.random.default_rng(1000 + seed)
    a, b = r.normal(size=(5, 18)).astype(np.float32), r.normal(size=18).astype(np.float32)
    agree(random_function(seed), a, b, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("lanes", [1, 2, 4, 16])
def test_every_width(lanes, monkeypatch):
    monkeypatch.setattr("simpleautodiff.compiled.backends.llvm.target.lanes", lambda: lanes)
    x = rng.normal(size=(5, 13))
    agree(ad.value_and_grad(chain), x)
    agree(
        ad.value_and_grad(
            lambda x: np.sum(np.roll(x, 2, 1) * x[1:2] + x.max(0)) + np.sum(x[2, 3:] ** 2)
        ),
        x,
    )
    agree(
        ad.grad(
            lambda x: np.sum(x[[1, 1, 2], ::2] ** 3) + np.sum(np.concatenate([x, x * x], 1) ** 2)
        ),
        x,
    )
    for seed in range(4):
        agree(random_function(seed), x, x[0], rtol=1e-10, atol=1e-10)


def test_axes_are_joined_and_one_is_put_last():
    flat = ScalarProgram()
    place = flat.input()
    loads = [Access(0, "d", 0, (12, 4, 1))]
    loop = Loop((50, 3, 4), flat, loads, [], [Fold("add", place, Access(1, "d", 0, (1, 0, 0)))])
    loop.join_axes()
    assert loop.shape == (50, 12)
    loop.move_last(0)
    assert loop.shape == (12, 50)
    assert loads[0].strides == (1, 12)


def test_jit_calls_compiled_loops_directly():
    def f(x, scale):
        y = np.exp(-x * x) if np.sum(x) > 0 else np.sin(x)
        return scale * np.sum(y)

    jitted = ad.jit(ad.value_and_grad(f))
    x = np.abs(rng.normal(size=2000))
    for _ in range(3):
        for given in (x, -x):
            jitted(given, 2.0)
        jitted.wait()
    before = jitted.explain()
    for given in (x, -x, x[::-1]):
        value, gradient = jitted(given, 2.0)
        expected = ad.value_and_grad(f)(given, 2.0)
        close(value, expected[0], 1e-12, 0)
        close(gradient, expected[1], 1e-12, 1e-15)
        assert type(value) is type(expected[0])
    jitted(x, 2.0)
    assert "tier optimised" in before


def test_factors_are_taken_out_of_sums_unless_every_bit_counts():
    def f(x):
        most = np.max(x)
        return most + np.log(np.sum(np.exp(x - most)))

    x = np.random.default_rng(3).normal(size=1000)
    recorded = record(ad.value_and_grad(f), x)
    sums = [
        line for line in clean(recorded).lines if line.name.startswith("sum") and not line.shape
    ]
    kept = [line for line in clean(recorded, precise=True).lines if line.name.startswith("sum")]
    assert len(sums) < len([line for line in kept if not line.shape])
    _, (value, gradient) = ArrayProgram(recorded).run([x])
    np.testing.assert_allclose(gradient, np.exp(x - value), rtol=1e-12)


@pytest.mark.parametrize("size", [4, 6, 8, 9, 17])
def test_nothing_lies_where_a_smaller_result_will_be(size):
    program = ArrayProgram(record(lambda x: np.partition(x, 2)[:3], np.arange(float(size))))
    memory, lines = program.memory, program.plan.lines
    for inside, result in memory.shared.items():
        assert math.prod(lines[inside].shape) == math.prod(lines[result].shape)
    status, (smallest,) = program.run([np.arange(float(size))[::-1]])
    assert status == 0
    assert sorted(smallest) == [0.0, 1.0, 2.0]


def copied(x):
    y = np.zeros_like(x)
    np.copyto(y, x * 2)
    return y


def filled(x):
    y = np.zeros_like(x)
    y[1:] = x[:-1]
    y[0] += 3.0
    return y


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("f", [copied, filled, ad.vmap(copied), ad.vmap(filled)])
def test_an_array_that_was_written_to_is_a_result(f, tier):
    calls = [(np.arange(6.0).reshape(2, 3) + k,) for k in range(3)]
    assert "cannot be compiled" not in answers(f, calls, tier).explain()


# Writing where a mask holds. ----------------------------------------------------------------------


def clipped(x):
    y = x.copy()
    y[y < 0] = 0.0
    return np.sum(y * y * np.arange(1.0, 13.0).reshape(x.shape))


def in_turn(x):
    y = x * 2.0
    y[(x > -1) & (x < 1)] = np.sum(x)
    y[y > 3] = 0.5
    return np.sum(np.sin(y) * x)


def whole_rows(x):
    y = np.exp(x)
    y[x[:, 0] > 0] = np.array([1.0, -2.0, 3.0])
    y[x[:, 1] > 0] = x[0] * x[1]
    return np.sum(y * x)


def by_root(x):
    y = np.sqrt(np.abs(x) + x)
    y[x <= 0] = 0.0
    return np.sum(y)


@pytest.mark.parametrize("tier", ["numpy", "tape", "optimised", None])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("f", [clipped, in_turn, whole_rows, by_root])
def test_writes_where_a_mask_holds_are_compiled(f, dtype, tier):
    rng = np.random.default_rng(5)
    points = [rng.normal(size=(4, 3)).astype(dtype) * 2 for _ in range(4)]
    compiled = ad.jit(ad.value_and_grad(f), tier=tier)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message="(invalid value|divide by zero)")
        for x in [points[0], *points]:
            value, slope = compiled(x)
            expected = ad.value_and_grad(f)(x)
            close = 1e-5 if dtype is np.float32 else 1e-13
            np.testing.assert_allclose(value, expected[0], rtol=close)
            np.testing.assert_allclose(slope, expected[1], rtol=close, atol=close)
            assert slope.dtype == dtype
    assert "as it is" not in compiled.explain()
    assert "1 path " in compiled.explain()


# Arrays chosen by a mask: one program for each mask. ----------------------------------------------


def positive(x):
    return np.sum(x[x > 0] ** 2) + np.mean(x[np.abs(x) < 1.5])


def doubled(x):
    y = x * 1.0
    y[x > 0] *= 2.0
    y[x < -1] = x[x < -1] ** 2
    return np.sum(y * x)


def counted(x):
    places = np.flatnonzero(x > 0)
    return np.sum(x[places]) / max(len(places), 1) + np.sum(np.nonzero(x < 0)[0] * 1.0) * x[0]


def into_a_plain_array(x):
    y = np.zeros(len(x))
    y[x > 0] = 1.0
    return np.sum(y * x * x)


def of_rows(x):
    rows = np.outer(x, x) + np.arange(6.0)
    return np.sum(np.sin(rows[x > 0])) + np.sum(rows[:, x < 0] ** 2)


@pytest.mark.parametrize("tier", ["numpy", "optimised", None])
@pytest.mark.parametrize("f", [positive, doubled, counted, into_a_plain_array, of_rows])
def test_arrays_chosen_by_a_mask_are_compiled(f, tier):
    rng = np.random.default_rng(8)
    signs = np.array([[1, -1, 1, 1, -1, 1], [-1, -1, 1, -1, 1, 1], [1, 1, 1, 1, 1, -1]])
    points = [np.abs(rng.normal(size=6)) * sign for sign in signs for _ in range(3)]
    expected = [ad.value_and_grad(f)(x) for x in points]
    compiled = ad.jit(ad.value_and_grad(f), tier=tier)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            for x, (value, slope) in zip(points, expected, strict=True):
                found = compiled(x)
                np.testing.assert_allclose(found[0], value, rtol=1e-13)
                np.testing.assert_allclose(found[1], slope, rtol=1e-12, atol=1e-13)
    assert "as it is" not in compiled.explain()


def test_each_mask_is_a_path_and_beyond_the_last_it_runs_as_it_is():
    f = lambda x: np.sum(x[x > 0] ** 2)
    compiled = ad.jit(ad.grad(f), max_paths=3, tier="numpy")
    points = [np.where(np.arange(5) < k, 1.5, -0.5) * np.arange(1.0, 6.0) for k in range(6)]
    for x in points[:3] * 2:
        np.testing.assert_array_equal(compiled(x), np.where(x > 0, 2 * x, 0.0))
    assert "3 paths" in compiled.explain()
    with pytest.warns(ad.NotCompiledWarning, match=r"3 different ways.*x\[x > 0\]"):
        np.testing.assert_array_equal(
            compiled(points[3]), np.where(points[3] > 0, 2 * points[3], 0.0)
        )


@pytest.mark.parametrize("shape", [(60, 25, 8), (60, 5, 3), (300, 9, 2), (40, 33, 11)])
def test_distances_of_all_pairs(shape):
    """Small factors are copied to lie side by side; no array of all differences is kept."""
    points, centres = rng.normal(size=(shape[0], shape[2])), rng.normal(size=shape[1:])

    def f(points, centres, heights):
        squares = np.sum((points[:, None] - centres[None]) ** 2, axis=-1)
        near = np.min(squares, axis=1) + np.sum(np.exp(-squares) * heights, axis=1)
        return np.sum(near * np.argmin(squares, axis=1))

    gradient = ad.value_and_grad(f, (0, 1, 2))
    program = agree(gradient, points, centres, rng.normal(size=shape[1]), rtol=1e-10)
    assert not uses(program, "NumPy")
    assert program.memory.size < 8 * 12 * shape[0] * shape[1] + 4096 * 16
    other = points.astype(np.float32), centres.astype(np.float32)
    agree(lambda x, y: np.sum((x[:, None] - y[None]) ** 2, -1), *other, rtol=1e-4, atol=1e-4)


def test_a_small_table_is_read_across():
    table, x = rng.normal(size=(40, 7)), rng.normal(size=(50, 40, 30))
    agree(lambda x, t: np.sum(x * t.T[2][:, None] + t[:30, 3], axis=1), x, table, rtol=1e-11)
    agree(lambda x, t: np.einsum("abc,bd->acd", x, t[:, ::2]), x, table, rtol=1e-11)
    agree(lambda x, t: np.max(x[:, :, :, None] - t[None, :, None, ::3], axis=(0, 1)), x, table)


@pytest.mark.parametrize("scale", [1.0, -3.5])
def test_weights_that_their_sum_divides_add_up_to_one(scale):
    """The gradient at the largest element is a small number beside 1 - sum(weights)."""

    def f(x):
        most = np.max(x)
        return scale * (most + np.log(np.sum(np.exp(x - most))))

    x = np.random.default_rng(0).uniform(size=200_000)
    _, (gradient,) = ArrayProgram(record(ad.grad(f), x)).run([x])
    weights = np.exp(x - x.max())
    np.testing.assert_allclose(gradient, scale * weights / math.fsum(weights), rtol=4e-15)


def test_what_is_left_to_numpy_is_said_with_its_line_and_the_reason():
    def f(x):
        order = np.argsort(x)  # a line of the user's
        return np.sum(np.sort(x)[:3]) + np.sum(x[order][:2]) + np.sum(np.cumprod(x[:0]))

    compiled = ad.jit(f, tier="optimised")
    x = rng.normal(size=400)
    for _ in range(3):
        compiled(x)
    said = [line.strip() for line in compiled.explain().splitlines() if "NumPy:" in line]
    (sorting,) = [line for line in said if "# a line of the user's" in line]
    assert sorting.startswith(
        "NumPy: argsort (400,): no loop is known for it (at test_jit_arrays.py"
    )
    assert any("an array has no elements" in line for line in said)


def test_numbers_that_are_not_compiled_are_named():
    compiled = ad.jit(lambda x, i: np.sum(x * i), tier="optimised")
    for _ in range(3):
        compiled(rng.normal(size=400), np.arange(400, dtype=np.int16))
    assert "int16 is not compiled" in compiled.explain()


def test_few_lines_of_many_steps_are_loops():
    """Unrolled, a product of a matrix of constants would be thousands of steps."""
    matrix = rng.normal(size=(16, 128))
    gradient = ad.grad(lambda x: np.sum((matrix @ x - 1) ** 2))
    x = rng.normal(size=128)
    for tier, says in (("optimised", "BLAS: matmul"), ("tape", "steps on single numbers")):
        compiled = ad.jit(gradient, tier=tier)
        for _ in range(3):
            close(compiled(x), gradient(x), 1e-12, 1e-12)
        assert says in compiled.explain()


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.any(x > 1.0, axis=1) * np.sum(x, axis=1),
        lambda x: np.where(np.all(x > -1.0, axis=0, keepdims=True), x, 2 * x),
        lambda x: np.all(x * x, axis=(0, 1)) * x,
        lambda x: x * np.count_nonzero(x > 0.5),
        lambda x: x * np.count_nonzero(x, axis=-1, keepdims=True),
        lambda x: np.where(np.any(x != x), 0.0, x) + np.count_nonzero(np.maximum(x, 0.0)),
        lambda x: np.take_along_axis(x * x, np.argmin(x, axis=1)[:, None], 1),
        lambda x: np.take_along_axis(x, np.argmax(x, axis=0)[None], axis=0) * x,
    ],
)
def test_masks_are_reduced_and_looked_up_in_loops(f):
    square = ad.grad(lambda x: np.sum(f(x) ** 2))
    compiled = ad.jit(square, tier="optimised")
    points = [rng.normal(size=(30, 70)) for _ in range(3)]
    points[1][3, 5] = points[1][7] = 0.0
    points[2][4, 4] = np.nan
    for x in (points[0], *points):
        with np.errstate(all="ignore"):
            close(compiled(x), square(x), 1e-12, 1e-12)
    assert "NumPy" not in compiled.explain()


@pytest.mark.parametrize("k", [0, 1])
def test_the_slopes_of_filters_are_compiled(k):
    """Where one argument is a symbol, and the other one a node as well."""
    signal = pytest.importorskip("scipy.signal")
    slope = ad.grad(lambda x, b: np.sum(np.sin(signal.lfilter(b, [1.0], x))), k)
    compiled = ad.jit(slope, tier="optimised")
    for x in (np.linspace(-1.0, 2.0, 9), np.linspace(0.5, 1.0, 9)):
        b = np.array([0.5, -0.3, 0.2]) * x[0]
        np.testing.assert_allclose(compiled(x, b), slope(x, b), rtol=1e-13)
    assert "cannot be compiled" not in compiled.explain()
