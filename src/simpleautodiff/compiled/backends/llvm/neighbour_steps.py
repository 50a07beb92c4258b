"""Take what a step of a loop's body was one element before, or is one element after.

Of every such step the last vector is kept; its elements, with those of this vector, are moved by
one lane. A loop that takes elements after its own begins with the last one.
"""

from __future__ import annotations

from collections.abc import Iterator

from simpleautodiff.compiled.array.join_neighbours import AFTER, BEFORE
from simpleautodiff.compiled.backends.llvm.instructions import ELEMENT, vector
from simpleautodiff.compiled.backends.llvm.vector_access import VectorAccess
from simpleautodiff.compiled.scalar.scalar_program import ScalarProgram


class NeighbourSteps(VectorAccess):
    """Writes the steps of a body that take neighbours."""

    flat: ScalarProgram
    live: list[int]
    way: str  # which neighbours are at hand, if any

    def parts(self) -> Iterator[tuple[list[int], int | None]]:
        """Yield the steps, and where in between a neighbour is taken."""
        places: list[int] = []
        for place in self.live:
            if self.flat.steps[place][0] in (BEFORE, AFTER):
                yield places, place
                places = []
            else:
                places.append(place)
        yield places, None

    def begin_neighbours(self) -> None:
        """Write zeros beside the first elements of what is taken from a neighbour."""
        for place in self.live:
            if self.flat.steps[place][0] in (BEFORE, AFTER):
                self.line(f"%beside{place} = alloca {self._kind_of(place)}", first=True)
                self.store(self._kind_of(place), self._zeros(place), f"%beside{place}")

    def turn(self, j: str, start: int | str, stop: int | str, stride: int) -> str:
        """Return the index in the other direction, if a loop begins with the last element."""
        if self.way != AFTER:
            return j
        assert isinstance(start, int), "there are no sums in such a loop"
        assert isinstance(stop, int)
        return self.new(f"sub i64 {start + stop - stride}, {j}")

    def take_neighbour(self, place: int, names: dict[int, str], mask: str) -> str:
        """Write what a step was for the element before, or is for the one after."""
        way, source = self.flat.steps[place]
        kind, name = self._kind_of(place), names[source]
        if mask:  # beyond the end there is nothing
            truth, zeros = vector("i1", self.width), self._zeros(place)
            name = self.new(f"select {truth} {mask}, {kind} {name}, {kind} {zeros}")
        other = self.load(kind, f"%beside{place}")
        self.store(kind, name, f"%beside{place}")
        if self.width == 1:
            return other
        first, second = (other, name) if way == BEFORE else (name, other)
        begin = self.width - 1 if way == BEFORE else 1
        lanes = ", ".join([f"i32 {begin + lane}" for lane in range(self.width)])
        pair = f"{kind} {first}, {kind} {second}"
        return self.new(f"shufflevector {pair}, <{self.width} x i32> <{lanes}>")

    def _kind_of(self, place: int) -> str:
        return vector(ELEMENT[self.flat.dtypes[place]], self.width)

    def _zeros(self, place: int) -> str:
        if self.width > 1:
            return "zeroinitializer"
        return "0" if self.flat.dtypes[place] == "l" else "0.0"
