"""Primitives of dicts, tuples and dataclasses, recorded as primitives of one vector."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from simpleautodiff.core.level import apply
from simpleautodiff.core.linear import ZERO, Linear, plus, pull, push
from simpleautodiff.core.primitive import Primitive
from simpleautodiff.transforms.packing import PackedInputs, PackedResults
from simpleautodiff.values.pytree import flatten, matching_leaves, parts_of

F = Callable[..., Any]


class _StructuredResultError(Exception):
    """A primitive that is applied to numbers returned a structure."""


def refuse_structures(function: F) -> F:
    """Return a function of numbers that raises for structures; see `take_structures`."""

    @functools.wraps(function)
    def compute(*args: Any) -> Any:
        value = function(*args)
        if parts_of(value) is not None:
            raise _StructuredResultError
        return value

    return compute


def take_structures(wrapping: Any, function: F) -> F:
    """Return the wrapping function of a row such that it also takes and returns structures."""
    row: Primitive = wrapping.primitive
    returns_structures = False

    @functools.wraps(wrapping)
    def call_structured(*args: Any) -> Any:
        nonlocal returns_structures
        numbers = [x for i, x in enumerate(args) if i not in row.settings]
        if not returns_structures and not any(isinstance(parts_of(x), list) for x in numbers):
            try:
                return wrapping(*args)
            except _StructuredResultError:
                returns_structures = True
        return _StructuredCall(row, function, args).run()

    return call_structured


class _StructuredCall:
    """One call of a primitive of structures, as a function of the vector of its nodes."""

    def __init__(self, row: Primitive, function: F, args: tuple[Any, ...]) -> None:
        what = f"the primitive {row.name}"
        self.row, self.function, self.args = row, function, args
        self.inputs, self.results = PackedInputs(args, what), PackedResults(what)

    def run(self) -> Any:
        """Compute the value, and record it as one step."""
        if not self.inputs.shapes:
            return self.function(*self.args)
        name = self.row.name
        row = Primitive(name, (self._rule,), self._compute, name, name, "", arrays=True)
        return self.results.split(apply(row, self.inputs.join()))

    def _compute(self, x: Any) -> Any:
        return self.results.join(self.function(*self.inputs.split(x)))

    def _rule(self, v: Any, x: Any) -> Linear:
        """Return the derivative in the vector of all nodes, from the rule of each argument."""
        value, args = self.results.split(v), self.inputs.split(x)
        derivatives = [
            ZERO if i in self.row.settings else self.row.partial(i, value, args)
            for i in range(self.row.arity)
        ]

        def push_all(dot: Any) -> Any:
            total: Any = ZERO
            for derivative, part in zip(derivatives, self.inputs.split(dot, True), strict=True):
                tangent = push(derivative, part)
                if tangent is not ZERO:
                    total = plus(total, self.results.join_tangent(tangent))
            return total

        def pull_all(bar: Any) -> Any:
            seed = self.results.split(bar)
            leaves: list[Any] = []
            for i, (derivative, arg) in enumerate(zip(derivatives, self.args, strict=True)):
                adjoint = pull(derivative, seed)
                what = f"the adjoint that {self.row.name} gives of its argument {i + 1}"
                none = [ZERO] * len(flatten(arg)[0])
                leaves += none if adjoint is ZERO else matching_leaves(adjoint, arg, what)
            return self.inputs.join_adjoints(leaves)

        return Linear(push_all, pull_all)
