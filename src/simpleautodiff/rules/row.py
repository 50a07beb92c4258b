"""How a row is written: `sin = row("sin", ...)` enters it in the table and gives its function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from simpleautodiff.node import UFUNCS
from simpleautodiff.number import Function, Names
from simpleautodiff.primitives import (
    CALL,
    REALS,
    ByType,
    Domain,
    Kink,
    Partial,
    Primitive,
    by_widest,
    real_only,
)
from simpleautodiff.wrapping import wrap

Wrapping = Callable[..., Any]
TABLE: dict[str, Primitive] = {}


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
    """
    by_type = ByType(name, names or {}, define)
    if value is not None:
        by_type = _Always(value)
    compute = value or by_widest(by_type)
    primitive = Primitive(
        name,
        tuple(real_only(name, partial) for partial in partials) if real else partials,
        compute,
        text,
        latex,
        reason,
        tuple([name] if numpy is None else numpy),
        domain,
        tuple(kinks),
        binds,
        real,
        by_type,
    )
    TABLE[name] = primitive
    wrapping = wrap(primitive)
    for ufunc in primitive.numpy:
        if isinstance(getattr(np, ufunc, None), np.ufunc):
            UFUNCS[getattr(np, ufunc)] = wrapping
    return wrapping


class _Always(ByType):
    """One function for every kind of number."""

    def __init__(self, value: Function) -> None:
        dict.__init__(self)
        self.value = value

    def __missing__(self, kind: type) -> Function:
        return self.value
