"""One self-contained page for a program: it works from disk, without a network."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from simpleautodiff.core.node import Node
from simpleautodiff.display.explorer.files import fill_template, read_asset, read_scripts
from simpleautodiff.display.explorer.page_data import make_document, source_of
from simpleautodiff.display.trace import trace, trace_formula
from simpleautodiff.errors import ArgumentError, FormulaError
from simpleautodiff.program.formula import Formula, parse
from simpleautodiff.program.program import Program

PAGE_STYLE = "html, body { margin: 0; height: 100%; }\n"
START = """
const data = JSON.parse(document.getElementById("program").textContent);
window.explorer = explorer(document.getElementById("explorer"), data, { address: true });
"""


def write_page(
    program: Program, title: str = "", code: list[str] | None = None, first: int = 1
) -> str:
    """Write the page of a program.

    Parameters
    ----------
    program
        The program to show.
    title
        The heading.
    code, first
        The source, if there is one, and the number of its first line.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> text = write_page(ad.trace(lambda x: ad.sin(x) * x, 2.0), "x sin x")
    >>> text.startswith("<!doctype html>"), "http:" in text.replace("http://www.w3.org/", "")
    (True, False)
    """
    style = PAGE_STYLE + read_asset("explorer.css")
    script = f'(() => {{\n"use strict";\n{read_scripts()}{START}}})();\n'
    data = json.dumps(make_document(program, title, code or (), first), ensure_ascii=False)
    parts = {
        "policy": f"default-src 'none'; img-src data:; style-src '{_hash(style)}'; "
        f"script-src '{_hash(script)}'; base-uri 'none'; form-action 'none'",
        "title": html.escape(title or "simpleautodiff"),
        "style": style,
        "program": data.replace("<", "\\u003c"),  # so that no text in it can end the element
        "script": script,
    }
    return fill_template("page.html", parts)


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def explore(
    f: Callable[..., Any] | str | Program | Node,
    *args: Any,
    path: str | Path = "explorer.html",
    title: str = "",
    numbering: str = "",
) -> Path:
    """Write a page that shows how the derivative of a function or a formula is computed.

    It has the graph, the table and the source, linked with one another; the evaluation, the
    search for an order, the forward sweep from each input and the reverse sweep, step by step; and
    a slider for each input. It is one file, which needs nothing else.

    Parameters
    ----------
    f
        A function; a formula as text, whose variables take `args` in the order they appear; a
        program; or a node typed by hand.
    args
        The point.
    path
        The file to write; by default explorer.html in the current folder, over an older one.
    title
        The heading: by default the formula, or the name of the function.
    numbering
        "paper" or "execution", as `trace` takes it.

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> import os, tempfile
    >>> import simpleautodiff as ad
    >>> folder = tempfile.mkdtemp()
    >>> ad.explore("log(x1) + x1*x2 - sin(x2)", 2, 5, path=os.path.join(folder, "page.html")).name
    'page.html'
    """
    file = Path(path)
    if file.suffix.lower() not in ("", ".html", ".htm"):
        raise ArgumentError(
            f"explore writes a page, so the name of its file ends in .html, not as {file.name} "
            "does; figure(trace(f, ...)).save(path) writes a graph alone"
        )
    program, own_title, code, first = describe(f, args, numbering)
    text = write_page(program, title or own_title, code, first)
    file.write_text(text, encoding="utf-8")
    return file


def describe(
    f: Callable[..., Any] | str | Program | Node, args: tuple[Any, ...], numbering: str = ""
) -> tuple[Program, str, list[str], int]:
    """Return the program of a function, a formula or a program, its title and its source."""
    if isinstance(f, Program):
        if args:
            raise ArgumentError("a program has its arguments already; explore it without any")
        return f, "", [], 1
    if isinstance(f, Node):
        return trace(f, *args, numbering=numbering), "", [], 1
    if isinstance(f, str):
        formula, names = parse(f)
        if len(args) != len(names):
            raise FormulaError(
                f"the variables of {f.strip()!r} are {', '.join(names) or 'none'}: "
                f"{len(names)} values are needed, {len(args)} were given"
            )
        return describe_formula(formula, args, numbering)
    name = getattr(f, "__name__", type(f).__name__)
    code, first = source_of(f)
    return trace(f, *args, numbering=numbering), "" if name == "<lambda>" else name, code, first


def describe_formula(
    formula: Formula, args: tuple[Any, ...] | list[float], numbering: str = ""
) -> tuple[Program, str, list[str], int]:
    """Return the program of a formula, its title and source; several lines have no title."""
    program = trace_formula(formula, *args, numbering=numbering)
    lines = formula.text.splitlines()
    return (program, "", lines, 1) if len(lines) > 1 else (program, formula.text, [], 1)
