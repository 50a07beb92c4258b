"""A loop over the elements of arrays: what it reads, computes, writes and reduces."""

from __future__ import annotations

import math
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

from simpleautodiff.compiled.array.view_accesses import Shape, collapse_axes
from simpleautodiff.compiled.scalar.scalar_program import ScalarProgram


@dataclass(eq=False)
class Access:
    """Elements that a loop reads or writes: which buffer, which dtype, and where in it.

    With `places`, integers that are read there are added to the distance of each element. With a
    `box`, a (start, stop) along every axis, elements outside of it are read from `under`, or zero.
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
        """The stride along the last axis."""
        return self.strides[-1] if self.strides else 0

    @property
    def is_same(self) -> bool:
        """Whether all elements along the last axis are one element."""
        return self.step == 0 and not self.places and not self.box

    def is_same_along(self, axis: int) -> bool:
        """Tell whether all elements along an axis are one element."""
        moves = self.strides[axis] or self.box or (self.places and self.places.strides[axis])
        return not moves

    @property
    def is_apart(self) -> bool:
        """Whether elements along the last axis are not adjacent in memory."""
        return self.places is not None and self.places.step != 0

    def parts(self) -> Iterator[Access]:
        """Yield the access and all accesses that it contains."""
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
    begun: bool = False  # whether the result was filled with the initial number

    @property
    def first(self) -> str:
        """The initial number, as LLVM writes it."""
        dtype = self.to.dtype
        if self.operation == "add":
            return "0" if dtype == "l" else "0.0"
        if dtype == "l":
            return str(-(2**63) if self.operation == "maximum" else 2**63 - 1)
        return "0xFFF0000000000000" if self.operation == "maximum" else "0x7FF0000000000000"

    @property
    def level(self) -> int:
        """The axis from which on elements are reduced in registers."""
        strides = self.to.strides
        return max([axis + 1 for axis, step in enumerate(strides) if step], default=0)

    @property
    def in_registers(self) -> bool:
        """Whether elements are reduced along the last axis."""
        return self.to.step == 0 and not self.to.places

    @property
    def in_memory(self) -> bool:
        """Whether the result is updated several times, so that it must be initialised."""
        again = 0 in self.to.strides[: self.level]
        return self.begun or not self.in_registers or again


@dataclass(eq=False)
class Loop:
    """A loop over all indices of a shape, with a scalar program as its body."""

    shape: Shape
    body: ScalarProgram
    loads: list[Access] = field(default_factory=list)  # the inputs of the scalar program
    stores: list[tuple[int, Access]] = field(default_factory=list)  # steps, and where to
    folds: list[Fold] = field(default_factory=list)
    says: str = ""  # a description for reports
    alone: bool = False  # whether elements have to be processed one by one
    fixed: bool = False  # whether the order of the axes must not change
    neighbours: str = ""  # which elements beside its own are at hand: "before", "after" or none

    def accesses(self) -> list[Access]:
        """Return all accesses, loads and stores."""
        found = [*self.loads, *[to for _, to in self.stores], *[fold.to for fold in self.folds]]
        return [part for access in found for part in access.parts()]

    def join_axes(self) -> None:
        """Join adjacent axes that are contiguous in all accesses."""
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
        """Make an axis the last one."""
        self.shape = _move_last(self.shape, axis)
        for access in self.accesses():
            access.strides = _move_last(access.strides, axis)
            access.box = _move_last(access.box, axis) if access.box else ()

    def take_first(self, few: int, axis: int = 0) -> Loop:
        """Return a loop over the first few indices of an axis."""
        loop = deepcopy(self)
        loop.shape = (*loop.shape[:axis], few, *loop.shape[axis + 1 :])
        return loop

    def _join_box(self, box: Any, group: list[int]) -> tuple[int, int]:
        """Return the start and the stop of a box along joined axes."""
        inner = math.prod([self.shape[axis] for axis in group[1:]])
        return box[group[0]][0] * inner, box[group[0]][1] * inner


def _move_last(parts: tuple[Any, ...], axis: int) -> tuple[Any, ...]:
    return (*parts[:axis], *parts[axis + 1 :], parts[axis])


def copy_elements(loop: Loop, source: Access, to: Access) -> Loop:
    """Return the loop that copies the elements of one access to another."""
    axes = [axis for axis, step in enumerate(source.strides) if step]
    program = ScalarProgram()
    place = program.input(source.dtype)
    load, store = (
        replace(access, strides=tuple([access.strides[axis] for axis in axes]))
        for access in (source, to)
    )
    return Loop(tuple([loop.shape[axis] for axis in axes]), program, [load], [(place, store)])


def fill_loop(loop: Loop, fold: Fold) -> Loop:
    """Return the loop that fills a result with the initial number of its fold."""
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
