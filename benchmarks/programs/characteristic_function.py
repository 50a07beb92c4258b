"""Characteristic functions: the price of an option by an integral of complex numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

SIZES = (16, 500)  # points of the integral
SPOT, STRIKE, RATE, YEARS = 100.0, 95.0, 0.02, 1.5


def characteristic(u: Any, p: Any) -> Any:
    """Return the mean of exp(i u log price)."""
    v0, kappa, theta, sigma, rho = p
    b = kappa - rho * sigma * 1j * u
    d = np.sqrt(b**2 + sigma**2 * (u**2 + 1j * u))
    g = (b - d) / (b + d)
    fading = np.exp(-d * YEARS)
    c = kappa * theta / sigma**2 * ((b - d) * YEARS - 2 * np.log((1 - g * fading) / (1 - g)))
    drift = 1j * u * (np.log(SPOT) + RATE * YEARS)
    return np.exp(drift + c + v0 * (b - d) / sigma**2 * (1 - fading) / (1 - g * fading))


def f(p: Any, points: int) -> Any:
    """Return the price of the call."""
    u = (np.arange(points) + 0.5) * 100.0 / points
    kernel = np.exp(-1j * u * np.log(STRIKE)) / (1j * u)
    forward = SPOT * np.exp(RATE * YEARS)
    first = np.sum(np.real(kernel * characteristic(u - 1j, p) / forward)) * 100.0 / points
    second = np.sum(np.real(kernel * characteristic(u + 0j, p))) * 100.0 / points
    discount = np.exp(-RATE * YEARS)
    return SPOT * (0.5 + first / np.pi) - STRIKE * discount * (0.5 + second / np.pi)


def example(points: int) -> tuple[Any, ...]:
    return np.array([0.04, 1.5, 0.06, 0.4, -0.6]), points


def in_jax() -> Any:
    import jax.numpy as jnp

    def characteristic(u: Any, p: Any) -> Any:
        v0, kappa, theta, sigma, rho = p
        b = kappa - rho * sigma * 1j * u
        d = jnp.sqrt(b**2 + sigma**2 * (u**2 + 1j * u))
        g = (b - d) / (b + d)
        fading = jnp.exp(-d * YEARS)
        c = kappa * theta / sigma**2 * ((b - d) * YEARS - 2 * jnp.log((1 - g * fading) / (1 - g)))
        drift = 1j * u * (np.log(SPOT) + RATE * YEARS)
        return jnp.exp(drift + c + v0 * (b - d) / sigma**2 * (1 - fading) / (1 - g * fading))

    def f(p: Any, points: int) -> Any:
        u = (np.arange(points) + 0.5) * 100.0 / points
        kernel = np.exp(-1j * u * np.log(STRIKE)) / (1j * u)
        forward, discount = SPOT * np.exp(RATE * YEARS), np.exp(-RATE * YEARS)
        first = jnp.sum(jnp.real(kernel * characteristic(u - 1j, p) / forward)) * 100.0 / points
        second = jnp.sum(jnp.real(kernel * characteristic(u + 0j, p))) * 100.0 / points
        return SPOT * (0.5 + first / np.pi) - STRIKE * discount * (0.5 + second / np.pi)

    return f
