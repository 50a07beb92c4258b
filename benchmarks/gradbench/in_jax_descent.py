"""`particle` and `saddle` in JAX: whole descents, compiled.

JAX cannot reverse a loop that ends when numbers say so. Where the outer mode is reverse, the loop
within has a number of steps that is known to be enough, and does nothing once it is done.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

jax.config.update("jax_enable_x64", True)
MODES = {"f": jax.jacfwd, "r": jax.grad}
MOVES, STEPS = 512, 256  # enough for both, from where the suite starts
CLOSE = 1e-5


def loop(going: Any, body: Any, first: Any, bound: int | None) -> Any:
    """Repeat while `going`; with a bound, in a way that can be reversed."""
    if bound is None:
        return lax.while_loop(going, body, first)

    def step(state: Any, _: None) -> tuple[Any, None]:
        on = going(state)
        return jax.tree.map(lambda new, old: jnp.where(on, new, old), body(state), state), None

    return lax.scan(jax.checkpoint(step), first, None, length=bound)[0]  # far faster than without


def argmin(f: Callable[[Any], Any], g: Callable[[Any], Any], start: Any, bound: int | None) -> Any:
    """Go down until the steps are short."""

    def short(x: Any) -> Any:
        return jnp.sum(x * x) <= CLOSE**2

    def going(state: Any) -> Any:
        return ~state[-1]

    def body(state: Any) -> Any:
        x, fx, slope, accepted, eta, _ = state
        new = x - eta * slope
        f_new = f(new)
        double = accepted == 10
        stop = short(slope) | (~double & short(x - new))
        better = ~double & ~stop & (f_new < fx)
        next_x = jnp.where(better, new, x)
        return (
            next_x,
            jnp.where(better, f_new, fx),
            lax.cond(better, g, lambda _: slope, next_x),
            jnp.where(better, accepted + 1, 0),
            jnp.where(double, 2 * eta, jnp.where(better, eta, eta / 2)),
            stop,
        )

    first = (start, f(start), g(start), 0, 1e-5, jnp.array(False))
    return loop(going, body, first, bound)[0]


def potential(x: Any, w: Any) -> Any:
    ten = jnp.array([10.0, 10.0])
    first, second = x - ten + jnp.array([0.0, 1.0]) * w, x - ten * jnp.array([1.0, 0.0])
    return 1 / jnp.sqrt(jnp.sum(first**2)) + 1 / jnp.sqrt(jnp.sum(second**2))


def energy(inner: str, bound: int | None, w: Any) -> Any:
    slope = MODES[inner](potential)

    def body(state: Any) -> Any:
        x, v, _ = state
        new_x, new_v = x + 0.1 * v, v - 0.1 * slope(x, w)
        down = new_x[1] <= 0
        return new_x, jnp.where(down, v, new_v), down

    first = (jnp.array([0.0, 8.0]), jnp.array([0.75, 0.0]), jnp.array(False))
    x, v, _ = loop(lambda state: ~state[-1], body, first, bound)
    return (x[0] - x[1] / v[1] * v[0]) ** 2


def steer(outer: str, inner: str, w: Any) -> Any:
    value = partial(energy, inner, None)
    derivative = MODES[outer](partial(energy, inner, MOVES if outer == "r" else None))
    return argmin(value, derivative, w, None)


def f(a: Any, b: Any) -> Any:
    return jnp.sum(a * a) - jnp.sum(b * b)


def find(outer: str, inner: str, start: Any) -> Any:
    bound = STEPS if outer == "r" else None

    def answer(bound: int | None, a: Any) -> Any:
        return argmin(lambda b: -f(a, b), MODES[inner](lambda b: -f(a, b)), start, bound)

    def worst(bound: int | None, a: Any) -> Any:
        return f(a, answer(bound, a))

    a = argmin(partial(worst, None), MODES[outer](partial(worst, bound)), start, None)
    return jnp.concatenate([a, answer(None, a)])


def _compiled(search: Callable[[str, str, Any], Any]) -> dict[str, Callable[[Any], Any]]:
    def call(outer: str, inner: str) -> Callable[[Any], Any]:
        jitted = jax.jit(partial(search, outer, inner))
        return lambda start: jax.block_until_ready(jitted(start))

    return {outer + inner: call(outer, inner) for outer in "fr" for inner in "fr"}


PARTICLE, SADDLE = _compiled(steer), _compiled(find)
