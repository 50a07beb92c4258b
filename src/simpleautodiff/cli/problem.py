"""What to differentiate and where: a formula or a function in a file, and a point."""

from __future__ import annotations

import ast
import difflib
import importlib.util
import inspect
import json
import os
import re
import sys
import textwrap
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simpleautodiff.cli.json_answers import to_lists
from simpleautodiff.cli.write_output import note, terminal_width
from simpleautodiff.errors import AutodiffError, FormulaError
from simpleautodiff.program.formula import MAX_CHARACTERS, parse, read_float, signature_of
from simpleautodiff.program.formula_hints import suggest_parts
from simpleautodiff.program.formula_names import CONSTANTS, FUNCTION_NAMES, is_name

_PARTS = re.compile(r"(?:^|;)\s*([^\W\d]\w*)\s*=(?!=)", re.MULTILINE)
_A_VALUE = re.compile(r"[^\W\d]\w*=(?:[-+]?[\d.]+(?:[eE][-+]?\d+)?|\[.*)")
_IN_FILE = re.compile(r"(?P<file>.+\.py)(:(?P<name>\w*))?")


@dataclass(frozen=True)
class Problem:
    """A function, its name in the answer, its inputs and their values."""

    text: str
    function: Callable[..., Any]
    names: list[str]
    values: list[Any]
    file: str = ""

    @property
    def y(self) -> str:
        """The name of the result: y, or another letter if an input or a variable has it."""
        parts = set() if self.file else set(_PARTS.findall(self.text))
        parts.discard(re.split(r"[;\n]", self.text.strip())[-1].strip())  # the result itself
        taken = {name[0] for name in self.names} | parts
        return next((letter for letter in "yzfgh" if letter not in taken), "result")

    @property
    def at(self) -> str:
        """The point: ``x1 = 2, x2 = 5``."""
        pairs = zip(self.names, self.values, strict=True)
        return ", ".join(f"{name} = {_write_value(value)}" for name, value in pairs)

    @property
    def point(self) -> dict[str, Any]:
        """The point, for JSON."""
        return dict(zip(self.names, map(to_lists, self.values), strict=True))

    def index(self, name: str) -> int:
        """Return the index of an input."""
        if name not in self.names:
            raise FormulaError(f"there is no variable {name!r}{_suggest(name, self.names)}")
        return self.names.index(name)

    def headline(self, y: str) -> str:
        """Write what is explained, in lines as wide as the terminal."""
        width = terminal_width()
        lines = [line.rstrip() for line in re.split(r"; *|\n", self.text) if line.strip()]
        if len(lines) > 1:
            return "\n".join([*(f"  {line}" for line in lines), f"at {self.at}"])
        if len(f"{y} = {self.text}   at {self.at}") <= width:
            return f"{y} = {self.text}   at {self.at}"
        folded = textwrap.wrap(f"{y} = {self.text}", width, subsequent_indent="      ")
        at = textwrap.wrap(f"at {self.at}", width, subsequent_indent="   ")
        return "\n".join([*folded, *at])


def read_problem(target: str, point: Sequence[str]) -> Problem:
    """Read a formula, `model.py:function`, or `-`, and a point given as strings `name=value`."""
    text = (_standard_input() if target == "-" else target).strip()
    if _A_VALUE.fullmatch(text):
        raise FormulaError(
            f'the formula is missing: write one before the values, as in "x**2" {text}'
        )
    in_file = _IN_FILE.fullmatch(text)
    if in_file:
        return _from_file(in_file["file"], in_file["name"] or "", point)
    function, names = parse(text)
    own = list(names)
    names += _find_unused(names, point)
    given = _read_point(names, names, point)
    if len(names) > len(own):
        _note_unused(names[len(own) :], own)
    if not names:
        names, given = ["x"], {"x": 0.0}
    function = function.with_variables(names)
    return Problem(textwrap.dedent(text), function, names, [given[name] for name in names])


def _find_unused(names: list[str], point: Sequence[str]) -> list[str]:
    """Return the names that have a value and are not in the formula; none if a value is missing.

    Where one is missing, a name that is not there is a misspelt one.
    """
    given = list(dict.fromkeys(_names(point)))
    if any(name not in given for name in names):
        return []
    return [name for name in given if name not in names and is_name(name)]


def _names(point: Sequence[str]) -> list[str]:
    return [_split_value(word)[0] for word in point]


def _note_unused(unused: list[str], own: list[str]) -> None:
    verb, which = ("is", "it") if len(unused) == 1 else ("are", "them")
    whose = f"whose variables are {', '.join(own)}" if own else "which has no variables"
    note(
        f"{', '.join(unused)} {verb} not in the formula, {whose}: the derivative "
        f"with respect to {which} is 0"
    )


def file_of(target: str | None) -> str:
    """Return the name of the file that a target is in, without its folder; otherwise empty."""
    in_file = _IN_FILE.fullmatch((target or "").strip())
    return os.path.basename(in_file["file"]) if in_file else ""


def _standard_input() -> str:
    if sys.stdin is None:
        raise FormulaError("there is no standard input to read a formula from")
    try:
        text = sys.stdin.read(MAX_CHARACTERS + 1)
    except UnicodeDecodeError:
        raise FormulaError("standard input is not a text") from None
    if len(text) > MAX_CHARACTERS:
        raise FormulaError(f"the formula is too long; {MAX_CHARACTERS:,} characters are read")
    return text


def _from_file(file: str, name: str, point: Sequence[str]) -> Problem:
    function = _import_function(file, name)
    required, optional = _parameters(function, f"{file}:{name}")
    given = _read_point(required, required + optional, point)
    names = [name for name in required + optional if name in given]
    if not names:
        raise FormulaError(f"{name} has no parameter with a value: nothing to differentiate")

    def call(*values: Any) -> Any:
        return function(**dict(zip(names, values, strict=True)))

    call.__name__ = call.__qualname__ = name
    call.__wrapped__ = function  # type: ignore[attr-defined]  # so that its source is found
    call.__signature__ = signature_of(names)  # type: ignore[attr-defined]
    text = f"{name}({', '.join(names)}) of {os.path.basename(file)}"
    return Problem(text, call, names, [given[name] for name in names], file)


def _import_function(file: str, name: str) -> Callable[..., Any]:
    """Import a file of the user's, as Python would run it, and return one of its functions."""
    there = _functions(file)
    if name not in there:
        some = ", ".join(f"{os.path.basename(file)}:{one}" for one in there[:5])
        has = f"it has {some}" if there else "it has no functions"
        what = f"there is no function {name!r} in {file}" if name else "say which function"
        raise FormulaError(f"{what}; {has}")
    sys.path.insert(0, os.path.dirname(os.path.abspath(file)))
    spec = importlib.util.spec_from_file_location(os.path.basename(file)[:-3], file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(spec.name, module)
    spec.loader.exec_module(module)
    function = getattr(module, name)
    if not callable(function):
        raise FormulaError(f"{name} of {file} is not a function")
    return function  # type: ignore[no-any-return]


def _functions(file: str) -> list[str]:
    """Return the names that a file defines, without running it."""
    try:
        with open(file, encoding="utf-8") as opened:
            body = ast.parse(opened.read(), file).body
    except OSError as error:
        raise FormulaError(f"cannot read {file}: {error.strerror}") from None
    except (SyntaxError, ValueError) as error:
        raise FormulaError(f"{file} is not Python: {error}") from None
    names = [node.name for node in body if isinstance(node, ast.FunctionDef)]
    assigned = [target for node in body if isinstance(node, ast.Assign) for target in node.targets]
    return names + [target.id for target in assigned if isinstance(target, ast.Name)]


def _parameters(function: Callable[..., Any], what: str) -> tuple[list[str], list[str]]:
    """Return the parameters that need a value, and those that have a default."""
    required: list[str] = []
    optional: list[str] = []
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            (required if parameter.default is parameter.empty else optional).append(name)
        elif parameter.kind is parameter.POSITIONAL_ONLY or not optional + required:
            raise FormulaError(f"{what} has a parameter {parameter} that cannot be given by name")
    return required, optional


def _read_point(required: list[str], known: list[str], point: Sequence[str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for text in point:
        name, equals, number = _split_value(text)
        if not equals:
            raise FormulaError(
                f"a value is given as name=number, such as x1=2; got {text!r:.60}{_hint(point)}"
            )
        if name not in known:
            if name in CONSTANTS:
                raise FormulaError(f"{name!r} is a constant: choose another name for a variable")
            parts = (suggest_parts(one, _names(point), FUNCTION_NAMES) for one in known)
            hint = next(filter(None, parts), _suggest(name, known))
            raise FormulaError(f"{name!r} is not in the formula{hint}")
        if name in values:
            raise FormulaError(f"{name} has two values")
        if not number:
            hint = _hint(point)
            raise FormulaError(f"the value of {name} is '', which is not a number{hint}")
        values[name] = _value(name, number)
    missing = [name for name in required if name not in values]
    if missing:
        wanted = " ".join(f"{name}=..." for name in missing)
        raise FormulaError(f"no value for {', '.join(missing)}: add {wanted}")
    return values


def _split_value(text: str) -> tuple[str, str, str]:
    """Split ``name=number``; the name is spelt as Python reads it, with one code for each μ."""
    name, equals, number = (part.strip() for part in text.partition("="))
    return unicodedata.normalize("NFKC", name), equals, number


def _hint(point: Sequence[str]) -> str:
    """Say how to write a value around whose equals sign there are spaces."""
    spaced = re.search(r"([^\W\d]\w*) ?= ?([^\s=]+)", " ".join(point))
    parted = any(word.startswith("=") or word.endswith("=") for word in point)
    return f"; write {spaced[1]}={spaced[2]}, without spaces" if spaced and parted else ""


def _suggest(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, 1)
    there = f"; its variables are {', '.join(known) or 'none'}"
    return f"{there}; did you mean {near[0]}?" if near and len(known) > 1 else there


def _value(name: str, text: str) -> Any:
    """Read a number, a constant formula such as pi/2, or an array such as [1, 2]."""
    try:
        return _array(text, name) if text.startswith("[") else read_float(text, name)
    except FormulaError:
        raise
    except ValueError:
        pass
    try:
        function, names = parse(text)
        if not names:
            return float(function())
    except (AutodiffError, TypeError):
        pass
    if re.fullmatch(r"[-+.\w ]*\d[ij]", text):
        raise FormulaError(
            f"the value of {name} is {text[:40]!r}, which is not real; complex numbers are for "
            f"Python: ad.trace(f, ...)"
        )
    comma = re.fullmatch(r"([-+]?\d*),(\d+)", text)
    hint = f"; the decimal point is a dot: {name}={comma[1]}.{comma[2]}" if comma else ""
    if re.search(r"[,;]\s*(\w+\s*=|$)", text):
        parts = re.sub(r"\s*[,;]\s*", " ", text).strip()
        hint = f"; put spaces between values: {name}={parts}"[:120]
    raise FormulaError(f"the value of {name} is {text[:40]!r}, which is not a number{hint}")


def _array(text: str, name: str) -> Any:
    try:
        listed = json.loads(text, parse_float=lambda number: read_float(number, name))
        array = np.array(listed, dtype=float)
    except RecursionError:
        raise FormulaError(f"the lists of {name} are nested too deeply for an array") from None
    except OverflowError:
        raise FormulaError(f"a number of {name} is too large for a float") from None
    if not array.size:
        raise ValueError
    return array


def _write_value(value: Any) -> str:
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    return f"array of shape {value.shape}" if value.size > 6 else str(value.tolist())
