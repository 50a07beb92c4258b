"""Find the offsets of fields in Python's and NumPy's objects, by measuring known ones.

Compiled code reads a float, a tuple or an array without a call. The offsets differ between versions
and builds of Python, so none is hard-coded: each is computed from sizes that Python reports and
then compared with the contents of known objects. If that fails, `UnknownLayoutError` is raised:
then Python reads the arguments, and calls code that has no entry.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any, NamedTuple

import numpy as np

C_CONTIGUOUS, ALIGNED, WRITEABLE = 0x1, 0x100, 0x400  # bits of NumPy's flags
_WORD = ctypes.sizeof(ctypes.c_void_p)


class UnknownLayoutError(Exception):
    """The layout of objects is not as expected; calls must go through Python."""


class ObjectLayout(NamedTuple):
    """Offsets in bytes from the beginning of an object."""

    kind: int  # of any object: its type
    holders: int  # of any object: its reference count
    float64: int  # of a float or a np.float64: its value
    float32: int  # of a np.float32: its value
    length: int  # of a tuple or a list, how many items it has
    items: int  # of a tuple: its first item
    table: int  # of a list, where its items are
    data: int  # of an array: this and the following
    nd: int
    shape: int
    dtype: int
    flags: int


@cache
def layout() -> ObjectLayout:
    """Return the offsets in this Python with this NumPy.

    Examples
    --------
    >>> known = layout()
    >>> ctypes.c_double.from_address(id(2.5) + known.float64).value
    2.5
    """
    head = object.__basicsize__
    fields = _Array
    found = ObjectLayout(
        kind=_find_type(head),
        holders=_find_count(head),
        float64=head,
        float32=head,
        length=head,
        items=tuple.__basicsize__,
        table=head + _WORD,
        data=head + fields.data.offset,
        nd=head + fields.nd.offset,
        shape=head + fields.shape.offset,
        dtype=head + fields.dtype.offset,
        flags=head + fields.flags.offset,
    )
    if not _holds(found):
        raise UnknownLayoutError("this Python or this NumPy keeps its objects in an unknown way")
    return found


def is_known() -> bool:
    """Tell whether compiled code can read Python's objects here.

    It cannot in free-threaded Python, where each thread counts its own references.

    Examples
    --------
    >>> is_known() in (True, False)
    True
    """
    try:
        layout()
    except UnknownLayoutError:
        return False
    return True


class _Array(ctypes.Structure):
    """The fields after the head of an array: PyArrayObject_fields of NumPy's C API."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("nd", ctypes.c_int),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("base", ctypes.c_void_p),
        ("dtype", ctypes.c_void_p),
        ("flags", ctypes.c_int),
    )


def _word(of: Any, at: int) -> int:
    return ctypes.c_size_t.from_address(id(of) + at).value


def _find_type(head: int) -> int:
    """Return the offset of the pointer to the type, which known objects of four types show."""
    known = (2.5, (1, 2), np.zeros(1), "text")
    places = [at for at in range(0, head, _WORD) if all(_word(x, at) == id(type(x)) for x in known)]
    if len(places) != 1:
        raise UnknownLayoutError("this Python keeps the type of an object in an unknown place")
    return places[0]


def _find_count(head: int) -> int:
    """Return the offset of the reference count, which grows as references are added."""
    seen: Any = [float(2.5 * len("ab"))]
    before = [_word(seen[0], at) for at in range(0, head, _WORD)]
    seen.extend(seen * 3)
    after = [_word(seen[0], at) for at in range(0, head, _WORD)]
    places = [i for i, (old, new) in enumerate(zip(before, after, strict=True)) if new == old + 3]
    if len(places) != 1:
        raise UnknownLayoutError("this Python counts the references to an object in an unknown way")
    return places[0] * _WORD


@cache
def reusable() -> bool:
    """Tell whether a result that nothing refers to any more may be reused.

    It may if one thread runs at a time, and a tuple is only its size and its items: from Python
    3.14 on it also stores its hash.

    Examples
    --------
    >>> reusable() in (True, False)
    True
    """
    locked: bool = getattr(sys, "_is_gil_enabled", lambda: True)()
    return locked and tuple.__basicsize__ == object.__basicsize__ + _WORD


def _holds(found: ObjectLayout) -> bool:
    pair = ("one", 2.5)
    return (
        all(_number(ctypes.c_double, x, found.float64) == x for x in (2.5, -1e300))
        and all(_number(ctypes.c_double, np.float64(x), found.float64) == x for x in (2.5, -1e300))
        and all(_number(ctypes.c_float, np.float32(x), found.float32) == x for x in (2.5, -7.0))
        and _word(pair, found.length) == len(pair)
        and [_word(pair, found.items + i * _WORD) for i in (0, 1)] == [id(x) for x in pair]
        and _list_holds(found, [*pair])
        and all(_array_holds(found, array) for array in _known_arrays())
    )


def _list_holds(found: ObjectLayout, known: list[Any]) -> bool:
    begin = _word(known, found.table)
    items = [ctypes.c_size_t.from_address(begin + i * _WORD).value for i in range(len(known))]
    return _word(known, found.length) == len(known) and items == [id(x) for x in known]


def _number(kind: Any, of: Any, at: int) -> Any:
    return kind.from_address(id(of) + at).value


def _known_arrays() -> list[Any]:
    whole = np.zeros((3, 5, 7))
    return [whole, whole[::2, 1:, ::3], np.zeros((4, 6), np.float32), np.array(1.5)]


def _array_holds(found: ObjectLayout, array: Any) -> bool:
    at = _word(array, found.shape)
    shape = tuple(ctypes.c_ssize_t.from_address(at + i * _WORD).value for i in range(array.ndim))
    return (
        _word(array, found.data) == array.ctypes.data
        and _number(ctypes.c_int, array, found.nd) == array.ndim
        and shape == array.shape
        and _word(array, found.dtype) == id(array.dtype)
        and _number(ctypes.c_int, array, found.flags) == array.flags.num
    )
