"""A scalar program as LLVM text: for one call, one number at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from simpleautodiff.compiled.backends.llvm.builder import Builder
from simpleautodiff.compiled.backends.llvm.instructions import BYTES, ELEMENT, constant, vector
from simpleautodiff.compiled.backends.llvm.module import ATTRIBUTES, Module
from simpleautodiff.compiled.scalar.kernel import Kernel, Leaf
from simpleautodiff.compiled.scalar.scalar_program import ScalarProgram
from simpleautodiff.compiled.scalar.split import Part, SplitProgram, split_program

LLVM_PART_STEPS = 800  # steps per function: compile time grows faster than the length
STACK_BYTES = 1 << 15  # bytes of work memory that may be on the stack


class StepNames(dict[int, str]):
    """The names of steps in a function; a step without a name is loaded when it is used."""

    def __init__(self, fetch: Callable[[int], str]) -> None:
        self.fetch = fetch

    def __missing__(self, place: int) -> str:
        name = self[place] = self.fetch(place)
        return name


def steps(
    module: Module,
    flat: ScalarProgram,
    places: Iterable[int],
    names: dict[int, str],
    lines: list[str],
    width: int = 1,
    then: dict[int, list[str]] | None = None,
    prefix: str = "%v",
) -> None:
    """Write the instructions of some steps.

    Parameters
    ----------
    module
        Collects the functions that the instructions call.
    flat
        The program.
    places
        The steps to write, in order; inputs and constants among them are left to `names`.
    names
        The names of steps; those of the written steps are added.
    lines
        Where the instructions go.
    width
        The number of lanes.
    then
        Lines that follow some of the steps at once; `{0}` is the name of the step there.
    prefix
        How generated names begin.

    Examples
    --------
    >>> program = ScalarProgram()
    >>> x = program.input()
    >>> y = program.mul(x, x)
    >>> lines = []
    >>> steps(Module(), program, [y], {x: "%x"}, lines, width=4)
    >>> lines
    ['  %v1 = fmul contract <4 x double> %x, %x']
    """
    then = then or {}
    kinds, all_steps = flat.dtypes, flat.steps
    templates: dict[tuple[str, str], str] = {}
    for place in places:
        operation, *args = all_steps[place]
        if operation == "input" or operation == "const":
            continue
        key = operation, kinds[args[-1]]
        template = templates.get(key)
        if template is None:
            template = templates[key] = module.template(*key, width)
        name = f"{prefix}{place}"
        lines.append(template.format(name, *[names[arg] for arg in args]))
        names[place] = name
        if place in then:
            lines += [line.format(name) for line in then[place]]


# Once. --------------------------------------------------------------------------------------------


def body(
    kernel: Kernel, name: str = "body", *, own: bool = True, chunk: int = LLVM_PART_STEPS
) -> str:
    """Write a kernel that is called for one set of numbers.

    Parameters
    ----------
    kernel
        The scalar program.
    name
        The name of the function. It takes a pointer for each leaf, inputs first, and returns 0,
        or the status of the first check that failed, or -1 if there was no work memory.
        Outputs may be written before all inputs were read: they must not overlap.
    own
        Whether to use vector code of our own for mathematical functions, not the C library: faster
        where LLVM optimises, slower where it does not.
    chunk
        How many steps are compiled together.

    Examples
    --------
    >>> program = ScalarProgram()
    >>> x = program.input()
    >>> program.outputs = [program.mul(x, x)]
    >>> text = body(Kernel(program, (Leaf("d", 1),), (Leaf("d", 1),)), "square")
    >>> text[: text.index(" nounwind")]
    'define i32 @square(ptr noalias %leaf0, ptr noalias %leaf1)'
    """
    module = Module(kernel.program.precise, own)
    write_body(module, kernel, name, chunk)
    return module.text()


def write_body(
    module: Module,
    kernel: Kernel,
    name: str,
    chunk: int = LLVM_PART_STEPS,
    inlined: bool = False,
) -> None:
    """Write a kernel that is called for one set of numbers into a module (see `body`).

    If it is `inlined`, there is no code but that in its callers.

    Examples
    --------
    >>> program, module = ScalarProgram(), Module()
    >>> program.outputs = [program.input()]
    >>> write_body(module, Kernel(program, (Leaf("d", 1),), (Leaf("d", 1),)), "copy")
    >>> module.text().count("load double")
    1
    """
    module.count(kernel.program)
    parts = split_program(kernel, chunk)
    leaves = [*kernel.inputs, *kernel.outputs]
    pointers = ", ".join([f"ptr noalias %leaf{j}" for j in range(len(leaves))])
    linkage, how = ("internal ", "alwaysinline ") if inlined else ("", "")
    head = f"define {linkage}i32 @{name}({pointers}) {how}{ATTRIBUTES} "
    writer = PartBuilder(module, kernel, parts)
    if writer.alone:
        module.functions.append(head + "\n".join(writer.write(parts.parts[0])))
        return
    writer.write_all(name)
    module.functions.append(head + "\n".join(_calls(module, parts, name, len(leaves))))


class PartBuilder(Builder):
    """The function of one part of a program: it reads and writes leaves and the work array."""

    def __init__(self, module: Module, kernel: Kernel, parts: SplitProgram, width: int = 1) -> None:
        super().__init__()
        self.module, self.kernel, self.parts, self.width = module, kernel, parts, width
        self.alone = width == 1 and len(parts.parts) == 1
        self.types = {kind: vector(element, width) for kind, element in ELEMENT.items()}
        self.bytes = vector("i8", width)
        self.inputs = number_elements(kernel.inputs)
        self.outputs: dict[int, list[tuple[int, int]]] = {}
        for place, (leaf, k) in zip(
            kernel.program.outputs, number_elements(kernel.outputs), strict=True
        ):
            self.outputs.setdefault(place, []).append((len(kernel.inputs) + leaf, k))

    def write(self, part: Part) -> list[str]:
        """Return the lines of a part."""
        flat, parts = self.kernel.program, self.parts
        self.first, self.lines = [], []
        self.pointers: set[int] = set()
        names = StepNames(self._fetch)
        then = {
            place: self._store_lines(place)
            for place in part.places
            if place in parts.slots or place in self.outputs
        }
        failures = self._check_guards(part, names, then)
        steps(self.module, flat, part.places, names, self.lines, self.width, then)
        if part is parts.parts[-1]:
            for place in self.outputs:
                if flat.steps[place][0] in ("input", "const"):
                    self.lines += [line.format(names[place]) for line in self._store_lines(place)]
        return self.body("ret i32 0", *failures)

    def _check_guards(
        self, part: Part, names: dict[int, str], then: dict[int, list[str]]
    ) -> list[str]:
        """Let conditions be checked as soon as they, and all before them, are known.

        The checks are added to what follows steps; the blocks that return after a failure are
        returned.
        """
        order = {place: at for at, place in enumerate(part.places)}
        latest, failures = -1, []
        for number, (status, place, expected) in enumerate(part.checks):
            latest = max(latest, order.get(place, -1))
            truth = f"%v{place}" if place in order else names[place]
            ways = (f"good{number}", f"bad{number}")[:: 1 if expected else -1]
            check = [f"  br i1 {truth}, label %{ways[0]}, label %{ways[1]}", f"good{number}:"]
            if latest < 0:
                self.lines += check
            else:
                then.setdefault(part.places[latest], []).extend(check)
            failures += [f"bad{number}:", f"ret i32 {status}"]
        return failures

    def write_all(self, name: str) -> None:
        """Write a function for every part."""
        for k, part in enumerate(self.parts.parts):
            head = f"define internal i32 @{name}.{k}(ptr noalias %leaves, ptr noalias %work)"
            lines = "\n".join(self.write(part))
            self.module.functions.append(f"{head} noinline {ATTRIBUTES} {lines}")

    def _fetch(self, place: int) -> str:
        operation, number = self.kernel.program.steps[place][:2]
        if operation == "const":
            return constant(self.kernel.program, place, self.width)
        kind, name = self.kernel.program.dtypes[place], f"%w{place}"
        if operation != "input":
            self.lines.append(self._slot(f"{name}.p", place))
            self.line(f"{name} = load {self.types[kind]}, ptr {name}.p, align 8")
            return name
        leaf, k = self.inputs[number]
        self.lines.append(self._element(f"{name}.p", leaf, k, kind))
        if kind == "?":
            self.line(f"{name}.b = load {self.bytes}, ptr {name}.p, align 1")
            self.line(f"{name} = icmp ne {self.bytes} {name}.b, zeroinitializer")
        else:
            self.line(f"{name} = load {self.types[kind]}, ptr {name}.p, align {BYTES[kind]}")
        return name

    def _store_lines(self, place: int) -> list[str]:
        """Return the lines that store a step, with a slot for its name."""
        kind = self.kernel.program.dtypes[place]
        lines = []
        if place in self.parts.slots:
            lines.append(self._slot(f"%s{place}", place))
            lines.append(f"  store {self.types[kind]} {{0}}, ptr %s{place}, align 8")
        for n, (leaf, k) in enumerate(self.outputs.get(place, ())):
            name = f"%o{place}.{n}"
            lines.append(self._element(name, leaf, k, kind))
            if kind == "?":
                lines.append(f"  {name}.b = zext {self.types[kind]} {{0}} to {self.bytes}")
                lines.append(f"  store {self.bytes} {name}.b, ptr {name}, align 1")
            else:
                lines.append(f"  store {self.types[kind]} {{0}}, ptr {name}, align {BYTES[kind]}")
        return lines

    def _slot(self, name: str, place: int) -> str:
        return _address(name, "%work", 8 * self.width * self.parts.slots[place])

    def _element(self, name: str, leaf: int, k: int, kind: str) -> str:
        return _address(name, self._pointer(leaf), k * BYTES[kind] * self.width)

    def _pointer(self, leaf: int) -> str:
        if not self.alone and leaf not in self.pointers:
            self.pointers.add(leaf)
            self.first.append(_address(f"%leaf{leaf}.p", "%leaves", 8 * leaf))
            self.line(f"%leaf{leaf} = load ptr, ptr %leaf{leaf}.p", first=True)
        return f"%leaf{leaf}"


def number_elements(leaves: Sequence[Leaf]) -> list[tuple[int, int]]:
    """Return, for the elements of all leaves, the index of the leaf and the index in it.

    Examples
    --------
    >>> number_elements([Leaf("d", 2), Leaf("f", 1)])
    [(0, 0), (0, 1), (1, 0)]
    """
    return [(j, k) for j, leaf in enumerate(leaves) for k in range(leaf.size)]


def _address(name: str, pointer: str, offset: int) -> str:
    return f"  {name} = getelementptr inbounds i8, ptr {pointer}, i64 {offset}"


def _calls(module: Module, parts: SplitProgram, name: str, leaves: int) -> list[str]:
    """Write the calls of all parts, with the work array that they share."""
    builder = Builder()
    builder.line(f"%leaves = alloca ptr, i64 {leaves}")
    for j in range(leaves):
        builder.put("%leaves", j, "ptr", f"%leaf{j}")
    give_back, take = work_array(module, 8 * parts.size)
    builder.lines += take
    for k, part in enumerate(parts.parts):
        status = builder.new(f"call i32 @{name}.{k}(ptr %leaves, ptr %work)")
        if part.checks:
            builder.branch(builder.new(f"icmp eq i32 {status}, 0"), f"good{k}", f"bad{k}")
            builder.label(f"bad{k}")
            builder.lines += [*give_back, f"  ret i32 {status}"]
            builder.label(f"good{k}")
    builder.lines += give_back
    return builder.body("ret i32 0")


def work_array(module: Module, size: int, none: str = "ret i32 -1") -> tuple[list[str], list[str]]:
    """Write the code that frees work memory, and the code that allocates it.

    Each call has its own, so that calls may run at the same time.

    Examples
    --------
    >>> work_array(Module(), 80)
    ([], ['  %work = alloca [80 x i8], align 64'])
    """
    if size <= STACK_BYTES:
        return [], [f"  %work = alloca [{size} x i8], align 64"]
    module.declare("ptr @malloc(i64)")
    module.declare("void @free(ptr)")
    take = [
        f"  %taken = call ptr @malloc(i64 {size + 64})",
        "  %nothing = icmp eq ptr %taken, null",
        "  br i1 %nothing, label %without, label %with",
        "without:",
        f"  {none}",
        "with:",
        "  %beyond = getelementptr i8, ptr %taken, i64 63",
        "  %work = call ptr @llvm.ptrmask.p0.i64(ptr %beyond, i64 -64)",
    ]
    return ["  call void @free(ptr %taken)"], take
