"""lse: the logarithm of a sum of exponentials."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import simpleautodiff as ad


def logsumexp(x: Any) -> Any:
    """Return log(sum(exp(x))) without overflow."""
    highest = np.max(x)
    return highest + np.log(np.sum(np.exp(x - highest)))


FUNCTIONS = {"primal": ad.jit(logsumexp), "gradient": ad.jit(ad.grad(logsumexp))}


def read(given: Any) -> tuple[Any, ...]:
    """Make the vector."""
    return (np.array(given["x"], dtype=float),)


def workloads(quick: bool = False) -> Iterator[tuple[str, Any]]:
    """Return vectors of 2500 elements and more."""
    chance = np.random.RandomState(31337)
    for power in range(6 if quick else 10):
        n = 2500 * 2**power
        yield f"n={n}", {"x": chance.rand(n).tolist()}
