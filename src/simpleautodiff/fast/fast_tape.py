"""A tape for derivatives whose steps are not shown: it frees arrays that no rule will read."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any, final

import numpy as np

from simpleautodiff.core.level import WATCHERS, Level
from simpleautodiff.core.linear import ZERO, filled, plus
from simpleautodiff.core.node import Node, TapeNode
from simpleautodiff.core.primitive import Primitive, find_values_read
from simpleautodiff.core.sweep import forward_sweep
from simpleautodiff.core.tape import Seeds, Tape
from simpleautodiff.fast.array_locks import ArrayLocks
from simpleautodiff.fast.fast_sweep import reverse_sweep
from simpleautodiff.fast.memory_pool import POOL
from simpleautodiff.fast.thresholds import THRESHOLDS

PLAIN_TYPES = {int, float, complex, np.ndarray, np.float64, np.float32, np.complex128, np.complex64}


def is_root_row(primitive: Primitive) -> bool:
    """Tell whether a primitive is a root, whose square is smooth."""
    return any([rule is not ZERO for rule in primitive.squared or ()])


@final
class FastTape(Tape):
    """A tape whose steps are not shown; it keeps only those large arrays that a rule will read."""

    __slots__ = ("large", "locks", "repeatable", "roots")  # reading these is quick

    append = list.append  # callers set the index of the node

    def __init__(self) -> None:
        Level.__init__(self)
        self.locks: ArrayLocks | None = None
        self.large = 0  # the bytes of its large arrays, which may be freed in a sweep
        self.repeatable = False  # whether the running sweep may be repeated
        self.roots = False  # whether it has a root, such as abs or sqrt, whose square is smooth

    def __exit__(self, *exception: object) -> None:
        self.open = False
        if self.locks is not None:
            self.locks.release(unchanged=exception[0] is None)

    def record(self, primitive: Primitive | None, args: tuple[Any, ...], value: Any) -> Node:
        """Make the node whose value is `primitive`(`args`); without a primitive it is an input."""
        if primitive is not None and primitive.squared and not self.roots:
            self.roots = is_root_row(primitive)
        node: TapeNode = TapeNode()
        node.value = value
        node.primitive = primitive
        node.args = args
        node.level = self
        node.index = len(self)
        self.append(node)
        large = type(value) is np.ndarray and value.size > THRESHOLDS.small
        return self.slim(node) if large else node

    def argument(self, arg: Any) -> Any:
        """Return an argument in the form in which a node stores it; sweeps use its index."""
        if isinstance(arg, Node) and arg.level is self:
            return arg
        return super().argument(arg)

    def retain(self, x: Any) -> Any:
        """Return a constant, protected from changes; large arrays are locked meanwhile."""
        if not isinstance(x, np.ndarray):
            return super().retain(x)
        if x.size <= THRESHOLDS.small:
            return x.copy()
        self.locks = self.locks or ArrayLocks()
        return self.locks.lock(x)

    def own(self) -> None:
        """Copy all arrays of the caller, as they may change before the tape is swept."""
        for node in self:
            node.args = tuple([x.copy() if type(x) is np.ndarray else x for x in node.args])

    def slim(self, node: Node) -> Node:
        """Return the node for the user; the tape keeps a copy without values that no rule reads.

        Such a value is replaced by an array of its shape that takes no memory. Multiples of roots
        keep theirs and their factors', from which the rules compute their squares (`rules.roots`).
        """
        value, primitive, args = node.value, node.primitive, node.args
        self.large += value.nbytes
        if not POOL.open and value.nbytes >= THRESHOLDS.pooled:
            POOL.open = POOL.allowed
        if primitive is None or (self.roots and primitive.squared is not None):
            return node
        if len(args) == 1:
            read = find_values_read(primitive, _FIRST)
            if 0 not in read:
                node.args = (self[args[0].index],)
        else:
            parents = tuple([k for k, arg in enumerate(args) if type(arg) is TapeNode])
            read = find_values_read(primitive, parents)
            slimmer = list(args)
            for k in parents:
                if k not in read:
                    slimmer[k] = self[args[k].index]
            node.args = tuple(slimmer)
        if -1 in read:
            return node
        shown: TapeNode = TapeNode()
        shown.value, shown.level, shown.index = value, self, node.index
        shown.primitive, shown.args = primitive, node.args
        node.value = np.ndarray(value.shape, value.dtype, _NOTHING, 0, _NO_STRIDES[: value.ndim])
        if primitive in WATCHERS:
            WATCHERS[primitive](shown, args)  # the tape has a copy of it
        return shown

    def pull(
        self, seeds: Seeds, inputs: Sequence[Node], once: bool = False, partly: bool = False
    ) -> list[Any]:
        """Sweep back; if `once`, large arrays are freed soon after the sweep has passed them."""
        bar = self._place(seeds)
        guessed = reverse_sweep(self, bar, once, True if partly else None, partly)
        if guessed and not _are_finite([bar[node.index] for node in inputs]):
            bar = self._place(seeds)
            reverse_sweep(self, bar, once, masks=True)
        if once and self:
            self[-1].args = ()  # the user may hold it as the result, and it holds the others
            self.clear()
        return [bar[node.index] for node in inputs]

    def _place(self, seeds: Seeds) -> list[Any]:
        """Return the adjoints that a sweep begins with, by the index of their node."""
        bar: list[Any] = [None] * len(self)
        self.repeatable = self.large <= THRESHOLDS.repeated
        for node, seed in seeds:
            if type(seed) not in PLAIN_TYPES:
                self.repeatable = False
            old = bar[node.index]
            bar[node.index] = seed if old is None else plus(old, seed)
        return bar

    def can_be_swept_again(self) -> bool:
        """Tell whether a sweep frees nothing and has no side effects: all is NumPy's, or floats.

        Only rules of the library's own rows are run; users may count calls of theirs. A long
        program that is being recorded may be swept again, too: which of its sweeps is right is
        then a decision of the program, like a branch of the user's code.
        """
        if not self.repeatable:
            return False
        if not PLAIN_TYPES.issuperset(map(type, map(_VALUE, self))):
            others = [x.value for x in self if type(x.value) not in PLAIN_TYPES]
            if len(self) < THRESHOLDS.guarded or not all(map(_can_decide, others)):
                return False
        return all([row is None or row.pure for row in set(map(_PRIMITIVE, self))])

    def push(self, seeds: Seeds, results: Sequence[Node]) -> list[Any]:
        """Sweep forward from seeded nodes; return the tangents of some others."""
        dot = ByIndex()
        for node, seed in seeds:
            dot[node] = plus(dot.get(node, ZERO), seed)
        forward_sweep(self, dot)
        return [filled(dot.get(node)) for node in results]


def _can_decide(x: Any) -> bool:
    """Tell whether code may branch on a number that differs from call to call."""
    return not isinstance(x, Node) and getattr(getattr(x, "level", None), "decides", False)


def _are_finite(adjoints: list[Any]) -> bool:
    """Tell whether derivatives are finite; while a program is recorded, that is one decision."""
    known = [np.isfinite(adjoint).all() for adjoint in adjoints if adjoint is not None]
    return bool(functools.reduce(operator.and_, known, True))


class ByIndex(dict[Any, Any]):
    """Derivatives by the index of their node, which a node shares with its copy on the tape."""

    def __contains__(self, node: Any) -> bool:
        return super().__contains__(node.index)

    def __getitem__(self, node: Node) -> Any:
        return super().__getitem__(node.index)

    def __setitem__(self, node: Node, derivative: Any) -> None:
        super().__setitem__(node.index, derivative)

    def get(self, node: Node, default: Any = None) -> Any:
        """Return the derivative of a node, or the default."""
        return super().get(node.index, default)


_FIRST = (0,)
_PRIMITIVE, _VALUE = operator.attrgetter("primitive"), operator.attrgetter("value")
_NOTHING = bytes(64)  # the memory of arrays that only have a shape
_NO_STRIDES = (0,) * 64
