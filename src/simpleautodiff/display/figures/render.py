"""Figures as PNG and PDF: by librsvg, or by the Chromium browser that is there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from simpleautodiff.errors import MissingExtraError

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "msedge")
SCALE = 2  # pixels of a PNG for each pixel of the figure
DRAWING_SECONDS = 120  # seconds for a drawing
_SIZE = re.compile(r'<svg[^>]*? width="([\d.]+)"[^>]*? height="([\d.]+)"')
_PAGE = """<!doctype html>
<meta charset="utf-8">
<style>
@page {{ size: {width:.0f}px {height:.0f}px; margin: 0; }}
html, body {{ margin: 0; background: white; color-scheme: only light; }}
svg {{ display: block; break-after: page; }}
svg:last-child {{ break-after: auto; }}
</style>
{body}"""


def render(drawings: Sequence[str], path: Path) -> None:
    """Write drawings in SVG as PNG, one below the other, or as PDF, one on each page."""
    if path.suffix.lower() == ".png" and len(drawings) > 1:
        drawings = [stack(drawings)]
    converter = shutil.which("rsvg-convert")
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if converter is None and browser is None:
        raise MissingExtraError(
            f"{path.name} is drawn by rsvg-convert (of librsvg: apt install librsvg2-bin, brew "
            "install librsvg) or by Chromium, and neither is here. An .svg or a .tex file needs "
            "nothing, and pdflatex makes a PDF of the latter"
        )
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / f"made{path.suffix.lower()}"
        if converter is not None:
            command = _convert(converter, drawings, made)
        else:
            command = _print(str(browser), drawings, made)
        done = subprocess.run(command, capture_output=True, timeout=DRAWING_SECONDS)
        if not made.exists():
            reason = done.stderr.decode(errors="replace")[-300:]
            raise MissingExtraError(f"{command[0]} did not draw {path.name}: {reason}")
        shutil.copyfile(made, path)


def stack(drawings: Sequence[str]) -> str:
    """Put drawings below each other, in one SVG.

    Examples
    --------
    >>> stack(['<svg width="2" height="1"></svg>', '<svg width="3" height="1"></svg>'])[:48]
    '<svg xmlns="http://www.w3.org/2000/svg" width="3'
    """
    width, height, parts = 0.0, 0.0, []
    for drawing in drawings:
        wide, high = read_size(drawing)
        parts.append(drawing.replace("<svg", f'<svg y="{height:g}"', 1))
        width, height = max(width, wide), height + high
    size = f'width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n{"".join(parts)}</svg>\n'


def read_size(drawing: str) -> tuple[float, float]:
    """Return the width and the height of an SVG."""
    found = _SIZE.search(drawing)
    assert found is not None
    return float(found[1]), float(found[2])


def _convert(converter: str, drawings: Sequence[str], made: Path) -> list[str]:
    """Return the command that draws by librsvg."""
    files = []
    for number, drawing in enumerate(drawings):
        files.append(made.with_name(f"{number}.svg"))
        files[-1].write_text(drawing, encoding="utf-8")
    ways = ["--zoom", str(SCALE)] if made.suffix == ".png" else ["--format", "pdf"]
    return [converter, *ways, "--output", str(made), *map(str, files)]


def _print(browser: str, drawings: Sequence[str], made: Path) -> list[str]:
    """Return the command that lets a browser take a picture, or print pages."""
    sizes = [read_size(drawing) for drawing in drawings]
    width, height = (max(size[i] for size in sizes) for i in (0, 1))
    page = made.with_name("page.html")
    body = "\n".join(drawings)
    page.write_text(_PAGE.format(width=width, height=height, body=body), encoding="utf-8")
    ways = [f"--print-to-pdf={made}", "--no-pdf-header-footer"]
    if made.suffix == ".png":
        size = f"--window-size={width:.0f},{height:.0f}"
        ways = [f"--screenshot={made}", size, f"--force-device-scale-factor={SCALE}"]
    options = ["--headless", "--disable-gpu", "--hide-scrollbars"]
    options.append(f"--user-data-dir={made.with_name('user')}")
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        options.append("--no-sandbox")  # which the superuser cannot have
    return [browser, *options, *ways, page.as_uri()]
