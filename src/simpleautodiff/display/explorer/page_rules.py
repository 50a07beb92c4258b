"""The rules of a program as trees, which the page evaluates: as numbers, and as formulas.

A rule is called with a number that writes down what is done to it; where it asks a question about
that number, both answers are followed. So the page differentiates by the rows of the table, and
no derivative is written again in its scripts.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from typing import Any

import numpy as np

from simpleautodiff.core.linear import ZERO
from simpleautodiff.core.node import NODES, Node
from simpleautodiff.core.primitive import Primitive
from simpleautodiff.display.explorer.files import find_scripted
from simpleautodiff.errors import AutodiffError
from simpleautodiff.program.program import Program
from simpleautodiff.program.watched_work import go_through
from simpleautodiff.rules.row import TABLE
from simpleautodiff.values.functions import register_number, shape

_MOST_QUESTIONS = 8  # that a rule may ask in succession
_ARITHMETIC = {
    **{"__add__": "add", "__sub__": "sub", "__mul__": "mul", "__truediv__": "div"},
    **{"__floordiv__": "floor_divide", "__mod__": "mod", "__pow__": "power"},
}
_COMPARISONS = {"__lt__": "lt", "__le__": "le", "__gt__": "gt", "__ge__": "ge"}
_COMPARISONS |= {"__eq__": "eq", "__ne__": "ne"}


class NoTreeError(Exception):
    """A rule cannot be written as a formula of single numbers."""


class _UndecidedError(Exception):
    """A rule asks a question that has no answer yet."""


class Script:
    """A stand-in for a number: operations on it build a tree, and compute nothing."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, tree: Any) -> None:
        self.tree = tree

    def __neg__(self) -> Script:
        return Script(["neg", self.tree])

    def __pos__(self) -> Script:
        return self

    def __bool__(self) -> bool:
        return bool(_Condition(["ne", self.tree, 0]))

    def __abs__(self) -> Script:
        return Script(["abs", self.tree])

    def lift_integer(self, number: int) -> Script:
        """Return an integer as such a number."""
        return Script(number)

    @property
    def pi(self) -> Script:
        """The number π."""
        return Script(["pi"])


class _Condition:
    """A question about such numbers; asked for its truth, it looks for the answer."""

    def __init__(self, tree: Any) -> None:
        self.tree = tree

    def __and__(self, other: Any) -> _Condition:
        return _Condition(["and", self.tree, _read(other)])

    def __or__(self, other: Any) -> _Condition:
        return _Condition(["or", self.tree, _read(other)])

    def __invert__(self) -> _Condition:
        return _Condition(["not", self.tree])

    def __bool__(self) -> bool:
        answers = _ANSWERS.get()
        if not answers:
            raise _UndecidedError(self.tree)
        return answers.pop(0)


_ANSWERS: ContextVar[list[bool]] = ContextVar("answers")


def _read(x: Any) -> Any:
    if isinstance(x, (Script, _Condition)):
        return x.tree
    if x is ZERO:
        return None
    if not isinstance(x, (int, float)) or not math.isfinite(x):
        raise NoTreeError(repr(x))
    return x


def _make_operation(name: str, kind: type, swapped: bool = False) -> Callable[[Any, Any], Any]:
    def operate(a: Any, b: Any) -> Any:
        first, second = (_read(b), _read(a)) if swapped else (_read(a), _read(b))
        return kind([name, first, second])

    return operate


for _method, _name in _ARITHMETIC.items():
    setattr(Script, _method, _make_operation(_name, Script))
    setattr(Script, _method.replace("__", "__r", 1), _make_operation(_name, Script, swapped=True))
for _method, _name in _COMPARISONS.items():
    setattr(Script, _method, _make_operation(_name, _Condition))


def _call(name: str) -> Callable[..., Script]:
    return lambda *args: Script([name, *map(_read, args)])


register_number(Script, {name: _call(name) for name, row in TABLE.items() if not row.arrays})


def follow(rule: Callable[[], Any], answers: tuple[bool, ...] = ()) -> Any:
    """Return the tree of what a rule computes; a question is ``["?", condition, yes, no]``."""
    token = _ANSWERS.set(list(answers))
    try:
        return _read(rule())
    except _UndecidedError as question:
        if len(answers) == _MOST_QUESTIONS:
            raise NoTreeError("too many questions") from None
        yes, no = (follow(rule, (*answers, answer)) for answer in (True, False))
        return ["?", question.args[0], yes, no]
    except (AutodiffError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise NoTreeError(str(error)) from None
    finally:
        _ANSWERS.reset(token)


def write_rule(primitive: Primitive, constants: tuple[Any, ...]) -> list[Any]:
    """Return the tree of each local derivative; an argument is its place, the result is "v".

    `constants` are those arguments that are constants, and None for the others. A condition is no
    constant, as it may have another answer at another point.

    Examples
    --------
    >>> write_rule(TABLE["mul"], (None, None))
    ['1', '0']
    >>> write_rule(TABLE["power"], (None, 3))
    [['mul', 3, ['power', '0', 2]], None]
    """
    known = [None if k in primitive.settings else c for k, c in enumerate(constants)]
    args = [Script(str(k)) if c is None else c for k, c in enumerate(known)]
    return [
        follow(partial(primitive.partial, k, Script("v"), tuple(args))) if c is None else None
        for k, c in enumerate(constants)
    ]


def collect_rules(program: Program) -> tuple[list[Any], dict[Node, int], str]:
    """Return the rules that the page can use, each once, and which of them each node has.

    The last result says why the page cannot compute a program by its rules; it is empty if it can.
    """
    rules: list[Any] = []
    numbers: dict[Any, int | str] = {}
    of_node: dict[Node, int] = {}
    reason = _find_foreign_number(program)
    for node in go_through(program.nodes, "rules"):
        if node.primitive is None or not all(map(is_real, (node.value, *node.values()))):
            continue
        constants = tuple(None if type(arg) in NODES else arg for arg in node.args)
        key = node.primitive.name, tuple(map(repr, constants))
        if key not in numbers:
            numbers[key] = _add_rule(rules, node.primitive, constants)
        found = numbers[key]
        if isinstance(found, int):
            of_node[node] = found
        else:
            reason = reason or found
    return rules, of_node, reason


def _find_foreign_number(program: Program) -> str:
    """Say which numbers of a program the page does not compute with; empty if there are none."""
    if any(shape(node.value) for node in program.nodes):
        return "Arrays are shown as they were computed; sliders are for single numbers."
    if not all(is_real(node.value) for node in program.nodes):
        return "Sliders are for real numbers."
    for node in program.nodes:
        if not all(map(is_real, node.values())):
            return f"An argument of {node.operator} is not a number."
    return ""


def is_real(value: Any) -> bool:
    """Return whether a value is a single real number."""
    return isinstance(value, (int, float, np.integer, np.floating, np.bool_))


def _add_rule(rules: list[Any], primitive: Primitive, constants: tuple[Any, ...]) -> int | str:
    """Add a rule and return its number, or the reason why the page cannot use it."""
    name = primitive.name
    if name not in find_scripted() or TABLE.get(name) is not primitive:
        return f"The page has no formula for {name}, so its numbers stay as they were computed."
    try:
        rule = write_rule(primitive, constants)
    except NoTreeError as error:
        return f"Sliders need formulas: {error}."
    unknown = _names(rule) - find_scripted() - _HELPERS
    if unknown:
        missing = ", ".join(sorted(unknown))
        return f"Sliders need formulas: the page does not compute {missing}."
    rules.append(rule)
    return len(rules) - 1


_HELPERS = {"?", "and", "or", "not", "pi", "hyp1f1", *_COMPARISONS.values()}


def _names(tree: Any) -> set[str]:
    """Return the operations in a tree, or in a list of trees."""
    if not isinstance(tree, list):
        return set()
    own = {tree[0]} if tree and isinstance(tree[0], str) and not _is_place(tree[0]) else set()
    return own.union(*map(_names, tree))


def _is_place(text: str) -> bool:
    return text == "v" or text.isdigit()


def collect_forms(rules: list[Any], operators: set[str]) -> dict[str, list[Any]]:
    """Return how each operation of the rules is written, and how tightly its form binds."""
    names = sorted((_names(rules) | operators) & TABLE.keys())
    return {name: [TABLE[name].text, TABLE[name].binds] for name in names}
