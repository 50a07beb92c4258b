"""The page that lists what is answered: ``python -m simpleautodiff.coverage > docs/numpy.md``."""

from __future__ import annotations

from simpleautodiff.dispatch import FUNCTIONS, PLAIN
from simpleautodiff.dispatch.table import name_of
from simpleautodiff.dispatch.ufuncs import PROGRAMS
from simpleautodiff.primitives import Primitive
from simpleautodiff.rules import TABLE
from simpleautodiff.traced import SPECIAL, UFUNCS


def page() -> str:
    """Write the page, from the table of rows and the functions of NumPy they answer."""
    elementwise = [row for row in TABLE.values() if not row.arrays]
    answered_ufuncs = [u for u, answer in UFUNCS.items() if hasattr(answer, "primitive")]
    ufuncs = sorted({u.__name__ for u in [*answered_ufuncs, *PROGRAMS]})
    functions = sorted({_name(function) for function in FUNCTIONS})
    answered = len(ufuncs) + len(functions) + len(SPECIAL)
    parts = [
        "# What is differentiated",
        "",
        f"{answered} functions of NumPy and SciPy are answered for nodes, in forward and reverse "
        "mode, to every order. This page is generated; a test keeps it true.",
        "",
        "## NumPy's functions",
        "",
        _list(functions),
        "",
        "## NumPy's ufuncs",
        "",
        _list(ufuncs),
        "",
        "## Ufuncs of scipy.special",
        "",
        _list(sorted(SPECIAL)),
        "",
        "## Plain answers, without a derivative",
        "",
        _list(sorted(_name(function) for function in PLAIN)),
        "",
        "## The rows of numbers",
        "",
        "| row | domain | derivative | where it is a choice |",
        "|---|---|---|---|",
        *[_line(row) for row in elementwise],
    ]
    return "\n".join(parts) + "\n"


def _line(row: Primitive) -> str:
    kinks = "; ".join(f"{kink.text}: {kink.choice}" for kink in row.kinks)
    cells = (f"`{row.name}`", row.domain.text, row.reason, kinks)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _name(function: object) -> str:
    return name_of(function).removeprefix("np.")


def _list(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) + "."


if __name__ == "__main__":
    print(page(), end="")
