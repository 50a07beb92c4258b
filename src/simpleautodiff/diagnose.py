"""Where a nan or an inf began, and where a derivative was a choice: found after the fact.

The function is run once more, as a program whose steps know their source lines; its values, and
then the products of its reverse sweep, are looked through in the order they arise.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from simpleautodiff.arguments import Selection
from simpleautodiff.errors import DomainWarning
from simpleautodiff.graph import Graph
from simpleautodiff.kinks import KinkMet, KinkTape, kinks_met
from simpleautodiff.linear import Linear
from simpleautodiff.node import Node
from simpleautodiff.number import shape
from simpleautodiff.program import Program, trace
from simpleautodiff.structure import flatten
from simpleautodiff.sweep import accumulations, numbered
from simpleautodiff.traced import plain

_REWRITES = {
    "sqrt": "where the argument may be 0, write np.where(x > 0, np.sqrt(np.where(x > 0, x, 1)), 0)",
    "log": "keep the argument positive: np.log(np.maximum(x, tiny)), or np.log1p for 1 + x",
    "div": "keep the divisor from 0: np.where(y != 0, x / np.where(y != 0, y, 1), 0)",
    "power": "a fractional power of 0 has an infinite slope; shift the base, or branch with where",
    "exp": "subtract the maximum before exp, or use np.logaddexp",
}


@dataclass(frozen=True, slots=True)
class BadNumber:
    """The first nan or inf: in which step, from which numbers, on which line.

    `phase` is "value" or "derivative"; for a derivative, `factors` are the adjoint and the local
    derivative whose product it is.
    """

    phase: str
    name: str
    operator: str
    value: Any
    index: tuple[int, ...]
    factors: tuple[Any, ...]
    line: str
    rewrite: str

    def __str__(self) -> str:
        """Tell it in a sentence or two."""
        where = f" at index {self.index}" if self.index else ""
        line = f", {self.line}" if self.line else ""
        what = f"{self.name} = {self.operator}(...)"
        if self.phase == "value":
            text = f"the value of {what} is {_at(self.value, self.index)}{where}{line}"
        else:
            adjoint, slope = (_at(factor, self.index) for factor in self.factors)
            text = (
                f"the derivative through {what}{where} is adjoint {adjoint} × slope {slope} = "
                f"{_at(self.value, self.index)}{line}"
            )
        return (
            f"{text}. {self.rewrite[:1].upper()}{self.rewrite[1:]}." if self.rewrite else f"{text}."
        )


def find_nan(f: Callable[..., Any]) -> Callable[..., BadNumber | None]:
    """Return the function that finds where a nan or inf of `f`, or of its gradient, began.

    It returns None if all is finite.

    Examples
    --------
    >>> import numpy as np
    >>> import simpleautodiff as ad
    >>> bad = ad.find_nan(lambda x: np.sum(np.sqrt(x) * 0.0))(np.array([1.0, 0.0]))
    >>> bad.phase, bad.operator, bad.index
    ('derivative', 'sqrt', (1,))
    >>> print(str(bad)[:75])
    the derivative through v1 = sqrt(...) at index (1,) is adjoint 0.0 × slope
    """

    def first_bad(*args: Any) -> BadNumber | None:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore", DomainWarning)
            program = trace(f, *args)
            return _bad_value(program) or _bad_product(program)

    return first_bad


def _bad_value(program: Program) -> BadNumber | None:
    for node in program.nodes:
        index = _first_bad(node.value)
        if index is not None:
            return _report("value", program, node, node.value, index, ())
    return None


def _bad_product(program: Program) -> BadNumber | None:
    bar: list[Any] = [None] * len(program.nodes)
    output = program.outputs[0]
    bar[program.position(output)] = np.ones(shape(output.value)) if shape(output.value) else 1
    with numbered(program.nodes) as tape:
        for child, _, derivative, total in accumulations(tape, bar):
            index = _first_bad(total)
            if index is not None:
                node = program.nodes[child.index]
                slope = np.nan if isinstance(derivative, Linear) else derivative
                factors = (bar[child.index], slope)
                return _report("derivative", program, node, total, index, factors)
    return None


def _report(
    phase: str, program: Program, node: Node, value: Any, index: Any, factors: tuple[Any, ...]
) -> BadNumber:
    return BadNumber(
        phase,
        program.names[node],
        node.operator,
        value,
        index,
        factors,
        program.lines.get(node, ""),
        _REWRITES.get(node.operator, ""),
    )


def _first_bad(value: Any) -> tuple[int, ...] | None:
    """Return the index of the first nan or inf, () for a single number, None if there is none."""
    try:
        bad = ~np.isfinite(plain(value))
    except TypeError:
        return None  # numbers NumPy does not know
    if not np.any(bad):
        return None
    return tuple(int(i) for i in np.argwhere(bad)[0]) if np.ndim(bad) else ()


def _at(value: Any, index: tuple[int, ...]) -> Any:
    return value[index] if index and shape(value) else value


def find_kinks(f: Callable[..., Any]) -> Callable[..., list[KinkMet]]:
    """Return the function that lists every step of `f` whose derivative was a choice.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> for kink in ad.find_kinks(lambda x: abs(x) + ad.maximum(x, 0.0))(0.0):
    ...     print(kink.operator, kink.where, "->", kink.choice)
    abs x = 0 -> 0, the subgradient of least norm
    maximum x = y -> 1/2 each: ties share equally
    """

    def kinks(*args: Any, **kwargs: Any) -> list[KinkMet]:
        tape = KinkTape()
        graph = Graph(f, Selection(args, tuple(range(len(args))), args, kwargs), tape=tape)
        return kinks_met(tape, flatten(graph.result)[0])

    return kinks
