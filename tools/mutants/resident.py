"""Try mutants in forks of a process that has imported the library and collected its tests already.

A fork puts the changed code into the functions that exist, and begins with the first test: most
mutants are noticed within a second. What is evaluated while a module is imported cannot be changed
in this way. Such mutants, and those that no test notices here, are tried as `trial` does it.
"""

import ast
import gc
import inspect
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import CodeType, FunctionType

import pytest

from trial import Chosen, Trial, fork, write_answer


class Residence:
    """As a plugin of pytest: collect tests once, and do `work` instead of running them."""

    def __init__(self, work: Callable[["Residence"], None]) -> None:
        self.work = work
        self.items: dict[str, pytest.Item] = {}
        self.functions: dict[str, list[FunctionType]] = {}  # by the file they stand in

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Find the items and the functions that exist, and do the work."""
        self.config = session.config
        self.items = {item.nodeid: item for item in session.items}
        for thing in gc.get_objects():
            if type(thing) is FunctionType:
                self.functions.setdefault(thing.__code__.co_filename, []).append(thing)
        self.work(self)
        return True

    def start(
        self, path: Path | None, tree: ast.Module | None, tests: Sequence[str], seconds: float
    ) -> Trial:
        """Fork, and in the fork run these tests with changed functions, or with unchanged ones."""

        def run(folder: Path) -> None:
            if path is not None and tree is not None:
                self._put(path, tree)
            self._run(tests, folder)

        return fork(run, seconds)

    def _put(self, path: Path, tree: ast.Module) -> None:
        """Give the functions of a module their changed code."""
        changed = {a: b for a, b in pair_code(*compile_both(path, tree)) if a != b}
        for function in self.functions.get(str(path), []):
            if function.__code__ in changed:
                function.__code__ = changed[function.__code__]

    def _run(self, tests: Sequence[str], folder: Path) -> None:
        # compiled code is named by files and not by mutants: each has its own folder
        self.config._tmp_path_factory._given_basetemp = folder / "tests" / "own"
        (folder / "tests").mkdir()
        chosen = Chosen(tests)
        self.config.pluginmanager.register(chosen)
        for test in tests:
            item = self.items[test]
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
            if chosen.failed:
                break
        write_answer(folder, chosen)


def reside(tests: Sequence[str], work: Callable[[Residence], None]) -> None:
    """Collect the files of these tests, and do the work."""
    files = list(dict.fromkeys(test.partition("::")[0] for test in tests))
    options = [
        "-q",
        "-s",
        "-p",
        "no:cacheprovider",
        "-W",
        "ignore::pytest.PytestAssertRewriteWarning",
    ]
    pytest.main([*options, *files], plugins=[Residence(work)])


# Code of functions. -------------------------------------------------------------------------------


def compile_both(path: Path, tree: ast.Module) -> tuple[CodeType, CodeType]:
    """Return the code of a module as it is, and as it is changed."""
    source = ast.parse(path.read_text())
    before, after = (compile(one, str(path), "exec", dont_inherit=True) for one in (source, tree))
    return before, after


def changes_functions_alone(path: Path, tree: ast.Module) -> bool:
    """Tell whether modules and classes are as before, but for the code of their functions."""
    return all(
        a.co_flags & inspect.CO_OPTIMIZED or _own(a) == _own(b)
        for a, b in pair_code(*compile_both(path, tree))
    )


def pair_code(before: CodeType, after: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    """Yield the code of a module, and of all that stands in it, with what becomes of it."""
    yield before, after
    for pair in zip(_inner(before), _inner(after), strict=True):
        yield from pair_code(*pair)


def _inner(code: CodeType) -> list[CodeType]:
    return [constant for constant in code.co_consts if isinstance(constant, CodeType)]


def _own(code: CodeType) -> tuple[bytes, list[str], tuple[str, ...]]:
    """Return what code itself does: the code that stands in it counts as one thing."""
    constants = ["" if isinstance(one, CodeType) else repr(one) for one in code.co_consts]
    return code.co_code, constants, code.co_names
