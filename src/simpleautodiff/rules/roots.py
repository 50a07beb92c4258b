"""Roots and squares that meet at 0: what is recorded where a factor of the formula is singular.

A root v of a smooth s ≥ 0 (`abs`, `hypot`, `sqrt`; a norm and a standard deviation are roots, too)
has a kink where s = 0, and v² has none. Two rules, applied where the numbers are at 0:

- An even power of a root has the derivatives of that power of s: d(v²) = ds.
- The root of a sum of squares has the derivative 0, the subgradient of least norm, as a norm has.
  In forward mode, which does not know what s was made of, a root is flat where ds is 0.

A multiple of a root is one as well, and so are its elements at other places: (c v)² = c (c v²).

Values are those of the operations that were written.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from numbers import Real
from typing import Any

import numpy as np

from simpleautodiff.core.jet import Jet
from simpleautodiff.core.level import Traced, apply, concrete, plain
from simpleautodiff.core.linear import ZERO
from simpleautodiff.core.node import Constant, Node
from simpleautodiff.core.primitive import TABLE, Args, Kink, Partial, Primitive
from simpleautodiff.rules.branches import choose
from simpleautodiff.values.functions import is_complex, is_mpmath_interval, shape
from simpleautodiff.values.other_arrays import Foreign

Restated = tuple[Primitive, Args] | None


def restate_product(x: Any, y: Any) -> Restated:
    """Return a product in which a root meets itself as a function of what the root was made of."""
    if _is_itself(x, y):
        return restate_square(x)
    primitive, smooth = TABLE["mul"], multiply_roots(x, y)
    return carry_root(primitive, x, y) if smooth is None else restate_as(primitive, smooth, x, y)


def restate_square(x: Any) -> Restated:
    """Return the square of a root, or of a multiple of one."""
    return _restate_even(TABLE["square"], x, 2)


def _restate_even(primitive: Primitive, x: Any, n: int, *exponent: Any) -> Restated:
    """Return an even power of a root as a function of what the root was made of."""
    if n == 2 and is_root(x) and _is_at_0(x):
        made, args = _origin(x)
        assert made is not None
        return _square(made), (x, *args)
    smooth = multiply_roots(x, x)
    if smooth is None:
        return carry_root(primitive, x, *exponent)
    return restate_as(primitive, smooth if n == 2 else smooth ** (n // 2), x, *exponent)


def multiply_roots(x: Any, y: Any) -> Any:
    """Return x × y as a smooth number, if a root at 0 is a factor of both; None if not."""
    number = plain(x)
    few = type(number) is float or (type(number) is np.ndarray and number.size < _FEW)
    if few and not _is_at_0(x):
        return None
    first = find_root(x)
    second = first if first is None or y is x else find_root(y)
    if first is None or second is None or not (few or _is_at_0(x)):
        return None
    if not _is_same(first.root, second.root):
        return None
    return first.multiply(second.multiply(first.square()))


def restate_as(primitive: Primitive, smooth: Any, *args: Any) -> Restated:
    """Return a primitive that has its own value, and the derivatives of `smooth`."""
    return _with_derivatives_of_last(primitive), (*args, smooth)


def restate_root(x: Any) -> Restated:
    """Return the square root of a sum of squares, which is flat at 0."""
    return _restate_flat(TABLE["sqrt"], x)


def restate_power(x: Any, y: Any) -> Restated:
    """Return a power that is an even one of a root, or a root of a sum of squares."""
    if not _is_number(y) or float(y) < 0.5:
        return None
    y, exponent = float(y), y
    if y == 0.5:
        return restate_root(x) or _restate_half(x, exponent)
    if y < 1:
        return _restate_flat(TABLE["power"], x, exponent)
    return _restate_even(TABLE["power"], x, int(y), exponent) if y % 2 == 0 else None


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
    primitive = _origin(x)[0]
    return primitive is not None and any(rule is not ZERO for rule in primitive.squared or ())


def _is_at_0(x: Any) -> bool:
    number = plain(x)
    if type(number) is np.ndarray and number.dtype != object:
        return not number.all()
    return number == 0 if type(number) is float else _happens(number == 0)


def _is_itself(x: Any, y: Any) -> bool:
    return x is y or (is_root(x) and _is_same(x, y))


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
                if rule is not ZERO or not made_a.squared
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
def _square(root: Primitive) -> Primitive:
    """Make the primitive of the square of a root, from the root and its arguments."""
    assert root.squared is not None

    def rule_of(rule: Partial) -> Partial:
        return (lambda _v, root, *args: rule(root, *args)) if callable(rule) else rule

    text, latex = (_shift_slots(form, len(root.partials)) for form in (root.text, root.latex))
    squared = replace(
        root,
        name="square",
        partials=(ZERO, *map(rule_of, root.squared)),
        compute=lambda _root, *args: root.compute(*args) ** 2,
        text=f"({text})^2",
        latex=rf"\left({latex}\right)^2",
        reason="the square of a root is a smooth function",
        kinks=(),
        by_type=None,
        settings=tuple([k + 1 for k in root.settings]),
        holomorphic=False,
        listed=False,
        squared=None,
        restate=None,
    )
    _VALUES[squared] = TABLE["square"], 1
    return squared


# Of the primitives made here: the row of the table whose value they have, of how many arguments.
_VALUES: dict[Primitive, tuple[Primitive, int]] = {}


def find_value_alone(primitive: Primitive, args: Args) -> tuple[Primitive, Args]:
    """Return the row and arguments that have the same value, where no derivative is asked for."""
    made, count = _VALUES.get(primitive, (primitive, len(args)))
    return made, args[:count]


def _shift_slots(form: str, arity: int) -> str:
    """Count the slots of a printed form from 1 on."""
    return form.format(*[f"{{{k + 1}}}" for k in range(arity)])


@cache
def _with_derivatives_of_last(primitive: Primitive) -> Primitive:
    """Make a primitive with one more argument, of the same value: it has that one's derivatives."""
    stated = replace(
        primitive,
        partials=(*[ZERO] * primitive.arity, 1),
        compute=lambda *args: primitive.compute(*args[:-1]),
        kinks=(),
        by_type=None,
        batch=None,
        listed=False,
        squared=None,
        restate=None,
    )
    _STATED.add(stated)
    _VALUES[stated] = primitive, primitive.arity
    return stated


_STATED: set[Primitive] = set()


# Multiples of roots. ------------------------------------------------------------------------------

_FEW = 10_000  # numbers that are sooner compared with 0 than a root is looked for
_FACTORS = {"mul": 2, "div": 1, "neg": 1, "pos": 1}  # which of their arguments are factors
_FAR = 6  # how many steps back a root is looked for


@dataclass(frozen=True, slots=True)
class Multiple:
    """A number that has a root as a factor: how it comes from the root, and the root's square.

    Elements of roots at other places are roots as well.
    """

    root: Any
    square: Callable[[], Any]
    multiply: Callable[[Any], Any] = lambda x: x
    steps: int = 0


def find_root(x: Any, far: int = _FAR) -> Multiple | None:
    """Return a number as the multiple of a root, which is found by what the number was made of."""
    if not far or (type(x) is Node and (x.primitive is None or x.primitive.squared is None)):
        return None
    primitive, args = _origin(x)
    if primitive is None:
        return None
    if is_root(x):
        return Multiple(x, lambda: apply(_square(primitive), x, *args))
    return _find_factor(primitive, args, x, far)


def _find_factor(primitive: Primitive, args: Args, x: Any, far: int = _FAR) -> Multiple | None:
    """Return what a primitive makes of its arguments, which is x, as the multiple of a root."""
    if args and type(args[-1]) is Multiple:
        return args[-1] if args[-1].steps < far else None
    if primitive.squared != ():
        return None
    if primitive.name not in _FACTORS:
        return _find_moved(primitive, args, x, far)
    for k in range(_FACTORS[primitive.name]):
        factor = find_root(args[k], far - 1)
        if factor is not None:
            multiply = partial(_multiply, primitive, args, k, factor)
            return Multiple(factor.root, factor.square, multiply, factor.steps + 1)
    return None


def _multiply(primitive: Primitive, args: Args, k: int, factor: Multiple, number: Any) -> Any:
    """Return a product with another number in place of the root among its factors."""
    return apply(primitive, *args[:k], factor.multiply(number), *args[k + 1 :])


def _find_moved(primitive: Primitive, args: Args, x: Any, far: int) -> Multiple | None:
    """Return x, whose elements are those of some arrays, as a root, if one of them is."""
    numbers = [k not in primitive.settings for k in range(len(args))]
    found = [find_root(arg, far - 1) if numbers[k] else None for k, arg in enumerate(args)]
    steps = [one.steps for one in found if one is not None]
    if not steps:
        return None

    def square() -> Any:
        return apply(primitive, *map(_square_number, numbers, args, found))

    return Multiple(x, square, steps=1 + max(steps))


def _square_number(is_number: bool, arg: Any, found: Multiple | None) -> Any:
    """Return the square of an argument that is moved; a setting is as it is."""
    if not is_number:
        return arg
    return arg * arg if found is None else found.multiply(found.multiply(found.square()))


def carry_root(primitive: Primitive, *args: Any) -> Restated:
    """Return a primitive that remembers the root in its arguments, which are jets; nodes do."""
    roots = [arg for arg in args if type(arg) is Jet and arg.rule is not None]
    if not any(map(_is_at_0, roots)):
        return None
    found = _find_factor(primitive, args, object())
    return None if found is None else (_carrying(primitive), (*args, found))


@cache
def _carrying(primitive: Primitive) -> Primitive:
    """Make a primitive with one more argument, which is remembered."""
    return replace(
        primitive,
        partials=(*map(_besides_last, primitive.partials), ZERO),
        compute=lambda *args: primitive.compute(*args[:-1]),
        by_type=None,
        batch=None,
        settings=(*primitive.settings, primitive.arity),
        listed=False,
        squared=(ZERO,) * (primitive.arity + 1),
        restate=None,
    )


def _besides_last(rule: Partial) -> Partial:
    """Return the rule of a primitive for one that has an argument more."""
    return (lambda v, *args: rule(v, *args[:-1])) if callable(rule) else rule


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


def _restate_half(x: Any, exponent: Any) -> Restated:
    """Return x to the power 1/2, where x is 0, as the root that it is."""
    return (_half_power(), (x, exponent)) if type(x) in (Node, Jet) and _is_at_0(x) else None


@cache
def _half_power() -> Primitive:
    squared = TABLE["sqrt"].squared
    assert squared is not None
    (rule,) = squared
    return replace(
        TABLE["power"],
        by_type=None,
        listed=False,
        squared=(lambda v, x, _exponent: rule(v, x), ZERO),
        restate=None,
    )


@cache
def _flat(primitive: Primitive) -> Primitive:
    """Make a root with one more argument: where its slope is 0."""
    rule, *others = primitive.partials

    def slope(v: Any, x: Any, *args: Any) -> Any:
        flat = plain(args[-1])
        return choose(flat, 0, lambda: rule(choose(flat, 1, v), choose(flat, 1, x), *args[:-1]))

    return replace(
        primitive,
        partials=(slope, *map(_besides_last, others), ZERO),
        compute=lambda *args: primitive.compute(*args[:-1]),
        kinks=(Kink("x = 0", lambda *args: args[-1], "0, the subgradient of least norm"),),
        by_type=None,
        settings=(primitive.arity,),
        listed=False,
        squared=primitive.squared and (*map(_besides_last, primitive.squared), ZERO),
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


def where_finite(v: Any, slope: Any) -> Any:
    """Return the slope of the square of a root; one that is not finite has none, as in 2 v dv."""
    nothing = plain(v) - plain(v)  # 0 or nan
    return choose(nothing == 0, slope, nothing)


def as_sum_of_squares(x: Any) -> Any:
    """Return x, which the caller knows to be one, as x @ A @ x is for a suitable A."""
    return apply(_form(), x)


def is_sum_of_squares(x: Node) -> bool:
    """Tell whether a node is a sum of squares of real numbers, with weights that are not negative.

    Products and quotients of such sums are, too: where one is 0, its derivative is 0.

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
    if name == "einsum" and first.count(",") == 1:
        left, right = first.split("->")[0].split(",")
        return left == right and _is_same(others[0], others[1])
    exponent = float(others[0]) if name == "power" and _is_number(others[0]) else 0.0
    return name == "square" or (exponent >= 2 and exponent % 2 == 0)


def _is_conjugate(z: Any, w: Any) -> bool:
    return type(w) is Node and w.operator == "conj" and _is_same(w.args[0], z)


def _terms(node: Node) -> list[Any] | None:
    """Return what has to be a sum of squares, or a weight, so that the node is a sum of squares."""
    name, args = node.operator, _origin(node)[1]
    if node.primitive in _STATED:
        return [args[-1]]
    if name in _MOVING:
        return [args[0]]
    if name in _ADDING:
        assert node.primitive is not None
        return [arg for k, arg in enumerate(args) if k not in node.primitive.settings]
    if name in _MULTIPLYING:
        return [arg for arg in args if not isinstance(arg, str)]
    return None


def _is_not_negative(weight: Any) -> bool:
    """Tell whether all numbers of a constant are at least 0; a recorded program asks each time."""
    number = plain(weight)
    if is_complex(number):
        return False
    if isinstance(number, Traced) and not getattr(number, "can_decide", False):
        number = concrete(number) if not hasattr(number, "concrete") else -1
    return bool(np.all(number >= 0))
