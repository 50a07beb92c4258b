"""hello: the square of a number, and its derivative."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import simpleautodiff as ad


def square(x: Any) -> Any:
    """Return x times x."""
    return x * x


FUNCTIONS = {"square": ad.jit(square), "double": ad.jit(ad.grad(square))}


def read(given: Any) -> tuple[Any, ...]:
    """Take the number, which comes bare."""
    return (float(given),)


def workloads(quick: bool = False) -> Iterator[tuple[str, Any]]:
    """Return one number."""
    yield "3.0", 3.0
