"""The same problems in JAX, each in several ways of which the fastest counts.

A twin takes the arguments that `read` makes, and returns compiled calls by name.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from gradbench import ba as scene_of, ht as hand_of
from gradbench.det import columns_left
from gradbench.gmm import prior_constant
from gradbench.in_jax_descent import PARTICLE, SADDLE

jax.config.update("jax_enable_x64", True)
Functions = dict[str, Callable[[], Any]]


def hello(x: float) -> Functions:
    slope = jax.jit(jax.grad(lambda x: x * x))
    return {"double": lambda: slope(x)}


def det(a: Any) -> Functions:
    left = columns_left(len(a))

    def determinant(a: Any) -> Any:
        minors = a[-1][left[-1][:, 0]]
        for row in range(len(a) - 2, -1, -1):
            signs = (-1.0) ** np.arange(len(a) - row)
            minors = jnp.sum(signs * a[row][left[row]] * minors.reshape(left[row].shape), axis=1)
        return minors[0]

    return _calls({"minors": jax.grad(determinant)}, a)


def lse(x: Any) -> Functions:
    def logsumexp(x: Any) -> Any:
        highest = jnp.max(x)
        return highest + jnp.log(jnp.sum(jnp.exp(x - highest)))

    return _calls({"": jax.grad(logsumexp)}, x)


def llsq(x: Any, n: int) -> Functions:
    t = np.linspace(-1.0, 1.0, n)
    powers = jnp.asarray(t[:, None] ** np.arange(len(x)))
    signs = jnp.asarray(np.sign(t))

    def by_matrix(x: Any, powers: Any) -> Any:
        return jnp.sum((signs - powers @ x) ** 2) / 2

    def by_horner(x: Any, powers: Any) -> Any:
        y, _ = lax.scan(lambda y, c: (y * t + c, None), jnp.zeros(n), x, reverse=True)
        return jnp.sum((signs - y) ** 2) / 2

    forms = {"constant matrix": jax.grad(by_matrix), "Horner": jax.grad(by_horner)}
    return _calls(forms, x, powers)


def ode(x: Any, steps: int) -> Functions:
    def by_concatenation(x: Any, y: Any) -> Any:
        return jnp.concatenate([x[:1], x[1:] * y[:-1]])

    def by_assignment(x: Any, y: Any) -> Any:
        return jnp.zeros_like(x).at[0].set(x[0]).at[1:].set(x[1:] * y[:-1])

    def last(slope: Callable[[Any, Any], Any], again: bool = False) -> Callable[[Any], Any]:
        h = 2.0 / steps

        def integrate(x: Any) -> Any:
            def step(y: Any, _: None) -> tuple[Any, None]:
                k1 = slope(x, y)
                k2 = slope(x, y + h / 2 * k1)
                k3 = slope(x, y + h / 2 * k2)
                k4 = slope(x, y + h * k3)
                return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), None

            body = jax.checkpoint(step) if again else step
            return lax.scan(body, jnp.zeros_like(x), None, length=steps)[0][-1]

        return jax.grad(integrate)

    forms = {
        "concatenation": last(by_concatenation),
        "concatenation, steps computed again": last(by_concatenation, again=True),
        "assignment": last(by_assignment),
    }
    return _calls(forms, x)


def kmeans(centroids: Any, points: Any) -> Functions:
    def by_broadcasting(centroids: Any, points: Any) -> Any:
        squares = jnp.sum((points[:, None, :] - centroids[None, :, :]) ** 2, axis=2)
        return jnp.sum(jnp.min(squares, axis=1))

    def by_product(centroids: Any, points: Any) -> Any:
        squares = jnp.sum(centroids**2, axis=1) - 2 * (points @ centroids.T)
        return jnp.sum(points**2) + jnp.sum(jnp.min(squares, axis=1))

    def by_nearest(centroids: Any, points: Any) -> Any:
        squares = jnp.sum(centroids**2, axis=1) - 2 * (points @ centroids.T)
        nearest = jnp.argmin(lax.stop_gradient(squares), axis=1)
        return jnp.sum((points - centroids[nearest]) ** 2)

    def newton(cost: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        def direction(centroids: Any, points: Any) -> Any:
            slope = lambda at: jax.grad(cost)(at, points)  # noqa: E731
            gradient, curvature = jax.jvp(slope, (centroids,), (jnp.ones_like(centroids),))
            return gradient / curvature

        return direction

    forms = {"nearest": by_nearest, "product": by_product, "broadcasting": by_broadcasting}
    return _calls({name: newton(cost) for name, cost in forms.items()}, centroids, points)


def gmm(alpha: Any, mu: Any, q: Any, l: Any, x: Any, m: int, gamma: float) -> Functions:  # noqa: E741
    count, size = mu.shape
    columns, rows = np.triu_indices(size, 1)

    def as_printed(factors: Any, mu: Any, x: Any) -> Any:
        return jnp.sum(jnp.einsum("kij,nkj->nki", factors, x[:, None, :] - mu) ** 2, axis=2)

    def by_product(factors: Any, mu: Any, x: Any) -> Any:
        of_points = (x @ factors.reshape(count * size, size).T).reshape(len(x), count, size)
        return jnp.sum((of_points - jnp.einsum("kij,kj->ki", factors, mu)) ** 2, axis=2)

    def posterior(squares: Callable[[Any, Any, Any], Any]) -> Callable[..., Any]:
        def objective(alpha: Any, mu: Any, q: Any, l: Any, x: Any) -> Any:  # noqa: E741
            factors = jnp.zeros((count, size, size)).at[:, rows, columns].set(l)
            factors = factors.at[:, np.arange(size), np.arange(size)].set(jnp.exp(q))
            sums = jnp.sum(q, axis=1)
            terms = alpha + sums - squares(factors, mu, x) / 2
            likelihood = jnp.sum(jax.nn.logsumexp(terms, axis=1))
            likelihood -= len(x) * (size / 2 * np.log(2 * np.pi) + jax.nn.logsumexp(alpha))
            penalty = gamma**2 / 2 * (jnp.sum(jnp.exp(q) ** 2) + jnp.sum(l**2))
            return likelihood + m * jnp.sum(sums) - penalty + count * prior_constant(size, m, gamma)

        return jax.grad(objective, (0, 1, 2, 3))

    forms = {"one product": posterior(by_product), "as printed": posterior(as_printed)}
    return _calls(forms, alpha, mu, q, l, x)


def lstm(main: Any, extra: Any, state: Any, sequence: Any) -> Functions:
    layers, width = len(main) // 2, len(extra[0])

    def loss(again: bool, main: Any, extra: Any, state: Any, sequence: Any) -> Any:
        weights, biases = main[0::2].reshape(layers, 4, width), main[1::2].reshape(layers, 4, width)

        def step(carry: Any, pair: Any) -> tuple[Any, Any]:
            now, following = pair
            hidden, cells = list(carry[0]), list(carry[1])
            z = now * extra[0]
            for k in range(layers):
                w, b = weights[k], biases[k]
                forget, out = jax.nn.sigmoid(z * w[0] + b[0]), jax.nn.sigmoid(z * w[2] + b[2])
                write, change = jax.nn.sigmoid(hidden[k] * w[1] + b[1]), hidden[k] * w[3] + b[3]
                cells[k] = cells[k] * forget + write * jnp.tanh(change)
                z = hidden[k] = out * jnp.tanh(cells[k])
            y = z * extra[1] + extra[2]
            gain = jnp.sum(following * (y - jnp.log(2 + jnp.sum(jnp.exp(y)))))
            return (tuple(hidden), tuple(cells)), gain

        first = (tuple(state[0::2]), tuple(state[1::2]))
        body = jax.checkpoint(step) if again else step
        gains = lax.scan(body, first, (sequence[:-1], sequence[1:]))[1]
        return -jnp.sum(gains) / ((len(sequence) - 1) * width)

    forms = {
        "scan": jax.grad(partial(loss, False), (0, 1)),
        "scan, steps computed again": jax.grad(partial(loss, True), (0, 1)),
    }
    return _calls(forms, main, extra, state, sequence)


def ba(scene: scene_of.Scene) -> Functions:
    """Assemble the whole sparse matrix in one compiled function."""
    camera, point, row = scene_of.CAMERA, scene_of.POINT, scene_of.ROW

    def residual(inputs: Any, feature: Any) -> Any:
        turn, centre, weight = inputs[0:3], inputs[3:6], inputs[14]
        square = jnp.sum(turn * turn)
        still = square == 0
        angle = jnp.sqrt(jnp.where(still, 1.0, square))
        axis, away = turn / angle, inputs[11:14] - centre
        cosine, across = jnp.cos(angle), jnp.cross(axis, away)
        turned = away * cosine + across * jnp.sin(angle)
        turned = turned + axis * (jnp.sum(axis * away) * (1 - cosine))
        seen = jnp.where(still, away + jnp.cross(turn, away), turned)
        flat = seen[0:2] / seen[2]
        rho = jnp.sum(flat * flat)
        bent = flat * (1 + inputs[9] * rho + inputs[10] * rho * rho)
        return weight * (bent * inputs[6] + inputs[7:9] - feature)

    def assemble(rows_of_jacobian: Callable[[Any, Any], Any]) -> Callable[..., Any]:
        def jacobian(scene: scene_of.Scene) -> tuple[Any, Any, Any]:
            n, m, p = len(scene.cameras), len(scene.points), len(scene.weights)
            parts = (scene.cameras[scene.camera_of], scene.points[scene.point_of])
            inputs = jnp.concatenate([*parts, scene.weights[:, None]], axis=1)
            dense = rows_of_jacobian(inputs, scene.features)
            slopes = jax.vmap(jax.grad(lambda w: 1 - w * w))(scene.weights)
            of_weights = camera * n + point * m + jnp.arange(p)
            table = [camera * scene.camera_of[:, None] + jnp.arange(camera)]
            table.append(camera * n + point * scene.point_of[:, None] + jnp.arange(point))
            pairs = jnp.concatenate([*table, of_weights[:, None]], axis=1)
            columns = jnp.repeat(pairs[:, None, :], 2, axis=1).reshape(-1)
            last = jnp.arange(2 * p * row, 2 * p * row + p + 1)
            rows = jnp.concatenate([row * jnp.arange(2 * p), last])
            values = jnp.concatenate([dense.reshape(-1), slopes])
            return rows, jnp.concatenate([columns, of_weights]), values

        return jacobian

    last_axis = jax.vmap(jax.jacfwd(residual), in_axes=-1, out_axes=-1)
    ways = {
        "rows": jax.vmap(jax.jacfwd(residual)),
        "rows, reverse": jax.vmap(jax.jacrev(residual)),
        "columns": lambda inputs, features: jnp.moveaxis(last_axis(inputs.T, features.T), -1, 0),
    }
    return _calls({name: assemble(way) for name, way in ways.items()}, scene)


def ht(theta: Any, us: Any, hand: hand_of.Hand) -> Functions:
    bones, parents, mirrored = hand_of.BONES, hand.parents, hand.mirrored
    hand = hand._replace(parents=(), mirrored=False)  # type: ignore[attr-defined]
    moving = [4 * finger + 2 + step for finger in range(hand_of.FINGERS) for step in (0, 1, 2)]
    x_angles = [6 + 4 * finger + step for finger in range(hand_of.FINGERS) for step in (0, 2, 3)]
    z_angles = [7 + 4 * finger for finger in range(hand_of.FINGERS)]

    def residuals(theta: Any, us: Any, hand: hand_of.Hand) -> Any:
        angle_x = jnp.zeros(bones).at[np.array(moving)].set(theta[np.array(x_angles)])
        angle_z = jnp.zeros(bones).at[np.array(moving[::3])].set(theta[np.array(z_angles)])
        cx, sx, cz, sz = jnp.cos(angle_x), jnp.sin(angle_x), jnp.cos(angle_z), jnp.sin(angle_z)
        zero, one = jnp.zeros(bones), jnp.ones(bones)
        entries = [cz, -sz * cx, sz * sx, zero, sz, cz * cx, -cz * sx, zero]
        entries += [zero, sx, cx, zero, zero, zero, zero, one]
        relatives = hand.base_relatives @ jnp.stack(entries, axis=1).reshape(bones, 4, 4)
        absolutes: list[Any] = []
        for bone, parent in enumerate(parents):
            own = relatives[bone]
            absolutes.append(own if parent < 0 else absolutes[parent] @ own)
        turned = jnp.stack(absolutes) @ hand.inverse_base_absolutes
        chosen = hand.chosen
        weighted = hand.weights[chosen][:, :, None] * hand.base_positions[chosen][:, None, :]
        columns = turned[:, :3, :].transpose(0, 2, 1).reshape(4 * bones, 3)
        skin = weighted.reshape(len(chosen), 4 * bones) @ columns
        if mirrored:
            skin = skin * jnp.array([-1.0, 1.0, 1.0])
        corners = (skin @ rotation(theta[:3]).T + theta[3:6])[hand.corners]
        if us is None:
            return (hand.points - corners[:, 0]).reshape(-1)
        u, v = us[:, :1], us[:, 1:]
        seen = u * corners[:, 0] + v * corners[:, 1] + (1 - u - v) * corners[:, 2]
        return (hand.points - seen).reshape(-1)

    def rotation(turn: Any) -> Any:
        square = jnp.sum(turn * turn)
        still = square < hand_of.STILL**2
        angle = jnp.sqrt(jnp.where(still, 1.0, square))
        x, y, z = turn / angle
        across = jnp.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        turned = jnp.eye(3) + jnp.sin(angle) * across + (1 - jnp.cos(angle)) * (across @ across)
        return jnp.where(still, jnp.eye(3), turned)

    def shifted(shift: Any, theta: Any, us: Any, hand: hand_of.Hand) -> Any:
        if us is None:
            return residuals(theta + shift, us, hand)
        return residuals(theta + shift[2:], us + shift[:2], hand)

    zeros = jnp.zeros(hand_of.PARAMETERS if us is None else hand_of.PARAMETERS + 2)
    return _calls({"forward": jax.jacfwd(shifted)}, zeros, theta, us, hand)


def particle(w: float) -> Functions:
    return {mode: lambda run=run: run(w) for mode, run in PARTICLE.items()}


def saddle(s0: float, s1: float) -> Functions:
    start = jnp.array([s0, s1])
    return {mode: lambda run=run: run(start) for mode, run in SADDLE.items()}


def _calls(forms: dict[str, Callable[..., Any]], *args: Any) -> Functions:
    """Compile each form, and put the arguments where JAX has its arrays."""
    given = jax.device_put(args)

    def call(form: Callable[..., Any]) -> Callable[[], Any]:
        jitted = jax.jit(form)
        return lambda: jax.block_until_ready(jitted(*given))

    return {name: call(form) for name, form in forms.items()}
