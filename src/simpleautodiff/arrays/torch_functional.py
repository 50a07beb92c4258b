"""Functions of `torch.nn.functional` on nodes, with PyTorch's arguments."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from simpleautodiff.errors import ArgumentError, RuleError, cite_line
from simpleautodiff.rules.array.products import swap
from simpleautodiff.rules.array.shapes import shape_of
from simpleautodiff.rules.scalar import exponential, piecewise, special

Function = Callable[..., Any]


def _not_in_place(f: Function) -> Function:
    """Return a function that refuses PyTorch's `inplace=True`."""

    def function(input: Any, *args: Any, inplace: bool = False, **kwargs: Any) -> Any:
        if inplace:
            raise RuleError(f"inplace=True of a node is not answered: leave it out{cite_line()}")
        return f(input, *args, **kwargs)

    return function


def _linear(input: Any, weight: Any, bias: Any = None) -> Any:
    product = np.matmul(input, swap(weight))
    return product if bias is None else product + bias


def _softplus(input: Any, beta: float = 1.0, threshold: float = 20.0) -> Any:
    return exponential.softplus(beta * input) / beta


def _leaky_relu(input: Any, negative_slope: float = 0.01) -> Any:
    return np.where(input > 0, input, negative_slope * input)


def _elu(input: Any, alpha: float = 1.0) -> Any:
    return np.where(input > 0, input, alpha * np.expm1(input))


def _gelu(input: Any, approximate: str = "none") -> Any:
    if approximate == "tanh":
        inner = math.sqrt(2 / math.pi) * (input + 0.044715 * input**3)
        return 0.5 * input * (1 + np.tanh(inner))
    return 0.5 * input * (1 + special.erf(input / math.sqrt(2)))


def _log_softmax(input: Any, dim: Any = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    if dim is None:
        raise ArgumentError(f"softmax and log_softmax of a node need dim={cite_line()}")
    shifted = input - np.max(input, axis=dim, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axis=dim, keepdims=True))


def _softmax(input: Any, dim: Any = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    return np.exp(_log_softmax(input, dim))


def _reduce(losses: Any, reduction: str) -> Any:
    reductions: dict[str, Function] = {"mean": np.mean, "sum": np.sum, "none": lambda x: x}
    if reduction not in reductions:
        raise ArgumentError(f"reduction is 'mean', 'sum' or 'none'; got {reduction!r}{cite_line()}")
    return reductions[reduction](losses)


def _loss(f: Function) -> Function:
    """Return a loss with PyTorch's arguments; unsupported options are refused."""

    def loss(input: Any, target: Any, *, reduction: str = "mean", **options: Any) -> Any:
        others = [name for name, value in options.items() if value not in (None, 0.0, -100)]
        if others:
            raise RuleError(f"{others[0]}= of a loss of nodes is not answered{cite_line()}")
        return _reduce(f(input, target), reduction)

    return loss


def _nll(input: Any, target: Any) -> Any:
    if len(shape_of(input)) != 2:
        raise RuleError(f"the loss of nodes takes one row for each example{cite_line()}")
    rows = np.arange(shape_of(input)[0])
    return -input[rows, np.asarray(target)]


def _cross_entropy(input: Any, target: Any) -> Any:
    return _nll(_log_softmax(input, -1), target)


FUNCTIONAL: dict[str, Function] = {
    "linear": _linear,
    "relu": _not_in_place(piecewise.relu),
    "leaky_relu": _not_in_place(_leaky_relu),
    "elu": _not_in_place(_elu),
    "silu": _not_in_place(lambda x: x * exponential.sigmoid(x)),
    "gelu": _gelu,
    "softplus": _softplus,
    "logsigmoid": lambda x: -exponential.softplus(-x),
    "log_sigmoid": lambda x: -exponential.softplus(-x),
    "softmax": _softmax,
    "log_softmax": _log_softmax,
    "mse_loss": _loss(lambda x, y: (x - y) ** 2),
    "l1_loss": _loss(lambda x, y: np.abs(x - y)),
    "nll_loss": _loss(_nll),
    "cross_entropy": _loss(_cross_entropy),
    "binary_cross_entropy_with_logits": _loss(lambda x, y: exponential.softplus(x) - x * y),
}
