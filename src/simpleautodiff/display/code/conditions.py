"""Bool arrays that remember the condition they came from: ``x > 0``, ``(x > 0) & ~(y == 1)``."""

from __future__ import annotations

from typing import Any, NamedTuple, Self, SupportsIndex

import numpy as np

_LOGIC = {
    np.bitwise_and: "&",
    np.logical_and: "&",
    np.bitwise_or: "|",
    np.logical_or: "|",
    np.invert: "~",
    np.logical_not: "~",
}


class Question(NamedTuple):
    """A condition: an operator and its operands, which are numbers, arrays or other conditions.

    Examples
    --------
    >>> x = np.array([1.0, -1.0])
    >>> (asked(x > 0, ">", x, 0) & [True, True]).question.sign
    '&'
    """

    sign: str
    sides: tuple[Any, ...]


class Asked(np.ndarray[Any, Any]):
    """A bool array with its condition; logical operations on it have one, too."""

    question: Question | None = None

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        out = tuple(np.asarray(x) for x in options.pop("out", ()))
        if out:
            options["out"] = out
        plain = [np.asarray(x) if isinstance(x, Asked) else x for x in inputs]
        answer = getattr(ufunc, method)(*plain, **options)
        booleans = all(np.asarray(x).dtype == np.bool_ for x in inputs)
        if method != "__call__" or options or ufunc not in _LOGIC or not booleans:
            return answer
        return asked(answer, _LOGIC[ufunc], *inputs)

    def __getitem__(self, index: Any) -> Any:
        return np.asarray(self)[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        self.question = None  # these bools no longer follow from the condition
        super().__setitem__(index, value)

    def copy(self, order: Any = "C") -> Self:
        """Return a copy with the same condition."""
        copied = super().copy(order)
        copied.question = self.question
        return copied

    def astype(self, *args: Any, **options: Any) -> Any:
        """Return plain numbers."""
        return np.asarray(self).astype(*args, **options)

    def reshape(self, *shape: SupportsIndex, **options: Any) -> Any:  # type: ignore[override]
        """Return plain bools."""
        return np.asarray(self).reshape(*shape, **options)


def asked(answer: Any, sign: str, *sides: Any) -> Any:
    """Attach a condition to a bool array; scalars and others are returned as they are."""
    if not isinstance(answer, np.ndarray) or not answer.ndim:
        return answer
    known = answer.view(Asked)
    known.question = Question(sign, sides)
    return known


def question_of(array: Any) -> Question | None:
    """Return the condition of a bool array, if it is known."""
    return array.question if isinstance(array, Asked) else None
