"""SciPy's integrals over several variables: integrals of integrals, by `quad`."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from simpleautodiff.arrays.scipy.scipy_ends import fix_infinite
from simpleautodiff.core.level import Traced, to_plain
from simpleautodiff.plug.inputs import F, as_tuple
from simpleautodiff.plug.quadrature import quad
from simpleautodiff.plug.solver_results import Returned


def nquad(f: F, ranges: Any, args: Any = (), opts: Any = None, full_output: bool = False) -> Any:
    """Call `scipy.integrate.nquad`; the integral can be differentiated in all that it depends on.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> from simpleautodiff.plug.nested_integrals import nquad
    >>> volume = lambda a: nquad(lambda x, y: a * x * y, [lambda y: (0, y), (0, a)])[0]
    >>> ad.grad(volume)(2.0).round(9)  # the volume is a^5 / 8
    np.float64(10.0)
    """
    args = as_tuple(args)
    ranges = [ends if callable(ends) else tuple(map(fix_infinite, ends)) for ends in ranges]
    options = opts if isinstance(opts, (list, tuple)) else [opts] * len(ranges)
    counted, errors = [0], [0.0]

    def integrand(*variables: Any) -> Any:
        counted[0] += 1
        return f(*variables, *args)

    value = integrand
    for ends, named in zip(ranges, options, strict=True):
        value = _integrate(value, ends, named, args, errors)
    total = value()
    found = to_plain(total), functools.reduce(np.maximum, errors), {"neval": counted[0]}
    if not isinstance(total, Traced):
        return found[: 3 if full_output else 2]
    way_out = "the integral, its first part, has one"
    known = Returned("the result of nquad", [total], [found], way_out).complete({0: total})
    return known[: 3 if full_output else 2]


def _integrate(f: F, ends: Any, options: Any, args: tuple[Any, ...], errors: list[Any]) -> F:
    """Return the integral of f over its first variable, a function of the others."""

    def integral(*outer: Any) -> Any:
        a, b = _call(ends, outer, args)
        found = quad(lambda x: f(x, *outer), a, b, **(_call(options, outer, args) or {}))
        errors.append(to_plain(found[1]))
        return found[0]

    return integral


def _call(given: Any, outer: tuple[Any, ...], args: tuple[Any, ...]) -> Any:
    """Return limits or options, which may be a function of the outer variables."""
    return given(*outer, *args) if callable(given) else given


def dblquad(
    func: F,
    a: Any,
    b: Any,
    gfun: Any,
    hfun: Any,
    args: Any = (),
    epsabs: float = 1.49e-8,
    epsrel: float = 1.49e-8,
) -> Any:
    """Call `scipy.integrate.dblquad`; see `nquad`."""
    ranges = [lambda *at: (_call(gfun, at[:1], ()), _call(hfun, at[:1], ())), (a, b)]
    return nquad(func, ranges, args, {"epsabs": epsabs, "epsrel": epsrel})


def tplquad(
    func: F,
    a: Any,
    b: Any,
    gfun: Any,
    hfun: Any,
    qfun: Any,
    rfun: Any,
    args: Any = (),
    epsabs: float = 1.49e-8,
    epsrel: float = 1.49e-8,
) -> Any:
    """Call `scipy.integrate.tplquad`; see `nquad`."""
    ranges = [
        lambda y, x, *_: (_call(qfun, (x, y), ()), _call(rfun, (x, y), ())),
        lambda *at: (_call(gfun, at[:1], ()), _call(hfun, at[:1], ())),
        (a, b),
    ]
    return nquad(func, ranges, args, {"epsabs": epsabs, "epsrel": epsrel})
