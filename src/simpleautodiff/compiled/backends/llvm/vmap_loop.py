"""The loop over the examples of a batch, as many at a time as there are lanes.

If examples are left over, the last vector begins earlier, so that some examples are computed
twice; with fewer examples than lanes, the last one is computed in all remaining lanes. Both write
values that are there already, so no other code is needed for the remainder. Leaves given column by
column need no transposition; then there are at least as many examples as lanes, and the last vector
may begin before the requested examples.
"""

from __future__ import annotations

from collections.abc import Sequence

from simpleautodiff.compiled.backends.llvm.builder import Builder
from simpleautodiff.compiled.backends.llvm.instructions import BYTES
from simpleautodiff.compiled.backends.llvm.transpose_lanes import LaneTransposer
from simpleautodiff.compiled.scalar.kernel import COLUMNS, GATHERED, ROWS, SAME, Kernel


class BatchLoop:
    """The loop over all examples, and where in memory the examples of a block are.

    `size` is how many examples there are, if a leaf is given by columns.

    Attributes
    ----------
    before, body : Builder
        The code before the loop, and for every block of examples.
    after : list of str
        The code after it.
    """

    def __init__(self, kernel: Kernel, modes: Sequence[str], width: int, size: int = 0) -> None:
        self.leaves = [*kernel.inputs, *kernel.outputs]
        self.modes = [*modes, *[ROWS] * (len(self.leaves) - len(modes))]
        self.width, self.size = width, size
        self.before = Builder("b")
        self.body = LaneTransposer(width)
        self.after: list[str] = []
        self._starts: dict[int, list[str]] = {}
        for j in range(len(self.leaves)):
            self._open(j)

    def _open(self, j: int) -> None:
        """Load the description of a leaf."""
        read = ["base"] if self.modes[j] in (SAME, COLUMNS) else ["base", "step", "index"]
        for k, word in enumerate(read):
            kind = "i64" if word == "step" else "ptr"
            pointer = self.before.address("%leaves", 24 * j + 8 * k)
            self.before.line(f"%{word}{j} = load {kind}, ptr {pointer}")
        if self.modes[j] in (SAME, COLUMNS):
            return
        self.before.line(f"%bytes{j} = mul i64 %step{j}, {BYTES[self.leaves[j].dtype]}")
        if self.modes[j] == ROWS:
            for lane in range(self.width):
                self.before.line(f"%offset{j}.{lane} = mul i64 %bytes{j}, %lane{lane}")

    def starts(self, j: int) -> list[str]:
        """Write the addresses of the examples of this block, once for each leaf."""
        if j not in self._starts:
            find = self._find_gathered if self.modes[j] == GATHERED else self._in_order
            self._starts[j] = find(j)
        return self._starts[j]

    def _in_order(self, j: int) -> list[str]:
        at = self.body.new(f"mul i64 %row, %bytes{j}")
        first = self.body.address(f"%base{j}", at)
        return [self.body.address(first, f"%offset{j}.{lane}") for lane in range(self.width)]

    def _find_gathered(self, j: int) -> list[str]:
        body, found = self.body, []
        first = body.address(f"%index{j}", "%row", "i64")
        for lane in range(self.width):
            at = body.new(f"mul i64 {body.get(first, f'%lane{lane}', 'i64')}, %bytes{j}")
            found.append(body.address(f"%base{j}", at))
        return found

    def column(self, j: int, k: int) -> str:
        """Write the address of the examples of this block in a contiguous column."""
        bytes_ = BYTES[self.leaves[j].dtype]
        at = self.body.new(f"mul i64 %row, {bytes_}")
        return self.body.address(self.body.address(f"%base{j}", at), k * self.size * bytes_)

    def lines(self) -> list[str]:
        """Return the whole function."""
        lanes = [
            f"  %lane{lane} = call i64 @llvm.smin.i64(i64 %most, i64 {lane})"
            for lane in range(self.width)
        ]
        begin = _BEGIN_WIDE if COLUMNS in self.modes else _BEGIN
        return [
            begin.format(self.width),
            *lanes,
            *self.before.lines,
            _LOOP,
            *self.body.lines,
            _AGAIN.format(self.width),
            *self.after,
            "  br label %done\ndone:\n  ret void",
        ]


_BEGIN = """\
  %count = sub i64 %stop, %start
  %some = icmp sgt i64 %count, 0
  br i1 %some, label %before, label %done
before:
  %rest = sub i64 %count, {0}
  %further = call i64 @llvm.smax.i64(i64 %rest, i64 0)
  %last = add i64 %start, %further
  %few = call i64 @llvm.smin.i64(i64 %count, i64 {0})
  %most = sub i64 %few, 1"""
_BEGIN_WIDE = """\
  %some = icmp slt i64 %start, %stop
  br i1 %some, label %before, label %done
before:
  %last = sub i64 %stop, {0}
  %most = add i64 {0}, -1"""
_LOOP = """\
  br label %enter
enter:
  br label %loop
loop:
  %i = phi i64 [ %start, %enter ], [ %next, %again ]
  %row = call i64 @llvm.smin.i64(i64 %i, i64 %last)"""
_AGAIN = """\
  br label %again
again:
  %next = add i64 %i, {0}
  %more = icmp slt i64 %next, %stop
  br i1 %more, label %loop, label %after
after:"""
