"""Grade a class: every submission in a folder, and the most frequent misconceptions."""

from __future__ import annotations

import csv
import html
import io
import json
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from simpleautodiff.errors import ArgumentError
from simpleautodiff.learn.grading.grade import grade
from simpleautodiff.learn.grading.grade_report import Report
from simpleautodiff.learn.grading.mistakes import MISTAKES
from simpleautodiff.learn.grading.report_page import write_page


@dataclass(frozen=True)
class Submission:
    """One submission: its name, and its report, or why it could not be graded."""

    name: str
    report: Report | None
    refused: str = ""

    @property
    def ok(self) -> bool:
        """Whether it was graded and nothing is wrong."""
        return self.report is not None and self.report.ok

    @property
    def mistakes(self) -> tuple[str, ...]:
        """What is wrong with it."""
        return self.report.mistakes if self.report else ()

    @property
    def right(self) -> float:
        """The share of the graphs that are right."""
        cases = self.report.cases if self.report else {}
        return sum(cases.values()) / len(cases) if cases else 0.0


@dataclass(frozen=True)
class ClassReport:
    """All submissions of a folder; `str` writes the table."""

    folder: str
    submissions: tuple[Submission, ...]

    @property
    def counts(self) -> list[tuple[str, int]]:
        """The misconceptions, the most frequent first."""
        counted = Counter(name for one in self.submissions for name in one.mistakes)
        return sorted(counted.items(), key=lambda pair: (-pair[1], pair[0]))

    def to(self, format: str = "text") -> str:
        """Write the report as "text", "csv", "json" or "html"."""
        writers = {"text": _text, "csv": _csv, "json": _json, "html": _html}
        if format not in writers:
            raise ArgumentError(f"a class is written as {', '.join(writers)}, not {format!r}")
        return writers[format](self)

    def __str__(self) -> str:
        return self.to("text")

    def __repr__(self) -> str:
        return f"<ClassReport on {self.folder}: {len(self.submissions)} submissions>"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": str(self)}


def find_submissions(folder: str) -> list[tuple[str, str]]:
    """Return (name, path) of each submission: files in a folder, or one in each folder of it."""
    if not os.path.isdir(folder):
        raise ArgumentError(f"there is no folder {folder!r}")
    return sorted(_submissions(folder))


def _submissions(folder: str) -> Iterator[tuple[str, str]]:
    for entry in os.scandir(folder):
        if entry.is_file() and entry.name.endswith(".py") and not entry.name.startswith("_"):
            yield entry.name.removesuffix(".py"), entry.path
        elif entry.is_dir() and not entry.name.startswith((".", "_")):
            inner = sorted(name for name in os.listdir(entry.path) if name.endswith(".py"))
            inner = [name for name in inner if not name.startswith(("_", ".", "test_"))]
            if inner:
                name = "engine.py" if "engine.py" in inner else inner[0]
                yield entry.name, os.path.join(entry.path, name)


def grade_class(
    folder: str | os.PathLike[str],
    task: str = "",
    *,
    progress: Callable[[Any], Iterable[Any]] | None = None,
    **options: Any,
) -> ClassReport:
    """Grade every submission in a folder, each in a process of its own.

    Parameters
    ----------
    folder
        With a file for each learner, `ada.py`, or a folder for each with a file in it: `engine.py`,
        or else the first. No submission can read another one.
    task, options
        As for `grade`.
    progress
        Called with the submissions, returns them one after the other: a progress bar.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from simpleautodiff import learn
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "ada.py").write_text(learn.rung(3).text)
    >>> _ = (folder / "bob.py").write_text(learn.bugs.source("sign_of_sub"))
    >>> report = learn.grade_class(folder, "rules")
    >>> [(one.name, one.ok, one.mistakes) for one in report.submissions]
    [('ada', True, ()), ('bob', False, ('subtraction_sign',))]
    """
    found = find_submissions(os.fspath(folder))
    graded = []
    for name, path in progress(found) if progress else found:
        with _apart(path, os.fspath(folder)) as own:
            try:
                report = replace(grade(own, task, **options), name=path)
                graded.append(Submission(name, report))
            except ArgumentError as error:
                graded.append(Submission(name, None, str(error).removeprefix(f"{own} ")))
    return ClassReport(os.fspath(folder), tuple(graded))


@contextmanager
def _apart(path: str, folder: str) -> Iterator[str]:
    """Yield a file that is alone in its folder: a copy, if it shares the folder of the class."""
    if not os.path.samefile(os.path.dirname(path), folder):
        yield path
        return
    with tempfile.TemporaryDirectory() as own:
        yield shutil.copy(path, own)


def _status(one: Submission) -> str:
    if one.report is None:
        return one.refused
    return ", ".join(one.mistakes) or "nothing is wrong"


def _text(report: ClassReport) -> str:
    total = len(report.submissions)
    right = sum(one.ok for one in report.submissions)
    lines = [f"{report.folder}: {right} of {total} submissions are right", ""]
    width = max((len(one.name) for one in report.submissions), default=0)
    lines += [f"{o.name:{width}}  {o.right:4.0%}  {_status(o)}" for o in report.submissions]
    if report.counts:
        lines.append("")
    lines += [f"{count} of {total}: {name}. {MISTAKES[name].says}" for name, count in report.counts]
    return "\n".join(lines)


def _csv(report: ClassReport) -> str:
    names = [name for name, _ in report.counts]
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["name", "right", "ok", *names, "refused"])
    for one in report.submissions:
        marks = [int(name in one.mistakes) for name in names]
        writer.writerow([one.name, f"{one.right:.3f}", int(one.ok), *marks, one.refused])
    return stream.getvalue()


def _json(report: ClassReport) -> str:
    submissions = [
        {
            "name": one.name,
            "ok": one.ok,
            "right": one.right,
            "mistakes": list(one.mistakes),
            "refused": one.refused,
        }
        for one in report.submissions
    ]
    return json.dumps({"counts": dict(report.counts), "submissions": submissions}, indent=2)


def _html(report: ClassReport) -> str:
    right = sum(one.ok for one in report.submissions)
    rows = "<tr><th>submission</th><th>graphs right</th><th>what is wrong</th></tr>" + "".join(
        f"<tr><td>{html.escape(one.name)}</td><td class=share>{one.right:.0%}</td>"
        f"<td class={'green' if one.ok else 'red'}>{html.escape(_status(one))}</td></tr>"
        for one in report.submissions
    )
    counts = "".join(
        f"<h2>{html.escape(name)}: {count} of {len(report.submissions)}</h2>"
        f"<p>{html.escape(MISTAKES[name].says)}</p>"
        for name, count in report.counts
    )
    return write_page(
        os.path.basename(os.path.abspath(report.folder)),
        f"<p>{right} of {len(report.submissions)} submissions are right.</p>"
        f"<table class=class>{rows}</table>{counts}",
    )
