"""The solution of an ODE as a primitive, with derivatives of every order.

A problem is y' = f(t, y, z) with y(t0) = initial(z), where z is one vector of everything that is
differentiated. Its derivatives are solutions of problems of the same form:

tangent      one direction dz: y and dy together, as a function of (z, dz)
variational  all directions at once: y and the matrix ∂y/∂z together, as a function of z
adjoint      backward in time: λ' = -(∂f/∂y)ᵀ λ, to which the adjoint of y is added at each output
             time; the adjoint of z is ∫ (∂f/∂z)ᵀ λ dt plus the part of λ(t0) from the initial state

The derivative of the adjoint is a part of the adjoint of the tangent problem. So three short rules
suffice for every order, in every nesting of forward and reverse mode.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from simpleautodiff.core.level import apply, to_plain
from simpleautodiff.core.linear import Linear
from simpleautodiff.core.primitive import Primitive
from simpleautodiff.errors import DomainError, cite_line
from simpleautodiff.plug.inputs import plain_solver, scipy_module, solve_each
from simpleautodiff.plug.switches import find_jumps, follow, jump_stays
from simpleautodiff.rules.array.indexing import concatenate
from simpleautodiff.rules.array.shapes import reshape, shape_of
from simpleautodiff.transforms.grad import jvp, linearize, vjp
from simpleautodiff.transforms.jacobian import jacobian

_SHIFT = 1e-5  # of inputs and states, relative: a jump that stays does not feel it
IMPLICIT = ("Radau", "BDF", "LSODA")
Right = Callable[[Any, Any, Any], Any]


def run(fun: Any, span: Any, y0: Any, **options: Any) -> Any:
    """Call SciPy's solve_ivp in plain numbers, and raise `DomainError` if it fails."""
    return check_success(plain_solver("integrate", "solve_ivp")(fun, span, y0, **options), span)


def check_success(found: Any, span: Any) -> Any:
    """Return SciPy's result if it reached the end of the span; otherwise raise `DomainError`."""
    if found.success:
        return found
    raise DomainError(
        f"solve_ivp stopped at t = {found.t[-1] if len(found.t) else span[0]} on the way from "
        f"{span[0]} to {span[1]}: {found.message} A stiff problem needs method='Radau'; a solution "
        "that grows without bound ends there."
    )


@dataclass(eq=False)
class InitialValueProblem:
    """y' = fun(t, y, z), y(t0) = initial(z), evaluated at some times.

    `jac(t, y, z)` is ∂f/∂y of the original problem; the Jacobian of a derived problem has it on its
    block diagonal, which is all an implicit method needs to converge.
    """

    fun: Right
    initial: Callable[[Any], Any]
    jac: Right
    span: tuple[float, float]
    times: Any
    options: dict[str, Any]
    count: int  # numbers in z of the original problem
    size: int  # numbers in y of the original problem
    adjoint: bool
    derived: bool = False  # from another problem, whose right-hand side has been searched for jumps

    def __post_init__(self) -> None:
        self._solved: tuple[Any, Any] | None = None
        self._slopes: tuple[Any, Any] | None = None
        self._searched: Any = None

    @property
    def flow(self) -> Primitive:
        """The primitive from z to the solution; not stored, to avoid a reference cycle."""
        return _make_flow(self)

    @property
    def pull(self) -> Primitive:
        """The primitive from z and the adjoint of the solution to the adjoint of z."""
        return _make_adjoint(self)

    def solve(self, z: Any, events: Any = None) -> Any:
        """Return SciPy's result; the last one without events is retained, for the adjoint."""
        if self._solved is not None and np.array_equal(self._solved[0], z):
            return self._solved[1]
        y0 = np.array(self.initial(z), dtype=float)
        right = self.fun  # SciPy's solvers are reference cycles, which must not hold the solution
        found = run(
            lambda t, y: right(t, y, z),
            self.span,
            y0,
            t_eval=self.times,
            dense_output=self.adjoint or not self.derived,
            events=events or None,
            **self.solver(z, len(y0), lambda t, y: y, 1),
        )
        if not events:
            self._solved = z, found
        return found

    def set_times(self, found: Any) -> None:
        """Store the output times of a first solution and of its events; it may have ended early."""
        self.times = found.t
        if found.t_events is not None:
            times = np.unique(np.concatenate([found.t, *found.t_events]))
            self.times = times if self.span[0] <= self.span[1] else times[::-1]
            if found.status == 1:
                self.span = self.span[0], float(self.times[-1])

    def solver(self, z: Any, states: int, state: Any, sign: int) -> dict[str, Any]:
        """Return solver options for a system of `states` numbers linearised along `state(t, y)`.

        With `sign` -1 it is the adjoint system, which is transposed and runs backward.
        """
        copies = states // self.size
        options = {**self.options, "atol": self.options.get("atol", 1e-6)}
        if np.ndim(options["atol"]):
            options["atol"] = np.tile(options["atol"], copies)

        block_at, size, count = self.jac, self.size, self.count

        def jac(t: Any, y: Any) -> Any:
            block = block_at(t, state(t, y)[:size], z[:count])
            return np.kron(np.eye(copies), block if sign > 0 else -block.T)

        return {**options, "jac": jac} if options["method"] in IMPLICIT else options

    def refuse_moving_jumps(self, z: Any) -> float:
        """Raise `DomainError` if the right-hand side jumps at a time that depends on z."""
        if self.derived or (self._searched is not None and np.array_equal(self._searched, z)):
            return 0.0
        sol, change = self.solve(z).sol, None
        here = follow(self.fun, lambda t, i: sol.interpolants[i](t), z)
        anyhow = self._move(z, sol, lambda t: np.cos(0.2 + np.arange(len(sol(t)))))
        for jump in find_jumps(here, sol.ts):
            if all(jump_stays(here, there, jump) for there in anyhow):
                continue  # it depends on neither z nor the state
            change = change or self._solve_change(z)
            if not all(jump_stays(here, there, jump) for there in self._move(z, sol, change)):
                raise DomainError(
                    f"the right-hand side of solve_ivp jumps at t = {jump[1]:.6g}, a time that "
                    "moves with what is differentiated, and its derivative does not have the "
                    "jump's part. Solve to the jump and from it, each time with the right-hand "
                    "side that is valid there: two calls with that time as a limit of t_span, or, "
                    "for a jump in the state, an event with terminal=True and a second call from "
                    f"its t_events and y_events{cite_line()}"
                )
        self._searched = np.array(z)
        return 0.0

    def _solve_change(self, z: Any) -> Callable[[float], Any]:
        """Return the derivative of the solution in one direction, `_choose_way(z)`, by time."""
        problem, both = self.tangent(), np.concatenate([z, _choose_way(z)])
        start, right = np.array(problem.initial(both), dtype=float), problem.fun
        options = problem.solver(both, len(start), lambda t, y: y, 1)
        found = run(lambda t, y: right(t, y, both), self.span, start, dense_output=True, **options)
        return lambda t: _split_in_half(found.sol(t))[1]

    def _move(self, z: Any, sol: Any, change: Callable[[float], Any]) -> list[Any]:
        """Return the right-hand side for two neighbours of z, where the solution changes, too."""

        def path(t: float, i: int, sign: int) -> Any:
            y, dy = sol.interpolants[i](t), change(t)
            return y + sign * _SHIFT * dy / np.max(np.abs(dy) / _find_scales(y), initial=1.0)

        return [
            follow(self.fun, partial(path, sign=sign), z + sign * _SHIFT * _choose_way(z))
            for sign in (1, -1)
        ]

    def slopes(self, z: Any) -> Any:
        """Return ∂y/∂z at all times, recorded: an array of shape (len(z), len(y), len(t))."""
        if self._slopes is None or self._slopes[0] is not z:
            count, sizes = shape_of(z)[0], _find_scales(z)
            both = apply(self._make_variational_problem(sizes).flow, z)
            rows = shape_of(both)[0] // (1 + count)
            slopes = reshape(both[rows:], (count, rows, len(self.times)))
            self._slopes = z, slopes / sizes[:, None, None]
        return self._slopes[1]

    def _make_variational_problem(self, sizes: Any) -> InitialValueProblem:
        count, units = len(sizes), np.diag(sizes)
        right, start = self.fun, self.initial  # not `self`, which holds what is made here

        def fun(t: Any, y: Any, z: Any) -> Any:
            rows = shape_of(y)[0] // (1 + count)
            state, slopes = y[:rows], reshape(y[rows:], (count, rows))
            value, change = _push_all(lambda y, z: right(t, y, z), state, z, slopes, units)
            return concatenate([value, reshape(change, (-1,))])

        def initial(z: Any) -> Any:
            slopes = np.transpose(jacobian(start)(z) * sizes)
            return concatenate([start(z), reshape(slopes, (-1,))])

        return replace(self, fun=fun, initial=initial, derived=True)

    def tangent(self) -> InitialValueProblem:
        """Return the problem of y and of its change in one direction."""
        right, start = self.fun, self.initial

        def fun(t: Any, y: Any, z: Any) -> Any:
            (y, dy), (z, dz) = _split_in_half(y), _split_in_half(z)
            return concatenate(jvp(lambda y, z: right(t, y, z), (y, z), (dy, dz)))

        def initial(z: Any) -> Any:
            z, dz = _split_in_half(z)
            return concatenate(jvp(start, (z,), (dz,)))

        return replace(self, fun=fun, initial=initial, derived=True)


def _find_scales(z: Any) -> Any:
    """Return the scale of each element of z, in units of which changes are measured.

    Tolerances are absolute, too: a derivative in a rate of 1e7 would be far below them.
    """
    return np.maximum(1.0, np.abs(to_plain(z)))


def _choose_way(z: Any) -> Any:
    """Return a direction that is not special for any problem."""
    return _find_scales(z) * np.cos(0.5 + np.arange(len(z)))


def _scale(z: Any, direction: Any) -> tuple[Any, Any]:
    """Scale a direction to the size of the numbers it changes; return it and the divisor."""
    size = np.max(np.abs(to_plain(direction)) / _find_scales(z), initial=0.0)
    size = np.where(size == 0, 1.0, size)
    return direction / size, size


def _split_in_half(x: Any) -> tuple[Any, Any]:
    half = shape_of(x)[0] // 2
    return x[:half], x[half:]


def _push_all(f: Any, y: Any, z: Any, slopes: Any, units: Any) -> tuple[Any, Any]:
    """Return f(y, z) and its change along each row of `slopes` and `units`, by the cheaper mode."""
    if len(units) <= shape_of(y)[0]:
        value, push = linearize(f, y, z)
        return value, np.stack([push(slopes[j], unit) for j, unit in enumerate(units)])
    value, pull = vjp(f, y, z)
    rows = [pull(unit) for unit in np.eye(shape_of(y)[0])]
    by_state, by_input = (np.stack([row[k] for row in rows], 1) for k in (0, 1))
    return value, slopes @ by_state + units @ by_input


def _push(problem: InitialValueProblem, z: Any, dz: Any) -> Any:
    direction, size = _scale(z, dz)
    return size * _split_in_half(apply(problem.tangent().flow, concatenate([z, direction])))[1]


def _make_flow(problem: InitialValueProblem) -> Primitive:
    def by_adjoint(v: Any, z: Any) -> Linear:
        solve_each(problem.refuse_moving_jumps, to_plain(z))
        return Linear(lambda dz: _push(problem, z, dz), lambda bar: apply(problem.pull, z, bar))

    def by_matrix(v: Any, z: Any) -> Linear:
        solve_each(problem.refuse_moving_jumps, to_plain(z))
        return Linear(
            lambda dz: np.tensordot(dz, problem.slopes(z), 1),
            lambda bar: np.tensordot(problem.slopes(z), bar, 2),
        )

    return _make_primitive(
        "solve_ivp",
        (by_adjoint if problem.adjoint else by_matrix,),
        lambda z: problem.solve(z).y,
        "its derivatives solve the linearised equation",
    )


def _make_adjoint(problem: InitialValueProblem) -> Primitive:
    """Return the primitive from (z, adjoint of the solution) to the adjoint of z.

    It is the gradient of ⟨bar, y⟩, so its own derivative in z is a symmetric map, a Hessian.
    """

    def by_inputs(v: Any, z: Any, bar: Any) -> Linear:
        def hessian_times(dz: Any) -> Any:
            direction, size = _scale(z, dz)
            seed = concatenate([np.zeros(shape_of(bar)), bar])
            both = apply(problem.tangent().pull, concatenate([z, direction]), seed)
            return size * _split_in_half(both)[0]

        return Linear(hessian_times, hessian_times)

    def by_seed(v: Any, z: Any, bar: Any) -> Linear:
        return Linear(
            lambda dot: apply(problem.pull, z, dot),
            lambda w: _push(problem, z, w),
        )

    return _make_primitive(
        "adjoint of solve_ivp",
        (by_inputs, by_seed),
        lambda z, bar: _sweep_back(problem, z, bar),
        "its derivative is a part of the adjoint of the tangent problem",
    )


def _make_primitive(name: str, rules: tuple[Any, ...], compute: Any, reason: str) -> Primitive:
    slots = ", ".join(f"{{{i}}}" for i in range(len(rules)))
    return Primitive(name, rules, compute, f"{name}({slots})", name, reason, real=True, arrays=True)


def _sweep_back(problem: InitialValueProblem, z: Any, bar: Any) -> Any:
    """Integrate the adjoint equations in plain numbers, from the last relevant time to t0."""
    forward = problem.solve(z).sol
    options = problem.solver(z, len(bar), lambda t, y: forward(t), -1)
    options.pop("first_step", None)  # it is meant for the start of the forward solution
    counts = [i for i in range(len(problem.times)) if np.any(bar[:, i])]
    ends = [problem.span[0], *(problem.times[i] for i in counts)]
    size = np.max(np.abs(bar), initial=0.0) or 1.0  # tolerances are meant for numbers of size 1
    adjoint, pieces, right = np.zeros(len(bar)), [], problem.fun

    def back(t: Any, adjoint: Any) -> Any:
        return -vjp(lambda y: right(t, y, z), forward(t))[1](adjoint)[0]

    for k in reversed(range(len(counts))):
        adjoint = adjoint + bar[:, counts[k]] / size
        if ends[k] != ends[k + 1]:
            found = run(back, (ends[k + 1], ends[k]), adjoint, dense_output=True, **options)
            pieces.append(found.sol)
            adjoint = found.y[:, -1]
    total = vjp(problem.initial, z)[1](adjoint)[0]
    return size * (total + _integrate_inputs(problem, z, forward, pieces) if pieces else total)


def _integrate_inputs(problem: InitialValueProblem, z: Any, forward: Any, pieces: list[Any]) -> Any:
    """Return ∫ (∂f/∂z)ᵀ λ dt to the solver's accuracy; separately, so that it needs no matrices."""
    pieces = sorted(pieces, key=lambda piece: float(piece.t_max))
    ends, sizes = np.array([piece.t_max for piece in pieces]), _find_scales(z)

    def slope(t: Any) -> Any:
        adjoint = pieces[np.searchsorted(ends, t)](t)
        _, pull = vjp(lambda y, z: problem.fun(t, y, z), forward(t), z)  # y too: zeros_like(y)
        return pull(adjoint)[1] * sizes

    steps = [forward.ts[::4], *(piece.ts[::4] for piece in pieces)]  # fine enough to miss nothing
    points = np.unique(np.concatenate(steps))
    low, high = pieces[0].t_min, pieces[-1].t_max
    total, *_ = scipy_module("integrate").quad_vec(
        slope,
        low,
        high,
        epsabs=float(np.min(problem.options.get("atol", 1e-6))),
        epsrel=problem.options.get("rtol", 1e-3),
        norm="max",
        quadrature="gk15",
        points=points[(points > low) & (points < high)],
    )
    return np.copysign(1.0, problem.span[1] - problem.span[0]) * total / sizes
