"""Every number the paper shows about log(x1) + x1*x2 - sin(x2) at (2, 5), errata applied."""

import math

import pytest

from simpleautodiff import Node, add, forward, log, mul, reverse, sin, sub


@pytest.fixture
def graph():
    x1, x2 = Node(2), Node(5)
    v1 = log(x1)
    v2 = mul(x1, x2)
    v4 = add(v1, v2)
    v3 = sin(x2)
    v5 = sub(v4, v3)
    return {"x1": x1, "x2": x2, "v1": v1, "v2": v2, "v3": v3, "v4": v4, "v5": v5}


def test_forward(graph):
    forward(graph["x1"])
    assert graph["v5"].partial_derivative == 5.5


def test_reverse(graph):
    bar = reverse(graph["v5"])
    assert bar[graph["x1"]] == 5.5
    assert bar[graph["x2"]] == pytest.approx(2 - math.cos(5), rel=1e-15)
