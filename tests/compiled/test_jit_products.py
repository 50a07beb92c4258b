"""Products of stacks: merged, written out, or given to BLAS, always what NumPy computes."""

import numpy as np
import pytest

import simpleautodiff as ad
from array_programs import PRODUCTS, agree, uses

pytest.importorskip("llvmlite")
jax = pytest.importorskip("jax")


@pytest.fixture(autouse=True)
def no_disk(monkeypatch):
    monkeypatch.setenv("SIMPLEAUTODIFF_CACHE", "off")


def draw(shape, seed=0):
    return np.random.default_rng([seed, *shape]).normal(size=shape)


SHAPES = [
    ((6, 5, 4, 4), (5, 4, 4)), ((7, 4, 4), (4, 4)), ((4, 4), (7, 4, 4)), ((9, 3, 3), (9, 3, 50)),
    ((30, 40), (6, 40, 3)), ((6, 3, 40), (40, 30)), ((5, 20, 30), (5, 30, 10)),
    ((1, 20, 30), (5, 30, 10)), ((5, 1, 20, 30), (1, 4, 30, 10)), ((5, 20, 30), (30,)),
    ((30,), (5, 30, 10)), ((3, 1, 9), (3, 9, 1)), ((2, 33, 17), (2, 17, 9)), ((40, 8, 8), (8, 1)),
]  # fmt: skip


@pytest.mark.parametrize(("left", "right"), SHAPES)
def test_stacks_of_products(left, right):
    a, b = draw(left), draw(right, 1)
    program = agree(lambda a, b: a @ b, a, b, rtol=1e-11)
    assert not uses(program, "NumPy")
    agree(ad.value_and_grad(lambda p: np.sum(np.sin(p[0] @ p[1]))), (a, b), rtol=1e-10, atol=1e-11)
    if min(a.ndim, b.ndim) > 1:
        turned = np.swapaxes(a, -1, -2).copy(), b[..., ::-1].copy()
        agree(lambda a, b: np.swapaxes(a, -1, -2) @ b[..., ::-1], *turned, rtol=1e-11)


def test_products_in_float32_stay_float32():
    a, b = draw((6, 20, 30)).astype(np.float32), draw((6, 30, 9)).astype(np.float32)
    agree(lambda a, b: a @ b, a, b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "subscripts",
    ["aab->b", "aba->ab", "aabb->ba", "aab,b->", "abab,ab->b", "aaa->a", "aa,bb->", "aab->"],
)
def test_einsum_of_diagonals(subscripts):
    rng = np.random.default_rng(len(subscripts))
    terms = subscripts.partition("->")[0].split(",")
    arrays = [rng.normal(size=[{"a": 30, "b": 20}[x] for x in term]) for term in terms]

    def f(*arrays):
        return np.sum(np.einsum(subscripts, *[np.sin(x) for x in arrays]) ** 2)

    slopes = ad.grad(f, tuple(range(len(arrays))))
    compiled = ad.jit(slopes, tier="optimised")
    for _ in range(2):
        found = compiled(*arrays)
    for one, other in zip(found, slopes(*arrays), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-12)
    assert "NumPy" not in compiled.explain()


@pytest.mark.parametrize(
    "subscripts",
    ["bij,bjk->bik", "nki,nkj->nij", "abc,cd->abd", "abc,bcd->ad", "abc,dcb->da", "abij,bjk->aibk",
     "ij,kjl->kil", "bi,bj->bij", "bij,bj->bi", "bij,bij->b", "abc,abd->cd", "iab,jab->ij",
     "ab,cd->abcd", "abc,bd->dac", "abx,aby->bxy", "abc,ad->cd"],
)  # fmt: skip
@pytest.mark.parametrize("seed", range(3))
def test_einsum_of_stacks(subscripts, seed):
    random = np.random.default_rng(seed)
    sizes = {c: int(random.choice([1, 2, 3, 5, 12, 17])) for c in sorted(set(subscripts) - {","})}
    terms = subscripts.split("->")[0].split(",")
    a, b = (random.normal(size=[sizes[c] for c in term]) for term in terms)
    program = agree(lambda a, b: np.einsum(subscripts, a, b), a, b, rtol=1e-11)
    assert not uses(program, "NumPy")
    agree(ad.grad(lambda p: np.sum(np.einsum(subscripts, *p) ** 2)), (a, b), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    "f",
    [
        lambda a, b: np.sum(a @ b, axis=0),
        lambda a, b: np.sum(a @ b, axis=(0, 2)),
        lambda a, b: np.sum(a @ b, axis=1, keepdims=True),
        lambda a, b: np.sum(a @ b),
        lambda a, b: np.sum(a[:, :, :, None] * b[:, None], axis=2),
        lambda a, b: np.sum(a[:, :, :, None] * b[:, None], axis=(0, 2)),
        lambda a, b: np.sum((a @ b) * (a @ b)),
        lambda a, b: np.sum(a[0][:, :, None] * b[0][None], axis=1, keepdims=True),
        lambda a, b: np.sum(-(a @ b), axis=1),
        lambda a, b: np.sum(-np.einsum("bij,bjk->ibk", a, b), axis=0, keepdims=True),
        lambda a, b: np.sum(-a, axis=(0, 2)) * np.sum(-b[0, :20], axis=1),
    ],
)
def test_sums_of_products_are_merged(f):
    a, b = draw((6, 20, 30)), draw((6, 30, 9), 1)
    assert not uses(agree(f, a, b, rtol=1e-10, atol=1e-11), "NumPy")
    agree(ad.grad(lambda p: np.sum(f(*p) ** 2)), (a, b), rtol=1e-9, atol=1e-8)


def test_a_sum_over_an_axis_of_one_factor_comes_before_the_product():
    """The adjoint of the means m of x - m is the sum over all x of a product with one matrix."""

    def f(p, x):
        return np.sum(np.einsum("kij,nkj->nki", p[0], x[:, None, :] - p[1]) ** 2)

    p, x = (draw((5, 12, 12)), draw((5, 12), 1)), draw((70, 12), 2)
    program = agree(ad.grad(f), p, x, rtol=1e-10, atol=1e-10)
    assert uses(program, PRODUCTS) == 2  # the product itself, and the adjoint of the matrices
    with jax.enable_x64(True):
        einsum = jax.numpy.einsum
        expected = jax.grad(
            lambda p: jax.numpy.sum(einsum("kij,nkj->nki", p[0], x[:, None, :] - p[1]) ** 2)
        )(p)
    for own, other in zip(program.run([*p, x])[1], expected, strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-11)


@pytest.mark.parametrize("shapes", [((4, 1, 6), (4, 5)), ((4, 1), (4, 5, 6)), ((1, 5), (3, 5, 2))])
@pytest.mark.parametrize("subscripts", ["abc,ad->d", "ab,abc->a", "ab,cbd->ad", "ab,abc->"])
def test_letters_of_one_factor_are_summed_first_whatever_their_lengths(subscripts, shapes):
    random, sizes = np.random.default_rng(3), {}
    terms = subscripts.split("->")[0].split(",")
    for term, shape in zip(terms, shapes, strict=True):
        sizes.update(zip(term, shape, strict=False))
    a, b = (random.normal(size=[sizes.get(c, 3) for c in term]) for term in terms)
    agree(lambda a, b: np.einsum(subscripts, a, b), a, b, rtol=1e-11, atol=1e-12)
    agree(ad.grad(lambda p: np.sum(np.einsum(subscripts, *p) ** 2)), (a, b), rtol=1e-10, atol=1e-10)


def test_a_shared_factor_makes_one_product_forward_and_back():
    f = ad.value_and_grad(lambda p: np.sum((p[0] @ p[1]) ** 2))
    a, b = draw((40, 30)), draw((7, 30, 3), 1)
    program = agree(f, (a, b), rtol=1e-11)
    assert uses(program, PRODUCTS) == 3
    with jax.enable_x64(True):
        value, (da, db) = jax.value_and_grad(lambda p: jax.numpy.sum((p[0] @ p[1]) ** 2))((a, b))
    _, (own, own_a, own_b) = program.run([a, b])
    for found, expected in ((own, value), (own_a, da), (own_b, db)):
        np.testing.assert_allclose(found, expected, rtol=1e-11)


def test_small_products_are_loops():
    program = agree(lambda a, b: a @ b, draw((26, 22, 4, 4)), draw((22, 4, 4), 1))
    assert not uses(program, PRODUCTS)
    assert uses(program, "loop") == 1


@pytest.mark.parametrize("precise", [False, True])
def test_factors_are_summed_before_they_are_multiplied_unless_every_digit_counts(precise):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(30, 20)), rng.normal(size=20)
    f = lambda a, b: np.einsum("ij,k->k", a, b)
    made = ad.jit(f, precise=precise, tier="optimised")
    np.testing.assert_allclose(made(a, b), np.sum(a) * b, rtol=1e-12)
    assert ("mul sum over (20, 30, 20)" in made.explain()) == precise
    assert ("loop: sum over (30, 20)" in made.explain()) == (not precise)
