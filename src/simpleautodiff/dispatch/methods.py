"""The methods and attributes of arrays, on nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from simpleautodiff.dispatch.shaping import ravel, reshape_, transpose_
from simpleautodiff.dispatch.table import FUNCTIONS, Function, array_function
from simpleautodiff.errors import LostDerivativeError, at_line
from simpleautodiff.rules.complexes import conj, imag, real
from simpleautodiff.rules.contract import matmul
from simpleautodiff.rules.indexing import getitem
from simpleautodiff.rules.shapes import shape_of, transpose
from simpleautodiff.structure import map_leaves
from simpleautodiff.traced import Traced, plain


def _index(self: Any, index: Any) -> Any:
    if not shape_of(self):
        raise TypeError(f"{self!r} is a single number, not an array")
    return getitem(self, map_leaves(plain, index) if isinstance(index, tuple) else plain(index))


def _length(self: Any) -> int:
    if not shape_of(self):
        raise TypeError(f"{self!r} is a single number, not an array")
    return shape_of(self)[0]


def _iterate(self: Any) -> Any:
    return (getitem(self, i) for i in range(_length(self)))


def _shape_method(function: Function) -> Function:
    def method(self: Any, *given: Any, **kwargs: Any) -> Any:
        one = len(given) == 1 and not isinstance(given[0], int)
        return function(self, given[0] if one else given or None, **kwargs)

    return method


METHODS: dict[str, Any] = {
    name: FUNCTIONS[getattr(np, name)]
    for name in (
        *("sum", "mean", "var", "std", "max", "min", "prod", "cumsum", "cumprod", "dot", "trace"),
        *("diagonal", "ravel", "swapaxes", "squeeze", "repeat", "take", "clip", "copy"),
    )
}


def _sort_in_place(self: Any, *args: Any, **kwargs: Any) -> Any:
    raise LostDerivativeError(
        f"x.sort() sorts in place, and nodes are never written to; write x = np.sort(x){at_line()}"
    )


METHODS |= {
    "sort": _sort_in_place,
    "reshape": _shape_method(reshape_),
    "transpose": _shape_method(transpose_),
    "flatten": ravel,
    "argmax": lambda self, axis=None: np.argmax(plain(self), axis),
    "argmin": lambda self, axis=None: np.argmin(plain(self), axis),
    "argsort": lambda self, axis=-1: np.argsort(plain(self), axis),
    "any": lambda self, axis=None: np.any(plain(self), axis),
    "all": lambda self, axis=None: np.all(plain(self), axis),
    "shape": property(shape_of),
    "ndim": property(lambda self: len(shape_of(self))),
    "size": property(lambda self: int(np.prod(shape_of(self), dtype=int))),
    "dtype": property(lambda self: np.result_type(plain(self))),
    "real": property(lambda self: real(self)),
    "imag": property(lambda self: imag(self)),
    "conj": lambda self: conj(self),
    "conjugate": lambda self: conj(self),
    "T": property(lambda self: transpose(self, None)),
    "__getitem__": _index,
    "__len__": _length,
    "__iter__": _iterate,
    "__array_function__": array_function,
    "__matmul__": matmul,
    "__rmatmul__": lambda self, other: matmul(other, self),
}


def install() -> None:
    """Give nodes NumPy's methods and attributes."""
    for name, method in METHODS.items():
        setattr(Traced, name, method)


install()
