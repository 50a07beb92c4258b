"""Sums of multiples in blocks: every place for the result, and arrays that are the same."""

from itertools import product

import numpy as np
import pytest

from simpleautodiff.fast.cache_blocks import add_scaled
from simpleautodiff.fast.thresholds import THRESHOLDS

FACTORS = (1.0, -1.0, 0.5, -4.0)


@pytest.mark.parametrize("place", ["new", "total", "array", "other"])
@pytest.mark.parametrize("same", [False, True])
@pytest.mark.parametrize("near", [0, 12, 1000])
def test_a_sum_of_multiples_whichever_array_it_is_put_into(place, same, near, monkeypatch):
    monkeypatch.setattr(THRESHOLDS, "near", near)
    monkeypatch.setattr(THRESHOLDS, "block", 2)
    for factor, spare, shape in product(FACTORS, (False, True), [(12,), (13,), (3, 4)]):
        total = np.arange(float(np.prod(shape))).reshape(shape)
        array = total if same else total[::-1] * 2.0
        kept = array.copy()
        expected = total + factor * array
        out = {"new": None, "total": total, "array": array, "other": np.ones(shape)}[place]
        found = add_scaled(total, array, factor, out, spare)
        assert out is None or found is out
        np.testing.assert_array_equal(found, expected)
        if found is not array and not spare:
            np.testing.assert_array_equal(array, kept)
