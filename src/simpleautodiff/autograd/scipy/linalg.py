"""The linear algebra of SciPy, answering for nodes: every name is that of `scipy.linalg`."""

from typing import Any

from simpleautodiff.arrays.patch_scipy import taught


def __getattr__(name: str) -> Any:
    return getattr(taught("linalg"), name)


def __dir__() -> list[str]:
    return dir(taught("linalg"))
