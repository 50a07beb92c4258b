"""A few problems written by hand in C: lse, llsq, kmeans, ode."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from written_in_c import WrittenInC


class Kernels(WrittenInC):
    """The functions of kernels.c beside this file."""

    name = "C"
    source = Path(__file__).with_name("kernels.c")


@cache
def _kernels() -> Kernels:
    return Kernels()


def _call(name: str, arrays: tuple[Any, ...], *sizes: int) -> Callable[[], Any]:
    """Return a call whose result is a new array, as everyone else's is."""
    shape = arrays[0].shape

    def call() -> Any:
        out = np.empty(shape)
        _kernels().function(name, *arrays, out, *sizes)()
        return out

    return call


def lse(x: Any) -> Callable[[], Any]:
    return _call("lse", (x,), len(x))


def llsq(x: Any, n: int) -> Callable[[], Any]:
    return _call("llsq", (x,), len(x), n)


def kmeans(centroids: Any, points: Any) -> Callable[[], Any]:
    return _call("kmeans", (centroids, points), len(centroids), *points.shape)


def ode(x: Any, steps: int) -> Callable[[], Any]:
    return _call("ode", (x,), len(x), steps)
