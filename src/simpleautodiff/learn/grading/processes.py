"""How the grader talks to an engine: in a process of its own, or in this one."""

from __future__ import annotations

import inspect
import json
import os
import selectors
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from types import ModuleType
from typing import Any, Protocol

from simpleautodiff.errors import ArgumentError
from simpleautodiff.learn.grading import learner_process
from simpleautodiff.learn.grading.engine_shapes import SHAPES, find_engine
from simpleautodiff.learn.grading.learner_names import NoEngine
from simpleautodiff.learn.grading.running import run_case

MOST_TEXT = 2**22
ENDS = {"timeout", "died", "refused"}  # results after which the process is gone
LONGER = 3  # times its seconds of computing may a step take, on a busy machine
PROCESS_SECONDS = 60.0  # that a process may take to start, and to end, on a busy machine
Names = dict[str, str]


class Runner(Protocol):
    """Runs cases on an engine."""

    abilities: dict[str, Any]

    def run(self, case: dict[str, Any]) -> dict[str, Any]:
        """Run one case; return its numbers, or how it failed."""

    def close(self) -> None:
        """Release whatever the runner uses."""


class HereRunner:
    """Runs an engine in this process: objects of a notebook, or engines that are trusted."""

    def __init__(self, namespace: dict[str, Any], shape: str, names: Names) -> None:
        try:
            self.engine = find_engine(namespace, shape, names)
        except NoEngine as error:
            raise ArgumentError(str(error)) from None
        self.abilities = self.engine.abilities()

    def run(self, case: dict[str, Any]) -> dict[str, Any]:
        """Run one case in this process."""
        return learner_process.run_safely(run_case, self.engine, case)

    def close(self) -> None:
        """Do nothing: there is no other process."""


class ProcessRunner:
    """Runs a learner's file in a process with limits; starts another one when that ends."""

    def __init__(
        self, path: str, shape: str, names: Names, seconds: float = 10, memory: int = 2**31
    ) -> None:
        names_given, limits = json.dumps(names), (str(memory), str(seconds), "120")
        self.arguments = [os.path.abspath(path), shape, names_given, *limits]
        self.path, self.seconds = path, seconds
        self.abilities = self._start()

    def _start(self) -> dict[str, Any]:
        command = [sys.executable, "-s", "-P", "-B", learner_process.__file__, *self.arguments]
        variables = {"PATH": os.environ.get("PATH", ""), "OPENBLAS_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**variables, "PYTHONHASHSEED": "0"},
            cwd=os.path.dirname(self.arguments[0]),
            start_new_session=True,
        )
        self.text = b""
        patience = max(PROCESS_SECONDS, LONGER * self.seconds)
        begun, doing = self._read(patience), "it was imported"
        if "imported" in begun:
            begun, doing = self._read(patience), "its operations were tried for the first time"
        if not is_ability(begun.get("abilities")):
            self.close()
            ended = "did not come back" if "timeout" in begun else "ended"
            reason = begun.get("refused") or f"it {ended} while {doing}"
            raise ArgumentError(f"{self.path} cannot be graded: {reason}")
        found: dict[str, Any] = begun["abilities"]
        return found

    def run(self, case: dict[str, Any]) -> dict[str, Any]:
        """Run one case in the process; if that ends or is too slow, start another one."""
        assert self.process.stdin is not None
        question = json.dumps(case).encode() + b"\n"
        writer = threading.Thread(target=self._write, args=(question,), daemon=True)
        writer.start()
        result = self._read(LONGER * self.seconds)
        if not is_result(result, case.get("script", ())):  # it was forged
            result = {"died": True}
        if not ENDS.isdisjoint(result):
            self.close()
            self._start()
        kind, _, said = str(result.get("refused", "")).partition(": ")
        return {"refused": True, "error": kind, "message": said} if said else result

    def _write(self, question: bytes) -> None:
        try:
            assert self.process.stdin is not None
            self.process.stdin.write(question)
            self.process.stdin.flush()
        except (BrokenPipeError, ValueError):
            pass  # the process has ended, which `_read` reports

    def _read(self, patience: float) -> dict[str, Any]:
        """Read one line, or say why there is none after so many seconds."""
        assert self.process.stdout is not None
        stream = self.process.stdout.fileno()
        with selectors.DefaultSelector() as selector:
            selector.register(stream, selectors.EVENT_READ)
            whole = b"\n" in self.text
            while not whole:
                if not selector.select(patience):
                    return {"timeout": True}
                chunk = os.read(stream, 2**20)
                self.text += chunk
                whole = b"\n" in chunk
                if not chunk and self._was_stopped():
                    return {"timeout": True}
                if not chunk or len(self.text) > MOST_TEXT:
                    return {"died": True}
        line, _, self.text = self.text.partition(b"\n")
        try:
            result = json.loads(line)
        except (ValueError, RecursionError):
            return {"died": True}
        return result if isinstance(result, dict) else {"died": True}

    def _was_stopped(self) -> bool:
        """Tell whether the process has been ended because it computed for too long."""
        with suppress(subprocess.TimeoutExpired):
            return (
                hasattr(signal, "SIGPROF") and self.process.wait(PROCESS_SECONDS) == -signal.SIGPROF
            )
        return False

    def close(self) -> None:
        """Kill the process."""
        self.process.kill()
        for stream in (self.process.stdin, self.process.stdout):
            try:
                if stream is not None:
                    stream.close()
            except BrokenPipeError:
                continue
        self.process.wait()


def is_result(result: dict[str, Any], script: Sequence[Sequence[str]]) -> bool:
    """Tell whether a result has the form of one: numbers for each sweep that was asked for."""
    if "sweeps" not in result:
        words = all(
            isinstance(result.get(name, ""), str) for name in ("error", "message", "shared")
        )
        return words and isinstance(result.get("living", 0), int)
    sweeps, asked = result["sweeps"], [a for a, *_ in script if a in ("forward", "reverse")]
    found = [result.get("values"), *sweeps] if isinstance(sweeps, list) else []
    return len(found) == len(asked) + 1 and all(map(_holds_numbers, found))


def _holds_numbers(found: Any) -> bool:
    return isinstance(found, dict) and all(
        x is None or type(x) is float or (type(x) is int and abs(x) < 2**63) for x in found.values()
    )


def is_ability(found: Any) -> bool:
    """Tell whether the description of an engine has the right form."""
    if not isinstance(found, dict) or found.get("shape") not in SHAPES:
        return False
    modes, operations, broken = found.get("modes"), found.get("operations"), found.get("broken")
    if not (isinstance(modes, list) and isinstance(operations, list) and isinstance(broken, dict)):
        return False
    words = [*modes, *operations, *broken, *broken.values()]
    known = {"numbers", "constants", "whole_graph"} <= found.keys()
    named = known and all(isinstance(word, str) for word in words)
    return named and set() < set(modes) <= {"forward", "reverse"}


def start_runner(engine: Any, shape: str, names: Names, seconds: float) -> Runner:
    """Return the runner of an engine: another process for a file, this one for an object."""
    if isinstance(engine, (str, os.PathLike)):
        if not os.path.isfile(engine):
            raise ArgumentError(f"there is no file {os.fspath(engine)!r} to grade")
        return ProcessRunner(os.fspath(engine), shape, names, seconds)
    if isinstance(engine, dict):
        return HereRunner(engine, shape, names)
    if isinstance(engine, ModuleType):
        namespace = {name: getattr(engine, name) for name in dir(engine)}
        return HereRunner({**namespace, "__name__": engine.__name__}, shape, names)
    if inspect.isclass(engine) or callable(engine):
        home = sys.modules.get(engine.__module__)
        around = {**vars(home)} if home is not None else {}
        return HereRunner({**around, engine.__name__: engine}, shape, {**names, **_named(engine)})
    raise ArgumentError(
        f"an engine is a file, a module, a class or a function grad(f), not {engine!r}"
    )


def _named(engine: Any) -> Names:
    return {"node" if inspect.isclass(engine) else "grad": engine.__name__}
