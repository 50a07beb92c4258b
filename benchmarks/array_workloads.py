"""Functions of arrays that are differentiated, and their gradients written by hand in NumPy.

Every function is written once, as `f(xp, parameters, data)`: `xp` is NumPy, or what a library
offers in its place. The gradient by hand is what someone who knows NumPy would write: it keeps
what the way back needs, adds in place, and computes nothing twice.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

Arrays = tuple[Any, ...]
ArrayAnswer = tuple[Any, Arrays]  # the value, and a gradient for each parameter
ArrayFunction = Callable[[Any, Arrays, Arrays], Any]
Hand = Callable[[Arrays, Arrays], ArrayAnswer]


@dataclass(frozen=True, slots=True)
class ArrayWorkload:
    """A function, the parameters it is differentiated in, its data, and its gradient by hand."""

    f: ArrayFunction
    parameters: Arrays
    data: Arrays
    hand: Hand
    operations: int = 0  # where the time of one operation is asked for
    compiled: ArrayFunction | None = None  # the same for JAX's compiler, where it has to differ


# Many small operations. ---------------------------------------------------------------------------


def elementwise_chain(blocks: int = 10) -> ArrayWorkload:
    """Return a chain of elementwise operations on ten elements, ten to a block."""

    def f(xp: Any, parameters: Arrays, data: Arrays) -> Any:
        (x,), (c,) = parameters, data
        y = x
        for _ in range(blocks):
            y = xp.sin(y * x) + c
            y = xp.tanh(y - 0.5) * c
            y = xp.exp(-y) / (x + 2.0)
        return xp.sum(y)

    parameters = (np.linspace(0.5, 1.5, 10),)
    return ArrayWorkload(f, parameters, (np.linspace(1, 2, 10),), _steps(f), 10 * blocks + 1)


def mixed_chain(blocks: int = 11) -> ArrayWorkload:
    """Return a chain of products, sums, reshapes and indices of ten elements, nine to a block."""

    def f(xp: Any, parameters: Arrays, data: Arrays) -> Any:
        y, w = parameters
        for _ in range(blocks):
            y = xp.tanh(w @ y)
            table = xp.reshape(y, (2, 5))
            table = table - xp.sum(table, axis=0) / 3.0
            y = xp.reshape(table, (10,))
            y = y + y[3]
        return xp.sum(y)

    w = np.random.default_rng(1).normal(size=(10, 10)) / 3
    return ArrayWorkload(f, (np.linspace(0.5, 1.5, 10), w), (), _steps(f), 9 * blocks + 1)


def _steps(f: ArrayFunction) -> Hand:
    """Differentiate by small imaginary steps, which is exact to the last digits, and slow."""

    def by_steps(parameters: Arrays, data: Arrays) -> ArrayAnswer:
        gradients = []
        for k, array in enumerate(parameters):
            gradient = np.empty(array.shape)
            for place in np.ndindex(array.shape):
                moved = array.astype(complex)
                moved[place] += 1e-30j
                given = (*parameters[:k], moved, *parameters[k + 1 :])
                gradient[place] = f(np, given, data).imag / 1e-30
            gradients.append(gradient)
        return f(np, parameters, data), tuple(gradients)

    return by_steps


# Learning from data. ------------------------------------------------------------------------------


@cache
def _data_set(name: str) -> tuple[Any, Any]:
    """Return one of scikit-learn's data sets: features, shifted and scaled, and classes."""
    from sklearn import datasets

    features, classes = getattr(datasets, f"load_{name}")(return_X_y=True)
    spread = features.std(0)
    return (features - features.mean(0)) / np.where(spread > 0, spread, 1), classes


def _rows(name: str, size: int) -> tuple[Any, Any]:
    """Repeat the rows of a data set until the features have `size` elements."""
    features, classes = _data_set(name)
    chosen = np.arange(max(1, size // features.shape[1])) % len(features)
    return features[chosen], classes[chosen]


def logistic(size: int) -> ArrayWorkload:
    """Return the loss of logistic regression on the breast cancer data."""
    features, classes = _rows("breast_cancer", size)
    weights = np.random.default_rng(1).normal(size=features.shape[1]) / 10
    data = (features, 2.0 * classes - 1)
    return ArrayWorkload(_logistic, (weights, np.array([0.1])), data, _logistic_hand)


def _logistic(xp: Any, parameters: Arrays, data: Arrays) -> Any:
    weights, bias = parameters
    features, signs = data
    margins = signs * (features @ weights + bias)
    return xp.mean(xp.logaddexp(0.0, -margins)) + 0.01 * xp.sum(weights * weights)


def _logistic_hand(parameters: Arrays, data: Arrays) -> ArrayAnswer:
    weights, bias = parameters
    features, signs = data
    margins = features @ weights
    margins += bias
    margins *= signs
    losses = np.logaddexp(0.0, -margins)
    value = losses.mean() + 0.01 * (weights @ weights)
    margins += losses
    slopes = np.exp(-margins, out=margins)  # the chance of being wrong: exp(-margin - loss)
    slopes *= signs
    slopes /= -len(signs)
    return value, (slopes @ features + 0.02 * weights, slopes.sum(keepdims=True))


def mlp(size: int, hidden: int = 32) -> ArrayWorkload:
    """Return the loss of a network with two hidden layers on the digits data."""
    features, classes = _rows("digits", size)
    generator = np.random.default_rng(1)
    widths = (features.shape[1], hidden, hidden, 10)
    parameters: list[Any] = []
    for wide, narrow in itertools.pairwise(widths):
        parameters += [generator.normal(size=(wide, narrow)) / wide**0.5, np.full(narrow, 0.1)]
    return ArrayWorkload(_mlp, tuple(parameters), (features, np.eye(10)[classes]), _mlp_hand)


def _mlp(xp: Any, parameters: Arrays, data: Arrays) -> Any:
    w1, b1, w2, b2, w3, b3 = parameters
    features, targets = data
    first = xp.tanh(features @ w1 + b1)
    second = xp.tanh(first @ w2 + b2)
    scores = second @ w3 + b3
    scores = scores - xp.amax(scores, axis=1, keepdims=True)
    totals = xp.log(xp.sum(xp.exp(scores), axis=1))
    return xp.mean(totals - xp.sum(scores * targets, axis=1))


def _mlp_hand(parameters: Arrays, data: Arrays) -> ArrayAnswer:
    w1, b1, w2, b2, w3, b3 = parameters
    features, targets = data
    first = features @ w1
    first += b1
    np.tanh(first, out=first)
    second = first @ w2
    second += b2
    np.tanh(second, out=second)
    scores = second @ w3
    scores += b3
    scores -= scores.max(axis=1, keepdims=True)
    chosen = np.einsum("ij,ij->i", scores, targets)
    chances = np.exp(scores, out=scores)
    totals = chances.sum(axis=1, keepdims=True)
    value = (np.log(totals[:, 0]) - chosen).mean()
    chances /= totals
    chances -= targets
    chances /= len(features)
    d_second = _through_tanh(chances @ w3.T, second)
    d_first = _through_tanh(d_second @ w2.T, first)
    return value, (
        features.T @ d_first,
        d_first.sum(0),
        first.T @ d_second,
        d_second.sum(0),
        second.T @ chances,
        chances.sum(0),
    )


def _through_tanh(adjoint: Any, v: Any) -> Any:
    """Multiply an adjoint by the slope of tanh, where its value is v."""
    slope = v * v
    np.subtract(1.0, slope, out=slope)
    adjoint *= slope
    return adjoint


# Physics. -----------------------------------------------------------------------------------------

TIME_STEP, SPACE_STEP, VISCOSITY = 0.01, 0.05, 0.02


def physics(size: int) -> ArrayWorkload:
    """Return how far a field u(t, x) is from Burgers' equation, its edges and its beginning."""
    side = round(size**0.5)
    field = np.random.default_rng(1).normal(size=(side, side))
    beginning = np.sin(np.linspace(0, 2 * np.pi, side))
    return ArrayWorkload(_physics, (field,), (beginning,), _physics_hand)


def _physics(xp: Any, parameters: Arrays, data: Arrays) -> Any:
    (u,), (beginning,) = parameters, data
    before, here, left, right = u[:-1, 1:-1], u[1:, 1:-1], u[1:, :-2], u[1:, 2:]
    drift = here * (right - left) / (2 * SPACE_STEP)
    spreading = VISCOSITY * (right - 2 * here + left) / SPACE_STEP**2
    residual = (here - before) / TIME_STEP + drift - spreading
    edges = xp.sum(u[:, 0] ** 2) + xp.sum(u[:, -1] ** 2)
    return xp.sum(residual**2) + xp.sum((u[0] - beginning) ** 2) + edges


def _physics_hand(parameters: Arrays, data: Arrays) -> ArrayAnswer:
    (u,), (beginning,) = parameters, data
    before, here, left, right = u[:-1, 1:-1], u[1:, 1:-1], u[1:, :-2], u[1:, 2:]
    slope = right - left
    slope /= 2 * SPACE_STEP
    residual = here - before
    residual /= TIME_STEP
    residual += here * slope
    bend = right + left
    bend -= 2 * here
    bend *= VISCOSITY / SPACE_STEP**2
    residual -= bend
    start = u[0] - beginning
    value = np.vdot(residual, residual) + start @ start + u[:, 0] @ u[:, 0] + u[:, -1] @ u[:, -1]
    residual *= 2
    gradient = np.zeros_like(u)
    slope += 1 / TIME_STEP + 2 * VISCOSITY / SPACE_STEP**2
    slope *= residual
    gradient[1:, 1:-1] = slope
    np.multiply(residual, here, out=slope)
    slope /= 2 * SPACE_STEP
    gradient[1:, 2:] += slope
    gradient[1:, :-2] -= slope
    np.multiply(residual, VISCOSITY / SPACE_STEP**2, out=slope)
    gradient[1:, 2:] -= slope
    gradient[1:, :-2] -= slope
    residual /= TIME_STEP
    gradient[:-1, 1:-1] -= residual
    gradient[0] += 2 * start
    gradient[:, 0] += 2 * u[:, 0]
    gradient[:, -1] += 2 * u[:, -1]
    return value, (gradient,)


STEPS, STEP = 10, 0.01


def ode(size: int) -> ArrayWorkload:
    """Return the error of a solution of Lorenz' equations of 1996, by Runge and Kutta's method."""
    generator = np.random.default_rng(1)
    state = 8 + generator.normal(size=size // STEPS)
    seen = 8 + generator.normal(size=(STEPS, size // STEPS))
    return ArrayWorkload(_ode, (state, np.array([8.0])), (seen,), _ode_hand, compiled=_ode_scan)


def _change(xp: Any, x: Any, force: Any) -> Any:
    return (xp.roll(x, -1) - xp.roll(x, 2)) * xp.roll(x, 1) - x + force


def _after(xp: Any, x: Any, force: Any) -> Any:
    """Take one step."""
    k1 = _change(xp, x, force)
    k2 = _change(xp, x + STEP / 2 * k1, force)
    k3 = _change(xp, x + STEP / 2 * k2, force)
    k4 = _change(xp, x + STEP * k3, force)
    return x + STEP / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def _ode(xp: Any, parameters: Arrays, data: Arrays) -> Any:
    (x, force), (seen,) = parameters, data
    loss = 0.0
    for i in range(STEPS):
        x = _after(xp, x, force)
        loss = loss + xp.sum((x - seen[i]) ** 2)
    return loss


def _ode_scan(xp: Any, parameters: Arrays, data: Arrays) -> Any:
    """Write the loop as JAX wants it when it compiles; unrolled it takes minutes."""
    from jax import lax

    (x, force), (seen,) = parameters, data

    def step(x: Any, target: Any) -> tuple[Any, Any]:
        x = _after(xp, x, force)
        return x, xp.sum((x - target) ** 2)

    return xp.sum(lax.scan(step, x, seen)[1])


def _ode_hand(parameters: Arrays, data: Arrays) -> ArrayAnswer:
    (x, force), (seen,) = parameters, data
    value = 0.0
    kept = []
    for i in range(STEPS):
        k1 = _change(np, x, force)
        x2 = x + STEP / 2 * k1
        k2 = _change(np, x2, force)
        x3 = x + STEP / 2 * k2
        k3 = _change(np, x3, force)
        x4 = x + STEP * k3
        k1 += _change(np, x4, force)
        k2 += k3
        k2 *= 2
        k1 += k2
        k1 *= STEP / 6
        after = x + k1
        error = after - seen[i]
        value += error @ error
        error *= 2
        kept.append((x, x2, x3, x4, error))
        x = after
    return value, _ode_back(kept)


def _ode_back(kept: list[Any]) -> Arrays:
    """Go back through the steps: `bar` is the adjoint of the state, `pull` that of each k."""
    bar = np.zeros_like(kept[0][0])
    total = 0.0
    for x1, x2, x3, x4, error in reversed(kept):
        bar += error
        pull = STEP / 6 * bar
        sums = pull.sum()
        back = _change_back(x4, pull)
        after = bar + back
        for x, weight, step in ((x3, 3, STEP), (x2, 3, STEP / 2), (x1, 6, STEP / 2)):
            back *= step
            back += STEP / weight * bar
            sums += back.sum()
            back = _change_back(x, back)
            after += back
        bar = after
        total += sums
    return bar, np.array([total])


def _change_back(x: Any, adjoint: Any) -> Any:
    """Return the adjoint of x, from that of the change."""
    first = adjoint * np.roll(x, 1)
    back = np.roll(first, 1)
    back -= np.roll(first, -2)
    np.subtract(np.roll(x, -1), np.roll(x, 2), out=first)
    first *= adjoint
    back += np.roll(first, -1)
    back -= adjoint
    return back


CHAINS: dict[str, Callable[[], ArrayWorkload]] = {
    "elementwise": elementwise_chain,
    "mixed": mixed_chain,
}
SIZED: dict[str, tuple[str, Callable[[int], ArrayWorkload]]] = {
    "mlp": ("a network with two hidden layers of 32, on the digits data", mlp),
    "logistic": ("logistic regression, on the breast cancer data", logistic),
    "physics": ("the residual of Burgers' equation on a grid", physics),
    "ode": ("ten Runge-Kutta steps of Lorenz' equations of 1996, against data", ode),
}


def array_disagreement(answer: ArrayAnswer, expected: ArrayAnswer) -> float:
    """Return the largest error, of the value and of each gradient, relative to its size."""
    found, wanted = (answer[0], *answer[1]), (expected[0], *expected[1])
    if len(found) != len(wanted):
        return np.inf
    errors = [_error(np.asarray(a), np.asarray(b)) for a, b in zip(found, wanted, strict=True)]
    return np.inf if np.isnan(errors).any() else max(errors)


def _error(found: Any, wanted: Any) -> float:
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        return np.inf
    return float(np.max(np.abs(found - wanted)) / np.max(np.abs(wanted)))
