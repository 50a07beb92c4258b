"""Where each number type has its elementary functions: `math`, `cmath`, NumPy, mpmath, SymPy.

`LIBRARIES` gives, for the package of a number type, its width and the function that looks up an
elementary function. Types are ordered from the narrowest to the widest.
"""

from __future__ import annotations

import cmath
import decimal
import importlib
import importlib.util
import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from simpleautodiff.errors import MissingExtraError

Function = Callable[..., Any]
Names = Mapping[str, str | Function]  # library -> its name for a function, or the function itself


def _python(name: str, names: Names, kind: type) -> Function | None:
    return _find_in(math, name, names.get("math")) or _special(name, names)


def _complex(name: str, names: Names, kind: type) -> Function | None:
    found = _find_in(cmath, name, None)
    if found:
        return found
    ufunc = _complex_ufunc(name, names)
    return (lambda *xs: complex(ufunc(*xs))) if ufunc else None


def _numpy(name: str, names: Names, kind: type) -> Function | None:
    if issubclass(kind, np.complexfloating):
        return _complex_ufunc(name, names)
    return _find_in(np, name, names.get("numpy")) or _special(name, names)


def _complex_ufunc(name: str, names: Names) -> Function | None:
    """Return NumPy's function, or SciPy's, if it takes complex numbers."""
    given = names.get("numpy", name)
    found = getattr(np, given, None) if isinstance(given, str) else None
    special = names.get("scipy")
    if found is None and isinstance(special, str):
        with suppress(ImportError):
            found = getattr(importlib.import_module("scipy.special"), special)
    takes = isinstance(found, np.ufunc) and any("D" in kinds for kinds in found.types)
    return found if takes else None


def _decimal(name: str, names: Names, kind: type) -> Function | None:
    native = {"exp": "exp", "log": "ln", "log10": "log10", "sqrt": "sqrt"}.get(name)
    if native:
        return lambda x: getattr(decimal.Decimal(x), native)()
    function = _mpmath(name, names, kind) if importlib.util.find_spec("mpmath") else None
    return (lambda *xs: _decimal_by_mpmath(function, xs)) if function else None


def _decimal_by_mpmath(function: Function, xs: tuple[Any, ...]) -> Any:
    """Compute with mpmath at the precision of the decimal context, and round back."""
    mpmath = importlib.import_module("mpmath")
    digits = decimal.getcontext().prec
    with mpmath.workdps(digits + 5):
        result = function(*[x if isinstance(x, int) else mpmath.mpf(str(x)) for x in xs])
        if isinstance(result, mpmath.mpc):
            raise ValueError("the result is complex")
        return +decimal.Decimal(mpmath.nstr(result, digits + 3, strip_zeros=False))


def _mpmath(name: str, names: Names, kind: type) -> Function | None:
    given = names.get("mpmath", name)
    if callable(given):
        return given
    context = importlib.import_module("mpmath").mp
    if not given or not hasattr(context, given):
        return None
    return lambda *xs: getattr(_context(xs), given)(*xs)


def _context(xs: tuple[Any, ...]) -> Any:
    """Return the mpmath context of the numbers: `mpmath.mp`, or `mpmath.iv` for intervals."""
    contexts = (getattr(x, "context", None) or getattr(x, "ctx", None) for x in xs)
    return next(filter(None, contexts), importlib.import_module("mpmath").mp)


def _sympy(name: str, names: Names, kind: type) -> Function | None:
    return _find_in(importlib.import_module("sympy"), name, names.get("sympy"))


LIBRARIES: dict[str, tuple[int, Callable[[str, Names, type], Function | None]]] = {
    "builtins": (0, _python),
    "fractions": (0, _python),
    "complex": (1, _complex),
    "numpy": (2, _numpy),
    "simpleautodiff": (2, _numpy),  # arrays of other libraries, by NumPy's protocols
    "decimal": (3, _decimal),
    "mpmath": (4, _mpmath),
    "sympy": (5, _sympy),
}
WIDEST = 6


def _find_in(library: Any, name: str, given: str | Function | None) -> Function | None:
    if callable(given):
        return given
    found = getattr(library, name if given is None else given, None) if given != "" else None
    return found if callable(found) else None


def _special(name: str, names: Names) -> Function | None:
    """Return the function of scipy.special, or mpmath's on floats, where `math` has none."""
    given = names.get("scipy")
    if given is None:
        return None
    if callable(given):
        return given
    try:
        return _restrict_to_floats(getattr(importlib.import_module("scipy.special"), given))
    except ImportError:
        mpmath = optional("mpmath", name, also="scipy")
    return lambda *xs: float(getattr(mpmath, str(names.get("mpmath", name)))(*xs))


def _restrict_to_floats(function: Function) -> Function:
    def compute_float(*xs: Any) -> Any:
        result = function(*xs)
        kinds = [x.dtype for x in xs if hasattr(x, "dtype")]
        return result.astype(np.result_type(*kinds)) if kinds else result.item()

    return compute_float


def optional(library: str, purpose: str, also: str = "") -> Any:
    """Import an optional library, or raise an error that says how to install it."""
    try:
        return importlib.import_module(library)
    except ImportError:
        either = f"{also} or {library}" if also else library
        raise MissingExtraError(
            f"{purpose} needs {either}, which is not installed: pip install {also or library}"
        ) from None


def library_of(kind: type) -> str:
    """Return the key of `LIBRARIES` for a number type; "" for a user's own type."""
    for base in kind.__mro__:
        root = "complex" if base is complex else base.__module__.partition(".")[0]
        if base is not object and root in LIBRARIES:
            return root
    return ""
