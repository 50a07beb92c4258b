"""Values and derivatives in symbols: the right-hand sides of the tables.

A rule is called with terms in place of numbers, so a formula is what the rule itself says. Where a
rule is more than a formula, its value or ∂v/∂u is written instead.
"""

from __future__ import annotations

import math
import unicodedata
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial, reduce
from typing import Any, NamedTuple, final

import numpy as np

from simpleautodiff.core.level import Level, Traced, to_plain
from simpleautodiff.core.linear import ZERO, Linear, filled
from simpleautodiff.core.node import NODES, Constant, Node
from simpleautodiff.core.primitive import SUM, Primitive
from simpleautodiff.errors import AutodiffError, DomainWarning
from simpleautodiff.program.notation import Term, as_term, render, write_true as write_true
from simpleautodiff.program.program import Program
from simpleautodiff.program.written_numbers import latex_name, write_result, write_typed
from simpleautodiff.rules.array.shapes import fit
from simpleautodiff.rules.row import TABLE
from simpleautodiff.values.functions import is_complex, shape

DOT, BAR = "\u0307", "\u0304"
_NO_FORMULA = (AutodiffError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError)


@contextmanager
def suppress_warnings() -> Iterator[None]:
    """Suppress warnings about infinite slopes: they are there to be seen."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", DomainWarning)
        yield


def write_dot(name: str) -> str:
    """Write ẋ1: the tangent of x1."""
    return unicodedata.normalize("NFC", name[0] + DOT + name[1:])


def write_bar(name: str) -> str:
    """Write x̄1: the adjoint of x1."""
    return unicodedata.normalize("NFC", name[0] + BAR + name[1:])


def tangent_term(name: str, value: Any = None) -> Term:
    """Return ẋ1 as a term."""
    return Term(write_dot(name), value=value, latex=lambda: latex_name(name, "dot"))


def adjoint_term(name: str, value: Any = None) -> Term:
    """Return x̄1 as a term."""
    return Term(write_bar(name), value=value, latex=lambda: latex_name(name, "bar"))


class Symbols:
    """What stands in a row for the numbers it is made of: their names."""

    in_numbers = False

    def __init__(self, program: Program) -> None:
        self.program = program

    def names(self) -> Symbols:
        """Return the names of what stands in a row."""
        return self

    def refuses(self, computed: Any) -> bool:
        """Tell whether a number that a rule has computed may not stand in a row."""
        return False

    def constant(self, node: Node, k: int) -> Any:
        """Return the constant argument k of a node."""
        return _constant(node.args[k])

    def value(self, node: Node) -> Term:
        """Return the value of a node as a term."""
        return Term(self.program.names[node], value=node.value)

    def tangent(self, node: Node, number: Any) -> Term:
        """Return the tangent of a node as a term."""
        return tangent_term(self.program.names[node], number)

    def adjoint(self, node: Node, number: Any) -> Term:
        """Return the adjoint of a node as a term."""
        return adjoint_term(self.program.names[node], number)

    def before(self, term: Term, number: Any) -> Term:
        """Return what an adjoint was before something is added to it."""
        return term

    def slope(self, node: Node, k: int, number: Any) -> Term:
        """Return a local derivative whose rule is more than a formula."""
        return Term(number)


class Numbers(Symbols):
    """What stands in a row with numbers: each in a few digits, an input as it was typed."""

    in_numbers = True

    def names(self) -> Symbols:
        """Return the names of what stands in a row."""
        return Symbols(self.program)

    def value(self, node: Node) -> Term:
        """Return the value of a node as a term."""
        return as_term(node.value) if node.primitive is None else Term(node.value)

    def tangent(self, node: Node, number: Any) -> Term:
        """Return the tangent of a node as a term."""
        return Term(number)

    adjoint = tangent

    def before(self, term: Term, number: Any) -> Term:
        """Return what an adjoint was before something is added to it."""
        return Term(number)


def value_terms(program: Program, node: Node) -> tuple[Term, Term]:
    """Return the right-hand side of a step in symbols, and with numbers."""
    write = partial(write_step, node)
    return write(Symbols(program)), write_true(lambda: write(Numbers(program)), node.value)


def write_step(node: Node, written: Symbols) -> Term:
    """Return the right-hand side of a step."""
    assert node.primitive is not None
    return render(node.primitive, tuple(_list_arguments(node, written)))


def write_value(node: Node) -> str:
    """Write the value of a node; that of an input as it was typed."""
    return write_typed(node.value) if _is_typed(node) else write_result(node.value)


def _is_typed(node: Node) -> bool:
    return node.primitive is None and not shape(node.value)


def tangent_terms(program: Program, node: Node, dot: Mapping[str, Any]) -> tuple[Term, Term]:
    """Return v̇ = Σ u̇ ∂v/∂u in symbols, and with numbers."""
    if all(slope is ZERO for _, slope in node.local_derivatives()):
        return Term("0", value=0, latex="0"), EMPTY
    write = partial(write_tangent, node, dot)
    value = dot[program.names[node]]
    return write(Symbols(program)), write_true(lambda: write(Numbers(program)), value)


def write_tangent(node: Node, dot: Mapping[str, Any], written: Symbols) -> Term:
    """Return the right-hand side of v̇ = Σ u̇ ∂v/∂u, of which one ∂v/∂u is not a structural 0."""
    names, terms = written.program.names, []
    for k, slope in node.local_derivatives():
        if slope is ZERO:
            continue
        parent = node.args[k]
        seed = fit(dot[names[parent]], parent.value)  # a plain 0 if it was not reached
        absent = written.in_numbers and is_absent(seed, slope, dot[names[node]])
        start = written.tangent(parent, seed)
        terms.append(Term(0) if absent else _push_formula(written, node, k, slope, start))
    return _sum(terms)


def is_absent(seed: Any, slope: Any, total: Any) -> bool:
    """Tell whether a term is 0 because nothing depends on the input, at an infinite slope."""
    numbers = (seed, slope, total)
    if not all(isinstance(number, (int, float)) for number in numbers):
        return False
    return seed == 0 and not math.isfinite(slope) and math.isfinite(total)


class Pull(NamedTuple):
    """One contribution v̄ ∂v/∂u to an adjoint ū: from which child, as which argument of it."""

    child: Node
    k: int
    derivative: Any
    bar: Any


def adjoint_terms(
    program: Program, pulls: Sequence[Pull], total: Any, before: tuple[Term, Any] | None = None
) -> tuple[Term, Term]:
    """Return ū = Σ v̄ ∂v/∂u in symbols and with numbers; `before` is what ū was, and its number."""
    write = partial(write_adjoint, pulls, before)
    return write(Symbols(program)), write_true(lambda: write(Numbers(program)), total)


def write_adjoint(pulls: Sequence[Pull], before: tuple[Term, Any] | None, written: Symbols) -> Term:
    """Return the right-hand side of ū = Σ v̄ ∂v/∂u, after what ū was `before`."""
    old = [] if before is None else [written.before(*before)]
    return _sum([*old, *(_write_contribution(written, pull) for pull in pulls)])


def _write_contribution(written: Symbols, pull: Pull) -> Term:
    """Write v̄ ∂v/∂u as the sweep adds it to ū.

    Where u is real, it is the real part; where u was broadcast to the shape of v, the sum over
    what it was given to.
    """
    child, k, derivative, bar = pull
    term = _pull_formula(written, child, k, derivative, written.adjoint(child, bar))
    if has_real_part(pull):
        term = render(TABLE["real"], (term,))
    given, own = shape(bar), shape(child.args[k].value)
    if isinstance(derivative, Linear) or given == own:
        return term
    lead = len(given) - len(own)
    if given[lead:] != own:
        return Term(f"sum({term.text}) to {own}", latex=lambda: rf"\textstyle\sum {term.latex}")
    axis = None if not own else 0 if lead == 1 else tuple(range(lead))
    return render(TABLE["sum"], (term, axis, False))


def has_real_part(pull: Pull) -> bool:
    """Tell whether a real node is given the real part of v̄ ∂v/∂u, which is complex."""
    of_map = pull.child.value if isinstance(pull.derivative, Linear) else pull.derivative
    complex_product = any(is_complex(to_plain(factor)) for factor in (pull.bar, of_map))
    return complex_product and not is_complex(to_plain(pull.child.args[pull.k].value))


def derivative_term(program: Program, node: Node, k: int, derivative: Any) -> Term:
    """Return the local derivative ∂v/∂u as a formula; for a linear map, its name."""
    if derivative is ZERO:
        return Term("0", value=0, latex="0")
    return as_term(_write_slope(Symbols(program), node, k, derivative))


def chain_term(child: str, parent: str) -> Term:
    """Return v̄ ∂v/∂u as a term."""
    bar, partial = adjoint_term(child), partial_name(child, parent)
    return Term(f"{bar.text} {partial.text}", latex=lambda: f"{bar.latex} {partial.latex}")


def partial_name(of: str, wrt: str) -> Term:
    """Return ∂v/∂u as a term."""

    def latex() -> str:
        return rf"\frac{{\partial {latex_name(of)}}}{{\partial {latex_name(wrt)}}}"

    return Term(f"∂{of}/∂{wrt}", latex=latex)


def _list_arguments(node: Node, written: Symbols) -> list[Any]:
    return [
        written.value(arg) if type(arg) in NODES else written.constant(node, k)
        for k, arg in enumerate(node.args)
    ]


def _constant(arg: Any) -> Any:
    return arg.value if type(arg) is Constant else arg


def _write_slope(written: Symbols, node: Node, k: int, derivative: Any) -> Any:
    """Return ∂node/∂args[k] as a term, by calling its rule with terms for numbers."""
    assert node.primitive is not None
    if isinstance(derivative, Linear):
        return _name_slope(written.program, node, k)
    args = tuple(_list_arguments(node, written))
    try:
        slope = node.primitive.partial(k, written.value(node), args)
    except _NO_FORMULA:
        return written.slope(node, k, derivative)  # a rule that is more than a formula
    plain = isinstance(slope, (int, float))  # a constant of the program, or of the rule
    known = plain or (isinstance(slope, Term) and _agrees(slope.value, derivative))
    return slope if known else written.slope(node, k, derivative)


def _name_slope(program: Program, node: Node, k: int) -> Term:
    return partial_name(program.names[node], program.names[node.args[k]])


def _agrees(value: Any, expected: Any) -> bool:
    if value is None:
        return True  # it cannot be checked
    if type(value) is float is type(expected):
        return math.isclose(value, expected) or value == expected or value != value
    try:
        return bool(np.allclose(value, expected, equal_nan=True))
    except (TypeError, ValueError):
        return bool(value == expected)


class FormulaLevel(Level):
    """A level on which operations write themselves down, so that array rules become formulas."""

    def __init__(self, refuses: Callable[[Any], bool]) -> None:
        super().__init__()
        self.refuses = refuses

    def result(
        self, primitive: Primitive, args: tuple[Any, ...], values: tuple[Any, ...], value: Any
    ) -> FormulaValue:
        """Return the value together with its formula."""
        terms = [arg.term if isinstance(arg, FormulaValue) else arg for arg in args]
        if any(map(self.refuses, terms)):
            raise TypeError("this number differs from point to point")
        return FormulaValue(value, render(primitive, tuple(terms)), self)


@final
class FormulaValue(Traced):
    """A value with the formula it was computed by."""

    __slots__ = ("term",)

    def __init__(self, value: Any, term: Term, level: Level) -> None:
        self.value = value
        self.term = term
        self.level = level


_MAX_FORMULA = 72  # a formula of more characters tells less than ∂v/∂u


def _apply_map(written: Symbols, node: Node, k: int, seed: Term, forward: bool) -> Term:
    """Return what a linear map makes of a seed, as its rule says; or seed × ∂v/∂u.

    The symbols decide which one, so that the numbers beside them say the same.
    """
    names = written.names()
    tail, name = (node.args[k], names.tangent) if forward else (node, names.adjoint)
    symbols = _formula(names, node, k, name(tail, seed.value), forward)
    if symbols is not None and len(symbols.text) <= _MAX_FORMULA:
        numbers = _formula(written, node, k, seed, forward) if written.in_numbers else symbols
        if numbers is not None:
            return numbers
    product: Term = seed * _name_slope(written.program, node, k)
    return product


def _formula(written: Symbols, node: Node, k: int, seed: Term, forward: bool) -> Term | None:
    """Return what a linear map makes of a seed, if its rule is a formula."""
    assert node.primitive is not None
    named, own = _list_arguments(node, written), written.value(node)
    level = FormulaLevel(written.refuses)
    with level:
        args = [FormulaValue(t.value, t, level) if isinstance(t, Term) else t for t in named]
        try:
            linear = node.primitive.partial(k, FormulaValue(node.value, own, level), tuple(args))
            start = FormulaValue(seed.value, seed, level)
            result = filled(linear.push(start) if forward else linear.pull(start))
        except _NO_FORMULA:
            return None
    return result.term if isinstance(result, FormulaValue) else None


def _push_formula(written: Symbols, node: Node, k: int, derivative: Any, seed: Term) -> Term:
    if isinstance(derivative, Linear):
        return _apply_map(written, node, k, seed, forward=True)
    return _product(seed, _write_slope(written, node, k, derivative))


def _pull_formula(written: Symbols, node: Node, k: int, derivative: Any, seed: Term) -> Term:
    if isinstance(derivative, Linear):
        return _apply_map(written, node, k, seed, forward=False)
    product: Term = seed * _write_slope(written, node, k, derivative)
    return product


def _product(seed: Term, derivative: Any) -> Term:
    """Write seed × derivative; a factor 1 or -1 becomes a sign."""
    if isinstance(derivative, int) and derivative in (1, -1):
        return seed if derivative == 1 else -seed
    product: Term = seed * derivative
    return product


def _sum(terms: Sequence[Term]) -> Term:
    return reduce(join_terms, terms)


def join_terms(a: Term, b: Term) -> Term:
    """Write a + b, or a - b if b begins with a minus."""

    def both(first: str, second: str) -> str:
        return f"{first} - {second[1:]}" if second.startswith("-") else f"{first} + {second}"

    said = None if a.said is None or b.said is None else a.said + b.said
    return Term(both(a.text, b.text), SUM, latex=lambda: both(a.latex, b.latex), said=said)


EMPTY = Term("", latex="")
