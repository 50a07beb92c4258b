"""Arrays: what an operation costs beside NumPy's own work, whole gradients, and peak memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from fractions import Fraction

import memory
from array_contestants import (
    FOR_ARRAYS,
    FOR_OVERHEAD,
    FOR_PEAK,
    ArrayContestant,
    ArrayJax,
    ArrayOurs,
    ArrayRun,
    Plain,
)
from array_workloads import CHAINS, SIZED, ArrayAnswer, ArrayWorkload, array_disagreement
from contestants import Autograd
from field import Field, absent_names, check_answer, failed, race_by_size, size_tables
from measure import Effort, Timing, race
from report import NOTHING, Note, Section, Target, digits, power_of_ten

OVERHEAD_TARGETS = {Autograd.name: Target("overhead, ours / autograd", Fraction(1, 3))}
AGAINST_AUTOGRAD = Target("ours / autograd", Fraction(1))
AGAINST_HAND = Target("ours / by hand", Fraction(13, 10))
LARGE = 10**6  # elements: arrays leave the caches, and gradients by hand are the measure
PEAK_TARGET = Target("peak memory, ours / autograd", Fraction(1))
KINDS = (*FOR_OVERHEAD, *FOR_ARRAYS, *FOR_PEAK)


@dataclass(frozen=True, slots=True)
class Plan:
    """How much to measure."""

    overhead: Effort
    sizes: tuple[int, ...]
    gradients: Effort
    kinds: list[type[ArrayContestant]]
    memory_size: int


FULL = Plan(
    overhead=Effort(rounds=31, slice_s=0.03, budget_s=3.0),
    sizes=(10**2, 10**3, 10**4, 10**5, 10**6, 10**7),
    gradients=Effort(rounds=9, slice_s=0.03, budget_s=0.7),
    kinds=FOR_ARRAYS,
    memory_size=10**6,
)
QUICK = Plan(
    overhead=Effort(rounds=7, slice_s=0.01, budget_s=0.5),
    sizes=(10**2, 10**5),
    gradients=Effort(rounds=5, slice_s=0.01, budget_s=0.2),
    kinds=[kind for kind in FOR_ARRAYS if kind is not ArrayJax],  # slow to start
    memory_size=10**6,
)


def verified(contestant: ArrayContestant, workload: ArrayWorkload, answer: ArrayAnswer) -> ArrayRun:
    """Return a run that has been seen to give the right answer."""
    run = contestant.run(workload)
    check_answer(contestant.name, array_disagreement(run(), answer))
    return run


# 4. Overhead. -------------------------------------------------------------------------------------


def overhead_section(field: Field, plan: Plan) -> Section:
    """Time what is added to NumPy's work by recording an operation and by going back over it."""
    section = Section("4. Overhead per operation on arrays of ten elements: value and gradient")
    notes = field.notes(FOR_OVERHEAD)
    rows = {kind.name: [kind.name] for kind in FOR_OVERHEAD}
    for case, make in CHAINS.items():
        workload = make()
        answer = workload.hand(workload.parameters, workload.data)
        runs = {Plain.name: Plain().run(workload)}
        for contestant in field.among(FOR_OVERHEAD):
            try:
                runs[contestant.name] = verified(contestant, workload, answer)
            except Exception as error:
                notes.append((contestant.name, failed(contestant, error)))
        timings = race(runs, plan.overhead)
        plain = timings.pop(Plain.name)
        overheads = {
            name: Timing(timing.best - plain.best, timing.median - plain.median, timing.rounds).per(
                workload.operations
            )
            for name, timing in timings.items()
        }
        section.data[case] = {name: asdict(timing) for name, timing in overheads.items()}
        section.data[case][Plain.name] = asdict(plain.per(workload.operations))
        for name, row in rows.items():
            row += _overhead_cells(section, overheads, name, case)
        notes.append((Plain.name, f"{_ns(plain.best / workload.operations)} ns per {case} one"))
    heads = [text for case in CHAINS for text in (f"{case}, ns", "ours/peer (medians)")]
    targets = [str(OVERHEAD_TARGETS.get(name, "")) for name in rows]
    section.table(
        ("CPU time above NumPy's", *heads, "target"),
        [(*row, target) for row, target in zip(rows.values(), targets, strict=True)],
    )
    section.notes(notes)
    return section


def _overhead_cells(
    section: Section, overheads: dict[str, Timing], name: str, case: str
) -> list[str]:
    if name not in overheads:
        return [NOTHING, NOTHING]
    ours, peer = overheads[ArrayOurs.name], overheads[name]
    ratio = ours.best / peer.best
    target = OVERHEAD_TARGETS.get(name)
    verdict = f" {section.judge(target, case, ratio)}" if target else ""
    return [_ns(peer.best), f"{digits(ratio)} ({digits(ours.median / peer.median)}){verdict}"]


def _ns(seconds: float) -> str:
    return f"{1e9 * seconds:.0f}"


# 5. Gradients of whole programs. ------------------------------------------------------------------


def gradient_section(case: str, number: str) -> Callable[[Field, Plan], Section]:
    """Return the section of one workload."""
    text, make = SIZED[case]

    def section_of(field: Field, plan: Plan) -> Section:
        section = Section(f"{number} Value and gradient: {text}")

        def runs_at(size: int) -> Callable[[ArrayContestant], ArrayRun]:
            workload = make(size)
            answer = workload.hand(workload.parameters, workload.data)
            return lambda contestant: verified(contestant, workload, answer)

        effort = plan.gradients
        timings, notes = race_by_size(field, plan.kinds, plan.sizes, runs_at, effort, "elements")
        section.data = {
            name: {str(size): asdict(timing) for size, timing in by_size.items()}
            for name, by_size in timings.items()
        }
        head = "ms of CPU time per call, best"
        size_tables(section, timings, plan.sizes, head, _ms, _gradient_target, case)
        left_out = [kind.name for kind in FOR_ARRAYS if kind not in plan.kinds]
        section.notes([*notes, *[(name, "not measured: slow to start") for name in left_out]])
        return section

    return section_of


def _ms(timing: Timing) -> str:
    return digits(1e3 * timing.best)


def _gradient_target(name: str, size: int) -> Target | None:
    if name == Autograd.name:
        return AGAINST_AUTOGRAD
    return AGAINST_HAND if name == "NumPy by hand" and size >= LARGE else None


# 6. Memory. ---------------------------------------------------------------------------------------


def peak_section(field: Field, plan: Plan) -> Section:
    """Weigh the most that a call needs at any time."""
    section = Section(f"6. Peak memory of value and gradient, {power_of_ten(plan.memory_size)}")
    notes: list[Note] = field.notes(FOR_PEAK)
    found: dict[str, dict[str, float]] = {}
    for contestant in field.among(FOR_PEAK):
        try:
            found[contestant.name] = memory.peaks(contestant.name, plan.memory_size)
        except RuntimeError as error:
            notes.append((contestant.name, failed(contestant, error)))
    section.data = dict(found)
    ours = found[ArrayOurs.name]
    rows = []
    for name, by_case in found.items():
        cells = []
        for case, peak in by_case.items():
            ratio = ours[case] / peak
            judged = name == Autograd.name
            verdict = f" {section.judge(PEAK_TARGET, case, ratio)}" if judged else ""
            cells.append(f"{peak / 1e6:.1f} ({digits(ratio)}){verdict}")
        rows.append((name, *cells, str(PEAK_TARGET) if name == Autograd.name else ""))
    rows += [(name, *[NOTHING] * len(SIZED), "") for name in absent_names(FOR_PEAK, found)]
    section.table(("MB, tracemalloc (ours/peer)", *SIZED, "target"), rows)
    section.notes([*notes, ("PyTorch; JAX", "tracemalloc does not see their arrays")])
    return section


SECTIONS = (
    overhead_section,
    *[gradient_section(case, f"5{letter}.") for case, letter in zip(SIZED, "abcd", strict=True)],
    peak_section,
)
