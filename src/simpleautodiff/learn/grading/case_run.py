"""One case in one mode: what was asked of an engine, and what it answered."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

from simpleautodiff.learn.grading.answers import answer, bounds
from simpleautodiff.learn.grading.bank import Case, Script
from simpleautodiff.learn.grading.known_faults import (
    APART,
    ASSIGNED,
    ASSIGNED_TERMS,
    BY_VALUE,
    COMMUTED,
    COMPOSED,
    COMPOSITIONS,
    FAULTS,
    STYLES,
    SUBTRACTED,
    UNCHAINED,
    WAYS,
    WRONG_RULES,
)
from simpleautodiff.learn.grading.prediction import predict

Vector = list[float | None]
BY_CONSTANT = " by a constant"  # an operation with one may have code of its own
_answer = lru_cache(1024)(answer)  # the graphs of the bank are asked for again and again
_predict = lru_cache(2**17)(predict)


@dataclass
class CaseRun:
    """One case in one mode: what was asked, and what the engine answered."""

    case: Case
    mode: str
    script: Script
    result: dict[str, Any]
    predictions: dict[Any, Vector | None] = field(default_factory=dict, repr=False)

    @property
    def numbers(self) -> bool:
        """Whether the engine returned numbers."""
        return "sweeps" in self.result

    @property
    def sweeps(self) -> int:
        """How many sweeps of one graph are asked for, one after the other."""
        actions = [action for action, *_ in self.script]
        return actions[::-1].index("build")  # since it was last built

    @cached_property
    def right(self) -> Vector:
        """The right numbers, by the library."""
        return self.vector(*_answer(self.case.graph, self.script))

    @cached_property
    def found(self) -> Vector:
        """The numbers that the engine found; a missing one counts as 0."""
        raw = self.vector(self.result["values"], self.result["sweeps"])
        if raw[0] is None:  # some shapes of engines do not show values
            raw[0] = self.right[0]
        return [0.0 if number is None else number for number in raw]

    @cached_property
    def has_none(self) -> bool:
        """Whether some derivative is None."""
        return None in self.vector({}, self.result["sweeps"])[1:]

    def vector(self, values: Any, sweeps: Sequence[Any]) -> Vector:
        """List the numbers to compare: the value, and the derivatives that were asked for."""
        graph, case = self.case.graph, self.case
        numbers: Vector = [values.get(graph.output)]
        asked = [action for action in self.script if action[0] in ("forward", "reverse")]
        for (mode, _), sweep in zip(asked, sweeps, strict=True):
            outputs = case.wanted if case.wanted and case.way != "interior" else (graph.output,)
            names = graph.names if mode == "reverse" else outputs
            numbers += [sweep.get(name) for name in names]
        return numbers

    @cached_property
    def is_alone(self) -> bool:
        """Whether the case is one sweep through a single operation on different inputs."""
        graph = self.case.graph
        plain = self.numbers and self.case.way == "once"
        if not plain or self.case.kink or self.case.length or len(graph.steps) != 1:
            return False
        _, operation, args = graph.steps[0]
        inputs = args[:1] if operation == "pow" else args
        return set(inputs) <= set(graph.names) and len(set(inputs)) == len(inputs)

    @cached_property
    def has_constant(self) -> bool:
        """Whether the case is one sweep through a single operation on an input and a constant."""
        graph = self.case.graph
        plain = self.numbers and self.case.way == "once" and not self.case.length
        return plain and len(graph.steps) == 1 and any(BY_CONSTANT in kind for kind in self.kinds)

    @cached_property
    def kinds(self) -> frozenset[str]:
        """The operations that are used, those with a constant apart."""
        return frozenset(_kind(op, args) for _, op, args in self.case.graph.steps)

    @cached_property
    def ok(self) -> bool:
        """Whether everything is right."""
        if not self.numbers or self.has_none:
            return False
        if not self.case.kink:
            return agree(self.found, self.right)
        between = bounds(self.case.graph, self.script)
        pairs = [
            self.vector({}, [{n: b[k] for n, b in s.items()} for s in between]) for k in (0, 1)
        ]
        return all(
            low is not None and high is not None and number is not None
            and low - 1e-4 <= number <= high + 1e-4
            for low, high, number in zip(pairs[0][1:], pairs[1][1:], self.found[1:], strict=True)
        )  # fmt: skip

    @cached_property
    def foreign(self) -> frozenset[str]:
        """The faults that cannot show here, as the graph lacks the operations they change."""
        used = as_written(self.case.graph.operations)
        ways = set() if used & {"sub", "div", "neg"} else {*COMPOSITIONS}
        args = [arg for _, _, args in self.case.graph.steps for arg in args]
        ways |= set() if "div" in used else {BY_VALUE}
        ways |= set() if "neg" in used else {SUBTRACTED}
        if all(isinstance(arg, str) for arg in args):
            ways |= {APART, COMMUTED} if COMPOSED in ways else {COMMUTED}
        return frozenset({*ways, *(f for f in FAULTS if not is_met(f, used))})

    def predict(self, faults: Collection[str], style: str = "search", turned: int = 0) -> Any:
        """Return the numbers that an engine with these faults would find; None if it fails."""
        key = frozenset(faults) - self.foreign, style, turned
        if key not in self.predictions:
            made = _predict(self.case.graph, self.script, *key)
            self.predictions[key] = made and self.vector(*made)
        return self.predictions[key]

    def explained(self, faults: Collection[str], style: str = "search", turned: int = 0) -> bool:
        """Tell whether an engine with these faults would find the same numbers."""
        prediction = self.predict(faults, style, turned)
        return prediction is not None and agree(self.found, prediction)

    def shows(self, fault: str) -> bool:
        """Tell whether a fault changes the numbers, in some way of writing an engine."""
        found = (self.predict((fault, *way), style) for way in WAYS for style in STYLES)
        return any(numbers is None or not agree(numbers, self.right) for numbers in found)


def _kind(operation: str, args: Sequence[Any]) -> str:
    name = "add" if operation == "iadd" else operation
    plain = operation in ("pow", "constant") or all(isinstance(arg, str) for arg in args)
    return name if plain else f"{name}{BY_CONSTANT}"


def agree(found: Vector, wanted: Vector) -> bool:
    """Tell whether numbers are equal up to rounding."""
    return all(
        a is not None
        and b is not None
        and (a == b or math.isclose(a, b, rel_tol=1e-7, abs_tol=1e-9) or (a != a and b != b))
        for a, b in zip(found, wanted, strict=True)
    )


def as_written(operations: Collection[str]) -> set[str]:
    """Return some operations, and those of which an engine may compose them."""
    used = {*operations}
    used |= {"add", "mul", "neg", "sub"} if used & {"sub", "neg", "div"} else set()
    return used | ({"pow", "inverse"} if "div" in used else set())


def is_met(fault: str, used: Collection[str]) -> bool:
    """Tell whether a fault may show in graphs of these operations."""
    one = {**ASSIGNED_TERMS, **WRONG_RULES}.get(fault, (UNCHAINED.get(fault, ""),))
    rules = ASSIGNED.get(fault) or one[:1]
    return rules == ("",) or not set(used).isdisjoint(rules)
