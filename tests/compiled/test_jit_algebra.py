"""Solutions and factors of matrices in compiled programs: LAPACK = eager, errors included."""

import subprocess
import sys
import threading
from contextlib import nullcontext
from unittest.mock import patch

import numpy as np
import pytest
from simpleautodiff.scipy import linalg

import simpleautodiff as ad
from simpleautodiff.compiled.array.linalg import matrix_rows as algebra
from simpleautodiff.compiled.array.run_numpy import Replay
from simpleautodiff.compiled.scalar.small_matrices import SMALL_SIZE
from simpleautodiff.values.pytree import flatten

pytest.importorskip("llvmlite")
pytest.importorskip("scipy")

SEEDS = np.random.default_rng(5)
N = 7
B = SEEDS.normal(size=N)
SIDES = SEEDS.normal(size=(N, 3))
NEAR = SEEDS.normal(size=(N, N)) / N


def regular(*stack, n=N):
    return SEEDS.normal(size=(*stack, n, n)) + 2 * n * np.eye(n)


def definite(a):
    return a @ np.swapaxes(a, -1, -2) / N + np.eye(a.shape[-1], dtype=a.dtype)


def cho_solved(a):
    return np.sum(linalg.cho_solve(linalg.cho_factor(definite(a)), B.astype(a.dtype)) ** 2)


def evidence(a):
    k, b = definite(a), B.astype(a.dtype)
    return b @ np.linalg.solve(k, b) + np.linalg.slogdet(k)[1]


FUNCTIONS = {
    "solve": lambda a: np.sum(np.linalg.solve(a, B.astype(a.dtype)) ** 2),
    "several right sides": lambda a: np.sum(np.linalg.solve(a, SIDES.astype(a.dtype)) ** 3),
    "solve transposed": lambda a: np.sum(np.linalg.solve(a.T, np.linalg.solve(a, a[0])) ** 2),
    "inv": lambda a: np.sum(np.sin(np.linalg.inv(a)) * np.linalg.inv(a.T)),
    "det": lambda a: np.linalg.det(a / 14),
    "slogdet": lambda a: np.linalg.slogdet(a)[0] * np.linalg.slogdet(-a)[1],
    "cholesky": lambda a: np.sum(np.linalg.cholesky(definite(a)) ** 3),
    "upper cholesky": lambda a: np.sum(np.linalg.cholesky(definite(a), upper=True)[0] ** 3),
    "triangular": lambda a: np.sum(linalg.solve_triangular(a, B.astype(a.dtype)) ** 2),
    "lower": lambda a: np.sum(linalg.solve_triangular(a, SIDES.astype(a.dtype), lower=True) ** 2),
    "triangular transposed": lambda a: np.sum(linalg.solve_triangular(a, a[0], trans=1) ** 2),
    "unit": lambda a: np.sum(linalg.solve_triangular(a / 20, a[:, 1], unit_diagonal=True) ** 2),
    "triangular of a view": lambda a: np.sum(linalg.solve_triangular(a.T[1:, 1:], a[0, 1:]) ** 2),
    "cho_solve": cho_solved,
    "eigenvalues": lambda a: np.sum(np.linalg.eigvalsh(a) ** 3),
    "eigenvectors": lambda a: np.sum(np.linalg.eigh(definite(a))[1][:, -1] ** 4),
    "svd": lambda a: np.sum(np.linalg.svd(a)[0][:, 0] ** 2 * np.linalg.svd(a)[2][0] ** 2),
    "singular values": lambda a: np.sum(np.linalg.svd(a[:, :4], compute_uv=False) ** 3),
    "wide svd": lambda a: np.sum(np.linalg.svd(a[:3], full_matrices=False)[2] ** 4),
    "qr": lambda a: np.sum(np.linalg.qr(a)[0] ** 3) + np.sum(np.linalg.qr(a)[1] ** 3),
    "tall qr": lambda a: np.sum(np.linalg.qr(a[:, :3])[0] ** 3),
    "wide qr": lambda a: np.sum(np.linalg.qr(a[:3])[1] ** 3),
    "pinv": lambda a: np.sum(np.linalg.pinv(a[:, :3]) ** 3),
    "lstsq": lambda a: np.sum(np.linalg.lstsq(a[:, :3], B.astype(a.dtype))[0] ** 2),
    "a Gaussian process": evidence,
}


def compiled(f, *args, native=True, **options):
    """Return the compiled function; by default its program must not need NumPy."""
    made = ad.jit(f, tier="optimised", **options)
    made(*args)
    if native:
        assert "NumPy:" not in made.explain()
        assert "LAPACK:" in made.explain()
    return made


def agree(f, *args, rtol=1e-10, native=True, **options):
    made, want = compiled(f, *args, native=native, **options), f(*args)
    with patch.object(Replay, "run", None) if native else nullcontext():  # LAPACK does not give up
        got = made(*args)
    for g, w in zip(flatten(got)[0], flatten(want)[0], strict=True):
        assert np.result_type(g) == np.result_type(w)
        assert np.shape(g) == np.shape(w)
        np.testing.assert_allclose(g, w, rtol=rtol, atol=rtol * np.max(np.abs(w), initial=1e-30))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_value_and_gradient(name):
    agree(ad.value_and_grad(FUNCTIONS[name]), regular())


@pytest.mark.parametrize("name", FUNCTIONS)
def test_single_precision(name):
    agree(ad.value_and_grad(FUNCTIONS[name]), regular().astype(np.float32), rtol=2e-4)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_hessian(name):
    f, a, e = FUNCTIONS[name], regular(), np.sin(np.arange(N * N)).reshape(N, N)
    agree(ad.hessian(lambda t: f(a + t[0] * e + t[1] * NEAR)), np.array([0.1, 0.2]))


OF_STACKS = {
    "solve": lambda a: np.linalg.solve(a, SIDES),
    "definite": lambda a: np.linalg.solve(definite(a), SIDES),
    "inv": np.linalg.inv,
    "slogdet": lambda a: np.linalg.slogdet(a)[1],
    "cholesky": lambda a: np.linalg.cholesky(definite(a)),
    "eigenvalues": np.linalg.eigvalsh,
    "singular values": lambda a: np.linalg.svd(a[..., :4], compute_uv=False),
    "wide svd": lambda a: np.linalg.svd(a[..., :3, :], full_matrices=False)[2] ** 2,
    "qr": lambda a: np.linalg.qr(a)[0] + np.linalg.qr(a)[1],
    "pinv": lambda a: np.linalg.pinv(a[..., :3]),
}


@pytest.mark.parametrize("name", OF_STACKS)
@pytest.mark.parametrize("shape", [(5,), (2, 3)])
def test_stacks(name, shape):
    agree(ad.value_and_grad(lambda a: np.sum(OF_STACKS[name](a) ** 2)), regular(*shape))


def test_one_matrix_for_a_stack_of_right_sides():
    agree(ad.value_and_grad(lambda a, b: np.sum(np.linalg.solve(a, b) ** 2), (0, 1)),
          regular(), SEEDS.normal(size=(4, N, 2)))  # fmt: skip
    agree(lambda a, b: np.linalg.solve(a, b), regular(2, 1), SEEDS.normal(size=(3, N, 2)))


BATCHED = ("solve", "inv", "slogdet", "cholesky", "det", "eigenvalues", "triangular", "lower")


@pytest.mark.parametrize("name", [*BATCHED, "cho_solve"])
def test_batches(name):
    f, a = FUNCTIONS[name], regular(4)
    agree(ad.vmap(ad.value_and_grad(f)), a)
    np.testing.assert_allclose(ad.vmap(ad.grad(f))(a), np.stack([ad.grad(f)(x) for x in a]), 1e-10)


def test_one_triangle_for_a_batch_of_right_sides():
    b = SEEDS.normal(size=(4, N))
    one = lambda a: np.sum(ad.vmap(lambda b: linalg.solve_triangular(a, b))(b) ** 2)
    a = regular()
    each = sum(ad.grad(lambda a: np.sum(linalg.solve_triangular(a, x) ** 2))(a) for x in b)  # noqa: B023
    np.testing.assert_allclose(ad.grad(one)(a), each, 1e-12)
    agree(ad.grad(one), a)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_products_of_stacks(kind):
    a, b = (SEEDS.normal(size=(3, 40, 40)).astype(kind) for _ in range(2))
    rtol = 1e-12 if kind is np.float64 else 1e-4
    for f in (
        lambda a, b: np.sum(np.sin(a @ b)),
        lambda a, b: np.sum(np.swapaxes(a, 1, 2) @ b[0] + b[1] @ a),
        lambda a, b: np.sum(np.sin(np.moveaxis(a, 0, 1)[:, :, :3] @ b[0, :3])),
    ):
        made = ad.jit(ad.value_and_grad(f, (0, 1)), tier="optimised")
        made(a, b)
        assert "NumPy:" not in made.explain()
        want = ad.value_and_grad(f, (0, 1))(a, b)
        for g, w in zip(flatten(made(a, b))[0], flatten(want)[0], strict=True):
            np.testing.assert_allclose(g, w, rtol, rtol * np.max(np.abs(w)))


def test_the_sweep_back_solves_with_the_same_factors():
    f = compiled(ad.grad(FUNCTIONS["solve"]), regular())
    assert f.explain().count("LAPACK: lu ") == 1
    f = compiled(ad.grad(lambda a: np.linalg.slogdet(a)[1] + FUNCTIONS["solve"](a)), regular())
    assert f.explain().count("LAPACK: lu ") == 1


def test_the_factor_of_cholesky_is_known_to_be_a_triangle():
    def f(a):
        lower = np.linalg.cholesky(definite(a))
        return np.sum(np.linalg.solve(lower.T, np.linalg.solve(lower, SIDES)) ** 2)

    for given in (regular(), regular(3)[1:]):
        of = f if given.ndim == 2 else ad.vmap(f)
        agree(ad.vmap(ad.grad(f)) if given.ndim > 2 else ad.value_and_grad(f), given)
        agree(of, given)
        assert "LAPACK: lu " not in compiled(of, given).explain()


@pytest.mark.parametrize("n", [SMALL_SIZE + 1, 16, 40, 65])
def test_sizes(n):
    a, b = regular(n=n), SEEDS.normal(size=n)
    agree(ad.value_and_grad(lambda a: np.sum(np.linalg.solve(a, b) ** 2)), a)
    agree(lambda a: tuple(np.linalg.slogdet(a)), a)
    agree(lambda a: np.linalg.inv(a), a)


def test_mixed_kinds_and_constants():
    a, b = regular(), np.arange(N)
    agree(lambda a, b: np.linalg.solve(a, b), a, b.astype(np.float32))
    agree(lambda b: np.linalg.solve(a, b) + np.linalg.inv(a) @ b, 1.0 * b)
    agree(lambda b: linalg.solve_triangular(a, b, lower=True), 1.0 * b)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(), (3,)])
def test_factors_of_a_constant_matrix_are_found_once(kind, shape):
    a, b = regular(*shape).astype(kind), SIDES.astype(kind)
    f = ad.value_and_grad(lambda b: np.sum(np.linalg.solve(a, b) ** 2))
    agree(f, b, rtol=1e-10 if kind is np.float64 else 1e-4)
    assert "LAPACK: lu " not in compiled(f, b).explain()


def test_a_constant_matrix_without_an_inverse():
    flat, b = np.ones((N, N)), np.zeros(N)
    f = ad.jit(lambda b: np.linalg.solve(flat, b) if np.sum(b) > 0 else b, tier="optimised")
    f(b)
    for _ in range(2):
        with pytest.raises(np.linalg.LinAlgError):
            f(B**2)


FAILING = {
    "solve": (FUNCTIONS["solve"], np.ones((N, N))),
    "inv": (np.linalg.inv, np.zeros((N, N))),
    "cholesky": (np.linalg.cholesky, -np.eye(N)),
    "stack": (np.linalg.inv, np.stack([np.eye(N), np.eye(N), np.zeros((N, N))])),
    "triangular": (FUNCTIONS["triangular"], np.tri(N, k=-1).T),
}


@pytest.mark.parametrize("name", FAILING)
def test_what_fails_raises_as_it_does_without_being_compiled(name):
    f, bad = FAILING[name]
    good = regular(*bad.shape[:-2])
    good = good + np.swapaxes(good, -1, -2)
    made = compiled(f, good)
    with pytest.raises(np.linalg.LinAlgError) as expected:
        f(bad)
    for _ in range(3):
        with pytest.raises(np.linalg.LinAlgError) as error:
            made(bad)
        assert str(error.value) == str(expected.value)
        np.testing.assert_allclose(made(good), f(good), 1e-12)


def test_what_is_not_finite():
    made = compiled(FUNCTIONS["triangular"], regular())
    for odd in (np.nan, np.inf):
        bad = regular()
        bad[2, 1] = odd
        with pytest.raises(ValueError, match="infs or NaNs"):
            made(bad)
    assert np.isnan(compiled(np.linalg.inv, regular())(np.full((N, N), np.nan))).any()


def test_determinants_of_matrices_without_an_inverse():
    made = compiled(lambda a: tuple(np.linalg.slogdet(a)), regular())
    assert made(np.zeros((N, N))) == (0.0, -np.inf)
    assert not np.signbit(made(np.zeros((N, N)))[0])
    made = compiled(ad.value_and_grad(np.linalg.det), regular())
    flat = np.diag([0.0, *range(1, N)])
    value, gradient = made(flat)
    assert value == pytest.approx(0, abs=1e-12)
    np.testing.assert_allclose(gradient, np.diag([720.0, *[0] * (N - 1)]), atol=1e-9)
    np.testing.assert_allclose(made(regular())[1].shape, (N, N))


def test_a_guard_before_a_failure_decides():
    def f(a):
        return np.linalg.inv(a) if np.sum(a) > 0 else 2 * a

    made = compiled(f, regular())
    np.testing.assert_array_equal(made(np.zeros((N, N))), np.zeros((N, N)))


def test_every_bit_is_numpys_where_all_count():
    f = ad.jit(ad.grad(FUNCTIONS["cho_solve"]), tier="optimised", precise=True)
    a = regular()
    f(a)
    assert "NumPy: cholesky" in f.explain()
    solve = ad.jit(np.linalg.solve, tier="optimised", precise=True)
    np.testing.assert_array_equal(solve(a, B), np.linalg.solve(a, B))


def test_without_scipy_numpy_does_it(monkeypatch):
    monkeypatch.setattr(algebra, "has_scipy", lambda: False)
    f = ad.jit(ad.grad(FUNCTIONS["solve"]), tier="optimised")
    a = regular()
    np.testing.assert_allclose(f(a), ad.grad(FUNCTIONS["solve"])(a), 1e-12)
    assert "NumPy: solve" in f.explain()


@pytest.mark.slow
def test_many_threads():
    f = ad.grad(lambda a: FUNCTIONS["a Gaussian process"](a) + FUNCTIONS["inv"](a))
    given = [regular() for _ in range(4)]
    made, expected = compiled(f, given[0]), [f(a) for a in given]
    wrong = []

    def work(k):
        results = [made(given[k]) for _ in range(200)]
        wrong.extend([k for x in results if not np.allclose(x, expected[k], 1e-9)])

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.slow
def test_another_process_finds_it_on_disk(tmp_path, monkeypatch):
    monkeypatch.setenv("SIMPLEAUTODIFF_CACHE", str(tmp_path / "objects"))
    program = """
import numpy as np, simpleautodiff as ad
a, b = np.arange(36.0).reshape(6, 6) ** 2 + 900 * np.eye(6), np.arange(6.0)
f = ad.grad(lambda a: np.sum(np.linalg.solve(a, b) ** 2) + np.linalg.slogdet(a)[1])
made = ad.jit(f, tier="optimised")
made(a)
assert np.allclose(made(a), f(a), 1e-12)
print("loaded from disk" in made.explain(), "NumPy:" in made.explain())
"""
    said = []
    for _ in range(2):
        answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        said.append(answer.stdout.split() or answer.stderr)
    assert said == [["False", "False"], ["True", "False"]]


def test_programs_to_take_away():
    f = ad.jit(ad.value_and_grad(lambda a: np.linalg.slogdet(a)[0] * FUNCTIONS["det"](a)))
    a = regular()
    f(a), f(a)
    space = {}
    exec(f.to_python("taken"), space)
    value, gradient = space["taken"](a)
    np.testing.assert_allclose(value, f(a)[0], 1e-12)
    np.testing.assert_allclose(gradient, f(a)[1], 1e-12)
    assert "int taken(" in f.to_c("taken")
    inverse = ad.jit(lambda a: np.sum(np.linalg.pinv(a)))
    inverse(a), inverse(a)
    with pytest.raises(ad.ArgumentError, match="pinv"):
        inverse.to_c("taken")


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("n", [1, 2, 3, 8, 40])
def test_determinants_of_matrices_that_are_hardly_regular(n, kind):
    rng = np.random.default_rng(n)
    left, right = (np.linalg.qr(rng.normal(size=(n, n)))[0] for _ in range(2))
    compiled = ad.jit(ad.value_and_grad(np.linalg.det), tier="optimised")
    regular = (left @ np.diag(np.linspace(1, 2, n)) @ right).astype(kind)
    eps = float(np.finfo(kind).eps)
    for small in [1.0, 1e-3, 1e-6, 1e-10, 1e-14, 1e-15, 1e-17, 0.0]:
        sizes = np.linspace(1, 2, n)
        sizes[0] = small
        for matrix in (regular, (left @ np.diag(sizes) @ right).astype(kind)):
            condition = np.linalg.cond(matrix) if small else np.inf
            near = condition > 1 / (n * n * 128 * eps)  # then NumPy computes it, as without jit
            close = 20 * n * eps * (1.0 if near else float(condition))
            value, gradient = compiled(matrix)
            expected = ad.value_and_grad(np.linalg.det)(matrix)
            size = max(float(np.max(np.abs(expected[1]))), 1e-30)
            np.testing.assert_allclose(value, expected[0], rtol=close, atol=close * size)
            np.testing.assert_allclose(gradient / size, expected[1] / size, rtol=0, atol=close)
    assert "regular" in compiled.explain() or n <= SMALL_SIZE


def test_determinants_of_stacks_some_of_which_are_singular():
    rng = np.random.default_rng(0)
    stack = rng.normal(size=(5, 3, 3))
    slope = ad.grad(lambda a: np.sum(np.linalg.det(a) ** 2 + np.linalg.det(a)))
    compiled = ad.jit(slope, tier="optimised")
    rows = ad.jit(ad.vmap(ad.grad(lambda a: np.linalg.det(a))), tier="optimised")
    singular = stack.copy()
    singular[1, 2] = singular[1, 0]
    singular[3] = 0
    for a in (stack, singular, stack, singular):
        np.testing.assert_allclose(compiled(a), slope(a), rtol=1e-9, atol=1e-12)
        cofactors = [np.cross(m[[1, 2, 0]], m[[2, 0, 1]]) for m in a]
        np.testing.assert_allclose(rows(a), cofactors, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_determinants_of_many_small_matrices(n):
    mpmath = pytest.importorskip("mpmath")
    rng = np.random.default_rng(n)
    turns = [np.linalg.svd(rng.normal(size=(n, n)))[::2] for _ in range(40)]
    spread = np.geomspace(1, 1e-8, n) if n > 1 else np.ones(1)
    matrices = np.array([u @ np.diag(spread) @ v for u, v in turns])
    exact = [float(mpmath.det(mpmath.matrix(m.tolist()))) for m in matrices]
    function = ad.vmap(ad.value_and_grad(np.linalg.det))
    compiled = ad.jit(function, tier="optimised")
    compiled(matrices)
    for values, gradients in (function(matrices), compiled(matrices)):
        close = 4e-16 * np.prod(spread) / spread[-1]  # as much as the last digits of the elements
        np.testing.assert_allclose(values, exact, rtol=0, atol=10 * close)
        minors = values[:, None, None] * np.swapaxes(np.linalg.inv(matrices), -1, -2)
        np.testing.assert_allclose(gradients, minors, rtol=0, atol=1e-6 * np.max(np.abs(minors)))
    assert "steps for each example" in compiled.explain()


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("n", [8, 40])
def test_numpy_is_asked_where_a_matrix_may_be_singular(n, kind):
    """Machine code decides only where 1/cond > 128 n² eps, rounded up to a power of two."""
    made = compiled(ad.value_and_grad(np.linalg.det), np.eye(n, dtype=kind))
    bound = 128 * n * n * float(np.finfo(kind).eps)
    for ratio, is_asked in ((4, False), (0.5, True)):
        matrix = np.diag([*[1.0] * (n - 1), ratio * bound]).astype(kind)
        with patch.object(Replay, "run", autospec=True, side_effect=Replay.run) as replay:
            value, gradient = made(matrix)
        assert replay.called == is_asked
        np.testing.assert_allclose(value, matrix[-1, -1], rtol=1e-5)
        np.testing.assert_allclose(gradient[-1, -1], 1, rtol=1e-5)


@pytest.mark.parametrize("tier", ["numpy", "tape", "optimised"])
@pytest.mark.parametrize("derivative", [ad.grad, ad.jacfwd])
def test_q_of_a_matrix_without_full_rank_has_no_derivative(derivative, tier):
    """It is an error; a program that was recorded for another matrix has no errors, and gives nan.

    The last column of a square Q is what the others leave, whatever the last element of R is.
    """
    f = lambda a: np.sum(np.linalg.qr(a)[0] ** 3) + np.sum(np.linalg.qr(a)[1] ** 2)
    regular = NEAR[:3, :3] + np.eye(3)
    low, last = regular.copy(), regular.copy()
    low[:, 1], last[:, 2] = 2 * low[:, 0], last[:, 0] + last[:, 1]
    with pytest.raises(np.linalg.LinAlgError, match="does not have full rank"):
        ad.jit(derivative(f), tier=tier)(low)
    for rows in (slice(0, 3), slice(0, 2)):
        compiled = ad.jit(derivative(f), tier=tier)
        for a in (regular, regular + 0.1, regular - 0.1):
            expected = derivative(f)(a[:, rows])
            np.testing.assert_allclose(compiled(a[:, rows]), expected, rtol=1e-10, atol=1e-12)
        assert np.isnan(compiled(low[:, rows])).all()
    compiled = ad.jit(derivative(f), tier=tier)
    for a in (regular, regular, last):
        np.testing.assert_allclose(compiled(a), derivative(f)(a), rtol=1e-9, atol=1e-11)
