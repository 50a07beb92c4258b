"""Unroll small arrays: a recorded program becomes a scalar program on their elements.

An array becomes an array of indices of steps in the scalar program. Rows that move elements are
applied to indices as they would be to numbers. Rows that add and multiply are applied to cells,
which append each operation to the program.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from simpleautodiff.compiled.recording.symbols import FLOAT64_DTYPE
from simpleautodiff.compiled.recording.trace_program import (
    Line,
    RecordedProgram,
    Ref,
    find_refs,
)
from simpleautodiff.compiled.scalar.kernel import Kernel, Leaf
from simpleautodiff.compiled.scalar.lower_rows import (
    LOWERED_ROWS,
    can_lower,
    dtype_letter,
    lower,
)
from simpleautodiff.compiled.scalar.operations import (
    BOOL,
    FLOAT32,
    FLOAT64,
    INT64,
    OPERATIONS,
    SCALAR_TYPES,
    fits_int64,
)
from simpleautodiff.compiled.scalar.scalar_program import ScalarProgram
from simpleautodiff.compiled.scalar.share_reciprocals import share_reciprocals
from simpleautodiff.compiled.scalar.small_matrices import SMALL_SIZE, SmallMatrices
from simpleautodiff.core.primitive import Primitive
from simpleautodiff.errors import TraceError
from simpleautodiff.rules.array.indexing import is_basic
from simpleautodiff.rules.row import TABLE

UNROLLED_ARRAY = 256  # elements of an unrolled array, at most
UNROLLED_ELEMENTS = 40_000  # elements of all arrays of an unrolled program, at most

DIRECT = {TABLE[name] for name in OPERATIONS.keys() & TABLE.keys() & LOWERED_ROWS.keys()}
MOVES = {"broadcast_to", "reshape", "transpose", "getitem", "roll", "concatenate", "set_item"}
SUMS = {"sum", "sum_to", "cumsum", "matmul", "einsum", "scatter"}
EXTREMES = {"max": "maximum", "min": "minimum"}


class NotUnrolledError(TraceError):
    """A program has arrays that are too large, or rows that are not scalar operations."""


class Cell:
    """The index of a step of a scalar program, with arithmetic: NumPy computes with such cells."""

    __slots__ = ("flat", "place")

    def __init__(self, flat: ScalarProgram, place: int) -> None:
        self.flat = flat
        self.place = place

    def __add__(self, other: Any) -> Cell:
        return Cell(self.flat, self.flat.add(self.place, self._place(other)))

    def __mul__(self, other: Any) -> Cell:
        return Cell(self.flat, self.flat.mul(self.place, self._place(other)))

    __radd__, __rmul__ = __add__, __mul__

    def _place(self, other: Any) -> int:
        dtype = self.flat.dtypes[self.place]
        if isinstance(other, Cell):
            return self.flat.to(dtype, other.place)
        if other == 0:  # NumPy's initial 0, or an element that nothing was written to
            return self.flat.zero(dtype)
        return self.flat.const(other, dtype)


def unroll(recorded: RecordedProgram, precise: bool = False, may_refuse: bool = False) -> Kernel:
    """Return a recorded program as a scalar program; refuse one that cannot be unrolled.

    If it `may_refuse` numbers as NumPy does, it can contain systems with small matrices.
    """
    large = find_large(recorded)
    if large is not None:
        raise NotUnrolledError(f"an array of shape {large.shape} is too large to be unrolled")
    return _Unrolling(recorded, precise, may_refuse and not precise).kernel()


def find_large(recorded: RecordedProgram) -> Line | None:
    """Return a line that makes a program too large to be unrolled, if there is one."""
    total = 0
    for line in recorded.lines:
        if not line.shape:
            continue
        size = math.prod(line.shape)
        total += size
        if size > UNROLLED_ARRAY or total > UNROLLED_ELEMENTS:
            return line
    return None


def has_systems(recorded: RecordedProgram) -> bool:
    """Tell whether a program has lines that are unrolled if their matrices are small."""
    systems = SmallMatrices(ScalarProgram()).rows.keys()
    return not systems.isdisjoint([line.name for line in recorded.lines])


def estimate_steps(recorded: RecordedProgram) -> float:
    """Return roughly how many steps an unrolled program would have, most of them of products."""
    return sum([_estimate(recorded, line) for line in recorded.lines[recorded.inputs :]])


def _estimate(recorded: RecordedProgram, line: Line) -> float:
    if line.name != "matmul":
        return math.prod(line.shape)
    left, right = line.args
    inner = recorded.lines[left].shape[-1] if type(left) is Ref else np.shape(left)[-1]
    numbers = [x for x in (left, right) if type(x) is not Ref]
    share = min([np.count_nonzero(x) / max(np.size(x), 1) for x in numbers], default=1.0)
    return 2 * inner * math.prod(line.shape) * share


def unroll_if_small(
    recorded: RecordedProgram, precise: bool, may_refuse: bool = False
) -> Kernel | None:
    """Return a recorded program as a scalar program; None if it has to stay on arrays."""
    try:
        return unroll(recorded, precise, may_refuse)
    except NotUnrolledError:
        return None


class _Unrolling:
    def __init__(self, recorded: RecordedProgram, precise: bool, has_matrices: bool) -> None:
        self.recorded = recorded
        self.flat = ScalarProgram(precise)
        self.matrices = SmallMatrices(self.flat).rows if has_matrices else {}
        self.values: list[Any] = []  # for each line an index of a step, or an array of them

    def kernel(self) -> Kernel:
        lines, values, quick = self.recorded.lines, self.values, self._quick
        for line in lines[: self.recorded.inputs]:
            values.append(self._input(line))
        for line in lines[self.recorded.inputs :]:
            found = quick(line) if line.what in DIRECT and line.dtype is FLOAT64_DTYPE else None
            values.append(self._of(line) if found is None else found)
        outputs = [place for place in self.recorded.outputs if type(place) is Ref]
        flat = self.flat
        flat.outputs = [int(x) for place in outputs for x in np.ravel(self.values[place])]
        for guard in self.recorded.guards:
            truth = flat.to(BOOL, int(np.ravel(self.values[guard.place])[0]))
            flat.guards.append((truth, guard.expected))
        return Kernel(
            share_reciprocals(flat).prune(),
            tuple([_leaf(line) for line in lines[: self.recorded.inputs]]),
            tuple([_leaf(lines[place]) for place in outputs]),
        )

    def _input(self, line: Line) -> Any:
        dtype = _kind(line)
        if not line.shape:
            return self.flat.input(dtype)
        count = math.prod(line.shape)
        cells = [self.flat.input(dtype) for _ in range(count)]
        return np.array(cells, np.int64).reshape(line.shape)

    def _quick(self, line: Line) -> int | None:
        """Return the step of an operation on single numbers, the bulk of long programs."""
        args, flat = [], self.flat
        for arg in line.args:
            if type(arg) is Ref:
                place = self.values[arg]
                if type(place) is not int or flat.dtypes[place] != FLOAT64:
                    return None
                args.append(place)
            elif type(arg) is float or type(arg) is int:
                args.append(flat.const(arg))
            else:
                return None
        return flat.make(line.what.name, *args)

    def _of(self, line: Line) -> Any:
        """Return the steps of one line."""
        what = line.what
        if type(what) is Primitive and not what.arrays:
            return self._elementwise(line)
        if type(what) is not Primitive:
            return self._function(line)
        dtype = _kind(line)
        if what.name in MOVES:
            return _simple(what.compute(*self._numbers(line, dtype, np.asarray)))
        if what.name in SUMS:
            numbers = self._numbers(line, dtype, self._cells)
            found = _scatter(*numbers) if what.name == "scatter" else what.compute(*numbers)
            empty = self.flat.zero(dtype) if what.name == "scatter" else self.flat.const(0, dtype)
            return self._places(found, dtype, empty)
        if what.name in EXTREMES:
            return self._extreme(line, dtype)
        if what.name == "astype":
            return _each(lambda x: self.flat.to(dtype, x), self._value(line.args[0], None))
        if what.name in self.matrices:
            return self._matrices(line, dtype)
        raise NotUnrolledError(f"{what.name} is no operation on single numbers")

    def _matrices(self, line: Line, dtype: str) -> Any:
        """Return the steps of a row of linear algebra, for each matrix of a stack."""
        given = [self._value(arg, None if dtype == BOOL else dtype) for arg in line.args]
        sizes = [n for matrix in given for n in matrix.shape[-2:]]
        if not 0 < min(sizes) <= max(sizes) <= SMALL_SIZE:
            raise NotUnrolledError(f"{line.name} of matrices that are not small")
        if self.flat.dtypes[given[0].flat[0]] not in (FLOAT64, FLOAT32):
            raise NotUnrolledError(f"{line.name} of matrices of other numbers")
        stack = np.broadcast_shapes(*[x.shape[:-2] for x in given])
        each = [np.broadcast_to(x, (*stack, *x.shape[-2:])) for x in given]
        compute = self.matrices[line.what.name]
        found = [compute(*[x[index] for x in each]) for index in np.ndindex(stack)]
        return _simple(np.array(found, np.int64).reshape(line.shape))

    def _elementwise(self, line: Line) -> Any:
        what: Primitive = line.what
        settings = [line.args[k] for k in what.settings] if what.name != "where" else []
        if not can_lower(what, line.dtype) and not (
            what.name == "round" and settings in ([None], [0])
        ):
            raise NotUnrolledError(f"{what.name} is no operation on single numbers")
        dtype = _kind(line)
        if what.name == "round":
            return _each(lambda x: self.flat.make("rint", x), self._value(line.args[0], dtype))
        args = [self._value(arg, None if what.name == "where" and k == 0 else dtype)
                for k, arg in enumerate(line.args)]  # fmt: skip
        return _each(lambda *xs: lower(self.flat, what, dtype, list(xs)), *args)

    def _function(self, line: Line) -> Any:
        """Return the steps of a function without a derivative."""
        if can_lower(line.what, line.dtype):
            found = [self.values[arg] for arg in line.args if type(arg) is Ref]
            dtypes = [self.flat.dtypes[int(np.ravel(x)[0])] for x in found if np.size(x)]
            args = [self._value(arg, _comparison_dtype(arg, dtypes)) for arg in line.args]
            return _each(lambda *xs: lower(self.flat, line.what, BOOL, list(xs)), *args)
        if line.what in (np.all, np.any) and len(line.args) == 1 and not line.kwargs:
            cells = [self.flat.to(BOOL, int(x)) for x in np.ravel(self._value(line.args[0], None))]
            result = self.flat.const(line.what is np.all, BOOL)
            for cell in cells:
                result = self.flat.make("and" if line.what is np.all else "or", result, cell)
            return result
        raise NotUnrolledError(f"{line.name} is no operation on single numbers")

    def _extreme(self, line: Line, dtype: str) -> Any:
        x, axis, _ = line.args
        operation = EXTREMES[line.what.name]
        larger = np.frompyfunc(lambda a, b: self.flat.make(operation, a, b), 2, 1)
        cells = self._value(x, dtype).astype(object)
        if not cells.size:
            raise NotUnrolledError("the extreme of nothing")
        axis = tuple(range(cells.ndim)) if axis is None else axis
        for one in sorted(np.atleast_1d(axis) % cells.ndim, reverse=True):
            cells = larger.reduce(cells, axis=int(one), keepdims=True)
        return _simple(cells.reshape(line.shape).astype(np.int64))

    def _numbers(self, line: Line, dtype: str, form: Any) -> list[Any]:
        """Return the arguments of a row: its numbers in a form, settings unchanged."""
        result = []
        for k, arg in enumerate(line.args):
            if k not in line.what.settings:
                result.append(form(self._value(arg, dtype)))
            elif next(find_refs(arg), None) is not None:
                raise NotUnrolledError(f"{line.name} by places that may change")
            else:
                result.append(arg)
        return result

    def _value(self, arg: Any, dtype: str | None) -> Any:
        """Return the steps of an argument, in a dtype if one is given."""
        if type(arg) is Ref:
            found = self.values[arg]
            if dtype is None:
                return found
            if type(found) is int:
                return self.flat.to(dtype, found)
            dtypes = self.flat.dtypes
            if all(dtypes[x] == dtype for x in found.flat):
                return found
            return _each(lambda x: self.flat.to(dtype, x), found)
        if dtype is None:
            dtype = dtype_letter(np.result_type(arg)) or "d"
        if dtype == INT64 and type(arg) is int and not fits_int64(arg):
            raise NotUnrolledError(f"{arg} has more than 64 bits")
        if isinstance(arg, np.ndarray) and arg.ndim:
            return _each_number(lambda x: self.flat.const(x, dtype), arg)
        return self.flat.const(arg, dtype)

    def _cells(self, found: Any) -> Any:
        cells = np.empty(np.shape(found), object)
        for index, place in np.ndenumerate(found):
            cells[index] = Cell(self.flat, int(place))
        return cells

    def _places(self, cells: Any, dtype: str, empty: int) -> Any:
        """Return the steps of computed cells, `empty` where nothing was written."""

        def place(cell: Any) -> int:
            if isinstance(cell, Cell):
                return self.flat.to(dtype, cell.place)
            return empty

        if type(cells) is not np.ndarray:
            return place(cells)
        return _simple(np.array([*map(place, cells.flat)], np.int64).reshape(cells.shape))


def _comparison_dtype(arg: Any, dtypes: list[str]) -> str | None:
    """Return the dtype in which a Python number is compared with others; None: its own."""
    if type(arg) not in (int, float) or not dtypes:
        return None
    return dtype_letter(np.result_type(SCALAR_TYPES[dtypes[0]], arg))


def _each(function: Any, *args: Any) -> Any:
    """Apply a function to steps one by one, broadcasting arrays of them."""
    if all(type(arg) is int for arg in args):
        return function(*args)
    arrays = np.broadcast_arrays(*args)
    columns = zip(*[array.ravel().tolist() for array in arrays], strict=True)
    result = np.array([function(*row) for row in columns], np.int64)
    return result.reshape(arrays[0].shape) if arrays[0].shape else int(result[0])


def _scatter(cells: Any, index: Any, new: tuple[int, ...]) -> Any:
    """Scatter cells into an empty array; those with the same index are added."""
    out = np.zeros(new, object)
    if is_basic(index):
        out[index] = cells[()]
    else:
        np.add.at(out, index, cells)
    return out


def _simple(found: Any) -> Any:
    """Return a single step without an array around it."""
    return found if np.ndim(found) else int(found)


def _each_number(function: Any, array: Any) -> Any:
    return np.array([function(x) for x in array.ravel()], np.int64).reshape(array.shape)


def _kind(line: Line) -> str:
    dtype = dtype_letter(line.dtype)
    if dtype is None:
        raise NotUnrolledError(f"{line.name} gives numbers of type {line.dtype}")
    return dtype


def _leaf(line: Line) -> Leaf:
    return Leaf(_kind(line), math.prod(line.shape))


assert set(EXTREMES.values()) <= LOWERED_ROWS.keys()
