"""Any shape, axis, index, kind: linear functions push what NumPy gives and pull its transpose."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as hnp

import simpleautodiff as ad

SHAPES = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=3)
KINDS = st.sampled_from([np.float16, np.float32, np.float64, np.longdouble, np.complex128])
quick = settings(max_examples=120, deadline=None)


def numbers(shape, start=1, kind=np.float64):
    """Small numbers that are no two alike; whole multiples of 1/8, so that sums are exact."""
    values = ((np.arange(np.prod(shape, dtype=int)) * 7 + start * 5) % 61 - 30) / 8
    values = values.reshape(shape).astype(kind)
    return values * (1 + 0.5j) if np.dtype(kind).kind == "c" else values


def as_number(x):
    return x[()] if np.ndim(x) == 0 else x


def check_linear(f, x, exact=True):
    """A linear function's derivative is itself; what is pulled back is its transpose."""
    expected = np.asarray(f(x))
    direction = numbers(x.shape, 3, x.dtype)
    value, tangent = ad.jvp(f, (x,), (as_number(direction),))
    np.testing.assert_allclose(value, expected, rtol=0 if exact else 1e-2, atol=1e-3 * (not exact))
    pushed = np.asarray(f(direction))
    np.testing.assert_allclose(tangent, pushed, rtol=0 if exact else 1e-2, atol=1e-3 * (not exact))
    assert np.shape(tangent) == expected.shape
    assert np.asarray(tangent).dtype == expected.dtype
    seed = numbers(expected.shape, 2, expected.dtype)
    _, pullback = ad.vjp(f, x)
    (adjoint,) = pullback(as_number(seed))
    assert np.shape(adjoint) == x.shape
    assert np.asarray(adjoint).dtype == x.dtype
    left, right = np.sum(pushed * seed), np.sum(direction * adjoint)
    scale = 1 + np.sum(np.abs(pushed * seed))
    np.testing.assert_allclose(left, right, atol=scale * (1e-2 if x.dtype == np.float16 else 1e-5))


@st.composite
def reductions(draw):
    shape = draw(SHAPES)
    axes = hnp.valid_tuple_axes(len(shape))
    single = st.integers(-len(shape), len(shape) - 1) if shape else st.none()
    return shape, draw(st.one_of(st.none(), axes, single)), draw(st.booleans()), draw(KINDS)


def nothing(shape):
    """Tell whether a reduction has nothing to take together, or nothing to give."""
    return 0 in shape


@quick
@given(reductions())
def test_sums(case):
    shape, axis, keepdims, kind = case
    x = numbers(shape, kind=kind)
    check_linear(lambda x: np.sum(x, axis=axis, keepdims=keepdims), x)
    where = numbers(shape, 4) > -1
    check_linear(lambda x: np.sum(x, axis=axis, keepdims=keepdims, where=where), x)


@quick
@given(reductions())
def test_means_and_variances(case):
    shape, axis, keepdims, kind = case
    x = numbers(shape, kind=kind)
    if nothing(shape):
        return  # the mean of no elements is nan, with a warning
    check_linear(lambda x: np.mean(x, axis=axis, keepdims=keepdims), x, exact=False)
    if np.dtype(kind).kind == "c":
        return
    direction = numbers(shape, 3, kind)
    value, tangent = ad.jvp(
        lambda x: np.var(x, axis=axis, keepdims=keepdims), (x,), (as_number(direction),)
    )
    deviation = lambda x: x - np.mean(x, axis=axis, keepdims=True)
    expected = 2 * np.mean(deviation(x) * deviation(direction), axis=axis, keepdims=keepdims)
    assert np.asarray(value).dtype == np.asarray(tangent).dtype == kind
    np.testing.assert_allclose(tangent, expected, rtol=0.02, atol=0.05)


@quick
@given(reductions())
def test_extremes_and_products(case):
    shape, axis, keepdims, kind = case
    x = numbers(shape, kind=kind).real.astype(np.float64)
    if nothing(shape):
        return
    direction = numbers(shape, 3)
    choose = lambda x, i: np.take_along_axis(x, i, axis) if axis is not None else x.flat[i]
    if axis is None or isinstance(axis, int):
        _, tangent = ad.jvp(lambda x: np.max(x, axis=axis), (x,), (as_number(direction),))
        place = np.argmax(x, axis=axis, keepdims=axis is not None)
        ties = np.sum(x == np.max(x, axis=axis, keepdims=True), axis=axis) > 1
        expected = choose(direction, place)
        expected = expected if axis is None else np.squeeze(expected, axis)
        np.testing.assert_array_equal(np.where(ties, 0, tangent), np.where(ties, 0, expected))
    step = 1e-30j  # the product is a polynomial: a complex step gives its slope exactly
    slope = np.prod(x + step * direction, axis=axis, keepdims=keepdims).imag / 1e-30
    _, tangent = ad.jvp(
        lambda x: np.prod(x, axis=axis, keepdims=keepdims), (x,), (as_number(direction),)
    )
    np.testing.assert_allclose(tangent, slope, rtol=0, atol=1e-13 * (1 + np.max(np.abs(slope))))


@st.composite
def movements(draw):
    """Return an array's shape and a function of NumPy that moves its elements."""
    shape = draw(hnp.array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=3))
    rank = len(shape)
    axis = draw(st.integers(-rank, rank - 1))
    other = draw(st.integers(-rank, rank - 1))
    order = draw(st.permutations(range(rank)))
    count = draw(st.integers(0, 3))
    widths = [(draw(st.integers(0, 2)), draw(st.integers(0, 2))) for _ in shape]
    functions = [
        lambda x: np.reshape(x, -1),
        lambda x: np.reshape(x, shape[::-1], order="F"),
        lambda x: np.ravel(x, order="F"),
        lambda x: np.transpose(x, order),
        lambda x: np.swapaxes(x, axis, other),
        lambda x: np.moveaxis(x, axis, other),
        lambda x: np.expand_dims(x, (0, -1)),
        lambda x: np.squeeze(np.expand_dims(x, axis), axis),
        lambda x: np.flip(x, axis),
        lambda x: np.roll(x, count, axis),
        lambda x: np.repeat(x, count, axis),
        lambda x: np.tile(x, (2, count)),
        lambda x: np.pad(x, widths, constant_values=0),
        lambda x: np.cumsum(x, axis),
        lambda x: np.diff(x, axis=axis) if shape[axis] else x,
        lambda x: np.concatenate([x, x * 2, x], axis),
        lambda x: np.stack([x, x], axis),
        lambda x: np.split(x, [1, 2], axis)[0],
        lambda x: np.broadcast_to(x, (2, *shape)),
        lambda x: np.delete(x, slice(0, count), axis),
        lambda x: np.atleast_3d(x),
        lambda x: np.rot90(x, count) if rank > 1 else x,
        lambda x: np.tril(x, count - 1) + np.triu(x, 1) if rank > 1 else x,
        lambda x: np.diagonal(x, count - 1) if rank > 1 else x,
        lambda x: np.trace(x) if rank > 1 else x,
        lambda x: np.where(numbers(shape, 9) > 0, x, 0),
    ]
    return shape, draw(st.sampled_from(functions)), draw(KINDS)


@settings(max_examples=400, deadline=None)
@given(movements())
def test_elements_that_move(case):
    shape, f, kind = case
    check_linear(f, numbers(shape, kind=kind))


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_indices_of_every_kind(data):
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=4))
    basic = hnp.basic_indices(shape, allow_newaxis=True)
    fancy = hnp.integer_array_indices(shape, result_shape=hnp.array_shapes(max_dims=2, max_side=4))
    boolean = hnp.arrays(bool, shape)
    index = data.draw(st.one_of(basic, fancy, boolean))
    check_linear(lambda x: x[index], numbers(shape, kind=data.draw(KINDS)))


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_broadcasting_is_undone(data):
    found = data.draw(hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3))
    first, second = found.input_shapes
    kind = data.draw(KINDS)
    x, y = numbers(first, kind=kind), numbers(second, 5, kind)
    check_linear(lambda x: x * y, x, exact=kind != np.float16)
    check_linear(lambda x: 0 * y - x, x)
    check_linear(lambda y: x * y, y, exact=kind != np.float16)
    check_linear(lambda x: np.broadcast_arrays(x, y)[0], x)


@st.composite
def contractions(draw):
    """Return the subscripts of an einsum, with repeated, lone and stretched letters, and arrays."""
    sizes = {letter: draw(st.integers(0, 3)) for letter in "abcd"}
    terms = [draw(st.text("abcd", max_size=3)) for _ in range(draw(st.integers(1, 3)))]
    letters = sorted(set("".join(terms)))
    output = "".join(draw(st.permutations(letters))[: draw(st.integers(0, len(letters)))])
    dots = draw(st.booleans())
    lead = [(2,) if dots and draw(st.booleans()) else () for _ in terms]
    written = ["..." * dots + term for term in terms]
    shapes = [(*more, *[sizes[c] for c in term]) for more, term in zip(lead, terms, strict=True)]
    arrow = draw(st.booleans())
    text = ",".join(written) + ("->" + "..." * dots + output if arrow else "")
    return text, [numbers(shape, i + 1) for i, shape in enumerate(shapes)]


@settings(max_examples=200, deadline=None)
@given(contractions())
def test_einsum(case):
    text, arrays = case
    for k, x in enumerate(arrays):
        f = lambda x, k=k: np.einsum(text, *arrays[:k], x, *arrays[k + 1 :])
        check_linear(f, x, exact=False)


@settings(max_examples=60, deadline=None)
@given(
    hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=5),
    st.sampled_from([None, "ortho", "forward"]),
    st.integers(1, 6),
    st.data(),
)
def test_fourier_transforms(shape, norm, n, data):
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    x, z = numbers(shape), numbers(shape, 4, np.complex128)
    for f in (np.fft.fft, np.fft.ifft):
        check_linear(lambda z, f=f: f(z, n, axis, norm), z, exact=False)
    check_linear(lambda x: np.fft.rfft(x, n, axis, norm).real, x, exact=False)
    check_linear(lambda x: np.fft.rfft(x, n, axis, norm).imag, x, exact=False)
    check_linear(lambda x: np.fft.irfft(x, n, axis, norm), x, exact=False)
    check_linear(lambda x: np.fft.irfft(x * 1j, n, axis, norm), x, exact=False)
    check_linear(lambda x: np.fft.ihfft(x, n, axis, norm).imag, x, exact=False)


@settings(max_examples=60, deadline=None)
@given(
    hnp.array_shapes(min_dims=1, max_dims=2, min_side=1, max_side=5),
    st.lists(st.floats(0, 1), min_size=1, max_size=3),
    st.sampled_from(["linear", "lower", "higher", "midpoint", "hazen", "closest_observation"]),
    st.booleans(),
)
def test_quantiles_move_with_their_elements(shape, q, method, keepdims):
    x = numbers(shape)
    f = lambda x: np.quantile(x, q, axis=0, method=method, keepdims=keepdims)
    value, tangent = ad.jvp(f, (x,), (np.ones(shape),))
    np.testing.assert_allclose(value, f(x), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(tangent, np.ones_like(value))  # all elements move by 1
    _, pullback = ad.vjp(f, x)
    np.testing.assert_allclose(pullback(np.ones_like(value))[0].sum(), np.size(value))


@pytest.mark.parametrize("kind", [np.int64, np.int8, np.bool_, np.uint16])
def test_whole_numbers_and_bools_are_promoted(kind):
    x = np.array([[1, 0, 1], [1, 1, 0]]).astype(kind)
    gradient = ad.grad(lambda x: np.sum(np.mean(x * x, axis=0)))(x)
    assert gradient.dtype == np.float64
    np.testing.assert_array_equal(gradient, x.astype(float))
    for constant in (x, x.tolist()):
        y = np.array([[0.5, 1.5, 2.5], [1.0, 2.0, 3.0]], np.float32)
        slope = ad.grad(lambda y, c=constant: np.sum(y * c))(y)
        assert slope.dtype == np.float32
        np.testing.assert_array_equal(slope, x.astype(float))


@pytest.mark.parametrize("shape", [(), (0,), (1,), (2, 0), (1, 1)])
@pytest.mark.parametrize(
    "f", [np.sum, np.prod, np.cumsum, np.ravel, np.sort, np.flip, np.atleast_2d]
)
def test_empty_and_small(f, shape):
    x = numbers(shape)
    value, pullback = ad.vjp(lambda x: f(x) if np.ndim(x) or f is not np.sort else x, x)
    expected = f(x) if np.ndim(x) or f is not np.sort else x
    np.testing.assert_array_equal(value, expected)
    (adjoint,) = pullback(np.ones_like(value)[()])
    assert np.shape(adjoint) == shape


SINGLE = [
    lambda x: np.max(x) * np.min(x) + np.ptp(x) + np.sum(x) * np.mean(x) + np.prod(x),
    lambda x: np.sum(np.einsum(",ij->ij", x, np.ones((2, 3)))),
    lambda x: np.sum(np.linspace(x, 3, 4)) + np.sum(np.geomspace(x, 3.0, 4)),
    lambda x: np.sum(np.stack([x, x**2]) @ np.array([1.0, 2.0])),
    lambda x: np.sum(np.fft.fft(np.stack([x, x**2, 1.0])).real ** 2),
    lambda x: np.linalg.det(np.reshape(np.stack([x, 1.0, 2 * x, x]), (2, 2))),
    lambda x: np.sum(np.fmod(x, [0.3, 0.7])) + np.heaviside(x, 0.5) * x,
    lambda x: np.median(np.stack([x, x * x, 1.0])) + np.std(np.stack([x, 1.0])),
    lambda x: np.polyval(np.stack([x, x * x, 1.0]), x),
    lambda x: np.ldexp(x, 3) + np.float_power(x, 2) + np.interp(x, [0, 3], [1, 5]),
    lambda x: np.sum(np.pad(np.atleast_1d(x), 1, "edge")) + np.sum(np.tile(x, 3)),
    lambda x: np.reshape(x, (1,))[0] * np.ravel(x)[0] + x[()] + np.expand_dims(x, 0).item(),
]


@pytest.mark.parametrize("f", SINGLE)
@pytest.mark.parametrize("kind", [float, np.float64, np.float32])
def test_single_numbers(f, kind):
    x, h = kind(2.3), 1e-5
    wide = np.float64(x)
    expected = (f(wide + h) - f(wide - h)) / (2 * h)
    tolerance = 1e-4 if kind is np.float32 else 1e-7
    for slope in (ad.grad(f)(x), ad.derivative(f)(x)):
        assert slope == pytest.approx(expected, rel=tolerance)
