"""vmap: what is done for a batch at once equals what is done example by example."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.interpolate
import scipy.signal
import scipy.stats

import array_cases as cases
import simpleautodiff as ad

jax.config.update("jax_enable_x64", True)
NOT_OF_ONE_SHAPE = {"boolean"}  # the examples have results of different shapes
CASES = [case for case in cases.CASES if case[0] not in NOT_OF_ONE_SHAPE]
every_case = pytest.mark.parametrize(("name", "f", "x"), CASES, ids=[case[0] for case in CASES])
rng = np.random.default_rng(11)


def examples(x):
    noise = 0.05 * rng.normal(size=(3, *x.shape))
    return x + (noise + np.swapaxes(noise, -1, -2) if x.ndim == 2 and x.shape == (3, 3) else noise)


@every_case
def test_value_and_gradient_of_every_function(name, f, x):
    batch = examples(x)
    expected = np.stack([f(one) for one in batch])
    np.testing.assert_allclose(ad.vmap(f)(batch), expected, rtol=1e-11, atol=1e-13)
    total = lambda x: np.sum(np.sin(f(x)) * cases.weights(expected.shape[1:]))
    slope = ad.grad(total)
    slopes = np.stack([slope(one) for one in batch])
    scale = 1 + np.max(np.abs(slopes))
    np.testing.assert_allclose(ad.vmap(slope)(batch), slopes, rtol=1e-9, atol=1e-11 * scale)
    outside = ad.grad(lambda batch: np.sum(ad.vmap(total)(batch)))(batch)
    np.testing.assert_allclose(outside, slopes, rtol=1e-9, atol=1e-11 * scale)


@every_case
def test_jacobians_swept_all_at_once(name, f, x):
    forward, reverse = ad.jacfwd(f)(x), ad.jacrev(f)(x)
    assert forward.shape == (*np.shape(f(x)), *x.shape)
    scale = 1 + np.max(np.abs(forward), initial=0)
    np.testing.assert_allclose(forward, reverse, rtol=1e-9, atol=1e-11 * scale)
    for place in list(np.ndindex(*x.shape))[:3]:
        unit = np.zeros_like(x)
        unit[place] = 1
        _, column = ad.jvp(f, (x,), (unit,))
        np.testing.assert_allclose(forward[(..., *place)], column, rtol=1e-9, atol=1e-11 * scale)


X = rng.normal(size=(6, 4))
W = rng.normal(size=(4, 3))


def network(np, w, x):
    return np.tanh(x @ w["a"]) @ w["b"] + np.max(x) * w["c"]


@pytest.mark.slow
def test_gradients_of_every_example_are_those_of_jax():
    w = {"a": W, "b": np.array([0.3, -0.2, 1.0]), "c": 0.7}
    ours = ad.vmap(ad.grad(lambda w, x: network(np, w, x)), in_axes=(None, 0))(w, X)
    theirs = jax.vmap(jax.grad(lambda w, x: network(jnp, w, x)), in_axes=(None, 0))(w, X)
    for key in w:
        np.testing.assert_allclose(ours[key], theirs[key], rtol=1e-11, atol=1e-13)


def test_axes_of_arguments_and_results():
    f = lambda x, p, s: (x * p["a"] + p["b"], np.sum(x) * s)
    p = {"a": rng.normal(size=(4, 6)), "b": 2.0}
    ours = ad.vmap(f, in_axes=(0, {"a": 1, "b": None}, None), out_axes=(1, 0))(X, p, 3.0)
    theirs = jax.vmap(f, in_axes=(0, {"a": 1, "b": None}, None), out_axes=(1, 0))
    theirs = theirs(X, {"a": jnp.asarray(p["a"]), "b": 2.0}, 3.0)
    assert ours[0].shape == (4, 6)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13)
    np.testing.assert_allclose(ad.vmap(np.sum, in_axes=-1)(X), X.sum(0))
    np.testing.assert_allclose(ad.vmap(lambda x, y=1: x @ y)(X, y=X), np.sum(X * X, 1))
    np.testing.assert_allclose(ad.vmap(lambda x: 3.0)(X), np.full(6, 3.0))


@pytest.mark.slow
def test_nested():
    f = lambda x, y: np.sin(x) * y[0] + np.cos(y) @ y
    grid = ad.vmap(ad.vmap(f, in_axes=(0, None)), in_axes=(None, 0))(np.arange(3.0), X)
    expected = [[f(x, y) for x in np.arange(3.0)] for y in X]
    np.testing.assert_allclose(grid, expected, rtol=1e-13)
    hessians = ad.vmap(ad.hessian(lambda x: np.prod(np.sin(x))))(X)
    theirs = jax.vmap(jax.hessian(lambda x: jnp.prod(jnp.sin(x))))(X)
    np.testing.assert_allclose(hessians, theirs, rtol=1e-10, atol=1e-12)
    mixed = ad.grad(lambda s: np.sum(ad.vmap(lambda x: ad.grad(lambda y: f(s, y))(x)[0])(X)))(0.4)
    assert mixed == pytest.approx(6 * np.cos(0.4), rel=1e-12)


def test_chunks_give_the_same():
    f = lambda x: np.outer(x, np.exp(x))
    whole = ad.vmap(f)(X)
    for size in (1, 4, 6, 100):
        np.testing.assert_array_equal(ad.vmap(f, chunk_size=size)(X), whole)
        for make in (ad.jacfwd, ad.jacrev, ad.jacobian):
            some = make(f, chunk_size=size)(X[0])
            np.testing.assert_allclose(some, make(f)(X[0]), rtol=1e-14)
    some = ad.hessian(lambda x: np.sum(f(x)), chunk_size=3)(X[0])
    np.testing.assert_allclose(some, ad.hessian(lambda x: np.sum(f(x)))(X[0]), rtol=1e-13)


def test_places_that_differ_from_example_to_example():
    places = np.array([0, 2, 1, 3, 3, 0])
    pick = lambda x, i: x[i] ** 2 + np.sum(x[x.argsort()[:2]])
    expected = X[np.arange(6), places] ** 2 + np.sort(X, 1)[:, :2].sum(1)
    np.testing.assert_allclose(ad.vmap(pick)(X, places), expected, rtol=1e-13)
    ours = ad.vmap(ad.grad(pick))(X, places)
    theirs = np.stack([ad.grad(pick)(x, int(i)) for x, i in zip(X, places, strict=True)])
    np.testing.assert_allclose(ours, theirs, rtol=1e-13)


def test_own_primitives_and_functions_without_a_batch():
    @ad.primitive(lambda v, x: 3 * x**2)
    def cube(x):
        return float(x) ** 3

    column = np.array([1.0, 2.0, -3.0])
    np.testing.assert_allclose(ad.vmap(cube)(column), column**3)
    np.testing.assert_allclose(ad.vmap(ad.grad(cube))(column), 3 * column**2)
    np.testing.assert_array_equal(ad.vmap(np.nonzero)(np.array([[1, 0], [0, 2]]))[0], [[0], [1]])


def test_written_arrays_in_a_batch():
    def fill(x):
        y = np.zeros_like(x)
        y[0] = x[1] ** 2
        y[1:] = x[:-1] * y[0]
        y[[0, 2]] += 1.0
        return y

    np.testing.assert_allclose(ad.vmap(fill)(X), [fill(x) for x in X], rtol=1e-13)
    slopes = ad.vmap(ad.jacrev(fill))(X)
    np.testing.assert_allclose(slopes, [ad.jacfwd(fill)(x) for x in X], rtol=1e-13)


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda: ad.vmap(np.sin)(2.0), r"single number 2.0; in_axes=None"),
        (lambda: ad.vmap(np.sin, in_axes=3)(X), r"shape \(6, 4\), which has no axis 3"),
        (lambda: ad.vmap(np.add)(X, X[:2]), r"6 in argument \[0\] of add, 2 in argument \[1\]"),
        (lambda: ad.vmap(np.sin, in_axes=None)(X), "at least one argument"),
        (lambda: ad.vmap(np.sin, in_axes=(0, 0))(X), "does not fit"),
        (lambda: ad.vmap(np.sin, chunk_size=0), "chunk_size is an integer"),
        (lambda: ad.vmap(lambda x: x if x[0] > 0 else -x)(X), r"np.where\(condition, a, b\)"),
        (lambda: ad.vmap(lambda x: float(x[0]))(X), "float.* of a batch"),
        (lambda: ad.vmap(7), "a function is needed"),
    ],
)
def test_refusals(action, message):
    with pytest.raises(ad.AutodiffError, match=message):
        action()


PLACES = {
    "sort": np.sort,
    "median": lambda m: np.median(m, axis=0) ** 2,
    "argsort": lambda m: m[np.argsort(m[:, 0])] ** 2,
    "argmax": lambda m: m[np.argmax(m[:, 0])] ** 2,
    "an element": lambda m: m[np.argmax(m[:, 0]), 1] ** 3,
    "behind a slice": lambda m: m[1:, np.argmax(m[0])] ** 3,
    "take": lambda m: np.take(m, np.argsort(m[:, 0])[:2], axis=0) ** 2,
}


@pytest.mark.parametrize("f", PLACES.values(), ids=PLACES.keys())
def test_places_that_differ_in_every_nesting(f):
    """What chooses elements is itself a batch, and so are adjoints."""
    examples = np.random.default_rng(3).normal(size=(3, 4, 2))
    each = lambda f: np.stack([f(one) for one in examples])
    total = lambda m: np.sum(np.sin(f(m)))
    for of in (f, ad.jacrev(f), ad.jacfwd(f), ad.grad(total), ad.hessian(total)):
        np.testing.assert_allclose(ad.vmap(of)(examples), each(of), atol=1e-12)
    twice = ad.vmap(ad.vmap(ad.jacobian(f)))(examples[None])
    np.testing.assert_allclose(twice[0], each(ad.jacobian(f)))


@pytest.mark.parametrize("kind", [np.int64, np.uint8, np.int8, bool])
def test_whole_numbers_have_slopes_that_are_none(kind):
    x = np.array([0, 1, 100], kind)
    for slopes in (
        ad.vmap(ad.grad(lambda a: -a / 2 + a * a * a))(x),
        ad.vmap(lambda a: ad.vjp(lambda b: -b / 2 + b * b * b, a)[1](1.0)[0])(x),
        ad.vmap(ad.jacobian(lambda a: -a / 2 + a * a * a))(x),
        ad.vmap(lambda a: ad.jvp(lambda b: -b / 2 + b * b * b, (a,), (1.0,))[1])(x),
        [ad.grad(lambda a: -a / 2 + a * a * a)(one) for one in x],
    ):
        np.testing.assert_allclose(slopes, 3.0 * x.astype(float) ** 2 - 0.5, rtol=1e-15)
    rows = np.arange(6).reshape(3, 2).astype(kind)
    cubes = ad.vmap(ad.hessian(lambda a: np.sum(a**3)))(rows)
    np.testing.assert_allclose(cubes, [np.diag(6.0 * row) for row in rows], rtol=1e-15)
    by_hand = ad.Node(x[2])
    assert ad.reverse(by_hand * by_hand * by_hand)[by_hand] == 3.0 * float(x[2]) ** 2


TABLE, SHEET = np.arange(5.0) ** 2 + 1, np.sin(np.arange(30.0)).reshape(2, 5, 3)
PLACES = [(), (1,), (4,), (2, 3), (2, 1, 2), (0,)]
LOOKED_UP = {
    "table": (TABLE, lambda a, i: a[i]),
    "from the end": (TABLE, lambda a, i: a[i - 5]),
    "rows": (SHEET[0], lambda a, i: a[i]),
    "sheets": (SHEET, lambda a, i: a[1, i]),
    "two axes": (SHEET, lambda a, i: a[0, i, i % 3]),
    "take": (TABLE, lambda a, i: np.take(a, i)),
    "take of all": (SHEET, lambda a, i: np.take(a, 5 * i)),
    "take an axis": (SHEET, lambda a, i: np.take(a, i, axis=1)),
    "take the last": (SHEET, lambda a, i: np.take(a, i - 4, axis=-1, mode="wrap")),
    "take clipped": (SHEET, lambda a, i: np.take(a, 2 * i - 3, 1, mode="clip")),
    "along": (TABLE, lambda a, i: np.take_along_axis(a, np.ravel(i), 0)),
}


@pytest.mark.parametrize("shape", PLACES, ids=str)
@pytest.mark.parametrize("name", LOOKED_UP)
def test_a_table_is_looked_up_at_places_of_each_example(name, shape):
    table, look_up = LOOKED_UP[name]
    places = np.random.default_rng(3).integers(0, 5, (4, *shape))
    xs = 0.5 + places + np.random.default_rng(4).random((4, *shape)) / 3

    def total(x, a):
        i = np.floor(x).astype(int)
        return np.sum(np.cos(look_up(a, i))) * np.sum(x**2) + np.sum(np.sin(look_up(a, i)) ** 3)

    constant = lambda x: total(x, np.array(table, like=x))
    for f in (constant, ad.grad(constant), ad.jacfwd(constant), ad.hessian(constant)):
        expected = np.stack([f(xs[k, ...]) for k in range(4)])
        np.testing.assert_allclose(ad.vmap(f)(xs), expected, rtol=1e-12, atol=1e-13)
    for f in (ad.grad(total, 1), ad.jacfwd(total, 1), ad.hessian(total, 1)):
        expected = np.stack([f(xs[k, ...], table) for k in range(4)])
        found = ad.vmap(f, in_axes=(0, None))(xs, table)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)
        own = ad.vmap(f)(xs, np.stack([table] * 4))
        np.testing.assert_allclose(own, expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("out_axes", [2, -3, (0, 2)])
def test_an_axis_that_a_result_does_not_have_is_refused(out_axes):
    f = lambda x: (np.sin(x), x * 2)
    x = np.ones((3, 2))
    for mapped in (ad.vmap(f, 0, out_axes), ad.jit(ad.vmap(f, 0, out_axes))):
        with pytest.raises(ad.ArgumentError, match=r"out_axes=(2|-3): .*\(2,\).*axes -2 to 1"):
            mapped(x)
    with pytest.raises(ad.ArgumentError, match=r"out_axes=2: .*sin.*shape \(\)"):
        ad.vmap(np.sin, 0, 2)(np.ones(3))


@pytest.mark.parametrize("reduce", [np.sum, np.max, np.min, np.nansum, np.nanmax, np.prod])
@pytest.mark.parametrize("axis", [0, -1])
def test_vmap_does_not_mix_examples(reduce, axis):
    np.testing.assert_array_equal(
        ad.vmap(lambda x: reduce(x, axis=axis))(np.array([1.0, 2])), [1, 2]
    )
    with pytest.raises(Exception, match="axis"):
        ad.vmap(lambda x: reduce(x, axis=1))(np.ones((2, 3)))


def test_places_of_batches_from_differentiated_numbers():
    image = np.arange(16.0).reshape(4, 4) ** 2

    def between(image, at):
        low = np.floor(at).astype(int)
        part = at - low
        return image[low[0], low[1]] * (1 - part[0]) + image[low[0] + 1, low[1]] * part[0]

    points = np.array([[0.3, 1.6], [2.2, 0.4]])
    images = np.stack([image, image + 1])
    slopes = ad.vmap(ad.grad(between, 1))(images, points)
    np.testing.assert_array_equal(slopes, [[25 - 1, 0], [144 - 64, 0]])


def test_arrays_like_a_batch():
    rows = np.arange(6.0).reshape(3, 2)
    grown = ad.vmap(lambda x: np.eye(2, like=x) * x + np.asarray(1.0, like=x))(rows)
    np.testing.assert_array_equal(grown, np.eye(2) * rows[:, None] + 1)


POINTS = np.linspace(0.0, 1.0, 6)


@pytest.mark.parametrize(
    "f",
    [
        lambda t: scipy.interpolate.interp1d(POINTS, POINTS**2)(t),
        lambda t: scipy.interpolate.interpn((POINTS,), POINTS**2, np.array([t]))[0],
        lambda t: scipy.interpolate.BarycentricInterpolator(POINTS, POINTS**2)(t),
        lambda t: scipy.stats.weibull_min.logpdf(t, 2.0),
    ],
    ids=["interp1d", "interpn", "BarycentricInterpolator", "weibull_min"],
)
def test_functions_of_scipy_that_take_one_example(f):
    t = np.array([0.35, 0.5, 0.9])
    expected = [f(one) for one in t]
    slopes = [ad.grad(f)(one) for one in t]
    np.testing.assert_allclose(ad.vmap(f)(t), expected, rtol=1e-13)
    np.testing.assert_allclose(ad.vmap(ad.grad(f))(t), slopes, rtol=1e-13)
    np.testing.assert_allclose(ad.grad(lambda t: np.sum(ad.vmap(f)(t)))(t), slopes, rtol=1e-13)
    grid = np.stack([t, t / 2])
    expected = [[f(one) for one in row] for row in grid]
    np.testing.assert_allclose(ad.vmap(ad.vmap(f))(grid), expected, rtol=1e-13)


@pytest.mark.parametrize("digits", [(), (1,), (-1,)])
def test_pythons_round_of_a_batch(digits):
    f = lambda x: round(x, *digits) * x
    x = np.array([0.33, 1.27, -16.8])
    np.testing.assert_allclose(ad.vmap(f)(x), [f(each) for each in x.tolist()], rtol=1e-14)
    slopes = [round(each, *digits) for each in x.tolist()]
    np.testing.assert_allclose(ad.vmap(ad.grad(f))(x), slopes, rtol=1e-14)
    halves = np.array([0.35, 2.675, -0.15])  # where Python's floats and NumPy's differ
    np.testing.assert_array_equal(ad.vmap(f)(halves), [f(each) for each in halves])


@pytest.mark.parametrize("k", [0, 1])
@pytest.mark.parametrize("axes", [(0, 0), (0, None), (None, 0)])
def test_the_slopes_of_filters_in_a_batch(k, axes):
    """Where one argument belongs to a batch, and the other one to a derivative as well."""

    def f(x, b):
        return np.sum(np.sin(scipy.signal.lfilter(b, [1.0], x)))

    def slope(x, b):  # y[n] = Σ over lags of b[lag] x[n - lag]
        delayed = [np.concatenate([np.zeros(lag), x[: len(x) - lag]]) for lag in range(len(b))]
        back = np.cos(b @ delayed)
        ahead = [np.concatenate([back[lag:], np.zeros(lag)]) for lag in range(len(b))]
        return b @ ahead if k == 0 else delayed @ back

    x = np.array([[0.3, -1.2, 0.7, 2.1, -0.4], [1.5, 0.2, -0.6, 0.9, 1.1]])
    b = np.array([[0.5, 0.3], [-0.2, 1.4]])
    x, b = (given if axis == 0 else given[0] for given, axis in zip((x, b), axes, strict=True))
    pairs = [(x if x.ndim == 1 else x[i], b if b.ndim == 1 else b[i]) for i in range(2)]
    found = ad.vmap(ad.grad(f, k), axes)(x, b)
    np.testing.assert_allclose(found, [slope(*pair) for pair in pairs], rtol=1e-13)


@pytest.mark.parametrize("f", [np.sin, np.log, np.sqrt])
def test_gradients_at_a_point_that_all_examples_share(f):
    """The inputs of the inner derivative are plain, what it computes with is a batch."""
    at, weights = np.array([1.0, 2.0, 4.0]), np.arange(3.0)
    slopes = ad.vmap(lambda y: ad.grad(lambda x: np.sum((f(x) * y)[1:]))(at))(weights)
    own = {np.sin: np.cos(at), np.log: 1 / at, np.sqrt: 0.5 / np.sqrt(at)}[f]
    np.testing.assert_allclose(slopes, np.outer(weights, own * [0, 1, 1]), rtol=1e-15)
