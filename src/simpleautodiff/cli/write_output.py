"""Text to terminals, files and pipes, whatever they can take."""

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


def write(text: str, output: str | None = None, *, fit: bool = False) -> None:
    """Write to a file, or to standard output; `fit` cuts lines that a terminal would wrap."""
    text = text.rstrip("\n")
    if output and output != "-":
        _save(text, output)
        return
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    if fit and sys.stdout.isatty():
        text = fitted(text, shutil.get_terminal_size().columns)
    print(text, flush=True)


def _save(text: str, output: str) -> None:
    with open(output, "w", encoding="utf-8") as file:
        file.write(text + "\n")
    if sys.stderr is not None and sys.stderr.isatty():
        print(f"wrote {output}", file=sys.stderr)


def fitted(text: str, width: int) -> str:
    """Cut the lines that are longer than a terminal is wide, and say so.

    Examples
    --------
    >>> print(fitted("v1 = log(x1)", 9))
    v1 = log…
    (cut to 9 columns; --output FILE, or a pipe, has all)
    """
    lines = [_cut(line, width) for line in text.splitlines()]
    if "\n".join(lines) == text:
        return text
    return "\n".join([*lines, f"(cut to {width} columns; --output FILE, or a pipe, has all)"])


def wrapped(line: str, width: int = 80) -> str:
    """Break a line of words that is too long for a terminal of 80 columns.

    Examples
    --------
    >>> print(wrapped("v1 = log(x1), so ∂v1/∂x1 = 1/x1", 20))
    v1 = log(x1), so
      ∂v1/∂x1 = 1/x1
    """
    options = {"break_long_words": False, "break_on_hyphens": False}
    return textwrap.fill(line, width, subsequent_indent="  ", **options)  # type: ignore[arg-type]


def paragraph(text: str) -> str:
    """Wrap each line of a text; all but the first are indented."""
    first, *others = text.splitlines()
    indented = [textwrap.indent(wrapped(line, 78), "  ") for line in others]
    return "\n".join([wrapped(first), *indented])


def _cut(line: str, width: int) -> str:
    if columns(line) <= width:
        return line
    while columns(line) > width - 1:
        line = line[:-1]
    return f"{line}…"


def columns(text: str) -> int:
    """Count the columns of a line: combining marks and colours have none.

    Examples
    --------
    >>> columns("x̄1"), columns(f"{BOLD}v1{PLAIN}")
    (2, 2)
    """
    text = re.sub(r"\x1b\[[0-9;]*m", "", text)
    return sum(not unicodedata.combining(character) for character in text)


def title(text: str) -> str:
    """Return a headline, in bold where the terminal has it."""
    return f"{BOLD}{text}{PLAIN}" if coloured(sys.stdout) else text


def coloured(stream: TextIO | None) -> bool:
    """Tell whether a stream is a terminal with colours that nobody has switched off."""
    if stream is None or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return stream.isatty()


def complain(message: str, code: int, file: str = "") -> int:
    """Write an error to standard error and return the exit code; places in `file` are told."""
    label = "simpleautodiff:"
    if coloured(sys.stderr):
        label = f"{RED}{label}{PLAIN}"
    _say(f"{label} {_folded(_without_place(message, file))}")
    return code


def _folded(message: str) -> str:
    """Break long lines on a terminal; what is indented is shown as it is."""
    if sys.stderr is None or not sys.stderr.isatty():
        return message
    width = shutil.get_terminal_size().columns - len("simpleautodiff: ")
    lines = message.splitlines()
    return "\n".join(line if line.startswith(" ") else wrapped(line, width) for line in lines)


def warn(messages: Iterable[str], file: str = "") -> None:
    """Write each warning once; places in `file` are told."""
    for message in dict.fromkeys(_without_place(message, file) for message in messages):
        _say(_folded(f"warning: {message}"))


def let_go() -> int:
    """Leave quietly when nobody reads on: what is still buffered goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _say(text: str) -> None:
    if isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr.reconfigure(errors="replace")
    print(text, file=sys.stderr)


def _without_place(message: str, file: str) -> str:
    """Drop the source line of a message, unless it is one of the user's file."""
    if file and f"(at {file}:" in message:
        return message
    return re.sub(r" \(at [^\n]*\)", "", message)
