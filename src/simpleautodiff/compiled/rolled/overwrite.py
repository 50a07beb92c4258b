"""Let a step of a loop compute a carried array in place of its last value, instead of a copy.

That is possible if everything that reads the last value does so before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simpleautodiff.compiled.array.view_accesses import View, whole
from simpleautodiff.compiled.rolled.bodies import ArrayBody
from simpleautodiff.compiled.rolled.rolled_program import (
    BodyCall,
    Call,
    LoopBegin,
    LoopEnd,
    Move,
    RolledProgram,
    Row,
    find_roots,
)


def overwrite_carried(rolled: RolledProgram, bodies: Sequence[Any]) -> RolledProgram:
    """Return a program without moves of results that can take the place of a carried array."""
    finding = _Finding(rolled, bodies)
    return rolled._replace(
        calls=[call for k, call in enumerate(rolled.calls) if k not in finding.dropped],
        rows=finding.rows,
    )


class _Finding:
    """Finds moves that can be dropped, and where the moved results are then."""

    def __init__(self, rolled: RolledProgram, bodies: Sequence[Any]) -> None:
        self.rolled, self.bodies = rolled, bodies
        self.dropped: set[int] = set()
        self.rows = {**rolled.rows}
        made: list[dict[int, int]] = []  # for each open loop: the results, and what computes them
        for k, call in enumerate(rolled.calls):
            if isinstance(call, LoopBegin):
                made.append({})
            elif isinstance(call, LoopEnd):
                made.pop()
            elif isinstance(call, BodyCall) and made:
                made[-1] |= dict.fromkeys(call.results, k)
            elif isinstance(call, Move) and made:
                self._try(k, call, made[-1])

    def _try(self, at: int, move: Move, made: dict[int, int]) -> None:
        """Drop a move of all elements of a result, if it can be computed there."""
        if move.adds or not isinstance(move.by, View) or not self._are_whole(move.to, move.by):
            return
        cell, result = move.to.root, move.by.root
        if result in self.rows or cell in self.rows or result not in made:
            return
        between = self.rolled.calls[made[result] + 1 : at]
        if any(cell in map(self._find_owner, find_roots(x, self.rolled)) for x in between):
            return
        if self._can_overwrite(self.rolled.calls[made[result]], cell, result):
            self.rows[result] = Row(cell, 0, {})
            self.dropped.add(at)

    def _can_overwrite(self, call: Call, cell: int, result: int) -> bool:
        """Tell whether a body reads all of an array before it writes a result."""
        assert isinstance(call, BodyCall)
        body = self.bodies[call.body]
        given = [k for k, part in enumerate(call.given)
                 if part.view and self._find_owner(part.view.root) == cell]  # fmt: skip
        if not isinstance(body, ArrayBody) or not all(
            self._are_whole(call.given[k].view) for k in given
        ):
            return False
        which = call.results.index(result)
        return all(body.memory.can_overwrite(k, which) for k in given)

    def _find_owner(self, root: int) -> int:
        """Return the result in whose memory another one is."""
        while root in self.rows:
            root = self.rows[root].of
        return root

    def _are_whole(self, *views: Any) -> bool:
        lines = self.rolled.recorded.lines
        return all(view == whole(view.root, lines[view.root].shape) for view in views)
