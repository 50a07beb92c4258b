"""Tables, graphs, words and programs in each format, by the modules of `display`."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from textwrap import wrap
from typing import Any

import simpleautodiff as ad
from simpleautodiff.cli import write_output
from simpleautodiff.cli.derivatives import choose_derivative, derive_problem
from simpleautodiff.cli.json_answers import write_json
from simpleautodiff.cli.problem import Problem
from simpleautodiff.display.code.source import source as write_source
from simpleautodiff.display.explorer.page import explore as write_page
from simpleautodiff.display.explorer.server import serve as serve_pages, write_place
from simpleautodiff.display.figures.figure import Figures
from simpleautodiff.display.figures.paper_gallery import gallery
from simpleautodiff.display.notation.line_breaks import count_columns
from simpleautodiff.display.notation.rich_text import latex_code, latex_text
from simpleautodiff.display.stepper.stepper import Stepper
from simpleautodiff.display.stepper.terminal import interact
from simpleautodiff.display.tables.folded_rows import hide_steps
from simpleautodiff.display.tables.formats import write_text
from simpleautodiff.errors import FormulaError
from simpleautodiff.program.program import output_names
from simpleautodiff.program.watched_work import go_through
from simpleautodiff.transforms.grad import derivative

MAX_EXPLAINED_STEPS = 20  # with more steps than this, only the result is explained in words
MAX_EXPLAINED_OUTPUTS = 3  # of a long program
LINE_WIDTH = 17.0  # centimetres of a page's width that are written on
LINE_LETTERS = 85  # of a typewriter's, on a line of that page
FOLDED_NOTE = "(folded: --unfold shows every step)"
LATEX = r"""{comment}
\documentclass{{article}}
\usepackage[margin=2cm]{{geometry}}
\usepackage{{amsmath,booktabs,tikz}}
{setup}
\begin{{document}}
\noindent {headline}

\noindent
{body}
{words}
\end{{document}}"""
PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; }}
:root {{ color-scheme: light dark; }}
body {{ padding: 0 1rem; }}
h1 {{ font-size: 1.3rem; white-space: pre-wrap; }}
h2 {{ margin-top: 2rem; }}
section {{ overflow-x: auto; }}
table {{ border-collapse: collapse; margin: 1.5rem 0; }}
caption, h2 {{ font-size: 1.1rem; font-weight: 600; text-align: left; padding-bottom: 0.3rem; }}
th, td {{ padding: 0.15rem 1.2rem 0.15rem 0; text-align: left; white-space: nowrap; }}
th {{ font-weight: normal; }}
thead th {{ font-size: 0.85rem; opacity: 0.7; }}
tbody {{ border-top: 1px solid; }}
figure {{ margin: 0; break-inside: avoid; }}
tr, p {{ break-inside: avoid; }}
h2, caption {{ break-after: avoid; }}
@media (max-width: 600px) {{
  table {{ font-size: 0.85rem; }}
  th, td {{ padding-right: 0.5rem; }}
}}
</style>
<h1>{title}</h1>
{body}
</html>"""


class RecordedProblem:
    """A recorded problem, and the sweeps of it to show."""

    def __init__(self, problem: Problem, wrt: str, mode: str | None, unfold: bool = False) -> None:
        self.problem, self.wrt, self.mode, self.unfold = problem, wrt, mode, unfold
        self.report: Callable[[], None] = lambda: None  # called when a part is done
        trace: Any = ad.trace(problem.function, *problem.values, names=problem.names)
        self.trace: Any = trace
        if not problem.file:
            _drop_source_lines(self.trace)
            self.trace.called = problem.y
        self.y = output_names(self.trace)[0][0]

    @property
    def headline(self) -> str:
        """What is explained, and where."""
        return self.problem.headline(", ".join(name for name, _ in output_names(self.trace)))

    def tables(self) -> Iterator[Any]:
        """Yield the tables: the values, and the requested sweeps."""
        yield self.trace.values(unfold=self.unfold)
        self.report()
        if self.mode != "reverse":
            yield self.trace.tangents(self.wrt, unfold=self.unfold)
            self.report()
        if self.mode != "forward":
            yield self.trace.adjoints(unfold=self.unfold)
            self.report()

    @property
    def folded(self) -> bool:
        """Whether the tables do not show every step."""
        return not self.unfold and bool(hide_steps(self.trace))

    def figure(self, show: str | None = None) -> Any:
        """Return the graph, with the numbers that the mode adds."""
        by_mode = {"forward": "tangents", "reverse": "adjoints", None: "values"}
        return self.trace.figure(show=show or by_mode[self.mode], wrt=self.wrt)

    def words(self) -> list[str]:
        """Explain each step in words, after the graph; for a long program, only the result."""
        self.report()
        names = [step.name for step in self.trace.steps if step.operator]
        if len(names) > MAX_EXPLAINED_STEPS:
            outputs = self.trace.outputs[:MAX_EXPLAINED_OUTPUTS]
            names = [self.trace.names[node] for node in outputs]
        other = {"forward": "Reverse from", "reverse": "Forward from"}.get(self.mode or "", "?")
        told = [
            self.trace.explain(name, self.wrt).splitlines() for name in go_through(names, "words")
        ]
        return ["\n".join(line for line in some if not line.startswith(other)) for some in told]


def _drop_source_lines(trace: Any) -> None:
    """Drop source lines and variables: those of a formula are this library's, not the user's."""
    trace.lines.clear()
    trace.variables.clear()
    trace.steps = [replace(step, line="") for step in trace.steps]


def table(shown: RecordedProblem, format: str) -> str:
    """Return one table: the values, or the requested sweep."""
    tables = {None: shown.trace.values, "reverse": shown.trace.adjoints}
    tables["forward"] = partial(shown.trace.tangents, shown.wrt)
    found = tables[shown.mode](unfold=shown.unfold)
    written = _write_table(found) if format == "text" else str(found.to(format))
    if format == "latex":
        return f"% needs \\usepackage{{amsmath,booktabs}}\n{written}"
    return f"{written}\n{FOLDED_NOTE}" if format == "text" and shown.folded else written


def graph(shown: RecordedProblem, format: str, show: str | None = None) -> str:
    """Return the graph alone."""
    return _draw(shown.figure(show), format)


def save_graph(shown: RecordedProblem, format: str, output: str | None, show: str | None) -> None:
    """Write the graph to a PDF or PNG file."""
    if output in (None, "-"):
        raise FormulaError(f"--format {format} is no text: name a file, --output graph.{format}")
    shown.figure(show).save(output)
    write_output.tell_written(str(output))


def _draw(figure: Any, format: str) -> str:
    """Draw a figure; a construction is several, one for each step."""
    if not isinstance(figure, Figures):
        return _draw_one(figure, format)
    if format in ("text", "html"):
        return "\n\n".join(_draw_one(each, format) for each in figure)
    return figure.to(format)


def _draw_one(figure: Any, format: str) -> str:
    if format == "text":
        return str(figure.text(write_output.text_width()))
    if format != "html":
        return str(getattr(figure, format)())
    svg = figure.svg()
    return f"<figure>{svg[max(svg.find('<svg'), 0) :]}</figure>"


def count_parts(mode: str | None) -> int:
    """Count the parts of an explanation: tables, graph, words."""
    return 5 if mode is None else 4


def explanation(
    shown: RecordedProblem, format: str, report: Callable[[], None] = lambda: None
) -> str:
    """Return the whole explanation: the problem, the tables, the graph, the words.

    `report` is called after each part.
    """
    shown.report = report
    if format in ("svg", "tikz"):
        return graph(shown, format)
    writers = {"text": _text, "markdown": _markdown, "latex": _latex, "html": _html, "json": _data}
    return writers[format](shown)


def _text(shown: RecordedProblem) -> str:
    parts = [shown.headline]
    parts += [
        f"{write_output.bold_title(table.title)}\n{_write_table(table)}" for table in shown.tables()
    ]
    if shown.folded:
        parts.append(FOLDED_NOTE)
    parts.append(f"{write_output.bold_title('Graph')}\n{_sketch(shown)}")
    words = "\n".join(map(write_output.paragraph, shown.words()))
    parts += [f"{write_output.bold_title('In words')}\n{words}"] if words else []
    return "\n\n".join(parts)


def _write_table(table: Any) -> str:
    """Write a table as text, no wider than there is room."""
    return write_text(table, write_output.text_width())


def _sketch(shown: RecordedProblem) -> str:
    """Draw the graph as text, only with names if numbers would make it too wide.

    If even that is too wide, it is a list, which has room for the numbers.
    """
    for show in (None, "plain"):
        drawn = str(shown.figure(show).text())
        if max(map(count_columns, drawn.splitlines())) <= write_output.terminal_width():
            return drawn
    return _draw(shown.figure(), "text")


def _markdown(shown: RecordedProblem) -> str:
    tables = [table.to("markdown") for table in shown.tables()]
    graph = f"**Graph**\n\n```text\n{_sketch(shown)}\n```"
    return "\n\n".join([f"`{shown.headline}`", *tables, graph, *shown.words()])


def _latex(shown: RecordedProblem) -> str:
    """Write a document: the tables and the graph, with the words in comments."""
    parts = [
        f"\\paragraph{{{latex_text(table.title)}}}\n\\mbox{{}}\\nopagebreak\n\n{table.to('latex')}"
        for table in shown.tables()
    ]
    head, _, drawing = _draw(shown.figure(), "tikz").rpartition(r"\begin{document}")
    own = (r"\documentclass", r"\usepackage")  # the document has its own
    setup = [line for line in head.splitlines() if not line.startswith(own)]
    drawing = drawing.replace(r"\end{document}", "").strip()
    lines = [part for line in shown.headline.splitlines() for part in wrap(line, LINE_LETTERS)]
    graph = f"\\bigskip\n\\noindent{_fit_drawing(drawing)}"
    return LATEX.format(
        comment=_comment(shown.headline),
        headline=r"\\".join(map(latex_code, lines)),
        setup="\n".join(setup).strip(),
        body="\n\n".join([*parts, graph]),
        words=_comment("\n".join(shown.words())),
    )


def _fit_drawing(drawing: str) -> str:
    """Fit a drawing to a page: as it is, smaller, or if it is very wide turned by a right angle."""
    places = re.findall(r"\(([\d.]+),-?[\d.]+\)", drawing)
    wide = max(map(float, places), default=0.0)  # in centimetres
    if wide <= LINE_WIDTH - 2:
        return f" {drawing}"
    if wide <= 1.3 * LINE_WIDTH:
        return f"\\resizebox{{\\linewidth}}{{!}}{{%\n{drawing}}}"
    return f"\\rotatebox{{90}}{{\\resizebox{{0.98\\textheight}}{{!}}{{%\n{drawing}}}}}"


def _comment(text: str) -> str:
    return "\n".join(f"% {line}" for line in text.splitlines())


def _html(shown: RecordedProblem) -> str:
    tables = [table.to("html") for table in shown.tables()]
    graph = _draw(shown.figure(), "html")
    words = "".join(f"<p>{_break_lines(line)}</p>" for line in shown.words())
    parts = [
        *(f"<section>{table}</section>" for table in tables),
        f"<section><h2>Graph</h2>{graph}</section>",
        *([f"<section><h2>In words</h2>{words}</section>"] if words else []),
    ]
    return PAGE.format(title=html.escape(shown.headline), body="\n".join(parts))


def _break_lines(text: str) -> str:
    return html.escape(text).replace("\n", "<br>")


def _data(shown: RecordedProblem) -> str:
    problem = shown.problem
    return write_json(
        {
            "formula": problem.text,
            "at": problem.point,
            "output": shown.y,
            "wrt": shown.wrt,
            "tables": [json.loads(table.to("json")) for table in shown.tables()],
            "graph": _graph(shown.trace),
            "words": shown.words(),
        }
    )


def _graph(program: ad.Program) -> dict[str, Any]:
    """Return the nodes with their operators, and the edges from parents to children."""
    return {
        "nodes": [{"name": step.name, "operator": step.operator} for step in program.steps],
        "edges": [
            [program.names[parent], program.names[node]]
            for node in program.nodes
            for parent in node.parent_nodes
        ],
    }


def source(problem: Problem, wrt: str, order: int, mode: str | None, format: str) -> str:
    """Return the derivative as a program, Python or LaTeX: the gradient, if no input is named."""
    differentiate = choose_derivative(problem)
    if not wrt and mode != "forward" and order == 1:
        everything = tuple(range(len(problem.names))) if len(problem.names) > 1 else 0
        written = write_source(differentiate(problem.function, everything), *problem.values)
        return str(written.to(format))
    wrt = wrt or problem.names[0]
    index = problem.index(wrt)
    if mode == "forward":
        return str(
            write_source(derivative(problem.function, order, index), *problem.values).to(format)
        )
    inner = derive_problem(problem, wrt, order - 1)
    return str(write_source(differentiate(inner.function, index), *problem.values).to(format))


def prepare_steps(shown: RecordedProblem) -> Stepper:
    """Prepare a derivative to be stepped through."""
    mode = shown.mode or "reverse"
    return Stepper(shown.trace, mode, wrt=shown.wrt if mode == "forward" else "")


def step(stepper: Stepper) -> None:
    """Step through a derivative by keys."""
    interact(stepper)


def explore(problem: Problem, output: str) -> None:
    """Write the explorer's page of one function."""
    what = problem.function if problem.file else problem.text
    write_page(what, *problem.values, path=output)


def serve(port: int, problem: Problem | None = None) -> None:
    """Serve the page where one types formulas, until Ctrl-C; it opens at a formula, if given."""
    serve_pages(port, place=write_place(problem.text, problem.point) if problem else "")


def paper(folder: str) -> int:
    """Write the paper's tables and figures and return how many files there are."""
    return len(gallery(folder))
