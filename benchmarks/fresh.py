"""What happens only once in a process: importing, compiling, finding compiled code on disk.

`python fresh.py import autograd` prints milliseconds of CPU time as JSON, as `bundle` does.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

CACHE = "SIMPLEAUTODIFF_CACHE"


def elsewhere(*what: str, cache: str = "off") -> dict[str, float]:
    """Run this file in a new process and return what it prints."""
    command = [sys.executable, __file__, *what]
    environment = {**os.environ, CACHE: cache, "PYTHONDONTWRITEBYTECODE": ""}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode != 0:
        raise RuntimeError((done.stderr.strip().splitlines() or ["no message"])[-1])
    result: dict[str, float] = json.loads(done.stdout)
    return result


def twice(*what: str) -> list[dict[str, float]]:
    """Run it in two new processes, the second of which finds what the first has left on disk.

    Of three such pairs the best numbers count.
    """
    pairs = []
    for _ in range(3):
        with tempfile.TemporaryDirectory() as folder:
            pairs.append([elsewhere(*what, cache=folder) for _ in range(2)])
    both = zip(*pairs, strict=True)
    return [{key: min(one[key] for one in same) for key in same[0]} for same in both]


def _timed(function: Callable[[], object]) -> float:
    begin = time.process_time()
    function()
    return 1e3 * (time.process_time() - begin)


@contextmanager
def making() -> Iterator[list[float]]:
    """Give a list of the milliseconds that making code took, or loading it from disk."""
    from simpleautodiff.compiled.native.compile import Code

    made: list[float] = []
    make = Code._make
    Code._make = lambda *args: made.append(_timed(lambda: make(*args)))  # type: ignore[assignment]
    try:
        yield made
    finally:
        Code._make = make  # type: ignore[method-assign]


def _bundle() -> dict[str, float]:
    """Compile the Jacobian of 256 observations."""
    import numpy as np

    import simpleautodiff as ad
    from bundle import residual_of, scene

    def llvm() -> None:
        import llvmlite.binding  # noqa: F401

    rows = scene(256).observations()
    eager: Any = ad.vmap(ad.jacobian(residual_of(np)))
    eager(*rows)
    jitted: Any = ad.jit(eager, tier="optimised")
    loading, once = _timed(llvm), _timed(lambda: eager(*rows))
    with making() as made:
        first = _timed(lambda: jitted(*rows))
    return {"loading": loading, "eager": once, "first": first, "made": sum(made)}


def _import(name: str, *attribute: str) -> dict[str, float]:
    """Import a package after NumPy, and load one of its names if that is asked for."""

    def numpy() -> None:
        importlib.import_module("numpy")

    def package() -> None:
        module = importlib.import_module(name)
        for each in attribute:
            getattr(module, each)

    times = {"NumPy": _timed(numpy), "package": _timed(package)}
    return {**times, "llvmlite": float("llvmlite" in sys.modules)}


def main() -> None:
    """Do what the command line says and print JSON."""
    what, *how = sys.argv[1:]
    print(json.dumps(_bundle() if what == "bundle" else _import(*how)))


if __name__ == "__main__":
    main()
