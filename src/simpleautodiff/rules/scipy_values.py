"""Enter rows whose values SciPy computes, for floats and arrays of floats."""

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
    """Return a function of scipy.special, which is imported when it is first needed."""
    return getattr(optional("scipy.special", f"{name} of a float"), name)


@functools.cache
def scipy_method(distribution: str, method: str) -> Any:
    """Return a method of a distribution of scipy.stats, which is imported when it is needed."""
    of = optional("scipy.stats", f"{distribution} of a float")
    return getattr(getattr(of, distribution), method)


def scipy_row(
    name: str,
    *partials: Partial,
    reason: str,
    value: Function | None = None,
    domain: Domain = REALS,
    kinks: tuple[Kink, ...] = (),
) -> Wrapping:
    """Enter the function of scipy.special with this name, or one that `value` computes."""
    slots = ", ".join(f"{{{i}}}" for i in range(len(partials)))
    return row(
        name,
        *partials,
        value=_restore_dtype(value or (lambda *xs: scipy_special(name)(*xs)), domain),
        numpy=(),
        text=f"{name}({slots})",
        latex=rf"\operatorname{{{{{name}}}}}({slots})".replace("_", r"\_"),
        reason=reason,
        domain=domain,
        kinks=kinks,
        floats=True,
    )


def _restore_dtype(function: Function, domain: Domain) -> Function:
    """Give the result the dtype of the arguments: a float for floats, float32 for float32.

    Python's floats are refused outside the domain, as by `math`, where SciPy gives a silent nan.
    """

    def compute(*xs: Any) -> Any:
        given = [x for x in xs if hasattr(x, "dtype")]
        dtypes = [x.dtype for x in given if x.dtype.kind in "fc"]
        with np.errstate(all="ignore"):  # SciPy's functions return inf and nan without warning
            result = function(*map(_to_float64, xs))
        if dtypes and result.dtype.kind == "c":
            return result.astype(np.result_type(*dtypes, np.complex64))
        if dtypes:
            return result.astype(np.result_type(*dtypes))
        if given:
            return result
        number = result.item()
        if number != number and all([x == x for x in xs]) and not domain.contains(*xs):
            raise ValueError("outside the domain")
        return number

    return compute


def _to_float64(x: Any) -> Any:
    """Return a longdouble as float64, which SciPy takes."""
    return x.astype(np.float64) if getattr(x, "dtype", None) == np.longdouble else x


def refuse_rule(name: str, argument: str) -> Callable[..., Any]:
    """Return a rule that raises: the derivative in this argument has no closed form."""

    def refuse(v: Any, *args: Any) -> Any:
        raise RuleError(
            f"the derivative of {name} in its argument {argument} has no closed form. Pass a plain "
            f"number (node.value is one), or declare {name} with a rule of your own by "
            f"@simpleautodiff.primitive{cite_line()}"
        )

    return refuse


def compute_by_order(first: str, second: str, every: str | Function) -> Function:
    """Use SciPy's special functions for the orders 0 and 1, and the general one otherwise."""

    def compute(n: Any, x: Any) -> Any:
        if not isinstance(n, (int, float)) or n not in (0, 1):
            return (scipy_special(every) if isinstance(every, str) else every)(n, x)
        return scipy_special(second if n else first)(x)

    return compute
