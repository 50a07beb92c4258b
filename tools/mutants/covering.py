"""Which tests run which line: measured once, test by test, with `sys.monitoring`, and kept.

Where a source has changed since, its lines are found again by what they say; what is new in it is
tried by the tests of its package. Tests that have changed are measured again. Folders of tests are
measured one after the other, so that what was measured before an interruption is not lost.

As a plugin of pytest (`-p covering`) it writes which lines each test that passes runs, and how long
it takes.
"""

import difflib
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

from mutations import Scopes

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = str(ROOT / "src" / "simpleautodiff")
KEPT = ROOT / ".mutants"

# tests of what is built on these packages alone are slow, and notice little that others do not
UNMEASURED = "tests/program/test_accusations.py"  # every rule, by differences: half an hour traced
ROOMS = "core values rules arrays fast transforms program compiled autograd".split()  # noqa: SIM905
ROOMS += [f"src/simpleautodiff/{name}" for name in ROOMS]


class _Lines:
    """Write into the report of each test which lines of the library it runs, as bits of a number.

    A line reports once in each test: after that it runs as fast as if nobody looked.
    """

    def __init__(self) -> None:
        self.seen: dict[str, int] = {}
        self.disable = sys.monitoring.DISABLE
        tool, events = sys.monitoring.COVERAGE_ID, sys.monitoring.events
        sys.monitoring.use_tool_id(tool, "mutants")
        sys.monitoring.register_callback(tool, events.LINE, self._see)
        sys.monitoring.register_callback(tool, events.PY_START, self._see_start)
        sys.monitoring.set_events(tool, events.LINE | events.PY_START)

    def _see(self, code: CodeType, line: int) -> object:
        name = code.co_filename
        if PACKAGE and name.startswith(PACKAGE):  # no global name is left when Python ends
            self.seen[name] = self.seen.get(name, 0) | 1 << line
        return self.disable

    def _see_start(self, code: CodeType, _offset: int) -> object:
        return self._see(code, code.co_firstlineno)  # a lambda on one line has no line of its own

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        self.seen.clear()
        sys.monitoring.restart_events()
        before = _seconds()
        result = yield
        item.user_properties.append(("seconds", _seconds() - before))
        lines = {name[len(str(ROOT)) + 1 :]: hex(bits) for name, bits in self.seen.items()}
        item.user_properties.append(("lines", lines))
        return result


class _Writer:
    """Write down what the reports of tests that pass say; one that fails can find nothing."""

    def __init__(self, path: str) -> None:
        self.path = Path(path)
        self.seconds: dict[str, float] = {}
        self.runs: dict[str, dict[str, str]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        measured: dict[str, Any] = dict(report.user_properties)
        if report.when == "call" and report.passed and "lines" in measured:
            self.seconds[report.nodeid] = measured["seconds"]
            self.runs[report.nodeid] = measured["lines"]

    def pytest_sessionfinish(self) -> None:
        self.path.write_text(json.dumps([self.seconds, self.runs]))


def _seconds() -> float:
    """Return what this process has used of a processor, and the processes that it waited for."""
    return sum(os.times()[:4])


def pytest_configure(config: pytest.Config) -> None:
    """Look on where tests run, and write where they are started from: workers of xdist report."""
    path = os.environ.get("MUTANTS_LINES")
    if not path:
        return
    is_worker = hasattr(config, "workerinput")
    if is_worker or not config.getoption("numprocesses", None):
        config.pluginmanager.register(_Lines())
    if not is_worker:
        config.pluginmanager.register(_Writer(path))


def _relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _measure(
    tests: Sequence[str], jobs: int, cases: int | None
) -> tuple[dict[str, float], dict[str, dict[str, str]]]:
    """Run tests; give the seconds of each that passes, and the lines it runs."""
    found = KEPT / f"measuring-{os.getpid()}.json"
    many = ["-n", str(jobs)] if jobs > 1 else []
    few = ["--cases", str(cases)] if cases else []
    subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", *many, *few, "-p", "covering"),
            *("-p", "no:cacheprovider", "-m", "not browser and not gpu and not slow"),
            *("--ignore", UNMEASURED, *tests),
        ],
        cwd=ROOT,
        env=os.environ
        | {
            "MUTANTS_LINES": str(found),
            "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), str(ROOT / "src")]),
        },
        check=False,  # tests of speed and memory may fail while lines are counted
    )
    seconds, runs = json.loads(found.read_text())
    found.unlink()
    return seconds, runs


class _Room:
    """What was measured of one folder of tests, or of one file, on one engine."""

    def __init__(self, name: str, cases: int | None) -> None:
        if name.startswith("src/"):  # whose examples are the tests
            self.tests, self.pattern, self.cases = ROOT / name, "*.py", None
        else:
            self.tests, self.pattern, self.cases = ROOT / "tests" / name, "test_*.py", cases
        engine, few = os.environ.get("SIMPLEAUTODIFF_ENGINE"), str(self.cases or "")
        parts = [*name.split("/"), engine, few]
        self.path = KEPT / ("-".join(filter(None, parts)) + ".json")
        kept = json.loads(self.path.read_text()) if self.path.exists() else [{}, {}, {}, {}]
        self.digests, self.seconds, self.runs, self.sources = kept

    def measure(self, jobs: int, *, anew: bool) -> None:
        """Measure the tests that have changed, or all."""
        self._follow_sources()
        files = sorted(self.tests.rglob(self.pattern)) if self.tests.is_dir() else [self.tests]
        now = {_relative(path): _digest(path) for path in files}
        changed = [path for path in now if anew or self.digests.get(path) != now[path]]
        for kept in (self.seconds, self.runs):
            for test in list(kept):
                if (path := test.partition("::")[0]) not in now or path in changed:
                    del kept[test]
        if not changed:
            return
        seconds, runs = _measure(changed, jobs, self.cases)
        self.seconds |= seconds
        self.runs |= runs
        self.digests = now
        self.path.write_text(
            json.dumps([self.digests, self.seconds, self.runs, self.sources], separators=(",", ":"))
        )

    def _follow_sources(self) -> None:
        """Let what was measured before speak of lines as they are numbered now."""
        for source in sorted((ROOT / "src").rglob("*.py")):
            name, now = _relative(source), source.read_text().splitlines()
            before = self.sources.get(name, now)
            self.sources[name] = now
            if before != now:
                moved = _moved(before, now)
                for lines in self.runs.values():
                    if name in lines:
                        kept = [moved[line] for line in _lines(lines[name]) if line in moved]
                        lines[name] = hex(sum(1 << line for line in kept))


class Covering:
    """The tests that run a line; with `anew` all are measured, or those that have changed."""

    def __init__(
        self, rooms: Sequence[str], jobs: int, *, cases: int | None = None, anew: bool = False
    ) -> None:
        KEPT.mkdir(exist_ok=True)
        self.rooms = [_Room(name, cases) for name in rooms]
        for room in self.rooms:
            room.measure(jobs, anew=anew)
        self.seconds = {test: spent for room in self.rooms for test, spent in room.seconds.items()}

    def tests(self, path: Path, scopes: Scopes) -> list[str]:
        """Give the tests that run a line of the first of these scopes that any test runs."""
        runs = self._runs(path)
        for first, last in scopes:
            lines = range(first, last + 1)
            found = {
                test for test, own in runs if test in self.seconds and not own.isdisjoint(lines)
            }
            if found:
                return sorted(found, key=self.seconds.__getitem__)
        return []

    @lru_cache(maxsize=8)  # noqa: B019 - there is one of these, and it lives as long as the program
    def _runs(self, path: Path) -> list[tuple[str, frozenset[int]]]:
        name = _relative(path)
        as_lines = lru_cache(None)(_lines)
        return [
            (test, as_lines(bits[name]))
            for room in self.rooms
            for test, bits in room.runs.items()
            if name in bits
        ]


def _lines(bits: str) -> frozenset[int]:
    return frozenset(k for k, bit in enumerate(reversed(bin(int(bits, 16)))) if bit == "1")


def _moved(before: list[str], now: list[str]) -> dict[int, int]:
    """Give where each line of a source that was measured is now."""
    blocks = difflib.SequenceMatcher(None, before, now, autojunk=False).get_matching_blocks()
    return {b.a + k + 1: b.b + k + 1 for b in blocks for k in range(b.size)}
