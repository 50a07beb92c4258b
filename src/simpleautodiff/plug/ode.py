"""SciPy's ODE solvers, as functions that can be differentiated."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from simpleautodiff.arrays.registry import is_batch
from simpleautodiff.core.level import Traced, apply, to_plain
from simpleautodiff.errors import ArgumentError
from simpleautodiff.plug.closures import pass_held
from simpleautodiff.plug.flow import IMPLICIT, InitialValueProblem, check_success
from simpleautodiff.plug.inputs import (
    F,
    as_tuple,
    as_vector,
    check_shape,
    has_nodes,
    plain_solver,
    plain_tree,
    require_plain,
    scipy_module,
)
from simpleautodiff.plug.times import find_crossing, move_to_nodes, output_times, step_inside
from simpleautodiff.rules.array.shapes import shape_of
from simpleautodiff.transforms.arguments import check_function
from simpleautodiff.transforms.jacobian import jacobian
from simpleautodiff.transforms.packing import PackedInputs

_SMALL = 500  # elements of the matrix ∂y/∂inputs, up to which solving for it is faster
_DIFFERENCE_OPTIONS = (
    "jac_sparsity",
    "lband",
    "uband",
)  # options of Jacobians by finite differences


def solve_ivp(
    fun: F,
    t_span: Any,
    y0: Any,
    method: Any = "RK45",
    t_eval: Any = None,
    dense_output: bool = False,
    events: Any = None,
    vectorized: bool = False,
    args: Any = None,
    *,
    sensitivity: str = "auto",
    **options: Any,
) -> Any:
    """Call `scipy.integrate.solve_ivp`; the solution can be differentiated.

    The implicit methods (Radau, BDF, LSODA) are given the Jacobian of `fun`. If nodes are among
    `y0`, `args` (also inside dicts and lists), `t_span` and `t_eval`, or in the closures of the
    functions, then `y` and `t` of the result are nodes, and so are the times and states of events.
    Every order and both modes work; with respect to times up to order four, of events up to order
    three.

    Parameters
    ----------
    fun, t_span, y0, method, t_eval, dense_output, events, vectorized, args, options
        As in SciPy.
    sensitivity
        How derivatives are found. `"forward"` solves for the matrix ∂y/∂inputs together with y;
        `"adjoint"` solves one adjoint equation back in time, at a cost that does not depend on the
        number of inputs. `"auto"` takes the first while the matrix has at most 500 numbers. The
        tolerances `rtol` and `atol` are those of the solution.

    Raises
    ------
    DomainError
        If the solver gives up while nodes are involved (the message is SciPy's), or if `fun` jumps
        at a time that moves with what is differentiated.

    Examples
    --------
    >>> import numpy as np
    >>> import simpleautodiff as ad
    >>> from simpleautodiff import plug
    >>> def decayed(rate):
    ...     found = plug.solve_ivp(
    ...         lambda t, y, rate: -rate * y, (0, 2), [3.0], args=(rate,), rtol=1e-10, atol=1e-10
    ...     )
    ...     return found.y[0, -1]
    >>> bool(abs(ad.grad(decayed)(0.5) - -6 * np.exp(-1)) < 1e-8)
    True
    """
    check_function(fun)
    if sensitivity not in ("auto", "forward", "adjoint"):
        raise ArgumentError(f"sensitivity is 'auto', 'forward' or 'adjoint'; got {sensitivity!r}")
    events = [events] if callable(events) else list(events or ())
    (fun, jac, *events), held = pass_held(fun, options.get("jac"), *events)
    options.update({"jac": jac} if jac is not None else {})
    start, args = as_vector(y0), (*as_tuple(args), *held)
    if len(shape_of(start)) != 1:
        raise ArgumentError(
            f"y0 must have one dimension, but has the shape {shape_of(start)}; pass [y0] for one "
            "number, np.ravel(y0) for an array"
        )
    if not has_nodes((start, args, t_span, t_eval)):
        if not vectorized and not any(name in options for name in ("jac", *_DIFFERENCE_OPTIONS)):
            options.update(_choose_jacobian(fun, method))
        return plain_solver("integrate", "solve_ivp")(
            require_plain(fun), t_span, y0, method, t_eval, dense_output, events or None,
            vectorized, args or None, **options,
        )  # fmt: skip
    _refuse(vectorized=vectorized)
    options = {key: value for key, value in options.items() if key not in _DIFFERENCE_OPTIONS}
    right = _flatten_function(fun, shape_of(start)[0])

    def solve_at(times: Any, events: list[F]) -> Any:
        how = sensitivity, {"method": method, **options}
        return _solve(right, t_span, start, times, events, args, how)

    result = solve_at(t_eval, events)
    if dense_output:
        result.sol = _make_interpolant(lambda times: solve_at(times, []).y, t_span, right, args)
    return result


def _make_interpolant(solution: F, t_span: Any, right: F, args: tuple[Any, ...]) -> F:
    """Return the solution as a function of time: solve the problem again, at the given times."""

    def sol(t: Any) -> Any:
        times = np.atleast_1d(np.asarray(to_plain(t), dtype=float))
        low, high = sorted(plain_tree(t_span))
        if times.min() < low or times.max() > high:
            raise ArgumentError(
                f"sol(t) of nodes takes times from {low} to {high}; got {to_plain(t)}"
            )
        sides, places = np.unique(times, return_inverse=True)
        forward = 1 if to_plain(t_span[0]) <= to_plain(t_span[1]) else -1
        y = solution(sides[::forward])[:, ::forward][:, places]
        y = move_to_nodes(right, np.atleast_1d(t), times, y, args, plain_tree(t_span))
        return y if shape_of(t) else y[:, 0]

    return sol


def odeint(func: F, y0: Any, t: Any, args: Any = (), **options: Any) -> Any:
    """Return the solution of y' = func(y, t, *args) at the times t, one row for each.

    The call is that of `autograd.scipy.integrate.odeint`: the first time is that of `y0`. The
    solution can be differentiated with respect to `y0`, `t` and `args`; `options` are those of
    `solve_ivp`, by default SciPy's LSODA with the tolerances of its `odeint`.

    Examples
    --------
    >>> import numpy as np
    >>> import simpleautodiff as ad
    >>> from simpleautodiff import plug
    >>> t = np.linspace(0, 1, 3)
    >>> last = lambda y0: plug.odeint(lambda y, t: -y, y0, t)[-1, 0]
    >>> ad.grad(last)(np.array([2.0])).round(6)
    array([0.367879])
    """
    check_function(func)
    t = as_vector(t)
    if len(shape_of(t)) != 1 or shape_of(t)[0] < 1:
        raise ArgumentError(f"t must be a list of times, the first that of y0; got {to_plain(t)!r}")

    def fun(t: Any, y: Any, *rest: Any) -> Any:
        return func(y, t, *rest)

    settings = {"method": "LSODA", "rtol": 1.49e-8, "atol": 1.49e-8, **options}
    start = np.atleast_1d(as_vector(y0))  # as SciPy's odeint takes one number
    found = solve_ivp(fun, (t[0], t[-1]), start, t_eval=t, args=as_tuple(args), **settings)
    return np.transpose(check_success(found, to_plain(t)[[0, -1]]).y)


def _refuse(**given: Any) -> None:
    for name, value in given.items():
        if value is not None and value is not False:
            raise ArgumentError(
                f"{name} of solve_ivp would lose derivatives; leave it out, and ask for the times "
                "you need by t_eval"
            )


def _choose_jacobian(fun: F, method: Any) -> dict[str, Any]:
    """Return the option `jac` for a method that uses it."""
    if method not in IMPLICIT:
        return {}
    return {"jac": lambda t, y, *args: jacobian(_flatten_function(fun, len(y)), 1)(t, y, *args)}


def _flatten_function(fun: F, size: int) -> F:
    return check_shape(fun, (size,), "one derivative for each number of y0")


def _solve(
    right: F, t_span: Any, y0: Any, t_eval: Any, events: list[F], args: tuple[Any, ...], how: Any
) -> Any:
    """Solve with nodes: at plain times, which are then replaced by nodes."""
    first, last = t_span
    y0 = _check_real(y0) * 1.0
    if isinstance(first, Traced):
        y0 = step_inside(right, first, y0, args, to_plain(first) - first, plain_tree(t_span))
    inputs = PackedInputs((y0, args), "solve_ivp")
    z = inputs.join()
    problem = _make_problem(right, inputs, plain_tree((t_span, t_eval)), shape_of(y0)[0], z, how)
    if is_batch(z):
        return _solve_batch(problem, z, events)
    numbers = np.array(to_plain(z), dtype=float)
    found = problem.solve(numbers, events and [_strip_event(e, inputs, numbers) for e in events])
    problem.set_times(found)
    y = apply(problem.flow, z)
    result = type(found)(found)
    if events:
        crossings = _find_crossings(events, found, right, problem.times, y, args)
        result.t_events = [as_vector([t for t, _ in crossed]) for crossed in crossings]
        result.y_events = [as_vector([state for _, state in crossed]) for crossed in crossings]
        if found.status == 1:
            last = _find_latest_crossing(crossings, problem.span)
        y = y[:, np.isin(problem.times, found.t)]
    result.t = output_times(first, last, t_eval, found.t)
    result.y = move_to_nodes(right, result.t, found.t, y, args, plain_tree(t_span))
    result.sol = None
    return result


def _solve_batch(problem: InitialValueProblem, z: Any, events: list[F]) -> Any:
    """Solve for every example of a batch, at the same times."""
    if problem.times is None or events:
        raise ArgumentError(
            "inside vmap solve_ivp has the same times for all examples: pass t_eval, and no events"
        )
    problem.adjoint = True
    y = apply(problem.flow, z)
    return scipy_module("optimize").OptimizeResult(
        t=problem.times, y=y, sol=None, t_events=None, y_events=None, status=0, success=True
    )


def _make_problem(
    right: F, inputs: PackedInputs, times: Any, size: int, z: Any, how: tuple[str, dict[str, Any]]
) -> InitialValueProblem:
    """Return the problem at plain times, as a function of the vector z."""
    sensitivity, options = how
    (first, last), t_eval = times
    count = shape_of(z)[0]
    return InitialValueProblem(
        fun=lambda t, y, z: right(t, y, *inputs.split(z)[1]),
        initial=lambda z: inputs.split(z)[0],
        jac=_make_state_jacobian(right, options.pop("jac", None), inputs),
        span=(float(first), float(last)),
        times=None if t_eval is None else np.array(t_eval, dtype=float),
        options=options,
        count=count,
        size=size,
        adjoint=sensitivity == "adjoint" or (sensitivity == "auto" and count * size > _SMALL),
    )


def _strip_event(event: F, inputs: PackedInputs, numbers: Any) -> F:
    """Return an event as SciPy takes it, with its attributes `terminal` and `direction`."""
    args = inputs.split(numbers)[1]

    def of_plain(t: Any, y: Any) -> Any:
        return event(t, y, *args)

    return functools.update_wrapper(require_plain(of_plain), event)


def _find_crossings(
    events: list[F], found: Any, right: F, times: Any, y: Any, args: tuple[Any, ...]
) -> list[list[tuple[Any, Any]]]:
    """Return the times and states at which each event happened."""
    column = {time: y[:, i] for i, time in enumerate(times.tolist())}
    return [
        [find_crossing(event, right, t, column[t], args) for t in happened.tolist()]
        for event, happened in zip(events, found.t_events, strict=True)
    ]


def _find_latest_crossing(crossings: list[list[tuple[Any, Any]]], span: tuple[float, float]) -> Any:
    """Return the time of the event that ended the solution."""
    times = [t for crossed in crossings for t, _ in crossed]
    return min(times, key=lambda t: abs(to_plain(t) - span[1]))


def _check_real(y0: Any) -> Any:
    if np.iscomplexobj(to_plain(y0)):
        raise ArgumentError(
            "a complex y0 has no derivatives in solve_ivp; solve for the real and the imaginary "
            "part: y0 = np.concatenate([y0.real, y0.imag])"
        )
    return y0


def _make_state_jacobian(right: F, given: Any, inputs: PackedInputs) -> F:
    """Return ∂f/∂y as a function of (t, y, z): the user's own if there is one."""

    def jac(t: Any, y: Any, z: Any) -> Any:
        args = inputs.split(z)[1]
        if given is None:
            return jacobian(right, 1)(t, y, *args)
        found = given(t, y, *args) if callable(given) else given
        return found.toarray() if hasattr(found, "toarray") else np.asarray(found)

    return jac
