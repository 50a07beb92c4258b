"""What can go wrong, each with the way out.

    AutodiffError
    ├── ValueKindError          a value is not a number: a string, None, a list   (TypeError)
    ├── LostDerivativeError     float(node), math.sin(node), `if node:`           (TypeError)
    ├── DomainError             outside the domain, in numbers without inf        (ArithmeticError)
    │   ├── MatrixError         a matrix that is singular, not square, ...        (LinAlgError)
    │   └── FloatError          what np.errstate was told to raise         (FloatingPointError)
    ├── ResultError             a function returned what cannot be differentiated (TypeError)
    ├── ArgumentError           wrong number, name or structure of arguments      (TypeError)
    │   └── InputError          what NumPy or SciPy refuse, too      (ValueError, IndexError)
    ├── TraceError              a node of another, finished trace                 (RuntimeError)
    ├── OrderError              an order in which a node stands before its parent (ValueError)
    ├── RuleError               a derivative rule that is missing or wrong        (ValueError)
    ├── CheckError              derivatives that disagree                         (AssertionError)
    ├── FormulaError            a text that is not a formula                      (ValueError)
    └── MissingExtraError       an optional library that is not installed         (ImportError)

`DomainWarning` is a warning, not an error: Python floats outside a domain become the inf or nan
that NumPy gives, and the warning names the operation, the operand and the line.
"""

from __future__ import annotations

import linecache
import os
import sys
import warnings
from collections.abc import Container
from types import FrameType
from typing import Any

import numpy as np

_NOT_THE_USERS = (
    *(os.path.dirname(os.path.abspath(file)) + os.sep for file in (__file__, np.__file__)),
    "<simpleautodiff",  # code that was made from its text
)


class AutodiffError(Exception):
    """The root of every error this library raises on purpose."""


class ValueKindError(AutodiffError, TypeError):
    """A value is not a number that can be differentiated."""


class LostDerivativeError(AutodiffError, TypeError):
    """A conversion to a plain number would drop the derivative."""


class PlainAttributeError(LostDerivativeError, AttributeError):
    """A node has no memory of its own to look into; `hasattr` says so, too."""


class ReadOnlyError(AutodiffError, ValueError):
    """A view that cannot be written to, as NumPy's own cannot."""


class DomainError(AutodiffError, ArithmeticError):
    """A function was asked for a value where its kind of number has none."""


class MatrixError(DomainError, np.linalg.LinAlgError):
    """A matrix does not have what a function of it needs; NumPy's error, too."""


class FloatError(DomainError, FloatingPointError):
    """NumPy was told by `np.errstate` to raise what has happened; its error, too."""


class ResultError(AutodiffError, TypeError):
    """A function returned something that has no derivative of the kind asked for."""


class ArgumentError(AutodiffError, TypeError):
    """The arguments do not fit the function or the transformation."""


class InputError(ArgumentError, ValueError, IndexError):
    """A function of NumPy or SciPy was given what it refuses, for plain arrays as for nodes.

    So code that catches their ValueError or IndexError goes on.
    """


class TraceError(AutodiffError, RuntimeError):
    """A node of a finished recording was used, or a function cannot be recorded."""


class PathLimitError(TraceError):
    """A compiled function went more ways through its code than may be kept."""


class OrderError(AutodiffError, ValueError):
    """An order in which some node stands before one of its parents."""


class RuleError(AutodiffError, ValueError):
    """A derivative rule is missing or wrong."""


class CheckError(AutodiffError, AssertionError):
    """Two ways of computing one derivative disagree."""


class FormulaError(AutodiffError, ValueError):
    """The text is not a formula this library can read."""


class MissingExtraError(AutodiffError, ImportError):
    """An optional library is needed; the message says how to install it."""


class KinkError(AutodiffError, ArithmeticError):
    """A derivative that is not unique, where none but unique ones were asked for."""


class KinkWarning(RuntimeWarning):
    """A derivative that is not unique, where a report was asked for."""


class DomainWarning(RuntimeWarning):
    """A Python float left the domain of a function and became inf or nan."""


def like_numpys(error: Exception) -> type[MatrixError | FloatError | InputError]:
    """Return which error of ours an `except` that looks for this one of NumPy's will find."""
    if isinstance(error, np.linalg.LinAlgError):
        return MatrixError
    return FloatError if isinstance(error, FloatingPointError) else InputError


def user_frame(
    frame: FrameType | None = None, known: Container[FrameType | None] = ()
) -> FrameType | None:
    """Return the innermost frame that is neither this library's nor NumPy's nor SciPy's.

    The search begins at `frame`, or else at the caller's, and ends at one that is `known`.
    """
    frame = frame or sys._getframe(1)
    while frame is not None and frame not in known and not is_the_users(frame):
        frame = frame.f_back
    return frame


def is_the_users(frame: FrameType) -> bool:
    """Tell whether a frame is neither this library's nor NumPy's nor SciPy's."""
    return not (frame.f_code.co_filename.startswith(_NOT_THE_USERS) or _is_scipy(frame))


def _is_scipy(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__")).startswith("scipy.")


def scipy_frames() -> list[FrameType]:
    """Return the frames of SciPy that are running inside the user's code, the innermost first."""
    frames = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if _is_scipy(frame):
            frames.append(frame)
        elif is_the_users(frame):
            break  # what the user's code was called from is another matter
        frame = frame.f_back
    return frames


def source_line(filename: str, lineno: int) -> str:
    """Write a place in the user's code as ``model.py:12: y = log(x)``."""
    text = linecache.getline(filename, lineno).strip()
    place = f"{os.path.basename(filename)}:{lineno}"
    return f"{place}: {text}" if text else place


def user_line() -> str:
    """Return the user's own line that is running now, or an empty text."""
    frame = user_frame()
    return source_line(frame.f_code.co_filename, frame.f_lineno) if frame else ""


def at_line() -> str:
    """Return `` (at model.py:12: y = log(x))`` for the end of a message."""
    line = user_line()
    return f" (at {line})" if line else ""


def raised_at(error: BaseException) -> str:
    """Return the same for the user's line at which another's error arose."""
    place = ""
    step = error.__traceback__
    while step is not None:
        if is_the_users(step.tb_frame):
            place = f" (at {source_line(step.tb_frame.f_code.co_filename, step.tb_lineno)})"
        step = step.tb_next
    return place


def short_repr(value: Any) -> str:
    """Write a value for a message, and cut it where it is long."""
    try:
        text = repr(value)
    except ValueError:  # Python does not write integers of more than 4300 digits
        return "a huge integer"
    return text if len(text) <= 80 else f"{text[:60]}..."


def warn_domain(message: str) -> None:
    """Warn, as if from the user's own line, that a number left a domain."""
    frame = user_frame()
    if frame is None:
        warnings.warn(message, DomainWarning, stacklevel=2)
        return
    registry = frame.f_globals.setdefault("__warningregistry__", {})
    warnings.warn_explicit(
        message, DomainWarning, frame.f_code.co_filename, frame.f_lineno, registry=registry
    )
