"""Slides: the marked parts of the chapters, one deck for a lecture of two hours, one per week."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

HERE = Path(__file__).parent
PLAN = HERE / "plan.toml"


class slide(nodes.General, nodes.Element):
    """A part of a chapter that is also a slide."""


class slide_title(nodes.General, nodes.Element):
    """The title of a slide, which the chapter does without."""


def write_decks(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Give the pages of the decks."""
    parts = {name: (HERE / name).read_text("utf-8") for name in ("deck.css", "deck.js")}
    for name, deck in tomllib.loads(PLAN.read_text("utf-8")).items():
        slides = [part for chapter in deck["chapters"] for part in _collect(app, chapter)]
        shown = {"heading": deck["title"], "chapter_slides": slides}
        yield (
            f"slides/{name}",
            {**shown, "style": parts["deck.css"], "script": parts["deck.js"]},
            ("deck.html"),
        )


def _collect(app: Sphinx, chapter: str) -> Iterator[dict[str, str]]:
    """Give the slides of a chapter: the title of the chapter, then the marked parts."""
    tree = app.env.get_and_resolve_doctree(chapter, app.builder)
    title = next(tree.findall(nodes.title)).astext()
    yield {"title": title, "body": "", "chapter": chapter}
    for part in tree.findall(slide):
        heading, *body = part.children
        title, rendered = (_render(app, children) for children in (heading.children, body))
        yield {"title": title, "body": rendered, "chapter": chapter}


def _render(app: Sphinx, children: list[nodes.Node]) -> str:
    """Write nodes of a chapter as HTML."""
    copies = [child.deepcopy() for child in children]
    return "".join(app.builder.render_partial(child)["fragment"] for child in copies)
