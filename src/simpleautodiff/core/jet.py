"""Forward mode without a graph: a value that carries its own derivatives along.

A *jet* is a value v with its first n derivatives v', v'', ... along one direction. For n = 1 that
is the paper's v and v̇. Every operation follows from the chain rule and Leibniz' rule alone,

    v' = Σ over arguments u of (∂v/∂u) u',   so   v⁽ᵐ⁺¹⁾ = Σ Σⱼ C(m, j) (∂v/∂u)⁽ʲ⁾ u⁽ᵐ⁺¹⁻ʲ⁾,

where ∂v/∂u is the row's own rule evaluated on jets. So rows need nothing extra for Taylor mode and
the cost grows polynomially with n. A jet does not refer to its arguments, so a loop of any length
needs constant memory.
"""

from __future__ import annotations

from math import comb
from typing import Any, final

from simpleautodiff.core.level import Level, Traced
from simpleautodiff.core.linear import ZERO, Linear, filled, plus, push
from simpleautodiff.core.primitive import Args, Primitive
from simpleautodiff.core.sweep import fit

Rule = tuple[Primitive, tuple[Any, ...]]  # a primitive and its arguments


class JetLevel(Level):
    """A level on which operations carry `order` derivatives along."""

    def __init__(self, order: int) -> None:
        super().__init__()
        self.order = order
        self.lazy = LazyLevel(self.number)

    def __exit__(self, *exception: object) -> None:
        self.open = self.lazy.open = False

    def result(self, primitive: Primitive, args: Args, values: Args, value: Any) -> Jet:
        """Return the jet of `primitive`(`args`)."""
        rule = (primitive, tuple(map(_drop_rule, args))) if primitive.squared else None
        if self.order == 1:
            return Jet(value, [self._tangent(primitive, args, values, value)], self, rule)
        lazy_args = tuple(arg.make_lazy() if _is_jet(arg, self) else arg for arg in args)
        jet = self.lazy.result(primitive, lazy_args, values, value)
        jet.nth(self.order)
        return Jet(value, jet.higher, self, rule)

    def _tangent(self, primitive: Primitive, args: Args, values: Args, value: Any) -> Any:
        """Return v̇ = Σ over arguments u of (∂v/∂u) u̇."""
        dot: Any = ZERO
        for i, arg in enumerate(args):
            if type(arg) is Jet and arg.level is self:
                term = push(primitive.partial(i, value, values), arg.higher[0])
                dot = term if dot is ZERO else plus(dot, term)
        return dot if dot is ZERO else fit(dot, value)


@final
class LazyLevel(Level):
    """The level of jets inside a rule: their derivatives are computed when asked for.

    The rule of sin evaluates cos, whose rule evaluates sin, and so on, each to one order less.
    """

    def result(self, primitive: Primitive, args: Args, values: Args, value: Any) -> Jet:
        """Return a jet that knows how to extend itself."""
        return Jet(value, [], self, (primitive, args))


@final
class Jet(Traced):
    """A value with its derivatives: `higher[0]` is v', `higher[1]` is v'', ..."""

    __slots__ = ("higher", "rule", "slopes")

    def __init__(
        self, value: Any, higher: list[Any], level: Level, rule: Rule | None = None
    ) -> None:
        self.value = value
        self.higher = higher
        self.level = level
        self.rule = rule
        self.slopes: list[tuple[Any, Any, dict[int, Any]]] | None = None

    def nth(self, n: int) -> Any:
        """Return the n-th derivative, extending the jet as far as needed."""
        if n == 0:
            return self.value
        while len(self.higher) < n:
            self.higher.append(self._next())
        return self.higher[n - 1]

    def make_lazy(self) -> Jet:
        """Return a lazy copy of this jet, for use inside a rule."""
        assert isinstance(self.level, JetLevel)
        return Jet(self.value, self.higher, self.level.lazy)

    def _next(self) -> Any:
        m = len(self.higher)
        if self.slopes is None:
            self.slopes = self._slopes()
        total: Any = ZERO
        for slope, u, pushed in self.slopes:
            for j in range(m + 1):
                term = self._term(slope, u, m + 1 - j, j, pushed)
                if term is not ZERO:
                    total = plus(total, term if comb(m, j) == 1 else comb(m, j) * term)
        return total if total is ZERO else fit(total, self.value)

    def _term(self, slope: Any, u: Any, k: int, j: int, pushed: dict[int, Any]) -> Any:
        """Return (∂v/∂u)⁽ʲ⁾ u⁽ᵏ⁾; a constant slope has no derivatives.

        A map may itself depend on jets: then so does what it gives for u⁽ᵏ⁾, which `pushed` keeps.
        """
        derivative = u.nth(k)
        if derivative is ZERO or slope is ZERO:
            return ZERO
        if isinstance(slope, Linear) and not _is_unknown(derivative):
            if k not in pushed:
                term = slope.push(filled(derivative))
                pushed[k] = term if _is_unknown(term) else filled(term)
            return self._differentiate(pushed[k], j)
        return push(self._differentiate(slope, j), derivative)

    def _differentiate(self, x: Any, j: int) -> Any:
        """Return the j-th derivative of a jet, or of a constant."""
        return x.nth(j) if _is_jet(x, self.level) else ZERO if j else x

    def _slopes(self) -> list[tuple[Any, Any, dict[int, Any]]]:
        """Return (∂v/∂u, u, {}) for each argument u that is a jet."""
        assert self.rule is not None
        primitive, args = self.rule
        return [
            (primitive.partial(i, self, args), arg, {})
            for i, arg in enumerate(args)
            if _is_jet(arg, self.level)
        ]

    def __repr__(self) -> str:
        return f"Jet({self.value!r}, derivatives={self.higher!r})"


def _drop_rule(arg: Any) -> Any:
    """Return an argument of a root without its own history, which the square does not need."""
    return Jet(arg.value, arg.higher, arg.level) if type(arg) is Jet else arg


def _is_unknown(derivative: Any) -> bool:
    return getattr(type(derivative), "unknown", False)


def _is_jet(arg: Any, level: Level) -> bool:
    return type(arg) is Jet and arg.level is level
