"""The splines of SciPy, answering for nodes: every name is that of `scipy.interpolate`."""

from typing import Any

from simpleautodiff.arrays.patch_scipy import taught


def __getattr__(name: str) -> Any:
    return getattr(taught("interpolate"), name)


def __dir__() -> list[str]:
    return dir(taught("interpolate"))
