"""From a learner's numbers to misconceptions: which faults of the model explain all of them."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import combinations, islice
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
    IN_TURN,
    INVERTED,
    ORDER_FAULTS,
    READY,
    RULES,
    STYLES,
    SUBTRACTED,
    UNCHAINED,
    VARIANTS,
    WAYS,
    WRONG_RULES,
    ZEROS,
)
from simpleautodiff.learn.grading.prediction import predict

Vector = list[float | None]
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

    def explained(self, faults: Collection[str], style: str = "search", turned: int = 0) -> bool:
        """Tell whether an engine with these faults would find the same numbers."""
        key = frozenset(faults) - self.foreign, style, turned
        if key not in self.predictions:
            made = _predict(self.case.graph, self.script, *key)
            self.predictions[key] = made and self.vector(*made)
        prediction = self.predictions[key]
        return prediction is not None and agree(self.found, prediction)


def agree(found: Vector, wanted: Vector) -> bool:
    """Tell whether numbers are equal up to rounding."""
    return all(
        a is not None
        and b is not None
        and (a == b or math.isclose(a, b, rel_tol=1e-7, abs_tol=1e-9) or (a != a and b != b))
        for a, b in zip(found, wanted, strict=True)
    )


@dataclass(frozen=True)
class Diagnosis:
    """The faults that explain the numbers, and whether they explain all of them."""

    faults: tuple[str, ...] = ()
    certain: bool = True
    others: tuple[str, ...] = ()  # faults that explain the same numbers as well


def explain(runs: Sequence[CaseRun]) -> Diagnosis:
    """Find the fewest faults with which the model finds the same numbers in every run.

    A fault may be in one mode only, so if nothing explains both modes, each is explained by itself.
    Graphs of a single operation show which rules are wrong, however many there are.
    """
    runs = [run for run in runs if run.numbers and not (run.case.kink or run.case.length)]
    runs = [run for run in runs if run.case.way != "failed"]
    by_mode = [[run for run in runs if run.mode == mode] for mode in ("reverse", "forward")]
    wrong = [part for part in by_mode if not all(agree(run.found, run.right) for run in part)]
    if not wrong:
        return Diagnosis()
    found = _exact(runs)
    if found and (len(found.faults) == 1 or len(wrong) == sum(map(bool, by_mode))):
        return found
    parts = [_explain_mode(part) for part in wrong]
    faults = dict.fromkeys(fault for part in parts for fault in part.faults)
    certain = all(part.certain for part in parts)
    if found and not (certain and len(faults) < len(found.faults)):
        return found
    return Diagnosis(tuple(faults), certain, tuple(x for part in parts for x in part.others))


def _explain_mode(runs: Sequence[CaseRun]) -> Diagnosis:
    """Explain the runs of one mode: exactly, or as far as possible."""
    rules = tuple(_find_wrong_rules(runs))
    return (
        _exact(runs) or _add_to(rules, runs) or _explain_plain(runs, rules) or _guess(runs, rules)
    )


def _find_wrong_rules(runs: Sequence[CaseRun]) -> Iterator[str]:
    """Yield the wrong rules that graphs of a single operation show, at most one an operation."""
    alone = [run for run in runs if run.is_alone]
    for operation in RULES:
        here = [run for run in alone if run.case.graph.steps[0][1] == operation]
        if not all(agree(run.found, run.right) for run in here):
            rules = (name for name, (wrong, _) in WRONG_RULES.items() if wrong == operation)
            explain = (name for name in rules if all(run.explained((name,)) for run in here))
            yield from islice(explain, 1)


def _add_to(rules: tuple[str, ...], runs: Sequence[CaseRun]) -> Diagnosis | None:
    """Explain all runs by these wrong rules, alone or together with one other fault."""
    ordered = sorted(runs, key=_size)
    for fault in ("", *FAULTS) if rules else ():
        named = rules if not fault else (fault, *rules)
        if any(all(run.explained(named, style) for run in ordered) for style in STYLES):
            return Diagnosis(named)
    return None


def _exact(runs: Sequence[CaseRun]) -> Diagnosis | None:
    """Return one or two faults that explain all runs, if there are any."""
    failing = sorted((run for run in runs if not agree(run.found, run.right)), key=_size)
    if not failing:
        return Diagnosis()
    ordered = [*failing, *(run for run in runs if agree(run.found, run.right))]

    def exact(faults: tuple[str, ...], way: tuple[str, ...] = ()) -> bool:
        named = (*faults, *way)
        by_order = any(fault.startswith(("overwritten", "stale_sum")) for fault in faults)
        matter = by_order and IN_TURN not in way  # then zeros do, and what earlier graphs left
        own = (style for style in styles if matter or style not in (*ZEROS, *READY))
        return any(all(run.explained(named, style) for run in ordered) for style in own)

    of_mode = {"forward": ("dual",), "reverse": ("dual", "stack", "paths", *READY)}
    modes = dict.fromkeys(run.mode for run in failing)
    more = dict.fromkeys(style for mode in modes for style in of_mode[mode])
    styles = ("search", "tape", "tape to the end", *more, *ZEROS)
    faults = _find_candidates(failing)
    pairs = [p for p in combinations(faults, 2) if len(set(p) & set(ORDER_FAULTS)) < 2]
    found: list[tuple[str, ...]] = []
    for candidates in ([(fault,) for fault in faults], pairs):
        for way in WAYS:
            if not found:
                found = [some for some in candidates if exact(some, way)]
                if way and len(found) == 1 and candidates is not pairs:
                    own = [pair for pair in pairs if exact(pair)]  # without that way of writing
                    found = [*own, *found] if INVERTED in way else [*found, *own]
    if not found:
        return None
    return Diagnosis(found[0], True, _others(found))


def _others(found: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the other explanations, except those that differ from the first only in words."""
    first, *others = (tuple(VARIANTS.get(fault, fault) for fault in faults) for faults in found)
    if any(fault in ASSIGNED for fault in first):  # one function is named, not all of them
        others = [faults for faults in others if "overwritten_in_functions" not in faults]
    told = dict.fromkeys(" + ".join(faults) for faults in others if faults != first)
    return tuple(told)[:3]


def _find_candidates(failing: Sequence[CaseRun]) -> list[str]:
    """Return the faults that may show in failing runs: those of a rule, if the rule is used."""
    used = as_written({op for run in failing for op in run.case.graph.operations})
    return [fault for fault in FAULTS if is_met(fault, used)]


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


def _explain_plain(runs: Sequence[CaseRun], rules: tuple[str, ...]) -> Diagnosis | None:
    """Return a fault that explains the runs on graphs of sums, products and functions.

    An engine may compute x - y as x + (-1) * y, and keep its parents in a set, in any order. Then
    its graph differs from the model's, but not in these runs.
    """
    plain = [run for run in runs if _is_plain(run)]
    failing = [run for run in plain if not agree(run.found, run.right)]
    for fault in FAULTS if len(failing) > 2 else ():
        for style in STYLES:
            named = (fault, *rules)
            if all(_explained_by_some_order(run, named, style) for run in [*failing, *plain]):
                return Diagnosis(named, False)
    return None


def _is_plain(run: CaseRun) -> bool:
    args = [arg for _, _, args in run.case.graph.steps for arg in args]
    few = len(run.case.graph.steps) <= 5
    compound = {"sub", "div", "neg", "iadd", "pow", "constant"}
    plain = run.case.graph.operations.isdisjoint(compound)
    return few and plain and all(isinstance(arg, str) for arg in args)


def _explained_by_some_order(run: CaseRun, faults: tuple[str, ...], style: str) -> bool:
    first = len(run.case.graph.inputs)
    depends_on_order = not {*ORDER_FAULTS, *ASSIGNED, *ASSIGNED_TERMS, "overwritten"}.isdisjoint(
        faults
    )
    several = run.mode == "reverse" and style == "set" and depends_on_order
    turns = range(2 ** len(run.case.graph.steps)) if several else (0,)
    return any(run.explained(faults, style, turned << first) for turned in turns)


def _guess(runs: Sequence[CaseRun], rules: tuple[str, ...]) -> Diagnosis:
    """Return the fault that explains most of what is wrong, if it explains enough of it."""
    failing = [run for run in runs if not run.explained(rules)]
    passing = [run for run in runs if run.explained(rules)]
    scores = {}
    for fault in FAULTS:
        hits = sum(run.explained((fault, *rules)) for run in failing)
        misses = sum(not run.explained((fault, *rules)) for run in passing)
        if hits:
            scores[fault] = (hits - misses, hits)
    best = max(scores, key=lambda fault: scores[fault], default="")
    if best and scores[best][0] > 0 and 2 * scores[best][1] >= len(failing):
        return Diagnosis((best, *rules), False)
    return Diagnosis((*rules, "unknown"), False)


def blame(run: CaseRun, faults: Sequence[str]) -> tuple[str, ...]:
    """Return the smallest subset of some faults that explains one run; () if none does."""
    for count in range(1, len(faults) + 1):
        for some in combinations(faults, count):
            ways = [(*some, *way) for way in WAYS]
            if any(run.explained(way, style) for way in ways for style in STYLES):
                return some
    if _is_plain(run):
        for fault in faults:
            if _explained_by_some_order(run, (fault,), "set"):
                return (fault,)
    return ()


def _size(run: CaseRun) -> int:
    return len(run.case.graph.steps)
