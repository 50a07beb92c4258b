"""Rows of a page as texts with places: the page fills in its numbers at other points.

The text is written by what writes the tables. Where a number of the page stands in a row, that is
written as a place, ``⟦3⟧``: the result 3 of the page's scalar program. So a row of a moved page has
the form that the tables have, for all operations on arrays, too.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any

import numpy as np

from simpleautodiff.core.linear import ZERO
from simpleautodiff.core.node import Node
from simpleautodiff.display.explorer.page_numbers import Slot, write_constant
from simpleautodiff.display.notation.formulas import (
    Numbers,
    Pull,
    Symbols,
    adjoint_term,
    adjoint_terms,
    suppress_warnings,
    tangent_terms,
    write_adjoint,
    write_step,
    write_tangent,
)
from simpleautodiff.program.notation import TERM_FUNCTIONS, Term
from simpleautodiff.program.program import Program
from simpleautodiff.values.functions import register_number


class VaryingNumber(Term):
    """A number that differs from point to point: no rule can decide by it what is written."""

    __slots__ = ()

    def _refuse(self, _other: object = None) -> bool:
        raise TypeError("this number differs from point to point")

    def lift_integer(self, number: int) -> Term:
        """Return an integer of a rule as a term."""
        return Term(number)

    __bool__ = __eq__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse


class FilledNumber(VaryingNumber):
    """A number that the page fills in; it says how tightly its surroundings bind.

    `kind` is "t" for an input, which is written as it was typed, and "b" for a condition.
    """

    __slots__ = ("number",)

    def __init__(self, number: int, value: Any, kind: str = "") -> None:
        self.number = f"{number}{kind}"
        super().__init__(f"⟦{self.number}⟧", value=value)

    def inside(self, binds: int, signed: bool = False) -> str:
        """Return the place, with what decides whether its number has parentheses.

        Examples
        --------
        >>> print(FilledNumber(3, 2.0) - FilledNumber(4, 0.5), FilledNumber(5, 1.0) ** 2)
        ⟦3 1⟧ - ⟦4 2s⟧ ⟦5 5⟧^2
        """
        return f"⟦{self.number} {binds}{'s' * signed}⟧"


register_number(VaryingNumber, TERM_FUNCTIONS)
register_number(FilledNumber, TERM_FUNCTIONS)


class KernelResults:
    """The results of a page's scalar program by their slots in the document."""

    def __init__(self, kernel: dict[str, Any] | None) -> None:
        self.kernel = kernel or {"slots": []}
        self.slots = {slot: j for j, slot in enumerate(self.kernel["slots"])}
        steps = enumerate(self.kernel.get("steps", ()))
        self.constants = {step[0]: at for at, step in steps if len(step) == 1}

    def __bool__(self) -> bool:
        """Return whether the page has a scalar program."""
        return bool(self.slots)

    def find(self, slot: Slot, otherwise: Term) -> int | None:
        """Return which result stands in a slot; a constant of many digits becomes one."""
        if slot in self.slots or otherwise.said is None:
            return self.slots.get(slot)
        if np.array_equal(otherwise.said, otherwise.value, equal_nan=True):
            return None  # it needs no more digits
        return self._add(np.asarray(otherwise.value, dtype=float))

    def _add(self, numbers: Any) -> int:
        self.kernel["outputs"] += [self._find_constant(x) for x in numbers.ravel().tolist()]
        self.kernel["shapes"].append(list(numbers.shape))
        self.kernel["slots"].append(())
        return len(self.kernel["slots"]) - 1

    def _find_constant(self, number: float) -> int:
        """Return the step that is a constant; a new one, if the program does not have it."""
        steps, written = self.kernel["steps"], write_constant(number)
        if written not in self.constants:
            self.constants[written] = len(steps)
            steps.append([written])
        return self.constants[written]


class NumberPlaces(Numbers):
    """Rows with numbers, each a place.

    `sweep` is the number of the sweep, `bar` and `old` the slots of v̄ and of what ū was before.
    """

    def __init__(
        self,
        program: Program,
        results: KernelResults,
        sweep: int = -1,
        bar: Slot = (),
        old: Slot = (),
    ) -> None:
        super().__init__(program)
        self.results, self.sweep, self.bar, self.old = results, sweep, bar, old

    def names(self) -> Symbols:
        """Return the names of what stands in a row."""
        return SymbolPlaces(self)

    def refuses(self, computed: Any) -> bool:
        """Tell whether a rule has computed an array, such as a mask: elsewhere it is another."""
        if not isinstance(computed, np.ndarray | np.generic):
            return False
        return computed.dtype.kind != "f" or bool(np.any(computed))  # zeros are zeros everywhere

    def constant(self, node: Node, k: int) -> Any:
        """Return the constant argument k of a node; a condition differs from point to point."""
        slot = ("nodes", self.program.position(node), "args", k, 0)
        number = super().constant(node, k)
        array = isinstance(number, np.ndarray | np.generic)
        return self._place(slot, Term(number), "b") if array else number

    def _place(self, slot: Slot, otherwise: Term, kind: str = "") -> Term:
        found = self.results.find(slot, otherwise)
        return otherwise if found is None else FilledNumber(found, otherwise.value, kind)

    def value(self, node: Node) -> Term:
        """Return the value of a node as a term."""
        slot = ("nodes", self.program.position(node), "value")
        return self._place(slot, super().value(node), "t" if node.primitive is None else "")

    def tangent(self, node: Node, number: Any) -> Term:
        """Return the tangent of a node as a term."""
        slot = ("sweeps", self.sweep, "numbers", self.program.position(node))
        return self._place(slot, Term(number))

    def adjoint(self, _node: Node, number: Any) -> Term:
        """Return the adjoint of a node as a term."""
        return self._place(self.bar, Term(number))

    def before(self, _term: Term, number: Any) -> Term:
        """Return what an adjoint was before something is added to it."""
        return self._place(self.old, Term(number))

    def slope(self, node: Node, k: int, number: Any) -> Term:
        """Return a local derivative whose rule is more than a formula."""
        slot = ("nodes", self.program.position(node), "partials", k)
        return self._place(slot, Term(number))


class SymbolPlaces(Symbols):
    """Rows in symbols; what has no symbol is a place."""

    def __init__(self, numbers: NumberPlaces) -> None:
        super().__init__(numbers.program)
        self.refuses = numbers.refuses  # type: ignore[method-assign]
        self.constant = numbers.constant  # type: ignore[method-assign]
        self.slope = numbers.slope  # type: ignore[method-assign]

    def value(self, node: Node) -> Term:
        """Return the value of a node as a term."""
        return VaryingNumber(self.program.names[node], value=node.value)


@suppress_warnings()
def add_rows(document: dict[str, Any], program: Program, drawn: Collection[Node]) -> None:
    """Add the rows that a page does not write itself: `texts`, in symbols and with numbers.

    If the page has a scalar program, it also gets `places`: the same two texts with places, and
    which result of the scalar program follows them. Only steps that are drawn have rows.
    """
    results = KernelResults(document["kernel"])
    steps = {program.position(node): node for node in drawn if node.primitive is not None}
    if results:
        written = NumberPlaces(program, results)
        for i, node in steps.items():
            row = _fill(partial(write_step, node), written, ("nodes", i, "value"))
            document["nodes"][i]["places"] = row
    for s, sweep in enumerate(document["sweeps"]):
        root = program.names[program.nodes[sweep["root"]]]
        if sweep["mode"] == "forward":
            _add_tangents(sweep, program, root, steps, NumberPlaces(program, results, s))
        else:
            _add_adjoints(sweep, program, root, steps, (results, s))


def _fill(write: Callable[[Symbols], Term], written: NumberPlaces, result: Slot) -> list[Any]:
    texts = [write(way).text for way in (SymbolPlaces(written), written)]
    return [*texts, written.results.slots.get(result)]


def _add_tangents(
    sweep: dict[str, Any],
    program: Program,
    root: str,
    steps: Mapping[int, Node],
    written: NumberPlaces,
) -> None:
    """Add the rows of a forward sweep, also of nodes that it does not reach."""
    dot = Program.tangents(program, root)
    sweep["texts"] = {i: to_texts(tangent_terms(program, node, dot)) for i, node in steps.items()}
    if written.results:
        sweep["places"] = {
            i: _fill(
                partial(write_tangent, node, dot), written, ("sweeps", written.sweep, "numbers", i)
            )
            for i, node in steps.items()
            if any(slope is not ZERO for _, slope in node.local_derivatives())
        }


def _add_adjoints(
    sweep: dict[str, Any],
    program: Program,
    root: str,
    steps: Mapping[int, Node],
    place: tuple[KernelResults, int],
) -> None:
    """Add the rows of a reverse sweep, one for each accumulation."""
    results, s = place
    at = {program.names[node]: node for node in steps.values()}
    totals: dict[str, tuple[Any, Slot]] = {root: (program.seed(root)[1], ())}
    sweep["texts"], sweep["places"] = {}, {}
    for t, item in enumerate(program.accumulations(root)):
        (bar, bar_slot), slot = totals[item.child], ("sweeps", s, "terms", t, 4)
        old, old_slot = (None, ()) if item.first else totals[item.parent]
        totals[item.parent] = item.total, slot
        if item.child not in at:
            continue
        pulls = [Pull(at[item.child], item.index, item.derivative, bar)]
        before = None if item.first else (adjoint_term(item.parent), old)
        sweep["texts"][t] = to_texts(adjoint_terms(program, pulls, item.total, before))
        if results:
            written = NumberPlaces(program, results, s, bar_slot, old_slot)
            sweep["places"][t] = _fill(partial(write_adjoint, pulls, before), written, slot)


def to_texts(terms: tuple[Term, Term]) -> list[str]:
    """Return the text in symbols, and that with numbers."""
    return [term.text for term in terms]
