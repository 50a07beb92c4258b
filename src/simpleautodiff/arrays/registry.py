"""The registry of implementations of NumPy's functions for nodes, and their dispatch."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from simpleautodiff.arrays.call_arguments import (
    bind_arguments,
    count_shared,
    name_parameters,
    takes_keywords,
)
from simpleautodiff.arrays.given_values import ROUNDED_OTHERWISE, give_values
from simpleautodiff.arrays.lost_derivatives import SCIPY, scipy_error
from simpleautodiff.core.level import Traced, Written, take_current, to_concrete, to_plain
from simpleautodiff.core.node import NODES
from simpleautodiff.errors import (
    ArgumentError,
    AutodiffError,
    LostDerivativeError,
    RuleError,
    cite_line,
    match_numpy_error,
)
from simpleautodiff.rules.array.dtypes import astype, dtype_of
from simpleautodiff.rules.decisions import note_answer
from simpleautodiff.values.other_arrays import Foreign, is_foreign, wrap_foreign
from simpleautodiff.values.pytree import flatten, map_leaves

Function = Callable[..., Any]
FUNCTIONS: dict[Any, Function] = {}
SPECIAL_UFUNCS: dict[str, Function] = {}  # by name, as scipy.special may not be loaded
IN_PLACE_FUNCTIONS: dict[Any, Function] = {}  # functions that write into their first argument
METHOD_NAMES = (  # array methods that do what the function of the same name does
    *("sum", "mean", "var", "std", "max", "min", "prod", "cumsum", "cumprod", "dot", "trace"),
    *("diagonal", "ravel", "swapaxes", "squeeze", "repeat", "take", "clip", "round"),
    *("argmax", "argmin", "argsort", "argpartition", "any", "all", "nonzero", "searchsorted"),
)
RETURNING_ARGUMENT: set[Any] = {
    np.linalg.matrix_power
}  # perhaps; all other functions return new arrays
IGNORED_KEYWORDS = {
    *("order", "subok", "casting", "copy", "kind", "stable", "optimize", "like", "device"),
}


def implements(*functions: Any) -> Callable[[Function], Function]:
    """Register a function as the implementation of NumPy functions for nodes."""

    def register(implementation: Function) -> Function:
        FUNCTIONS.update(dict.fromkeys(functions, implementation))
        return implementation

    return register


def implements_scipy(*names: str) -> Callable[[Function], Function]:
    """Register a function as the implementation of SciPy functions for nodes: ``"linalg.expm"``."""

    def register(implementation: Function) -> Function:
        SCIPY.update(dict.fromkeys(names, implementation))
        return implementation

    return register


def array_function(self: Any, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """Handle a NumPy function that has a node among its arguments: `__array_function__`."""
    try:
        implementation = FUNCTIONS.get(function)
        if implementation is None:
            return _call_without_implementation(function, args, kwargs)
        required, alike = count_shared(function, implementation)
        count = len(args)
        positional = count <= required or (
            count <= alike and not any([arg is None for arg in args[required:]])
        )
        if positional and (not kwargs or takes_keywords(implementation, kwargs)):
            result = implementation(*map(take_current, args), **kwargs)
            if args and result is args[0]:
                result = _as_new(result, function, args)
        else:
            result = _call_with_defaults(function, implementation, args, kwargs)
    except AutodiffError:
        raise
    except (ValueError, TypeError, LookupError, ArithmeticError, RecursionError) as error:
        raise _find_objection(function, args, kwargs) or error from None
    if function in ROUNDED_OTHERWISE and kwargs.get("out") is None:
        return give_values(result, function, args, kwargs)
    return result


def _find_objection(function: Any, args: Any, kwargs: Any) -> AutodiffError | None:
    """Return NumPy's objection to the arguments with which an implementation failed, if any."""
    if any(callable(leaf) for leaf in flatten((args, kwargs))[0]):
        return None  # the error may come from the user's own function
    try:
        function(*map_leaves(_stand_in, args), **map_leaves(_stand_in, kwargs))
    except (ValueError, TypeError, LookupError, ArithmeticError) as error:
        return match_numpy_error(error)(f"{name_of(function)}: {error}{cite_line()}")
    return None


def _stand_in(x: Any) -> Any:
    """Return the plain array of a node, or a placeholder of its shape."""
    x = _plain(x)
    plainly = isinstance(x, (np.ndarray, np.generic)) or not hasattr(x, "shape")
    return x if plainly else np.ones(tuple(x.shape))


def _call_without_implementation(function: Any, args: Any, kwargs: Any) -> Any:
    """Write to an array, or return a plain result such as that of a comparison."""
    if function in IN_PLACE_FUNCTIONS and args and isinstance(args[0], (Traced, Written)):
        return IN_PLACE_FUNCTIONS[function](args[0].writable(), *args[1:], **kwargs)
    if function in IN_PLACE_FUNCTIONS:
        raise scipy_error() or LostDerivativeError(
            f"{name_of(function)} would write a node into a plain array, which drops its "
            "derivative; an array that is made inside the function can be written to, and one "
            f"made outside after y = np.copy(y){cite_line()}"
        )
    if function not in PLAIN_FUNCTIONS:
        raise scipy_error() or no_rule(name_of(function))
    answer = function(*map_leaves(_plain, args), **map_leaves(_plain, kwargs))
    return note_answer(answer, function, *args, **kwargs) if function in DECIDING else answer


def _call_with_defaults(function: Any, implementation: Function, args: Any, kwargs: Any) -> Any:
    """Call an implementation with the arguments and defaults of NumPy's function."""
    args, given = bind_arguments(function, args, kwargs)
    out, dtype = given.pop("out", None), given.get("dtype")
    args = [take_current(arg) for arg in args]
    takes = name_parameters(implementation)
    if dtype is not None and "dtype" not in takes:
        args = [to_dtype(args[0], given.pop("dtype")), *args[1:]]
    if None not in takes:
        given = {
            name: arg
            for name, arg in given.items()
            if name in takes or name not in IGNORED_KEYWORDS
        }
        _check_known(function, set(given) - takes)
    result = _as_new(implementation(*args, **given), function, args)
    return write_result(result, out, name_of(function))


def _as_new(result: Any, function: Any, args: Any) -> Any:
    """Return a result as a new array, as NumPy does, unless its function returns its argument."""
    is_argument = bool(args) and result is args[0]
    return +result if is_argument and function not in RETURNING_ARGUMENT else result


def _check_known(function: Any, unknown: set[Any]) -> None:
    """Reject arguments of NumPy's function that the implementation lacks."""
    if unknown:
        raise RuleError(
            f"{name_of(function)} of a node has no derivative rule for the argument "
            f"{' and '.join(sorted(unknown))}{cite_line()}"
        )


def method_of(function: Any) -> Function:
    """Return the array method that does what a NumPy function does."""
    return lambda self, *args, **kwargs: array_function(self, function, (), (self, *args), kwargs)


def _plain(x: Any) -> Any:
    return to_plain(take_current(x))


def as_array(x: Any) -> Any:
    """Convert a list to an array; return a node or another number type unchanged."""
    if type(x) in AS_THEY_ARE:
        return x
    if is_foreign(x):
        return wrap_foreign(x)
    return np.asarray(x) if issubclass(type(x), (list, tuple)) else x


def as_arrays(values: Iterable[Any]) -> list[Any]:
    """Convert lists among values to arrays."""
    values = list(values)
    return values if AS_THEY_ARE.issuperset(map(type, values)) else [*map(as_array, values)]


AS_THEY_ARE = {*NODES, np.ndarray, np.float64, float, int}


def is_batch(x: Any) -> bool:
    """Tell whether x is a batch, whose values no implementation may branch on."""
    number = to_plain(x)
    return getattr(number, "array_like", False) or getattr(number, "opaque", False)


def can_decide(x: Any) -> bool:
    """Tell whether code may branch on values: those of a batch differ between examples."""
    return getattr(to_plain(x), "can_decide", not is_batch(x))


def decide(question: Function, x: Any, *settings: Any) -> bool:
    """Answer a question about a plain array; a program that is recorded holds for that answer."""
    x = to_plain(x)
    while isinstance(x, Traced) and not hasattr(x.level, "guard"):
        x.level.part_by(question, x, settings)  # type: ignore[attr-defined]
        x = x.value  # of all examples of a batch
    if not isinstance(x, Traced):
        return bool(question(x, *settings))
    level: Any = x.level
    return bool(level.guard(level.answer(question, (x, *settings), {})))


def to_dtype(x: Any, dtype: Any) -> Any:
    """Convert a node to another dtype; reject integers, which have no derivative."""
    dtype = np.dtype(dtype)
    if dtype.kind in "fc":
        return x if dtype == dtype_of(x) else astype(x, dtype)
    raise LostDerivativeError(
        f"numbers of type {dtype} have no derivative; leave out dtype, or round the plain array: "
        f"x.astype({dtype}){cite_line()}"
    )


def as_float(x: Any) -> Any:
    """Return an array of integers or bools as one of floats; anything else unchanged."""
    return astype(x, np.dtype(np.float64)) if dtype_of(x).kind in "biu" else x


def widen(x: Any) -> Any:
    """Convert to at least 64 bits, as some functions of NumPy do; other libraries do not."""
    if not hasattr(x, "dtype") or type(to_concrete(x)) is Foreign:
        return x
    return to_dtype(x, np.result_type(dtype_of(x), np.float64))


def write_result(result: Any, out: Any, name: str) -> Any:
    """Return a result, or write it to the array `out`; several results to several arrays."""
    if isinstance(result, tuple) and isinstance(out, tuple):
        return tuple(write_result(each, to, name) for each, to in zip(result, out, strict=True))
    if isinstance(out, tuple) and len(out) == 1:
        out = out[0]
    if out is None or (isinstance(out, tuple) and set(out) == {None}):
        return result
    if isinstance(out, (Traced, Written)):
        return _write_to(out, result, name)
    if not isinstance(result, Traced):
        np.copyto(out, result, "same_kind")
        return out
    raise LostDerivativeError(
        f"{name}(..., out=...) would write a node into a plain array and drop its derivative. Use "
        f"what it returns, or make the array inside the function, with np.zeros{cite_line()}"
    )


def _write_to(out: Any, result: Any, name: str) -> Any:
    """Write a result to an array that can hold nodes."""
    array = out.writable()
    if np.shape(to_plain(result)) != np.shape(to_plain(array.current)):
        raise ArgumentError(
            f"{name}: out has the shape {np.shape(to_plain(array.current))}, the result "
            f"{np.shape(to_plain(result))}{cite_line()}"
        )
    array.current = result
    return out


def name_of(function: Any) -> str:
    """Return the name of a function as users write it: ``np.linalg.inv``."""
    module = getattr(function, "__module__", "") or ""
    parts = {"numpy.linalg": "linalg.", "numpy.fft": "fft.", "numpy.lib.scimath": "emath."}
    part = next((part for start, part in parts.items() if module.startswith(start)), "")
    return f"np.{part}{function.__name__}"


def no_rule(name: str) -> RuleError:
    """Return the error for a NumPy function without a derivative rule, with alternatives."""
    known = sorted({name_of(function) for function in FUNCTIONS})
    near = [n for n in difflib.get_close_matches(name, known, 3, 0.75) if n != name]
    instead = HINTS.get(name) or (f"Near it: {', '.join(near)}" if near else "")
    return RuleError(
        f"no derivative rule for {name}. {instead + '. ' if instead else ''}Write it with "
        "functions that have one, or declare your own in five lines with "
        f"@simpleautodiff.primitive: help(simpleautodiff.primitive) shows how{cite_line()}"
    )


HINTS = {
    **dict.fromkeys(
        ("np.intersect1d", "np.setdiff1d", "np.setxor1d", "np.sort_complex"),
        "Find the indices with the plain array, x.value, and take those elements: x[i]",
    ),
    **dict.fromkeys(
        ("np.histogram", "np.histogram2d", "np.histogramdd", "np.histogram_bin_edges"),
        "Counts do not change by a little; count the plain array: np.histogram(x.value). Weights "
        "of plain points may be nodes: np.histogram(x.value, weights=w)",
    ),
    **dict.fromkeys(
        ("np.put", "np.place", "np.putmask", "np.copyto", "np.put_along_axis", "np.fill_diagonal"),
        "It writes into an array: make it with y = np.zeros_like(x) or y = x.copy(), and write "
        "y[...] = ...; for np.full(n, x) write np.full(n, x, like=x)",
    ),
    **dict.fromkeys(
        ("np.save", "np.savez", "np.savez_compressed", "np.savetxt", "np.packbits"),
        "Take the plain array: x.value",
    ),
}
DECIDING = {  # their plain results depend on the numbers
    *(np.argmax, np.argmin, np.argsort, np.searchsorted, np.nonzero, np.count_nonzero, np.any),
    *(np.all, np.allclose, np.isclose, np.array_equal, np.argwhere, np.flatnonzero, np.digitize),
    *(np.array_equiv, np.nanargmax, np.nanargmin, np.argpartition, np.lexsort, np.isin),
    *(np.iscomplex, np.isreal, np.isneginf, np.isposinf, np.linalg.matrix_rank),
}
PLAIN_FUNCTIONS = DECIDING | {
    *(np.shape, np.ndim, np.size, np.result_type, np.zeros_like, np.ones_like, np.full_like),
    *(np.empty_like, np.iscomplexobj, np.isrealobj, np.array_repr, np.array_str, np.array2string),
    *(np.can_cast, np.common_type, np.min_scalar_type, np.may_share_memory, np.shares_memory),
    *(np.diag_indices_from, np.tril_indices_from, np.triu_indices_from, np.ix_, np.einsum_path),
    *(np.unravel_index, np.ravel_multi_index),
}
