"""Arrays that NumPy creates while a derivative is computed: `np.array([a, b])`, `np.zeros(n)`.

NumPy dispatches on the arguments of a function, but not on the elements of a list, and
`np.zeros(3)` does not know that a node will be written into its result. So a function that would
lose a derivative that way is run once more, with replacements of NumPy's functions: lists of nodes
are joined, and new arrays are writable ones. The replacements are put into the modules through
which the function ran, whether these use NumPy itself or its functions by name, until it has run.
NumPy is not changed, so compiled code is not affected; other threads call NumPy as before.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, partial
from importlib.machinery import ExtensionFileLoader
from types import (
    BuiltinFunctionType,
    CodeType,
    FrameType,
    FunctionType,
    ModuleType,
    TracebackType,
)
from typing import Any
from weakref import ref

import numpy as np

from simpleautodiff.arrays.lost_derivatives import INSTEAD, scipy_caller
from simpleautodiff.arrays.patch_scipy import PATCHED, PENDING, patch_scipy
from simpleautodiff.arrays.random_draws import stand_in_for, stand_ins_for_random
from simpleautodiff.arrays.registry import FUNCTIONS, array_function
from simpleautodiff.arrays.scipy.solver_hints import RUNNING
from simpleautodiff.arrays.scipy.sparse_nodes import has_node
from simpleautodiff.arrays.undispatched import CONVERTING, UNDISPATCHED
from simpleautodiff.arrays.writes.versions import MAKING, as_made
from simpleautodiff.core.level import Traced, Written
from simpleautodiff.errors import (
    AutodiffError,
    DomainError,
    LostDerivativeError,
    find_scipy_frames,
    is_user_frame,
)
from simpleautodiff.values.pytree import flatten
from simpleautodiff.values.scoped import scoped

Namespace = dict[str, Any]
_OF_SEVERAL = (np.concatenate, np.stack, np.hstack, np.vstack, np.dstack, np.column_stack)
_MADE_OF_NUMPY = ("stats.", "interpolate.interp1d.", "interpolate._Interpolator1D.")  # in SciPy
_COMPATIBLE = "array_api_compat.numpy"  # a module of SciPy that wraps NumPy's functions
_COMPILED_PYTHON = {"scipy.interpolate._interpnd"}  # compiled, but of objects of Python
_OWN = ("numpy", "simpleautodiff")  # nothing is replaced in their code


class Replacement:
    """A function of NumPy that joins lists of nodes, and whose results can be written to."""

    __slots__ = ("call", "converts", "function")

    def __init__(self, function: Any) -> None:
        self.function = function
        self.call: Callable[..., Any] = UNDISPATCHED.get(function, function)
        self.converts = function in CONVERTING

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call NumPy's function; in code that is run once more, join lists and wrap results."""
        module = sys._getframe(1).f_globals.get("__name__")
        if not MAKING.get() or (not _is_users(module) and _takes_plain_arrays(module)):
            return self.function(*args, **kwargs)
        try:
            result = self.call(*args, **kwargs)
        except (LostDerivativeError, TypeError, ValueError) as error:
            if any(map(_is_list_of_nodes, (*args, *kwargs.values()))) and not self.converts:
                result = _call_with_joined_lists(self.call, args, kwargs)
            elif isinstance(error, LostDerivativeError) and self.call in FUNCTIONS:
                result = array_function(None, self.call, (), args, kwargs)
            else:
                raise
        return as_made(result, args) if type(result) is np.ndarray else result

    def __getattr__(self, name: str) -> Any:
        return _get_attribute(self.function, name)

    def __eq__(self, other: object) -> bool:
        return self.function is getattr(other, "function", other)

    def __hash__(self) -> int:
        return hash(self.function)

    def __repr__(self) -> str:
        return repr(self.function)


@cache
def _get_attribute(function: Any, name: str) -> Any:
    """Return an attribute of a function of NumPy; a method of a ufunc is replaced, too."""
    own = getattr(function, name)
    return Replacement(own) if isinstance(function, np.ufunc) and callable(own) else own


@cache
def _is_library(module: Any) -> bool:
    return str(module).partition(".")[0] in _OWN


@cache
def _is_of_scipy(module: Any) -> bool:
    return str(module).startswith("scipy.")


@cache
def _is_users(module: Any) -> bool:
    return not _is_library(module) and not _is_of_scipy(module)


def _takes_plain_arrays(module: Any) -> bool:
    """Tell whether the caller is a library that needs plain arrays, such as a solver of SciPy."""
    if not _is_of_scipy(module):
        return _is_library(module)
    if not any(map(_holds_node, find_scipy_frames(of_a_value=True))):
        return True
    asked = scipy_caller()
    return asked in INSTEAD and not asked.startswith(_MADE_OF_NUMPY)


def _holds_node(frame: FrameType) -> bool:
    """Tell whether there is a node among a function's variables, or in the object it belongs to."""
    owned = getattr(frame.f_locals.get("self"), "__dict__", {})
    leaves = flatten([*frame.f_locals.values(), *owned.values()])[0]
    return any(isinstance(leaf, (Traced, Written)) for leaf in leaves)


def _call_with_joined_lists(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function of NumPy with arrays instead of lists of nodes."""
    join = _join_each if function in _OF_SEVERAL else _join
    joined = {name: join(arg) for name, arg in kwargs.items()}
    return function(*map(join, args), **joined)


def _is_list_of_nodes(arg: Any) -> bool:
    return isinstance(arg, (list, tuple, deque)) and has_node(arg)


def _join_each(arrays: Any) -> Any:
    return [_join(each) for each in arrays] if _is_list_of_nodes(arrays) else arrays


def _join(arg: Any) -> Any:
    return FUNCTIONS[np.asarray](list(arg)) if _is_list_of_nodes(arg) else arg


@cache
def _replacements() -> dict[int, Any]:
    """Return the replacements of NumPy's modules and functions, by the id of the original."""
    functions = (FunctionType, BuiltinFunctionType, np.ufunc, type(np.sum))
    modules = [np.linalg, np.fft, np]  # a submodule before its parent
    replacements = stand_ins_for_random()
    for module in modules:
        for name, value in vars(module).items():
            if (isinstance(value, functions) or value is np.nditer) and name[0] != "_":
                replacements[id(value)] = Replacement(value)
        stand_in = ModuleType(module.__name__, module.__doc__)
        vars(stand_in).update(
            {name: replacements.get(id(value), value) for name, value in vars(module).items()}
        )
        replacements[id(module)] = stand_in
    return replacements


_lock = threading.RLock()
_runs: list[object] = []  # the runs for which functions are replaced
_replaced: list[tuple[Namespace, str, Any]] = []


def _replace(namespace: Namespace) -> None:
    replacements = _replacements()
    compatible = str(namespace.get("__name__")).endswith(_COMPATIBLE)
    for name, value in list(namespace.items()):
        new = replacements.get(id(value)) or PATCHED.get(id(value)) or stand_in_for(value)
        if new is None and compatible and _is_function(own := getattr(np, name, None)):
            new = Replacement(own)
        if new is not None:
            _replaced.append((namespace, name, value))
            namespace[name] = new


def _is_function(value: Any) -> bool:
    return callable(value) and not isinstance(value, type)


def _put_back() -> None:
    while _replaced:
        namespace, name, original = _replaced[-1]
        namespace[name] = original
        _replaced.pop()


@contextmanager
def _putting_back(run: object) -> Iterator[None]:
    """Put back what was replaced when the last run has ended."""
    try:
        yield
    finally:
        with _lock:
            if run in _runs:
                _runs.remove(run)
            if not _runs:
                _put_back()


@contextmanager
def replacing_numpy(namespaces: list[Namespace]) -> Iterator[None]:
    """Replace NumPy's functions in the code of some modules, so that they take nodes."""
    run = object()
    # twice, so that one still puts back if an interrupt hits the exit of the other
    with _putting_back(run), _putting_back(run):
        with _lock:
            _runs.append(run)
            for namespace in namespaces:
                _replace(namespace)
        with scoped(MAKING, True):
            yield


# Which functions need it. -------------------------------------------------------------------------

_need_replacements: dict[int, tuple[Any, list[Namespace]]] = {}  # by id: code, its modules


def run_with_replacements(
    f: Any, run: Callable[..., Any], again: Callable[..., Any], *args: Any
) -> Any:
    """Run a function; run it again with replacements if a derivative would be lost.

    It is run again, too, if it was the first to import a module that then had to be patched.
    `run(*args)` is the first call, `again(*args)` makes the same call from the beginning.
    """
    if MAKING.get():
        return run(*args)
    before = len(sys.modules), len(PENDING)
    try:
        result = _run(f, run, again, args, before)
    except AutodiffError:
        if not _has_patched(*before):
            raise
    else:
        if len(sys.modules) == before[0] or not _has_patched(*before):
            return result
    return run_with_replacements(f, again, again, *args)


RUNNING.add(run_with_replacements.__code__)  # solvers look for it among their callers


def _has_patched(loaded: int, pending: int) -> bool:
    """Patch modules that were imported since these were counted; tell whether any was patched."""
    if len(sys.modules) == loaded:
        return False
    patch_scipy()
    return len(PENDING) < pending


def _run(
    f: Any,
    run: Callable[..., Any],
    again: Callable[..., Any],
    args: tuple[Any, ...],
    before: tuple[int, int],
) -> Any:
    code = _find_code(f) if _need_replacements else None
    known = _need_replacements.get(id(code))
    if known is not None and known[0]() is code:
        try:
            with replacing_numpy(known[1]):
                return run(*args)
        except _REFUSED as error:
            if _is_final(error) or _has_patched(*before):
                raise
        run = again
    try:
        return run(*args)
    except LostDerivativeError as error:
        if _has_patched(*before):
            raise
        return _run_again(_find_code(f), partial(again, *args), error, before)


def _find_code(f: Any) -> Any:
    """Return the code of the user's function; transformations of functions share theirs."""
    while (inner := getattr(f, "__wrapped__", None) or getattr(f, "transformed", None)) is not None:
        f = inner
    return getattr(f, "__code__", f)


_REFUSED = (AutodiffError, AttributeError, TypeError, ValueError)  # raised by code given nodes


def _run_again(
    code: Any, again: Callable[[], Any], error: LostDerivativeError, before: tuple[int, int]
) -> Any:
    """Run once more, and again while further modules turn out to need replacements."""
    namespaces: list[Namespace] = []
    new = _find_modules(error.__traceback__, namespaces)
    in_the_way: AutodiffError = error
    while new:
        namespaces += new
        try:
            with replacing_numpy(namespaces):
                result = again()
        except _REFUSED as other:
            if _is_final(other) or _has_patched(*before):
                raise
            new = _find_modules(other.__traceback__, namespaces)
            if isinstance(other, AutodiffError) and not _is_same(other, error):
                in_the_way = other  # the first error is gone; report this one
        else:
            _remember(code, namespaces)
            return result
    raise in_the_way from None


def _is_same(error: AutodiffError, first: LostDerivativeError) -> bool:
    """Tell whether a derivative would be lost, or has no rule, in the same call as before.

    What a function of SciPy calls may have no rule; its own name says more.
    """
    lost = isinstance(error, LostDerivativeError) or str(error).startswith("no derivative rule")
    return lost and _find_call(error) == _find_call(first)


def _find_call(error: BaseException) -> tuple[CodeType, int] | None:
    """Return the instruction of the user's code at which an error was raised."""
    traceback, call = error.__traceback__, None
    while traceback is not None:
        if is_user_frame(traceback.tb_frame):
            call = traceback.tb_frame.f_code, traceback.tb_lasti
        traceback = traceback.tb_next
    return call


def _is_final(error: BaseException) -> bool:
    """Tell whether an error comes from the user's own code or numbers: running again is no help."""
    if isinstance(error, DomainError):
        return True
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    raised = traceback is not None and is_user_frame(traceback.tb_frame)
    return raised and not isinstance(error, AttributeError | TypeError)


def _remember(code: Any, namespaces: list[Namespace]) -> None:
    key = id(code)
    with suppress(TypeError):  # without a weak reference it runs twice each time
        _need_replacements[key] = (
            ref(code, partial(_forget_dead, _need_replacements, key)),
            namespaces,
        )


def _forget_dead(needing: dict[int, Any], key: int, _: Any) -> None:
    """Drop a function that was freed.

    The table is an argument: at exit Python clears the module before the last functions die.
    """
    needing.pop(key, None)


def _find_modules(traceback: TracebackType | None, known: list[Namespace]) -> list[Namespace]:
    """Return the modules through which a function ran; all that use NumPy if those are known."""
    ran: list[Namespace] = []
    while traceback is not None:
        ran.append(traceback.tb_frame.f_globals)
        traceback = traceback.tb_next
    seen = {id(namespace) for namespace in known}
    others = [vars(m) for m in list(sys.modules.values()) if isinstance(m, ModuleType)]
    return _find_numpy_users(ran, seen) or _find_numpy_users(others, seen)


def _is_replaceable(namespace: Namespace) -> bool:
    """Tell whether functions may be replaced in a module: most compiled code reads their memory."""
    name = namespace.get("__name__")
    loader = getattr(namespace.get("__spec__"), "loader", None)
    compiled = isinstance(loader, ExtensionFileLoader) and name not in _COMPILED_PYTHON
    return not compiled and not _is_library(name)


def _find_numpy_users(namespaces: list[Namespace], seen: set[int]) -> list[Namespace]:
    """Return those modules that refer to NumPy, or to its functions, by some name.

    They may be replaced already, for a function that runs in another thread.
    """
    found = {id(n): n for n in namespaces if id(n) not in seen and _is_replaceable(n)}
    numpys = _replacements().keys() | {id(new) for new in _replacements().values()}
    return [n for n in found.values() if any(id(v) in numpys for v in list(n.values()))]
