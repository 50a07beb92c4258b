"""What happens once: the first call, becoming as fast as it gets, and the most memory.

`python once.py PROBLEM WORKLOAD FORM WHO` prints seconds of CPU time and megabytes as JSON.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any


def elsewhere(*what: str) -> dict[str, float]:
    """Run this file in a new process and return what it prints."""
    command = [sys.executable, __file__, *what]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError((done.stderr.strip().splitlines() or ["no message"])[-1])
    result: dict[str, float] = json.loads(done.stdout)
    return result


def _most_memory() -> float:
    """Return the most megabytes this process has had since they were last forgotten."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return math.nan
    (most,) = (line.split()[1] for line in lines if line.startswith("VmHWM"))
    return int(most) / 1024


def _forget_memory() -> None:
    """Let the most memory be what the process has now, where the system can."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def measure(name: str, description: str, form: str, who: str) -> dict[str, float]:
    """Call for the first time, and on until nothing is compiled any more.

    What those calls would take by themselves, when all is compiled, is not counted.
    """
    from gradbench import peers
    from measure import settle

    args = peers.workload(name, description)
    runs: dict[str, Any] = (peers.ours if who == peers.OURS else peers.in_jax)(name, args)
    _forget_memory()
    before, begin = _most_memory(), time.process_time()
    runs[form]()
    first = time.process_time() - begin
    calls = settle(runs[form]) if who == peers.OURS else 0
    top = time.process_time() - begin
    memory = _most_memory() - before
    top -= calls * min([_time(runs[form]) for _ in range(5)])
    return {"first": first, "top": top, "memory": memory}


def _time(run: Callable[[], object]) -> float:
    begin = time.process_time()
    run()
    return time.process_time() - begin


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    import warnings

    from measure import one_thread

    one_thread()
    warnings.simplefilter("ignore")
    print(json.dumps(measure(*sys.argv[1:])))
