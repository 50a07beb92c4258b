"""The usual names of an engine's parts: classes, attributes, operations, sweeps.

This file runs in the learner's process too: it imports nothing of the library.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from itertools import count
from typing import Any

VALUE_NAMES = ("value", "data", "val", "v", "primal", "real", "x", "a", "number", "item", "f")
DERIVATIVE_NAMES = (
    *("grad", "partial_derivative", "derivative", "adjoint", "bar", "dot", "gradient", "deriv"),
    *("der", "d", "adj", "tangent", "dual", "eps", "dx", "dv", "df", "b", "grad_value", "_grad"),
    *("prime", "partial"),
)
BACKWARD_NAMES = (
    *("backward", "reverse", "backprop", "backpropagate", "reverse_mode", "back", "derive"),
    *("backward_pass", "reverse_sweep", "get_gradients", "compute_gradients", "gradients"),
)
FORWARD_NAMES = ("forward", "forward_mode", "forward_sweep", "forward_pass")
GRADIENT_NAMES = (
    *("grad", "gradient", "derivative", "derivatives", "differentiate", "diff", "jacobian"),
    *("value_and_grad", "value_and_gradient", "autograd", "autodiff"),
)
INPUT_NAMES = (
    *("input", "var", "variable", "new_var", "new_variable", "leaf", "new", "watch", "track"),
    *("make_input", "add_input", "new_input", "parameter", "param", "unit", "scalar", "node"),
)
WATCH_NAMES = ("watch", "track", "register")
COMPUTE_NAMES = ("forward", "evaluate", "eval", "compute")
RESET_NAMES = (
    *("zero_grad", "zero_grads", "reset", "reset_grad", "reset_grads", "clear_grads", "clear"),
    *("zero_gradients", "reset_tape", "clear_tape", "reset_graph", "clear_graph"),
)
LABEL_NAMES = ("name", "label", "key", "symbol")  # of what tells inputs apart
TRACKING_NAMES = ("requires_grad", "autograd", "requires_gradient", "trainable", "track")
CLASS_NAMES = ("Node", "Value", "Var", "Variable", "Scalar", "Tensor", "Number", "Dual")
PYTHON_OPERATORS: dict[str, Callable[..., Any]] = {
    **{"add": operator.add, "sub": operator.sub, "mul": operator.mul},
    **{"div": operator.truediv, "pow": operator.pow, "neg": operator.neg, "iadd": operator.iadd},
}
DUNDERS = {"div": "__truediv__"}
SPELLINGS = {
    **{"sub": ("sub", "subtract", "minus"), "mul": ("mul", "multiply", "times", "prod")},
    **{"add": ("add", "plus"), "div": ("div", "divide", "truediv"), "neg": ("neg", "negative")},
    **{"pow": ("pow", "power", "pow_"), "log": ("log", "ln"), "abs": ("abs", "absolute", "abs_")},
    **{"max": ("maximum", "max", "max_"), "iadd": ("iadd",)},
}
FUNCTIONS_OF_NUMBERS: dict[str, Callable[..., Any]] = {
    **{name: getattr(math, name) for name in ("sin", "cos", "exp", "log", "sqrt", "tanh")},
    **{"abs": abs, "max": max, "relu": lambda x: max(x, 0.0)},
}
INPUT_COUNT = count(1)  # inputs that want a name are x1, x2, ...


class NoEngine(Exception):
    """Raised when nothing in a module looks like an engine."""


def spellings(operation: str) -> tuple[str, ...]:
    """Return the names that an operation goes by."""
    return SPELLINGS.get(operation, (operation,))


def first(names: tuple[str, ...], holder: Any) -> Any:
    """Return the first of some attributes that is callable."""
    for name in names:
        found = holder.get(name) if isinstance(holder, dict) else getattr(holder, name, None)
        if callable(found):
            return found
    return None
