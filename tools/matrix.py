"""Run a part of the tests under every interpreter, NumPy, option and surrounding there is.

    python tools/matrix.py [words]     rows whose name has one of the words; all without any

Interpreters are those of PATH, of pyenv, and of MATRIX_PYTHONS (paths, separated by colons). Each
pair of an interpreter and a NumPy gets an environment of its own under .matrix, which is kept. The
options are tried with the first interpreter and the newest NumPy. It prints a table; the exit code
is 0 if no row failed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLACE = ROOT / ".matrix"
PYTHONS = ("3.11", "3.12", "3.13", "3.14", "3.13t", "3.14t")
NUMPYS = ("2.0.*", "2.1.*", "2.2.*", "2.3.*", "")  # the last: the newest there is
NEEDED = ("numpy", "scipy", "mpmath", "pytest", "hypothesis")
WELCOME = ("sympy", "rich", "llvmlite", "array-api-compat", "autograd")
TESTS = [
    "tests/core",
    "tests/program",
    "tests/transforms",
    "tests/arrays/test_writing.py",
    "tests/compiled/test_jit_cache.py",
    *("--ignore", "tests/transforms/test_complex.py"),  # it needs JAX, and so do the next
    *("--ignore", "tests/transforms/test_taylor.py"),
    *("--ignore", "tests/transforms/test_vmap.py"),
]
TRIAL = """
import numpy as np, simpleautodiff as ad, importlib.util
f = lambda x: np.sum(np.sin(x) * x)
x = np.linspace(0.5, 2.0, 5)
wanted = np.cos(x) * x + np.sin(x)
def check(found):
    if not np.allclose(found, wanted, rtol=1e-14, atol=0): raise SystemExit("a wrong derivative")
check(ad.grad(f)(x))
check(ad.vmap(ad.grad(lambda x: ad.sin(x) * x))(x))
if importlib.util.find_spec("llvmlite"):
    for _ in range(3): check(ad.jit(ad.grad(f))(x))
from simpleautodiff.cli import main
for command in (["log(x1) + x1*x2 - sin(x2)", "x1=2", "x2=5"], ["graph"], ["source"], ["check"]):
    if main(command): raise SystemExit(f"{command} failed")
"""


@dataclass
class Row:
    """One way to run: an environment, options of the interpreter, and surroundings."""

    name: str
    python: str
    numpy: str = ""
    options: tuple[str, ...] = ()
    surroundings: dict[str, str | None] = field(default_factory=dict)  # None: not set
    tests: tuple[str, ...] = tuple(TESTS)
    without: str = ""  # tests that cannot hold there


def find_pythons() -> dict[str, str]:
    """Return the interpreters there are, by version; `t` for one without a global lock."""
    folders = [*os.get_exec_path(), *map(str, Path.home().glob(".pyenv/versions/*/bin"))]
    paths = [f"{folder}/python{version}" for folder in folders for version in PYTHONS]
    found: dict[str, str] = {}
    for path in [sys.executable, *os.environ.get("MATRIX_PYTHONS", "").split(":"), *paths]:
        if not shutil.which(path):
            continue
        ask = "import sys, sysconfig as s; v = sys.version_info; print(f'{v[0]}.{v[1]}' + "
        ask += "'t' * bool(s.get_config_var('Py_GIL_DISABLED')))"
        told = subprocess.run([path, "-c", ask], capture_output=True, text=True, check=False)
        if told.returncode == 0:
            found.setdefault(told.stdout.strip(), path)
    return {version: found[version] for version in PYTHONS if version in found}


def rows(pythons: dict[str, str]) -> list[Row]:
    """Return all rows; the first interpreter is the one that tries options and NumPys."""
    first = next(iter(pythons))
    found = [Row(f"numpy {numpy or 'newest'}", first, numpy) for numpy in NUMPYS]
    found += [Row(f"python {version}", version) for version in pythons if version != first]
    documented = "doc or help or signature or one_declaration"  # -OO has no docstrings
    found += [
        Row("plain engine", first, surroundings={"SIMPLEAUTODIFF_ENGINE": "plain"}),
        Row("-O", first, options=("-O",), surroundings={"PYTHONOPTIMIZE": "1"}),
        Row(
            "-OO", first, options=("-OO",), surroundings={"PYTHONOPTIMIZE": "2"}, without=documented
        ),
        Row("-W error", first, options=("-W", "error")),
        Row(
            "C locale",
            first,
            surroundings={
                "LC_ALL": "C",
                "LANG": "C",
                "PYTHONUTF8": "0",
                "PYTHONCOERCECLOCALE": "0",
                "PYTHONIOENCODING": None,
            },
        ),
        Row("no HOME", first, surroundings={"HOME": None, "XDG_CACHE_HOME": None}),
        Row("read-only HOME", first, surroundings={"HOME": "/proc", "XDG_CACHE_HOME": None}),
    ]
    return found


def make_environment(python: str, version: str, numpy: str) -> Path | str:
    """Return the interpreter of an environment, made if it is not there; or why there is none."""
    folder = PLACE / f"{version}-{numpy.rstrip('.*') or 'newest'}"
    own = folder / "bin" / "python"
    if (folder / "ready").exists():
        return own
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([python, "-m", "venv", folder], check=True, capture_output=True)
    install = [own, "-m", "pip", "install", "--quiet", "--only-binary", ":all:"]
    pinned = [f"numpy=={numpy}" if numpy and name == "numpy" else name for name in NEEDED]
    done = subprocess.run([*install, *pinned], capture_output=True, text=True, check=False)
    if done.returncode:
        return "no wheels: " + (done.stderr.strip().splitlines() or ["?"])[-1][:60]
    for name in WELCOME:
        subprocess.run([*install, name, *pinned[:1]], capture_output=True, check=False)
    (folder / "ready").touch()
    return own


def run(row: Row, own: Path) -> tuple[str, bool]:
    """Run one row; return what to print of it, and whether it held."""
    settings = {**os.environ, "PYTHONPATH": str(ROOT / "src"), **row.surroundings}
    settings = {name: value for name, value in settings.items() if value is not None}
    settings.pop("SIMPLEAUTODIFF_CACHE", None)
    common = {"cwd": ROOT, "env": settings, "capture_output": True, "check": False}
    trial = subprocess.run([own, *row.options, "-c", TRIAL], **common)  # type: ignore[call-overload]
    if trial.returncode:
        return "the trial failed: " + trial.stderr.decode().strip()[-200:], False
    narrow = ["-k", f"not ({row.without})"] if row.without else []
    pytest = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", "--cases", "1"]
    ignored = ["-W", "ignore::pytest.PytestConfigWarning"]  # that -O drops asserts, of others
    chosen = ["-m", "not slow and not browser and not gpu", *narrow, *row.tests]
    done = subprocess.run(
        [own, *row.options, *pytest, *ignored, "--continue-on-collection-errors", *chosen],
        **common,  # type: ignore[call-overload]
    )
    lines = done.stdout.decode(errors="replace").strip().splitlines() or ["nothing was printed"]
    (PLACE / f"{row.name.replace(' ', '-').rstrip('.*')}.txt").write_bytes(
        done.stdout + done.stderr
    )
    return re.sub(r" in [\d.]+s.*", "", lines[-1].strip("= ")), done.returncode == 0


def main() -> int:
    """Run all rows, or those with a given word, and print the table."""
    pythons = find_pythons()
    PLACE.mkdir(exist_ok=True)
    print(f"interpreters: {', '.join(pythons)}; not found: ", end="")
    print(", ".join(version for version in PYTHONS if version not in pythons) or "none")
    words, failed = sys.argv[1:], 0
    print(f"{'row':16} {'python':8} {'numpy':8} {'seconds':>7}  result", flush=True)
    for row in rows(pythons):
        if words and not any(word in row.name for word in words):
            continue
        start = time.monotonic()
        own = make_environment(pythons[row.python], row.python, row.numpy)
        if isinstance(own, str):
            print(f"{row.name:16} {row.python:8} {row.numpy:8} {'':7}  {own}", flush=True)
            continue
        ask = [own, "-c", "import numpy; print(numpy.__version__)"]
        numpy = subprocess.run(ask, capture_output=True, text=True, check=False).stdout.strip()
        result, held = run(row, own)
        failed += not held
        took = time.monotonic() - start
        mark = "" if held else "FAILED: "
        print(f"{row.name:16} {row.python:8} {numpy:8} {took:7.0f}  {mark}{result}", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    raise SystemExit(main())
