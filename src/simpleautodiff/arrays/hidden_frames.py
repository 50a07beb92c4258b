"""Functions that stand between a user's call and SciPy, and are not seen by warnings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])
UNCOUNTED = "<simpleautodiff importlib._bootstrap>"  # Python counts no frames of such a file


def hide_frame(function: F) -> F:
    """Return a function that is not counted among the callers of a function that warns.

    SciPy's warnings name the line of the caller, so many calls further out; a function put in
    between would be named instead.

    Examples
    --------
    >>> import warnings
    >>> from simpleautodiff.arrays.hidden_frames import hide_frame
    >>> def old():
    ...     warnings.warn("is called so", stacklevel=2)
    >>> between = hide_frame(lambda: old())
    >>> with warnings.catch_warnings(record=True) as seen:
    ...     warnings.simplefilter("always")
    ...     between()
    >>> seen[0].filename == between.__code__.co_filename
    False
    """
    code: Any = function
    code.__code__ = code.__code__.replace(co_filename=UNCOUNTED)
    return function
