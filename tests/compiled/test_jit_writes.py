"""Writes to elements, rows, edges and slices, compiled: as NumPy does them one by one."""

import numpy as np
import pytest

import simpleautodiff as ad
from array_programs import agree, uses

pytest.importorskip("llvmlite")
jax = pytest.importorskip("jax")


@pytest.fixture(autouse=True)
def no_disk(monkeypatch):
    monkeypatch.setenv("SIMPLEAUTODIFF_CACHE", "off")


def draw(*shape):
    return np.random.default_rng(list(shape)).normal(size=shape)


def heat(u):
    for _ in range(3):
        v = u.copy()
        v[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
        v[0] = 0.0
        v[-1] = v[-2] ** 2
        u = v
    return u


def flux(x):
    out = np.empty_like(x)
    out[0] = x[0] ** 2 * 0.1
    out[1:] = np.sin(x[1:]) * x[:-1]
    return x + 0.5 * out


def joined(x):
    return x + np.concatenate([x[:1] ** 2, np.exp(x[1:-1]) * x[2:] - x[:-2], [3.0]])


def edges(u):
    v = u.copy()
    v[1:-1, 1:-1] = u[1:-1, 1:-1] + 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] - 2 * u[1:-1, 2:])
    v[0, :] = 0
    v[-1, :] = v[-2, :]
    v[:, 0] = u[:, -1]
    v[:, -1] = 1.0
    v[2, 3] = np.sum(u)
    return v


def rows(u):
    v = np.zeros_like(u)
    for k in range(1, len(u)):
        v[k] = np.tanh(v[k - 1]) * u[k] + u[0]
    return v


def cells(u):
    v = u * 2
    v[3], v[5], v[-1] = u[0] * u[1], v[4], 7.0
    v[3] *= v[2]
    return v


def by_arrays(u):
    v = u * 1.0
    v[[1, 4, 6]] = u[[2, 2, 0]] ** 2
    v[np.array([0, 2, 3, 5, 7, 8])] = 5.0
    v[np.arange(len(u)) % 3 == 1] *= 2.0
    return v


def stepped(u):
    v = u * 1
    v[::2] = u[1::2] ** 2 if len(u) % 2 == 0 else u[::2] ** 3
    v[::-3] += 1
    return v


def onto_itself(u):
    v = u * 3
    v[2:] = v[:-2] * v[2:]
    v[...] = v * v
    w = v[1:4]
    w += u[0]
    w[1] = u[2]
    return v


@pytest.mark.parametrize("n", [9, 17, 40, 333])
@pytest.mark.parametrize(
    "f", [heat, flux, joined, cells, by_arrays, stepped, onto_itself], ids=lambda f: f.__name__
)
def test_writes_to_vectors(f, n):
    x = draw(n)
    program = agree(lambda x: f(x) + f(f(x)), x, rtol=1e-11)
    assert not uses(program, "NumPy")
    gradient = ad.value_and_grad(lambda x: np.sum(np.sin(f(x))))
    assert not uses(agree(gradient, x, rtol=1e-11), "NumPy")


@pytest.mark.parametrize("shape", [(5, 6), (4, 9), (12, 33)])
@pytest.mark.parametrize("f", [edges, rows], ids=lambda f: f.__name__)
def test_writes_to_matrices(f, shape):
    x = draw(*shape)
    assert not uses(agree(lambda x: f(f(x)) * 2, x, rtol=1e-11), "NumPy")
    agree(ad.value_and_grad(lambda x: np.sum(np.sin(f(x)) * x)), x, rtol=1e-11)
    agree(ad.jacobian(f), x[:, :9][:5], rtol=1e-11)


def write_one(x, i):
    x = x * 1.0
    x[i[0]] = x[3] * x[4]
    x[i[1] // 3, 1] *= 2
    x[i[0] - 1, i[2] % 2] = 5.0
    return x * 2


def write_at_the_extremes(x, i):
    x = x * 2.0
    x[np.argmax(x[:, 1])] = x[0] ** 2
    x[np.argmin(x[:, 0]), 1] = 7.0
    return x * x


def write_several(x, i):
    y = np.zeros_like(x)
    y[i, i % 2] = x[:5, 0] * x[i, 1]
    y[i] *= x[2]
    return y + x


@pytest.mark.parametrize("n", [9, 333])
@pytest.mark.parametrize("f", [write_one, write_at_the_extremes, write_several])
def test_writes_where_computed_indices_say(f, n):
    i, x = np.array([4, -2, 1, 0, 3]), draw(n, 2)
    gradient = ad.value_and_grad(lambda x, i: np.sum(np.sin(f(x, i)) * x))
    for program in (agree(f, x, i), agree(gradient, x, i, rtol=1e-11)):
        assert not any(line.startswith("NumPy: set_item") for line in program.explain())
        assert f is write_several or not uses(program, "NumPy")


def test_a_written_index_that_does_not_fit_is_refused():
    jitted = ad.jit(lambda x, i: np.sum(write_several(x, i)), tier="optimised")
    x = draw(300, 2)
    for _ in range(3):
        jitted(x, np.array([4, -2, 1, 0, 3]))
    with pytest.raises(IndexError):
        jitted(x, np.array([4, -2, 1, 300, 3]))


def test_against_jax():
    def diffuse(u):
        for _ in range(3):
            v = u.at[1:-1].add(0.1 * (u[2:] - 2 * u[1:-1] + u[:-2]))
            v = v.at[0].set(0.0)
            u = v.at[-1].set(v[-2] ** 2)
        return jax.numpy.sum(u**2)

    x = draw(50)
    compiled = ad.jit(ad.grad(lambda u: np.sum(heat(u) ** 2)), tier="optimised")
    for _ in range(3):
        found = compiled(x)
    with jax.enable_x64(True):
        np.testing.assert_allclose(found, jax.grad(diffuse)(x), rtol=1e-12)


def test_a_step_of_a_stencil_is_one_loop():
    def steps(u):
        for _ in range(3):
            v = u.copy()
            v[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
            v[0] = v[-1] = 0.0
            u = v
        return u * 1

    assert uses(agree(steps, draw(100)), "loop") == 3


def test_a_write_is_in_the_loop_of_what_it_is_written_into():
    def constant(x):
        y = np.sin(x) * 2
        y[1:200] = 0.5
        return y

    def another(x):
        y = np.sin(x) * 2
        y[1:200] = x[3:202]
        return y

    def itself(x):
        y = np.sin(x) * 2
        y[1:200] = y[3:202]
        return y

    x = draw(300)
    for f, loops in ((constant, 1), (another, 1), (itself, 2)):
        made = ad.jit(f, tier="optimised")
        np.testing.assert_allclose(made(x), f(x), rtol=1e-14)
        assert made.explain().count("loop: ") == loops
        assert ("loop: sin mul set_item over" in made.explain()) == (loops == 1)


def test_long_chains_before_a_write():
    def f(x):
        y, out = x[1:], np.zeros_like(x)
        for k in range(700):
            y = np.sin(y) * 0.5 + k
        out[1:] = y
        return out * x

    agree(f, draw(300), rtol=1e-11)


def random_index(random, shape):
    """Return an index that NumPy takes, and whether it selects something."""
    kind = random.integers(6)
    axis = int(random.integers(len(shape)))
    n = shape[axis]
    if kind == 0:
        return int(random.integers(-n, n)) if axis == 0 else (slice(None),) * axis + (-1,)
    if kind == 1:
        return tuple(int(random.integers(-k, k)) for k in shape)
    if kind == 2:
        return random.choice(shape[0], size=min(3, shape[0]), replace=False)
    first, last = sorted(random.integers(0, n + 1, 2).tolist())
    step = int(random.choice([1, 1, 1, 2])) if kind < 5 else -1
    part = slice(first, last, step) if step > 0 else slice(None, None, -1)
    return (slice(None),) * axis + (part,)


@pytest.mark.parametrize("seed", range(40))
def test_random_writes(seed):
    random = np.random.default_rng(seed)
    shape = tuple(random.integers(1, 9, int(random.integers(1, 4))).tolist())
    dtype = np.float32 if seed % 5 == 4 else np.float64
    plan = [(random_index(random, shape), int(random.integers(5))) for _ in range(5)]

    def f(x):
        y = np.sin(x) if seed % 2 else np.zeros_like(x)
        for index, kind in plan:
            if kind == 0:
                y[index] = 2.0
            elif kind == 1:
                y[index] = x[index] * x.dtype.type(1.5)
            elif kind == 2:
                y[index] += np.cos(y[index])
            elif kind == 3:
                y[index] = np.sum(x)
            else:
                y = y * x
        return y * 1

    x = random.normal(size=shape).astype(dtype)
    tolerance = {"rtol": 1e-4, "atol": 1e-5} if dtype == np.float32 else {"rtol": 1e-11}
    agree(f, x, **tolerance)
    agree(ad.grad(lambda x: np.sum(f(x) ** 2)), x, **tolerance)


def fill_elements(x):
    y = np.zeros(4)
    y[0], y[-1] = x[0], np.sum(x * x)
    y[1:3] = y[0] * x[1:3]
    return y


def unpack_and_recur(x):
    a, b, *_ = x
    y = np.zeros(50)
    y[0] = a
    for t in range(1, len(y)):
        y[t] = b * y[t - 1] + a
    return np.sum(y**2)


def fill_in_place(x):
    y, z = np.empty((2, 3)), np.ones(3)
    y[0] = x[:3]
    y[1] = 0.5 * x[:3]
    z += y[0]
    return z @ y.T


@pytest.mark.parametrize("f", [fill_elements, unpack_and_recur, fill_in_place])
def test_a_function_that_fills_arrays_of_numpy_is_compiled_without_a_derivative(f):
    compiled = ad.jit(f)
    for x in (draw(4), 2 * draw(4), draw(4), -draw(4)):
        np.testing.assert_allclose(compiled(x), f(x), rtol=1e-12)
    assert "1 path through the code" in str(compiled.explain())


@pytest.mark.parametrize(
    "write",
    [
        lambda y, x: np.copyto(y, x),
        lambda y, x: np.put(y, [0, 2], x[:2]),
        lambda y, x: np.place(y, y == 0, x),
        lambda y, x: np.putmask(y, y == 0, x),
        lambda y, x: np.put_along_axis(y, np.array([1]), x[:1], 0),
    ],
)
def test_functions_that_write_to_arrays_of_numpy(write):
    def f(x):
        y = np.zeros(3)
        write(y, 2 * x)
        return np.sum(y)

    compiled = ad.jit(f)
    for x in (np.ones(3), np.arange(3.0), np.array([5.0, -1.0, 2.0])):
        assert compiled(x) == f(x)
