"""The distances of SciPy, answering for nodes: every name is that of `scipy.spatial.distance`."""

from typing import Any

from simpleautodiff.arrays.patch_scipy import taught


def __getattr__(name: str) -> Any:
    return getattr(taught("spatial.distance"), name)


def __dir__() -> list[str]:
    return dir(taught("spatial.distance"))
