"""A random graph of single numbers that is not only sums and products, and its derivative by hand.

Layers of ten nodes: sums of two nodes times an input, twice, as in workloads.layered; then each
node a little curved: a sine or an exponential of it is added and, the next time, subtracted, or it
is divided by two inputs, whose sum is almost 1. So values and adjoints stay where they began, at
any size. Of seven nodes one is a sine, an exponential or a quotient.
"""

from __future__ import annotations

import math
import random
from typing import Any, NamedTuple

from workloads import Answer, F, Point, Workload

WIDTH = 10
CURVED = 1e-3  # how much of a sine or an exponential is added
SINE, EXP, QUOTIENT = range(3)
OPERATIONS = 4 * WIDTH + 3 * WIDTH  # of two linear layers and a curved one; a quotient has two


class Linear(NamedTuple):
    """Sums of two nodes, times an input."""

    left: list[int]
    right: list[int]
    factors: list[int]


class Curved(NamedTuple):
    """What is done to each node, with which two inputs if it is a quotient, and the sign."""

    kinds: list[int]
    first: list[int]
    second: list[int]
    amount: float


def mixed_graph(operations: int, sin: F, exp: F, seed: int = 1) -> Workload:
    """Return a graph with the sine and the exponential of one contestant."""
    layers = _layers(operations, random.Random(seed))
    point = tuple(0.5 + 1e-6 * (i / WIDTH - 0.5) for i in range(WIDTH))

    def f(*inputs: Any) -> Any:
        nodes: Any = inputs
        for layer in layers:
            nodes = _next(layer, nodes, inputs, sin, exp)
        total = nodes[0]
        for node in nodes[1:]:
            total = total + node
        return total

    count = sum(_count(layer) for layer in layers) + WIDTH - 1
    return Workload(f, point, count, _answer(layers, point))


def _layers(operations: int, chooser: random.Random) -> list[Linear | Curved]:
    places = range(WIDTH)
    layers: list[Linear | Curved] = []
    for k in range(max(1, operations // OPERATIONS)):
        for _ in range(2):
            left, right = chooser.sample(places, WIDTH), chooser.sample(places, WIDTH)
            layers.append(Linear(left, right, chooser.choices(places, k=WIDTH)))
        kinds = chooser.choices((SINE, EXP, QUOTIENT), k=WIDTH)
        pairs = [chooser.choices(places, k=WIDTH) for _ in range(2)]
        layers.append(Curved(kinds, *pairs, CURVED if k % 2 else -CURVED))
    return layers


def _count(layer: Linear | Curved) -> int:
    if isinstance(layer, Linear):
        return 2 * WIDTH
    return sum({SINE: 3, EXP: 4, QUOTIENT: 2}[kind] for kind in layer.kinds)


def _next(layer: Linear | Curved, nodes: Any, inputs: Any, sin: F, exp: F) -> list[Any]:
    if isinstance(layer, Linear):
        sums = [nodes[a] + nodes[b] for a, b in zip(layer.left, layer.right, strict=True)]
        return [node * inputs[i] for node, i in zip(sums, layer.factors, strict=True)]
    result = []
    for node, kind, i, j in zip(nodes, layer.kinds, layer.first, layer.second, strict=True):
        if kind == QUOTIENT:
            result.append(node / (inputs[i] + inputs[j]))
        else:
            result.append(node + layer.amount * (sin(node) if kind == SINE else exp(-node)))
    return result


def _answer(layers: list[Linear | Curved], point: Point) -> Answer:
    """Differentiate by hand: the reverse sweep, layer by layer."""
    kept = [list(point)]
    for layer in layers:
        kept.append(_next(layer, kept[-1], point, math.sin, math.exp))
    gradient, adjoints = [0.0] * WIDTH, [1.0] * WIDTH
    for layer, nodes in zip(reversed(layers), reversed(kept[:-1]), strict=True):
        back = _linear_back if isinstance(layer, Linear) else _curved_back
        adjoints = back(layer, nodes, adjoints, gradient, point)  # type: ignore[arg-type]
    return sum(kept[-1]), tuple(map(sum, zip(gradient, adjoints, strict=True)))


def _linear_back(
    layer: Linear, nodes: list[float], adjoints: list[float], gradient: list[float], point: Point
) -> list[float]:
    before = [0.0] * WIDTH
    for a, b, i, adjoint in zip(*layer, adjoints, strict=True):
        gradient[i] += adjoint * (nodes[a] + nodes[b])
        before[a] += adjoint * point[i]
        before[b] += adjoint * point[i]
    return before


def _curved_back(
    layer: Curved, nodes: list[float], adjoints: list[float], gradient: list[float], point: Point
) -> list[float]:
    before = []
    rows = zip(layer.kinds, layer.first, layer.second, nodes, adjoints, strict=True)
    for kind, i, j, node, adjoint in rows:
        if kind == QUOTIENT:
            divisor = point[i] + point[j]
            gradient[i] -= adjoint * node / divisor**2
            gradient[j] -= adjoint * node / divisor**2
            before.append(adjoint / divisor)
        else:
            slope = math.cos(node) if kind == SINE else -math.exp(-node)
            before.append(adjoint * (1 + layer.amount * slope))
    return before
