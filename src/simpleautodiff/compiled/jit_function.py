"""One compiled function: its signatures, the paths through its code, and what runs them."""

from __future__ import annotations

import inspect
import threading
import time
import warnings
from collections.abc import Callable, Hashable
from contextlib import suppress
from functools import cached_property, partial
from typing import Any

from simpleautodiff.compiled.backends.targets import TARGET
from simpleautodiff.compiled.finish_results import (
    check_same,
    copy_array,
    without_out,
    write_into,
)
from simpleautodiff.compiled.loops.long_loops import LongLoop, stopping_at_long_loops
from simpleautodiff.compiled.loops.loop_limits import LOOPS
from simpleautodiff.compiled.loops.replace_code import LoopsToRecord
from simpleautodiff.compiled.make_path import NOT_RUN, make_path
from simpleautodiff.compiled.paths import Path, Specialization, keep_answer
from simpleautodiff.compiled.record_function import Options
from simpleautodiff.compiled.running.runnable import EnteredProgram
from simpleautodiff.compiled.signature import CallSignature, NotComparedError, leaf_paths, signature
from simpleautodiff.compiled.unchanged_arguments import check_unchanged, put_back
from simpleautodiff.core.level import Traced
from simpleautodiff.errors import NotCompiledWarning, TraceError, warn_user
from simpleautodiff.transforms.arguments import name_of
from simpleautodiff.transforms.results import check_open
from simpleautodiff.values.pytree import flatten

F = Callable[..., Any]
MOST_SIGNATURES = 128
SLOW = 0.05  # seconds: a first call that takes longer is not followed by two runs in one call
_FLOATS = {float}


class JitFunction:
    """A function that is compiled as it is called."""

    def __init__(self, f: F, options: Options) -> None:
        self.f = f
        self.options = options
        self.known: dict[Hashable, Specialization] = {}
        self.not_compared: dict[str, int] = {}  # why calls have no signature, and how many
        self.on_path: Callable[[Path, CallSignature, Any], None] = lambda *_: None
        self.has_warned = False  # that the function is not compiled
        self._recording: dict[object, int] = {}  # the threads that record it, by call

    @cached_property
    def parameters(self) -> set[str]:
        """The names of the parameters."""
        try:
            return set(inspect.signature(self.f).parameters)
        except (TypeError, ValueError):
            return set()

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Answer a call: by a program that fits, or by running the function."""
        if "out" in kwargs and "out" not in self.parameters:
            out = kwargs["out"]
            return write_into(self._answer(args, without_out(kwargs), out), out)
        return self._answer(args, kwargs)

    def _answer(self, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any = None) -> Any:
        if not kwargs and {*map(type, args)} == _FLOATS:
            described = CallSignature(len(args), (args, kwargs), list(args), list(range(len(args))))
        else:
            try:
                described = signature((args, kwargs))
            except NotComparedError as error:
                why = str(error)
                self.not_compared[why] = self.not_compared.get(why, 0) + 1
                return self._run_plainly(args, kwargs)
        found = self.known.get(described.key)
        if found is None:
            if len(self.known) >= MOST_SIGNATURES:
                return self._without_program(args, kwargs)
            found = self.known.setdefault(described.key, Specialization())
        found.calls += 1
        if found.reason:
            return self._run_plainly(args, kwargs)
        if found.root is None and found.calls == 1 and not self.options.tier:
            before = [copy_array(leaf) for leaf in described.leaves]
            started = time.perf_counter()
            result = self._run_unless_long(found, described, before, args, kwargs)
            if result is not NOT_RUN:
                if time.perf_counter() - started > SLOW:
                    found.slow = keep_answer(described, before, result)
                return result
        return self._run_program(found, described, args, kwargs, out)

    def _run_plainly(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run the function itself; refuse values that it has kept from another derivative."""
        result = self.f(*args, **kwargs)
        for leaf in flatten(result)[0]:
            if issubclass(type(leaf), Traced):
                check_open(leaf, f"the result of {name_of(self.f)}")
        return result

    def _run_unless_long(
        self,
        found: Specialization,
        described: CallSignature,
        before: list[Any],
        args: Any,
        kwargs: Any,
    ) -> Any:
        """Run the function itself; return `NOT_RUN` if its loops take many steps.

        A function that has written to an argument before it was stopped is not compiled: the
        argument is put back, and the function runs to its end.
        """
        if found.is_long:
            return NOT_RUN
        try:
            with stopping_at_long_loops(LOOPS.steps):
                return self._run_plainly(args, kwargs)
        except LongLoop:
            found.is_long = True
        try:
            check_unchanged(described, before, name_of(self.f))
        except TraceError as error:
            put_back(described, before, error)
            found.reason = str(error)
            self._say_not_compiled(found.reason)
            return self._run_plainly(args, kwargs)
        return NOT_RUN

    def _without_program(self, args: Any, kwargs: Any) -> Any:
        warnings.warn(
            f"{name_of(self.f)} was called with {MOST_SIGNATURES} signatures (structures, shapes, "
            "dtypes, integers); further ones are run without being compiled",
            stacklevel=4,
        )
        return self._run_plainly(args, kwargs)

    def _run_program(
        self, found: Specialization, described: CallSignature, args: Any, kwargs: Any, out: Any
    ) -> Any:
        if found.first is None:
            if found.slow is not None:
                return self._record_slow(found, described, args, kwargs)
            return self._run_and_record(found, described, args, kwargs, None, out)
        inputs = described.inputs
        if found.last is not None:  # consecutive calls mostly take the same path
            path, tried = self._follow_guards(found, found.last, inputs, out)
            if tried is not None and tried[0] == 0:
                found.last = path
                return path.finish(tried[1])
        path, tried = self._follow_guards(found, found.first, inputs, out)
        if tried is None or tried[0] - 1 in path.as_is:
            return self._run_plainly(args, kwargs)  # the function itself says what is wrong
        status, outputs = tried
        if status:
            return self._run_and_record(found, described, args, kwargs, (path, status - 1), out)
        found.last = path if path is not found.first else None
        return path.finish(outputs)

    def _follow_guards(
        self, found: Specialization, path: Path, inputs: list[Any], out: Any
    ) -> tuple[Path, tuple[int, list[Any]] | None]:
        """Run a program; if a guard fails, run that of the path that continues there.

        Return the last path and its results: the number of a guard that fails, or 0, and outputs.
        """
        while True:
            if path.unconfirmed is not None and not self._confirm(found, path):
                return path, None
            tried = path.run(inputs, out)
            turn = path.branches.get(tried[0] - 1) if tried is not None else None
            if turn is None:
                return path, tried
            path = turn

    def _run_and_record(
        self,
        found: Specialization,
        described: CallSignature,
        args: Any,
        kwargs: Any,
        branch: tuple[Path, int] | None,
        out: Any,
    ) -> Any:
        """Run the function, and record its path for later calls.

        If its loops take many steps, its program runs instead.
        """
        loops = self._find_loops(found, *branch) if branch else None
        if branch and not loops and len(found.paths()) >= self.options.max_paths:
            guard = branch[0].recorded.guards[branch[1]]
            self._say_not_compiled(
                f"it has gone {self.options.max_paths} different ways through its code; the last "
                f"decision was made{guard.line or ' there'}. Let the decision not depend on "
                "numbers (np.where chooses between arrays), or allow more: jit(f, max_paths=...)",
                "Calls that go another way",
            )
            return self._run_plainly(args, kwargs)
        before = [copy_array(leaf) for leaf in described.leaves]
        result = self._run_unless_long(found, described, before, args, kwargs)
        path = self._try_to_record(found, described, before, loops, branch, result)
        if path is not None:
            self.on_path(path, described, path.example if result is NOT_RUN else result)
            path.example = None
            path.program.prepare()
        if result is not NOT_RUN:
            return result
        tried = self._follow_guards(found, path, described.inputs, out)[1] if path else None
        if path is None or tried is None or tried[0]:
            return self._run_plainly(args, kwargs)
        return path.finish(tried[1])

    def _record_slow(
        self, found: Specialization, described: CallSignature, args: Any, kwargs: Any
    ) -> Any:
        """Record a slow function at its second call, so that it does not run twice in one call.

        The program is confirmed by the inputs and the result that were kept of the first call, and
        then computes this one. If that fails, the next call records the function as usual, or says
        why it cannot be recorded. Results are only returned of confirmed programs, as code that
        asks for the type of its arguments may compute something else while it is recorded.
        """
        earlier, found.slow, path = found.slow, None, None
        if earlier is not None:  # no other thread has taken it meanwhile
            with suppress(Exception):  # perhaps that of the function itself
                record = partial(self._record_path, found, described, None, earlier)
                path = self._record_alone(record)
        if path is None:
            return self._run_plainly(args, kwargs)
        example, path.example = path.example, None
        self.on_path(path, described, example)
        path.program.prepare()
        if self._confirm(found, path):
            if path.is_result:
                return example
            path, tried = self._follow_guards(found, path, described.inputs, None)
            if tried is not None and tried[0] == 0:
                return path.finish(tried[1])
        return self._run_plainly(args, kwargs)

    def _try_to_record(
        self,
        found: Specialization,
        described: CallSignature,
        before: list[Any],
        loops: LoopsToRecord | None,
        branch: tuple[Path, int] | None,
        result: Any,
    ) -> Path | None:
        """Record the path of a call; None if it is known, or cannot be recorded."""

        def record() -> Path | None:
            check_unchanged(described, before, name_of(self.f))
            path = self._record_loops(found, described, loops, result) if loops else None
            return path or self._record_path(found, described, branch, result)

        try:
            return self._record_alone(record)
        except Exception as error:  # whatever failed, the function itself can run
            reason = str(error) or type(error).__name__
            if branch is None:
                found.reason = reason
                self._say_not_compiled(reason)
            else:
                branch[0].as_is[branch[1]] = reason
                guard = branch[0].recorded.guards[branch[1]]
                self._say_not_compiled(reason, f"Calls that decide otherwise{guard.line}")
            return None

    def _record_alone(self, record: Callable[[], Path | None]) -> Path | None:
        """Record, unless another thread does: this call may be what it waits for.

        An interrupt at any moment leaves no trace, whereas it could leave a lock held.
        """
        call = object()
        try:
            self._recording[call] = threading.get_ident()
            return record() if len({*self._recording.values()}) == 1 else None
        finally:
            self._recording.pop(call, None)

    def _confirm(self, found: Specialization, path: Path) -> bool:
        """Tell whether a program returns what the function returned when it was recorded.

        It does not if a step of a loop depends on anything but its arguments.
        """
        if path.unconfirmed is None:
            return True  # another thread has confirmed it meanwhile
        inputs, result, is_earlier = path.unconfirmed
        tried = path.run(inputs)
        if tried is None or tried[0] != 0:
            if is_earlier:  # the first call took another path: record one beside a call
                found.root = None
                return False
            path.unconfirmed = None
            return tried is not None
        try:
            check_same(flatten(path.finish(tried[1]))[0], result, name_of(self.f))
        except TraceError as error:
            found.root = found.looped = None
            if found.loops.are_long:  # they see more than their variables: take all their steps
                found.loops, found.records_loops = LoopsToRecord(), False
                return False
            found.reason = str(error)
            self._say_not_compiled(found.reason)
            return False
        path.unconfirmed = None
        if isinstance(path.program, EnteredProgram):
            path.program.on_entry()
        return True

    def _say_not_compiled(self, reason: str, which: str = "Calls like this one") -> None:
        """Warn, once for each function, that it runs without being compiled, and why."""
        if not self.has_warned:
            self.has_warned = True
            warn_user(
                f"{which} run {name_of(self.f)} as it is, without machine code: {reason}",
                NotCompiledWarning,
            )

    def _record_path(
        self,
        found: Specialization,
        described: CallSignature,
        branch: tuple[Path, int] | None,
        result: Any,
    ) -> Path | None:
        """Record a path and insert it among the others; None if it is known."""
        known = branch[1] in branch[0].branches if branch else found.root is not None
        if known:
            return None  # another thread has recorded it meanwhile
        path, _, found.loops = make_path(
            self.f,
            described,
            result,
            self.options,
            found.loops,
            found.records_loops,
            assumes=branch is None,
        )
        if branch is None:
            found.root, found.given = path, leaf_paths(described)
            return path
        before, guard = branch
        if path.recorded.decisions(guard) == before.recorded.decisions(guard):
            return None  # a close call: rounded differently, it takes the known path
        before.branches[guard] = path
        return path

    def _find_loops(self, found: Specialization, path: Path, guard: int) -> LoopsToRecord | None:
        """Return the loops of Python to record by one step, now that a guard in one has failed."""
        if self.options.tier in ("numpy", "tape") or not TARGET.is_available():
            return None
        return found.find_loops(path.recorded.guards[guard], self.options.max_paths)

    def _record_loops(
        self, found: Specialization, described: CallSignature, loops: LoopsToRecord, result: Any
    ) -> Path | None:
        """Record a path on which loops of Python are loops; None if that is not possible."""
        try:
            path, made, _ = make_path(self.f, described, result, self.options, loops)
            why = getattr(path.program, "failure", "")
            if len(made.recorded) <= found.loops.recorded:
                why = "; ".join(dict.fromkeys(made.runner.refusals)) or "it was not reached"
        except Exception as error:
            why = str(error) or type(error).__name__
        if why:  # the path is then recorded step by step
            found.not_looped[loops.line] = why
            return None
        loops.recorded = len(made.recorded)
        found.looped, found.loops, found.last = path, loops, None
        return path
