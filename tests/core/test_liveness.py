"""Which values a reverse sweep needs: a rule reads what its parameters name without underscore."""

import numpy as np
import pytest

import simpleautodiff as ad
from simpleautodiff.core.linear import LinearRule
from simpleautodiff.core.primitive import Primitive, find_values_read

RESULT = -1


def made(*partials):
    return Primitive("made", partials, lambda *args: args[0], "made", "made", "for a test")


@pytest.mark.parametrize(
    ("rule", "read"),
    [
        (lambda v, x, _y: v / x, {RESULT, 0}),
        (lambda _v, _x, y: y, {1}),
        (lambda _v, *args: args[0], {0, 1}),
        (lambda v, *_args: v, {RESULT}),
        (lambda v, _x, *rest: v * rest[0], {RESULT, 1}),
        (lambda v, _x, _y, scale=2.0: scale * v, {RESULT}),  # an option is no argument
        (lambda _v, *args, scale=2.0: scale * args[0], {0, 1}),
        (1, set()),
        (LinearRule(lambda t, x, _y: t * x, lambda t, _x, y: t * y), {0, 1}),
        (LinearRule(lambda t, _x, _y: t, lambda t, _x, _y: t), set()),
    ],
)
def test_values_that_a_rule_reads(rule, read):
    assert find_values_read(made(rule, 1), (0,)) == read
    assert find_values_read(made(1, rule), (1,)) == read
    assert find_values_read(made(1, rule), (0,)) == set()


def test_values_of_several_arguments_are_read_together():
    assert find_values_read(ad.mul.primitive, (0,)) == {1}
    assert find_values_read(ad.mul.primitive, (1,)) == {0}
    assert find_values_read(ad.mul.primitive, (0, 1)) == {0, 1}
    assert find_values_read(ad.exp.primitive, (0,)) == {RESULT}


def test_a_rule_may_have_options():
    @ad.primitive(lambda v, x, factor=2.0: factor * x, check=False)
    def squared(x):
        return x * x

    gradient = ad.grad(lambda x: squared(x)[1])(np.array([1.0, 2.0, 3.0]))
    assert gradient.tolist() == [0.0, 4.0, 0.0]
