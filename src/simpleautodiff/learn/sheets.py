"""Sheets of exercises: tables with blanks as text, as LaTeX, and as a page that checks itself."""

from __future__ import annotations

import base64
import html
import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any
from urllib.parse import quote

from simpleautodiff.display.notation.rich_text import show_minus

SYMBOLS = {"values": "{}", "tangents": "{}\u0307", "adjoints": "{}\u0304"}
Titles = Mapping[str, str]


@dataclass(frozen=True)
class SheetCell:
    """One cell of a table: its key, what it stands for, and the right answer."""

    key: str
    about: str
    name: str
    text: str  # what is computed here, in symbols
    right: Any
    blank: bool = False

    @property
    def written(self) -> str:
        """The right answer; a number that is given is written in decimals, if it has few."""
        decimals = f"{float(self.right):.9g}" if isinstance(self.right, Fraction) else ""
        is_short = decimals and not self.text and Fraction(decimals) == self.right
        return decimals if is_short else write_answer(self.right)

    @property
    def label(self) -> str:
        """How the cell is written: v3, ∂v3/∂v1, v̇3, v̄3."""
        return mark(SYMBOLS[self.about].format, self.name) if self.about in SYMBOLS else self.name

    @property
    def formula(self) -> str:
        """What stands between the label and the number, with its sign of equality."""
        return f" = {self.text}" if self.text not in ("", self.name) else ""


def mark(symbol: Callable[[str], str], name: str) -> str:
    """Put a dot or a bar over the letter of a name.

    Examples
    --------
    >>> mark("{}\u0304".format, "v3")
    'v̄3'
    """
    return symbol(name[:1]) + name[1:]


def write_answer(x: Any) -> str:
    """Write an exact number exactly, others in four digits.

    Examples
    --------
    >>> write_answer(Fraction(11, 2)), write_answer(0.69314718)
    ('11/2', '0.6931')
    """
    return str(x) if isinstance(x, (int, str, Fraction)) else f"{float(x):.4g}"


def show_signs(text: str) -> str:
    """Write a formula with the signs of mathematics, as tables have them.

    Examples
    --------
    >>> show_signs("v2 = v1 * x ** 2 - x = -3")
    'v2 = v1 × x^2 − x = −3'
    """
    return show_minus(text.replace(" ** ", "^").replace(" * ", " × "))


def write_text(cells: Sequence[SheetCell], titles: Titles, answers: bool = False) -> str:
    """Write the sheet for a terminal."""
    lines: list[str] = []
    for subject, title in titles.items():
        lines += ["", title]
        for cell in cells:
            if cell.about == subject:
                number = cell.written if answers or not cell.blank else "______"
                lines.append(f"  {show_signs(f'{cell.label}{cell.formula} = {number}')}")
    return "\n".join(lines[1:])


def write_latex(cells: Sequence[SheetCell], titles: Titles, answers: bool = False) -> str:
    """Write the sheet as a LaTeX document; with answers, the answer sheet."""
    body = []
    for subject, title in titles.items():
        body += [rf"\section*{{{title}}}", r"\begin{tabular}{l l l}"]
        body += [_latex_row(cell, answers) for cell in cells if cell.about == subject]
        body.append(r"\end{tabular}")
    head = "Answers" if answers else "Fill in the blanks"
    begin = [r"\documentclass{article}", r"\usepackage{amsmath}", r"\begin{document}"]
    return "\n".join([*begin, rf"\section*{{{head}}}", *body, r"\end{document}"])


def _latex_row(cell: SheetCell, answers: bool) -> str:
    number = _latex_number(cell)
    if cell.blank:
        number = rf"\boldsymbol{{{number}}}" if answers else r"\underline{\hspace{2.5cm}}"
    return rf"  ${_latex(cell.label)}$ & ${_latex(cell.formula)}$ & $= {number}$ \\[6pt]"


def _latex_number(cell: SheetCell) -> str:
    if isinstance(cell.right, str):
        return _latex(", ".join(cell.right.split()))
    above, slash, below = cell.written.partition("/")
    if not slash:
        return above
    sign = "-" if above.startswith("-") else ""
    return rf"{sign}\frac{{{above.removeprefix('-')}}}{{{below}}}"


def _latex(text: str) -> str:
    r"""Write names, partial derivatives, dots and bars as LaTeX does.

    Examples
    --------
    >>> print(_latex("∂v1/∂x ẋ + sin(v2)"))
    \frac{\partial v_{1}}{\partial x}\, \dot{x} + \sin(v_{2})
    """
    if text == "order" or "the nodes that" in text:
        return rf"\text{{{text}}}"
    text = unicodedata.normalize("NFD", text)  # letters and accents apart
    text = re.sub("(\\w)\u0307", r"\\dot{\1}", text)
    text = re.sub("(\\w)\u0304", r"\\bar{\1}", text)
    text = re.sub(r"∂(\w+)/∂(\w+)", r"\\frac{\\partial \1}{\\partial \2}\\,", text)
    text = re.sub(r"([A-Za-z}])(\d+)\b", r"\1_{\2}", text)
    text = text.replace(" ** ", "^").replace(" * ", r" \times ")
    text = re.sub(r"\b(sin|cos|log|exp|tanh|max)\(", r"\\\1(", text)
    return text.removesuffix(r"\,")


SCRIPT = """
function number(text) {
  const plain = text.replace(/\\s/g, "").replace("−", "-").replace(/,/g, ".");
  const parts = plain.split("/").map(Number);
  return parts.length === 2 ? parts[0] / parts[1] : parts[0];
}
function near(a, b) { return Math.abs(a - b) <= Math.max(5e-4, 1e-3 * Math.abs(b)); }
for (const input of document.querySelectorAll("input")) {
  const cell = JSON.parse(decodeURIComponent(atob(input.dataset.cell)));
  input.addEventListener("change", () => {
    const answer = number(input.value), says = input.nextElementSibling;
    const right = near(answer, cell.right);
    const wrong = cell.wrong.find(([value]) => near(answer, value));
    input.className = right ? "right" : "wrong";
    const other = Number.isNaN(answer) ? "this is no number: 5.5, 11/2 or -3 are" : "not yet";
    says.textContent = right ? "right" : wrong ? wrong[1] : other;
  });
}
"""
SHEET_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.7 system-ui, sans-serif; max-width: 48rem; margin: 2rem auto; padding: 0 1rem; }
input { width: 7rem; font: inherit; } .right { outline: 2px solid #2a2; }
.wrong { outline: 2px solid #c33; } span { margin-left: 1rem; }
"""


INSTRUCTIONS = (
    "<p>Type each number and press Tab or Enter: exactly, as 11/2 or 5.5, or to three digits. "
    "A bar stands for an adjoint, a dot for a tangent.</p>"
)


def write_html(
    cells: Sequence[SheetCell],
    titles: Titles,
    answers: bool,
    explanations: Callable[[SheetCell], Iterable[tuple[float, str]]],
) -> str:
    """Write the sheet as one page that checks the numbers itself; orders are shown, not asked."""
    parts = []
    for subject, title in titles.items():
        parts.append(f"<h2>{html.escape(title)}</h2>")
        for cell in cells:
            if cell.about == subject:
                asked = cell.blank and not answers and subject != "order"
                value = _field(cell, explanations(cell)) if asked else show_minus(cell.written)
                parts.append(f"<p>{_html_formula(cell.label + cell.formula)} = {value}</p>")
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Exercise</title>'
        f"<style>{SHEET_STYLE}</style></head><body><main><h1>Fill in the blanks</h1>"
        f"{'' if answers else INSTRUCTIONS}{''.join(parts)}</main>"
        f"<script>{SCRIPT}</script></body></html>"
    )


def _html_formula(text: str) -> str:
    """Write a formula with subscripts, powers, signs of multiplication and minus signs.

    Examples
    --------
    >>> _html_formula("v2 = v1 * x ** 2 - x")
    'v<sub>2</sub> = v<sub>1</sub> × x<sup>2</sup> − x'
    """
    text = html.escape(show_signs(unicodedata.normalize("NFD", text)))
    text = re.sub(r"\^(\d+)", r"<sup>\1</sup>", text)
    return re.sub("\\b([A-Za-z][\u0304\u0307]?)(\\d+)", r"\1<sub>\2</sub>", text)


def _field(cell: SheetCell, explanations: Iterable[tuple[float, str]]) -> str:
    """Write a field that knows its answer, and what each misconception would answer."""
    data = json.dumps({"right": float(cell.right), "wrong": list(explanations)})
    hidden = base64.b64encode(quote(data).encode()).decode()
    label = html.escape(cell.key)
    return f'<input aria-label="{label}" data-cell="{hidden}"><span></span>'
