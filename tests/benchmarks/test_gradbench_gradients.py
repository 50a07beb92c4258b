"""Derivatives of GradBench's problems against formulas and imaginary steps of code written for it.

The imaginary part of f(x + ih), with a tiny h, is f'(x) h, exact to the last digits.
"""

import cmath
import math
from functools import partial

import numpy as np
import pytest

import simpleautodiff as ad
from gradbench import ba, det, gmm, ht, kmeans, llsq, lse, lstm, ode, particle
from gradbench.descent import MODES

STEP = 1e-30


@pytest.fixture
def chance():
    return np.random.default_rng(7)


def by_imaginary_steps(f, x):
    """Return the derivatives of f, a function of complex arrays, in all elements of x, last."""
    columns = []
    for k in range(x.size):
        moved = x.astype(complex)
        moved.flat[k] += 1j * STEP
        columns.append(np.asarray(f(moved)).imag / STEP)
    return np.stack(columns, axis=-1)


def assert_close(found, wanted, tolerance=1e-10):
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.shape == wanted.shape
    assert np.max(np.abs(found - wanted)) <= tolerance * np.max(np.abs(wanted))


def often(function, *args):
    """Call so often that the compiled program answers."""
    for _ in range(4):
        value = function(*args)
    return value


@pytest.mark.parametrize("size", [2, 3, 5])
def test_determinants(size, chance):
    a = chance.normal(size=(size, size))
    assert_close(often(det.FUNCTIONS["primal"], a), np.linalg.det(a))
    assert_close(often(det.FUNCTIONS["gradient"], a), np.linalg.det(a) * np.linalg.inv(a).T)


def test_logsumexp(chance):
    x = chance.normal(size=200)
    assert_close(often(lse.FUNCTIONS["gradient"], x), np.exp(x) / np.sum(np.exp(x)))


@pytest.mark.parametrize("form", llsq.FORMS)
@pytest.mark.parametrize("n", [2, 9, 40])
def test_least_squares(form, n, chance):
    x = chance.normal(size=6)
    t = -1 + 2 * np.arange(n) / (n - 1)
    powers = np.stack([t**j for j in range(6)], axis=1)
    found = often(ad.jit(llsq.derivative(llsq.FORMS[form])), x, n)
    assert_close(found, -powers.T @ (np.sign(t) - powers @ x))


def last_of_chain(x, steps):
    """Integrate with lists of complex numbers."""
    n, h, y = len(x), 2.0 / steps, [0.0] * len(x)

    def slope(y):
        return [x[0], *(x[i] * y[i - 1] for i in range(1, n))]

    for _ in range(steps):
        k1 = slope(y)
        k2 = slope([a + h / 2 * b for a, b in zip(y, k1, strict=True)])
        k3 = slope([a + h / 2 * b for a, b in zip(y, k2, strict=True)])
        k4 = slope([a + h * b for a, b in zip(y, k3, strict=True)])
        y = [y[i] + h / 6 * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]) for i in range(n)]
    return y[-1]


@pytest.mark.parametrize("form", ode.FORMS)
@pytest.mark.parametrize(("n", "steps"), [(4, 1), (7, 2), (20, 5), (11, 12)])
def test_chains_whose_end_is_reached(form, n, steps, chance):
    x = chance.uniform(0.5, 1.5, size=n)  # n <= 4 steps, or the gradient would be 0
    wanted = by_imaginary_steps(lambda x: last_of_chain(x, steps), x)
    assert np.all(wanted != 0)
    assert_close(often(ad.jit(ode.derivative(ode.FORMS[form])), x, steps), wanted)


@pytest.mark.parametrize("form", kmeans.FORMS)
def test_newton_directions_lead_to_the_means(form, chance):
    points = chance.normal(size=(60, 3))
    centroids = points[-4:]
    squares = np.linalg.norm(points[:, None] - centroids, axis=2)
    nearest = np.argmin(squares, axis=1)
    means = np.array([points[nearest == k].mean(axis=0) for k in range(4)])
    found = often(ad.jit(kmeans.derivative(kmeans.FORMS[form])), centroids, points)
    assert_close(found, centroids - means)


def posterior(alpha, mu, q, l, x, m, gamma):  # noqa: E741
    """Compute the objective of gmm as the specification has it, number by number."""
    (n, d), k = x.shape, len(alpha)
    total = 0.0
    for i in range(n):
        inner = 0.0
        for a in range(k):
            square = 0.0
            for r in range(d):
                row = cmath.exp(q[a, r]) * (x[i, r] - mu[a, r])
                for c in range(r):
                    row += l[a, c * (2 * d - c - 1) // 2 + r - c - 1] * (x[i, c] - mu[a, c])
                square += row**2
            inner += cmath.exp(alpha[a] + sum(q[a]) - square / 2)
        total += cmath.log(inner)
    total -= n * (d / 2 * math.log(2 * math.pi) + cmath.log(sum(map(cmath.exp, alpha))))
    for a in range(k):
        squares = sum(cmath.exp(each) ** 2 for each in q[a]) + sum(each**2 for each in l[a])
        total += m * sum(q[a]) - gamma**2 / 2 * squares
    return total


@pytest.mark.parametrize("form", gmm.FORMS)
def test_mixtures(form):
    args = list(gmm.read({**gmm.generate(3, 2, 5), "m": 1, "gamma": 0.8}))
    found = often(ad.jit(gmm.derivative(gmm.FORMS[form])), *args)
    for k in range(4):
        others = lambda moved, k=k: posterior(*args[:k], moved, *args[k + 1 :])
        assert_close(np.ravel(found[k]), by_imaginary_steps(others, args[k]))


def lstm_loss(main, extra, state, sequence):
    """Compute the loss of lstm number by number."""
    layers, width = len(main) // 2, extra.shape[1]
    sigmoid = lambda z: 1 / (1 + cmath.exp(-z))
    h, c = [list(row) for row in state[0::2]], [list(row) for row in state[1::2]]
    total = 0.0
    for t in range(len(sequence) - 1):
        z = [sequence[t, j] * extra[0, j] for j in range(width)]
        for k in range(layers):
            for j in range(width):
                w, b = main[2 * k, j::width], main[2 * k + 1, j::width]
                f, i = sigmoid(z[j] * w[0] + b[0]), sigmoid(h[k][j] * w[1] + b[1])
                o, g = sigmoid(z[j] * w[2] + b[2]), cmath.tanh(h[k][j] * w[3] + b[3])
                c[k][j] = c[k][j] * f + i * g
                z[j] = h[k][j] = o * cmath.tanh(c[k][j])
        y = [z[j] * extra[1, j] + extra[2, j] for j in range(width)]
        log = cmath.log(2 + sum(map(cmath.exp, y)))
        total += sum(sequence[t + 1, j] * (y[j] - log) for j in range(width))
    return -total / ((len(sequence) - 1) * width)


def test_networks(chance):
    main, extra, state, sequence = lstm.read(lstm.generate(2, "abcdefg", chance))
    found = often(lstm.FUNCTIONS["jacobian"], main, extra, state, sequence)
    of_main = by_imaginary_steps(lambda m: lstm_loss(m, extra, state, sequence), main)
    of_extra = by_imaginary_steps(lambda e: lstm_loss(main, e, state, sequence), extra)
    assert_close(np.ravel(found[0]), of_main)
    assert_close(np.ravel(found[1]), of_extra)


def project(row, feature):
    """Compute the residual of an observation with complex numbers."""
    turn, away = row[0:3], row[11:14] - row[3:6]
    angle = cmath.sqrt(sum(turn * turn))
    axis = turn / angle
    seen = away * cmath.cos(angle) + np.cross(axis, away) * cmath.sin(angle)
    seen = seen + axis * sum(axis * away) * (1 - cmath.cos(angle))
    u, v = seen[0] / seen[2], seen[1] / seen[2]
    rho = u * u + v * v
    bend = 1 + row[9] * rho + row[10] * rho * rho
    flat = np.array([row[6] * u * bend + row[7], row[6] * v * bend + row[8]])
    return row[14] * (flat - feature)


def test_scenes_with_distinct_cameras_and_points(chance):
    n, m, p = 3, 4, 11
    scene = ba.Scene(
        cameras=chance.uniform(0.2, 1.0, size=(n, 11)),
        points=chance.uniform(2.0, 3.0, size=(m, 3)),
        weights=chance.uniform(0.5, 1.0, size=p),
        features=chance.normal(size=(p, 2)),
        camera_of=chance.integers(n, size=p),
        point_of=chance.integers(m, size=p),
    )
    wanted = np.zeros((3 * p, 11 * n + 3 * m + p))
    for i, (c, q) in enumerate(zip(scene.camera_of, scene.point_of, strict=True)):
        row = np.concatenate([scene.cameras[c], scene.points[q], scene.weights[i : i + 1]])
        block = by_imaginary_steps(lambda row, i=i: project(row, scene.features[i]), row)
        at = [*range(11 * c, 11 * c + 11), *range(11 * n + 3 * q, 11 * n + 3 * q + 3)]
        wanted[2 * i : 2 * i + 2, [*at, 11 * n + 3 * m + i]] = block
        wanted[2 * p + i, 11 * n + 3 * m + i] = -2 * scene.weights[i]
    rows, columns, values = often(ba.FUNCTIONS["jacobian"], scene)
    found = np.zeros(wanted.shape)
    for k in range(3 * p):
        found[k, columns[rows[k] : rows[k + 1]]] = values[rows[k] : rows[k + 1]]
    assert len(values) == len(columns) == rows[-1] == 31 * p
    assert_close(found, wanted)


def hand_residuals(theta, us, given):
    """Compute the residuals of ht as the specification has them, matrix by matrix."""
    model, points = given["data"]["model"], given["data"]["points"]
    angles = np.zeros((22, 2), complex)
    for finger in range(5):
        first, own = 4 * finger + 2, theta[6 + 4 * finger : 10 + 4 * finger]
        angles[first], angles[first + 1, 0], angles[first + 2, 0] = own[:2], own[2], own[3]
    transforms = []
    absolutes = []
    for bone, (x, z) in enumerate(angles):
        about_x = np.array([[1, 0, 0], [0, np.cos(x), -np.sin(x)], [0, np.sin(x), np.cos(x)]])
        about_z = np.array([[np.cos(z), -np.sin(z), 0], [np.sin(z), np.cos(z), 0], [0, 0, 1]])
        turn = np.eye(4, dtype=complex)
        turn[:3, :3] = about_z @ about_x
        own = np.array(model["base_relatives"][bone]) @ turn
        parent = model["parents"][bone]
        absolutes.append(own if parent < 0 else absolutes[parent] @ own)
        transforms.append(absolutes[-1] @ np.array(model["inverse_base_absolutes"][bone]))
    angle = np.sqrt(np.sum(theta[:3] ** 2))
    a = theta[:3] / angle
    across = np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])
    turn = np.eye(3) + np.sin(angle) * across + (1 - np.cos(angle)) * across @ across

    def vertex(v):
        position = np.array(model["base_positions"][v])
        weighted = zip(model["weights"][v], transforms, strict=True)
        return turn @ sum(w * (t @ position)[:3] for w, t in weighted) + theta[3:6]

    errors = []
    for i, seen in enumerate(given["data"]["correspondences"]):
        if us is None:
            skin = vertex(seen)
        else:
            corners = map(vertex, model["triangles"][seen])
            parts = (us[i, 0], us[i, 1], 1 - us[i, 0] - us[i, 1])
            skin = sum(part * corner for part, corner in zip(parts, corners, strict=True))
        errors.append(points[i] - skin)
    return np.concatenate(errors)


@pytest.mark.parametrize("simple", [True, False])
def test_hands(simple):
    given = ht.generate(30, 3, simple)
    given["data"]["model"]["triangles"] = (
        np.array(given["data"]["model"]["triangles"]) % 30
    ).tolist()
    args = ht.read(given)
    theta, us, _ = args
    of_pose = by_imaginary_steps(lambda theta: hand_residuals(theta, us, given), theta)
    wanted = of_pose
    if not simple:
        shift = lambda by: hand_residuals(theta + 0j, us + by, given)
        wanted = np.concatenate([by_imaginary_steps(shift, np.zeros(2)), of_pose], axis=1)
    assert_close(often(ht.FUNCTIONS["objective"], *args), hand_residuals(theta, us, given).real)
    assert_close(often(ht.FUNCTIONS["jacobian"], *args), wanted)


def test_a_hand_that_is_not_turned_has_no_derivative_in_its_turn():
    given = ht.generate(30, 3)
    given["data"]["model"]["triangles"] = [[0, 1, 2]] * 1084
    given["theta"][:3] = [0.0, 0.0, 0.0]
    assert not np.any(ht.FUNCTIONS["jacobian"](*ht.read(given))[:, 2:5])


@pytest.mark.parametrize("outer", MODES)
@pytest.mark.parametrize("inner", MODES)
def test_where_a_particle_comes_down(outer, inner):
    of_charge = partial(particle.energy, inner)
    assert_close(of_charge(0.0), 3.1990790025082, 1e-12)
    (slope,) = MODES[outer](of_charge, (0,))(0.0)
    assert_close(slope, -19.4046364500282, 1e-12)


@pytest.mark.slow
def test_particles_are_steered():
    assert_close(particle.FUNCTIONS["rr"](0.0), 0.20719187464861, 1e-12)
