"""The command line: the paper's three tables for a formula at a point."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from simpleautodiff.errors import AutodiffError, DomainWarning, FormulaError
from simpleautodiff.expression import parse
from simpleautodiff.program import trace
from simpleautodiff.tables import adjoints_table, tangents_table, values_table

EXAMPLE = "log(x1) + x1*x2 - sin(x2)"
EXAMPLE_POINT = ("x1=2", "x2=5")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0, or 2 for input that cannot be used."""
    parser = argparse.ArgumentParser(
        prog="simpleautodiff",
        description="Show how a derivative is computed: values, forward sweep, reverse sweep.",
        epilog=f'example: simpleautodiff "{EXAMPLE}" {" ".join(EXAMPLE_POINT)}',
    )
    parser.add_argument("formula", nargs="?", default=EXAMPLE, help="such as %(default)s")
    parser.add_argument("point", nargs="*", help="a value for each variable: x1=2 x2=5")
    parser.add_argument("--wrt", help="the input of the forward sweep (the first one if not given)")
    options = parser.parse_intermixed_args(argv)
    point = options.point or (EXAMPLE_POINT if options.formula == EXAMPLE else ())
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", DomainWarning)
            text = explain(options.formula, point, options.wrt)
    except AutodiffError as error:
        print(f"simpleautodiff: {error}", file=sys.stderr)
        return 2
    print(text)
    for warning in caught:
        print(f"warning: {warning.message}", file=sys.stderr)
    return 0


def explain(formula: str, point: Sequence[str], wrt: str | None = None) -> str:
    """Write the three tables of a formula at a point given as texts `name=value`."""
    function, names = parse(formula)
    values = _point(names, point)
    if not names:
        raise FormulaError("the formula has no variable, so there is nothing to differentiate")
    if wrt is not None and wrt not in names:
        raise FormulaError(f"there is no variable {wrt!r}; there are {', '.join(names)}")
    program = trace(function, *[values[name] for name in names])
    for node, name in zip(list(program.inputs), names, strict=True):
        program.rename(node, name)
    wrt = wrt or names[0]
    at = ", ".join(f"{name} = {values[name]}" for name in names)
    return "\n".join(
        [
            f"y = {formula}   at {at}",
            "",
            "Values",
            values_table(program),
            "",
            f"Forward mode: derivatives with respect to {wrt}",
            tangents_table(program, wrt),
            "",
            "Reverse mode: derivatives of y",
            adjoints_table(program),
        ]
    )


def _point(names: list[str], point: Sequence[str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for text in point:
        name, equals, number = text.partition("=")
        if not equals:
            raise FormulaError(f"a value is given as name=number, such as x1=2; got {text!r}")
        if name not in names:
            raise FormulaError(f"the formula has no variable {name!r}; it has {', '.join(names)}")
        values[name] = _number(name, number)
    missing = [name for name in names if name not in values]
    if missing:
        wanted = " ".join(f"{name}=..." for name in missing)
        raise FormulaError(f"no value for {', '.join(missing)}: add {wanted}")
    return values


def _number(name: str, text: str) -> int | float:
    for kind in (int, float):
        try:
            return kind(text) if len(text) <= 400 else float("x")
        except ValueError:
            continue
    raise FormulaError(f"the value of {name} is {text!r}, which is not a number")
