"""Errors for compiled code of NumPy that was called with a node: what to write instead.

Random functions, methods of plain arrays such as `A.dot(x)`, and types such as `np.float32(x)`
convert their arguments to plain numbers, so the call is read from the user's source line.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import linecache
import sys
from dis import opname
from types import FrameType
from typing import Any

import numpy as np

from simpleautodiff.errors import LostDerivativeError, cite_line, find_scipy_frames, find_user_frame

_ADVICE = {
    **dict.fromkeys(
        ("normal", "laplace", "logistic", "gumbel"), "loc + scale * {owner}{name}(size=...)"
    ),
    **dict.fromkeys(("exponential", "rayleigh"), "scale * {owner}{name}(size=...)"),
    "uniform": "low + (high - low) * {owner}uniform(size=...)",
    "lognormal": "np.exp(mean + sigma * {owner}normal(size=...))",
    "multivariate_normal": "mean + np.linalg.cholesky(cov) @ {owner}normal(size=...)",
    "weibull": "{owner}exponential(size=...) ** (1 / a)",
    "pareto": "np.exp({owner}exponential(size=...) / a) - 1",
    "chisquare": "np.sum({owner}normal(size=...) ** 2), which is for a fixed number of degrees",
    **dict.fromkeys(("permutation", "permuted", "shuffle"), "x[{owner}permutation(len(x))]"),
    "choice": "x[{owner}choice(len(x), ...)]; probabilities p are plain numbers: p.value",
}
_OTHER_ADVICE = (
    "plain numbers, node.value, in the call; the derivative of a mean over such draws is that of "
    "the logarithm of their density, from scipy.stats, times what is averaged"
)


_METHODS = ("dot", "searchsorted", "choose")  # of arrays; np.dot(A, x) takes nodes
_NUMBERS = (float, complex, np.inexact)
_NOT_COMPILED = {"None", "numpy", "simpleautodiff", *sys.stdlib_module_names}


def random_call_error(x: Any) -> LostDerivativeError | None:
    """Return the error if the user's line calls a random function of NumPy; otherwise None."""
    frame = find_user_frame()
    call = frame and _find_call(frame)
    if not frame or not call or not _is_random(call.func, frame):
        return None
    return _random_draw_error(x, call)


def compiled_call_error(x: Any) -> LostDerivativeError | None:
    """Return the error if the user's line calls such a function with a node; otherwise None."""
    frame = find_user_frame()
    call = frame and _find_call(frame)
    if not frame or not call:
        return None
    if _is_random(call.func, frame):
        return _random_draw_error(x, call)
    if isinstance(call.func, ast.Attribute) and call.func.attr in _METHODS and call.args:
        owner = _resolve(call.func.value, frame)
        unbound = inspect.isclass(owner) and issubclass(owner, np.ndarray)
        array, *args = call.args if unbound else (call.func.value, *call.args)
        return _method_error(x, call.func.attr, array, ast.Call(call.func, args, call.keywords))
    called = _resolve(call.func, frame)
    if called is np.broadcast:
        return _broadcast_error(x, call)
    if inspect.isclass(called) and issubclass(called, _NUMBERS) and call.args:
        return _number_error(x, call)
    return _compiled_error(x, call) if _is_compiled(called) else None


def _random_draw_error(x: Any, call: ast.Call) -> LostDerivativeError:
    owner, _, name = ast.unparse(call.func).rpartition(".")
    owner = f"{owner}." if owner else ""
    way_out = _ADVICE.get(name, _OTHER_ADVICE).format(owner=owner, name=name)
    return LostDerivativeError(
        f"{owner}{name} draws plain random numbers: with {x!r} it would drop its derivative. "
        f"Draw what does not depend on the node, and move it: write {way_out}{cite_line()}"
    )


def shuffling_error(x: Any, frame: FrameType) -> LostDerivativeError | None:
    """Return the error if a frame calls NumPy's shuffle, which would repeat rows of a node."""
    call = _find_call(frame)
    known = [ast.unparse(call.func).rpartition(".")[2]] if call else frame.f_code.co_names
    if "shuffle" not in known:
        return None
    return _random_draw_error(x, call or _SHUFFLE)


_SHUFFLE = ast.Call(ast.Attribute(ast.Name("rng"), "shuffle"), [], [])


def _method_error(x: Any, name: str, array: ast.expr, call: ast.Call) -> LostDerivativeError:
    function = ast.Attribute(ast.Name("np"), name)
    ways_out = [ast.unparse(ast.Call(function, [array, *call.args], call.keywords))]
    if name == "dot" and call.args:
        ways_out.insert(0, ast.unparse(ast.BinOp(array, ast.MatMult(), call.args[0])))
    return LostDerivativeError(
        f"{ast.unparse(call.func)} is a method of a plain array: with {x!r} it would drop its "
        f"derivative. Write {' or '.join(ways_out)}{cite_line()}"
    )


def _broadcast_error(x: Any, call: ast.Call) -> LostDerivativeError:
    shapes = ", ".join(f"np.shape({ast.unparse(array)})" for array in call.args)
    return LostDerivativeError(
        f"np.broadcast goes through plain numbers: with {x!r} it would drop its derivative. The "
        f"common shape is np.broadcast_shapes({shapes}); np.broadcast_arrays takes nodes"
        f"{cite_line()}"
    )


def _number_error(x: Any, call: ast.Call) -> LostDerivativeError:
    name = ast.unparse(call.func)
    converted: ast.expr
    match call.args:
        case [ast.List() | ast.Tuple() as several]:
            converted = ast.Call(ast.Attribute(ast.Name("np"), "array"), [several, call.func], [])
        case [real, imaginary]:
            turned = ast.BinOp(ast.Constant(1j), ast.Mult(), imaginary)
            converted = ast.BinOp(real, ast.Add(), turned)
        case [number, *_]:
            converted = ast.Call(ast.Attribute(number, "astype"), [call.func], [])
    return LostDerivativeError(
        f"{name}() of {x!r} would drop its derivative. Write {ast.unparse(converted)}, or leave "
        f"{name}() out{cite_line()}"
    )


def _is_compiled(called: Any) -> bool:
    """Tell whether the code of a function or class is compiled, and not NumPy's or Python's."""
    if not callable(called) or inspect.isfunction(called) or any(find_scipy_frames()):
        return False
    return str(getattr(called, "__module__", None)).partition(".")[0] not in _NOT_COMPILED


def _compiled_error(x: Any, call: ast.Call) -> LostDerivativeError:
    return LostDerivativeError(
        f"no derivative rule for {ast.unparse(call.func)}, whose code is compiled: with {x!r} it "
        "would drop its derivative. Write it with functions that have one, or declare it with "
        f"@simpleautodiff.primitive{cite_line()}"
    )


def _find_call(frame: FrameType) -> ast.Call | None:
    """Return the call that a frame is executing, as an AST; None if it is not known."""
    if not opname[frame.f_code.co_code[frame.f_lasti]].startswith(("CALL", "PRECALL")):
        return None  # such as x[0] = 1, which is recognised without reading the line
    places = itertools.islice(frame.f_code.co_positions(), frame.f_lasti // 2, None)
    first, last, start, end = next(places, (None,) * 4)
    if first is None or last is None or start is None or end is None:
        return None
    lines = linecache.getlines(frame.f_code.co_filename, frame.f_globals)[first - 1 : last]
    text = [line.encode() for line in lines]
    if text:
        text[-1] = text[-1][:end]
        text[0] = text[0][start:]
    try:
        found = ast.parse(b"(" + b"".join(text) + b")", mode="eval").body
    except SyntaxError:
        return None
    return found if isinstance(found, ast.Call) else None


def _resolve(expression: ast.expr, frame: FrameType) -> Any:
    """Return the object that a dotted name refers to in a frame, without running code."""
    match expression:
        case ast.Name(id=name):
            known = frame.f_locals, frame.f_globals, frame.f_builtins
            return next((names[name] for names in known if name in names), None)
        case ast.Attribute(value=owner, attr=name):
            return inspect.getattr_static(_resolve(owner, frame), name, None)
        case ast.Call(func=maker):  # np.random.default_rng(0).normal(...)
            made = getattr(_resolve(maker, frame), "__name__", "")
            module = inspect.getmodule(_resolve(maker, frame))
            return getattr(module, {"default_rng": "Generator"}.get(made, made), None)
    return None


def _is_random(function: ast.expr, frame: FrameType) -> bool:
    """Tell whether a function is one of NumPy's random functions."""
    if isinstance(function, ast.Attribute):
        owner = _resolve(function.value, frame)
    else:
        owner = getattr(_resolve(function, frame), "__self__", None)
    if inspect.ismodule(owner):
        return owner.__name__ == "numpy.random"
    owner_class = owner if inspect.isclass(owner) else type(owner)
    return owner_class.__module__.startswith("numpy.random")
