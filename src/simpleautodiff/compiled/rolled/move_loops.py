"""Loops that move the elements of an array, or add them to those of another."""

from __future__ import annotations

from typing import Any

from simpleautodiff.compiled.array.loops import Access, Loop
from simpleautodiff.compiled.array.view_accesses import Shape, find_strides
from simpleautodiff.compiled.scalar.lower_rows import dtype_letter
from simpleautodiff.compiled.scalar.scalar_program import ScalarProgram


def move_loop(shape: Shape, by: Shape, dtype: Any) -> Loop:
    """Return the loop that copies elements from buffer 1, contiguously, to buffer 0."""
    return make_move(False, shape, find_strides(shape), by, dtype)


def make_move(adds: bool, shape: Shape, to: Shape, by: Shape, dtype: Any) -> Loop:
    """Return the loop that moves elements, from buffer 1 to buffer 0."""
    letter = dtype_letter(dtype) or ""
    flat, loads = ScalarProgram(), [Access(1, letter, 0, by)]
    value = flat.input(letter)
    if adds:
        value = flat.add(flat.input(letter), value)
        loads.append(Access(0, letter, 0, to))
    flat.outputs = [value]
    return Loop(shape, flat, loads, [(value, Access(0, letter, 0, to))], [], "move")
