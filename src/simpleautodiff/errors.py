"""The errors and warnings of the library, and the user's source line for their messages.

    AutodiffError
    ├── ValueKindError          a value is not a number: a string, None, a list   (TypeError)
    ├── LostDerivativeError     float(node), math.sin(node), `if node:`           (TypeError)
    │   └── PlainAttributeError an attribute that only a plain array has     (AttributeError)
    ├── ReadOnlyError           writing to a view that cannot be written to       (ValueError)
    ├── DomainError             outside the domain, in numbers without inf   (ArithmeticError)
    │   ├── MatrixError         a matrix that is singular, not square, ...       (LinAlgError)
    │   └── FloatError          what np.errstate was told to raise        (FloatingPointError)
    ├── KinkError               a derivative that is not unique              (ArithmeticError)
    ├── ResultError             a function returned what has no derivative        (TypeError)
    │   └── ConstantError       a function depends on none of its arguments
    ├── ArgumentError           wrong number, name or structure of arguments      (TypeError)
    │   └── InputError          what NumPy or SciPy refuse, too      (ValueError, IndexError)
    ├── TraceError              a node of another, finished trace              (RuntimeError)
    ├── OrderError              an order in which a node precedes its parent     (ValueError)
    ├── RuleError               a derivative rule that is missing or wrong       (ValueError)
    ├── CheckError              derivatives that disagree                    (AssertionError)
    ├── FormulaError            a text that is not a formula                     (ValueError)
    └── MissingExtraError       an optional library that is not installed       (ImportError)

    RuntimeWarning
    ├── DifferenceWarning       differences of a black box that cannot be trusted
    ├── DomainWarning           a Python float left a domain and became inf or nan
    └── KinkWarning             a derivative that is not unique, where a report was asked for

In parentheses: the built-in exception that each one also is, so that existing `except` clauses
still catch it. Outside a domain Python floats become the inf or nan that NumPy gives, and the
`DomainWarning` names the operation, the operand and the line.
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

_LIBRARY_PREFIXES = (  # how the file names of this library, NumPy and Python begin
    *(os.path.dirname(os.path.abspath(file)) + os.sep for file in (__file__, np.__file__)),
    "<simpleautodiff",  # code compiled from generated text
    "<frozen ",  # modules of Python itself, such as abc
)
_PYTHON = os.path.dirname(os.__file__) + os.sep  # where Python's own modules in Python are


class AutodiffError(Exception):
    """The root of every error this library raises on purpose."""


class ValueKindError(AutodiffError, TypeError):
    """A value is not a number that can be differentiated."""


class LostDerivativeError(AutodiffError, TypeError):
    """A conversion to a plain number would drop the derivative."""


class PlainAttributeError(LostDerivativeError, AttributeError):
    """An attribute of plain arrays that a node lacks; `hasattr` then returns False."""


class ReadOnlyError(AutodiffError, ValueError):
    """A write to a view that is read-only, in NumPy as well."""


class DomainError(AutodiffError, ArithmeticError):
    """A function has no value at its argument, in a number type without inf and nan."""


class MatrixError(DomainError, np.linalg.LinAlgError):
    """A matrix lacks a property that a function needs; also NumPy's `LinAlgError`."""


class FloatError(DomainError, FloatingPointError):
    """A floating-point error that `np.errstate` was told to raise."""


# What a function may raise at some numbers and not at others, so that code catches it.
RAISED_BY_NUMBERS = (ArithmeticError, IndexError, np.linalg.LinAlgError, Warning)


class ResultError(AutodiffError, TypeError):
    """A function returned something that has no derivative of the kind asked for."""


class ConstantError(ResultError):
    """A function depends on none of its arguments, so that there is nothing to show."""


class ArgumentError(AutodiffError, TypeError):
    """The arguments do not fit the function or the transformation."""


class InputError(ArgumentError, ValueError, IndexError):
    """A function of NumPy or SciPy got an argument that it refuses for plain arrays, too.

    It is a ValueError and an IndexError, so code that catches theirs works unchanged.
    """


class TraceError(AutodiffError, RuntimeError):
    """A node of a finished recording was used, or a function cannot be recorded."""


class OrderError(AutodiffError, ValueError):
    """An order of nodes in which some node precedes one of its parents."""


class RuleError(AutodiffError, NotImplementedError, ValueError):
    """A derivative rule is missing or wrong."""


class CheckError(AutodiffError, AssertionError):
    """One derivative, computed by two methods, has two different values."""


class FormulaError(AutodiffError, ValueError):
    """The text is not a formula this library can read."""


class MissingExtraError(AutodiffError, ImportError):
    """An optional library is needed; the message says how to install it."""


class KinkError(AutodiffError, ArithmeticError):
    """A derivative that is not unique, under `kinks="raise"`."""


class KinkWarning(RuntimeWarning):
    """A derivative that is not unique, under `kinks="report"`."""


class DifferenceWarning(RuntimeWarning):
    """A derivative by differences, of a black box, may have a large error."""


class DomainWarning(RuntimeWarning):
    """A Python float left the domain of a function and became inf or nan."""


class NotCompiledWarning(RuntimeWarning):
    """A function given to `jit` runs without machine code."""


def match_numpy_error(error: Exception) -> type[MatrixError | FloatError | InputError]:
    """Return the error class of this library that corresponds to an error of NumPy."""
    if isinstance(error, np.linalg.LinAlgError):
        return MatrixError
    return FloatError if isinstance(error, FloatingPointError) else InputError


def find_user_frame(
    frame: FrameType | None = None, known: Container[FrameType | None] = ()
) -> FrameType | None:
    """Return the innermost frame of the user's code, outside this library, NumPy and SciPy.

    The search goes outward from `frame` (by default the caller's) and stops at a `known` frame.
    """
    frame = frame or sys._getframe(1)
    while frame is not None and frame not in known and not is_user_frame(frame):
        frame = frame.f_back
    return frame


def is_user_frame(frame: FrameType) -> bool:
    """Tell whether a frame runs the user's code, outside this library, NumPy and SciPy."""
    return not (frame.f_code.co_filename.startswith(_LIBRARY_PREFIXES) or _is_scipy(frame))


def _is_scipy(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__")).startswith("scipy.")


def _is_transformation(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__")).startswith("simpleautodiff.transforms.")


def _computes_value(frame: FrameType) -> bool:
    name = str(frame.f_globals.get("__name__"))
    return name.startswith(("simpleautodiff.core.", "simpleautodiff.fast."))


def find_scipy_frames(of_a_value: bool = False) -> list[FrameType]:
    """Return the running frames of SciPy up to the user's code, the innermost first.

    With `of_a_value`, only those that compute the value of a primitive, if one is being computed.
    """
    frames = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if _is_scipy(frame):
            frames.append(frame)
        elif is_user_frame(frame) or _is_transformation(frame):
            break  # frames further out called the user's code
        elif of_a_value and _computes_value(frame):
            break
        frame = frame.f_back
    return frames


def ran_scipy(error: BaseException) -> bool:
    """Tell whether an error was raised in what SciPy's code called."""
    traceback = error.__traceback__
    while traceback is not None and not _is_scipy(traceback.tb_frame):
        traceback = traceback.tb_next
    return traceback is not None


def format_line(filename: str, lineno: int) -> str:
    """Write a line of source code as ``model.py:12: y = log(x)``, or ``Cell In[3]:2: ...``."""
    text = linecache.getline(filename, lineno).strip()
    position = f"{_name_cell(filename) or os.path.basename(filename)}:{lineno}"
    return f"{position}: {text}" if text else position


def _name_cell(filename: str) -> str:
    """Return the name of the notebook cell that a file stands for, as IPython writes it."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    name = shell and shell.compile.format_code_name(filename)
    return " ".join(name) if name else ""


def cite_line() -> str:
    """Return `` (at model.py:12: y = log(x))``, the user's running line, to end a message with."""
    frame = find_user_frame()
    while frame is not None and _is_of_python(frame) and frame.f_back is not None:
        frame = find_user_frame(frame.f_back)
    return f" (at {format_line(frame.f_code.co_filename, frame.f_lineno)})" if frame else ""


def _is_of_python(frame: FrameType) -> bool:
    """Tell whether a frame runs a module of Python, such as statistics, for the user's code."""
    name = frame.f_code.co_filename
    return name.startswith(_PYTHON) and "site-packages" not in name


def cite_line_of(error: BaseException) -> str:
    """Return the same text for the user's line at which `error` was raised."""
    cited = ""
    step = error.__traceback__
    while step is not None:
        if is_user_frame(step.tb_frame) and not _is_of_python(step.tb_frame):
            cited = f" (at {format_line(step.tb_frame.f_code.co_filename, step.tb_lineno)})"
        step = step.tb_next
    return cited


def short_repr(value: Any) -> str:
    """Return the repr of a value for a message, shortened if it is long."""
    try:
        text = repr(value)
    except ValueError:  # Python refuses to print integers of more than 4300 digits
        return "a huge integer"
    return text if len(text) <= 80 else f"{text[:60]}..."


def warn_domain(message: str) -> None:
    """Issue a `DomainWarning` that points to the user's own line."""
    warn_user(message, DomainWarning)


def warn_user(message: str, category: type[Warning]) -> None:
    """Issue a warning that points to the user's own line."""
    frame = find_user_frame()
    if frame is None:
        warnings.warn(message, category, stacklevel=3)
        return
    registry = frame.f_globals.setdefault("__warningregistry__", {})
    warnings.warn_explicit(
        message, category, frame.f_code.co_filename, frame.f_lineno, registry=registry
    )
