"""The files of the page: scripts, style, templates; and the primitives that its scripts compute."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources

SCRIPTS = (
    *("rows.js", "engine.js", "layout.js", "graph.js", "arrays.js", "parts.js", "heading.js"),
    *(
        "sliders.js",
        "formulas.js",
        "table.js",
        "nan.js",
        "stops.js",
        "kernel.js",
        "travel.js",
        "stage.js",
        "links.js",
        "print.js",
    ),
    *("find.js", "predict.js", "address.js", "explorer.js"),
)


@cache
def read_asset(name: str) -> str:
    """Return the text of a file that belongs to the page."""
    folder = resources.files("simpleautodiff.display.explorer") / "assets"
    return (folder / name).read_text(encoding="utf-8")


@cache
def read_scripts() -> str:
    """Return the scripts of the page as one."""
    return "\n".join(read_asset(name) for name in SCRIPTS)


@cache
def find_scripted() -> frozenset[str]:
    """Return the names of the primitives that the page computes by itself."""
    table = read_asset("rows.js").partition("const FUNCTIONS")[2].partition("};")[0]
    return frozenset(re.findall(r"^  (\w+):", table, re.MULTILINE))


def fill_template(frame: str, parts: dict[str, str]) -> str:
    """Fill each named slot of a template."""
    text = read_asset(frame)
    for name, part in parts.items():
        before, _, after = text.partition(f"{{{name}}}")
        text = before + part + after
    return text
