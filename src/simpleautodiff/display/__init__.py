"""What is shown of a program: tables, sentences, formulas, figures, steps; all from one trace.

Figures, steps and pages are made from traces, and a trace has methods that show them. So these
methods are added to the classes here, where both are known.
"""

from __future__ import annotations

from typing import Any

from simpleautodiff.display.code.source import Source, source
from simpleautodiff.display.explorer.page import explore
from simpleautodiff.display.figures.figure import figure
from simpleautodiff.display.folding.fold import Folded
from simpleautodiff.display.notation.explain import explain
from simpleautodiff.display.stepper.stepper import Stepper
from simpleautodiff.display.stepper.terminal import interact
from simpleautodiff.display.trace import Trace


def _source(self: Trace, simplify: bool = False) -> Source:
    """Return the function as straight-line Python; see `simpleautodiff.source`."""
    return source(self.f, *self.args, simplify=simplify)


def _figure(self: Trace, **options: Any) -> Any:
    """Draw the graph; see `simpleautodiff.figure`."""
    return figure(self, **options)


def _step(self: Trace, **options: Any) -> Stepper:
    """Step through a sweep, one node at a time; see `simpleautodiff.step`."""
    return Stepper(self, **options)


def _explore(self: Trace, path: str, **options: Any) -> Any:
    """Write the explorer page of this trace to a file; see `simpleautodiff.explore`."""
    return explore(self, path=path, **options)


def _draw(self: Folded, **_: Any) -> dict[str, str]:
    """Show the boxes in a notebook."""
    return {"image/svg+xml": figure(self).svg(), "text/plain": str(self)}


_METHODS: list[tuple[type, dict[str, Any]]] = [
    (
        Trace,
        {
            "explain": explain,
            "source": _source,
            "figure": _figure,
            "step": _step,
            "explore": _explore,
        },
    ),
    (Folded, {"_repr_mimebundle_": _draw}),
    (Stepper, {"interact": interact}),
]
for _kind, _methods in _METHODS:
    for _name, _method in _methods.items():
        setattr(_kind, _name, _method)
