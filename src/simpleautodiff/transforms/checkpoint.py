"""Trade recomputation for memory in reverse mode: retain a function's arguments, not its graph."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from simpleautodiff.arrays.writes.views import twin
from simpleautodiff.core.level import Level, Traced, apply, take_current
from simpleautodiff.core.linear import ZERO, Linear, Packing
from simpleautodiff.core.node import Recorder
from simpleautodiff.core.primitive import Primitive
from simpleautodiff.errors import LostDerivativeError
from simpleautodiff.rules.array.shapes import Bundle
from simpleautodiff.transforms.arguments import Selection
from simpleautodiff.transforms.checkpoint_policies import CheckpointPolicies, Policy, SavedCall
from simpleautodiff.transforms.for_some_examples import copy_array
from simpleautodiff.transforms.grad import push_inside
from simpleautodiff.transforms.recorded_call import RecordedCall
from simpleautodiff.values.functions import is_complex
from simpleautodiff.values.pytree import flatten, map_leaves


def checkpoint(f: Callable[..., Any], *, policy: Policy | None = None) -> Callable[..., Any]:
    """Return `f` such that reverse mode retains only its arguments and runs it again when needed.

    With a policy, such as `checkpoint_policies.dots_saveable`, it also retains the arrays that the
    policy saves, and computes what is needed from them instead of running `f` again; the steps
    themselves, which are small, stay recorded. `memory` tells what is saved, and on which line.

    In the graph the whole call is one node, between a node that bundles its arguments and one node
    for each result. `f` runs again, so it has to give the same results again: a function that draws
    random numbers must be given them. If it uses nodes that are not among its arguments, or writes
    to these, it is recorded as usual. Its results share no memory with its arguments.

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
    if policy is CheckpointPolicies.everything_saveable:
        return f
    if policy is None or policy is CheckpointPolicies.nothing_saveable:
        return as_one_node(f, lambda call_with, arguments_of, inputs: _replay_rule(call_with))
    return as_one_node(f, lambda call_with, arguments_of, inputs: _replay_rule(call_with), policy)


def as_one_node(
    f: Callable[..., Any], make_rule: Callable[..., Any], policy: Policy | None = None
) -> Callable[..., Any]:
    """Return `f` such that reverse mode records each call as one node.

    `make_rule(call_with, arguments_of, inputs)` makes its rule, between the bundle of the leaves at
    `inputs` and that of the results: `call_with(*entries)` is `f` as a function of these leaves,
    and `arguments_of(entries)` the arguments with them. A policy says what is saved besides.
    """

    def call_apart(args: Any, kwargs: Any) -> Any:
        return _set_apart(f(*args, **kwargs), (args, kwargs))

    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        leaves, rebuild = flatten((args, kwargs))
        leaves = [take_current(leaf) for leaf in leaves]
        level = _find_highest_level(leaves)
        if not isinstance(level, Recorder) or level.every_step:
            # plain numbers and forward mode retain nothing
            return call_apart(args, kwargs)
        inputs = [i for i, leaf in enumerate(leaves) if _is_recorded_on(leaf, level)]

        def arguments_of(numbers: Any) -> Any:
            new = dict(zip(inputs, numbers, strict=True))
            return rebuild(iter([new.get(i, x) for i, x in enumerate(constants)]))

        def call_with(*numbers: Any) -> Any:
            new_args, new_kwargs = arguments_of(numbers)
            return f(*new_args, **new_kwargs)

        values = tuple(leaves[i].value for i in inputs)
        originals = [x for x in leaves if isinstance(x, np.ndarray)]
        constants = [_protect(x) if isinstance(x, np.ndarray) else x for x in leaves]
        copies = [x for x in constants if isinstance(x, np.ndarray)]
        protected = tuple(map(_protect, values))
        try:
            saved = SavedCall(call_with, values, policy) if policy else None
            result = saved.result if saved else checkpoint(call_with)(*protected)
        except (TypeError, ValueError) as error:
            if not _is_of_write(error):
                raise
            return call_apart(args, kwargs)
        except (ZeroDivisionError, OverflowError):  # of Python's numbers: nodes have inf there
            return call_apart(args, kwargs)
        results, rebuild_results = flatten(map_leaves(take_current, result))
        if any(map(is_complex, results)) and not any(map(is_complex, values)):
            return call_apart(args, kwargs)  # -1.0 ** 0.5 is complex, and nan of a node
        whole = not any(_is_recorded_from(x, level) for x in results)
        written = any(map(_is_written, (*protected, *copies), (*values, *originals)))
        if not whole or written or (saved and not saved.is_whole):
            return call_apart(args, kwargs)  # it uses other nodes: record every step
        constants = list(map(_refuse_writes, leaves))  # it does not write
        bundle = level.record(pack(len(inputs)), tuple(leaves[i] for i in inputs), Bundle(values))
        rule = make_rule(call_with, arguments_of, inputs)
        partials: tuple[Any, ...] = (rule,)
        given: tuple[Any, ...] = (bundle,)
        if saved:
            partials, given = (_fill_rule(rule, saved), ZERO), (bundle, Bundle(tuple(saved.saved)))
        replay = level.record(make_primitive("checkpoint", partials), given, Bundle(tuple(results)))
        outputs = [
            level.record(pick(i, len(results)), (replay,), result) if _is_number(result) else result
            for i, result in enumerate(results)
        ]
        return rebuild_results(iter(outputs))

    return functools.wraps(f)(checkpointed)


def _set_apart(result: Any, given: Any) -> Any:
    """Return a result that shares no memory with arguments, as that of the recorded call does."""
    seen = {id(leaf) for leaf in flatten(given)[0]}

    def set_apart(leaf: Any) -> Any:
        if type(leaf) is not np.ndarray:
            return copy_array(leaf)
        is_own = leaf.base is None and id(leaf) not in seen
        seen.add(id(leaf))
        return leaf if is_own else leaf.copy("K")

    return map_leaves(set_apart, result)


def _protect(value: Any) -> Any:
    """Return a copy of an argument that refuses writes, or notices them: it is needed unchanged.

    The original would not do: `ufunc.at` writes to an array that is read-only, too.
    """
    return _refuse_writes(value.copy("K")) if isinstance(value, np.ndarray) else twin(value)


def _refuse_writes(value: Any) -> Any:
    """Return a view of an array that is read-only; return anything else unchanged."""
    if not isinstance(value, np.ndarray):
        return value
    view = value.view()
    view.flags.writeable = False
    return view


def _is_of_write(error: Exception) -> bool:
    """Tell whether an error is one of writing: to an argument, or of an outer node to an array."""
    lost = any(isinstance(x, LostDerivativeError) for x in (error, error.__cause__))
    return lost or "read-only" in str(error)


def _is_written(value: Any, original: Any) -> bool:
    if isinstance(value, np.ndarray):
        return bool(value.tobytes() != original.tobytes())
    return take_current(value) is not value


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

    def rule(_v: Bundle, x: Bundle) -> Linear:
        def push(dot: Bundle) -> Bundle:
            return Bundle(tuple(push_inside(f, x.entries, dot.entries)))

        def pull(bar: Bundle) -> Bundle:
            recorded = RecordedCall(f, Selection(x.entries))
            results = flatten(recorded.result)[0]
            pairs = zip(results, bar.entries, strict=True)
            return Bundle(tuple(recorded.pull_inside(list(pairs))))

        return Linear(push, pull)

    return rule


def _fill_rule(replay: Callable[..., Linear], call: SavedCall) -> Callable[..., Linear]:
    """Make the rule of a call with saved values: compute the other values, and sweep."""

    def rule(_v: Bundle, x: Bundle, saved: Any) -> Linear:
        def pull(bar: Bundle) -> Bundle:
            results = flatten(call.recorded.result)[0]
            return Bundle(tuple(call.pull(x.entries, list(zip(results, bar.entries, strict=True)))))

        return Linear(replay(_v, x).push, pull)

    return rule


def pack(size: int) -> Primitive:
    """Make the primitive that bundles its arguments."""

    def rule(i: int) -> Callable[..., Linear]:
        return lambda _v, *_xs: Packing(
            lambda dot: Bundle.single(i, dot, size), lambda bar: bar.entries[i]
        )

    return make_primitive("bundle", tuple(rule(i) for i in range(size)))


def pick(i: int, size: int) -> Primitive:
    """Make the primitive that takes one entry of a bundle."""

    def rule(_v: Any, _x: Bundle) -> Linear:
        return Packing(lambda dot: dot.entries[i], lambda bar: Bundle.single(i, bar, size))

    return make_primitive(f"result {i + 1}", (rule,))


def make_primitive(name: str, partials: tuple[Any, ...]) -> Primitive:
    """Make the primitive of a call, whose rules are linear maps."""
    slots = ", ".join(f"{{{i}}}" for i in range(len(partials)))
    return Primitive(name, partials, apply, f"{name}({slots})", name, "a linear map")
