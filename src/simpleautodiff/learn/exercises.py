"""Exercises: tables with blanks from any function, checked cell by cell, mistakes explained."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from simpleautodiff.core.linear import ZERO
from simpleautodiff.core.node import Node
from simpleautodiff.display.trace import Trace, trace, trace_formula
from simpleautodiff.errors import ArgumentError, AutodiffError, FormulaError
from simpleautodiff.learn.grading.known_faults import (
    FLAGS,
    RARE_RULES,
    RULES,
    VARIANTS,
    WRONG_RULES,
)
from simpleautodiff.learn.grading.mistakes import MISTAKES
from simpleautodiff.learn.grading.model import Model
from simpleautodiff.learn.grading.model_nodes import ModelNode
from simpleautodiff.learn.graphs import Graph, Step, write_step
from simpleautodiff.learn.sheets import (
    SYMBOLS,
    SheetCell,
    mark,
    show_signs,
    write_answer,
    write_html,
    write_latex,
    write_text,
)
from simpleautodiff.program.formula import parse
from simpleautodiff.program.program import Program

EXERCISE_TITLES = {
    "values": "Values",
    "partials": "Local derivatives",
    "tangents": "Forward sweep from {wrt}",
    "adjoints": "Reverse sweep",
    "order": "A topological order",
}
ABOUT = tuple(EXERCISE_TITLES)
LIKELY = ("parents_as_set", "overwritten", "first_place")  # after a wrong rule, by hand
SHORT_NAMES = {"power": "pow", "absolute": "abs", "maximum": "max"}


@dataclass(frozen=True)
class Mark:
    """The verdict on one answer."""

    cell: SheetCell
    answer: str
    right: bool
    says: str = ""

    def __str__(self) -> str:
        if self.right:
            return f"{self.cell.label} = {self.answer}: right"
        wanted = f"{self.cell.label} = {self.answer}: right is {write_answer(self.cell.right)}."
        return f"{wanted} {self.says}".rstrip()


class Exercise:
    """A table with blanks; `exercise` makes it."""

    def __init__(
        self, program: Trace, about: Sequence[str], wrt: str, seed: int, blanks: float
    ) -> None:
        self.program = program
        self.about = tuple(about)
        self.graph = graph_of(program)
        self.wrt = wrt or self.graph.names[0]
        cells = [cell for subject in about for cell in self._cells(subject)]
        may_be = [cell.key for cell in cells if cell.text]
        rng = random.Random(seed)
        chosen = set(rng.sample(may_be, max(1, round(blanks * len(may_be)))))
        for subject in about:  # a table with no blank asks for nothing
            here = [cell.key for cell in cells if cell.text and cell.about == subject]
            if here and chosen.isdisjoint(here):
                chosen.add(rng.choice(here))
        self.cells = tuple(
            SheetCell(c.key, c.about, c.name, c.text, c.right, c.key in chosen) for c in cells
        )

    @property
    def blanks(self) -> tuple[SheetCell, ...]:
        """The cells to fill in."""
        return tuple(cell for cell in self.cells if cell.blank)

    def _cells(self, about: str) -> Iterator[SheetCell]:
        program = self.program
        if about == "order":
            order = right_order(self.graph, self.wrt)
            text = f"the nodes that {self.wrt} reaches, each before its children"
            yield SheetCell("order", about, "order", text, " ".join(order))
            return
        if about == "partials":
            for name, k, parent, number in _partials(program):
                key = f"∂{name}/∂{parent}" + ("" if k == 0 else f" ({k + 1})")
                yield SheetCell(f"partials {key}", about, key, key, number)
            return
        numbers = self._numbers(about)
        for step in reversed(program.steps) if about == "adjoints" else program.steps:
            text = self._text(about, step.name)
            yield SheetCell(
                f"{about} {step.name}", about, step.name, text, numbers.get(step.name, 0)
            )

    def _numbers(self, about: str) -> Mapping[str, Any]:
        if about == "tangents":
            return Program.tangents(self.program, self.wrt)
        if about == "adjoints":
            return Program.adjoints(self.program)
        return {step.name: step.value for step in self.program.steps}

    def _text(self, about: str, name: str) -> str:
        """Write what a cell is computed from, in symbols: a step, or the sum of the chain rule."""
        steps, symbol = self.graph.steps, SYMBOLS[about].format
        if about == "values":
            return next((write_step(op, args) for own, op, args in steps if own == name), "")
        if about == "tangents":
            parents = [arg for own, _, args in steps for arg in args if own == name]
            terms = [f"∂{name}/∂{u} {mark(symbol, u)}" for u in parents if isinstance(u, str)]
            return " + ".join(terms) or f"∂{name}/∂{self.wrt}"
        if name == self.graph.output:
            return f"∂{name}/∂{name}"
        terms = [
            f"{mark(symbol, child)} ∂{child}/∂{name}"
            for child, _, args in steps
            for arg in args
            if arg == name
        ]
        return " + ".join(terms)

    def check(self, answers: Mapping[str, Any]) -> list[Mark]:
        """Check answers, cell by cell; the keys are those of `blanks`."""
        cells = {cell.key: cell for cell in self.cells}
        unknown = [key for key in answers if key not in cells]
        if unknown:
            raise ArgumentError(f"there is no cell {unknown[0]!r}; there are {', '.join(cells)}")
        return [self._mark(cells[key], str(answer)) for key, answer in answers.items()]

    def _mark(self, cell: SheetCell, answer: str) -> Mark:
        if cell.about == "order":
            says = order_mistake(self.graph, self.wrt, answer.replace(",", " ").split())
            return Mark(cell, answer, not says, says)
        number = read_answer(answer)
        if number is None:
            return Mark(cell, answer, False, "That is no number.")
        if same(number, cell.right):
            return Mark(cell, answer, True)
        return Mark(cell, answer, False, self.explain(cell, number))

    def explain(self, cell: SheetCell, number: Any) -> str:
        """Name the misconception that gives this number in this cell, if there is one."""
        for fault, wrong in self.wrong_answers(cell):
            if same(number, wrong):
                return MISTAKES[VARIANTS.get(fault, fault)].says
        return ""

    def wrong_answers(self, cell: SheetCell) -> Iterator[tuple[str, float]]:
        """Yield the wrong number that each misconception gives in a cell."""
        if not self.graph.operations <= RULES.keys():
            return
        rules = [rule for rule in WRONG_RULES if rule not in RARE_RULES]
        for fault in dict.fromkeys((*rules, *LIKELY, *FLAGS, *VARIANTS, *RARE_RULES)):
            number = self._predict(cell, fault) if fault != "shared_gradient" else None
            if number is not None and not same(number, cell.right):
                yield fault, number

    def _predict(self, cell: SheetCell, fault: str) -> float | None:
        model = Model([fault])
        try:
            held = {name: model.input(float(value)) for name, value in self.graph.inputs}
            nodes: dict[str, ModelNode] = model.build(self.graph, held)
            if cell.about == "values":
                return nodes[cell.name].value
            if cell.about == "partials":
                return _model_partial(nodes, cell.name)
            if cell.about == "tangents":
                return model.forward(nodes[self.wrt]).get(nodes[cell.name], 0.0)
            return model.reverse(nodes[self.graph.output]).get(nodes[cell.name], 0.0)
        except (ArithmeticError, LookupError, RecursionError, ValueError):
            return None

    # To be filled in. -----------------------------------------------------------------------------

    def to(self, format: str = "text", answers: bool = False) -> str:
        """Write the sheet as "text", "latex" or "html"; with `answers`, the answer sheet."""
        titles = {subject: EXERCISE_TITLES[subject].format(wrt=self.wrt) for subject in self.about}
        if format == "text":
            return write_text(self.cells, titles, answers)
        if format == "latex":
            return write_latex(self.cells, titles, answers)
        if format == "html":
            return write_html(self.cells, titles, answers, self._explanations)
        raise ArgumentError(f"a sheet is written as text, latex, html, not {format!r}")

    def _explanations(self, cell: SheetCell) -> list[tuple[float, str]]:
        found = self.wrong_answers(cell)
        return [(float(x), MISTAKES[VARIANTS.get(f, f)].says) for f, x in found if math.isfinite(x)]

    def __str__(self) -> str:
        return self.to("text")

    def __repr__(self) -> str:
        return f"<Exercise about {', '.join(self.about)}: {len(self.blanks)} blanks>"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": str(self)}

    def quiz(
        self, ask: Callable[[str], str] = input, tell: Callable[[str], Any] = print
    ) -> list[Mark]:
        """Show the sheet, and ask for the blanks one after the other; an empty answer ends it."""
        marks = []
        tell(f"{self}\n")
        tell("Type numbers such as 5.5, 11/2 or cos(5); an empty line ends the quiz.")
        for cell in self.blanks:
            answer = self._ask(cell, ask, tell)
            if not answer:
                break
            marks += self.check({cell.key: answer})
            tell(str(marks[-1]))
        tell(f"{sum(mark.right for mark in marks)} of {len(marks)} right")
        return marks

    def _ask(self, cell: SheetCell, ask: Callable[[str], str], tell: Callable[[str], Any]) -> str:
        """Ask for one blank until the answer can be read; return None at the end of the input."""
        what = "" if cell.text == cell.name else f" = {cell.text}"
        while True:
            try:
                answer = ask(f"{cell.about}: {cell.label}{show_signs(what)} = ").strip()
            except EOFError:
                tell("")
                return ""
            if not answer or cell.about == "order" or read_answer(answer) is not None:
                return answer
            tell(f"{answer} is no number; type one such as 5.5, 11/2 or cos(5).")


def exercise(
    f: Callable[..., Any] | str,
    *point: Any,
    about: str | Sequence[str] = ("values", "adjoints"),
    wrt: str = "",
    seed: int = 0,
    blanks: float = 0.5,
    names: Sequence[str] | None = None,
) -> Exercise:
    """Make a table with blanks from any function or formula at a point.

    Parameters
    ----------
    f, point
        The function and the point; with ints and Fractions all numbers are exact.
    about
        Which tables: "values", "partials", "tangents", "adjoints", "order"; one, several in a list,
        or several in a string with commas between them.
    wrt
        The input of tangents and of the order; the first by default.
    seed, blanks
        Which cells are blank, and what share of them: the same seed, the same sheet.
    names
        The names of the inputs; by default the parameters of `f`.

    Examples
    --------
    >>> from simpleautodiff import learn
    >>> sheet = learn.exercise("x*y - x", 2, 5, about=["adjoints"], blanks=1)
    >>> [cell.key for cell in sheet.blanks]
    ['adjoints v2', 'adjoints v1', 'adjoints y', 'adjoints x']
    >>> for mark in sheet.check({"adjoints x": 4, "adjoints v2": 1}):
    ...     print(mark)
    x̄ = 4: right
    v̄2 = 1: right
    >>> print(sheet.check({"adjoints x": 5})[0].right)
    False
    """
    if isinstance(about, str):
        about = [subject.strip() for subject in about.split(",")]
    unknown = [subject for subject in about if subject not in ABOUT]
    if unknown or not about:
        raise ArgumentError(f"an exercise is about {', '.join(ABOUT)}; got {list(about)}")
    if isinstance(f, str):
        formula, names = parse(f)
        if len(names) != len(point):
            raise ArgumentError(f"{f!r} has the inputs {', '.join(names)}; give a number for each")
        program = trace_formula(formula, *point)
    else:
        program = trace(f, *point, names=names)
    return Exercise(program, about, wrt, seed, blanks)


def graph_of(program: Program) -> Graph:
    """Return a traced program as a graph like those of the grader's bank."""
    inputs = tuple((s.name, s.value) for s in program.steps if not s.operator)
    if any(not isinstance(step.value, (int, float, Fraction)) for step in program.steps):
        raise ArgumentError(
            "an exercise is about single numbers: give ints, floats or Fractions, and a function "
            "that makes no arrays of them"
        )
    steps: list[Step] = [
        (s.name, SHORT_NAMES.get(s.operator, s.operator), s.args)
        for s in program.steps
        if s.operator
    ]
    return Graph(inputs, tuple(steps), program.names[program.outputs[0]])


def _partials(program: Program) -> Iterator[tuple[str, int, str, Any]]:
    """Yield (node, how often the parent stood before, parent, partial derivative)."""
    for node in program.nodes:
        seen: list[str] = []
        for k, number in node.local_derivatives():
            parent = node.args[k]
            assert isinstance(parent, Node)
            name = program.names[parent]
            slope = 0 if number is ZERO else number  # of max in its smaller argument, say
            yield program.names[node], seen.count(name), name, slope
            seen.append(name)


def _model_partial(nodes: Mapping[str, ModelNode], key: str) -> float:
    match = re.fullmatch(r"∂(\w+)/∂(\w+)(?: \((\d+)\))?", key)
    assert match is not None
    node, parent = nodes[match[1]], nodes[match[2]]
    places = [k for k, other in enumerate(node.parents) if other is parent]
    return node.partials[places[int(match[3] or 1) - 1]]


def right_order(graph: Graph, root: str) -> list[str]:
    """Return the nodes reachable from an input, in execution order."""
    reached = [root]
    for name, _, args in graph.steps:
        if set(args) & set(reached):
            reached.append(name)
    return reached


def order_mistake(graph: Graph, root: str, answer: Sequence[str]) -> str:
    """Say what is wrong with an order; nothing if it is topological: several orders are right.

    Examples
    --------
    >>> from simpleautodiff.learn.graphs import parse_graph
    >>> graph = parse_graph("a = x*x; y = a + x", x=3)
    >>> order_mistake(graph, "x", ["x", "a", "y"])
    ''
    >>> order_mistake(graph, "x", ["x", "y", "a"])
    'y stands before its parent a, whose derivative is not known yet.'
    """
    wanted = right_order(graph, root)
    for name in answer:
        if name not in wanted:
            return f"{name} cannot be reached from {root}, so its derivative is 0."
        if list(answer).count(name) > 1:
            return f"{name} stands there twice."
    for name in wanted:
        if name not in answer:
            return f"{name} is missing: it can be reached from {root}."
    for name, _, args in graph.steps:
        for arg in args:
            if name in answer and arg in answer and answer.index(name) < answer.index(str(arg)):
                return f"{name} stands before its parent {arg}, whose derivative is not known yet."
    return ""


def read_answer(text: str) -> Any:
    """Read a number as it was typed: 11/2, 5.5, cos(5); None if it is not a number.

    Examples
    --------
    >>> read_answer("11/2"), read_answer("sqrt(16)"), read_answer("eleven")
    (Fraction(11, 2), 4.0, None)
    """
    text = re.sub(r"^\s*([+-]?\d+),(\d+)\s*$", r"\1.\2", text)  # a decimal comma
    try:
        return Fraction(text.replace(" ", ""))
    except (ValueError, ZeroDivisionError):
        pass
    try:
        formula, names = parse(text)
        return None if names else float(formula())
    except (FormulaError, AutodiffError, ArithmeticError, TypeError, ValueError):
        return None


def same(number: Any, right: Any) -> bool:
    """Tell whether an answer is right: exactly for exact numbers, else to three digits."""
    exact = isinstance(right, (int, Fraction)) and isinstance(number, (int, Fraction))
    if exact:
        return bool(number == right)
    return math.isclose(float(number), float(right), rel_tol=1e-3, abs_tol=5e-4)
