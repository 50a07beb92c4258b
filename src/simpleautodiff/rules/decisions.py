"""Note decisions that depend on values: the order that sorts, the position of the maximum.

A tape that is translated into source code repeats each of them; the generated code refuses numbers
for which a decision comes out differently.
"""

from __future__ import annotations

from typing import Any

from simpleautodiff.core.level import Traced, take_current, to_plain
from simpleautodiff.values.functions import Function
from simpleautodiff.values.pytree import flatten


def find_written_level(*values: Any) -> Any:
    """Return the tape to be translated into source code that a value belongs to, if any."""
    for leaf in flatten(values)[0]:
        x = take_current(leaf)
        if hasattr(x, "decide") and x.level is not None:
            return x.level  # x is a condition
        while isinstance(x, Traced):
            if getattr(x.level, "written", False):
                return x.level
            x = getattr(x, "value", None)  # symbols have none
    return None


def as_operand(x: Any) -> Any:
    """Return x as the operand of a condition: its plain number, or its node on such a tape."""
    level = find_written_level(x)
    if level is None:
        return to_plain(x)
    while x.level is not level:
        x = x.value
    return x


def note_answer(answer: Any, function: Function, *args: Any, **kwargs: Any) -> Any:
    """Note what NumPy's `function` answered for the plain values of its arguments; return it."""
    level = find_written_level(args, kwargs)
    if level is not None:
        level.note_call(answer, function, args, kwargs)
    return answer


def note_decision(condition: Any) -> None:
    """Note that a condition on an array decides between plain numbers."""
    if find_written_level(condition) is not None:
        condition.decide()
