"""Whole programs in plain NumPy, with classes, dicts, loops and writes, without a changed line."""

import operator
from collections import defaultdict
from functools import reduce

import numpy as np
import pytest
from scipy import linalg

import simpleautodiff as ad

# Registration of point clouds: nearest neighbours, rotation by singular values. ------------------

MODEL = np.c_[np.cos(np.linspace(0, 5, 12)), 0.5 * np.sin(np.linspace(0, 5, 12))]


def nearest(source, target):
    distances = ((source[:, np.newaxis, :] - target[np.newaxis]) ** 2).sum(-1)
    index = np.argmin(distances, axis=1)
    return index, np.sqrt(distances[np.arange(len(source)), index])


def best_fit(a, b):
    middle_a, middle_b = a.mean(axis=0), b.mean(axis=0)
    u, _, vt = np.linalg.svd((a - middle_a).T @ (b - middle_b))
    turn = vt.T @ u.T
    if np.linalg.det(turn) < 0:
        vt[1, :] *= -1
        turn = vt.T @ u.T
    return turn, middle_b - turn @ middle_a


def register_points(p):
    c, s = np.cos(p[0]), np.sin(p[0])
    source = (MODEL + 0.01 * np.sin(np.arange(24.0)).reshape(12, 2)) @ np.array(
        [[c, s], [-s, c]]
    ) + p[1:]
    whole, before = np.identity(3), 0.0
    for _ in range(4):
        index, distance = nearest(source, MODEL)
        turn, move = best_fit(source, MODEL[index])
        source = source @ turn.T + move
        step = np.eye(3)
        step[:2, :2] = turn
        step[:2, 2] = move
        whole = step @ whole
        error = np.mean(distance)
        if abs(before - error) < 1e-9:
            break
        before = error
    return error + np.arctan2(whole[1, 0], whole[0, 0]) ** 2 + np.linalg.norm(whole[:2, 2])


# Smoothed particles: neighbours by cells in a dict. ----------------------------------------------


def find_neighbours(positions, h):
    cells = defaultdict(list)
    for i, x in enumerate(positions):
        cells[tuple(int(np.floor(c / h)) for c in x)].append(i)
    found = []
    for x in positions:
        cx, cy = (int(np.floor(c / h)) for c in x)
        around = [(cx + dx, cy + dy) for dx in (-1, 0, 1) for dy in (-1, 0, 1)]
        found.append(sorted(i for cell in around for i in cells.get(cell, [])))
    return found


def move_fluid(p):
    xx, yy = np.meshgrid(np.arange(3) * 0.3, np.arange(2) * 0.3)
    x = np.column_stack([xx.ravel(), yy.ravel()]) + 0.02 * np.sin(np.arange(12)).reshape(6, 2)
    v, h = np.zeros(x.shape), 0.5
    v[:, 0] = p[1]
    for _ in range(2):
        near, rho = find_neighbours(x, h), np.empty(len(x))
        for i, js in enumerate(near):
            r2 = np.sum((x[js] - x[i]) ** 2, axis=1)
            w = np.zeros_like(r2)
            inside = r2 < h**2
            w[inside] = (h**2 - r2[inside]) ** 3
            rho[i] = 10 * w.sum()
        force = np.zeros_like(x)
        for i, js in enumerate(near):
            js = [j for j in js if j != i]
            r = x[i] - x[js]
            d = np.sqrt((r**2).sum(axis=1))
            share = p[0] * (rho[i] + rho[js] - 0.2) / (2 * rho[js])
            force[i] += ((share * np.where(d < h, (h - d) ** 2 / d, 0.0))[:, None] * r).sum(axis=0)
        force /= rho[:, None]
        force[:, 1] -= 9.81
        v = v + 0.01 * force
        x = x + 0.01 * v
        low = x[:, 1] < 0
        v[low, 1] *= -0.5
        x[low, 1] = 0.0
    return np.sum(x**2) + 0.5 * np.sum(v**2)


# Matrices by loops and in place. -----------------------------------------------------------------


def turn_columns(a):
    """Return Q and R by Householder's reflections."""
    r = a.copy()
    q = np.eye(len(r))
    for k in range(r.shape[1]):
        v = r[k:, k].copy()
        v[0] += np.sign(v[0]) * np.linalg.norm(v)
        v /= np.linalg.norm(v)
        r[k:, k:] -= 2.0 * np.outer(v, v @ r[k:, k:])
        q[:, k:] -= 2.0 * np.outer(q[:, k:] @ v, v)
    return q, np.triu(r)


def eliminate(a):
    a, order = a.copy(), list(range(len(a)))
    for k in range(len(a) - 1):
        p = k + np.argmax(np.abs(a[k:, k]))
        if p != k:
            a[[k, p]] = a[[p, k]]
            order[k], order[p] = order[p], order[k]
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return a, order


def solve_in_place(p):
    i = np.arange(4)
    a = np.exp(-np.abs(i[:, None] - i[None, :]) / p[0]) + p[1] * np.eye(4)
    b = np.array([1.0, p[0], p[1], -1.0])
    q, r = turn_columns(np.vstack([a, p[0] * np.ones((1, 4))]))
    right, x = (q.T @ np.append(b, 0.5))[:4], np.zeros_like(b)
    for i in range(4)[::-1]:
        x[i] = (right[i] - r[i, i + 1 :] @ x[i + 1 :]) / r[i, i]
    swept = np.zeros_like(b)
    for _ in range(6):
        for i in range(4):
            rest = a[i, :i] @ swept[:i] + a[i, i + 1 :] @ swept[i + 1 :]
            swept[i] = (b[i] - rest) / a[i, i]
    lu, order = eliminate(a[::-1])
    return x @ x + swept.sum() + np.log(np.abs(np.diag(lu))).sum() + lu[3, 0] * order[0]


# Chemical kinetics: reactions in dicts, implicit Euler. ------------------------------------------

SPECIES = ["A", "B", "C"]
REACTIONS = [
    {"from": {"A": 1}, "to": {"B": 1}, "rate": "slow"},
    {"from": {"B": 2}, "to": {"B": 1, "C": 1}, "rate": "fast"},
    {"from": {"B": 1, "C": 1}, "to": {"A": 1, "C": 1}, "rate": "back"},
]


def react(p):
    constants = dict(zip(("slow", "fast", "back"), p, strict=True))
    changes, orders = np.zeros((3, 3)), np.zeros((3, 3), dtype=int)
    for r, reaction in enumerate(REACTIONS):
        for sign, side in ((-1, "from"), (1, "to")):
            for name, n in reaction[side].items():
                changes[SPECIES.index(name), r] += sign * n
        for name, n in reaction["from"].items():
            orders[r, SPECIES.index(name)] = n
    k = np.array([constants[reaction["rate"]] for reaction in REACTIONS])
    path = [np.array([1.0, 0.0, 0.0])]
    for h in np.diff(np.logspace(-3, 0, 4)):
        y = path[-1].copy()
        for _ in range(6):
            speeds, slopes = k * np.prod(y[None, :] ** orders, axis=1), np.zeros((3, 3))
            for r, s in np.argwhere(orders):
                others = [y[q] ** orders[r, q] for q in range(3) if q != s]
                slopes[r, s] = k[r] * orders[r, s] * y[s] ** (orders[r, s] - 1) * np.prod(others)
            factors = linalg.lu_factor(np.eye(3) - h * changes @ slopes)
            change = linalg.lu_solve(factors, y - path[-1] - h * changes @ speeds)
            y -= change
            if np.max(np.abs(change)) < 1e-14:
                break
        path.append(y)
    return 10 * path[-1][2] + np.stack(path)[:, 1].max() * 1e3


# Power series as a class with operators: Picard's iteration. -------------------------------------


class Series:
    def __init__(self, coefficients):
        self.c = np.asarray(coefficients)

    def __add__(self, other):
        other = other if isinstance(other, Series) else Series([other])
        total = np.zeros(max(len(self.c), len(other.c)))
        total[: len(self.c)] += self.c
        total[: len(other.c)] += other.c
        return Series(total)

    def __mul__(self, other):
        if not isinstance(other, Series):
            return Series(self.c * other)
        return Series(np.convolve(self.c, other.c)[:6])

    __radd__, __rmul__ = __add__, __mul__

    def __pow__(self, n):
        return reduce(operator.mul, [self] * n)

    def __call__(self, t):
        return reduce(lambda total, c: total * t + c, self.c[::-1])


def grow(p):
    y = Series([0.4])
    for _ in range(5):
        speed = p[0] * y + (-p[1]) * y**2
        y = Series(np.insert(speed.c / np.arange(1, len(speed.c) + 1), 0, 0.4)[:6])
    return y(0.5) + (p[0] + y)(0.2) ** 2


# A layer of attention with parameters that are drawn, then changed. ------------------------------


def attend(p):
    rng = np.random.default_rng(7)
    weights = {k: rng.normal(size=(4, 4)) / 2 for k in "qkvo"}
    weights["q"][0, :3] *= p[0]
    places = np.arange(3)[:, None] / (10 * p[1]) ** (np.arange(0, 4, 2) / 4)
    x = rng.normal(size=(3, 4))
    x[:, 0::2] += np.sin(places)
    x[:, 1::2] += np.cos(places)
    x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    q, k, v = ((x @ weights[n]).reshape(3, 2, 2).swapaxes(0, 1) for n in "qkv")
    scores = np.einsum("hid,hjd->hij", q, k) / np.sqrt(q.shape[-1])
    scores[:, np.triu(np.ones((3, 3), bool), 1)] = -np.inf
    scores -= scores.max(axis=-1, keepdims=True)
    shares = np.exp(scores)
    shares /= shares.sum(-1)[..., None]
    out = (shares @ v).swapaxes(0, 1).reshape(x.shape) @ weights["o"]
    return np.mean((x + out) ** 2) - np.log(shares[0, 2, 1])


PROGRAMS = {
    register_points: (0.1, 0.03, -0.05),
    move_fluid: (0.3, 0.5),
    solve_in_place: (1.3, 0.4),
    react: (0.04, 30.0, 10.0),
    grow: (0.8, 1.3),
    attend: (0.7, 1.2),
}


def difference(f, x, step=1e-3):
    """Return the derivatives of f by central differences of two steps."""

    def central(step):
        return np.array([(f(x + e) - f(x - e)) / (2 * step) for e in step * np.eye(len(x))])

    return (4 * central(step / 2) - central(step)) / 3


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_whole_programs(f):
    x = np.array(PROGRAMS[f])
    slope, near = difference(f, x), {"rtol": 2e-6, "atol": 1e-8}
    value, gradient = ad.value_and_grad(f)(x)
    np.testing.assert_allclose(value, f(x), rtol=1e-9)
    np.testing.assert_allclose(gradient, slope, **near)
    np.testing.assert_allclose(ad.jacfwd(f)(x), slope, **near)
    compiled = ad.jit(ad.grad(f))
    compiled(1.001 * x)
    np.testing.assert_allclose(compiled(x), slope, **near)
    batch = ad.vmap(ad.grad(f), branches="both")(np.stack([x, x]))
    np.testing.assert_allclose(batch, [slope, slope], **near)
