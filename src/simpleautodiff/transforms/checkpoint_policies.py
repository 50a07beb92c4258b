"""Policies for which values of a checkpointed call are saved, and the call that keeps only these.

The steps of the call stay on a tape; arrays that are not saved are replaced by arrays of the same
shape that take no memory. A reverse sweep computes those that its rules read from the saved ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from simpleautodiff.core.level import Traced, evaluate, take_current
from simpleautodiff.core.linear import ZERO
from simpleautodiff.core.node import Node, TapeNode
from simpleautodiff.core.primitive import find_values_read
from simpleautodiff.core.tape import Tape
from simpleautodiff.transforms.arguments import Selection
from simpleautodiff.transforms.located_tapes import LocatedTape
from simpleautodiff.transforms.recorded_call import RecordedCall
from simpleautodiff.values.pytree import map_leaves

_DOTS = ("matmul", "einsum", "sparse_matmul", "convolve_all")


class CheckpointedStep(NamedTuple):
    """A step of a checkpointed call: its operator, its value, and its name if it has one."""

    operator: str
    value: Any
    name: str | None


Policy = Callable[[CheckpointedStep], bool]


class CheckpointPolicies:
    """The policies by which `checkpoint(f, policy=...)` saves values; the names are JAX's.

    A policy of your own is a function of a step, which has an `operator`, a `value` and a `name`.

    Examples
    --------
    >>> import numpy as np
    >>> import simpleautodiff as ad
    >>> def layer(x, w):
    ...     return np.tanh(np.sin(x @ w))
    >>> saved = ad.checkpoint(layer, policy=ad.checkpoint_policies.dots_saveable)
    >>> x, w = np.ones((2, 3)), np.eye(3)
    >>> gradient = ad.grad(lambda w: np.sum(saved(x, w)))(w)
    >>> bool(np.all(gradient == ad.grad(lambda w: np.sum(layer(x, w)))(w)))
    True
    """

    @staticmethod
    def everything_saveable(step: CheckpointedStep) -> bool:
        """Save every value, as without a checkpoint."""
        return True

    @staticmethod
    def nothing_saveable(step: CheckpointedStep) -> bool:
        """Save the arguments alone."""
        return False

    @staticmethod
    def dots_saveable(step: CheckpointedStep) -> bool:
        """Save products of matrices, which take long to compute again."""
        return step.operator in _DOTS

    @staticmethod
    def save_only_these_names(*names: str) -> Policy:
        """Save the values to which `checkpoint_name` gave one of these names."""
        return lambda step: step.name in names

    @staticmethod
    def save_anything_except_these_names(*names: str) -> Policy:
        """Save all values but those to which `checkpoint_name` gave one of these names."""
        return lambda step: step.name not in names

    @staticmethod
    def save_from_both_policies(first: Policy, second: Policy) -> Policy:
        """Save the values that either policy saves."""
        return lambda step: first(step) or second(step)


checkpoint_policies = CheckpointPolicies()


class _NamedTape(LocatedTape):
    """A tape whose nodes may have names."""

    def __init__(self) -> None:
        super().__init__()
        self.names: dict[int, str] = {}


def checkpoint_name(x: Any, name: str) -> Any:
    """Return `x`, with a name that the policies of `checkpoint` see.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> def f(x):
    ...     y = ad.checkpoint_name(ad.exp(x), "exponential")
    ...     return ad.sin(y)
    >>> policy = ad.checkpoint_policies.save_only_these_names("exponential")
    >>> ad.grad(ad.checkpoint(f, policy=policy))(0.0) == ad.cos(1.0)
    True
    """

    def note(leaf: Any) -> Any:
        node = take_current(leaf)
        while isinstance(node, Traced):
            if isinstance(node, Node) and isinstance(node.level, _NamedTape):
                node.level.names[node.index] = name
            node = getattr(node, "value", None)
        return leaf

    return map_leaves(note, x)


class SavedValue(NamedTuple):
    """A value of a checkpointed call that was saved, and the line that made it."""

    line: str
    value: Any


class SavedCall:
    """A checkpointed call: its steps, and the arrays that a policy saves."""

    def __init__(self, f: Callable[..., Any], values: tuple[Any, ...], policy: Policy) -> None:
        tape = _NamedTape()
        self.given: tuple[Any, ...] = ()  # the arguments, to which the function may write

        def call(*args: Any) -> Any:
            self.given = args
            return f(*args)

        self.recorded = RecordedCall(call, Selection(values), tape=tape)
        self.result = map_leaves(self._take_value, self.recorded.result)
        self.left_out: set[int] = set()
        self.saved: list[SavedValue] = []
        for node in tape:
            if type(node.value) is not np.ndarray:  # a number, or a node of another tape
                continue
            step = CheckpointedStep(node.operator, node.value, tape.names.get(node.index))
            if node.primitive is not None and policy(step):
                self.saved.append(SavedValue(tape.line(node), node.value))
            else:
                self.left_out.add(node.index)
                node.value = _shape_of(node.value)

    @property
    def is_whole(self) -> bool:
        """Whether this one tape has all of its derivatives, and the arguments are as they were."""
        pairs = zip(self.given, self.recorded.inputs, strict=True)
        return self.recorded.turned is None and all([take_current(x) is node for x, node in pairs])

    def _take_value(self, leaf: Any) -> Any:
        return leaf.value if self.recorded.has_recorded(leaf) else leaf

    def pull(self, inputs: tuple[Any, ...], seeds: list[tuple[Any, Any]]) -> list[Any]:
        """Sweep back from seeded results, computing the missing values again."""
        filled = RecordedCall.__new__(RecordedCall)
        filled.tape = self._fill(inputs)
        filled.inputs = filled.tape[: len(inputs)]
        own = [
            (filled.tape[result.index] if self.recorded.has_recorded(result) else result, seed)
            for result, seed in seeds
        ]
        return [ZERO if x is None else x for x in filled.sweep_back(own, partly=True)]

    def _fill(self, inputs: tuple[Any, ...]) -> Tape:
        """Return a tape with the values that rules read, computed from saved ones and arguments."""
        needed = self._find_needed()
        tape = Tape()
        with tape:
            for node in self.recorded.tape:
                args = tuple([tape[x.index] if type(x) is TapeNode else x for x in node.args])
                value = inputs[node.index] if node.primitive is None else node.value
                filled = tape.record(node.primitive, args, value)
                if node.primitive is not None and node.index in needed:
                    filled.value = evaluate(node.primitive, filled.values())
        return tape

    def _find_needed(self) -> set[int]:
        """Return the missing values that rules read, or that are needed to compute these."""
        needed: set[int] = set()
        for node in reversed(self.recorded.tape):
            if node.primitive is None:
                continue
            parents = tuple([k for k, arg in enumerate(node.args) if type(arg) is TapeNode])
            read = find_values_read(node.primitive, parents)
            if -1 in read and node.index in self.left_out:
                needed.add(node.index)
            again = node.index in needed
            needed |= {
                node.args[k].index
                for k in parents
                if (again or k in read) and node.args[k].index in self.left_out
            }
        return needed


def _shape_of(array: Any) -> Any:
    """Return an array of the same shape and dtype that takes no memory."""
    return np.broadcast_to(np.zeros((), array.dtype), array.shape)
