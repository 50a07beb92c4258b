"""Reverse mode for long loops with few snapshots: the binomial schedule of Griewank and Walther.

Of n steps at most s states are retained; the others are computed again from these. No schedule with
s snapshots takes fewer evaluations than this one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from math import comb
from typing import Any, NamedTuple

import numpy as np

from simpleautodiff.arrays.writes.versions import Writable
from simpleautodiff.arrays.writes.views import twin
from simpleautodiff.core.level import Traced, take_current
from simpleautodiff.core.linear import ZERO, Linear, plus
from simpleautodiff.errors import ArgumentError
from simpleautodiff.rules.array.shapes import Bundle
from simpleautodiff.transforms.arguments import Selection, check_function
from simpleautodiff.transforms.checkpoint import as_one_node
from simpleautodiff.transforms.derivative_rows import join_rows, stack_rows, take_row
from simpleautodiff.transforms.for_some_examples import copy_array
from simpleautodiff.transforms.grad import push_inside
from simpleautodiff.transforms.recorded_call import RecordedCall
from simpleautodiff.values.pytree import flatten, map_leaves

F = Callable[..., Any]
# While `jit` records: the function that records a loop by one step, or returns None.
RECORDER: ContextVar[Callable[..., tuple[Any, Any] | None] | None] = ContextVar(
    "RECORDER", default=None
)


class Action(NamedTuple):
    """One action of a schedule: "store" the state before step `begin`, "advance", or "reverse"."""

    kind: str
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class Schedule:
    """What a reverse sweep over a loop does, in order.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> plan = ad.schedule(4, snapshots=2)
    >>> plan.evaluations
    4
    >>> print(plan)
    o...
    >...
    oo..
    o>>.
    oo.<
    o>.
    oo<
    o<
    <
    """

    count: int
    snapshots: int
    actions: tuple[Action, ...]

    @property
    def evaluations(self) -> int:
        """How many steps are computed again, besides the one that each reversal records."""
        return sum(a.end - a.begin for a in self.actions if a.kind == "advance")

    def __str__(self) -> str:
        """Draw a line for each action: o a state that is retained, > computed again, < reversed."""
        lines, held, left = [], set(), self.count
        for kind, begin, end in self.actions:
            held |= {begin} if kind == "store" else set()
            moving = {"advance": ">", "reverse": "<"}.get(kind, "o")
            marks = ["o" if i in held else "." for i in range(left)]
            marks[begin:end] = [moving] * (end - begin)
            lines.append("".join(marks))
            if kind == "reverse":
                held, left = held - {begin}, begin
        return "\n".join(lines)


def schedule(count: int, snapshots: int) -> Schedule:
    """Return the binomial schedule of a loop; printing it draws it; see `loop`."""
    if count < 1 or snapshots < 1:
        raise ArgumentError(f"a loop has a step and a snapshot at least; got {count}, {snapshots}")
    return Schedule(count, snapshots, tuple(_plan(0, count, snapshots)))


def _plan(begin: int, end: int, snapshots: int) -> Iterator[Action]:
    """Yield the actions that reverse the steps from `begin` to `end`."""
    yield Action("store", begin, begin + 1)
    while end - begin > 1:
        middle = begin + _split(end - begin, snapshots)
        yield Action("advance", begin, middle)
        if end - middle > 1:
            yield from _plan(middle, end, snapshots - 1)
        else:
            yield Action("reverse", middle, end)
        end = middle
    yield Action("reverse", begin, end)


def _split(count: int, snapshots: int) -> int:
    """Return how far to advance to the next snapshot so that the fewest steps are repeated."""
    if snapshots == 1:
        return count - 1
    repeats = 1
    while comb(snapshots + repeats, snapshots) < count:
        repeats += 1
    behind = comb(snapshots + repeats - 1, snapshots - 1)  # steps that the next one can reverse
    return max(1, comb(snapshots + repeats - 2, snapshots), count - behind)


def loop(step: F, count: int, snapshots: int) -> F:
    """Return the function that applies `step` `count` times, with few snapshots in reverse mode.

    `step(i, state, *args)` returns the next state; the state and the further arguments are numbers,
    arrays or structures of them. Reverse mode retains `snapshots` states at most, and computes the
    others again, each as seldom as possible: `schedule(count, snapshots)` shows when.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> grow = lambda i, x, rate: x + rate * x * (1 - x)
    >>> run = ad.loop(grow, 100, snapshots=5)
    >>> def plain(x, rate):
    ...     for i in range(100):
    ...         x = grow(i, x, rate)
    ...     return x
    >>> ad.grad(run, (0, 1))(0.1, 0.03) == ad.grad(plain, (0, 1))(0.1, 0.03)
    True
    """
    check_function(step)
    schedule(count, snapshots)  # raises if an argument is wrong
    steps = SteppedLoop(
        lambda k, state, x, *args: (step(k, state, *args), None), count, None, snapshots
    )
    return lambda state, *args: steps.run(state, None, *args)[0]


@dataclass(frozen=True, slots=True)
class SteppedLoop:
    """A loop: ``state, y = step(k, state, x, *args)``, `count` times or while ``goes_on(state)``.

    x is the k-th of the x's, in the order of `places` if that is given. The y's are stacked.
    Without `snapshots` reverse mode retains every state.
    """

    step: F
    count: int | None
    goes_on: F | None
    snapshots: int | None
    places: range | None = None

    def run(self, state: Any, xs: Any, *args: Any) -> tuple[Any, Any]:
        """Return the last state and the y's, None if there are none."""
        recorder = RECORDER.get()
        recorded = recorder(self, state, xs, args) if recorder is not None else None
        if recorded is not None:
            return recorded
        if self.snapshots is None:
            return self._run(state, xs, *args)[1:]
        snapshots, count = self.snapshots, 0
        schedule(1, snapshots)  # raises if an argument is wrong

        def run(state: Any, xs: Any, *args: Any) -> tuple[Any, Any]:
            nonlocal count
            count, state, ys = self._run(_make_writable(state, xs, args), xs, *args)
            return map_leaves(_take_node, state), ys

        def make_rule(call_with: F, arguments_of: F, inputs: list[int]) -> F:
            plan = schedule(count, snapshots).actions if count else ()

            def rule(_v: Bundle, x: Bundle) -> Linear:
                def push(dot: Bundle) -> Bundle:
                    return Bundle(tuple(push_inside(call_with, x.entries, dot.entries)))

                def pull(bar: Bundle) -> Bundle:
                    arguments, _ = arguments_of(x.entries)
                    leaves = flatten(self._sweep_back(plan, list(bar.entries), *arguments))[0]
                    return Bundle(tuple([leaves[i] for i in inputs]))

                return Linear(push, pull)

            return rule

        state, ys = as_one_node(run, make_rule)(state, xs, *args)
        return state, ys

    def _run(self, state: Any, xs: Any, *args: Any) -> tuple[int, Any, Any]:
        """Take all steps; return how many, the last state and the y's."""
        k, ys, state = 0, [], map_leaves(copy_array, state)  # a step may write to it
        while k < self.count if self.count is not None else self.goes_on and self.goes_on(state):
            state, y = self._advance(k, state, xs, args)
            ys.append(map_leaves(copy_array, y))  # the next step may write to it
            k += 1
        places = self.places
        return k, state, _stack(ys if places is None or places.step > 0 else ys[::-1])

    def _advance(self, k: int, state: Any, xs: Any, args: tuple[Any, ...]) -> Any:
        return self.step(k, state, self._take(k, xs), *args)

    def _take(self, k: int, xs: Any) -> Any:
        place = k if self.places is None else self.places[k]
        return map_leaves(lambda leaf: copy_array(leaf[place]), xs)

    def _sweep_back(
        self, plan: tuple[Action, ...], seeds: list[Any], state: Any, xs: Any, *args: Any
    ) -> tuple[Any, ...]:
        """Follow a schedule; return the adjoints of the state, the x's and the arguments."""
        size = len(flatten(state)[0])
        bar, of_ys = flatten(state)[1](iter(seeds[:size])), seeds[size:]
        held, at = {0: state}, (0, state)
        of_xs: dict[int, list[Any]] = {}
        total, rebuild = flatten(list(args))
        total = [ZERO] * len(total)
        for kind, begin, end in plan:
            if kind == "store":
                held[begin] = held.get(begin, at[1])
                continue
            now = at[1] if at[0] == begin else held[begin]
            if kind == "advance":
                now = _make_writable(now, xs, args)
                for k in range(begin, end):
                    now = self._advance(k, now, xs, args)[0]
                at = end, map_leaves(take_current, now)
                continue
            given = (now, self._take(begin, xs), *args)
            recorded = RecordedCall(partial(self.step, begin), Selection(given))
            place = begin if self.places is None else self.places[begin]
            bars = [*flatten(bar)[0], *[take_row(of_y, place) for of_y in of_ys]]
            pairs = zip(flatten(recorded.result)[0], bars, strict=True)
            bar, row, *more = recorded.rebuild(iter(recorded.pull_inside(list(pairs))))
            of_xs[place] = flatten(row)[0]
            total = [plus(a, b) for a, b in zip(total, flatten(more)[0], strict=True)]
            held.pop(begin, None)
        leaves, rebuild_xs = flatten(xs)
        rows = [[of_xs[place][k] for place in sorted(of_xs)] for k in range(len(leaves))]
        joined = [join_rows(row, leaf) for row, leaf in zip(rows, leaves, strict=True)]
        return bar, rebuild_xs(iter(joined)), *rebuild(iter(total))


def _take_node(x: Any) -> Any:
    """Return the node of an array that was written to; one without a node can still be written.

    It is no view of what the loop was given, and can be written to as well.
    """
    current = take_current(x)
    return twin(current) if isinstance(current, Traced) else x


def _make_writable(state: Any, *others: Any) -> Any:
    """Return a copy of a state to which a step may write; nodes, too, if it is given any."""
    has_nodes = any([isinstance(leaf, Traced) for leaf in flatten((state, others))[0]])

    def copy(leaf: Any) -> Any:
        if has_nodes and isinstance(leaf, np.ndarray) and leaf.dtype.kind in "fc":
            return Writable(leaf.copy())
        return copy_array(leaf)

    return map_leaves(copy, state)


def _stack(ys: list[Any]) -> Any:
    """Return one structure of stacked leaves; None where there are none."""
    leaves = [flatten(y)[0] for y in ys]
    if not ys or not leaves[0]:
        return ys[0] if ys else None
    rebuild = flatten(ys[0])[1]
    return rebuild(iter([stack_rows([*column]) for column in zip(*leaves, strict=True)]))
