"""The rungs of the ladder as things to load, to read and to compare."""

from __future__ import annotations

import difflib
import inspect
from dataclasses import dataclass
from types import ModuleType

import simpleautodiff
from simpleautodiff.core import level, linear, node, order, primitive, sweep, tape
from simpleautodiff.display.code import source
from simpleautodiff.errors import ArgumentError
from simpleautodiff.learn.ladder import (
    rung_0,
    rung_1,
    rung_2,
    rung_3,
    rung_4,
    rung_5,
    rung_6,
    rung_7,
    rung_8,
)
from simpleautodiff.transforms import grad


@dataclass(frozen=True)
class Rung:
    """One engine of the ladder: its module, what it adds, and why that was needed."""

    number: int
    title: str
    why: str
    engine: ModuleType

    @property
    def text(self) -> str:
        """The source code; of the last rung, the modules of the library's core."""
        parts = (node, order, sweep, tape) if self.number == len(RUNGS) - 1 else (self.engine,)
        return "\n\n".join(inspect.getsource(part) for part in parts)


RUNGS = tuple(
    Rung(number, title, why, engine)
    for number, (title, why, engine) in enumerate(
        (
            (
                "the paper's program",
                "Nodes, wrapping functions, an order, the chain rule along it; with the defects "
                "that its users met.",
                rung_0,
            ),
            (
                "its defects removed",
                "A sweep returns a mapping, in which what is absent is 0: a node cannot keep the "
                "number of an earlier sweep. Children are known by weak reference, so dead results "
                "are freed. The search has a stack of its own, so depth is no limit. A node is "
                "written into its parents last, so a failure leaves no trace. No counters, no "
                "shared default list, and errors that name the operand.",
                rung_1,
            ),
            (
                "operators, constants, more functions",
                "Formulas are written as formulas. A constant has no derivative, so it is no "
                "parent, and its partial derivative is left out with it: an edge is both together. "
                "Reflected operators keep the order of their operands: 2 - x is not x - 2.",
                rung_2,
            ),
            (
                "reverse mode",
                "Forward mode needs a sweep for each input. Carrying the derivatives of one output "
                "back along the same graph gives those for all inputs in one sweep. The order is "
                "found by the same search, up the parents.",
                rung_3,
            ),
            (
                "a tape instead of a search",
                "Python runs a program in an order in which every operation stands behind its "
                "arguments. Written down, that is a topological order: no search, no child lists, "
                "nothing to find or to leak. Functions can now be differentiated: grad(f).",
                rung_4,
            ),
            (
                "values of any number type",
                "A value may be a Fraction, or a node of another tape. The newest tape records, "
                "and to it everything else is a constant; the partial derivatives are computed "
                "with recorded operations. One function does that for every operation, and makes "
                "its wrapping function. So grad(grad(f)) needs nothing more.",
                rung_5,
            ),
            (
                "arrays and linear maps",
                "The local derivative of a sum or of a matrix product is no number. It is a linear "
                "map that can go forward (push) and back (pull). Where shapes were broadcast, the "
                "derivative is added up again, in one place.",
                rung_6,
            ),
            (
                "a table of primitives",
                "Each operation is a row: value and partial derivatives together, written once. A "
                "node knows its row and its arguments. Partial derivatives are computed for those "
                "arguments alone that need them; so the exponent of a power may be a node, too.",
                rung_7,
            ),
            (
                "source code",
                "A tape is a program: rows and arguments, one after the other. Run grad(f) on the "
                "nodes of an outer tape, and what that tape recorded is the gradient, line by "
                "line, without an engine.",
                rung_8,
            ),
            (
                "the library's own core",
                "Not a copy: what is graded here is what every function of the library runs on.",
                simpleautodiff,
            ),
        )
    )
)

CORE_PARTS = (  # what became of each part of the last small engine
    ("Linear", linear, "with a structural zero that is never multiplied"),
    ("Primitive", primitive, "a row also has words, LaTeX, a domain and kinks"),
    (
        "Primitive.__call__",
        level,
        "levels are numbered as the tapes were; batches and jets are levels, too",
    ),
    ("Node", node, "typed by hand it knows its children, by weak reference"),
    ("depth_first", order, "still there for graphs typed by hand"),
    ("forward, reverse", sweep, "the same two loops"),
    ("Tape", tape, "the same list"),
    ("grad", grad, "any nested structure of arguments"),
    ("source", source, "the same recording, with names and conditions"),
)


def rung(number: int) -> Rung:
    """Return one rung of the ladder.

    Examples
    --------
    >>> from simpleautodiff import learn
    >>> three = learn.rung(3)
    >>> three.title
    'reverse mode'
    >>> x = three.engine.Node(3)
    >>> three.engine.reverse(x * x)[x]
    6
    """
    if number not in range(len(RUNGS)):
        raise ArgumentError(f"the rungs are 0 to {len(RUNGS) - 1}, not {number!r}")
    return RUNGS[number]


def diff(before: int, after: int) -> str:
    """Show what changed from one rung to another, and why.

    Examples
    --------
    >>> from simpleautodiff import learn
    >>> print(learn.diff(3, 4).splitlines()[0])
    Rung 3, reverse mode -> rung 4, a tape instead of a search
    >>> "+class Tape(list" in learn.diff(3, 4)
    True
    """
    old, new = rung(before), rung(after)
    lines = [f"Rung {before}, {old.title} -> rung {after}, {new.title}", ""]
    if before < after:
        lines += [RUNGS[number].why for number in range(before + 1, after + 1)]
    else:
        lines += [f"Without: {RUNGS[number].title}" for number in range(before, after, -1)]
    lines.append("")
    last = len(RUNGS) - 1
    if last in (before, after) and before != after:
        for name, module, note in CORE_PARTS:
            lines.append(f"{name:20}{module.__name__.partition('.')[2]:24}{note}")
        return "\n".join(lines)
    texts = old.text.splitlines(), new.text.splitlines()
    lines += difflib.unified_diff(*texts, f"rung_{before}.py", f"rung_{after}.py", lineterm="")
    return "\n".join(lines)
