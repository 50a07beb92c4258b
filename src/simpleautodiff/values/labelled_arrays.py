"""Labelled arrays: operations take the array inside; results are labelled again as xarray's."""

from __future__ import annotations

from typing import Any


def strip_labels(x: Any) -> Any:
    """Return the array inside a labelled one; return anything else unchanged."""
    if _is_labelled(x):
        return x.data
    return x.to_numpy() if _is_of_pandas(x) else x


def keep_labels(x: Any, result: Any) -> Any:
    """Return the result of an elementwise operation with the labels of its argument x, if any.

    A result of another shape, to which x was broadcast, stays without labels.
    """
    if not _is_labelled(x) or tuple(x.shape) != tuple(getattr(result, "shape", ())):
        return result
    return x.copy(data=strip_labels(result))


def _is_labelled(x: Any) -> bool:
    return type(x).__module__.startswith("xarray.") and hasattr(type(x), "data")


def _is_of_pandas(x: Any) -> bool:
    return type(x).__module__.startswith("pandas.") and hasattr(type(x), "to_numpy")
