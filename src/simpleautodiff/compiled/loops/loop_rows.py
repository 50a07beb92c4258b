"""What a loop of Python goes over, as rows of arrays; and items that a recorded index selects."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from simpleautodiff.compiled.loops.written_variables import protect
from simpleautodiff.core.level import Traced, take_current, to_concrete
from simpleautodiff.rules.array.indexing import getitem


def make_items(function: Any, *args: Any, **kwargs: Any) -> Any:
    """Return ``zip(a, b)`` and the like as rows, where these are known; else as it is."""
    rows = [*map(as_rows, args)]
    if not args or None in rows:
        return function(*args, **kwargs)
    if function is enumerate and len(args) == 1 and not kwargs:
        return Rows((range(len(args[0])), *args))
    if function is itertools.pairwise and len(args) == 1:
        return Rows((args[0][:-1], args[0][1:]))
    is_zip = function is zip and kwargs.keys() <= {"strict"}
    if is_zip and len({*map(len, args)}) == 1:
        return Rows(args)
    return function(*args, **kwargs)


class Rows:
    """The rows of ranges and arrays, side by side: what ``zip`` gives, with a length."""

    def __init__(self, columns: tuple[Any, ...], is_single: bool = False) -> None:
        self.columns, self.is_single = columns, is_single

    def __len__(self) -> int:
        return len(self.columns[0])

    def __getitem__(self, place: Any) -> Any:
        parts = tuple([column[place] for column in self.columns])
        if isinstance(place, slice):
            return Rows(parts, self.is_single)
        return parts[0] if self.is_single else parts

    @property
    def arrays(self) -> Any:
        """The columns as arrays."""
        made = tuple([_as_arrays(column) for column in self.columns])
        return made[0] if self.is_single else made

    @property
    def originals(self) -> list[Any]:
        """The ranges and arrays themselves."""
        nested = [x.originals if type(x) is Rows else [x] for x in self.columns]
        return [x for each in nested for x in each]


def _as_arrays(column: Any) -> Any:
    if type(column) is Rows:
        return column.arrays
    return np.asarray(column) if type(column) is range else take_current(column)


def as_rows(items: Any) -> Rows | None:
    """Return what a loop goes over as rows; None if they are not known in advance."""
    if type(items) is Rows:
        return items
    array = take_current(items)
    is_array = isinstance(array, (Traced, np.ndarray)) and np.ndim(array) > 0  # type: ignore[arg-type]
    has_numbers = is_array and to_concrete(array).dtype.kind in "biufc"
    return Rows((items,), is_single=True) if type(items) is range or has_numbers else None


def read_item(x: Any, index: Any) -> Any:
    """Return ``x[index]``, of a plain array too if the index is recorded."""
    if type(x) is np.ndarray:
        parts = index if type(index) is tuple else (index,)
        if any(isinstance(part, Traced) for part in parts):
            return protect(getitem(x, index))
    return x[index]
