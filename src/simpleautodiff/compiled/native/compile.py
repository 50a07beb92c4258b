"""Compile LLVM text to machine code in this process, or load an object that was kept on disk.

Each code has an LLVM engine of its own (0.6 ms), so that all its memory is freed with it; one
engine for all would keep 11 kB of every code that ever was. Levels: 0 translates quickly, 1 inlines
and removes common subexpressions, 2 also selects and schedules instructions with more care. The
program is already optimised: LLVM's own pipelines take longer and gain nothing.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import warnings
import weakref
from collections.abc import Callable, Sequence
from functools import cache, cached_property, lru_cache
from itertools import count
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from simpleautodiff.compiled.native import disk_cache as disk
from simpleautodiff.compiled.native.background import calling_llvm
from simpleautodiff.compiled.native.external_symbols import addresses, find_declared

RENEWED = 200  # runs: a pass builder gets slower with each (0.13 us), and leaks 1.5 kB
MISSING_COMPILER = (
    "llvmlite is not installed, so functions are not compiled; they run more slowly, through "
    "NumPy. To compile them: pip install simpleautodiff[jit]"
)

_runs = count()


def available() -> bool:
    """Tell whether functions can be compiled here; if not, say once how to change that.

    Examples
    --------
    >>> available()
    True
    """
    if _has_llvm():
        return True
    _say_missing()
    return False


@cache
def _has_llvm() -> bool:
    try:
        import llvmlite.binding  # noqa: F401
    except (ImportError, OSError):
        return False
    return sys.implementation.name == "cpython"


@cache
def _say_missing() -> None:
    warnings.warn(MISSING_COMPILER, RuntimeWarning, stacklevel=3)


class Code:
    """Machine code in this process, as long as this object lives.

    Attributes
    ----------
    seconds : float
        How long compiling or loading took.
    from_cache : bool
        Whether it was loaded from disk.
    """

    def __init__(self, text: str | Callable[[], str], level: int, names: Sequence[str]) -> None:
        self._text, self._level, self._names = text, level, names
        self._loaded: Any = None
        self.seconds, self.from_cache = 0.0, False

    @cached_property
    def ir(self) -> str:
        """The LLVM text that this was compiled from."""
        return self._text if isinstance(self._text, str) else self._text()

    def address(self, name: str) -> int:
        """Return the address of a function or a variable."""
        return int(self._loaded[name])

    def asm(self) -> str:
        """Return the instructions, in the assembly language of this machine."""
        ir = self.ir
        with calling_llvm():
            return str(_make_machine(self._level).emit_assembly(_make_module(ir, self._level)))

    def _make(self, key: str | None) -> None:
        start = perf_counter()
        is_kept = key is not None and disk.folder() is not None
        place = disk.digest(key, *_identify(), self._level, *self._names) if is_kept else None
        kept = disk.load(place) if place else None
        self.from_cache = kept is not None
        content = kept if kept is not None else _compile_object(self.ir, self._level)
        if place and kept is None:
            disk.store(place, content)
        self._loaded = _load_object(content, self._names)
        self.seconds = perf_counter() - start


def place_addresses(code: Code, name: str, addresses: Sequence[int], held: Any) -> None:
    """Fill a table of a code with addresses of objects that must live as long as the code."""
    table = (ctypes.c_void_p * len(addresses)).from_address(code.address(name))
    for k, address in enumerate(addresses):
        table[k] = address
    weakref.finalize(code, _let_go, held).atexit = False


def _let_go(held: Any) -> None:
    """Do nothing: what was held until now may go."""


def build(
    ir: str | Callable[[], str], *, level: int, names: Sequence[str], key: str | None = None
) -> Code:
    r"""Compile an LLVM module.

    Parameters
    ----------
    ir
        The text, or a function that writes it, which is not called if the code is found on disk.
    level : int
        0, 1 or 2: how much time to spend for faster code.
    names
        The functions and variables that `address` may be asked for.
    key : str, optional
        Everything that the text depends on (the program and the version of its writer, or the text
        itself), under which the code is kept on disk. Without it, it is not kept.

    Examples
    --------
    >>> import ctypes
    >>> text = "define double @twice(double %x) {\n %y = fadd double %x, %x\n ret double %y\n}"
    >>> code = build(text, level=1, names=["twice"])
    >>> ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(code.address("twice"))(4.0)
    8.0
    """
    code = Code(ir, level, names)
    code._make(key)
    return code


@cache
def _load_llvm() -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


@cache
def host() -> tuple[str, str]:
    """Return the name of this processor and its features, as LLVM names them."""
    llvm = _load_llvm()
    return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


@cache
def _identify_emitter() -> tuple[object, ...]:
    """Return a key for the version of the code that writes and compiles."""
    found = []
    for folder, _, names in os.walk(Path(__file__).parents[1]):
        for name in names:
            if name.endswith(".py"):
                status = os.stat(os.path.join(folder, name))
                found.append((name, status.st_size, status.st_mtime_ns))
    return tuple(sorted(found))


@cache
def _identify() -> tuple[object, ...]:
    """Return everything that an object depends on besides the program, also Python's own."""
    import llvmlite

    llvm = (_load_llvm().llvm_version_info, llvmlite.__version__, _load_llvm().get_process_triple())
    return *_identify_emitter(), sys.version, np.__version__, *llvm, *host()


@cache
def _make_machine(level: int) -> Any:
    cpu, features = host()
    target = _load_llvm().Target.from_triple(_load_llvm().get_process_triple())
    return target.create_target_machine(
        cpu=cpu, features=features, opt=level, reloc="pic", codemodel="default"
    )


def _make_module(ir: str, level: int) -> Any:
    """Parse the text and run the passes, in a context of its own, which is freed."""
    llvm = _load_llvm()
    machine = _make_machine(level)
    module = llvm.parse_assembly(ir, llvm.create_context())
    module.triple, module.data_layout = llvm.get_process_triple(), str(machine.target_data)
    module.verify()
    if level or "alwaysinline" in ir:
        passes, builder = _make_pipeline(level, next(_runs) // RENEWED)
        passes.run(module, builder)
    return module


@lru_cache(maxsize=3)
def _make_pipeline(level: int, generation: int) -> tuple[Any, Any]:
    llvm = _load_llvm()
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    if level:
        passes.add_sroa_pass()
        passes.add_new_gvn_pass()
    tuning = llvm.create_pipeline_tuning_options(level)
    return passes, llvm.create_pass_builder(_make_machine(level), tuning)


def _compile_object(ir: str, level: int) -> bytes:
    """Return the names of external symbols, on a line, and then the object."""
    with calling_llvm():
        image = _make_machine(level).emit_object(_make_module(ir, level))
    return json.dumps(find_declared(ir)).encode() + b"\n" + bytes(image)


def _load_object(content: bytes, names: Sequence[str]) -> Any:
    llvm = _load_llvm()
    needed, _, image = content.partition(b"\n")
    symbols = addresses(json.loads(needed))
    with calling_llvm():
        library = llvm.JITLibraryBuilder().add_object_img(image).add_current_process()
        for name, address in symbols.items():
            library.import_symbol(name, address)
        for name in names:
            library.export_symbol(name)
        # JITLink puts code and constants side by side. The older linker may put them more than
        # 2 GiB apart in a process with much memory, which ends it; for Windows there is no other.
        compiler = llvm.create_lljit_compiler(use_jit_link=sys.platform != "win32")
        return library.link(compiler, "code")  # keeps its engine alive
