"""Loops and branches as functions with JAX's signatures: `scan`, `fori_loop`, `while_loop`, `cond`.

They run Python's `for`, `while` and `if`, so they are differentiated in every mode, to any order;
`while_loop` in reverse mode, too. What they add is `checkpoint`: reverse mode then retains only
that many states of the loop, by the binomial schedule of `transforms/snapshots`.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import index
from typing import Any

import numpy as np

from simpleautodiff.arrays.batch.batch_level import Batch
from simpleautodiff.core.level import take_current, to_plain
from simpleautodiff.errors import ArgumentError
from simpleautodiff.rules.branches import where
from simpleautodiff.transforms.arguments import check_function
from simpleautodiff.transforms.for_some_examples import call_for_some, copy_array
from simpleautodiff.transforms.snapshots import SteppedLoop
from simpleautodiff.values.functions import shape
from simpleautodiff.values.pytree import flatten, map_leaves, matching_leaves

F = Callable[..., Any]


def scan(
    f: F,
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    *,
    checkpoint: int | None = None,
) -> tuple[Any, Any]:
    """Carry a state along the first axis of arrays: ``carry, y = f(carry, x)`` for each x.

    Parameters
    ----------
    f
        Takes the carry and one x (None without `xs`); returns the next carry, of the same structure
        and shapes, and a y (a structure, or None).
    init
        The first carry: numbers, arrays, or a structure of them.
    xs
        Arrays of the same length, or a structure of them.
    length
        The number of steps; needed where there are no `xs`.
    reverse
        Begin with the last x. Each y has the index of its x.
    checkpoint
        How many states reverse mode retains; by default all of them.

    Returns
    -------
    The last carry, and the y's, stacked.

    Examples
    --------
    >>> import numpy as np
    >>> import simpleautodiff as ad
    >>> def step(total, x):
    ...     return total + x, total * x
    >>> total, products = ad.scan(step, 0.0, np.array([1.0, 2.0, 3.0]))
    >>> print(total, products)
    6.0 [0. 2. 9.]
    >>> ad.grad(lambda xs: ad.scan(step, 0.0, xs)[1].sum())(np.array([1.0, 2.0, 3.0]))
    array([5., 4., 3.])
    """
    check_function(f)
    count = _count_steps(xs, length)
    places = range(count)[::-1] if reverse else range(count)

    def step(k: int, carry: Any, x: Any) -> tuple[Any, Any]:
        made = f(carry, x)
        if not isinstance(made, tuple) or len(made) != 2:
            raise ArgumentError(
                f"the function of a scan returns (carry, y), got {made!r}; without a y write "
                "return carry, None"
            )
        return _check_carry(made[0], init, "the carry of a scan"), made[1]

    return SteppedLoop(step, count, None, checkpoint, places).run(init, xs)


def fori_loop(
    lower: int, upper: int, body_fun: F, init_val: Any, *, checkpoint: int | None = None
) -> Any:
    """Compute ``val = body_fun(i, val)`` for i from `lower` to `upper` - 1.

    With `checkpoint`, reverse mode retains that many states and computes the others again.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> power = lambda x: ad.fori_loop(0, 5, lambda i, v: v * x, 1.0)
    >>> ad.grad(power)(2.0), ad.grad(ad.grad(power))(2.0)  # 5 x⁴, 20 x³
    (80.0, 160.0)
    """
    check_function(body_fun)
    try:
        begin, end = index(lower), index(upper)
    except TypeError as error:
        raise ArgumentError(
            f"fori_loop counts from an integer to another, got {lower!r} and {upper!r}; while_loop "
            "ends when a condition on numbers says so"
        ) from error

    def step(k: int, state: Any, x: None) -> tuple[Any, None]:
        made = body_fun(begin + k, state)
        return _check_carry(made, init_val, "the value of a fori_loop"), None

    return SteppedLoop(step, max(0, end - begin), None, checkpoint).run(init_val, None)[0]


def while_loop(cond_fun: F, body_fun: F, init_val: Any, *, checkpoint: int | None = None) -> Any:
    """Compute ``val = body_fun(val)`` as long as ``cond_fun(val)`` holds.

    Reverse mode works, too: it takes as many steps as the loop did. With `checkpoint`, it retains
    that many states and computes the others again. Under `vmap` the loop goes on as long as it does
    for some example; the others keep their state.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> def root(a):  # Newton's method
    ...     far = lambda x: abs(x * x - a) > 1e-12
    ...     return ad.while_loop(far, lambda x: (x + a / x) / 2, a)
    >>> root(2.0), round(ad.grad(root)(2.0), 6)
    (1.414213562373095, 0.353553)
    """
    check_function(cond_fun)
    check_function(body_fun)
    differs = False  # whether the examples of a batch take different numbers of steps

    def holds(state: Any) -> Any:
        nonlocal differs
        going = cond_fun(state)
        differs = _differs_between_examples(going)
        return _holds_for_some(going) if differs else going

    def step(k: int, state: Any, x: None) -> tuple[Any, None]:
        made = call_for_some(body_fun, state) if differs else body_fun(state)
        made = _check_carry(made, init_val, "the value of a while_loop")
        return (_choose(cond_fun(state), made, state) if differs else made), None

    return SteppedLoop(step, None, holds, checkpoint).run(init_val, None)[0]


def cond(pred: Any, true_fun: F, false_fun: F, *operands: Any) -> Any:
    """Compute ``true_fun(*operands)`` if `pred` holds, and ``false_fun(*operands)`` if not.

    Under `vmap`, where that may differ between examples, both are computed, and one is selected.
    What the functions write to the operands shows in what they return, and nowhere else.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> f = lambda x: ad.cond(x > 0, lambda x: x * x, lambda x: -x, x)
    >>> ad.grad(f)(3.0), ad.grad(f)(-3.0)
    (6.0, -1.0)
    """
    check_function(true_fun)
    check_function(false_fun)
    level = getattr(to_plain(pred), "level", None)
    selects = getattr(level, "selects", False)  # in a recorded loop
    if selects or _differs_between_examples(pred):
        chosen = call_for_some(true_fun, *operands), call_for_some(false_fun, *operands)
        return _choose(pred, *chosen)
    return (true_fun if pred else false_fun)(*map_leaves(copy_array, operands))


def _differs_between_examples(pred: Any) -> bool:
    """Tell whether a condition is that of a batch whose examples run together."""
    pred = to_plain(pred)
    return type(pred) is Batch and not getattr(pred.level, "parts_at_branches", False)


def _holds_for_some(pred: Any) -> bool:
    """Tell whether a condition holds for some example of a batch; `jit` then guards the answer."""
    pred = to_plain(pred)
    while type(pred) is Batch:
        pred = to_plain(pred.value)
    return bool(np.any(pred))


def _choose(pred: Any, yes: Any, no: Any) -> Any:
    """Return one of two structures, by a condition on the numbers of a step or an example."""
    others = iter(matching_leaves(no, yes, "what cond gives if its condition does not hold"))
    return map_leaves(lambda leaf: where(pred, leaf, next(others)), yes)


def _count_steps(xs: Any, length: int | None) -> int:
    """Return the common length of the arrays, or `length` if there are none."""
    leaves = flatten(xs)[0] if xs is not None else []
    for leaf in leaves:
        if not shape(take_current(leaf)):
            raise ArgumentError(
                f"a scan goes along the first axis of arrays; {leaf!r} has none. What is the same "
                "in every step is used by the function without being among xs"
            )
    lengths = {shape(take_current(leaf))[0] for leaf in leaves}
    if length is not None:
        lengths.add(index(length))
    if len(lengths) != 1:
        found = f"lengths {sorted(lengths)}" if lengths else "neither"
        raise ArgumentError(f"a scan needs xs of one length, or length=...; got {found}")
    count = lengths.pop()
    if count < 0:
        raise ArgumentError(f"a scan has no less than 0 steps, got {count}")
    return int(count)


def _check_carry(made: Any, init: Any, what: str) -> Any:
    """Refuse a state that differs in structure or shape from the first one."""
    leaves = matching_leaves(made, init, what)
    for leaf, first in zip(leaves, flatten(init)[0], strict=True):
        if shape(take_current(leaf)) != shape(take_current(first)):
            raise ArgumentError(
                f"{what} keeps its shape: it began as {shape(take_current(first))} and became "
                f"{shape(take_current(leaf))}"
            )
    return made
