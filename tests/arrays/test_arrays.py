"""Unchanged NumPy code: values, both modes, two orders, for every function that is answered."""

import numpy as np
import pytest

import simpleautodiff as ad
from array_cases import ALL_CASES, IDS, OF_NUMPY, M, Q, V, weights
from references import differences
from simpleautodiff.arrays import FUNCTIONS, PLAIN_FUNCTIONS
from simpleautodiff.core.level import Traced


@pytest.mark.parametrize(("name", "f", "x"), ALL_CASES, ids=IDS)
def test_value_forward_reverse(name, f, x):
    expected = np.asarray(f(x))
    direction = weights(x.shape)
    value, tangent = ad.jvp(f, (x,), (direction,))
    np.testing.assert_allclose(value, expected, rtol=1e-12, atol=1e-14)
    assert np.shape(tangent) == expected.shape
    scale = 1 + np.max(np.abs(tangent), initial=0)
    np.testing.assert_allclose(tangent, differences(f, x, direction), atol=1e-11 * scale, rtol=0)
    _, pullback = ad.vjp(f, x)
    seed = weights(expected.shape)
    (adjoint,) = pullback(seed if seed.shape else seed[()])
    assert adjoint.shape == x.shape
    left, right = np.vdot(tangent, seed), np.vdot(direction, adjoint)
    np.testing.assert_allclose(left, right, rtol=1e-10, atol=1e-11 * scale)


@pytest.mark.parametrize(("name", "f", "x"), ALL_CASES, ids=IDS)
def test_second_order(name, f, x):
    value = np.asarray(f(x))
    scalar = lambda x: np.sum(np.sin(f(x)) * weights(value.shape))
    direction = weights(x.shape)
    slope = ad.grad(scalar)
    product = ad.hvp(scalar, (x,), (direction,))
    scale = 1 + np.max(np.abs(product))
    np.testing.assert_allclose(
        product, differences(slope, x, direction), atol=1e-10 * scale, rtol=0
    )
    again = ad.grad(lambda x: np.sum(slope(x) * direction))(x)
    np.testing.assert_allclose(again, product, rtol=1e-9, atol=1e-10 * scale)
    along = lambda t: scalar(x + t * direction)
    second = ad.derivative(along, 2)(0.0)
    np.testing.assert_allclose(second, np.vdot(direction, product), rtol=1e-8, atol=1e-9 * scale)


@pytest.mark.parametrize(("name", "f", "x"), ALL_CASES, ids=IDS)
def test_float32_stays_float32(name, f, x):
    x32 = x.astype(np.float32)
    gradient = ad.grad(lambda x: np.sum(np.sin(f(x))))(x32)
    assert gradient.dtype == np.float32
    full = ad.grad(lambda x: np.sum(np.sin(f(x))))(x)
    np.testing.assert_allclose(gradient, full, atol=5e-3 * (1 + np.max(np.abs(full))))


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.longdouble])
@pytest.mark.parametrize(("name", "f", "x"), OF_NUMPY, ids=[case[0] for case in OF_NUMPY])
def test_values_have_the_kind_that_numpy_gives(name, f, x, kind):
    x = x.astype(kind)
    try:
        expected = np.asarray(f(x))
    except (TypeError, np.linalg.LinAlgError):
        pytest.skip("NumPy does not take this kind")
    value, tangent = ad.jvp(f, (x,), (x,))
    assert np.asarray(value).dtype in (expected.dtype, kind)  # NumPy makes some 64 bits wide
    assert np.asarray(tangent).dtype == np.asarray(value).dtype
    _, pullback = ad.vjp(f, x)
    (adjoint,) = pullback(np.ones_like(expected)[()])
    assert adjoint.dtype == kind


def test_every_answered_function_is_in_some_case():
    seen = set()
    original = Traced.__array_function__
    Traced.__array_function__ = lambda self, f, *rest: (seen.add(f), original(self, f, *rest))[1]
    try:
        for _, f, x in ALL_CASES:
            ad.jvp(f, (x,), (x,))
    finally:
        Traced.__array_function__ = original
    missing = set(FUNCTIONS) - seen - {np.amax, np.amin, np.empty_like, np.asanyarray}
    assert {f.__name__ for f in missing} == set()


def test_plain_answers():
    x = ad.Node(M)
    assert np.argmax(x) == np.argmax(M)
    assert x.shape == (3, 4)
    assert np.shape(x) == (3, 4)
    assert x.argsort().tolist() == M.argsort().tolist()
    assert (x > 0).tolist() == (M > 0).tolist()
    assert (x.size, x.ndim, x.dtype) == (12, 2, np.float64)
    assert len(PLAIN_FUNCTIONS) > 15


def test_jacobians_of_arrays():
    f = lambda x: np.sin(M @ x)
    expected = np.cos(M @ V[:4])[:, None] * M
    for make in (ad.jacobian, ad.jacfwd, ad.jacrev):
        np.testing.assert_allclose(make(f)(V[:4]), expected, rtol=1e-13)
    hessian = ad.hessian(lambda x: np.sum(x**3) + x[0] * x[1])(V)
    other = np.diag(6 * V)
    other[0, 1] = other[1, 0] = 1
    np.testing.assert_allclose(hessian, other, rtol=1e-12, atol=1e-12)
    both = ad.jacobian(lambda p: {"s": np.sum(p["a"]) * p["b"]})({"a": M, "b": 2.0})
    np.testing.assert_allclose(both["s"]["a"], 2 * np.ones((3, 4)))
    assert both["s"]["b"] == pytest.approx(M.sum())


@pytest.mark.parametrize("shape", [(), (0,), (1,), (1, 1), (0, 3)])
def test_empty_and_small_arrays(shape):
    x = np.full(shape, 2.0)
    gradient = ad.grad(lambda x: np.sum(x * x) + 0.0)(x)
    assert np.shape(gradient) == shape
    np.testing.assert_allclose(gradient, 2 * x)


def test_conventions_on_arrays():
    np.testing.assert_array_equal(ad.grad(np.max)(np.array([1.0, 3.0, 3.0])), [0, 0.5, 0.5])
    np.testing.assert_array_equal(ad.grad(np.linalg.norm)(np.zeros(3)), [0, 0, 0])
    np.testing.assert_array_equal(
        ad.grad(lambda x: np.sum(np.abs(x)))(np.array([-1.0, 0, 2])), [-1, 0, 1]
    )
    np.testing.assert_array_equal(ad.grad(lambda x: np.sum(x**0))(np.zeros(2)), [0, 0])


def test_functions_of_equal_eigenvalues_have_derivatives():
    f = lambda a: np.sum(np.linalg.eigh(a)[1] ** 2) + np.sum(np.linalg.eigh(a)[0] ** 2)
    gradient = ad.grad(f)(np.eye(3))
    np.testing.assert_allclose(gradient, 2 * np.eye(3), atol=1e-12)


def test_whole_numbers_are_promoted_and_texts_refused():
    gradient = ad.grad(lambda x: np.sum(x * x))(np.array([1, 2, 3]))
    assert gradient.dtype == np.float64
    np.testing.assert_array_equal(gradient, [2, 4, 6])
    with pytest.raises(ad.ValueKindError, match="array of <U1"):
        ad.grad(lambda x: 1.0)(np.array(["a"]))


def test_refusals_of_arrays():
    with pytest.raises(ad.ResultError, match=r"array of shape \(5,\). Use jacobian"):
        ad.grad(np.sin)(V)
    with pytest.raises(
        ad.RuleError, match=r"no derivative rule for np.setdiff1d. Find the indices"
    ):
        np.setdiff1d(ad.Node(V), V)
    with pytest.raises(ad.RuleError, match=r"no derivative rule for np.gcd"):
        np.gcd(ad.Node(V), 2)
    with pytest.raises(ad.ArgumentError, match=r"must have the shape \(5,\), but has \(3,\)"):
        ad.jvp(np.sin, (V,), (V[:3],))
    with pytest.raises(ad.LostDerivativeError, match=r"np.stack"):
        np.zeros(3)[0:1] = ad.Node(V)
    with pytest.raises(ad.ArgumentError, match=r"matmul of arrays of shape \(3, 4\) and \(5,\)"):
        M @ ad.Node(V)
    with pytest.raises(ad.DomainError, match=r"inv of arrays of shape .* Singular matrix"):
        np.linalg.inv(ad.Node(np.zeros((2, 2))))
    with pytest.raises(TypeError, match="single number"):
        len(ad.Node(2.0))
    with pytest.raises(ad.ArgumentError, match="one number"):
        ad.derivative(np.sin)(V)


def test_typed_by_hand():
    x = ad.Node(V)
    y = np.sum(np.exp(x) * M[0, 0])
    np.testing.assert_allclose(ad.reverse(y)[x], np.exp(V) * M[0, 0])
    elementwise = np.sin(x)
    np.testing.assert_allclose(ad.reverse(elementwise)[x], np.cos(V))
    np.testing.assert_allclose(ad.forward(x)[elementwise], np.cos(V))


def test_programs_agree_with_autograd():
    import autograd
    import autograd.numpy as anp

    def loss(np, w, data, labels):
        hidden = np.tanh(np.dot(data, w[0]) + w[1])
        scores = np.dot(hidden, w[2])
        scores = scores - np.max(scores, axis=1, keepdims=True)
        logs = scores - np.log(np.sum(np.exp(scores), axis=1, keepdims=True))
        return -np.mean(logs[np.arange(len(labels)), labels]) + 0.1 * np.sum(w[0] ** 2)

    rng = np.random.default_rng(0)
    w = [rng.normal(size=(6, 8)), rng.normal(size=8), rng.normal(size=(8, 3))]
    data, labels = rng.normal(size=(20, 6)), rng.integers(0, 3, 20)
    ours = ad.grad(lambda w: loss(np, w, data, labels))(w)
    theirs = autograd.grad(lambda w: loss(anp, w, data, labels))(w)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-14)


MASKED = [
    (lambda x: np.where(x < 1, x, np.sqrt(x)), np.array([0.0, 0.5, 4.0]), [1, 1, 0.25]),
    (lambda x: np.where(x > 0, np.log(x), 0.0), np.array([0.0, 2.0]), [0, 0.5]),
    (lambda x: np.where(x > 0, x * np.sqrt(x) / x, 0.0), np.array([0.0, 4.0]), [0, 0.25]),
    (lambda x: np.where(x == 0, 1.0, np.sin(x) / x), np.array([0.0, np.pi]), [0, -1 / np.pi]),
    (
        lambda x: np.where(x[:, None] > 0, np.sqrt(x)[:, None] * np.ones(2), 0),
        np.array([0.0, 1]),
        [0, 1],
    ),
]


@pytest.mark.parametrize(("f", "x", "expected"), MASKED)
@pytest.mark.filterwarnings("ignore:invalid value", "ignore:divide by zero")
def test_a_masked_branch_contributes_nothing(f, x, expected):
    total = lambda x: np.sum(f(x))
    np.testing.assert_allclose(ad.grad(total)(x), expected)
    for i, unit in enumerate(np.eye(len(x))):
        assert ad.jvp(total, (x,), (unit,))[1] == pytest.approx(expected[i])
    assert np.all(np.isfinite(ad.hessian(total)(x)))


def test_a_genuine_product_of_zero_and_inf_is_still_nan():
    with np.errstate(all="ignore"):
        assert np.isnan(ad.grad(lambda x: np.sum(np.sqrt(x) * 0.0))(np.zeros(1)))[0]


def fill(x):
    y = np.zeros_like(x)
    y[0] = x[0] ** 2
    for i in range(1, len(x)):
        y[i] = y[i - 1] * x[i] + np.sin(x[i])
    return y


def edit(x):
    y = x.copy()
    y[1:3] = y[0] * 2
    y[[0, 4]] += x[2]
    y *= 3
    y -= np.exp(x)
    y[y < -5] = 1.0
    return y * x


def update(x):
    y = np.ones_like(x)
    y[:, 0] = x[:, 1] ** 2
    y[1] *= x[0]
    y += x
    np.multiply(y, 2.0, out=y)
    return y @ y.T


def put_everywhere(x):
    y, z = x.copy(), np.zeros_like(x)
    np.put_along_axis(y, np.array([[2], [0], [1]]), x[:, :1] ** 2, 1)
    np.put(y, [1, -1], x[0, :2] * 2)
    np.copyto(z, x * 3, where=M > 0)
    np.putmask(z, M < -0.5, x**2)
    np.place(z, M > 1, x[0, :2])
    np.fill_diagonal(y, x[0, 3])
    return y * z


WRITTEN = [("fill", fill, V), ("edit", edit, V), ("update", update, M), ("put", put_everywhere, M)]


@pytest.mark.parametrize(("name", "f", "x"), WRITTEN, ids=[case[0] for case in WRITTEN])
def test_arrays_that_are_written_to(name, f, x):
    test_value_forward_reverse(name, f, x)
    test_second_order(name, f, x)


def test_writing_does_not_change_what_was_computed_before():
    def f(x):
        y = np.zeros_like(x)
        y[0] = x[0]
        before = y * 10
        y[0] = x[1] * 100
        return np.sum(before) + np.sum(y)

    np.testing.assert_allclose(ad.grad(f)(np.array([1.0, 2.0])), [10, 100])


def test_methods_that_change_in_place():
    def f(x):
        y = x.copy()
        y.sort()
        z = np.zeros_like(x)
        w = z * x
        z.fill(x[0])
        return y[0] * 10 + np.sum(z) + np.sum(w)

    np.testing.assert_allclose(ad.grad(f)(np.array([3.0, 1.0])), [2, 10])
    with pytest.raises(ad.LostDerivativeError, match="not recorded"):
        ad.grad(lambda x: x.copy().resize(3))(V)


def test_what_cannot_be_written_to():
    with pytest.raises(ad.LostDerivativeError, match=r"y = x.copy\(\)"):
        ad.Node(V)[0] = 1.0
    outside = np.zeros(5)
    with pytest.raises(ad.LostDerivativeError, match=r"np\.copy"):
        ad.grad(lambda x: outside.__setitem__(0, x[0]))(V)


def reused_buffer(x):
    buffer, total = np.zeros(3), 0.0
    for k in range(3):
        buffer[:] = k + 1
        total = total + np.sum(x * buffer)
    return total


def reused_mask(x):
    mask, total = np.array([True, False, False]), 0.0
    for k in range(2):
        total = total + np.sum(np.where(mask, x**2, x))
        mask[k + 1] = True
    return total


def reused_index(x):
    index, total = np.array([0, 1]), 0.0
    for _ in range(2):
        total = total + np.sum(x[index] ** 2)
        index += 1
    return total


def changed_later(x):
    y = np.ones_like(x)
    total = np.sum(x * y)
    y[0:2] += 5.0
    return total


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (reused_buffer, [6, 6, 6]),
        (reused_mask, [4, 5, 2]),
        (reused_index, [2, 8, 6]),
        (changed_later, [1, 1, 1]),
    ],
)
def test_arrays_changed_after_they_were_used(f, expected):
    x = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(ad.grad(f)(x), expected)
    np.testing.assert_allclose(ad.jacfwd(f)(x), expected)


def test_pullbacks_do_not_see_what_is_changed_before_they_are_called():
    x = np.array([1.0, 2.0])
    value, pullback = ad.vjp(lambda x: np.exp(x), x)
    x[:] = 0
    value[:] = 0
    np.testing.assert_allclose(pullback(np.ones(2))[0], np.exp([1.0, 2.0]))


@pytest.mark.parametrize(
    "action",
    [
        lambda x: np.cumsum(x, axis=5),
        lambda x: np.prod(x, axis=5),
        lambda x: np.moveaxis(x, 7, 0),
        lambda x: np.transpose(x, (0, 3)),
        lambda x: np.tensordot(x, np.ones((4, 3)), ([0, 1], [0, 1])),
        lambda x: np.quantile(x, -0.2),
        lambda x: np.quantile(x, ad.Node(0.5)),
        lambda x: np.quantile(x, [0.1, 1.6]),
        lambda x: np.gradient(x, 1.0, 2.0, 3.0),
        lambda x: np.gradient(x[:1]),
        lambda x: np.average(x, axis=0, weights=np.ones(2)),
        lambda x: np.max(x, where=M > 0),
        lambda x: np.cumulative_sum(x),
        lambda x: np.diff(x, -1),
        lambda x: np.convolve(x[0], np.ones(0)),
        lambda x: np.convolve(x[0], x[0], "most"),
        lambda x: np.einsum("ij,jk", x),
        lambda x: np.einsum("i", x),
        lambda x: np.einsum("ij->ijk", x),
        lambda x: np.cross(x, x),
        lambda x: np.stack([x, x[0]]),
        lambda x: np.concatenate([x[0, 0], x[0, 1]]),
        lambda x: np.select([x > 0], [x, x]),
        lambda x: np.pad(x, 1, "unknown"),
        lambda x: np.pad(x, 1, lambda *args: None),
        lambda x: np.cov(x[None, None]),
        lambda x: np.fft.fft(x, 0),
        lambda x: np.fft.fft(x, norm="none"),
        lambda x: np.fft.fftn(x, s=(3,), axes=(0, 1)),
        lambda x: np.fft.rfft(x * 1j),
        lambda x: np.linalg.qr(x.T, mode="complete"),
        lambda x: np.linalg.eigh(x @ x.T, UPLO="M"),
        lambda x: np.linalg.lstsq(np.outer(x[0], x[0]), V[:4]),
        lambda x: np.linalg.norm(x, 3),
        lambda x: np.linalg.norm(x[None], 1),
        lambda x: np.linalg.vector_norm(x, ord="fro"),
        lambda x: np.hypot.reduce(x[:0]),
        lambda x: np.add.at(x, 0, 1.0),
        lambda x: np.sum(x, out=np.zeros(())),
        lambda x: np.sum(x, axis=0, out=np.zeros_like(x)),
        lambda x: np.sum(x, dtype=int),
        lambda x: np.sin(x, out=np.zeros((3, 4))),
        lambda x: np.copyto(np.zeros((3, 4)), x),
        lambda x: np.full((3, 4), x),
        lambda x: np.histogram(x),
        lambda x: np.array([x, x]),
        lambda x: np.asarray(x),
        lambda x: x.item(),
        lambda x: x.view(np.int64),
        lambda x: x.fill(1.0),
        lambda x: np.linalg.norm(x[0], "nuc"),
        lambda x: np.zeros_like(x[0]).__iadd__(x),
        lambda x: np.zeros_like(x, dtype=int).__setitem__(0, x[0]),
    ],
)
def test_what_numpy_would_not_do_is_refused(action):
    with pytest.raises((ad.AutodiffError, np.exceptions.AxisError)):
        action(ad.Node(M))


def test_masked_arrays_and_matrices_are_refused():
    with pytest.warns(PendingDeprecationWarning):
        matrix = np.matrix([[1.0]])
    for array in (np.ma.array([1.0, 2.0], mask=[0, 1]), matrix):
        with pytest.raises(ad.ValueKindError, match="ordinary array"):
            ad.grad(np.sum)(array)


def test_singular_points_and_large_numbers():
    np.testing.assert_array_equal(ad.grad(lambda x: np.linalg.norm(x, 3))(np.zeros(3)), np.zeros(3))
    np.testing.assert_array_equal(ad.grad(np.std)(np.ones(3)), np.zeros(3))
    large = np.array([3e100, 4e100])
    assert np.linalg.norm(ad.Node(large)).value == pytest.approx(5e100)
    np.testing.assert_allclose(ad.grad(np.linalg.norm)(large), [0.6, 0.8])


def test_gradients_can_be_written_to():
    gradient = ad.grad(np.sum)(V)
    gradient += 1
    np.testing.assert_array_equal(gradient, np.full(5, 2.0))


def test_stacks_of_systems_with_one_vector():
    stack = np.stack([Q, 2 * Q])
    solution = ad.vjp(lambda a: np.linalg.solve(a, V[:3]), stack)[0]
    np.testing.assert_allclose(
        solution, np.linalg.solve(stack, np.tile(V[:3, None], (2, 1, 1)))[..., 0]
    )


def test_results_are_written_where_out_says():
    def f(x):
        y, z = np.zeros_like(x), np.ones_like(x)
        np.multiply(x, 3.0, out=y)
        np.divide(y, x - V[0], out=z, where=V > 0.2)
        np.cumsum(x, out=y)
        return y * z

    mask = V > 0.2
    expected = lambda x: np.cumsum(x) * np.where(mask, 3 * x / np.where(mask, x - V[0], 1.0), 1.0)
    x = V + 0.1
    np.testing.assert_allclose(ad.vjp(f, x)[0], expected(x))
    direction = weights(x.shape)
    _, tangent = ad.jvp(f, (x,), (direction,))
    np.testing.assert_allclose(tangent, differences(expected, x, direction), atol=1e-10)


@pytest.mark.parametrize(
    "question",
    [
        lambda x: np.linalg.matrix_rank(x),
        lambda x: np.isin(x, [1.0]),
        lambda x: np.digitize(x, [0.0, 1.0]),
        lambda x: np.spacing(x),
        lambda x: np.logical_and(x > 0, x),
        lambda x: np.signbit(x),
        lambda x: np.nanargmax(x),
        lambda x: np.lexsort(x),
        lambda x: np.argpartition(x, 1),
        lambda x: np.einsum_path("ij,jk", x, M.T)[0],
        lambda x: np.tril_indices_from(x),
        lambda x: np.where(x),
        lambda x: np.array_equal(x, M),
        lambda x: x.astype(int),
        lambda x: x.nonzero(),
        lambda x: x.nbytes + x.itemsize,
        lambda x: x[0].searchsorted(0.0),
        lambda x: x.argsort(1),
        lambda x: np.bincount(np.argmax(x, axis=1)),
        lambda x: M[0, 0] in x,
        lambda x: np.logical_or.reduce(x > 0, axis=0),
    ],
)
def test_what_has_no_derivative_is_plain(question):
    expected, answer = question(M), question(ad.Node(M))
    np.testing.assert_equal(answer, expected)
    assert not isinstance(answer, ad.Node)


def test_order_of_operands():
    x = ad.Node(M)
    for result, expected in [
        (np.float64(2) * x, 2 * M),
        (M * x, M * M),
        (M.T @ x, M.T @ M),
        (np.ones((2, 3)) @ x, np.ones((2, 3)) @ M),
        ([1.0, 2.0, 3.0] @ x, np.array([1.0, 2.0, 3.0]) @ M),
        (np.float32(1) - x, 1 - M),
        (x - [1, 2, 3, 4], M - [1, 2, 3, 4]),
    ]:
        assert isinstance(result, ad.Node)
        np.testing.assert_array_equal(result.value, expected)


def test_what_is_missing_says_what_is_near():
    with pytest.raises(ad.RuleError, match=r"np.histogram\. Counts do not change.*five lines"):
        np.histogram(ad.Node(V))
    with pytest.raises(ad.RuleError, match=r"np.sort_complex.*take those elements"):
        np.sort_complex(ad.Node(V))
    with pytest.raises(ad.LostDerivativeError, match=r"np\.stack\(\[a, b\]\) joins"):
        np.array([ad.Node(1.0), ad.Node(2.0)])
    with pytest.raises(ad.LostDerivativeError, match=r"typed by hand.* y\[\.\.\.\] = "):
        np.put(ad.Node(V), 0, 1.0)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("shapes", [((3,), (3,)), ((2, 3), (3,)), ((3,), (2, 1)), ((), (3,))])
def test_quotients_of_every_pair_of_shapes(shapes, kind):
    x, y = (
        np.linspace(start, start + 1, int(np.prod(s))).reshape(s)
        for s, start in zip(shapes, (1, 2), strict=True)
    )
    x, y = x.astype(kind)[()], y.astype(kind)[()]
    weights = np.cos(np.arange(np.size(x / y), dtype=kind)).reshape(np.shape(x / y))
    of_x, of_y = ad.grad(lambda x, y: np.sum(weights * (x / y) / 4), (0, 1))(x, y)
    for found, like, full in ((of_x, x, weights / y / 4), (of_y, y, -weights * x / y**2 / 4)):
        lead = tuple(range(full.ndim - np.ndim(like)))
        expected = full.sum(lead)
        ones = tuple(i for i, n in enumerate(np.shape(like)) if n == 1)
        expected = expected.sum(ones, keepdims=True) if ones else expected
        np.testing.assert_allclose(found, expected, rtol=1e-5 if kind is np.float32 else 1e-13)
        assert found.dtype == kind
        assert np.shape(found) == np.shape(like)


def test_a_quotient_by_a_whole_number_or_by_nothing():
    x = np.array([1.0, 2.0])
    np.testing.assert_array_equal(ad.grad(lambda x: np.sum(x * x) / 4)(x), x / 2)
    np.testing.assert_array_equal(ad.grad(lambda x: np.mean(x / 8))(x), [1 / 16, 1 / 16])
    with np.errstate(all="ignore"):
        slope = ad.grad(lambda y: np.sum(x / y))(np.array([0.0, -0.0]))
    np.testing.assert_array_equal(slope, [-np.inf, -np.inf])


@pytest.mark.parametrize(
    "ufunc", [np.maximum, np.minimum, np.fmax, np.fmin, np.logaddexp, np.logaddexp2, np.hypot]
)
def test_accumulating_many(ufunc):
    x = np.sin(np.arange(600.0) ** 2).reshape(2, 300)
    weights = np.cos(np.arange(600.0)).reshape(2, 300)

    def f(x):
        return np.sum(weights * ufunc.accumulate(x, axis=1))

    def one_by_one(x):
        results = [x[:, 0]]
        for k in range(1, 300):
            results.append(ufunc(results[-1], x[:, k]))
        return np.sum(weights * np.stack(results, 1))

    value, gradient = ad.value_and_grad(f)(x)
    np.testing.assert_allclose(value, f(x), rtol=1e-12)
    np.testing.assert_allclose(gradient, ad.grad(one_by_one)(x), rtol=1e-10, atol=1e-12)
    compiled = ad.jit(ad.grad(f), tier="optimised")
    np.testing.assert_allclose(compiled(x), gradient, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(compiled(-x), ad.grad(f)(-x), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("ufunc", [np.logaddexp, np.logaddexp2])
@pytest.mark.parametrize(
    "special",
    [
        [0.0, -50.0],
        [np.inf, 1.0],
        [-np.inf, 1.0],
        [np.nan, 0.0],
        [1000.0, 1001.0],
        [-1e308, -1e308],
    ],
)
def test_long_sums_of_powers_are_those_of_numpy(ufunc, special):
    x = np.concatenate([special, np.full(20, -np.inf)])
    with np.errstate(invalid="ignore"):
        value, gradient = ad.value_and_grad(ufunc.reduce)(x)
        np.testing.assert_allclose(value, ufunc.reduce(x), rtol=1e-15)
    base = np.e if ufunc is np.logaddexp else 2.0
    if np.isfinite(value):
        top = np.max(x)
        np.testing.assert_allclose(gradient, base ** (x - top) / np.sum(base ** (x - top)), 1e-13)
    nothing = np.full(20, -np.inf)
    with np.errstate(all="ignore"):
        assert ad.value_and_grad(ufunc.reduce)(nothing)[0] == -np.inf


@pytest.mark.parametrize("full", [(0, 3, 3), (2, 0, 0)])
@pytest.mark.parametrize(
    "f",
    [
        np.linalg.eigvalsh,
        lambda a: np.linalg.eigh(a)[1],
        lambda a: np.linalg.svd(a, hermitian=True)[0],
        lambda a: np.linalg.svd(a, hermitian=True, compute_uv=False),
    ],
)
def test_eigenvalues_of_no_matrices_at_all(f, full):
    total, a = (lambda a: np.sum(f(a))), np.zeros(full)
    assert ad.grad(total)(a).shape == full
    assert ad.jvp(total, (a,), (a,)) == (0, 0)
    assert ad.hessian(total)(a).shape == full + full


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.complex128])
def test_the_norm_that_counts_does_not_change(kind):
    x = np.array([[2, 0, -3], [0, 0, np.nan if kind is not np.complex128 else 1]]).astype(kind)
    f = lambda x: np.linalg.norm(x, 0, axis=1)
    value, change = ad.jvp(f, (x,), (np.ones_like(x),))
    np.testing.assert_array_equal(value, f(x))
    np.testing.assert_array_equal(change, [0, 0])
    assert value.dtype == f(x).dtype
    np.testing.assert_array_equal(ad.grad(lambda x: np.sum(f(x)))(x.real), np.zeros((2, 3)))


def test_what_choose_does_not_choose_does_not_count():
    a = np.array([2.0, 0.0])
    with np.errstate(divide="ignore"):
        gradient = ad.grad(lambda a: np.sum(np.choose([0, 1], [np.log(a), a])))(a)
    np.testing.assert_array_equal(gradient, [0.5, 1])


def test_choose_takes_modes_and_broadcasts():
    a = np.array([2.0, 3.0])
    outside = np.array([[-1], [0], [4]])
    for mode in ("wrap", "clip"):
        f = lambda a: np.choose(outside, [a**2, 7, a], mode=mode)  # noqa: B023
        value, change = ad.jvp(f, (a,), (np.ones(2),))
        np.testing.assert_array_equal(value, f(a))
        which = np.choose(outside, [0, 1, 2], mode=mode)
        expected = np.where(which == 0, 2 * a, np.where(which == 1, 0, 1.0))
        np.testing.assert_array_equal(change, expected)
    alone = ad.jvp(lambda a: np.choose(np.zeros((3, 1), int), [a]), (a,), (a,))[0]
    np.testing.assert_array_equal(alone, [a, a, a])
    narrow = a.astype(np.float32)
    assert ad.jvp(lambda a: np.choose([0, 1], [a, 2.0]), (narrow,), (narrow,))[0].dtype == "f4"


def test_choose_refuses_what_is_outside():
    f = lambda i, a: np.choose(i, [a, 2 * a])
    a, outside = np.array([2.0, 3.0]), np.array([0, 2])
    for run in (lambda i, a: ad.grad(lambda a: np.sum(f(i, a)))(a), ad.vmap(f), ad.jit(f)):
        run(np.array([0, 1]), a)
        with pytest.raises(ValueError, match="choice"):
            run(outside, a)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.r_[x, 1.0],
        lambda x: np.r_[2, x, 1],
        lambda x: np.r_[x[0], 1.0],
        lambda x: np.r_[x, np.float64(1)],
        lambda x: np.r_[0:2, x],
        lambda x: np.frexp(x[0])[0],
        lambda x: np.polyval(x, 1.3),
        lambda x: np.polyval(x, 2),
        np.polyder,
        lambda x: np.polyder(x, 0),
        np.polyint,
        np.vander,
        lambda x: np.geomspace(x[0], x[1], 4),
        lambda x: np.interp(np.float32([1]), x, np.float32([0, 1, 4])),
        lambda x: np.interp(np.float32([1]), np.float32([0, 1, 4]), x),
    ],
)
def test_the_very_kind_that_numpy_gives(f, kind):
    x = np.array([0.5, 1.5, 2.5], kind)
    value, change = ad.jvp(f, (x,), (x,))
    expected = f(x)
    assert (value.dtype, change.dtype) == (expected.dtype, expected.dtype)
    np.testing.assert_allclose(value, expected, rtol=1e-3)
    assert ad.grad(lambda x: np.sum(f(x)))(x).dtype == kind


LARGE = 5000


def test_slices_of_large_arrays_under_batches_and_nodes():
    x = np.linspace(0.1, 1, LARGE)
    assert ad.jacrev(lambda x: x[:2])(x)[:, :3].tolist() == [[1, 0, 0], [0, 1, 0]]
    pulled = ad.vmap(ad.vjp(lambda x: x[:3] * 2, x)[1])(np.eye(3))[0]
    np.testing.assert_array_equal(pulled[:, :4], 2 * np.eye(3, 4))
    inner = lambda s: np.sum(ad.grad(lambda y: s * np.sum(y[1:] * y[:-1]))(x))
    assert ad.grad(inner)(2.0) == pytest.approx(2 * np.sum(x) - x[0] - x[-1])


@pytest.mark.filterwarnings("ignore:All-NaN:RuntimeWarning")
def test_nothing_but_nan():
    hole = np.array([np.nan, np.nan])
    with np.errstate(all="ignore"):
        assert np.isnan(ad.value_and_grad(lambda x: np.nanmax(x + hole))(np.ones(2))[0])
    some = np.array([np.nan, 2.0])
    for rows, initial, value, slope in (
        ([hole, some], 0.3, [0.3, 2.0], [0.0, 1.0]),
        ([hole, some], np.nan, [np.nan, 2.0], [0.0, 1.0]),
        ([[], []], 0.3, [0.3, 0.3], [0.0, 0.0]),
    ):
        f = lambda x, i=initial: np.nanmax(x, axis=1, initial=i)
        x = np.reshape(rows, (2, -1))
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(f(x), value)
            for found in (ad.jvp(f, (x,), (np.ones_like(x),)), (ad.vmap(f)(x[None])[0], slope)):
                np.testing.assert_array_equal(found, [value, slope])


@pytest.mark.parametrize("order", [None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf])
def test_norms_of_every_order_have_the_derivative_0_at_0(order):
    for shape in [(2, 2), (3,)][: 1 if isinstance(order, str) else 2]:
        with np.errstate(all="ignore"):
            value, slope = ad.value_and_grad(lambda x: np.linalg.norm(x, order))(np.zeros(shape))
        assert value == 0
        np.testing.assert_array_equal(slope, np.zeros(shape))


def test_clip_between_bounds_that_have_changed_places():
    slopes = ad.grad(lambda x, low, high: np.clip(x, low, high).sum(), (0, 1, 2))
    x = np.array([-3.0, -2.0, -1.0, 0.5, 1.0, 2.0])  # np.clip gives the upper bound, -2
    got = slopes(x, np.ones(6), np.full(6, -2.0))
    np.testing.assert_array_equal(got, [np.zeros(6), np.zeros(6), np.ones(6)])


def test_methods_of_floats():
    assert ad.grad(lambda x: x**2 if x.is_integer() else x)(3.0) == 6.0
    assert ad.grad(lambda x: x**2 if x.is_integer() else x)(3.5) == 1.0
    with pytest.raises(ad.LostDerivativeError, match=r"x\.value\.hex"):
        ad.grad(lambda x: float.fromhex(x.hex()))(3.0)


@pytest.mark.parametrize(
    "ufunc", [np.add, np.multiply, np.subtract, np.divide, np.maximum, np.logaddexp, np.hypot]
)
@pytest.mark.parametrize("size", [5, 300])
def test_accumulating_in_another_dtype(ufunc, size):
    x = 1 + 0.1 * np.sin(np.arange(size) ** 2.0)
    wanted = ufunc.accumulate(x, dtype=np.float32)
    value, pull = ad.vjp(lambda x: ufunc.accumulate(x, dtype=np.float32), x)
    assert value.dtype == wanted.dtype == np.float32
    np.testing.assert_allclose(value, wanted, rtol=1e-4)
    slope = pull(np.ones(size, np.float32))[0]
    exact = ad.vjp(ufunc.accumulate, x)[1](np.ones(size))[0]
    np.testing.assert_allclose(slope, exact, rtol=1e-2, atol=1e-3)
