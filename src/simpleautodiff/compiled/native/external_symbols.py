"""Find the addresses that compiled code calls: Python, NumPy, C's math, BLAS and LAPACK.

Machine code is kept on disk and used by other processes, so it refers to functions by name, and the
addresses are filled in when it is loaded. BLAS and LAPACK are SciPy's, which is loaded only for
code that declares one of their functions; they take 32-bit integers, all arguments by reference.
"""

from __future__ import annotations

import ctypes
import importlib
import re
import sys
from collections.abc import Iterable
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from typing import Any

import numpy as np

from simpleautodiff.values.functions import optional

FLOAT64_SYMBOL, FLOAT32_SYMBOL = "numpy.float64", "numpy.float32"  # the dtypes, as symbols
OUT = "python.out"  # the interned string, as Python passes the keyword
_OBJECTS = {
    OUT: sys.intern("out"),
    "PyFloat_Type": float,
    "PyArray_Type": np.ndarray,
    "numpy.type.float64": np.float64,
    "numpy.type.float32": np.float32,
    FLOAT64_SYMBOL: np.dtype(np.float64),
    FLOAT32_SYMBOL: np.dtype(np.float32),
    "numpy.int64": np.dtype(np.int64),
    "numpy.bool": np.dtype(np.bool_),
}
_NUMPY = {"PyArray_Scalar": 60, "PyArray_New": 93}  # indices in NumPy's C API, which never change
_MATHEMATICS = {"linux": "libm.so.6", "darwin": "libSystem.B.dylib", "win32": "ucrtbase"}
_OTHERWISE_NAMED = {"maxnum": "fmax", "minnum": "fmin"}  # LLVM's name -> the C library's

_DECLARED = re.compile(r"^declare\b[^@\n]*@([\w.]+)\(|^@([\w.]+) = external\b", re.MULTILINE)
_INTRINSIC = re.compile(r"llvm\.(\w+)\.(?:v\d+)?(f64|f32)(?:\..*)?")


def find_declared(ir: str) -> list[str]:
    r"""Return the names that a module declares and does not define.

    LLVM's intrinsics may become calls of the C library; then that name is returned.

    Examples
    --------
    >>> text = "declare double @llvm.sin.v8f64(<8 x double>)\ndeclare double @lgamma(double)"
    >>> find_declared(text)
    ['lgamma', 'sin']
    """
    names = {function or variable for function, variable in _DECLARED.findall(ir)}
    intrinsics = {name for name in names if name.startswith("llvm.")}
    return sorted(names - intrinsics | set(filter(None, map(_find_called, intrinsics))))


def _find_called(intrinsic: str) -> str:
    found = _INTRINSIC.fullmatch(intrinsic)
    if not found:
        return ""
    name = _OTHERWISE_NAMED.get(found[1], found[1]) + ("f" if found[2] == "f32" else "")
    return name if hasattr(_load_mathematics(), name) else ""


def addresses(names: Iterable[str]) -> dict[str, int]:
    """Return the address of each name in this process.

    Examples
    --------
    >>> addresses(["PyFloat_Type"]) == {"PyFloat_Type": id(float)}
    True
    """
    return {name: _find_address(name) for name in names}


@cache
def _find_address(name: str) -> int:
    if name in _OBJECTS:
        return id(_OBJECTS[name])
    if name in _NUMPY:
        return int(_numpy_table()[_NUMPY[name]])
    for library in (ctypes.pythonapi, _load_mathematics()):
        if hasattr(library, name):
            return ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0
    return _linear_algebra(name)


@cache
def _load_mathematics() -> ctypes.CDLL:
    try:
        return ctypes.CDLL(_MATHEMATICS.get(sys.platform, ""))
    except OSError:
        return ctypes.CDLL(None)


@cache
def _numpy_table() -> Any:
    core = importlib.import_module("numpy._core._multiarray_umath")
    return ctypes.cast(_read_pointer(core._ARRAY_API), ctypes.POINTER(ctypes.c_size_t))


def _linear_algebra(name: str) -> int:
    optional("scipy", f"compiled code that calls {name}")
    for module in ("scipy.linalg.cython_blas", "scipy.linalg.cython_lapack"):
        functions = _load_alone(module).__pyx_capi__
        if name in functions:
            return _read_pointer(functions[name])
    raise LookupError(f"compiled code calls {name}, which no library has that is known here")


@cache
def _load_alone(name: str) -> Any:
    """Load one module of SciPy, without the rest of its package, which takes ten times as long.

    Whoever imports the package later finds the module as part of it.
    """
    root, package, _ = name.split(".")
    if name in sys.modules:
        return sys.modules[name]
    folders = [f"{folder}/{package}" for folder in sys.modules[root].__path__]
    spec = PathFinder.find_spec(name, folders)
    if spec is None or spec.loader is None:
        return importlib.import_module(name)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    if f"{root}.{package}" not in sys.modules:
        sys.modules.pop(name, None)
    return module


def _read_pointer(capsule: Any) -> int:
    name, pointer = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name.restype, name.argtypes = ctypes.c_void_p, [ctypes.py_object]
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_void_p]
    return int(pointer(capsule, name(capsule)))
