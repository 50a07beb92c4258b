"""Answer GradBench's questions: a JSON object in each line of stdin, and one of stdout."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

PROBLEMS = [
    "hello",
    "det",
    "lse",
    "llsq",
    "ode",
    "kmeans",
    "gmm",
    "lstm",
    "ba",
    "ht",
    "particle",
    "saddle",
]
Message = dict[str, Any]


def repeat(run: Callable[[], Any], min_runs: int, min_seconds: float) -> tuple[Any, list[Message]]:
    """Call until both demands are met; return the last value, and a timing of each call."""
    laps: list[int] = []
    while len(laps) < min_runs or sum(laps) < min_seconds * 1e9:
        begin = time.perf_counter_ns()
        value = run()
        laps.append(time.perf_counter_ns() - begin)
    return value, [{"name": "evaluate", "nanoseconds": lap} for lap in laps]


def problem(name: str) -> Any:
    """Return the module of a problem."""
    if name not in PROBLEMS:
        raise ValueError(f"no module {name!r}")
    return import_module(f"gradbench.{name}")


def start(message: Message) -> Message:
    """Say who answers."""
    import simpleautodiff

    return {"tool": "simpleautodiff", "config": {"version": simpleautodiff.__version__}}


def define(message: Message) -> Message:
    """Import a problem."""
    problem(message["module"])
    return {"success": True}


def evaluate(message: Message) -> Message:
    """Compute a function, as often as is asked for."""
    module, name, given = problem(message["module"]), message["function"], message["input"]
    if name not in module.FUNCTIONS:
        raise ValueError(f"no function {name!r} in {message['module']}")
    function, args = module.FUNCTIONS[name], module.read(given)
    demands = given if isinstance(given, dict) else {}
    value, timings = repeat(
        lambda: function(*args), demands.get("min_runs", 1), demands.get("min_seconds", 0)
    )
    write = getattr(module, "write", plain)
    return {"success": True, "output": write(name, value), "timings": timings}


def plain(name: str, value: Any) -> Any:
    """Make lists of arrays, and floats of their numbers."""
    if isinstance(value, (list, tuple)):
        return [plain(name, part) for part in value]
    return value.tolist() if hasattr(value, "tolist") else value


ANSWERS: dict[str, Callable[[Message], Message]] = {
    "start": start,
    "define": define,
    "evaluate": evaluate,
}


def reply(message: Message) -> str:
    """Return the line that answers a message, whatever its kind."""
    try:
        answer = ANSWERS.get(message["kind"], lambda message: {})(message)
        return json.dumps({"id": message["id"], **answer}, allow_nan=False)
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        return json.dumps({"id": message["id"], "success": False, "error": text})


def main() -> None:
    """Answer until the input ends. Only replies go to stdout, whatever else is printed."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    if "--multithreaded" not in sys.argv:
        from measure import one_thread

        one_thread()
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    for line in sys.stdin:
        print(reply(json.loads(line)), file=replies, flush=True)


if __name__ == "__main__":
    main()
