"""The interface of programs that run, and of those whose code Python calls directly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, Protocol

from simpleautodiff.compiled.backends.interface import ENTRY, CallForm
from simpleautodiff.compiled.native.background import BackgroundTask, later, wait
from simpleautodiff.compiled.native.compile import Code, place_addresses

Results = tuple[int, list[Any]]  # 0, or 1 + the number of a guard that failed; what was computed

PATIENCE = 0.02  # seconds that calls take beside the compiler until the next one waits for it
TIERS = ("numpy", "tape", "cheap", "optimised")


class RunnableProgram(Protocol):
    """A recorded program that can be run."""

    @property
    def tier(self) -> str:
        """The tier that runs it."""

    def run(self, inputs: Sequence[Any], out: Any = None) -> tuple[int, list[Any]]:
        """Return 0 and the results, or 1 + the number of the first guard that failed.

        A single result may be written into the array `out`, if that fits.
        """

    def prepare(self) -> None:
        """Compile the requested tier now."""

    def describe(self) -> list[str]:
        """Describe the program and how it was compiled."""

    def source(self) -> str:
        """Return the program, one step a line."""

    def codes(self) -> list[Code]:
        """Return its machine code, compiled if necessary."""


class EnteredProgram:
    """A program whose code Python can call directly, once it was compiled with an entry.

    `form` says with which arguments, once that is known; `on_entry` is called when there is code.
    """

    def __init__(self, results: int) -> None:
        self.results = results  # how many results are computed
        self.form: CallForm | None = None
        self.failure = ""  # why it could not be compiled
        self.on_entry: Callable[[], None] = lambda: None
        self.entry: tuple[Code, str] | None = None
        self._task: BackgroundTask | None = None  # what compiles it
        self._meanwhile = 0.0  # seconds that calls have taken without code

    def fail(self, why: str) -> None:
        """Note that it could not be compiled; calls go on without."""
        self.failure = why

    def compile_later(self, task: Callable[[], object]) -> None:
        """Compile in the background."""
        self._task = later(task, self.fail)

    def let_compile(self) -> None:
        """Wait for the compiler, if calls without code have taken much time beside it.

        A call now and then does not wait. Of many in a row, each takes time from the compiler, so
        that after a while they are sooner done when they wait.
        """
        if self._meanwhile > PATIENCE and self._task is not None:
            task, self._task = self._task, None
            wait(task)

    def run_meanwhile(self, run: Callable[[], Results]) -> Results:
        """Run without the code that is being compiled."""
        started = perf_counter()
        try:
            return run()
        finally:
            self._meanwhile += perf_counter() - started

    def enter(self, code: Code, known: Sequence[Any] = ()) -> None:
        """Let Python call the entry of this code, which compares arguments with what is known."""
        if known:
            place_addresses(code, f"{ENTRY}.known", [id(part) for part in known], known)
        self.entry = code, ENTRY
        self.on_entry()


def describe_code(code: Code | None) -> list[str]:
    """Say how code was compiled, and how long that took."""
    if code is None:
        return []
    how = "loaded from disk" if code.from_cache else "compiled"
    return [f"{how} in {1e3 * code.seconds:.1f} ms"]


def describe_failure(failure: str) -> list[str]:
    """Say why there is no code."""
    return [f"could not be compiled: {failure}"] if failure else []
