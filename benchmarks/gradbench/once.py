"""What happens once: the first call, becoming as fast as it gets, and the most memory.

`python once.py PROBLEM WORKLOAD FORM WHO` prints seconds of CPU time and megabytes as JSON.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
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


def _resident() -> float:
    """Return the most megabytes this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(name: str, description: str, form: str, who: str) -> dict[str, float]:
    """Call for the first time, and on until nothing is compiled any more."""
    from gradbench import peers
    from measure import settle

    args = peers.workload(name, description)
    runs: dict[str, Any] = (peers.ours if who == peers.OURS else peers.in_jax)(name, args)
    before, begin = _resident(), time.process_time()
    runs[form]()
    first = time.process_time() - begin
    if who == peers.OURS:
        settle(runs[form])
    top = time.process_time() - begin
    return {"first": first, "top": top, "memory": _resident() - before}


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    import warnings

    from measure import one_thread

    one_thread()
    warnings.simplefilter("ignore")
    print(json.dumps(measure(*sys.argv[1:])))
