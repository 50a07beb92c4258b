"""The explorer in a notebook cell, by anywidget."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from simpleautodiff.display.explorer.files import read_asset, read_scripts
from simpleautodiff.display.explorer.page import describe
from simpleautodiff.display.explorer.page_data import make_document
from simpleautodiff.program.program import Program
from simpleautodiff.values.functions import optional

RENDER = """
function render({ model, el }) {
  const place = document.createElement("div");
  el.append(place);
  const ask = (inputs) => {
    const { inputs: order } = model.get("program");
    const moved = Object.entries(inputs).map(([i, value]) => [order.indexOf(Number(i)), value]);
    model.set("moved", Object.fromEntries(moved));
    model.save_changes();
  };
  let shown = null;
  const options = model.get("able") ? { ask } : {};
  const show = () => (shown = explorer(place, model.get("program"), options));
  model.on("change:program", () => shown?.update(structuredClone(model.get("program"))) || show());
  requestAnimationFrame(show);
}
export default { render };
"""


def widget(f: Callable[..., Any] | str | Program, *args: Any, title: str = "") -> Any:
    """Return the explorer of a function, a formula or a program as a widget for a notebook.

    Where the page cannot compute the numbers at another point by itself, such as those of arrays,
    its sliders ask Python: an input, or an element of an array, is moved there.

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
    able = not isinstance(f, Program) and len(program.inputs) == len(args)

    class Explorer(base):  # type: ignore[misc]
        _esm = read_scripts() + RENDER
        _css = read_asset("explorer.css")
        program = traitlets.Dict().tag(sync=True)
        moved = traitlets.Dict().tag(sync=True)
        able = traitlets.Bool().tag(sync=True)

        @traitlets.observe("moved")
        def _move(self, change: Any) -> None:
            self.program = _describe_moved(f, args, change["new"], title)

    return Explorer(program=make_document(program, title or own_title, code, first), able=able)


def _describe_moved(
    f: Callable[..., Any] | str | Program,
    args: tuple[Any, ...],
    moved: dict[str, Any],
    title: str,
) -> Any:
    """Return the document of a function at another point: some arguments, or their elements."""
    values = [_like(arg, moved[str(i)]) if str(i) in moved else arg for i, arg in enumerate(args)]
    program, own_title, code, first = describe(f, tuple(values))
    return make_document(program, title or own_title, code, first)


def _like(arg: Any, moved: Any) -> Any:
    """Return an argument with another number, or with other elements at some flat indices."""
    if not isinstance(moved, dict):
        return float(moved)
    array = np.array(arg, float)
    for at, number in moved.items():
        array.flat[int(at)] = number
    return array
