"""Which program answers which function of NumPy, and the call that asks it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from simpleautodiff.errors import RuleError, at_line
from simpleautodiff.structure import map_leaves
from simpleautodiff.traced import SCIPY, plain

Function = Callable[..., Any]
FUNCTIONS: dict[Any, Function] = {}


def answers(*functions: Any) -> Callable[[Function], Function]:
    """Say which functions of NumPy a program answers for nodes."""

    def register(program: Function) -> Function:
        FUNCTIONS.update(dict.fromkeys(functions, program))
        return program

    return register


def answers_scipy(*names: str) -> Callable[[Function], Function]:
    """Say which Python functions of SciPy a program answers for nodes: ``"linalg.expm"``."""

    def register(program: Function) -> Function:
        SCIPY.update(dict.fromkeys(names, program))
        return program

    return register


def array_function(self: Any, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """Answer a call of NumPy with a node among its arguments."""
    program = FUNCTIONS.get(function)
    name = f"np.{function.__name__}"
    if program is None and function in PLAIN:
        return function(*map_leaves(plain, args), **map_leaves(plain, kwargs))
    if program is None:
        raise RuleError(
            f"no derivative rule for {name}. Write it with functions that have one, or declare it "
            f"with @simpleautodiff.primitive{at_line()}"
        )
    try:
        return program(*args, **kwargs)
    except TypeError:
        explain_arguments(name, program, args, kwargs)
        raise


def explain_arguments(name: str, program: Function, args: Any, kwargs: Any) -> None:
    """Raise a clear error if NumPy's function was given what the program does not take."""
    try:
        inspect.signature(program).bind(*args, **kwargs)
    except TypeError as error:
        raise RuleError(f"{name} of a node: {error}{at_line()}") from None


PLAIN = {
    *(np.shape, np.ndim, np.size, np.argmax, np.argmin, np.argsort, np.searchsorted, np.nonzero),
    *(np.count_nonzero, np.any, np.all, np.allclose, np.isclose, np.array_equal, np.result_type),
    *(np.zeros_like, np.ones_like, np.full_like, np.empty_like, np.argwhere, np.flatnonzero),
    *(np.iscomplexobj, np.isrealobj, np.array_repr, np.array_str, np.digitize),
}
