"""A loop over the elements of arrays: what it reads, computes, writes and adds up."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from simpleautodiff.compiled.flat import Flat
from simpleautodiff.compiled.views import Shape, collapsed


@dataclass(eq=False)
class Access:
    """Elements that a loop reads or writes: which buffer, of which kind, and where.

    With `places`, the elements are where the whole numbers say that are read there.
    """

    slot: Any
    kind: str
    offset: int
    strides: Shape
    places: Access | None = None

    @property
    def step(self) -> int:
        """How far it is from one element to the next, along the last axis."""
        return self.strides[-1] if self.strides else 0


@dataclass(eq=False)
class Fold:
    """A sum or an extreme: along axes where `to` has stride 0, elements are put together."""

    operation: str  # "add", "maximum", "minimum"
    place: int
    to: Access
    begun: bool = False  # whether the result is filled with what it begins with

    @property
    def first(self) -> str:
        """The number that it begins with, as LLVM writes it."""
        kind = self.to.kind
        if self.operation == "add":
            return "0" if kind == "l" else "0.0"
        if kind == "l":
            return str(-(2**63) if self.operation == "maximum" else 2**63 - 1)
        return "0xFFF0000000000000" if self.operation == "maximum" else "0x7FF0000000000000"

    @property
    def level(self) -> int:
        """The axis from which on all elements are put together, in registers."""
        strides = self.to.strides
        return max([axis + 1 for axis, step in enumerate(strides) if step], default=0)

    @property
    def in_registers(self) -> bool:
        """Whether elements are put together along the last axis."""
        return self.to.step == 0 and not self.to.places

    @property
    def in_memory(self) -> bool:
        """Whether a result is come back to, so that it has to begin with a number."""
        return not self.in_registers or 0 in self.to.strides[: self.level]


@dataclass(eq=False)
class Loop:
    """What is done for each element of a space."""

    shape: Shape
    flat: Flat
    loads: list[Access] = field(default_factory=list)  # the inputs of the flat program
    stores: list[tuple[int, Access]] = field(default_factory=list)  # steps, and where they go
    folds: list[Fold] = field(default_factory=list)
    says: str = ""  # what is computed, for people
    alone: bool = False  # whether elements have to be done one after the other

    def accesses(self) -> list[Access]:
        """Return all that is read and written."""
        found = [*self.loads, *[to for _, to in self.stores], *[fold.to for fold in self.folds]]
        return [*found, *[access.places for access in found if access.places]]

    def join_axes(self, lanes: int) -> None:
        """Join axes that go on from each other, and put a long one last, for the vectors."""
        accesses = self.accesses()
        shape, ways = collapsed(self.shape, [access.strides for access in accesses])
        order = list(range(len(shape)))
        if len(shape) > 1 and shape[-1] < lanes:
            order.append(order.pop(max(order, key=lambda axis: (shape[axis] >= lanes, axis))))
        self.shape = tuple([shape[axis] for axis in order])
        for access, way in zip(accesses, ways, strict=True):
            access.strides = tuple([way[axis] for axis in order])
