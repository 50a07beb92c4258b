"""The integrals of SciPy, answering for nodes, and `odeint` with derivatives.

Every other name is that of `scipy.integrate`.
"""

from typing import Any

from simpleautodiff.arrays.patch_scipy import taught
from simpleautodiff.plug import odeint

__all__ = ["odeint"]


def __getattr__(name: str) -> Any:
    return getattr(taught("integrate"), name)


def __dir__() -> list[str]:
    return dir(taught("integrate"))
