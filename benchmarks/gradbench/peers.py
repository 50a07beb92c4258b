"""Who computes the derivative of a problem, and how each of them is called."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import chain
from typing import Any

import numpy as np

import simpleautodiff as ad

Run = Callable[[], Any]
OURS, JAX = "simpleautodiff", "JAX"
OTHERS = {"PyTorch": "in_torch", "autograd": "in_autograd", "CasADi": "in_casadi", "C": "in_c"}
MODES = ("particle", "saddle")  # whose functions are derivatives, all of them


def ours(name: str, args: tuple[Any, ...]) -> dict[str, Run]:
    """Return our runs, one for each way of writing the function, or of differentiating it."""
    module = import_module(f"gradbench.{name}")
    if hasattr(module, "FORMS"):
        derive = module.derivative
        functions = {form: ad.jit(derive(f)) for form, f in module.FORMS.items()}
    elif name in MODES:
        functions = module.FUNCTIONS
    else:
        functions = {"": [*module.FUNCTIONS.values()][1]}
    return {form: _bound(function, args) for form, function in functions.items()}


def in_jax(name: str, args: tuple[Any, ...]) -> dict[str, Run]:
    """Return JAX's."""
    runs: dict[str, Run] = getattr(import_module("gradbench.in_jax"), name)(*args)
    return runs


def others(name: str, args: tuple[Any, ...]) -> Iterator[tuple[str, Run | str]]:
    """Return the runs of all others who can, or why they cannot."""
    for who, module in OTHERS.items():
        try:
            make = getattr(import_module(f"gradbench.{module}"), name, None)
            if make is not None:
                yield who, make(*args)
        except (ImportError, ValueError) as problem:
            yield who, str(problem)


def _bound(function: Callable[..., Any], args: tuple[Any, ...]) -> Run:
    return lambda: function(*args)


def numbers(value: Any) -> Any:
    """Return all numbers of an answer, one after another."""
    if isinstance(value, (list, tuple)):
        return np.concatenate([numbers(part) for part in value])
    if hasattr(value, "detach"):
        value = value.detach()
    return np.ravel(np.asarray(value, dtype=float))


def workload(name: str, description: str) -> tuple[Any, ...]:
    """Return the arguments of one of the suite's workloads."""
    module = import_module(f"gradbench.{name}")
    for each, given in chain(module.workloads(quick=True), module.workloads()):
        if each == description:
            args: tuple[Any, ...] = module.read(given)
            return args
    raise ValueError(f"{name} has no workload {description!r}")
