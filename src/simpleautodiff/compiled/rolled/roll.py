"""Roll up a recorded program: equal stretches become calls of one body."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np

from simpleautodiff.compiled.array.view_accesses import (
    View,
    apply_view,
    find_strides,
    have_same_strides,
    whole,
)
from simpleautodiff.compiled.recording.symbols import FLOAT64_DTYPE, GETITEM
from simpleautodiff.compiled.recording.trace_program import (
    Line,
    RecordedProgram,
    Ref,
    argument_key,
    with_values,
)
from simpleautodiff.compiled.rolled.arrange import arrange
from simpleautodiff.compiled.rolled.lines import INDEX, find_kinds
from simpleautodiff.compiled.rolled.rolled_program import (
    BodyCall,
    Call,
    Given,
    LineCall,
    Move,
    RolledProgram,
)
from simpleautodiff.compiled.rolled.stretches import Group, Stretches


def roll(recorded: RecordedProgram, precise: bool = False) -> RolledProgram:
    """Return a program as calls of bodies, of limited length if nothing repeats.

    Examples
    --------
    >>> from simpleautodiff.compiled.recording.symbol_level import SymbolLevel
    >>> level = SymbolLevel()
    >>> with level:
    ...     y = level.input(0.5)
    ...     for step in range(500):
    ...         y = y + 0.01 * np.sin(y * float(step))
    >>> rolled = roll(level.finish([y], 1))
    >>> [len(body.lines) - body.inputs for body in rolled.bodies], len(rolled.calls)
    ([24, 4], 85)
    """
    recorded = arrange(recorded)
    rolling = _Rolling(Stretches(recorded, find_kinds(recorded.lines), precise))
    return RolledProgram(recorded, rolling.bodies, rolling.calls, rolling.views)


class _Rolling:
    """Makes bodies from stretches, and calls of them."""

    def __init__(self, found: Stretches) -> None:
        self.found, self.lines = found, found.lines
        self.views: dict[int, View] = {}
        self._aliases: set[int] = set()  # lines that reuse the memory of an array
        self._moves: dict[int, list[Move]] = {}
        self.bodies: list[RecordedProgram] = []
        self._calls: dict[int, BodyCall] = {}
        self._checks: dict[Any, int] = {}  # bodies that check one guard
        self._find_views()
        before = self._guards_before()
        for group in found.groups(self.views):
            self._make_body(group, before)
        self.calls: list[Call] = []
        for start, _ in found.parts:
            if start in found.by_numpy:
                self.calls.append(LineCall(start, found.kinds.refs[start]))
            if start in self._calls:
                self.calls.append(self._calls[start])
            self.calls += self._moves.get(start, [])
            if start in found.by_numpy or start in found.moved:
                self._check_guards(start, before[start])

    # Views and moves. -----------------------------------------------------------------------------

    def view(self, number: int) -> View:
        """Return the view of the elements of a line."""
        return self.views.get(number) or whole(number, self.lines[number].shape)

    def _part(self, view: View, index: Any) -> View:
        """Return the part of an array that an index selects."""
        size = math.prod(self.lines[view.root].shape)
        part = apply_view("getitem", (index,), view, size)
        assert part is not None
        return part

    def _find_views(self) -> None:
        """Find, line by line, which lines are views, and which are moves."""
        used = self._find_last_uses()
        for number in sorted(self.found.dropped | self.found.moved):
            line = self.lines[number]
            if number in self.found.dropped:
                self.views[number] = self._part(self.view(line.args[0]), line.args[1])
            elif number in self.found.added:
                self._add(number, used)
            elif line.name == "set_item":
                x, value, index = line.args
                self._begin(number, x, used, value)
                self._moves[number].append(self._move(number, value, index))
            elif line.name == "concatenate":
                self._moves[number] = self._join(number)
            elif self.found.added.get(self.found.last[number]) != number:
                zeros = Move(False, whole(number, line.shape), np.zeros((), line.dtype))
                self._moves[number] = [zeros, self._move(number, line.args[0], line.args[1])]

    def _join(self, number: int) -> list[Move]:
        """Assemble an array from pieces."""
        (axis, bounds), *pieces = self.lines[number].args
        before = (slice(None),) * axis
        return [
            self._move(number, piece, (*before, slice(start, stop)))
            for piece, (start, stop) in zip(pieces, pairwise(bounds), strict=True)
            if stop > start
        ]

    def _find_last_uses(self) -> list[int]:
        """Return the last use of each line, including that of its views."""
        used = list(self.found.last)
        for number in sorted(self.found.dropped, reverse=True):
            base = self.lines[number].args[0]
            used[base] = max(used[base], used[number])
        return used

    def _begin(self, number: int, x: Any, used: list[int], *others: Any) -> None:
        """Write into an array in place if nothing needs it later; otherwise copy it."""
        roots = [self.view(other).root for other in others if type(other) is Ref]
        if (
            type(x) is Ref
            and self._is_own(x)
            and used[x] == number
            and self.view(x).root not in roots
        ):
            self.views[number] = self.view(x)
            self._aliases.add(number)
            self._moves[number] = []
        else:
            to = whole(number, self.lines[number].shape)
            self._moves[number] = [Move(False, to, self._by(x, number))]

    def _is_own(self, number: Ref) -> bool:
        """Tell whether a line has memory of its own."""
        return number not in self.views or number in self._aliases

    def _add(self, number: int, used: list[int]) -> None:
        scatter = self.found.added[number]
        value, index, _ = self.lines[scatter].args
        other = next(arg for arg in self.lines[number].args if arg != scatter)
        self._begin(number, other, used, value)
        self._moves[number].append(self._move(number, value, index, adds=True))

    def _move(self, number: int, value: Any, index: Any, adds: bool = False) -> Move:
        part = self._part(self.view(number), index)
        return Move(adds, part, self._by(value, number))

    def _by(self, value: Any, number: int) -> View | Any:
        """Return the view of the elements to move, or the constants that they are."""
        return self.view(value) if type(value) is Ref else np.array(value, self.lines[number].dtype)

    # Bodies. --------------------------------------------------------------------------------------

    def _guards_before(self) -> dict[int, int]:
        """Return how many guards are checked before each stretch."""
        counts, total = {}, 0
        for start, stop in self.found.parts:
            counts[start] = total
            if self.found.guards_at:
                total += sum([len(self.found.guards_at.get(at, ())) for at in range(start, stop)])
        return counts

    def _check_guards(self, start: int, before: int) -> None:
        """Check the guards that are known after a line outside all bodies, each by its own body."""
        for k in self.found.guards_at.get(start, ()):
            guard = self.found.recorded.guards[k]
            line = self.lines[guard.place]
            key = guard.expected, line.shape, line.dtype
            if key not in self._checks:
                self._checks[key] = len(self.bodies)
                given = Line(None, (), {}, line.shape, line.dtype)
                asked = guard._replace(place=Ref(0))
                self.bodies.append(RecordedProgram([given], 1, [asked], []))
            given_bool = Given(self.view(guard.place))
            self.calls.append(BodyCall(self._checks[key], [given_bool], [], before))
            before += 1

    def _make_body(self, group: Group, before: dict[int, int]) -> None:
        """Make a body from the first stretch of a group, and a call of it for each stretch."""
        body = _Body(self, group)
        if not body.does_anything:
            return
        for start, needs in zip(group.starts, group.needs, strict=True):
            given = [self._given(source, start, needs) for source in body.sources]
            results = [start + at for at in body.results]
            self._calls[start] = BodyCall(len(self.bodies), given, results, before[start])
        self.bodies.append(body.program())

    def _given(self, source: tuple[str, int, int], start: int, needs: list[int]) -> Given:
        kind, at, k = source
        if kind == "need":
            return Given(self.view(needs[at]))
        if kind == "line":
            return Given(self.views[start + at])
        return Given(None, self.lines[start + at].args[k])


class _Body:
    """The program of one body, made from the first stretch of a group."""

    def __init__(self, rolling: _Rolling, group: Group) -> None:
        self.rolling, self.found, self.lines = rolling, rolling.found, rolling.lines
        self.group, self.start, stop = group, group.starts[0], group.starts[0] + group.length
        self._inside = [n for n in range(self.start, stop) if n not in self.found.dropped]
        last = self.found.last
        self.results = [
            n - self.start for n in self._inside
            if any(last[n - self.start + start] >= start + group.length for start in group.starts)
        ]  # fmt: skip
        self._guards = [
            self.found.recorded.guards[k]
            for at in range(self.start, stop)
            for k in self.found.guards_at.get(at, ())
        ]
        self._passed = {
            (n, k): None
            for n in self._inside
            for k in self.found.kinds.free[n]
            if k != INDEX.get(self.lines[n].name) and self._differs(n - self.start, k)
        }
        self.sources = [
            *self._find_places(),
            *[("number", n - self.start, k) for n, k in self._passed],
        ]

    @property
    def does_anything(self) -> bool:
        """Whether it has results or guards: views alone need no call."""
        return bool(self.results or self._guards)

    def _find_places(self) -> list[tuple[str, int, int]]:
        """Return the earlier lines that are needed, and the views of them."""
        ordinal = {place: k for k, place in enumerate(self.group.needs[0])}
        needed = [place for n in self._inside for place in self.found.kinds.refs[n]]
        needed += [int(guard.place) for guard in self._guards]
        self._outside = dict.fromkeys(
            [n for n in needed if n < self.start or n in self.found.dropped]
        )
        return [
            ("need", ordinal[n], 0) if n < self.start else ("line", n - self.start, 0)
            for n in self._outside
        ]

    def _differs(self, at: int, k: int) -> bool:
        """Tell whether a number differs between stretches."""
        first = self.lines[self.start + at].args[k]
        key = argument_key(first)
        others = [self.lines[start + at].args[k] for start in self.group.starts]
        return any(other is not first and argument_key(other) != key for other in others)

    def program(self) -> RecordedProgram:
        """Return the program."""
        views = [self.rolling.view(n) for n in self._outside]
        lines = [
            Line(None, (), {}, _find_window(view), self.lines[n].dtype)
            for n, view in zip(self._outside, views, strict=True)
        ]
        for n, k in self._passed:
            lines.append(_input_for(self.lines[n].args[k]))
        inputs = len(lines)
        of: dict[int, Ref] = {}
        for k, (n, view) in enumerate(zip(self._outside, views, strict=True)):
            of[n] = Ref(k)
            if not _is_packed(view):
                of[n] = Ref(len(lines))
                look = Line(GETITEM, (Ref(k), _select(view)), {}, view.shape, self.lines[n].dtype)
                lines.append(look)
        for k, passed in enumerate(self._passed, len(self._outside)):
            self._passed[passed] = Ref(k)  # type: ignore[assignment]
        for n in self._inside:
            of[n] = Ref(len(lines))
            lines.append(self._line(n, of))
        guards = [guard._replace(place=of[guard.place]) for guard in self._guards]
        outputs = [of[self.start + at] for at in self.results]
        return RecordedProgram(lines, inputs, guards, outputs)

    def _line(self, number: int, of: dict[int, Ref]) -> Line:
        line = self.lines[number]
        args = tuple([
            self._passed[number, k] if (number, k) in self._passed else with_values(arg, of)
            for k, arg in enumerate(line.args)
        ])  # fmt: skip
        return line._replace(args=args, kwargs=with_values(line.kwargs, of))


def _input_for(constant: Any) -> Line:
    """Return the input as which a number or an array is passed."""
    is_array = isinstance(constant, np.ndarray)
    dtype = constant.dtype if is_array else FLOAT64_DTYPE
    return Line(None, (), {}, constant.shape if is_array else (), dtype)


# Elements with others in between. -----------------------------------------------------------------


def _is_packed(view: View) -> bool:
    """Tell whether elements are contiguous."""
    return have_same_strides(view.shape, view.strides, find_strides(view.shape))


def _find_window(view: View) -> tuple[int, ...]:
    """Return the shape in which elements are passed: with gaps, the whole range."""
    if _is_packed(view):
        return view.shape
    return (1 + sum([(n - 1) * abs(s) for n, s in zip(view.shape, view.strides, strict=True)]),)


def lowest(view: View) -> int:
    """Return the smallest offset of an element of a view."""
    if not view.shape:
        return view.offset
    back = [(n - 1) * min(s, 0) for n, s in zip(view.shape, view.strides, strict=True)]
    return view.offset + sum(back)


def _select(view: View) -> Any:
    """Return the index of the elements of a view in the range from the first to the last."""
    if len(view.shape) == 1 and view.strides[0] > 0:
        return slice(0, None, view.strides[0])
    places = np.array(view.offset - lowest(view))
    for n, step in zip(view.shape, view.strides, strict=True):
        places = places[..., None] + step * np.arange(n)
    return (places,)
