"""Batches whose examples write, and read, at places of their own: as a loop, and as JAX."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import simpleautodiff as ad

jax.config.update("jax_enable_x64", True)
XS = np.arange(12.0).reshape(3, 4) / 4 + 1
PLACES = np.array([0, 2, -1])
VS = np.array([0.5, 1.5, 2.5])


def two(i):
    return np.stack([i, (i + 1) % 4])


def written(x, i, v):
    y = np.zeros_like(x)
    y[i] = v * x[0]
    return y


def overwritten(x, i, v):
    y = x.copy()
    y[i] = np.sin(v) * x[1]
    return y * x


def added(x, i, v):
    y = x.copy()
    y[i] += v * x[0]
    return y


def written_again(x, i, v):
    y = x.copy()
    y[i] = v
    y[i] = y[i] * x[2]
    y[i] -= 1.0
    return y


def several(x, i, v):
    y = x.copy()
    y[two(i)] = v * x[:2]
    return y


def several_in_place(x, i, v):
    y = x.copy()
    y[np.argsort(-x)[:2]] *= v
    return y


def in_a_row(x, i, v):
    y = np.zeros_like(x, shape=(2, 4))
    y[1, i] = v * x[0]
    y[:, 0] += x[1]
    return y


def in_columns(x, i, v):
    y = np.zeros_like(x, shape=(2, 4))
    y[:, i] = v * x[:2]
    return y


def rows(x, i, v):
    y = np.zeros_like(x, shape=(4, 2))
    y[i] = v * x[:2]
    return y


def in_a_view_of_a_row(x, i, v):
    y = np.zeros_like(x, shape=(4, 2))
    row = y[i]
    row[1] = v * x[0]
    row *= 2.0
    return y


def through_a_view(x, i, v):
    y = np.zeros_like(x, shape=(2, 4))
    z = y[1]
    z[i] = v
    z[0] = x[1]
    return y


def masked(x, i, v):
    y = x**2
    y = y.copy()
    y[x > 1.3 * v + 0.4] = v * x[1]
    return y


def masked_rows(x, i, v):
    y = np.zeros_like(x, shape=(4, 2))
    y[x > 1.3 * v + 0.4] = v * x[:2]
    return y


def masked_in_a_row(x, i, v):
    y = np.zeros_like(x, shape=(2, 4))
    y[1, ~(x > 1.3 * v + 0.4)] = v * x[1]
    return y


def largest(x, i, v):
    y = np.zeros_like(x)
    j = np.argmax(x * v)
    y[j] = x[j] ** 2
    return y


def with_put(x, i, v):
    y = x.copy()
    np.put(y, i, v * x[0])
    return y


def with_putmask(x, i, v):
    y = x.copy()
    np.putmask(y, x > 1.3 * v + 0.4, v)
    return y


def with_put_along_axis(x, i, v):
    y = x.copy()
    np.put_along_axis(y, two(i), v * x[:2], 0)
    return y


def read(x, i, v):
    return x[i] * v + x[two(i)]


def read_by_take(x, i, v):
    return np.take_along_axis(x, two(i), 0) * v + np.take(x, i)


def read_from_rows(x, i, v):
    table = np.outer(x, x)
    return table[i] * v + table[i, two(i)[:1]] + table[:, i]


PROGRAMS = [
    *(written, overwritten, added, written_again, several, several_in_place, in_a_row, in_columns),
    *(rows, in_a_view_of_a_row, through_a_view, masked, masked_rows, masked_in_a_row, largest),
    *(with_put, with_putmask, with_put_along_axis, read, read_by_take, read_from_rows),
]
every_program = pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)


def loop(f, *arguments):
    results = [f(*one) for one in zip(*arguments, strict=True)]
    if isinstance(results[0], tuple):
        return tuple(np.stack(part) for part in zip(*results, strict=True))
    return np.stack(results)


def assert_same(found, expected):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def number_of(f):
    """Return a function of one number that weighs every element of the result."""

    def number(x, i, v):
        y = f(x, i, v)
        return np.sum(np.sin(y) * np.arange(1.0, 1 + np.size(y)).reshape(np.shape(y)))

    return number


@every_program
def test_values_are_those_of_a_loop(f):
    np.testing.assert_allclose(ad.vmap(f)(XS, PLACES, VS), loop(f, XS, PLACES, VS))


@every_program
def test_derivatives_are_those_of_a_loop(f):
    g = number_of(f)
    slopes = loop(ad.grad(g, (0, 2)), XS, PLACES, VS)
    assert_same(ad.vmap(ad.grad(g, (0, 2)))(XS, PLACES, VS), slopes)
    total = lambda xs, vs: np.sum(ad.vmap(g)(xs, PLACES, vs))
    assert_same(ad.grad(total, (0, 1))(XS, VS), slopes)
    tangent = ad.jvp(lambda xs: ad.vmap(g)(xs, PLACES, VS), (XS,), (np.cos(XS),))[1]
    np.testing.assert_allclose(tangent, np.sum(slopes[0] * np.cos(XS), 1), atol=1e-12)


@every_program
def test_second_derivatives_are_those_of_a_loop(f):
    g = number_of(f)
    assert_same(ad.vmap(ad.hessian(g))(XS, PLACES, VS), loop(ad.hessian(g), XS, PLACES, VS))


@every_program
def test_batches_of_batches(f):
    many = np.stack([PLACES, PLACES[::-1]])
    found = ad.vmap(ad.vmap(f), in_axes=(None, 0, None))(XS, many, VS)
    np.testing.assert_allclose(found, np.stack([loop(f, XS, p, VS) for p in many]))
    inner = ad.vmap(lambda i: ad.vmap(f, in_axes=(0, None, 0))(XS, i, VS))(PLACES)
    repeated = [np.full(3, i) for i in PLACES]
    np.testing.assert_allclose(inner, np.stack([loop(f, XS, p, VS) for p in repeated]))


AS_JAX = {
    written: lambda x, i, v: jnp.zeros_like(x).at[i].set(v * x[0]),
    overwritten: lambda x, i, v: x.at[i].set(jnp.sin(v) * x[1]) * x,
    added: lambda x, i, v: x.at[i].add(v * x[0]),
    several: lambda x, i, v: x.at[jnp.stack([i, (i + 1) % 4])].set(v * x[:2]),
    rows: lambda x, i, v: jnp.zeros((4, 2)).at[i].set(v * x[:2]),
    in_columns: lambda x, i, v: jnp.zeros((2, 4)).at[:, i].set(v * x[:2]),
    masked: lambda x, i, v: jnp.where(x > 1.3 * v + 0.4, v * x[1], x**2),
}


@pytest.mark.slow
@pytest.mark.parametrize("f", AS_JAX, ids=lambda f: f.__name__)
def test_values_and_derivatives_are_those_of_jax(f):
    def of_jax(x, i, v):
        y = AS_JAX[f](x, i, v)
        return jnp.sum(jnp.sin(y) * jnp.arange(1.0, 1 + y.size).reshape(y.shape))

    g = number_of(f)
    for ours, theirs in [
        (ad.vmap(g), jax.vmap(of_jax)),
        (ad.vmap(ad.grad(g)), jax.vmap(jax.grad(of_jax))),
        (ad.vmap(ad.grad(g, 2)), jax.vmap(jax.grad(of_jax, 2))),
        (ad.vmap(ad.hessian(g)), jax.vmap(jax.hessian(of_jax))),
    ]:
        np.testing.assert_allclose(ours(XS, PLACES, VS), theirs(XS, PLACES, VS), atol=1e-12)


def test_the_array_may_be_the_same_for_all_examples():
    def f(x, i):
        y = x.copy()
        y[i] = x[1] * 3
        return y

    found = ad.jacobian(lambda x: ad.vmap(f, in_axes=(None, 0))(x, PLACES))(XS[0])
    np.testing.assert_allclose(found, [ad.jacobian(f)(XS[0], i) for i in PLACES])


def test_kinds_are_kept():
    xs, vs = XS.astype(np.float32), VS.astype(np.float32)
    assert ad.vmap(written)(xs, PLACES, vs).dtype == np.float32
    for f in (written, masked, several):
        slope = ad.grad(lambda x, i, v, f=f: np.sum(f(x, i, v) ** 2))
        assert ad.vmap(slope)(xs, PLACES, vs).dtype == np.float32


def test_large_batches_run_at_once():
    xs, i = np.ones((1000, 4)), np.arange(1000) % 4
    calls = []

    def f(x, i):
        calls.append(i)
        return written(x, i, 2.0)

    np.testing.assert_array_equal(ad.vmap(f)(xs, i), 2 * np.eye(4)[i])
    assert len(calls) == 1


@pytest.mark.parametrize(
    "value", [lambda x: x[:3] ** 2, lambda x: x[0] * x[1], lambda x: 0.5, lambda x: np.arange(3.0)]
)
def test_of_a_place_that_an_example_names_twice_the_last_write_counts(value):
    def f(x, i):
        y = x * 2
        y[np.stack([i, i % 2, i])] = value(x)
        return y

    alone = [f(x.copy(), i) for x, i in zip(XS, PLACES, strict=True)]
    np.testing.assert_allclose(ad.vmap(f)(XS, PLACES), alone)
    slopes = ad.vmap(ad.jacrev(f))(XS, PLACES)
    for slope, x, i in zip(slopes, XS, PLACES, strict=True):
        step = 1e-6 * np.eye(4)
        columns = [(f(x + e, i) - f(x - e, i)) / 2e-6 for e in step]
        np.testing.assert_allclose(slope, np.transpose(columns), atol=1e-8)
    np.testing.assert_allclose(ad.vmap(ad.jacfwd(f))(XS, PLACES), slopes)
    shared = ad.jacobian(lambda x: ad.vmap(f, in_axes=(None, 0))(x, PLACES))(XS[0])
    np.testing.assert_allclose(shared, [ad.jacobian(f)(XS[0], i) for i in PLACES])
    assert ad.vmap(f)(XS.astype(np.float32), PLACES).dtype == np.float32


def test_what_cannot_be_done_is_refused():
    with pytest.raises(ad.LostDerivativeError, match=r"a mask that chooses more.*np\.where"):
        ad.vmap(lambda x, v: x[x > 1.3 * v + 0.4])(XS, VS)
    with pytest.raises(IndexError):
        ad.vmap(written)(XS, PLACES + 4, VS)


def test_an_array_that_numpy_makes_is_written_to_at_indices_that_differ():
    def plainly(x, i):
        y = np.zeros(4)
        y[i] = 1.0
        return y * x

    expected = np.stack([plainly(x, i) for x, i in zip(XS, PLACES, strict=True)])
    np.testing.assert_array_equal(ad.vmap(plainly)(XS, PLACES), expected)


@pytest.mark.parametrize("compare", [np.greater, np.less_equal, np.equal, lambda x, y: x > y])
def test_a_batch_is_compared_with_a_copy_that_may_be_written_to(compare):
    def f(x):
        other = x.copy()
        other[0] = 2.0
        return np.sum(np.where(compare(x, other), 3 * x, other))

    x = np.array([[1.0, 5.0], [2.0, 6.0], [4.0, 7.0]])
    np.testing.assert_array_equal(ad.vmap(f)(x), [f(row) for row in x])
    np.testing.assert_array_equal(ad.vmap(ad.grad(f))(x), [ad.grad(f)(row) for row in x])


@pytest.mark.parametrize("ufunc", [np.add, np.subtract])
def test_sums_at_indices_that_differ(ufunc):
    def collect(x, i, shape):
        y = np.ones(shape)
        where = np.floor(x).astype(int) % 3
        ufunc.at(y, (where, where * 0 + i) if len(shape) > 1 else where, x**2)
        return np.sum(np.sin(y))

    for shape in ((3,), (3, 4)):
        f = lambda x, i, shape=shape: collect(x, i, shape)
        pairs = list(zip(XS, PLACES, strict=True))
        np.testing.assert_allclose(ad.vmap(f)(XS, PLACES), [f(*p) for p in pairs], rtol=1e-14)
        expected = [ad.grad(f)(*p) for p in pairs]
        np.testing.assert_allclose(ad.vmap(ad.grad(f))(XS, PLACES), expected, rtol=1e-13)


MASKS = np.array([[[1, 0, 1], [0, 1, 0]], [[0, 0, 1], [1, 1, 0]], [[1, 1, 0], [0, 1, 0]]], bool)
WRITES_BY_MASK = {
    "all axes": ((2, 3), lambda y, m, v: y.__setitem__(m, v)),
    "rows": ((2, 3, 4), lambda y, m, v: y.__setitem__(m, v[:, None] * np.arange(4.0))),
    "the same row": ((2, 3, 4), lambda y, m, v: y.__setitem__((m, slice(None)), np.arange(4.0))),
    "rows of another length": ((3, 3), lambda y, m, v: y.__setitem__((m[0], ...), v[:3])),
    "behind an axis": ((4, 2, 3), lambda y, m, v: y.__setitem__((slice(None), m), v)),
    "behind all axes": ((3, 2, 3), lambda y, m, v: y.__setitem__((..., m), v)),
    "behind a number": ((3, 2, 3), lambda y, m, v: y.__setitem__((1, m), v)),
    "before a number": ((2, 3, 4), lambda y, m, v: y.__setitem__((m, 2), v)),
    "backwards": ((2, 3, 3), lambda y, m, v: y.__setitem__((m, slice(None, None, -1)), v)),
    "part of a row": ((2, 3, 4), lambda y, m, v: y.__setitem__((m, slice(1, 3)), v[:2])),
    "one number": ((3, 2, 3), lambda y, m, v: y.__setitem__((..., m), v[:1])),
}


@pytest.mark.parametrize("name", sorted(WRITES_BY_MASK))
def test_values_are_written_by_masks_as_in_a_loop(name):
    """Also where as many are written as some other axis is long."""
    full, write = WRITES_BY_MASK[name]

    def written(mask, v):
        y = np.zeros_like(v, shape=full) + v[0]
        write(y, mask, v)
        return y

    vs = np.array([[1.0, -2.0, 3.0], [0.5, 4.0, -1.0], [2.0, 7.0, 5.0]])
    loop = [written(mask, v) for mask, v in zip(MASKS, vs, strict=True)]
    np.testing.assert_array_equal(ad.vmap(written)(MASKS, vs), np.stack(loop))
    slopes = ad.vmap(ad.jacfwd(written, 1))(MASKS, vs)
    h = 0.5  # the function is linear
    for k, unit in enumerate(np.eye(3)):
        ends = [
            np.stack([written(mask, v + t * unit) for mask, v in zip(MASKS, vs, strict=True)])
            for t in (h, -h)
        ]
        np.testing.assert_allclose(slopes[..., k], (ends[0] - ends[1]) / (2 * h), atol=1e-14)


def test_masks_that_choose_different_numbers_of_elements_are_refused_by_name():
    def written(x):
        y = np.outer(x, x)
        y[:, x > 0] = x[:, None]
        return y

    with pytest.raises(ad.LostDerivativeError, match="a mask that chooses more elements"):
        ad.vmap(written)(np.array([[1.0, -1.0], [1.0, 1.0]]))


def pivot(a):
    """Gaussian elimination: rows are exchanged by a list of indices."""
    a = a.copy()
    for k in range(2):
        p = k + np.argmax(np.abs(a[k:, k]))
        a[[k, p]] = a[[p, k]]
        a[k + 1 :, k:] -= np.outer(a[k + 1 :, k] / a[k, k], a[k, k:])
    return np.sum(a[[0, np.argmax(a[0])]] ** 2 * a[0, [1, 0, 2]])


def test_lists_of_indices_that_differ():
    matrices = np.random.default_rng(8).normal(size=(5, 3, 3))
    alone = [ad.value_and_grad(pivot)(a) for a in matrices]
    values, slopes = ad.vmap(ad.value_and_grad(pivot))(matrices)
    np.testing.assert_allclose(values, [pivot(a) for a in matrices], rtol=1e-12)
    np.testing.assert_allclose(slopes, [slope for _, slope in alone], rtol=1e-12)
    total = ad.grad(lambda matrices: np.sum(ad.vmap(pivot)(matrices)))(matrices)
    np.testing.assert_allclose(total, slopes, rtol=1e-12)
