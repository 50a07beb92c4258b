"""Whole programs of array code, written once, against JAX and PyTorch; complex ones against JAX."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import simpleautodiff as ad
from references import differences

jax.config.update("jax_enable_x64", True)
rng = np.random.default_rng(11)
X = rng.normal(size=(8, 3))
Y = rng.normal(size=8)
IMAGE = rng.normal(size=(6, 6))
SIGNAL = rng.normal(size=16)
Z = rng.normal(size=(4, 3)) + 1j * rng.normal(size=(4, 3))
W = rng.normal(size=(3, 3)) + 1j * rng.normal(size=(3, 3))


def gaussian_process(np, t):
    """The likelihood of observations under a covariance with three parameters."""
    distance = np.sum((X[:, None, :] - X[None, :, :]) ** 2, axis=-1)
    k = np.exp(t[0]) * np.exp(-distance / np.exp(t[1])) + np.exp(t[2]) * np.eye(8)
    factor = np.linalg.cholesky(k)
    alpha = np.linalg.solve(k, np.asarray(Y))
    return 0.5 * np.dot(Y, alpha) + np.sum(np.log(np.diagonal(factor)))


def attention(np, x):
    """Softmax of scores, applied to values, normalised."""
    scores = np.einsum("id,jd->ij", x, x @ np.asarray(IMAGE[:3, :3])) / 3**0.5
    scores = scores - np.max(scores, axis=-1, keepdims=True)
    weights = np.exp(scores) / np.sum(np.exp(scores), axis=-1, keepdims=True)
    mixed = np.tanh(weights @ x)
    centred = mixed - np.mean(mixed, axis=-1, keepdims=True)
    return np.sum(centred / np.sqrt(np.var(mixed, axis=-1, keepdims=True) + 1e-5) * X)


def convolution_layer(np, image):
    """A convolution written with slices, a rectifier, a pooling."""
    kernel = IMAGE[:3, :3]
    padded = np.pad(image, 1)
    total = sum(kernel[i, j] * padded[i : i + 6, j : j + 6] for i in range(3) for j in range(3))
    pooled = np.max(np.maximum(total, 0.0).reshape(3, 2, 3, 2), axis=(1, 3))
    return np.sum(pooled**2) + np.linalg.norm(pooled)


def least_squares(np, t):
    """The residual of a fit whose columns depend on parameters."""
    grid = np.linspace(0.0, 1.0, 8)
    columns = np.stack([np.exp(-t[0] * grid), np.sin(t[1] * grid), np.ones(8)], axis=1)
    solution = np.linalg.lstsq(columns, np.asarray(Y))[0]
    return np.sum((columns @ solution - Y) ** 2) + np.sum(np.abs(solution))


def recurrence(np, h):
    """A recurrent network over a few steps, its states stacked."""
    states = []
    for i in range(8):
        h = np.tanh(h @ np.asarray(IMAGE[:3, :3]) + X[i])
        states.append(h)
    together = np.concatenate([np.stack(states), np.flip(np.stack(states), 0)], axis=1)
    return np.sum(np.cumsum(together, axis=0) * np.roll(together, 1, axis=0)) + np.median(together)


def spectrum(np, x):
    """The energy in a band of frequencies, and a filtered signal."""
    transform = np.fft.rfft(x * np.hanning(16))
    filtered = np.fft.irfft(transform * np.exp(-np.arange(9.0)), 16)
    return np.sum(np.abs(transform[2:5]) ** 2) + np.sum(filtered**3)


PROGRAMS = [
    (gaussian_process, np.array([0.3, 0.8, -1.0])),
    (attention, X),
    (convolution_layer, IMAGE),
    (least_squares, np.array([1.5, 3.0])),
    (recurrence, X[0]),
    (spectrum, SIGNAL),
]
NAMES = [program.__name__ for program, _ in PROGRAMS]


@pytest.mark.slow
@pytest.mark.parametrize(("program", "x"), PROGRAMS, ids=NAMES)
def test_programs_agree_with_jax(program, x):
    ours, theirs = (lambda x: program(np, x)), (lambda x: program(jnp, x))
    value, gradient = ad.value_and_grad(ours)(x)
    np.testing.assert_allclose(value, theirs(x), rtol=1e-10)
    np.testing.assert_allclose(gradient, jax.grad(theirs)(x), rtol=1e-10, atol=1e-11)
    direction = np.cos(np.arange(x.size)).reshape(x.shape)
    product = jax.jvp(jax.grad(theirs), (x,), (direction,))[1]
    np.testing.assert_allclose(ad.hvp(ours, (x,), (direction,)), product, rtol=1e-10, atol=1e-10)


def test_linear_algebra_agrees_with_torch():
    torch = pytest.importorskip("torch", reason="PyTorch is only compared with where it is there")

    def loss(np, linalg, a):
        u, s, vh = linalg.svd(a, full_matrices=False)
        q, r = linalg.qr(a)
        p = linalg.pinv(a)
        return ((u * s**2) @ vh).sum() + (q @ (r @ p)).sum() + linalg.matrix_norm(a, ord="nuc") ** 2

    ours = ad.grad(lambda a: loss(np, np.linalg, a))(X)
    x = torch.tensor(X, requires_grad=True)
    loss(torch, torch.linalg, x).backward()
    np.testing.assert_allclose(ours, x.grad.numpy(), rtol=1e-11, atol=1e-11)


COMPLEX = [
    ("fft", lambda np, z: np.sum(np.abs(np.fft.fft(z, 5, axis=0)) ** 3), Z),
    ("ifft", lambda np, z: np.sum(np.real(np.fft.ifft(z, norm="ortho") ** 2 * z)), Z),
    ("fftn", lambda np, z: np.sum(np.abs(np.fft.fftn(z, norm="forward")) ** 3), Z),
    ("irfft", lambda np, z: np.sum(np.fft.irfft(z, axis=0) ** 3), Z),
    ("irfft odd", lambda np, z: np.sum(np.fft.irfft(z, 7, axis=0) ** 3), Z),
    ("hfft", lambda np, z: np.sum(np.fft.hfft(z, axis=0) ** 3), Z),
    ("svdvals", lambda np, z: np.sum(np.linalg.svd(z, compute_uv=False) ** 3), Z),
    ("svd", lambda np, z: np.sum(np.abs(polar(np, z)) ** 3), Z),
    ("svd wide", lambda np, z: np.sum(np.abs(polar(np, z.T)) ** 3), Z),
    ("qr", lambda np, z: np.sum(np.abs(np.linalg.qr(z)[1]) ** 3), Z),
    ("qr Q", lambda np, z: np.sum(np.abs(np.linalg.qr(z)[0]) ** 3), Z),
    ("eigvals", lambda np, z: np.sum(np.abs(np.linalg.eigvals(z)) ** 3), W),
    ("pinv", lambda np, z: np.sum(np.abs(np.linalg.pinv(z)) ** 3), Z),
    ("pinv wide", lambda np, z: np.sum(np.abs(np.linalg.pinv(z.T)) ** 3), Z),
    ("slogdet", lambda np, z: np.real(np.linalg.slogdet(z)[0] * z[0, 0]), W),
    ("norm 2", lambda np, z: np.linalg.norm(z, 2) + np.linalg.norm(z, "nuc"), Z),
    ("norm 1", lambda np, z: np.linalg.norm(z, 1) + np.linalg.norm(z, np.inf), Z),
    ("cond", lambda np, z: np.linalg.cond(z), W),
    ("convolve", lambda np, z: np.sum(np.abs(np.convolve(z[:, 0], z[:, 1])) ** 3), Z),
    ("correlate", lambda np, z: np.sum(np.abs(np.correlate(z[:, 0], z[:3, 1], "same")) ** 3), Z),
    ("vecdot", lambda np, z: np.sum(np.abs(np.vecdot(z, z**2)) ** 3), Z),
    ("prod", lambda np, z: np.abs(np.prod(z)) + np.sum(np.abs(np.cumprod(z, axis=0))), Z),
    ("cov", lambda np, z: np.sum(np.abs(np.cov(z)) ** 3), Z),
    ("einsum", lambda np, z: np.abs(np.einsum("ij,...j->", z, np.conj(z))), Z),
    ("matrix_power", lambda np, z: np.sum(np.abs(np.linalg.matrix_power(z, -2))), W),
]


def polar(np, z):
    u, _, vh = np.linalg.svd(z, full_matrices=False)
    return u @ vh


@pytest.mark.slow
@pytest.mark.parametrize(("name", "f", "z"), COMPLEX, ids=[case[0] for case in COMPLEX])
def test_complex_gradients_are_those_of_jax(name, f, z):
    ours = ad.grad(lambda z: f(np, z))(z)
    assert ours.dtype == np.complex128
    theirs = jax.grad(lambda z: f(jnp, z))(jnp.asarray(z))
    np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-11)
    direction = rng.normal(size=z.shape) + 1j * rng.normal(size=z.shape)
    _, slope = ad.jvp(lambda z: f(np, z), (z,), (direction,))
    np.testing.assert_allclose(slope, np.sum(ours * direction).real, rtol=1e-11)
    second = ad.hvp(lambda z: f(np, z), (z,), (direction,))
    gradient = ad.grad(lambda z: f(np, z))
    scale = 1 + np.max(np.abs(second))
    expected = differences(gradient, z, direction / 4)
    np.testing.assert_allclose(second, 4 * expected, rtol=0, atol=1e-10 * scale)
    again = ad.grad(lambda z: np.real(np.sum(gradient(z) * direction)))(z)
    np.testing.assert_allclose(again, second, rtol=1e-10, atol=1e-11 * scale)


@pytest.mark.parametrize(("name", "f", "z"), COMPLEX, ids=[case[0] for case in COMPLEX])
def test_complex64_stays_complex64(name, f, z):
    gradient = ad.grad(lambda z: f(np, z))(z.astype(np.complex64))
    assert gradient.dtype == np.complex64


def test_eigenvectors_of_complex_matrices_turn_as_those_of_numpy():
    direction = rng.normal(size=(3, 3)) + 1j * rng.normal(size=(3, 3))
    vectors = lambda a: np.linalg.eig(a)[1]
    _, tangent = ad.jvp(vectors, (W,), (direction,))
    np.testing.assert_allclose(tangent, differences(vectors, W, direction), atol=1e-11)


def test_functions_of_equal_singular_values_have_derivatives():
    f = lambda a: np.sum(np.linalg.svd(a)[0] ** 2) + np.sum(np.linalg.svd(a)[1] ** 2)
    np.testing.assert_allclose(ad.grad(f)(np.eye(3)), 2 * np.eye(3), atol=1e-12)
    zero = ad.grad(lambda a: np.linalg.norm(a, "nuc"))(np.zeros((2, 2)))
    assert np.all(np.isfinite(zero))


def test_determinants_of_singular_matrices_have_cofactors():
    cofactors = np.array([[-3.0, 6, -3], [6, -12, 6], [-3, 6, -3]])
    gradient = ad.grad(np.linalg.det)(np.arange(9.0).reshape(3, 3))
    np.testing.assert_allclose(gradient, cofactors, atol=1e-12)
    np.testing.assert_array_equal(ad.grad(np.linalg.det)(np.zeros((3, 3))), np.zeros((3, 3)))
    unknown = np.array([[1.0, np.nan], [0.0, 1.0]])
    with np.errstate(invalid="ignore"):
        value, slope = ad.value_and_grad(np.linalg.det)(unknown)
    assert np.all(np.isnan([value, *slope[0]]))
    third = lambda t: np.linalg.det(t * np.diag([2.0, 3.0, 5.0]))
    assert ad.derivative(third, 3)(0.0) == pytest.approx(180.0)
    stack = np.stack([np.eye(2), np.ones((2, 2))])
    gradient = ad.grad(lambda a: np.sum(np.linalg.det(a)))(stack)
    np.testing.assert_allclose(gradient, [[[1, 0], [0, 1]], [[1, -1], [-1, 1]]], atol=1e-12)


def test_least_squares_of_small_numbers_have_full_rank():
    """Of x = b / t for the column (t): dx/dt = -b / t², however small t is."""
    b, t = np.array([3.0, 0.0]), 1e-20
    f = lambda t: np.linalg.lstsq(t * np.eye(2)[:, :1], b)[0][0]
    assert ad.grad(f)(t) == pytest.approx(-3.0 / t**2, rel=1e-14)
