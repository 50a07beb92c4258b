"""Bool arrays that remember the condition they came from: ``x > 0``, ``(x > 0) & ~(y == 1)``."""

from __future__ import annotations

from typing import Any, NamedTuple, Self, SupportsIndex

import numpy as np

from simpleautodiff.core.primitive import SUM
from simpleautodiff.program.notation import Term

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
        out = tuple(np.asarray(x) for x in options.pop("out", ()))
        if out:
            options["out"] = out
        plain = [np.asarray(x) if isinstance(x, ConditionArray) else x for x in inputs]
        answer = getattr(ufunc, method)(*plain, **options)
        booleans = all(np.asarray(x).dtype == np.bool_ for x in inputs)
        if method != "__call__" or options or ufunc not in _LOGICAL_SIGNS or not booleans:
            return answer
        return attach_condition(answer, _LOGICAL_SIGNS[ufunc], *inputs)

    def __getitem__(self, index: Any) -> Any:
        return np.asarray(self)[index]

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
        return np.asarray(self).astype(*args, **options)

    def reshape(self, *shape: SupportsIndex, **options: Any) -> Any:  # type: ignore[override]
        """Return plain bools."""
        return np.asarray(self).reshape(*shape, **options)


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
