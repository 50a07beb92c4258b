"""The distributions of SciPy, answering for nodes: every name is that of `scipy.stats`."""

import sys
from types import ModuleType
from typing import Any

from simpleautodiff.arrays.patch_scipy import taught


def __getattr__(name: str) -> Any:
    return getattr(taught("stats"), name)


def __dir__() -> list[str]:
    return dir(taught("stats"))


class _Distribution(ModuleType):
    """A distribution that can be imported as a module, as HIPS autograd's are."""

    def __getattr__(self, name: str) -> Any:
        return getattr(getattr(taught("stats"), self.__name__.rpartition(".")[2]), name)


for _name in ("beta", "chi2", "dirichlet", "gamma", "multivariate_normal", "norm", "poisson", "t"):
    sys.modules[f"{__name__}.{_name}"] = _Distribution(f"{__name__}.{_name}")
