"""What a target of the compiled tier provides: the one interface between it and the rest.

A target turns programs into something that runs in this process. It gets optimised scalar programs,
batched programs (a scalar program for every example of a batch) and array programs; what it returns
is called with the addresses of arrays. To add a target (a GPU, WebAssembly) is to add a folder here
with a class like `Target`, and to name it in `targets.py`; to add a language to export to is to add
a function like `Exporter`, and to name it in `exporters.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from simpleautodiff.compiled.array.buffers import BufferLayout
from simpleautodiff.compiled.array.build_loops import NumpyCall, Task
from simpleautodiff.compiled.backends.export import Export
from simpleautodiff.compiled.native.compile import Code
from simpleautodiff.compiled.rolled.layout import RolledLayout
from simpleautodiff.compiled.scalar.kernel import Kernel

ENTRY = "entry"  # the name of the function that Python calls directly
NO_MEMORY, BAD_INDEX = -1, -2  # status of code that could not finish


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list among the results of a function."""

    parts: tuple[Structure, ...]


Structure = int | tuple["Structure", ...] | ListOf  # numbers of results, in tuples and lists


class Number(NamedTuple):
    """An argument or a result that is one number: a Python `float`, or a NumPy scalar."""

    dtype: str = "float"


class Array(NamedTuple):
    """An argument or a result that is a `float64` or `float32` array of a fixed shape."""

    dtype: str
    shape: tuple[int, ...]


class Known(NamedTuple):
    """An argument that has to be as it was: an integer, a text. `number` counts what is known."""

    number: int


class Container(NamedTuple):
    """An argument that is a tuple or a list of others; `number` is that of its type."""

    number: int
    is_list: bool
    parts: tuple[Argument, ...]


Argument = Number | Array | Known | Container


class CallForm(NamedTuple):
    """What Python passes to a function and gets from it, if that is always the same.

    A target may give its code an entry for exactly these arguments, so that Python calls it
    directly.
    """

    inputs: tuple[Argument, ...]
    outputs: tuple[Number | Array, ...]
    structure: Structure
    out: bool = False  # whether a single array result may be written into a given array
    known: tuple[Any, ...] = ()  # objects that arguments are compared with, of which code is free

    @property
    def key(self) -> CallForm:
        """What code depends on: not on what is known, which it finds in a table."""
        return self._replace(known=())

    @property
    def leaves(self) -> list[Number | Array]:
        """The arguments that may change, in containers or not."""
        return [*changing(self.inputs)]

    @property
    def floats(self) -> bool:
        """Whether all are Python floats."""
        plain = all(part == Number() for part in (*self.inputs, *self.outputs))
        return plain and not has_list(self.structure)


def changing(arguments: Sequence[Argument]) -> Iterator[Number | Array]:
    """Yield the arguments that may change, in containers or not.

    Examples
    --------
    >>> [*changing([Number(), Known(0), Container(1, False, (Array("float64", (2,)), Known(2)))])]
    [Number(dtype='float'), Array(dtype='float64', shape=(2,))]
    """
    for argument in arguments:
        if isinstance(argument, Container):
            yield from changing(argument.parts)
        elif not isinstance(argument, Known):
            yield argument


def has_list(structure: Structure) -> bool:
    """Tell whether there is a list among the results.

    Examples
    --------
    >>> has_list((0, (1, ListOf((2,))))), has_list((0, (1, 2)))
    (True, False)
    """
    if isinstance(structure, tuple):
        return any(map(has_list, structure))
    return isinstance(structure, ListOf)


class CompiledScalar(Protocol):
    """A scalar program as code."""

    code: Code

    def __call__(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> int:
        """Run it on arrays, one per leaf; return 0, or 1 + the number of the guard that failed."""


class CompiledBatch(Protocol):
    """A scalar program for every example of a batch, as code."""

    code: Code

    def __call__(self, examples: int, table: int, threads: int) -> None:
        """Run it on that many examples.

        `table` is the address of three integers for each leaf, inputs first: the address of its
        first element, the distance in elements between examples, and the address of indices, or 0.
        """


class BatchCall(NamedTuple):
    """A scalar program to be run for every example of a batch, and how the examples are given."""

    kernel: Kernel
    modes: tuple[str, ...]  # how the examples are given, for each leaf (see `kernel`)
    size: int = 0  # number of examples, if a leaf is given by columns
    form: CallForm | None = None
    arguments: tuple[int, ...] = ()  # with a form: the argument of each input


class CompiledArray(Protocol):
    """An array program as code."""

    code: Code | None
    ir: str
    segments: list[
        Callable[[Any], int] | NumpyCall
    ]  # functions of a table of addresses, and lines for NumPy
    has_entry: bool

    def call_directly(self, slow: Callable[..., Any]) -> Callable[..., Any] | None:
        """Return a function of the inputs that runs everything, or calls `slow` for other inputs.

        None if there is no such function.
        """


class CompiledRolled(Protocol):
    """A program that repeats, as code of its bodies."""

    code: Code

    def make_entry(self, form: CallForm) -> Code | None:
        """Compile an entry from Python into the bodies; None if lines are left to NumPy."""

    def __call__(self, block: int, words: int, start: int, stop: int) -> int:
        """Process some words on a block of memory; return 0, or 1 + the guard that failed."""


class Target(Protocol):
    """Compiles programs for one kind of machine."""

    def is_available(self) -> bool:
        """Tell whether this target works here."""

    def compile_scalar(self, kernel: Kernel, level: int, form: CallForm | None) -> CompiledScalar:
        """Compile a scalar program: quickly at level 0, well at level 1."""

    def takes_columns(self, kernel: Kernel, size: int) -> bool:
        """Tell whether a batch of that many examples may be given column by column."""

    def compile_batch(self, batch: BatchCall) -> CompiledBatch:
        """Compile a scalar program for all examples of a batch."""

    def compile_array(
        self,
        work: list[Task],
        memory: BufferLayout,
        precise: bool,
        form: CallForm | None,
        entries: bool,
    ) -> CompiledArray:
        """Compile the tasks of an array program, with entries for Python if `entries` is true."""

    def compile_rolled(self, layout: RolledLayout, precise: bool) -> CompiledRolled:
        """Compile the bodies of a program that repeats."""


class ScalarRunner(Protocol):
    """Runs a scalar program without compiling it."""

    def __init__(self, kernel: Kernel) -> None: ...

    def run(self, *inputs: Any) -> tuple[int, list[Any]]:
        """Return 0, or 1 + the number of the first guard that failed, and one array per output."""


Exporter = Callable[[Export], str]
