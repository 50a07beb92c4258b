"""The level of `vmap`, on which every operation acts on a whole batch of examples.

A *batch* looks like one example to the code that uses it; its value has one more axis, in front. A
scalar operation is elementwise, with the ranks of the examples aligned; an array operation uses the
`batch` rule of its row; what has no such rule runs once per example. Batches may hold nodes and
nodes may hold batches, so `vmap(grad(f))`, `grad(vmap(f))` and Jacobians with many rows per sweep
all follow.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, final

import numpy as np

from simpleautodiff.arrays.batch.opaque import Opaque, OpaqueLevel, highest_level
from simpleautodiff.arrays.call_hints import compiled_call_error
from simpleautodiff.arrays.join_arrays import stack
from simpleautodiff.arrays.lost_derivatives import is_step_function, scipy_error
from simpleautodiff.arrays.writes.example_indices import is_single, to_plain_index
from simpleautodiff.arrays.writes.views import note, twin
from simpleautodiff.arrays.writes.writable import get_item
from simpleautodiff.core.level import Level, Traced, apply, to_plain
from simpleautodiff.core.primitive import Primitive
from simpleautodiff.errors import (
    RAISED_BY_NUMBERS,
    ArgumentError,
    LostDerivativeError,
    cite_line,
)
from simpleautodiff.rules.array.indexing import (
    UNEQUAL_MASKS,
    find_batches,
    flat_indices,
    getitem,
    scatter,
    set_item,
)
from simpleautodiff.rules.array.repeated_values import OneByOne
from simpleautodiff.rules.array.shapes import broadcast_to, pad_rank, reshape, shape_of, shift_axes
from simpleautodiff.values.pytree import flatten


class Parting(BaseException):
    """Raised to tell `vmap` that examples take different branches: `answers` says which."""

    def __init__(self, level: Any, answers: Any) -> None:
        super().__init__()
        self.level = level
        self.answers = answers


@final
class BatchLevel(OpaqueLevel):
    """A level on which operations act on a batch of `size` examples."""

    splits = False  # whether examples can be computed one by one instead
    parts_at_branches = False  # whether examples are separated at branches

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size

    def run(self, primitive: Primitive, args: tuple[Any, ...]) -> Any:
        """Run a primitive on all examples."""
        try:
            return self._run(primitive, args)
        except RAISED_BY_NUMBERS as error:
            raise self.part_at(error) from None

    def part_at(self, error: BaseException) -> BaseException:
        """Return what to raise instead of an error that perhaps only some examples cause.

        The function may catch it, and compute something else for those examples than for others.
        """
        return OneByOne(self) if self.splits and self.size > 1 else error

    def part_by(self, question: Callable[..., Any], x: Batch, settings: tuple[Any, ...]) -> None:
        """Have `vmap` separate examples that answer a question about an array differently."""
        level, whole = self, x.value
        while type(whole) is Batch:
            level, whole = whole.level, whole.value  # type: ignore[assignment]
        if not level.splits or type(whole) is not np.ndarray:
            return
        examples = whole.reshape(-1, *x.shape)
        answers = np.array([question(example, *settings) for example in examples], bool)
        if answers.any() and not answers.all():
            raise Parting(self, answers) if level is self else OneByOne(level)

    def _run(self, primitive: Primitive, args: tuple[Any, ...]) -> Any:
        which = tuple([_is_batch(arg, self) for arg in args])
        if any(which[i] for i in primitive.settings) and primitive.arrays:
            return self._run_with_own_settings(primitive, args)
        values = [arg.value if is_batch else arg for arg, is_batch in zip(args, which, strict=True)]
        if not primitive.arrays:
            values, rank = self._align_ranks(values, which)
            result = apply(primitive, *values)
            if shape_of(result)[: -rank or None] != (self.size,):  # it depends on no batch
                result = self._spread(result, args)
            return Batch(result, self)
        if primitive.batch is None:
            return self.one_by_one(lambda *one: apply(primitive, *one), args)
        return Batch(primitive.batch(self.size, which, *values), self)

    def _run_with_own_settings(self, primitive: Primitive, args: tuple[Any, ...]) -> Any:
        """Run a primitive whose settings, such as an index, differ between examples."""
        if primitive is getitem.primitive:  # type: ignore[attr-defined]
            return _getitem_per_example(self, *args)
        if primitive is scatter.primitive:  # type: ignore[attr-defined]
            return _scatter_per_example(self, *args)
        if primitive is set_item.primitive:  # type: ignore[attr-defined]
            return _set_item_per_example(self, *args)
        return self.one_by_one(lambda *one: apply(primitive, *one), args)

    def _align_ranks(self, values: list[Any], which: tuple[bool, ...]) -> tuple[list[Any], int]:
        """Give all examples the same rank, so that the batch axis is in front of all others."""
        rank = max([len(shape_of(x)) - b for x, b in zip(values, which, strict=True)])
        return [pad_rank(x, rank) if b else x for x, b in zip(values, which, strict=True)], rank

    def _spread(self, result: Any, args: tuple[Any, ...]) -> Any:
        """Give the result of an elementwise primitive the shape of all its arguments."""
        full = (self.size, *np.broadcast_shapes(*map(shape_of, args)))
        return result if shape_of(result) == full else broadcast_to(result, full)

    def elementwise(self, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """Apply an elementwise function without a derivative, such as a comparison."""
        which = tuple([_is_batch(arg, self) for arg in args])
        values = [arg.value if b else arg for arg, b in zip(args, which, strict=True)]
        try:
            result = function(*self._align_ranks(values, which)[0])
        except RAISED_BY_NUMBERS as error:
            raise self.part_at(error) from None
        if isinstance(result, tuple):
            return tuple([Batch(part, self) for part in result])
        return Batch(result, self)

    def answer(self, function: Any, args: Any, kwargs: Any) -> Any:
        """Apply an array function without a derivative, such as argmax, to every example."""
        if function in _PLAIN_REDUCTIONS and type(args[0]) is Batch:
            return _reduce_plainly(function, *args, **kwargs)
        try:
            return self.one_by_one(function, args, kwargs)
        except RAISED_BY_NUMBERS as error:
            raise self.part_at(error) from None

    def one_by_one(self, function: Callable[..., Any], args: Any, kwargs: Any = None) -> Any:
        """Apply a function to each example in turn, and stack the results."""
        leaves, rebuild = flatten((args, kwargs or {}))
        results = []
        for i in range(self.size):
            one = [getitem(x.value, i) if _is_batch(x, self) else x for x in leaves]
            some, more = rebuild(iter(one))
            results.append(function(*some, **more))
        if not results:
            raise LostDerivativeError(f"an empty batch has no example to go by{cite_line()}")
        parts = [flatten(result)[0] for result in results]
        joined = [Batch(stack(column), self) for column in zip(*parts, strict=True)]
        return flatten(results[0])[1](iter(joined))


def _is_batch(x: Any, level: Level) -> bool:
    return type(x) is Batch and x.level is level


@final
class Batch(Opaque):
    """A batch of examples that looks like one: `value` has an extra axis in front."""

    __slots__ = ()

    def __init__(self, value: Any, level: Level) -> None:
        self.value = value
        self.level = level

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one example."""
        return shape_of(self.value)[1:]

    @property
    def dtype(self) -> Any:
        """The dtype."""
        return np.result_type(to_plain(self.value))

    def to_plain(self) -> Batch:
        """Return the batch without its nodes: the innermost values."""
        inner = to_plain(self.value)
        return self if inner is self.value else Batch(inner, self.level)

    def cast(self, dtype: Any) -> Batch:
        """Return the batch in another dtype."""
        return Batch(self.value.astype(dtype), self.level)

    def __getitem__(self, index: Any) -> Any:
        index = to_plain_index(index)
        if not find_batches(index):
            return getitem(self, index)
        level: Any = highest_level((self, index))
        try:
            part = _getitem_per_example(level, self, index)
        except RAISED_BY_NUMBERS as error:
            raise level.part_at(error) from None
        if is_single(index) and shape_of(part):
            note(part, self, lambda array: get_item(array, index))
        return part

    def _conversion_error(self, conversion: str, instead: str = "") -> LostDerivativeError:
        return LostDerivativeError(
            f"{conversion} of a batch: vmap runs the function once for many examples, each with a "
            f"number of its own. Use functions of NumPy, np.where(condition, a, b) to choose (or "
            f"vmap(f, branches='both'), which runs once for each way through the code), an array "
            f"made with np.zeros_like(x) to write to, and np.array(a, like=x)[i] for a[i] "
            f"of a plain array{instead}{cite_line()}"
        )

    def __bool__(self) -> bool:
        answer = None if self.shape else self._find_common_answer(lambda x: x != 0)
        if answer is None:
            raise self._conversion_error("the truth")
        return bool(answer)

    def __int__(self) -> int:
        return self._find_common_integer("int()")

    def __index__(self) -> int:
        return self._find_common_integer("the use as an index")

    def _find_common_integer(self, conversion: str) -> int:
        inner = self.value
        while type(inner) is Batch:
            inner = inner.value
        lost = isinstance(inner, Traced) and not is_step_function(inner)
        answer = None if lost or self.shape else self._find_common_answer(np.trunc)
        if answer is None:
            instead = "; np.floor(x).astype(int) is an integer for each example"
            raise self._conversion_error(conversion, instead)
        return int(answer)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        answer = self._find_common_answer(np.array) if self.dtype.kind in "biu" else None
        if answer is None:
            error = compiled_call_error(self) or scipy_error()
            raise error or self._conversion_error("a plain array")
        return np.array(answer, *args)

    def _find_common_answer(self, question: Callable[[Any], Any]) -> Any:
        """Return what all examples answer, or have `vmap` separate those that answer otherwise.

        The answer is None where examples stay together, or have no number yet.
        """
        whole = to_plain(self.value)
        if not getattr(self.level, "parts_at_branches", False):
            return None
        if type(whole) is Batch:  # nested in another `vmap`, which is asked for each example
            raise OneByOne(self.level)
        if type(whole) is not np.ndarray:
            return None
        answers = question(whole)
        same = np.array([np.array_equal(answer, answers[0]) for answer in answers], bool)
        if not same.all():
            raise Parting(self.level, same)
        return answers[0]

    def __repr__(self) -> str:
        return f"Batch({self.value!r})"


_PLAIN_REDUCTIONS = {np.argmax, np.argmin, np.argsort, np.any, np.all, np.count_nonzero}


def _reduce_plainly(function: Any, x: Batch, *args: Any, **kwargs: Any) -> Any:
    """Answer a reduction without a derivative, such as argmax, for each example."""
    if args:
        kwargs["axis"], *args = args  # type: ignore[assignment]
    axis = kwargs.pop("axis", -1 if function is np.argsort else None)
    value = x.value if axis is not None else reshape(x.value, (len(x.value), math.prod(x.shape)))
    axis = 1 if axis is None else shift_axes(axis, len(x.shape))
    return Batch(function(value, axis, *args, **kwargs), x.level)


def _broadcast(x: Any, level: BatchLevel) -> Any:
    """Return the array of all examples; a value that is no batch is repeated."""
    return x.value if _is_batch(x, level) else broadcast_to(x, (level.size, *shape_of(x)))


def _getitem_per_example(level: BatchLevel, x: Any, index: Any) -> Any:
    """Select elements by indices that differ between examples."""
    own = _is_batch(x, level)
    indices = _flat_indices(level, index, shape_of(x), own)
    return Batch(getitem(reshape(x.value if own else x, (-1,)), indices), level)


def _scatter_per_example(level: BatchLevel, x: Any, index: Any, new: tuple[int, ...]) -> Any:
    """Scatter elements into zeros at indices that differ between examples."""
    indices = _flat_indices(level, index, new, True)
    flat = scatter(_broadcast(x, level), indices, (level.size * math.prod(new),))
    return Batch(reshape(flat, (level.size, *new)), level)


def _set_item_per_example(level: BatchLevel, x: Any, value: Any, index: Any) -> Any:
    """Write elements at indices that differ between examples."""
    full = shape_of(x)
    x, indices = _broadcast(x, level), _flat_indices(level, index, full, True)
    value = pad_rank(value.value, len(shape_of(indices)) - 1) if _is_batch(value, level) else value
    return Batch(reshape(set_item(reshape(x, (-1,)), value, indices), (level.size, *full)), level)


def _flat_indices(level: BatchLevel, index: Any, full: tuple[int, ...], own: bool) -> Any:
    """Return an index of batches as flat indices into the array of all examples."""
    indices = _integer_indices(level, index, full)
    if indices is None:
        indices = _general_indices(level, index, full)
    starts = np.arange(level.size).reshape(-1, *(1,) * (len(shape_of(indices)) - 1))
    return indices + starts * math.prod(full) if own else indices


def _integer_indices(level: BatchLevel, index: Any, full: tuple[int, ...]) -> Any:
    """Return the flat indices of integers on the first axis; None for any other index."""
    if not _is_batch(index, level) or type(index.value) is not np.ndarray or not full:
        return None
    if index.dtype.kind not in "iu" or np.any((index.value < -full[0]) | (index.value >= full[0])):
        return None
    rows = index.value % full[0]
    return rows if len(full) == 1 else np.arange(math.prod(full)).reshape(full)[rows]


def _general_indices(level: BatchLevel, index: Any, full: tuple[int, ...]) -> Any:
    try:
        return level.one_by_one(lambda one: flat_indices(one, full), (index,)).value
    except ArgumentError:
        raise LostDerivativeError(UNEQUAL_MASKS + cite_line()) from None


def batch(value: Any, axis: int, level: BatchLevel) -> Batch:
    """Return an array as a batch along one of its axes."""
    return Batch(np.moveaxis(value, axis, 0) if axis else twin(value), level)


def unbatch(x: Any, axis: int, level: BatchLevel) -> Any:
    """Return the array with the examples along an axis; a value that is no batch is repeated."""
    whole = _broadcast(x, level)
    return np.moveaxis(whole, 0, axis) if axis else whole
