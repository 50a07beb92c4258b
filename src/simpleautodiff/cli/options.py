"""The commands and their options."""

from __future__ import annotations

import argparse
import difflib
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from simpleautodiff import __version__
from simpleautodiff.cli import write_output

EXAMPLE = "log(x1) + x1*x2 - sin(x2)"
EXAMPLE_POINT = ("x1=2", "x2=5")
MAX_ORDER = 8
SUFFIXES = {"txt": "text", "tex": "latex", "htm": "html", "md": "markdown"}
MODES = ("forward", "reverse")
SHAPES = ("node", "value", "tape", "grad", "dual")
TABLES = "values, partials, tangents, adjoints, order; some of them"
SHOWS = ("plain", "values", "tangents", "adjoints", "construction", "reachable", "order")


@dataclass(frozen=True)
class Command:
    """A command: its purpose, its formats (the first is the default), and its options."""

    summary: str
    formats: tuple[str, ...] = ()
    options: tuple[str, ...] = ("wrt", "mode", "order", "strict")
    takes: str = "formula"


COMMANDS = {
    "explain": Command(
        "the three tables, the graph and the words (the default)",
        ("text", "markdown", "latex", "html", "json", "svg", "tikz"),
    ),
    "grad": Command("the derivative, in 17 significant digits", ("text", "json")),
    "table": Command(
        "the values; with --mode, the forward or the reverse sweep",
        ("text", "markdown", "latex", "html", "json"),
    ),
    "graph": Command(
        "the computational graph",
        ("text", "svg", "tikz", "html"),
        ("wrt", "mode", "order", "show", "strict"),
    ),
    "source": Command("the derivative as straight-line Python", ("text", "latex")),
    "step": Command("go through it node by node, in this terminal", (), ("mode", "order")),
    "explore": Command("a page in the browser; --output writes it", (), ("port",)),
    "check": Command(
        "forward, reverse and differences side by side",
        ("text", "json"),
        ("wrt", "order", "strict"),
    ),
    "grade": Command(
        "name what is wrong with an engine of yours: mine.py, or a folder of them",
        ("text", "json", "junit", "html", "csv"),
        ("task", "seed", "shape", "names"),
        "engine",
    ),
    "exercise": Command(
        "a table with blanks; with --quiz it asks for them in this terminal",
        ("text", "latex", "html"),
        ("about", "wrt", "seed", "answers", "quiz"),
    ),
    "paper": Command("write every table and figure of the paper", (), (), "folder"),
    "cache": Command("where compiled functions are kept; --clear removes them", (), (), "clear"),
}

# File extensions that determine a format; others, such as .out, are text.
EXTENSIONS = {f for c in COMMANDS.values() for f in c.formats} | {"pdf", "png", "jpg", "gif", "eps"}

EPILOG = """\
FORMULA is one such as "log(x1) + x1*x2 - sin(x2)", or several lines, as in
"a = x*y; sin(a) + a"; or model.py:f, a function in a file of yours, which is
imported; or - to read a formula from standard input. Then a value for each
variable: x1=2 x2=pi/2.

Outside the domain of a function a warning is written, and the derivative of
what is nan is nan; with --strict it is an error.

exit codes: 0 done; 1 derivatives disagree, or a function or a file failed, or
            with --strict a domain was left; 2 the input cannot be used
"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Report an error like all others, and exit with code 2."""
        unknown = re.match(r"unrecognized arguments: (--\S+)", message)
        known = [name for action in self._actions for name in action.option_strings]
        near = difflib.get_close_matches(unknown[1], known, 1) if unknown else []
        hint = f"; did you mean {near[0]}?" if near else ""
        raise SystemExit(write_output.complain(f"{message}{hint}\nsee {self.prog} --help", 2))


def parse_options(argv: Sequence[str]) -> argparse.Namespace:
    """Find the command, parse its options, and fill in the defaults."""
    words = list(argv)
    if words[:1] and words[0] in ("-h", "--help", "--version"):
        _overview(words[0])
    named = bool(words) and words[0] in COMMANDS
    command = words.pop(0) if named else "explain"
    parser = _parser(command)
    options = parser.parse_intermixed_args(_shield_minus(words))
    options.command = command
    if not named:
        _check_misspelt(parser, words)
    _fill(parser, options)
    return options


def _overview(option: str) -> NoReturn:
    if option == "--version":
        write_output.write(f"simpleautodiff {__version__}")
    else:
        write_output.write(_help())
    raise SystemExit(0)


def _help() -> str:
    width = max(map(len, COMMANDS)) + 2
    lines = [
        "usage: simpleautodiff [COMMAND] FORMULA [NAME=VALUE ...] [options]",
        "",
        "Show how a derivative is computed: values, forward sweep, reverse sweep.",
        "",
        "commands:",
        *(f"  {name:{width}}{command.summary}" for name, command in COMMANDS.items()),
        "",
        'example: simpleautodiff "x**2 * sin(y)" x=3 y=0.5 --wrt y',
        "options: simpleautodiff COMMAND --help",
        "",
        EPILOG.rstrip(),
    ]
    return "\n".join(lines)


def _parser(name: str) -> argparse.ArgumentParser:
    command = COMMANDS[name]
    parser = _Parser(
        prog=f"simpleautodiff {name}",
        description=textwrap.fill(f"{name}: {command.summary}", 78),
        epilog=EPILOG if command.takes == "formula" else None,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    if command.takes == "formula":
        default = None if name == "explore" else EXAMPLE
        parser.add_argument("formula", nargs="?", default=default, metavar="FORMULA")
        parser.add_argument("point", nargs="*", metavar="NAME=VALUE")
    elif command.takes == "engine":
        parser.add_argument("engine", metavar="FILE")
    elif command.takes == "clear":
        parser.add_argument("--clear", action="store_true", help="remove them all")
    else:
        parser.add_argument("folder", nargs="?", default="paper", metavar="FOLDER")
    for option in command.options:
        parser.add_argument(f"--{option}", **_OPTIONS[option])
    if command.formats:
        text = f"{', '.join(command.formats)}; text, or as the name of --output ends"
        parser.add_argument("--format", choices=command.formats, metavar="FORMAT", help=text)
    if command.formats or name == "explore":
        parser.add_argument("--output", metavar="FILE", help="write to this file")
    return parser


def _order(text: str) -> int:
    if not text.strip().isdigit() or not 1 <= int(text) <= MAX_ORDER:
        raise argparse.ArgumentTypeError(f"an integer from 1 to {MAX_ORDER}, not {text!r}")
    return int(text)


def _port(text: str) -> int:
    if not text.strip().isdigit() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"a port is a number up to 65535, not {text!r}")
    return int(text)


_OPTIONS: dict[str, dict[str, Any]] = {
    "wrt": {"metavar": "NAME", "help": "with respect to this variable; for grad, some: x,y"},
    "mode": {"choices": MODES, "metavar": "MODE", "help": "the sweep: forward or reverse"},
    "order": {"type": _order, "default": 1, "metavar": "N", "help": "second derivatives: 2"},
    "show": {"choices": SHOWS, "metavar": "WHAT", "help": f"in the graph: {', '.join(SHOWS)}"},
    "strict": {"action": "store_true", "help": "outside a domain: an error and exit code 1"},
    "about": {"default": "values,adjoints", "metavar": "TABLES", "help": TABLES},
    "answers": {"action": "store_true", "help": "the answer sheet"},
    "quiz": {"action": "store_true", "help": "ask for the blanks one after the other"},
    "task": {"default": "", "metavar": "TASK", "help": "one task alone: order, sum, rules, ..."},
    "seed": {
        "type": int,
        "default": 0,
        "metavar": "N",
        "help": "the same number, the same programs and blanks",
    },
    "shape": {"default": "", "choices": SHAPES, "metavar": "SHAPE", "help": ", ".join(SHAPES)},
    "names": {"default": "", "metavar": "NAMES", "help": "node=Scalar,backward=run"},
    "port": {"type": _port, "default": 8000, "metavar": "N", "help": "8000 if not given"},
}


def _shield_minus(words: Sequence[str]) -> list[str]:
    """Keep a formula that begins with a minus from being parsed as an option."""
    option = re.compile(r"-h|-|--[a-z]{2,}(=.*)?", re.DOTALL)
    return [
        f" {word}" if word.startswith("-") and not option.fullmatch(word) else word
        for word in words
    ]


def _check_misspelt(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Detect `gard "x**2" x=3`: a word that is no formula, before one that is no value."""
    plain = [word for word in words if not word.startswith("-")]
    if len(plain) > 1 and plain[0].isidentifier() and "=" not in plain[1]:
        near = difflib.get_close_matches(plain[0], COMMANDS, 1)
        if near:
            parser.prog = "simpleautodiff"
            parser.error(f"there is no command {plain[0]!r}; did you mean {near[0]}?")


def _fill(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Fill in the example's point, and the format that a file name implies."""
    if getattr(options, "formula", None) == EXAMPLE and not options.point:
        options.point = list(EXAMPLE_POINT)
    formats = COMMANDS[options.command].formats
    if formats and options.format is None:
        ending = str(options.output or "").rpartition(".")[2].lower()
        ending = SUFFIXES.get(ending, ending)
        if ending == "latex" and "tikz" in formats and "latex" not in formats:
            ending = "tikz"
        if ending in EXTENSIONS and ending not in formats:
            parser.error(
                f"{options.command} cannot write {options.output}; it writes {', '.join(formats)}"
            )
        options.format = ending if ending in formats else formats[0]
