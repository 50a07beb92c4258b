"""A batched function: recorded for one example, compiled for all of a batch at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from simpleautodiff.compiled.backends.interface import BatchCall, CallForm, CompiledBatch
from simpleautodiff.compiled.backends.targets import TARGET
from simpleautodiff.compiled.native.background import attempt, later, one_at_a_time
from simpleautodiff.compiled.native.compile import Code
from simpleautodiff.compiled.recording.symbol_level import SymbolLevel
from simpleautodiff.compiled.recording.symbols import Symbol
from simpleautodiff.compiled.scalar.kernel import COLUMNS, ROWS, SAME, BatchedKernel, Kernel
from simpleautodiff.compiled.scalar.operations import SCALAR_TYPES
from simpleautodiff.compiled.scalar.unroll_arrays import unroll
from simpleautodiff.core.level import Traced, take_current
from simpleautodiff.errors import AutodiffError
from simpleautodiff.transforms.arguments import Selection, call
from simpleautodiff.values.pytree import flatten

MANY_EXAMPLES = 100_000  # examples: NumPy takes longer for its calls than the compiler


class BatchedFunction(BatchedKernel):
    """A scalar program that is run for every example of a batch.

    Called with one array per argument, whose first axis counts the examples (or without that axis,
    if it is the same for all), it returns one array per result. Where `modes` says "columns", the
    last axis counts the examples, of arguments and of results. NumPy runs it column by column until
    it is compiled.
    """

    def __init__(
        self, name: str, kernel: Kernel, modes: tuple[str, ...], shapes: list[Any], level: Any
    ) -> None:
        super().__init__(kernel, modes, shapes)
        self.__name__ = f"rows of {name}"
        self.layouts = (ROWS,) * len(shapes)  # how the examples of the results are laid out
        self.threads = level.threads
        self.tier = level.tier
        self.code: Code | None = None
        self.failure = ""  # why it could not be compiled
        self.entered: tuple[CallForm, tuple[int, ...]] | None = (
            None  # the form, and the argument of each input
        )
        self.recorded = False  # before that, it runs only to find its results
        self._run: CompiledBatch | None = None
        self._asked = False

    def __call__(self, *leaves: Any, out: Any = None) -> tuple[Any, ...]:
        """Compute all examples; a leaf may be a pair of a table and the indices of its examples.

        A single result is written into the array `out`, if that fits.
        """
        if self.recorded and not self._asked:
            self.ask(at_once=self._count(leaves) > MANY_EXAMPLES)
        if self._run is None:
            return self._by_columns([x[0][x[1]] if type(x) is tuple else x for x in leaves])
        return self._natively(leaves, out)

    def ask(self, at_once: bool = False) -> None:
        """Have it compiled: in the background, unless a tier was requested, or it is to be now."""
        if self._asked or self.tier in ("numpy", "tape") or not TARGET.is_available():
            return
        self._asked = True
        (attempt if self.tier or at_once else later)(self.compile, self._fail)

    def _fail(self, why: str) -> None:
        self.failure = why

    def compile(self) -> None:
        """Compile it, with an entry from Python if one is requested."""
        with one_at_a_time():
            if self._run is None:
                modes = (*self.modes, *self.layouts)
                form, arguments = self.entered or (None, ())
                self._run = TARGET.compile_batch(
                    BatchCall(self.kernel, modes, self.size, form, arguments)
                )
                self.code = self._run.code

    def _count(self, leaves: Sequence[Any]) -> int:
        """Return how many examples there are."""
        return max(map(_length, leaves, self.modes))

    def _natively(self, leaves: Sequence[Any], out: Any) -> tuple[Any, ...]:
        table: list[int] = []
        kept = []  # arrays that must live until all examples are computed
        size = self._count(leaves)
        for leaf, form in zip(leaves, self.kernel.inputs, strict=True):
            base, index = leaf if type(leaf) is tuple else (leaf, None)
            base = np.ascontiguousarray(base, SCALAR_TYPES[form.dtype])
            kept += [base, index]
            table += [base.ctypes.data, form.size, 0 if index is None else index.ctypes.data]
        forms = zip(self.kernel.outputs, self._whole(size), strict=True)
        results: list[Any] = [np.empty(shape, SCALAR_TYPES[form.dtype]) for form, shape in forms]
        if len(results) == 1 and _can_hold(out, results[0], kept):
            results = [out]
        for result, form in zip(results, self.kernel.outputs, strict=True):
            table += [result.ctypes.data, form.size, 0]
        words = np.array(table, np.int64)
        assert self._run is not None
        self._run(size, words.ctypes.data, self.threads)
        return tuple(results)

    def _by_columns(self, leaves: Sequence[Any]) -> tuple[Any, ...]:
        """Compute all examples, column by column, with NumPy."""
        size = self._count(leaves)
        columns: list[Any] = []
        for leaf, mode, form in zip(leaves, self.modes, self.kernel.inputs, strict=True):
            if mode == SAME:
                columns += list(np.reshape(leaf, form.size))
            elif mode == COLUMNS:
                columns += list(np.reshape(leaf, (form.size, size)))
            else:
                columns += list(np.reshape(leaf, (size, form.size)).T)
        found = iter(self.kernel.program.run(columns))
        results = []
        forms = zip(self.kernel.outputs, self.layouts, self._whole(size), strict=True)
        for form, layout, shape in forms:
            whole: Any = np.empty((form.size, size), SCALAR_TYPES[form.dtype])
            for k in range(form.size):
                whole[k] = next(found)
            results.append((whole if layout == COLUMNS else whole.T).reshape(shape))
        return tuple(results)

    def _whole(self, size: int) -> list[tuple[int, ...]]:
        """Return the shapes of the results for that many examples."""
        pairs = zip(self.shapes, self.layouts, strict=True)
        return [(*shape, size) if how == COLUMNS else (size, *shape) for shape, how in pairs]

    def with_modes(
        self, modes: Sequence[str], layouts: Sequence[str], size: int
    ) -> BatchedFunction:
        """Return the same function for arguments or results in other layouts."""
        other = BatchedFunction(self.__name__[8:], self.kernel, tuple(modes), self.shapes, self)
        other.layouts, other.size, other.recorded = tuple(layouts), size, True
        return other


def _length(leaf: Any, mode: str) -> int:
    """Return how many examples an argument has; 0 if it is the same for all."""
    if type(leaf) is tuple:
        return len(leaf[1])
    return 0 if mode == SAME else int(leaf.shape[-1 if mode == COLUMNS else 0])


def _can_hold(out: Any, result: Any, inputs: list[Any]) -> bool:
    """Tell whether a result can be written into an array directly: no input overlaps it."""
    if type(out) is not np.ndarray or out.shape != result.shape or out.dtype != result.dtype:
        return False
    fit = out.flags.c_contiguous and out.flags.aligned and out.flags.writeable
    return fit and not any(np.may_share_memory(out, x) for x in inputs if x is not None)


def record_batched(
    level: SymbolLevel, f: Any, leaves: list[Any], axes: list[Any], rebuild: Any, size: int
) -> Any:
    """Record `f` for one example and apply it to all; None if it cannot be recorded."""
    if not size or any(isinstance(x, Traced) and not isinstance(x, Symbol) for x in leaves):
        return None
    try:
        return _record_batched(level, f, leaves, axes, rebuild)
    except (AutodiffError, TypeError, ValueError, IndexError):
        return None  # `vmap` runs it as usual, or raises the error


def _record_batched(
    level: SymbolLevel, f: Any, leaves: list[Any], axes: list[Any], rebuild: Any
) -> Any:
    leaves = [
        leaf if axis is None or not axis else np.moveaxis(leaf, axis, 0)
        for leaf, axis in zip(leaves, axes, strict=True)
    ]
    inner = SymbolLevel(rows=True, precise=level.precise)
    with inner:
        ones = [
            leaf if axis is None else inner.input(_first(leaf))
            for leaf, axis in zip(leaves, axes, strict=True)
        ]
        args, kwargs = rebuild(iter(ones))
        result = call(f, Selection(args, tuple(range(len(args))), args, kwargs), args)
        results, rebuild_results = flatten(result)
        own = [inner.own(take_current(x)) for x in results]
    mapped = [leaf for leaf, axis in zip(leaves, axes, strict=True) if axis is not None]
    captured = [symbol for symbol, _ in inner.captured.values()]
    shapes = [x.shape for x in own]
    recorded = inner.finish(own, len(mapped))
    modes = (ROWS,) * len(mapped) + (SAME,) * len(captured)
    kernel = unroll(recorded, level.precise)
    program = BatchedFunction(getattr(f, "__name__", "f"), kernel, modes, shapes, level)
    found = level.answer(program, (*mapped, *captured), {})
    program.recorded = True
    return rebuild_results(iter(found))


def _first(leaf: Any) -> Any:
    return leaf.concrete[0] if isinstance(leaf, Symbol) else leaf[0]
