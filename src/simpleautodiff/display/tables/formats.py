"""Tables in every format: aligned text, coloured text, Markdown, LaTeX, HTML, JSON."""

from __future__ import annotations

import html
import io
import json
import math
import re
import shutil
import textwrap
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from simpleautodiff.display.notation.line_breaks import break_line, count_columns
from simpleautodiff.display.notation.rich_text import latex_code, latex_text, show_minus, to_latex
from simpleautodiff.errors import ArgumentError
from simpleautodiff.program.watched_work import go_through

if TYPE_CHECKING:
    from simpleautodiff.display.tables.tables import Table, TableRow


def write_table(table: Table, format: str) -> str:
    """Write a table in one of the formats of `TABLE_WRITERS`."""
    check_format(format, tuple(TABLE_WRITERS))
    return TABLE_WRITERS[format](table)


def check_format(format: str, known: Sequence[str]) -> None:
    """Reject an unknown format."""
    if format not in known:
        raise ArgumentError(f"the format is one of {', '.join(known)}; got {format!r}")


def write_text(table: Table, width: int | None = None) -> str:
    """Align the columns with = signs between them, and draw horizontal lines.

    The user's own variables and source lines are at the right, if they are known. Where that is
    wider than `width`, each source line is above the rows it belongs to; where the rows themselves
    are wider, they lose their columns and are broken before = signs.
    """
    lines = _write_rows(table)
    if width is None or all(count_columns(line) <= width for line in lines):
        return "\n".join(lines)
    wrapped = partial(textwrap.wrap, width=width, subsequent_indent="    ", break_on_hyphens=False)
    lines = _write_rows(table, wrapped)
    if any(count_columns(line) > width for line in lines):
        lines = _write_rows(table, wrapped, partial(break_line, width=width))
    return "\n".join(lines)


def _write_rows(
    table: Table,
    above: Callable[[str], list[str]] | None = None,
    broken: Callable[[str], list[str]] | None = None,
) -> list[str]:
    """Return the lines of a table; source lines are at the right, or `above` rows and long once."""
    columns = _columns(table)
    widths = _find_widths(table, columns)
    length = sum(widths) + 3 * (len(widths) - 1) + 1
    found: list[str] = []
    sources, told = iter(_source_lines(table)), set[str]()
    for section in table.written_sections():
        if found:
            found += broken("─" * length) if broken else ["─" * length]
        for row in section:
            source = next(sources)
            if row.folded:
                said = f"⋮   {row.folded}"
                found += above(said) if above else [said]
                continue
            if above and source:
                found += above(source.partition(": ")[0] if source in told else source)
                told.add(source)
            note = "   ".join(filter(None, (row.variable, "" if above else source)))
            line = _align(_show(row, columns), widths)
            line = f"{_pad(line, length)}   {note}" if note else line.rstrip()
            found += broken(line) if broken else [line]
    return found + [part for said in _remark(table) for part in (above(said) if above else [said])]


def _remark(table: Table) -> list[str]:
    return [table.remark] if table.remark else []


def _columns(table: Table) -> list[int]:
    """Return the columns that are not empty."""
    return [i for i in range(len(table.heads)) if any(row.cells[i].text for row in table.rows)]


def _show(row: TableRow, columns: list[int]) -> list[str]:
    """Return the cells of a row as they are shown."""
    return [show_minus(row.cells[i].text) for i in columns]


def _align(cells: list[str], widths: list[int]) -> str:
    parts = [_pad(cells[0], widths[0]) + " "]
    for cell, width in zip(cells[1:], widths[1:], strict=True):
        parts.append(f" = {_pad(cell, width)}" if cell else " " * (width + 3))
    return "".join(parts)


def _source_lines(table: Table) -> list[str]:
    """Return the user's source lines of the table rows, each line once in a run.

    If everything is on one line, as in a lambda, that line is left out.
    """
    lines = {row.line for row in table.rows if row.line}
    found, last = [], ""
    for row in table.rows:
        found.append(row.line if len(lines) > 1 and row.line != last else "")
        last = row.line
    return found


def _notes(table: Table) -> list[str]:
    """Return the user's names and source lines of the table rows."""
    pairs = zip(table.rows, _source_lines(table), strict=True)
    return ["   ".join(filter(None, (row.variable, line))) for row, line in pairs]


def _find_widths(table: Table, columns: list[int]) -> list[int]:
    texts = [[row.cells[i].text for row in table.rows] for i in columns]
    return [max(map(count_columns, column), default=0) for column in texts]


def _pad(cell: str, width: int) -> str:
    return cell + " " * (width - count_columns(cell))


def write_rich(table: Table) -> str:
    """Write the table in colours for a terminal; as plain text if `rich` is not installed."""
    try:
        from rich.console import Console
        from rich.table import Table as RichTable
    except ImportError:
        return write_text(table)
    drawn = RichTable(title=table.title, title_justify="left", header_style="bold")
    columns, notes = _columns(table), _notes(table)
    noted = any(notes)
    for i in columns:
        style = {0: "bold cyan", len(table.heads) - 1: "green"}.get(i, "")
        drawn.add_column(table.heads[i], style=style, overflow="fold")
    if noted:
        drawn.add_column("source", style="dim", overflow="fold")
    ends = {id(section[-1]) for section in table.sections if section}
    for row, note in zip(table.rows, notes, strict=True):
        cells = list(map(_escape_brackets, [*_show(row, columns), *[note] * noted]))
        if row.folded:
            cells[:2] = ["⋮", _escape_brackets(row.folded)]
        drawn.add_row(*cells, end_section=id(row) in ends)
    console = Console(file=io.StringIO(), force_terminal=True, width=_terminal_width())
    console.print(drawn)
    written: str = console.file.getvalue()  # type: ignore[attr-defined]
    return "\n".join([written.rstrip("\n"), *_remark(table)])


def _escape_brackets(cell: str) -> str:
    """Keep square brackets from being read as colours."""
    return re.sub(r"(\[)(?=[a-z/#@])", r"\\\1", cell)


def _terminal_width() -> int:
    return shutil.get_terminal_size((100, 24)).columns


def write_markdown(table: Table) -> str:
    """Write a Markdown table under its title."""
    columns, notes = _columns(table), _notes(table)
    noted = any(notes)
    heads = [table.heads[i] for i in columns] + ["source"] * noted
    lines = [
        f"**{table.title}**",
        "",
        _join_with_bars(heads),
        _join_with_bars(["---"] * len(heads)),
    ]
    for row, note in zip(go_through(table.rows, "writing"), notes, strict=True):
        cells = list(map(_escape_bars, _show(row, columns)))
        if row.folded:
            cells[:2] = ["⋮", _escape_bars(row.folded)]
        lines.append(_join_with_bars(cells + [_write_code(note)] * noted))
    return "\n\n".join(["\n".join(lines), *_remark(table)])


def _join_with_bars(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _escape_bars(cell: str) -> str:
    return re.sub(r"([\\`*_{}\[\]|<>])", r"\\\1", cell)


def _write_code(note: str) -> str:
    return f"`{note.replace('|', chr(0x2502)).replace('`', chr(39))}`" if note else ""


def write_latex(table: Table) -> str:
    r"""Write a booktabs tabular in the style of the paper, with its arrow at the left.

    The document needs ``\usepackage{booktabs}``. Columns that would run off the page share the line
    width, and their text is broken.
    """
    columns = _columns(table)
    shapes = _column_shapes(table, columns)
    broken = [shape != "l" for shape in shapes]
    arrow = "up" if table.upward else "down"
    lines = [rf"$\left\{arrow}arrow", rf"\begin{{tabular}}{{{' '.join(shapes)}}}"]
    end = r"\tabularnewline" if any(broken) else r"\\"
    if any(broken):  # after an = sign only where it must be
        lines.insert(0, r"{\footnotesize\relpenalty=9000\renewcommand{\arraystretch}{1.3}")
    for number, section in enumerate(table.written_sections()):
        if number:
            lines.append(rf"  \cmidrule{{1-{len(columns)}}}")
        for row in section:
            if row.folded:
                lines.append(rf"  \multicolumn{{{len(columns)}}}{{l}}{{{_latex_gap(row)}}} {end}")
                continue
            cells = [row.cells[i].latex for i in columns]
            room = _STRUT if any(r"\frac" in cell for cell in cells) else ""
            written = [f"${cells[0]}$", *[f"$= {cell}$" if cell else "" for cell in cells[1:]]]
            pairs = zip(written, broken, strict=True)
            cells = [_make_breakable(cell) if cell and breaks else cell for cell, breaks in pairs]
            lines.append(f"  {' & '.join(cells)}{room} {end}")
    remarks = [rf"\par {latex_text(remark)}" for remark in _remark(table)]
    return "\n".join([*lines, r"\end{tabular}", r"\right.$" + "}" * any(broken), *remarks])


_STRUT = r" \rule[-1.6ex]{0pt}{4.5ex}"  # which keeps fractions in rows above each other apart
_WIDE, _NARROW = 84, 18  # characters that fit in a line; in a column that is never broken


def _column_shapes(table: Table, columns: list[int]) -> list[str]:
    """Return the type of each column: l, or a share of the line width if the table is too wide."""
    widths = _find_widths(table, columns)
    if sum(widths) + 4 * len(widths) <= _WIDE:
        return ["l"] * len(columns)
    room = 0.88 - sum(width + 4 for width in widths if width <= _NARROW) / _WIDE
    weights = [10 + width**0.5 if width > _NARROW else 0 for width in widths]
    shares = [max(room, 0.3) * weight / sum(weights) for weight in weights]
    return [rf"p{{{share:.2f}\linewidth}}" if share else "l" for share in shares]


def _latex_gap(row: TableRow) -> str:
    names, brace, title = row.folded.partition(" (")
    count, _, span = names.partition(": ")
    what = rf" \quad {latex_code(title.removesuffix(')'))}" if brace else ""
    return rf"$\vdots$ \quad {count}: ${to_latex(span)}${what}"


def _make_breakable(cell: str) -> str:
    """Let a formula be broken after its commas and quotient signs, and not be stretched."""
    cell = cell.replace(", ", r",\allowbreak\ ")
    return r"\raggedright " + cell.replace(" / ", r" /\allowbreak ")


NOTEBOOK_STYLE = """<style>
table.simpleautodiff :is(th, td) {
  text-align: left !important; vertical-align: baseline !important; white-space: nowrap;
}
table.simpleautodiff td.array { white-space: normal; min-width: 9em; }
table.simpleautodiff code { display: inline-block; min-width: 16em; vertical-align: top; }
table.simpleautodiff caption { text-align: left; font-weight: 600; }
table.simpleautodiff tbody + tbody { border-top: 1px solid currentColor; }
</style>
"""  # notebooks align cells at the right, where = signs would not stand below each other;
# rows of arrays end their lines where there is no more room


def write_html(table: Table) -> str:
    """Write an HTML table with a caption and heads; digits of names are subscripts."""
    columns, notes = _columns(table), _notes(table)
    noted = any(notes)
    heads = [table.heads[i] for i in columns] + ["source"] * noted
    lines = ['<table class="simpleautodiff">', f"<caption>{html.escape(table.title)}</caption>"]
    head = "".join(f'<th scope="col">{html.escape(head)}</th>' for head in heads)
    lines.append(f"<thead><tr>{head}</tr></thead>")
    notes_left = iter(notes)
    for section in table.written_sections():
        lines.append("<tbody>")
        for row in section:
            note = html.escape(next(notes_left))
            last = f"<td><code>{note}</code></td>" if note else "<td></td>" * noted
            lines.append(_html_row(row, columns, last))
        lines.append("</tbody>")
    lines += [
        f'<tfoot><tr><td colspan="{len(heads)}">{html.escape(remark)}</td></tr></tfoot>'
        for remark in _remark(table)
    ]
    return "\n".join([*lines, "</table>"])


def _html_row(row: TableRow, columns: list[int], last: str) -> str:
    if row.folded:
        text = _add_subscripts(row.folded)
        return f'<tr><th scope="row">⋮</th><td colspan="{len(columns) - 1}">{text}</td>{last}</tr>'
    texts = [_add_subscripts(row.cells[i].text) for i in columns]
    cells = [f'<th scope="row">{texts[0]}</th>']
    kinds = [' class="array"' * ("[" in cell) for cell in texts]
    cells += [
        f"<td{kind}>{'= ' if cell else ''}{cell}</td>"
        for kind, cell in zip(kinds[1:], texts[1:], strict=True)
    ]
    return f'<tr data-node="{html.escape(row.node)}">{"".join(cells)}{last}</tr>'


def _add_subscripts(cell: str) -> str:
    """Write x1 as x with a subscript, a power as one, and a real minus sign.

    Longer names, such as log2, stay as they are.
    """
    text = re.sub(
        r"(?<![^\W_])([^\W\d_][\u0300-\u036f]?)(\d+)(?!\w)", r"\1<sub>\2</sub>", html.escape(cell)
    )
    text = re.sub(r"\^(\([^()]*\)|-?[\w.]+(?:<sub>\d+</sub>)?)", r"<sup>\1</sup>", text)
    return show_minus(text)


def write_json(table: Table) -> str:
    """Write the table as JSON, with the full numbers; arrays by dtype, shape and a slice."""
    rows = [
        {"folded": row.folded}
        if row.folded
        else {
            "node": row.node,
            "name": row.name,
            "symbolic": row.symbolic,
            "numeric": row.numeric,
            "result": row.result,
            "value": json_value(row.value),
            "line": row.line,
            "variable": row.variable,
        }
        for row in go_through(table.rows, "writing")
    ]
    return dump_json({"title": table.title, "rows": rows, "remark": table.remark})


def dump_json(data: Any) -> str:
    """Write data as indented JSON."""
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False)


def json_value(value: Any) -> Any:
    """Return a number as JSON has it; what JSON lacks becomes text."""
    if isinstance(value, np.ndarray) and value.ndim:
        few = np.ravel(value)[:5]
        return {
            "dtype": str(value.dtype),
            "shape": list(value.shape),
            "slice": [json_value(element) for element in few],
        }
    if isinstance(value, np.generic | np.ndarray):
        value = value.item()
    if isinstance(value, bool | int):
        return value
    return value if isinstance(value, float) and math.isfinite(value) else str(value)


def write_grid(
    format: str, title: str, heads: Sequence[str], rows: Sequence[Sequence[str]], math: bool = False
) -> str:
    """Write a plain table of strings, or of formulas, as text, markdown, latex or html."""
    if format == "markdown":
        lines = [_join_with_bars(list(heads)), _join_with_bars(["---"] * len(heads))]
        lines += [_join_with_bars([_escape_bars(show_minus(cell)) for cell in row]) for row in rows]
        return "\n".join([f"**{title}**", "", *lines])
    if format == "latex":
        lines = [rf"\begin{{tabular}}{{{' '.join('l' * len(heads))}}}", r"  \toprule"]
        write = (lambda cell: f"${to_latex(cell)}$" if cell else "") if math else latex_text
        cells = [[write(show_minus(cell)) for cell in row] for row in rows]
        written = [f"  {' & '.join(row)} \\\\" for row in (map(latex_text, heads), *cells)]
        lines += [written[0], r"  \midrule", *written[1:], r"  \bottomrule", r"\end{tabular}"]
        return "\n".join(lines)
    if format == "html":
        head = "".join(f'<th scope="col">{html.escape(head)}</th>' for head in heads)
        body_rows = [
            "<tr>" + "".join(f"<td>{html.escape(show_minus(cell))}</td>" for cell in row) + "</tr>"
            for row in rows
        ]
        caption = f"<caption>{html.escape(title)}</caption>" if title else ""
        top = ['<table class="simpleautodiff">', caption]
        return "\n".join(
            [*top, f"<thead><tr>{head}</tr></thead>", "<tbody>", *body_rows, "</tbody></table>"]
        )
    widths = [max(count_columns(row[i]) for row in (heads, *rows)) for i in range(len(heads))]
    lines = [
        "  ".join(
            _pad(show_minus(cell), width) for cell, width in zip(row, widths, strict=True)
        ).rstrip()
        for row in (heads, *rows)
    ]
    return "\n".join([title, "", lines[0], "─" * (sum(widths) + 2 * len(widths) - 2), *lines[1:]])


TABLE_WRITERS: dict[str, Callable[[Table], str]] = {
    "text": write_text,
    "rich": write_rich,
    "markdown": write_markdown,
    "latex": write_latex,
    "html": write_html,
    "json": write_json,
}
