"""Time and weigh this library against others. See README.md in this folder."""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from dataclasses import asdict, dataclass
from fractions import Fraction
from importlib import metadata
from pathlib import Path
from typing import Any

import memory
from contestants import FOR_GRAPHS, FOR_MEMORY, FOR_PAPER, ByHand, Contestant, Ours, Run
from measure import FEWEST_ROUNDS, Effort, Timing, deeply, one_thread, race
from report import NOTHING, Note, Section, Target, digits, power_of_ten
from workloads import Workload, chain, disagreement, layered, paper

TOLERANCE = 1e-9
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
    graphs=Effort(rounds=7, slice_s=0.05, budget_s=4.0),
    memory_operations=10**5,
)
QUICK = Plan(
    sizes=(10**3, 10**4),
    paper=Effort(rounds=7, slice_s=0.01, budget_s=0.5),
    graphs=Effort(rounds=5, slice_s=0.02, budget_s=1.5),
    memory_operations=10**4,
)


class Field:
    """The contestants that can be imported; why the others cannot."""

    def __init__(self) -> None:
        self.present: dict[str, Contestant] = {}
        self.absent: dict[str, str] = {}
        for kind in dict.fromkeys((*FOR_PAPER, *FOR_GRAPHS, *FOR_MEMORY)):
            try:
                self.present[kind.name] = kind()
            except ImportError as error:
                if kind.package == Ours.package:
                    raise
                missing = (error.name or "").partition(".")[0] == kind.package
                self.absent[kind.name] = "not installed" if missing else f"import failed: {error}"
            except Exception as error:  # a broken installation of a peer is no reason to stop
                self.absent[kind.name] = f"import failed: {error}"

    def among(self, kinds: list[type[Contestant]]) -> list[Contestant]:
        """Return the contestants of these kinds that are present."""
        return [self.present[kind.name] for kind in kinds if kind.name in self.present]

    def notes(self, kinds: list[type[Contestant]]) -> list[Note]:
        """Return the reasons why others are not."""
        return [(kind.name, self.absent[kind.name]) for kind in kinds if kind.name in self.absent]


class WrongAnswerError(AssertionError):
    """A contestant computes something else than the others, so its time means nothing."""


def verified(contestant: Contestant, workload: Workload) -> Run:
    """Return a run that has been seen to give the right answer."""
    run = contestant.run(workload.f, workload.point)
    answer = run()
    error = disagreement(answer, workload.answer)
    if not error <= TOLERANCE:
        raise WrongAnswerError(f"{contestant.name}: relative error {error:.1e} in {answer}")
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
    rows += [(name, *[NOTHING] * 5, "") for name in absent_names(field, FOR_PAPER, timings)]
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
    notes: list[Note] = field.notes(FOR_GRAPHS)
    per_node: dict[str, dict[int, Timing]] = {kind.name: {} for kind in FOR_GRAPHS}
    for size in plan.sizes:
        workload = make(size)
        runs: dict[str, Run] = {}
        for contestant in field.among(FOR_GRAPHS):
            smaller = list(per_node[contestant.name].values())
            reason = too_large(contestant, size, smaller, plan.graphs)
            if not reason:
                try:
                    runs[contestant.name] = verified(contestant, workload)
                except Exception as error:
                    reason = f"at {power_of_ten(size)} nodes {failed(contestant, error)}"
            if reason:
                notes.append((contestant.name, reason))
        for name, timing in race(runs, plan.graphs).items():
            per_node[name][size] = Timing(
                timing.best / workload.operations,
                timing.median / workload.operations,
                timing.rounds,
            )
    section.data = {
        name: {str(size): asdict(timing) for size, timing in timings.items()}
        for name, timings in per_node.items()
    }
    graph_tables(section, per_node, plan.sizes, graph)
    section.notes(notes)
    return section


def too_large(contestant: Contestant, size: int, smaller: list[Timing], effort: Effort) -> str:
    """Return why a contestant does not run at this size, or nothing."""
    if size > contestant.limit:
        return (
            f"not measured above {power_of_ten(contestant.limit)} nodes: {contestant.why_limited}"
        )
    if smaller and contestant.name != Ours.name:
        seconds = smaller[-1].best * size * FEWEST_ROUNDS
        if seconds > 3 * effort.budget_s:
            return (
                f"not measured at {power_of_ten(size)} nodes: {FEWEST_ROUNDS} rounds would take "
                f"{seconds:.0f} s"
            )
    return ""


def graph_tables(
    section: Section,
    per_node: dict[str, dict[int, Timing]],
    sizes: tuple[int, ...],
    graph: str,
) -> None:
    """Write the times per node, and the ratios."""
    heads = [power_of_ten(size) for size in sizes]
    times = []
    ratios = []
    ours = per_node[Ours.name]
    for name, timings in per_node.items():
        target = GRAPH_TARGETS.get(name)
        time_cells, ratio_cells = [], []
        for size, head in zip(sizes, heads, strict=True):
            if size not in timings:
                time_cells.append(NOTHING)
                ratio_cells.append(NOTHING)
                continue
            best, median = (
                ours[size].best / timings[size].best,
                ours[size].median / timings[size].median,
            )
            verdict = f" {section.judge(target, f'{graph} {head}', best)}" if target else ""
            time_cells.append(f"{1e9 * timings[size].best:.0f}")
            ratio_cells.append(f"{digits(best)} ({digits(median)}){verdict}")
        times.append((name, *time_cells))
        if name != Ours.name:
            ratios.append((name, *ratio_cells, str(target) if target else ""))
    section.table(("ns of CPU time per node, best", *heads), times)
    section.table(("ours/peer, best (by medians)", *heads, "target"), ratios)


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
    rows += [(name, NOTHING, NOTHING, "") for name in absent_names(field, FOR_MEMORY, found)]
    section.table(("bytes per node", "Python's (tracemalloc)", "process (RSS)", "target"), rows)
    outside = [name for name in memory.OUTSIDE_PYTHON if name in found]
    notes += [(name, "tracemalloc does not see a graph kept in C++") for name in outside]
    if any(numbers.resident is None for numbers in found.values()):
        notes.append(("RSS", "this system does not tell"))
    section.notes([*notes, ("JAX eager", "not measured at this size: too slow")])
    return section


# The whole report. --------------------------------------------------------------------------------


def whole(number: float | None) -> str:
    """Write a number of bytes."""
    return NOTHING if number is None else f"{number:.0f}"


def failed(contestant: Contestant, error: Exception) -> str:
    """Say that a peer failed. If this library did, or anyone is wrong, stop."""
    if isinstance(error, WrongAnswerError) or contestant.package == Ours.package:
        raise error
    return f"failed with {type(error).__name__}: {error}"


def absent_names(field: Field, kinds: list[type[Contestant]], found: Any) -> list[str]:
    """Return the names of contestants without a result."""
    return [kind.name for kind in kinds if kind.name not in found]


def environment(field: Field) -> dict[str, Any]:
    """Describe the machine and the versions."""
    versions = {}
    for kind in dict.fromkeys((*FOR_PAPER, *FOR_GRAPHS)):
        if kind.name in field.absent:
            versions[kind.package] = field.absent[kind.name]
        else:
            try:
                versions[kind.package] = kind.version()
            except metadata.PackageNotFoundError:
                versions[kind.package] = "not installed, on the path"
    return {
        "machine": f"{os.cpu_count()}-core {processor()}",
        "system": platform.system(),
        "python": platform.python_version(),
        "versions": versions,
    }


def processor() -> str:
    """Return the name of the processor."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def summary(sections: list[Section]) -> str:
    """Count the targets met, and name those missed."""
    verdicts = [verdict for section in sections for verdict in section.verdicts]
    missed = [verdict for verdict in verdicts if not verdict.met]
    lines = [f"{verdict}  {verdict.case}: {digits(verdict.number)}" for verdict in missed]
    return "\n".join([f"Targets: {len(verdicts) - len(missed)} met, {len(missed)} missed.", *lines])


def benchmark(plan: Plan, json_file: Path | None) -> None:
    """Measure everything; print each section as it is done."""
    begin = time.perf_counter()
    field = Field()
    about = environment(field)
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    print(f"Python {about['python']} on {about['system']}, {about['machine']}")
    print(f"{versions}\n")
    sections = []
    for make in (paper_section, chain_section, layered_section, memory_section):
        section = make(field, plan)
        sections.append(section)
        print(section, flush=True)
    print(summary(sections))
    print(f"({time.perf_counter() - begin:.0f} s)")
    if json_file:
        results = [
            {
                "title": section.title,
                "data": section.data,
                "verdicts": [asdict(verdict) for verdict in section.verdicts],
            }
            for section in sections
        ]
        json_file.write_text(json.dumps({**about, "sections": results}, indent=2) + "\n")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, few rounds")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the numbers here")
    options = parser.parse_args()
    one_thread()
    deeply(lambda: benchmark(QUICK if options.quick else FULL, options.json))


if __name__ == "__main__":
    main()
