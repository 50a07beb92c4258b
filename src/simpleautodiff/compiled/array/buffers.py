"""Where the results of an array program are in memory: in NumPy arrays, or in a work block.

Intermediate results share one block, in which a result reuses the memory of others that are not
needed any more.
"""

from __future__ import annotations

import math

from simpleautodiff.compiled.array.build_loops import Task, read_by, written_by
from simpleautodiff.compiled.array.classify import INPUT, NUMPY
from simpleautodiff.compiled.array.loops import Access, Loop
from simpleautodiff.compiled.array.schedule import LoopSchedule
from simpleautodiff.compiled.recording.trace_program import find_refs

LINE = 64  # bytes of a cache line
_PAGE = 4096  # bytes after which addresses share a place in the cache
_APART = 5 * LINE


class BufferLayout:
    """The place in memory of every result of a schedule.

    Attributes
    ----------
    table : dict
        For constants, inputs, outputs and NumPy's results: the index of their address in the table.
        The first address there is that of the block.
    offsets : dict
        For all others: their offset in the block.
    size : int
        How many bytes the block has.
    shared : dict
        Results that use the memory of an output until that is computed from them.
    """

    def __init__(self, plan: LoopSchedule, work: list[Task]) -> None:
        self.plan = plan
        self.table: dict[int, int] = {}
        self.offsets: dict[int, int] = {}
        self.size = 0
        for root in range(-len(plan.constants), 0):
            self._enter(root)
        for number, how in enumerate(plan.how):
            if how in (INPUT, NUMPY):
                self._enter(number)
        for place in find_refs(plan.outputs):
            self._enter(plan.views[place].root)
        self._work = work
        self.shared = self._lay_out(work)

    def _enter(self, root: int) -> None:
        self.table.setdefault(root, 1 + len(self.table))

    def _lay_out(self, work: list[Task]) -> dict[int, int]:
        """Give every other result an offset in the block while it is needed."""
        born, dies = _lives(self.plan, work)
        shared = _in_results(work, born, dies, self)
        taken: list[tuple[int, int, int]] = []  # start, end, and when it is free again
        for root in sorted(born, key=lambda root: (born[root], root)):
            if root in self.table or root in shared:
                continue
            taken = [part for part in taken if part[2] >= born[root]]
            begin = _gap(sorted(taken), self._bytes(root))
            self.offsets[root] = begin
            taken.append((begin, begin + self._bytes(root), dies[root]))
            self.size = max(self.size, begin + self._bytes(root))
        return shared

    def fits(self, one: int, other: int) -> bool:
        """Tell whether two results have the same size."""
        return self._exactly(one) == self._exactly(other)

    def _exactly(self, root: int) -> int:
        line = self.plan.lines[root]
        return math.prod(line.shape) * (line.dtype.itemsize if line.dtype else 8)

    def _bytes(self, root: int) -> int:
        """Return how much of the block a result takes: whole cache lines."""
        size = self._exactly(root)
        return -(-size // LINE) * LINE + find_gap(size)

    def can_overwrite(self, number: int, which: int) -> bool:
        """Tell whether an output may have the memory of an input: that is read before."""
        view = self.plan.views[self.plan.outputs[which]]
        root = view.root
        born, dies = _lives(self.plan, self._work)
        if root not in born or not self.fits(number, root):
            return False  # it is an input or a constant itself
        users = [root, *[other for other, of in self.shared.items() if of == root]]
        first = min(users, key=born.__getitem__)
        last = dies.get(number, -1)
        piece = self._work[born[first]]
        if last != born[first] or not isinstance(piece, Loop):
            return last < born[first]
        loads = [load for load in piece.loads if load.slot == number]
        stores = [to for _, to in piece.stores if to.slot == first]
        return len(loads) == len(stores) == 1 and _same_elements(piece, loads[0], stores[0])

    def offset(self, root: int) -> int | None:
        """Return the offset of a result in the block; None if its address is in the table."""
        return self.offsets.get(self.shared.get(root, root))

    def row(self, root: int) -> int:
        """Return the index of the address of a result in the table."""
        return self.table[self.shared.get(root, root)]


def find_gap(size: int) -> int:
    """Return how many bytes to leave free beside an array, so that large ones do not collide.

    A loop reads and writes several arrays at the same index. If their addresses differ by whole
    pages, they compete for the same few places in the cache, and a read waits for a write that has
    nothing to do with it.
    """
    return _APART if size >= _PAGE else 0


def _lives(plan: LoopSchedule, work: list[Task]) -> tuple[dict[int, int], dict[int, int]]:
    """Return when each result is first written, and when it is last used."""
    born: dict[int, int] = {}
    dies: dict[int, int] = {}
    for when, piece in enumerate(work):
        for root in written_by(piece):
            born.setdefault(root, when)
            dies[root] = when
        for root in read_by(plan, piece):
            dies[root] = when
    return born, dies


def _in_results(
    work: list[Task], born: dict[int, int], dies: dict[int, int], memory: BufferLayout
) -> dict[int, int]:
    """Return results that may use the memory of an output until it is computed from them."""
    shared: dict[int, int] = {}
    for when, piece in enumerate(work):
        if not isinstance(piece, Loop):
            continue
        for place, to in piece.stores:
            if to.slot not in memory.table or born[to.slot] != when:
                continue
            for load in _find_loads(
                piece, place
            ):  # these have been read when the result is written
                ends = dies.get(load.slot) == when and load.slot in born
                free = ends and load.slot not in memory.table and load.slot not in shared
                if free and _same_elements(piece, load, to) and memory.fits(load.slot, to.slot):
                    shared[load.slot] = to.slot
                    break
    return shared


def _find_loads(loop: Loop, place: int) -> list[Access]:
    """Return the loads that a step of the body is computed from."""
    needed = {place}
    found = []
    for number in range(place, -1, -1):
        operation, *args = loop.body.steps[number]
        if number in needed and operation == "input":
            found.append(loop.loads[args[0]])
        elif number in needed and operation != "const":
            needed.update(args)
    return found[::-1]


def _same_elements(loop: Loop, load: Access, to: Access) -> bool:
    """Tell whether each element is written exactly where it was read."""
    alike = load.dtype == to.dtype and load.strides == to.strides and load.offset == to.offset == 0
    once = sum(other.slot == load.slot for other in loop.loads) == 1
    return alike and once and not load.places and not to.places


def _gap(taken: list[tuple[int, int, int]], size: int) -> int:
    """Return the offset of the first `size` free bytes."""
    begin = 0
    for first, last, _ in taken:
        if first - begin >= size:
            return begin
        begin = max(begin, last)
    return begin
