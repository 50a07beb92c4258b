"""The engine: single numbers, graphs of up to a million of them, and what a node weighs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from fractions import Fraction

import memory
from contestants import FOR_GRAPHS, FOR_MEMORY, FOR_PAPER, ByHand, Contestant, Ours, Run
from field import Field, absent_names, check_answer, failed, race_by_size, size_tables
from measure import Effort, Timing, race
from report import NOTHING, Note, Section, Target, digits, power_of_ten
from workloads import Workload, chain, disagreement, layered, paper

PAPER_TARGETS = {"autograd": Target("ours / autograd", Fraction(1, 10))}
GRAPH_TARGETS = {
    "micrograd": Target("ours / micrograd", Fraction(1, 3)),
    "PyTorch": Target("ours / PyTorch", Fraction(1, 10)),
}
MEMORY_TARGET = Target("bytes per node", Fraction(250))
GRAPHS = {
    "chain": ("a chain of y = y*x + x", chain),
    "layered": ("a random graph, in layers of sums and of products", layered),
}
KINDS = (*FOR_PAPER, *FOR_GRAPHS, *FOR_MEMORY)


@dataclass(frozen=True, slots=True)
class Plan:
    """How much to measure."""

    sizes: tuple[int, ...]
    paper: Effort
    graphs: Effort
    memory_operations: int


FULL = Plan(
    sizes=(10**3, 10**4, 10**5, 10**6),
    paper=Effort(rounds=31, slice_s=0.03, budget_s=3.0),
    graphs=Effort(rounds=7, slice_s=0.05, budget_s=4.0, longest_s=12.0),
    memory_operations=10**5,
)
QUICK = Plan(
    sizes=(10**3, 10**4),
    paper=Effort(rounds=7, slice_s=0.01, budget_s=0.5),
    graphs=Effort(rounds=5, slice_s=0.02, budget_s=1.5, longest_s=4.5),
    memory_operations=10**4,
)


def verified(contestant: Contestant, workload: Workload) -> Run:
    """Return a run that has been seen to give the right answer."""
    run = contestant.run(workload.f, workload.point)
    check_answer(contestant.name, disagreement(run(), workload.answer))
    return run


# 1. The paper's function. -------------------------------------------------------------------------


def paper_section(field: Field, plan: Plan) -> Section:
    """Time the value and gradient of log(x1) + x1*x2 - sin(x2)."""
    section = Section("1. Value and gradient of log(x1) + x1*x2 - sin(x2) at (2, 5)")
    runs: dict[str, Run] = {}
    notes = [*field.notes(FOR_PAPER), ("micrograd", "it has neither log nor sin")]
    for contestant in field.among(FOR_PAPER):
        try:
            runs[contestant.name] = verified(contestant, paper(contestant.log, contestant.sin))
        except Exception as error:
            notes.append((contestant.name, failed(contestant, error)))
    timings = race(runs, plan.paper)
    section.data = {name: asdict(timing) for name, timing in timings.items()}
    ours, by_hand = timings[Ours.name], timings[ByHand.name]
    rows = []
    for name, timing in timings.items():
        ratio = ours.best / timing.best
        target = PAPER_TARGETS.get(name)
        verdict = f"{target} {section.judge(target, 'the paper', ratio)}" if target else ""
        microseconds = (f"{1e6 * seconds:.1f}" for seconds in (timing.best, timing.median))
        ratios = (ratio, ours.median / timing.median, by_hand.best / timing.best)
        rows.append((name, *microseconds, *map(digits, ratios), verdict))
    rows += [(name, *[NOTHING] * 5, "") for name in absent_names(FOR_PAPER, timings)]
    section.table(
        (
            "µs of CPU time per call",
            "best",
            "median",
            "ours/peer",
            "(by medians)",
            "by hand/peer",
            "target",
        ),
        rows,
    )
    section.notes(notes)
    return section


# 2. Graphs of growing size. -----------------------------------------------------------------------


def chain_section(field: Field, plan: Plan) -> Section:
    """Time a chain."""
    return graph_section(field, plan, "chain", "2a.")


def layered_section(field: Field, plan: Plan) -> Section:
    """Time a random graph."""
    return graph_section(field, plan, "layered", "2b.")


def graph_section(field: Field, plan: Plan, graph: str, number: str) -> Section:
    """Time building a graph and sweeping it back, per node, at several sizes."""
    text, make = GRAPHS[graph]
    section = Section(f"{number} Build and reverse sweep, per node: {text}")
    operations: dict[int, int] = {}

    def runs_at(size: int) -> Callable[[Contestant], Run]:
        workload = make(size)
        operations[size] = workload.operations
        return lambda contestant: verified(contestant, workload)

    timings, notes = race_by_size(field, FOR_GRAPHS, plan.sizes, runs_at, plan.graphs, "nodes")
    per_node = {
        name: {size: timing.per(operations[size]) for size, timing in by_size.items()}
        for name, by_size in timings.items()
    }
    section.data = {
        name: {str(size): asdict(timing) for size, timing in by_size.items()}
        for name, by_size in per_node.items()
    }

    def nanoseconds(timing: Timing) -> str:
        return f"{1e9 * timing.best:.0f}"

    def target_of(name: str, size: int) -> Target | None:
        return GRAPH_TARGETS.get(name)

    head = "ns of CPU time per node, best"
    size_tables(section, per_node, plan.sizes, head, nanoseconds, target_of, graph)
    section.notes(notes)
    return section


# 3. Memory. ---------------------------------------------------------------------------------------


def memory_section(field: Field, plan: Plan) -> Section:
    """Weigh the record of one operation."""
    operations = plan.memory_operations
    section = Section(f"3. Memory per node of a chain of {power_of_ten(operations)} nodes")
    notes: list[Note] = field.notes(FOR_MEMORY)
    found: dict[str, memory.Memory] = {}
    for contestant in field.among(FOR_MEMORY):
        try:
            found[contestant.name] = memory.measure(contestant.name, operations)
        except RuntimeError as error:
            notes.append((contestant.name, failed(contestant, error)))
    section.data = {name: asdict(numbers) for name, numbers in found.items()}
    rows = []
    for name, numbers in found.items():
        verdict = ""
        if name.startswith(Ours.name) and numbers.traced is not None:
            verdict = f"{MEMORY_TARGET} {section.judge(MEMORY_TARGET, name, numbers.traced)}"
        rows.append((name, *map(whole, (numbers.traced, numbers.resident)), verdict))
    rows += [(name, NOTHING, NOTHING, "") for name in absent_names(FOR_MEMORY, found)]
    section.table(("bytes per node", "Python's (tracemalloc)", "process (RSS)", "target"), rows)
    outside = [name for name in memory.OUTSIDE_PYTHON if name in found]
    notes += [(name, "tracemalloc does not see a graph kept in C++") for name in outside]
    if any(numbers.resident is None for numbers in found.values()):
        notes.append(("RSS", "this system does not tell"))
    section.notes([*notes, ("JAX eager", "not measured at this size: too slow")])
    return section


def whole(number: float | None) -> str:
    """Write a number of bytes."""
    return NOTHING if number is None else f"{number:.0f}"


SECTIONS = (paper_section, chain_section, layered_section, memory_section)
