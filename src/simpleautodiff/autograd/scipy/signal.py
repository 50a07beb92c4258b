"""Convolutions and filters of SciPy, answering for nodes: every name is that of `scipy.signal`."""

from typing import Any

from simpleautodiff.arrays.patch_scipy import taught


def __getattr__(name: str) -> Any:
    return getattr(taught("signal"), name)


def __dir__() -> list[str]:
    return dir(taught("signal"))
