"""Computed arrays that are written to: such a node becomes an array with versions.

What was recorded must not change, so a fork of the node takes its place in the records. The node
itself, which the user's variables refer to, gets another class: it now stands for a `Writable`,
whose versions are functional updates. All views of the same memory change with it, so that a write
to one is seen in all.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial, wraps
from typing import Any

import numpy as np

from simpleautodiff.arrays.batch.indices import is_single
from simpleautodiff.arrays.lost_derivatives import known_to_lose
from simpleautodiff.arrays.numpy.shaping import one_of
from simpleautodiff.arrays.registry import FUNCTIONS
from simpleautodiff.arrays.writes.versions import Writable
from simpleautodiff.arrays.writes.views import (
    VIEWS,
    Step,
    follow,
    forget,
    fork,
    note,
    note_views_of,
    seen_by,
    views_of,
)
from simpleautodiff.arrays.writes.writable import (
    READ_ONLY,
    imaginary_part,
    looking,
    moved,
    part_of,
    real_part,
    spread,
)
from simpleautodiff.core.level import Traced, Written, concrete
from simpleautodiff.core.node import Constant, Hand, Node
from simpleautodiff.core.tape import Tape
from simpleautodiff.errors import ArgumentError, LostDerivativeError, cite_line
from simpleautodiff.rules.array.indexing import find_batches, getitem, is_basic
from simpleautodiff.rules.array.shapes import broadcast_to, reshape, shape_of, transpose
from simpleautodiff.rules.scalar.complex_parts import imag, real
from simpleautodiff.values.functions import is_complex

_ARRAY = Traced.__dict__["value"]  # the slot in which a node that was written to has its array
METHODS: dict[str, Any] = {}  # Python's own methods of arrays that are written to; by `writing`


def writable(self: Traced) -> Writable:
    """Return the array that takes what is written to a node."""
    if not isinstance(self, Written):
        _check(self)
        _turn(_first(self))
    if not isinstance(self, Written):  # it was no view, after all: its elements had been copied
        _turn(self)
    array: Writable = _ARRAY.__get__(self)
    return array


def _check(x: Traced) -> None:
    """Refuse what cannot be written to."""
    if not shape_of(x):
        raise known_to_lose() or ArgumentError(
            f"{x!r} is a single number, not an array{cite_line()}"
        )
    if isinstance(x.level, Hand):
        raise LostDerivativeError(
            "a node typed by hand is not written to, because others were computed from it. Write "
            f"into a copy: y = x.copy(), then y[...] = ...{cite_line()}"
        )


# What is a view of what. --------------------------------------------------------------------------


def _chosen(v: Any, x: Any, index: Any) -> Step | None:
    if not shape_of(v):
        return None
    index = index.value if type(index) is Constant else index
    one = is_single(index) if find_batches(index) else is_basic(index)
    return partial(part_of, index=index) if one else None


def _reshaped(v: Any, x: Any, new: Any) -> Step | None:
    array = one_of(x)
    if array is not None and not np.may_share_memory(array.reshape(new), array):
        return None  # NumPy had to copy the elements
    full = shape_of(x)
    return lambda y: looking(y, lambda u: reshape(u, new), lambda base, v: reshape(v, full))


def _turned(v: Any, x: Any, axes: Any) -> Step:
    back = None if axes is None else tuple(int(i) for i in np.argsort(axes))
    return lambda y: looking(y, lambda u: transpose(u, axes), lambda base, v: transpose(v, back))


def _spread(v: Any, x: Any, new: Any) -> Step:
    return lambda y: spread(y, new)


def _primitive(wrapping: Any) -> Any:
    return wrapping.primitive


note_views_of(_primitive(getitem), _chosen)
note_views_of(_primitive(reshape), _reshaped)
note_views_of(_primitive(transpose), _turned)
note_views_of(_primitive(broadcast_to), _spread)
note_views_of(_primitive(real), lambda v, x: real_part)
note_views_of(_primitive(imag), lambda v, x: imaginary_part if is_complex(concrete(x)) else None)


def _noting(function: Any, read_only: bool) -> Callable[..., Any]:
    """Answer a function whose result NumPy makes a view, and note that it is one."""
    program = FUNCTIONS[function]

    @wraps(program)
    def noting(a: Any, *args: Any, **kwargs: Any) -> Any:
        def part(k: int) -> Step:
            move: Any = lambda x: function(x, *args, **kwargs)  # noqa: E731
            one = move if whole else lambda x: move(x)[k]
            return lambda y: moved(y, one, read_only)

        result = program(a, *args, **kwargs)
        whole = not isinstance(result, list)
        outline = np.empty(shape_of(a), bool)
        there = function(outline, *args, **kwargs)
        if np.may_share_memory(there if whole else there[0], outline):
            for k, view in enumerate([result] if whole else result):
                note(view, a, part(k))
        return result

    return noting


_SPLIT: tuple[Any, ...] = (np.split, np.array_split, np.hsplit, np.vsplit, np.dsplit)
FUNCTIONS.update({function: _noting(function, True) for function in READ_ONLY & FUNCTIONS.keys()})
FUNCTIONS.update({function: _noting(function, False) for function in _SPLIT})


def _first(x: Any) -> Any:
    """Return the array in whose memory a view lies."""
    while (base := _base(x)) is not None:
        x = base
    return x


def _base(x: Any) -> Any:
    seen = seen_by(x)
    if seen is not None:
        return seen.base
    if type(x) is not Node or x.primitive not in VIEWS or type(x.args[0]) is not Node:
        return None
    return x.args[0] if VIEWS[x.primitive](x, *x.args) else None


# Nodes become arrays with versions. ---------------------------------------------------------------


def _turn(first: Any) -> None:
    """Make arrays with versions of a node and of all its views."""
    turning = _Turning()
    stays = turning.replaced(first)
    turning.become(first, Writable(stays))
    if type(stays) is Node:
        tape: Any = stays.level
        turning.scan(tape, stays.index)


class _Turning:
    """The nodes that become arrays with versions at one write, and what stays in the records."""

    def __init__(self) -> None:
        self.stays: dict[int, tuple[Any, Any]] = {}  # by the id of a node, which is kept alive
        self.arrays: dict[int, Writable] = {}
        self.forks: set[int] = set()  # the ids of those that stay

    def replaced(self, node: Any) -> Any:
        """Put a fork of a node into the records."""
        stays = fork(node)
        self.stays[id(node)] = node, stays
        self.forks.add(id(stays))
        if type(node) is Node:
            stays.args = self.recorded(node.args)
            tape: Any = node.level
            if tape[node.index] is node:
                tape[node.index] = stays
        return stays

    def recorded(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return arguments as they stay in the records."""
        return tuple([self.stays[id(arg)][1] if id(arg) in self.stays else arg for arg in args])

    def become(self, node: Any, array: Any) -> None:
        """Let a node stand for an array, and its noted views for views of that."""
        views = list(views_of(node))
        forget(id(node))
        self.arrays[id(node)] = array
        array.first = self.stays[id(node)][1]
        for view, steps in views:
            self.join(view, follow(array, steps))
        _ARRAY.__set__(node, array)
        node.__class__ = _sibling(type(node))  # type: ignore[arg-type]

    def join(self, view: Any, array: Any) -> None:
        """Let a view stand for an array, unless NumPy would have copied it."""
        if isinstance(array, Writable) and array.seen is not None:
            self.replaced(view)
            self.become(view, array)

    def scan(self, tape: Tape, start: int) -> None:
        """Look for views on the tape, and let the record refer to what stays in it."""
        stays = self.stays
        for i in range(start + 1, len(tape)):
            node = tape[i]
            args = node.args
            if not any([id(arg) in stays for arg in args]):
                continue
            node.args = self.recorded(args)
            if id(node) in self.forks or id(args[0]) not in stays:
                continue
            if node.primitive in VIEWS:
                step = VIEWS[node.primitive](node, *node.args)
                if step is not None:
                    self.join(node, step(self.arrays[id(args[0])]))


@cache
def _sibling(kind: type[Traced]) -> type[Traced]:
    """Return the class of nodes of a kind that have been written to: it has the same layout."""
    methods = {name: _handed_on(name) for name in METHODS}
    own = {
        "__slots__": (),
        "__module__": kind.__module__,
        "__hash__": object.__hash__,
        "__getattribute__": _attribute,
        "__setattr__": lambda self, name, new: setattr(_ARRAY.__get__(self), name, new),
    }
    return type(kind.__name__, (Written, kind), {**methods, **own})


def _attribute(self: Any, name: str) -> Any:
    """Ask the array; of its value, what it is now: that is a node."""
    if name == "__class__":
        return type(self)
    array = _ARRAY.__get__(self)
    if name == "writable":
        return lambda: array
    return getattr(array.current if name == "value" else array, name)


def _handed_on(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        array = _ARRAY.__get__(self)
        answer = getattr(array, name)(*args, **kwargs)
        return self if answer is array else answer

    return method
