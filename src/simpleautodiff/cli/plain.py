"""A program with the tables that there are: as text."""

from __future__ import annotations

from typing import Any

from simpleautodiff import tables
from simpleautodiff.errors import MissingExtraError
from simpleautodiff.program import Program


class PlainTable:
    """A table as text, under its title."""

    def __init__(self, title: str, text: str) -> None:
        self.title, self.text = title, text

    def to(self, format: str) -> str:
        """Return the text."""
        if format != "text":
            raise MissingExtraError(f"tables are not written as {format} yet")
        return self.text


class PlainTrace:
    """A program with tables, and nothing else to show."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.variables: dict[Any, str] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self.program, name)

    def values(self) -> PlainTable:
        """Return the values."""
        return PlainTable("Values", tables.values_table(self.program))

    def tangents(self, wrt: str) -> PlainTable:
        """Return the forward sweep."""
        title = f"Forward mode: derivatives with respect to {wrt}"
        return PlainTable(title, tables.tangents_table(self.program, wrt))

    def adjoints(self) -> PlainTable:
        """Return the reverse sweep."""
        y = tables.output_names(self.program)[0][0]
        title = f"Reverse mode: derivatives of {y}"
        return PlainTable(title, tables.adjoints_table(self.program))

    def figure(self, show: str, wrt: str) -> PlainFigure:
        """Return the graph."""
        return PlainFigure(self.program)

    def explain(self, name: str, wrt: str) -> str:
        """Return a step as a sentence."""
        step = next(step for step in self.program.steps if step.name == name)
        return f"{name} is {step.call}, which is {step.value}."


class PlainFigure:
    """A graph as a list of its edges."""

    def __init__(self, program: Program) -> None:
        self.program = program

    def text(self) -> str:
        """Write each node with its parents."""
        inner = [step for step in self.program.steps if step.operator]
        return "\n".join(f"{', '.join(map(str, step.args))} → {step.name}" for step in inner)

    def svg(self) -> str:
        """Refuse."""
        raise MissingExtraError("graphs are not drawn yet")

    tikz = svg


def with_tables(trace: Any) -> Any:
    """Return a trace that has tables."""
    return trace if hasattr(trace, "values") else PlainTrace(trace)
