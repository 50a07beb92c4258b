"""Text to terminals, files and pipes, whatever they support."""

from __future__ import annotations

import io
import os
import re
import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Iterable
from typing import TextIO

BOLD, RED, PLAIN = "\x1b[1m", "\x1b[31m", "\x1b[0m"


def write(text: str, output: str | None = None, *, fit: bool = False, prose: bool = False) -> None:
    """Write to a file, or to standard output; `fit` breaks lines that a terminal would wrap.

    What is `prose` is broken also where there is no terminal, if COLUMNS says how wide it is to be.
    """
    text = text.rstrip("\n")
    if output and output != "-":
        _save(text, output)
        return
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    if (fit and sys.stdout.isatty()) or (prose and "COLUMNS" in os.environ):
        text = fit_lines(text, terminal_width())
    print(text, flush=True)


def terminal_width() -> int:
    """Return how many columns the terminal has; 80 if there is none."""
    return shutil.get_terminal_size().columns


def _save(text: str, output: str) -> None:
    with open(output, "w", encoding="utf-8") as file:
        file.write(text + "\n")
    tell_written(output)


def tell_written(output: str) -> None:
    """Say on a terminal which file was written."""
    if sys.stderr is not None and sys.stderr.isatty():
        print(f"wrote {output}", file=sys.stderr)


def fit_lines(text: str, width: int) -> str:
    """Break the lines that are longer than a terminal is wide, before = signs where it can be.

    Where one row of a table is too long, all its rows lose their columns, so that they look alike.

    Examples
    --------
    >>> print(fit_lines("v1  = log(x1) = log(2)  = 0.693", 18))
    v1 = log(x1)
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
        [line] if drawn and count_columns(line) <= width else _break_line(line, width)
        for line in lines
    ]
    return "\n".join(part for some in parts for part in some)


def _break_line(line: str, width: int) -> list[str]:
    if not line.strip("─"):
        return [line[:width]]
    indent = line[: len(line) - len(line.lstrip())]
    first, *others = re.split(r" +(?== )| {2,}", line.strip())
    lines = [indent + first]
    for piece in others:
        space = " " if piece.startswith("=") else "   "
        if count_columns(lines[-1] + space + piece) <= width:
            lines[-1] += space + piece
        else:
            lines.append(f"{indent}    {piece}")
    return [part for line in lines for part in _break_words(line, width, f"{indent}      ")]


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


def wrap_line(line: str, width: int = 80) -> str:
    """Wrap a line of words that is too long for a terminal.

    Examples
    --------
    >>> print(wrap_line("v1 = log(x1), so ∂v1/∂x1 = 1/x1", 20))
    v1 = log(x1), so
      ∂v1/∂x1 = 1/x1
    """
    options = {"break_long_words": False, "break_on_hyphens": False}
    return textwrap.fill(line, width, subsequent_indent="  ", **options)  # type: ignore[arg-type]


def paragraph(text: str) -> str:
    """Wrap each line of a text at the terminal's width; all but the first are indented."""
    width = terminal_width()
    first, *others = text.splitlines()
    indented = [textwrap.indent(wrap_line(line, width - 2), "  ") for line in others]
    return "\n".join([wrap_line(first, width), *indented])


def count_columns(text: str) -> int:
    """Count the columns of a line: combining characters and colours have none.

    Examples
    --------
    >>> count_columns("x̄1"), count_columns(f"{BOLD}v1{PLAIN}")
    (2, 2)
    """
    text = re.sub(r"\x1b\[[0-9;]*m", "", text)
    return sum(not unicodedata.combining(character) for character in text)


def bold_title(text: str) -> str:
    """Return a headline, in bold if the terminal supports it."""
    return f"{BOLD}{text}{PLAIN}" if has_colours(sys.stdout) else text


def has_colours(stream: TextIO | None) -> bool:
    """Tell whether a stream is a terminal with colours that are not switched off."""
    if stream is None or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return stream.isatty()


def complain(message: str, code: int, file: str = "") -> int:
    """Write an error to standard error and return the exit code; locations in `file` are kept."""
    label = "simpleautodiff:"
    if has_colours(sys.stderr):
        label = f"{RED}{label}{PLAIN}"
    _say(f"{label} {_wrap_message(_drop_location(message, file))}")
    return code


def _wrap_message(message: str) -> str:
    """Wrap long lines on a terminal; indented lines stay as they are."""
    if sys.stderr is None or not sys.stderr.isatty():
        return message
    width = terminal_width() - len("simpleautodiff: ")
    lines = message.splitlines()
    return "\n".join(line if line.startswith(" ") else wrap_line(line, width) for line in lines)


def warn(messages: Iterable[str], file: str = "") -> None:
    """Write each warning once; locations in `file` are kept."""
    for message in dict.fromkeys(_drop_location(message, file) for message in messages):
        _say(_wrap_message(f"warning: {message}"))


def note(message: str) -> None:
    """Write a note to standard error; the command goes on."""
    _say(_wrap_message(f"note: {message}"))


def exit_quietly() -> int:
    """Exit quietly when the reader is gone: discard what is still buffered."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _say(text: str) -> None:
    if isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr.reconfigure(errors="replace")
    print(text, file=sys.stderr)


def _drop_location(message: str, file: str) -> str:
    """Drop the source line of a message, unless it is in the user's file."""
    if file and f"(at {file}:" in message:
        return message
    return re.sub(r" \(at [^\n]*\)", "", message)
