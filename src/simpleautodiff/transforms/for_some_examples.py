"""Run a function for all examples of a batch where it counts for some: the branch of a `cond`.

Its result is then chosen example by example. What it writes to its arguments stays with it, as they
are copies; what it would write to arrays of outside would reach every example, and is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from simpleautodiff.arrays.writes.views import twin
from simpleautodiff.core.level import Traced, Written, take_current
from simpleautodiff.errors import TraceError, cite_line
from simpleautodiff.values.pytree import flatten, map_leaves


def copy_array(x: Any) -> Any:
    """Return a copy of an array, or of a node of one, that has nothing to do with its original."""
    can_be_written = isinstance(x, np.ndarray) or issubclass(type(x), Written)
    return x.copy() if can_be_written and x.ndim else twin(x)


def call_for_some(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function with copies; refuse it if it has written to an array that it uses."""
    used = [*_find_arrays(function)]
    before = [_version(x) for x in used]
    made = function(*map_leaves(copy_array, args))
    if not all(_is_same(_version(x), old) for x, old in zip(used, before, strict=True)):
        raise TraceError(
            "under vmap, both functions of a cond run for every example, and the step of a "
            "while_loop runs until the last is done: this one writes to an array of outside, which "
            "would reach them all. Pass the array as an argument and return it, or use "
            f'vmap(f, branches="both"){cite_line()}'
        )
    return made


def _find_arrays(function: Any) -> Iterator[Any]:
    """Yield the arrays that a function finds outside: in closures, globals and bound objects."""
    seen: dict[int, Any] = {}
    waiting = [function]
    while waiting:
        x = waiting.pop()
        if id(x) in seen:
            continue
        seen[id(x)] = x
        if _is_array(x):
            yield x
        elif isinstance(x, FunctionType):
            found = [x.__globals__.get(name) for name in x.__code__.co_names]
            waiting += [*filter(_is_array, found), *_list_cells(x)]
        elif isinstance(x, MethodType):
            waiting += [x.__func__, x.__self__]
        elif isinstance(x, partial):
            waiting += [x.func, x.args, x.keywords]
        else:
            held = getattr(x, "__dict__", {}).values()
            waiting += [*flatten(x)[0], *filter(_is_array, held)]


def _list_cells(function: FunctionType) -> list[Any]:
    """Return the variables of the functions around a function that it uses."""
    found = []
    for cell in function.__closure__ or ():
        with suppress(ValueError):  # the name has no value yet
            found.append(cell.cell_contents)
    return found


def _is_array(x: Any) -> bool:
    return issubclass(type(x), Traced | Written | np.ndarray)


def _version(x: Any) -> Any:
    """Return what changes when an array is written to: its node; its bytes, if they are few."""
    if isinstance(x, np.ndarray) and not issubclass(type(x), Written):
        return x.tobytes() if x.size <= _FEW and not x.dtype.hasobject else None
    if not issubclass(type(x), Written):
        return x
    array = x.writable()
    while array.as_view is not None:
        array = array.as_view.base
    return take_current(array)


_FEW = 4096  # elements; recorded operations copy as many


def _is_same(new: Any, old: Any) -> bool:
    return bool(new == old) if type(new) is bytes else new is old
