"""Long loops in reverse mode with few snapshots: the binomial schedule of Griewank and Walther.

Of n steps the state is retained at s places at most; from these the others are computed again. No
schedule with s snapshots takes fewer evaluations than this one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import comb
from typing import Any, NamedTuple

from simpleautodiff.core.linear import ZERO, Linear
from simpleautodiff.errors import ArgumentError
from simpleautodiff.rules.array.shapes import Bundle
from simpleautodiff.transforms.arguments import check_function
from simpleautodiff.transforms.checkpoint import as_one_node
from simpleautodiff.transforms.grad import jvp, vjp
from simpleautodiff.transforms.recorded_call import as_number
from simpleautodiff.values.pytree import flatten

F = Callable[..., Any]


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
    """Return the binomial schedule of a loop; printed, it is its own picture; see `loop`."""
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
    """Return how far to advance to the next snapshot, such that fewest steps are repeated."""
    if snapshots == 1:
        return count - 1
    repeats = 1
    while comb(snapshots + repeats, snapshots) < count:
        repeats += 1
    behind = comb(snapshots + repeats - 1, snapshots - 1)  # what the next snapshot can reverse
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
    actions = schedule(count, snapshots).actions

    def run(state: Any, *args: Any) -> Any:
        return _advance(step, 0, count, state, args)

    def make_rule(call_with: F, arguments_of: F, inputs: list[int]) -> F:
        def rule(v: Bundle, x: Bundle) -> Linear:
            def push(dot: Bundle) -> Bundle:
                tangents = tuple(0 if d is ZERO else d for d in dot.entries)
                return Bundle(tuple(flatten(jvp(call_with, x.entries, tangents)[1])[0]))

            def pull(bar: Bundle) -> Bundle:
                (state, *args), _ = arguments_of(x.entries)
                pairs = zip(bar.entries, v.entries, strict=True)
                seeds = iter([as_number(b, like) for b, like in pairs])
                seed = flatten(state)[1](seeds)
                adjoints = _sweep_back(step, actions, state, tuple(args), seed)
                leaves = flatten(adjoints)[0]
                return Bundle(tuple([leaves[i] for i in inputs]))

            return Linear(push, pull)

        return rule

    return as_one_node(run, make_rule)


def _advance(step: F, begin: int, end: int, state: Any, args: tuple[Any, ...]) -> Any:
    for i in range(begin, end):
        state = step(i, state, *args)
    return state


def _sweep_back(
    step: F, actions: tuple[Action, ...], state: Any, args: tuple[Any, ...], bar: Any
) -> tuple[Any, ...]:
    """Follow a schedule; return the adjoints of the state and of the further arguments."""
    held, at, total = {0: state}, (0, state), None
    for kind, begin, end in actions:
        if kind == "store":
            held[begin] = held.get(begin, at[1])
            continue
        now = at[1] if at[0] == begin else held[begin]
        if kind == "advance":
            at = end, _advance(step, begin, end, now, args)
            continue
        _, back = vjp(lambda x, *more, i=begin: step(i, x, *more), now, *args)
        bar, *more = back(bar)
        leaves, rebuild = flatten(more)
        total = leaves if total is None else [a + b for a, b in zip(total, leaves, strict=True)]
        held.pop(begin, None)
    return bar, *rebuild(iter(total or []))
