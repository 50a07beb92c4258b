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
from measure import Effort, Timing
from report import NOTHING, Section, Target, digits, power_of_ten
from workloads import F, Point, Workload, disagreement, layered

RUN_TARGET = Target("compiled gradient, ns a node", Fraction(7))
COMPILE_TARGET = Target("compiling quickly, µs a node", Fraction(40))
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
        self.seconds: dict[int, float] = {}  # until the code was there, by number of nodes

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


def graph_section(field: Field, sizes: tuple[int, ...], effort: Effort) -> Section:
    """Time the gradient of a random graph by tier, beside CasADi's."""
    section = Section("9. Gradient of a random graph of sums and products, per node")
    operations: dict[int, int] = {}

    def runs_at(size: int) -> Callable[[Contestant], Run]:
        workload = layered(size)
        operations[size] = workload.operations

        def verified(contestant: Contestant) -> Run:
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
    size_tables(section, per_node, sizes, head, _ns, target_of, "layers")
    _absolute(section, per_node[Jitted.name], sizes)
    making_table(section, field.present[Jitted], sizes)
    section.notes([*notes, ("JAX jit", "not measured: compiling 10^3 nodes takes half a minute")])
    return section


def _ns(timing: Timing) -> str:
    return digits(1e9 * timing.best)


def _absolute(section: Section, ours: dict[int, Timing], sizes: tuple[int, ...]) -> None:
    cells = []
    for size in sizes:
        number = 1e9 * ours[size].best
        judged = size <= LARGEST_COMPILED
        verdict = section.judge(RUN_TARGET, power_of_ten(size), number) if judged else NOTHING
        cells.append(f"{digits(number)} {verdict}")
    heads = [power_of_ten(size) for size in sizes]
    section.table((f"{RUN_TARGET.what}, {RUN_TARGET}", *heads), [(Ours.name, *cells)])


def making_table(section: Section, ours: Any, sizes: tuple[int, ...]) -> None:
    """Say what it takes to compile a graph quickly, and to record and sweep it each time."""
    rows: dict[Target, list[str]] = {COMPILE_TARGET: [], RECORD_TARGET: []}
    for size in sizes:
        workload = layered(size)
        found = {
            COMPILE_TARGET: _compile_us(ours.ad, workload) if size <= LARGEST_COMPILED else None,
            RECORD_TARGET: _record_us(ours.ad, workload),
        }
        for target, number in found.items():
            text = NOTHING
            if number is not None:
                verdict = section.judge(target, power_of_ten(size), number)
                text = f"{digits(number)} {verdict}"
                section.data.setdefault(target.what, {})[str(size)] = number
            rows[target].append(text)
    heads = [power_of_ten(size) for size in sizes]
    cells = [(target.what, *texts, str(target)) for target, texts in rows.items()]
    section.table(("CPU time", *heads, "target"), cells)


def _compile_us(ad: Any, workload: Workload) -> float:
    """Return the microseconds per node from nothing to quick code, recording included."""
    both = ad.value_and_grad(workload.f, tuple(range(len(workload.point))))
    best = float("inf")
    for _ in range(2):
        jitted = ad.jit(both, tier="cheap")
        begin = time.process_time()
        jitted(*workload.point)
        jitted(*workload.point)
        best = min(best, time.process_time() - begin)
    return 1e6 * best / workload.operations


def _record_us(ad: Any, workload: Workload) -> float:
    """Return the microseconds per node of an eager gradient."""
    both = ad.value_and_grad(workload.f, tuple(range(len(workload.point))))
    best = float("inf")
    for _ in range(3 if workload.operations > LARGEST_COMPILED else 7):
        begin = time.process_time()
        both(*workload.point)
        best = min(best, time.process_time() - begin)
    return 1e6 * best / workload.operations
