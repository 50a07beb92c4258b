"""`grade`: build and sweep the graphs of the bank with an engine, and say what is wrong with it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from simpleautodiff.errors import ArgumentError
from simpleautodiff.learn.grading.answers import LIBRARY_FUNCTIONS
from simpleautodiff.learn.grading.bank import TASKS, Case
from simpleautodiff.learn.grading.bank_runs import (
    BUILDING,
    as_case,
    choose_cases,
    run_bank,
    run_on,
    run_programs,
)
from simpleautodiff.learn.grading.case_run import CaseRun, Vector, agree
from simpleautodiff.learn.grading.diagnosis import Diagnosis, blame, explain
from simpleautodiff.learn.grading.grade_report import Finding, Report, name_numbers
from simpleautodiff.learn.grading.known_faults import FAULTS, VARIANTS
from simpleautodiff.learn.grading.mistakes import LIMIT, MISTAKES, blame_operation
from simpleautodiff.learn.grading.processes import Runner, start_runner
from simpleautodiff.learn.grading.shrinking import shrink
from simpleautodiff.learn.graphs import Graph

LAST = {"unknown", "differences", "shared_parents"}  # which explain what nothing else does
SWEPT_AGAIN = "The same graph, built and swept again, has other derivatives."
COUNTS_PATHS = {"no_visited", "no_visited_at_inputs", "recursion"}  # a cost, and a depth


def grade(
    engine: Any,
    task: str = "",
    *,
    seed: int = 0,
    shape: str = "",
    names: dict[str, str] | None = None,
    needs: Sequence[str] = ("add", "mul"),
    depth: int = 100_000,
    programs: int = 30,
    seconds: float = 10,
    progress: Callable[[Sequence[Case]], Any] | None = None,
) -> Report:
    """Grade an engine that somebody wrote: name the misconceptions, and show the smallest graphs.

    Parameters
    ----------
    engine
        The path of a file, which is run in a process of its own within limits; or a module, a
        class, a function `grad(f)` or a dict of names, which run in this process.
    task
        One task of the course alone, such as `"order"`; all by default.
    seed
        Of the random programs: the same seed, the same report.
    shape, names
        What cannot be guessed: "node", "value", "tape", "grad", "dual", "feed" or "partials"; and
        the names of the class (`node`), of `backward`, `forward`, `grad`, `value`, `derivative` or
        an operation.
    needs
        The operations without which an engine does not pass; the graphs of other operations that it
        lacks are not asked, and the report says which these are.
    depth
        How long the chain of the task "depth" is.
    programs
        How many random programs are tried, too; one that fails is shrunk.
    seconds
        How long one graph may be computed, in a process of its own, whatever else the machine does.
    progress
        Called with the cases, returns them one after the other: a progress bar.

    Examples
    --------
    >>> from simpleautodiff import learn
    >>> learn.grade(learn.rung(3).engine, depth=1000).ok
    True
    >>> report = learn.grade(learn.bugs.load("first_place"), depth=1000)
    >>> report.mistakes
    ('first_place',)
    """
    if task and task not in TASKS:
        raise ArgumentError(f"the tasks are {', '.join(TASKS)}; there is no {task!r}")
    unknown = [operation for operation in needs if operation not in LIBRARY_FUNCTIONS]
    if unknown:
        raise ArgumentError(f"the operations are {', '.join(LIBRARY_FUNCTIONS)}; got {unknown}")
    runner = start_runner(engine, shape, names or {}, seconds)
    name = str(engine if isinstance(engine, str) else getattr(engine, "__name__", engine))
    try:
        _refuse_without_operations(name, runner.abilities)
        cases, skipped = choose_cases(runner.abilities, task)
        runs, memory = run_bank(runner, cases, task, depth, progress)
        if not task:
            runs += run_programs(runner, programs, seed)
        findings = [*_find_missing(runner.abilities, needs, cases, skipped)]
        differences = _find_differences(runs) if runner.abilities["numbers"] else []
        findings += differences or _find(runner, runs, memory)
        if runner.abilities["shape"] == "partials" and task not in BUILDING:
            detail = "There is no forward(x), backward(y), y.backward() or grad(f)."
            findings.append(Finding(MISTAKES["missing_sweep"], None, True, detail))
        findings = [_name_operation(found, runs) for found in _shrink_unknown(runner, findings)]
        findings = _assign_cases(runs, findings)
    finally:
        runner.close()
    return Report(name, runner.abilities, tuple(runs), tuple(findings), task, tuple(skipped))


def _refuse_without_operations(name: str, abilities: dict[str, Any]) -> None:
    if not abilities["operations"]:
        raise ArgumentError(
            f"{name} cannot be graded: it has no operations. There must be operators (__add__), "
            f"functions (add, mul, sin) or methods.{_write_broken(abilities['broken'])}"
        )


def _write_broken(broken: dict[str, str]) -> str:
    """List the operations that exist but raised an error when they were tried."""
    return "".join(f" {operation} raises {error}." for operation, error in broken.items())


# From runs to findings. ---------------------------------------------------------------------------


def _find_missing(
    abilities: dict[str, Any], needs: Sequence[str], cases: list[Case], skipped: list[Case]
) -> Iterator[Finding]:
    """Name the missing operations: those that are required, or that the task's graphs need."""
    missing = [operation for operation in needs if operation not in abilities["operations"]]
    broken = {op: error for op, error in abilities["broken"].items() if op in missing}
    detail = f"It has no {', '.join(missing)}.{_write_broken(broken)}"
    if not missing and not cases and abilities["shape"] != "partials":
        wanted = {op for case in skipped for op in case.graph.operations}
        lacks = sorted(wanted - {*abilities["operations"], "constant"})
        missing, detail = lacks or ["graph"], "No graph of this task can be built with it"
        detail += f": it has no {', '.join(lacks)}." if lacks else "."
    if missing:
        yield Finding(MISTAKES["missing_operations"], None, True, detail)


def _find_differences(runs: list[CaseRun]) -> list[Finding]:
    """Find derivatives that are only as exact as finite differences."""
    runs = [run for run in runs if run.numbers and not (run.case.kink or run.case.length)]
    for run in sorted(runs, key=lambda run: len(run.case.graph.steps) or math.inf):
        pairs = zip(name_numbers(run)[1:], run.found[1:], run.right[1:], strict=True)
        for name, yours, right in pairs:
            if (
                yours is not None
                and right is not None
                and not math.isclose(yours, right, rel_tol=1e-13, abs_tol=1e-13)
            ):
                asked = f"{run.case.graph}: you return {yours!r} for {name}, right is {right!r}"
                return [Finding(MISTAKES["differences"], None, True, asked)]
    return []


def _find(runner: Runner, runs: list[CaseRun], memory: dict[str, Any]) -> list[Finding]:
    diagnosis = explain(runs)
    unsure = "unknown" in diagnosis.faults or diagnosis.operations
    remembering = _find_memory(runner, runs) if unsure else None
    findings = [
        Finding(
            MISTAKES[VARIANTS.get(fault, fault)],
            _smallest_run(runs, fault, diagnosis),
            diagnosis.certain,
            others=diagnosis.others if number == 0 else (),
        )
        for number, fault in enumerate(diagnosis.faults)
    ]
    findings += [_blame_rule(runs, operation) for operation in diagnosis.operations]
    findings += _find_errors(runs, diagnosis)
    if remembering is not None:  # then what an error has left cannot be told, either
        untold = ("unknown", "phantom_child", "wrong_rule", "wrong_value")
        findings = [f for f in findings if f.mistake.name not in untold]
        findings.append(Finding(MISTAKES["stale_sum"], remembering, True, SWEPT_AGAIN))
    living, shared = memory.get("living", 0), memory.get("shared", "")
    if living > 100:
        findings.append(Finding(MISTAKES["leak"], None, True, f"{living} of 200 results are kept"))
    if shared:
        detail = f"all nodes have the same {shared}"
        findings = _blame_default(findings, detail, memory.get("written", False))
    seen: dict[tuple[str, str], Finding] = {}
    for finding in findings:
        seen.setdefault((finding.mistake.name, finding.operation), finding)
    return list(seen.values())


def _find_memory(runner: Runner, runs: list[CaseRun]) -> CaseRun | None:
    """Return a wrong run that turns out otherwise when it is asked again: numbers were kept."""
    wrong = [run for run in runs if run.numbers and not (run.ok or run.case.length)]
    for run in sorted(wrong, key=lambda run: len(run.case.graph.steps))[:5]:
        for other in run_on(runner, run.case, 1):
            same = other.mode == run.mode and other.script == run.script and other.numbers
            if same and not agree(other.found, run.found):
                return run
    return None


def _blame_default(findings: list[Finding], detail: str, written: bool) -> list[Finding]:
    """Blame a shared default list for what nothing else explains, or mention it as a trap."""
    unknown = [finding for finding in findings if finding.mistake.name == "unknown"]
    mistake = MISTAKES["shared_parents"]
    if not unknown or not written:
        return [*findings, Finding(replace(mistake, kind=LIMIT), None, True, detail)]
    rest = [f for f in findings if f.mistake.name not in ("unknown", "exponential", "depth")]
    return [Finding(mistake, unknown[0].run, True, detail), *rest]


def _blame_rule(runs: list[CaseRun], operation: str) -> Finding:
    """Blame an operation that is wrong by itself, in a way that no known fault explains."""
    alone = [run for run in runs if run.kinds == {operation} and (run.is_alone or run.has_constant)]
    run = next(run for run in alone if not run.ok)
    mistake = blame_operation(operation, value=not agree(run.found[:1], run.right[:1]))
    return Finding(mistake, run, True, operation=operation)


def _smallest_run(runs: list[CaseRun], fault: str, diagnosis: Diagnosis) -> CaseRun | None:
    """Return the smallest failing run that this fault explains; for "unknown", that none does."""
    failing = [run for run in runs if run.numbers and not run.ok]
    failing = [run for run in failing if run.kinds.isdisjoint(diagnosis.operations)] or failing
    known = [other for other in diagnosis.faults if other != "unknown"]
    because = [
        run for run in failing
        if (not blame(run, known) if fault == "unknown" else not _same(run, fault))
    ]  # fmt: skip
    ordered = sorted(because or failing, key=lambda run: (len(run.case.graph.steps), run.mode))
    return ordered[0] if ordered else None


def _same(run: CaseRun, fault: str) -> bool:
    """Tell whether a fault makes no difference to a run."""
    other = CaseRun(run.case, run.mode, run.script, run.result)
    other.__dict__["found"] = run.right
    return other.explained((fault,))


def _find_errors(runs: list[CaseRun], diagnosis: Diagnosis) -> Iterator[Finding]:
    """Name failures other than wrong numbers: errors, None, too many operations, no answer."""
    for run in runs:
        name = _name_failure(run, runs)
        follows = name in ("exponential", "depth") and not COUNTS_PATHS.isdisjoint(diagnosis.faults)
        if name and not follows:
            said = (
                f"{run.result['error']}: {run.result['message']}" if "error" in run.result else ""
            )
            yield Finding(MISTAKES[name], run, True, said)


def _name_failure(run: CaseRun, runs: list[CaseRun]) -> str:
    """Name the misconception behind a run that returned no numbers, or None among them; else ""."""
    result = run.result
    if "budget" in result:
        return "exponential"
    if "timeout" in result or "died" in result:
        return "timeout" if "timeout" in result else "died"
    if "error" in result:
        return _name_error(run, runs)
    if run.has_none and not any(run.right[1:]):
        return "none_for_zero"
    if run.case.kink and not run.ok:
        return "kink"
    if run.case.way == "failed" and not agree(run.found, _without_failure(run, runs)):
        return run.case.exposes
    return ""


def _without_failure(run: CaseRun, runs: list[CaseRun]) -> Vector:
    """Return the numbers that the engine found for the same graph without the error before."""
    for other in runs:
        if other.case.graph == run.case.graph and other.script == run.script[1:] and other.numbers:
            return other.found
    return run.right


def _name_error(run: CaseRun, runs: list[CaseRun]) -> str:
    """Name the misconception behind an error, by the graph that raised it."""
    constant_first = any(
        len(args) == 2 and not isinstance(args[0], str) for _, _, args in run.case.graph.steps
    )
    named = {"RecursionError": "depth", "UnreadableResult": "unreadable"}
    if run.result["error"] == "MemoryError" and (run.case.length or run.case.budget):
        return "memory"
    if run.result["error"] in named:
        return named[run.result["error"]]
    if run.case.exposes in ("constant_output", "phantom_child"):
        return run.case.exposes
    if run.sweeps > 1 and not any("error" in other.result for other in runs if other.sweeps == 1):
        return "used_up"
    of_operand = run.result["error"] in ("TypeError", "AttributeError")
    return "missing_reflected" if constant_first and of_operand else "raises"


def _assign_cases(runs: list[CaseRun], findings: list[Finding]) -> list[Finding]:
    """Give each finding the failing cases that it explains."""
    names = [finding.mistake.name for finding in findings]
    faults = [fault for fault in FAULTS if VARIANTS.get(fault, fault) in names]
    last = [f for f in findings if f.mistake.name in LAST or f.detail == SWEPT_AGAIN]
    rest = [f.mistake.name for f in last if f.mistake.kind != LIMIT]
    keys = [(finding.mistake.name, finding.operation) for finding in findings]
    cases: dict[tuple[str, str], set[str]] = {key: set() for key in keys}
    for run in runs:
        if run.ok:
            continue
        failure = _name_failure(run, runs)
        blamed = [failure] if failure in names else []
        if not blamed and run.numbers and not run.case.length:
            blamed = [VARIANTS.get(fault, fault) for fault in blame(run, faults)]
        elif not blamed:  # the model cannot tell
            far = [fault for fault in faults if run.case.length or fault in COUNTS_PATHS]
            blamed = [VARIANTS.get(fault, fault) for fault in far]
        blamed = blamed or [f.mistake.name for f in findings if f.operation in run.kinds]
        for key in keys:
            if key[0] in (blamed or rest) and (not key[1] or key[1] in run.kinds):
                cases[key].add(run.case.name)
    return [
        replace(found, cases=frozenset(cases[key]))
        for found, key in zip(findings, keys, strict=True)
    ]


def _shrink_unknown(runner: Runner, findings: list[Finding]) -> list[Finding]:
    """Shrink the graph of a failure that nothing explains."""

    def shrunk(finding: Finding) -> Finding:
        run = finding.run
        if finding.mistake.name != "unknown" or run is None or run.case.way != "once":
            return finding

        def fails(graph: Graph) -> bool:
            return any(run.numbers and not run.ok for run in run_on(runner, as_case(graph), 1))

        graph = shrink(run.case.graph, fails)
        again = [run for run in run_on(runner, as_case(graph), 1) if not run.ok]
        return Finding(finding.mistake, again[0] if again else run, finding.certain)

    return [shrunk(finding) for finding in findings]


def _name_operation(finding: Finding, runs: list[CaseRun]) -> Finding:
    """Blame a single operation, if it is wrong by itself and others by themselves are right."""
    run = finding.run
    if finding.mistake.name != "unknown" or run is None or len(run.case.graph.steps) != 1:
        return finding
    operation = run.case.graph.steps[0][1]
    alone = [other for other in [*runs, run] if other.is_alone]
    wrong = {other.case.graph.steps[0][1] for other in alone if not other.ok}
    right = {other.case.graph.steps[0][1] for other in alone if other.ok}
    if operation not in wrong or right <= wrong:
        return finding
    mistake = blame_operation(operation, value=not agree(run.found[:1], run.right[:1]))
    return replace(finding, mistake=mistake, certain=True, operation=operation)
