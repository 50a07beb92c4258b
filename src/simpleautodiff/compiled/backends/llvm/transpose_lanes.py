"""Transpose blocks between examples in memory and lanes in registers.

A row of a leaf is contiguous in memory, and a lane of a vector belongs to one row: element k of
`width` rows makes one vector. Blocks of columns are moved together, `size` at a time: parts of rows
are loaded, joined, and transposed by exchanging ever smaller halves.
"""

from __future__ import annotations

from collections.abc import Sequence

from simpleautodiff.compiled.backends.llvm.builder import Builder
from simpleautodiff.compiled.backends.llvm.instructions import BYTES, ELEMENT, STORED, vector

SIZES = {STORED[kind]: size for kind, size in BYTES.items()}  # bytes of an element


def cover_columns(columns: int, largest: int) -> list[tuple[int, int]]:
    """Cover the columns of a leaf with blocks: first column and size, a power of two.

    The last block may overlap the one before: the overlap is moved twice.

    Examples
    --------
    >>> cover_columns(17, 8), cover_columns(11, 8), cover_columns(3, 8)
    ([(0, 8), (8, 8), (16, 1)], [(0, 8), (7, 4)], [(0, 2), (2, 1)])
    """
    found = []
    start = 0
    while start < columns:
        size, left = 1, columns - start
        while size < left and size < largest and 2 * size <= columns:
            size *= 2
        found.append((min(start, columns - size), size))
        start = found[-1][0] + size
    return found


class LaneTransposer(Builder):
    """Writes code that moves leaves between memory and vectors of one width."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width

    def _element(self, pointer: str, kind: str, column: int) -> str:
        """Write the address of an element of a row."""
        if column == 0:
            return pointer
        return self.new(f"getelementptr inbounds {STORED[kind]}, ptr {pointer}, i64 {column}")

    def load_columns(self, rows: Sequence[str], kind: str, start: int, size: int) -> list[str]:
        """Load a block of columns, given the start of each row, and return a vector for each."""
        element, part = STORED[kind], vector(STORED[kind], size)
        parts = [
            self.new(f"load {part}, ptr {self._element(row, kind, start)}, align 1") for row in rows
        ]
        joined = [self._join(parts[k::size], element, size) for k in range(size)]
        columns = self._transpose(joined, element, size)
        return [self.from_stored(column, kind) for column in columns]

    def load_packed(self, pointer: str, kind: str) -> str:
        """Load contiguous numbers."""
        stored = vector(STORED[kind], self.width)
        return self.from_stored(self.new(f"load {stored}, ptr {pointer}, align 1"), kind)

    def load_spread(self, pointer: str, kind: str, column: int) -> str:
        """Load one number into all lanes; it does not change meanwhile."""
        address = self._element(pointer, kind, column)
        name = self.new(f"load {STORED[kind]}, ptr {address}, align 1, !invariant.load !{{}}")
        if self.width > 1:
            stored = vector(STORED[kind], self.width)
            first = self.new(f"insertelement {stored} poison, {STORED[kind]} {name}, i64 0")
            name = self.shuffle(first, "poison", STORED[kind], self.width, [0] * self.width)
        return self.from_stored(name, kind)

    def from_stored(self, name: str, kind: str) -> str:
        """Convert loaded values to the type of computations: bools are bytes in memory."""
        if kind != "?":
            return name
        return self.new(f"icmp ne {vector(STORED[kind], self.width)} {name}, zeroinitializer")

    def to_stored(self, name: str, kind: str) -> str:
        """Convert numbers to the type they have in memory."""
        if kind != "?":
            return name
        truth, stored = vector(ELEMENT[kind], self.width), vector(STORED[kind], self.width)
        return self.new(f"zext {truth} {name} to {stored}")

    def store_packed(self, name: str, pointer: str, kind: str) -> None:
        """Store numbers contiguously."""
        stored = vector(STORED[kind], self.width)
        self.line(f"store {stored} {self.to_stored(name, kind)}, ptr {pointer}, align 1")

    def store_columns(
        self, columns: Sequence[str], rows: Sequence[str], kind: str, start: int
    ) -> None:
        """Store vectors as a block of columns, given the start of each row."""
        element, size = STORED[kind], len(columns)
        turned = self._transpose(
            [self.to_stored(column, kind) for column in columns], element, size
        )
        part = vector(element, size)
        for k, row in enumerate(rows):
            name = self._part(turned[k % size], element, size, k // size)
            address = self._element(row, kind, start)
            self.line(f"store {part} {name}, ptr {address}, align 1")

    def _join(self, parts: list[str], element: str, size: int) -> str:
        """Put vectors of `size` side by side, into one of the full width."""
        if size == 1 and self.width > 1:
            return self.fill_lanes(parts, element)
        while len(parts) > 1:
            both = range(2 * size)
            parts = [
                self.shuffle(parts[k], parts[k + 1], element, size, both)
                for k in range(0, len(parts), 2)
            ]
            size *= 2
        return parts[0]

    def fill_lanes(self, numbers: Sequence[str], element: str) -> str:
        """Put single numbers into the lanes of a vector."""
        kind, name = vector(element, self.width), "poison"
        for lane, number in enumerate(numbers):
            name = self.new(f"insertelement {kind} {name}, {element} {number}, i64 {lane}")
        return name

    def _transpose(self, vectors: list[str], element: str, size: int) -> list[str]:
        """Exchange rows and columns in all blocks of `size` × `size` side by side."""
        if size == self.width > 1:
            return self._square(vectors, element)
        half, lanes = size // 2, range(self.width)
        while half:
            low = [j if not j & half else j - half + self.width for j in lanes]
            high = [j + half if not j & half else j + self.width for j in lanes]
            new = list(vectors)
            for a in range(size):
                if not a & half:
                    x, y = vectors[a], vectors[a | half]
                    new[a] = self.shuffle(x, y, element, self.width, low)
                    new[a | half] = self.shuffle(x, y, element, self.width, high)
            vectors, half = new, half // 2
        return vectors

    def _square(self, vectors: list[str], element: str) -> list[str]:
        """Exchange rows and columns of one block, first within 16 bytes, then of whole 16 bytes.

        So no exchange needs a register for its mask. All vectors of a set have elements of the same
        rows, and each exchange halves their number.
        """
        both = self.width
        lane = min(16 // SIZES[element], both)
        sets = [(list(range(both)), vectors)]
        unit = 1
        while len(sets) < both:
            masks = _within(both, lane, unit) if unit < lane else _whole(both, lane)
            sets = [
                (
                    [(rows + rows)[place] for place in mask],
                    [
                        self.shuffle(x, y, element, both, mask)
                        for x, y in zip(old[::2], old[1::2], strict=True)
                    ],
                )
                for rows, old in sets
                for mask in masks
            ]
            unit *= 2
        found = {rows[0]: vector for rows, (vector,) in sets}
        return [found[row] for row in range(both)]

    def _part(self, name: str, element: str, size: int, k: int) -> str:
        if size == self.width:
            return name
        if size == 1:
            return self.new(f"extractelement {vector(element, self.width)} {name}, i64 {k}")
        return self.shuffle(name, "poison", element, self.width, range(k * size, (k + 1) * size))

    def shuffle(self, x: str, y: str, element: str, size: int, places: Sequence[int]) -> str:
        """Select elements of two vectors."""
        kind = vector(element, size)
        mask = ", ".join([f"i32 {place}" for place in places])
        return self.new(f"shufflevector {kind} {x}, {kind} {y}, <{len(places)} x i32> <{mask}>")


def _within(width: int, lane: int, unit: int) -> tuple[list[int], list[int]]:
    """Return the shuffles that interleave units of the first, and of the second halves of lanes."""
    starts = [range(at, at + lane // 2, unit) for at in range(0, width, lane)]
    low = [
        of + start + k for units in starts for start in units for of in (0, width)
        for k in range(unit)
    ]  # fmt: skip
    return low, [place + lane // 2 for place in low]


def _whole(width: int, lane: int) -> tuple[list[int], list[int]]:
    """Select every other lane of two vectors, one after the other; and the lanes between."""
    low = [
        of + start + k for of in (0, width) for start in range(0, width, 2 * lane)
        for k in range(lane)
    ]  # fmt: skip
    return low, [place + lane for place in low]
