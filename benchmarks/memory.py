"""Bytes per recorded operation. Each contestant is measured in a process of its own.

`python memory.py NAME OPERATIONS` prints two numbers as JSON, null for one that is not known:
what Python allocated (tracemalloc), and by how much the process grew (resident set size).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
    command = [sys.executable, __file__, name, str(operations)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last_line = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise RuntimeError(last_line)
    return Memory(**json.loads(done.stdout))


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


def main() -> None:
    """Measure the contestant named on the command line and print JSON."""
    name, operations = sys.argv[1:]
    (kind,) = (kind for kind in FOR_MEMORY if kind.name == name)
    memory = _measure_here(kind(), int(operations))
    print(json.dumps({"traced": memory.traced, "resident": memory.resident}))


if __name__ == "__main__":
    one_thread()
    deeply(main)
