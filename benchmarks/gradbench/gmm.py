"""gmm: the logarithm of the posterior of a mixture of Gaussians, with a Wishart prior."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import simpleautodiff as ad
from gradbench.lse import logsumexp


def lower(q: Any, l: Any) -> Any:  # noqa: E741
    """Return matrices with exp(q) on the diagonal and l below it, column by column."""
    count, size = q.shape
    columns, rows = np.triu_indices(size, 1)
    factors = np.zeros((count, size, size))
    factors[:, np.arange(size), np.arange(size)] = np.exp(q)
    factors[:, rows, columns] = l
    return factors


def squares_as_printed(factors: Any, mu: Any, x: Any) -> Any:
    """Return |Q (x - mu)|² for all points and components."""
    return np.sum(np.einsum("kij,nkj->nki", factors, x[:, None, :] - mu) ** 2, axis=2)


def squares_by_product(factors: Any, mu: Any, x: Any) -> Any:
    """Return the same as |Q x - Q mu|², all Q x by one product."""
    count, size = mu.shape
    of_points = (x @ factors.reshape(count * size, size).T).reshape(len(x), count, size)
    of_means = np.einsum("kij,kj->ki", factors, mu)
    return np.sum((of_points - of_means) ** 2, axis=2)


def posterior(squares: Callable[[Any, Any, Any], Any]) -> Callable[..., Any]:
    """Return the objective with a way of computing the squares."""

    def objective(alpha: Any, mu: Any, q: Any, l: Any, x: Any, m: int, gamma: Any) -> Any:  # noqa: E741
        count, size = mu.shape
        sums = np.sum(q, axis=1)
        terms = alpha + sums - squares(lower(q, l), mu, x) / 2
        highest = np.max(terms, axis=1)
        likelihood = np.sum(highest + np.log(np.sum(np.exp(terms - highest[:, None]), axis=1)))
        likelihood = likelihood - len(x) * (size / 2 * math.log(2 * math.pi) + logsumexp(alpha))
        penalty = gamma**2 / 2 * (np.sum(np.exp(q) ** 2) + np.sum(l**2))
        return likelihood + m * np.sum(sums) - penalty + count * prior_constant(size, m, gamma)

    return objective


def prior_constant(size: int, m: int, gamma: Any) -> Any:
    """Return what the prior adds for each component, whatever the parameters."""
    nu = size + m + 1
    log_gamma = size * (size - 1) / 4 * math.log(math.pi)
    log_gamma += sum(math.lgamma(nu / 2 + (1 - j) / 2) for j in range(1, size + 1))
    return nu * size * np.log(gamma / math.sqrt(2)) - log_gamma


def derivative(objective: Callable[..., Any]) -> Callable[..., Any]:
    """Differentiate in the four parameters."""
    return ad.grad(objective, (0, 1, 2, 3))


by_product, as_printed = posterior(squares_by_product), posterior(squares_as_printed)
FORMS = {"one product": by_product, "as printed": as_printed}
FUNCTIONS = {
    "objective": ad.jit(by_product),
    "jacobian": ad.jit(derivative(by_product)),
}


def read(given: Any) -> tuple[Any, ...]:
    """Make the parameters, the points, and the two numbers of the prior."""
    k, d = given["k"], given["d"]
    l = np.array(given["l"], dtype=float).reshape(k, d * (d - 1) // 2)  # noqa: E741
    alpha, mu, q, x = (np.array(given[name], dtype=float) for name in ("alpha", "mu", "q", "x"))
    return alpha, mu, q, l, x, int(given["m"]), float(given["gamma"])


def write(name: str, value: Any) -> Any:
    """Write a gradient under the names of the parameters."""
    if name == "objective":
        return float(value)
    names = ("alpha", "mu", "q", "l")
    return {key: part.tolist() for key, part in zip(names, value, strict=True)}


def workloads(quick: bool = False) -> Iterator[tuple[str, Any]]:
    """Return mixtures of 5 to 100 components in 2 to 64 dimensions."""
    sizes = [(d, k) for d in (2, 10, 20, 32, 64) for k in (5, 10, 25, 50, 100)]
    sizes.sort(key=lambda size: size[0] * size[1])
    for d, k in [(2, 5), (10, 25)] if quick else sizes:
        yield f"{d}_{k}_1000", generate(d, k, 1000)


def generate(d: int, k: int, n: int) -> dict[str, Any]:
    """Draw what the suite draws."""
    r = np.random.default_rng(31337)
    x, alpha = r.normal(size=(n, d)), r.normal(size=k)
    mu, q, l = r.uniform(size=(k, d)), r.normal(size=(k, d)), r.normal(size=(k, d * (d - 1) // 2))  # noqa: E741
    parameters = {"alpha": alpha.tolist(), "mu": mu.tolist(), "q": q.tolist(), "l": l.tolist()}
    return {"d": d, "k": k, "n": n, "m": 0, "gamma": 1.0, "x": x.tolist(), **parameters}
