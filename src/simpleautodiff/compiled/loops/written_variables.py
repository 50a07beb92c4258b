"""What a loop of Python changes in place, while it is recorded by one step.

The step is run on values of its own, so nobody else would see what it writes; and what others refer
to would not change from step to step. So the originals are hidden meanwhile: a step that reaches
one by another name, or by a view, fails, and is not recorded so. What the loop has written is then
written to them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

from simpleautodiff.arrays.writes.versions import MAKING, Writable
from simpleautodiff.compiled.recording.symbols import not_recorded
from simpleautodiff.core.level import Traced
from simpleautodiff.errors import LostDerivativeError, cite_line

_HIDDEN = object()  # what an array is while it is hidden: nothing can be computed with it


@contextmanager
def hiding(variables: Iterable[Any]) -> Iterator[None]:
    """Let no code read some arrays, lists and dicts in this context."""
    with ExitStack() as stack:
        for variable in variables:
            if isinstance(variable, list | dict):
                stack.enter_context(_emptied(variable))
            elif (array := _find_array(variable)) is not None:
                stack.enter_context(_hidden(array))
        yield


@contextmanager
def _emptied(whole: Any) -> Iterator[None]:
    content = whole.copy()
    try:
        whole.clear()
        yield
    finally:
        whole.clear()
        write_back(whole, content)


@contextmanager
def _hidden(array: Writable) -> Iterator[None]:
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
