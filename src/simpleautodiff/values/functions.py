"""Number types: which ones a node may hold, and which function computes a primitive for each.

Arithmetic is Python's own: `a + b` calls the numbers' methods. Elementary functions are looked up
once per type: in the type's library, or among those passed to `register_number` for a user's own
type. A function that a type lacks is computed by its row's definition in simpler functions.
"""

from __future__ import annotations

import decimal
import importlib
import numbers
import sys
from collections.abc import Callable, Collection, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from simpleautodiff.errors import DomainError, RuleError, ValueKindError, cite_line
from simpleautodiff.values.labelled_arrays import keep_labels as keep_labels, strip_labels
from simpleautodiff.values.libraries import (
    LIBRARIES,
    WIDEST,
    Function as Function,
    Names as Names,
    library_of,
    optional as optional,
)
from simpleautodiff.values.other_arrays import Foreign, is_foreign, wrap_foreign

_REGISTERED: dict[type, Mapping[str, Function]] = {}


def register_number(kind: type, functions: Mapping[str, Function]) -> None:
    """Register the elementary functions of a number type of your own.

    The type needs arithmetic (`+ - * /`, and `**` for powers), whose methods return
    `NotImplemented` for operands they do not know, as Python's own do, so that Python calls a node
    on the right instead. `functions` maps names of primitives (`"sin"`, `"exp"`, `"log"`, ...) to
    functions of such numbers; rules may need more than you call, as that of sin needs cos. A
    function that is left out is computed by the definition of its row, as `softplus` from `exp`.

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
    _REGISTERED[kind] = {**_REGISTERED.get(kind, {}), **functions}
    for forget in _forget:
        forget(kind)


_forget: list[Callable[[type], None]] = []  # called so that rows forget a type's functions


def on_register(forget: Callable[[type], None]) -> None:
    """Call `forget` with a number type whenever it gets new functions."""
    _forget.append(forget)


def check_value(value: Any, what: str) -> Any:
    """Return `value` if it is a number (0-d arrays become scalars); refuse anything else.

    A number is any object with + - and *: Python's, NumPy's, mpmath's, SymPy's, or a user's own.
    """
    kind = type(value)  # isinstance would look inside a node
    if issubclass(kind, (float, int, complex)):
        return value
    if issubclass(kind, (np.integer, np.bool_)):
        return np.float64(value)  # NumPy's integers would overflow
    if issubclass(kind, np.ndarray):
        return _check_array(value, what)
    if is_foreign(value):
        return _check_foreign(wrap_foreign(value), what)
    if kind.__module__.startswith("scipy.sparse") or hasattr(kind, "tocsr"):
        raise ValueKindError(
            f"{what} is a sparse matrix, which has derivative rules in products, A @ x, x @ A and "
            "A * k, alone. Differentiate in its elements: csr_array((data, A.indices, A.indptr), "
            f"shape=A.shape); for all else use A.toarray(){cite_line()}"
        )
    if all(hasattr(kind, method) for method in ("__add__", "__sub__", "__mul__")):
        return value
    fix = {
        str: "Convert it first: float(text).",
        type(None): "Did a function forget to return its result?",
    }.get(kind, "Pass a number, or a list, tuple or dict of numbers to grad and its relatives.")
    raise ValueKindError(f"{what} is {value!r}, which is not a number. {fix}{cite_line()}")


def as_argument(x: Any, operation: str, place: int, settings: Collection[int]) -> Any:
    """Convert an argument of a primitive; lists become arrays, and what is no number is refused."""
    argument = strip_labels(x)
    if is_foreign(argument):
        return wrap_foreign(argument)
    if type(argument) is list and place not in settings:
        return np.asarray(argument)
    if argument is x and place not in settings:
        check_value(x, f"argument {place + 1} of {operation}")
    return argument


def _check_array(array: Any, what: str) -> Any:
    """Return an array that can be differentiated; integers become floats."""
    masked = "numpy.ma" in sys.modules and isinstance(array, np.ma.MaskedArray)
    if masked or isinstance(array, np.matrix):
        instead = "np.where(x.mask, 0, x.data), or x.filled(0)" if masked else "np.asarray(x)"
        raise ValueKindError(
            f"{what} is a {type(array).__name__}; pass an ordinary array: {instead}{cite_line()}"
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
    """Return the shape of a value: () for a scalar."""
    if type(value) is float:
        return ()
    return tuple(getattr(value, "shape", ()))


def is_array(value: Any) -> bool:
    """Tell arrays from scalars; a batch of scalars counts as an array."""
    return (isinstance(value, np.ndarray) and value.ndim > 0) or getattr(value, "array_like", False)


def has_dtype(value: Any) -> bool:
    """Tell whether a value has a dtype, which constants must be converted to."""
    return isinstance(value, (np.generic, np.ndarray)) or is_array(value)


def lift(number: int, like: Any) -> Any:
    """Convert an integer to the type of `like`: 2 to mpf(2), Decimal(2), float32(2).

    Constants of rules such as log 2 are computed from it, to the full precision of the type.
    """
    kind = type(like)
    if kind in (float, int, bool):
        return float(number)
    if hasattr(like, "lift_integer"):
        return like.lift_integer(number)
    if kind is np.ndarray or is_array(like):
        return like.dtype.type(number)
    if library_of(kind) in ("sympy", ""):  # the constructor of a user's own type is not known
        return zero_like(like) + number
    return kind(number)


def zero_like(value: Any) -> Any:
    """Return the 0 of the type of `value`, for a derivative that is 0."""
    if isinstance(value, (bool, np.bool_)):
        return 0
    if isinstance(value, np.ndarray):
        return np.zeros_like(value)
    if hasattr(value, "zeros"):
        return value.zeros()
    if isinstance(value, (int, float, complex, Fraction, decimal.Decimal, np.generic)):
        return type(value)(0)
    library = library_of(type(value))
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


def widen_arguments(args: tuple[Any, ...], value: Any) -> tuple[Any, ...]:
    """Return the arguments of an operation in the dtype of its value, as NumPy computed it.

    A rule would compute with integers, or with fewer digits, where the value was not.
    """
    dtype = _find_dtype(value)
    if dtype is None or all([_find_dtype(arg) in (dtype, None) for arg in args]):
        return args
    return tuple([arg.astype(dtype) if _is_narrower(arg, dtype) else arg for arg in args])


def _find_dtype(x: Any) -> Any:
    """Return NumPy's dtype of an array, or of a node of one; None for other numbers."""
    try:
        dtype = getattr(x, "dtype", None)
    except TypeError:  # a node of a number that NumPy does not know
        return None
    return dtype if isinstance(dtype, np.dtype) else None


def _is_narrower(arg: Any, dtype: Any) -> bool:
    """Tell whether an array has a dtype that can be converted to another without a loss.

    A node of a single number may be one of Python's, which has no dtype of its own.
    """
    own = _find_dtype(arg)
    if own is None or own == dtype or not (isinstance(arg, np.generic) or arg.shape):
        return False
    return np.can_cast(own, dtype)


def width(kind: type) -> int:
    """Return the rank of a number type: f(a, b) is computed by the function of the wider type."""
    if is_registered(kind):
        return WIDEST
    return LIBRARIES.get(library_of(kind), (WIDEST, None))[0]


_LATE: list[tuple[Callable[[type], bool], Callable[[], object]]] = []


def register_later(belongs: Callable[[type], bool], load: Callable[[], object]) -> None:
    """Have `load` register the functions of types for which `belongs` holds, once one is met."""
    _LATE.append((belongs, load))


def find_registered(name: str, kind: type) -> Function | None:
    """Return the function that `register_number` was given for a type, or None."""
    for belongs, load in _LATE:
        if belongs(kind):
            load()  # registers the functions of the type
    for base in kind.__mro__:
        if name in _REGISTERED.get(base, {}):
            return _REGISTERED[base][name]
    return None


def is_mpmath_interval(kind: type) -> bool:
    """Tell whether a number type is that of `mpmath.iv`."""
    return kind.__name__ == "ivmpf"


def is_equal(x: Any, y: Any) -> Any:
    """Return x == y; None for mpmath's intervals if it depends on the numbers in them.

    mpmath itself compares intervals as sets.
    """
    if is_mpmath_interval(type(x)) or is_mpmath_interval(type(y)):
        apart = (x < y) or (x > y)
        return False if apart else True if x == y and getattr(x - y, "delta", 0) == 0 else None
    return x == y


def is_different(x: Any, y: Any) -> Any:
    """Return x != y; None for mpmath's intervals if it depends on the numbers in them."""
    if is_mpmath_interval(type(x)) or is_mpmath_interval(type(y)):
        same = is_equal(x, y)
        return same if same is None else not same
    return x != y


def undecided_error(question: str) -> DomainError:
    """Return the error for a comparison of mpmath's intervals that has no definite answer."""
    return DomainError(
        f"{question} is not decided: the answer is not the same for all numbers of the interval. "
        f"Make the box smaller{cite_line()}"
    )


def is_registered(kind: type) -> bool:
    """Tell whether a number type was registered by the user."""
    return any(base in _REGISTERED for base in kind.__mro__)


def find_function(name: str, names: Names, kind: type) -> Function | None:
    """Return the function called `name` for a number type, or None."""
    own = find_registered(name, kind)
    if own:
        return own
    library = library_of(kind)
    return LIBRARIES[library][1](name, names, kind) if library else None


def to_type_of(number: Any, like: Any) -> Any:
    """Convert a Python number to the type of `like`, where that is a wider one.

    Seeds and constants are Python numbers, which mix with every type; a derivative made of them
    alone has to be converted.
    """
    if isinstance(like, np.ndarray) or is_array(like):
        return _array_to_type_of(number, like)
    if isinstance(number, np.ndarray) and not number.ndim:
        number = number[()]  # the derivative of a scalar is a scalar
    if type(number) is int or isinstance(number, np.integer):
        return number + zero_like(like)
    if isinstance(number, (float, np.floating)) and isinstance(like, np.inexact):
        return type(like)(number)
    if type(number) is complex and isinstance(like, np.complexfloating):
        return type(like)(number)
    if type(like) is complex and isinstance(number, (float, np.floating)):
        return complex(number)
    if type(number) in (float, complex) and library_of(type(like)) == "mpmath":
        return number + zero_like(like)
    return number


def _array_to_type_of(number: Any, like: Any) -> Any:
    foreign = isinstance(number, Foreign)
    if isinstance(like, np.ndarray) and like.dtype.kind in "biu" and not foreign:
        return number + zero_like(like)  # a derivative of integers need not be one
    if isinstance(number, (int, float)):
        return zero_like(like) + like.dtype.type(number)
    if type(number) is Foreign and isinstance(like, np.ndarray):
        number = number.numpy()
    if type(number) is Foreign and type(like) is Foreign:
        return number.astype(like.dtype)
    if type(like) is Foreign and isinstance(number, np.ndarray):
        return Foreign(like.convert(number.astype(like.dtype)), like.xp)
    if isinstance(number, np.ndarray) and number.dtype.kind in ("f", "i", like.dtype.kind):
        return number.astype(like.dtype, copy=not number.flags.writeable)
    return number


# Which function computes a primitive. -------------------------------------------------------------


class ByType(dict[type, Function]):
    """The functions that compute a primitive of one argument, by number type."""

    def __init__(self, name: str, names: Names, define: Function | None) -> None:
        super().__init__()
        self.find = name, names, define
        self.deferred: tuple[type, Function] | None = None
        on_register(self.forget)

    def defer(self, base: type, function: Function) -> None:
        """Use the wrapping function for numbers that are themselves nodes."""
        self.deferred = base, function

    def forget(self, kind: type) -> None:
        """Drop the function of `kind`, so that it is looked up again."""
        for known in [known for known in self if issubclass(known, kind)]:
            del self[known]

    def __missing__(self, kind: type) -> Function:
        found = self.look_up(kind)
        if self.deferred and issubclass(kind, self.deferred[0]):
            found = self.deferred[1]
        if found is None:
            raise no_function_error(self.find[0], kind)
        self[kind] = found
        return found

    def look_up(self, kind: type) -> Function | None:
        """Look a function up in the library of a number type, then in the row's definition."""
        name, names, define = self.find
        return find_function(name, names, kind) or define


def no_function_error(name: str, kind: type) -> RuleError:
    """Return the error for a number type that lacks an elementary function, with the way out."""
    return RuleError(
        f"there is no {name} for numbers of type {kind.__name__}. Give it in one line: "
        f"register_number({kind.__name__}, {{'{name}': your_function}})"
        f"{'; or install mpmath, which has it' * (kind.__name__ == 'Decimal')}"
    )


_COMMON_TYPES = {int, float, np.ndarray}


def dispatch_on_widest(by_type: ByType) -> Function:
    """Return a function of several arguments that calls the one for the widest number type."""

    def compute(*args: Any) -> Any:
        kinds = {*map(type, args)}
        if len(kinds) > 1 and kinds <= _COMMON_TYPES:
            return by_type[np.ndarray if np.ndarray in kinds else float](*args)
        return by_type[kinds.pop() if len(kinds) == 1 else max(map(type, args), key=width)](*args)

    return compute
