"""A derivative one step at a time, forward and backward: build the graph, order it, sweep along it.

The numbers are those of the program and its sweeps; a step only shows the next of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import Any

import numpy as np

from simpleautodiff.core.node import Node
from simpleautodiff.core.order import execution_order
from simpleautodiff.display.notation.formulas import write_value
from simpleautodiff.display.notation.missing import explain_nan, write_missing
from simpleautodiff.display.notation.rich_text import show_minus
from simpleautodiff.display.notation.step_sentences import (
    derivative_line,
    value_line,
)
from simpleautodiff.display.stepper.search import search_down, search_up
from simpleautodiff.display.tables.formats import write_grid
from simpleautodiff.errors import ArgumentError
from simpleautodiff.program.program import Program, output_names
from simpleautodiff.program.recorded_run import trace
from simpleautodiff.program.typed_graphs import as_function
from simpleautodiff.program.written_numbers import write_result
from simpleautodiff.values.other_arrays import unwrap_foreign

MODES = ("forward", "reverse")


@dataclass(frozen=True, slots=True)
class Event:
    """One step of a derivative: its phase, its kind, and its node.

    `phase` is "build", "order" or "sweep". `kind` is "value" in the first; "visit" and "place" in
    the second; "seed", "tangent" and "accumulate" in the third. `number` is the result of the
    step; an accumulation came from `child`, whose argument number `index` the node is, and added
    to what was there `before`, unless it was the `first`.
    """

    phase: str
    kind: str
    name: str
    number: Any = None
    child: str = ""
    index: int = 0
    first: bool = True
    before: Any = None


@dataclass(frozen=True, slots=True)
class Breakpoint:
    """Where to stop: at a node, at a source line, at a large number, at a nan."""

    node: str = ""
    line: int | str = ""
    over: float | None = None
    nan: bool = False

    def meets(self, event: Event, line: str) -> bool:
        """Tell whether to stop at an event, which is on a source line."""
        return (
            (self.node != "" and event.name == self.node)
            or (self.line != "" and _is_on(line, self.line))
            or (self.over is not None and _any(event.number, lambda a: np.abs(a) > self.over))
            or (self.nan and _any(event.number, lambda a: a != a))
        )


def _is_on(line: str, wanted: int | str) -> bool:
    if isinstance(wanted, int):
        return re.match(rf"[^:]*:{wanted}(:|$)", line) is not None
    return wanted in line


def _any(number: Any, test: Callable[[Any], Any]) -> bool:
    return number is not None and bool(np.any(test(np.asarray(number))))


class Stepper:
    """A program that is built, ordered and swept one step at a time.

    Parameters
    ----------
    program
        The program to step through.
    mode
        "forward", with respect to the input `wrt` (the first if not given); or "reverse", from
        `output` (the first if not given).

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> s = ad.step(lambda x1, x2: ad.log(x1) + x1 * x2 - ad.sin(x2), 2, 5)
    >>> for _ in range(3):
    ...     print(s.tell(s.next()))
    x1 = 2
    x2 = 5
    v1 = log(x1) = log(2) = 0.693
    >>> s.stop(node="v4")
    >>> print(s.tell(s.run()))
    v4 = v1 + v2 = 0.693 + 10 = 10.693
    >>> len(s.values), s.back(2).name, len(s.values)
    (6, 'v2', 4)
    """

    def __init__(
        self, program: Program, mode: str = "forward", wrt: str = "", output: str = ""
    ) -> None:
        if mode not in MODES:
            raise ArgumentError(f"a sweep is 'forward' or 'reverse'; got {mode!r}")
        self.program = program
        self.mode = mode
        first = program.inputs if mode == "forward" else program.outputs
        root = wrt if mode == "forward" else output
        self.root = program.proper(root or program.names[first[0]])
        self.events = list(events(program, mode, self.root))
        self.breakpoints: list[Breakpoint] = []
        self.position = 0
        self.values: dict[str, Any] = {}
        self.visited: dict[str, bool] = {}
        self.placed: dict[str, bool] = {}
        self.derivatives: dict[str, Any] = {}
        self._before: list[Any] = []  # what each completed step has replaced
        self._lines = {step.name: step.line for step in program.steps}

    def __len__(self) -> int:
        return len(self.events)

    @property
    def done(self) -> bool:
        """Whether the last step is done."""
        return self.position == len(self.events)

    @property
    def event(self) -> Event | None:
        """The step done last, or None before the first."""
        return self.events[self.position - 1] if self.position else None

    @property
    def order(self) -> list[str]:
        """The names ordered so far; a depth-first search finds the last one first."""
        return list(self.placed)[:: -1 if self.mode == "forward" else 1]

    def next(self, steps: int = 1) -> Event | None:
        """Advance by some steps, or to the end, and return the last one done."""
        for _ in range(min(steps, len(self.events) - self.position)):
            event = self.events[self.position]
            table, value = self._change(event)
            self._before.append(table.get(event.name))
            table[event.name] = value
            self.position += 1
        return self.event

    def back(self, steps: int = 1) -> Event | None:
        """Undo some steps, or all of them, and return the last one that remains."""
        for _ in range(min(steps, self.position)):
            self.position -= 1
            event = self.events[self.position]
            table, _ = self._change(event)
            before = self._before.pop()
            if before is None:
                del table[event.name]
            else:
                table[event.name] = before
        return self.event

    def _change(self, event: Event) -> tuple[dict[str, Any], Any]:
        match event.kind:
            case "value":
                return self.values, event.number
            case "visit":
                return self.visited, True
            case "place":
                return self.placed, True
        return self.derivatives, event.number

    def run(self) -> Event | None:
        """Advance to the next breakpoint, or to the end, and return the last step done."""
        while not self.done:
            event = self.next()
            if event and any(b.meets(event, self._lines[event.name]) for b in self.breakpoints):
                break
        return self.event

    def rewind(self) -> None:
        """Undo everything."""
        self.back(self.position)

    def stop(
        self,
        node: str = "",
        line: int | str = "",
        over: float | None = None,
        nan: bool = False,
    ) -> None:
        """Add a breakpoint, at which `run` stops.

        Parameters
        ----------
        node
            The name of a node.
        line
            The number of a source line, or a part of its text.
        over
            A size that no value and no derivative should pass.
        nan
            Whether to stop at a nan.
        """
        if not (node or line != "" or over is not None or nan):
            raise ArgumentError("say where to stop: node=, line=, over= or nan=True")
        if line != "" and not any(_is_on(text, line) for text in self._lines.values()):
            raise ArgumentError(f"no step is on the line {line!r}, so it would never stop there")
        wanted = self.program.proper(node) if node else ""
        self.breakpoints.append(Breakpoint(wanted, line, over, nan))

    def result(self) -> dict[str, Any]:
        """Return the derivatives found so far, by name, with 0 for nodes that were not reached."""
        found = ((step.name, self.derivatives.get(step.name, 0)) for step in self.program.steps)
        return {name: unwrap_foreign(number) for name, number in found}

    def tell(self, event: Event | None) -> str:
        """Describe a step in one line, in symbols and in numbers."""
        if event is None:
            return "Nothing is done yet."
        match event.kind:
            case "value":
                return value_line(self.program, event.name)
            case "visit":
                return f"visit {event.name}"
            case "place":
                return f"{event.name} takes its place in the order"
            case "seed":
                return derivative_line(self.program, self.mode, event, {})
        return derivative_line(self.program, self.mode, event, self._found)

    def remark(self, event: Event | None) -> str:
        """Say where the nan of a value comes from, and of a sweep what it does not compute."""
        if event is None:
            return ""
        if event.kind == "value":
            return explain_nan(self.program, self.program.node(event.name))
        return self._missing if event.kind == "seed" else ""

    @cached_property
    def _missing(self) -> str:
        """Which of the results that this sweep differentiates are nan."""
        ends = {name: node for name, node in output_names(self.program)}
        if self.mode == "reverse":
            root = self.program.node(self.root)
            ends = {name: node for name, node in ends.items() if node is root} or {self.root: root}
        return write_missing({name: node.value for name, node in ends.items()})

    @cached_property
    def _found(self) -> Mapping[str, Any]:
        """All derivatives of the sweep, by name."""
        sweep = Program.tangents if self.mode == "forward" else Program.adjoints
        return sweep(self.program, self.root)

    def __str__(self) -> str:
        """Write the state: the step, then everything known so far."""
        lines = self.headline.splitlines()
        lines += [
            f"  {name:<4} {value}" + (f"   derivative {derivative}" if derivative else "")
            for name, value, derivative in self._collect_known()
        ]
        if self.placed:
            lines.append(f"  order: {' '.join(self.order)}")
        return "\n".join(lines)

    @property
    def headline(self) -> str:
        """The step done last: its number, its phase, what it computes, and what is odd about it."""
        event = self.event
        phase = {"build": "build", "order": "order", "sweep": f"{self.mode} sweep"}
        where = phase[event.phase] if event else "start"
        head = f"[{self.position}/{len(self)}] {where}: {self.tell(event)}"
        remark = self.remark(event)
        return f"{head}\n  {remark}" if remark else head

    def _collect_known(self) -> list[tuple[str, str, str]]:
        """Return what is known so far: names, values and derivatives."""
        found = self.derivatives
        return [
            (
                name,
                show_minus(write_value(self.program.node(name))),
                show_minus(write_result(found[name])) if name in found else "",
            )
            for name in self.values
        ]

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        order = f"<p>order: {escape(' '.join(self.order))}</p>" if self.placed else ""
        known = self._collect_known()
        table = write_grid("html", "", ("name", "value", "derivative"), known) if known else ""
        head = "".join(f"<p>{escape(line.strip())}</p>\n" for line in self.headline.splitlines())
        return {"text/html": head + table + order, "text/plain": str(self)}

    def __repr__(self) -> str:
        return f"<Stepper at step {self.position} of {len(self)}: {self.tell(self.event)}>"


def events(program: Program, mode: str, root: str) -> Iterator[Event]:
    """Yield every step of a program: building it, ordering it, and one sweep along it."""
    for step in program.steps:
        yield Event("build", "value", step.name, step.value)
    search = search_down if mode == "forward" else search_up
    order = []
    for kind, name in search(program, root):
        yield Event("order", kind, name)
        if kind == "place":
            order.append(name)
    yield Event("sweep", "seed", root, 1)
    if mode == "forward":
        tangents = Program.tangents(program, root)  # the numbers: Trace.tangents would make a table
        for name in order[-2::-1]:
            yield Event("sweep", "tangent", name, tangents[name])
        return
    totals: dict[str, Any] = {}
    for item in program.accumulations(root):
        place = item.child, item.index, item.first
        before = totals.get(item.parent)
        yield Event("sweep", "accumulate", item.parent, item.total, *place, before)
        totals[item.parent] = item.total


def step(
    f: Callable[..., Any] | Node,
    *args: Any,
    mode: str = "forward",
    wrt: str = "",
    output: str = "",
    numbering: str = "",
) -> Stepper:
    """Run `f` once and return a `Stepper` through its derivative.

    Parameters
    ----------
    f, args
        A function, and the point at which to differentiate it; or a node typed by hand.
    mode
        "forward", with respect to the input `wrt`; or "reverse", from `output`.
    numbering
        "paper" or "execution", as `trace` takes it.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> s = ad.step(lambda x: ad.sin(x) * x, 2.0, mode="reverse")
    >>> s.next(len(s)).name, s.done
    ('x', True)
    >>> s.result()["x"] == ad.grad(lambda x: ad.sin(x) * x)(2.0)
    True
    >>> s.rewind()
    >>> s
    <Stepper at step 0 of 13: Nothing is done yet.>
    """
    if isinstance(f, Node):
        as_function(f, args)  # refuses a point
        return Stepper(Program(execution_order(f), numbering), mode, wrt, output)
    return Stepper(trace(f, *args, numbering=numbering), mode, wrt, output)
