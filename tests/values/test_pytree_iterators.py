"""Structures that are put together again from one iterator take what is theirs, and no more."""

import numpy as np
import pytest

from simpleautodiff.values.pytree import flatten


@pytest.mark.parametrize(
    "first", [1.0, (1.0, 2.0), (np.float64(1), np.ones(2)), {"a": 1.0}, [1.0, (2.0, 3.0)], None]
)
def test_several_structures_share_an_iterator(first):
    (leaves, rebuild), (others, rebuild_others) = flatten(first), flatten((5.0, 6.0))
    new = iter([*leaves, *others, 7.0])
    rebuilt = rebuild(new)
    assert type(rebuilt) is type(first)
    assert rebuild_others(new) == (5.0, 6.0)
    assert list(new) == [7.0]
