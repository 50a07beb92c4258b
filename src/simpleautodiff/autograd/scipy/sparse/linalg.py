"""Sparse systems of SciPy, answering for nodes: every name is that of `scipy.sparse.linalg`."""

from typing import Any

from simpleautodiff.arrays.patch_scipy import taught


def __getattr__(name: str) -> Any:
    return getattr(taught("sparse.linalg"), name)


def __dir__() -> list[str]:
    return dir(taught("sparse.linalg"))
