"""The functions of np.emath on nodes: complex results where real numbers have none."""

from __future__ import annotations

from typing import Any

import numpy as np

from simpleautodiff.arrays.registry import FUNCTIONS, Function, decide, to_dtype
from simpleautodiff.core.level import to_plain
from simpleautodiff.rules.array.dtypes import dtype_of
from simpleautodiff.rules.branches import where as where_row
from simpleautodiff.values.functions import is_complex


def _negative(x: Any) -> Any:
    return np.any(x < 0)


def _beyond_one(x: Any) -> Any:
    return np.any(np.abs(x) > 1)


def _to_complex(x: Any) -> Any:
    """Convert to complex numbers as np.emath does: half and extended precision become double."""
    single = dtype_of(x) in (np.float32, np.int8, np.uint8, np.int16, np.uint16)
    return to_dtype(x, np.dtype(np.complex64 if single else np.complex128))


def _widen(x: Any, needs: Function) -> Any:
    """Convert to complex if the function has no real value there."""
    return x if is_complex(to_plain(x)) or not decide(needs, x) else _to_complex(x)


def _implement(name: str, needs: Function) -> None:
    function = getattr(np, name)
    FUNCTIONS[getattr(np.emath, name)] = lambda x: function(_widen(x, needs))


for _name in ("sqrt", "log", "log2", "log10"):
    _implement(_name, _negative)
_implement("arctanh", _beyond_one)


def _arccos(x: Any) -> Any:
    """Return the arccosine: beyond 1 it is -i arccosh x, beyond -1 it is π - i arccosh(-x)."""
    if is_complex(to_plain(x)) or not decide(_beyond_one, x):
        return np.arccos(x)
    size, there = abs(x), abs(to_plain(x)) > 1
    inside = np.arccos(where_row(there, 0.0, x))
    start = np.where(to_plain(x) > 1, 0.0, np.pi)
    beyond = start - 1j * np.arccosh(where_row(there, size, 2.0))
    return where_row(there, beyond, _to_complex(inside))


def _arcsin(x: Any) -> Any:
    wide = _arccos(x)
    return (
        np.arcsin(x)
        if is_complex(to_plain(x)) or not is_complex(to_plain(wide))
        else np.pi / 2 - wide
    )


FUNCTIONS[np.emath.arccos] = _arccos
FUNCTIONS[np.emath.arcsin] = _arcsin

FUNCTIONS[np.emath.logn] = lambda n, x: np.log(_widen(x, _negative)) / np.log(_widen(n, _negative))
FUNCTIONS[np.emath.power] = lambda x, p: np.power(_widen(x, _negative), p)
