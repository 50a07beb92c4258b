"""Which derivative is meant: with respect to what, of which order, in which mode."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from simpleautodiff.cli.problem import Problem
from simpleautodiff.transforms.grad import derivative, grad
from simpleautodiff.transforms.jacobian import jacfwd, jacobian, jacrev
from simpleautodiff.values.pytree import flatten, paths

_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def compute_partial(problem: Problem, names: Sequence[str], mode: str) -> Any:
    """Return the derivative with respect to some inputs, one after the other; of all results.

    Examples
    --------
    >>> from simpleautodiff.cli.problem import read_problem
    >>> compute_partial(read_problem("x**3 * y", ["x=2", "y=5"]), ["x", "x"], "forward")
    60.0
    """
    places = [problem.index(name) for name in names]
    function = problem.function
    if mode == "forward" and not any(np.ndim(problem.values[place]) for place in places):
        for place, times in Counter(places).items():
            function = derivative(function, times, place)
    else:
        for place in places:
            function = (jacfwd if mode == "forward" else jacrev)(function, place)
    return function(*problem.values)


def mark_undefined(problem: Problem, found: dict[Any, Any]) -> dict[Any, Any]:
    """Return nan for the derivatives of what is nan: outside its domain a function has none.

    Examples
    --------
    >>> import warnings
    >>> from simpleautodiff.cli.problem import read_problem
    >>> with warnings.catch_warnings(action="ignore"):
    ...     float(mark_undefined(read_problem("log(x)", ["x=-1"]), {"x": -1.0})["x"])
    nan
    """
    results = flatten(problem.function(*problem.values))[0]
    missing = [np.isnan(np.asarray(result)) for result in results]
    if not any(map(np.any, missing)):
        return found

    def mark(nan: Any, derivative: Any) -> Any:
        axes = np.ndim(derivative) - nan.ndim  # those of the inputs, after those of the result
        return np.where(nan[(..., *[None] * axes)], np.nan, derivative)[()]

    def mark_all(derivatives: Any) -> Any:
        leaves, rebuild = flatten(derivatives)
        return rebuild(map(mark, missing, leaves))

    return {names: mark_all(derivatives) for names, derivatives in found.items()}


def write_label(problem: Problem, names: Sequence[str]) -> str:
    """Write the name of a derivative: ∂y/∂x, ∂²y/∂x², ∂²y/∂x1∂x2.

    Examples
    --------
    >>> from simpleautodiff.cli.problem import read_problem
    >>> write_label(read_problem("x1 * x2", ["x1=2", "x2=5"]), ["x1", "x2", "x2"])
    '∂³y/∂x1∂x2²'
    """
    below = "".join(f"∂{name}{_superscript(times)}" for name, times in Counter(names).items())
    return f"∂{_superscript(len(names))}{problem.y}/{below}"


def write_labels(problem: Problem, order: int) -> list[str]:
    """Write the names of the derivatives of each number of the results by each number of the point.

    Examples
    --------
    >>> from simpleautodiff.cli.problem import read_problem
    >>> write_labels(read_problem("x*x", ["x=[1, 2]"]), 2)[:2]
    ['∂²y[0]/∂x[0]²', '∂²y[1]/∂x[0]²']
    """
    inputs = [
        label
        for name, value in zip(problem.names, problem.values, strict=True)
        for label in _name_elements(value, name)
    ]
    leaves = flatten(problem.function(*problem.values))[0]
    numbers = range(1, len(leaves) + 1) if len(leaves) > 1 else [""]  # z1, z2, as in tables
    results = [
        label
        for number, leaf in zip(numbers, leaves, strict=True)
        for label in _name_elements(leaf, f"{problem.y}{number}")
    ]
    times = _superscript(order)
    return [f"∂{times}{result}/∂{name}{times}" for name in inputs for result in results]


def _name_elements(tree: Any, name: str) -> list[str]:
    leaves = zip(paths(tree, name), flatten(tree)[0], strict=True)
    return [
        f"{path}{list(index) or ''}"
        for path, leaf in leaves
        for index in np.ndindex(np.shape(leaf))
    ]


def choose_derivative(problem: Problem) -> Callable[..., Any]:
    """Return `grad`, or `jacobian` if there are several results.

    Examples
    --------
    >>> from simpleautodiff.cli.problem import read_problem
    >>> choose_derivative(read_problem("x*x", ["x=[1, 2]"])).__name__
    'jacobian'
    """
    results = flatten(problem.function(*problem.values))[0]
    return grad if [np.shape(result) for result in results] == [()] else jacobian


def derive_problem(problem: Problem, wrt: str, order: int) -> Problem:
    """Turn the derivative of a problem into a problem of its own, to be explained as any other."""
    place = problem.index(wrt)
    if not order:
        return problem
    differentiate = choose_derivative(problem)
    function = problem.function
    for _ in range(order):
        function = differentiate(function, place)
    inner = "; ".join(line.strip() for line in problem.text.splitlines())
    text = f"∂{_superscript(order)}({inner})/∂{wrt}{_superscript(order)}"
    return Problem(text, function, problem.names, problem.values, problem.file)


def _superscript(times: int) -> str:
    return "" if times == 1 else str(times).translate(_SUPERSCRIPTS)
