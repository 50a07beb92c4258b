"""Pull adjoints of plain NumPy values back through the commonest rows: a function for each.

The rules of a row are written with recorded operations, so that they can be differentiated again.
For plain values a few calls of NumPy do the same. Each function here carries the adjoint of a node
back to its arguments, and tells whether it could; if not, the rules of the row are used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from simpleautodiff.core.level import REFUSED
from simpleautodiff.core.linear import ZERO, pull
from simpleautodiff.core.node import Constant, Node, TapeNode
from simpleautodiff.core.primitive import Primitive
from simpleautodiff.fast.faster_values import FASTER, is_basic, spread_sum

NUMPY_TYPES = {np.ndarray, np.float64}
_DOUBLE = np.dtype(float)
REAL_TYPES = {*NUMPY_TYPES, float, int}


class AdjointSums(Protocol):
    """What these functions need of a sweep: the adjoints by index, and which of them it owns."""

    bar: list[Any]
    owned: set[int]

    def add(self, arg: Node, term: Any) -> None:
        """Add a contribution to the adjoint of an argument."""

    def own(self, arg: Node, adjoint: Any) -> Any:
        """Return the adjoint of an argument, to be added to in place; None if it cannot be."""

    def needs_masks(self, arg: Node) -> bool:
        """Tell whether structural zeros in the adjoint of an argument must be tracked."""

    def is_free_of_masks(self, arg: Node) -> bool:
        """Tell whether they need not be, if that is known without a look at every slope."""


roll_back = FASTER["roll"](np.roll)
Pull = Callable[[AdjointSums, Node, Any], bool]


def pull_add(sweep: AdjointSums, node: Node, adjoint: Any) -> bool:
    """Carry an adjoint back through x + y."""
    a, b = node.args
    if type(a) is TapeNode:
        sweep.add(a, adjoint)
    if type(b) is TapeNode:
        sweep.add(b, adjoint)
    return True


def pull_sub(sweep: AdjointSums, node: Node, adjoint: Any) -> bool:
    """Carry an adjoint back through x - y."""
    a, b = node.args
    if type(a) is TapeNode:
        sweep.add(a, adjoint)
    if type(b) is TapeNode:
        sweep.add(b, -adjoint)
    return True


def pull_mul(sweep: AdjointSums, node: Node, adjoint: Any) -> bool:
    """Carry an adjoint back through x * y."""
    a, b = node.args
    if type(a) is TapeNode:
        sweep.add(a, adjoint * (b.value if type(b) is TapeNode or type(b) is Constant else b))
    if type(b) is TapeNode:
        sweep.add(b, adjoint * (a.value if type(a) is TapeNode or type(a) is Constant else a))
    return True


def pull_div(sweep: AdjointSums, node: Node, adjoint: Any) -> bool:
    """Carry an adjoint back through x / y, with one reciprocal."""
    (a, b), v = node.args, node.value
    y = b.value if type(b) is TapeNode else b
    if type(adjoint) not in NUMPY_TYPES or type(v) not in NUMPY_TYPES or type(y) not in REAL_TYPES:
        return False
    if type(y) is np.ndarray:
        if y.dtype != v.dtype:
            return False
        slope = np.reciprocal(y) if y.dtype.kind == "f" else 1 / y
    elif y:
        slope = 1 / y
    else:
        return False
    if type(a) is TapeNode:
        sweep.add(a, adjoint * slope)
    if type(b) is TapeNode:
        sweep.add(b, adjoint * (-v * slope))
    return True


def pull_unary(sweep: AdjointSums, node: Node, adjoint: Any) -> bool:
    """Carry an adjoint back through a function of one number, by its rule."""
    (arg,) = node.args
    try:
        slope = node.primitive.partials[0](node.value, arg.value)  # type: ignore[union-attr]
    except REFUSED:  # which the row explains, or turns into NumPy's inf or nan
        return False
    term = adjoint * slope if type(slope) is np.ndarray else pull(slope, adjoint)
    if term is not ZERO:
        sweep.add(arg, term)
    return True


def pull_neg(sweep: AdjointSums, node: Node, adjoint: Any) -> bool:
    """Carry an adjoint back through -x."""
    sweep.add(node.args[0], -adjoint)
    return True


def pull_power(sweep: AdjointSums, node: Node, adjoint: Any) -> bool:
    """Carry an adjoint back through x to the power of a number, which is not 0."""
    (base, exponent), power = node.args, node.value
    if (type(exponent) is not int and type(exponent) is not float) or not exponent:
        return False
    x = base.value
    if exponent == 2:
        slope = 2 * x
    elif type(x) is np.ndarray and type(power) is np.ndarray and x.dtype is power.dtype:
        try:
            slope = exponent * x ** (exponent - 1)
        except REFUSED:  # which the row explains, or turns into NumPy's inf or nan
            return False
    else:
        return False
    sweep.add(base, adjoint * slope)
    return True


def pull_getitem(sweep: AdjointSums, node: Node, adjoint: Any) -> bool:
    """Add the adjoints of elements to those of the array that they were taken from."""
    arg, index = node.args
    kind, place = type(index), arg.index
    if kind is int and place in sweep.owned and type(adjoint) is np.float64:
        total = sweep.bar[place]
        if type(total) is np.ndarray and total.dtype is _DOUBLE:
            total[index] += adjoint
            return True
    total = sweep.own(arg, adjoint) if kind is not Constant else None
    if total is None:
        return False
    if kind is not int and kind is not slice and not is_basic(index):
        np.add.at(total, index, adjoint)
        return True
    part = total[index]
    if type(part) is np.ndarray:
        np.add(part, adjoint, part)
    else:
        total[index] = part + adjoint
    return True


def pull_set_item(sweep: AdjointSums, node: Node, adjoint: Any) -> bool:
    """Give the adjoints of written elements to the written value, the others to the array.

    An adjoint that nothing else refers to is passed on, with zeros for the overwritten elements.
    """
    x, value, index = node.args
    if type(adjoint) is not np.ndarray or type(index) is Constant:
        return False
    if type(x) is TapeNode and sweep.needs_masks(x):
        return False
    owned = node.index in sweep.owned
    if type(value) is TapeNode:
        part = adjoint[index]
        sweep.add(value, part.copy() if owned and type(part) is np.ndarray else part)
    if type(x) is TapeNode:
        rest = adjoint if owned else adjoint.copy()
        rest[index] = 0
        sweep.add(x, rest)
        if sweep.bar[x.index] is rest:
            sweep.owned.add(x.index)
    return True


def pull_concatenate(sweep: AdjointSums, node: Node, adjoint: Any) -> bool:
    """Give each part its own section of the adjoint."""
    (axis, bounds), *parts = node.args
    if type(adjoint) is not np.ndarray:
        return False
    ahead = (slice(None),) * axis
    for k, part in enumerate(parts):
        if type(part) is TapeNode:
            sweep.add(part, adjoint[(*ahead, slice(bounds[k], bounds[k + 1]))])
    return True


def pull_stack(sweep: AdjointSums, node: Node, adjoint: Any) -> bool:
    """Give each number the adjoint of its element."""
    if type(adjoint) is not np.ndarray:
        return False
    bar = sweep.bar
    for arg, term in zip(node.args, adjoint, strict=True):
        if type(arg) is not TapeNode:
            continue
        if type(term) is np.float64 and type(arg.value) is np.float64:  # written out, as above all
            old = bar[arg.index]
            bar[arg.index] = term if old is None else old + term
        else:
            sweep.add(arg, term)
    return True


def pull_reshape(sweep: AdjointSums, node: Node, adjoint: Any) -> bool:
    """Give the adjoint of a reshaped array its old shape."""
    arg = node.args[0]
    x = arg.value
    if type(adjoint) is not np.ndarray or type(x) not in REAL_TYPES:
        return False
    sweep.add(arg, adjoint.reshape(x.shape) if type(x) is np.ndarray else adjoint.flat[0])
    return True


def pull_transpose(sweep: AdjointSums, node: Node, adjoint: Any) -> bool:
    """Give the axes of an adjoint their old order."""
    arg, axes = node.args
    if type(adjoint) is not np.ndarray or not (axes is None or axes == (1, 0)):
        return False
    sweep.add(arg, adjoint.T)
    return True


def pull_roll(sweep: AdjointSums, node: Node, adjoint: Any) -> bool:
    """Roll an adjoint back."""
    arg, shift, axis = node.args
    if type(adjoint) is not np.ndarray:
        return False
    sweep.add(arg, roll_back(adjoint, tuple([-n for n in shift]), axis))
    return True


def pull_sum(sweep: AdjointSums, node: Node, adjoint: Any) -> bool:
    """Copy the adjoint of a sum to all elements that were added."""
    arg, axis, keepdims = node.args
    spread = spread_sum(adjoint, arg.value, axis, keepdims)
    if spread is None:
        return False
    sweep.add(arg, spread)
    return True


def pull_largest(sweep: AdjointSums, node: Node, adjoint: Any) -> bool:
    """Give the adjoint of a largest or smallest element to it, if there are no two and no nan."""
    arg, axis, keepdims = node.args
    x, v = arg.value, node.value
    spread = spread_sum(adjoint, x, axis, keepdims)
    if spread is None or not sweep.is_free_of_masks(arg):
        return False
    if not keepdims and axis is not None:
        v = np.expand_dims(v, axis)
    chosen = x == v
    if np.count_nonzero(chosen) != v.size:
        return False
    if type(v) is np.ndarray and np.isnan(np.add.reduce(v, None)):
        return False
    sweep.add(arg, np.where(chosen, spread, 0))
    return True


def pull_matmul(sweep: AdjointSums, node: Node, adjoint: Any) -> bool:
    """Carry an adjoint back through a product of vectors and matrices."""
    a, b = node.args
    x, y = (a.value if type(a) is TapeNode else a), (b.value if type(b) is TapeNode else b)
    if type(adjoint) not in REAL_TYPES or type(x) is not np.ndarray or type(y) is not np.ndarray:
        return False
    ranks = x.ndim, y.ndim
    if ranks not in _MATRIX_PULLS:
        return False
    left, right = _MATRIX_PULLS[ranks]
    if type(a) is TapeNode:
        sweep.add(a, left(adjoint, y))
    if type(b) is TapeNode:
        sweep.add(b, right(adjoint, x))
    return True


# By the ranks of the factors: the adjoint of the first from the second, and vice versa.
_MATRIX_PULLS: dict[tuple[int, int], tuple[Callable[..., Any], Callable[..., Any]]] = {
    (1, 1): (lambda bar, y: bar * y, lambda bar, x: bar * x),
    (1, 2): (lambda bar, y: y @ bar, lambda bar, x: x[:, None] * bar),
    (2, 1): (lambda bar, y: bar[:, None] * y, lambda bar, x: bar @ x),
    (2, 2): (lambda bar, y: bar @ y.T, lambda bar, x: x.T @ bar),
}


def pull_where(sweep: AdjointSums, node: Node, adjoint: Any) -> bool:
    """Give the adjoints of selected elements to the array that they were selected from."""
    condition, x, y = node.args
    if type(condition) is not np.ndarray or type(adjoint) is not np.ndarray:
        return False
    return _give(sweep, adjoint, ((x, condition), (y, ~condition)))


def pull_maximum(sweep: AdjointSums, node: Node, adjoint: Any) -> bool:
    """Give the adjoint of each maximum to the larger argument, if no two are equal."""
    return _pull_extreme(sweep, node.args, adjoint, np.greater)


def pull_minimum(sweep: AdjointSums, node: Node, adjoint: Any) -> bool:
    """Give the adjoint of each minimum to the smaller argument, if no two are equal."""
    return _pull_extreme(sweep, node.args, adjoint, np.less)


def pull_clip(sweep: AdjointSums, node: Node, adjoint: Any) -> bool:
    """Give the adjoints of numbers between two bounds to them, if none is at a bound or a nan."""
    arg, low, high = node.args
    x = arg.value if type(arg) is TapeNode else arg
    if type(adjoint) is not np.ndarray or type(x) is not np.ndarray or x.dtype.kind != "f":
        return False
    if type(low) not in _BOUNDS or type(high) not in _BOUNDS or not low < high:
        return False
    inside = (x > low) & (x < high)
    beyond = (x < low) | (x > high)
    return bool((inside | beyond).all()) and _give(sweep, adjoint, ((arg, inside),))


_BOUNDS = {float, int, np.float64}


def _pull_extreme(sweep: AdjointSums, args: tuple[Any, ...], adjoint: Any, beats: Any) -> bool:
    x, y = [arg.value if type(arg) is TapeNode else arg for arg in args]
    if type(adjoint) is not np.ndarray or type(x) not in REAL_TYPES or type(y) not in REAL_TYPES:
        return False
    if any([type(number) is np.ndarray and number.dtype.kind == "c" for number in (x, y)]):
        return False  # which the rule refuses
    first, second = beats(x, y), beats(y, x)
    return bool((first | second).all()) and _give(
        sweep, adjoint, ((args[0], first), (args[1], second))
    )


def _give(sweep: AdjointSums, adjoint: Any, shares: tuple[tuple[Any, Any], ...]) -> bool:
    """Give each argument the elements of an adjoint that a mask marks."""
    to_nodes = [(arg, mask) for arg, mask in shares if type(arg) is TapeNode]
    if any([sweep.needs_masks(arg) for arg, _ in to_nodes]):
        return False
    for arg, mask in to_nodes:
        sweep.add(arg, np.where(mask, adjoint, 0))
    return True


_BY_NAME: dict[str, Pull] = {
    "add": pull_add,
    "clip": pull_clip,
    "concatenate": pull_concatenate,
    "div": pull_div,
    "getitem": pull_getitem,
    "matmul": pull_matmul,
    "max": pull_largest,
    "maximum": pull_maximum,
    "min": pull_largest,
    "minimum": pull_minimum,
    "mul": pull_mul,
    "neg": pull_neg,
    "power": pull_power,
    "reshape": pull_reshape,
    "roll": pull_roll,
    "set_item": pull_set_item,
    "stack": pull_stack,
    "sub": pull_sub,
    "sum": pull_sum,
    "transpose": pull_transpose,
    "where": pull_where,
}
PULLS: dict[Primitive, Pull] = {}  # by row


def enter(primitive: Primitive) -> None:
    """Register how adjoints are pulled back through a row of the library, if it is one.

    Its rows are listed, or can be restated, as those for any number of arguments can. A user's own
    primitive is neither, and may have the name of a row.
    """
    is_row = primitive.listed or primitive.restate is not None
    if is_row and primitive.name in _BY_NAME:
        PULLS[primitive] = _BY_NAME[primitive.name]
    elif is_row and not primitive.arrays and list(map(callable, primitive.partials)) == [True]:
        PULLS[primitive] = pull_unary
