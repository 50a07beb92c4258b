"""The Sphinx extension of the book: cells that run, slides, formulas as MathML."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import Directive
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from cells import Page, trim_blocks
from decks import slide, slide_title, write_decks
from reference import Public
from render import render

LOG = logging.getLogger(__name__)
SHOWN = "shown"  # the folder of the pages and sheets that cells have written
OUTSIDE = {  # what stands outside of docs, and its page of the book
    "../benchmarks/README.md": "benchmarks.md",
    "../CHANGELOG.md": "changes.md",
}
PRIME = r'<mo lspace="0" rspace="0">\2</mo>'
SPACING = (  # of MathML, as TeX would set it: what stands there, and what is better
    (r"<mo>(&#x02202;|&#x0221E;)</mo>", r"<mi>\1</mi>"),  # ∂ and ∞ are no operators
    (r"<mo>&#x0002F;</mo>", r'<mo lspace="0" rspace="0">/</mo>'),
    (r"(&#x00028;</mo>)<mo>(&#x02212;)</mo>", r'\1<mo form="prefix">\2</mo>'),
    # a prime is raised by its font, and would be too high and too small as a superscript
    (r"<msup>((?:(?!<msup>).)*?)<mi>(&#x0203[234];)</mi></msup>", rf"<mrow>\1{PRIME}</mrow>"),
    (
        r"<msubsup>((?:(?!<msubsup>).)*?)<mi>(&#x0203[234];)</mi></msubsup>",
        rf"<mrow><msub>\1</msub>{PRIME}</mrow>",
    ),
    (r"(<mi>[a-z]{3,}</mi>)(?!<mo)", r'\1<mspace width="0.17em"/>'),
)


def run_page(app: Sphinx, docname: str, source: list[str]) -> None:
    """Run the cells of a page before it is read; what it shows waits for the directives."""
    for outside, inside in OUTSIDE.items():
        source[0] = source[0].replace(f"]({outside}", f"]({inside}")
    page = Page(Path(app.env.doc2path(docname)))
    folder, prefix = Path(app.outdir) / SHOWN, docname.replace("/", "-")
    root = "../" * docname.count("/")
    shown = [
        render(value, folder, f"{prefix}-{number}").replace("{root}", root)
        for number, value in enumerate(page.run(source[0]))
    ]
    app.env.temp_data[SHOWN] = iter(shown)
    source[0] = trim_blocks(source[0])
    for failure in page.failures:
        LOG.warning("an example fails:\n%s", failure, location=docname)


class Show(SphinxDirective):
    """A block of code and the value of its last line; of a page, at a phase of its stepper."""

    has_content = True
    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the code, and what it has shown."""
        text = "\n".join(self.content)
        code = nodes.literal_block(text, text, language="python")
        place = f"#phase={self.arguments[0]}" if self.arguments else ""
        shown = next(self.env.temp_data[SHOWN]).replace("{place}", place)
        return [code, nodes.raw("", shown, format="html")]


class Slide(Directive):
    """A part of a chapter that is also a slide."""

    has_content = True
    required_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar[dict[str, Any]] = {}

    def run(self) -> list[nodes.Node]:
        """Return the part as it is, with the title of the slide."""
        written, _ = self.state.inline_text(self.arguments[0], self.lineno)
        part = slide("", slide_title("", *written))
        self.state.nested_parse(self.content, self.content_offset, part)
        return [part]


def _open(self: Any, node: nodes.Element) -> None:
    """Write a part of a chapter as if it were no slide."""


def _leave_out(self: Any, node: nodes.Element) -> None:
    """Leave the title of a slide out of the chapter."""
    raise nodes.SkipNode


def _write_math(self: Any, node: nodes.Element) -> None:
    self.body.append(_convert(node, "inline"))
    raise nodes.SkipNode


def _write_equation(self: Any, node: nodes.Element) -> None:
    self.body.append(f'<div class="equation">{_convert(node, "block")}</div>\n')
    raise nodes.SkipNode


def _convert(node: nodes.Element, display: str) -> str:
    """Write a formula as MathML, with the spaces that TeX would set."""
    written = convert(node.astext(), display=display)
    for pattern, better in SPACING:
        written = re.sub(pattern, better, written)
    return written


def write_plainly(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Keep bars and stars of a docstring from being read as markup: |x|, f(x, *args).

    The lines of a package that say what its modules hold become a list.
    """
    if what == "module":
        lines[:] = [re.sub(r"^(\w[\w, ]*?) {2,}(?=\S)", r"- ``\1``: ", line) for line in lines]
    for number, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            lines[number] = re.sub(
                r"\||(?<=[ (])\*+(?=\w)(?!\w+\*)",
                lambda sign: "".join("\\" + c for c in sign[0]),
                line,
            )


def level_captions(app: Sphinx, page: str, template: str, context: Any, tree: Any) -> None:
    """Give the captions of the contents the level that a reader of screens asks for."""
    for part in ("body", "furo_navigation_tree"):
        if part in context:
            context[part] = context[part].replace(
                'class="caption" role="heading"', 'class="caption" role="heading" aria-level="2"'
            )


def setup(app: Sphinx) -> dict[str, Any]:
    """Add all of it to Sphinx."""
    app.add_directive("show", Show)
    app.add_directive("slide", Slide)
    app.add_directive("public", Public)
    app.add_node(slide, html=(_open, _open))
    app.add_node(slide_title, html=(_leave_out, _open))
    app.add_html_math_renderer("mathml", (_write_math, None), (_write_equation, None))
    app.connect("source-read", run_page)
    app.connect("autodoc-process-docstring", write_plainly)
    app.connect("html-collect-pages", write_decks)
    app.connect("html-page-context", level_captions, priority=900)  # after those of the theme
    return {"parallel_read_safe": False, "parallel_write_safe": True}
