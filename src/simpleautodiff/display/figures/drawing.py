"""What every figure can do: be written as SVG, TikZ or text, shown in a notebook, and saved."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from simpleautodiff.display.figures.render import render
from simpleautodiff.errors import ArgumentError

FIGURE_FORMATS = ("svg", "tikz", "text")
_ENDINGS = {".svg": "svg", ".tex": "tikz", ".txt": "text"}
_RENDERED = (".pdf", ".png")


class Drawing(ABC):
    """One figure; `svg()`, `tikz()` and `text()` return it, `save` writes it to a file."""

    @property
    @abstractmethod
    def title(self) -> str:
        """What the figure shows, in a few words."""

    @abstractmethod
    def svg(self) -> str:
        """Return the figure as self-contained SVG."""

    @abstractmethod
    def tikz(self) -> str:
        """Return the figure as a LaTeX document."""

    @abstractmethod
    def text(self, width: int | None = None) -> str:
        """Return the figure as text, for a terminal."""

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.title!r}: print it, or save it as .svg, .png, .tex>"

    def to(self, format: str) -> str:
        """Write the figure in a format: "svg", "tikz" or "text"."""
        if format not in FIGURE_FORMATS:
            raise ArgumentError(
                f"a figure is written as {', '.join(FIGURE_FORMATS)}; got {format!r}"
            )
        written: str = getattr(self, format)()
        return written

    def save(self, path: str | Path) -> Path:
        """Write the figure to a file in the format of its extension: .svg, .tex, .txt, .pdf, .png.

        The last two are drawn by librsvg's `rsvg-convert`, or by a Chromium browser.
        """
        return save_drawings([self], self.to, path)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"image/svg+xml": self.svg(), "text/plain": self.text()}


def save_drawings(
    drawings: Sequence[Drawing], write: Callable[[str], str], path: str | Path
) -> Path:
    """Write drawings to one file; `write` returns them all in a format of text."""
    path = Path(path)
    ending = path.suffix.lower()
    if ending in _RENDERED:
        render([drawing.svg() for drawing in drawings], path)
        return path
    if ending not in _ENDINGS:
        known = ", ".join((*_ENDINGS, *_RENDERED))
        raise ArgumentError(f"the file's ending says how to draw: {known}; got {path.name!r}")
    path.write_text(write(_ENDINGS[ending]), encoding="utf-8")
    return path
