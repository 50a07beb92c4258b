"""Classes with operators of their own, such as vectors and polynomials, whose fields may be nodes.

What `2.0 * v` means is for the class of v to say, by `__rmul__`; so it is with a node for the 2.0.
"""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from simpleautodiff.values.functions import is_registered
from simpleautodiff.values.libraries import LIBRARIES

_REFLECTED = {
    **{name: f"__r{name}__" for name in ("add", "sub", "mul", "mod", "matmul")},
    **{"div": "__rtruediv__", "floor_divide": "__rfloordiv__", "power": "__rpow__"},
}
_KNOWN = {*LIBRARIES, "scipy"}


def ask_class(operation: str, operands: tuple[Any, ...], left: Any) -> tuple[Any, ...]:
    """Return what the class of the right operand makes of the left one; () if it has no say.

    `left` is the plain number in the left operand. A number of a type of its own, registered or of
    the type of that number, is an operand as any other.
    """
    right = operands[1]
    method, kind = _REFLECTED.get(operation, ""), type(right)
    owner = next((base for base in kind.__mro__ if method in vars(base)), object)
    is_sparse = operation == "mul" and hasattr(kind, "tocsr")  # SciPy's, and those of nodes
    if owner is object or (owner.__module__.partition(".")[0] in _KNOWN and not is_sparse):
        return ()
    if isinstance(right, numbers.Number) or is_registered(kind) or isinstance(left, kind):
        return ()
    is_asked = is_sparse or getattr(kind, "__array_ufunc__", 0) is None
    if not is_asked and _takes_elements(left, kind):
        return ()
    answer = getattr(right, method)(operands[0])
    return () if answer is NotImplemented else (answer,)


def _takes_elements(left: Any, kind: type) -> bool:
    """Tell whether NumPy would compute with the elements of a sequence, or for each of an array."""
    if getattr(left, "shape", ()):
        return True
    return isinstance(left, (np.ndarray, np.generic)) and hasattr(kind, "__getitem__")
