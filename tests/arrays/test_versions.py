"""Computed arrays that are written to: views, aliases and copies are what they are in NumPy."""

import copy
import gc
import weakref

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st

import simpleautodiff as ad
from references import numbers_recorded
from simpleautodiff.arrays.writes import views

X = np.array([[0.5, -1.0, 2.0, 0.25], [1.5, 0.3, -0.7, 1.1], [0.9, -0.2, 0.4, -1.3]])
DIRECTION = np.cos(np.arange(12.0)).reshape(3, 4)
MATRIX = np.array([[4.0, 1.0, -0.5], [0.7, 5.0, 1.2], [-1.0, 0.4, 3.0]])


def check(f, x, direction, rtol=1e-9):
    """Compare with NumPy's own value and with differences, in every mode."""
    expected = f(x.copy())
    step = 1e-6
    slope = (f(x + step * direction) - f(x - step * direction)) / (2 * step)
    value, gradient = ad.value_and_grad(f)(x)
    _, tangent = ad.jvp(f, (x,), (direction,))
    tolerance = {"rtol": rtol, "atol": rtol}
    np.testing.assert_allclose(value, expected, **tolerance)
    np.testing.assert_allclose(tangent, slope, rtol=1e-4, atol=1e-5 * (1 + abs(expected)))
    np.testing.assert_allclose(np.sum(gradient * direction), tangent, **tolerance)
    both = np.stack([x, 1.5 * x])
    np.testing.assert_allclose(ad.vmap(f)(both), [expected, f(1.5 * x)], **tolerance)
    np.testing.assert_allclose(ad.vmap(ad.grad(f))(both)[0], gradient, **tolerance)
    forward = ad.jvp(ad.grad(f), (x,), (direction,))[1]
    reverse = ad.grad(lambda x: np.sum(ad.grad(f)(x) * direction))(x)
    np.testing.assert_allclose(forward, reverse, **tolerance)
    return gradient


def check_compiled(f, x, gradient):
    np.testing.assert_allclose(ad.jit(f)(x), f(x.copy()), rtol=1e-9)
    np.testing.assert_allclose(ad.jit(ad.grad(f))(x), gradient, rtol=1e-9, atol=1e-12)


# Small programs. ----------------------------------------------------------------------------------


def element(x):
    k = x @ x.T
    k[0, 0] += 1.0
    return np.sum(k**2)


def row_of_a_result(x):
    u = np.sin(x)
    row = u[0]
    row += x[1]
    return np.sum(u**2)


def other_name(x):
    a = x * 2.0
    c = a
    a += 1.0
    return np.sum(c * a * x)


def used_before(x):
    a = x * x
    b = a * 3.0
    a[1] = b[0]
    a *= b
    return np.sum(a) + np.sum(b)


def views_of_views(x):
    a = np.exp(x)
    inner = a[1:][:, 1:3]
    turned, flat = a.T, a.reshape(-1)
    turned[0] = 2.0 * x[:, 1]
    flat[5] *= x[0, 0]
    inner -= flat[:2]
    return np.sum(a * turned.T) + np.sum(inner**2) + flat[6]


def copies_stay(x):
    a = x * 2.0
    kept = [a.copy(), copy.copy(a), copy.deepcopy(a), np.copy(a), a[[0, 1, 2]], a.flatten()]
    kept += [a.astype(float), np.clip(a, None, None), +a, a.T.reshape(4, 3)]
    a[...] = 7.0
    a += x
    return sum((k + 1) * np.sum(each**2) for k, each in enumerate(kept)) + np.sum(a**2)


def copies_do_not_write_back(x):
    a = x * 2.0
    for k, each in enumerate([a.copy(), a.astype(float), np.clip(a, None, None), +a, a[[0, 2]]]):
        each[0] = k * x[1]
        each += 1.0
    return np.sum(a**3)


def own_argument(x):
    x[0] = x[1] * x[2]
    x *= 2.0
    return np.sum(x**3)


def through_functions(x):
    a = x + 0.0
    np.multiply(a, x, out=a)
    np.copyto(a[0], x[1])
    np.put(a, [5, 6], x[0, :2])
    np.putmask(a, np.eye(3, 4, dtype=bool), x)
    np.add.at(a, ([0, 0, 1], [1, 1, 2]), x[2, :3])
    np.fill_diagonal(a[:, 1:], x[0, 0])
    np.put_along_axis(a, np.array([[0], [1], [2]]), x[:, :1] ** 2, 1)
    a.flat[7] = x[0, 3]
    a.T.flat[1] = x[1, 3]
    a[2].fill(x[1, 1])
    a[1].sort()
    a[0].put(1, x[2, 2])
    return np.sum(np.arange(1.0, 13.0).reshape(3, 4) * a**2)


def functions_that_give_views(x):
    a = np.cos(x)
    left, right = np.split(a, [1], axis=1)
    first, *_ = np.unstack(a)
    left *= x[0, 0]
    np.flip(a)[0] = x[0]
    np.moveaxis(a, 0, 1)[1] += 1.0
    np.squeeze(a[None])[1, 1] = x[2, 3]
    np.rot90(a)[0, 0] = x[1, 2]
    np.atleast_3d(a)[0, 0, 0] *= 3.0
    np.expand_dims(a, 0)[0, 2] -= x[2]
    return np.sum(right**2) + np.sum(first) + np.sum(left * a[:, :1])


def views_that_are_read_only(x):
    a = x[:, :3] * 2.0
    diagonal, wide = np.diagonal(a), np.broadcast_to(a, (2, 3, 3))
    same, third = np.linalg.diagonal(a), np.diag(a, 1)
    windows = np.lib.stride_tricks.sliding_window_view(a, (2, 2))
    a[1, 1] = x[0, 3]
    a[0] *= x[1, 0]
    return np.sum(diagonal**2) + np.sum(wide**2) + np.sum(windows**3) + np.sum(same) + third[0]


def new_arrays(x):
    diagonal, zeros = np.diag(x[0] * 2.0), (x * 1.0).imag + 0.0
    joined = np.concatenate([x])
    diagonal[0, 1] = x[1, 1]
    zeros += x
    joined[0] *= zeros[1]
    return np.sum(diagonal**2) + np.sum(zeros**2) + np.sum(joined**2)


def rows_written_later(x):
    y, row = np.zeros_like(x), x[0] * 2.0
    y[1] = row
    row[0] = 9.0
    y[2] = row
    row *= x[1]
    return np.sum(y**2) + np.sum(row)


def numbers_are_replaced(x):
    s = x[0, 0] * 2.0
    t = s
    s += x[1, 1]
    total = np.sum(x)
    kept = total
    total *= s
    return t * s + kept * total


def not_in_one_piece(x):
    a = np.exp(x.T)
    flat = a.reshape(-1)  # a copy, if the elements do not lie one after the other
    a[0, 0] = 3.0 * x[1, 1]
    flat[1] = x[2, 2]
    return np.sum(a**2) + np.sum(flat**3)


PROGRAMS = [
    *(element, row_of_a_result, other_name, used_before, views_of_views, copies_stay),
    *(copies_do_not_write_back, through_functions, functions_that_give_views),
    *(
        new_arrays,
        views_that_are_read_only,
        rows_written_later,
        numbers_are_replaced,
        not_in_one_piece,
    ),
]


@pytest.mark.parametrize("f", PROGRAMS)
def test_programs_mean_what_numpy_means(f):
    gradient = check(f, X, DIRECTION)
    check_compiled(f, X, gradient)


def test_a_function_writes_to_its_own_argument():
    gradient = check(own_argument, X, DIRECTION)
    np.testing.assert_allclose(ad.jit(ad.grad(own_argument))(X), gradient)


@pytest.mark.parametrize("f", PROGRAMS[:5])
def test_programs_on_large_arrays(f):
    """A tape lets go of the values of large arrays; views still know what they are views of."""
    x = np.sin(np.arange(90.0 * 120)).reshape(90, 120)
    direction = np.cos(np.arange(90.0 * 120)).reshape(90, 120)
    value, gradient = ad.value_and_grad(f)(x)
    step = 1e-6
    slope = (f(x + step * direction) - f(x - step * direction)) / (2 * step)
    np.testing.assert_allclose(value, f(x))
    np.testing.assert_allclose(np.sum(gradient * direction), slope, rtol=1e-4)


def test_a_view_of_what_has_no_other_name():
    def f(x):
        a, b = np.split(np.sin(x), [6000])
        part = (x * 2.0)[:7000]
        whole, late = part.reshape(70, 100), part[5000:]
        part *= x[:7000]
        whole[0] += 1.0
        return np.sum(a) + np.sum(b**2) + np.sum(late**2) + np.sum(whole)

    x, step = np.linspace(0, 1, 10_000), 1e-6
    slope = (f(x + step) - f(x - step)) / (2 * step)
    np.testing.assert_allclose(np.sum(ad.grad(f)(x)), slope, rtol=1e-6)


def test_complex_parts_are_views():
    def f(x):
        z = x[0] + 1j * x[1]
        real, imaginary = z.real, z.imag
        real *= x[2]
        imaginary[0] = x[0, 1]
        z.real[1] = x[1, 2] ** 2
        z.imag = z.imag * 2.0
        z *= 1j
        return np.sum(np.abs(z) ** 4) + np.sum(real**3) + np.sum(imaginary)

    expected = f(X.copy())
    value, gradient = ad.value_and_grad(f)(X)
    slope = (f(X + 1e-6 * DIRECTION) - f(X - 1e-6 * DIRECTION)) / 2e-6
    np.testing.assert_allclose(value, expected)
    np.testing.assert_allclose(np.sum(gradient * DIRECTION), slope, rtol=1e-6)


# Random programs. ---------------------------------------------------------------------------------

INDICES = [
    *(0, -1, (0, -1), slice(1, None), (slice(None), 0), (..., 0), (0, slice(None, None, 2))),
    *(slice(None, None, -1), None),
]
MADE = {
    "product": lambda x: x * 2.0,
    "sin": np.sin,
    "matrices": lambda x: (x @ x.T) @ x,
    "copy": lambda x: x.copy(),
    "zeros": np.zeros_like,
    "turned": lambda x: np.exp(x.T).T,
}
ACTIONS = (
    *("set", "add", "scale", "part", "turn", "row", "read", "name", "whole", "split", "flip"),
    *("sort", "at", "wide", "out"),
)
STEPS = st.tuples(
    st.sampled_from([*ACTIONS, *MADE]),
    st.integers(0, 9),
    st.sampled_from(INDICES),
    st.floats(-1, 1).map(lambda x: round(x, 3)),
)


def change(action, array, index, number, x):
    """Change an array in one of the ways NumPy has."""
    match action:
        case "set":
            array[index] = number * x[0, 1]
        case "add":
            array[index] += number * x[1, 1]
        case "scale":
            array *= 1.0 + number * x[2, 2]
        case "out":
            np.multiply(array, number, out=array)
        case "at":
            np.add.at(array, [0, 0], number * x[1, 2])
        case "sort":
            array.sort()


def part(action, array, index, number):
    """Return views of an array."""
    match action:
        case "part":
            return [array[index]]
        case "turn":
            return [array.T]
        case "row":
            return [array.reshape(-1) if number < 0 else np.ravel(array)]
        case "name":
            return [array]
        case "split":
            return np.split(array, [1])
        case "flip":
            return [np.flip(array)]
    return []


def run(steps, x):
    pool, total = [x * 1.5], 0.0
    for action, which, index, number in steps:
        array = pool[which % len(pool)]
        try:
            np.empty(np.shape(array))[index]
        except IndexError:
            index = 0
        if action in MADE:
            pool.append(MADE[action](x))
        elif action == "read":
            total = total + np.sum(np.cos(array)) * number
        elif action == "whole":
            other = pool[which // 2 % len(pool)]
            if np.shape(other) == np.shape(array):
                array[...] = other * number
        elif action == "wide":
            wide = np.broadcast_to(array, (2, *np.shape(array)))
            array[0] = number * x[0, 2]
            total = total + np.sum(wide) * 0.1
        else:
            change(action, array, index, number, x)
            pool += [p for p in part(action, array, index, number) if np.ndim(p) and np.size(p)]
    return total + sum((i + 1) * np.sum(np.sin(each)) for i, each in enumerate(pool))


@pytest.mark.slow
@settings(max_examples=120, deadline=None)
@given(st.lists(STEPS, max_size=9))
@example([("flip", 0, 0, 0.0), ("row", 1, 0, 0.0), ("set", 0, 0, 0.0)])  # ravel copies here
@example([("split", 0, 0, 0.0), ("row", 1, 0, 0.0), ("set", 0, 0, 0.0)])  # but not here
@example([("turn", 0, 0, 0.0), ("sort", 1, 0, 0.0), ("row", 0, 0, 0.0), ("set", 0, 0, 0.0)])
def test_random_programs_mean_what_numpy_means(steps):
    check(lambda x: run(steps, x), X, DIRECTION, rtol=1e-8)


@settings(max_examples=15, deadline=None)
@given(st.lists(STEPS, max_size=6))
def test_random_programs_compiled(steps):
    def f(x):
        return run(steps, x)

    np.testing.assert_allclose(ad.jit(f)(X), f(X), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(ad.jit(ad.grad(f))(X), ad.grad(f)(X), rtol=1e-8, atol=1e-8)


# Algorithms as they are written for NumPy. --------------------------------------------------------


def in_place_lu(a):
    """Return L (below the diagonal) and U (above it) in the memory of a product."""
    a = a * 1.0
    n = len(a)
    for k in range(n - 1):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return a


def solve_by_elimination(a, b):
    a, b = a * 1.0, b + 0.0
    n = len(b)
    for k in range(n):
        row = a[k]
        pivot = row[k]
        row /= pivot
        b[k] /= pivot
        for i in range(n):
            if i != k:
                factor = a[i, k]
                a[i] -= factor * row
                b[i] -= factor * b[k]
    return b


def in_place_cholesky(a):
    a = a @ a.T
    n = len(a)
    for j in range(n):
        column = a[j:, j]
        column -= a[j:, :j] @ a[j, :j]
        column /= np.sqrt(column[0])
        a[j, j + 1 :] = 0.0
    return a


def gauss_seidel(a, b, sweeps=60):
    x = b * 0.0
    for _ in range(sweeps):
        for i in range(len(b)):
            x[i] = (b[i] - a[i, :i] @ x[:i] - a[i, i + 1 :] @ x[i + 1 :]) / a[i, i]
    return x


def test_lu_against_the_determinant():
    def log_determinant(a):
        return np.sum(np.log(np.diagonal(in_place_lu(a))))

    gradient = check(log_determinant, MATRIX, np.cos(MATRIX))
    np.testing.assert_allclose(gradient, np.linalg.inv(MATRIX).T)
    check_compiled(log_determinant, MATRIX, gradient)
    hessian = ad.hessian(log_determinant)(MATRIX)
    inverse = np.linalg.inv(MATRIX)
    np.testing.assert_allclose(hessian, -np.einsum("jk,li->ijkl", inverse, inverse), atol=1e-12)


@pytest.mark.parametrize("solve", [solve_by_elimination, gauss_seidel])
def test_systems_against_their_closed_form(solve):
    b, weights = np.array([1.0, -2.0, 0.5]), np.array([0.3, 1.0, -0.7])
    of_a, of_b = ad.grad(lambda a, b: weights @ solve(a, b), (0, 1))(MATRIX, b)
    adjoint = np.linalg.solve(MATRIX.T, weights)
    np.testing.assert_allclose(of_b, adjoint, rtol=1e-9)
    np.testing.assert_allclose(of_a, -np.outer(adjoint, np.linalg.solve(MATRIX, b)), rtol=1e-9)
    jacobian = ad.jacobian(lambda b: solve(MATRIX, b))(b)
    np.testing.assert_allclose(jacobian, np.linalg.inv(MATRIX), rtol=1e-9, atol=1e-12)


def test_cholesky_against_numpys():
    weights = np.sin(np.arange(9.0)).reshape(3, 3)

    def ours(a):
        return np.sum(weights * in_place_cholesky(a))

    def numpys(a):
        return np.sum(weights * np.linalg.cholesky(a @ a.T))

    gradient = check(ours, MATRIX, np.cos(MATRIX))
    np.testing.assert_allclose(gradient, ad.grad(numpys)(MATRIX), rtol=1e-9, atol=1e-12)


def test_butterflies_against_numpys_transform():
    def transform(x):
        y = (x + 0j)[[0, 4, 2, 6, 1, 5, 3, 7]]
        size = 2
        while size <= 8:
            turn = np.exp(-2j * np.pi * np.arange(size // 2) / size)
            for start in range(0, 8, size):
                upper, lower = y[start : start + size // 2], y[start + size // 2 : start + size]
                lower *= turn
                kept = upper.copy()
                upper += lower
                lower *= -1.0
                lower += kept
            size *= 2
        return y

    x = np.sin(np.arange(8.0))
    np.testing.assert_allclose(transform(x), np.fft.fft(x), atol=1e-12)
    ours = ad.grad(lambda x: np.sum(np.abs(transform(x)) ** 4))(x)
    numpys = ad.grad(lambda x: np.sum(np.abs(np.fft.fft(x)) ** 4))(x)
    np.testing.assert_allclose(ours, numpys, rtol=1e-10, atol=1e-10)


def stencil(u, steps=5):
    u = u * 1.0
    for _ in range(steps):
        inside = u[1:-1, 1:-1]
        inside += 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * inside)
        u[0], u[-1] = u[1], u[-2]
        u[:, 0], u[:, -1] = u[:, 1], u[:, -2]
    return np.sum(u**3)


def test_stencil_against_pytorch():
    torch = pytest.importorskip("torch")
    start = np.sin(np.arange(30.0)).reshape(5, 6)
    u = given_u = torch.tensor(start, requires_grad=True)
    u = u * 1.0
    for _ in range(5):
        inside = u[1:-1, 1:-1]
        more = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * inside
        inside = inside + 0.1 * more
        u = torch.nn.functional.pad(inside[None, None], (1, 1, 1, 1), mode="replicate")[0, 0]
    torch.sum(u**3).backward()
    gradient = check(stencil, start, np.cos(start))
    np.testing.assert_allclose(gradient, given_u.grad.numpy(), rtol=1e-10, atol=1e-12)
    check_compiled(stencil, start, gradient)


def test_places_of_batches():
    """Each example writes to a row of its own, also through a view."""

    def f(x, i):
        u = x * 2.0
        row = u[i]
        row += 1.0
        u[i, 0] *= x[0, 0]
        row[1] = x[2, 2] ** 2
        return np.sum(u**2)

    i = np.array([0, 2])
    both = np.stack([X, 1.5 * X])
    expected = [f(x.copy(), k) for x, k in zip(both, i, strict=True)]
    np.testing.assert_allclose(ad.vmap(f)(both, i), expected)
    gradients = [ad.grad(f)(x, k) for x, k in zip(both, i, strict=True)]
    np.testing.assert_allclose(ad.vmap(ad.grad(f))(both, i), gradients)


# Nested derivatives. ------------------------------------------------------------------------------


def test_an_inner_derivative_keeps_what_it_was_given():
    def f(x):
        k = x * 2.0
        inner = ad.grad(lambda y: np.sum(y**3 * k))
        before = inner(k)
        k[0] = 5.0 * x[1]
        before[1] = x[2]  # a gradient is an array of its own
        return np.sum(before) + np.sum(inner(k))

    def by_hand(x):
        k = x * 2.0
        before = 3 * k**3
        after = np.where(np.arange(3) == 0, 5.0 * x[1], k)
        return np.sum(before) - before[1] + x[2] + np.sum(3 * after**3)

    x = np.array([0.5, 0.7, -0.4])
    np.testing.assert_allclose(ad.grad(f)(x), ad.grad(by_hand)(x))
    np.testing.assert_allclose(ad.jvp(f, (x,), (x,))[1], ad.jvp(by_hand, (x,), (x,))[1])


def test_a_pullback_keeps_what_it_was_given():
    def f(x):
        k, c = x * 2.0, x**2
        value, pull = ad.vjp(lambda y: y * y * c, k)
        same, tangent = ad.jvp(lambda y: y, (k,), (c,))
        k *= 0.0
        c[...] = 1.0
        value[0] = 0.0
        same[0], tangent[0] = 7.0, 7.0
        return np.sum(pull(np.ones(3))[0]) + np.sum(k) + np.sum(c)

    x = np.array([0.5, 0.7, -0.4])
    np.testing.assert_allclose(ad.grad(f)(x), 12 * x**2)  # of 2 y c = 4 x³


def test_inner_numbers_written_into_outer_arrays():
    def f(x):
        def g(y):
            k = x * 2.0
            k[0] += y[1]
            k[1:] *= y[:2]
            return np.sum(k**2)

        return np.sum(ad.grad(g)(x**2))

    def by_hand(x):
        y, k = x**2, x * 2.0
        return 2 * (k[0] + y[1]) + 2 * k[1] ** 2 * y[0] + 2 * k[2] ** 2 * y[1]

    x = np.array([0.5, 0.7, -0.4])
    np.testing.assert_allclose(ad.grad(f)(x), ad.grad(by_hand)(x))


def test_gradients_in_two_arguments_are_two_arrays():
    def f(x):
        a, b = ad.grad(lambda a, b: np.sum((a + b) ** 2), (0, 1))(x, x)
        a[0] = 0.0
        return np.sum(b * b)

    np.testing.assert_allclose(ad.grad(f)(np.ones(2)), [32.0, 32.0])  # of (4 x)²


def test_vmap_gives_arrays_of_their_own():
    def f(x):
        k = x * 2.0
        same = ad.vmap(lambda row: row)(k)
        k[0] = 0.0
        same[1] *= 3.0
        return np.sum(k**2) + np.sum(same**2)

    np.testing.assert_allclose(ad.grad(f)(np.ones((2, 2))), [[8.0, 8.0], [80.0, 80.0]])


def test_checkpoints_run_again_with_what_they_were_given():
    def f(x):
        k = x * 2.0
        total = ad.checkpoint(lambda y: np.sum(y**3))(k)
        k[0] = 9.0
        return total + ad.checkpoint(lambda y: np.sum(y**3))(k)

    np.testing.assert_allclose(ad.grad(f)(np.ones(2)), [24.0, 48.0])


def test_programs_that_write_can_be_shown():
    for f in (element, row_of_a_result, own_argument, views_of_views):
        text = ad.source(ad.grad(f), X)
        np.testing.assert_allclose(text.function()(X), ad.grad(f)(X), rtol=1e-12)
        assert ad.find_kinks(f)(X) == []
        np.testing.assert_allclose(ad.grad(f, kinks="raise")(X), ad.grad(f)(X))


# What it costs, and what is refused. --------------------------------------------------------------


def test_the_argument_of_the_caller_stays():
    x = X.copy()
    ad.grad(own_argument)(x)
    ad.jvp(own_argument, (x,), (x,))
    ad.vmap(own_argument)(np.stack([x, x]))
    ad.jit(ad.grad(own_argument))(x)
    np.testing.assert_array_equal(x, X)


@pytest.mark.slow
@pytest.mark.parametrize("x", [X, np.sin(np.arange(9000.0)).reshape(90, 100)])
@pytest.mark.parametrize("mode", [ad.grad, lambda f: lambda x: ad.jvp(f, (x,), (x,)), ad.vmap])
@pytest.mark.usefixtures("quiet")
def test_nothing_is_kept(mode, x):
    kept = []

    def f(x):
        a = np.exp(x)
        view, turned = a[..., 1:], a.T
        view += 1.0
        kept.extend(map(weakref.ref, (a, view, turned)))
        a[..., 1:2] *= turned[1:2].T
        return np.sum(a**2) + np.sum(turned)

    gc.disable()
    before = {*views._records}, {*views._views}
    try:
        mode(f)(x)
        assert [each() for each in kept] == [None] * 3
        assert before == ({*views._records}, {*views._views})
    finally:
        gc.enable()


def test_filling_a_computed_array_takes_memory_in_proportion():
    def fill(x):
        y = x * 2.0
        for i in range(1, len(x)):
            y[i] = x[i] * y[i - 1]
        return np.sum(y)

    assert numbers_recorded(fill, 100) < 2.1 * numbers_recorded(fill, 50)


def test_the_kind_of_number_stays():
    def f(x):
        a = x * 2
        a += np.full(3, 0.1)
        a[0] = np.float64(1.5)
        assert a.dtype == np.float32
        return np.sum(a)

    assert ad.grad(f)(np.ones(3, np.float32)).dtype == np.float32
    with pytest.raises(ad.LostDerivativeError, match="complex128 cannot be written"):
        ad.grad(lambda x: np.sum((x * 2).__iadd__(1j)))(np.ones(3))
    with pytest.raises(TypeError):
        ad.vmap(lambda x: np.argsort(x).__iadd__(0.5))(X)


def test_whole_numbers_of_batches_can_be_written_to():
    def f(x):
        order = np.argsort(x)
        order[0] = 1
        order += 1
        return x[order % 4] ** 2

    np.testing.assert_allclose(ad.vmap(f)(X), [f(x) for x in X])


def refused(f, kind, words):
    for mode in (ad.grad(f), lambda x: ad.jvp(f, (x,), (x,)), ad.vmap(f)):
        with pytest.raises(kind, match=words):
            mode(np.ones((3, 3, 3))[0])


def test_what_is_refused():
    for view in (
        lambda u: np.broadcast_to(u, (2, *np.shape(u))),
        lambda u: np.diagonal(np.stack([u, u], -1)),
    ):
        refused(lambda x, view=view: view(x * 2.0).__setitem__(0, 1.0), ValueError, "read-only")
    refused(lambda x: (x * 2.0).__iadd__(np.ones((2, 9, *x.shape))), TypeError, "cannot be changed")
    with pytest.raises(ad.LostDerivativeError, match="typed by hand"):
        ad.Node(X)[0] = 1.0
    with pytest.raises(ad.RuleError, match=r"x\[...\] = np.nan_to_num"):
        ad.grad(lambda x: np.nan_to_num(x * 2.0, copy=False))(X)
    with pytest.raises(ad.ArgumentError, match="a single number"):
        ad.grad(lambda x: (x * 2.0).__setitem__(0, 1.0))(1.0)
    outside = np.zeros(3)
    with pytest.raises(ad.LostDerivativeError, match=r"inside the function, with np\.zeros"):
        ad.grad(lambda x: outside.__iadd__(x))(np.ones(3))
