"""The commands and their options."""

from __future__ import annotations

import argparse
import difflib
import os
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from simpleautodiff import __version__
from simpleautodiff.cli import write_output
from simpleautodiff.cli.completion import SHELLS

EXAMPLE = "log(x1) + x1*x2 - sin(x2)"
EXAMPLE_POINT = ("x1=2", "x2=5")
MAX_ORDER = 8
SUFFIXES = {"txt": "text", "tex": "latex", "htm": "html", "md": "markdown", "xml": "junit"}
MODES = ("forward", "reverse")
ENGINE_SHAPES = ("node", "value", "tape", "grad", "dual", "feed", "partials")
TABLES = (
    "some of values, partials, tangents, adjoints, order, with commas between; "
    "if not given, values,adjoints"
)
SHOWS = ("plain", "values", "tangents", "adjoints", "both", "construction", "reachable", "order")


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
        ("wrt", "mode", "order", "digits", "unfold", "strict"),
    ),
    "grad": Command("the derivatives, in 17 significant digits", ("text", "json")),
    "table": Command(
        "the values; with --mode, the forward or the reverse sweep",
        ("text", "markdown", "latex", "html", "json"),
        ("wrt", "mode", "order", "digits", "unfold", "strict"),
    ),
    "graph": Command(
        "the computational graph",
        ("text", "svg", "tikz", "html", "pdf", "png"),
        ("wrt", "mode", "order", "show", "digits", "strict"),
    ),
    "source": Command("the derivative as straight-line Python", ("text", "latex")),
    "step": Command(
        "go through it node by node, in this terminal", (), ("mode", "order", "digits")
    ),
    "explore": Command("a page in the browser; --output writes it", (), ("port",)),
    "check": Command(
        "forward, reverse and differences side by side",
        ("text", "json"),
        ("wrt", "order", "strict"),
    ),
    "grade": Command(
        "what is wrong with an engine of yours, or with a folder of them",
        ("text", "json", "junit", "html", "csv"),
        ("task", "seed", "shape", "names", "needs"),
        "engine",
    ),
    "exercise": Command(
        "a table with blanks; --quiz asks for them in this terminal",
        ("text", "latex", "html"),
        ("about", "wrt", "seed", "answers", "quiz"),
    ),
    "paper": Command("write every table and figure of the paper", (), (), "folder"),
    "site": Command("write the playground, which runs in any browser", (), (), "folder"),
    "cache": Command("where compiled functions are kept; --clear removes them", (), (), "clear"),
    "functions": Command("what a formula can contain; with a word, only that", (), (), "word"),
    "completion": Command("a script for the Tab key of bash, zsh or fish", (), (), "shell"),
    "help": Command("this text; with a command, its options", (), (), "command"),
}


OTHER_WORDS = {  # for what a command does
    **dict.fromkeys(("figure", "draw", "plot", "diagram", "picture"), "graph"),
    **dict.fromkeys(("compare", "verify", "test", "differences"), "check"),
    **dict.fromkeys(("gradient", "derivative", "diff", "differentiate", "jacobian"), "grad"),
    "hessian": "grad --order 2",
    **dict.fromkeys(("values", "tangents", "adjoints", "trace"), "table"),
    **dict.fromkeys(("show", "words"), "explain"),
    **dict.fromkeys(("page", "serve", "browse", "web"), "explore"),
    **dict.fromkeys(("debug", "walk"), "step"),
    **dict.fromkeys(("code", "program", "python"), "source"),
    **dict.fromkeys(("quiz", "practise", "practice"), "exercise"),
    "list": "functions",
}
EPILOG = (
    'FORMULA is one such as "log(x1) + x1*x2 - sin(x2)", or several lines, as in '
    '"a = x*y; sin(a) + a"; or model.py:f, a function in a file of yours, which is imported; '
    "or - to read a formula from standard input. Then a value for each variable: x1=2 x2=pi/2.",
    "Outside the domain of a function a warning is written. Where the result is nan, grad answers "
    "nan, and a sweep says that its numbers are no derivatives; with --strict it is an error.",
    "exit codes: 0 done; 1 derivatives disagree, or a function or a file failed, or with --strict "
    "a domain was left; 2 the input cannot be used",
)


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
    if words[:1] == ["help"] and not re.match("-|.*=", "".join(words[1:2])):
        words = [_find_command(words[1]) if words[1:] else _overview("--help"), "--help"]
    named = bool(words) and words[0] in COMMANDS
    command = words.pop(0) if named else "explain"
    parser = make_parser(command)
    options = parser.parse_intermixed_args(_shield_minus(words))
    options.command = command
    if not named:
        _check_misspelt(parser, words)
    _fill(parser, options)
    return options


def _find_command(name: str) -> str:
    if name not in COMMANDS:
        near = _suggest_command(name)
        _Parser(prog="simpleautodiff").error(
            f"there is no command {name!r}" + (f"; did you mean {near}?" if near else "")
        )
    return name


def _suggest_command(name: str) -> str:
    """Return the command that is meant by a word, or is spelt nearly like it, if there is one."""
    near = difflib.get_close_matches(name, [*COMMANDS, *OTHER_WORDS], 1)
    return OTHER_WORDS.get(near[0], near[0]) if near else ""


def _overview(option: str) -> NoReturn:
    if option == "--version":
        write_output.write(f"simpleautodiff {__version__}")
    else:
        write_output.write(_help())
    raise SystemExit(0)


def _help() -> str:
    width = max(map(len, COMMANDS)) + 2
    lines = [
        _wrap("usage: simpleautodiff [COMMAND] FORMULA [NAME=VALUE ...] [options]", 7),
        "",
        _wrap("Show how a derivative is computed: values, forward sweep, reverse sweep."),
        "",
        "commands:",
        *(_wrap(f"  {name:{width}}{c.summary}", width + 2) for name, c in COMMANDS.items()),
        "",
        _wrap('example: simpleautodiff "x**2 * sin(y)" x=3 y=0.5 --wrt y', 9),
        "options: simpleautodiff COMMAND --help",
        "",
        _write_epilog(),
    ]
    return "\n".join(lines)


def _wrap(text: str, indent: int = 0) -> str:
    """Wrap a line at the terminal's width; all lines but the first are indented."""
    width = min(write_output.terminal_width(), 80) - 1
    return textwrap.fill(text, width, subsequent_indent=" " * indent, break_on_hyphens=False)


def _write_epilog() -> str:
    *paragraphs, codes = EPILOG
    return "\n\n".join([*map(_wrap, paragraphs), _wrap(codes, len("exit codes: "))])


def make_parser(name: str) -> argparse.ArgumentParser:
    """Make the parser of one command."""
    command = COMMANDS[name]
    parser = _Parser(
        prog=f"simpleautodiff {name}",
        description=_wrap(f"{name}: {command.summary}"),
        epilog=_write_epilog() if command.takes == "formula" else None,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    if command.takes == "formula":
        default = None if name == "explore" else EXAMPLE
        parser.add_argument("formula", nargs="?", default=default, metavar="FORMULA")
        parser.add_argument("point", nargs="*", metavar="NAME=VALUE")
    elif command.takes == "word":
        parser.add_argument("word", nargs="?", default="", metavar="WORD")
    elif command.takes == "command":
        parser.add_argument("word", nargs="?", choices=COMMANDS, metavar="COMMAND")
    elif command.takes == "shell":
        parser.add_argument("shell", nargs="?", default="bash", choices=SHELLS, metavar="SHELL")
    elif command.takes == "engine":
        parser.add_argument("engine", metavar="FILE")
    elif command.takes == "clear":
        parser.add_argument("--clear", action="store_true", help="remove them all")
    else:
        parser.add_argument("folder", nargs="?", default=name, metavar="FOLDER")
    for option in command.options:
        parser.add_argument(f"--{option}", **_OPTIONS[option])
    if command.formats:
        default = f"if not given, as the name of --output ends, or {command.formats[0]}"
        text = f"{', '.join(command.formats)}; {default}"
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


WRT = "with respect to this variable; grad takes several: x,y"
ORDERS = f"order of the derivative: 1 if not given, 2 for second derivatives, at most {MAX_ORDER}"
PORT = "port of the server on this machine; 8000 if not given"
ENGINE_NAMES = "what your engine calls them: node=Scalar,backward=run"

_OPTIONS: dict[str, dict[str, Any]] = {
    "wrt": {"metavar": "NAME", "help": WRT},
    "mode": {"choices": MODES, "metavar": "MODE", "help": "the sweep: forward or reverse"},
    "order": {"type": _order, "default": 1, "metavar": "N", "help": ORDERS},
    "digits": {"type": int, "metavar": "N", "help": "decimals of results: 3 if not given"},
    "show": {"choices": SHOWS, "metavar": "WHAT", "help": f"in the graph: {', '.join(SHOWS)}"},
    "unfold": {"action": "store_true", "help": "every step of a long program, none folded"},
    "strict": {"action": "store_true", "help": "outside a domain: an error and exit code 1"},
    "about": {"default": "values,adjoints", "metavar": "TABLES", "help": TABLES},
    "answers": {"action": "store_true", "help": "the answer sheet"},
    "quiz": {"action": "store_true", "help": "ask for the blanks one after the other"},
    "task": {"default": "", "metavar": "TASK", "help": "one task alone: order, sum, rules, ..."},
    "seed": {
        "type": int,
        "default": 0,
        "metavar": "N",
        "help": "for random choices: the same number gives the same programs and blanks",
    },
    "shape": {
        "default": "",
        "choices": ENGINE_SHAPES,
        "metavar": "SHAPE",
        "help": f"the kind of engine, if it is not found: {', '.join(ENGINE_SHAPES)}",
    },
    "names": {"default": "", "metavar": "NAMES", "help": ENGINE_NAMES},
    "needs": {
        "default": "add,mul",
        "metavar": "OPERATIONS",
        "help": "what an engine must have to pass; add,mul if not given",
    },
    "port": {"type": _port, "default": 8000, "metavar": "N", "help": PORT},
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
        near = _suggest_command(plain[0])
        if near or (len(plain[0]) > 2 and not plain[1][0].isdigit()):
            parser.prog = "simpleautodiff"
            hint = f"; did you mean {near}?" if near else ""
            parser.error(f"there is no command {plain[0]!r}{hint}")


def _fill(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Fill in the example's point, and the format that a file name implies."""
    if getattr(options, "formula", None) == EXAMPLE and not options.point:
        options.point = list(EXAMPLE_POINT)
    if COMMANDS[options.command].formats or options.command == "explore":
        _choose_format(parser, options)


def _choose_format(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Choose the format that the end of a file's name says, and refuse one that cannot be written.

    A name without an end, such as /dev/stderr, says nothing.
    """
    formats = COMMANDS[options.command].formats or ("html",)
    ending = os.path.splitext(str(options.output or ""))[1].lower().removeprefix(".")
    said = {SUFFIXES.get(ending, ending)} if ending else set()
    if ending == "tex":
        said = {"latex", "tikz"}
    if ending == "py" and options.command == "source":
        said = {"text"}
    possible = [format for format in formats if format in said]
    wanted = getattr(options, "format", None)
    if said and not possible:
        ends = ", ".join(dict.fromkeys(f".{_ENDS.get(format, format)}" for format in formats))
        parser.error(
            f"{options.command} cannot write {options.output}; the name of its file ends in {ends}"
        )
    if said and wanted and wanted not in said:
        parser.error(f"--format {wanted} is not what {options.output} says: leave one of them out")
    options.format = wanted or (possible or formats)[0]


_ENDS = {"text": "txt", "latex": "tex", "tikz": "tex", "markdown": "md", "junit": "xml"}
