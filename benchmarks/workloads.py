"""The functions that are differentiated, and their right answers in plain floats.

Every function is written once, with +, * and (the paper's) log and sin; each contestant gets the
same code and brings its own kind of number.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Point = tuple[float, ...]
Answer = tuple[float, tuple[float, ...]]  # the value, and the gradient
F = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Workload:
    """A function, the point where it is differentiated, and what must come out."""

    f: F
    point: Point
    operations: int
    answer: Answer


def paper(log: Callable[[Any], Any], sin: Callable[[Any], Any]) -> Workload:
    """Return the paper's function with the log and sin of one contestant."""

    def f(x1: Any, x2: Any) -> Any:
        return log(x1) + x1 * x2 - sin(x2)

    value = math.log(2.0) + 2.0 * 5.0 - math.sin(5.0)
    return Workload(f, (2.0, 5.0), 5, (value, (1 / 2.0 + 5.0, 2.0 - math.cos(5.0))))


def chain(operations: int) -> Workload:
    """Return y = y*x + x, again and again: as deep as it is long, with all of it using x.

    x is just below 1, so that neither values nor adjoints underflow or overflow at any length.
    """
    rounds = operations // 2
    point = 1 - 1e-6

    def f(x: Any) -> Any:
        y = x
        for _ in range(rounds):
            y = y * x + x
        return y

    value, slope = point, 1.0
    for _ in range(rounds):
        value, slope = value * point + point, slope * point + value + 1
    return Workload(f, (point,), 2 * rounds, (value, (slope,)))


def layered(operations: int, width: int = 10, seed: int = 1) -> Workload:
    """Return a random graph in layers: sums of two nodes, then products with random inputs.

    Layers of sums and of products alternate. A sum adds two random nodes of the layer before, and
    a product multiplies a sum by a random input. The choice is by permutations, so every node is
    used and reaches the result. The inputs are close to 1/2, so a sum times an input is almost a
    mean: values and adjoints stay close to where they began, at any depth.
    """
    chooser = random.Random(seed)
    places = range(width)
    layers = [
        (
            chooser.sample(places, width),
            chooser.sample(places, width),
            chooser.choices(places, k=width),
        )
        for _ in range((operations - width + 1) // (2 * width))
    ]
    point = tuple(0.5 + 1e-6 * (i / width - 0.5) for i in places)

    def f(*inputs: Any) -> Any:
        nodes: Any = inputs
        for left, right, factors in layers:
            sums = [nodes[a] + nodes[b] for a, b in zip(left, right, strict=True)]
            nodes = [node * inputs[i] for node, i in zip(sums, factors, strict=True)]
        total = nodes[0]
        for node in nodes[1:]:
            total = total + node
        return total

    count = len(layers) * 2 * width + width - 1
    return Workload(f, point, count, _layered_answer(layers, point))


def _layered_answer(layers: list[tuple[list[int], list[int], list[int]]], point: Point) -> Answer:
    """Differentiate a layered graph by hand: the reverse sweep, layer by layer."""
    nodes = list(point)
    all_sums = []
    for left, right, factors in layers:
        sums = [nodes[a] + nodes[b] for a, b in zip(left, right, strict=True)]
        nodes = [node * point[i] for node, i in zip(sums, factors, strict=True)]
        all_sums.append(sums)
    gradient = [0.0] * len(point)
    adjoints = [1.0] * len(point)
    for (left, right, factors), sums in zip(reversed(layers), reversed(all_sums), strict=True):
        before = [0.0] * len(point)
        for a, b, i, adjoint, node in zip(left, right, factors, adjoints, sums, strict=True):
            gradient[i] += adjoint * node
            before[a] += adjoint * point[i]
            before[b] += adjoint * point[i]
        adjoints = before
    return sum(nodes), tuple(map(sum, zip(gradient, adjoints, strict=True)))


def disagreement(answer: Answer, expected: Answer) -> float:
    """Return the largest relative error among the value and the derivatives."""
    found, wanted = (answer[0], *answer[1]), (expected[0], *expected[1])
    if len(found) != len(wanted):
        return math.inf
    errors = [abs(a - b) / abs(b) for a, b in zip(found, wanted, strict=True)]
    return math.inf if any(map(math.isnan, errors)) else max(errors)
