"""Which way is taken: short ways serve what they are for, and leave everything else to the rows.

What the ways compute is in other tests; here it is shown that a short way is taken at all, since a
longer one would give the same.
"""

import gc
from itertools import product
from weakref import ref

import numpy as np
import pytest

import simpleautodiff as ad
from simpleautodiff.core.linear import PartialAdjoint
from simpleautodiff.core.node import TapeNode
from simpleautodiff.core.primitive import Primitive
from simpleautodiff.fast import deferred_factors, recording, small_sweep
from simpleautodiff.fast.array_locks import ArrayLocks, is_locked
from simpleautodiff.fast.array_sweep import ArraySweep
from simpleautodiff.fast.deferred_factors import Scaled, can_defer
from simpleautodiff.fast.fast_tape import FastTape
from simpleautodiff.fast.faster_values import ADD_IN_PLACE, FASTER
from simpleautodiff.fast.finite_slopes import has_singular_slopes
from simpleautodiff.fast.memory_pool import POOL, is_pooled
from simpleautodiff.fast.thresholds import THRESHOLDS

X = np.linspace(-2.0, 3.0, 6)
M = np.linspace(-1.0, 2.0, 6).reshape(2, 3)
LONG = np.linspace(-3.0, 4.0, THRESHOLDS.many)
SHORT = LONG[1:]
EQUAL = np.full(THRESHOLDS.many, np.inf)
NUMBER = np.array(0.5)  # an array without axes


@pytest.fixture(autouse=True, scope="module")
def _operators():
    """Load what nodes of arrays can do, as the first derivative does."""
    ad.grad(np.sum)(X)


# Values. ------------------------------------------------------------------------------------------

SERVED = {
    "logaddexp": [(LONG, LONG[::-1]), (LONG, 0.5), (0.5, LONG), (LONG, LONG[:1]), (LONG[:1], LONG),
                  (LONG.astype("f4"), np.float32(1.0))],
    "reshape": [(X, (2, 3)), (M, (-1,)), (NUMBER, (1,))],
    "roll": [(X, (2,), (0,)), (M, (1, -1), (0, 1)), (M, (5,), (1,))],
    "sech_squared": [(X,), (M.astype("f4"),)],
    "set_item": [(X, X[:2], slice(2, 4)), (X, np.float64(2.0), 3), (M, X[:3], 1),
                 (M.T, M[0], (..., 0)), (NUMBER, NUMBER, ...),
                 (X.astype("f4"), X[:2].astype("f4"), [1, 1])],
    "sigmoid": [(X,), (M,), (np.array([700.0]),), (np.array([-700.0]),)],
    "softplus": [(LONG,), (LONG.astype("f4"),)],
    "sum": [(X, None, False), (M, 0, False), (M, (0, 1), True), (NUMBER, None, False)],
}  # fmt: skip
LEFT = {
    "logaddexp": [(SHORT, SHORT[::-1]), (SHORT, 0.5), (0.5, 1.5), (np.float64(0.5), 1.5),
                  (EQUAL, EQUAL), (LONG.astype("f2"), np.float16(1)), (LONG.astype("g"), 1.0),
                  (LONG.astype(int), LONG.astype(int))],
    "power": [(X, 2), (X, 3), (X, 2.0)],
    "reshape": [(np.float64(0.5), (1,)), (2.0, (1, 1))],
    "roll": [(X, (2,), ()), (X[:0], (2,), (0,)), (np.float64(0.5), (1,), ())],
    "set_item": [(X, 2.0, 1), (X, X[:2].astype("f4"), slice(2)), (X.astype(int), X[:2], slice(2)),
                 (X, [1.0, 2.0], slice(2)), (2.0, X[0], ()), (X, np.float32(2.0), 1)],
    "sech_squared": [(NUMBER,), (X.astype("f2"),), (X.astype("g"),), (X * 1j,)],
    "sigmoid": [(NUMBER,), (np.array([0.0, -800.0]),)],
    "softplus": [(SHORT,), (SHORT.astype("f4"),)],
    "sum": [(np.float64(0.5), None, False), (2.0, None, False)],
}  # fmt: skip


def refuse(*args):
    raise AssertionError("the row's own function is called")


@pytest.mark.parametrize(("name", "args"), [(n, args) for n in SERVED for args in SERVED[n]])
def test_values_without_the_function_of_the_row(name, args):
    FASTER[name](refuse)(*args)


@pytest.mark.parametrize(("name", "args"), [(n, args) for n in LEFT for args in LEFT[n]])
def test_values_that_are_left_to_the_function_of_the_row(name, args):
    answer, given = object(), []

    def compute(*args):
        given.append(args)
        return answer

    assert FASTER[name](compute)(*args) is answer
    (own,) = given
    assert all(a is b for a, b in zip(own, args, strict=True))


@pytest.mark.parametrize("args", SERVED["set_item"])
def test_a_copy_is_written_to_and_lies_in_memory_as_the_array(args):
    x, value, index = args
    before, expected = x.copy(), x.copy("K")
    expected[index] = value
    found = FASTER["set_item"](refuse)(*args)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(x, before)
    assert (found.dtype, found.strides) == (x.dtype, expected.strides)


def test_every_faster_value_is_decided_about():
    assert LEFT.keys() == FASTER.keys()
    assert SERVED.keys() | {"power"} == FASTER.keys()


@pytest.fixture
def open_pool(monkeypatch):
    monkeypatch.setattr(THRESHOLDS, "pooled", 1)
    monkeypatch.setattr(POOL, "open", True)
    yield POOL
    POOL.open = True
    POOL.close()


@pytest.mark.usefixtures("open_pool")
def test_results_that_lie_in_recycled_memory():
    made = [
        FASTER["power"](refuse)(X, 2),
        FASTER["power"](refuse)(X, 2.0),
        FASTER["roll"](refuse)(X, (2,), (0,)),
        FASTER["logaddexp"](refuse)(LONG, 0.5),
    ]
    assert [is_pooled(x) for x in made] == [True] * 4
    np.testing.assert_array_equal(made[0], X * X)
    np.testing.assert_array_equal(made[1], X * X)
    np.testing.assert_array_equal(made[2], np.roll(X, 2))


@pytest.mark.usefixtures("open_pool")
@pytest.mark.parametrize("y", [3, np.float64(2), True, 2j, X])
def test_powers_that_are_no_squares_are_left_to_the_row(y):
    answer = object()
    assert FASTER["power"](lambda *_: answer)(X, y) is answer


# Factors that wait. -------------------------------------------------------------------------------

ROOM = {"f2": 0, "f4": 16, "f8": 32, "g": 32, "i8": 0}  # factors between 2^-n and 2^n


@pytest.mark.parametrize("kind", ROOM)
@pytest.mark.parametrize("sign", [1, -1])
def test_a_factor_waits_if_its_ratio_to_another_is_a_number_of_the_dtype(kind, sign):
    array, most = np.ones(3, kind), ROOM[kind]
    for exponent in (0, 1, 15, 16, 17, 31, 32, 33, 100):
        for factor in (2.0**exponent, 2.0**-exponent):
            assert can_defer(sign * factor, array) == (exponent < most)
    for factor in (0.0, np.inf, np.nan):
        assert not can_defer(sign * factor, array)


def test_a_factor_is_multiplied_where_nothing_can_wait():
    x = np.arange(4.0)
    assert deferred_factors.scale(x, 1) is x
    assert deferred_factors.scale(x, 2.0, True) is x
    np.testing.assert_array_equal(x, [0, 2, 4, 6])
    other = deferred_factors.scale(x, 0.5)
    assert other is not x
    np.testing.assert_array_equal(other, [0, 1, 2, 3])
    np.testing.assert_array_equal(Scaled(x, 3.0) + x, 4 * x)
    np.testing.assert_array_equal(x + Scaled(x, 3.0), 4 * x)


# Adjoints. ----------------------------------------------------------------------------------------


def node(value, primitive=None, args=(), index=0):
    made = TapeNode()
    made.value, made.primitive, made.args, made.index = value, primitive, args, index
    return made


def sweep(count=1, **chosen):
    given = {"once": True, "masks": False, "partly": False} | chosen
    return ArraySweep(FastTape(), [None] * count, **given)


F4 = X.astype("f4")
OWNED = [  # the value, the adjoint of some of its elements, and whether they are added in place
    (X, 2.0, True), (X, np.float64(2), True), (X, X[:2], True), (X, np.array(2.0), True),
    (F4, 2.0, True), (F4, F4[:2], True), (F4, np.float64(2), False), (F4, X[:2], False),
    (X, F4[:2], False), (X, np.float32(2), False), (2.0, 2.0, False), (np.float64(2), 2.0, False),
    (X, node(X), False), (X, PartialAdjoint, False), (np.zeros(9), 2.0, False),
]  # fmt: skip


@pytest.mark.parametrize(("value", "adjoint", "serves"), OWNED)
def test_whether_elements_are_added_in_place(value, adjoint, serves, monkeypatch):
    monkeypatch.setattr(THRESHOLDS, "small", 8)
    swept = sweep()
    total = swept.own(node(value), adjoint)
    assert (total is not None) == serves
    assert (swept.bar[0] is total) == (total is None or serves)
    if serves:
        assert total.dtype == value.dtype
        np.testing.assert_array_equal(total, np.zeros_like(value))
        assert swept.own(node(value), adjoint) is total  # its own already


@pytest.mark.parametrize("size", [8, 9])
def test_an_adjoint_of_somebody_else_is_copied_before_elements_are_added(size, monkeypatch):
    monkeypatch.setattr(THRESHOLDS, "small", 8)
    others, swept = np.ones(size), sweep()
    swept.bar[0] = others
    total = swept.own(node(np.zeros(size)), 2.0)
    if size > 8:
        assert total is None
        assert swept.bar[0] is others
    else:
        assert not np.shares_memory(total, others)
        np.testing.assert_array_equal(total, others)
    swept.bar[0] = PartialAdjoint
    assert swept.own(node(np.zeros(5)), 2.0) is None
    swept.bar[0] = np.ones(5, "f4")
    assert swept.own(node(np.zeros(5)), 2.0) is None


@pytest.mark.parametrize(
    ("value", "term", "fits"),
    [(X, X, True), (X, M, False), (X, F4, False), (F4, F4, True), (X, 2.0, False), (2.0, X, False),
     (2.0, 3.0, True), (np.float64(2), 3.0, True), (2.0, np.float64(3), True), (2, 3.0, True),
     (2.0, np.float32(3), False), (2.0, 3j, False)],
)  # fmt: skip
def test_a_term_that_fits_is_not_asked_for_its_shape(value, term, fits, monkeypatch):
    asked = []
    monkeypatch.setattr(
        small_sweep, "fit_quickly", lambda term, like: asked.append((term, like)) or "fitted"
    )
    swept = sweep()
    swept.add(node(value), term)
    assert swept.bar[0] is term if fits else swept.bar[0] == "fitted"
    assert [(a is term, b is value) for a, b in asked] == ([] if fits else [(True, True)])


def test_terms_are_added_up():
    for value, one, other in ((X, X, 2 * X), (2.0, 3.0, np.float64(4)), (2.0, np.float64(4), 3.0)):
        swept, arg = sweep(), node(value)
        swept.add(arg, one)
        swept.add(arg, other)
        np.testing.assert_array_equal(swept.bar[0], one + other)
        assert type(swept.bar[0]) is type(one + other)
    np.testing.assert_array_equal(X, np.linspace(-2.0, 3.0, 6))


# Terms of large adjoints. -------------------------------------------------------------------------

BOTH = (True, False)
KINDS = ["f4", "f8", "c16"]


def meaning(adjoint):
    """Return an adjoint with its factor."""
    return adjoint.array * adjoint.factor if type(adjoint) is Scaled else adjoint


@pytest.fixture
def all_large(monkeypatch):
    for limit in ("small", "medium", "near"):
        monkeypatch.setattr(THRESHOLDS, limit, 0)
    monkeypatch.setattr(THRESHOLDS, "block", 12)


@pytest.mark.usefixtures("all_large")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("slope", [1, 1.0, 2, -3.0, 0.0, 2.0**17, -(2.0**30)])
def test_an_adjoint_times_a_number(kind, slope):
    """The number waits in the last sweep, if there is room; else the adjoint is only read."""
    for once, spare, factor in product(BOTH, BOTH, (1.0, 0.5, 2.0**15)):
        adjoint = np.linspace(1, 2, 30).astype(kind)
        before = adjoint.copy()
        swept = sweep(once=once)
        array, left, new, used = swept._multiply_by_number((adjoint, factor, spare, False), slope)
        np.testing.assert_array_equal(array * left, before * (factor * slope))
        assert array.dtype == kind
        waits = slope == 1 or (once and can_defer(factor * slope, adjoint))
        assert left == (factor * slope if waits else 1.0)
        assert (array is adjoint) == (waits or spare)
        if not spare:
            np.testing.assert_array_equal(adjoint, before)
        assert new == (spare or not waits)  # nothing else refers to the array
        assert used or not np.shares_memory(array, adjoint)


@pytest.mark.usefixtures("all_large")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("of_old", [None, 1.0, 2.0, -0.5])
def test_a_term_is_added_to_an_adjoint(kind, of_old):
    """It is added in place only to what is the sweep's own, or in the place of a term that is."""
    choices = product(BOTH, BOTH, BOTH, (1.0, 2.0, 0.25, -4.0), (30, 100))
    for once, new, owned, factor, size in choices:
        value, term = np.zeros(size, kind), np.arange(1, size + 1).astype(kind)
        old = np.arange(size)[::-1].astype(kind)
        before, given = old.copy(), term.copy()
        swept = sweep(once=once)
        expected = given * factor
        if of_old is not None:
            swept.bar[0] = old if of_old == 1 else Scaled(old, of_old)
            expected = expected + before * of_old
            if owned:
                swept.owned.add(0)
        stays = swept._add_large(node(value), (term, factor, new, False))
        found = swept.bar[0]
        np.testing.assert_array_equal(meaning(found), expected)
        array = found.array if type(found) is Scaled else found
        assert array.dtype == kind
        assert stays == (array is term)
        if of_old is None:
            assert array is term
            assert (0 in swept.owned) == new
            assert (type(found) is Scaled) == (factor != 1)
            continue
        assert 0 in swept.owned
        assert (array is old) == owned
        assert (array is term) == (new and not owned)
        if not owned:
            np.testing.assert_array_equal(old, before)
        if not new:
            np.testing.assert_array_equal(term, given)


@pytest.mark.usefixtures("all_large")
@pytest.mark.parametrize("once", [True, False])
@pytest.mark.parametrize(
    ("of_old", "factor"), [(1.0, 1.0), (2.0, 0.5), (2.0, 2.0**32), (1.0, -1.0)]
)
def test_an_array_that_is_added_to_itself_gets_another_factor(once, of_old, factor):
    array = np.arange(30.0)
    swept = sweep(once=once)
    swept.bar[0] = array if of_old == 1 else Scaled(array, of_old)
    swept._add_large(node(np.zeros(30)), (array, factor, False, False))
    np.testing.assert_array_equal(meaning(swept.bar[0]), np.arange(30.0) * (of_old + factor))
    np.testing.assert_array_equal(array, np.arange(30.0))
    waits = once and can_defer(of_old + factor, array)
    assert (type(swept.bar[0]) is Scaled and swept.bar[0].array is array) == waits


@pytest.mark.usefixtures("all_large")
@pytest.mark.parametrize("like", [X, F4])
@pytest.mark.parametrize("of_old", [None, 1.0, 2.0])
def test_elements_are_added_to_a_large_adjoint(like, of_old, monkeypatch):
    for factor, owned, spare, near in product((1.0, 4.0, -0.5, 2.0**40), BOTH, BOTH, (0, 100)):
        monkeypatch.setattr(THRESHOLDS, "near", near)
        swept, old, some = sweep(), np.ones_like(like), np.arange(1, 3).astype(like.dtype)
        before, given, expected = old.copy(), some.copy(), np.zeros_like(like)
        if of_old is not None:
            swept.bar[0] = old if of_old == 1 else Scaled(old, of_old)
            expected += old * of_old
            if owned:
                swept.owned.add(0)
        expected[1:3] += some * like.dtype.type(factor)
        values = (like, slice(1, 3))
        assert swept.add_in_place(
            ADD_IN_PLACE["getitem"], node(like), (some, factor, spare, False), values
        )
        found = swept.bar[0]
        np.testing.assert_array_equal(meaning(found), expected)
        assert 0 in swept.owned
        array = found.array if type(found) is Scaled else found
        assert array.dtype == like.dtype
        assert (array is old) == (of_old is not None and owned)
        if not owned:
            np.testing.assert_array_equal(old, before)
        if not spare:
            np.testing.assert_array_equal(some, given)


@pytest.mark.usefixtures("all_large")
def test_elements_that_cannot_be_added_in_place():
    add = ADD_IN_PLACE["getitem"]
    for like, adjoint, old in [
        (X, F4[:2], None), (X, node(X), None), (X, 2.0, None), (2.0, X[:2], None),
        (X, X[:2], F4), (X, X[:2], 1.0), (X, X[:2], Scaled(F4, 2.0)),
    ]:  # fmt: skip
        swept = sweep()
        swept.bar[0] = old
        term = (adjoint, 1.0, False, False)
        assert not swept.add_in_place(add, node(like), term, (like, slice(2)))
        assert swept.bar[0] is old
    THRESHOLDS.small = X.size
    assert not sweep().add_in_place(add, node(X), (X[:2], 1.0, False, False), (X, slice(2)))


BLOCKED = {  # a function of a node, and whether adjoint and slope are multiplied in blocks
    "a function": (np.sin, True),
    "a function and a number": (lambda x: np.power(x, 3), True),
    "a quotient": (lambda x: 2.0 / x, True),
    "a quotient of arrays": (lambda x: x / (X + 0.5), True),
    "its own value": (np.exp, False),
    "a broadcast factor": (lambda x: X[:, None] / x, False),
    "a sum": (np.cumsum, False),
}


@pytest.mark.usefixtures("all_large")
@pytest.mark.parametrize("name", BLOCKED)
def test_slopes_that_are_computed_in_blocks(name, monkeypatch):
    """Blocks of two elements give what the slope gives at once."""
    monkeypatch.setattr(THRESHOLDS, "block", 2)
    f, serves = BLOCKED[name]
    recorded = FastTape()
    with recorded:
        made = recorded[f(recorded.input(X + 3.0)).index]
    adjoint = np.cos(np.arange(1.0, 1 + np.size(made.value))).reshape(np.shape(made.value))
    k = [type(arg) for arg in made.args].index(TapeNode)
    for given in (None, np.empty_like(adjoint)):
        found = deferred_factors.multiply_by_blocks(made, k, adjoint, made.values(), given)
        assert (found is not None) == serves
        if serves:
            whole = made.primitive.partial(k, made.value, made.values())
            np.testing.assert_array_equal(found, adjoint * whole)
            assert given is None or found is given


# Locks. -------------------------------------------------------------------------------------------


def read_only(array):
    array.flags.writeable = False
    return array


LOCKED = {
    "an array": lambda: np.ones(9),
    "a view": lambda: np.ones(9)[2:],
    "a view of a view": lambda: np.ones((4, 3))[1:].reshape(-1)[:5],
    "read-only": lambda: read_only(np.ones(9)),
    "a read-only view": lambda: read_only(np.ones(9)[2:]),
    "a view of what is read-only": lambda: read_only(np.ones(9))[2:],
}
COPIED = {
    "another object's memory": lambda: np.frombuffer(bytearray(72)),
    "a view of another object's memory": lambda: np.frombuffer(bytearray(72))[1:],
    "a writeable view of what is read-only": lambda: _seal_base(np.ones(9)[2:]),
}


def _seal_base(view):
    view.base.flags.writeable = False
    return view


def bases(array):
    while isinstance(array, np.ndarray):
        yield array
        array = array.base


@pytest.mark.parametrize("name", LOCKED)
def test_arrays_that_are_locked_with_all_they_are_views_of(name):
    array, locks = LOCKED[name](), ArrayLocks()
    before = [one.flags.writeable for one in bases(array)]
    assert locks.lock(array) is array
    assert not any(one.flags.writeable for one in bases(array))
    assert locks.lock(array) is array
    second = ArrayLocks()
    assert second.lock(array) is array
    locks.release(unchanged=True)
    assert not any(one.flags.writeable for one in bases(array))  # the second one has them still
    second.release(unchanged=True)
    assert [one.flags.writeable for one in bases(array)] == before
    assert not is_locked()


@pytest.mark.parametrize("name", COPIED)
def test_arrays_that_are_copied_as_they_could_not_be_unlocked(name):
    array, locks = COPIED[name](), ArrayLocks()
    before = [one.flags.writeable for one in bases(array)]
    copied = locks.lock(array)
    assert not np.shares_memory(copied, array)
    np.testing.assert_array_equal(copied, array)
    assert [one.flags.writeable for one in bases(array)] == before
    locks.release(unchanged=True)
    assert not is_locked()


def test_a_view_of_a_locked_array_is_locked_and_both_are_unlocked():
    whole, locks = np.ones(9), ArrayLocks()
    part = whole[2:]
    locks.lock(whole)
    assert locks.lock(part) is part
    assert not part.flags.writeable
    locks.release(unchanged=True)
    assert whole.flags.writeable
    assert part.flags.writeable


# Slopes. ------------------------------------------------------------------------------------------


def test_a_rule_that_cannot_answer_is_asked_the_longer_way():
    """For a number it gives inf with a warning; for arrays an error says of which row it is."""
    with pytest.warns(ad.DomainWarning, match="sqrt"):
        assert ad.grad(np.sqrt)(0.0) == np.inf
    with np.errstate(divide="raise"), pytest.raises(ad.DomainError, match="sqrt"):
        ad.grad(lambda x: np.sum(np.sqrt(x)))(np.array([0.0, 4.0]))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(np.sin(x) * x + np.tanh(x) - 3.0),
        lambda x: np.arctan(np.cos(x)).reshape(2, 3)[1],
        lambda x: x @ np.sin(x),
    ],
)
def test_slopes_that_are_finite_where_their_values_are_need_not_be_computed(f, monkeypatch):
    recorded = FastTape()
    with recorded:
        f(recorded.input(X))
    assert not has_singular_slopes(recorded)  # what grows is known from here on
    monkeypatch.setattr(Primitive, "partial", refuse)
    assert not has_singular_slopes(recorded)


# Uses of the engine. ------------------------------------------------------------------------------


@pytest.mark.parametrize("forgotten", BOTH)
def test_a_use_whose_own_exit_was_interrupted_is_ended_by_the_outer_one(forgotten):
    outer = recording.SurelyEnded()
    use = outer.__enter__()
    use.__enter__()
    assert not gc.isenabled()
    assert POOL.allowed
    if forgotten:  # the exit came as far as this
        del recording._uses[use]
    outer.__exit__(None, None, None)
    assert gc.isenabled()
    assert not POOL.allowed
    assert not recording._uses


def test_the_last_of_several_uses_undoes_what_the_first_has_changed():
    with recording.SurelyEnded() as first, first:
        with recording.SurelyEnded() as second, second:
            assert not gc.isenabled()
        assert not gc.isenabled()
        assert POOL.allowed
    assert gc.isenabled()
    gc.disable()
    try:
        with recording.SurelyEnded() as use, use:
            pass
        assert not gc.isenabled()  # as the user wants it
    finally:
        gc.enable()


# Memory. ------------------------------------------------------------------------------------------

MASK = X > 0
READ = {  # whether the slope is found from the argument, and whether it is from the value
    "x + 1": (lambda x: x + 1.0, False, False),
    "x + c": (lambda x: x + X, False, False),
    "2 x": (lambda x: 2.0 * x, False, False),
    "c x": (lambda x: X * x, False, False),
    "x²": (lambda x: x * x, True, False),
    "x to the second": (lambda x: x**2, True, False),
    "x / 2": (lambda x: x / 2.0, False, False),
    "-x": (lambda x: -x, False, False),
    "sin": (np.sin, True, False),
    "arctan": (np.arctan, True, False),
    "exp": (np.exp, False, True),
    "the same elements": (lambda x: x[...], False, False),
    "another shape": (lambda x: np.reshape(x, (2, 3)), False, False),
    "some elements": (lambda x: x[1:], False, False),
    "chosen": (lambda x: np.where(MASK, x, 0.0), False, False),
    "larger": (lambda x: np.maximum(x, 1.0), True, False),
    "cumulative": (np.cumsum, False, False),
    "joined": (lambda x: np.concatenate([x, X]), False, False),
}


@pytest.mark.parametrize("name", READ)
@pytest.mark.parametrize("large", BOTH)
def test_large_values_that_no_rule_reads_are_let_go(name, large, monkeypatch):
    f, reads_argument, reads_value = READ[name]
    monkeypatch.setattr(THRESHOLDS, "small", 0 if large else 100)
    recorded = FastTape()
    with recorded:
        x = recorded.input(X) + 0.5
        v = f(x)
        np.testing.assert_array_equal(v.value, f(X + 0.5))
        argument, value = ref(x.value), ref(v.value)
        del x, v
        gc.collect()
        assert (argument() is not None) == (reads_argument or not large)
        assert (value() is not None) == (reads_value or not large)
        assert bool(recorded.large) == large


@pytest.mark.parametrize("large", BOTH)
def test_values_that_several_rules_read_are_kept_by_those_that_read_them(large, monkeypatch):
    monkeypatch.setattr(THRESHOLDS, "small", 0 if large else 100)
    recorded = FastTape()
    with recorded:
        x, y = recorded.input(X) + 0.5, recorded.input(X) + 1.5
        product = x * y
        total = product + y
        values = [ref(one.value) for one in (x, y, product, total)]
        del x, y, product, total
        gc.collect()
        kept = [True, True, False, False] if large else [True] * 4
        assert [value() is not None for value in values] == kept
