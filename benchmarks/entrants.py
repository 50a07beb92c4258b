"""Several ways of asking one question, some of them by the same library."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np

from contestants import Library, Ours
from field import Field, check_answer, failed
from measure import Timing
from report import NOTHING, Note, Section, Target, digits

Run = Callable[[], Any]


class Entrant(NamedTuple):
    """One way: as tables show it, the library it needs, and what makes the call that is timed."""

    name: str
    kind: type[Library]
    make: Callable[[Any], Run]
    read: Callable[[Any], Any] = np.asarray  # makes an array of an answer; not timed


class Entered(NamedTuple):
    """The runs that gave the right answer, the seconds until it, and why there are no others."""

    runs: dict[str, Run]
    seconds: dict[str, float]
    notes: list[Note]


def error(found: Any, wanted: Any) -> float:
    """Return the largest error relative to the largest number."""
    if found.shape != wanted.shape:
        return np.inf
    worst = np.max(np.abs(found - wanted))
    return np.inf if np.isnan(worst) else float(worst / np.max(np.abs(wanted)))


def entered(field: Field, entrants: Sequence[Entrant], answer: Any) -> Entered:
    """Prepare each entrant and have its answer checked."""
    runs: dict[str, Run] = {}
    seconds: dict[str, float] = {}
    notes: list[Note] = []
    for name, kind, make, read in entrants:
        if kind not in field.present:
            notes.append((name, field.absent[kind]))
            continue
        contestant = field.present[kind]
        try:
            begin = time.process_time()
            run = make(contestant)
            found = run()
            seconds[name] = time.process_time() - begin
            check_answer(name, error(read(found), np.asarray(answer)))
            runs[name] = run
        except Exception as problem:
            notes.append((name, failed(contestant, problem)))
    return Entered(runs, seconds, notes)


def ratio_table(
    section: Section,
    head: str,
    timings: dict[str, Timing],
    entrants: Sequence[Entrant],
    time_text: Callable[[float], str],
    targets: dict[str, Target],
    own: str = Ours.name,
) -> None:
    """Write the time of each, and ours beside it with the targets."""
    ours = timings[own]
    section.data.update({name: asdict(timing) for name, timing in timings.items()})
    rows = []
    for name, *_ in entrants:
        if name not in timings:
            rows.append((name, *[NOTHING] * 4, ""))
            continue
        timing = timings[name]
        best, median = ours.best / timing.best, ours.median / timing.median
        target = targets.get(name)
        verdict = f"{target} {section.judge(target, section.title, best)}" if target else ""
        times = map(time_text, (timing.best, timing.median))
        rows.append((name, *times, digits(best), digits(median), verdict))
    section.table((head, "best", "median", "ours/peer", "(by medians)", "target"), rows)
