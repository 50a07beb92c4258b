"""Bool arrays that remember the condition they came from: ``x > 0``, ``(x > 0) & ~(y == 1)``."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple, Self, SupportsIndex

import numpy as np

from simpleautodiff.core.level import Traced
from simpleautodiff.core.node import NODES
from simpleautodiff.core.primitive import SUM
from simpleautodiff.program.notation import Term
from simpleautodiff.values.pytree import map_leaves

COMPARISON = SUM - 1  # the precedence of a comparison

_LOGICAL_SIGNS = {
    np.bitwise_and: "&",
    np.logical_and: "&",
    np.bitwise_or: "|",
    np.logical_or: "|",
    np.invert: "~",
    np.logical_not: "~",
}


class Condition(NamedTuple):
    """A condition: an operator and its operands, which are numbers, arrays or other conditions.

    Examples
    --------
    >>> x = np.array([1.0, -1.0])
    >>> (attach_condition(x > 0, ">", x, 0) & [True, True]).condition.sign
    '&'
    """

    sign: str
    sides: tuple[Any, ...]


class ConditionArray(np.ndarray[Any, Any]):
    """A bool array with its condition; logical operations on it have one, too."""

    condition: Condition | None = None

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if any(isinstance(x, Traced) for x in inputs):
            return NotImplemented  # the node answers
        out = tuple(np.asarray(x) for x in options.pop("out", ()))
        if out:
            options["out"] = out
        if isinstance(where := options.get("where"), ConditionArray):
            options["where"] = np.asarray(where) if _is_within_row() else where.decide()
        plain = [np.asarray(x) if isinstance(x, ConditionArray) else x for x in inputs]
        answer = getattr(ufunc, method)(*plain, **options)
        logical = method == "__call__" and not options and ufunc in _LOGICAL_SIGNS
        if logical and all(np.asarray(x).dtype == np.bool_ for x in plain):
            return attach_condition(answer, _LOGICAL_SIGNS[ufunc], *inputs)
        if method == "reduce":
            options = {name: x for name, x in options.items() if x is not None}
            return self._ask(answer, ufunc.reduce, inputs, options)
        for x in inputs:
            if isinstance(x, ConditionArray) and not _is_within_row():
                x.decide()
        return answer

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if any(issubclass(kind, Traced) for kind in types):
            return NotImplemented  # the node answers
        plain = map_leaves(
            lambda x: np.asarray(x) if isinstance(x, ConditionArray) else x, (args, kwargs)
        )
        answer = function(*plain[0], **plain[1])
        return answer if function in _BY_SHAPE else self._ask(answer, function, args, kwargs)

    def _ask(self, answer: Any, function: Any, args: Any, kwargs: Any) -> Any:
        """Return what a function answered, and note it on the tape: the code may branch on it."""
        if self.level is not None and not _is_within_row():
            self.level.note_call(answer, function, args, kwargs)
        return answer

    def decide(self) -> Any:
        """Return plain bools, and note them on the tape: the code may branch on them."""
        plain = np.asarray(self)
        if self.level is not None:
            self.level.note_condition(self.condition, plain.copy())
        return plain

    @property
    def level(self) -> Any:
        """The tape of the nodes in the condition."""
        return self.condition and _level_of(self.condition)

    def __getitem__(self, index: Any) -> Any:
        return self.decide()[index]

    def __iter__(self) -> Any:
        return iter(self.decide())

    def __bool__(self) -> bool:
        return bool(self.decide())

    def __setitem__(self, index: Any, value: Any) -> None:
        self.condition = None  # these bools no longer follow from the condition
        super().__setitem__(index, value)

    def copy(self, order: Any = "C") -> Self:
        """Return a copy with the same condition."""
        copied = super().copy(order)
        copied.condition = self.condition
        return copied

    def astype(self, *args: Any, **options: Any) -> Any:
        """Return plain numbers."""
        return self.decide().astype(*args, **options)

    def reshape(self, *shape: SupportsIndex, **options: Any) -> Any:  # type: ignore[override]
        """Return plain bools."""
        return self.decide().reshape(*shape, **options)

    def nonzero(self) -> Any:
        """Return plain indices."""
        return self.decide().nonzero()

    def tolist(self) -> Any:
        """Return plain bools."""
        return self.decide().tolist()


_BY_SHAPE = {np.shape, np.ndim, np.size, np.result_type, np.broadcast_shapes}


def _level_of(condition: Condition) -> Any:
    """Return the tape of the nodes in a condition."""
    for side in condition.sides:
        inside = condition_of(side)
        level = side.level if type(side) in NODES else inside and _level_of(inside)
        if level is not None:
            return level
    return None


def _is_within_row() -> bool:
    """Tell whether a row asks, to compute its value: the row itself will be evaluated again."""
    frame: Any = sys._getframe(2)
    while frame.f_globals.get("__name__", "").startswith(("numpy.", __name__)):
        frame = frame.f_back
    return str(frame.f_globals.get("__name__", "")).startswith(_ROWS)


_ROWS = ("simpleautodiff.core.", "simpleautodiff.rules.", "simpleautodiff.values.")


def attach_condition(answer: Any, sign: str, *sides: Any) -> Any:
    """Attach a condition to a bool array; scalars and others are returned as they are."""
    if not isinstance(answer, np.ndarray) or not answer.ndim:
        return answer
    known = answer.view(ConditionArray)
    known.condition = Condition(sign, sides)
    return known


def condition_of(array: Any) -> Condition | None:
    """Return the condition of a bool array, if it is known."""
    return array.condition if isinstance(array, ConditionArray) else None


def write_condition(sign: str, sides: list[Term]) -> Term:
    """Write a condition in both notations."""
    latex = _LATEX_CONDITION_SIGNS.get(sign, sign)
    return Term(
        infix(sign, [side.inside(SUM) for side in sides]),
        COMPARISON,
        latex=lambda: infix(latex, [side.latex_inside(SUM) for side in sides]),
    )


def infix(sign: str, sides: list[str]) -> str:
    """Write an operator between its operands, or before its only one."""
    return f"{sign}{sides[0]}" if len(sides) == 1 else f" {sign} ".join(sides)


_LATEX_CONDITION_SIGNS = {
    "<=": r"\le",
    ">=": r"\ge",
    "==": "=",
    "!=": r"\ne",
    "&": r"\land",
    "|": r"\lor",
    "~": r"\lnot ",
}
