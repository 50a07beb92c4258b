"""Fuse all lines of one shape at one stage into one loop: its body, its loads and its stores.

What a line needs is computed in the same body, loaded, or recomputed: if it is cheap and made of
small arrays, or if it fills a part of an array and nothing else needs it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from simpleautodiff.compiled.array.array_operations import ARRAY_OPERATIONS
from simpleautodiff.compiled.array.assemble import find_chosen_access
from simpleautodiff.compiled.array.boxes import Box
from simpleautodiff.compiled.array.classify import ELEMENTWISE, GATHER, LAYERS, REDUCE
from simpleautodiff.compiled.array.gather import Distances
from simpleautodiff.compiled.array.loops import Access, Fold, Loop
from simpleautodiff.compiled.array.schedule import LoopSchedule
from simpleautodiff.compiled.array.view_accesses import Shape, View, find_strides, squeeze, whole
from simpleautodiff.compiled.recording.trace_program import Ref, find_refs
from simpleautodiff.compiled.scalar.lower_rows import dtype_letter, is_light, lower
from simpleautodiff.compiled.scalar.scalar_program import ScalarProgram
from simpleautodiff.rules.array.shapes import keep_dims
from simpleautodiff.rules.row import TABLE

CHEAP = 8  # steps that are recomputed in a later loop, rather than kept in memory
MOST_INSIDE = 60  # lines that are computed in the loop that writes a part
SMALLER = 4  # how many times smaller the arrays are from which a line is recomputed


class Fusion:
    """One loop for all lines of one shape at one stage."""

    def __init__(self, plan: LoopSchedule, shape: Shape, members: list[int], precise: bool) -> None:
        self.plan, self.shape, self.members = plan, shape, members
        self.flat = ScalarProgram(precise)
        self.loads: list[Access] = []
        self.stores: list[tuple[int, Access]] = []
        self.folds: list[Fold] = []
        self.values: dict[int, int] = {}
        self._known: dict[Any, int] = {}
        self._again: dict[int, int] = {}  # lines that an earlier loop has computed, too
        self._box: Box | None = None  # the box that the current line fills, if not the whole loop

    def loop(self) -> Loop:
        """Return the loop; it stores all results, until those not needed in memory are pruned."""
        for number in self.members:
            how = self.plan.how[number]
            if how == REDUCE:
                self._reduce(number)
            elif how == GATHER:
                self.values[number] = self._gather(number)
            elif how == LAYERS:
                self.values[number] = self._layers(number)
            else:
                self.values[number] = self._compute(number)
        for number, place in self.values.items():
            dtype = self.plan.dtype_of(number) or ""
            line = self.plan.lines[number]
            to = self._access(whole(number, line.shape), line.shape, dtype)
            self.stores.append((place, to))
        names = [self.plan.lines[number].name for number in self.members]
        says = f"{' '.join(names)} over {self.shape}"
        return Loop(self.shape, self.flat, self.loads, self.stores, self.folds, says)

    def _access(self, view: View, shape: Shape, dtype: str) -> Access:
        strides = [s for n, s in zip(shape, view.within(shape), strict=True) if n != 1]
        return Access(view.root, dtype, view.offset, tuple(strides))

    def _argument(self, number: int, arg: Any, shape: Shape, weak_kind: str) -> int:
        """Return the index of an argument in the body: computed, known, or loaded."""
        known = self.plan.known(arg) if type(arg) is not Ref else None
        if known:
            return self.flat.const(known.number, weak_kind if known.weak else known.dtype)
        root = self.plan.views[arg].root if self.plan.joins(arg, number) else None
        if root is not None and self._box and self._is_inside(root):
            return self._compute(root)
        if root in self.values and not self._box:
            return self.values[root]
        if root is not None and not self._box and self._costs_again(root) <= CHEAP:
            if root not in self._again:
                self._again[root] = self._compute(root)
            return self._again[root]
        dtype = self.plan.dtype_of(arg) if type(arg) is Ref else dtype_letter(arg.dtype)
        return self._read(self.plan.view(arg), shape, dtype or "")

    def _read(self, view: View, shape: Shape, dtype: str) -> int:
        """Load elements, or those of which they are a multiple."""
        multiple = self.plan.recomputed.get(view.root)
        if multiple:
            number = multiple.number
            factor = self.flat.const(number.number, dtype if number.weak else number.dtype)
            place = self._read(view._replace(root=multiple.source), shape, dtype)
            return lower(self.flat, TABLE["mul"], dtype, [factor, place])
        access = self._access(view, shape, dtype)
        return self._load(self._move(access, self._box) if self._box else access)

    def _costs_again(self, root: int) -> float:
        """Return how many steps it takes to recompute a line from smaller arrays alone.

        If they are few, that is better than to keep the line in memory.
        """
        if root in self.values:
            return 0
        line = self.plan.lines[root]
        if self.plan.how[root] != ELEMENTWISE or not is_light(line):
            return math.inf
        steps_ = 1.0
        for arg in line.args:
            if type(arg) is Ref and self.plan.joins(arg, root):
                steps_ += self._costs_again(self.plan.views[arg].root)
            elif type(arg) is Ref or (isinstance(arg, np.ndarray) and self.plan.known(arg) is None):
                size = self.plan.size(self.plan.view(arg).root)
                steps_ += math.inf if SMALLER * size > math.prod(line.shape) else 0
            if steps_ > CHEAP:
                return math.inf
        return steps_

    def _load(self, access: Access) -> int:
        key = tuple([
            (part.slot, part.dtype, part.offset, part.strides, part.box) for part in access.parts()
        ])  # fmt: skip
        if key not in self._known:
            self._known[key] = self.flat.input(access.dtype)
            self.loads.append(access)
        return self._known[key]

    def _compute(self, number: int) -> int:
        line, dtype = self.plan.lines[number], self.plan.dtype_of(number) or ""
        if isinstance(line.what, Distances):
            return self._distances(number)
        if line.what is TABLE["astype"]:
            return self.flat.to(dtype, self._argument(number, line.args[0], line.shape, dtype))
        weak = self._weak_dtype(line.args) if dtype == "?" else dtype
        args = [self._argument(number, arg, line.shape, weak) for arg in line.args]
        return lower(self.flat, line.what, dtype, args)

    def _weak_dtype(self, args: Any) -> str:
        """Return the dtype that Python numbers take in a comparison: that of the other operands."""
        dtypes = [self.plan.dtype_of(arg) for arg in args if type(arg) is Ref]
        dtypes += [
            dtype_letter(arg.dtype) for arg in args if isinstance(arg, (np.ndarray, np.generic))
        ]
        if "d" in dtypes or "f" in dtypes:
            return "d" if "d" in dtypes else "f"
        return "d" if any(type(arg) is float for arg in args) else "l"

    def _reduce(self, number: int) -> None:
        line, dtype = self.plan.lines[number], self.plan.dtype_of(number) or ""
        arg = line.args[0]
        shape = self.plan.lines[arg].shape
        place = self.flat.to(dtype, self._argument(number, arg, shape, dtype))
        if line.name == "sum_to":
            small = (1,) * (len(shape) - len(line.args[1])) + tuple(line.args[1])
        else:
            small = keep_dims(shape, line.args[1])
        to = self._access(View(number, small, 0, find_strides(small)), shape, dtype)
        self.folds.append(Fold(ARRAY_OPERATIONS[line.name].fold, place, to))

    def _gather(self, number: int) -> int:
        line, dtype = self.plan.lines[number], self.plan.dtype_of(number) or ""
        x, chosen = line.args
        access = find_chosen_access(self.plan, self.plan.views[x], chosen, line.shape, dtype)
        for part in access.parts():
            part.strides = tuple(
                [s for n, s in zip(line.shape, part.strides, strict=True) if n != 1]
            )
        return self._load(access)

    def _layers(self, number: int) -> int:
        """Load or compute elements that are in boxes; outside of all boxes they are zero."""
        line, dtype = self.plan.lines[number], self.plan.dtype_of(number) or ""
        value: int | None = None
        under: Access | None = None  # the access of the value, if it is only loaded
        for full, view in self.plan.layers[number]:
            box = tuple([b for n, b in zip(line.shape, full, strict=True) if n != 1])
            if view.root in self.values and self._is_whole(view, box):
                value, under = self.values[view.root], None
                continue
            if self._fills(view, box):
                value, under = self._choose(box, self._in_box(view.root, box), value, dtype), None
                continue
            steps_ = tuple([s for n, s in zip(line.shape, view.strides, strict=True) if n != 1])
            access = self._move(Access(view.root, dtype, view.offset, steps_), box)
            if value is None or under:
                access.under = under
                value, under = self._load(access), access
            else:
                value = self._choose(box, self._load(access), value, dtype)
        assert value is not None
        return value

    def _move(self, access: Access, box: Box) -> Access:
        """Return an access to the elements that fill a box, by the indices of the loop."""
        filled = iter(access.strides)
        strides = (
            tuple([next(filled) if last - first > 1 else 0 for first, last in box])
            if len(access.strides) < len(box)
            else access.strides
        )
        moved = sum(first * step for (first, _), step in zip(box, strides, strict=True))
        return Access(access.slot, access.dtype, access.offset - moved, strides, box=box)

    def _choose(self, box: Box, inside: int, outside: int | None, dtype: str) -> int:
        """Select one number inside a box, and another one outside of it."""
        if outside is None:
            outside = self.flat.zero(dtype)
        truth = self.plan.view_as(True, np.dtype(bool))
        is_inside = self._load(Access(truth.root, "?", 0, (0,) * len(box), box=box))
        return self.flat.make("select", is_inside, inside, outside)

    def _is_whole(self, view: View, box: Box) -> bool:
        """Tell whether a box is filled with a whole result, in its order."""
        sizes = tuple([last - first for first, last in box])
        return view.is_whole and squeeze(self.plan.lines[view.root].shape) == squeeze(sizes)

    def _fills(self, view: View, box: Box) -> bool:
        """Tell whether to compute the content of a box here: it is large and nothing else needs it.

        Then it is not kept in memory, and what it is computed from must not be larger.
        """
        if not self._is_inside(view.root) or not self._is_whole(view, box):
            return False
        large = 2 * math.prod([last - first for first, last in box]) >= math.prod(self.shape)
        return large and self._keeps_little(view.root)

    def _keeps_little(self, root: int) -> bool:
        """Tell whether all that a line is computed from in its loop is at most one stored array."""
        inside, kept = [root], set()
        for number in inside:
            for arg in find_refs(self.plan.lines[number].args):
                if self.plan.joins(arg, number):
                    source = self.plan.views[arg].root
                    if self._is_inside(source):
                        inside.append(source)
                    else:
                        kept.add(source)
            if len(inside) > MOST_INSIDE or len(kept) > 1:
                return False
        return True

    def _is_inside(self, root: int) -> bool:
        return root in self.plan.read_once and self.plan.how[root] == ELEMENTWISE

    def _in_box(self, root: int, box: Box) -> int:
        self._box = box
        try:
            return self._compute(root)
        finally:
            self._box = None

    def _distances(self, number: int) -> int:
        """Compute the distances of selected elements; negative indices count from the end."""
        line, flat = self.plan.lines[number], self.flat
        total, what = flat.const(0, "l"), line.what
        for arg, n, step in zip(line.args, what.sizes, what.strides, strict=False):
            arg = np.asarray(arg) if isinstance(arg, list) else arg
            index = flat.to("l", self._argument(number, arg, line.shape, "l"))
            low = flat.make("lt", index, flat.const(0, "l"))
            index = flat.make("select", low, flat.add(index, flat.const(n, "l")), index)
            total = flat.add(total, flat.mul(index, flat.const(step, "l")))
        return total
