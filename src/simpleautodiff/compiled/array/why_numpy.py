"""Explain why a line is left to NumPy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simpleautodiff.compiled.array.array_operations import ARRAY_OPERATIONS
from simpleautodiff.compiled.recording.trace_program import find_refs
from simpleautodiff.compiled.scalar.lower_rows import can_lower, dtype_letter

if TYPE_CHECKING:
    from simpleautodiff.compiled.array.schedule import LoopSchedule


def explain_numpy(plan: LoopSchedule, number: int) -> str:
    """Say why NumPy computes a line, and on which source line it is."""
    line = plan.lines[number]
    given = [plan.lines[place] for place in find_refs((line.args, line.kwargs))]
    others = [each.dtype for each in (*given, line) if dtype_letter(each.dtype) is None]
    if others:
        known = next((str(dtype) for dtype in others if dtype is not None), "several arrays")
        reason = f"{known} is not compiled"
    elif any(0 in each.shape for each in (*given, line)):
        reason = "an array has no elements"
    elif line.name in ARRAY_OPERATIONS or can_lower(line.what, line.dtype):
        reason = "it is compiled for other arguments"
    else:
        reason = "no loop is known for it"
    return f"NumPy: {line.name} {line.shape}: {reason}{line.where}"
