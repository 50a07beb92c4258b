"""From a learner's numbers to misconceptions: which faults of the model explain all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice

from simpleautodiff.learn.grading.case_run import BY_CONSTANT, CaseRun, agree, as_written, is_met
from simpleautodiff.learn.grading.known_faults import (
    ASSIGNED,
    ASSIGNED_TERMS,
    FAULTS,
    IN_TURN,
    INVERTED,
    ORDER_FAULTS,
    READY,
    RULES,
    STYLES,
    VARIANTS,
    WAYS,
    WRONG_RULES,
    ZEROS,
)


@dataclass(frozen=True)
class Diagnosis:
    """The faults that explain the numbers, and whether they explain all of them."""

    faults: tuple[str, ...] = ()
    certain: bool = True
    others: tuple[str, ...] = ()  # faults that explain the same numbers as well
    operations: tuple[str, ...] = ()  # those whose rule is wrong in a way that is not known


def explain(runs: Sequence[CaseRun]) -> Diagnosis:
    """Find the fewest faults with which the model finds the same numbers in every run.

    A fault may be in one mode only, so if nothing explains both modes, each is explained by itself.
    Graphs of a single operation show which rules are wrong, however many there are. Where one of
    them is wrong in a way that is not known, graphs without it show what else is wrong.
    """
    runs = [run for run in runs if run.numbers and not (run.case.kink or run.case.length)]
    runs = [run for run in runs if run.case.way != "failed"]
    found = _explain_known(runs)
    if found.certain:
        return found
    beside = [_find_unknown_rules(runs, found.faults, constants) for constants in (False, True)]
    for operations in dict.fromkeys(filter(None, beside)):
        spoiled = {*operations, *(f"{operation}{BY_CONSTANT}" for operation in operations)}
        rest = _explain_known([run for run in runs if spoiled.isdisjoint(run.kinds)])
        if rest.certain or (operations == beside[-1] and found.faults == ("unknown",)):
            return replace(rest, operations=operations)
    return found


def _find_unknown_rules(
    runs: Sequence[CaseRun], known: tuple[str, ...], constants: bool
) -> tuple[str, ...]:
    """Return the operations that are wrong by themselves, in a way that is not known.

    More of them must be right, or else it is no matter of rules.
    """
    alone = [run for run in runs if run.is_alone or (constants and run.has_constant)]
    rules = {
        mode: tuple(_find_wrong_rules([run for run in runs if run.mode == mode]))
        for mode in ("reverse", "forward")
    }
    explained = [run for run in alone if run.ok or blame(run, (*known, *rules[run.mode]))]
    told = {id(run) for run in explained}
    wrong = {kind for run in alone if id(run) not in told for kind in run.kinds}
    wrong -= {f"{kind}{BY_CONSTANT}" for kind in wrong}
    right = {kind for run in explained for kind in run.kinds} - wrong
    return tuple(sorted(wrong)) if len(right) > len(wrong) else ()


def _explain_known(runs: Sequence[CaseRun]) -> Diagnosis:
    """Find the fewest known faults with which the model finds the same numbers in every run."""
    by_mode = [[run for run in runs if run.mode == mode] for mode in ("reverse", "forward")]
    wrong = [part for part in by_mode if not all(agree(run.found, run.right) for run in part)]
    if not wrong:
        return Diagnosis()
    both = len(wrong) == sum(map(bool, by_mode))
    found = _exact(runs, most=2 if both else 1)
    if found:
        return found
    parts = [_explain_mode(part) for part in wrong]
    faults = dict.fromkeys(fault for part in parts for fault in part.faults)
    certain = all(part.certain for part in parts)
    if not (both or (certain and len(faults) == 1)):
        found = _exact(runs)
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


def _exact(runs: Sequence[CaseRun], most: int = 2) -> Diagnosis | None:
    """Return one fault that explains all runs, or at most so many, if there are any."""
    failing = sorted((run for run in runs if not agree(run.found, run.right)), key=_size)
    if not failing:
        return Diagnosis()
    ordered = [*failing, *(run for run in runs if agree(run.found, run.right))]

    def exact(faults: tuple[str, ...], way: tuple[str, ...] = ()) -> bool:
        named = (*faults, *way)
        # Where the order of the graphs matters, zeros do, and what earlier graphs left.
        matter = any(map(_by_order, faults)) and IN_TURN not in way
        own = (style for style in styles if matter or style not in (*ZEROS, *READY))
        return any(all(run.explained(named, style) for run in ordered) for style in own)

    of_mode = {"forward": ("dual",), "reverse": ("dual", "stack", "paths", *READY)}
    modes = dict.fromkeys(run.mode for run in failing)
    more = dict.fromkeys(style for mode in modes for style in of_mode[mode])
    styles = ("search", "tape", "tape to the end", *more, *ZEROS)
    faults = _find_candidates(failing)
    pairs = [p for p in combinations(faults, 2) if len(set(p) & set(ORDER_FAULTS)) < 2]
    if failing[0].is_alone:  # of a single operation: one of the two must show there by itself,
        first = failing[0]  # unless it depends on what earlier graphs left
        pairs = [pair for pair in pairs if any(map(_by_order, pair)) or any(map(first.shows, pair))]
    found: list[tuple[str, ...]] = []
    for candidates in ([(fault,) for fault in faults], pairs)[:most]:
        for way in WAYS:
            if not found:
                found = [some for some in candidates if exact(some, way)]
                if way and len(found) == 1 and candidates is not pairs:
                    own = [pair for pair in pairs if exact(pair)]  # without that way of writing
                    found = [*own, *found] if INVERTED in way else [*found, *own]
    if not found:
        return None
    return Diagnosis(found[0], True, _others(found))


def _by_order(fault: str) -> bool:
    """Tell whether what a fault does depends on the order in which graphs are swept."""
    return fault.startswith(("overwritten", "stale_sum"))


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
