"""Arrays on a graphics card: the same derivatives, computed and returned there."""

import importlib.util

import numpy as np
import pytest

import simpleautodiff as ad

pytestmark = pytest.mark.gpu


rng = np.random.default_rng(3)
X, W = rng.normal(size=(50, 6)), rng.normal(size=6)
S = X.T @ X + np.eye(6)


def torch_cuda():
    import torch

    return (lambda x: torch.asarray(x, device="cuda")) if torch.cuda.is_available() else None


def cupy_cuda():
    import cupy

    return cupy.asarray if cupy.cuda.runtime.getDeviceCount() else None


def jax_cuda():
    import jax

    jax.config.update("jax_enable_x64", True)
    devices = [device for device in jax.devices() if device.platform == "gpu"]
    return (lambda x: jax.device_put(x, devices[0])) if devices else None


@pytest.fixture(params=["torch", "cupy", "jax"])
def make(request):
    if importlib.util.find_spec(request.param) is None:
        pytest.skip(f"{request.param} is not installed")
    make = {"torch": torch_cuda, "cupy": cupy_cuda, "jax": jax_cuda}[request.param]()
    if make is None:
        pytest.skip("there is no CUDA device")
    return make


def plain(x):
    return np.asarray(x.get() if hasattr(x, "get") else x.cpu() if hasattr(x, "cpu") else x)


FUNCTIONS = {
    "logistic": lambda w, x, s: np.mean(np.logaddexp(0, -x @ w)) + 0.1 * np.sum(w * w),
    "mlp": lambda w, x, s: np.sum(np.tanh(np.tanh(x @ (s @ w)) * w[0]) ** 2),
    "choices": lambda w, x, s: np.sum(np.where(x > 0, x * w, np.exp(w))) + np.max(w) * np.min(w),
    "places": lambda w, x, s: np.sum(w[[0, 0, 3]] ** 3) + np.sum(np.sort(w)[:2] * w[::-1][:2]),
    "matrices": lambda w, x, s: np.linalg.slogdet(s * (1 + w @ w))[1] + w @ np.linalg.solve(s, w),
    "factors": lambda w, x, s: np.sum(np.linalg.cholesky(s + np.diag(w**2)) @ w),
    "norm": lambda w, x, s: np.linalg.norm(w) + np.std(x @ w) + np.sum(np.cumsum(w) ** 2),
    "einsum": lambda w, x, s: np.einsum("ij,jk,k->", x, s, w) ** 2,
    "fourier": lambda w, x, s: np.sum(np.abs(np.fft.fft(w)) ** 3),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients(make, name):
    f = FUNCTIONS[name]
    w = make(W)
    value, gradient = ad.value_and_grad(f)(w, make(X), make(S))
    assert type(gradient) is type(w)
    assert str(gradient.device) == str(w.device)
    assert gradient.dtype == w.dtype
    expected = ad.value_and_grad(f)(W, X, S)
    np.testing.assert_allclose(plain(value), expected[0], rtol=1e-10)
    np.testing.assert_allclose(plain(gradient), expected[1], rtol=1e-8, atol=1e-9)


def test_other_transformations(make):
    f = lambda w, x: np.tanh(x @ w)
    w, x = make(W), make(X)
    pairs = [
        (ad.jacobian(f)(w, x), ad.jacobian(f)(W, X)),
        (
            ad.hessian(lambda w: np.sum(f(w, x) ** 2))(w),
            ad.hessian(lambda w: np.sum(f(w, X) ** 2))(W),
        ),
        (ad.jvp(lambda w: f(w, x), (w,), (w,))[1], ad.jvp(lambda w: f(w, X), (W,), (W,))[1]),
        (
            ad.vmap(ad.grad(lambda w, x: np.sin(x @ w)), in_axes=(None, 0))(w, x),
            ad.vmap(ad.grad(lambda w, x: np.sin(x @ w)), in_axes=(None, 0))(W, X),
        ),
    ]
    for ours, expected in pairs:
        assert type(ours) is type(w)
        np.testing.assert_allclose(plain(ours), expected, rtol=1e-9, atol=1e-11)


def test_float32_stays(make):
    w = make(W.astype(np.float32))
    assert ad.grad(lambda w: np.sum(np.exp(w) ** 2))(w).dtype == w.dtype
