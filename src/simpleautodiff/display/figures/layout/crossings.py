"""The order of the vertices in each layer: few crossings, by medians and exchanges."""

from __future__ import annotations

import random
from bisect import bisect_right, insort
from collections.abc import Sequence

SWEEPS, STARTS, SMALL = 12, 8, 60

Link = tuple[str, str]
Columns = list[list[str]]


def count_crossings(columns: Sequence[Sequence[str]], links: Sequence[Link]) -> int:
    """Count the pairs of links that cross between neighbouring layers.

    Examples
    --------
    >>> count_crossings([["a", "b"], ["c", "d"]], [("a", "d"), ("b", "c")])
    1
    """
    place = {name: i for column in columns for i, name in enumerate(column)}
    layer = {name: i for i, column in enumerate(columns) for name in column}
    between: list[list[tuple[int, int]]] = [[] for _ in columns]
    for a, b in links:
        between[layer[a]].append((place[a], place[b]))
    return sum(_count_inversions(pairs) for pairs in between)


def _count_inversions(pairs: list[tuple[int, int]]) -> int:
    seen: list[int] = []
    total = 0
    for _, right in sorted(pairs):
        total += len(seen) - bisect_right(seen, right)
        insort(seen, right)
    return total


def arrange(columns: Columns, links: Sequence[Link], starts: int = STARTS) -> Columns:
    """Return the layers in an order with few crossings, as close to the given one as possible.

    For small graphs the search has several `starts`, which are always the same.

    Examples
    --------
    >>> arrange([["a", "b"], ["c", "d"]], [("a", "d"), ("b", "c")])
    [['a', 'b'], ['d', 'c']]
    """
    before: dict[str, list[str]] = {name: [] for column in columns for name in column}
    after: dict[str, list[str]] = {name: [] for column in columns for name in column}
    for a, b in links:
        before[b].append(a)
        after[a].append(b)
    best, least = columns, count_crossings(columns, links)
    for start in _list_starts(columns, starts):
        if least == 0:
            break
        found, count = _improve(start, links, before, after)
        if count < least:
            best, least = found, count
    return best


def _list_starts(columns: Columns, more: int) -> list[Columns]:
    starts = [columns, [column[::-1] for column in columns]]
    if sum(map(len, columns)) <= SMALL:
        chance = random.Random(1)
        starts += [[chance.sample(column, len(column)) for column in columns] for _ in range(more)]
    return starts


def _improve(
    start: Columns,
    links: Sequence[Link],
    before: dict[str, list[str]],
    after: dict[str, list[str]],
) -> tuple[Columns, int]:
    columns = [list(column) for column in start]
    best, least, since = [list(c) for c in columns], count_crossings(columns, links), 0
    for sweep in range(SWEEPS):
        turned = sweep % 4 > 1  # so that ties are seen in both orders
        if sweep % 2:
            for i in range(len(columns) - 2, -1, -1):
                columns[i] = _sort_by_median(columns[i], columns[i + 1], after, turned)
        else:
            for i in range(1, len(columns)):
                columns[i] = _sort_by_median(columns[i], columns[i - 1], before, turned)
        _exchange(columns, before, after, turned)
        count = count_crossings(columns, links)
        since += 1
        if count < least:
            best, least, since = [list(c) for c in columns], count, 0
        if least == 0 or since == 4:
            break
    return best, least


def _sort_by_median(
    column: list[str], fixed: list[str], near: dict[str, list[str]], turned: bool
) -> list[str]:
    """Sort a layer by the medians of its neighbours; a vertex without any stays."""
    place = {name: i for i, name in enumerate(fixed)}
    median = {}
    for name in column:
        at = sorted(place[other] for other in near[name])
        if at:
            middle = len(at) // 2
            median[name] = at[middle] if len(at) % 2 else (at[middle - 1] + at[middle]) / 2
    order = list(median)[:: -1 if turned else 1]
    moving = iter(sorted(order, key=median.__getitem__))
    return [next(moving) if name in median else name for name in column]


def _exchange(
    columns: Columns, before: dict[str, list[str]], after: dict[str, list[str]], turned: bool
) -> None:
    """Exchange neighbours while that reduces the crossings; once also if it changes nothing."""
    place = {name: i for column in columns for i, name in enumerate(column)}
    better, least = True, 0 if turned else 1
    while better:
        better = False
        for column in columns:
            for i in range(len(column) - 1):
                a, b = column[i], column[i + 1]
                gain = _find_gain(a, b, before, place) + _find_gain(a, b, after, place)
                if gain >= least:
                    column[i], column[i + 1] = b, a
                    place[a], place[b] = i + 1, i
                    better = True
        least = 1


def _find_gain(a: str, b: str, near: dict[str, list[str]], place: dict[str, int]) -> int:
    """Return how many crossings on one side disappear when b is placed before a."""
    mine, other = [place[n] for n in near[a]], [place[n] for n in near[b]]
    return sum((p > q) - (p < q) for p in mine for q in other)
