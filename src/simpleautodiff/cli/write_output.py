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

from simpleautodiff.display.notation.line_breaks import fit_lines

BOLD, RED, PLAIN = "\x1b[1m", "\x1b[31m", "\x1b[0m"


def write(text: str, output: str | None = None, *, fit: bool = False) -> None:
    """Write to a file, or to standard output; `fit` breaks lines for which there is no room."""
    text = text.rstrip("\n")
    if output and output != "-":
        _save(text, output)
        return
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    width = text_width()
    if fit and width is not None:
        text = fit_lines(text, width)
    print(text, flush=True)


def terminal_width() -> int:
    """Return how many columns the terminal has; 80 if there is none."""
    return shutil.get_terminal_size().columns


def text_width() -> int | None:
    """Return how wide text may be: as the terminal, or as COLUMNS says; a pipe has no limit."""
    limited = sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdigit()
    return terminal_width() if limited else None


def _save(text: str, output: str) -> None:
    with open(output, "w", encoding="utf-8") as file:
        file.write(text + "\n")
    tell_written(output)


def tell_written(output: str) -> None:
    """Say on a terminal which file was written."""
    if sys.stderr is not None and sys.stderr.isatty():
        print(f"wrote {output}", file=sys.stderr)


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
    _say(f"{label} {_wrap_message(_disarm(_drop_location(message, file)))}")
    return code


def _wrap_message(message: str) -> str:
    """Wrap long lines on a terminal; indented lines stay as they are."""
    if sys.stderr is None or not sys.stderr.isatty():
        return message
    width = terminal_width() - len("simpleautodiff: ")
    lines = message.splitlines()
    return "\n".join(line if line.startswith(" ") else wrap_line(line, width) for line in lines)


def _disarm(message: str) -> str:
    """Replace what would control the terminal, such as escape sequences in a formula or a name."""
    return "".join(
        sign
        if sign == "\n" or unicodedata.category(sign)[0] != "C"
        else "\N{REPLACEMENT CHARACTER}"
        for sign in message
    )


def warn(messages: Iterable[str], file: str = "") -> None:
    """Write each warning once; locations in `file` are kept."""
    for message in dict.fromkeys(_drop_location(message, file) for message in messages):
        _say(_wrap_message(f"warning: {_disarm(message)}"))


def note(message: str) -> None:
    """Write a note to standard error; the command goes on."""
    _say(_wrap_message(f"note: {_disarm(message)}"))


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
