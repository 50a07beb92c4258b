"""The schedule of an array program: how each line is computed, and at which stage.

Lines of one shape that need each other element by element share one loop. A line that needs a whole
result (a sum, a product of matrices, other elements of an array) comes at a later stage. So
all lines of one shape and one stage are one loop, and stages follow each other.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

from simpleautodiff.compiled.array.array_operations import ARRAY_OPERATIONS, boxes, read_by_element
from simpleautodiff.compiled.array.boxes import Boxes
from simpleautodiff.compiled.array.classify import (
    ELEMENTWISE,
    GATHER,
    INPUT,
    LAPACK,
    LAYERS,
    LOADED,
    MATMUL,
    NUMPY,
    REDUCE,
    SCATTER,
    VIEW,
)
from simpleautodiff.compiled.array.delay import delay
from simpleautodiff.compiled.array.factors import lay_factors
from simpleautodiff.compiled.array.gather import (
    Distances,
    choice,
    find_distances,
)
from simpleautodiff.compiled.array.known_numbers import KnownNumber, uniform_number
from simpleautodiff.compiled.array.linalg.matrix_calls import LapackRoutine
from simpleautodiff.compiled.array.linalg.matrix_rows import lower_to_lapack
from simpleautodiff.compiled.array.recomputed_products import Recomputed, find_recomputed
from simpleautodiff.compiled.array.restate import restate
from simpleautodiff.compiled.array.view_accesses import (
    Shape,
    View,
    apply_view,
    find_strides,
    have_same_strides,
    squeeze,
    whole,
)
from simpleautodiff.compiled.recording.constant_copies import have_same_bytes
from simpleautodiff.compiled.recording.trace_program import (
    Guard,
    Line,
    RecordedProgram,
    Ref,
    find_refs,
    with_values,
)
from simpleautodiff.compiled.scalar.lower_rows import can_lower, dtype_letter
from simpleautodiff.compiled.scalar.operations import fits_int64
from simpleautodiff.core.primitive import Primitive
from simpleautodiff.rules.row import TABLE

SAMPLE = 1 << 10  # elements by which constants are found, before all of them are compared


class LoopSchedule:
    """The lines of a recorded program, with how and when each is computed.

    Parameters
    ----------
    program
        The program, cleaned.
    alone
        Whether everything has to be computed in loops, without BLAS and NumPy.
    exact
        Leave matrix factorizations to NumPy, so that every bit is that of the function itself.

    Attributes
    ----------
    lines : list of Line
        The lines of the program, and copies where a result needs memory of its own.
    how : list of str
        How each is computed: a constant of `classify`.
    views : list of View
        Where the elements of each are.
    stage : list of int
        When each is computed; inputs are ready before stage 0.
    constants : list of ndarray
        Arrays that are the same at every call; their roots are -1, -2, ...
    outputs : list
        The lines that are results, each with a memory of its own, or constants.
    guards : list
        For each guard the line of its bool and its required value; None if it is constant.
    """

    def __init__(self, program: RecordedProgram, alone: bool = False, exact: bool = False) -> None:
        self.alone, self.exact = alone, exact
        self.factors: dict[tuple[str, View], Any] = {}  # results of LAPACK, by matrix
        self.triangles: dict[View, bool] = {}  # triangular matrices: whether lower
        self.lines: list[Line] = []
        self.how: list[str] = []
        self.views: list[View] = []
        self.stage: list[int] = []
        self.constants: list[Any] = []
        self._of_constant: dict[int, int] = {}
        self._alike: dict[Any, list[int]] = {}  # constants, by some of their elements
        self._new: dict[int, Ref] = {}
        self.bounds: list[tuple[Ref, Ref, int]] = []  # smallest and largest index, and size
        self._fusable = read_by_element(program)
        self._uses: Counter[int] = Counter(find_refs([
            *[(line.args, line.kwargs) for line in program.lines],
            *program.outputs, *[guard.place for guard in program.guards],
        ]))  # fmt: skip
        self.read_once: dict[int, Line] = {}  # lines that a single line reads, as recorded
        guards = {int(g.place) for g in program.guards if type(g.place) is Ref}
        self._guards_of = sorted(guards, reverse=True)
        self._guarded = 0  # the stage from which on all guards so far are known
        self.layers: dict[int, Boxes] = {}  # the pieces of joined results
        self.recomputed: dict[int, Recomputed] = {}  # what is multiplied again where it is read
        self._known: dict[int, KnownNumber | None] = {}
        self._converted: dict[tuple[str, Any], Any] = {}
        self._kept: list[Any] = []  # keeps objects alive that are identified by id
        for number, line in enumerate(program.lines):
            self._new[number] = self._take(number, line)
        self.guards = [self._guard(guard) for guard in program.guards]
        self.outputs = self._own_memory(with_values(program.outputs, self._new))
        delay(self)
        self.recomputed = find_recomputed(self)

    # Lines. ---------------------------------------------------------------------------------------

    def _take(self, number: int, line: Line) -> Ref:
        self.read_by_element = number in self._fusable
        args = with_values(line.args, self._new)
        line = line._replace(args=args, kwargs=with_values(line.kwargs, self._new))
        while self._guards_of and self._guards_of[-1] < number:
            guard = self._new[self._guards_of.pop()]
            self._guarded = max(self._guarded, self.stage_of(guard) + 1)
        place = self.append(line)
        if self._uses[number] == 1:
            self.read_once[place] = line
        return place

    def append(self, line: Line) -> Ref:
        """Add a line, and decide how it is computed; NumPy waits for the guards before it."""
        line = restate(self, line)
        if not self.alone and not self.exact:
            solved = lower_to_lapack(self, line)
            if solved is not None:
                return solved
        view = self._view_of(line)
        if view is None and self._is_copied(line):
            line = line._replace(args=(self.copy(line.args[0]), *line.args[1:]))
            view = self._view_of(line)
        how = VIEW if view else self._how(line)
        if how == MATMUL:
            line = line._replace(args=lay_factors(self, *line.args))
        elif how in (GATHER, SCATTER):
            line = self._with_distances(line, how)
        number = self._enter(line, how, view)
        if how == LAYERS:
            self.layers[number] = boxes(self, line)
        stage = -1 if how in (INPUT, VIEW) else self._stage(number)
        self.stage[number] = max(stage, self._guarded) if how == NUMPY else stage
        return number

    def _enter(self, line: Line, how: str, view: View | None) -> Ref:
        """Add a line that is ready before all others; without a view, with memory of its own."""
        number = Ref(len(self.lines))
        self.lines.append(line)
        self.how.append(how)
        self.views.append(view or whole(int(number), line.shape))
        self.stage.append(-1)
        return number

    def constant_line(self, array: Any) -> Ref:
        """Add a line that is a constant array."""
        line = Line(TABLE["pos"], (array,), {}, array.shape, array.dtype)
        return self._enter(line, VIEW, self.view(array))

    def add_buffer(self, shape: Shape, dtype: Any) -> int:
        """Add memory for what no line of the program computes; return its root."""
        return int(self._enter(Line(np.empty, (shape,), {}, shape, dtype), REDUCE, None))

    def _view_of(self, line: Line) -> View | None:
        if not isinstance(line.what, Primitive) or not line.args or type(line.args[0]) is not Ref:
            return None
        if next(find_refs(line.args[1:]), None) is not None:
            return None
        view = self.views[line.args[0]]
        return apply_view(line.name, line.args[1:], view, self.size(view.root))

    def _is_copied(self, line: Line) -> bool:
        """Tell whether a line is a view once its argument is contiguous."""
        is_place = line.name == "reshape" and type(line.args[0]) is Ref
        return is_place and dtype_letter(line.dtype) is not None and 0 not in line.shape

    def size(self, root: int) -> int:
        """Return the number of elements of a result or a constant."""
        return self.constants[-1 - root].size if root < 0 else math.prod(self.lines[root].shape)

    def dtype_of(self, place: int) -> str | None:
        """Return the dtype of a line, or None if that dtype is not compiled."""
        return dtype_letter(self.lines[place].dtype)

    def dtype_of_root(self, root: int) -> str:
        """Return the dtype of a buffer."""
        dtype = self.constants[-1 - root].dtype if root < 0 else self.lines[root].dtype
        return dtype_letter(dtype) or ""

    def stage_of(self, place: int) -> int:
        """Return the stage at which the buffer of a line is ready."""
        root = self.views[place].root
        return -1 if root < 0 else self.stage[root]

    def _how(self, line: Line) -> str:
        if line.what is None:
            return INPUT
        given = list(find_refs((line.args, line.kwargs)))
        dtypes = [self.dtype_of(place) for place in given]
        shapes = [line.shape, *[self.lines[place].shape for place in given]]
        empty = any(0 in shape for shape in shapes)
        if line.kwargs or empty or None in (*dtypes, dtype_letter(line.dtype)):
            return NUMPY
        if isinstance(line.what, Distances | LapackRoutine):
            return ELEMENTWISE if isinstance(line.what, Distances) else LAPACK
        if can_lower(line.what, line.dtype) or line.what is TABLE["astype"]:
            numbers = line.args[:1] if line.what is TABLE["astype"] else line.args
            known = all(type(x) is Ref or self.known(x) is not None for x in numbers)
            return ELEMENTWISE if known or self.all_arrays(numbers) else NUMPY
        operation = ARRAY_OPERATIONS.get(line.name) if isinstance(line.what, Primitive) else None
        return operation.decide(self, line) if operation else NUMPY

    def all_arrays(self, numbers: Iterable[Any]) -> bool:
        """Tell whether all arguments are numbers that can be compiled; register constant arrays."""
        return all(
            type(x) is Ref
            or self.known(x) is not None
            or (isinstance(x, np.ndarray) and dtype_letter(x.dtype) is not None)
            for x in numbers
        )

    def known(self, arg: Any) -> KnownNumber | None:
        """Return an argument that is one number for all elements as a `KnownNumber`."""
        if type(arg) is int and not fits_int64(arg):
            return None
        if type(arg) in (int, float, bool):
            return KnownNumber(
                arg, {int: "l", float: "d", bool: "?"}[type(arg)], type(arg) is not bool
            )
        if not isinstance(arg, (np.ndarray, np.generic)) or not arg.size:
            return None
        if id(arg) not in self._known:
            self._kept.append(arg)
            self._known[id(arg)] = uniform_number(arg)
        return self._known[id(arg)]

    def constant(self, array: Any) -> int:
        """Return the root of a constant array."""
        if id(array) not in self._of_constant:
            whole = np.ascontiguousarray(array)
            some = whole.reshape(-1)[:: 1 + whole.size // SAMPLE].tobytes()
            alike = self._alike.setdefault((whole.dtype.str, whole.shape, some), [])
            same = [root for root in alike if have_same_bytes(self.constants[-1 - root], whole)]
            if not same:  # a constant is recorded wherever it is used
                self.constants.append(whole)
                same = [-len(self.constants)]
                alike += same
            self._of_constant[id(array)] = same[0]
            self._kept.append(array)
        return self._of_constant[id(array)]

    def view(self, arg: Any) -> View:
        """Return the view of the elements of an argument."""
        if type(arg) is Ref:
            return self.views[arg]
        return View(self.constant(arg), arg.shape, 0, find_strides(arg.shape))

    def view_as(self, arg: Any, dtype: Any) -> View:
        """Return the view of the elements of an argument; constants are converted to a dtype."""
        if type(arg) is Ref:
            return self.views[arg]
        known = self.known(arg)
        key = (str(dtype), repr(known.number)) if known else (str(dtype), id(arg))
        if key not in self._converted:
            self._kept.append(arg)
            self._converted[key] = np.array(known.number if known else arg, dtype)
        return self.view(self._converted[key])

    # Stages. --------------------------------------------------------------------------------------

    def space(self, number: int) -> Shape:
        """Return the shape that the loop of a line iterates over."""
        line = self.lines[number]
        return self.lines[line.args[0]].shape if self.how[number] == REDUCE else line.shape

    def joins(self, arg: Any, number: int) -> bool:
        """Tell whether a line needs an argument element by element, so that they share a loop."""
        if type(arg) is not Ref or not self._goes_along(arg, number):
            return False
        view, shape = self.views[arg], self.space(number)
        if view.root < 0 or self.how[view.root] not in (ELEMENTWISE, *LOADED):
            return False
        root = self.lines[view.root].shape
        return (
            view.offset == 0
            and squeeze(root) == squeeze(shape)
            and have_same_strides(shape, view.within(shape), find_strides(shape))
        )

    def _goes_along(self, arg: Ref, number: int) -> bool:
        """Tell whether a line reads an argument in its own order, as a write does."""
        if self.how[number] == LAYERS:
            before, written = ([*find_refs(x)] for x in self.lines[number].args[:2])
            return self.lines[number].name == "set_item" and arg in before and arg not in written
        return self.how[number] in (ELEMENTWISE, REDUCE)

    def _stage(self, number: int) -> int:
        line = self.lines[number]
        args = find_refs((line.args, line.kwargs))
        return max([0, *[self.stage_of(arg) + (not self.joins(arg, number)) for arg in args]])

    # Results. -------------------------------------------------------------------------------------

    def copy(self, place: Ref) -> Ref:
        """Add a line that copies the elements of another into memory of its own."""
        line = self.lines[place]
        return self.append(Line(TABLE["astype"], (place, line.dtype), {}, line.shape, line.dtype))

    def _own_memory(self, outputs: list[Any]) -> list[Any]:
        taken: set[int] = set()
        found = []
        for output in outputs:
            if type(output) is Ref:
                view = self.views[output]
                root = view.root
                shared = root < 0 or self.how[root] == INPUT or root in taken
                if shared or not view.is_whole or self.size(root) != math.prod(view.shape):
                    output = self.copy(output)
                taken.add(self.views[output].root)
            found.append(output)
        return found

    def _guard(self, guard: Guard) -> tuple[Ref, bool] | None:
        if type(guard.place) is not Ref:
            return None
        place = self._new[guard.place]
        if self.dtype_of(place) != "?":
            truth = Line(np.not_equal, (place, 0), {}, self.lines[place].shape, np.dtype(bool))
            place = self.append(truth)
        return place, guard.expected

    # Rows of whole arrays. ------------------------------------------------------------------------

    def _with_distances(self, line: Line, how: str) -> Line:
        """Return a line with distances, and how many axes follow, instead of its index."""
        at, is_source = (2 if line.name == "set_item" else 1), how == GATHER
        index = line.args[at]
        view = self.views[line.args[0]] if is_source else whole(0, line.shape)
        shape = view.shape
        if next(find_refs(index), None) is None:
            size = self.size(view.root) if is_source else math.prod(shape)
            known = find_distances(index, view, size)
            return line._replace(args=(*line.args[:at], known, *line.args[at + 1 :]))
        chosen = choice(index, len(shape))
        assert chosen is not None
        count = len(chosen.parts)
        axes = zip(chosen.parts, shape, strict=False)
        ends = [self._add_bounds(part, n) for part, n in axes if type(part) is Ref]
        leading = np.broadcast_shapes(*[
            self.lines[part].shape if type(part) is Ref else np.shape(part) for part in chosen.parts
        ])  # fmt: skip
        what = Distances(shape[:count], view.strides[:count])
        args = (*chosen.parts, *[end for pair in ends for end in pair])
        far = self.append(Line(what, args, {}, leading, np.dtype(np.int64)))
        return line._replace(args=(*line.args[:at], (far, chosen.behind), *line.args[at + 1 :]))

    def _add_bounds(self, index: Ref, size: int) -> tuple[Ref, Ref]:
        """Add lines that find the smallest and the largest index."""
        args, dtype = (index, None, False), np.dtype(np.int64)
        low, high = (self.append(Line(TABLE[k], args, {}, (), dtype)) for k in ("min", "max"))
        self.bounds.append((low, high, size))
        return low, high
