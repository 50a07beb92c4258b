"""`vmap`: turn a function of one example into a function of a batch of examples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from simpleautodiff.arrays.batch.batch_level import BatchLevel, Parting, batch, unbatch
from simpleautodiff.arrays.batch.opaque import Opaque
from simpleautodiff.arrays.join_arrays import concatenate_
from simpleautodiff.arrays.writes.views import twin
from simpleautodiff.core.level import Traced
from simpleautodiff.errors import (
    ArgumentError,
    InputError,
    LostDerivativeError,
    ResultError,
    RuleError,
    ran_scipy,
)
from simpleautodiff.rules.array.indexing import getitem
from simpleautodiff.rules.array.repeated_values import OneByOne
from simpleautodiff.rules.array.shapes import shape_of
from simpleautodiff.transforms.arguments import Selection, call, check_function, name_of
from simpleautodiff.transforms.grad import name_after
from simpleautodiff.transforms.pickling import remember_recipe
from simpleautodiff.transforms.results import check_open
from simpleautodiff.transforms.seeds import copy_shared
from simpleautodiff.values.other_arrays import is_foreign, unwrap_foreign, wrap_foreign
from simpleautodiff.values.pytree import flatten, map_leaves, parts_of, paths

F = Callable[..., Any]


@remember_recipe
def vmap(
    f: F,
    in_axes: Any = 0,
    out_axes: Any = 0,
    *,
    chunk_size: int | None = None,
    branches: str | None = None,
) -> F:
    """Return the function that applies `f` to every example along an axis, all at once.

    Parameters
    ----------
    f
        A function of one example: numbers, arrays, or nested structures of them.
    in_axes
        The axis of the arguments along which the examples are: one for all, or a tuple with one for
        each argument, which may be nested as the argument is. An argument with the axis None is
        the same for every example.
    out_axes
        The axis of the results along which the examples are: one for all, or nested as they are.
    chunk_size
        How many examples to compute at a time, to bound the memory; by default all of them.
    branches
        What to do where `if` or `while`, `int()` or the index of a list or a plain array asks for a
        number that differs from example to example: None, refuse it; `"both"`, run the function
        once for each path that some examples take.

    Examples
    --------
    >>> import numpy as np
    >>> import simpleautodiff as ad
    >>> slope = ad.grad(lambda w, x: np.tanh(w @ x))
    >>> w, xs = np.ones(2), np.array([[0.0, 0.0], [0.5, -0.5], [1.0, 1.0]])
    >>> ad.vmap(slope, in_axes=(None, 0))(w, xs).round(3)
    array([[ 0.   ,  0.   ],
           [ 0.5  , -0.5  ],
           [ 0.071,  0.071]])
    >>> ramp = lambda x: x * x if x > 0 else -x
    >>> ad.vmap(ad.grad(ramp), branches="both")(np.array([3.0, -1.0, 2.0]))
    array([ 6., -1.,  4.])
    """
    check_function(f)
    if branches not in (None, "both"):
        raise ArgumentError(f"branches is None or 'both'; got {branches!r}")
    mapped_function = MappedFunction(f, out_axes, branches == "both")
    if chunk_size is not None and (not isinstance(chunk_size, int) or chunk_size < 1):
        raise ArgumentError(f"chunk_size is an integer, at least 1; got {chunk_size!r}")

    def mapped(*args: Any, **kwargs: Any) -> Any:
        leaves, rebuild = flatten((args, kwargs))
        leaves = [wrap_foreign(leaf) if is_foreign(leaf) else leaf for leaf in leaves]
        axes = _match_axes(in_axes, args, "in_axes") + [0] * len(flatten(kwargs)[0])
        names = paths((args, kwargs))
        size = _count_examples(leaves, axes, names, f)
        step = chunk_size or max(size, 1)
        results = []
        for start in range(0, max(size, 1), step):
            part = _slice_all(leaves, axes, start, min(start + step, size))
            results.append(mapped_function.run(part, axes, rebuild, min(step, size - start)))
        return results[0] if len(results) == 1 else _join_chunks(results, out_axes)

    return name_after(mapped, "vmap", f)


@dataclass(frozen=True, slots=True)
class MappedFunction:
    """A function that is applied to batches, with the axes of its arguments and results."""

    f: F
    out_axes: Any
    parts_at_branches: bool

    def run(self, leaves: list[Any], axes: list[Any], rebuild: Any, size: int) -> Any:
        """Apply the function to `size` examples at once, or in parts if a batch has to be split."""
        f, out_axes = self.f, self.out_axes
        recorder: Any = next((x.level for x in leaves if isinstance(x, Opaque)), None)
        whole = recorder.map_examples(f, leaves, axes, rebuild, size) if recorder else None
        if whole is not None:
            results, rebuild_results = flatten(whole)
            result_axes = _match_axes(out_axes, whole, "out_axes")
            if None not in result_axes:
                for x, axis in zip(results, result_axes, strict=True):
                    _check_out_axis(axis, shape_of(x), f)
                pairs = zip(results, result_axes, strict=True)
                return rebuild_results(
                    iter([np.moveaxis(x, 0, axis) if axis else x for x, axis in pairs])
                )
        level = BatchLevel(size)
        level.splits, level.parts_at_branches = True, self.parts_at_branches
        batches = [
            leaf if axis is None else batch(leaf, axis, level)
            for leaf, axis in zip(leaves, axes, strict=True)
        ]
        args, kwargs = rebuild(iter(batches))
        try:
            with level:
                result = call(f, Selection(args, tuple(range(len(args))), args, kwargs), args)
        except (OneByOne, Parting) as need:
            if need.level is not level:
                raise
            if isinstance(need, Parting):
                return self._run_each_way(leaves, axes, rebuild, need.answers)
            return self._run_in_parts(leaves, axes, rebuild, size)
        except (LostDerivativeError, RuleError) as error:
            if not size or not ran_scipy(error):
                raise
            return self._run_one_by_one(leaves, axes, rebuild, size)
        results, rebuild_results = flatten(result)
        result_axes = _match_axes(out_axes, result, "out_axes")
        pairs = zip(results, result_axes, strict=True)
        found = [_unbatch_result(leaf, axis, level, f) for leaf, axis in pairs]
        return rebuild_results(iter(copy_shared(found, leaves)))

    def _run_each_way(self, leaves: list[Any], axes: list[Any], rebuild: Any, answers: Any) -> Any:
        """Run the function on the examples that answer yes, and on those that answer no."""
        ways = [np.flatnonzero(answers), np.flatnonzero(~answers)]
        pairs = list(zip(leaves, axes, strict=True))
        results = [
            self.run(
                [x if axis is None else _take(x, axis, way) for x, axis in pairs],
                axes, rebuild, len(way),
            )
            for way in ways
        ]  # fmt: skip
        if paths(results[0]) != paths(results[1]):
            raise ArgumentError(
                f"{name_of(self.f)} returns {results[0]!r} on one way through its code and "
                f"{results[1]!r} on another; vmap needs one structure"
            )
        joined = _join_chunks(results, self.out_axes)
        places = np.argsort(np.concatenate(ways))
        found, rebuild_results = flatten(joined)
        of_results = zip(found, _match_axes(self.out_axes, joined, "out_axes"), strict=True)
        return rebuild_results(
            iter([x if axis is None else _take(x, axis, places) for x, axis in of_results])
        )

    def _run_in_parts(self, leaves: list[Any], axes: list[Any], rebuild: Any, size: int) -> Any:
        """Run the function on the halves of a batch."""
        if size > 1:
            bounds = ((0, size // 2), (size // 2, size))
            parts = [_slice_all(leaves, axes, start, stop) for start, stop in bounds]
            results = [
                self.run(part, axes, rebuild, stop - start)
                for part, (start, stop) in zip(parts, bounds, strict=True)
            ]
            return _join_chunks(results, self.out_axes)
        return self._run_one_by_one(leaves, axes, rebuild, size)

    def _run_one_by_one(self, leaves: list[Any], axes: list[Any], rebuild: Any, size: int) -> Any:
        """Run the function on each example alone."""
        results = [self._run_alone(leaves, axes, rebuild, i) for i in range(size)]
        return _join_chunks(results, self.out_axes)

    def _run_alone(self, leaves: list[Any], axes: list[Any], rebuild: Any, example: int) -> Any:
        """Run the function on one example; its results have an axis of length 1."""
        pairs = zip(leaves, axes, strict=True)
        args, kwargs = rebuild(
            iter([x if axis is None else _take(x, axis, example) for x, axis in pairs])
        )
        result = call(self.f, Selection(args, tuple(range(len(args))), args, kwargs), args)
        results, rebuild_results = flatten(result)
        pairs = zip(results, _match_axes(self.out_axes, result, "out_axes"), strict=True)
        return rebuild_results(
            iter([x if axis is None else np.expand_dims(x, axis) for x, axis in pairs])
        )


def _take(leaf: Any, axis: int, which: Any) -> Any:
    return getitem(leaf, (*(slice(None),) * (axis % len(shape_of(leaf))), which))


def _unbatch_result(leaf: Any, axis: Any, level: BatchLevel, f: F) -> Any:
    """Return a result with the examples along an axis; None: all examples have the same one."""
    inner = leaf.value if isinstance(leaf, Traced) and leaf.level is level else leaf
    check_open(inner, f"the result of {name_of(f)}")
    if hasattr(type(leaf), "tocsr"):
        raise ResultError(
            f"a result of {name_of(f)} is a sparse matrix, and vmap makes arrays of all examples; "
            "return A.toarray()"
        )
    if axis is not None:
        _check_out_axis(axis, (level.size, *shape_of(leaf)), f)
        return twin(unwrap_foreign(unbatch(leaf, axis, level)))
    if isinstance(leaf, Traced) and leaf.level is level:
        raise ArgumentError(
            f"out_axes=None says that a result of {name_of(f)} is the same for every example, but "
            "it depends on them; give it an axis"
        )
    return leaf


def _check_out_axis(axis: int, full: tuple[int, ...], f: F) -> None:
    """Refuse an axis that does not exist in `full`, the shape with the examples in front."""
    if not -len(full) <= axis < len(full):
        raise InputError(
            f"out_axes={axis}: a result of {name_of(f)} has the shape {full[1:]} for one example, "
            f"so the examples can lie along the axes {-len(full)} to {len(full) - 1}"
        )


def _slice_all(leaves: list[Any], axes: list[Any], start: int, stop: int) -> list[Any]:
    """Return some of the examples."""
    return [
        leaf if axis is None else _slice(leaf, axis, start, stop)
        for leaf, axis in zip(leaves, axes, strict=True)
    ]


def _slice(leaf: Any, axis: int, start: int, stop: int) -> Any:
    rank = len(shape_of(leaf))
    if (start, stop) == (0, shape_of(leaf)[axis]):
        return leaf
    return getitem(leaf, (slice(None),) * (axis % rank) + (slice(start, stop),))


def _join_chunks(results: list[Any], out_axes: Any) -> Any:
    parts = [flatten(result)[0] for result in results]
    axes = _match_axes(out_axes, results[0], "out_axes")
    columns = zip(zip(*parts, strict=True), axes, strict=True)
    joined = [
        column[0] if axis is None else concatenate_(list(column), axis) for column, axis in columns
    ]
    return flatten(results[0])[1](iter(joined))


def _match_axes(axes: Any, tree: Any, what: str) -> list[Any]:
    """Return one axis for each leaf; an axis given for a structure applies to all its leaves."""
    if axes is None or (hasattr(axes, "__index__") and not isinstance(axes, bool)):
        return [axes] * len(flatten(tree)[0])
    inside, parts = parts_of(axes), parts_of(tree)
    if inside is None or parts is None or [k for k, _ in inside] != [k for k, _ in parts]:
        given = map_leaves(lambda leaf: "*", tree)
        raise ArgumentError(
            f"{what} is an axis, None, or these nested as the arguments are; {axes!r} does not fit "
            f"{given!r}"
        )
    both = zip(inside, parts, strict=True)
    return [axis for (_, a), (_, part) in both for axis in _match_axes(a, part, what)]


def _count_examples(leaves: list[Any], axes: list[Any], names: list[str], f: F) -> int:
    """Return the number of examples, which must be the same for all arguments."""
    sizes: dict[str, int] = {}
    for leaf, axis, name in zip(leaves, axes, names, strict=True):
        if axis is None:
            continue
        full = shape_of(leaf)
        what = f"argument {name[3:]} of {name_of(f)}"  # [0] marks positions, [1] names
        if not full:
            raise ArgumentError(
                f"vmap maps over an axis of {what}, which is the single number {leaf!r}; "
                "in_axes=None passes it to every example"
            )
        if not -len(full) <= axis < len(full):
            raise ArgumentError(f"{what} has the shape {full}, which has no axis {axis}")
        sizes[what] = full[axis]
    if not sizes:
        raise ArgumentError("vmap needs at least one argument with an axis to map over")
    if len(set(sizes.values())) > 1:
        listed = ", ".join(f"{size} in {what}" for what, size in sizes.items())
        raise ArgumentError(f"vmap needs as many examples in every argument; there are {listed}")
    return next(iter(sizes.values()))
