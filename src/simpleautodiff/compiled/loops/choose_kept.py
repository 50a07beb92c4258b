"""Choose what a step of a loop keeps for the reverse sweep, and what is computed again.

A line that the reverse sweep needs is either kept, at the cost of its memory, or computed again, at
the cost of the operation and of the lines that it needs in turn. The cheapest choice of all is a
minimum cut of a graph: from a source to each line by an edge that costs what computing it again
does, through the line by one that costs what keeping it does, on to the lines computed from it, and
from those that are needed to a sink. What is cut on the way through is kept.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

NEVER = 2**60  # the cost of what cannot be done


class Price(NamedTuple):
    """What it costs to keep a line, and to compute it again from the lines that it needs."""

    keeping: int
    again: int
    needs: Sequence[int]


def choose_kept(choices: Mapping[int, Price], needed: Iterable[int]) -> set[int]:
    """Return the lines to keep so that all `needed` ones are kept, or computed from kept ones.

    Examples
    --------
    A number that costs little is computed again from two that are kept, if these are needed.

    >>> two = {0: Price(8, NEVER, []), 1: Price(8, NEVER, [])}
    >>> choose_kept({**two, 2: Price(8, 1, [0, 1])}, [0, 1, 2])
    {0, 1}
    >>> choose_kept({**two, 2: Price(8, 1, [0, 1])}, [2])
    {2}
    """
    source, sink = -1, -2
    room: dict[int, dict[int, int]] = {source: {}, sink: {}}  # what may flow yet, along each edge

    def join(one: int, other: int, cost: int) -> None:
        room.setdefault(one, {})[other] = cost
        room.setdefault(other, {}).setdefault(one, 0)

    for number, choice in choices.items():  # 2 * number is before the line, and 1 more behind it
        join(source, 2 * number, choice.again)
        join(2 * number, 2 * number + 1, choice.keeping)
        for place in choice.needs:
            join(2 * place + 1, 2 * number, NEVER)
    for number in needed:
        join(2 * number + 1, sink, NEVER)
    while paths := _find_paths(room, source, sink):
        for path in paths:
            flow = min([room[a][b] for a, b in path])
            for a, b in path:
                room[a][b] -= flow
                room[b][a] += flow
    behind = _find_sources(room, sink)
    return {k for k in choices if 2 * k + 1 in behind and 2 * k not in behind}


def _find_paths(
    room: dict[int, dict[int, int]], source: int, sink: int
) -> list[list[tuple[int, int]]]:
    """Return the edges of paths with capacity left, a shortest one to each neighbour of the sink.

    They may have edges in common, and so less capacity than each of them alone.
    """
    before: dict[int, int] = {source: source, sink: sink}
    waiting = deque([source])
    while waiting:
        at = waiting.popleft()
        for other, left in room[at].items():
            if left and other not in before:
                before[other] = at
                waiting.append(other)
    found = []
    for end in room[sink]:
        if end in before and room[end][sink]:
            path, at = [(end, sink)], end
            while at != source:
                path.append((before[at], at))
                at = before[at]
            found.append(path)
    return found


def _find_sources(room: dict[int, dict[int, int]], sink: int) -> set[int]:
    """Return the vertices from which a path with capacity left leads to the sink."""
    found, waiting = {sink}, [sink]
    while waiting:
        at = waiting.pop()
        for other in room[at]:
            if other not in found and room[other][at]:
                found.add(other)
                waiting.append(other)
    return found
