"""Solvers of SciPy called in plain numbers, whatever nodes their functions and arguments hold."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from simpleautodiff.arrays.scipy.solver_hints import RefusingNodes
from simpleautodiff.plug.closures import HeldNodes
from simpleautodiff.plug.inputs import F, plain_tree, solve_each


class PlainCall:
    """A call of a solver, its arguments by name, and the nodes that these hold.

    Examples
    --------
    >>> from scipy.optimize import brentq
    >>> call = PlainCall(brentq, (lambda x: x**2 - 4.0, 0.0, 3.0), {})
    >>> call.solve(lambda arguments, result: round(result, 6)), call.function_name, call.held
    (2.0, 'f', [])
    """

    def __init__(self, solver: F, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.solver = solver
        bound = inspect.signature(solver).bind(*args, **kwargs)
        self.arguments = dict(bound.arguments)
        self.signature = bound.signature
        self.results: list[Any] = []  # one, or one for each example of a batch
        self.function_name = next(
            (name for name, part in self.arguments.items() if callable(part)), ""
        )
        self._nodes = HeldNodes(self.arguments)
        self.held = self._nodes.nodes

    @property
    def function(self) -> F:
        """The first function among the arguments, which holds nodes."""
        function: F = self.arguments[self.function_name]
        return function

    def solve(self, read: Callable[[dict[str, Any], Any], Any]) -> Any:
        """Solve the problem in plain numbers; return what `read(arguments, result)` returns."""

        def solve(*plain: Any) -> Any:
            arguments = self._nodes.replace(plain)
            given = dict(arguments)
            if name := self.function_name:
                given[name] = RefusingNodes(given[name], f"optimize.{self.solver.__name__}")
            bound = inspect.BoundArguments(self.signature, given)
            self.results.append(self.solver(*bound.args, **bound.kwargs))
            self._nodes.carry_back()
            return read(arguments, self.results[-1])

        return solve_each(solve, *plain_tree(self.held))


def root_of(result: Any) -> Any:
    """Return the root, or the minimum, in what a solver returned."""
    first = result[0] if isinstance(result, tuple) else result
    return getattr(first, "root", getattr(first, "x", first))
