"""Errors for conversions of nodes to plain arrays, which would lose derivatives."""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable
from itertools import takewhile
from types import FrameType, FunctionType
from typing import Any

import numpy as np

from simpleautodiff.arrays.call_hints import compiled_call_error
from simpleautodiff.core.jet import Jet
from simpleautodiff.core.level import Traced, to_plain
from simpleautodiff.core.linear import ZERO
from simpleautodiff.core.node import Node
from simpleautodiff.errors import LostDerivativeError, TraceError, cite_line, find_scipy_frames
from simpleautodiff.rules.decisions import note_answer

SCIPY: dict[str, Callable[..., Any]] = {}  # "linalg.expm" -> its implementation for nodes
REFUSED_BY_SCIPY: set[str] = set()  # those of which the implementation is a clear refusal
THROUGH_SCIPY: set[str] = set()  # those of which the implementation calls SciPy's own function
PLAINLY: dict[str, Callable[..., Any]] = {}  # what calls SciPy's own for plain arguments, if not it
INSTEAD: dict[str, str] = {}  # "linalg.orth" -> advice for a function without a derivative


def refuse_array(self: Any, *args: Any, **kwargs: Any) -> Any:
    """Refuse to convert a node to a plain array, and say what to write instead."""
    asked = scipy_caller()
    if _is_answered(known := asked) or _is_answered(known := _user_spelling(asked)):
        raise LostDerivativeError(_advise_import(known) + cite_line())
    if asked:
        raise no_scipy_rule(asked)
    raise compiled_call_error(self) or plain_storage_error() or _conversion_error(self)


def _advise_import(name: str) -> str:
    """Say how a function of SciPy that has a rule is called, when the plain one is running."""
    module, _, name = f"scipy.{name}".rpartition(".")
    return (
        f"{module}.{name} imported by name, or called before any derivative is computed, takes "
        f"plain arrays; write `from simpleautodiff.{module} import {name}`, or, in a function "
        f"that is differentiated, {module}.{name}(...)"
    )


def explain_compiled_scipy(error: BaseException) -> str:
    """Say what to call instead, if compiled code of SciPy refused a node; else return ""."""
    step, called = error.__traceback__, ""
    while step is not None:
        in_scipy = str(step.tb_frame.f_globals.get("__name__")).startswith("scipy.")
        names = _names(step.tb_frame) if in_scipy else []
        known = list(filter(_is_answered, names))
        if known:
            return _advise_import(known[0])
        public = [name for name in names if name in INSTEAD or _is_public(name)]
        called = called or next(iter(public), "")
        step = step.tb_next
    return _advise_without_rule(called) if called else ""


def _conversion_error(x: Any) -> LostDerivativeError:
    return LostDerivativeError(
        f"putting {x!r} into a plain NumPy array would drop its derivative. An array that is made "
        "inside the function, with np.zeros, np.array or np.copy, can be written to; for one made "
        "outside write y = np.copy(y) first. np.stack([a, b]) joins nodes that are typed by hand"
        f"{cite_line()}"
    )


_PLAIN_STORAGE = {  # parts of NumPy that store plain arrays, by module or name: what to write
    "numpy.ma": "np.ma keeps plain arrays; write np.where(mask, 0.0, x), or x[~mask]",
    "numpy.testing": "np.testing compares plain arrays; write x.value",
    "numpy.polynomial": "this part of np.polynomial keeps plain coefficients; these functions take "
    "nodes: np.polynomial.polynomial.polyval(x, c), chebyshev.chebval(x, c), np.roots and others",
    "as_strided": "as_strided looks at plain memory; sliding_window_view(x, n), which is in "
    "np.lib.stride_tricks, too, takes nodes",
    "matrix": "np.matrix keeps plain numbers; use x, and @ for products",
}


def plain_storage_error() -> LostDerivativeError | None:
    """Return the error if the caller is a part of NumPy that stores plain arrays."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and str(frame.f_globals.get("__name__")).startswith("numpy"):
        module, name = frame.f_globals["__name__"], frame.f_code.co_qualname.split(".")[0]
        for known, instead in _PLAIN_STORAGE.items():
            if name == known or f"{module}.".startswith(f"{known}."):
                return LostDerivativeError(f"{instead}{cite_line()}")
        frame = frame.f_back
    return None


def no_scipy_rule(asked: str) -> LostDerivativeError:
    """Return the error for a SciPy function that has no derivative rule, with advice."""
    return LostDerivativeError(_advise_without_rule(asked) + cite_line())


def _advise_without_rule(asked: str) -> str:
    instead = INSTEAD.get(asked, "write it with functions that have one")
    return (
        f"no derivative rule for scipy.{_user_spelling(asked)}; {instead}, or declare it with "
        "@simpleautodiff.primitive"
    )


def scipy_error() -> LostDerivativeError | None:
    """Return the error if a SciPy function is running for which there is advice."""
    asked = scipy_caller()
    return no_scipy_rule(asked) if asked in INSTEAD else None


def scipy_caller() -> str:
    """Return the SciPy function that the user called, as ``linalg.expm``; "" if none is running."""
    names = [name for frame in find_scipy_frames() for name in _names(frame)]
    for name in names:
        if _is_answered(name):
            return name
    known = [name for name in names if name in INSTEAD or _is_public(name)]
    return (known or names or [""])[-1]


def _is_answered(name: str) -> bool:
    return name in SCIPY and name not in THROUGH_SCIPY


def _user_spelling(asked: str) -> str:
    """Name a running method as users do: by the name of its object, or of its class.

    ``stats.weibull_min.logpdf`` is a method of ``rv_continuous``, but users call it on the object.
    """
    module, *inner = asked.rsplit(".", 2)
    owners = [
        f.f_locals.get("self") for f in find_scipy_frames() if len(inner) > 1 and asked in _names(f)
    ]
    for owner in [o for o in owners if o is not None]:
        kind = type(owner).__name__
        short = kind.removesuffix("_gen").removesuffix("_frozen")
        for name in (getattr(owner, "name", 0), getattr(owner, "__name__", 0), short, kind):
            if isinstance(name, str) and hasattr(sys.modules.get(f"scipy.{module}"), name):
                return f"{module}.{name}" + ("" if inner[1][0] == "_" else f".{inner[1]}")
    return asked


def _is_public(name: str) -> bool:
    """Tell whether a function, or the class of a method, is public in a module of SciPy."""
    parts = ["scipy", *name.split(".")]
    ends = [n for n in range(1, len(parts)) if ".".join(parts[:n]) in sys.modules]
    return hasattr(sys.modules[".".join(parts[: ends[-1]])], parts[ends[-1]])


def _names(frame: FrameType) -> list[str]:
    """Return the public name of a running function; for a wrapper, that of the wrapped function."""
    if "<locals>" in frame.f_code.co_qualname:
        inner = [f for f in frame.f_locals.values() if isinstance(f, FunctionType)]
        found = [(f.__module__, f.__name__) for f in inner if f.__module__.startswith("scipy.")]
    else:
        found = [(frame.f_globals["__name__"], frame.f_code.co_qualname)]
    parts = [(_public(module), name) for module, name in found]
    return [f"{part}.{name}" for part, name in parts if part and "<" not in name]


def _public(module: str) -> str:
    """Return the public part of a module's name: ``linalg`` of ``scipy.linalg._basic``."""
    return ".".join(takewhile(lambda part: part[0] != "_", module.split(".")[1:]))


_PLAIN_NUMBER = (
    "node.value is the plain number; of functions take simpleautodiff's or NumPy's: np.sin(x) for "
    "math.sin(x); an array that is written to is made inside the function, with np.zeros, np.array "
    "or np.copy"
)
_PLAIN_INDEX = (
    "A count or an index is a plain integer: write range(int(n.value)), a[int(n.value)], or leave "
    "n out of what is differentiated, by argnums"
)


def _instruction(line: str) -> tuple[int, int | None]:
    """Return the instruction of Python for the operator in a line."""
    steps = dis.get_instructions(compile(line, "", "exec"))
    return next((step.opcode, step.arg) for step in steps if step.opname == "BINARY_OP")


_REMAINDERS = {_instruction("a % b"), _instruction("a %= b")}
_IN_TEXT: dict[str, Callable[[Any], Any]] = {"float()": float, "int()": int}


def _formats_text(frame: FrameType) -> bool:
    """Tell whether a number is asked for by ``text % number``, where no derivative can be lost.

    The remainder of numbers is an operation of the node, which asks for no conversion.
    """
    code, place = frame.f_code.co_code, frame.f_lasti
    return place >= 0 and (code[place], code[place + 1]) in _REMAINDERS


def _refuse_conversion(conversion: str, instead: str = _PLAIN_NUMBER) -> Callable[[Any], Any]:
    """Return a method that refuses to convert a node to a plain number, except for text."""

    def refuse(self: Any) -> Any:
        number = to_plain(self)
        if (
            conversion in _IN_TEXT
            and not isinstance(number, Traced)
            and _formats_text(sys._getframe(1 if conversion == "float()" else 2))
        ):
            return _IN_TEXT[conversion](number)
        error = scipy_error() or compiled_call_error(self)
        raise error or LostDerivativeError(
            f"{conversion} of {self!r} would drop its derivative. {instead}{cite_line()}"
        )

    return refuse


_STEPS = {  # primitives whose derivative is 0
    *("floor", "ceil", "rint", "round", "trunc", "sign", "floor_divide", "stop_gradient"),
}
_PLAIN_INTEGER = (
    "Integers are step functions of the number: int(np.floor(x)) is one, np.floor(x).astype(int) "
    "one for each example or element; node.value is the plain number"
)


def _convert_step(conversion: str, instead: str) -> Callable[[Any], Any]:
    """Return a method that converts a step function to an integer, and refuses other nodes."""
    refuse = _refuse_conversion(conversion, instead)

    def convert(self: Any) -> Any:
        if not is_step_function(self):
            return refuse(self)
        return note_answer(int(self.value), np.trunc, self)

    return convert


def is_step_function(x: Any) -> bool:
    """Tell whether x depends on what is differentiated only through step functions."""
    if isinstance(x, Jet):
        return all(derivative is ZERO for derivative in x.higher)
    pending, seen = [x], set()
    while pending:
        node = pending.pop()
        if not isinstance(node, Node) or not (node.operator in _STEPS or node.parent_nodes):
            return False
        if node.operator not in _STEPS and id(node) not in seen:
            seen.add(id(node))
            pending += node.parent_nodes
    return True


def _refuse_bool(self: Any) -> bool:
    raise scipy_error() or LostDerivativeError(
        f"`if node:` asks whether {self!r} is non-zero, which is easily a mistake. "
        f"Write the comparison: `if node != 0:`{cite_line()}"
    )


def _hash(self: Any) -> int:
    if self.level.open and not self.level.by_hand:
        raise LostDerivativeError(
            f"{self!r} is looked up in a dict, set or cache, by what it is and not by its "
            f"number; compare it: x == 2.0. Its identity is id(x){cite_line()}"
        )
    return object.__hash__(self)


def _refuse_pickle(self: Any) -> Any:
    raise TraceError(
        f"{self!r} belongs to a derivative that is being computed and cannot be pickled; "
        "pickle its value"
    )


CONVERSIONS: dict[str, Callable[..., Any]] = {  # all are refused but those for text
    "__format__": lambda self, spec: (
        format(to_plain(self), spec)
        if spec and not isinstance(to_plain(self), Traced)
        else repr(self)
    ),
    "__hash__": _hash,
    "__reduce__": _refuse_pickle,
    "__array__": refuse_array,
    "__bool__": _refuse_bool,
    "__complex__": _refuse_conversion("complex()"),
    "__float__": _refuse_conversion("float()"),
    "__index__": _convert_step("the use as an index", _PLAIN_INDEX),
    "__int__": _convert_step("int()", _PLAIN_INTEGER),
}
