"""The special functions of SciPy, answering for nodes: every name is that of `scipy.special`."""

from typing import Any

from simpleautodiff.arrays.patch_scipy import taught


def __getattr__(name: str) -> Any:
    return getattr(taught("special"), name)


def __dir__() -> list[str]:
    return dir(taught("special"))
