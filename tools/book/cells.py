"""The cells of a page: `>>>` examples, whose output is compared, and blocks whose value is shown.

A page is Markdown. In a block of `python`, lines that begin with `>>>` are examples, run and
compared as Python's doctest does it. The value of the last line of a block `{show}` is put on the
page: a figure, a table, a page of its own. All cells of a page share their names.
"""

from __future__ import annotations

import ast
import contextlib
import doctest
import importlib.util
import io
import linecache
import os
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FENCE = re.compile(r"^( *)(`{3,})([^\n`]*)\n(.*?)^\1\2 *$", re.S | re.M)
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
PEERS = ("casadi", "torch")  # which the book compares with, and tests do without


@dataclass(frozen=True)
class Cell:
    """A block of a page that is run: whether its value is shown, its text, its first line."""

    shown: bool
    text: str
    line: int

    @property
    def runs(self) -> bool:
        """Whether the libraries that it imports are installed; of the peers, some may not be."""
        imported = re.findall(r"^(?:>>> )?(?:import|from) (\w+)", self.text, re.M)
        return all(importlib.util.find_spec(name) for name in set(imported) & set(PEERS))


def find_cells(text: str) -> Iterator[Cell]:
    """Give the cells of a page in their order."""
    for block in FENCE.finditer(text):
        indent, _, info, body = block.groups()
        shown = info.strip().startswith("{show}")
        if shown or ">>> " in body:
            lines = [line.removeprefix(indent) for line in body.splitlines()]
            first = text.count("\n", 0, block.start(4))
            yield Cell(shown, "\n".join(lines) + "\n", first)


def find_pages(docs: Path) -> list[Path]:
    """Return the pages below a folder, without what was built there."""
    pages = sorted(docs.rglob("*.md"))
    return [page for page in pages if "_build" not in page.relative_to(docs).parts]


def trim_blocks(text: str) -> str:
    """Return a page whose blocks do not end with empty lines, which doctest needs in some."""
    return FENCE.sub(lambda b: f"{b[1]}{b[2]}{b[3]}\n{b[4].rstrip()}\n{b[1]}{b[2]}", text)


class Page:
    """A page that is run: the failures of its examples, and the values to be shown."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.failures: list[str] = []

    def run(self, text: str | None = None) -> Iterator[Any]:
        """Run the cells one after the other, and give the values that are shown."""
        text = self.path.read_text(encoding="utf-8") if text is None else text
        with tempfile.TemporaryDirectory() as folder, _inside(folder):
            for number, cell in enumerate(find_cells(text)):
                name = f"{self.path.stem}-{number}"
                if not cell.runs:
                    if cell.shown:
                        yield None
                elif cell.shown:
                    yield self._show(cell, f"<{name}>")
                else:
                    self._compare(cell, name)

    def _compare(self, cell: Cell, name: str) -> None:
        """Run examples, and note those that print something else."""
        parser = doctest.DocTestParser()
        test = parser.get_doctest(cell.text, self.names, name, str(self.path), cell.line)
        runner, told = doctest.DocTestRunner(optionflags=OPTIONS), io.StringIO()
        for number, example in enumerate(test.examples):  # functions can be read on after the run
            _remember(f"<doctest {name}[{number}]>", example.source)
        if runner.run(test, out=told.write, clear_globs=False).failed:
            self.failures.append(told.getvalue())
        self.names.update(test.globs)

    def _show(self, cell: Cell, file: str) -> Any:
        """Run a block, and return the value of its last line."""
        _remember(file, cell.text)
        *statements, last = ast.parse(cell.text).body
        try:
            exec(compile(ast.Module(statements, []), file, "exec"), self.names)
            if isinstance(last, ast.Expr):
                return eval(compile(ast.Expression(last.value), file, "eval"), self.names)
            self.failures.append(f"{self.path}, line {cell.line}: the block has nothing to show")
        except Exception as error:
            self.failures.append(f"{self.path}, line {cell.line}: {error!r}")
        return None


def _remember(file: str, text: str) -> None:
    """Let Python find the source of what is defined in a cell."""
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file


@contextlib.contextmanager
def _inside(folder: str) -> Iterator[None]:
    """Work in a folder for a while: what a page writes is written there."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
