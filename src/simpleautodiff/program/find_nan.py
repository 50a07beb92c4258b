"""Find where a nan or an inf first appeared, and where a derivative was chosen by convention.

The function is run once more, as a program whose steps know their source lines; its values, and
then the products of its reverse sweep, are searched in the order in which they arise.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from simpleautodiff.core.level import to_plain
from simpleautodiff.core.linear import Linear, filled
from simpleautodiff.core.node import NODES, Node
from simpleautodiff.core.sweep import reverse_sweep
from simpleautodiff.errors import DomainWarning
from simpleautodiff.program.program import Program
from simpleautodiff.program.recorded_run import trace
from simpleautodiff.transforms.arguments import Selection
from simpleautodiff.transforms.kinks import KinkMet, KinkTape, collect_kinks
from simpleautodiff.transforms.recorded_call import RecordedCall
from simpleautodiff.values.functions import shape
from simpleautodiff.values.other_arrays import unwrap_foreign
from simpleautodiff.values.pytree import flatten

_SINGULAR = "the matrix is close to singular: add a little to its diagonal, or use np.linalg.pinv"
_DETERMINANT = "use np.linalg.slogdet, which gives the logarithm and does not overflow"
_INSIDE = "keep the argument a little inside of its ends: np.clip(x, -1 + tiny, 1 - tiny)"
_POLE = "keep the argument from the poles at 0, -1, -2, ...: np.maximum(x, tiny)"
_OVERFLOW = "add logarithms instead of multiplying, or scale the factors first"
_ADVICE_BY_OPERATOR = {
    "sqrt": "where the argument may be 0, write np.where(x > 0, np.sqrt(np.where(x > 0, x, 1)), 0);"
    " np.linalg.norm, for the root of a sum of squares, does so",
    "log": "keep the argument positive: np.log(np.maximum(x, tiny)), or np.log1p for 1 + x",
    "log1p": "keep the argument above -1: np.log1p(np.maximum(x, -1 + tiny))",
    "div": "keep the divisor from 0: np.where(y != 0, x / np.where(y != 0, y, 1), 0)",
    "reciprocal": "keep the argument from 0: np.where(x != 0, 1 / np.where(x != 0, x, 1), 0)",
    "power": "a fractional power of 0 has an infinite slope; shift the base, or branch with where",
    "cbrt": "a root has an infinite slope at 0; shift the argument, or branch with where",
    "exp": "subtract the maximum before exp, or use np.logaddexp",
    "sinh": "divide by the larger exponential first, or clip the argument",
    "cosh": "divide by the larger exponential first, or clip the argument",
    "tan": "keep the argument from the odd multiples of pi/2, or work with sin and cos",
    "asin": _INSIDE,
    "acos": _INSIDE,
    "atanh": _INSIDE,
    "acosh": "keep the argument a little above 1: np.maximum(x, 1 + tiny)",
    "atan2": "near (0, 0) the slope has no bound; choose other arguments there with where",
    "hypot": "scale the arguments; at (0, 0) choose another value with where",
    "gamma": "use scipy.special.gammaln, and keep the argument from the poles at 0, -1, -2, ...",
    "lgamma": _POLE,
    "digamma": _POLE,
    "mul": _OVERFLOW,
    "square": _OVERFLOW,
    "cumsum": "scale the numbers before they are added up",
    "sum": "scale the numbers before they are added up",
    "matmul": "scale an operand before the product and the result after it",
    "det": _DETERMINANT,
    "logabsdet": _SINGULAR,
    "log_det": _SINGULAR,
    "inv": _SINGULAR,
    "solve": _SINGULAR,
    "solve_triangular": _SINGULAR,
    "cholesky": "keep the matrix positive definite: add a little to its diagonal",
}


@dataclass(frozen=True, slots=True)
class BadNumber:
    """The first nan or inf: in which step, from which numbers, on which line.

    `phase` is "value" or "derivative"; for a derivative, `factors` are the adjoint and the local
    derivative whose product it is. A step that is a linear map of arrays, such as `matmul`, has
    no single slope: its `factors` are the largest size in the adjoint and in the other operands.
    """

    phase: str
    name: str
    operator: str
    value: Any
    index: tuple[int, ...]
    factors: tuple[Any, ...]
    line: str
    rewrite: str
    linear: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the value; () for a scalar."""
        return shape(self.value)

    def __str__(self) -> str:
        """Describe it in a sentence or two."""
        where = f" at index {self.index} of shape {self.shape}" if self.index else ""
        line = f", {self.line}" if self.line else ""
        what = f"{self.name} = {self.operator}(...)" if self.operator else f"the input {self.name}"
        found = _take_element(self.value, self.index)
        if self.phase == "value":
            text = f"the value of {what} is {found}{where}{line}"
        else:
            text = f"the derivative through {what}{where} is {self._say_product()} = {found}{line}"
        return (
            f"{text}. {self.rewrite[:1].upper()}{self.rewrite[1:]}." if self.rewrite else f"{text}."
        )

    def _say_product(self) -> str:
        if self.linear:
            adjoint, other = self.factors
            return f"adjoint up to {adjoint} × the linear map {self.operator} of up to {other}"
        same = [shape(factor) in ((), self.shape) for factor in self.factors]
        adjoint, slope = (
            f"{_take_element(factor, self.index)}" if fits else f"up to {_find_largest(factor)}"
            for factor, fits in zip(self.factors, same, strict=True)
        )
        return f"adjoint {adjoint} × slope {slope}"


def find_nan(f: Callable[..., Any]) -> Callable[..., BadNumber | None]:
    """Return a function that finds where a nan or inf of `f`, or of its gradient, began.

    It returns None if all results and all derivatives are finite, whatever happens in between, such
    as in the branch that `np.where` does not select. Keyword arguments are passed on.

    Examples
    --------
    >>> import numpy as np
    >>> import simpleautodiff as ad
    >>> bad = ad.find_nan(lambda x: np.sum(np.sqrt(x) * 0.0))(np.array([1.0, 0.0]))
    >>> bad.phase, bad.operator, bad.index, bad.shape
    ('derivative', 'sqrt', (1,), (2,))
    >>> print(str(bad)[:89])
    the derivative through v1 = sqrt(...) at index (1,) of shape (2,) is adjoint 0.0 × slope
    """

    def find(*args: Any, **kwargs: Any) -> BadNumber | None:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore", DomainWarning)
            program = trace(partial(f, **kwargs) if kwargs else f, *args)
            ends = [node for node in program.outputs if _find_first_bad(node.value) is not None]
            return _find_bad_value(program, ends) if ends else _find_bad_product(program)

    return find


def _find_bad_value(program: Program, ends: Iterable[Node]) -> BadNumber:
    """Report the first step from which nan or inf reaches the outputs, which are bad."""
    reached = set(ends)
    for node in reversed(program.nodes):
        if node in reached:
            args = (arg for arg in node.args if type(arg) in NODES)
            reached |= {arg for arg in args if _find_first_bad(arg.value) is not None}
    first = next(node for node in program.nodes if node in reached)
    return _report("value", program, first, first.value, ())


def _find_bad_product(program: Program) -> BadNumber | None:
    """Report the first bad product of a sweep from all results, if it reaches a derivative."""
    bar: dict[Node, Any] = {}
    for output in program.outputs:
        full = shape(output.value)
        bar[output] = np.ones(full) if full else 1
    found = None
    for child, k, derivative, total in reverse_sweep(program.nodes, bar):
        if found is None and _find_first_bad(filled(total)) is not None:
            found = child, k, derivative, filled(bar[child]), filled(total)
    adjoints = [filled(bar[node]) for node in program.inputs if node in bar]
    if found is None or all(_find_first_bad(adjoint) is None for adjoint in adjoints):
        return None
    node, k, derivative, adjoint, total = found
    index = _find_first_bad(total)
    there = _take_element(node.value, index) if shape(node.value) == shape(total) else node.value
    if _find_first_bad(there) is not None:
        return _find_bad_value(program, [node])
    if isinstance(derivative, Linear):
        factors = _find_largest(adjoint), _find_largest(*_list_operands(node, k))
        return _report("derivative", program, node, total, factors, True)
    return _report("derivative", program, node, total, (adjoint, derivative))


def _list_operands(node: Node, k: int) -> list[Any]:
    """Return the numbers by which a linear map multiplies: the other operands, or its only one."""
    values = list(map(to_plain, node.values()))
    others = [value for i, value in enumerate(values) if i != k and _is_real(value)]
    return others or [values[k]]


def _is_real(value: Any) -> bool:
    return isinstance(value, float) or getattr(getattr(value, "dtype", None), "kind", "") in (
        "f",
        "c",
    )


def _report(
    phase: str,
    program: Program,
    node: Node,
    value: Any,
    factors: tuple[Any, ...],
    linear: bool = False,
) -> BadNumber:
    return BadNumber(
        phase,
        program.names[node],
        "" if node.primitive is None else node.operator,
        unwrap_foreign(value),
        _find_first_bad(value) or (),
        tuple(map(unwrap_foreign, factors)),
        program.lines.get(node, ""),
        _ADVICE_BY_OPERATOR.get(node.operator, ""),
        linear,
    )


def _find_first_bad(value: Any) -> tuple[int, ...] | None:
    """Return the index of the first nan or inf, () for a scalar, None if there is none."""
    try:
        bad = ~np.isfinite(to_plain(value))
    except TypeError:
        return None  # number types that NumPy does not know
    if not np.any(bad):
        return None
    return tuple(int(i) for i in np.argwhere(bad)[0]) if np.ndim(bad) else ()


def _take_element(value: Any, index: tuple[int, ...] | None) -> Any:
    return value[index] if index and shape(value) else value


def _find_largest(*values: Any) -> float:
    """Return the largest absolute value in some arrays."""
    return float(np.max([np.max(np.abs(value), initial=0.0) for value in values]))


def find_kinks(f: Callable[..., Any]) -> Callable[..., list[KinkMet]]:
    """Return a function that lists every step of `f` whose derivative is a convention.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> for kink in ad.find_kinks(lambda x: abs(x) + ad.maximum(x, 0.0))(0.0):
    ...     print(kink.operator, kink.where, "->", kink.choice)
    abs x = 0 -> 0, the subgradient of least norm
    maximum x = y -> 1/2 each: ties share equally
    """

    def kinks(*args: Any, **kwargs: Any) -> list[KinkMet]:
        tape = KinkTape()
        graph = RecordedCall(f, Selection(args, tuple(range(len(args))), args, kwargs), tape=tape)
        return collect_kinks(tape, flatten(graph.result)[0])

    return kinks
