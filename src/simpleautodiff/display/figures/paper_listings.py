"""The paper's four listings, each beside the graph that it makes or walks: text, SVG and LaTeX."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from simpleautodiff.display.figures.figure import Figure, figure
from simpleautodiff.display.figures.render import read_size
from simpleautodiff.display.notation.line_breaks import count_columns
from simpleautodiff.display.notation.rich_text import latex_code
from simpleautodiff.program.program import Program

WRAPPING = """\
def mul(node1, node2):
    value = node1.value * node2.value
    parent_nodes = [node1, node2]
    newNode = Node(value, parent_nodes, "mul")
    newNode.grad_wrt_parents = [node2.value, node1.value]
    node1.child_nodes.append(newNode)
    node2.child_nodes.append(newNode)
    return newNode"""
EVALUATING = """\
x1 = Node(2)
x2 = Node(5)
y = sub(add(log(x1), mul(x1, x2)), sin(x2))"""
ORDERING = """\
def topological_order(rootNode):
    def add_children(node):
        if node not in visited:
            visited.add(node)
            for child in node.child_nodes:
                add_children(child)
            ordering.append(node)
    ordering, visited = [], set()
    add_children(rootNode)
    return list(reversed(ordering))"""
SWEEPING = """\
def forward(rootNode):
    rootNode.partial_derivative = 1
    ordering = topological_order(rootNode)
    for node in ordering[1:]:
        partial_derivative = 0
        for i in range(len(node.parent_nodes)):
            dnode_dparent = node.grad_wrt_parents[i]
            dparent_droot = node.parent_nodes[i].partial_derivative
            partial_derivative += dnode_dparent * dparent_droot
        node.partial_derivative = partial_derivative"""
_LINE, _LETTER, _SIZE = 19.0, 7.9, 13.0  # of code: from line to line, a letter's width, its height
_GAP = 28.0
_DOCUMENT = r"""\documentclass[border=6pt]{standalone}
%s
\begin{document}
\begin{tabular}{@{}l@{\qquad}l@{}}
\raisebox{-0.5\height}{\begin{tabular}{@{}l@{}}
%s
\end{tabular}} & \raisebox{-0.5\height}{%%
%s}
\end{tabular}
\end{document}
"""


@dataclass(frozen=True)
class Listing:
    """A listing and the figure beside it."""

    name: str
    code: str
    figure: Figure

    def text(self) -> str:
        """Write the code, and the figure at its right."""
        code, drawn = self.code.splitlines(), self.figure.text().splitlines()
        width = max(map(count_columns, code))
        rows = max(len(code), len(drawn))
        code += [""] * (rows - len(code))
        drawn += [""] * (rows - len(drawn))
        pairs = zip(code, drawn, strict=True)
        return "\n".join(f"{line:{width}}   {right}".rstrip() for line, right in pairs) + "\n"

    def svg(self) -> str:
        """Draw the code, and the figure at its right."""
        code = self.code.splitlines()
        wide, high = max(map(len, code)) * _LETTER + 2 * _GAP, len(code) * _LINE
        drawing = self.figure.svg()
        width, height = read_size(drawing)
        whole = max(high + _GAP, height)
        top = (whole - high) / 2 + _LINE - 5
        font = f"font-family:'DejaVu Sans Mono',Menlo,Consolas,monospace;font-size:{_SIZE:g}px"
        lines = [
            f'<text x="{_GAP:g}" y="{top + i * _LINE:g}" class="ad-text" xml:space="preserve" '
            f'style="{font};text-anchor:start">{escape(line)}</text>'
            for i, line in enumerate(code)
        ]
        inner = drawing.replace("<svg", f'<svg x="{wide:g}" y="{(whole - height) / 2:g}"', 1)
        size = f'width="{wide + width:g}" height="{whole:g}"'
        view = f'viewBox="0 0 {wide + width:g} {whole:g}"'
        paper = f'<rect class="ad-paper" width="{wide + width:g}" height="{whole:g}"/>'
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="ad-figure" {size} {view}>\n{paper}\n'
            f"{inner}\n" + "\n".join(lines) + "\n</svg>\n"
        )

    def tikz(self) -> str:
        """Write a LaTeX document of the code, and the figure at its right."""
        head, _, body = self.figure.tikz().partition(r"\begin{document}")
        setup = "\n".join(line for line in head.splitlines() if "documentclass" not in line)
        drawing = body.partition(r"\end{document}")[0].strip()
        code = [_keep_spaces(line) for line in self.code.splitlines()]
        return _DOCUMENT % (setup.strip(), "\\\\\n".join(code), drawing)


def _keep_spaces(line: str) -> str:
    indent = len(line) - len(line.lstrip())
    return latex_code(line.lstrip()).replace(r"\texttt{", r"\texttt{" + "~" * indent, 1)


def listings(program: Program) -> list[Listing]:
    """Return the paper's listings, with the figures of its example.

    Examples
    --------
    >>> from simpleautodiff.display.figures.paper_gallery import example
    >>> [listing.name for listing in listings(example())]
    ['wrapping-function', 'evaluation', 'topological-order', 'forward-mode']
    """
    beside = {
        "wrapping-function": (WRAPPING, figure(program, "construction")[2]),
        "evaluation": (EVALUATING, figure(program, "values")),
        "topological-order": (ORDERING, figure(program, "order")),
        "forward-mode": (SWEEPING, figure(program, "tangents")),
    }
    return [Listing(name, code, drawing) for name, (code, drawing) in beside.items()]
