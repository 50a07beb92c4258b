"""Products of matrices in registers, without BLAS: every size of block, layout and dtype."""

import ctypes
from fractions import Fraction

import numpy as np
import pytest

import simpleautodiff as ad
from array_programs import agree, uses
from simpleautodiff.compiled.array.build_loops import MatrixProduct
from simpleautodiff.compiled.array.view_accesses import View, whole
from simpleautodiff.compiled.backends.llvm.module import Module
from simpleautodiff.compiled.backends.llvm.register_product import write_in_registers
from simpleautodiff.compiled.native import compile as engine

pytest.importorskip("llvmlite")
pytestmark = pytest.mark.filterwarnings(  # BLAS computes with what is beside a short row
    "ignore:invalid value encountered in matmul:RuntimeWarning"
)

SIZES = [
    (1, 1, 2),
    (2, 3, 2),
    (3, 1, 5),
    (4, 4, 4),
    (5, 7, 8),
    (6, 2, 9),
    (7, 9, 33),
    (24, 5, 8),
    (25, 11, 3),
    (49, 3, 64),
    (50, 2, 65),
    (3, 100, 31),
]


def whole_numbers(shape, seed):
    """Draw numbers whose products and sums have no rounding error."""
    return np.random.default_rng(seed).integers(-9, 10, size=shape)


def multiply_exactly(left, right):
    """Multiply as fractions, element by element."""
    a, b = ([[Fraction(int(x)) for x in row] for row in m] for m in (left, right.T))
    return np.array([[float(sum(x * y for x, y in zip(p, q, strict=True))) for q in b] for p in a])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("sizes", SIZES)
def test_every_element_is_the_sum_of_products(sizes, dtype):
    rows, inner, columns = sizes
    left, right = whole_numbers((rows, inner), 0), whole_numbers((inner, columns), 1)
    wanted = multiply_exactly(left, right)
    left, right = left.astype(dtype), right.astype(dtype)
    for f, a, b in (
        (lambda a, b: a @ b, left, right),
        (lambda a, b: a.T @ b, left.T.copy(), right),
        (lambda a, b: a @ b.T, left, right.T.copy()),
        (lambda a, b: a.T @ b.T, left.T.copy(), right.T.copy()),
        (lambda a, b: (a[::-1] @ b)[::-1], left, right),
        (lambda a, b: a[:, ::2] @ b[::2], np.repeat(left, 2, axis=1), np.repeat(right, 2, axis=0)),
    ):
        program = agree(f, a, b, rtol=0, atol=0)
        np.testing.assert_array_equal(program.run([a, b])[1][0], wanted)


@pytest.mark.parametrize("lanes", [1, 2, 4, 8])
@pytest.mark.parametrize("adds", [False, True])
@pytest.mark.parametrize("sizes", SIZES)
def test_every_width_of_vectors_writes_the_result_and_nothing_beside_it(sizes, adds, lanes):
    """Each kernel runs as it is, on memory with other numbers before and after the result."""
    rows, inner, columns = sizes
    left, right = whole_numbers((rows, inner), 2), whole_numbers((inner, columns), 3)
    module = Module()
    product = MatrixProduct(2, "d", whole(0, left.shape), whole(1, right.shape), (rows, columns),
                            adds=adds)  # fmt: skip
    name = write_in_registers(module, product, lanes)
    code = engine.build(module.text().replace("define internal", "define"), level=1, names=[name])
    memory = np.full(rows * columns + 32, 7.0)
    arrays = [left.astype(float), right.astype(float), memory]
    addresses = [array.__array_interface__["data"][0] for array in arrays]
    call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)(code.address(name))
    call(addresses[0], addresses[1], addresses[2] + 16 * 8)
    found = memory[16:-16].reshape(rows, columns)
    np.testing.assert_array_equal(found, multiply_exactly(left, right) + 7.0 * adds)
    assert (memory[:16] == 7.0).all()
    assert (memory[-16:] == 7.0).all()


def test_infinities_and_nans_stay_in_their_rows_and_columns():
    a, b = np.ones((9, 5)), np.ones((5, 11))
    a[2, 1], a[3, 4], b[0, 10] = np.inf, np.nan, -np.inf
    with np.errstate(invalid="ignore"):
        found = ad.jit(lambda a, b: a @ b, tier="optimised")(a, b)
    wanted = np.full((9, 11), 5.0)
    wanted[2], wanted[3], wanted[:, 10] = np.inf, np.nan, -np.inf
    wanted[2, 10] = wanted[3, 10] = np.nan  # inf - inf, and nan
    np.testing.assert_array_equal(found, wanted)


def product_of(left, right, **others):
    """Return the piece of work that multiplies two views."""
    return MatrixProduct(2, "d", left, right, (left.shape[0], right.shape[-1]), **others)


def test_large_products_vectors_and_exact_ones_are_left_to_blas():
    assert product_of(whole(0, (100, 20)), whole(1, (20, 30))).is_in_registers
    assert not product_of(whole(0, (1000, 1000)), whole(1, (1000, 1000))).is_in_registers
    assert not product_of(whole(0, (100, 20)), whole(1, (20,))).is_in_registers
    assert not product_of(whole(0, (100, 20)), whole(1, (20, 30)), exact=True).is_in_registers
    turned = View(1, (20, 30), 0, (1, 20))
    assert not product_of(whole(0, (100, 20)), turned).is_in_registers


def test_rows_are_copied_where_there_are_many_of_the_other_factor():
    rng = np.random.default_rng(0)
    many, few, b = rng.normal(size=(90, 6)), rng.normal(size=(5, 6)), rng.normal(size=(20, 6))
    assert uses(agree(lambda a, b: a @ b.T, many, b), "in registers") == 1
    assert uses(agree(lambda a, b: a @ b.T, few, b), "BLAS") == 1


@pytest.mark.parametrize(("rows", "copied"), [(60, 0), (600, 1)])
def test_rows_of_a_large_factor_are_copied_for_many_rows_only(rows, copied):
    """The copy of 90,000 numbers is a small part of a product with 600 rows, not of one with 60."""
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=(rows, 300)), rng.normal(size=(300, 300))
    program = agree(lambda a, b: a @ b.T, a, b, rtol=1e-11, atol=1e-11)
    assert uses(program, "loop") == copied


def test_the_gradient_of_stacks_of_products():
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(4, 30, 12)), rng.normal(size=(4, 12, 9))
    program = agree(ad.grad(lambda p: np.sum((p[0] @ p[1]) ** 2)), (a, b), rtol=1e-11, atol=1e-11)
    assert not uses(program, "NumPy")
    found = program.run([a, b])[1]
    product = np.einsum("kij,kjl->kil", a, b)
    np.testing.assert_allclose(found[0], 2 * np.einsum("kil,kjl->kij", product, b), rtol=1e-11)
    np.testing.assert_allclose(found[1], 2 * np.einsum("kij,kil->kjl", a, product), rtol=1e-11)
