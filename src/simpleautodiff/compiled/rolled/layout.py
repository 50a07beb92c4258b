"""The memory of a rolled program, and the words that describe its calls to the code.

Everything is in one block of memory: numbers that differ from step to step, the arguments, and the
results of bodies while they are needed. Every call is a few words: which body, how many guards come
before its own, and the offsets of its arguments and results in the block. The code contains bodies
only, so another number of steps is just another list of words.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from simpleautodiff.compiled.array.buffers import LINE, find_gap
from simpleautodiff.compiled.array.view_accesses import View, find_strides
from simpleautodiff.compiled.recording.symbols import FLOAT64_DTYPE
from simpleautodiff.compiled.recording.trace_program import Ref
from simpleautodiff.compiled.rolled.bodies import (
    Address,
    ArrayBody,
    MoveBody,
    ScalarBody,
    make_body,
    make_move_body,
)
from simpleautodiff.compiled.rolled.number_loops import LoopBody, LoopHead, make_loop_body
from simpleautodiff.compiled.rolled.overwrite import overwrite_carried
from simpleautodiff.compiled.rolled.roll import lowest
from simpleautodiff.compiled.rolled.rolled_program import (
    BodyCall,
    Given,
    LineCall,
    LoopBegin,
    LoopEnd,
    Move,
    NotRolledError,
    RolledProgram,
    find_roots,
)

LOOP = -1  # the opcode of a loop, instead of the number of a body
# The words of a loop: LOOP, 0, the addresses of the number of steps, of whether there is a first
# one, of where to say whether all guards held, whether there is a next step, and how many there
# were, and of where a step says whether there is a next one (or -1); then whether it begins with
# the last row, how many words advance, and how many words are inside. Then, for each word that
# advances, its index and its stride.
LOOP_WORDS = 11


class RolledLayout:
    """The block of a rolled program.

    Attributes
    ----------
    bodies : list
        What is compiled.
    words : ndarray of int64
        The calls, one after the other.
    steps : list
        Ranges of words, and lines that NumPy computes in between.
    known : ndarray of uint8
        The first bytes of the block: numbers that are the same at every call.
    inputs, outputs : list
        The offset, dtype, shape and strides of each, in bytes.
    size : int
        The bytes of the block.
    """

    def __init__(self, rolled: RolledProgram, precise: bool) -> None:
        self.lines = rolled.recorded.lines
        self.bodies: list[ScalarBody | ArrayBody | MoveBody | LoopBody] = [
            make_body(body, precise) for body in rolled.bodies
        ]
        self.rolled = rolled = overwrite_carried(rolled, self.bodies)
        self._constants: dict[Any, int] = {}
        self._known: list[bytes] = []
        self.size = 0
        self._place_constants()
        constants = {number: self.constant(x) for number, x in rolled.constants.items()}
        self.scratch = self._take(max([body.scratch for body in self.bodies], default=0))
        self._offsets: dict[int, int] = constants
        self._free: dict[int, list[int]] = {}
        for number in range(rolled.recorded.inputs):
            self._offsets[number] = self._take(self._bytes(number))
        self._moves: dict[Any, int] = {}
        self.steps: list[tuple[int, int] | LineCall] = []
        self.has_loops = False
        self.words_change = False  # while they are processed
        self.words = np.array(self._write_calls(), np.int64)
        self.known = np.frombuffer(b"".join(self._known), np.uint8)
        self.inputs = [self.lies(rolled.view(n)) for n in range(rolled.recorded.inputs)]
        self.outputs = [
            self.lies(rolled.view(place)) if type(place) is Ref else place
            for place in rolled.recorded.outputs
        ]

    # Memory. --------------------------------------------------------------------------------------

    def _take(self, size: int) -> int:
        """Return the offset of new memory; small values are packed."""
        if size >= LINE:
            self.size = -(-self.size // LINE) * LINE
        begin = self.size = self.size + find_gap(size)
        self.size += -(-size // 8) * 8
        return begin

    def _bytes(self, number: int) -> int:
        line = self.lines[number]
        if line.dtype is FLOAT64_DTYPE and not line.shape:
            return 8
        if line.dtype is None or line.dtype.hasobject:
            raise NotRolledError(f"{line.name} gives numbers of type {line.dtype}")
        return -(-math.prod(line.shape) * line.dtype.itemsize // 8) * 8

    def _place_constants(self) -> None:
        for call in self.rolled.calls:
            if isinstance(call, BodyCall):
                for given in call.given:
                    if given.view is None:
                        self.constant(given.constant)
            elif isinstance(call, Move) and not isinstance(call.by, View):
                self.constant(call.by)
        for body in self.bodies:
            if isinstance(body, ScalarBody | ArrayBody):
                for constant in body.constants():
                    self.constant(constant)

    def constant(self, number: Any) -> int:
        """Return the offset of a number or an array that is the same at every call."""
        array = np.ascontiguousarray(number, None if isinstance(number, np.ndarray) else np.float64)
        content = array.tobytes()
        key = array.dtype.char, content
        if key not in self._constants:
            before = self.size
            self._constants[key] = begin = self._take(len(content))
            self._known.append(bytes(begin - before) + content + bytes(-len(content) % 8))
        return self._constants[key]

    def _at(self, view: View) -> int:
        """Return the offset of the first element of a view."""
        return self._place(view.root).plus(lowest(view) * self._itemsize(view.root))

    def _place(self, root: int) -> Address:
        """Return the address of a result; that of a row advances with the steps of a loop."""
        row = self.rolled.rows.get(root)
        if row is None:
            return Address.of(self._offsets[root], self._offsets[root], {})
        whole, size = self._place(row.of), self._itemsize(root)
        loops = {**whole.steps, **row.each}
        steps = {k: whole.steps.get(k, 0) + row.each.get(k, 0) * size for k in loops}
        return Address.of(whole + row.first * size, whole.root, steps)

    def _itemsize(self, number: int) -> int:
        dtype: Any = self.lines[number].dtype
        return int(dtype.itemsize)

    def lies(self, view: View) -> tuple[int, Any, tuple[int, ...], tuple[int, ...]]:
        """Return the offset, dtype, shape and strides of a view, in bytes."""
        dtype: Any = self.lines[view.root].dtype
        return (
            self._first(view),
            dtype,
            view.shape,
            tuple([dtype.itemsize * step for step in view.strides]),
        )

    # Calls. ---------------------------------------------------------------------------------------

    def _write_calls(self) -> list[int]:
        """Write the words of all calls; memory is freed after the last call that needs it."""
        words: list[int] = []
        begin, dying = 0, self._find_deaths()
        loops: list[tuple[LoopBegin, list[int]]] = []  # the open loops
        for k, call in enumerate(self.rolled.calls):
            if isinstance(call, LineCall):
                self._begin(call.number)
                self.steps += [(begin, len(words)), call]
                begin = len(words)
            elif isinstance(call, LoopBegin):
                for number in (*call.told, *call.results):
                    self._begin(number)
                loops.append((call, words))
                words = []
            elif isinstance(call, LoopEnd):
                inside, (first, words) = words, loops.pop()
                words += self._write_loop(first, inside)
            else:
                words += self._write_call(call)
            for root in dying.get(k, ()):
                self._free.setdefault(self._bytes(root), []).append(self._offsets[root])
        self.steps.append((begin, len(words)))
        return words

    def _write_call(self, call: BodyCall | Move) -> list[int]:
        if isinstance(call, Move):
            return self._write_move(call)
        for number in call.results:
            self._begin(number)
        given = [self._given(part) for part in call.given]
        body = self.bodies[call.body]
        assert isinstance(body, ScalarBody | ArrayBody)
        results = [self._place(number) for number in call.results]
        return [call.body, call.guards, *body.words(given, results, self)]

    def _write_loop(self, loop: LoopBegin, inside: list[int]) -> list[int]:
        """Write a loop: as a call of one body, or with the words that are to be repeated."""
        self.has_loops = True
        places = [self._place(number) for number in (loop.limit, loop.go, *loop.told)]
        following = None if loop.next is None else self._place(loop.next)
        head = LoopHead(loop.loop, loop.reverse, places, following)
        made = make_loop_body(head, inside, self.bodies)
        if made is None:
            return self._repeat(head, inside)
        body, words = made
        self.bodies.append(body)
        return [len(self.bodies) - 1, 0, *words]

    def _repeat(self, head: LoopHead, inside: list[int]) -> list[int]:
        """Write the head of a loop (see `LOOP_WORDS`), the words that advance, and all inside."""
        self.words_change = True
        moving = [
            (at, word.steps[head.loop])
            for at, word in enumerate(inside)
            if isinstance(word, Address) and head.loop in word.steps
        ]
        following = -1 if head.following is None else head.following
        numbers = [int(head.reverse), len(moving), len(inside)]
        pairs = [number for pair in moving for number in pair]
        return [LOOP, 0, *head.places, following, *numbers, *pairs, *inside]

    def _begin(self, root: int) -> None:
        """Allocate memory for a result, if it has none."""
        root = self._whole(root)
        if root not in self._offsets:
            size = self._bytes(root)
            free = self._free.get(size)
            self._offsets[root] = free.pop() if free else self._take(size)

    def _given(self, given: Given) -> int:
        return self.constant(given.constant) if given.view is None else self._at(given.view)

    def _write_move(self, move: Move) -> list[int]:
        self._begin(move.to.root)
        to, by, dtype = move.to, move.by, self.lines[move.to.root].dtype
        strides = (
            by.within(to.shape) if isinstance(by, View) else constant_view(by).within(to.shape)
        )
        key = move.adds, to.shape, to.strides, strides, dtype
        if key not in self._moves:
            self._moves[key] = len(self.bodies)
            self.bodies.append(make_move_body(*key))
        source = self._first(by) if isinstance(by, View) else self.constant(by)
        return [self._moves[key], 0, self._first(to), source]

    def _first(self, view: View) -> int:
        """Return the offset of the element whose indices are all 0."""
        return self._place(view.root).plus(view.offset * self._itemsize(view.root))

    def _whole(self, root: int) -> int:
        """Return the array of which a result is a row, or itself."""
        while root in self.rolled.rows:
            root = self.rolled.rows[root].of
        return root

    def _find_deaths(self) -> dict[int, list[int]]:
        """Return, for each call, the results that nothing needs after it."""
        last: dict[int, int] = {}
        first: dict[int, int] = {}
        begun: list[int] = []  # the open loops
        for k, call in enumerate(self.rolled.calls):
            for root in map(self._whole, find_roots(call, self.rolled)):
                first.setdefault(root, k)
                last[root] = k
            if isinstance(call, LoopBegin):
                begun.append(k)
            elif isinstance(call, LoopEnd):  # results from before the loop are needed in every step
                begin = begun.pop()
                last |= {root: k for root, at in last.items() if at > begin > first[root]}
        for root in self.rolled.constants:
            last.pop(root, None)
        for place in self.rolled.recorded.outputs:
            if type(place) is Ref:
                last.pop(self._whole(self.rolled.view(place).root), None)
        dying: dict[int, list[int]] = {}
        for root, k in last.items():
            if root >= self.rolled.recorded.inputs:
                dying.setdefault(k, []).append(root)
        return dying


def constant_view(array: Any) -> View:
    """Return the view of the elements of a constant."""
    return View(-1, array.shape, 0, find_strides(array.shape))
