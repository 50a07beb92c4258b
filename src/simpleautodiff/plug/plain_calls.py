"""Solvers of SciPy called in plain numbers, whatever nodes their functions and arguments hold."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from simpleautodiff.arrays.registry import is_batch
from simpleautodiff.arrays.scipy.solver_hints import RefusingNodes
from simpleautodiff.errors import ArgumentError, AutodiffError, DomainError, cite_line
from simpleautodiff.plug.closures import HeldNodes
from simpleautodiff.plug.inputs import F, plain_tree, solve_each
from simpleautodiff.plug.solver_results import Returned


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
        self.failure: AutodiffError | None = (
            None  # why the result has no derivative, if it has none
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
            if callable(watch := self.arguments.get("callback")) and self.held:
                given["callback"] = self._show(watch)
            if name := self.function_name:
                given[name] = RefusingNodes(given[name], f"optimize.{self.solver.__name__}")
            bound = inspect.BoundArguments(self.signature, given)
            self.results.append(self.solver(*bound.args, **bound.kwargs))
            self._nodes.carry_back()
            return read(arguments, self.results[-1])

        return solve_each(solve, *plain_tree(self.held))

    def _show(self, callback: F) -> F:
        """Return a callback that is passed nodes, whose derivatives are not known."""
        source = f"what scipy.optimize.{self.solver.__name__} passes to its callback"
        if any(is_batch(node) for node in self.held):
            raise ArgumentError(
                f"inside vmap, {source} differs between the examples; leave it out, or solve in a "
                f"loop over the examples{cite_line()}"
            )

        @functools.wraps(callback)
        def show(*args: Any, **named: Any) -> Any:
            way_out = "what the solver returns in the end has one"
            shown, more = Returned(source, self.held, [(args, named)], way_out).complete(None)
            return callback(*shown, **more)

        return show

    def attempt(self, check: Callable[[], Any]) -> Any:
        """Return what is computed of a plain solution; note why, if it has no derivative."""
        try:
            return check()
        except (DomainError, np.linalg.LinAlgError) as error:
            self.failure = error if isinstance(error, DomainError) else DomainError(str(error))
            return None


def name_root(result: Any, x: Any) -> Any:
    """Return x by the place of the root, or of the minimum, in what a solver returned."""
    if isinstance(result, tuple):
        return {
            0: x,
            **{i: {"root": x} for i in range(1, len(result)) if "root" in _names(result[i])},
        }
    return {name: x for name in ("root", "x") if name in _names(result)} or x


def _names(part: Any) -> Any:
    return part if isinstance(part, dict) else ()


def root_of(result: Any) -> Any:
    """Return the root, or the minimum, in what a solver returned."""
    first = result[0] if isinstance(result, tuple) else result
    return getattr(first, "root", getattr(first, "x", first))
