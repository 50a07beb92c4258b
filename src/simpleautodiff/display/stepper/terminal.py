"""The stepper in a terminal: one key for each step, forward and backward."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from simpleautodiff.display.stepper.stepper import Stepper
from simpleautodiff.errors import AutodiffError
from simpleautodiff.program.program import output_names

HELP = """\
  n  next step (also space, enter)
  p  previous step (undo)
  c  continue to a breakpoint
  b  breakpoint: b v4 | b line 12 | b > 100 | b nan
  r  rewind to the start
  w  where: everything known so far
  ?  these keys
  q  quit"""
NEXT, BACK = "n \r\n", "p\x7f\b"


def interact(stepper: Stepper, keys: TextIO | None = None, screen: TextIO | None = None) -> Stepper:
    """Step through a derivative by keys until `q` or the end of the input.

    In a terminal a key works at once; from a pipe each character is a key, line ends are skipped.

    Parameters
    ----------
    stepper
        What `step` returned.
    keys, screen
        The streams of keys and text; by default the standard streams.

    Examples
    --------
    >>> import io, sys
    >>> import simpleautodiff as ad
    >>> s = interact(ad.step(lambda x: x * x, 3.0), io.StringIO("nnpq"), sys.stdout)
    ... # doctest: +ELLIPSIS
    build, order, forward sweep with respect to x: 8 steps
      n  next step...
    [1/8] build: x = 3
    [2/8] build: v1 = x × x = 3 × 3 = 9
    [1/8] build: x = 3
    """
    keys, screen = keys or sys.stdin, screen or sys.stdout
    print(
        f"build, order, {stepper.mode} sweep {_describe_root(stepper)}: {len(stepper)} steps",
        HELP,
        sep="\n",
        file=screen,
        flush=True,
    )
    with _open_keys(keys) as (key, rest_of_line):
        while (pressed := key()) not in ("", "q", "\x03", "\x04"):
            print(_handle_key(stepper, pressed, rest_of_line), file=screen, flush=True)
    return stepper


def _describe_root(stepper: Stepper) -> str:
    """Say what a sweep starts from: ``with respect to x``, or ``of y, which is v5``."""
    if stepper.mode == "forward":
        return f"with respect to {stepper.root}"
    program = stepper.program
    called = {program.names[node]: name for name, node in output_names(program)}
    name = called.get(stepper.root, stepper.root)
    return f"of {name}" + (f", which is {stepper.root}" if name != stepper.root else "")


def _handle_key(stepper: Stepper, key: str, rest_of_line: Callable[[], str]) -> str:
    """Carry out a key, and return what to print."""
    if key in NEXT and not stepper.done:
        stepper.next()
    elif key in NEXT:
        return "That was the last step: p goes back, q quits."
    elif key in BACK:
        stepper.back()
    elif key == "c":
        stepper.run()
    elif key == "r":
        stepper.rewind()
    elif key == "b":
        return _set_breakpoint(stepper, rest_of_line().strip())
    elif key == "w":
        return str(stepper)
    else:
        return HELP
    return stepper.headline


def _set_breakpoint(stepper: Stepper, text: str) -> str:
    """Set the breakpoint that the text describes: `v4`, `line 12`, `> 100` or `nan`."""
    kind, _, rest = text.partition(" ")
    try:
        if kind == "nan":
            stepper.stop(nan=True)
        elif kind == "line" and rest:
            stepper.stop(line=int(rest) if rest.isdigit() else rest)
        elif kind.startswith(">"):
            stepper.stop(over=float(text[1:]))
        elif kind:
            stepper.stop(node=kind)
        else:
            return "a breakpoint is a node, `line 12`, `> 100` or `nan`"
    except (AutodiffError, ValueError) as error:
        return f"no breakpoint: {error}"
    return f"c stops at: {text}"


Reader = tuple[Callable[[], str], Callable[[], str]]


@contextmanager
def _open_keys(keys: TextIO) -> Iterator[Reader]:
    """Return a function that reads one key, and one that reads a line, of a terminal or a pipe."""
    if not keys.isatty():
        yield lambda: _character(keys), keys.readline
        return
    try:
        import termios
        import tty
    except ImportError:
        yield _windows_key, keys.readline
        return
    handle = keys.fileno()
    before = termios.tcgetattr(handle)

    def line() -> str:
        termios.tcsetattr(handle, termios.TCSADRAIN, before)
        print("breakpoint: ", end="", flush=True)
        text = keys.readline()
        tty.setcbreak(handle, termios.TCSADRAIN)
        return text

    try:
        tty.setcbreak(handle, termios.TCSADRAIN)
        yield lambda: _read_arrow(keys.read(1), lambda: keys.read(1)), line
    finally:
        termios.tcsetattr(handle, termios.TCSADRAIN, before)


def _character(keys: TextIO) -> str:
    key = keys.read(1)
    while key in ("\n", "\r"):
        key = keys.read(1)
    return key


def _read_arrow(key: str, more: Callable[[], str]) -> str:
    """Return n or p for the arrow keys, which are sent as three characters."""
    if key != "\x1b":
        return key
    more()
    return {"C": "n", "B": "n", "D": "p", "A": "p"}.get(more(), "?")


def _windows_key() -> str:
    import msvcrt

    return str(msvcrt.getwch())  # type: ignore[attr-defined,unused-ignore]
