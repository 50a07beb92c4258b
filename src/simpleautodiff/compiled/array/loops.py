"""A loop over the elements of arrays: what it reads, computes, writes and adds up."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from simpleautodiff.compiled.array.view_accesses import Shape, collapse_axes
from simpleautodiff.compiled.scalar.scalar_program import ScalarProgram


@dataclass(eq=False)
class Access:
    """Elements that a loop reads or writes: which buffer, which dtype, and where in it.

    With `places`, the elements are as far on as the integers say that are read there. With a
    `box`, a first and a last place along every axis, elements outside are those that lie `under`
    it, or zeros.
    """

    slot: Any
    dtype: str
    offset: int
    strides: Shape
    places: Access | None = None
    box: tuple[tuple[int, int], ...] = ()
    under: Access | None = None

    @property
    def step(self) -> int:
        """How far it is from one element to the next, along the last axis."""
        return self.strides[-1] if self.strides else 0

    @property
    def is_same(self) -> bool:
        """Whether all elements along the last axis are one."""
        return self.step == 0 and not self.places and not self.box

    def is_same_along(self, axis: int) -> bool:
        """Tell whether all elements along an axis are one."""
        moves = self.strides[axis] or self.box or (self.places and self.places.strides[axis])
        return not moves

    @property
    def is_apart(self) -> bool:
        """Whether elements along the last axis are at places of their own."""
        return self.places is not None and self.places.step != 0

    def parts(self) -> Iterator[Access]:
        """Yield the access and all that it is made of."""
        yield self
        if self.places:
            yield from self.places.parts()
        if self.under:
            yield from self.under.parts()


@dataclass(eq=False)
class Fold:
    """A reduction (a sum or an extreme) along the axes where `to` has stride 0."""

    operation: str  # "add", "maximum", "minimum"
    place: int
    to: Access
    begun: bool = False  # whether the result is filled with what it begins with

    @property
    def first(self) -> str:
        """The number that it begins with, as LLVM writes it."""
        dtype = self.to.dtype
        if self.operation == "add":
            return "0" if dtype == "l" else "0.0"
        if dtype == "l":
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
        again = 0 in self.to.strides[: self.level]
        return self.begun or not self.in_registers or again


@dataclass(eq=False)
class Loop:
    """A loop over all indices of a shape, with a scalar program as its body."""

    shape: Shape
    body: ScalarProgram
    loads: list[Access] = field(default_factory=list)  # the inputs of the scalar program
    stores: list[tuple[int, Access]] = field(default_factory=list)  # steps, and where they go
    folds: list[Fold] = field(default_factory=list)
    says: str = ""  # what is computed, for people
    alone: bool = False  # whether elements have to be done one after the other
    fixed: bool = False  # whether the axes have to be gone through in their order

    def accesses(self) -> list[Access]:
        """Return all that is read and written."""
        found = [*self.loads, *[to for _, to in self.stores], *[fold.to for fold in self.folds]]
        return [part for access in found for part in access.parts()]

    def join_axes(self) -> None:
        """Join axes that go on from each other."""
        accesses = self.accesses()
        boxes = [access.box for access in accesses if access.box]
        cut = {
            a
            for box in boxes
            for a, (first, last) in enumerate(box)
            if (first, last) != (0, self.shape[a])
        }
        groups, ways = collapse_axes(self.shape, [access.strides for access in accesses], cut)
        for access, way in zip(accesses, ways, strict=True):
            access.strides = way
            if access.box:
                access.box = tuple([self._join_box(access.box, group) for group in groups])
        self.shape = tuple([math.prod([self.shape[axis] for axis in group]) for group in groups])

    def move_last(self, axis: int) -> None:
        """Let an axis be the last."""
        self.shape = _moved_last(self.shape, axis)
        for access in self.accesses():
            access.strides = _moved_last(access.strides, axis)
            access.box = _moved_last(access.box, axis) if access.box else ()

    def _join_box(self, box: Any, group: list[int]) -> tuple[int, int]:
        """Return the first and the last place along axes that are joined."""
        inner = math.prod([self.shape[axis] for axis in group[1:]])
        return box[group[0]][0] * inner, box[group[0]][1] * inner


def _moved_last(parts: tuple[Any, ...], axis: int) -> tuple[Any, ...]:
    return (*parts[:axis], *parts[axis + 1 :], parts[axis])


def copy_elements(loop: Loop, source: Access, to: Access) -> Loop:
    """Return the loop that copies the elements of an access to those of another."""
    axes = [axis for axis, step in enumerate(source.strides) if step]
    program = ScalarProgram()
    place = program.input(source.dtype)
    load, store = (
        replace(access, strides=tuple([access.strides[axis] for axis in axes]))
        for access in (source, to)
    )
    return Loop(tuple([loop.shape[axis] for axis in axes]), program, [load], [(place, store)])


def fill_loop(loop: Loop, fold: Fold) -> Loop:
    """Return the loop that fills a result with the number that its fold begins with."""
    axes = [axis for axis, step in enumerate(fold.to.strides) if step]
    shape = tuple([loop.shape[axis] for axis in axes])
    program = ScalarProgram()
    number = {"add": 0.0, "maximum": -float("inf"), "minimum": float("inf")}[fold.operation]
    if fold.to.dtype == "l" and fold.operation != "add":
        number = int(fold.first)
    elif fold.to.dtype == "?":
        number = float(fold.operation == "minimum")
    place = program.const(number, fold.to.dtype)
    strides = tuple([fold.to.strides[axis] for axis in axes])
    to = Access(fold.to.slot, fold.to.dtype, fold.to.offset, strides)
    return Loop(shape, program, stores=[(place, to)])
