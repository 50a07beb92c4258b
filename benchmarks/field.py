"""Who takes part, who cannot and why, and who is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from contestants import Library, Ours
from measure import FEWEST_ROUNDS, Effort, Timing, race
from report import NOTHING, Note, Section, Target, digits, power_of_ten

TOLERANCE = 1e-9
Kind = TypeVar("Kind", bound=Library)
Timings = dict[str, dict[int, Timing]]  # contestant -> size -> seconds per call


class Field:
    """The contestants that can be imported; why the others cannot."""

    def __init__(self, kinds: Iterable[type[Library]]) -> None:
        self.kinds = list(dict.fromkeys(kinds))
        self.present: dict[type[Library], Library] = {}
        self.absent: dict[type[Library], str] = {}
        for kind in self.kinds:
            try:
                self.present[kind] = kind()
            except ImportError as error:
                if kind.package == Ours.package:
                    raise
                missing = (error.name or "").partition(".")[0] == kind.package
                self.absent[kind] = "not installed" if missing else f"import failed: {error}"
            except Exception as error:  # a broken installation of a peer is no reason to stop
                self.absent[kind] = f"import failed: {error}"

    def among(self, kinds: Sequence[type[Kind]]) -> list[Kind]:
        """Return the contestants of these kinds that are present."""
        return [self.present[kind] for kind in kinds if kind in self.present]  # type: ignore[misc]

    def notes(self, kinds: Sequence[type[Library]]) -> list[Note]:
        """Return the reasons why others are not."""
        return [(kind.name, self.absent[kind]) for kind in kinds if kind in self.absent]


class WrongAnswerError(AssertionError):
    """A contestant computes something else than the others, so its time means nothing."""


def check_answer(name: str, error: float) -> None:
    """Stop if the relative error of an answer is too large."""
    if not error <= TOLERANCE:
        raise WrongAnswerError(f"{name}: relative error {error:.1e}")


def failed(contestant: Library, error: Exception) -> str:
    """Say that a peer failed. If this library did, or anyone is wrong, stop."""
    if isinstance(error, WrongAnswerError) or contestant.package == Ours.package:
        raise error
    return f"failed with {type(error).__name__}: {error}"


def absent_names(kinds: Sequence[type[Library]], found: Any) -> list[str]:
    """Return the names of contestants without a result."""
    return [kind.name for kind in kinds if kind.name not in found]


# One question at several sizes. -------------------------------------------------------------------


def race_by_size(
    field: Field,
    kinds: Sequence[type[Kind]],
    sizes: tuple[int, ...],
    runs_at: Callable[[int], Callable[[Kind], Callable[[], object]]],
    effort: Effort,
    unit: str,
) -> tuple[Timings, list[Note]]:
    """Time contestants against each other at each size; also return why some were left out.

    `runs_at(size)` gives the function that makes a contestant's run and checks its answer.
    """
    timings: Timings = {kind.name: {} for kind in kinds}
    notes = field.notes(kinds)
    for size in sizes:
        make_run = runs_at(size)
        runs = {}
        for contestant in field.among(kinds):
            reason = _too_large(contestant, size, timings[contestant.name], effort, unit)
            if not reason:
                try:
                    runs[contestant.name] = make_run(contestant)
                except Exception as error:
                    reason = f"at {power_of_ten(size)} {unit} {failed(contestant, error)}"
            if reason:
                notes.append((contestant.name, reason))
        for name, timing in race(runs, effort).items():
            timings[name][size] = timing
    return timings, notes


def _too_large(
    contestant: Library, size: int, smaller: dict[int, Timing], effort: Effort, unit: str
) -> str:
    """Return why a contestant does not run at this size, or nothing."""
    if size > contestant.limit:
        return (
            f"not measured above {power_of_ten(contestant.limit)} {unit}: {contestant.why_limited}"
        )
    if smaller and contestant.package != Ours.package:
        last = max(smaller)
        seconds = smaller[last].best * size / last * FEWEST_ROUNDS
        if seconds > effort.longest_s:
            return (
                f"not measured at {power_of_ten(size)} {unit}: {FEWEST_ROUNDS} rounds would take "
                f"{seconds:.0f} s"
            )
    return ""


def size_tables(
    section: Section,
    timings: Timings,
    sizes: tuple[int, ...],
    time_head: str,
    time_text: Callable[[Timing], str],
    target_of: Callable[[str, int], Target | None],
    case: str,
) -> None:
    """Write the times, and the ratios beside their targets."""
    heads = [power_of_ten(size) for size in sizes]
    times, ratios = [], []
    ours = timings[Ours.name]
    for name, by_size in timings.items():
        time_cells, ratio_cells = [], []
        for size, head in zip(sizes, heads, strict=True):
            if size not in by_size:
                time_cells.append(NOTHING)
                ratio_cells.append(NOTHING)
                continue
            peer, own = by_size[size], ours[size]
            best, median = own.best / peer.best, own.median / peer.median
            target = target_of(name, size)
            verdict = f" {section.judge(target, f'{case} {head}', best)}" if target else ""
            time_cells.append(time_text(peer))
            ratio_cells.append(f"{digits(best)} ({digits(median)}){verdict}")
        target = target_of(name, sizes[-1])
        times.append((name, *time_cells))
        if name != Ours.name:
            ratios.append((name, *ratio_cells, str(target) if target else ""))
    section.table((time_head, *heads), times)
    section.table(("ours/peer, best (by medians)", *heads, "target"), ratios)
