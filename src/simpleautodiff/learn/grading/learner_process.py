"""The process in which a learner's code runs: within limits, and without the answers.

It is started as a script, with the learner's file and the limits as arguments. It reads one case a
line and writes one result a line. Of the library it loads `running` and `engine_shapes` alone, the
files about engines that these need, and `learner_doors`.
"""

from __future__ import annotations

import _imp
import builtins
import gc
import importlib
import json
import linecache
import os
import signal
import stat
import sys
from collections.abc import Callable, Collection
from types import ModuleType, SimpleNamespace
from typing import Any

FOLDER = os.path.dirname(os.path.abspath(__file__))
LIBRARY = os.path.dirname(os.path.dirname(FOLDER))


class BudgetError(BaseException):
    """Raised after more operations than a graph needs; `except Exception` does not catch it."""


def count_operations(most: int) -> Any:
    """Return a function for `sys.setprofile` that stops code after too many calls."""
    left = most

    def count(frame: Any, event: str, argument: Any) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise BudgetError

    return count


def run_safely(run: Any, engine: Any, case: dict[str, Any]) -> dict[str, Any]:
    """Run one case; return its result, or a description of its error."""
    before = sys.getprofile()
    try:
        if case.get("budget"):
            sys.setprofile(count_operations(case["budget"]))
        result: dict[str, Any] = run(engine, case)
        return result
    except BudgetError:
        return {"budget": True}
    except Exception as error:
        return {"error": type(error).__name__, "message": str(error)[:300]}
    finally:
        sys.setprofile(before if callable(before) else None)


def load_tools() -> tuple[ModuleType, ModuleType]:
    """Load `engine_shapes` and `running` without the library, and leave no way to it."""
    from importlib import import_module

    names = ["simpleautodiff", "simpleautodiff.learn", "simpleautodiff.learn.grading"]
    for name, folder in zip(names, (LIBRARY, os.path.dirname(FOLDER), FOLDER), strict=True):
        package = ModuleType(name)
        package.__path__ = [folder]
        sys.modules[name] = package
    shapes = import_module(f"{names[-1]}.engine_shapes")
    running = import_module(f"{names[-1]}.running")
    for name in [name for name in sys.modules if name.startswith(names[0])]:
        file = getattr(sys.modules.pop(name), "__file__", None) or __file__
        linecache.getlines(file)  # which warnings and tracebacks of a learner's code may show
    return shapes, running


def set_limits(memory: int, seconds: int) -> None:
    """Limit memory, time and the size of files, where the system can."""
    try:
        import resource
    except ImportError:
        return
    limits = {
        resource.RLIMIT_CPU: seconds,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_AS: memory,
    }
    for limit, most in limits.items():
        try:
            resource.setrlimit(limit, (most, most))
        except (ValueError, OSError):
            continue


def set_alarm(seconds: float) -> None:
    """Let a signal end the process after this much CPU time, where the system can."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, seconds)


def load_apart(path: str) -> dict[str, Any]:
    """Run a file in a private namespace with its own copy of the builtins; return the namespace."""
    with open(path, "rb") as file:
        text = file.read()
    own: dict[str, Any] = {"__name__": "apart", "__builtins__": {**vars(builtins)}}
    exec(compile(text, path, "exec"), own)
    return own


def make_end(answers: int) -> Callable[[str], None]:
    """Return a function that reports why and ends the process; learners cannot tamper with it."""
    write, leave = os.write, os._exit
    plain = bytes(k if 32 <= k < 127 and k not in b'"\\' else 63 for k in range(256))

    def end(what: str) -> None:
        try:
            reason = what.encode("ascii", "replace").translate(plain)
            said = b"PermissionError: %s is not allowed while an engine is graded"
            write(answers, b'{"refused": "' + said % reason + b'"}\n')
        finally:
            leave(1)

    return end


def load_built_in(closed: Collection[str]) -> None:
    """Load all built-in modules, so that learners cannot load a second copy of one."""
    for name in sys.builtin_module_names:
        if name not in closed:
            importlib.import_module(name)
    for name in ("create_builtin", "exec_builtin"):
        vars(_imp).pop(name)


def close_doors(home: str, answers: int) -> None:
    """Refuse what no engine needs, by an audit hook that learners cannot tamper with."""
    paths = load_apart(os.path.__file__)
    paths |= {"os": SimpleNamespace(**vars(os)), "stat": SimpleNamespace(**vars(stat))}
    doors = load_apart(os.path.join(FOLDER, "learner_doors.py"))
    readable = (home, sys.prefix, sys.base_prefix, *sys.path, os.path.dirname(os.__file__))
    for module in (os, sys.modules[os.name if os.name == "nt" else "posix"]):
        for name in doors["UNHEARD"]:
            vars(module).pop(name, None)
    load_built_in(doors["CLOSED_MODULES"])
    folders = [*filter(None, readable)]
    watch = doors["make_watch"](folders, LIBRARY, paths["realpath"], make_end(answers))
    sys.modules["__main__"] = ModuleType("__main__")
    sys.addaudithook(watch)
    gc.freeze()  # so that gc does not find the hook
    vars(gc).pop("unfreeze")


def main(path: str, shape: str, names: str, memory: str, seconds: str, in_all: str) -> None:
    """Load the learner's file, find its engine, and run the cases that are asked for.

    Each of these steps may take `seconds` of CPU time, and the whole process `in_all`.
    """
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)  # what the learner prints is no answer
    os.dup2(quiet, 2)
    questions, sys.stdin = sys.stdin, open(os.devnull)  # noqa: SIM115

    def answer(result: dict[str, Any]) -> None:
        answers.write(json.dumps(result) + "\n")
        answers.flush()

    shapes, running = load_tools()
    home = os.path.dirname(os.path.abspath(path))
    sys.path = [p for p in sys.path if p and os.path.abspath(p) != FOLDER]
    sys.path.insert(0, home)
    set_limits(int(memory), int(in_all))
    with open(path, "rb") as file:
        text = file.read()
    close_doors(home, answers.fileno())
    module = ModuleType("engine")
    module.__file__ = path
    sys.modules["engine"] = module
    try:
        set_alarm(float(seconds))
        exec(compile(text, path, "exec"), vars(module))
        answer({"imported": True})
        set_alarm(float(seconds))
        engine = shapes.find_engine(vars(module), shape, json.loads(names))
        answer({"abilities": engine.abilities()})
    except BaseException as error:  # SystemExit too: the learner's file may end itself
        kind = "" if isinstance(error, shapes.NoEngine) else f"{type(error).__name__}: "
        said = str(error) or ("more than is allowed" * isinstance(error, MemoryError))
        answer({"refused": f"{kind}{said}".removesuffix(": ")[:500]})
        return
    for line in questions:
        case = json.loads(line)
        set_alarm(float(seconds))
        try:
            answer(run_safely(running.run_case, engine, case))
        except BaseException as error:
            answer({"error": type(error).__name__, "message": str(error)[:300]})


if __name__ == "__main__":
    main(*sys.argv[1:])
