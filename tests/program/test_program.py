"""Recorded programs: what they print."""

import math

import simpleautodiff as ad


def test_programs_can_be_printed():
    text = str(ad.trace(lambda x, y: ad.log(x) * y, 2.0, 3.0))
    assert text.splitlines()[2:] == [
        f"v1 = log(x) = {math.log(2)}",
        f"v2 = mul(v1, y) = {math.log(2) * 3}",
    ]
