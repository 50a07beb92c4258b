"""What of the arguments is part of a compiled program, and what may change from call to call."""

import numpy as np
import pytest

import simpleautodiff as ad
from tiers import TIERS, answers

pytestmark = pytest.mark.filterwarnings("ignore:llvmlite is not installed:RuntimeWarning")


record = np.dtype([("a", float), ("b", float)])


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize(
    ("f", "others"),
    [
        (lambda x, n: x * n, [np.int64(3), np.int64(4), np.int64(5)]),
        (lambda x, n: x if n else -x, [np.True_, np.False_, np.True_]),
        (lambda x, n: x * n[0], [np.array([k, 2], object) for k in (1, 5, 7)]),
        (lambda x, n: x if n[0] == "a" else -x, [np.array([k]) for k in "aba"]),
        (lambda x, n: n["a"] * x, [np.array([(k, 2.0)], record) for k in (1.0, 3.0, 4.0)]),
        (lambda x, n: n * n + x, [1 + 2j, 1 + 3j, 4j]),
    ],
)
def test_arguments_that_are_no_floats_are_never_taken_for_others(f, others, tier):
    answers(f, [(2.0, other) for other in others for _ in range(3)], tier)


@pytest.mark.parametrize("tier", TIERS)
def test_a_list_that_is_changed_later_is_recorded_as_it_was(tier):
    def f(x):
        places = [0, 1]
        first = x[places]
        places[0] = 2
        return first + x[places]

    answers(f, [(np.arange(3.0) + k,) for k in range(4)], tier)


@pytest.mark.parametrize("tier", TIERS)
def test_constant_results_belong_to_the_caller(tier):
    jitted = ad.jit(lambda x: (x * 2, np.zeros(3)), tier=tier)
    for _ in range(4):
        _, zeros = jitted(1.0)
        assert not zeros.any()
        zeros[0] = 5.0


@pytest.mark.parametrize("tier", TIERS)
def test_what_is_done_to_a_list_or_a_dict_is_done_at_every_call(tier):
    def f(numbers, names):
        numbers.append(1.0)
        names["z"] = numbers[0]

    jitted = ad.jit(f, tier=tier)
    for _ in range(3):
        numbers, names = [5.0], {"z": 2.0}
        jitted(numbers, names)
        assert numbers == [5.0, 1.0]
        assert names == {"z": 5.0}


class Model:
    def __init__(self, weight):
        self.weight, self.calls, self.itself = weight, 0, self

    def product(self, x):
        return self.weight * x

    def counted(self, x):
        self.calls += 1
        return self.weight * x


@pytest.mark.parametrize("tier", TIERS)
def test_what_an_object_holds_is_part_of_the_signature(tier):
    product, model = ad.jit(Model.product, tier=tier), Model(2.0)
    assert [product(model, 3.0) for _ in range(3)] == [6.0] * 3
    model.weight = 5.0
    assert [product(model, 3.0) for _ in range(3)] == [15.0] * 3
    model.weight = np.array([1.0, 2.0])
    assert [product(model, 3.0).tolist() for _ in range(3)] == [[3.0, 6.0]] * 3
    model.weight[0] = 7.0
    assert product(model, 3.0).tolist() == [21.0, 6.0]
    counted, model = ad.jit(Model.counted, tier=tier), Model(2.0)
    assert [counted(model, 3.0) for _ in range(4)] == [6.0] * 4


def test_an_iterator_is_used_up():
    numbers, jitted = iter([1.0, 2.0, 3.0, 4.0]), ad.jit(lambda x, more: x * next(more))
    assert [jitted(2.0, numbers) for _ in range(4)] == [2.0, 4.0, 6.0, 8.0]


@pytest.mark.parametrize("tier", TIERS)
def test_the_result_is_put_into_what_it_is_a_view_of(tier):
    jitted = ad.jit(lambda x: x[::-1], tier=tier)
    for _ in range(4):
        x = np.arange(5.0)
        assert jitted(x, out=x) is x
        assert x.tolist() == [4.0, 3.0, 2.0, 1.0, 0.0]


def test_a_number_given_by_name_is_an_input():
    calls = []

    def f(x, y):
        calls.append(y)
        return x * y

    jitted = ad.jit(f)
    assert [jitted(2.0, y=float(y)) for y in range(10)] == [2.0 * y for y in range(10)]
    assert len(calls) < 5
