"""A scalar program in parts of limited length: compilers take too long for long functions."""

from __future__ import annotations

from typing import NamedTuple

from simpleautodiff.compiled.scalar.kernel import Kernel


class Part(NamedTuple):
    """Some consecutive steps of a program.

    After the steps, the numbers that later parts need are stored in numbered slots; then conditions
    are checked, each a status, a step and its required value; and results are stored, each a number
    and a step.
    """

    places: list[int]
    kept: list[int]
    checks: list[tuple[int, int, bool]]
    stores: list[tuple[int, int]]


class SplitProgram(NamedTuple):
    """A program in parts, with the slot of each number that one part passes to another."""

    parts: list[Part]
    slots: dict[int, int]
    size: int  # the number of slots


def split_program(kernel: Kernel, length: int) -> SplitProgram:
    """Cut a program into parts of `length` steps; unneeded steps are dropped.

    Examples
    --------
    >>> from simpleautodiff.compiled.scalar.scalar_program import ScalarProgram
    >>> from simpleautodiff.compiled.scalar.kernel import Leaf
    >>> program = ScalarProgram()
    >>> x = program.input()
    >>> for _ in range(3):
    ...     x = program.make("sin", x)
    >>> program.outputs = [x]
    >>> cut = split_program(Kernel(program, (Leaf("d", 1),), (Leaf("d", 1),)), 2)
    >>> [part.places for part in cut.parts], cut.slots
    ([[1, 2], [3]], {2: 0})
    """
    program = kernel.program
    places = [
        place for place in program.live() if program.steps[place][0] not in ("input", "const")
    ]
    count = max(1, -(-len(places) // length))
    parts = [Part(places[i * length : (i + 1) * length], [], [], []) for i in range(count)]
    home = {place: number for number, part in enumerate(parts) for place in part.places}
    _put_ends(kernel, parts, home)
    slots, size = _assign_slots(parts, _last_parts(kernel, parts, home), home)
    return SplitProgram(parts, slots, size)


def _put_ends(kernel: Kernel, parts: list[Part], home: dict[int, int]) -> None:
    """Assign conditions and results to parts; conditions are checked in their order."""
    latest = 0
    for status, place, expected in kernel.program.checks:
        latest = max(latest, home.get(place, 0))
        parts[latest].checks.append((status, place, expected))
    for number, place in enumerate(kernel.program.outputs):
        parts[home.get(place, 0)].stores.append((number, place))


def _last_parts(kernel: Kernel, parts: list[Part], home: dict[int, int]) -> dict[int, int]:
    """Return the last part that needs each number which is needed outside its own part."""
    last: dict[int, int] = {}
    for number, part in enumerate(parts):
        needed = [arg for place in part.places for arg in kernel.program.steps[place][1:]]
        for place in (*needed, *(place for _, place, _ in part.checks)):
            if home.get(place, number) != number:
                last[place] = number
    return last


def _assign_slots(
    parts: list[Part], last: dict[int, int], home: dict[int, int]
) -> tuple[dict[int, int], int]:
    """Assign a slot to each number that is needed later; slots are reused."""
    slots: dict[int, int] = {}
    free: list[int] = []
    leaving: dict[int, list[int]] = {}
    size = 0
    for place in sorted(last):
        parts[home[place]].kept.append(place)
    for number, part in enumerate(parts):
        for place in part.kept:
            if not free:
                free.append(size)
                size += 1
            slots[place] = free.pop()
            leaving.setdefault(last[place], []).append(slots[place])
        free += leaving.pop(number, [])
    return slots, size
