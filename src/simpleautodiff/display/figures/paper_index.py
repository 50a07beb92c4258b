"""The page that shows everything `gallery` has written, with links to its files."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

FIGURE_TITLES = {
    "listing-1-wrapping-function": "Listing 1: the wrapping function mul",
    "listing-2-evaluation": "Listing 2: the evaluation of f builds the graph",
    "listing-3-topological-order": "Listing 3: depth-first search finds a topological order",
    "listing-4-forward-mode": "Listing 4: derivatives along that order, in forward mode",
    "table-values": "Table: the values, step by step",
    "table-tangents": "Table: forward mode, derivatives with respect to x1",
    "table-adjoints": "Table: reverse mode, derivatives of y",
    "table-node": "Table: the members of a node",
    "table-node-complete": "Table: the members of a node, complete",
    "figure-graph": "Figure: the computational graph",
    "figure-values": "Figure: the graph with its values",
    "figure-tangents": "Figure: forward mode",
    "figure-adjoints": "Figure: reverse mode",
    "figure-reachable": "Figure: what can be reached from x1",
    "figure-order": "Figure: a topological order, and the first path of its search",
    "figure-construction": "Figure: the construction, one frame for each step",
}
_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>The paper's tables, figures and listings</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 64rem; margin: 2rem auto; }}
:root {{ color-scheme: light dark; }}
body {{ padding: 0 1rem; }}
h1 {{ font-size: 1.4rem; }}
h2 {{ font-size: 1.1rem; margin: 2.5rem 0 0.5rem; }}
nav ul {{ columns: 20rem; padding-left: 1.2rem; }}
pre {{ overflow-x: auto; line-height: 1.25; }}
.picture {{ overflow-x: auto; }}
img {{ max-width: max(100%, 44rem); height: auto; }}
</style>
<h1>The paper's tables, figures and listings</h1>
<p>y = log(x1) + x1 × x2 − sin(x2) at x1 = 2, x2 = 5, as text, as SVG and as LaTeX.</p>
<nav><ul>
{contents}
</ul></nav>
{sections}
</html>
"""


def write_index(folder: Path, files: Sequence[Path]) -> Path:
    """Write `index.html` in the folder of some files, and return it."""
    groups = {stem: [file for file in files if file.stem == stem] for stem in FIGURE_TITLES}
    groups = {stem: some for stem, some in groups.items() if some}
    contents = [f'<li><a href="#{stem}">{escape(FIGURE_TITLES[stem])}</a></li>' for stem in groups]
    sections = [_write_section(stem, some) for stem, some in groups.items()]
    path = folder / "index.html"
    page = _PAGE.format(contents="\n".join(contents), sections="\n".join(sections))
    path.write_text(page, encoding="utf-8")
    return path


def _write_section(stem: str, files: Sequence[Path]) -> str:
    title = escape(FIGURE_TITLES[stem])
    pictures = [file for file in files if file.suffix == ".svg"]
    texts = [file for file in files if file.suffix == ".txt"]
    shown = "".join(
        f'<div class="picture"><img src="{file.name}" alt="{title}"></div>' for file in pictures
    )
    if not shown:
        shown = "".join(f"<pre>{escape(file.read_text('utf-8'))}</pre>" for file in texts)
    links = ", ".join(f'<a href="{file.name}">{file.name}</a>' for file in files)
    return f'<section id="{stem}"><h2>{title}</h2>\n{shown}\n<p>{links}</p></section>'
