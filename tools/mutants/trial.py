"""Try a mutant: in a fork of this process, import it in place of its module and run a few tests."""

import ast
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, ModuleType

import pytest

from covering import ROOT

SOURCES = ROOT / "src"
MEMORY = 12 * 2**30  # bytes; a mutant may ask for any amount
ALREADY = (  # what most tests import, once for all forks; nothing of the library itself
    *("numpy", "scipy.linalg", "scipy.special", "scipy.stats", "scipy.signal", "scipy.ndimage"),
    *("scipy.optimize", "scipy.integrate", "scipy.sparse.linalg", "hypothesis", "mpmath", "sympy"),
    *("llvmlite.binding", "autograd.numpy", "array_api_compat", "array_api_strict", "jax.numpy"),
)


class _Importer(importlib.abc.MetaPathFinder, importlib.machinery.SourceFileLoader):
    """Give a changed tree where the module is imported."""

    def __init__(self, path: Path, tree: ast.Module) -> None:
        parts = path.relative_to(SOURCES).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        super().__init__(name, str(path))
        self.tree = tree

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != self.name:
            return None
        return importlib.util.spec_from_file_location(name, self.path, loader=self)

    def get_code(self, fullname: str) -> CodeType:
        return compile(self.tree, self.path, "exec")


class Chosen:
    """Run these tests alone, in this order, and keep which of them failed."""

    def __init__(self, tests: Sequence[str]) -> None:
        self.rank = {test: k for k, test in enumerate(tests)}
        self.failed: list[str] = []
        self.passed = 0

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep and order the chosen ones."""
        items[:] = sorted(
            (item for item in items if item.nodeid in self.rank),
            key=lambda item: self.rank[item.nodeid],
        )

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count a test."""
        if report.failed:
            self.failed.append(report.nodeid)
        elif report.when == "call" and report.passed:
            self.passed += 1

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note a file that cannot be imported."""
        if report.failed:
            self.failed.append(f"importing {report.nodeid}")


@dataclass(frozen=True)
class Outcome:
    """What the tests said."""

    failed: str  # the test that failed, or "" where all passed
    passed: int


@dataclass
class Trial:
    """A fork that runs tests; `outcome` when it has ended."""

    pid: int
    folder: Path
    until: float

    def outcome(self) -> Outcome | None:
        """Give what the tests said, or None while they run."""
        late = time.monotonic() > self.until
        if late:
            os.killpg(self.pid, signal.SIGKILL)
        ended, status = os.waitpid(self.pid, 0 if late else os.WNOHANG)
        if not ended:
            return None
        try:
            answer = json.loads((self.folder / "answer.json").read_text())
            outcome = Outcome(*answer)
        except (OSError, ValueError):
            late = late or status in (signal.SIGXCPU, signal.SIGKILL)
            died = f"the process died, status {status}" if status else ""
            outcome = Outcome("out of time" if late else died, 0)
        shutil.rmtree(self.folder, ignore_errors=True)
        return outcome


def import_beforehand() -> None:
    """Import what most tests need, so that no fork has to."""
    os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = tempfile.gettempdir() + "/mutants-hypothesis"
    for name in ALREADY:
        importlib.import_module(name)
    warnings.filterwarnings("ignore", "os.fork", RuntimeWarning)  # JAX has started no thread yet
    for path in (SOURCES, ROOT / "tests" / "helpers"):
        sys.path.insert(0, str(path))
    os.chdir(ROOT)


def start_trial(
    path: Path | None, tree: ast.Module | None, tests: Sequence[str], seconds: float
) -> Trial:
    """Fork, and in the fork run these tests on the changed module, or on the unchanged library.

    It may take that many seconds of a processor; on a busy machine that is longer.
    """
    return fork(lambda folder: _run_tests(folder, path, tree, tests), seconds)


def fork(run: Callable[[Path], None], seconds: float) -> Trial:
    """Do `run` in a fork of this process, with a folder of its own and limits."""
    folder = Path(tempfile.mkdtemp(prefix="mutant-"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # no thread of this process holds a lock
        pid = os.fork()
    if pid:
        return Trial(pid, folder, time.monotonic() + 20 * seconds)
    try:
        os.setpgid(0, 0)
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 1))
        _limit_process(folder)
        run(folder)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(0)


def _run_tests(
    folder: Path, path: Path | None, tree: ast.Module | None, tests: Sequence[str]
) -> None:
    if path is not None and tree is not None:
        sys.meta_path.insert(0, _Importer(path, tree))
    chosen = Chosen(tests)
    files = list(dict.fromkeys(test.partition("::")[0] for test in tests))
    # its own folder also keeps compiled code apart, which is named by files and not by mutants
    options = ["-x", "-q", "-p", "no:cacheprovider", f"--basetemp={folder / 'tests' / 'own'}"]
    options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # imported beforehand
    (folder / "tests").mkdir()
    pytest.main([*options, *files], plugins=[chosen])
    write_answer(folder, chosen)


def _limit_process(folder: Path) -> None:
    """Limit the memory of a fork, let it print to a file, and Hypothesis not spend time."""
    import hypothesis

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with (folder / "log").open("wb") as log:
        for stream in (1, 2):
            os.dup2(log.fileno(), stream)
    phases = [hypothesis.Phase.explicit, hypothesis.Phase.generate]  # no time to shrink
    hypothesis.settings.register_profile(
        "mutants", phases=phases, database=None, deadline=None, derandomize=True
    )
    hypothesis.settings.load_profile("mutants")


def write_answer(folder: Path, chosen: Chosen) -> None:
    """Write down what the tests said, for the process that has forked."""
    failed = chosen.failed[0] if chosen.failed else ""
    (folder / "answer.json").write_text(json.dumps([failed, chosen.passed]))


def order_tests(tests: Sequence[str], seconds: dict[str, float], room: str, name: str) -> list[str]:
    """Order tests so that those which are likely to notice come early.

    First those whose case is named after what is changed, then those of its package, and of each
    test one case before a second of any other.
    """
    cases: dict[str, int] = {}

    def rank(test: str) -> tuple[bool, bool, int, float]:
        function, _, case = test.partition("[")
        number = cases[function] = cases.get(function, -1) + 1
        named = name in case.replace("]", "-").replace(" ", "-").split("-")
        return not named, not test.startswith(f"tests/{room}/"), number, seconds[test]

    ranks = {test: rank(test) for test in tests}
    return sorted(tests, key=ranks.__getitem__)
