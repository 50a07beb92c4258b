"""The record of one primitive: everything the library knows about one operation, in one row."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from simpleautodiff.core.linear import ZERO, LinearRule
from simpleautodiff.errors import (
    AutodiffError,
    RuleError,
    ValueKindError,
    cite_line,
    short_repr,
    warn_domain,
)
from simpleautodiff.values.functions import ByType, Function, check_value, widen_arguments
from simpleautodiff.values.outside_domain import as_numpy_would, is_finite, numpy_error

# How tightly a printed form binds: what needs parentheses inside what.
SUM, PRODUCT, SIGN, POWER, CALL = 1, 2, 3, 4, 5

Args = tuple[Any, ...]
Partial = Any  # a function of (v, *args), the number 1 or -1, or ZERO


@dataclass(frozen=True, slots=True)
class Domain:
    """Where a function of real numbers has a value: in words, and as a test."""

    text: str
    contains: Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Kink:
    """Where a derivative is not unique or not finite: in words, as a test, and the choice made.

    With `wrt` it applies only to the derivatives in those arguments.
    """

    text: str
    happens: Callable[..., Any]
    choice: str
    wrt: tuple[int, ...] | None = None


REALS = Domain("every real number", lambda *xs: True)


@dataclass(frozen=True, slots=True, eq=False)
class Primitive:
    """One row of the table: a value, its local derivatives, and how both are said.

    `partials[i](v, *args)` is ∂v/∂args[i], written with recorded operations from the result `v`
    and the arguments, so that it can be differentiated again. Instead of a function it may be the
    number 1 or -1, or `ZERO`, a structural zero.

    `restate(*args)` may return another primitive and its arguments, to be recorded with the same
    value: the square of a root is smooth where the root is not (`rules/roots`).
    """

    name: str
    partials: tuple[Partial, ...]
    compute: Function
    text: str
    latex: str
    reason: str
    numpy: tuple[str, ...] = ()
    domain: Domain = REALS
    kinks: tuple[Kink, ...] = ()
    binds: int = CALL
    real: bool = False
    by_type: ByType | None = None
    settings: tuple[int, ...] = ()  # positions of arguments that are no numbers, such as an axis
    arrays: bool = False  # acts on whole arrays, not on each number
    holomorphic: bool = True  # has a complex derivative at complex arguments
    batch: Function | None = None  # how it acts on a batch of arrays at once; see `arrays.batch`
    floats: bool = False  # computed by SciPy, only for floats and arrays of floats
    listed: bool = False  # is part of the table
    pure: bool = False  # its rules have no effects, so that a sweep may be repeated
    squared: tuple[Partial, ...] | None = None  # of v², by v and arguments, where v has a kink at
    # 0; () where v is a multiple of its arguments, or has their elements
    restate: Callable[..., tuple[Primitive, Args] | None] | None = None  # a smoother row, if any

    read: dict[Args, frozenset[int]] = field(
        default_factory=dict, init=False, repr=False
    )  # by `find_values_read`

    @property
    def arity(self) -> int:
        """How many arguments the primitive takes."""
        return len(self.partials)

    def partial(self, index: int, value: Any, args: Args) -> Any:
        """Return ∂v/∂args[index] as a number, a linear map or `ZERO`."""
        if not self.partials:
            raise RuleError(
                f"a node {self.name!r} was made by hand without its derivatives; say "
                "node.grad_wrt_parents = [...] after making it"
            )
        rule = self.partials[index]
        if not callable(rule):
            return rule
        has_dtype = type(value) not in (int, float)
        if has_dtype and len(args) > 1 and not self.arrays and not self.settings:
            args = widen_arguments(args, value)
        try:
            return rule(value, *args)
        except AutodiffError:
            raise
        except (ArithmeticError, ValueError):
            result = as_numpy_would(
                rule, (value, *args), self.describe_refusal(args, "the derivative of ")
            )
            if result is not ZERO and not is_finite(result):
                warn_domain(f"the derivative of {self.call(args)} is {result}{cite_line()}")
            return result

    def recover(self, error: Exception, args: Args) -> Any:
        """Return NumPy's inf or nan where Python's numbers raise, or explain what was refused."""
        if isinstance(error, TypeError):
            for i, arg in enumerate(args):
                check_value(arg, f"argument {i + 1} of {self.name}")
            raise ValueKindError(
                f"{self.call(args)}: {error}. Convert the numbers to one kind{cite_line()}"
            ) from error
        of_numpy = numpy_error(error, args)
        if of_numpy is not None:
            kind, what = of_numpy
            raise kind(f"{self.name} of {what}: {error}{cite_line()}") from None
        result = as_numpy_would(self.compute, args, self.describe_refusal(args))
        warn_domain(f"{self.describe_refusal(args)}; it becomes {result}{cite_line()}")
        return result

    def call(self, args: Args) -> str:
        """Write the call with its numbers: ``log(0.0)``."""
        return f"{self.name}({', '.join(map(short_repr, args))})"

    def describe_refusal(self, args: Args, prefix: str = "") -> str:
        """Say which operation was evaluated outside which domain."""
        domain = f"; {self.name} needs {self.domain.text}" if self._is_outside(args) else ""
        return f"{prefix}{self.call(args)} is not a finite number{domain}"

    def _is_outside(self, args: Args) -> bool:
        """Tell whether arguments are outside the domain; True if the test itself fails."""
        try:
            return self.domain is not REALS and not self.domain.contains(*args)
        except (ArithmeticError, TypeError, ValueError):
            return True


def find_values_read(primitive: Primitive, parents: tuple[int, ...]) -> frozenset[int]:
    """Return the positions of the values that the derivatives in `parents` read; -1 is the result.

    A rule reads only the shape and dtype of a parameter whose name begins with an underscore.
    """
    if parents not in primitive.read:
        by_each = [_find_read_by(primitive.partials[k], primitive.arity) for k in parents]
        primitive.read[parents] = frozenset().union(*by_each)
    return primitive.read[parents]


def _find_read_by(rule: Partial, arity: int) -> set[int]:
    """Return the arguments that a rule reads, and -1 if it reads the result."""
    if isinstance(rule, LinearRule):
        both = [_find_named_as_read(function, arity) for function in (rule.push, rule.pull)]
        return set().union(*both) - {-1}  # their first parameter is a derivative, not the result
    return _find_named_as_read(rule, arity) if callable(rule) else set()


def _find_named_as_read(function: Any, arity: int) -> set[int]:
    read = set()
    parameters = inspect.signature(function).parameters.values()
    for index, parameter in zip(range(-1, arity), parameters, strict=False):  # excludes options
        if not parameter.name.startswith("_"):
            several = parameter.kind is parameter.VAR_POSITIONAL
            read |= set(range(index, arity)) if several else {index}
    return read


TABLE: dict[str, Primitive] = {}  # the rows by name; `rules` fills it


def make_stated(operator: str, derivatives: Iterable[Any]) -> Primitive:
    """Make the primitive of a node whose maker states the numbers ∂node/∂parent."""
    partials = tuple(lambda v, *args, number=number: number for number in derivatives)

    def compute(*args: Any) -> Any:
        raise RuleError(
            f"the node {operator!r} was made by hand, with numbers and no rule, so it cannot be "
            f"computed anew; use simpleautodiff's {operator}, or look at it by trace, step, figure"
        )

    return Primitive(operator, partials, compute, operator, operator, "stated by hand")
