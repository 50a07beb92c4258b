"""Convolution by loops: an image and a kernel, pixel by pixel."""

from __future__ import annotations

from typing import Any

import numpy as np

SIZES = ((6, 3), (24, 5))  # pixels each way of the image, of the kernel


def f(kernel: Any, image: Any) -> Any:
    """Return the sum of the squares of what a rectifier leaves."""
    height, width = kernel.shape
    out = np.zeros((image.shape[0] - height + 1, image.shape[1] - width + 1))
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = np.sum(image[i : i + height, j : j + width] * kernel)
    return np.sum(np.maximum(out, 0.0) ** 2)


def example(size: tuple[int, int]) -> tuple[Any, ...]:
    pixels, kernel = size
    chance = np.random.default_rng(7)
    return chance.normal(size=(kernel, kernel)), chance.normal(size=(pixels, pixels))


def in_jax() -> Any:
    import jax
    import jax.numpy as jnp

    def f(kernel: Any, image: Any) -> Any:
        out = jax.lax.conv(image[None, None], kernel[None, None], (1, 1), "VALID")
        return jnp.sum(jnp.maximum(out, 0.0) ** 2)

    return f
