"""Which functions carry derivatives through SciPy's solvers: a seam between arrays and `plug`.

The arrays patch the solvers of SciPy, and `plug`, which is built on the arrays, has what carries
derivatives. The package itself, which may import both, connects them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Solvers:
    """What carries derivatives through a solver, found when one is first needed."""

    find: Callable[[str], Any]  # return a function of `plug` by its name
