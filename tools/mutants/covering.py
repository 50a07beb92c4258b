"""Which tests run which line: measured once by coverage.py, with a context for each test, and kept.

Where a source has changed since, its lines are found again by what they say; what is new in it is
tried by the tests of its package. Tests that have changed are measured again.

As a plugin of pytest (`-p covering`) it writes how long each test that passes takes.
"""

import difflib
import hashlib
import json
import os
import sqlite3
import subprocess
import sys
from functools import cached_property, lru_cache
from pathlib import Path

import coverage.numbits
import pytest

from mutations import Scopes

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / ".mutants"
LINES = KEPT / "lines.sqlite"  # written by coverage.py
TIMES = KEPT / "times.json"  # test -> seconds
DIGESTS = KEPT / "digests.json"  # test file -> what it held when it was measured
SOURCES = KEPT / "sources.json"  # source file -> its lines when they were measured

# tests of what is built on these packages alone are slow, and notice little that others do not
UNMEASURED = "tests/program/test_accusations.py"  # every rule, by differences: half an hour traced
ROOMS = "core values rules arrays fast transforms program compiled autograd".split()  # noqa: SIM905


class _Times:
    """Keep the time of every test that passes; one that fails unchanged can find nothing."""

    def __init__(self, path: str) -> None:
        self.path = Path(path)
        self.seconds: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed:
            self.seconds[report.nodeid] = report.duration

    def pytest_sessionfinish(self) -> None:
        self.path.write_text(json.dumps(self.seconds))


def pytest_configure(config: pytest.Config) -> None:
    """Keep times where tests are started from, not in the workers of xdist."""
    path = os.environ.get("MUTANTS_TIMES")
    if path and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Times(path))


def _relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


def _digests(folder: Path) -> dict[str, str]:
    return {
        _relative(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*.py"))
    }


def _measure(tests: list[str], *, append: bool) -> dict[str, float]:
    times = KEPT / "new_times.json"
    options = ["--cov=src/simpleautodiff", "--cov-context=test", "--cov-report="]
    subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-n", "auto", "-p", "covering", *options),
            *("-p", "no:cacheprovider", "-m", "not browser and not gpu and not slow"),
            *("--ignore", UNMEASURED, *(["--cov-append"] if append else [])),
            *tests,
        ],
        cwd=ROOT,
        env=os.environ
        | {
            "COVERAGE_FILE": str(LINES),
            "MUTANTS_TIMES": str(times),
            "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), str(ROOT / "src")]),
        },
        check=False,  # tests of speed and memory may fail while lines are counted
    )
    seconds: dict[str, float] = json.loads(times.read_text())
    times.unlink()
    return seconds


class Covering:
    """The tests that run a line; with `anew` all are measured, or those that have changed."""

    def __init__(self, anew: bool = False) -> None:
        KEPT.mkdir(exist_ok=True)
        now = _digests(ROOT / "tests")
        self.seconds: dict[str, float] = {}
        if anew or not SOURCES.exists():
            LINES.unlink(missing_ok=True)
            sources = sorted((ROOT / "src").rglob("*.py"))
            lines = {_relative(path): path.read_text().splitlines() for path in sources}
            self.seconds = _measure([f"tests/{room}" for room in ROOMS], append=False)
            SOURCES.write_text(json.dumps(lines))
        else:
            before: dict[str, str] = json.loads(DIGESTS.read_text())
            changed = {path for path in now if before.get(path) != now[path]}
            self.seconds = {
                test: seconds
                for test, seconds in json.loads(TIMES.read_text()).items()
                if (path := test.partition("::")[0]) in now and path not in changed
            }
            chosen = [
                path
                for path in sorted(changed)
                if path.split("/")[1] in ROOMS and Path(path).name.startswith("test_")
            ]
            if chosen:
                self.seconds |= _measure(chosen, append=True)
        TIMES.write_text(json.dumps(self.seconds))
        DIGESTS.write_text(json.dumps(now))
        self.measured: dict[str, list[str]] = json.loads(SOURCES.read_text())

    @cached_property
    def _database(self) -> sqlite3.Connection:
        return sqlite3.connect(LINES)

    def tests(self, path: Path, scopes: Scopes) -> list[str]:
        """Give the tests that run a line of the first of these scopes that any test runs."""
        by_context = self._by_context(path)
        for first, last in scopes:
            lines = range(first, last + 1)
            found = {
                test
                for test, own in by_context
                if test in self.seconds and not own.isdisjoint(lines)
            }
            if found:
                return sorted(found, key=self.seconds.__getitem__)
        return []

    @lru_cache(maxsize=8)  # noqa: B019 - there is one of these, and it lives as long as the program
    def _by_context(self, path: Path) -> list[tuple[str, frozenset[int]]]:
        rows = self._database.execute(
            "select context.context, line_bits.numbits from line_bits"
            " join file on file.id = line_bits.file_id"
            " join context on context.id = line_bits.context_id where file.path like ?",
            (f"%/{_relative(path)}",),
        )
        moved = self._moved(path)
        return [
            (
                context.rpartition("|")[0],
                frozenset(
                    moved[line]
                    for line in coverage.numbits.numbits_to_nums(numbits)
                    if line in moved
                ),
            )
            for context, numbits in rows
        ]

    def _moved(self, path: Path) -> dict[int, int]:
        """Give where each line of a source that was measured is now."""
        before, now = self.measured.get(_relative(path), []), path.read_text().splitlines()
        blocks = difflib.SequenceMatcher(None, before, now, autojunk=False).get_matching_blocks()
        return {b.a + k + 1: b.b + k + 1 for b in blocks for k in range(b.size)}
