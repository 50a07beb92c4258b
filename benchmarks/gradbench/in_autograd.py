"""The problems' own NumPy code, differentiated by HIPS autograd, where it can."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import autograd
import autograd.numpy
import numpy as np


def _code(name: str) -> Any:
    """Return the module of a problem once more, with autograd's NumPy in it."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.np = autograd.numpy  # type: ignore[attr-defined]
    return module


def _call(f: Callable[..., Any], args: tuple[Any, ...], argnums: Any = 0) -> Callable[[], Any]:
    gradient = autograd.grad(f, argnums)
    return lambda: gradient(*args)


def hello(x: float) -> Callable[[], Any]:
    return _call(_code("hello").square, (x,))


def det(a: Any) -> Callable[[], Any]:
    return _call(_code("det").determinant, (a,))


def lse(x: Any) -> Callable[[], Any]:
    return _call(_code("lse").logsumexp, (x,))


def llsq(x: Any, n: int) -> Callable[[], Any]:
    t = np.linspace(-1.0, 1.0, n)
    powers, signs = t[:, None] ** np.arange(len(x)), np.sign(t)
    return _call(lambda x: autograd.numpy.sum((signs - powers @ x) ** 2) / 2, (x,))


def ode(x: Any, steps: int) -> Callable[[], Any]:
    return _call(_code("ode").FORMS["concatenation"], (x, steps))


def kmeans(centroids: Any, points: Any) -> Callable[[], Any]:
    cost = _code("kmeans").by_product
    slope, curvature = autograd.grad(cost), autograd.hessian_vector_product(cost)
    ones = np.ones_like(centroids)
    return lambda: slope(centroids, points) / curvature(centroids, points, ones)


def gmm(*args: Any) -> Callable[[], Any]:
    """Put the triangles in their places by a product, because autograd cannot write to arrays."""
    code = _code("gmm")
    size = args[1].shape[1]
    columns, rows = np.triu_indices(size, 1)
    places = np.zeros((len(rows), size, size))
    places[np.arange(len(rows)), rows, columns] = 1.0
    exp, dot = autograd.numpy.exp, autograd.numpy.tensordot
    code.lower = lambda q, l: exp(q)[:, :, None] * np.eye(size) + dot(l, places, 1)  # noqa: E741
    code.logsumexp = _code("lse").logsumexp
    return _call(code.by_product, args, (0, 1, 2, 3))


def lstm(*args: Any) -> Callable[[], Any]:
    return _call(_code("lstm").loss, args, (0, 1))
