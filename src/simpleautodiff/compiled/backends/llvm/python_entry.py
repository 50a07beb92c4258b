"""Entries from Python into compiled code and back, as LLVM text.

An entry has the signature of Python's vectorcall protocol. It checks its arguments: if they do not
have exactly the types, dtypes and shapes it was written for, the next entry is tried, and after the
last one the slow path through Python (see `callable`). Arrays are allocated before the body runs,
and the body writes into them. A guarded body returns an i32: if it is not 0, the results are
dropped and the next entry is tried. `floats_entry` and `arrays_entry` describe the body.

Tuples of floats are reused, as Python's own `zip` does: the slot keeps the last two results, and if
nothing else refers to one or to a float in it, it is filled with the next result. Making and
freeing a tuple of two floats takes 23 ns, checking three counters two. There are two, used in turn,
for a caller who holds a result until the next one is there: `result = f(x)` in a loop.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from simpleautodiff.compiled.backends.interface import (
    Argument,
    Array,
    ListOf,
    Number,
    Structure,
    changing,
)
from simpleautodiff.compiled.backends.llvm.entry_arguments import (
    make_cell,
    read_arguments,
    read_number,
    require_array,
)
from simpleautodiff.compiled.backends.llvm.entry_builder import UNROLLED, EntryBuilder
from simpleautodiff.compiled.native.external_symbols import OUT
from simpleautodiff.compiled.native.object_offsets import (
    ALIGNED,
    C_CONTIGUOUS,
    WRITEABLE,
    layout,
)

_DECLARED = """\
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare ptr @PyTuple_New(i64)
declare ptr @PyFloat_FromDouble(double)
declare void @Py_DecRef(ptr)
declare void @Py_IncRef(ptr)
declare i32 @PyList_SetItem(ptr, i64, ptr)
@PyFloat_Type = external global i8
"""
_DECLARED_FOR_ARRAYS = """\
declare ptr @PyArray_New(ptr, i32, ptr, i32, ptr, ptr, i32, i32, ptr)
declare ptr @PyArray_Scalar(ptr, ptr, ptr)
declare ptr @PyList_New(i64)
declare i32 @PyObject_RichCompareBool(ptr, ptr, i32)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
@PyArray_Type = external global i8
@numpy.float64 = external global i8
@numpy.float32 = external global i8
@numpy.int64 = external global i8
@numpy.bool = external global i8
@numpy.type.float64 = external global i8
@numpy.type.float32 = external global i8
@python.out = external global i8
"""

_NUMBER_OF_DTYPE = {"float32": 11, "float64": 12}


def declarations(arrays: bool = False) -> str:
    """Return the declarations of a module with entries.

    Examples
    --------
    >>> "@PyTuple_New" in declarations()
    True
    """
    return _DECLARED + (_DECLARED_FOR_ARRAYS if arrays else "")


def entry_names(name: str) -> list[str]:
    """Return the names that `build` has to export for an entry.

    Examples
    --------
    >>> entry_names("f")
    ['f', 'f.next', 'f.slow', 'f.kept', 'f.known']
    """
    return [name, f"{name}.next", f"{name}.slow", f"{name}.kept", f"{name}.known"]


def floats_entry(
    name: str,
    body: str,
    inputs: int,
    outputs: int,
    structure: Structure | None = None,
    *,
    guarded: bool = False,
) -> str:
    """Return an entry for Python floats in, floats out.

    Parameters
    ----------
    name : str
        Of the entry.
    body : str
        The name of the function that is called, `void body(ptr in, ptr out)`, on contiguous
        numbers.
    inputs, outputs : int
        How many floats are taken, each as an argument, and how many the body writes.
    structure
        Which number of `out` stands where: 0 for a single float, `(0, 1)` for a tuple of two,
        `(0, (1, 2))` and so on; unless given, a tuple of all.
    guarded : bool
        The body returns an i32, and its results are valid if that is 0.

    Examples
    --------
    >>> "call void @f.body(ptr %in, ptr %out)" in floats_entry("f", "f.body", 2, 2)
    True
    """
    entry = EntryBuilder(name, inputs)
    entry.line(f"%in = alloca [{max(inputs, 1)} x double]", first=True)
    entry.line(f"%out = alloca [{max(outputs, 1)} x double]", first=True)

    def read(at: str) -> None:
        argument = entry.get("%args", at, "ptr")
        entry.put("%in", at, "double", read_number(entry, argument, Number()))

    entry.each(inputs, read)
    whole = tuple(range(outputs)) if structure is None else structure
    entry.call(body, guarded)
    _return_kept(entry, whole)
    return entry.finish()


def arrays_entry(
    name: str,
    body: str,
    inputs: Sequence[Argument],
    outputs: Sequence[Number | Array],
    structure: Structure,
    *,
    guarded: bool = False,
    unlocked: bool = False,
    out: bool = False,
) -> str:
    """Return an entry for numbers and arrays in, new arrays and numbers out.

    Parameters
    ----------
    name, body, guarded
        As for `floats_entry`, but the body gets two tables of pointers, `void body(ptr in, ptr
        out)`: one pointer for each argument and each result, to its first number.
    inputs, outputs
        What each argument and each result is. The table has pointers to arguments that change.
    structure
        Which result stands where: 0 for a single one, `(0, 1)` for a tuple, `ListOf((0, 1))` for a
        list; each array somewhere.
    unlocked : bool
        Release Python's lock meanwhile, which takes 30 ns: for bodies that take long.
    out : bool
        A single array result may be written into an array given as the keyword `out`.

    Examples
    --------
    >>> text = arrays_entry("f", "f.body", [Array("float64", (2,))], [Number()], 0)
    >>> "@PyArray_Type" in text
    True
    """
    out = out and structure == 0 and isinstance(outputs[0], Array)
    entry = EntryBuilder(name, len(inputs), named=out)
    entry.line(f"%out = alloca [{max(len(outputs), 1)} x ptr]", first=True)
    found = read_arguments(entry, "%args", inputs)
    entry.line(f"%in = alloca [{max(len(found), 1)} x ptr]", first=True)
    for index, pointer in enumerate(found):
        entry.put("%in", str(index), "ptr", pointer)
    cells = [make_cell(entry, kind) if isinstance(kind, Number) else "" for kind in outputs]
    arrays: dict[int, str] = {}

    def make(leaf: int) -> str | None:
        kind = outputs[leaf]
        if leaf in arrays:
            entry.line(f"call void @Py_IncRef(ptr {arrays[leaf]})")
        elif isinstance(kind, Array):
            made = _array_to_fill(entry, kind, inputs) if out else _new_array(entry, kind)
            arrays[leaf] = made
            entry.put("%out", str(leaf), "ptr", entry.field(made, layout().data, "ptr"))
        return arrays.get(leaf)

    for index, cell in enumerate(cells):
        if cell:
            entry.put("%out", str(index), "ptr", cell)
    fills = _make_result(entry, structure, make)
    if len(arrays) + len(cells) - cells.count("") < len(outputs):
        raise ValueError(f"an array of {list(outputs)} has no place in {structure}")
    entry.call(body, guarded, unlocked)
    for place, leaves in fills:
        for at, leaf in leaves:
            _give(entry, place, at, _new_number(entry, outputs[leaf].dtype, cells[leaf]))
    return entry.finish()


Fills = list[tuple[str, list[tuple[int, int]]]]  # table of items ("": none), (place in it, leaf)


def _array_to_fill(entry: EntryBuilder, kind: Array, inputs: Sequence[Argument]) -> str:
    """Return the array given as the keyword `out`, or else a new one."""

    def given() -> str:
        entry.require(f"icmp eq i64 {entry.field('%names', layout().length, 'i64')}, 1")
        entry.require(f"icmp eq ptr {entry.field('%names', layout().items, 'ptr')}, @{OUT}")
        array = entry.get("%args", str(len(inputs)), "ptr")
        require_array(entry, array, kind, C_CONTIGUOUS | ALIGNED | WRITEABLE)
        start = entry.field(array, layout().data, "i64")
        stop = entry.plus(start, _bytes(kind))
        for k, one in enumerate(changing(inputs)):
            if isinstance(one, Array):
                _require_apart(entry, entry.get("%in", str(k), "i64"), _bytes(one), start, stop)
        entry.line(f"call void @Py_IncRef(ptr {array})")
        return array

    return entry.choose("icmp eq ptr %names, null", lambda: _new_array(entry, kind), given)


def _bytes(kind: Array) -> int:
    return math.prod(kind.shape) * np.dtype(kind.dtype).itemsize


def _require_apart(entry: EntryBuilder, first: str, size: int, start: str, stop: str) -> None:
    """Try the next entry if an input overlaps the memory between two addresses."""
    before = entry.new(f"icmp ule i64 {entry.plus(first, size)}, {start}")
    after = entry.new(f"icmp uge i64 {first}, {stop}")
    entry.require(f"or i1 {before}, {after}")


def _new_array(entry: EntryBuilder, kind: Array) -> str:
    shape = entry.constant([*kind.shape, 0])
    made = entry.new(
        f"call ptr @PyArray_New(ptr @PyArray_Type, i32 {len(kind.shape)}, ptr {shape}, "
        f"i32 {_NUMBER_OF_DTYPE[kind.dtype]}, ptr null, ptr null, i32 0, i32 0, ptr null)"
    )
    entry.need(made)
    return made


def _new_number(entry: EntryBuilder, kind: str, cell: str) -> str:
    if kind != "float":
        return entry.new(f"call ptr @PyArray_Scalar(ptr {cell}, ptr @numpy.{kind}, ptr null)")
    value = entry.load("double", cell)
    return entry.new(f"call ptr @PyFloat_FromDouble(double {value})")


def _make_result(
    entry: EntryBuilder, structure: Structure, make: Callable[[int], str | None]
) -> Fills:
    """Make the tuples and arrays of the result; return the slots that numbers will fill."""
    if isinstance(structure, int):
        made = make(structure)
        entry.root(made or "null")
        return [] if made else [("", [(0, structure)])]
    container = _new_container(entry, structure)
    entry.root(container)
    fills: Fills = []
    _place_in(entry, container, structure, make, fills)
    return fills


def _new_container(entry: EntryBuilder, structure: tuple[Structure, ...] | ListOf) -> str:
    """Make a tuple or a list without items."""
    name, parts = (
        ("List", structure.parts) if isinstance(structure, ListOf) else ("Tuple", structure)
    )
    made = entry.new(f"call ptr @Py{name}_New(i64 {len(parts)})")
    entry.need(made)
    return made


def _place_in(
    entry: EntryBuilder,
    container: str,
    structure: tuple[Structure, ...] | ListOf,
    make: Callable[[int], str | None],
    fills: Fills,
) -> None:
    numbers = []
    is_list = isinstance(structure, ListOf)
    items = entry.items(container, is_list)
    for at, part in enumerate(structure.parts if isinstance(structure, ListOf) else structure):
        made = make(part) if isinstance(part, int) else _new_container(entry, part)
        if made is None:
            assert isinstance(part, int)
            numbers.append((at, part))
            continue
        entry.put(items, str(at), "ptr", made)
        if not isinstance(part, int):
            _place_in(entry, made, part, make, fills)
    fills.append((items, numbers))


def _return_kept(entry: EntryBuilder, structure: Structure) -> None:
    """Fill the kept result if nothing else refers to it; otherwise make another."""
    spare = entry.spare()
    result = _renew(entry, spare, structure, entry.keep, lambda: entry.hold(spare))
    entry.root(result)
    if isinstance(structure, tuple):
        _fill(entry, result, structure)


def _renew(
    entry: EntryBuilder,
    old: str,
    part: Structure | str,
    made: Callable[[str], None],
    again: Callable[[], None] = lambda: None,
) -> str:
    """Return a tuple or float: the old one if nothing else refers to it, or a new one."""
    if isinstance(part, tuple):
        return entry.either(old, f"call ptr @PyTuple_New(i64 {len(part)})", made, again)
    value = entry.get("%out", str(part), "double")

    def store() -> None:
        entry.set_field(old, layout().float64, "double", value)
        again()

    return entry.either(old, f"call ptr @PyFloat_FromDouble(double {value})", made, store)


def _fill(entry: EntryBuilder, tuple_: str, structure: tuple[Structure, ...]) -> None:
    """Write the numbers of `out` into a tuple: into its floats if these are free, or new ones."""
    items = entry.items(tuple_)

    def renew(at: str, part: Structure | str) -> str:
        old = entry.get(items, at, "ptr")
        return _renew(entry, old, part, lambda made: entry.replace(items, at, old, made))

    run = [*structure] == [*range(len(structure))]
    if run and len(structure) > UNROLLED:
        with entry.counted(len(structure)) as index:
            renew(index, index)
        return
    for at, part in enumerate(structure):
        renewed = renew(str(at), part)
        if isinstance(part, tuple):
            _fill(entry, renewed, part)


def _give(entry: EntryBuilder, place: str, at: int | str, made: str) -> None:
    """Put a number into a tuple, or return it directly."""
    if place:
        entry.need(made)
        entry.put(place, str(at), "ptr", made)
    else:
        entry.root(made)
