"""The functions of kernels.c, compiled by gcc where there is one."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from contestants import Library

FLAGS = ("-O3", "-march=native", "-ffast-math", "-fopenmp-simd", "-mprefer-vector-width=512")
PLAIN_FLAGS = FLAGS[:-1]  # for processors that know no such width


class WrittenInC(Library):
    """Derivatives written by hand in C, in loops that gcc vectorises."""

    name = "C by hand"
    package = "gcc"
    limit = 10**7

    source = Path(__file__).with_name("kernels.c")

    def __init__(self) -> None:
        if shutil.which("gcc") is None:
            raise ImportError("there is no gcc here", name="gcc")
        self.library = _compiled(self.source)

    @classmethod
    def version(cls) -> str:
        done = subprocess.run(["gcc", "-dumpfullversion"], capture_output=True, text=True)
        return done.stdout.strip()

    def function(self, name: str, *args: Any, result: Any = None) -> Callable[[], Any]:
        """Return a call of one function; arrays are given by their addresses."""
        function = getattr(self.library, name)
        function.restype = result
        given = tuple(map(_argument, args))
        return lambda: function(*given)


def _argument(arg: Any) -> Any:
    return ctypes.c_long(arg) if isinstance(arg, int) else ctypes.c_void_p(arg.ctypes.data)


def _compiled(source: Path) -> ctypes.CDLL:
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder, "kernels.so")
        for flags in (FLAGS, PLAIN_FLAGS):
            command = ["gcc", *flags, "-shared", "-fPIC", "-o", str(target), str(source), "-lm"]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode == 0:
                return ctypes.CDLL(str(target))
    raise RuntimeError(f"gcc: {done.stderr.strip()}")
