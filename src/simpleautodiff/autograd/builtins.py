"""HIPS autograd's `builtins`: Python's own container types, which can hold nodes."""

from __future__ import annotations

import builtins
from typing import Any

from simpleautodiff.core.level import take_current, to_plain

__all__ = ["DictBox", "SequenceBox", "dict", "isinstance", "list", "tuple", "type"]
dict, list, tuple = builtins.dict, builtins.list, builtins.tuple
DictBox, SequenceBox = dict, (list, tuple)  # used only in `isinstance`: nodes hold no structures


def isinstance(x: Any, kinds: Any) -> bool:
    """Tell whether x is an instance of a type; for a node, whether its value is.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> from simpleautodiff.builtins import isinstance
    >>> ad.grad(lambda x: x**2 if isinstance(x, float) else x)(3.0)
    6.0
    """
    return builtins.isinstance(x, kinds) or builtins.isinstance(to_plain(take_current(x)), kinds)


def type(x: Any) -> Any:
    """Return the type of x; for a node, that of its value.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> from simpleautodiff.builtins import type
    >>> type(ad.Node(2.0))
    <class 'float'>
    """
    return builtins.type(to_plain(take_current(x)))
