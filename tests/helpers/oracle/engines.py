"""Both engines in one process: two copies of the package, one made with `fast`, one without."""

import importlib
import os
import sys
from functools import cache

NAME = "simpleautodiff"


@cache
def engines():
    """Return the package as (plain, fast); neither is the copy that tests import by name."""
    return _load("plain"), _load("fast")


def _load(engine):
    """Import the package once more, with an engine of its own, and all that it loads later."""
    outside = {name: sys.modules.pop(name) for name in [*sys.modules] if _is_ours(name)}
    before = os.environ.get("SIMPLEAUTODIFF_ENGINE")
    os.environ["SIMPLEAUTODIFF_ENGINE"] = engine
    try:
        package = importlib.import_module(NAME)
        for name in package.__all__:
            getattr(package, name)
        importlib.import_module(f"{NAME}.compiled.jitted")
        package.limits = None
        if engine == "fast":
            package.limits = importlib.import_module(f"{NAME}.fast.limits").LIMITS
        return package
    finally:
        if before is None:
            del os.environ["SIMPLEAUTODIFF_ENGINE"]
        else:
            os.environ["SIMPLEAUTODIFF_ENGINE"] = before
        for name in [name for name in sys.modules if _is_ours(name)]:
            del sys.modules[name]
        sys.modules.update(outside)


def _is_ours(name):
    return name == NAME or name.startswith(f"{NAME}.")
