"""Answer the page of the playground. This runs in the browser, on the unchanged library."""

from __future__ import annotations

import ast
import inspect
import io
import json
import linecache
import re
import sys
import tempfile
import warnings
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np

import simpleautodiff as ad
from simpleautodiff.cli import rendering
from simpleautodiff.cli.describe_error import describe_error
from simpleautodiff.cli.problem import Problem, read_problem
from simpleautodiff.display.explorer.page import describe, describe_formula, write_page
from simpleautodiff.display.explorer.page_data import make_document
from simpleautodiff.errors import FormulaError
from simpleautodiff.program.formula import Formula
from simpleautodiff.program.formula_hints import IN_FILE

MAX_PRINTED = 4_000
_FILE = Path(tempfile.gettempdir(), "playground.py")
IMPORTS = {"np": "import numpy as np", "ad": "import simpleautodiff as ad", "math": "import math"}
PACKAGES = "this page has NumPy and simpleautodiff; other packages need Python on your computer"
UNREAD = "this link brings Python code: read it, then press Explore"
_IS_PYTHON = re.compile(r"^(def|import|from|class|async)\b|^@", re.MULTILINE)
_NEXT_VALUE = re.compile(r"[\s,;]+(?=[^\W\d]\w*\s*=(?!=))")


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Answer a request: `text`, a formula or Python; the point `at`; what is `wanted` of it.

    `wanted` is "program", the data of the explorer, if it is not given; or a file: "page", "latex"
    or "notebook". A text that came `by_link` is not run if it is Python, since nobody has read it.
    An answer has what was wanted, or an "error"; and "notes".

    Examples
    --------
    >>> answer({"text": "x**2", "at": "x=3"})["program"]["title"]
    'x**2'
    >>> answer({"text": "x**2", "at": ""})["error"]
    'no value for x: add x=...'
    """
    printed = io.StringIO()
    with warnings.catch_warnings(record=True) as caught, redirect_stdout(printed):
        warnings.simplefilter("always")
        try:
            if request.get("by_link") and _IS_PYTHON.search(request["text"]):
                raise FormulaError(UNREAD)
            problem = _read(request["text"], request["at"])
            wanted = request.get("wanted", "program")
            made = {wanted: _WRITERS[wanted](problem)}
        except Exception as error:
            made = {"error": _describe_error(error)}
    notes = [printed.getvalue()[:MAX_PRINTED].rstrip(), *(str(w.message) for w in caught)]
    return made | {"notes": [note for note in dict.fromkeys(notes) if note]}


def _describe_error(error: Exception) -> str:
    """Describe an error, with the line to write above it or what can be imported here."""
    text = describe_error(error).replace(str(_FILE), _FILE.name).replace(IN_FILE, "Python")
    if isinstance(error, ModuleNotFoundError):
        return f"{text}\n{PACKAGES}"
    name = (error.name if isinstance(error, NameError) else "") or ""
    line = f"from simpleautodiff import {name}" if name in ad.__all__ else IMPORTS.get(name, "")
    return f"{text}\nwrite above it: {line}" if line else text


def answer_json(request: str) -> str:
    """Answer a request in JSON, for the worker."""
    return json.dumps(answer(json.loads(request)))


def _read(text: str, at: str) -> Problem:
    """Read a formula, or the last function of a text in Python, which is put into a file."""
    point = [word for word in _NEXT_VALUE.split(at.strip()) if word]
    if not _IS_PYTHON.search(text):
        return read_problem(text, point)
    _FILE.write_text(text, encoding="utf-8")
    linecache.checkcache(str(_FILE))
    sys.dont_write_bytecode = True  # a file that was just written is not to be taken for this one
    return read_problem(f"{_FILE}:{_last_function(text)}", point)


def _last_function(text: str) -> str:
    try:
        body = ast.parse(text).body
    except SyntaxError as error:
        raise FormulaError(f"line {error.lineno} is not Python: {error.msg}") from None
    names = [node.name for node in body if isinstance(node, ast.FunctionDef)]
    if not names:
        raise FormulaError("there is no function: write one, such as def f(x): return x**2")
    return names[-1]


def _describe(problem: Problem) -> tuple[Any, str, list[str], int]:
    if isinstance(problem.function, Formula):
        return describe_formula(problem.function, problem.values)
    return describe(problem.function, tuple(problem.values))


def _program(problem: Problem) -> Any:
    return make_document(*_describe(problem))


def _page(problem: Problem) -> str:
    return write_page(*_describe(problem))


def _latex(problem: Problem) -> str:
    shown = rendering.RecordedProblem(problem, problem.names[0], None)
    return rendering.explanation(shown, "latex")


def _notebook(problem: Problem) -> str:
    """Write a notebook with the tables and the figure."""
    cells = [_define(problem), _record(problem)]
    cells += ["t.values()", f't.tangents("{problem.names[0]}")', "t.adjoints()"]
    cells += ['t.figure(show="adjoints")']
    code: dict[str, Any] = {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": [],
    }
    told = {"cell_type": "markdown", "metadata": {}, "source": [f"# {problem.text}"]}
    return json.dumps(
        {
            "cells": [told | {"id": "title"}]
            + [
                code | {"id": f"cell-{i}", "source": cell.splitlines(keepends=True)}
                for i, cell in enumerate(cells)
            ],
            "metadata": {
                "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}
            },
            "nbformat": 4,
            "nbformat_minor": 5,
        },
        indent=1,
    )


def _define(problem: Problem) -> str:
    """Write the function as the first cell does."""
    top = "# needs: pip install simpleautodiff\nimport numpy as np\nimport simpleautodiff as ad\n"
    if problem.file:
        return top + "\n" + Path(problem.file).read_text(encoding="utf-8").strip()
    parse = "from simpleautodiff.program.formula import parse\n"
    return f"{top}{parse}\nf, names = parse({problem.text!r})"


def _record(problem: Problem) -> str:
    """Write the call that records the function, at its point."""
    lines = [
        f"{name} = {_write_value(value)}"
        for name, value in zip(problem.names, problem.values, strict=True)
    ]
    given = ", ".join(problem.names)
    called = "f"
    if problem.file:
        function = inspect.unwrap(problem.function)
        called, parameters = function.__name__, list(inspect.signature(function).parameters)
        if parameters[: len(problem.names)] != problem.names:
            named = ", ".join(f"{name}={name}" for name in problem.names)
            called = f"lambda {given}: {called}({named})"
    return "\n".join([*lines, f"t = ad.trace({called}, {given})", "t"])


def _write_value(value: Any) -> str:
    return f"np.array({value.tolist()})" if isinstance(value, np.ndarray) else repr(float(value))


_WRITERS = {"program": _program, "page": _page, "latex": _latex, "notebook": _notebook}
