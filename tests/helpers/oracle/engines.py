"""Both engines in one process: the package with `fast`, and a copy of it without."""

import importlib
import os
import sys
from functools import cache
from types import ModuleType
from typing import Any, NamedTuple

NAME = "simpleautodiff"


class Engines(NamedTuple):
    """The package twice, and the sizes from which the fast one computes in another way."""

    plain: ModuleType
    fast: ModuleType
    limits: Any


@cache
def engines():
    """Return the package with each engine.

    The plain one is a copy. So is the fast one where tests import the plain engine by name; what a
    copy imports as it runs belongs to the package itself.
    """
    package = importlib.import_module(NAME)
    is_fast = package.sin and f"{NAME}.fast.thresholds" in sys.modules  # which the first row loads
    plain, _ = _load("plain")
    return Engines(plain, *(_complete(package, "fast") if is_fast else _load("fast")))


def forget_programs():
    """Let the next program run as if it were the first: all have the same code, that of `run`.

    An engine keeps which code needs NumPy's functions to be replaced.
    """
    for package in engines()[:2]:
        package.arrays.made_arrays._need_replacements.clear()


def _load(engine):
    """Import the package once more, with an engine of its own, and all that it loads later."""
    outside = {name: sys.modules.pop(name) for name in [*sys.modules] if _is_ours(name)}
    before = os.environ.get("SIMPLEAUTODIFF_ENGINE")
    os.environ["SIMPLEAUTODIFF_ENGINE"] = engine
    try:
        return _complete(importlib.import_module(NAME), engine)
    finally:
        if before is None:
            del os.environ["SIMPLEAUTODIFF_ENGINE"]
        else:
            os.environ["SIMPLEAUTODIFF_ENGINE"] = before
        for name in [name for name in sys.modules if _is_ours(name)]:
            del sys.modules[name]
        sys.modules.update(outside)


def _complete(package, engine):
    """Load all that a package loads later; return it and its limits."""
    for name in package.__all__:
        getattr(package, name)
    importlib.import_module(f"{NAME}.compiled.jitted")
    importlib.import_module(f"{NAME}.errors")
    if engine == "plain":
        return package, None
    return package, importlib.import_module(f"{NAME}.fast.thresholds").THRESHOLDS


def _is_ours(name):
    return name == NAME or name.startswith(f"{NAME}.")
