"""What code asks of numbers to go its way by the answer: indices that sort, the largest element.

A tape that is written as code asks again, and refuses numbers that answer otherwise.
"""

from __future__ import annotations

from typing import Any

from simpleautodiff.core.level import Traced, plain, unwrapped
from simpleautodiff.values.functions import Function
from simpleautodiff.values.pytree import flatten


def find_written_level(*values: Any) -> Any:
    """Return the tape that is written as code, to which a value belongs, if there is one."""
    for leaf in flatten(values)[0]:
        x = unwrapped(leaf)
        if hasattr(x, "decide") and x.level is not None:
            return x.level  # of a condition
        while isinstance(x, Traced):
            if getattr(x.level, "written", False):
                return x.level
            x = getattr(x, "value", None)  # symbols have none
    return None


def askable(x: Any) -> Any:
    """Return what conditions are asked of: a plain number, or a node on a tape that is written."""
    level = find_written_level(x)
    if level is None:
        return plain(x)
    while x.level is not level:
        x = x.value
    return x


def note_answer(answer: Any, function: Function, *args: Any, **kwargs: Any) -> Any:
    """Return the answer of NumPy's `function` at the plain values of its arguments, and note it."""
    level = find_written_level(args, kwargs)
    if level is not None:
        level.note_call(answer, function, args, kwargs)
    return answer


def note_decision(condition: Any) -> None:
    """Note that plain numbers are chosen by a condition on an array."""
    if find_written_level(condition) is not None:
        condition.decide()
