"""Lines broken for a narrow terminal: before = signs, then between words."""

from __future__ import annotations

import re
import textwrap
import unicodedata

_NAME_BEFORE_SIGN = re.compile(r" *\S+ {1,9}(?== )")  # in its column, not before an empty one


def fit_lines(text: str, width: int) -> str:
    """Break the lines that are longer than a terminal is wide, before = signs where it can be.

    Where one row of a table is too long, all its rows lose their columns, so that they look alike;
    their first = signs stay below each other.

    Examples
    --------
    >>> print(fit_lines("v1  = log(x1) = log(2)  = 0.693", 18))
    v1  = log(x1)
        = log(2)
        = 0.693
    """
    return "\n\n".join(_fit_block(block, width) for block in text.split("\n\n"))


def _fit_block(block: str, width: int) -> str:
    lines = block.splitlines()
    if all(count_columns(line) <= width for line in lines):
        return block
    drawn = "│" in block
    parts = [
        [line] if drawn and count_columns(line) <= width else break_line(line, width)
        for line in lines
    ]
    return "\n".join(part for some in parts for part in some)


def break_line(line: str, width: int) -> list[str]:
    """Break one line before = signs and at columns, and where that is not enough, at spaces."""
    if not line.strip("─"):
        return [line[:width]]
    indent = line[: len(line) - len(line.lstrip())]
    name = _NAME_BEFORE_SIGN.match(line)
    start = name[0] if name else indent
    below = " " * count_columns(start) if name else f"{indent}    "
    first, *others = re.split(r" +(?== )| {2,}", line[len(start) :].strip())
    lines = [start + first]
    for piece in others:
        space = " " if piece.startswith("=") else "   "
        if count_columns(lines[-1] + space + piece) <= width:
            lines[-1] += space + piece
        else:
            lines.append(below + piece)
    return [part for line in lines for part in _break_words(line, width, f"{below}  ")]


def _break_words(line: str, width: int, indent: str) -> list[str]:
    if count_columns(line) <= width:
        return [line]
    lead = line[: len(line) - len(line.lstrip())]
    return textwrap.wrap(
        line.lstrip(),
        width,
        initial_indent=lead,
        subsequent_indent=indent,
        break_on_hyphens=False,
    )


def count_columns(text: str) -> int:
    r"""Count the columns of a line: combining characters and colours have none.

    Examples
    --------
    >>> count_columns("x̄1"), count_columns("\x1b[1mv1\x1b[0m")
    (2, 2)
    """
    text = re.sub(r"\x1b\[[0-9;]*m", "", text)
    return sum(not unicodedata.combining(character) for character in text)
