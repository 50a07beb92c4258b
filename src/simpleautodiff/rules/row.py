"""Enter rows in the table: `sin = row("sin", ...)` adds a row and returns its function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from inspect import Parameter, Signature
from typing import Any

import numpy as np

from simpleautodiff.core.level import Traced, apply, to_plain, wrap
from simpleautodiff.core.primitive import (
    CALL,
    REALS,
    TABLE as TABLE,
    Domain,
    Kink,
    Partial,
    Primitive,
)
from simpleautodiff.errors import RuleError
from simpleautodiff.values.functions import (
    ByType,
    Function,
    Names,
    dispatch_on_widest,
    find_registered,
    is_complex,
    is_registered,
)
from simpleautodiff.values.libraries import library_of

Wrapping = Callable[..., Any]
UFUNCS: dict[Any, Wrapping] = {}  # a ufunc of NumPy -> the function that NumPy calls for nodes


def row(
    name: str,
    *partials: Partial,
    text: str,
    latex: str,
    reason: str,
    value: Function | None = None,
    define: Function | None = None,
    names: Names | None = None,
    numpy: Sequence[str] | None = None,
    domain: Domain = REALS,
    kinks: Sequence[Kink] = (),
    binds: int = CALL,
    real: bool = False,
    settings: tuple[int, ...] = (),
    arrays: bool = False,
    holomorphic: bool = True,
    batch: Function | None = None,
    floats: bool = False,
    listed: bool = True,
    squared: tuple[Partial, ...] | None = None,
    restate: Function | None = None,
) -> Wrapping:
    """Enter a primitive in the table and return its wrapping function.

    Parameters
    ----------
    name, partials
        The paper's operator, and ∂v/∂argument for each argument from `(v, *arguments)`.
    text, latex, reason
        How it is printed, and the derivative in one sentence.
    value
        The function that computes it for every number type. Without it the library of the type is
        searched for `name`, or for the name that `names` gives for that library ("" if the library
        has no such function).
    define
        The function that computes it where the library of the type has none.
    numpy
        The ufuncs that this row implements for nodes, if not `np.<name>`.
    domain, kinks
        Where it has a value, and where its derivative is not unique.
    real
        Say that the derivative exists for real numbers only.
    settings
        The positions of arguments that are not numbers, such as an axis.
    arrays
        Say that it acts on whole arrays rather than on each number.
    holomorphic
        Say that it has a complex derivative.
    batch
        The function that computes it for a batch, from the size of the batch, a tuple of bools that
        tells which arguments have the axis of the batch in front, and the arguments. Elementwise
        primitives need none.
    floats
        Say that SciPy computes it, only for floats and arrays of floats.
    listed
        Enter it in the table. False for one of a family, such as einsum with three operands.
    squared, restate
        For a root, the derivatives of its square; () for a row that multiplies or moves roots. And
        the function that finds a smoother primitive with the same value. See `rules.roots`.
    """
    if real and define:
        define = _refuse_complex(name, define)
    by_type: ByType | None = None
    if listed:
        one = _OfFloats if floats else _OneFunction
        by_type = one(name, {}, value) if value else ByType(name, names or {}, define)
    compute = value if value and not floats else dispatch_on_widest(by_type)  # type: ignore[arg-type]
    primitive = Primitive(
        name,
        tuple(_refuse_complex_rule(name, partial) for partial in partials) if real else partials,
        compute,
        text,
        latex,
        reason,
        numpy=tuple([name] if numpy is None else numpy),
        domain=domain,
        kinks=tuple(kinks),
        binds=binds,
        real=real,
        by_type=by_type,
        settings=settings,
        arrays=arrays,
        holomorphic=holomorphic and not real,
        batch=batch,
        floats=floats,
        listed=listed,
        pure=True,
        squared=squared,
        restate=restate,
    )
    if listed:
        TABLE[name] = primitive
    wrapping = wrap_documented(primitive)
    for ufunc in primitive.numpy:
        if isinstance(getattr(np, ufunc, None), np.ufunc):
            UFUNCS[getattr(np, ufunc)] = wrapping
    return wrapping


def wrap_documented(primitive: Primitive) -> Wrapping:
    """Make the wrapping function of a primitive, with its name, its signature and its docstring."""
    wrapping: Any = wrap(primitive)
    if primitive.by_type is not None:
        primitive.by_type.defer(Traced, wrapping)
    names = name_arguments(primitive.arity)
    wrapping.__name__ = wrapping.__qualname__ = {"abs": "absolute"}.get(
        primitive.name, primitive.name
    )
    wrapping.__module__ = "simpleautodiff"
    wrapping.__doc__ = _document(primitive, names)
    wrapping.__signature__ = Signature([Parameter(n, Parameter.POSITIONAL_ONLY) for n in names])
    wrapping.primitive = primitive
    return wrapping  # type: ignore[no-any-return]


def name_arguments(arity: int) -> list[str]:
    """Name the arguments of a primitive: x, y, z, or x1, x2, ... if there are more than three."""
    return list("xyz"[:arity]) if arity <= 3 else [f"x{i + 1}" for i in range(arity)]


def _document(primitive: Primitive, names: list[str]) -> str:
    lines = [f"{primitive.text.format(*names)}, recorded if an argument is a node.", ""]
    lines.append(f"Derivative: {primitive.reason}.")
    lines.append(f"Domain: {primitive.domain.text}.")
    lines += [f"At {kink.text}: {kink.choice}." for kink in primitive.kinks]
    return "\n".join(lines)


def add_kinks(wrapping: Wrapping, *kinks: Kink) -> Wrapping:
    """Return the wrapping function of a row with additional kinks, for one use of it.

    Functions that branch on plain numbers, such as sorting, use it to report where the branch
    changes.
    """
    primitive: Primitive = wrapping.primitive  # type: ignore[attr-defined]
    return partial(apply, replace(primitive, kinks=(*primitive.kinks, *kinks)))


class _OneFunction(ByType):
    """One function for every number type, except types with a registered function."""

    def look_up(self, kind: type) -> Function | None:
        return find_registered(self.find[0], kind) or self.find[2]


class _OfFloats(_OneFunction):
    """One function for floats and arrays of floats; other numbers are refused."""

    def look_up(self, kind: type) -> Function | None:
        other = is_registered(kind) or library_of(kind) in ("decimal", "mpmath", "sympy")
        if other and not issubclass(kind, float):
            return find_registered(self.find[0], kind)
        return super().look_up(kind)


def _refuse_complex_rule(name: str, rule: Partial) -> Partial:
    """Make a local derivative that exists only for real arguments refuse complex ones."""

    def refuse_complex(v: Any, *args: Any) -> Any:
        if any(is_complex(to_plain(arg)) for arg in args):
            raise RuleError(
                f"{name} has no complex derivative: it is not holomorphic. "
                "Differentiate with respect to the real and imaginary parts instead."
            )
        return rule(v, *args) if callable(rule) else rule

    if callable(rule):
        refuse_complex.__wrapped__ = rule  # type: ignore[attr-defined]  # its parameters say which values it reads
    return refuse_complex


def _refuse_complex(name: str, define: Function) -> Function:
    """Make a definition that compares or rounds refuse complex arguments."""

    def refuse_complex(*args: Any) -> Any:
        if any(is_complex(arg) for arg in args):
            raise TypeError(f"{name} is a function of real numbers")
        return define(*args)

    return refuse_complex
