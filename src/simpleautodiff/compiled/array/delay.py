"""Move lines into the later loops that need them, if that takes no more memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simpleautodiff.compiled.array.classify import ELEMENTWISE, IN_LOOPS, LOADED, VIEW
from simpleautodiff.compiled.array.view_accesses import Shape, squeeze
from simpleautodiff.compiled.recording.trace_program import find_refs

if TYPE_CHECKING:
    from simpleautodiff.compiled.array.schedule import LoopSchedule


def delay(plan: LoopSchedule) -> None:
    """Compute lines as late as possible, if their arguments take no more memory than they do.

    Then whole loops join the later loop that alone needs them: what goes from one to the other is
    not kept in memory.
    """
    needed: dict[int, list[int]] = {n: [] for n in range(len(plan.lines))}
    fixed = {plan.views[p].root for p in find_refs(plan.outputs)}
    fixed |= {plan.views[guard[0]].root for guard in plan.guards if guard}
    for number, line in enumerate(plan.lines):
        for arg in find_refs((line.args, line.kwargs)):
            root = plan.views[arg].root
            needed.setdefault(root, []).append(number)
            if plan.how[number] != VIEW and not plan.joins(arg, number):
                fixed.add(root)
    users = {root: [k for k in found if plan.how[k] != VIEW] for root, found in needed.items()}
    for number in range(len(plan.lines) - 1, -1, -1):
        if _is_movable(plan, number) and number not in fixed and users[number]:
            latest = min([plan.stage[user] for user in users[number]])
            if latest > plan.stage[number] and _brings_along(plan, number) <= 1:
                plan.stage[number] = latest
    _join_loops(plan, users, fixed)


def _join_loops(plan: LoopSchedule, users: dict[int, list[int]], fixed: set[int]) -> None:
    """Move lines of a loop that belong together to the only later loop that needs them.

    It must need them element by element. What both parts of the loop read is then read twice, so
    it must be less than what is no longer stored, and read again.
    """
    loops: dict[tuple[int, Shape], list[int]] = {}
    for number, how in enumerate(plan.how):
        if how in IN_LOOPS:
            loops.setdefault(_loop_of(plan, number), []).append(number)
    for loop in sorted(loops, reverse=True):
        for part in _find_parts(plan, loops[loop]):
            later = _find_later(plan, loop, part, users, fixed)
            if later is None:
                continue
            rest = [number for number in loops[loop] if number not in part]
            passed = [k for k in part if any(user not in part for user in users[k])]
            if len(_read_by(plan, part) & _read_by(plan, rest)) <= 2 * len(passed):
                for number in part:
                    plan.stage[number] = later[0]
                loops[loop] = rest
                loops[later] += part


def _find_later(
    plan: LoopSchedule,
    loop: tuple[int, Shape],
    part: list[int],
    users: dict[int, list[int]],
    fixed: set[int],
) -> tuple[int, Shape] | None:
    """Return the only other loop that needs some lines, element by element."""
    if not all(_is_movable(plan, k) and k not in fixed and users[k] for k in part):
        return None
    outside = {user for number in part for user in users[number]} - {*part}
    found = {_loop_of(plan, user) for user in outside}
    is_one = len(found) == 1 and all(plan.how[user] in IN_LOOPS for user in outside)
    later = found.pop() if is_one else loop
    return later if later != loop and later[1] == loop[1] else None


def _find_parts(plan: LoopSchedule, members: list[int]) -> list[list[int]]:
    """Cut the lines of a loop into independent parts."""
    parts: list[list[int]] = []
    for number in members:
        roots = {plan.views[x].root for x in find_refs(plan.lines[number].args)}
        near = [part for part in parts if roots & {*part}]
        parts = [part for part in parts if part not in near]
        parts.append([*[k for part in near for k in part], number])
    return parts


def _read_by(plan: LoopSchedule, lines: list[int]) -> set[tuple[int, int]]:
    """Return what lines of a loop read from memory: buffers, and where in them."""
    views = [plan.views[x] for number in lines for x in find_refs(plan.lines[number].args)]
    return {(view.root, view.offset) for view in views if view.root not in lines}


def _loop_of(plan: LoopSchedule, number: int) -> tuple[int, Shape]:
    """Return the stage and the shape of the loop of a line."""
    return plan.stage[number], squeeze(plan.space(number))


def _is_movable(plan: LoopSchedule, number: int) -> bool:
    return plan.how[number] == ELEMENTWISE or plan.how[number] in LOADED


def _brings_along(plan: LoopSchedule, number: int) -> int:
    args = [arg for arg in plan.lines[number].args if plan.joins(arg, number)]
    return len({plan.views[arg].root for arg in args})
