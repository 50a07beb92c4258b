"""Transformations of functions: grad, jvp, vjp, linearize, hvp, derivative.

Every call opens a level of its own, so derivatives can be nested in any order, and no state remains
when the function raises. Names and signatures are those of JAX where JAX has them.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from simpleautodiff.arrays.patch_scipy import patch_scipy
from simpleautodiff.core.engine import engine
from simpleautodiff.core.jet import Jet, JetLevel
from simpleautodiff.core.level import to_plain
from simpleautodiff.core.linear import ZERO
from simpleautodiff.errors import ArgumentError
from simpleautodiff.rules.array.repeated_values import (
    find_largest,
    has_moved,
    is_turned,
    mark_turned,
)
from simpleautodiff.rules.array.series_limits import take_limit
from simpleautodiff.rules.array.shapes import shape_of
from simpleautodiff.rules.scalar.piecewise import stop_gradient as _stop_gradient
from simpleautodiff.transforms.arguments import (
    Argnums,
    Selection,
    call,
    check_function,
    name_of,
    select,
)
from simpleautodiff.transforms.complex_derivative import check_holomorphic
from simpleautodiff.transforms.kinks import (
    KinkTape,
    check_kinks_option,
    collect_kinks,
    report_kinks,
)
from simpleautodiff.transforms.pickling import remember_recipe
from simpleautodiff.transforms.recorded_call import (
    RecordedCall,
    as_number,
    check_argument,
    differs,
    drop_unknown,
    split_aux,
)
from simpleautodiff.transforms.results import check_number, tell_found, unwrap_results
from simpleautodiff.transforms.seeds import check_tuples, copy_shared, match_leaves
from simpleautodiff.values.functions import is_complex
from simpleautodiff.values.other_arrays import unwrap_foreign
from simpleautodiff.values.pytree import (
    flatten,
    flatten_numbers,
    map_leaves,
)

F = Callable[..., Any]


@remember_recipe
def grad(
    f: F,
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    argnum: Argnums | None = None,
    kinks: str | None = None,
) -> F:
    """Return the function that gives the gradient of `f`, in reverse mode.

    Parameters
    ----------
    f
        A function that returns one number.
    argnums
        The argument to differentiate with respect to: its position, its name, the path to a part of
        it ("params.layer1.w"), or a tuple of these (then the result is a tuple).
    has_aux
        Say that `f` returns `(number, anything)`; the gradient then returns `(gradient, anything)`.
    argnum
        The same as `argnums`, by the name that users of HIPS autograd know.
    kinks
        What to do where the derivative is not unique, as that of abs at 0: "report" warns with a
        list of all such steps and their source lines, "raise" refuses. Without it the documented
        choice is made silently.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> f = lambda x1, x2: ad.log(x1) + x1 * x2 - ad.sin(x2)
    >>> ad.grad(f)(2.0, 5.0)
    5.5
    >>> ad.grad(lambda p: p["a"] * p["b"][0])({"a": 3.0, "b": [4.0]})
    {'a': 4.0, 'b': [3.0]}
    """
    argnums = argnums if argnum is None else argnum
    both = value_and_grad(f, argnums, has_aux, kinks=kinks)

    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, result = both(*args, **kwargs)
        return (result, value[1]) if has_aux else result

    return name_after(gradient, "grad", f, None if has_aux else argnums)


@remember_recipe
def value_and_grad(
    f: F,
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    argnum: Argnums | None = None,
    kinks: str | None = None,
) -> F:
    """Return the function that gives `(f(*args), gradient)`, evaluated together; see `grad`.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> ad.value_and_grad(lambda x: x**3)(2.0)
    (8.0, 12.0)
    """
    check_kinks_option(kinks)
    argnums = argnums if argnum is None else argnum

    def value_and_gradient(*args: Any, **kwargs: Any) -> Any:
        with engine.recording() as use, use:
            selection = select(f, argnums, args, kwargs)
            if kinks is None:
                recorded = RecordedCall(f, selection, has_aux)
            else:
                recorded = RecordedCall(f, selection, has_aux, tape := KinkTape())
                report_kinks(kinks, collect_kinks(tape, [recorded.result]), name_of(f))
            result = check_number(recorded.result, recorded.tape, f)
            gradient = recorded.rebuild_arguments(recorded.gradients(result, once=True))
        value = result.value if recorded.has_recorded(result) else result
        if type(value) is not float:
            value = unwrap_foreign(take_limit(value))
        return ((value, recorded.aux), gradient) if has_aux else (value, gradient)

    return name_after(value_and_gradient, "value_and_grad", f, None if has_aux else argnums)


def vjp(f: F, *primals: Any, has_aux: bool = False) -> Any:
    """Return `(f(*primals), pullback)`; `pullback(seed)` gives one adjoint per argument.

    `f` runs once; the pullback may be called any number of times. With `has_aux` the auxiliary
    output comes third.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> value, pullback = ad.vjp(lambda x, y: (x * y, x + y), 2.0, 5.0)
    >>> value, pullback((1.0, 0.0)), pullback((0.0, 1.0))
    ((10.0, 7.0), (5.0, 2.0), (1.0, 1.0))
    """
    with engine.recording() as use, use:
        recorded = RecordedCall(f, Selection(primals), has_aux, retain=True)
    value, results, _ = unwrap_results(recorded.result, recorded.tape, f)

    def pullback(seed: Any) -> tuple[Any, ...]:
        seeds = match_leaves(seed, value, "the seed of a pullback")
        pulled = recorded.pull(list(zip(results, seeds, strict=True)))
        own = copy_shared(pulled, seeds)
        adjoints: tuple[Any, ...] = recorded.rebuild_arguments(own)
        return adjoints

    return (value, pullback, recorded.aux) if has_aux else (value, pullback)


def linearize(f: F, *primals: Any, has_aux: bool = False) -> Any:
    """Return `(f(*primals), f_jvp)`; `f_jvp(*tangents)` gives the tangent of the result.

    `f` runs once; its linearisation may be applied any number of times.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> value, f_jvp = ad.linearize(lambda x, y: x * y, 2.0, 5.0)
    >>> value, f_jvp(1.0, 0.0), f_jvp(0.0, 1.0)
    (10.0, 5.0, 2.0)
    """
    with engine.recording() as use, use:
        recorded = RecordedCall(f, Selection(primals), has_aux, retain=True)
    value, results, rebuild = unwrap_results(recorded.result, recorded.tape, f)

    def f_jvp(*tangents: Any) -> Any:
        leaves = match_leaves(tangents, primals, "the tangents of a linearised function")
        pushed = copy_shared(recorded.push(leaves, results), leaves)
        return rebuild(map(unwrap_foreign, pushed))

    return (value, f_jvp, recorded.aux) if has_aux else (value, f_jvp)


def jvp(f: F, primals: Any, tangents: Any, has_aux: bool = False) -> Any:
    """Return `(f(*primals), tangent)`: the derivative of `f` in one direction, in forward mode.

    Nothing is recorded, so memory does not grow with the length of the computation.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> f = lambda x1, x2: ad.log(x1) + x1 * x2 - ad.sin(x2)
    >>> ad.jvp(f, (2.0, 5.0), (1.0, 0.0))[1]
    5.5
    """
    check_function(f)
    check_tuples("jvp", primals, tangents)
    leaves, rebuild = flatten_numbers(tuple(primals))
    directions = match_leaves(tuple(tangents), tuple(primals), "the tangents of jvp")
    level = JetLevel(1)
    jets = [
        Jet(check_argument(leaf, f), [check_argument(direction, f)], level)
        for leaf, direction in zip(leaves, directions, strict=True)
    ]
    value, (tangent,), aux = run_jets(f, Selection(rebuild(iter(jets))), level, has_aux)
    return (value, tangent, aux) if has_aux else (value, tangent)


def push_inside(f: F, primals: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
    """Push tangents for a rule: structural zeros, also of single elements, are kept as such."""
    level = JetLevel(1)
    pairs = zip(primals, tangents, strict=True)
    jets = tuple([Jet(check_argument(x, f), [dot], level) for x, dot in pairs])
    _, (tangent,), _ = run_jets(f, Selection(jets), level, has_aux=False, partly=True)
    return flatten(tangent)[0]


@remember_recipe
def derivative(f: F, n: int = 1, argnums: Argnums = 0) -> F:
    """Return the n-th derivative of a function of one number, in forward (Taylor) mode.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> ad.derivative(ad.sin)(0.0)
    1.0
    >>> ad.derivative(lambda x: x**7, n=5)(2)
    10080
    """
    if not hasattr(n, "__index__") or n < 0:
        raise ArgumentError(f"the order of a derivative is 0, 1, 2, ...; got n={n!r}")
    n = operator.index(n)

    def nth_derivative(*args: Any, **kwargs: Any) -> Any:
        selection = select(f, argnums, args, kwargs)
        x = selection.trees[0]
        if not selection.single or isinstance(x, (list, tuple, dict)) or shape_of(x):
            raise ArgumentError(
                "derivative is with respect to one number; use grad or jacobian for several"
            )
        x = check_argument(x, f)
        if n == 0:
            return call(f, selection, selection.trees)
        nth = _differentiate_along(f, selection, x, n, 1)
        if is_complex(to_plain(x)):
            _check_directions(f, selection, x, nth, n)
        return nth

    what = "derivative" if n == 1 else f"derivative {n}"
    return name_after(nth_derivative, what, f, argnums if n == 1 else None)


def _check_directions(f: F, selection: Selection, x: Any, nth: Any, n: int) -> None:
    """Refuse a complex n-th derivative that depends on the direction."""
    for order in {1, n}:
        along_1 = nth if order == n else _differentiate_along(f, selection, x, order, 1)
        along_i = _differentiate_along(f, selection, x, order, 1j)
        for a, b in zip(flatten(along_i)[0], flatten(along_1)[0], strict=True):
            check_holomorphic(a, 1j**order * b, f)


def _differentiate_along(f: F, selection: Selection, x: Any, n: int, direction: complex) -> Any:
    """Return the n-th derivative of `f` at x in a direction."""
    level = JetLevel(n)
    jet = Jet(x, [direction, *[ZERO] * (n - 1)], level)
    return run_jets(f, selection._replace(trees=(jet,)), level, has_aux=False)[1][-1]


def run_jets(
    f: F, selection: Selection, level: JetLevel, has_aux: bool, partly: bool = False
) -> tuple[Any, list[Any], Any]:
    """Run `f` on jets; return the value, the derivatives of every order, and auxiliary output.

    With `partly`, structural zeros are told from others, as further slopes may be infinite.
    """
    patch_scipy()
    with level:
        result = call(f, selection, selection.trees)
    aux = None
    if has_aux:
        result, aux = split_aux(result, level, f)
    value, results, rebuild = unwrap_results(result, level, f)
    moved = has_moved(level)
    listed = _list_inside if partly and not moved else _list_derivatives
    derivatives = [listed(leaf, level) for leaf in results]
    if not partly:
        tell_found([x for each in derivatives for x in each])
    if moved and not is_turned(level):
        derivatives = _confirm(f, selection, level, has_aux, results, derivatives)
    orders = [
        rebuild([unwrap_foreign(x) for x in copy_shared(order)])
        for order in zip(*derivatives, strict=True)
    ]
    return value, orders, aux


def _list_derivatives(leaf: Any, level: JetLevel) -> list[Any]:
    """Return the derivatives of a result on this level, from the first on."""
    own = isinstance(leaf, Jet) and leaf.level is level
    if not own:
        return [as_number(ZERO, leaf) for _ in range(level.order)]
    return [as_number(derivative, leaf.value) for derivative in leaf.higher]


def _list_inside(leaf: Any, level: JetLevel) -> list[Any]:
    """Return the derivatives of a result with their structural zeros."""
    own = isinstance(leaf, Jet) and leaf.level is level
    return list(leaf.higher) if own else [ZERO] * level.order


def _confirm(
    f: F, selection: Selection, level: JetLevel, has_aux: bool, results: list[Any], derivatives: Any
) -> list[list[Any]]:
    """Run `f` with another basis of repeated values; drop derivatives that depend on it."""
    mark_turned(level)
    with level:
        result = call(f, selection, selection.trees)
    others = flatten_numbers((split_aux(result, level, f)[0] if has_aux else result,))[0]
    return [
        [
            drop_unknown(x, y, differs(own, other, find_largest(level)))
            for x, y in zip(higher, _list_derivatives(other, level), strict=True)
        ]
        for higher, own, other in zip(derivatives, results, others, strict=True)
    ]


def hvp(f: F, primals: Any, tangents: Any) -> Any:
    """Return the Hessian of `f` at `primals` times `tangents`, without forming the Hessian.

    The result has the structure of the argument; with several arguments, of their tuple.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> ad.hvp(lambda x: x[0] ** 2 * x[1], ([2.0, 5.0],), ([1.0, 0.0],))
    [10.0, 4.0]
    """
    check_tuples("hvp", primals, tangents)
    argnums: Argnums = 0 if len(primals) == 1 else tuple(range(len(primals)))
    return jvp(grad(f, argnums), primals, tangents)[1]


def stop_gradient(x: Any) -> Any:
    """Return `x` as a constant: its value is used, its derivative is 0.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> ad.grad(lambda x: x * ad.stop_gradient(x))(3.0)
    3.0
    """
    return map_leaves(
        lambda leaf: leaf.copy("K") if type(leaf) is np.ndarray else _stop_gradient(leaf), x
    )


class FirstDerivative(NamedTuple):
    """The function that was differentiated, and how; `source` writes the sweep from this."""

    f: F
    argnums: Argnums
    what: str  # "grad", "value_and_grad" or "derivative"


def name_after(function: F, what: str, f: F, argnums: Argnums | None = None) -> F:
    """Name a derivative after its function `f`; store the arguments of a first derivative."""
    patch_scipy()
    check_function(f)
    function.__wrapped__ = f  # type: ignore[attr-defined]  # where argnums looks parameters up
    function.__name__ = function.__qualname__ = f"{what} of {name_of(f)}"
    function.__doc__ = f"The {what} of {name_of(f)}, made by simpleautodiff."
    if argnums is not None:
        function.first = FirstDerivative(f, argnums, what)  # type: ignore[attr-defined]
    return function
