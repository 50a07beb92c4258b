"""How a row is written whose values SciPy computes: for floats, and arrays of them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from simpleautodiff.core.primitive import REALS, Domain, Kink, Partial
from simpleautodiff.errors import RuleError, cite_line
from simpleautodiff.rules.row import Wrapping, row
from simpleautodiff.values.functions import Function, optional


@functools.cache
def scipy_special(name: str) -> Any:
    """Return a function of scipy.special, which is loaded when one of its values is needed."""
    return getattr(optional("scipy.special", f"{name} of a float"), name)


def floats(
    name: str,
    *partials: Partial,
    reason: str,
    value: Function | None = None,
    domain: Domain = REALS,
    kinks: tuple[Kink, ...] = (),
) -> Wrapping:
    """Enter a function of scipy.special in the table, or one that `value` computes from arrays."""
    slots = ", ".join(f"{{{i}}}" for i in range(len(partials)))
    return row(
        name,
        *partials,
        value=_in_kind(value or (lambda *xs: scipy_special(name)(*xs))),
        numpy=(),
        text=f"{name}({slots})",
        latex=rf"\operatorname{{{{{name}}}}}({slots})".replace("_", r"\_"),
        reason=reason,
        domain=domain,
        kinks=kinks,
        floats=True,
    )


def _in_kind(function: Function) -> Function:
    """Give the result the kind of the arguments: a float for floats, float32 for float32."""

    def compute(*xs: Any) -> Any:
        given = [x for x in xs if hasattr(x, "dtype")]
        kinds = [x.dtype for x in given if x.dtype.kind == "f"]
        with np.errstate(all="ignore"):  # SciPy's own give inf and nan without a word
            result = function(*map(_in_64_bits, xs))
        if kinds:
            return result.astype(np.result_type(*kinds))
        return result if given else result.item()

    return compute


def _in_64_bits(x: Any) -> Any:
    """Return a longdouble as SciPy takes it."""
    return x.astype(np.float64) if getattr(x, "dtype", None) == np.longdouble else x


def no_rule(name: str, argument: str) -> Callable[..., Any]:
    """Return the rule of an argument in which a function has no derivative in closed form."""

    def refuse(v: Any, *args: Any) -> Any:
        raise RuleError(
            f"the derivative of {name} in its argument {argument} has no closed form. Pass a plain "
            f"number (node.value is one), or declare {name} with a rule of your own by "
            f"@simpleautodiff.primitive{cite_line()}"
        )

    return refuse


def by_order(first: str, second: str, every: str) -> Function:
    """Compute by SciPy's own function for the orders 0 and 1, where it has one."""

    def compute(n: Any, x: Any) -> Any:
        if not isinstance(n, (int, float)) or n not in (0, 1):
            return scipy_special(every)(n, x)
        return scipy_special(second if n else first)(x)

    return compute
