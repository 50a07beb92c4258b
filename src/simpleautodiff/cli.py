"""The command line: the paper's three tables for a formula at a point."""

from __future__ import annotations

import argparse
import io
import os
import re
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from simpleautodiff import __version__
from simpleautodiff.display.tables import (
    adjoints_table,
    output_names,
    tangents_table,
    values_table,
)
from simpleautodiff.errors import AutodiffError, DomainWarning, FormulaError
from simpleautodiff.expression import CONSTANTS, parse
from simpleautodiff.program import trace

EXAMPLE = "log(x1) + x1*x2 - sin(x2)"
EXAMPLE_POINT = ("x1=2", "x2=5")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0, or 2 for input that cannot be used."""
    parser = argparse.ArgumentParser(
        prog="simpleautodiff",
        description="Show how a derivative is computed: values, forward sweep, reverse sweep.",
        epilog=f'example: simpleautodiff "{EXAMPLE}" {" ".join(EXAMPLE_POINT)}',
    )
    parser.add_argument(
        "formula", nargs="?", default=EXAMPLE, help=f"such as {EXAMPLE}, which is the default"
    )
    parser.add_argument("point", nargs="*", help="a value for each variable: x1=2 x2=5")
    parser.add_argument("--wrt", help="the input of the forward sweep (the first one if not given)")
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    options = parser.parse_intermixed_args(_shielded(sys.argv[1:] if argv is None else argv))
    point = options.point or (EXAMPLE_POINT if options.formula == EXAMPLE else ())
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", DomainWarning)
            text = explain(options.formula, point, options.wrt)
    except AutodiffError as error:
        print(f"simpleautodiff: {_without_place(str(error))}", file=sys.stderr)
        return 2
    _print(text)
    for message in dict.fromkeys(_without_place(str(warning.message)) for warning in caught):
        print(f"warning: {message}", file=sys.stderr)
    return 0


def _shielded(arguments: Sequence[str]) -> list[str]:
    """Keep a formula that begins with a minus from being read as an option."""
    options = ("-h", "--help", "--wrt", "--version")
    return [
        f" {text}" if text.startswith("-") and text.partition("=")[0] not in options else text
        for text in arguments
    ]


def _without_place(message: str) -> str:
    """Drop the source line of a message: here it would be that of this program."""
    return re.sub(r" \(at [^\n]*\)", "", message)


def _print(text: str) -> None:
    """Print to whatever there is: a pipe that closes early, a terminal that lacks letters."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    try:
        print(text, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def explain(formula: str, point: Sequence[str], wrt: str | None = None) -> str:
    """Write the three tables of a formula at a point given as texts `name=value`."""
    function, names = parse(formula)
    values = _point(names, point)
    if not names:
        raise FormulaError("the formula has no variable, so there is nothing to differentiate")
    if wrt is not None and wrt not in names:
        raise FormulaError(f"there is no variable {wrt!r}; there are {', '.join(names)}")
    program = trace(function, *[values[name] for name in names], names=names)
    wrt = wrt or names[0]
    at = ", ".join(f"{name} = {values[name]:.17g}" for name in names)
    y = output_names(program)[0][0]
    return "\n".join(
        [
            f"{y} = {formula.strip()}   at {at}",
            "",
            "Values",
            str(values_table(program)),
            "",
            f"Forward mode: derivatives with respect to {wrt}",
            str(tangents_table(program, wrt)),
            "",
            f"Reverse mode: derivatives of {y}",
            str(adjoints_table(program)),
        ]
    )


def _point(names: list[str], point: Sequence[str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for text in point:
        name, equals, number = text.partition("=")
        if not equals:
            raise FormulaError(f"a value is given as name=number, such as x1=2; got {text!r}")
        if name not in names:
            what = "is a constant" if name in CONSTANTS else "is not in the formula"
            raise FormulaError(f"{name!r} {what}; its variables are {', '.join(names) or 'none'}")
        if name in values:
            raise FormulaError(f"{name} has two values")
        values[name] = _number(name, number)
    missing = [name for name in names if name not in values]
    if missing:
        wanted = " ".join(f"{name}=..." for name in missing)
        raise FormulaError(f"no value for {', '.join(missing)}: add {wanted}")
    return values


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise FormulaError(f"the value of {name} is {text[:40]!r}, which is not a number") from None
