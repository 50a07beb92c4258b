"""A long program in parts that are compiled one by one, so that time grows with length alone.

What one part computes and a later one needs goes through a work array; a place there is used
again when its number is not needed any more.
"""

from __future__ import annotations

from typing import NamedTuple

from simpleautodiff.compiled.numbers.flat import Flat


class Chunk(NamedTuple):
    """One part: the steps it computes, and the guards that are checked at its end."""

    places: list[int]
    guards: list[int]


class Plan(NamedTuple):
    """All parts, where in the work array numbers cross from part to part, and its length."""

    chunks: list[Chunk]
    slots: dict[int, int]
    length: int


def plan(flat: Flat, size: int) -> Plan:
    """Divide a program into parts of at most `size` steps.

    Parameters
    ----------
    flat
        The program.
    size
        How many steps a part has at most.

    Examples
    --------
    >>> program = Flat()
    >>> x = program.input()
    >>> program.outputs = [program.make("sin", program.make("cos", x))]
    >>> parts = plan(program, 1)
    >>> [part.places for part in parts.chunks], parts.slots, parts.length
    ([[1], [2]], {1: 0}, 1)
    """
    steps = flat.steps
    places = [i for i in flat.live() if steps[i][0] not in ("input", "const")]
    chunks = [Chunk(places[k : k + size], []) for k in range(0, len(places), size)]
    chunks = chunks or [Chunk([], [])]
    of = {place: k for k, chunk in enumerate(chunks) for place in chunk.places}
    last: dict[int, int] = {}
    for place in places:
        k = of[place]
        for arg in steps[place][1:]:
            last[arg] = k
    _put_guards(flat, chunks, of, last)
    slots, length = _slots(chunks, last)
    return Plan(chunks, slots, length)


def _put_guards(flat: Flat, chunks: list[Chunk], of: dict[int, int], last: dict[int, int]) -> None:
    """Check each guard as soon as it is known, and never before one that comes first."""
    k = 0
    for number, (place, _) in enumerate(flat.guards):
        k = max(k, of.get(place, 0))
        chunks[k].guards.append(number)
        last[place] = max(last.get(place, 0), k)


def _slots(chunks: list[Chunk], last: dict[int, int]) -> tuple[dict[int, int], int]:
    slots: dict[int, int] = {}
    free: list[int] = []
    ending: list[list[int]] = [[] for _ in range(len(chunks) + 1)]
    length = 0
    for k, chunk in enumerate(chunks):
        for place in chunk.places:
            if last.get(place, 0) > k:
                if not free:
                    free.append(length)
                    length += 1
                slots[place] = free.pop()
                ending[last[place]].append(slots[place])
        free += ending[k]
    return slots, length
