"""lstm: the loss of a recurrent network whose weights are diagonal matrices."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import simpleautodiff as ad


def sigmoid(z: Any) -> Any:
    """Return 1 / (1 + exp(-z))."""
    return 1 / (1 + np.exp(-z))


def loss(main: Any, extra: Any, state: Any, sequence: Any) -> Any:
    """Return how badly each character's bits foretell those of the next one."""
    layers, width = len(main) // 2, len(extra[0])
    weights, biases = main[0::2].reshape(layers, 4, width), main[1::2].reshape(layers, 4, width)
    hidden, cells = list(state[0::2]), list(state[1::2])
    total = 0.0
    for now, following in itertools.pairwise(sequence):
        z = now * extra[0]
        for k in range(layers):
            w, b = weights[k], biases[k]
            forget, write = sigmoid(z * w[0] + b[0]), sigmoid(hidden[k] * w[1] + b[1])
            out, change = sigmoid(z * w[2] + b[2]), np.tanh(hidden[k] * w[3] + b[3])
            cells[k] = cells[k] * forget + write * change
            z = hidden[k] = out * np.tanh(cells[k])
        y = z * extra[1] + extra[2]
        total = total + np.sum(following * (y - np.log(2 + np.sum(np.exp(y)))))
    return -total / ((len(sequence) - 1) * width)


FUNCTIONS = {"objective": ad.jit(loss), "jacobian": ad.jit(ad.grad(loss, (0, 1)))}


def read(given: Any) -> tuple[Any, ...]:
    """Make the four arrays."""
    names = ("main_params", "extra_params", "state", "sequence")
    return tuple(np.array(given[name], dtype=float) for name in names)


def write(name: str, value: Any) -> Any:
    """Write a gradient row after row, the extra parameters last."""
    return float(value) if name == "objective" else np.concatenate([*map(np.ravel, value)]).tolist()


def workloads(quick: bool = False, text: str | None = None) -> Iterator[tuple[str, Any]]:
    """Return networks for the first characters of a text file, or of random ones."""
    chance = np.random.default_rng(31337)
    if text is None:
        characters = "".join(map(chr, chance.choice([*range(32, 127), 0x2019], size=8192)))
    else:
        characters = Path(text).read_text(encoding="utf-8")
    for layers, count in [(2, 64), (2, 128)] if quick else [(2, 1024), (4, 4096)]:
        yield f"l{layers}_c{count}", generate(layers, characters[:count], chance)


def generate(layers: int, characters: str, chance: np.random.Generator) -> dict[str, Any]:
    """Draw parameters, and write characters as bits."""
    codes = [ord(character) for character in characters]
    width = math.ceil(math.log2(max(codes)))
    sequence = [[float(digit) for digit in f"{code:0{width}b}"] for code in codes]
    shapes = {"state": (2 * layers, width), "main_params": (2 * layers, 4 * width)}
    shapes["extra_params"] = (3, width)
    drawn = {name: chance.random(shape).tolist() for name, shape in shapes.items()}
    return {**drawn, "sequence": sequence}
