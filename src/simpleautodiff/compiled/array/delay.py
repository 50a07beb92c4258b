"""Move lines into the later loops that need them, where that keeps no more in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simpleautodiff.compiled.array.classify import ELEMENTWISE, LOADED, VIEW
from simpleautodiff.compiled.recording.trace_program import places

if TYPE_CHECKING:
    from simpleautodiff.compiled.array.schedule import LoopSchedule


def delay(plan: LoopSchedule) -> None:
    """Compute lines as late as possible, if their arguments take no more memory than they do."""
    needed: dict[int, list[int]] = {n: [] for n in range(len(plan.lines))}
    fixed = {plan.views[p].root for p in places(plan.outputs)}
    fixed |= {plan.views[guard[0]].root for guard in plan.guards if guard}
    for number, line in enumerate(plan.lines):
        for arg in places((line.args, line.kwargs)):
            root = plan.views[arg].root
            needed.setdefault(root, []).append(number)
            if plan.how[number] != VIEW and not plan.joins(arg, number):
                fixed.add(root)
    for number in range(len(plan.lines) - 1, -1, -1):
        how = plan.how[number]
        users = [user for user in needed[number] if plan.how[user] != VIEW]
        if (how == ELEMENTWISE or how in LOADED) and number not in fixed and users:
            latest = min([plan.stage[user] for user in users])
            if latest > plan.stage[number] and _brings_along(plan, number) <= 1:
                plan.stage[number] = latest


def _brings_along(plan: LoopSchedule, number: int) -> int:
    args = [arg for arg in plan.lines[number].args if plan.joins(arg, number)]
    return len({plan.views[arg].root for arg in args})
