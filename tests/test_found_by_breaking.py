"""What a picky user found by trying to break the arrays; each case was wrong once."""

import copy

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse

import simpleautodiff as ad
from simpleautodiff import plug

LARGE = 5000


def test_a_write_through_an_earlier_view_is_noticed():
    def f(x):
        buffer = np.ones(LARGE)
        left = buffer[:2500]
        y = np.sum(x * buffer)
        left[:] = 9.0
        return y

    with pytest.raises(ad.LostDerivativeError, match="through another view"):
        ad.grad(f)(np.ones(LARGE))


def test_a_view_that_could_not_be_unlocked_is_copied():
    whole = np.zeros(LARGE)
    view = whole[:]
    whole.flags.writeable = False
    ad.grad(lambda x: np.sum(x * view))(np.ones(LARGE))
    assert view.flags.writeable


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


def test_slices_of_large_arrays_under_batches_and_nodes():
    x = np.linspace(0.1, 1, LARGE)
    assert ad.jacrev(lambda x: x[:2])(x)[:, :3].tolist() == [[1, 0, 0], [0, 1, 0]]
    pulled = ad.vmap(ad.vjp(lambda x: x[:3] * 2, x)[1])(np.eye(3))[0]
    np.testing.assert_array_equal(pulled[:, :4], 2 * np.eye(3, 4))
    inner = lambda s: np.sum(ad.grad(lambda y: s * np.sum(y[1:] * y[:-1]))(x))
    assert ad.grad(inner)(2.0) == pytest.approx(2 * np.sum(x) - x[0] - x[-1])


def test_solutions_have_derivatives_of_high_order():
    root = lambda p: plug.solve_root(lambda x, p: x**3 + p * x - 1, 0.5, p)
    exact = lambda n: ad.derivative(lambda a: plug.solve_root(lambda x, a: x**2 - a, 1.0, a), n)
    for n, expected in ((4, -15 / 16), (5, 105 / 32), (7, 10395 / 128)):
        assert exact(n)(1.0) == pytest.approx(expected, rel=1e-9)
    fourth = ad.derivative(lambda p: ad.derivative(root, 2)(p), 2)(1.2)
    assert ad.derivative(root, 4)(1.2) == pytest.approx(fourth, rel=1e-7)
    decay = lambda T: plug.solve_ivp(lambda t, y: -y, (0, T), [1.0]).y[0, -1]
    with pytest.raises(ad.RuleError, match="order 5 in the times"):
        ad.derivative(decay, 5)(1.0)


@pytest.mark.parametrize("reduce", [np.sum, np.max, np.min, np.nansum, np.nanmax, np.prod])
@pytest.mark.parametrize("axis", [0, -1])
def test_vmap_does_not_mix_examples(reduce, axis):
    np.testing.assert_array_equal(
        ad.vmap(lambda x: reduce(x, axis=axis))(np.array([1.0, 2])), [1, 2]
    )
    with pytest.raises(Exception, match="axis"):
        ad.vmap(lambda x: reduce(x, axis=1))(np.ones((2, 3)))


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


def test_nothing_but_nan():
    hole = np.array([np.nan, np.nan])
    with np.errstate(all="ignore"):
        assert np.isnan(ad.value_and_grad(lambda x: np.nanmax(x + hole))(np.ones(2))[0])


def test_refusals_that_say_what_to_do():
    matrices = np.stack([np.eye(2)] * 2)
    with pytest.raises(ad.RuleError, match="one matrix at a time"):
        ad.vmap(lambda a: scipy.linalg.lu_factor(a)[0])(matrices)
    with pytest.raises(ad.ValueKindError, match=r"sparse matrix.*toarray"):
        ad.grad(lambda x: np.sum(x + scipy.sparse.csr_matrix(np.eye(3))))(np.ones(3))
    with pytest.raises(ad.ArgumentError, match="pass t_eval"):
        ad.vmap(lambda k: plug.solve_ivp(lambda t, y, k: -k * y, (0, 1), [1.0], args=(k,)).y)(
            np.array([1.0, 2.0])
        )
    with pytest.raises(ad.ArgumentError, match="out_axes=None"):
        ad.vmap(np.sin, out_axes=None)(np.ones(3))
    assert ad.vmap(lambda x: 3.0, out_axes=None)(np.ones(3)) == 3.0


def test_derivatives_share_no_memory_with_what_was_given():
    seed = np.ones(3)
    _, pullback = ad.vjp(lambda a, b: a + b, np.zeros(3), np.zeros(3))
    left, right = pullback(seed)
    left[:] = 7
    np.testing.assert_array_equal(seed, 1)
    np.testing.assert_array_equal(right, 1)
    tangent = ad.jvp(lambda x: x.reshape(3, 1), (np.zeros(3),), (seed,))[1]
    tangent[:] = 7
    same = ad.jvp(lambda x: x, (np.zeros(3),), (seed,))[1]
    same[:] = 7
    np.testing.assert_array_equal(seed, 1)
    rows = np.zeros((2, 3))
    ad.vmap(lambda x: x[0])(rows)[:] = 5
    np.testing.assert_array_equal(rows, 0)


@pytest.mark.parametrize("size", [3, LARGE, 100_000])
def test_what_a_function_returned_beside_can_be_written_to(size):
    x = np.linspace(0.0, 1.0, size)
    both = lambda x: (np.sum(y := np.exp(x)), y)
    _, pullback, beside = ad.vjp(both, x, has_aux=True)
    beside[:] = 0
    np.testing.assert_allclose(pullback(1.0)[0], np.exp(x))
    _, push, beside = ad.linearize(both, x, has_aux=True)
    beside[:] = 0
    np.testing.assert_allclose(push(np.ones(size)), np.sum(np.exp(x)))


@pytest.mark.parametrize("size", [2, 100, 400])
def test_gradients_share_no_memory_with_each_other(size):
    x = np.linspace(0.0, 1.0, size * size)
    turned = lambda a, b: np.sum(np.sin(a + b.T))
    reshaped = lambda a, b: np.sum(np.sin(a.ravel() + b.ravel()))
    for f in (turned, reshaped):
        a, b = ad.grad(f, (0, 1))(x.reshape(size, size), x.reshape(size, size))
        assert not np.shares_memory(a, b)
    c, d = ad.grad(lambda c, d: np.sum(np.sin(np.concatenate([c, d]))), (0, 1))(x, x)
    c[:] = 0
    np.testing.assert_allclose(d, np.cos(x))


CASES_OF_SIZE = [(np.float16, 1e4, 1e-3, 1.0), (np.float32, 1e8, 1e-9, 1e25)]


@pytest.mark.parametrize(("kind", "large", "small", "weight"), CASES_OF_SIZE)
def test_numbers_of_very_different_size_do_not_overflow_between(kind, large, small, weight):
    x, weights = np.linspace(0.1, 1.0, LARGE, dtype=kind), np.full(LARGE, weight, kind)

    def f(x):
        y = np.sin(x)
        total = (y * large) * weights + (y * small) * weights
        return np.sum(total[:8])

    expected = np.cos(x[:8].astype(float)) * (large + small) * weight
    np.testing.assert_allclose(ad.grad(f)(x)[:8], expected, rtol=5e-3)


@pytest.mark.parametrize("order", ["A", "K"])
def test_an_order_in_memory_is_refused(order):
    x = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    for f in (lambda x: np.ravel(x, order), lambda x: x.flatten(order)):
        with pytest.raises(ad.ArgumentError, match="write order='C'"):
            ad.jacobian(f)(x)
    with pytest.raises(ad.ArgumentError, match="write order='C'"):
        ad.jacobian(lambda x: np.reshape(x, 6, order="A"))(x)


@pytest.mark.parametrize("size", [3, LARGE])
def test_a_primitive_may_use_its_memory_again(size):
    memory = np.empty(size)

    @ad.primitive(lambda v, x: np.cos(x))
    def sine(x):
        return np.sin(x, out=memory) if np.shape(x) else np.sin(x)

    x = np.linspace(0.0, 1.0, size)
    slope = ad.grad(lambda x: np.sum(sine(x) * sine(2 * x)))(x)
    np.testing.assert_allclose(slope, np.cos(x) * np.sin(2 * x) + 2 * np.sin(x) * np.cos(2 * x))


@pytest.mark.parametrize("order", [None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf])
def test_norms_of_every_order_have_the_derivative_0_at_0(order):
    for shape in [(2, 2), (3,)][: 1 if isinstance(order, str) else 2]:
        with np.errstate(all="ignore"):
            value, slope = ad.value_and_grad(lambda x: np.linalg.norm(x, order))(np.zeros(shape))
        assert value == 0
        np.testing.assert_array_equal(slope, np.zeros(shape))


def test_functions_of_hips_autograd_take_several_arguments():
    import autograd
    import autograd.numpy as anp

    f = lambda sin: lambda a, x, power=2: a * sin(x) ** power
    ours, theirs = f(np.sin), f(anp.sin)
    x, v = np.array([0.3, 1.2]), np.array([1.0, -0.5])
    pull, push = ad.make_vjp(ours, 1)(2.0, x, power=3), ad.make_jvp(ours, 1)(2.0, x, power=3)
    np.testing.assert_allclose(pull[0](v), autograd.make_vjp(theirs, 1)(2.0, x, power=3)[0](v))
    expected = autograd.make_vjp(theirs, 1)(2.0, x, power=3)[0](v)  # elementwise: its own transpose
    np.testing.assert_allclose(push(v)[1], expected)
    total, their_total = (lambda *a: np.sum(ours(*a))), (lambda *a: anp.sum(theirs(*a)))
    np.testing.assert_allclose(
        ad.hessian_vector_product(total, 1)(2.0, x, v),
        autograd.hessian_vector_product(their_total, 1)(2.0, x, v),
    )
    assert ad.make_vjp(lambda a, b: a * b, -1)(2.0, 3.0)[0](1.0) == 2.0


AT_KINKS = {
    "norm": (np.linalg.norm, np.zeros(3)),
    "std": (np.std, np.ones(3)),
    "eigenvalues": (lambda a: np.linalg.eigvalsh(a)[0], np.eye(2)),
    "eigenvectors": (lambda a: np.linalg.eigh(a)[1][0, 0], np.eye(2)),
    "singular vectors": (lambda a: np.linalg.svd(a)[0][0, 0], np.eye(2)),
    "norm of matrices": (lambda a: np.linalg.norm(a, 2), np.zeros((2, 2))),
}


@pytest.mark.parametrize(("f", "x"), AT_KINKS.values(), ids=AT_KINKS.keys())
def test_kinks_of_norms_and_eigenvalues_are_told(f, x):
    with pytest.raises(ad.KinkError, match="not unique"):
        ad.grad(f, kinks="raise")(x)
    elsewhere = x + np.diag(np.arange(1.0, 3.0)) if x.ndim == 2 else x + np.arange(1.0, 4.0)
    assert np.all(np.isfinite(ad.grad(f, kinks="raise")(elsewhere)))


def test_the_message_says_how_to_write_a_matrix_of_nodes():
    with pytest.raises(ad.LostDerivativeError, match=r"np\.block\(\[\[a, b\], \[c, d\]\]\)"):
        ad.grad(lambda a: np.sum(np.array([[a, 1.0], [0.0, a]])))(1.0)
    assert ad.grad(lambda a: np.sum(np.block([[a, 1.0], [0.0, a]]) ** 2))(1.0) == 4.0
    with pytest.raises(ad.RuleError, match=r"no derivative rule for np\.emath\.sqrt"):
        ad.grad(lambda a: np.emath.sqrt(a))(2.0)


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


def test_out_of_a_wrong_shape_is_refused():
    def f(x):
        np.multiply(x.copy(), 2.0, out=np.zeros_like(x[0]))

    with pytest.raises(ad.ArgumentError, match=r"out has the shape \(3,\)"):
        ad.grad(f)(np.ones((2, 3)))


def test_the_shape_of_a_node_is_not_written_to():
    with pytest.raises(ad.LostDerivativeError, match=r"x.shape = ..."):
        ad.grad(lambda x: setattr(x, "shape", 3))(np.ones(3))


def test_real_numbers_have_no_imaginary_part_to_set():
    with pytest.raises(ad.ArgumentError, match="no imaginary part"):
        ad.grad(lambda x: setattr(x, "imag", 3))(np.ones(3))


def test_clip_between_bounds_that_have_changed_places():
    slopes = ad.grad(lambda x, low, high: np.clip(x, low, high).sum(), (0, 1, 2))
    x = np.array([-3.0, -2.0, -1.0, 0.5, 1.0, 2.0])  # np.clip gives the upper bound, -2
    got = slopes(x, np.ones(6), np.full(6, -2.0))
    np.testing.assert_array_equal(got, [np.zeros(6), np.zeros(6), np.ones(6)])


def _root_of(a):
    return plug.solve_root(lambda x, a: x**3 + a * x - 2, 1.0, a)


def _minimum_of(a):
    target = np.stack([a, a**2])
    return np.sum(plug.solve_minimum(lambda x, p: np.sum((x - p) ** 4 + x**2), np.zeros(2), target))


def _area_of(a):
    return plug.quad(lambda x, a: np.exp(-a * x**2), 0, 1 + a, args=(a,))[0]


def _path_of(a):
    how = {"t_eval": [0.5, 1.0], "rtol": 1e-9, "atol": 1e-10}
    found = plug.solve_ivp(lambda t, y, k: -k * y**2, (0, 1), [1.0], args=(a,), **how)
    return np.sum(found.y**2)


@pytest.mark.parametrize("solve", [_root_of, _minimum_of, _area_of, _path_of])
@pytest.mark.parametrize("of", [lambda f: f, ad.grad, lambda f: ad.grad(ad.grad(f))])
def test_solvers_in_vmap_solve_one_problem_after_the_other(solve, of):
    numbers = np.array([0.7, 1.0, 1.9])
    alone = [of(solve)(a) for a in numbers]
    np.testing.assert_allclose(ad.vmap(of(solve))(numbers), alone, rtol=2e-6)
    through = ad.grad(lambda numbers: np.sum(ad.vmap(solve)(numbers)))(numbers)
    np.testing.assert_allclose(through, [ad.grad(solve)(a) for a in numbers], rtol=2e-6)


def test_places_found_in_arrays_of_other_libraries_are_whole_numbers():
    torch = pytest.importorskip("torch")
    slope = ad.grad(lambda x: x[int(np.argmax(x))] ** 2)(torch.tensor([1.0, 3.0, 2.0]))
    assert slope.tolist() == [0.0, 6.0, 0.0]
    assert ad.grad(lambda x: [x[0], x[1]][np.argmax(x)])(torch.tensor([1.0, 3.0])).tolist() == [
        0,
        1,
    ]


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.longdouble, np.complex64])
@pytest.mark.parametrize(
    "f",
    [
        np.sum,
        lambda x: np.sum(x @ x.T),
        lambda x: np.sum(np.tanh(x)),
        lambda x: np.sum(np.pad(x, 1) ** 2),
        lambda x: np.einsum("ij,ij->", x, x),
        lambda x: x[0, 0] * x[1, 1],
    ],
)
def test_second_derivatives_keep_the_kind_of_number(kind, f):
    real = lambda x: np.real(f(x)) if kind is np.complex64 else f(x)
    x = np.linspace(0.1, 0.9, 6).reshape(2, 3).astype(kind)
    gradient, product = ad.jvp(ad.grad(real), (x,), (x,))
    assert gradient.dtype == product.dtype == kind
    assert ad.hvp(real, (x,), (x,)).dtype == kind
    assert ad.vmap(ad.grad(real))(x[None]).dtype == kind
    if kind is not np.complex64:
        assert ad.hessian(f)(x).dtype == ad.jacfwd(ad.grad(f))(x).dtype == kind


def test_a_shape_that_does_not_fit_is_named():
    with pytest.raises(
        ad.ArgumentError, match=r"reshape of (arrays of )?shape \(3,\): cannot reshape"
    ):
        ad.grad(lambda x: x.reshape(2, 2)[0, 0])(np.ones(3))


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


def test_derivatives_of_derivatives_have_the_precision_of_the_argument():
    x, wide = np.ones(3, np.float32), np.arange(3.0)
    f = lambda x: np.sum(wide * x**3)
    gradient, product = ad.jvp(ad.grad(f), (x,), (x,))
    assert gradient.dtype == product.dtype == ad.hessian(f)(x).dtype == np.float32
    assert ad.vmap(ad.grad(f))(x[None]).dtype == np.float32
    np.testing.assert_allclose(product, 6 * wide)


def test_arrays_of_other_libraries_stay_there_in_another_precision():
    torch = pytest.importorskip("torch")
    kinds = []

    def f(x):
        y = x.astype(np.float64)
        kinds.append(type(y.value.array))
        return np.sum(y**3)

    assert ad.grad(f)(torch.ones(2)).tolist() == [3.0, 3.0]
    second = ad.hessian(lambda x: np.sum(np.arange(2.0) * x**3))(torch.ones(2))
    assert kinds == [torch.Tensor]
    assert second.dtype == torch.float32
    assert second.tolist() == [[0.0, 0.0], [0.0, 6.0]]
