"""Programs as they are published, in plain NumPy and SciPy, without a changed line."""

import itertools
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.ndimage
import scipy.sparse.linalg
from scipy.integrate import odeint, quad
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import brentq
from scipy.sparse import csr_matrix, diags, eye, kron
from scipy.spatial.distance import cdist
from scipy.stats import multivariate_normal, norm

import simpleautodiff as ad

RNG = np.random.default_rng(7)
SERIES, POINTS = RNG.normal(size=12), RNG.normal(size=(12, 2))
IMAGE = scipy.ndimage.gaussian_filter(RNG.normal(size=(12, 12)), 2)


def solve_kdv(p):
    """Korteweg-de Vries by Fourier modes with an integrating factor."""
    x = 2 * np.pi / 16 * np.arange(-8, 8)
    v = np.fft.fft(3 * p[0] ** 2 / np.cosh(0.5 * p[0] * (x + p[1])) ** 2)
    k = np.concatenate([np.arange(0, 8), [0], np.arange(-7, 0)])
    e, g = np.exp(0.001 * 1j * k**3), -0.5j * 0.002 * k
    for _ in range(3):
        a = g * np.fft.fft(np.real(np.fft.ifft(v)) ** 2)
        b = g * np.fft.fft(np.real(np.fft.ifft(e * (v + a / 2))) ** 2)
        v = e**2 * v + e * b
    return np.sum(np.real(np.fft.ifft(v)) ** 2 * np.sin(x) ** 2)


def arma_likelihood(p):
    eps = np.zeros(len(SERIES))
    eps[0] = SERIES[0]
    for t in range(1, len(SERIES)):
        eps[t] = SERIES[t] - p[0] * SERIES[t - 1] - p[1] * eps[t - 1]
    return -0.5 * np.sum(eps**2) / np.exp(p[0]) - np.log(p[1] ** 2)


def mixture_step(p):
    means = np.array([[p[0], 0.0], [0.5, p[1]]])
    share = np.zeros((len(POINTS), 2))
    for k in range(2):
        share[:, k] = 0.5 * multivariate_normal.pdf(POINTS, mean=means[k], cov=np.eye(2))
    share /= share.sum(axis=1, keepdims=True)
    means = (share.T @ POINTS) / share.sum(axis=0)[:, None]
    return np.sum(means**2)


def register_images(p):
    yy, xx = np.mgrid[:12, :12]
    turn = np.array([[np.cos(p[0]), -np.sin(p[0])], [np.sin(p[0]), np.cos(p[0])]])
    coords = turn @ np.vstack([(yy - 5.5).ravel(), (xx - 5.5).ravel()])
    coords[0] += 5.5 + p[1]
    coords[1] += 5.5
    moved = scipy.ndimage.map_coordinates(IMAGE, coords.reshape(2, 12, 12), mode="nearest")
    return np.mean((moved - IMAGE) ** 2)


def page_rank(p):
    links = np.array([p[0], p[1], 0.5, 0.7]), (np.array([1, 2, 3, 0]), np.array([0, 0, 1, 3]))
    matrix = csr_matrix(links, shape=(4, 4))
    out = np.asarray(matrix.sum(axis=0)).ravel()
    out[out == 0] = 1.0
    step, rank = matrix @ diags(1.0 / out), np.ones(4) / 4
    for _ in range(15):
        rank = 0.85 * (step @ rank) + 0.15 / 4
        rank = rank / rank.sum()
    return rank @ np.arange(4) ** 2


def smooth_states(p):
    f, q = np.array([[1.0, 1.0], [0.0, p[0]]]), p[1] * np.eye(2)
    h, m, c, kept = np.array([[1.0, 0.0]]), np.zeros(2), np.eye(2), []
    for z in SERIES[:5]:
        mp, cp = f @ m, f @ c @ f.T + q
        gain = cp @ h.T @ np.linalg.inv(h @ cp @ h.T + 0.5)
        m, c = mp + gain @ (z - h @ mp), (np.eye(2) - gain @ h) @ cp
        kept.append((m, c, mp, cp))
    smooth = [None] * len(kept)
    smooth[-1] = kept[-1][0]
    for t in range(len(kept) - 2, -1, -1):
        g = kept[t][1] @ f.T @ np.linalg.inv(kept[t + 1][3])
        smooth[t] = kept[t][0] + g @ (smooth[t + 1] - kept[t + 1][2])
    return np.sum(np.array(smooth)[:, 0] ** 2)


def warp_time(p):
    s, t = np.array([0.1, p[0], 0.4, p[1], 2.0]), np.array([0.0, 1.1, 0.5, 2.2])
    d = np.full((6, 5), np.inf)
    d[0, 0] = 0
    for i, j in itertools.product(range(1, 6), range(1, 5)):
        cost = abs(s[i - 1] - t[j - 1]) ** 2
        d[i, j] = cost + min(d[i - 1, j], d[i, j - 1], d[i - 1, j - 1])
    return d[5, 4]


def bend_beam(p):
    size = 0.5
    k = np.zeros((6, 6))
    for e in range(2):
        a, b, c = 12, 6 * size, 4 * size**2
        local = np.array([[a, b, -a, b], [b, c, -b, c / 2], [-a, -b, a, -b], [b, c / 2, -b, c]])
        dofs = np.arange(2 * e, 2 * e + 4)
        k[np.ix_(dofs, dofs)] += p[e] / size**3 * local
    np.add.at(k, (np.arange(6), np.arange(6)), 0.01 * p[0])
    f = np.zeros(6)
    f[-2] = -1.0
    free = np.setdiff1d(np.arange(6), [0, 1])
    u = np.zeros(6)
    u[free] = np.linalg.solve(k[np.ix_(free, free)], f[free])
    return f @ u


def price_option(p):
    d1 = (np.log(100 / 105) + (p[0] + p[1] ** 2 / 2) * 0.5) / (p[1] * np.sqrt(0.5))
    d2 = d1 - p[1] * np.sqrt(0.5)
    return 100 * norm.cdf(d1) - 105 * np.exp(-p[0] * 0.5) * norm.cdf(d2)


def trace_rays(p):
    center = np.array([p[0], -0.2, 3.0])
    xs, ys = np.meshgrid(np.linspace(-1, 1, 6), np.linspace(-1, 1, 6))
    d = np.stack([xs, ys, 2 * np.ones_like(xs)], axis=-1).reshape(-1, 3)
    d /= np.linalg.norm(d, axis=1)[:, None]
    b = d @ center
    disc = b**2 - (center @ center - p[1] ** 2)
    hit = disc > 0
    color = np.zeros((36, 3))
    t = b[hit] - np.sqrt(disc[hit])
    normal = (t[:, None] * d[hit] - center) / p[1]
    light = np.clip(normal @ np.array([0.5, 0.5, -0.7]), 0, None)
    color[hit] = light[:, None] * np.array([1.0, 0.5, 0.2])
    color[~hit] = 0.1
    return color.mean()


def hunt(p):
    def right(y, t, a, b):
        u, v = y
        return [a * u - 0.1 * u * v, -b * v + 0.1 * u * v]

    path = odeint(right, [10.0, 5.0], np.linspace(0, 1, 4), args=tuple(p), rtol=1e-11, atol=1e-11)
    return np.sum(path[:, 0]) + path[-1, 1]


def find_equilibrium(p):
    x = brentq(lambda x: x**3 + p[0] * x - 1 - p[1], 0, 2)
    return x**2 + quad(lambda s: np.exp(-p[0] * s**2), 0, x)[0]


def fit_process(p):
    x = np.linspace(0, 1, 6)[:, None]
    k = np.exp(-0.5 * cdist(x / p[0], x / p[0], "sqeuclidean")) + p[1] * np.eye(6)
    factor = cho_factor(k, lower=True)
    return 0.5 * SERIES[:6] @ cho_solve(factor, SERIES[:6]) + np.log(np.diag(factor[0])).sum()


def embed_graph(p):
    w = np.zeros((4, 4))
    for (i, j), weight in zip(
        [(0, 1), (1, 2), (2, 3), (0, 2)], [1.0, p[0], p[1], 0.3], strict=True
    ):
        w[i, j] = w[j, i] = weight
    scale = np.diag(1 / np.sqrt(w.sum(axis=1)))
    values, vectors = np.linalg.eigh(np.eye(4) - scale @ w @ scale)
    return values[1] + vectors[1, 1] ** 2


def assemble_lattice(p):
    e = np.ones(3)
    line = diags([-e[:-1], 2 * e, -e[:-1]], [-1, 0, 1])
    plane = kron(eye(3), line) * p[0] + kron(line, eye(3)) * p[1] + 0.1 * eye(9)
    return scipy.sparse.linalg.spsolve(plane.tocsc(), np.arange(9.0))[4]


@dataclass
class Body:
    position: np.ndarray
    velocity: np.ndarray
    mass: float


def move_bodies(p):
    bodies = [Body(np.zeros(2), np.array([0.0, 0.1]), 3.0), Body(p.copy(), np.ones(2), 0.5)]
    log = []
    for step in range(3):
        forces = [np.zeros(2) for _ in bodies]
        for (i, a), (j, b) in itertools.permutations(enumerate(bodies), 2):
            away = b.position - a.position
            forces[i] += a.mass * b.mass * away / (np.linalg.norm(away) ** 2 + 0.01) ** 1.5
            assert i != j
        for body, force in zip(bodies, forces, strict=True):
            body.velocity += 0.05 * force / body.mass
            body.position += 0.05 * body.velocity
        log.append("%d: %.3f" % (step, bodies[1].position[0]))  # noqa: UP031
    return sum(0.5 * body.mass * np.dot(body.velocity, body.velocity) for body in bodies)


PROGRAMS = {
    solve_kdv: (0.9, 0.3),
    arma_likelihood: (0.4, 0.3),
    mixture_step: (0.1, -0.5),
    register_images: (0.1, 0.7),
    page_rank: (1.0, 2.0),
    smooth_states: (0.9, 0.1),
    warp_time: (1.0, -0.3),
    bend_beam: (1.0, 2.0),
    price_option: (0.03, 0.25),
    trace_rays: (0.1, 1.1),
    hunt: (1.1, 0.4),
    find_equilibrium: (1.5, 0.4),
    fit_process: (0.4, 0.1),
    embed_graph: (0.8, 0.5),
    assemble_lattice: (0.7, 1.2),
    move_bodies: (1.0, 0.2),
}
ONE_BY_ONE = {warp_time, move_bodies}  # an `if` or a text needs the number of one example


def difference(f, x, step=1e-3):
    """Return the derivatives of f by central differences of two steps."""

    def central(step):
        return np.array([(f(x + e) - f(x - e)) / (2 * step) for e in step * np.eye(len(x))])

    return (4 * central(step / 2) - central(step)) / 3


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_published_programs(f):
    x = np.array(PROGRAMS[f])
    slope, near = difference(f, x), {"rtol": 1e-6, "atol": 1e-8}
    value, gradient = ad.value_and_grad(f)(x)
    np.testing.assert_allclose(value, f(x), rtol=1e-9)
    np.testing.assert_allclose(gradient, slope, **near)
    np.testing.assert_allclose(ad.jacobian(f, mode="forward")(x), slope, **near)
    second = difference(ad.grad(f), x)
    np.testing.assert_allclose(ad.hessian(f)(x), second, rtol=1e-5, atol=1e-6)
    compiled = ad.jit(ad.grad(f))
    compiled(1.001 * x)
    np.testing.assert_allclose(compiled(x), slope, **near)
    if f not in ONE_BY_ONE:
        np.testing.assert_allclose(ad.vmap(ad.grad(f))(np.stack([x, x])), [slope, slope], **near)
