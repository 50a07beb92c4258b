"""A compiled function against the function itself, in every way to run it."""

import numpy as np

import simpleautodiff as ad

TIERS = (None, "numpy", "tape", "cheap", "optimised")


def answers(f, calls, tier=None, same=True):
    """Call a function and its compiled twin; assert that they answer alike."""
    jitted = ad.jit(f, tier=tier)
    for args in calls:
        want, got = f(*args), jitted(*args)
        if same:
            assert type(got) is type(want)
        np.testing.assert_array_equal(got, want)
    return jitted
