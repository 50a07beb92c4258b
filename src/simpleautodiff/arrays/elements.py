"""Going through the elements of an array of nodes: np.ndenumerate, np.nditer, np.frompyfunc."""

from __future__ import annotations

from typing import Any

import numpy as np

from simpleautodiff.core.level import Traced, Written, take_current
from simpleautodiff.errors import RuleError, cite_line
from simpleautodiff.rules.array.dtypes import astype, dtype_of
from simpleautodiff.rules.array.shapes import reshape, shape_of


def gather(results: Any, shape: tuple[int, ...]) -> Any:
    """Return numbers and nodes as an array of a shape; for no shape, as the one number."""
    if not any(isinstance(result, Traced) for result in results):
        return np.reshape(results, shape)
    return reshape(np.stack(results), shape) if shape else results[0]


def join_results(results: Any, shape: tuple[int, ...], name: str, dtype: Any = None) -> Any:
    """Return the results of calls as one array: of a given dtype, or of that of the first one."""
    dtype = dtype_of(results[0]) if dtype is None else np.dtype(dtype)
    inner = shape_of(results[0])
    if not any(isinstance(result, Traced) for result in results):
        joined = np.empty((len(results), *inner), dtype)
        for k, result in enumerate(results):
            joined[k] = result
        return joined.reshape((*shape, *inner))[()]
    if dtype.kind not in "fc":
        raise RuleError(
            f"{name} rounds all results to {dtype}, the type of the first one, and integers have "
            f"no derivative; return a float there (0.0 for 0), or give otypes=[float]{cite_line()}"
        )
    parts: list[Any] = [x if isinstance(x, Traced) else np.asarray(x) for x in results]
    stacked = np.stack(parts)
    stacked = stacked if dtype_of(stacked) == dtype else astype(stacked, dtype)
    return reshape(stacked, (*shape, *inner))


def call_made_ufunc(ufunc: Any, *args: Any) -> Any:
    """Call a function for every element: a ufunc made by np.frompyfunc."""
    results = ufunc(*map(_box_elements, args))
    several = results if isinstance(results, tuple) else (results,)
    arrays = [gather(list(np.ravel(boxes)), np.shape(boxes)) for boxes in several]
    return tuple(arrays) if isinstance(results, tuple) else arrays[0]


def _box_elements(x: Any) -> Any:
    """Return an array of objects, each an element of x."""
    boxes = np.empty(shape_of(x), object)
    for index in np.ndindex(shape_of(x)):
        boxes[index] = x[index] if shape_of(x) else x
    return boxes


class Elements:
    """The elements of an array, as np.ndenumerate goes through them: `coords` is the next index."""

    def __init__(self, x: Any) -> None:
        self.x = x
        self.indices = np.ndindex(shape_of(x))

    @property
    def coords(self) -> tuple[int, ...]:
        """Return the index of the next element."""
        self.index = next(self.indices)
        return self.index

    def __next__(self) -> Any:
        return self.x[self.index] if self.index else self.x


def enumerate_elements(enumerating: Any, arr: Any) -> None:
    """Go through indices and elements: np.ndenumerate."""
    enumerating.iter = Elements(arr)


class ElementIterator:
    """What np.nditer of one array is, for a node: its elements, and where they are."""

    def __init__(self, array: Any) -> None:
        self.array = array
        self.places = list(np.ndindex(*shape_of(take_current(array))))
        self.iterindex = 0

    @property
    def finished(self) -> bool:
        """Whether there are no more elements."""
        return self.iterindex >= len(self.places)

    @property
    def multi_index(self) -> tuple[int, ...]:
        """The index of the element, one number for each axis."""
        return self.places[self.iterindex]

    @property
    def index(self) -> int:
        """The index of the element in the flat array."""
        return self.iterindex

    @property
    def value(self) -> Any:
        """The element."""
        return self.array[self.multi_index]

    def __getitem__(self, operand: int) -> Any:
        return (self.value,)[operand]

    def iternext(self) -> bool:
        """Go to the next element; tell whether there is one."""
        self.iterindex += 1
        return not self.finished

    def reset(self) -> None:
        """Go to the first element."""
        self.iterindex = 0

    def __iter__(self) -> Any:
        while not self.finished:
            yield self.value
            self.iternext()

    def __enter__(self) -> ElementIterator:
        return self

    def __exit__(self, *error: object) -> None:
        pass


def iterate_elements(op: Any, flags: Any = (), *settings: Any, **options: Any) -> Any:
    """Do what np.nditer does; of a node, with its elements one by one."""
    if isinstance(op, (Traced, Written)) and set(flags or ()) <= _TAKEN_FLAGS:
        return ElementIterator(op)
    return np.nditer(op, flags or (), *settings, **options)


_TAKEN_FLAGS = {"multi_index", "c_index", "refs_ok", "zerosize_ok"}
