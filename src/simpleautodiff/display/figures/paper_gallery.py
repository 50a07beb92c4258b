"""All tables, figures and listings of the paper, in a folder: text, SVG, LaTeX, and a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from simpleautodiff.core.linear import ZERO
from simpleautodiff.core.node import Node
from simpleautodiff.core.order import execution_order
from simpleautodiff.display.figures.figure import Figure, Figures, figure
from simpleautodiff.display.figures.paper_index import write_index
from simpleautodiff.display.figures.paper_listings import listings
from simpleautodiff.display.notation import labels
from simpleautodiff.display.notation.rich_text import latex_code, to_latex
from simpleautodiff.display.tables.tables import adjoints_table, tangents_table, values_table
from simpleautodiff.program.program import Program
from simpleautodiff.program.watched_work import go_through
from simpleautodiff.rules.scalar.arithmetic import add, mul, sub
from simpleautodiff.rules.scalar.exponential import log
from simpleautodiff.rules.scalar.trigonometric import sin

_FIGURES = {
    "graph": "plain",
    "values": "values",
    "tangents": "tangents",
    "adjoints": "adjoints",
    "reachable": "reachable",
    "order": "order",
}
_HEADS = ("member", "data type", "example for Node")
_DOCUMENT = r"""\documentclass[border=6pt]{standalone}
\usepackage{amsmath,booktabs}
\begin{document}
%s
\end{document}
"""
Member = tuple[str, str, str]


def example() -> Program:
    """Return the paper's example, y = log x1 + x1 x2 - sin x2 at (2, 5).

    Examples
    --------
    >>> [step.call for step in example().steps if step.operator]
    ['log(x1)', 'mul(x1, x2)', 'sin(x2)', 'add(v1, v2)', 'sub(v4, v3)']
    """
    x1, x2 = Node(2), Node(5)
    return Program(execution_order(sub(add(log(x1), mul(x1, x2)), sin(x2))))


def gallery(folder: str | Path) -> list[Path]:
    """Write every table, figure and listing of the paper into a folder, and return the files.

    `index.html` shows them all.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     names = [path.name for path in gallery(folder)]
    >>> [name for name in names if name.startswith("figure-adjoints")]
    ['figure-adjoints.txt', 'figure-adjoints.svg', 'figure-adjoints.tex']
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    program = example()
    files = [_write(folder / name, text) for name, text in tables(program)]
    for name, drawing in go_through(list(figures(program)), "figures"):
        stem = folder / f"figure-{name}"
        files += [drawing.save(stem.with_suffix(ending)) for ending in (".txt", ".svg", ".tex")]
    for number, listing in enumerate(go_through(listings(program), "listings"), 1):
        stem = folder / f"listing-{number}-{listing.name}"
        for ending, write in (
            (".txt", listing.text),
            (".svg", listing.svg),
            (".tex", listing.tikz),
        ):
            files.append(_write(stem.with_suffix(ending), write()))
    return [*files, write_index(folder, files)]


def figures(program: Program) -> Iterator[tuple[str, Figure | Figures]]:
    """Yield the paper's figures by name; the construction whole, and each step of it."""
    for name, show in _FIGURES.items():
        yield name, figure(program, show)
    frames = figure(program, "construction")
    yield "construction", frames
    for number, drawing in enumerate(frames):
        yield f"construction-{number}", drawing


def tables(program: Program) -> Iterator[tuple[str, str]]:
    """Yield the paper's tables, by file name."""
    for name, table in (
        ("values", values_table(program)),
        ("tangents", tangents_table(program, "x1")),
        ("adjoints", adjoints_table(program)),
    ):
        yield f"table-{name}.txt", f"{table}\n"
        yield f"table-{name}.tex", _DOCUMENT % table.to("latex")
    rows = members(program, "v2", "x1")
    for name, some in (("table-node", rows[:4]), ("table-node-complete", rows)):
        yield f"{name}.txt", _text([(*_HEADS[:2], f"{_HEADS[2]} v2"), *some])
        yield f"{name}.tex", _DOCUMENT % _tabular(some, "v2")


def members(program: Program, name: str, wrt: str) -> list[Member]:
    """Return the members of the paper's node: name, data type, and the value for one node.

    Examples
    --------
    >>> for member, _, value in members(example(), "v2", "x1"):
    ...     print(f"{member}: {value}")
    numerical value: 10
    parent nodes: [x1, x2]
    child nodes: [v4]
    operator: "mul"
    gradient w.r.t. parents: [5, 2]
    partial derivative: 5
    """
    node = program.node(name)
    children = [other for other in program.nodes if node in other.parent_nodes]
    slopes = [0 if slope is ZERO else slope for _, slope in node.local_derivatives()]
    return [
        ("numerical value", "float", labels.write_brief(node.value)),
        ("parent nodes", "List[Node]", _join_names(program, node.parent_nodes)),
        ("child nodes", "List[Node]", _join_names(program, children)),
        ("operator", "string", f'"{node.operator}"'),
        (
            "gradient w.r.t. parents",
            "List[float]",
            f"[{', '.join(map(labels.write_brief, slopes))}]",
        ),
        ("partial derivative", "float", labels.write_brief(program.tangents(wrt)[name])),
    ]


def _join_names(program: Program, nodes: Sequence[Node]) -> str:
    return f"[{', '.join(program.names[node] for node in nodes)}]"


def _text(rows: Sequence[Member]) -> str:
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    lines = [" │ ".join(cell.ljust(w) for cell, w in zip(r, widths, strict=True)) for r in rows]
    lines.insert(1, "─┼─".join("─" * width for width in widths))
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _tabular(rows: Sequence[Member], name: str) -> str:
    head = f"member & data type & example for \\texttt{{Node}} ${to_latex(name)}$ \\\\\n\\hline\n"
    body = " \\\\\n".join(
        f"{member} & {latex_code(kind)} & {_example(value)}" for member, kind, value in rows
    )
    return f"\\begin{{tabular}}{{c|c|c}}\n{head}{body}\n\\end{{tabular}}"


def _example(value: str) -> str:
    return latex_code(value) if value.startswith('"') else f"${to_latex(value)}$"


def _write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path
