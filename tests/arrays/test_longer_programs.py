"""Programs of 30 lines and more in plain NumPy, in the style of public code: as they are."""

import itertools
from collections import defaultdict, namedtuple
from dataclasses import dataclass, field

import numpy as np
import pytest

import simpleautodiff as ad


# 1. Levenberg-Marquardt on camera poses -----------------------------------------------------------
def rodrigues(r):
    theta = np.linalg.norm(r)
    if theta < 1e-12:
        return np.eye(3)
    k = r / theta
    K = np.array([[0, -k[2], k[1]], [k[2], 0, -k[0]], [-k[1], k[0], 0]])
    return np.eye(3) + np.sin(theta) * K + (1 - np.cos(theta)) * K @ K


class PinholeCamera:
    def __init__(self, f=500.0, c=(320.0, 240.0)):
        self.K = np.diag([f, f, 1.0])
        self.K[:2, 2] = c

    def __call__(self, X, pose):
        Y = X @ rodrigues(pose[:3]).T + pose[3:]
        uvw = Y @ self.K.T
        return uvw[:, :2] / uvw[:, 2:]


def solve_pose(obs, X, pose, camera, n_iter=4, lam=1e-2):
    def residual(p):
        return (camera(X, p) - obs).ravel()

    for _ in range(n_iter):
        r = residual(pose)
        J = np.zeros((r.size, 6))
        for k in range(6):
            step = np.zeros(6)
            step[k] = 1e-3  # a smaller one leaves too much rounding for differences of the result
            J[:, k] = (residual(pose + step) - residual(pose - step)) / 2e-3
        A = J.T @ J
        A[np.diag_indices_from(A)] *= 1 + lam
        delta = np.linalg.solve(A, -J.T @ r)
        new = pose + delta
        if np.sum(residual(new) ** 2) < np.sum(r**2):
            pose, lam = new, lam / 3
        else:
            lam *= 4
    return pose


_X = np.random.default_rng(0).normal(size=(8, 3)) + np.array([0, 0, 6.0])
_pose = np.array([0.1, -0.2, 0.05, 0.2, -0.1, 0.3])
_obs = PinholeCamera()(_X, _pose)


def pose_energy(z):
    est = solve_pose(
        _obs + 0.5 * np.outer(np.cos(np.arange(8)), z[:2]),
        _X * z[2],
        np.zeros(6) + [0.01] * 6,
        PinholeCamera(),
    )
    return np.sum(est**2)


# 2. Tridiagonal solver class, implicit Black-Scholes PDE ------------------------------------------
class Tridiagonal:
    def __init__(self, lower, diag, upper):
        self.a, self.b, self.c = map(np.asarray, (lower, diag, upper))
        n = len(self.b)
        self.cp = np.empty(n - 1)
        self.den = np.empty(n)
        self.den[0] = self.b[0]
        for i in range(n - 1):
            self.cp[i] = self.c[i] / self.den[i]
            self.den[i + 1] = self.b[i + 1] - self.a[i] * self.cp[i]

    def solve(self, d):
        x = np.array(d, dtype=float)
        x[0] /= self.den[0]
        for i in range(1, len(x)):
            x[i] = (x[i] - self.a[i - 1] * x[i - 1]) / self.den[i]
        for i in reversed(range(len(x) - 1)):
            x[i] -= self.cp[i] * x[i + 1]
        return x

    __matmul__ = None


def black_scholes_pde(z, n=24, m=12, strike=1.0):
    sigma, rate, maturity, spot = z
    s = np.linspace(0.0, 3.0 * strike, n + 1)
    v = np.maximum(s - strike, 0.0)
    dt = maturity / m
    i = np.arange(1, n)
    var, drift = 0.5 * dt * sigma**2 * i**2, 0.5 * dt * rate * i
    system = Tridiagonal(-(var - drift)[1:], 1 + 2 * var + rate * dt, -(var + drift)[:-1])
    for step in range(1, m + 1):
        rhs = v[1:-1].copy()
        top = s[-1] - strike * np.exp(-rate * step * dt)
        rhs[-1] += (var[-1] + drift[-1]) * top
        v[1:-1] = system.solve(rhs)
        v[0], v[-1] = 0.0, top
    return np.interp(spot, s, v)


# 3. Natural cubic spline class --------------------------------------------------------------------
class NaturalSpline:
    """y'' = M by a banded system; evaluated by searchsorted."""

    def __init__(self, x, y):
        self.x, self.y = np.asarray(x, float), np.asarray(y)
        h = np.diff(self.x)
        n = len(x)
        A = np.eye(n)
        rhs = np.zeros_like(self.y)
        idx = np.arange(1, n - 1)
        A[idx, idx - 1], A[idx, idx], A[idx, idx + 1] = h[:-1], 2 * (h[:-1] + h[1:]), h[1:]
        rhs[1:-1] = 6 * (np.diff(self.y)[1:] / h[1:] - np.diff(self.y)[:-1] / h[:-1])
        self.m = np.linalg.solve(A, rhs)

    def __call__(self, t):
        t = np.atleast_1d(t)
        i = np.clip(np.searchsorted(self.x, t, side="right") - 1, 0, len(self.x) - 2)
        h = self.x[i + 1] - self.x[i]
        u, w = (self.x[i + 1] - t) / h, (t - self.x[i]) / h
        return (
            u * self.y[i]
            + w * self.y[i + 1]
            + ((u**3 - u) * self.m[i] + (w**3 - w) * self.m[i + 1]) * h**2 / 6
        )

    def integrate(self):
        h = np.diff(self.x)
        return np.sum(h * (self.y[1:] + self.y[:-1]) / 2 - h**3 * (self.m[1:] + self.m[:-1]) / 24)


def spline_misfit(z):
    knots = np.linspace(0, 1, len(z))
    spline = NaturalSpline(knots, z)
    t = np.linspace(0.03, 0.97, 17)
    warped = t + 0.02 * np.tanh(z[0]) * np.sin(np.pi * t)
    return (
        np.mean((spline(warped) - np.sin(5 * t)) ** 2)
        + 1e-2 * spline.integrate() ** 2
        + 1e-4 * spline.m @ spline.m
    )


# 4. Log-density of a hierarchical model with dataclasses and a leapfrog generator ----------------
@dataclass
class Prior:
    loc: float = 0.0
    scale: float = 1.0

    def logpdf(self, x):
        return (
            -0.5 * ((x - self.loc) / self.scale) ** 2 - np.log(self.scale) - 0.5 * np.log(2 * np.pi)
        )


@dataclass
class Model:
    data: dict
    priors: dict = field(default_factory=lambda: {"mu": Prior(0, 2), "log_tau": Prior(0, 1)})
    terms: list = field(default_factory=list)

    def unpack(self, z):
        keys = ["mu", "log_tau"]
        params = dict(zip(keys, z, strict=False))
        params["theta"] = z[len(keys) :]
        return params

    def logp(self, z):
        p = self.unpack(z)
        self.terms.clear()
        for name, prior in self.priors.items():
            self.terms.append(prior.logpdf(p[name]))
        tau = np.exp(p["log_tau"])
        school = Prior(p["mu"], tau)
        self.terms.extend(school.logpdf(t) for t in p["theta"])
        for (y, s), t in zip(self.data.values(), p["theta"], strict=True):
            self.terms.append(Prior(t, s).logpdf(y))
        return sum(self.terms)


def numeric_grad(f, z, eps=1e-4):
    g = np.zeros_like(z)
    it = np.nditer(z, flags=["multi_index"], op_flags=["readwrite"])
    while not it.finished:
        k = it.multi_index
        e = np.zeros(len(z))
        e[k] = eps
        g[k] = (f(z + e) - f(z - e)) / (2 * eps)
        it.iternext()
    return g


def leapfrog(logp, z, r, step):
    g = numeric_grad(logp, z)
    while True:
        r = r + 0.5 * step * g
        z = z + step * r
        g = numeric_grad(logp, z)
        r = r + 0.5 * step * g
        yield z, logp(z) - 0.5 * np.dot(r, r)


def hmc_energy(z):
    model = Model({"A": (2.8, 1.5), "B": (-0.3, 1.0), "C": (0.8, 1.1)})
    path = itertools.islice(leapfrog(model.logp, z, np.ones(5) * 0.3, 0.05), 3)
    *_, (last, energy) = path
    return energy + 0.1 * np.sum(last)


# 5. Finite differences on a grid: advection-diffusion with particles ------------------------------
Grid = namedtuple("Grid", "n dx")


def laplacian(u, g):
    p = np.pad(u, 1, mode="edge")
    return (p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4 * u) / g.dx**2


def deposit(pos, mass, g):
    rho = np.zeros((g.n, g.n))
    cell = np.floor(pos / g.dx).astype(int)
    frac = pos / g.dx - cell
    for di, dj in itertools.product((0, 1), repeat=2):
        w = np.abs(1 - di - frac[:, 0]) * np.abs(1 - dj - frac[:, 1])
        np.add.at(rho, ((cell[:, 0] + di) % g.n, (cell[:, 1] + dj) % g.n), w * mass)
    return rho


def step(u, v, g, dt, kappa):
    _, gx = np.gradient(u, g.dx)
    upwind = np.where(v > 0, u - np.roll(u, 1, axis=0), np.roll(u, -1, axis=0) - u) / g.dx
    out = u + dt * (kappa * laplacian(u, g) - v * upwind - 0.1 * gx * u)
    out[[0, -1], :] = 0.5 * (out[[1, -2], :] + u[[0, -1], :])
    out[:, 0] = np.clip(out[:, 1], -5, 5)
    return out


def plume(z):
    g = Grid(8, 1 / 8)
    pos = np.column_stack([0.4 + 0.05 * np.cos(z[:3]), 0.35 + 0.04 * z[:3] ** 2])
    u = deposit(pos, z[1:4], g)
    history = defaultdict(list)
    for _ in range(5):
        u = step(u, 0.3 * z[0], g, 1e-3, np.exp(z[3]) * 0.1)
        history["mass"].append(u.sum())
        history["peak"].append(u.max())
    sensors = np.interp([0.2, 0.5, 0.81], np.arange(8) / 8, u[3])
    return np.dot(history["mass"], np.arange(5)) + history["peak"][-1] + sensors @ [1.0, -2.0, 0.5]


# 6. Closures, string-keyed layers, scan with state: a tiny GRU + beam of dictionaries -------------
def make_layer(kind, **shapes):
    def dense(p, x):
        return x @ p["W"] + p["b"]

    table = {
        "dense": dense,
        "tanh": lambda p, x: np.tanh(dense(p, x)),
        "softmax": lambda p, x: (lambda e: e / e.sum(axis=-1, keepdims=True))(
            np.exp(dense(p, x) - np.max(dense(p, x), axis=-1, keepdims=True))
        ),
    }
    return table[kind]


class Cursor:
    def __init__(self, flat):
        self.flat, self.at = flat, 0

    def take(self, *shape):
        size = int(np.prod(shape))
        out = self.flat[self.at : self.at + size].reshape(shape)
        self.at += size
        return out


def gru_loss(z):
    c = Cursor(np.asarray(z))
    H, D = 2, 3
    params = {name: {"W": c.take(D + H, H), "b": c.take(H)} for name in ("update", "reset", "cand")}
    head = {"W": c.take(H, 2), "b": np.zeros(2)}
    gate, out = make_layer("dense"), make_layer("softmax")
    sigmoid = lambda a: 1 / (1 + np.exp(-a))
    xs = np.sin(np.arange(12.0)).reshape(4, D)
    h, states = np.zeros(H), np.empty((len(xs), H))
    for t, x in enumerate(xs):
        xh = np.concatenate([x, h])
        u, r = (sigmoid(gate(params[k], xh)) for k in ("update", "reset"))
        cand = np.tanh(gate(params["cand"], np.hstack((x, r * h))))
        h = (1 - u) * h + u * cand
        states[t] = h
    probs = out(head, states)
    labels = np.array([0, 1, 1, 0])
    nll = -np.log(probs[np.arange(4), labels])
    weight = sum(float(p["W"].size) for p in params.values())
    return (
        nll.mean()
        + 1e-3 / weight * sum(np.sum(p["W"] ** 2) for p in params.values())
        + 0.1 * max(nll, key=lambda v: abs(v - 0.7))
    )


RNG = np.random.default_rng(3)
PROGRAMS = {
    "pose": (pose_energy, np.array([0.3, -0.2, 1.01])),
    "pde": (black_scholes_pde, np.array([0.3, 0.05, 0.8, 1.07])),
    "spline": (spline_misfit, RNG.normal(size=7)),
    "hmc": (hmc_energy, RNG.normal(size=5)),
    "plume": (plume, np.array([0.5, 1.2, 0.7, -0.3])),
    "gru": (gru_loss, RNG.normal(size=40)),
}
BRANCHING = {"pose", "gru"}  # an `if`, or a max(), decides by the numbers


def difference(f, x, step=1e-5):
    """Return the derivative in each element of x, by differences of fourth order."""
    near = [f(x + step * d) - f(x - step * d) for d in np.eye(x.size)]
    far = [f(x + 2 * step * d) - f(x - 2 * step * d) for d in np.eye(x.size)]
    return (8 * np.array(near) - np.array(far)) / (12 * step)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_differentiated_as_they_are(name):
    f, x = PROGRAMS[name]
    slope = difference(f, x)
    near = {"rtol": 2e-6, "atol": 2e-6 * np.max(np.abs(slope))}
    value, gradient = ad.value_and_grad(f)(x)
    assert value == pytest.approx(f(x), rel=1e-12)
    np.testing.assert_allclose(gradient, slope, **near)
    np.testing.assert_allclose(ad.jacobian(f, mode="forward")(x), slope, **near)
    np.testing.assert_allclose(ad.jvp(f, (x,), (np.ones_like(x),))[1], np.sum(slope), rtol=1e-5)
    assert ad.jit(f)(x) == pytest.approx(f(x), rel=1e-9)
    compiled = ad.jit(ad.grad(f))
    compiled(x + 1e-4)
    np.testing.assert_allclose(compiled(x), slope, **near)
    bend = difference(lambda t: ad.grad(f)(x + t * np.ones_like(x)), np.zeros(1))[0]
    scale = np.max(np.abs(bend))
    np.testing.assert_allclose(
        ad.hvp(f, (x,), (np.ones_like(x),)), bend, rtol=1e-4, atol=1e-5 * scale
    )


@pytest.mark.parametrize("name", sorted(PROGRAMS.keys() - BRANCHING))
def test_programs_run_for_many_examples(name):
    f, x = PROGRAMS[name]
    points = np.stack([x, x + 1e-3])
    np.testing.assert_allclose(ad.vmap(f)(points), [f(p) for p in points], rtol=1e-9)
    slopes = [ad.grad(f)(p) for p in points]
    np.testing.assert_allclose(ad.vmap(ad.grad(f))(points), slopes, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", sorted(BRANCHING))
def test_programs_that_decide_by_numbers_say_so_for_many_examples(name):
    f, x = PROGRAMS[name]
    with pytest.raises(ad.LostDerivativeError, match="branches='both'"):
        ad.vmap(f)(np.stack([x, x + 1e-3]))
