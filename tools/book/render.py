"""How a value is put on a page of the book: figures, tables, pages of their own, exercises."""

from __future__ import annotations

import html
import re
import shutil
from pathlib import Path
from typing import Any

from simpleautodiff.learn.exercises import Exercise

NIGHT = re.compile(r"@media ?\(prefers-color-scheme: ?dark\) ?\{((?:[^{}]*\{[^{}]*\})*)\s*\}")
EXAMPLE = re.compile(r"(?:&lt;|<)doctest [^&<>]*(?:&gt;|>):(\d+)")
SHEETS = (  # what is written for an exercise: its name, its format, whether it has the answers
    ("Fill in", "html", False),
    ("Answers", "html", True),
    ("LaTeX", "latex", False),
    ("LaTeX, answers", "latex", True),
)


def render(value: Any, folder: Path, prefix: str) -> str:
    """Return a value as HTML; files that belong to it are written into a folder.

    In links, `{root}` stands for the way to the top of the book, `{place}` for a place in a page.
    """
    if isinstance(value, Path):
        return _frame(value, folder, prefix)
    if isinstance(value, Exercise):
        return _sheets(value, folder, prefix)
    shown = value._repr_mimebundle_() if hasattr(value, "_repr_mimebundle_") else {}
    for kind in ("text/html", "image/svg+xml"):
        if kind in shown:
            frames = " frames" if shown[kind].count("<svg") > 1 else ""
            return f'<div class="shown{frames}">{name_lines(follow_theme(shown[kind]))}</div>'
    return f'<div class="shown"><pre>{name_lines(html.escape(str(value)))}</pre></div>'


def name_lines(text: str) -> str:
    """Write lines of examples without the file that they are not in.

    Examples
    --------
    >>> name_lines("&lt;doctest values-3[1]&gt;:2: s = x + 1")
    'line 2: s = x + 1'
    """
    return EXAMPLE.sub(r"line \1", text)


def follow_theme(text: str) -> str:
    """Let a figure be dark where the book is, whether by choice or as the screen is.

    Examples
    --------
    >>> print(follow_theme("a{b:c}@media (prefers-color-scheme:dark){a{b:d}}"))
    a{b:c}body[data-theme=dark]{a{b:d}}
    @media (prefers-color-scheme:dark){body[data-theme=auto]{a{b:d}}}
    """
    asked = r"body[data-theme=dark]{\1}"
    as_the_screen = r"@media (prefers-color-scheme:dark){body[data-theme=auto]{\1}}"
    return NIGHT.sub(f"{asked}\n{as_the_screen}", text)


def _frame(page: Path, folder: Path, prefix: str) -> str:
    """Show a page that a cell has written inside of this one, and link to it."""
    name = f"{prefix}-{page.name}"
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(page, folder / name)
    address = f"{{root}}{folder.name}/{name}{{place}}"
    return (
        f'<div class="framed"><iframe src="{address}" title="{html.escape(page.stem)}" '
        f'loading="lazy"></iframe><a href="{address}">Open it alone</a></div>'
    )


def _sheets(exercise: Exercise, folder: Path, prefix: str) -> str:
    """Show an exercise, with links to its sheets."""
    folder.mkdir(parents=True, exist_ok=True)
    links = []
    for title, format, answers in SHEETS:
        ending = ("-answers" if answers else "") + (".tex" if format == "latex" else ".html")
        (folder / (prefix + ending)).write_text(exercise.to(format, answers=answers), "utf-8")
        links.append(f'<a href="{{root}}{folder.name}/{prefix}{ending}">{title}</a>')
    return f'<div class="shown"><pre>{html.escape(str(exercise))}</pre>{" · ".join(links)}</div>'
