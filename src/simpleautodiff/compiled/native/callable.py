"""A callable object whose machine code can be changed while it is used.

Python calls an object through a pointer in it, if its type says so (the vectorcall protocol, PEP
590). That pointer is the slot. If it is NULL, Python calls the method `__call__`, which is the slow
path; if it is an entry of compiled code, Python calls that directly. Changing the code is the store
of one word.

Measured with Python 3.11, a function of two floats that returns a tuple of two, each time a new one
(an empty lambda of two arguments takes 32 ns): such an object 50 ns; a bare built-in function,
which can have no attributes and no methods, 45; functools.partial of it 59; a subclass of partial
79; a class with `__call__ = built-in` 77. With results that are filled again (see `entry`) it takes
28. The type is made by PyType_FromSpec, which is public and stable from Python 3.9 on; it has no C
function of its own: all but the pointer it inherits from a class in Python.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable
from itertools import pairwise
from typing import Any, TypeVar

from simpleautodiff.compiled.native.compile import Code
from simpleautodiff.compiled.native.object_offsets import reusable

_HEAP_TYPE_WITH_VECTORCALL = 1 << 18 | 1 << 11  # Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL
_TP_MEMBERS = 72
_SSIZE, _READONLY = 19, 1
_WORD = ctypes.sizeof(ctypes.c_void_p)

_changing = threading.Lock()


class _Member(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("type", ctypes.c_int),
        ("offset", ctypes.c_ssize_t),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class _Inherited(ctypes.Structure):
    _fields_ = (("slot", ctypes.c_int), ("pointer", ctypes.c_void_p))


class _Spec(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("size", ctypes.c_int),
        ("item_size", ctypes.c_int),
        ("flags", ctypes.c_uint),
        ("slots", ctypes.POINTER(_Inherited)),
    )


class CallSlot:
    """A callable that runs compiled code as soon as there is some.

    A class that is called this way inherits from this one and is decorated with `quick`. `slow`
    must not refer to the object itself, or only weakly: Python's cyclic collector does not see
    code, so it should be freed with the last reference to the object.

    Parameters
    ----------
    slow
        Called with the same arguments whenever the compiled code does not fit them.
    """

    _place = 0  # offset of the pointer in the object; 0 if this type has none

    def __init__(self, slow: Callable[..., Any]) -> None:
        self._slow = slow
        self._codes: set[Code] = set()
        self._kept: dict[tuple[Code, str], list[Any]] = {}  # results of each entry, for reuse

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Take the slow path."""
        return self._slow(*args, **kwargs)

    def point_to(self, *entries: tuple[Code, str]) -> None:
        """Try these entries in turn from now on, then the slow path; without any, only that.

        A running call in another thread ends with the code it began with: code that was ever
        pointed to lives as long as this object. An entry belongs to one object.
        """
        if not self._place:
            return
        names = [(code.address(name), _next(code, name)) for code, name in entries]
        self._codes.update(code for code, _ in entries)
        with _changing:
            for code, name in entries:
                _set(code.address(f"{name}.slow"), id(self._slow))
                if reusable():
                    kept = self._kept.setdefault((code, name), [None, None])
                    _set(code.address(f"{name}.kept"), id(kept))
            for _, onward in names:  # unlink all entries first, so that no cycle can arise
                _set(onward, _vectorcall())
            for (_, onward), (entry, _) in pairwise(names):
                _set(onward, entry)
            _set(id(self) + self._place, names[0][0] if names else 0)


def _next(code: Code, name: str) -> int:
    return code.address(f"{name}.next")


def _set(address: int, word: int) -> None:
    ctypes.c_size_t.from_address(address).value = word


def _vectorcall() -> int:
    return ctypes.cast(ctypes.pythonapi.PyObject_Vectorcall, ctypes.c_void_p).value or 0


Kind = TypeVar("Kind", bound=type[CallSlot])

_kept: list[Any] = []  # type specifications, which Python may read again


def quick(kind: Kind) -> Kind:
    """Give a class of callables the pointer through which Python calls them directly.

    Examples
    --------
    >>> @quick
    ... class Sum(CallSlot):
    ...     "Sums."
    >>> total = Sum(lambda *numbers: sum(numbers))
    >>> total(1, 2, 3)
    6
    """
    if sys.implementation.name != "cpython":
        return kind
    place = kind.__basicsize__
    member = (_Member * 2)(_Member(b"__vectorcalloffset__", _SSIZE, place, _READONLY, None))
    slots = (_Inherited * 2)(_Inherited(_TP_MEMBERS, ctypes.cast(member, ctypes.c_void_p)))
    name = f"{kind.__module__}.{kind.__qualname__}".encode()
    spec = _Spec(name, place + _WORD, 0, _HEAP_TYPE_WITH_VECTORCALL, slots)
    _kept.append((member, slots, name, spec))
    make = ctypes.pythonapi.PyType_FromSpecWithBases
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object]
    made: Any = make(ctypes.addressof(spec), (kind,))
    made._place, made.__doc__, made.__qualname__ = place, kind.__doc__, kind.__qualname__
    made.__module__ = kind.__module__
    return made  # type: ignore[no-any-return]
