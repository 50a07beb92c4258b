"""A graph to be drawn: vertices with their text, and edges; no coordinates yet."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from simpleautodiff.display.notation.rich_text import latex_code, show_minus, text_width, to_latex
from simpleautodiff.program.notation import Term

RADIUS = 24.0  # of a circle, in pixels
FACE, LABEL, CODE = 19.0, 13.0, 12.0  # font sizes
BOLD = ("value", "tangent", "adjoint", "times")  # tones in bold
LEADING = 17.0  # from one line of a label to the next


@dataclass(frozen=True, slots=True)
class TextLine:
    """One line of text: a formula, or code; its tone selects a style.

    A formula that is made of terms has the LaTeX that tables have. `hint` is what it abbreviates.
    """

    text: str
    tone: str = ""
    code: bool = False
    terms: tuple[Term | str, ...] = ()
    hint: str = ""

    @classmethod
    def of(cls, *terms: Term | str, tone: str = "") -> TextLine:
        """Return a line of terms, and of text between them."""
        text = "".join(term if isinstance(term, str) else term.text for term in terms)
        return cls(text, tone, terms=terms)

    @property
    def latex(self) -> str:
        """The line in LaTeX."""
        if self.code:
            return latex_code(self.text)
        parts = self.terms or (self.text,)
        told = (to_latex(part) if isinstance(part, str) else part.latex for part in parts)
        return f"${' '.join(told)}$"

    @property
    def shown(self) -> str:
        """The text as a terminal shows it: formulas with minus signs, code as it is."""
        return self.text if self.code else show_minus(self.text)

    def width(self, size: float) -> float:
        """Return the width of the line."""
        return text_width(self.text, size, self.code) * (1.12 if self.tone in BOLD else 1.0)


@dataclass(frozen=True)
class Vertex:
    """The drawing of one node: its face in a circle or box, and lines below it.

    Tones: "input", "new", "reached", "faded". A `box` has its lines inside; `none` is text alone,
    and so is the `label` in the middle of an edge.
    """

    name: str
    face: TextLine
    below: tuple[TextLine, ...] = ()
    shape: str = "circle"
    tone: str = ""
    badge: str = ""
    hint: str = ""
    size: tuple[float, float] | None = None  # half the width and the height, if given

    @cached_property
    def body(self) -> tuple[float, float]:
        """Half the width and half the height of the circle or box."""
        if self.size is not None:
            return self.size
        face = self.face.width(CODE if self.face.code else FACE)
        if self.shape == "box":
            wide = max([self.face.width(CODE), *(line.width(CODE) for line in self.below)])
            return wide / 2 + 14, (1 + len(self.below)) * LEADING / 2 + 9
        if self.shape == "none":
            return face / 2 + 7, FACE / 2
        if self.shape == "label":
            return self.face.width(LABEL) / 2 + 5, LABEL / 2
        return max(RADIUS, face / 2 + 11), RADIUS

    @cached_property
    def extent(self) -> tuple[float, float, float]:
        """Half the width of everything that is drawn; its extent upwards and downwards."""
        wide, high = self.body
        if self.shape == "box":
            return wide, high + 8 * bool(self.badge), high
        label = max([0.0, *(line.width(LABEL) / 2 for line in self.below)])
        down = high + len(self.below) * LEADING + 5 * bool(self.below)
        return max(wide, label), high + 8 * bool(self.badge), down


@dataclass(frozen=True, slots=True)
class Edge:
    """An arrow. Tones: "" (plain), "faded", "path", "reverse" (dashed, drawn from head to tail).

    A `bare` one has no head: it ends at a label, behind which it continues.
    """

    tail: str
    head: str
    tone: str = ""
    bare: bool = False

    @property
    def back(self) -> bool:
        """Whether the arrow points from a node to its parent."""
        return self.tone == "reverse"


@dataclass(frozen=True)
class Picture:
    """Everything that a figure shows.

    `legend` explains tones of edges; an entry "text" is a formula, an entry "words" a sentence.
    Vertices that are `hidden` keep their positions and are not drawn.
    """

    vertices: tuple[Vertex, ...]
    edges: tuple[Edge, ...]
    title: str
    description: str = ""
    legend: tuple[tuple[str, str], ...] = ()
    hidden: frozenset[str] = field(default_factory=frozenset)

    @property
    def visible(self) -> list[Vertex]:
        """The vertices that are drawn."""
        return [vertex for vertex in self.vertices if vertex.name not in self.hidden]
