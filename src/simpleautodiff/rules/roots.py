"""Roots and squares that meet at 0: what is recorded where a factor of the formula is singular.

A root v of a smooth s ≥ 0 (`abs`, `hypot`, `sqrt`; a norm and a standard deviation are roots, too)
has a kink where s = 0, and v² has none. Two rules, applied where the numbers are at 0:

- An even power of a root has the derivatives of that power of s: d(v²) = ds.
- The root of a sum of squares has the derivative 0, the subgradient of least norm, as a norm has.
  In forward mode, which does not know what s was made of, a root is flat where ds is 0.

Values are those of the operations that were written.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from numbers import Real
from typing import Any

import numpy as np

from simpleautodiff.core.jet import Jet
from simpleautodiff.core.level import Traced, apply, concrete, plain
from simpleautodiff.core.linear import ZERO, Linear, pull, push
from simpleautodiff.core.node import Constant, Node
from simpleautodiff.core.primitive import TABLE, Args, Kink, Partial, Primitive
from simpleautodiff.rules.branches import choose
from simpleautodiff.values.functions import is_complex, is_mpmath_interval, shape
from simpleautodiff.values.other_arrays import Foreign

Restated = tuple[Primitive, Args] | None


def restate_product(x: Any, y: Any, add_up: Linear | None = None) -> Restated:
    """Return a product that is the square of a root; `add_up` says which products are added."""
    return restate_square(x, 2, add_up) if is_root(x) and _is_same(x, y) else None


def restate_square(root: Any, n: int = 2, add_up: Linear | None = None) -> Restated:
    """Return the n-th power of a root as a function of what the root was made of; n is even."""
    if not is_root(root) or not _happens(plain(root) == 0):
        return None
    primitive, args = _origin(root)
    assert primitive is not None
    return _even_power(primitive, n, add_up), (root, *args)


def restate_root(x: Any) -> Restated:
    """Return the square root of a sum of squares, which is flat at 0."""
    return _restate_flat(TABLE["sqrt"], x)


def restate_power(x: Any, y: Any) -> Restated:
    """Return a power that is an even one of a root, or a root of a sum of squares."""
    if not _is_number(y) or float(y) < 0.5:
        return None
    y, exponent = float(y), y
    if y == 0.5:
        return restate_root(x)
    if y < 1:
        return _restate_flat(TABLE["power"], x, exponent)
    return restate_square(x, int(y)) if y % 2 == 0 else None


def _is_number(y: Any) -> bool:
    """Tell whether an exponent is a plain real number; nodes count as real numbers elsewhere."""
    return isinstance(y, Real) and not isinstance(y, Traced) and not is_mpmath_interval(type(y))


def _origin(x: Any) -> tuple[Primitive | None, Args]:
    """Return the primitive that made a node, or a jet if it is a root, and its arguments."""
    if type(x) is Node:
        args = [arg.value if type(arg) is Constant else arg for arg in x.args]
        return x.primitive, tuple(args)
    return x.rule if type(x) is Jet and x.rule is not None else (None, ())


def is_root(x: Any) -> bool:
    """Tell whether a node or a jet is a root, whose square is smooth."""
    if type(x) is Node:
        return x.primitive is not None and x.primitive.squared is not None
    return type(x) is Jet and x.rule is not None and x.rule[0].squared is not None


def _is_same(x: Any, y: Any) -> bool:
    """Tell whether two arguments are one number: one node, or two that were made alike.

    Jets that are no roots are one number if they and their derivatives are equal.
    """
    pairs, left = [(x, y)], 32
    while pairs:
        a, b = pairs.pop()
        left -= 1
        if a is b:
            continue
        if type(a) is not type(b) or not left:
            return False
        if type(a) is Node and a.level is b.level and type(a.index) is int and a.index == b.index:
            continue  # a tape may have a slimmer copy of what it shows
        if type(a) is Node or is_root(a):
            (made_a, args_a), (made_b, args_b) = _origin(a), _origin(b)
            if made_a is None or made_a is not made_b:
                return False
            rules = made_a.squared or made_a.partials  # where a root is flat is no matter
            pairs += [
                (p, q)
                for rule, p, q in zip(rules, args_a, args_b, strict=True)
                if rule is not ZERO or made_a.squared is None
            ]
        elif type(a) is Jet:
            pairs += [(a.value, b.value), *zip(a.higher, b.higher, strict=True)]
        elif not (np.array_equal(a, b) if type(a) in _NUMPY else type(a) in _PLAIN and a == b):
            return False
    return True


_NUMPY = {np.ndarray, np.float64, np.float32, np.complex128}
_PLAIN = {int, float, str, bool, slice, tuple, type(None)}


def _happens(condition: Any) -> bool:
    """Tell whether a condition holds for some element; what is opaque or lazy may come to that."""
    return isinstance(condition, (Traced, Foreign)) or bool(np.any(condition))


@cache
def _even_power(root: Primitive, n: int, add_up: Linear | None) -> Primitive:
    """Make the primitive of the n-th power of a root, from the root and its arguments."""
    assert root.squared is not None

    def rule_of(k: int, rule: Partial) -> Partial:
        def slope(_v: Any, root: Any, *args: Any) -> Any:
            square = rule(*args) if callable(rule) else rule
            if n == 2 and add_up is None:
                return square
            factor = n // 2 * _lower(root, args) if n > 2 else 1
            forward, back = (add_up.push, add_up.pull) if add_up else (lambda x: x, lambda x: x)
            return Linear(
                lambda dot: forward(factor * push(square, dot)),
                lambda bar: pull(square, back(bar) * factor),
            )

        return rule if rule is ZERO else slope

    def _lower(v: Any, args: Args) -> Any:
        """Return the power that is less by 2; of plain numbers, those of args may be gone."""
        if isinstance(v, Traced):
            return apply(_even_power(root, n - 2, None), v, *args)
        return v ** (n - 2)

    def compute(_root: Any, *args: Any) -> Any:
        power = root.compute(*args) ** n
        return add_up.push(power) if add_up else power

    text, latex = (_shift_slots(form, len(root.partials)) for form in (root.text, root.latex))
    return replace(
        root,
        name="square" if n == 2 else "power",
        partials=(ZERO, *[rule_of(k, rule) for k, rule in enumerate(root.squared)]),
        compute=compute,
        text=f"({text})^{n}",
        latex=rf"\left({latex}\right)^{{{{{n}}}}}",
        reason="the even power of a root is that of a smooth function",
        kinks=(),
        by_type=None,
        settings=tuple([k + 1 for k in root.settings]),
        arrays=root.arrays or add_up is not None,
        holomorphic=False,
        listed=False,
        squared=None,
        restate=None,
    )


def _shift_slots(form: str, arity: int) -> str:
    """Count the slots of a printed form from 1 on."""
    return form.format(*[f"{{{k + 1}}}" for k in range(arity)])


def _restate_flat(primitive: Primitive, x: Any, *exponent: Any) -> Restated:
    """Return a root with slope 0 where its argument, a sum of squares, is 0."""
    if is_complex(plain(x)) or not _happens(flat := plain(x) == 0):
        return None
    if type(x) is Jet:
        if (dot := x.nth(1)) is ZERO or not _happens(flat := flat & (plain(dot) == 0)):
            return None
    elif type(x) is not Node or not is_sum_of_squares(x):
        return None
    return _flat(primitive), (x, *exponent, flat)


@cache
def _flat(primitive: Primitive) -> Primitive:
    """Make a root with one more argument: where its slope is 0."""
    rule, *others = primitive.partials

    def slope(v: Any, x: Any, *args: Any) -> Any:
        flat = plain(args[-1])
        return choose(flat, 0, lambda: rule(choose(flat, 1, v), choose(flat, 1, x), *args[:-1]))

    def besides(other: Partial) -> Partial:
        return lambda v, *args: other(v, *args[:-1])

    return replace(
        primitive,
        partials=(slope, *map(besides, others), ZERO),
        compute=lambda *args: primitive.compute(*args[:-1]),
        kinks=(Kink("x = 0", lambda *args: args[-1], "0, the subgradient of least norm"),),
        by_type=None,
        settings=(primitive.arity,),
        listed=False,
        squared=primitive.squared and (*primitive.squared, ZERO),
        restate=None,
    )


# Sums of squares. ---------------------------------------------------------------------------------

_MOVING = {"astype", "broadcast_to", "cumsum", "getitem", "pos", "reshape", "roll", "scatter",
           "sum", "sum_to", "transpose"}  # fmt: skip
_ADDING = {"add", "concatenate", "set_item", "where"}
_MULTIPLYING = {"div", "einsum", "matmul", "mul"}


@cache
def _form() -> Primitive:
    return replace(TABLE["pos"], by_type=None, listed=False)


def as_sum_of_squares(x: Any) -> Any:
    """Return x, which the caller knows to be one, as x @ A @ x is for a suitable A."""
    return apply(_form(), x)


def is_sum_of_squares(x: Node) -> bool:
    """Tell whether a node is a sum of squares of real numbers, with weights that are not negative.

    The graph is asked, not the numbers: what it was made by, and from what.
    """
    seen: set[int] = set()
    waiting: list[Any] = [x]
    while waiting:
        node = waiting.pop()
        if type(node) is not Node:
            if not _is_not_negative(node):
                return False
        elif id(node) not in seen and not _is_square(node):
            seen.add(id(node))
            terms = _terms(node)
            if terms is None:
                return False
            waiting += terms
    return True


def _is_square(node: Node) -> bool:
    """Tell whether a node is made of squares of real numbers, or of sizes of complex ones."""
    primitive, args = _origin(node)
    name, (first, *others) = node.operator, args or (None,)
    if name == "real" and type(first) is Node and first.operator == "mul":
        pair = first.args
        return any(_is_conjugate(*each) for each in (pair, pair[::-1]))
    if primitive is None or is_complex(plain(node.value)):
        return False
    if primitive is _form():
        return True
    if name == "mul" or (name == "matmul" and len(shape(plain(node.value))) == 0):
        return _is_same(first, others[0])
    if name == "einsum" and len(others) == 2:
        left, right = first.split("->")[0].split(",")
        return left == right and _is_same(others[0], others[1])
    exponent = float(others[0]) if name == "power" and _is_number(others[0]) else 0.0
    return name == "square" or (exponent >= 2 and exponent % 2 == 0)


def _is_conjugate(z: Any, w: Any) -> bool:
    return type(w) is Node and w.operator == "conj" and _is_same(w.args[0], z)


def _terms(node: Node) -> list[Any] | None:
    """Return what has to be a sum of squares, or a weight, so that the node is a sum of squares."""
    name, args = node.operator, _origin(node)[1]
    if name in _MOVING:
        return [args[0]]
    if name in _ADDING:
        assert node.primitive is not None
        return [arg for k, arg in enumerate(args) if k not in node.primitive.settings]
    if name in _MULTIPLYING:
        factors = [arg for arg in args if not isinstance(arg, str)]
        divided = name == "div" and type(args[1]) is Node
        return None if divided or sum(type(x) is Node for x in factors) > 1 else factors
    return None


def _is_not_negative(weight: Any) -> bool:
    """Tell whether all numbers of a constant are at least 0; a recorded program asks each time."""
    number = plain(weight)
    if is_complex(number):
        return False
    if isinstance(number, Traced) and not getattr(number, "can_decide", False):
        number = concrete(number) if not hasattr(number, "concrete") else -1
    return bool(np.all(number >= 0))
