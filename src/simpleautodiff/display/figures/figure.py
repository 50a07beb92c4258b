"""Figures of a program: SVG for pages and slides, TikZ for papers, text for the terminal."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

from simpleautodiff.arrays.scipy.scipy_sparse import is_sparse
from simpleautodiff.core.node import Node
from simpleautodiff.core.order import execution_order
from simpleautodiff.display.figures.annotations import (
    add_derivatives,
    add_variables,
    check_annotations,
)
from simpleautodiff.display.figures.box_drawing import sketch
from simpleautodiff.display.figures.drawing import Drawing, save_drawings
from simpleautodiff.display.figures.edge_list import list_edges
from simpleautodiff.display.figures.layout.graphviz import best_layout
from simpleautodiff.display.figures.layout.layered_layout import Layout
from simpleautodiff.display.figures.picture import Picture
from simpleautodiff.display.figures.picture_kinds import pictures
from simpleautodiff.display.figures.render import stack
from simpleautodiff.display.figures.sparsity_figure import SparsityFigure
from simpleautodiff.display.figures.svg import svg
from simpleautodiff.display.figures.tikz import join_frames, tikz
from simpleautodiff.display.folding import fold as folding
from simpleautodiff.display.folding.fold import Folded, check_program
from simpleautodiff.display.notation.line_breaks import count_columns
from simpleautodiff.errors import ArgumentError
from simpleautodiff.program.program import Program
from simpleautodiff.program.written_numbers import use_digits


class Figure(Drawing):
    """The drawing of a graph; `svg()`, `tikz()` and `text()` return it, `save` writes it to a file.

    A notebook displays it.
    """

    def __init__(self, picture: Picture, layout: Layout | None = None) -> None:
        self.picture = picture
        if layout is not None:
            self.layout = layout

    @cached_property
    def layout(self) -> Layout:
        """The positions of vertices and edges."""
        return best_layout(self.picture)

    @property
    def title(self) -> str:
        """What the figure shows, in a few words."""
        return self.picture.title

    def svg(self) -> str:
        """Return the figure as self-contained SVG."""
        return svg(self.picture, self.layout)

    def tikz(self) -> str:
        """Return the figure as a LaTeX document in the paper's style."""
        return tikz(self.picture, self.layout)

    def text(self, width: int | None = None) -> str:
        """Return the figure as text, for a terminal; as a list of arrows if `width` is too small.

        Examples
        --------
        >>> import simpleautodiff as ad
        >>> print(ad.figure(ad.trace(lambda x, y: ad.sin(x) * y, 0.0, 5.0)).text(width=20))
        x = 0 ─▶ v1
        y = 5 ─▶ v2
        v1 = sin(x) = sin(0) = 0 ─▶ v2
        v2 = v1 × y = 0 × 5 = 0 ─▶ z = f(x, y)
        """
        drawn = sketch(self.picture)
        if width is None or max(map(count_columns, drawn.splitlines())) <= width:
            return drawn
        return list_edges(self.picture)


class Figures(list[Figure]):
    """Several figures, one after the other; a notebook displays them."""

    def __str__(self) -> str:
        return "\n\n".join(f"{figure.title}\n{figure.text()}" for figure in self)

    def save(self, path: str | Path) -> Path:
        r"""Write all figures to one file: pages of a .pdf, frames of a .tex file, others below.

        Examples
        --------
        >>> import tempfile
        >>> import simpleautodiff as ad
        >>> frames = ad.figure(ad.trace(lambda x: ad.sin(x) * x, 2.0), "construction")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     frames.save(f"{folder}/frames.tex").read_text().count(r"\begin{tikzpicture}")
        3
        """
        return save_drawings(self, self.to, path)

    def to(self, format: str) -> str:
        """Write all figures as one text: "svg", "tikz" or "text"."""
        if len(self) == 1:
            return self[0].to(format)
        written = [figure.to(format) for figure in self]
        if format == "tikz":
            return join_frames(written, self[-1].layout)
        return stack(written) if format == "svg" else str(self)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/html": "\n".join(f.svg() for f in self), "text/plain": str(self)}


def figure(
    program: Any,
    *args: Any,
    show: str | None = None,
    wrt: str | None = None,
    output: str = "",
    fold: str | None = "auto",
    names: str = "numbered",
    edges: str = "plain",
    digits: int | None = None,
) -> Any:
    """Draw a program, as the paper draws its example; or how a sparse Jacobian is computed.

    Parameters
    ----------
    program
        What `trace` or `fold` returns, or a node, for the graph that it depends on; or a pattern,
        `sparsity(f)(x)`, which is drawn with its colours, the seeds of the sweeps, and what they
        find; with `show="hessian"` as `sparse_hessian` does, for `sparsity(grad(f))(x)`.
    args, show
        What to show, with its name or without: `"values"`, if nothing is said; `"plain"`: names
        alone; `"tangents"`: values and derivatives with respect to `wrt`; `"adjoints"`: values and
        derivatives of `output`, with dashed edges back; `"both"`: tangents and adjoints;
        `"construction"`: a list of figures, one for each step, the new node in red;
        `"reachable"`: what can be reached from `wrt`; `"order"`: the order of the forward sweep and
        the first path of its search.
    wrt, output
        Names of nodes; the first input and the first output if not given.
    fold
        How a large program is folded (see `simpleautodiff.fold`); None: not at all.
    names
        `"numbered"`: v1, v2, ...; `"both"`: with them your own names of variables.
    edges
        `"plain"`, or `"derivatives"`: on each edge between two steps its local derivative.
    digits
        Decimals of the numbers; three if not given.

    Returns
    -------
    Figure
        Or a list of them, for a construction.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> program = ad.trace(lambda x1, x2: ad.log(x1) + x1 * x2, 2.0, 5.0)
    >>> print(ad.figure(program, "plain"))
              ┌────┐
    ┌────┐ ┌─▶│ v1 ├───┐
    │ x1 ├─┤  └────┘   │  ┌────┐
    └────┘ │           └─▶│ v3 ├───▶ y = f(x1, x2)
           │  ┌────┐ ┌───▶│    │
    ┌────┐ └─▶│ v2 ├─┘    └────┘
    │ x2 ├───▶│    │
    └────┘    └────┘
    >>> ad.figure(program).svg().startswith("<svg")
    True
    """
    show = _choose_show(program, args, show)
    if is_sparse(program):
        return SparsityFigure(program, symmetric=show == "hessian")
    check_annotations(names, edges)
    folded = _fold(program, fold)
    with use_digits(digits):
        found = pictures(folded, show, wrt, output)
        if names == "both":
            found = [add_variables(picture, folded) for picture in found]
        if edges == "derivatives":
            found = [add_derivatives(picture, folded) for picture in found]
    if show != "construction":
        return Figure(found[0])
    whole = best_layout(found[-1])
    return Figures(Figure(picture, whole) for picture in found)


def _choose_show(program: Any, args: tuple[Any, ...], show: str | None) -> str:
    """Return what to show, which is the one argument without a name or has its name."""
    if not args:
        return "values" if show is None else show
    if len(args) > 1 or show is not None:
        check_program(program, "figure")
        raise ArgumentError(
            "figure takes a program and what to show; say the rest by name: wrt='x1'"
        )
    (only,) = args
    return str(only)


def _fold(program: Program | Folded | Node, by: str | None) -> Folded:
    if isinstance(program, Folded):
        return program
    if isinstance(program, Node):
        program = Program(execution_order(program))
    check_program(program, "figure")
    return folding.unfold_all(program) if by is None else folding.fold(program, by)
