"""The reference: the public names of a part of the library, from their docstrings."""

from __future__ import annotations

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

import simpleautodiff as ad


class Public(SphinxDirective):
    """The public names whose modules begin with one of the given words."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the documentation of each name."""
        lines = StringList()
        for name in names_of(self.content):
            lines.append(f".. auto{_kind(name)}:: simpleautodiff.{name}", "reference")
            lines.append("", "reference")
        part = nodes.container()
        self.state.nested_parse(lines, self.content_offset, part)
        return list(part.children)


def names_of(parts: list[str]) -> list[str]:
    """Return the public names of some parts of the library, as `transforms.grad`, sorted."""
    wanted = tuple(f"simpleautodiff.{part}" for part in parts)
    return sorted(name for name, module in ad._MODULE_OF.items() if module.startswith(wanted))


def _kind(name: str) -> str:
    value = getattr(ad, name)
    if isinstance(value, type):
        return "exception" if issubclass(value, BaseException) else "class"
    return "function" if callable(value) else "data"
