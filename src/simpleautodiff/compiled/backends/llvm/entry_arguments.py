"""Check and read the arguments of an entry: numbers, arrays, known values, containers."""

from __future__ import annotations

from collections.abc import Sequence

from simpleautodiff.compiled.backends.interface import Argument, Array, Container, Known, Number
from simpleautodiff.compiled.backends.llvm.entry_builder import EntryBuilder
from simpleautodiff.compiled.native.object_offsets import ALIGNED, C_CONTIGUOUS, layout

_CELL = {"float": "double", "float64": "double", "float32": "float"}
_TYPE = {
    "float": "@PyFloat_Type",
    "float64": "@numpy.type.float64",
    "float32": "@numpy.type.float32",
}
_EQUAL = 2  # Py_EQ


def read_arguments(entry: EntryBuilder, table: str, kinds: Sequence[Argument]) -> list[str]:
    """Return pointers to the first numbers of the arguments that may change."""
    read = [_read_argument(entry, entry.get(table, k, "ptr"), kind) for k, kind in enumerate(kinds)]
    return [pointer for pointers in read for pointer in pointers]


def _read_argument(entry: EntryBuilder, argument: str, kind: Argument) -> list[str]:
    """Return pointers to the changing parts of an argument, if it has this form."""
    match kind:
        case Array():
            require_array(entry, argument, kind, C_CONTIGUOUS | ALIGNED)
            return [entry.field(argument, layout().data, "ptr")]
        case Known():
            _require_known(entry, argument, kind)
            return []
        case Container():
            items = _items(entry, argument, kind)
            return read_arguments(entry, items, kind.parts)
    cell = make_cell(entry, kind)
    entry.store(_CELL[kind.dtype], read_number(entry, argument, kind), cell)
    return [cell]


def read_number(entry: EntryBuilder, argument: str, kind: Number) -> str:
    """Return the value of an argument, if it has exactly this type."""
    known = layout()
    entry.require(f"icmp eq ptr {entry.field(argument, known.kind, 'ptr')}, {_TYPE[kind.dtype]}")
    offset = known.float32 if kind.dtype == "float32" else known.float64
    return entry.field(argument, offset, _CELL[kind.dtype])


def make_cell(entry: EntryBuilder, kind: Number) -> str:
    """Allocate memory for a number on the stack."""
    return entry.alloca(_CELL[kind.dtype])


def require_array(entry: EntryBuilder, argument: str, kind: Array, wanted: int) -> None:
    """Try the next entry unless an argument is such an array, with these flags."""
    known = layout()
    entry.require(f"icmp eq ptr {entry.field(argument, known.kind, 'ptr')}, @PyArray_Type")
    entry.require(f"icmp eq i32 {entry.field(argument, known.nd, 'i32')}, {len(kind.shape)}")
    entry.require(f"icmp eq ptr {entry.field(argument, known.dtype, 'ptr')}, @numpy.{kind.dtype}")
    flags = entry.new(f"and i32 {entry.field(argument, known.flags, 'i32')}, {wanted}")
    entry.require(f"icmp eq i32 {flags}, {wanted}")
    shape = entry.field(argument, known.shape, "ptr")
    for axis, size in enumerate(kind.shape):
        entry.require(f"icmp eq i64 {entry.get(shape, str(axis), 'i64')}, {size}")


def _require_known(entry: EntryBuilder, argument: str, kind: Known) -> None:
    """Try the next entry unless an argument has the type and the value of a known object."""
    known = entry.known(kind.number)
    of_known = entry.field(known, layout().kind, "ptr")
    entry.require(f"icmp eq ptr {entry.field(argument, layout().kind, 'ptr')}, {of_known}")
    compared = f"@PyObject_RichCompareBool(ptr {argument}, ptr {known}, i32 {_EQUAL})"
    entry.require(f"icmp eq i32 {entry.new(f'call i32 {compared}')}, 1")


def _items(entry: EntryBuilder, argument: str, kind: Container) -> str:
    """Return the table of the items of a container, if it is of this type and length."""
    of_known = entry.known(kind.number)
    entry.require(f"icmp eq ptr {entry.field(argument, layout().kind, 'ptr')}, {of_known}")
    length = entry.field(argument, layout().length, "i64")
    entry.require(f"icmp eq i64 {length}, {len(kind.parts)}")
    return entry.items(argument, kind.is_list)
