"""Promotion: a computed node that is written to becomes a writable array.

What was recorded must not change, so a fork of the node replaces it in the record. The node itself,
which the user's variables refer to, changes its class: it now stands for a `Writable`, whose
versions are functional updates. All views of the same memory are promoted with it, so that a write
to one is seen in all.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache, partial, wraps
from typing import Any

import numpy as np

from simpleautodiff.arrays.lost_derivatives import scipy_error
from simpleautodiff.arrays.registry import FUNCTIONS
from simpleautodiff.arrays.shaping import layout_of
from simpleautodiff.arrays.writes.example_indices import is_single
from simpleautodiff.arrays.writes.versions import Writable
from simpleautodiff.arrays.writes.views import (
    VIEW_STEPS,
    ViewStep,
    follow,
    forget,
    fork,
    note,
    note_views_of,
    view_record,
    views_of,
)
from simpleautodiff.arrays.writes.writable import (
    READ_ONLY,
    broadcast_view,
    get_item,
    imaginary_part,
    make_view,
    real_part,
    view_or_copy,
)
from simpleautodiff.core.engine import engine
from simpleautodiff.core.level import Traced, Written, to_concrete
from simpleautodiff.core.node import NODES, Constant, Hand
from simpleautodiff.core.tape import Tape
from simpleautodiff.errors import ArgumentError, LostDerivativeError, cite_line
from simpleautodiff.rules.array.indexing import find_batches, getitem, is_same_for_all
from simpleautodiff.rules.array.shapes import broadcast_to, reshape, shape_of, transpose
from simpleautodiff.rules.scalar.complex_parts import imag, real
from simpleautodiff.values.functions import is_complex

_CLASS: Any = object.__dict__["__class__"]  # the real class; `node.__class__` may be another
_ARRAY = Traced.__dict__["value"]  # the slot in which a promoted node has its array
SPECIAL_METHODS: dict[
    str, Any
] = {}  # Python's special methods of promoted nodes; filled by `writing`


def writable(self: Traced) -> Writable:
    """Return the writable array of a node; promote the node if it has none."""
    if not isinstance(self, Written):
        _check(self)
        _promote(_find_owner(self))
    if not isinstance(self, Written):  # it was no view: NumPy had copied its elements
        _promote(self)
    array: Writable = _ARRAY.__get__(self)
    return array


def _check(x: Traced) -> None:
    """Reject what cannot be written to."""
    if not shape_of(x):
        raise scipy_error() or ArgumentError(f"{x!r} is a single number, not an array{cite_line()}")
    if isinstance(x.level, Hand):
        raise LostDerivativeError(
            "a node typed by hand is not written to, because others were computed from it. Write "
            f"into a copy: y = x.copy(), then y[...] = ...{cite_line()}"
        )


# Which primitives return views. -------------------------------------------------------------------


def _getitem_step(v: Any, x: Any, index: Any) -> ViewStep | None:
    if not shape_of(v):
        return None
    index = index.value if type(index) is Constant else index
    one = is_single(index) if find_batches(index) else is_same_for_all(index)
    return partial(get_item, index=index) if one else None


def _reshape_step(v: Any, x: Any, new: Any) -> ViewStep | None:
    array = layout_of(x)
    if array is not None and not np.may_share_memory(array.reshape(new), array):
        return None  # NumPy had to copy the elements
    full = shape_of(x)
    return lambda y: make_view(y, lambda u: reshape(u, new), lambda base, v: reshape(v, full))


def _transpose_step(v: Any, x: Any, axes: Any) -> ViewStep:
    back = None if axes is None else tuple(int(i) for i in np.argsort(axes))
    return lambda y: make_view(y, lambda u: transpose(u, axes), lambda base, v: transpose(v, back))


def _broadcast_step(v: Any, x: Any, new: Any) -> ViewStep:
    return lambda y: broadcast_view(y, new)


def _primitive(wrapping: Any) -> Any:
    return wrapping.primitive


note_views_of(_primitive(getitem), _getitem_step)
note_views_of(_primitive(reshape), _reshape_step)
note_views_of(_primitive(transpose), _transpose_step)
note_views_of(_primitive(broadcast_to), _broadcast_step)
note_views_of(_primitive(real), lambda v, x: real_part)
note_views_of(_primitive(imag), lambda v, x: imaginary_part if is_complex(to_concrete(x)) else None)


def _note_result(function: Any, read_only: bool) -> Callable[..., Any]:
    """Wrap a function whose result is a view in NumPy, so that the view is noted."""
    implementation = FUNCTIONS[function]

    @wraps(implementation)
    def call(a: Any, *args: Any, **kwargs: Any) -> Any:
        def part(k: int) -> ViewStep:
            move: Any = lambda x: function(x, *args, **kwargs)  # noqa: E731
            one = move if whole else lambda x: move(x)[k]
            return lambda y: view_or_copy(y, one, read_only)

        result = implementation(a, *args, **kwargs)
        whole = not isinstance(result, list)
        outline = np.empty(shape_of(a), bool)
        there = function(outline, *args, **kwargs)
        if np.may_share_memory(there if whole else there[0], outline):
            for k, view in enumerate([result] if whole else result):
                note(view, a, part(k))
        return result

    return call


_SPLIT: tuple[Any, ...] = (np.split, np.array_split, np.hsplit, np.vsplit, np.dsplit)
FUNCTIONS.update(
    {function: _note_result(function, True) for function in READ_ONLY & FUNCTIONS.keys()}
)
FUNCTIONS.update({function: _note_result(function, False) for function in _SPLIT})


def _find_owner(x: Any) -> Any:
    """Return the array that owns the memory of a view."""
    while (base := _find_base(x)) is not None:
        x = base
    return x


def _find_base(x: Any) -> Any:
    seen = view_record(x)
    if seen is not None:
        return seen.base
    if type(x) not in NODES or x.primitive not in VIEW_STEPS or type(x.args[0]) not in NODES:
        return None
    return x.args[0] if VIEW_STEPS[x.primitive](x, *x.args) else None


# Promotion. ---------------------------------------------------------------------------------------


def _promote(first: Any) -> None:
    """Promote a node and all its views."""
    promotion = _Promotion()
    forked = promotion.replace_by_fork(first)
    promotion.become(first, Writable(forked))
    if type(forked) in NODES:
        tape: Any = forked.level
        promotion.scan(tape, forked.index)


class _Promotion:
    """The nodes that are promoted at one write, and their forks, which stay in the record."""

    def __init__(self) -> None:
        self.forks: dict[int, tuple[Any, Any]] = {}  # by the id of a node, which is kept alive
        self.arrays: dict[int, Writable] = {}
        self.fork_ids: set[int] = set()

    def replace_by_fork(self, node: Any) -> Any:
        """Put a fork of a node into the record."""
        forked = fork(node)
        self.forks[id(node)] = node, forked
        self.fork_ids.add(id(forked))
        if type(node) in NODES:
            forked.args = self.with_forks(node.args)
            tape: Any = node.level
            if tape[node.index] is node:
                tape[node.index] = forked
        return forked

    def with_forks(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the arguments with nodes replaced by their forks."""
        return tuple([self.forks[id(arg)][1] if id(arg) in self.forks else arg for arg in args])

    def become(self, node: Any, array: Any) -> None:
        """Make a node stand for an array, and its noted views for views of that array."""
        views = list(views_of(node))
        forget(id(node))
        self.arrays[id(node)] = array
        array.first = self.forks[id(node)][1]
        for view, steps in views:
            self.join(view, follow(array, steps))
        _ARRAY.__set__(node, array)
        _CLASS.__set__(node, _promoted_class(type(node)))  # type: ignore[arg-type]

    def join(self, view: Any, array: Any) -> None:
        """Make a view stand for an array, unless NumPy would have copied it."""
        if isinstance(array, Writable) and array.as_view is not None:
            self.replace_by_fork(view)
            self.become(view, array)

    def scan(self, tape: Tape, start: int) -> None:
        """Look for views on the tape, and make the record refer to the forks."""
        forks = self.forks
        for i in range(start + 1, len(tape)):
            node = tape[i]
            args = node.args
            if not any([id(arg) in forks for arg in args]):
                continue
            node.args = self.with_forks(args)
            if id(node) in self.fork_ids or id(args[0]) not in forks:
                continue
            if node.primitive in VIEW_STEPS:
                step = VIEW_STEPS[node.primitive](node, *node.args)
                if step is not None:
                    self.join(node, step(self.arrays[id(args[0])]))


@cache
def _promoted_class(node_class: type[Traced]) -> type[Traced]:
    """Return the class of promoted nodes for a class of nodes: it has the same layout."""
    methods = {
        name: (_forward_keywords if name[:7] == "__array" else _forward)(method)
        for name, method in SPECIAL_METHODS.items()
    }
    own = {
        "__slots__": (),
        "__module__": __name__,  # a class of this library, whatever name its base bears
        "__hash__": object.__hash__,
        "__getattribute__": _attribute,
        "__setattr__": lambda self, name, new: setattr(_ARRAY.__get__(self), name, new),
    }
    return type(node_class.__name__, (Written, node_class), {**methods, **own})


def _attribute(self: Any, name: str) -> Any:
    """Get an attribute of the array; `value` is its current node."""
    if name == "__class__":
        return engine.class_of(self, sys._getframe(1))
    array = _ARRAY.__get__(self)
    if name == "writable":
        return lambda: array
    return getattr(array.current if name == "value" else array, name)


def _forward(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method of a promoted node that calls the method of its array."""

    def call(self: Any, *args: Any) -> Any:
        array = _ARRAY.__get__(self)
        answer = method(array, *args)
        return self if answer is array else answer

    return call


def _forward_keywords(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return such a method that takes keywords, as NumPy's protocols do."""
    return lambda self, *args, **kwargs: method(_ARRAY.__get__(self), *args, **kwargs)
