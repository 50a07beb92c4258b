"""Derivatives of any order have the kind of number of the argument."""

import numpy as np
import pytest

import simpleautodiff as ad


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


def test_derivatives_of_derivatives_have_the_precision_of_the_argument():
    x, wide = np.ones(3, np.float32), np.arange(3.0)
    f = lambda x: np.sum(wide * x**3)
    gradient, product = ad.jvp(ad.grad(f), (x,), (x,))
    assert gradient.dtype == product.dtype == ad.hessian(f)(x).dtype == np.float32
    assert ad.vmap(ad.grad(f))(x[None]).dtype == np.float32
    np.testing.assert_allclose(product, 6 * wide)
