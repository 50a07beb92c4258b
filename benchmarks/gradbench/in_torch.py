"""Some of the problems in PyTorch, vectorised."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from gradbench.det import columns_left
from gradbench.gmm import prior_constant

torch.set_num_threads(1)


def _call(f: Callable[..., Any], inputs: tuple[Any, ...]) -> Callable[[], Any]:
    """Return the call that gives the gradients in all inputs."""
    given = tuple(torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in inputs)
    return lambda: torch.autograd.grad(f(*given), given)


def hello(x: float) -> Callable[[], Any]:
    return _call(lambda x: x * x, (x,))


def det(a: Any) -> Callable[[], Any]:
    left = [torch.tensor(columns) for columns in columns_left(len(a))]

    def determinant(a: Any) -> Any:
        minors = a[-1][left[-1][:, 0]]
        for row in range(len(a) - 2, -1, -1):
            signs = (-1.0) ** torch.arange(len(a) - row)
            minors = torch.sum(signs * a[row][left[row]] * minors.reshape(left[row].shape), dim=1)
        return minors[0]

    return _call(determinant, (a,))


def lse(x: Any) -> Callable[[], Any]:
    def logsumexp(x: Any) -> Any:
        highest = torch.max(x)
        return highest + torch.log(torch.sum(torch.exp(x - highest)))

    return _call(logsumexp, (x,))


def llsq(x: Any, n: int) -> Callable[[], Any]:
    t = np.linspace(-1.0, 1.0, n)
    powers, signs = torch.tensor(t[:, None] ** np.arange(len(x))), torch.tensor(np.sign(t))
    return _call(lambda x: torch.sum((signs - powers @ x) ** 2) / 2, (x,))


def ode(x: Any, steps: int) -> Callable[[], Any]:
    h = 2.0 / steps

    def last(x: Any) -> Any:
        def slope(y: Any) -> Any:
            return torch.cat([x[:1], x[1:] * y[:-1]])

        y = torch.zeros_like(x)
        for _ in range(steps):
            k1 = slope(y)
            k2 = slope(y + h / 2 * k1)
            k3 = slope(y + h / 2 * k2)
            k4 = slope(y + h * k3)
            y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return y[-1]

    return _call(last, (x,))


def kmeans(centroids: Any, points: Any) -> Callable[[], Any]:
    fixed = torch.tensor(points)
    at = torch.tensor(centroids, requires_grad=True)

    def direction() -> Any:
        squares = torch.sum(at**2, dim=1) - 2 * (fixed @ at.T)
        nearest = torch.argmin(squares.detach(), dim=1)
        cost = torch.sum((fixed - at[nearest]) ** 2)
        (slope,) = torch.autograd.grad(cost, at, create_graph=True)
        (curvature,) = torch.autograd.grad(slope, at, torch.ones_like(slope))
        return slope.detach() / curvature

    return direction


def gmm(alpha: Any, mu: Any, q: Any, l: Any, x: Any, m: int, gamma: float) -> Callable[[], Any]:  # noqa: E741
    count, size = mu.shape
    columns, rows = np.triu_indices(size, 1)
    points, diagonal = torch.tensor(x), np.arange(size)

    def objective(alpha: Any, mu: Any, q: Any, l: Any) -> Any:  # noqa: E741
        factors = torch.zeros((count, size, size), dtype=torch.float64)
        factors[:, rows, columns] = l
        factors[:, diagonal, diagonal] = torch.exp(q)
        of_points = (points @ factors.reshape(count * size, size).T).reshape(-1, count, size)
        squares = torch.sum((of_points - torch.einsum("kij,kj->ki", factors, mu)) ** 2, dim=2)
        sums = torch.sum(q, dim=1)
        total = torch.sum(torch.logsumexp(alpha + sums - squares / 2, dim=1))
        constant = size / 2 * math.log(2 * math.pi) + torch.logsumexp(alpha, dim=0)
        penalty = gamma**2 / 2 * (torch.sum(torch.exp(q) ** 2) + torch.sum(l**2))
        prior = m * torch.sum(sums) - penalty + count * prior_constant(size, m, gamma)
        return total - len(points) * constant + prior

    return _call(objective, (alpha, mu, q, l))
