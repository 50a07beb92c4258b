"""Arrays that are written to: whatever a program does in place, it means what NumPy means."""

import copy
import itertools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import simpleautodiff as ad
from references import numbers_recorded
from simpleautodiff.core.engine import engine

X = np.array([[0.5, -1.0, 2.0, 0.25], [1.5, 0.3, -0.7, 1.1], [0.9, -0.2, 0.4, -1.3]])


def views(x):
    y = x.copy()
    row, column, block = y[1], y[:, 2], y[:2, ::2]
    row *= 2.0
    column += row[0]
    block[0] = block[1] * x[0, 0]
    y[0, 1] = column[2] ** 2
    return y + np.sum(row) * np.sum(block)


def turned(x):
    y = np.zeros_like(x)
    y.T[1] = x[:, 0] * x[:, 1]
    flat = y.reshape(-1)
    flat[5] = np.sin(x[1, 1])
    flat[::4] += x[:, 3]
    y.transpose(1, 0)[3] -= 1.0
    y.swapaxes(0, 1)[0] *= 3.0
    y.ravel()[2] = x[2, 2]
    return y


def views_of_views(x):
    y = x.copy()
    inner = y[1:][:, 1:3]
    inner[0, 0] = 5.0 * x[0, 0]
    for line in y:
        line[-1] = line[0] ** 2
    inner += inner[0, 0]
    return y


def lines_of_a_computed_array(x):
    y = x * 2.0
    for line in y:
        line *= line[0]
    for i, column in enumerate(y.T):
        column[:] = column**2 + i
    for upper, lower in itertools.pairwise(y):
        lower += upper
    for line in map(np.square, y[1:]):
        line /= 2.0
    for half in y.reshape(3, 2, 2):
        for line in half:
            np.multiply(line, line[1], out=line)
    return y


def lines_of_an_argument(x):
    for line in x:
        line /= np.sum(line**2)
        line.sort()
    return x


def rows(x):
    y = np.empty_like(x)
    y[0] = x[0]
    for i in range(1, len(x)):
        y[i] = np.tanh(y[i - 1]) * x[i] + y[0, 0]
    return y


def elements(x):
    y = np.zeros_like(x)
    y[0, 0] = x[0, 0]
    for i in range(3):
        for j in range(1, 4):
            y[i, j] = y[i, j - 1] * x[i, j] + y[0, 0]
        if i < 2:
            y[i + 1, 0] = np.sum(y[i])
    y[-1, -1] += y[2, 2]
    return y


def copies_are_no_views(x):
    y = x.copy()
    z = y.copy()
    chosen, flat = y[[0, 2]], y.flatten()
    y[0] = 0.0
    chosen *= 2.0
    z[1] += chosen[0]
    return y.sum() * 1.0 + z * flat.reshape(3, 4)


PROGRAMS = [
    *(views, turned, views_of_views, lines_of_a_computed_array, lines_of_an_argument, rows),
    elements,
    copies_are_no_views,
]


@pytest.mark.parametrize("f", PROGRAMS)
def test_programs_mean_what_numpy_means(f):
    direction = np.cos(np.arange(12.0)).reshape(3, 4)
    value, tangent = ad.jvp(f, (X,), (direction,))
    np.testing.assert_allclose(value, f(X.copy()), rtol=1e-13)
    step = 1e-6
    slope = (f(X + step * direction) - f(X - step * direction)) / (2 * step)
    np.testing.assert_allclose(tangent, slope, atol=1e-7)
    _, pullback = ad.vjp(f, X)
    np.testing.assert_allclose(
        np.sum(pullback(direction)[0] * direction), np.sum(tangent * direction)
    )
    both = [f(X.copy()), f(2 * X)]
    np.testing.assert_allclose(ad.vmap(f)(np.stack([X, 2 * X])), both, rtol=1e-12)


INDICES = st.sampled_from(
    [0, -1, (1, 2), (2, -1), slice(1, None), (slice(None), 1), (..., 0), (0, slice(None, None, 2))]
)
STEP = st.tuples(
    st.sampled_from(["set", "add", "scale", "view", "turn", "flat"]),
    INDICES,
    st.floats(-2, 2).map(lambda x: round(x, 3)),
)


def run(steps, x):
    y = x.copy()
    seen = [y]
    for action, index, number in steps:
        array = seen[-1] if np.ndim(seen[-1]) == 2 and np.shape(seen[-1])[0] >= 3 else y
        if action == "set":
            array[index] = number * x[0, 1]
        elif action == "add":
            array[index] += number * x[1, 0]
        elif action == "scale":
            array *= 1.0 + number * x[2, 2]
        elif action == "view":
            part = array[index]
            if np.ndim(part):
                part += number
                seen.append(part)
        elif action == "turn":
            seen.append(array.T)
        else:
            y.reshape(-1)[3] = number
    return y + sum(np.sum(part) for part in seen)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.lists(STEP, max_size=8))
def test_random_writes_mean_what_numpy_means(steps):
    expected = run(steps, X)
    value, tangent = ad.jvp(lambda x: run(steps, x), (X,), (X,))
    np.testing.assert_allclose(value, expected, rtol=1e-10, atol=1e-10)
    _, pullback = ad.vjp(lambda x: run(steps, x), X)
    seed = np.sin(np.arange(12.0)).reshape(3, 4)
    left, right = np.sum(pullback(seed)[0] * X), np.sum(tangent * seed)
    np.testing.assert_allclose(left, right, rtol=1e-9, atol=1e-9)


def test_filling_element_by_element_takes_memory_in_proportion():
    def fill(x):
        y = np.zeros_like(x)
        for i in range(len(x)):
            y[i] = x[i] * (y[i - 1] if i else 1.0)
        return np.sum(y)

    assert numbers_recorded(fill, 100) < 2.1 * numbers_recorded(fill, 50)


def buffer_of_a_loop(x, buffer):
    total = np.sum(x * buffer)
    buffer[:] = 7.0
    return total + np.sum(x * buffer)


def view_of_a_buffer(x, buffer):
    left = buffer[: len(buffer) // 2]
    total = np.sum(x * buffer)
    left[:] = 9.0
    return total


def base_of_a_view(x, buffer):
    total = np.sum(x[1:] * buffer[1:]) + x[0] * buffer[0]
    buffer[1] = 5.0
    return total


@pytest.mark.skipif(engine.wrap is not None, reason="the fast engine locks large arrays")
@pytest.mark.parametrize("size", [6, 10_000])
@pytest.mark.parametrize(
    ("f", "slope"), [(buffer_of_a_loop, 8.0), (view_of_a_buffer, 1.0), (base_of_a_view, 1.0)]
)
def test_the_plain_engine_copies_what_a_recorded_operation_used(f, slope, size):
    gradient = ad.grad(f)(np.ones(size), np.ones(size))
    np.testing.assert_array_equal(gradient, np.full(size, slope))


def test_a_pullback_keeps_its_own_copies():
    large, x = np.full(10_000, 3.0), np.full(10_000, 2.0)
    _, pullback = ad.vjp(lambda x: np.sum(x * x * large), x)
    large[:], x[:] = 0.0, 0.0
    np.testing.assert_allclose(pullback(1.0)[0], np.full(10_000, 12.0))


def test_gradients_are_arrays_of_their_own():
    a, b = ad.grad(lambda a, b: np.sum((a + b) ** 2), (0, 1))(np.ones(3), np.ones(3))
    a[:] = 0
    np.testing.assert_array_equal(b, np.full(3, 4.0))


def put_twice(x):
    y = x * 2
    np.put(y, [1, 5, 1], x[0, :3])
    return y


def put_along_twice(x):
    y = x * 2
    np.put_along_axis(y, np.array([[1, 1], [0, 3], [2, 2]]), x[:, :2] ** 2, 1)
    return y


def writing(index, value):
    def program(x):
        y = x * 2
        y[index] = value(x)
        return y

    return program


def adding(x):
    y = x * 2
    y[:, [0, 0]] += 1
    y[[1, 1, 2]] *= x[:, :1]  # a row is multiplied once, by its last factor
    return y


def flat_is_filled_again_from_the_start(x):
    y, z, v = x * 2, x * 3, x * 4
    y.flat = x[0, :3] ** 2
    y.flat[7:] = x[1, :2] * x[2, 3]
    y.flat[[1, 2, 1]] = [x[0, 0], x[1, 1] ** 2]
    z.flat = x.T * x[0, 0]  # the elements of any array, in their order
    z.flat[:2] = x[0] ** 2  # too many are not written
    v.flat[-1] = x[0, 0] ** 2
    v.flat[1:3] = 0.5
    return y * z * v


def wrapped_diagonal(x):
    y = x.reshape(6, 2) * 2
    np.fill_diagonal(y, x[0, :3] ** 2, wrap=True)
    np.fill_diagonal(y.T, x[0, 1])
    return y.reshape(3, 4)


MASK = np.array([True, False, True])
TWICE = [
    *(put_twice, put_along_twice, adding, flat_is_filled_again_from_the_start),
    wrapped_diagonal,
    writing([0, 0], lambda x: 0.5),
    writing([0, 0], lambda x: x[0, 1] ** 2),
    writing([2, 2, 0], lambda x: x**2),
    writing([2, -1, 0], lambda x: x[::-1] ** 2),
    writing([2, 2, 0], lambda x: x[:, :1] ** 2),
    writing([2, 2, 0], lambda x: x[None, 1] ** 2),
    writing([2, 2, 0], lambda x: (x**2)[None]),
    writing((slice(None), [1, 3, 1]), lambda x: x[:, 1:] * x[:, :3]),
    writing(([0, 0], slice(None), None), lambda x: np.sin(x[:2])[:, :, None]),
    writing(([0, 0, 0], slice(1, 3)), lambda x: np.sin(x[:, 1:3])),
    writing(([0, 1, 0], [1, 2, 1]), lambda x: np.sin(x[:, 3])),
    writing((MASK, [1, 1]), lambda x: x[:2, 0] ** 3),
    writing((None, [1, 1], MASK.nonzero()[0]), lambda x: x[None, :2, 0] ** 3),
    writing(np.array([[0, 1], [1, 0]]), lambda x: np.stack([x[:2], x[1:]]) ** 2),
    writing([0, 0], lambda x: np.arange(8.0).reshape(2, 4)),
]


@pytest.mark.parametrize("f", TWICE)
def test_of_a_place_that_is_named_twice_the_last_write_counts(f):
    test_programs_mean_what_numpy_means(f)
    step, weights = 1e-5, np.cos(np.arange(12.0)).reshape(3, 4)
    slope = ad.grad(lambda x: np.sum(weights * f(x) ** 2))
    direction = np.sin(np.arange(12.0)).reshape(3, 4)
    second = ad.hvp(lambda x: np.sum(weights * f(x) ** 2), (X,), (direction,))
    differences = (slope(X + step * direction) - slope(X - step * direction)) / (2 * step)
    np.testing.assert_allclose(second, differences, atol=1e-8)
    mapped = ad.vmap(slope)(np.stack([X, 2 * X]))
    np.testing.assert_allclose(mapped, [slope(X), slope(2 * X)], rtol=1e-12)


def by_numpys_integer(x):
    y = np.zeros_like(x).reshape(2, 2)
    y[np.argmax(x[:2])][0] = x[0]
    return np.sum(y)


def reshaped_slice(x):
    y = np.zeros_like(x)
    y[:].reshape(2, 2)[0] = x[:2]
    return np.sum(y)


def raveled_then_written(x):
    y = np.zeros_like(x)
    z = np.ravel(y)
    y[:] = x
    return np.sum(z)


def transposed_then_scaled(x):
    y = x.copy()
    z = np.transpose(y.reshape(2, 2))
    z *= 2
    return np.sum(y)


def rows_of_one_buffer(x):
    y, row = np.zeros_like(x).reshape(2, 2), np.ones(2)
    for i in range(2):
        row *= 2
        y[i] = row
    return np.sum(y.reshape(-1) * x)


def squeezed(x):
    y = np.zeros_like(x)[None]
    y.squeeze()[1:] = x[:-1]
    np.expand_dims(y, 0)[..., 0] = x[3]
    y.flat[2] = x[0]
    return np.sum(y * y)


def a_copy_of_a_copy(x):
    return np.sum(copy.copy(x.copy()) ** 2)


def written_lists(x):
    y = np.zeros_like(x)
    y[:2] = [x[1], x[0] * 3]
    return np.sum(y**2)


@pytest.mark.parametrize(
    "f",
    [
        by_numpys_integer,
        reshaped_slice,
        raveled_then_written,
        transposed_then_scaled,
        rows_of_one_buffer,
        squeezed,
        a_copy_of_a_copy,
        written_lists,
    ],
)
def test_writes_that_lost_their_view(f):
    x = np.array([1.0, 2.0, 3.0, 4.0])
    value, gradient = ad.value_and_grad(f)(x)
    assert value == f(x)
    steps = [(f(x + 1e-6 * e) - f(x - 1e-6 * e)) / 2e-6 for e in np.eye(4)]
    np.testing.assert_allclose(gradient, steps, atol=1e-6)


def test_the_truth_of_a_writable_array():
    with pytest.raises(ad.LostDerivativeError, match="if node"):
        ad.grad(lambda x: x[0] * 2 if x.copy() else x[0])(np.ones(1))
    assert ad.grad(lambda x: x[0] * 2 if np.zeros_like(x) else x[0] * 3)(np.ones(1)) == 3


def test_writes_keep_the_kind_of_the_array():
    def f(x):
        y = x.copy()
        y *= np.ones(3)
        y[0] = x[1].astype(np.float64)
        y[1:] = np.exp(x[:2].astype(np.float64))
        return y

    assert ad.vjp(f, np.ones(3, np.float32))[0].dtype == np.float32
    for write in (lambda y, x: y.__setitem__(0, 1j * x[1]), lambda y, x: y.__iadd__(1j * x)):
        with pytest.raises(ad.LostDerivativeError, match="complex128 cannot be written"):
            ad.grad(lambda x, write=write: write(np.zeros_like(x), x))(np.ones(3))


def _written_through_split(x):
    y = x.copy()
    left, right = np.hsplit(y, [1])
    y[0] = x[1] ** 2
    right *= 3.0
    return y + left, right


def _written_at(x):
    y = np.zeros_like(x)
    rows = y[1:]
    np.add.at(y, ([0, 2, 2, 0], [1, 1, 1, 1]), x[0])
    np.subtract.at(rows, 0, x[2])
    np.multiply.at(y, ([0, 0, 2],), x[:, :1])
    return y


def _written_out(x):
    y = x.copy()
    np.cumsum(y, axis=0, out=y)
    np.clip(y, -1.0, x[0] + 3.0, y)
    half, whole = np.zeros_like(x), np.zeros_like(x)
    np.modf(y * 2, out=(half, whole))
    return y, half


def _written_in_a_row(x):
    y = x.copy()
    y.T.flat[1] = x[0, 0] ** 2
    y[:, 1:].flat = np.arange(9.0) * x[2, 3]
    flat = y.flatten()
    flat[0] = 0.0
    return y, flat


def _written_parts(x):
    z = x * (1.0 + 0.5j)
    z = z.copy()
    z.real[0] = x[1]
    z[1].imag = x[0] ** 2
    z.imag *= 2.0
    return z.real, z.imag


def _written_at_least(x):
    y = np.zeros_like(x[0])
    table = np.atleast_2d(y)
    seen = np.broadcast_to(y, (2, 4))
    y[1:] = x[1, 1:] ** 2
    table[0, 0] = x[2, 2]
    return y, seen * 1.0


WRITTEN = [
    _written_through_split,
    _written_at,
    _written_out,
    _written_in_a_row,
    _written_parts,
    _written_at_least,
]


@pytest.mark.parametrize("f", WRITTEN, ids=lambda f: f.__name__)
def test_views_and_writers_write_what_numpy_writes(f):
    x = np.random.default_rng(5).uniform(0.2, 1.0, (3, 4))
    v = np.random.default_rng(6).uniform(-1.0, 1.0, (3, 4))
    values, tangents = ad.jvp(f, (x,), (v,))
    h = 1e-6
    for value, tangent, expected, up, down in zip(
        values, tangents, f(x), f(x + h * v), f(x - h * v), strict=True
    ):
        np.testing.assert_allclose(value, expected, rtol=1e-12)
        np.testing.assert_allclose(tangent, (up - down) / (2 * h), atol=1e-8)
    total = lambda x: sum(np.sum(np.sin(part)) for part in f(x))
    slope = (total(x + h * v) - total(x - h * v)) / (2 * h)
    np.testing.assert_allclose(np.sum(ad.grad(total)(x) * v), slope, rtol=1e-7)


def test_a_number_that_was_written_is_read_as_numpy_reads_it():
    kinds = []

    def f(x):
        y = np.zeros_like(x)
        y[0] = 0.1
        kinds.append((type(y[0]), y[0]))
        return y.sum() + x.sum()

    ad.grad(f)(np.ones(3, np.float32))
    assert kinds == [(np.float32, np.float32(0.1))]


def test_a_broadcast_array_that_numpy_copies_when_it_is_reshaped_can_be_written_to():
    def f(x):
        y = np.broadcast_to(x[:1], x.shape).reshape(-1).reshape(x.shape)
        y *= 0.9
        return np.sum(y)

    x = np.arange(6.0).reshape(3, 2)
    np.testing.assert_allclose(ad.grad(f)(x), [[2.7, 2.7], [0, 0], [0, 0]])
    np.testing.assert_allclose(ad.jvp(f, (x,), (x,)), (2.7, 2.7))


def test_what_lies_column_by_column_has_the_views_that_numpy_gives_it():
    def program(x):
        y = x.T * 2.0  # as its operand lies in memory: column by column
        y[0, 0] = x[0, 1]
        seen, copied = y.T.reshape(-1), y.reshape(-1)
        seen[1] = 7 * x[0, 0]
        copied[2] = 100.0
        return y

    x = np.arange(6.0).reshape(2, 3) + 1
    value, pullback = ad.vjp(program, x)
    np.testing.assert_array_equal(value, program(x))
    assert value[1, 0] == 7.0
    # every element of y is 2 x, but for the two that were written
    expected = np.array([[7.0, 1.0, 2.0], [2.0, 2.0, 2.0]])
    np.testing.assert_array_equal(pullback(np.ones((3, 2)))[0], expected)


def test_a_view_without_another_dtype():
    def f(x):
        y = x * 2.0
        z = y.view()
        z[0] = 5.0
        return np.sum(y * z)

    np.testing.assert_array_equal(ad.grad(f)(np.array([1.0, 2.0, 3.0])), [0.0, 16.0, 24.0])
    with pytest.raises(ad.LostDerivativeError, match=r"use x\.astype\(dtype\)"):
        ad.grad(lambda x: np.sum(x.view(np.int64)))(np.ones(2))


@pytest.mark.parametrize("ufunc", [np.add, np.subtract, np.multiply])
def test_elements_changed_again_and_again_have_numpys_last_bits(ufunc):
    def change(x):
        y = x[:2] * 3
        ufunc.at(y, [0, 0, 1, 0], x)
        return y

    for x in np.random.default_rng(3).normal(size=(20, 4)):
        value, tangent = ad.jvp(change, (x,), (np.ones(4),))
        np.testing.assert_array_equal(value, change(x.copy()))
        slopes = ad.jacrev(change)(x)
        np.testing.assert_allclose(slopes @ np.ones(4), tangent, rtol=1e-12)
        batch = ad.vmap(change)(np.stack([x, -x]))
        np.testing.assert_allclose(batch, [change(x.copy()), change(-x)], rtol=1e-14)


OVERLAPPING = {
    "add.at": lambda y, z: np.add.at(y, [0, 0, 1], z),
    "subtract.at": lambda y, z: np.subtract.at(y, [2, 0, 1], z),
    "multiply.at": lambda y, z: np.multiply.at(y, [0, 0, 2], z),
    "power.at": lambda y, z: np.power.at(y, [1, 0, 1], z),
    "out": lambda y, z: np.multiply(y, z, out=y),
    "out of another order": lambda y, z: np.add(z, 1.0, out=y[::-1]),
    "accumulate": lambda y, z: np.add.accumulate(z, out=y),
    "copyto": lambda y, z: np.copyto(y, z, where=[True, False, True]),
    "put": lambda y, z: np.put(y, [1, 2, 0], z),
    "slice": lambda y, z: y.__setitem__(slice(1, None), z[:-1]),
    "indices": lambda y, z: y.__setitem__([2, 0, 1], z),
    "in place": lambda y, z: y.__imul__(z),
}


@pytest.mark.parametrize("turn", [slice(None), slice(None, None, -1)])
@pytest.mark.parametrize("name", OVERLAPPING)
def test_operands_that_share_memory_with_what_is_written_are_read_first(name, turn):
    def change(x, copied):
        y = x * 1.0
        z = y[turn]
        OVERLAPPING[name](y, z.copy() if copied else z)
        return y

    shared, apart = (lambda x, copied=copied: change(x, copied) for copied in (False, True))
    x, dx = np.array([1.5, 0.7, 2.2]), np.array([1.0, -2.0, 0.5])
    np.testing.assert_array_equal(shared(x), apart(x))  # so NumPy promises
    np.testing.assert_array_equal(ad.vjp(shared, x)[0], shared(x))
    np.testing.assert_array_equal(ad.jvp(shared, (x,), (dx,))[0], shared(x))
    np.testing.assert_allclose(ad.vmap(shared)(np.stack([x, dx + 3]))[0], shared(x), rtol=1e-14)
    np.testing.assert_allclose(ad.jacrev(shared)(x), ad.jacrev(apart)(x), rtol=1e-14)
    np.testing.assert_allclose(ad.jacfwd(shared)(x), ad.jacfwd(apart)(x), rtol=1e-14)


def test_a_view_of_an_array_that_was_written_to():
    def f(x):
        y = np.zeros(3)
        y[:] = x
        z = y.view()
        z[0] = x[1] * x[2]
        return np.sum(y * y)

    found = ad.grad(f)(np.array([1.0, 2.0, 3.0]))  # of (x1 x2)² + x1² + x2²
    np.testing.assert_array_equal(found, [0.0, 2 * 2 * 9 + 4, 2 * 3 * 4 + 6])


def test_single_elements_of_a_flat_view_of_a_new_array():
    def f(x):
        y = np.zeros((2, 2))
        y.flat[0] = x[0] ** 2
        y.flat[-1] = x[1]
        return y

    x = np.array([3.0, 5.0])
    expected = [[[6.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 1.0]]]
    np.testing.assert_array_equal(ad.jacobian(f)(x), expected)
    np.testing.assert_array_equal(ad.jvp(f, (x,), (np.ones(2),))[1], [[6.0, 0.0], [0.0, 1.0]])
    np.testing.assert_array_equal(ad.vmap(f)(x[None])[0], [[9.0, 0.0], [0.0, 5.0]])
    plain = np.zeros(2)
    with pytest.raises(
        ad.LostDerivativeError, match=r"y\.flat\[0\] = x takes nodes if y was made inside"
    ):
        ad.grad(lambda x: plain.flat.__setitem__(0, x))(2.0)
