"""What the memory pool promises: which results it holds, how they lie, and what it gives back."""

from itertools import permutations, product

import numpy as np
import pytest

from simpleautodiff.fast import memory_pool
from simpleautodiff.fast.memory_pool import (
    CACHE_LINE,
    MIN_TOGETHER,
    PIECE,
    MemoryPool,
    _find_order,
    _fits,
    _make_together,
    compute_pooled,
    has_own_memory,
    is_part,
    is_pooled,
)
from simpleautodiff.fast.thresholds import THRESHOLDS

SHAPES = [shape for rank in range(4) for shape in product((1, 2, 3), repeat=rank)]


@pytest.fixture
def pool(monkeypatch):
    """Give a pool for arrays of any size, in use, in the place of the common one."""
    monkeypatch.setattr(THRESHOLDS, "pooled", 1)
    made = MemoryPool()
    made.open = True
    monkeypatch.setattr("simpleautodiff.fast.memory_pool.POOL", made)
    return made


@pytest.mark.parametrize("shape", SHAPES)
def test_an_operand_fits_if_it_leaves_the_shape_and_the_dtype(shape):
    x = np.ones(shape)
    for other in SHAPES:
        like = np.ones(other)
        try:
            leaves = np.broadcast_shapes(shape, other) == other
        except ValueError:
            leaves = False
        assert _fits(x, like) == leaves
        assert not _fits(x.astype(np.float32), like)
    assert _fits(2, x)
    assert _fits(2.0, x)
    assert not _fits(2j, x)
    assert not _fits(np.float64(2), x)


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if len(shape) > 1])
@pytest.mark.parametrize("part", [np.s_[...], np.s_[..., ::2], np.s_[:1], np.s_[::-1, :1]])
def test_a_result_has_the_memory_order_that_numpy_gives_it(shape, part):
    for axes in permutations(range(len(shape))):
        wider = np.ones([2 * n + 1 for n in shape])[tuple(slice(n) for n in shape)]
        for whole in (np.ones(shape), wider):
            x = whole.transpose(axes)[part]
            flags = np.negative(x).flags
            order = _find_order(x)
            assert {"C": flags.c_contiguous, "F": flags.f_contiguous}.get(order, True)
            assert order is not None or not flags.forc


@pytest.mark.parametrize("order", ["C", "F"])
def test_an_output_lies_as_the_array_it_is_like(pool, order):
    like = np.ones((3, 4), order=order)
    out = pool.output_like(like)
    assert is_pooled(out)
    assert (out.shape, out.strides, out.dtype) == (like.shape, like.strides, like.dtype)
    assert pool.output_like(np.ones((2, 3, 4)).transpose(1, 0, 2)) is None  # NumPy keeps this order
    assert pool.output_like(np.ones((3, 4), complex)) is None
    assert is_pooled(pool.output_like(np.ones(5)))


def test_only_large_arrays_of_floats_are_served_while_the_pool_is_open(pool, monkeypatch):
    x = np.ones(4)
    monkeypatch.setattr(THRESHOLDS, "pooled", x.nbytes)
    assert pool.serves(x)
    assert pool.serves(x.astype(np.longdouble))
    assert not pool.serves(x[1:])
    assert not pool.serves(np.ones(8, np.int64))
    assert not pool.serves(np.ones((2, 2)).view(np.matrix))
    pool.open = False
    assert not pool.serves(x)


def test_a_block_is_lent_again_once_its_array_and_all_views_are_gone(pool):
    first = pool.empty((2, 3), np.dtype(float))
    where, view = first.ctypes.data, first[1:]
    del first
    other = pool.empty((6,), np.dtype(float))
    assert other.ctypes.data != where
    del view
    again = pool.empty((3, 2), np.dtype(float))
    assert again.ctypes.data == where
    assert len(pool.loans) == 2


def test_zeros_are_zeros_in_used_memory(pool):
    used = pool.empty((5,), np.dtype(float))
    used[:] = 7
    where = used.ctypes.data
    del used
    found = pool.zeros(np.ones(5))
    assert found.ctypes.data == where
    np.testing.assert_array_equal(found, np.zeros(5))
    fresh = pool.zeros(np.ones((2, 3), np.float32))  # no block of this size is free
    assert has_own_memory(fresh)
    assert not is_pooled(fresh)
    assert fresh.dtype == np.float32
    np.testing.assert_array_equal(fresh, np.zeros((2, 3)))


@pytest.mark.parametrize(
    ("compute", "args"),
    [
        (np.add, (np.ones((3, 4)), np.arange(4.0))),
        (np.subtract, (np.arange(4.0), np.ones((3, 4)))),
        (np.divide, (2, np.full((3, 4), 4.0))),
        (np.multiply, (np.ones((3, 4)), 2.5)),
        (np.exp, (np.ones((3, 4), order="F"),)),
    ],
)
def test_elementwise_results_are_pooled_and_the_same(pool, compute, args):
    found, expected = compute_pooled(compute, *args), compute(*args)
    assert is_pooled(found)
    assert found.strides == expected.strides
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("compute", "args"),
    [
        (np.add, (np.ones((3, 1)), np.ones((1, 4)))),  # of neither shape
        (np.add, (np.ones((3, 4)), np.ones((3, 4), np.float32))),
        (np.multiply, (np.ones((3, 4)), 2j)),
        (np.matmul, (np.ones((3, 3)), np.ones((3, 3)))),
        (np.add, (np.ones((2, 3, 4)).transpose(1, 0, 2), 1.0)),
        (np.add, (np.ones((3, 4)), np.ones((3, 4), order="F"))),
    ],
)
def test_other_results_are_those_of_numpy(pool, compute, args):
    found, expected = compute_pooled(compute, *args), compute(*args)
    assert not is_pooled(found)
    assert (found.dtype, found.strides) == (expected.dtype, expected.strides)
    np.testing.assert_array_equal(found, expected)


def test_an_array_that_leaves_keeps_no_piece_alive(pool):
    size = 4 * 8
    pool.parts[size] = [*_make_together(size, 2)]
    lent = pool.empty((2, 2), np.dtype(float))
    lent[:] = [[1, 2], [3, 4]]
    assert is_part(lent.base)
    left = pool.release(lent)
    assert left is not lent
    assert left.base is None
    np.testing.assert_array_equal(left, lent)
    alone = np.ones(3)
    assert pool.release(alone) is alone


def test_blocks_of_a_piece_begin_at_cache_lines_and_do_not_overlap():
    for size, many in product((1, CACHE_LINE, CACHE_LINE + 1, PIECE // 3), (1, 2, 3, 4, 7)):
        blocks = [*_make_together(size, many)]
        assert len(blocks) == many
        starts = [block.ctypes.data for block in blocks]
        assert {block.nbytes for block in blocks} == {size}
        distances = [block.ctypes.data - block.base.ctypes.data for block in blocks]
        assert {distance % CACHE_LINE for distance in distances} == {0}
        assert all(b - a >= size for a, b in zip(sorted(starts), sorted(starts)[1:], strict=False))


def test_old_memory_goes_before_as_much_is_taken(pool):
    """Of three free blocks of 4 bytes two go for a new one of 8."""
    lent = [pool.empty((1,), np.dtype(np.float32)) for _ in range(3)]
    lent.clear()
    assert len(pool.alone[4]) == 3
    taken = pool.empty((1,), np.dtype(float))
    assert is_pooled(taken)
    assert len(pool.alone[4]) == 1
    assert pool.room == 0


@pytest.mark.parametrize(("pieces", "kept"), [(0.9, 0), (1.0, 32), (1.9, 32), (2.0, 64), (9.0, 64)])
def test_whole_pieces_stay_as_far_as_there_is_room(pool, monkeypatch, pieces, kept):
    size = PIECE // 32
    monkeypatch.setattr(THRESHOLDS, "pool", int(pieces * PIECE))
    pool.parts[size] = [*_make_together(size, 64)]
    assert len({id(block.base) for block in pool.parts[size]}) == 2
    pool.close()
    assert len(pool.parts.get(size, [])) == kept
    assert not pool.open


@pytest.mark.parametrize("room", [0, 3, 5, 9])
def test_single_blocks_stay_as_far_as_there_is_room(pool, monkeypatch, room):
    lent = [pool.empty((4,), np.dtype(float)) for _ in range(5)]
    monkeypatch.setattr(THRESHOLDS, "pool", 32 * room)
    lent.clear()
    pool.close()
    assert len(pool.alone.get(32, [])) == min(room, 5)


def test_many_blocks_become_parts_of_a_piece(pool):
    size = MIN_TOGETHER // 4
    lent = [pool.empty((size,), np.dtype(np.uint8)) for _ in range(4)]
    kept = lent[0]
    lent.clear()
    pool.close()
    assert len(pool.alone[size]) == 3  # too few to be put together
    pool.open = True
    more = [pool.empty((size,), np.dtype(np.uint8)) for _ in range(4)]
    more.clear()
    pool.close()
    assert not pool.alone
    assert [is_part(block) for block in pool.parts[size]] == [True] * 4
    assert kept.nbytes == size


@pytest.mark.parametrize(
    ("size", "many", "together"),
    [(1024, 2, True), (1024, 1, False), (1025, 2, False), (64, 31, False), (64, 32, True)],
)
def test_only_many_blocks_that_are_not_large_are_put_together(
    pool, monkeypatch, size, many, together
):
    """From half a piece in all on, and if four fit into one."""
    monkeypatch.setattr(memory_pool, "PIECE", 4096)
    monkeypatch.setattr(memory_pool, "MIN_TOGETHER", 2048)
    lent = [pool.empty((size,), np.dtype(np.uint8)) for _ in range(many)]
    lent.clear()
    pool.close()
    free = pool.parts if together else pool.alone
    assert {kept: len(blocks) for kept, blocks in free.items()} == {size: many}
    assert not (pool.alone if together else pool.parts)
