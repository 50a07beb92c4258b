"""The explorer in a notebook cell, by anywidget."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simpleautodiff.display.explorer.files import read_asset, read_scripts
from simpleautodiff.display.explorer.page import describe
from simpleautodiff.display.explorer.page_data import make_document
from simpleautodiff.program.program import Program
from simpleautodiff.values.functions import optional

RENDER = """
function render({ model, el }) {
  const place = document.createElement("div");
  el.append(place);
  const show = () => explorer(place, model.get("program"));
  requestAnimationFrame(show);
}
export default { render };
"""


def widget(f: Callable[..., Any] | str | Program, *args: Any, title: str = "") -> Any:
    """Return the explorer of a function, a formula or a program as a widget for a notebook.

    It needs anywidget: ``pip install 'simpleautodiff[notebook]'``.

    Parameters
    ----------
    f, args
        As for `explore`.
    title
        The heading.

    Examples
    --------
    >>> import pytest
    >>> _ = pytest.importorskip("anywidget")
    >>> import simpleautodiff as ad
    >>> w = ad.widget("x*sin(x)", 2.0)
    >>> w.program["title"], len(w.program["nodes"])
    ('x*sin(x)', 3)
    """
    base: Any = optional("anywidget", "widget").AnyWidget
    import traitlets

    program, own_title, code, first = describe(f, args)

    class Explorer(base):  # type: ignore[misc]
        _esm = read_scripts() + RENDER
        _css = read_asset("explorer.css")
        program = traitlets.Dict().tag(sync=True)

    return Explorer(program=make_document(program, title or own_title, code, first))
