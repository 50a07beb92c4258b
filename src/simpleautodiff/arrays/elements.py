"""Going through the elements of an array of nodes: np.ndenumerate, and ufuncs of np.frompyfunc."""

from __future__ import annotations

from typing import Any

import numpy as np

from simpleautodiff.core.level import Traced
from simpleautodiff.rules.array.shapes import reshape, shape_of


def gather(results: Any, shape: tuple[int, ...]) -> Any:
    """Return numbers and nodes as an array of a shape; for no shape, as the one number."""
    if not any(isinstance(result, Traced) for result in results):
        return np.reshape(results, shape)
    return reshape(np.stack(results), shape) if shape else results[0]


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
