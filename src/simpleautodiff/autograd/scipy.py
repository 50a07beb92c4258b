"""SciPy under another name, for code written for HIPS autograd: change the import line.

`simpleautodiff.scipy.special`, `.linalg`, `.stats`, `.fft`, `.signal`, `.integrate`, `.ndimage`,
`.interpolate`, `.sparse`, `.sparse.linalg` and `.spatial.distance` have the names of SciPy's own
modules, with functions that take nodes and plain numbers alike. SciPy is imported when a name is
first used; `import scipy.linalg` and `scipy.linalg.expm(...)` do the same.

Examples
--------
>>> import numpy as np
>>> import simpleautodiff as ad
>>> from simpleautodiff.scipy.linalg import expm
>>> rotation = lambda t: expm(t * np.array([[0.0, -1.0], [1.0, 0.0]]))
>>> ad.jacobian(rotation)(0.0).round(12)
array([[ 0., -1.],
       [ 1.,  0.]])
>>> from simpleautodiff.scipy.stats import norm
>>> ad.grad(norm.logpdf)(2.0)
-2.0
"""

import sys
from types import ModuleType
from typing import Any

from simpleautodiff.arrays.patch_scipy import MODULES, load_patched
from simpleautodiff.autograd.convolve import convolve
from simpleautodiff.plug import odeint

# Distributions that HIPS autograd has as modules: import simpleautodiff.scipy.stats.norm as norm
_DISTRIBUTIONS = (
    *("beta", "chi2", "dirichlet", "gamma"),
    *("multivariate_normal", "norm", "poisson", "t"),
)


class _PatchedModule(ModuleType):
    """A module of SciPy, or a distribution of scipy.stats, that is imported on first use."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{__name__}.{path}", f"`scipy.{path}`, with functions that take nodes.")
        self._path = path

    def _load(self) -> Any:
        if self._path.startswith("stats."):
            return getattr(load_patched("stats"), self._path.removeprefix("stats."))
        return load_patched(self._path)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__all__":
            raise AttributeError(name)  # tools ask every module for __file__: SciPy stays unloaded
        return getattr(self._load(), name)

    def __dir__(self) -> list[str]:
        return dir(self._load())


def _register(path: str) -> None:
    """Make `simpleautodiff.scipy.path` importable."""
    module = sys.modules[f"{__name__}.{path}"] = _PatchedModule(path)
    parent, _, name = module.__name__.rpartition(".")
    if not path.startswith("stats."):  # `stats.norm` is SciPy's own object
        setattr(sys.modules[parent], name, module)


for _path in ("spatial", *MODULES, *(f"stats.{name}" for name in _DISTRIBUTIONS)):
    _register(_path)
sys.modules[f"{__name__}.integrate"].odeint = odeint  # type: ignore[attr-defined]
sys.modules[f"{__name__}.signal"].convolve = convolve  # type: ignore[attr-defined]
