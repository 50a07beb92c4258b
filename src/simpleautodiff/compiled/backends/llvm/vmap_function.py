"""A scalar program for a batch: as many examples at a time as a vector has lanes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import accumulate

from simpleautodiff.compiled.backends.llvm.instructions import BYTES, ELEMENT, constant, vector
from simpleautodiff.compiled.backends.llvm.module import ATTRIBUTES, Module
from simpleautodiff.compiled.backends.llvm.scalar_function import StepNames, number_elements, steps
from simpleautodiff.compiled.backends.llvm.spill import write_spilled
from simpleautodiff.compiled.backends.llvm.transpose_lanes import cover_columns
from simpleautodiff.compiled.backends.llvm.vmap_loop import BatchLoop
from simpleautodiff.compiled.scalar.kernel import COLUMNS, ROWS, SAME, Kernel, Leaf

REGISTER_STEPS = (
    2000  # steps: with more, numbers do not stay in registers, and compiling takes long
)


@cache
def vector_bytes() -> int:
    """Return how many bytes a vector register of the host has.

    Examples
    --------
    >>> vector_bytes() in (16, 32, 64)
    True
    """
    from llvmlite import binding

    features = binding.get_host_cpu_features()
    if features.get("avx512f"):
        return 64
    return 32 if features.get("avx2") else 16


def host_width(kind: str = "d") -> int:
    """Return how many numbers of a dtype fill a vector register of the host.

    Examples
    --------
    >>> host_width("f") == 2 * host_width("d")
    True
    """
    return vector_bytes() // BYTES[kind]


def width_of(kernel: Kernel) -> int:
    """Return how many examples at a time are best for a kernel here, by its widest numbers.

    Examples
    --------
    >>> from simpleautodiff.compiled.scalar.scalar_program import ScalarProgram
    >>> program = ScalarProgram()
    >>> x = program.input("f")
    >>> width_of(Kernel(program, (Leaf("f", 1),), ())) == host_width("f")
    True
    """
    kinds = {kernel.program.dtypes[place] for place in kernel.program.live()} - {"?"}
    return host_width(max(kinds, key=BYTES.__getitem__, default="d"))


def takes_columns(kernel: Kernel, size: int) -> bool:
    """Tell whether the leaves of that many examples may be given column by column.

    Examples
    --------
    >>> from simpleautodiff.compiled.scalar.scalar_program import ScalarProgram
    >>> takes_columns(Kernel(ScalarProgram(), (), ()), 1)
    False
    """
    return size >= width_of(kernel) and not _is_long(kernel, REGISTER_STEPS)


def _is_long(kernel: Kernel, chunk: int) -> bool:
    columns = len(kernel.program.inputs) + len(kernel.program.outputs)
    return len(kernel.program) + 2 * columns > chunk  # a column is about as much work as two steps


def write_batch_module(
    kernel: Kernel,
    modes: Sequence[str],
    width: int,
    name: str = "rows",
    *,
    chunk: int = REGISTER_STEPS,
    size: int = 0,
) -> str:
    """Write a kernel that is called for a batch.

    Parameters
    ----------
    kernel
        The scalar program for each example; it has no guards.
    modes
        How each leaf is given, inputs first: `"rows"`, example i is at base + i × step; `"same"`,
        one for all examples; `"gathered"`, example i is at base + index[i] × step; `"columns"`,
        element k of example i is at base + k × size + i. The default for outputs is `"rows"`.
    width
        How many examples are computed at a time.
    name
        The name of the function. It takes the first example, the one after the last, and a pointer
        to three integers for each leaf, inputs first: the address of the base, the distance in
        elements between examples, and the address of the index.
    chunk
        Kernels of more steps than this are compiled in parts.
    size
        How many examples there are, where leaves are given by columns (see `takes_columns`).

    Examples
    --------
    >>> from simpleautodiff.compiled.scalar.scalar_program import ScalarProgram
    >>> from simpleautodiff.compiled.scalar.kernel import Leaf
    >>> program = ScalarProgram()
    >>> program.outputs = [program.make("sqrt", program.input())]
    >>> text = write_batch_module(Kernel(program, (Leaf("d", 1),), (Leaf("d", 1),)), ["rows"], 4)
    >>> "call contract <4 x double> @llvm.sqrt.v4f64(<4 x double>" in text
    True
    """
    module = Module(kernel.program.precise)
    write_batch(module, kernel, modes, width, name, chunk, size)
    return module.text()


def write_batch(
    module: Module,
    kernel: Kernel,
    modes: Sequence[str],
    width: int,
    name: str,
    chunk: int = REGISTER_STEPS,
    size: int = 0,
) -> None:
    """Write a kernel that is called for a batch into a module (see `write_batch_module`).

    Examples
    --------
    >>> from simpleautodiff.compiled.scalar.scalar_program import ScalarProgram
    >>> program, module = ScalarProgram(), Module()
    >>> program.outputs = [program.input()]
    >>> write_batch(module, Kernel(program, (Leaf("d", 1),), (Leaf("d", 1),)), ["rows"], 4, "copy")
    >>> module.text()[:46]
    'define void @copy(i64 %start, i64 %stop, ptr n'
    """
    if kernel.program.guards:
        raise ValueError("a program for a batch cannot have guards: each example may need another")
    module.count(kernel.program)
    frame = BatchLoop(kernel, modes, width, size)
    if _is_long(kernel, chunk):
        write_spilled(module, kernel, frame, name, chunk)
    else:
        _BatchBlock(module, kernel, frame).write()
    head = f"define void @{name}(i64 %start, i64 %stop, ptr noalias %leaves) {ATTRIBUTES} {{"
    module.functions.append("\n".join([head, *frame.lines(), "}"]))


class _BatchBlock:
    """The steps for one block of examples, all in registers."""

    def __init__(self, module: Module, kernel: Kernel, frame: BatchLoop) -> None:
        self.module, self.kernel, self.frame, self.lanes = module, kernel, frame, frame.body
        self.flat, self.width = kernel.program, frame.width
        self.inputs = number_elements(kernel.inputs)
        self.names = StepNames(self._fetch)
        self.first = [*_firsts(kernel.inputs), *_firsts(kernel.outputs)]

    def write(self) -> None:
        """Write all steps; leaves are stored as soon as they are known."""
        inputs = range(len(self.kernel.inputs))
        outputs = range(len(inputs), len(self.frame.leaves))
        self._load_single(self._single(inputs))
        places = [p for p in self.flat.live() if self.flat.steps[p][0] not in ("input", "const")]
        order = {place: n + 1 for n, place in enumerate(places)}
        at = 0
        for ready, j, start, stored in sorted(self._stores(outputs, order)):
            self._steps(places[at:ready])
            at = max(at, ready)
            self._store(j, start, [self.names[place] for place in stored])
        self._steps(places[at:])
        self._store_single(self._single(outputs))

    def _store(self, j: int, start: int, columns: list[str]) -> None:
        kind = self.frame.leaves[j].dtype
        if self.frame.modes[j] == COLUMNS:
            for k, column in enumerate(columns, start):
                self.lanes.store_packed(column, self.frame.column(j, k), kind)
        else:
            self.lanes.store_columns(columns, self.frame.starts(j), kind, start)

    def _steps(self, places: Iterable[int]) -> None:
        steps(self.module, self.flat, places, self.names, self.lanes.lines, self.width)

    def _stores(
        self, leaves: Iterable[int], order: dict[int, int]
    ) -> Iterator[tuple[int, int, int, list[int]]]:
        """Yield the stores: after which step, leaf, first column, and steps."""
        for j in leaves:
            if not self._single([j]):
                whole = 1 if self.frame.modes[j] == COLUMNS else self.width
                for start, size in cover_columns(self.frame.leaves[j].size, whole):
                    first = self.first[j] + start
                    stored = self.flat.outputs[first : first + size]
                    yield max([order.get(place, 0) for place in stored]), j, start, stored

    def _fetch(self, place: int) -> str:
        operation, number = self.flat.steps[place][:2]
        if operation == "const":
            return constant(self.flat, place, self.width)
        j, column = self.inputs[number]
        kind, size = self.frame.leaves[j].dtype, self.frame.leaves[j].size
        if self.frame.modes[j] == SAME:
            return self.lanes.load_spread(f"%base{j}", kind, column)
        if self.frame.modes[j] == COLUMNS:
            return self.lanes.load_packed(self.frame.column(j, column), kind)
        half = max(self.width // 2, 1)  # loading halves and joining them takes fewer shuffles
        start, count = next(b for b in cover_columns(size, half) if column < b[0] + b[1])
        columns = self.lanes.load_columns(self.frame.starts(j), kind, start, count)
        for k, name in enumerate(columns, self.first[j] + start):
            self.names.setdefault(self.flat.inputs[k], name)
        return self.names[place]

    # Leaves of one number per example: contiguous in memory, they are vectors already. ----------

    def _single(self, leaves: Iterable[int]) -> list[int]:
        frame = self.frame
        fit = self.width > 1
        return [j for j in leaves if fit and frame.modes[j] == ROWS and frame.leaves[j].size == 1]

    def _load_single(self, leaves: Sequence[int]) -> None:
        if not leaves:
            return
        lanes, kinds = self.lanes, [self.frame.leaves[j].dtype for j in leaves]
        starts = [self.frame.starts(j) for j in leaves]
        self._choose("in", leaves)
        near = [
            self.lanes.load_packed(rows[0], kind) for rows, kind in zip(starts, kinds, strict=True)
        ]
        lanes.jump("ready.in")
        lanes.label("spread.in")
        far = [
            self.lanes.load_columns(rows, kind, 0, 1)[0]
            for rows, kind in zip(starts, kinds, strict=True)
        ]
        lanes.jump("ready.in")
        lanes.label("ready.in")
        for j, kind, x, y in zip(leaves, kinds, near, far, strict=True):
            both = f"[ {x}, %packed.in ], [ {y}, %spread.in ]"
            name = self.lanes.new(f"phi {vector(ELEMENT[kind], self.width)} {both}")
            self.names[self.flat.inputs[self.first[j]]] = name

    def _store_single(self, leaves: Sequence[int]) -> None:
        if not leaves:
            return
        lanes, kinds = self.lanes, [self.frame.leaves[j].dtype for j in leaves]
        starts = [self.frame.starts(j) for j in leaves]
        values = [self.names[self.flat.outputs[self.first[j]]] for j in leaves]
        self._choose("out", leaves)
        for value, rows, kind in zip(values, starts, kinds, strict=True):
            self.lanes.store_packed(value, rows[0], kind)
        lanes.jump("ready.out")
        lanes.label("spread.out")
        for value, rows, kind in zip(values, starts, kinds, strict=True):
            self.lanes.store_columns([value], rows, kind, 0)
        lanes.jump("ready.out")
        lanes.label("ready.out")

    def _choose(self, side: str, leaves: Iterable[int]) -> None:
        """Branch to code for contiguous examples, if all of these leaves are given so."""
        before = self.frame.before
        condition = before.new(f"icmp eq i64 %most, {self.width - 1}")
        for j in leaves:
            alone = before.new(f"icmp eq i64 %step{j}, 1")
            condition = before.new(f"and i1 {condition}, {alone}")
        self.lanes.branch(condition, f"packed.{side}", f"spread.{side}")
        self.lanes.label(f"packed.{side}")


def _firsts(leaves: Iterable[Leaf]) -> list[int]:
    """Return the number of the first element of each leaf."""
    return list(accumulate([leaf.size for leaf in leaves], initial=0))[:-1]
