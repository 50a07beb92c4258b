"""What is said of a nan: where it arises, and that a result which is nan has no derivative."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from simpleautodiff.core.node import Node
from simpleautodiff.display.notation.formulas import value_terms
from simpleautodiff.display.notation.rich_text import show_minus
from simpleautodiff.program.program import Program


def write_missing(results: Mapping[str, Any]) -> str:
    """Say which of some results have no derivative because they are nan; nothing if none is.

    Examples
    --------
    >>> write_missing({"y": float("nan")})
    'y is nan: it has no derivative here, only the numbers that the rules compute.'
    >>> write_missing({"y": 2.0})
    ''
    """
    arrays = {name: np.asarray(value) for name, value in results.items()}
    missing = {name: array != array for name, array in arrays.items()}  # also of a Decimal
    said = [
        f"{name} is nan{'' if where.all() else ' in places'}"
        for name, where in missing.items()
        if where.any()
    ]
    if not said:
        return ""
    return f"{', '.join(said)}: it has no derivative here, only the numbers that the rules compute."


def explain_nan(program: Program, node: Node) -> str:
    """Say where the nan in the value of a step comes from; nothing if there is none.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> t = ad.trace(lambda x: ad.sin(x) * 2, float("nan"))
    >>> explain_nan(t, t.node("x"))
    'This input is nan: everything computed from it is nan.'
    >>> explain_nan(t, t.node("v2"))
    'nan comes from v1.'
    """
    if not _has_nan(node.value):
        return ""
    if node.primitive is None:
        return "This input is nan: everything computed from it is nan."
    source = next((parent for parent in node.parent_nodes if _has_nan(parent.value)), None)
    if source is not None:
        return f"nan comes from {program.names[source]}."
    return f"nan arises here: {_write_origin(program, node)}."


def locate_nan(program: Program) -> str:
    """Say at which step the first nan of a program arises; nothing if there is none.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> locate_nan(ad.trace(lambda x: ad.sin(x) * 2, float("nan")))
    'The input x is nan.'
    """
    first = next((node for node in program.nodes if _has_nan(node.value)), None)
    if first is None:
        return ""
    if first.primitive is None:
        return f"The input {program.names[first]} is nan."
    return f"nan arises at {program.names[first]}: {_write_origin(program, first)}."


def _write_origin(program: Program, node: Node) -> str:
    numbers = show_minus(value_terms(program, node)[1].text)
    where = " in every element" if np.ndim(node.value) else ""
    return f"{numbers} is not a real number{where}"


def _has_nan(value: Any) -> bool:
    array = np.asarray(value)
    return bool(np.any(array != array))
