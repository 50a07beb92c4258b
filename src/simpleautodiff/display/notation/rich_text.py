"""Short formulas as runs of text: italics, subscripts, superscripts, and widths.

A label is plain text, such as ``v4 = log(x1) + 2``. SVG, TeX and the terminal print its runs.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import groupby
from typing import NamedTuple

from simpleautodiff.program.written_numbers import latex_letter, latex_powers

# Widths of a Times face in thousandths of the font size; the other faces used are close to it.
_CLASSES = {
    250: " .,",
    278: "/ijlt:;",
    333: "()[]frI-'",
    389: "sJ`",
    444: 'acez?"',
    500: "0123456789bdghknopquvxy_*$∂√#",
    564: "+−=×<>~·|±∞≈",
    611: "ELTZPSF",
    722: "ABCDGHKNOQRUVXYw",
    889: "mMW%@&…→",
}
_WIDTHS = {letter: width for width, letters in _CLASSES.items() for letter in letters}
_UNKNOWN, _CODE = 620, 602
_SLACK = 1.06  # for a reader's serif face that is wider
SCRIPT_SIZE = 0.72  # the relative font size of subscripts and superscripts

_FUNCTION_NAMES = {"log", "sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "det", "min", "max"}
_WITHOUT_PARENTHESES = re.compile(r"\b(log|sin|cos|tan|sinh|cosh|tanh)\((\w+(?:\.\d+)?)\)")
_TOKEN = re.compile(
    r"(?P<name>[^\W\d_][\u0304\u0307]?\w*)|(?P<number>\d+(?:\.\d+)?(?:e[+-]?\d+)?)"
    r"|(?P<space>\s+)|(?P<sign>.)"
)
_EXPONENT = re.compile(  # in parentheses, which a superscript does not need, or one name or number
    r"\^(?:\((?P<group>(?:[^()]|\([^()]*\))*)\)|(?P<token>-?(?:\d+(?:\.\d+)?|[^\W\d]\w*)))"
)
_NAME_PATTERN = re.compile(r"([A-Za-z][\u0304\u0307]?\w+|[A-Za-z][\u0304\u0307])")
_LATEX_SIGNS = {
    "×": r"\times ",
    "−": "-",
    "∂": r"\partial ",
    "·": r"\cdot ",
    "→": r"\rightarrow ",
    "…": r"\ldots ",
    "∞": r"\infty ",
    "√": r"\surd ",
    "%": r"\% ",
    "#": r"\# ",
    "&": r"\& ",
    "_": r"\_",
    "$": r"\$",
    "{": r"\{",
    "}": r"\}",
    "~": r"\sim ",
    "\\": r"\backslash ",
}
_ACCENTS = {"\u0304": r"\bar", "\u0307": r"\dot"}


class Run(NamedTuple):
    """Text of one style; `level` is -1 for a subscript, 1 for a superscript."""

    text: str
    style: str = "roman"
    level: int = 0


def split_runs(text: str) -> list[Run]:
    """Split a formula into runs.

    Examples
    --------
    >>> [run.text for run in split_runs("v4 = log(x1)")]
    ['v', '4', ' = log ', 'x', '1']
    """
    text = _WITHOUT_PARENTHESES.sub(r"\1 \2", text)
    found: list[Run] = []
    end = 0
    for power in _EXPONENT.finditer(text):
        raised = _split_tokens(power["group"] or power["token"])
        found += _split_tokens(text[end : power.start()])
        found += [run._replace(level=1) for run in raised]
        end = power.end()
    return _join_runs(found + _split_tokens(text[end:]))


def _split_tokens(text: str) -> list[Run]:
    found: list[Run] = []
    for match in _TOKEN.finditer(text):
        token = match.group()
        found += _name(token) if match.lastgroup == "name" else [Run(token.replace("-", "−"))]
    return found


def _name(name: str) -> list[Run]:
    """Split a name: a letter is italic, digits after it are a subscript; a word is upright."""
    letter = re.match(r"[^\W\d_][\u0304\u0307]?", name)
    assert letter is not None
    rest = name[letter.end() :]
    if rest.isdigit():
        return [Run(letter.group(), "italic"), Run(rest, level=-1)]
    if rest.startswith("_") and rest.strip("_"):
        return [Run(letter.group(), "italic"), Run(rest.strip("_"), level=-1)]
    return [Run(name, "roman" if rest else "italic")]


def _join_runs(found: list[Run]) -> list[Run]:
    """Join neighbouring runs of one style; a name keeps a run of its own."""
    result: list[Run] = []
    for run in found:
        last = result[-1] if result else None
        if last and last.style == run.style == "roman" and last.level == run.level:
            result[-1] = Run(last.text + run.text, run.style, run.level)
        else:
            result.append(run)
    return result


def show_minus(text: str) -> str:
    """Write a minus sign for the hyphen that stands for it; the hyphens of words stay.

    Everything that is shown has the sign; what is there to be copied as code has the hyphen.

    Examples
    --------
    >>> show_minus("v1 - v2 = -2 - (-1e-05), a pre-order; n x^(n-1)")
    'v1 − v2 = −2 − (−1e−05), a pre-order; n x^(n−1)'
    """
    return re.sub(r"(?<![\w.])-|(?<= )-(?= )|(?<=\de)-(?=\d)|(?<=\^\(\w)-(?=\d)", "−", text)


def text_width(text: str, size: float, code: bool = False) -> float:
    """Return the width of a formula, in the unit of `size`; never too small.

    Examples
    --------
    >>> text_width("x1", 10) < text_width("x1 + x2", 10) < text_width("x1 + x2", 12)
    True
    """
    if code:
        return len(_drop_accents(text)) * _CODE / 1000 * size
    total = 0.0
    for run in split_runs(text):
        scale = SCRIPT_SIZE if run.level else 1.0
        total += scale * sum(_WIDTHS.get(letter, _UNKNOWN) for letter in _drop_accents(run.text))
    return total / 1000 * size * _SLACK


def _drop_accents(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFC", text) if not unicodedata.combining(c))


def to_latex(text: str) -> str:
    r"""Write a formula for TeX's math mode.

    Examples
    --------
    >>> print(to_latex("v4 = log(x1) + x2^2"))
    v_{4} = \log x_{1} + x_{2}^{2}
    >>> print(to_latex("v1 = x^(-2) = 2.5e-07"))
    v_{1} = x^{-2} = 2.5 \times 10^{-7}
    """
    levels = groupby(split_runs(text), lambda run: run.level)
    form = {0: "{}", -1: "_{{{}}}", 1: "^{{{}}}"}
    written = "".join(form[level].format("".join(map(_latex_run, runs))) for level, runs in levels)
    return re.sub(r"\s+", " ", latex_powers(written)).strip()


def _latex_run(run: Run) -> str:
    if run.style == "italic":
        return _latex_letter(run.text)
    words = _NAME_PATTERN.split(unicodedata.normalize("NFD", run.text))
    body = "".join(map(_latex_word, words))
    return re.sub(r"(?<=[\d,.)]) (?=\\mathrm)", r"\\ ", body)  # else TeX drops it


def _latex_letter(name: str) -> str:
    bare = unicodedata.normalize("NFD", name)
    if len(bare) == 2 and bare[1] in _ACCENTS:
        return f"{_ACCENTS[bare[1]]}{{{latex_letter(bare[0]).strip()}}}"
    if len(name) == 1:
        return latex_letter(name)
    return f"\\mathit{{{name}}}"


def _latex_word(word: str) -> str:
    if word in _FUNCTION_NAMES:
        return f"\\{word}"
    if word[1:2] in _ACCENTS:
        return f"{_ACCENTS[word[1]]}{{{_latex_word(word[0] + word[2:])}}}"
    if len(word) > 1 and word[0].isalpha():
        spelled = "".join("\\_" if letter == "_" else latex_letter(letter) for letter in word)
        return f"\\mathrm{{{spelled.strip()}}}"
    signs = "".join(_LATEX_SIGNS.get(letter) or latex_letter(letter) for letter in word)
    return re.sub(r"(?<=\d),(?=\d)", "{,}", signs)  # inside a number


def latex_code(text: str) -> str:
    r"""Write a line of code for TeX: ``\texttt{x\_1}``.

    Examples
    --------
    >>> print(latex_code("a_1 = {}"))
    \texttt{a\_1 = \{\}}
    """
    return f"\\texttt{{{latex_text(text)}}}"


def latex_text(text: str) -> str:
    r"""Write plain text for TeX: ``x\_1``.

    Examples
    --------
    >>> print(latex_text("the slope of θ_1"))
    the slope of $\theta$\_1
    """
    special = {"\\": r"\textbackslash{}", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}"}
    special |= {letter: f"\\{letter}" for letter in "_{}#$%&"}
    special |= {"×": r"$\times$", "…": r"\ldots{}", "→": r"$\rightarrow$", "−": "$-$"}
    special |= {"·": r"$\cdot$", "–": "--", "∂": r"$\partial$"}
    special |= {letter: f"$^{digit}$" for digit, letter in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")}
    special |= {letter: f"${latex_letter(letter).strip()}$" for letter in text if _is_greek(letter)}
    return "".join(special.get(letter) or latex_letter(letter) for letter in text)


def _is_greek(letter: str) -> bool:
    return unicodedata.name(letter, "").startswith("GREEK")
