"""How a row is written: `sin = row("sin", ...)` enters it in the table and gives its function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from inspect import Parameter, Signature
from typing import Any

import numpy as np

from simpleautodiff.core.level import Traced, apply, plain, wrap
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
)

Wrapping = Callable[..., Any]
UFUNCS: dict[Any, Wrapping] = {}  # a ufunc of NumPy -> the function that answers for nodes


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
) -> Wrapping:
    """Enter a primitive in the table and return its wrapping function.

    Parameters
    ----------
    name, partials
        The paper's operator, and ∂v/∂argument for each argument from `(v, *arguments)`.
    text, latex, reason
        How it prints, and the derivative in one sentence.
    value
        What computes it for every kind of number; without it the kind's own library is asked for
        `name`, or for what `names` says it calls it ("" says: not there).
    define
        What computes it where the library has nothing.
    numpy
        The ufuncs this row answers, if not `np.<name>`.
    domain, kinks
        Where it has a value, and where its derivative is a choice.
    real
        Say that the derivative exists for real numbers only.
    settings
        The positions of arguments that are no numbers.
    arrays
        Say that it acts on whole arrays rather than on each number.
    holomorphic
        Say that it has a complex derivative.
    batch
        What computes it for a batch: from the size of the batch, which arguments have an axis of
        that size in front, and the arguments. One that acts on each number needs none.
    floats
        Say that SciPy computes it, for floats and arrays of them alone.
    listed
        Enter it in the table; not for one of many of a kind, as einsum with three operands.
    """
    if real and define:
        define = _of_reals(name, define)
    by_type: ByType | None = None
    if listed:
        by_type = _Always(name, {}, value) if value else ByType(name, names or {}, define)
    compute = value if value and not floats else dispatch_on_widest(by_type)  # type: ignore[arg-type]
    primitive = Primitive(
        name,
        tuple(_rule_of_reals(name, partial) for partial in partials) if real else partials,
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
    names = argument_names(primitive.arity)
    wrapping.__name__ = wrapping.__qualname__ = {"abs": "absolute"}.get(
        primitive.name, primitive.name
    )
    wrapping.__module__ = "simpleautodiff"
    wrapping.__doc__ = _document(primitive, names)
    wrapping.__signature__ = Signature([Parameter(n, Parameter.POSITIONAL_ONLY) for n in names])
    wrapping.primitive = primitive
    return wrapping  # type: ignore[no-any-return]


def argument_names(arity: int) -> list[str]:
    """Name the arguments of a primitive: x, y, z, or x1, x2, ... where there are more."""
    return list("xyz"[:arity]) if arity <= 3 else [f"x{i + 1}" for i in range(arity)]


def _document(primitive: Primitive, names: list[str]) -> str:
    lines = [f"{primitive.text.format(*names)}, recorded if an argument is a node.", ""]
    lines.append(f"Derivative: {primitive.reason}.")
    lines.append(f"Domain: {primitive.domain.text}.")
    lines += [f"At {kink.text}: {kink.choice}." for kink in primitive.kinks]
    return "\n".join(lines)


def with_kinks(wrapping: Wrapping, *kinks: Kink) -> Wrapping:
    """Return a row for a use in which its derivative is a choice at more points than else.

    So programs that go by plain numbers (sorting, interpolation) tell where these may change.
    """
    primitive: Primitive = wrapping.primitive  # type: ignore[attr-defined]
    return partial(apply, replace(primitive, kinks=(*primitive.kinks, *kinks)))


class _Always(ByType):
    """One function for every kind of number."""

    def look_up(self, kind: type) -> Function | None:
        return find_registered(self.find[0], kind) or self.find[2]


def _rule_of_reals(name: str, rule: Partial) -> Partial:
    """Refuse complex arguments in a local derivative that exists for real ones only."""

    def checked(v: Any, *args: Any) -> Any:
        if any(is_complex(plain(arg)) for arg in args):
            raise RuleError(
                f"{name} has no complex derivative: it is not holomorphic. "
                "Differentiate with respect to the real and imaginary parts instead."
            )
        return rule(v, *args) if callable(rule) else rule

    if callable(rule):
        checked.__wrapped__ = rule  # type: ignore[attr-defined]  # what it reads is said there
    return checked


def _of_reals(name: str, define: Function) -> Function:
    """Refuse complex arguments in a definition that compares or rounds."""

    def checked(*args: Any) -> Any:
        if any(is_complex(arg) for arg in args):
            raise TypeError(f"{name} is a function of real numbers")
        return define(*args)

    return checked
