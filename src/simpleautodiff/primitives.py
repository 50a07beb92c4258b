"""The record of one primitive: everything the library knows about one operation, in one row."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from simpleautodiff.errors import AutodiffError, RuleError, at_line, warn_domain
from simpleautodiff.linear import ZERO, LinearRule
from simpleautodiff.number import (
    Function,
    Names,
    as_numpy_would,
    implementation,
    on_register,
    width,
)

# How tightly a printed form binds: what needs parentheses inside what.
SUM, PRODUCT, SIGN, POWER, CALL = 1, 2, 3, 4, 5

Partial = Any  # a function of (v, *args), the number 1 or -1, or ZERO


@dataclass(frozen=True, slots=True)
class Domain:
    """Where a function of real numbers has a value: in words, and as a test."""

    text: str
    contains: Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Kink:
    """Where a derivative is not unique or not finite: in words, as a test, and the choice made.

    With `wrt` it counts for the derivatives in those arguments alone.
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
    number 1 or -1, or `ZERO` for "known to be zero".
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
    settings: tuple[int, ...] = ()  # arguments that are no numbers: a condition, an axis
    arrays: bool = False  # acts on whole arrays, not on each number
    holomorphic: bool = True  # its derivative is complex, where its arguments are
    batch: Function | None = None  # how it acts on a batch of arrays at once; see `batching`
    _read: dict[tuple[int, ...], frozenset[int]] = field(default_factory=dict, repr=False)
    floats: bool = False  # computed by SciPy: for floats and arrays of them alone

    def read(self, parents: tuple[int, ...]) -> frozenset[int]:
        """Return whose values the derivatives in `parents` read: positions, -1 for the result.

        A parameter of a rule whose name begins with an underscore is there for its shape and kind.
        """
        if parents not in self._read:
            read = [_read_by(self.partials[k], self.arity) for k in parents]
            self._read[parents] = frozenset().union(*read)
        return self._read[parents]

    @property
    def arity(self) -> int:
        """How many arguments the primitive takes."""
        return len(self.partials)

    def partial(self, index: int, value: Any, args: tuple[Any, ...]) -> Any:
        """Return ∂v/∂args[index] as a number, a linear map or `ZERO`."""
        rule = self.partials[index]
        if not callable(rule):
            return rule
        try:
            return rule(value, *args)
        except AutodiffError:
            raise
        except (ArithmeticError, ValueError):
            result = as_numpy_would(
                rule, (value, *args), self.complaint(args, "the derivative of ")
            )
            if result is not ZERO and not np.isfinite(result):
                warn_domain(f"the derivative of {self.call(args)} is {result}{at_line()}")
            return result

    def at_kink(self, args: tuple[Any, ...]) -> bool:
        """Tell whether the derivative at these arguments is a choice."""
        return any(kink.happens(*args) for kink in self.kinks)

    def call(self, args: tuple[Any, ...]) -> str:
        """Write the call with its numbers: ``log(0.0)``."""
        return f"{self.name}({', '.join(map(_short_repr, args))})"

    def _is_outside(self, args: tuple[Any, ...]) -> bool:
        """Tell whether arguments lie outside the domain; those that cannot be asked may do."""
        try:
            return self.domain is not REALS and not self.domain.contains(*args)
        except (ArithmeticError, TypeError, ValueError):
            return self.domain is not REALS

    def complaint(self, args: tuple[Any, ...], prefix: str = "") -> str:
        """Say which operation was asked outside which domain."""
        domain = f"; {self.name} needs {self.domain.text}" if self._is_outside(args) else ""
        return f"{prefix}{self.call(args)} is not a finite number{domain}"


def _read_by(rule: Partial, arity: int) -> set[int]:
    """Return the arguments that a rule reads, and -1 if it reads the result."""
    if isinstance(rule, LinearRule):
        both = [_named_as_read(function, arity) for function in (rule.push, rule.pull)]
        return set().union(*both) - {-1}  # in place of the result they get a derivative
    return _named_as_read(rule, arity) if callable(rule) else set()


def _named_as_read(function: Any, arity: int) -> set[int]:
    read = set()
    for place, parameter in enumerate(inspect.signature(function).parameters.values(), -1):
        if not parameter.name.startswith("_"):
            many = parameter.kind is parameter.VAR_POSITIONAL
            read |= set(range(place, arity)) if many else {place}
    return read


def _short_repr(number: Any) -> str:
    try:
        text = repr(number)
    except ValueError:  # Python does not write whole numbers of more than 4300 digits
        return "a huge whole number"
    return text if len(text) <= 80 else f"{text[:60]}..."


class ByType(dict[type, Function]):
    """Which function computes a primitive of one argument, for each kind of number met so far."""

    def __init__(self, name: str, names: Names, define: Function | None) -> None:
        super().__init__()
        self.find = name, names, define
        self.deferred: tuple[type, Function] | None = None
        on_register(self.forget)

    def defer(self, base: type, function: Function) -> None:
        """Give numbers that are nodes themselves to the wrapping function."""
        self.deferred = base, function

    def forget(self, kind: type) -> None:
        """Look again, next time, for the function of `kind`."""
        for known in [known for known in self if issubclass(known, kind)]:
            del self[known]

    def __missing__(self, kind: type) -> Function:
        found = self.look_up(kind)
        if self.deferred and issubclass(kind, self.deferred[0]):
            found = self.deferred[1]
        if found is None:
            raise no_function(self.find[0], kind)
        self[kind] = found
        return found

    def look_up(self, kind: type) -> Function | None:
        """Ask the library of a kind of number, then the definition in simpler functions."""
        name, names, define = self.find
        return implementation(name, names, kind) or define


def no_function(name: str, kind: type) -> RuleError:
    """Say that a kind of number lacks an elementary function, and where to give it."""
    return RuleError(
        f"there is no {name} for numbers of type {kind.__name__}. Give it in one line: "
        f"register_number({kind.__name__}, {{'{name}': your_function}})"
        f"{'; or install mpmath, which has it' * (kind.__name__ == 'Decimal')}"
    )


_COMMONEST = {int, float, np.ndarray}


def by_widest(by_type: ByType) -> Function:
    """Compute a primitive of several arguments by the function of the widest kind among them."""

    def compute(*args: Any) -> Any:
        kinds = {*map(type, args)}
        if len(kinds) > 1 and kinds <= _COMMONEST:
            return by_type[np.ndarray if np.ndarray in kinds else float](*args)
        return by_type[kinds.pop() if len(kinds) == 1 else max(map(type, args), key=width)](*args)

    return compute


def stated(operator: str, derivatives: Iterable[Any]) -> Primitive:
    """Make the primitive of a node whose maker states the numbers ∂node/∂parent."""
    partials = tuple(lambda v, *args, number=number: number for number in derivatives)

    def compute(*args: Any) -> Any:
        raise RuleError(f"the node {operator!r} was made by hand: its rule is not known")

    return Primitive(operator, partials, compute, operator, operator, "stated by hand")
