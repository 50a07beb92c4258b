"""Any number: which kinds a node may hold, and where each keeps its elementary functions.

Arithmetic is Python's own (`a + b` asks the numbers themselves). Elementary functions are looked
up once per kind: `math` for int, float and Fraction, `cmath` for complex, NumPy for its scalars,
mpmath and SymPy for theirs, and what `register_number` was told for a user's own type. A function
that a kind does not have is computed by its row's definition in simpler ones.
"""

from __future__ import annotations

import cmath
import decimal
import importlib
import importlib.util
import math
import numbers
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from simpleautodiff.errors import (
    AutodiffError,
    DomainError,
    MissingExtraError,
    RuleError,
    ValueKindError,
    cite_line,
    match_numpy_error,
)
from simpleautodiff.values.other_arrays import Foreign, is_foreign, wrapped

Function = Callable[..., Any]
Names = Mapping[str, str | Function]  # library -> its name for a function, or the function itself

_OWN: dict[type, Mapping[str, Function]] = {}


def register_number(kind: type, functions: Mapping[str, Function]) -> None:
    """Tell the library the elementary functions of a number type of yours.

    The type needs arithmetic (`+ - * /`, and `**` for powers), whose methods return
    `NotImplemented` for operands they do not know, as Python's own do: then a node on the right is
    asked instead. `functions` maps names of the table (`"sin"`, `"exp"`, `"log"`, ...) to
    functions of such numbers; a rule may need others than you call, as that of sin needs cos. What
    is left out is computed where its row has a definition, as `softplus` from `exp`.

    Examples
    --------
    >>> import math
    >>> import simpleautodiff as ad
    >>> class Length(float):
    ...     pass
    >>> ad.register_number(Length, {"sqrt": lambda x: Length(math.sqrt(x))})
    >>> type(ad.sqrt(Length(9.0))).__name__
    'Length'
    """
    if not isinstance(kind, type):
        raise ValueKindError(f"register_number needs a type, got {kind!r}: pass the class itself.")
    for name, function in functions.items():
        if not callable(function):
            raise ValueKindError(f"register_number needs functions; {name!r} is {function!r}")
    _OWN[kind] = {**_OWN.get(kind, {}), **functions}
    for forget in _forget:
        forget(kind)


_forget: list[Callable[[type], None]] = []  # rows drop what they had looked up for a kind


def on_register(forget: Callable[[type], None]) -> None:
    """Ask to be told when a kind of number gets new functions."""
    _forget.append(forget)


def check_value(value: Any, what: str) -> Any:
    """Return `value` if it is a number (0-d arrays become scalars); refuse anything else.

    A number is what has + - and *: Python's, NumPy's, mpmath's, SymPy's, or a user's own.
    """
    if isinstance(value, (float, int, complex)):
        return value
    if isinstance(value, (np.integer, np.bool_)):
        return np.float64(value)  # a whole number of NumPy's wraps round where it is too large
    if isinstance(value, np.ndarray):
        return _check_array(value, what)
    if is_foreign(value):
        return _check_foreign(wrapped(value), what)
    kind = type(value)
    if kind.__module__.startswith("scipy.sparse"):
        raise ValueKindError(
            f"{what} is a sparse matrix, which has derivative rules in products with arrays, "
            f"A @ x and x @ A, alone. For (k * A) @ x write k * (A @ x); for all else use "
            f"A.toarray(){cite_line()}"
        )
    if all(hasattr(kind, method) for method in ("__add__", "__sub__", "__mul__")):
        return value
    fix = {
        str: "Convert it first: float(text).",
        type(None): "Did a function forget to return its result?",
    }.get(kind, "Pass a number, or a list, tuple or dict of numbers to grad and its relatives.")
    raise ValueKindError(f"{what} is {value!r}, which is not a number. {fix}{cite_line()}")


def as_argument(x: Any, setting: bool) -> Any:
    """Return an argument of a primitive as it is computed with; lists of numbers become arrays."""
    if is_foreign(x):
        return wrapped(x)
    return np.asarray(x) if type(x) is list and not setting else x


def _check_array(array: Any, what: str) -> Any:
    """Return an array that can be differentiated: of floats; whole numbers become floats."""
    if isinstance(array, (np.ma.MaskedArray, np.matrix)):
        raise ValueKindError(
            f"{what} is a {type(array).__name__}; pass an ordinary array: "
            f"np.asarray(x){cite_line()}"
        )
    array = np.asarray(array)
    if array.dtype.kind in "biu":
        array = array.astype(np.float64)
    if array.dtype.kind not in "fc":
        raise ValueKindError(
            f"{what} is an array of {array.dtype}, which has no arithmetic to differentiate. "
            f"Make it an array of numbers: np.array(..., dtype=float){cite_line()}"
        )
    return array[()] if array.ndim == 0 else array


def _check_foreign(array: Foreign, what: str) -> Any:
    """Return an array of another library that can be differentiated."""
    if array.dtype.kind not in "biufc":
        raise ValueKindError(f"{what} is an array of {array.dtype}; pass an array of numbers")
    return array.astype(np.float64) if array.dtype.kind in "biu" else array


def shape(value: Any) -> tuple[int, ...]:
    """Return the shape of a number: that of an array, or () for a single one."""
    if type(value) is float:
        return ()
    return tuple(getattr(value, "shape", ()))


def is_array(value: Any) -> bool:
    """Tell arrays from single numbers; a batch of numbers is an array, whatever its shape."""
    return (isinstance(value, np.ndarray) and value.ndim > 0) or getattr(value, "array_like", False)


def has_kind(value: Any) -> bool:
    """Tell NumPy's scalars, and arrays, whose kind of number a constant has to be given."""
    return isinstance(value, (np.generic, np.ndarray)) or is_array(value)


def lift(number: int, like: Any) -> Any:
    """Write a whole number in the kind of `like`: 2 as mpf(2), Decimal(2), float32(2).

    Constants of rules such as log 2 come from this, so that they have all digits of their kind.
    """
    kind = type(like)
    if kind in (float, int, bool):
        return float(number)
    if hasattr(like, "lifted"):
        return like.lifted(number)
    if kind is np.ndarray or is_array(like):
        return like.dtype.type(number)
    if _library_of(kind) in ("sympy", ""):  # how a user's own type is built, only the user knows
        return zero_like(like) + number
    return kind(number)


def zero_like(value: Any) -> Any:
    """Return the 0 of the kind of `value`, for a derivative that does not exist in the graph."""
    if isinstance(value, (bool, np.bool_)):
        return 0
    if isinstance(value, np.ndarray):
        return np.zeros_like(value)
    if hasattr(value, "zeros"):
        return value.zeros()
    if isinstance(value, (int, float, complex, Fraction, decimal.Decimal, np.generic)):
        return type(value)(0)
    library = _library_of(type(value))
    if library == "sympy":
        return importlib.import_module("sympy").Integer(0)
    return lift(0, value) if library == "mpmath" else value * 0


def is_complex(value: Any) -> bool:
    """Tell complex numbers from all others."""
    if type(value) is float:
        return False
    if hasattr(value, "dtype"):
        return bool(value.dtype.kind == "c")
    return isinstance(value, numbers.Complex) and not isinstance(value, numbers.Real)


# How the libraries are asked, from the narrowest kind of number to the widest. ------------------


def _python(name: str, names: Names, kind: type) -> Function | None:
    return _named(math, name, names.get("math")) or _special(name, names)


def _complex(name: str, names: Names, kind: type) -> Function | None:
    found = _named(cmath, name, None)
    if found:
        return found
    ufunc = _complex_ufunc(name, names)
    return (lambda *xs: complex(ufunc(*xs))) if ufunc else None


def _numpy(name: str, names: Names, kind: type) -> Function | None:
    if issubclass(kind, np.complexfloating):
        return _complex_ufunc(name, names)
    return _named(np, name, names.get("numpy")) or _special(name, names)


def _complex_ufunc(name: str, names: Names) -> Function | None:
    """Return NumPy's function if it takes complex numbers."""
    given = names.get("numpy", name)
    found = getattr(np, given, None) if isinstance(given, str) else None
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
    """Return the context that the numbers belong to: `mpmath.mp`, or `mpmath.iv` for intervals."""
    contexts = (getattr(x, "context", None) or getattr(x, "ctx", None) for x in xs)
    return next(filter(None, contexts), importlib.import_module("mpmath").mp)


def _sympy(name: str, names: Names, kind: type) -> Function | None:
    return _named(importlib.import_module("sympy"), name, names.get("sympy"))


_LIBRARIES: dict[str, tuple[int, Callable[[str, Names, type], Function | None]]] = {
    "builtins": (0, _python),
    "fractions": (0, _python),
    "complex": (1, _complex),
    "numpy": (2, _numpy),
    "simpleautodiff": (2, _numpy),  # arrays of other libraries, asked in NumPy's ways
    "decimal": (3, _decimal),
    "mpmath": (4, _mpmath),
    "sympy": (5, _sympy),
}
_WIDEST = 6


def _named(library: Any, name: str, given: str | Function | None) -> Function | None:
    if callable(given):
        return given
    found = getattr(library, name if given is None else given, None) if given != "" else None
    return found if callable(found) else None


def _special(name: str, names: Names) -> Function | None:
    """Return the function of scipy.special, or mpmath's in floats, where `math` has none."""
    given = names.get("scipy")
    if given is None:
        return None
    if callable(given):
        return given
    try:
        return _as_float(getattr(importlib.import_module("scipy.special"), given))
    except ImportError:
        mpmath = optional("mpmath", name, also="scipy")
    return lambda *xs: float(getattr(mpmath, str(names.get("mpmath", name)))(*xs))


def _as_float(function: Function) -> Function:
    def of_python(*xs: Any) -> Any:
        result = function(*xs)
        kinds = [x.dtype for x in xs if hasattr(x, "dtype")]
        return result.astype(np.result_type(*kinds)) if kinds else result.item()

    return of_python


def optional(library: str, purpose: str, also: str = "") -> Any:
    """Import a library that need not be there, or say how to install it."""
    try:
        return importlib.import_module(library)
    except ImportError:
        either = f"{also} or {library}" if also else library
        raise MissingExtraError(
            f"{purpose} needs {either}, which is not installed: pip install {also or library}"
        ) from None


def _library_of(kind: type) -> str:
    for base in kind.__mro__:
        root = "complex" if base is complex else base.__module__.partition(".")[0]
        if base is not object and root in _LIBRARIES:
            return root
    return ""


def width(kind: type) -> int:
    """Order kinds of numbers: in f(a, b) the wider kind decides whose function is used."""
    if is_registered(kind):
        return _WIDEST
    return _LIBRARIES.get(_library_of(kind), (_WIDEST, None))[0]


def registered(name: str, kind: type) -> Function | None:
    """Return the function that `register_number` was given for a kind, or None."""
    for base in kind.__mro__:
        if name in _OWN.get(base, {}):
            return _OWN[base][name]
    return None


def is_registered(kind: type) -> bool:
    """Tell whether a kind of number is a user's own."""
    return any(base in _OWN for base in kind.__mro__)


def implementation(name: str, names: Names, kind: type) -> Function | None:
    """Find the function called `name` for one kind of number, or None."""
    own = registered(name, kind)
    if own:
        return own
    library = _library_of(kind)
    return _LIBRARIES[library][1](name, names, kind) if library else None


def in_kind(number: Any, like: Any) -> Any:
    """Return a Python number in the kind of `like`, where that is a wider one.

    Seeds and constants are Python numbers, which mix with every kind; a derivative that is made of
    them alone has to be told its kind.
    """
    if isinstance(like, np.ndarray) or is_array(like):
        return _array_in_kind(number, like)
    if isinstance(number, np.ndarray) and not number.ndim:
        number = number[()]  # the derivative of a number is a number
    if type(number) is int:
        return number + zero_like(like)
    if isinstance(number, (float, np.floating)) and isinstance(like, np.inexact):
        return type(like)(number)
    if type(number) is complex and isinstance(like, np.complexfloating):
        return type(like)(number)
    if type(number) in (float, complex) and _library_of(type(like)) == "mpmath":
        return number + zero_like(like)
    return number


def _array_in_kind(number: Any, like: Any) -> Any:
    if isinstance(number, (int, float)):
        return zero_like(like) + like.dtype.type(number)
    if type(number) is Foreign and isinstance(like, np.ndarray):
        number = number.numpy()
    if type(number) is Foreign and type(like) is Foreign:
        return number.astype(like.dtype)
    if type(like) is Foreign and isinstance(number, np.ndarray):
        return Foreign(like.own(number.astype(like.dtype)), like.xp)
    if isinstance(number, np.ndarray) and number.dtype.kind in ("f", like.dtype.kind):
        return number.astype(like.dtype, copy=not number.flags.writeable)
    return number


# Which function computes a primitive. -------------------------------------------------------------


class ByType(dict[type, Function]):
    """Which function computes a primitive of one argument, for each kind of number met so far."""

    def __init__(self, name: str, names: Names, define: Function | None) -> None:
        super().__init__()
        self.find = name, names, define
        self.deferred: tuple[type, Function] | None = None
        on_register(self.forget)

    def defer(self, base: type, function: Function) -> None:
        """Give numbers that are nodes themselves to the wrapping function."""
        self.deferred = base, function

    def forget(self, kind: type) -> None:
        """Look again, next time, for the function of `kind`."""
        for known in [known for known in self if issubclass(known, kind)]:
            del self[known]

    def __missing__(self, kind: type) -> Function:
        found = self.look_up(kind)
        if self.deferred and issubclass(kind, self.deferred[0]):
            found = self.deferred[1]
        if found is None:
            raise no_function(self.find[0], kind)
        self[kind] = found
        return found

    def look_up(self, kind: type) -> Function | None:
        """Ask the library of a kind of number, then the definition in simpler functions."""
        name, names, define = self.find
        return implementation(name, names, kind) or define


def no_function(name: str, kind: type) -> RuleError:
    """Say that a kind of number lacks an elementary function, and where to give it."""
    return RuleError(
        f"there is no {name} for numbers of type {kind.__name__}. Give it in one line: "
        f"register_number({kind.__name__}, {{'{name}': your_function}})"
        f"{'; or install mpmath, which has it' * (kind.__name__ == 'Decimal')}"
    )


_COMMONEST = {int, float, np.ndarray}


def by_widest(by_type: ByType) -> Function:
    """Compute a primitive of several arguments by the function of the widest kind among them."""

    def compute(*args: Any) -> Any:
        kinds = {*map(type, args)}
        if len(kinds) > 1 and kinds <= _COMMONEST:
            return by_type[np.ndarray if np.ndarray in kinds else float](*args)
        return by_type[kinds.pop() if len(kinds) == 1 else max(map(type, args), key=width)](*args)

    return compute


# Outside the domain. ------------------------------------------------------------------------------


def as_numpy_would(function: Function, args: tuple[Any, ...], complaint: str) -> Any:
    """Redo a computation that Python's floats refuse, with NumPy's inf and nan.

    Numbers that have no inf (Fraction, Decimal) get a `DomainError` with `complaint`.
    """
    if not all(isinstance(arg, (int, float, complex)) for arg in args):
        raise DomainError(f"{complaint}, and Python's numbers of this kind stop there{cite_line()}")
    try:
        with np.errstate(all="ignore"):
            result = function(
                *[np.complex128(a) if isinstance(a, complex) else np.float64(a) for a in args]
            )
    except OverflowError:
        raise DomainError(
            f"{complaint}: the numbers are too large for a float{cite_line()}"
        ) from None
    except (ArithmeticError, ValueError):
        return math.nan  # a user's own function that refuses NumPy's floats, too
    return result.item() if isinstance(result, np.generic) else result


def numpy_error(error: Exception, args: tuple[Any, ...]) -> tuple[type[AutodiffError], str] | None:
    """Return which error of ours stands for one of NumPy's, and of what; None for Python's own."""
    shapes = " and ".join(str(arg.shape) for arg in args if isinstance(arg, np.ndarray))
    if not shapes and not isinstance(error, (np.linalg.LinAlgError, FloatingPointError)):
        return None
    return match_numpy_error(error), f"arrays of shape {shapes}" if shapes else "a single number"


def is_finite(value: Any) -> bool:
    """Tell whether a number, or every element of an array, is neither nan nor infinite."""
    return bool(np.all(np.isfinite(value)))
