"""Install the methods of nodes and of writable arrays."""

from __future__ import annotations

from typing import Any

from simpleautodiff.arrays.array_api import PROTOCOLS
from simpleautodiff.arrays.copying import COPYING, NODE_COPYING
from simpleautodiff.arrays.lost_derivatives import CONVERSIONS
from simpleautodiff.arrays.methods import ARRAY_METHODS
from simpleautodiff.arrays.operators import OPERATORS
from simpleautodiff.arrays.writes.versions import Writable
from simpleautodiff.arrays.writes.writing import methods_of_writable, writes_to_nodes
from simpleautodiff.core.level import Traced
from simpleautodiff.core.node import Node


def _refuse_sympy(x: Any) -> Any:
    """Tell SymPy that a node is not a SymPy object, so that `Symbol * node` calls the node."""
    from sympy import SympifyError

    raise SympifyError(x)


def install() -> None:
    """Give nodes Python's operators, NumPy's methods, and the protocols of other libraries."""
    of_sympy = {"_sympy_": _refuse_sympy}
    of_arrays = ARRAY_METHODS | PROTOCOLS | writes_to_nodes() | CONVERSIONS
    of_traced = OPERATORS | of_arrays | COPYING | of_sympy
    for node_class, methods in (
        (Traced, of_traced),
        (Node, NODE_COPYING),
        (Writable, methods_of_writable()),
    ):
        for name, method in methods.items():
            setattr(node_class, name, method)


install()
