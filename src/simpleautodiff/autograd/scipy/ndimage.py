"""The filters of images of SciPy, answering for nodes: every name is that of `scipy.ndimage`."""

from typing import Any

from simpleautodiff.arrays.patch_scipy import taught


def __getattr__(name: str) -> Any:
    return getattr(taught("ndimage"), name)


def __dir__() -> list[str]:
    return dir(taught("ndimage"))
