"""Targets, and tables of text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

NOTHING = "-"


@dataclass(frozen=True, slots=True)
class Target:
    """What the project promises: a number is at most `limit`."""

    what: str
    limit: Fraction

    def __str__(self) -> str:
        short = self.limit.numerator == 1 or self.limit.denominator == 1
        return f"<= {self.limit if short else round(float(self.limit), 3)}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether one measured number meets its target."""

    case: str
    number: float
    limit: float
    met: bool

    def __str__(self) -> str:
        return "PASS" if self.met else "MISS"


Note = tuple[str, str]  # who, and what there is to say


@dataclass(slots=True)
class Section:
    """The tables, remarks and verdicts of one question; `data` is the same for programs."""

    title: str
    lines: list[str] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    data: dict[str, Any] = field(default_factory=dict)

    def table(self, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """Add a table: the first column to the left, numbers to the right."""
        cells = [list(header), *map(list, rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        rule = ["-" * width for width in widths]
        for row in (cells[0], rule, *cells[1:]):
            first, *others = zip(row, widths, strict=True)
            aligned = [first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]
            self.lines.append("  ".join(aligned).rstrip())
        self.lines.append("")

    def notes(self, notes: Iterable[Note]) -> None:
        """Add the reasons for what a table leaves out, those who share one together."""
        by_text: dict[str, list[str]] = {}
        for who, text in dict.fromkeys(notes):
            by_text.setdefault(text, []).append(who)
        if by_text:
            self.lines += [f"{NOTHING} {'; '.join(who)}: {text}" for text, who in by_text.items()]
            self.lines.append("")

    def judge(self, target: Target, case: str, number: float) -> Verdict:
        """Record and return whether a target is met."""
        case = f"{target.what} {target}, {case}"
        verdict = Verdict(case, number, float(target.limit), number <= target.limit)
        self.verdicts.append(verdict)
        return verdict

    def __str__(self) -> str:
        return "\n".join([self.title, "=" * len(self.title), "", *self.lines])


def power_of_ten(number: int) -> str:
    """Write 1000 as 10^3."""
    exponent = len(str(number)) - 1
    return f"10^{exponent}" if number == 10**exponent else str(number)


def digits(number: float) -> str:
    """Write a number with three digits, and without an exponent."""
    return f"{number:.0f}" if number >= 100 else f"{number:#.3g}"
