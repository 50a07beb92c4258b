"""Trade recomputation for memory in reverse mode: retain a function's arguments, not its graph."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from simpleautodiff.core.level import Level, Traced, apply, unwrapped
from simpleautodiff.core.linear import ZERO, Linear
from simpleautodiff.core.node import Recorder
from simpleautodiff.core.primitive import Primitive
from simpleautodiff.rules.array.shapes import Bundle
from simpleautodiff.transforms.arguments import Selection
from simpleautodiff.transforms.grad import jvp
from simpleautodiff.transforms.kinks import KinkTape
from simpleautodiff.transforms.recorded_call import RecordedCall
from simpleautodiff.values.pytree import flatten


def checkpoint(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return `f` such that reverse mode retains only its arguments and runs it again when needed.

    In the graph the whole call is one node, between a node that bundles its arguments and one node
    for each result. `f` runs again, so it has to give the same results again: a function that draws
    random numbers must be given them. If it uses nodes that are not among its arguments, it is
    recorded as usual.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> def many_steps(x):
    ...     for _ in range(1000):
    ...         x = ad.sin(x)
    ...     return x
    >>> ad.grad(ad.checkpoint(many_steps))(1.0) == ad.grad(many_steps)(1.0)
    True
    """
    return as_one_node(f, lambda call_with, arguments_of, inputs: _replay_rule(call_with))


def as_one_node(f: Callable[..., Any], make_rule: Callable[..., Any]) -> Callable[..., Any]:
    """Return `f` such that reverse mode records each call as one node.

    `make_rule(call_with, arguments_of, inputs)` makes its rule, between the bundle of the leaves at
    `inputs` and that of the results: `call_with(*entries)` is `f` as a function of these leaves,
    and `arguments_of(entries)` the arguments with them.
    """

    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        leaves, rebuild = flatten((args, kwargs))
        leaves = [unwrapped(leaf) for leaf in leaves]
        level = _find_highest_level(leaves)
        if not isinstance(level, Recorder) or isinstance(level, KinkTape):
            # plain numbers and forward mode retain nothing; kinks are reported step by step
            return f(*args, **kwargs)
        inputs = [i for i, leaf in enumerate(leaves) if _is_recorded_on(leaf, level)]

        def arguments_of(numbers: Any) -> Any:
            new = dict(zip(inputs, numbers, strict=True))
            return rebuild(iter([new.get(i, x) for i, x in enumerate(leaves)]))

        def call_with(*numbers: Any) -> Any:
            new_args, new_kwargs = arguments_of(numbers)
            return f(*new_args, **new_kwargs)

        values = tuple(leaves[i].value for i in inputs)
        results, rebuild_results = flatten(checkpoint(call_with)(*values))
        if any(_is_recorded_from(result, level) for result in results):
            return f(*args, **kwargs)  # it uses nodes that are not arguments: record every step
        bundle = level.record(_pack(len(inputs)), tuple(leaves[i] for i in inputs), Bundle(values))
        replay = level.record(
            _make_primitive("checkpoint", (make_rule(call_with, arguments_of, inputs),)),
            (bundle,),
            Bundle(tuple(results)),
        )
        outputs = [
            level.record(_pick(i, len(results)), (replay,), result)
            if _is_number(result)
            else result
            for i, result in enumerate(results)
        ]
        return rebuild_results(iter(outputs))

    return functools.wraps(f)(checkpointed)


def _is_number(result: Any) -> bool:
    """Tell numbers that have derivatives from bools, integers and strings."""
    return not isinstance(result, (bool, int, str))


def _find_highest_level(leaves: list[Any]) -> Level | None:
    levels = [leaf.level for leaf in leaves if isinstance(leaf, Traced)]
    return max(levels, key=lambda level: level.number, default=None)


def _is_recorded_on(leaf: Any, level: Level) -> bool:
    return isinstance(leaf, Traced) and leaf.level is level


def _is_recorded_from(leaf: Any, level: Level) -> bool:
    return isinstance(leaf, Traced) and leaf.level.number >= level.number


def _replay_rule(f: Callable[..., Any]) -> Callable[..., Linear]:
    """Make the rule of one checkpointed call: run it again, and sweep."""

    def rule(v: Bundle, x: Bundle) -> Linear:
        def push(dot: Bundle) -> Bundle:
            tangents = tuple(0 if d is ZERO else d for d in dot.entries)
            return Bundle(tuple(flatten(jvp(f, x.entries, tangents)[1])[0]))

        def pull(bar: Bundle) -> Bundle:
            recorded = RecordedCall(f, Selection(x.entries))
            results = flatten(recorded.result)[0]
            adjoints = recorded.sweep_back(list(zip(results, bar.entries, strict=True)))
            return Bundle(tuple(ZERO if adjoint is None else adjoint for adjoint in adjoints))

        return Linear(push, pull)

    return rule


def _pack(size: int) -> Primitive:
    def rule(i: int) -> Callable[..., Linear]:
        return lambda v, *xs: Linear(
            lambda dot: Bundle.single(i, dot, size), lambda bar: bar.entries[i]
        )

    return _make_primitive("bundle", tuple(rule(i) for i in range(size)))


def _pick(i: int, size: int) -> Primitive:
    def rule(v: Any, x: Bundle) -> Linear:
        return Linear(lambda dot: dot.entries[i], lambda bar: Bundle.single(i, bar, size))

    return _make_primitive(f"result {i + 1}", (rule,))


def _make_primitive(name: str, partials: tuple[Callable[..., Linear], ...]) -> Primitive:
    slots = ", ".join(f"{{{i}}}" for i in range(len(partials)))
    return Primitive(name, partials, apply, f"{name}({slots})", name, "a linear map")
