"""Graphs of single numbers, compiled: what a node costs to run, to compile and to record."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict
from fractions import Fraction
from typing import Any

import numpy as np

from contestants import Casadi, Contestant, Ours, Run
from field import Field, check_answer, race_by_size, size_tables
from fresh import making
from measure import Effort, Timing
from mixed import mixed_graph
from report import NOTHING, Section, Target, digits, power_of_ten
from workloads import F, Point, Workload, disagreement, layered

RUN_TARGET = Target("compiled gradient, ns a node", Fraction(7))
COMPILE_TARGET = Target("compiling quickly, µs a node", Fraction(40))
RECORDED = "the same with recording the program"
RECORD_TARGET = Target("recording and reverse sweep, µs a node", Fraction(1))
AGAINST_CASADI = Target("compiled gradient, ours / CasADi", Fraction(1))
LARGEST_COMPILED = 10**5  # nodes
HOT = 66  # calls: more change nothing


class Graph(Contestant):
    """A way of computing the gradient of a graph that is known."""

    limit = 10**6


class Jitted(Graph, Ours):
    """`jit(grad(f))` as it is after many calls."""

    tier: str | None = None

    def __init__(self) -> None:
        super().__init__()
        self.exp = self.ad.exp

    def run(self, f: F, point: Point) -> Run:
        jitted = self.ad.jit(self.ad.value_and_grad(f, tuple(range(len(point)))), tier=self.tier)
        for _ in range(3 if self.tier else HOT):
            jitted(*point)
        jitted.wait()
        return lambda: jitted(*point)


class Tape(Jitted):
    name, tier = "the tape machine", "tape"


class Cheap(Jitted):
    name, tier = "compiled quickly", "cheap"
    limit = LARGEST_COMPILED
    why_limited = "straight code is no faster there"


class Optimised(Jitted):
    name, tier = "compiled well", "optimised"
    limit = 10**3
    why_limited = "compiling well takes too long"


class CasadiGraph(Graph, Casadi):
    """CasADi's SX graph, built before; evaluated from one array into another."""

    limit = 10**6

    def __init__(self) -> None:
        super().__init__()
        self.exp = self.casadi.exp

    def run(self, f: F, point: Point) -> Run:
        casadi = self.casadi
        x = casadi.SX.sym("x", len(point))
        y = f(*casadi.vertsplit(x))
        built = casadi.Function("f", [x], [y, casadi.gradient(y, x)])
        buffer, evaluate = built.buffer()
        given, value, gradient = np.array(point), np.zeros(1), np.zeros(len(point))
        buffer.set_arg(0, memoryview(given))
        buffer.set_res(0, memoryview(value))
        buffer.set_res(1, memoryview(gradient))

        def run() -> Any:
            evaluate()
            return value[0], gradient, (given, buffer)  # which have to live

        return run


OF_GRAPHS: list[type[Contestant]] = [Jitted, Tape, Cheap, Optimised, CasadiGraph]
KINDS = (*OF_GRAPHS,)


def layers(size: int, contestant: Any) -> Workload:
    """Return a random graph of sums and products."""
    return layered(size)


def mixed(size: int, contestant: Any) -> Workload:
    """Return a random graph with a sine, an exponential and a quotient in each ten nodes."""
    return mixed_graph(size, contestant.sin, contestant.exp)


def graph_section(
    title: str,
    make: Callable[[int, Any], Workload],
    field: Field,
    sizes: tuple[int, ...],
    effort: Effort,
) -> Section:
    """Time the gradient of a random graph by tier, beside CasADi's."""
    section = Section(title)
    operations: dict[int, int] = {}

    def runs_at(size: int) -> Callable[[Contestant], Run]:
        def verified(contestant: Contestant) -> Run:
            workload = make(size, contestant)
            operations[size] = workload.operations
            run = contestant.run(workload.f, workload.point)
            check_answer(contestant.name, disagreement(run()[:2], workload.answer))
            return run

        return verified

    timings, notes = race_by_size(field, OF_GRAPHS, sizes, runs_at, effort, "nodes")
    per_node = {
        name: {size: timing.per(operations[size]) for size, timing in by_size.items()}
        for name, by_size in timings.items()
    }
    section.data = {
        name: {str(size): asdict(timing) for size, timing in by_size.items()}
        for name, by_size in per_node.items()
    }

    def target_of(name: str, size: int) -> Target | None:
        return AGAINST_CASADI if name == CasadiGraph.name else None

    head = "ns of CPU time per node, best"
    size_tables(section, per_node, sizes, head, _ns, target_of, make.__name__)
    _absolute(section, per_node[Jitted.name], sizes, make.__name__)
    making_table(section, field.present[Jitted], sizes, make)
    section.notes([*notes, ("JAX jit", "not measured: compiling 10^3 nodes takes half a minute")])
    return section


def _ns(timing: Timing) -> str:
    return digits(1e9 * timing.best)


def _absolute(section: Section, ours: dict[int, Timing], sizes: tuple[int, ...], case: str) -> None:
    cells = []
    for size in sizes:
        number = 1e9 * ours[size].best
        judged = size <= LARGEST_COMPILED
        verdict: Any = (
            section.judge(RUN_TARGET, f"{case} {power_of_ten(size)}", number) if judged else NOTHING
        )
        cells.append(f"{digits(number)} {verdict}")
    heads = [power_of_ten(size) for size in sizes]
    section.table((f"{RUN_TARGET.what}, {RUN_TARGET}", *heads), [(Ours.name, *cells)])


def making_table(
    section: Section, ours: Any, sizes: tuple[int, ...], make: Callable[..., Workload]
) -> None:
    """Say what it takes to compile a graph quickly, and to record and sweep it each time."""
    rows: dict[str, list[str]] = {}
    for size in sizes:
        workload = make(size, ours)
        compiled, whole = (None, None)
        if size <= LARGEST_COMPILED:
            compiled, whole = _compile_us(ours.ad, workload)
        recorded = _record_us(ours.ad, workload)
        for what, target, number in (
            (COMPILE_TARGET.what, COMPILE_TARGET, compiled),
            (RECORDED, None, whole),
            (RECORD_TARGET.what, RECORD_TARGET, recorded),
        ):
            cell = NOTHING if number is None else digits(number)
            if target and number is not None:
                cell += f" {section.judge(target, f'{make.__name__} {power_of_ten(size)}', number)}"
            rows.setdefault(what, []).append(cell)
            section.data.setdefault(what, {})[str(size)] = number
    targets = {target.what: str(target) for target in (COMPILE_TARGET, RECORD_TARGET)}
    heads = [power_of_ten(size) for size in sizes]
    cells = [(what, *texts, targets.get(what, "")) for what, texts in rows.items()]
    section.table(("CPU time", *heads, "target"), cells)


def _compile_us(ad: Any, workload: Workload) -> tuple[float, float]:
    """Return the microseconds per node of making quick code: alone, and from nothing."""
    both = ad.value_and_grad(workload.f, tuple(range(len(workload.point))))
    found = []
    for _ in range(2):
        jitted = ad.jit(both, tier="cheap")
        with making() as made:
            begin = time.process_time()
            jitted(*workload.point)
            jitted(*workload.point)
            whole = time.process_time() - begin
        found.append((1e3 * sum(made) / workload.operations, 1e6 * whole / workload.operations))
    return min(found)


def _record_us(ad: Any, workload: Workload) -> float:
    """Return the microseconds per node of an eager gradient."""
    both = ad.value_and_grad(workload.f, tuple(range(len(workload.point))))
    best = float("inf")
    for _ in range(3 if workload.operations > LARGEST_COMPILED else 7):
        begin = time.process_time()
        both(*workload.point)
        best = min(best, time.process_time() - begin)
    return 1e6 * best / workload.operations
