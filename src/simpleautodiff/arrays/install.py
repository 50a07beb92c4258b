"""Install the methods of nodes and of writable arrays."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from types import FrameType
from typing import Any

import numpy as np

from simpleautodiff.arrays.array_api import PROTOCOLS
from simpleautodiff.arrays.call_hints import shuffling_error
from simpleautodiff.arrays.copying import COPYING, NODE_COPYING
from simpleautodiff.arrays.lost_derivatives import CONVERSIONS
from simpleautodiff.arrays.methods import ARRAY_METHODS
from simpleautodiff.arrays.operators import OPERATORS
from simpleautodiff.arrays.writes.versions import Writable
from simpleautodiff.arrays.writes.writing import methods_of_writable, writes_to_nodes
from simpleautodiff.core.engine import engine
from simpleautodiff.core.level import Traced, take_current, to_concrete
from simpleautodiff.core.node import Node, TapeNode
from simpleautodiff.rules.array.shapes import shape_of
from simpleautodiff.values.functions import is_mpmath_interval, register_later
from simpleautodiff.values.other_arrays import ARRAY_LIBRARIES


def _refuse_sympy(x: Any) -> Any:
    """Tell SymPy that a node is not a SymPy object, so that `Symbol * node` calls the node."""
    from sympy import SympifyError

    raise SympifyError(x)


_NUMBERS = (float, int, complex, np.ndarray, np.generic)
# Modules that see nodes as nodes: they would take the number out of a float or an array.
_SEEN_AS_NODES = {"simpleautodiff", "sympy"} | ARRAY_LIBRARIES


@cache
def _sees_nodes(module: str | None) -> bool:
    """Tell whether `isinstance` in a module sees nodes as nodes."""
    return str(module).partition(".")[0] in _SEEN_AS_NODES


def _class_of(x: Any, frame: FrameType) -> Any:
    """Return the class that `isinstance` sees for a node: in user code, that of its number."""
    asking = frame.f_globals.get("__name__")
    if asking == "abc" and frame.f_back is not None:  # for isinstance(x, numbers.Real)
        asking = frame.f_back.f_globals.get("__name__")
        if frame.f_locals.get("cls") is Sequence and len(shape_of(x)) > 1:
            _check_shuffle(x, frame.f_back)
    if _sees_nodes(asking):
        return type(x)
    number = to_concrete(take_current(x))
    if isinstance(number, np.ndarray) and not shape_of(x):
        return number.dtype.type  # a batch of single numbers
    return type(number) if isinstance(number, _NUMBERS) else type(x)


def _check_shuffle(x: Any, frame: FrameType) -> None:
    """Refuse to let NumPy shuffle a node of more than one axis, row by row."""
    error = shuffling_error(x, frame)
    if error is not None:
        raise error


engine.class_of = _class_of


def _load_mpmath_intervals() -> None:
    from simpleautodiff.values import mpmath_intervals  # noqa: F401


register_later(is_mpmath_interval, _load_mpmath_intervals)


def install() -> None:
    """Give nodes Python's operators, NumPy's methods, and the protocols of other libraries."""
    of_sympy = {"_sympy_": _refuse_sympy}
    of_arrays = ARRAY_METHODS | PROTOCOLS | writes_to_nodes() | CONVERSIONS
    of_traced = OPERATORS | of_arrays | COPYING | of_sympy
    for node_class, methods in (
        (Traced, of_traced),
        (Node, NODE_COPYING),
        (TapeNode, {"__hash__": CONVERSIONS["__hash__"]}),
        (Writable, methods_of_writable()),
    ):
        for name, method in methods.items():
            setattr(node_class, name, method)


install()
