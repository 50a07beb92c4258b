"""Where the results of an array program lie: in arrays of NumPy, or in memory to work in.

What is only needed on the way lies in one block, where a result takes the place of others that are
needed no more. Blocks are used again by later calls, so that their pages are there already.
"""

from __future__ import annotations

import ctypes
import math
from functools import cache
from typing import Any

import numpy as np

from simpleautodiff.compiled.building import Call, Product, Work, read_by
from simpleautodiff.compiled.loops import Access, Loop
from simpleautodiff.compiled.planning import INPUT, NUMPY, Plan
from simpleautodiff.compiled.symbols import places

_LINE = 64  # bytes that a processor moves together
_KEPT = 4  # blocks that wait for the next call


class Memory:
    """The places of all results.

    Attributes
    ----------
    objects : dict
        Of results that are arrays of NumPy: their place in the table.
    offsets : dict
        Of the others: where in the block they begin.
    size : int
        How many bytes the block has.
    """

    def __init__(self, plan: Plan, work: list[Work]) -> None:
        self.plan = plan
        self.objects: dict[int, int] = {}
        self.offsets: dict[int, int] = {}
        self.size = 0
        self._blocks: list[Block] = []
        for root in range(-len(plan.constants), 0):
            self._object(root)
        for number, how in enumerate(plan.how):
            single = how == INPUT and plan.lines[number].shape == ()
            if (how == INPUT and not single) or how == NUMPY:
                self._object(number)
        for place in places(plan.outputs):
            if plan.lines[place].shape != ():
                self._object(plan.views[place].root)
        self.shared = self._lay_out(work)

    def _object(self, root: int) -> None:
        self.objects.setdefault(root, 1 + len(self.objects))

    def _lay_out(self, work: list[Work]) -> dict[int, int]:
        """Give every other result a place while it is needed."""
        born, dies = _lives(self.plan, work)
        for number, how in enumerate(self.plan.how):
            if how == INPUT and number not in self.objects:
                born[number] = -1
                dies.setdefault(number, -1)
        for place in places(self.plan.outputs):
            dies[self.plan.views[place].root] = len(work)
        shared = _in_results(work, born, dies, self)
        taken: list[tuple[int, int, int]] = []  # begin, end, and when it is free again
        for root in sorted(born, key=lambda root: (born[root], root)):
            if root in self.objects or root in shared:
                continue
            taken = [part for part in taken if part[2] >= born[root]]
            begin = _gap(sorted(taken), self._bytes(root))
            self.offsets[root] = begin
            taken.append((begin, begin + self._bytes(root), dies[root]))
            self.size = max(self.size, begin + self._bytes(root))
        return shared

    def fits(self, one: int, other: int) -> bool:
        """Tell whether two results are equally large."""
        return self._bytes(one) == self._bytes(other)

    def _bytes(self, root: int) -> int:
        line = self.plan.lines[root]
        count = math.prod(line.shape) * (line.dtype.itemsize if line.dtype else 8)
        return -(-count // _LINE) * _LINE

    def address(self, root: int, name: str) -> list[str]:
        """Write what finds the address of a result, given the table."""
        root = self.shared.get(root, root)
        if root in self.offsets:
            return [
                f"  {name}.block = load ptr, ptr %table",
                f"  {name} = getelementptr i8, ptr {name}.block, i64 {self.offsets[root]}",
            ]
        return [
            f"  {name}.at = getelementptr ptr, ptr %table, i64 {self.objects[root]}",
            f"  {name}.object = load ptr, ptr {name}.at",
            f"  {name}.data = getelementptr i8, ptr {name}.object, i64 {data_offset()}",
            f"  {name} = load ptr, ptr {name}.data",
        ]

    def take(self) -> Block:
        """Return a block that nobody uses."""
        try:
            return self._blocks.pop()
        except IndexError:
            return Block(self)

    def give_back(self, block: Block) -> None:
        """Keep a block for the next call."""
        if len(self._blocks) < _KEPT:
            self._blocks.append(block)


class Block:
    """Memory to work in, for one call at a time, and the table of all addresses."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        raw = np.empty(memory.size + _LINE, np.uint8)
        start = -raw.ctypes.data % _LINE
        self.bytes = raw[start : start + memory.size]
        self.table = (ctypes.c_void_p * (1 + len(memory.objects)))()
        self.table[0] = self.bytes.ctypes.data
        for root, index in memory.objects.items():
            if root < 0:
                self.table[index] = id(memory.plan.constants[-1 - root])
        self.at = ctypes.addressof(self.table)
        self._arrays: dict[int, Any] = {}

    def array(self, root: int) -> Any:
        """Return a result that lies in the block, as an array."""
        if root not in self._arrays:
            line = self.memory.plan.lines[root]
            begin = self.memory.offsets[root]
            dtype: Any = line.dtype
            end = begin + math.prod(line.shape) * dtype.itemsize
            self._arrays[root] = self.bytes[begin:end].view(dtype).reshape(line.shape)
        return self._arrays[root]


@cache
def data_offset() -> int:
    """Return where an array of NumPy keeps the address of its elements: found, not assumed."""
    array = np.empty(3)
    words = (ctypes.c_size_t * 8).from_address(id(array))
    return 8 * list(words).index(array.ctypes.data)


def _lives(plan: Plan, work: list[Work]) -> tuple[dict[int, int], dict[int, int]]:
    """Return when each result is first written, and when it is last used."""
    born: dict[int, int] = {}
    dies: dict[int, int] = {}
    for when, piece in enumerate(work):
        written: list[int] = []
        if isinstance(piece, Loop):
            written = [to.slot for _, to in piece.stores] + [fold.to.slot for fold in piece.folds]
        elif isinstance(piece, Product | Call):
            written = [piece.number]
        for root in written:
            born.setdefault(root, when)
            dies[root] = when
        for root in read_by(plan, piece):
            dies[root] = when
    return born, dies


def _in_results(
    work: list[Work], born: dict[int, int], dies: dict[int, int], memory: Memory
) -> dict[int, int]:
    """Return what may lie where a result will be, until the loop that makes the result of it."""
    shared: dict[int, int] = {}
    for when, piece in enumerate(work):
        if not isinstance(piece, Loop):
            continue
        for _, to in piece.stores:
            if to.slot not in memory.objects or born[to.slot] != when:
                continue
            for load in piece.loads:
                ends = dies.get(load.slot) == when and load.slot in born
                free = ends and load.slot not in memory.objects and load.slot not in shared
                if free and _same_elements(piece, load, to) and memory.fits(load.slot, to.slot):
                    shared[load.slot] = to.slot
                    break
    return shared


def _same_elements(loop: Loop, load: Access, to: Access) -> bool:
    """Tell whether an element is written where it was read, and nowhere else."""
    alike = load.kind == to.kind and load.strides == to.strides and load.offset == to.offset == 0
    once = sum(other.slot == load.slot for other in loop.loads) == 1
    return alike and once and not load.places and not to.places


def _gap(taken: list[tuple[int, int, int]], size: int) -> int:
    """Return where the first free bytes begin, so many of them."""
    begin = 0
    for first, last, _ in taken:
        if first - begin >= size:
            return begin
        begin = max(begin, last)
    return begin
