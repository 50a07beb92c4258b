"""The scoreboard: derivatives of GradBench's problems, ours beside those of others."""

from __future__ import annotations

import os
import warnings
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from contestants import Jax, Library, Ours
from entrants import error
from field import Field, check_answer
from gradbench import peers
from gradbench.once import elsewhere
from measure import Effort, Timing, race, settle
from report import NOTHING, Note, Section, Target, digits

os.environ["SIMPLEAUTODIFF_CACHE"] = "off"  # whatever is compiled here is compiled anew

KINDS: tuple[type[Library], ...] = (Ours, Jax)


@dataclass(frozen=True, slots=True)
class Plan:
    """How much to measure: of each problem, some of the suite's workloads."""

    effort: Effort
    workloads: dict[str, tuple[str, ...]]


FULL = Plan(
    Effort(rounds=9, slice_s=0.05, budget_s=1.0),
    {
        "hello": ("3.0",),
        "det": ("5", "7", "9"),
        "lse": ("n=2500", "n=80000", "n=1280000"),
        "llsq": ("n=16", "n=1024", "n=16392"),
        "ode": ("n=1000 s=100", "n=10000 s=100"),
        "kmeans": ("k=10 n=1000 d=8", "k=100 n=10000 d=8", "k=1000 n=10000 d=16"),
        "gmm": ("2_5_1000", "10_25_1000", "32_50_1000", "64_100_1000"),
        "lstm": ("l2_c1024", "l4_c4096"),
        "ba": ("ba1_n49_m7776_p31843", "ba4_n372_m47423_p204472"),
        "ht": ("complicated_small_c100", "complicated_big_c800"),
        "particle": ("w=0",),
        "saddle": ("start=[1, 1]",),
    },
)
QUICK = Plan(
    Effort(rounds=5, slice_s=0.01, budget_s=0.3),
    {
        "hello": ("3.0",),
        "det": ("5",),
        "lse": ("n=2500",),
        "llsq": ("n=16", "n=1024"),
        "ode": ("n=1000 s=10",),
        "kmeans": ("k=10 n=1000 d=8",),
        "gmm": ("2_5_1000", "10_25_1000"),
        "lstm": ("l2_c64",),
        "ba": ("ba1_n49_m7776_p31843",),
        "ht": ("complicated_small_c100",),
        "particle": ("w=0",),
        "saddle": ("start=[1, 1]",),
    },
)

GOALS: dict[str, Fraction] = {
    **dict.fromkeys(("hello", "det", "ba"), Fraction(92, 100)),
    **dict.fromkeys(("lse", "kmeans", "saddle", "particle"), Fraction(1, 2)),
    "llsq": Fraction(1),
    "llsq n=16": Fraction(1, 2),
    "gmm": Fraction(8, 10),
    "lstm": Fraction(1, 3),
    "ode": Fraction(10, 18),
    "ht": Fraction(10, 13),
}
BEST_FORM = ("llsq", "kmeans")  # the goal is for one way of writing it; elsewhere for each
TOP = Target("CPU time until nothing is faster, against JAX's compilation", Fraction(1))


@dataclass(slots=True)
class Row:
    """One way of one workload."""

    name: str
    description: str
    form: str
    timing: Timing
    jax: tuple[str, Timing] | None  # the best form, and its time
    others: dict[str, Timing]

    @property
    def case(self) -> str:
        """Name it as the tables do."""
        return " ".join(filter(None, (self.name, self.description, self.form)))


def measure(name: str, description: str, field: Field, plan: Plan) -> tuple[list[Row], list[Note]]:
    """Have all answers checked, then time them."""
    args = peers.workload(name, description)
    runs: dict[tuple[str, str], peers.Run] = {}
    own = peers.ours(name, args)
    runs |= {(peers.OURS, form): run for form, run in own.items()}
    if Jax in field.present:
        runs |= {(peers.JAX, form): run for form, run in peers.in_jax(name, args).items()}
    notes: list[Note] = []
    for who, run in peers.others(name, args):
        if callable(run):
            runs[who, ""] = run
        else:
            notes.append((who, run))
    reference: Any = None
    for (who, form), run in runs.items():
        if who == peers.OURS:
            settle(run)
        found = peers.numbers(run())
        reference = found if reference is None else reference
        wanted = np.max(np.abs(reference))
        wrong = error(found, reference) if wanted else float(np.max(np.abs(found)))
        check_answer(f"{name} {description}, {who} {form}", wrong)
    timings = race({str(key): run for key, run in runs.items()}, plan.effort)
    by_key = {key: timings[str(key)] for key in runs}
    modes = name in peers.MODES
    rows = []
    for form in own:
        jax = [(f, t) for (who, f), t in by_key.items() if who == peers.JAX]
        jax = [(f, t) for f, t in jax if f == form] if modes else jax
        best = min(jax, key=lambda pair: pair[1].best) if jax else None
        rest = {who: t for (who, _), t in by_key.items() if who in peers.OTHERS}
        rows.append(Row(name, description, form, by_key[peers.OURS, form], best, rest))
    return rows, notes


def sections(field: Field, plan: Plan) -> Section:
    """Time all problems."""
    made = Section("GradBench: derivatives, µs of CPU time per call")
    notes: list[Note] = [*field.notes(KINDS)]
    rows: list[Row] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is not compiled shows in its time
        for name, descriptions in plan.workloads.items():
            for description in descriptions:
                found, others = measure(name, description, field, plan)
                rows += found
                notes += [(f"{who}, {name} {description}", why) for who, why in others]
    made.table(
        ("best", peers.OURS, peers.JAX, "ours/JAX", "goal", *peers.OTHERS),
        [_cells(made, row, rows) for row in rows],
    )
    once = [_once(made, row) for row in rows if row.jax is not None and _is_first(row, rows)]
    head = ("in a new process: ours / JAX", "first call, s", "as fast as it gets, s", "ratio")
    made.table((*head, "memory, MB"), once)
    made.notes(notes)
    return made


def _is_first(row: Row, rows: list[Row]) -> bool:
    """Tell whether a row is the first of its workload."""
    return next(r for r in rows if (r.name, r.description) == (row.name, row.description)) is row


def _cells(made: Section, row: Row, rows: list[Row]) -> tuple[str, ...]:
    """Write one line of the first table, and record whether its goal is met."""
    made.data[row.case] = {peers.OURS: asdict(row.timing)}
    made.data[row.case] |= {who: asdict(timing) for who, timing in row.others.items()}
    others = [_us(row.others[who]) if who in row.others else NOTHING for who in peers.OTHERS]
    if row.jax is None:
        return (row.case, _us(row.timing), NOTHING, NOTHING, "", *others)
    made.data[row.case][peers.JAX] = asdict(row.jax[1])
    ratio = row.timing.best / row.jax[1].best
    same = [r.timing.best for r in rows if (r.name, r.description) == (row.name, row.description)]
    goal = GOALS.get(f"{row.name} {row.description}", GOALS[row.name])
    verdict = ""
    if row.name not in BEST_FORM or row.timing.best == min(same):
        target = Target("GradBench, against JAX", goal)
        verdict = f"{target} {made.judge(target, row.case, ratio)}"
    return (row.case, _us(row.timing), _us(row.jax[1]), digits(ratio), verdict, *others)


def _once(made: Section, row: Row) -> tuple[str, ...]:
    """Measure what happens once, in new processes."""
    assert row.jax is not None
    own = elsewhere(row.name, row.description, row.form, peers.OURS)
    jax = elsewhere(row.name, row.description, row.jax[0], peers.JAX)
    made.data[row.case]["once"] = {peers.OURS: own, peers.JAX: jax}
    pairs = {key: f"{digits(own[key])} / {digits(jax[key])}" for key in ("first", "top")}
    ratio = own["top"] / jax["top"]
    verdict = made.judge(TOP, row.case, ratio)
    memory = f"{own['memory']:.1f} / {jax['memory']:.1f}"
    return (row.case, pairs["first"], pairs["top"], f"{digits(ratio)} {verdict}", memory)


def _us(timing: Timing) -> str:
    return digits(1e6 * timing.best)


SECTIONS = (sections,)
