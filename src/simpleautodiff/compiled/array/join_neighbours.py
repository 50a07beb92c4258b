"""Join loops of which one reads what the other computes for the element before, or after.

Such loops cannot simply be one: y[i] = f(x[i], k[i - 1]) needs an element of k that another step of
a loop computes. But that is the step just before, if the loop goes on element by element or vector
by vector, so that the number is at hand: k need not be read again, or even be kept in memory. In a
body, ("before", place) is what that place was one element earlier, and 0 at first; ("after", place)
is the same in a loop that begins with the last element.
"""

from __future__ import annotations

from collections.abc import Sequence

from simpleautodiff.compiled.array.build_loops import Task, prune, read_by, written_by
from simpleautodiff.compiled.array.loops import Access, Loop
from simpleautodiff.compiled.array.schedule import LoopSchedule
from simpleautodiff.compiled.scalar.scalar_program import ScalarProgram

MOST_JOINT_STEPS = 150  # of a joint body
MOST_READ = 16  # arrays that a joint loop reads
BEFORE, AFTER = "before", "after"  # steps of a body, and the way a loop goes


def join_neighbours(work: list[Task], plan: LoopSchedule) -> list[Task]:
    """Return the tasks with loops joined that read neighbours of what the other computes."""
    joined: list[Task] = []
    left = [*work]
    while left:
        task = left.pop(0)
        if isinstance(task, Loop) and _is_plain(task):
            task, left = _join_later(task, left, plan)
        joined.append(task)
    return joined if len(joined) == len(work) else prune(joined, plan)


def _join_later(loop: Loop, work: list[Task], plan: LoopSchedule) -> tuple[Loop, list[Task]]:
    """Join a loop with later ones that it can take in; return it and the other tasks."""
    others: list[Task] = []
    written: set[int] = set()  # by the tasks that the loop passes by
    read: set[int] = set()
    for task in work:
        writes, reads = {*written_by(task)}, {*read_by(plan, task)}
        if isinstance(task, Loop) and _is_plain(task) and task.shape == loop.shape:
            is_free = not written & (reads | writes) and not read & writes
            made = _join(loop, task) if is_free else None
            if made is not None:
                loop = made
                continue
        others.append(task)
        written |= writes
        read |= reads
    return loop, others


def _is_plain(loop: Loop) -> bool:
    """Tell whether a loop goes along arrays, element by element."""
    if len(loop.shape) != 1 or loop.folds or loop.alone or loop.fixed:
        return False
    to_each = all(to.strides == (1,) for _, to in loop.stores)
    return to_each and not any(part.places for access in loop.loads for part in access.parts())


def _join(first: Loop, second: Loop) -> Loop | None:
    """Return both loops as one; None if no neighbour is read, or one that is not at hand."""
    made = {to.slot: (place, to) for place, to in first.stores}
    reads = {part.slot for access in first.loads for part in access.parts()}
    if any(to.slot in made or to.slot in reads for _, to in second.stores):
        return None
    needed = [_find_neighbour(access, made, first.shape[0]) for access in second.loads]
    ways = {first.neighbours, second.neighbours, *needed} - {""}
    if None in needed or len(ways) != 1 or not any(needed):
        return None
    joint = Loop(first.shape, ScalarProgram(first.body.precise), neighbours=str(*ways))
    joint.says = f"{first.says}, {second.says}"
    found = _add(joint, first, [None] * len(first.loads))
    at_hand = [
        None if access.slot not in made
        else _beside(joint.body, way, found[made[access.slot][0]]) if way
        else found[made[access.slot][0]]
        for access, way in zip(second.loads, needed, strict=True)
    ]  # fmt: skip
    _add(joint, second, at_hand)
    fits = len(joint.body) <= MOST_JOINT_STEPS and len(joint.loads) <= MOST_READ
    return joint if fits else None


def _find_neighbour(access: Access, made: dict[int, tuple[int, Access]], size: int) -> str | None:
    """Return which neighbour an access reads: "" if none, None if it is not at hand."""
    if not any(part.slot in made for part in access.parts()):
        return ""
    if access.slot not in made or access.under or access.strides != (1,) or access.dtype == "?":
        return None
    distance = access.offset - made[access.slot][1].offset
    if not access.box:
        return "" if distance == 0 else None
    found = {(-1, (1, size)): BEFORE, (1, (0, size - 1)): AFTER}
    return found.get((distance, access.box[0]))


def _beside(body: ScalarProgram, way: str, place: int) -> int:
    return body._new((way, place), body.dtypes[place])


def _add(joint: Loop, loop: Loop, at_hand: Sequence[int | None]) -> dict[int, int]:
    """Add the steps of a loop, some of whose inputs are at hand; return where they are now."""
    old, new, found = loop.body, joint.body, dict[int, int]()
    inputs = [_load(joint, access) if known is None else known
              for access, known in zip(loop.loads, at_hand, strict=True)]  # fmt: skip
    old.outputs = [place for place, _ in loop.stores]
    for place in old.live():
        operation, *args = old.steps[place]
        if operation == "input":
            found[place] = inputs[args[0]]
        elif old.is_zero(place):
            found[place] = new.zero(old.dtypes[place])
        else:
            args = args if operation == "const" else [found[arg] for arg in args]
            found[place] = new._new((operation, *args), old.dtypes[place])
    joint.stores += [(found[place], to) for place, to in loop.stores]
    return found


def _load(joint: Loop, access: Access) -> int:
    """Return the input that is an access, which may be there already."""
    key = _describe(access)
    for k, other in enumerate(joint.loads):
        if _describe(other) == key:
            return joint.body.inputs[k]
    joint.loads.append(access)
    return joint.body.input(access.dtype)


def _describe(access: Access) -> list[tuple[object, ...]]:
    return [(x.slot, x.dtype, x.offset, x.strides, x.box) for x in access.parts()]
