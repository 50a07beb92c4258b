"""Systems with small matrices as steps on single numbers: as NumPy computes them, or refuses."""

import numpy as np
import pytest
from scipy import linalg

import simpleautodiff as ad
from simpleautodiff.compiled.scalar.scalar_program import ScalarProgram
from simpleautodiff.compiled.scalar.small_matrices import SMALL_SIZE, SmallMatrices

SIZES = range(1, SMALL_SIZE + 1)
TIERS = ["numpy", "tape", "cheap", "optimised"]

NUMPY = {
    "inv": np.linalg.inv,
    "det": np.linalg.det,
    "logabsdet": lambda a: np.linalg.slogdet(a)[1],
    "det_sign": lambda a: np.linalg.slogdet(a)[0],
    "cholesky": np.linalg.cholesky,
}


def run(name, *matrices, known_zeros=None):
    """Return what the steps give, and whether NumPy has to decide."""
    flat, given = ScalarProgram(), []
    for matrix in matrices:
        steps = [flat.input() for _ in range(matrix.size)]
        given.append(np.array(steps).reshape(matrix.shape))
    if known_zeros is not None:
        given[0][known_zeros] = flat.zero()
    made = SmallMatrices(flat).rows[name](*given)
    flat.outputs = [*np.ravel(made).tolist(), *flat.required]
    found = flat.run(np.concatenate([matrix.ravel() for matrix in matrices]))
    count = np.size(made)
    return np.reshape(found[:count], np.shape(made)), not all(found[count:])


def matrices(n):
    """Return regular matrices, some of which need their rows exchanged."""
    rng = np.random.default_rng(n)
    turned = [np.eye(n)[rng.permutation(n)] * rng.uniform(1, 2, n) for _ in range(6)]
    return [*rng.normal(size=(20, n, n)), *turned, *[np.tri(n) + np.eye(n), 3e-7 * np.eye(n)]]


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("name", ["inv", "det", "logabsdet", "det_sign"])
def test_regular_matrices(name, n):
    for a in matrices(n):
        found, is_left = run(name, a)
        close = 1e-15 * np.linalg.cond(a) + 1e-14
        want = NUMPY[name](a)
        np.testing.assert_allclose(found, want, rtol=close, atol=close * np.max(np.abs(want)))
        assert not is_left


@pytest.mark.parametrize("n", SIZES)
def test_systems_with_a_matrix_and_with_its_transpose_share_the_factors(n):
    rng = np.random.default_rng(10 + n)
    for a in matrices(n):
        flat = ScalarProgram()
        b = rng.normal(size=(n, 2))
        steps = np.array([flat.input() for _ in range(n * n)]).reshape(n, n)
        sides = np.array([flat.input() for _ in range(2 * n)]).reshape(n, 2)
        rows = SmallMatrices(flat).rows
        one = rows["solve"](steps, sides)
        pivots = sum(step[0] == "lt" for step in flat.steps)
        other = rows["solve"](steps.T, sides)
        assert sum(step[0] == "lt" for step in flat.steps) == pivots  # no others
        flat.outputs = [*one.ravel().tolist(), *other.ravel().tolist()]
        found = np.reshape(flat.run([*a.ravel(), *b.ravel()]), (2, n, 2))
        close = 1e-14 * np.linalg.cond(a)
        for x, matrix in zip(found, (a, a.T), strict=True):
            np.testing.assert_allclose(matrix @ x, b, rtol=0, atol=close * np.max(np.abs(b)))


@pytest.mark.parametrize("n", SIZES)
def test_cholesky(n):
    for a in matrices(n):
        definite = a @ a.T + 1e-3 * np.eye(n)
        found, is_left = run("cholesky", np.tril(definite))  # NumPy reads that half, too
        np.testing.assert_allclose(found @ found.T, definite, rtol=1e-12, atol=1e-14)
        np.testing.assert_array_equal(found, np.tril(found))
        assert not is_left
    assert run("cholesky", -np.eye(n))[1]
    assert run("cholesky", np.zeros((n, n)))[1]
    assert run("cholesky", np.full((n, n), np.nan))[1]


@pytest.mark.parametrize("n", SIZES)
def test_known_triangles_need_no_pivots(n):
    a = np.tri(n) + np.eye(n)
    for matrix in (a, a.T):
        found, _ = run("inv", matrix, known_zeros=matrix == 0)
        np.testing.assert_allclose(found, linalg.inv(matrix), rtol=1e-14, atol=1e-15)
    flat = ScalarProgram()
    steps = np.where(np.tri(n) > 0, [[flat.input() for _ in range(n)] for _ in range(n)], 0)
    steps[np.triu_indices(n, 1)] = flat.zero()
    SmallMatrices(flat).rows["inv"](steps)
    assert not any(step[0] == "select" for step in flat.steps)


@pytest.mark.parametrize("n", SIZES)
def test_matrices_without_an_inverse(n):
    a = np.ones((n, n)) if n > 1 else np.zeros((1, 1))
    for singular in (a, np.zeros((n, n)), np.diag([0.0, *range(1, n)])):
        assert all(run(name, singular)[1] for name in ("inv", "det", "logabsdet", "det_sign"))


@pytest.mark.parametrize("n", SIZES)
def test_whether_a_matrix_is_regular_is_left_open_where_digits_may_be_lost(n):
    for a in matrices(n):
        if np.linalg.cond(a) < 1e10:
            assert run("is_singular", a) == (False, False)
    for a in (np.zeros((n, n)), np.full((n, n), np.nan), np.diag([1e-16, *[1.0] * (n - 1)])):
        assert run("is_singular", a)[1] or (n == 1 and a[0, 0] == 1e-16)


def gain(a, b):
    """Return a number that needs systems, inverses and determinants, of stacks and alone."""
    spread = a @ np.swapaxes(a, -1, -2) + np.eye(a.shape[-1], dtype=a.dtype)
    solved = np.linalg.solve(a, b[..., None])[..., 0]
    factor = np.linalg.cholesky(spread)
    logs = np.log(np.diagonal(factor, axis1=-2, axis2=-1))
    return np.sum(np.linalg.inv(spread) * a) + np.sum(solved**2) + np.sum(np.cos(logs))


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("stack", [(), (2,)])
def test_gradients(stack, n, tier):
    compiled = ad.jit(ad.value_and_grad(gain), tier=tier)
    rng = np.random.default_rng(n)
    for _ in range(3):
        a = rng.normal(size=(*stack, n, n)) + 2 * np.eye(n)[::-1]
        b = rng.normal(size=(*stack, n))
        value, gradient = ad.value_and_grad(gain)(a, b)
        found = compiled(a, b)
        np.testing.assert_allclose(found[0], value, rtol=1e-10)
        np.testing.assert_allclose(
            found[1], gradient, rtol=1e-9, atol=1e-10 * np.max(np.abs(gradient))
        )
    assert "LAPACK" not in compiled.explain()


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("name", ["inv", "cholesky", "solve"])
def test_what_numpy_refuses(name, tier):
    f = NUMPY.get(name, lambda a: np.linalg.solve(a, a[0]))
    compiled, regular = ad.jit(f, tier=tier), np.diag([1.0, 2.0, 3.0])
    bad = np.diag([1.0, 0.0, 3.0])
    with pytest.raises(np.linalg.LinAlgError) as expected:
        f(bad)
    np.testing.assert_allclose(compiled(regular), f(regular))
    for _ in range(2):
        with pytest.raises(np.linalg.LinAlgError) as error:
            compiled(bad)
        assert str(error.value) == str(expected.value)
        np.testing.assert_allclose(compiled(regular), f(regular))


def filtered(p, measured):
    """Return the likelihood of a filter: a loop whose steps need the inverse of a matrix."""
    move = np.array([[1.0, 0.1], [0.0, 1.0]])
    x, spread, total = np.zeros(2), np.eye(2), 0.0
    for z in measured:
        x, spread = move @ x, move @ spread @ move.T + p[0] * np.eye(2)
        noise = spread + p[1] * np.eye(2)
        away = z - x
        total = total + away @ np.linalg.inv(noise) @ away + np.log(np.linalg.det(noise))
        x = x + spread @ np.linalg.solve(noise, away)
        spread = spread - spread @ np.linalg.inv(noise) @ spread
    return total


def test_steps_of_a_loop():
    p, measured = np.array([0.3, 0.5]), np.random.default_rng(0).normal(size=(40, 2))
    compiled = ad.jit(ad.value_and_grad(filtered), tier="optimised")
    value, gradient = ad.value_and_grad(filtered)(p, measured)
    for _ in range(2):
        found = compiled(p, measured)
        np.testing.assert_allclose(found[0], value, rtol=1e-11)
        np.testing.assert_allclose(found[1], gradient, rtol=1e-10)


@pytest.mark.parametrize("n", SIZES)
def test_numpy_decides_where_a_pivot_is_a_matter_of_rounding(n):
    """Multiples of a row: the last pivot is 0, or what rounding has left of it."""
    rng = np.random.default_rng(n)
    compiled = ad.jit(np.linalg.inv, tier="optimised")
    logarithm = ad.jit(lambda a: np.linalg.slogdet(a)[1], tier="optimised")
    compiled(np.eye(n)), logarithm(np.eye(n))
    for k in range(60):
        a = rng.normal(size=(n, n)) if k % 2 else rng.integers(-60, 60, (n, n)).astype(float)
        a[-1] = a[0] * rng.integers(-3, 4) if n > 1 else 0.0
        assert outcome(compiled, a) == outcome(np.linalg.inv, a)
        assert logarithm(a) == np.linalg.slogdet(a)[1]


def outcome(f, a):
    try:
        return f(a).tolist()
    except np.linalg.LinAlgError as error:
        return str(error)


def test_a_singular_matrix_in_a_step_of_a_loop():
    def f(x, rows):
        total = x[0]
        for row in rows:
            total = total + np.sum(np.linalg.inv(np.array([[row, x[1]], [x[1], 1.0]])) * x[0])
        return total

    compiled = ad.jit(ad.grad(f), tier="optimised")
    rows, good, bad = np.linspace(1.0, 3.0, 65), np.array([1.0, 0.5]), np.array([1.0, 1.25])
    rows[20] = 1.5625
    np.testing.assert_allclose(compiled(good, rows), ad.grad(f)(good, rows), rtol=1e-10)
    with pytest.raises(np.linalg.LinAlgError) as expected:
        ad.grad(f)(bad, rows)
    for _ in range(2):
        with pytest.raises(np.linalg.LinAlgError) as error:
            compiled(bad, rows)
        assert str(error.value) == str(expected.value)
    np.testing.assert_allclose(compiled(good, rows), ad.grad(f)(good, rows), rtol=1e-10)
