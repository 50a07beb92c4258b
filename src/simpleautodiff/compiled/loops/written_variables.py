"""What a loop of Python changes in place, while it is recorded by one step.

The step is run on values of its own, so nobody else would see what it writes; and what others refer
to would not change from step to step. So the originals are hidden meanwhile: a step that reaches
one by another name, or by a view, fails, and is not recorded so. What the loop has written is then
written to them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

from simpleautodiff.arrays.writes.versions import MAKING, Writable
from simpleautodiff.arrays.writes.views import note, twin
from simpleautodiff.compiled.recording.symbols import not_recorded
from simpleautodiff.core.level import Traced, Written
from simpleautodiff.errors import LostDerivativeError, cite_line
from simpleautodiff.values.pytree import flatten

_HIDDEN = object()  # what an array is while it is hidden: nothing can be computed with it


@contextmanager
def hiding(variables: Iterable[Any]) -> Iterator[None]:
    """Let no code read some arrays, lists and dicts in this context."""
    with ExitStack() as stack:
        for variable in variables:
            if isinstance(variable, list | dict):
                stack.enter_context(_clear_meanwhile(variable))
            elif (array := _find_array(variable)) is not None:
                stack.enter_context(_hide_meanwhile(array))
        yield


@contextmanager
def _clear_meanwhile(whole: Any) -> Iterator[None]:
    content = whole.copy()
    try:
        whole.clear()
        yield
    finally:
        whole.clear()
        write_back(whole, content)


@contextmanager
def _hide_meanwhile(array: Writable) -> Iterator[None]:
    value = array.current
    try:
        array.value = _HIDDEN
        yield
    finally:
        array.value = value


def _find_array(x: Any) -> Writable | None:
    """Return the array whose elements a variable has, itself or as a view; None for a number."""
    if issubclass(type(x), Traced) and np.ndim(x) > 0:
        x = x.writable()
    while type(x) is Writable and x.as_view is not None:
        x = x.as_view.base
    if isinstance(x, np.ndarray) and x.ndim:
        if MAKING.get():
            raise not_recorded("a loop that writes to an array made outside")
        raise LostDerivativeError(f"a loop writes to an array made by NumPy{cite_line()}")
    return x if type(x) is Writable else None


def check_apart(variables: Iterable[Any], written: Iterable[bool]) -> None:
    """Refuse variables that are two names of one array, or views of it, if one is written to."""
    seen: dict[int, bool] = {}
    for variable, is_written in zip(variables, written, strict=True):
        if isinstance(variable, list | dict):
            array: Any = variable
        elif is_written or type(variable) is Writable or hasattr(variable, "as_view"):
            array = _find_array(variable)
        else:
            continue
        if array is not None:
            if id(array) in seen and (is_written or seen[id(array)]):
                raise not_recorded("a loop that writes to an array with two names")
            seen[id(array)] = is_written


class GivenVariables:
    """The variables that a step is given, as they were before it."""

    def __init__(self, variables: Sequence[Any]) -> None:
        self.variables = variables
        self._parts = [_list_parts(x) for x in variables]
        self._leaves = flatten(variables)[0]

    def check(self, after: list[Any], written: list[bool], earlier: list[bool]) -> list[bool]:
        """Tell which variables are numbers, or still refer to the same array, list or dict.

        Refuse a step after which it is not known which arrays have changed: an array that is
        changed in place must keep its name and be among the `written` ones, as other names may
        refer to it. Every step, on every branch, must give the same answer: `earlier` is the answer
        of the run before, or empty.
        """
        own = {*map(id, self.variables)}
        if any(issubclass(type(x), Written) and id(x) not in own for x in self._leaves):
            raise not_recorded("a loop that changes an array in a list, tuple or dict")
        kept = [
            new is x or not (isinstance(x, list | dict) or _is_array(x))
            for x, new in zip(self.variables, after, strict=True)
        ]
        known = [a and b for a, b in zip(written, kept, strict=True)]
        changed = [
            issubclass(type(x), Written) or not _are_same(parts, _list_parts(x))
            for x, parts in zip(self.variables, self._parts, strict=True)
        ]
        if any(a and not b for a, b in zip(changed, known, strict=True)):
            raise not_recorded("a loop that changes an array, and what a variable refers to")
        if earlier and earlier != known:
            raise not_recorded("a loop in which a variable refers to the same array, or another")
        return known


def _is_array(x: Any) -> bool:
    return isinstance(x, Traced) and np.ndim(x) > 0  # type: ignore[arg-type]


def _list_parts(x: Any) -> list[Any]:
    return [*x] if isinstance(x, list) else [*x, *x.values()] if isinstance(x, dict) else []


def _are_same(some: list[Any], others: list[Any]) -> bool:
    return len(some) == len(others) and all(a is b for a, b in zip(some, others, strict=True))


def protect(row: Any) -> Any:
    """Return a row of an array that a step may only read: nobody would see it written."""
    if _is_array(row):
        note(row, twin(row), _refuse_write)
    return row


def _refuse_write(_: Any) -> Any:
    raise not_recorded("a loop that writes to the rows of an array by another name")


def write_back(variable: Any, new: Any) -> Any:
    """Write the result of a loop to what it has changed in place; return what it is now."""
    if isinstance(variable, list):
        variable[:] = new
    elif isinstance(variable, dict):
        variable.update(new)
    elif np.ndim(new) > 0:
        variable[...] = new
    else:
        return new
    return variable
