"""Kernel densities of scipy.stats on nodes: the sums that gaussian_kde has compiled code for."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from simpleautodiff.arrays.scipy.scipy_linalg import solve_triangular
from simpleautodiff.arrays.scipy.scipy_special import logsumexp
from simpleautodiff.core.level import take_current
from simpleautodiff.rules.array.products import swap
from simpleautodiff.rules.array.shapes import shape_of


def add_kernels(points: Any, values: Any, xi: Any, factor: Any, dtype: Any = None) -> Any:
    """Return Σ values exp(-distance²/2) at each xi, by a factor of the covariance."""
    exponents, size = _measure(points, xi, factor)
    return np.exp(exponents) @ values / size


def add_kernels_in_logs(points: Any, values: Any, xi: Any, factor: Any, dtype: Any = None) -> Any:
    """Return the logarithm of `add_kernels`."""
    exponents, size = _measure(points, xi, factor)
    return logsumexp(exponents[..., None], axis=1, b=values[None]) - np.log(size)


def _measure(points: Any, xi: Any, factor: Any) -> tuple[Any, Any]:
    """Return the exponents of all kernels at all points, and the integral of a kernel."""
    near, far = (swap(solve_triangular(factor, swap(x), lower=True)) for x in (points, xi))
    apart = far[:, None, :] - near[None, :, :]
    size = (2 * math.pi) ** (shape_of(points)[1] / 2) * np.prod(np.diagonal(factor))
    return -np.sum(apart**2, axis=-1) / 2, size


class _ByType:
    """SciPy's compiled function, of which there is one for each type of numbers."""

    def __init__(self, original: Any, implementation: Any, has_node: Callable[[Any], bool]) -> None:
        self.original, self.implementation = original, implementation
        self.has_node = has_node

    def __getitem__(self, kind: str) -> Any:
        return lambda *args: self._call(kind, args)

    def _call(self, kind: str, args: tuple[Any, ...]) -> Any:
        if self.has_node(args):
            return self.implementation(*map(take_current, args))
        return self.original[kind](*args)


def patch_kernel_density(module: Any, has_node: Callable[[Any], bool]) -> None:
    """Make gaussian_kde call the functions above for nodes."""
    for name, own in (
        ("gaussian_kernel_estimate", add_kernels),
        ("gaussian_kernel_estimate_log", add_kernels_in_logs),
    ):
        setattr(module, name, _ByType(getattr(module, name), own, has_node))
