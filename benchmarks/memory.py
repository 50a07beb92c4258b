"""Bytes per recorded operation, and at most. Each contestant is measured in a process of its own.

`python memory.py node NAME OPERATIONS` prints two numbers as JSON, null for one that is not known:
what Python allocated (tracemalloc), and by how much the process grew (resident set size).
`python memory.py peak NAME ELEMENTS` prints, for each workload of arrays, the most that a call
had allocated at any time (tracemalloc, to which NumPy reports its arrays).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from array_contestants import FOR_PEAK
from array_workloads import SIZED
from contestants import FOR_MEMORY, Contestant
from measure import deeply, one_thread

OUTSIDE_PYTHON = ("PyTorch", "CasADi SX")  # whose graphs tracemalloc cannot see


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes per recorded operation; None where it cannot be measured."""

    traced: float | None
    resident: float | None


def measure(name: str, operations: int) -> Memory:
    """Measure a contestant in a new process."""
    return Memory(**_elsewhere("node", name, operations))


def peaks(name: str, size: int) -> dict[str, float]:
    """Measure the most memory that a contestant needs for each workload, in a new process."""
    return _elsewhere("peak", name, size)


def _elsewhere(what: str, name: str, size: int) -> dict[str, Any]:
    """Run this file in a new process and return what it prints."""
    command = [sys.executable, __file__, what, name, str(size)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last_line = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise RuntimeError(last_line)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def _measure_here(contestant: Contestant, operations: int) -> Memory:
    _growth(contestant, operations // 100, _resident)  # what is made only once
    resident = _growth(contestant, operations, _resident) if _resident() is not None else None
    traced = None
    if contestant.name not in OUTSIDE_PYTHON:
        tracemalloc.start()
        traced = _growth(contestant, operations, lambda: tracemalloc.get_traced_memory()[0])
    return Memory(traced, resident)


def _growth(contestant: Contestant, operations: int, now: Callable[[], int | None]) -> float | None:
    """Return what y = y*x + x, recorded `operations` / 2 times, adds to `now()` per operation."""
    sizes: list[int | None] = []

    def f(x: Any) -> Any:
        y = x * x
        sizes.append(now())
        for _ in range(operations // 2):
            y = y * x + x
        sizes.append(now())
        return y

    contestant.run(f, (1 - 1e-6,))()
    before, after = sizes
    return None if before is None or after is None else (after - before) / (operations // 2 * 2)


def _resident() -> int | None:
    """Return the bytes of memory this process has, where the system tells."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")


def _peak(run: Callable[[], object]) -> int:
    """Return the most bytes that a call had allocated at any time, its results among them."""
    tracemalloc.start()
    run()  # what is made only once, and memory that is kept for the next call, which counts
    tracemalloc.reset_peak()
    run()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def main() -> None:
    """Measure the contestant named on the command line and print JSON."""
    what, name, size = sys.argv[1:]
    if what == "node":
        (kind,) = (kind for kind in FOR_MEMORY if kind.name == name)
        print(json.dumps(asdict(_measure_here(kind(), int(size)))))
    else:
        (array_kind,) = (kind for kind in FOR_PEAK if kind.name == name)
        contestant = array_kind()
        found = {key: _peak(contestant.run(make(int(size)))) for key, (_, make) in SIZED.items()}
        print(json.dumps(found))


if __name__ == "__main__":
    one_thread()
    deeply(main)
