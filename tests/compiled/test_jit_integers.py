"""Integers in compiled programs: arithmetic, products, indices along axes, places of extremes."""

import numpy as np
import pytest

import simpleautodiff as ad
from array_programs import agree, uses
from tiers import TIERS, answers

pytest.importorskip("llvmlite")


@pytest.fixture(autouse=True)
def no_disk(monkeypatch):
    monkeypatch.setenv("SIMPLEAUTODIFF_CACHE", "off")


rng = np.random.default_rng(12)
WHOLE = np.array([0, 1, -1, 2, -7, 12, 2**40, -(2**40), 3, 5])


def compiled(f, *args, **tolerance):
    program = agree(f, *args, **tolerance)
    assert not uses(program, "NumPy")
    return program


@pytest.mark.parametrize(
    "f",
    [
        lambda i, j: i + j, lambda i, j: i - 2 * j, lambda i, j: i * j, lambda i, j: -i,
        lambda i, j: abs(i), lambda i, j: np.maximum(i, j), lambda i, j: np.minimum(i, 3),
        lambda i, j: i % j, lambda i, j: i % -3, lambda i, j: np.square(j), lambda i, j: np.sign(i),
        lambda i, j: np.clip(i, -2, 5), lambda i, j: i % 0, lambda i, j: (i > j) * i,
        lambda i, j: np.sum(i * j), lambda i, j: np.max(i - j), lambda i, j: i / (j + 0.5),
        lambda i, j: i // j, lambda i, j: i // -3, lambda i, j: i // 0, lambda i, j: i // -1,
        lambda i, j: 17 // (2 * j + 1), lambda i, j: i // 4 * 4 + i % 4 - i,
    ],
)  # fmt: skip
def test_arithmetic_of_integers_is_exact(f):
    i, j = WHOLE, np.roll(WHOLE, 3)
    with np.errstate(all="ignore"):
        agree(f, i, j, rtol=0, atol=0)
        agree(f, np.tile(i, 40), np.tile(j, 40), rtol=0, atol=0)


@pytest.mark.parametrize("tier", TIERS)
def test_integers_in_small_programs(tier):
    def f(x, i):
        k = (2 * i + 1) % 7 - 3
        return np.sum(k * x[:4]) + np.sum(abs(k)) + np.sum(x[:4] * (k // 2) - (i - 4) // (k + 4))

    answers(f, [(np.arange(5.0), np.array([3, 1, 4, 1]) + n) for n in range(5)], tier)


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8, bool])
def test_products_with_integers(dtype):
    matrix = rng.integers(0, 4, size=(30, 40)).astype(dtype)
    compiled(ad.value_and_grad(lambda x: np.sum((matrix @ x) ** 2)), rng.normal(size=40))
    compiled(
        ad.grad(lambda x: np.sum(np.einsum("ij,jk->ik", matrix, x) ** 2)), rng.normal(size=(40, 3))
    )
    compiled(ad.grad(lambda x: np.sum(matrix[0] * x * matrix[1])), rng.normal(size=40))
    given = matrix if dtype in (np.int64, bool) else matrix.astype(int)
    compiled(lambda i, x: i @ x, given, rng.normal(size=40))


@pytest.mark.parametrize("function", [np.argmin, np.argmax])
@pytest.mark.parametrize("axis", [None, 0, 1, -1, 2])
def test_places_of_extremes(function, axis):
    x = rng.integers(0, 4, size=(5, 9, 7)) * 1.0  # many are equal: the first counts
    compiled(lambda x: function(x, axis), x)
    x[1, 2, 3] = np.nan
    x[2, :, 2] = np.inf
    x[3, 4, 1] = -0.0
    compiled(lambda x: function(x * 1, axis=axis), x)


def test_the_nearest_of_all():
    points, centres = rng.normal(size=(50, 3)), rng.normal(size=(6, 3))

    def f(points, centres):
        squares = np.sum((points[:, None] - centres[None]) ** 2, axis=2)
        return np.sum((points - centres[np.argmin(squares, axis=1)]) ** 4)

    compiled(ad.value_and_grad(f, (0, 1)), points, centres)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, i, j: x[:, i], lambda x, i, j: x[:, i, j], lambda x, i, j: x[:, :, j],
        lambda x, i, j: x[i, j], lambda x, i, j: x[:, i[0]], lambda x, i, j: x[:, 1, j],
        lambda x, i, j: x[:, i + 1, 0], lambda x, i, j: x[..., j] if x.ndim == 1 else x[i, :, j],
    ],
)  # fmt: skip
def test_indices_along_any_axis(f):
    x = rng.normal(size=(5, 6, 7))
    i, j = rng.integers(-5, 5, size=(2, 9))
    agree(f, x, i, j)
    agree(ad.grad(lambda x, i, j: np.sum(np.sin(f(x, i, j)))), x, i, j)


def test_a_table_of_constants_is_chosen_from():
    table = rng.normal(size=(6, 3))

    def f(x, i):
        y = np.zeros_like(x) + table
        np.add.at(y, i, x[:3])
        np.subtract.at(y, (i, i % 3), 2.0)
        return np.sum(y[i] ** 2) + np.sum(np.sin(x)[(i, i % 3)])

    compiled(ad.value_and_grad(f), rng.normal(size=(6, 3)), np.array([5, 0, 5]))


def test_an_index_that_does_not_fit_is_refused():
    f = ad.jit(lambda x, i: np.sum(x[:, i] ** 2), tier="optimised")
    x = rng.normal(size=(4, 300))
    for _ in range(3):
        f(x, np.array([2, -300, 299]))
    with pytest.raises(IndexError):
        f(x, np.array([2, 300, 1]))
