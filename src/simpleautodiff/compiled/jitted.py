"""`jit`: a function, a gradient, a Jacobian as machine code."""

from __future__ import annotations

import functools
import sys
import weakref
from collections.abc import Callable
from typing import Any

from simpleautodiff.compiled.backends.export import Export, ExportedPath, argument_names, identifier
from simpleautodiff.compiled.call_form import find_form
from simpleautodiff.compiled.jit_function import JitFunction
from simpleautodiff.compiled.loops.expand import expand_loops
from simpleautodiff.compiled.native.background import wait
from simpleautodiff.compiled.native.callable import CallSlot, quick
from simpleautodiff.compiled.native.compile import MISSING_COMPILER, Code, available
from simpleautodiff.compiled.paths import Path
from simpleautodiff.compiled.record_function import Options
from simpleautodiff.compiled.recording.trace_program import Ref
from simpleautodiff.compiled.report import explanation
from simpleautodiff.compiled.running.batched_program import BatchedProgram
from simpleautodiff.compiled.running.runnable import TIERS, EnteredProgram, RunnableProgram
from simpleautodiff.compiled.scalar.kernel import BatchedKernel
from simpleautodiff.compiled.signature import CallSignature, given_names
from simpleautodiff.errors import ArgumentError
from simpleautodiff.transforms.arguments import check_function, name_of
from simpleautodiff.transforms.pickling import find_recipe, follow_recipe

F = Callable[..., Any]


@quick
class Jitted(CallSlot):
    """A function that is compiled as it is called; see `jit`."""

    def __init__(self, f: F, options: Options) -> None:
        self.function = JitFunction(f, options)
        super().__init__(self.function.call)
        self.__wrapped__ = f
        self.__name__ = self.__qualname__ = name_of(f)
        self.__module__ = getattr(f, "__module__", None) or __name__
        self.__doc__ = f.__doc__
        itself = weakref.ref(self)

        def on_path(path: Path, described: CallSignature, result: Any) -> None:
            jitted = itself()
            if jitted is not None and isinstance(path.program, EnteredProgram):
                path.program.on_entry = lambda: _point_to_code(itself)
                out = "out" not in jitted.function.parameters
                path.program.form = find_form(described, path, result, out)
                _point_to_code(itself)  # paths may have been replaced by one with loops

        self.function.on_path = on_path

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """Act as a method if the function is defined in a class."""
        return self if instance is None else functools.partial(self, instance)

    def __reduce__(self) -> Any:
        if getattr(sys.modules.get(self.__module__), self.__name__, None) is self:
            return self.__name__  # it was decorated, so pickle finds it by its name
        return _remake, (find_recipe(self.__wrapped__), self.function.options)

    def __repr__(self) -> str:
        return f"<jit of {self.__name__}>"

    def explain(self) -> str:
        """Say what was recorded, folded, guarded and compiled, and which tier runs it."""
        return explanation(self.function, self.__name__)

    def source(self) -> str:
        """Return the programs that run, one step a line."""
        return _join_paths(self.function, lambda path: path.program.source())

    def llvm(self) -> str:
        """Return the LLVM text; compile it if that has not happened yet."""
        return _join_paths(self.function, lambda path: _codes(path, lambda code: code.ir))

    def asm(self) -> str:
        """Return the machine code in assembly language."""
        return _join_paths(self.function, lambda path: _codes(path, lambda code: code.asm()))

    def wait(self) -> Jitted:
        """Wait until background compilation is finished."""
        wait()
        return self

    def to_c(self, name: str = "") -> str:
        """Return the program as a C file, for any C compiler.

        It contains all recorded paths through the code.

        Examples
        --------
        >>> import simpleautodiff as ad
        >>> @ad.jit
        ... def area(r):
        ...     return 3.14 * r * r
        >>> area(1.0), area(2.0)
        (3.14, 12.56)
        >>> text = area.to_c()
        >>> print(text[text.index("int area(const double *restrict"):].partition("#ifdef")[0])
        int area(const double *restrict r, double *restrict out0)
        {
            const double v2 = r[0] * 3.14;
            const double v3 = r[0] * v2;
            out0[0] = v3;
            return 0;
        }
        <BLANKLINE>
        <BLANKLINE>
        """
        return self._export("c", name)

    def to_python(self, name: str = "") -> str:
        r"""Return the program as a Python module that needs nothing but NumPy.

        It contains all recorded paths through the code. If a line is a function of
        `scipy.special`, it needs SciPy, too.

        Examples
        --------
        >>> import simpleautodiff as ad
        >>> area = ad.jit(lambda r: 3.14 * r * r)
        >>> area(1.0), area(2.0)
        (3.14, 12.56)
        >>> print(area.to_python("area").partition("def ")[2])
        area(r):
        ...
        """
        return self._export("python", name)

    def _export(self, language: str, name: str) -> str:
        """Return the program of the one signature in another language."""
        from simpleautodiff.compiled.backends.exporters import EXPORTERS

        return EXPORTERS[language](self._collect_paths(name))

    def _collect_paths(self, name: str) -> Export:
        """Return what can be exported: the paths of the one signature."""
        known = list(self.function.known.values())
        found = [one for one in known if one.root is not None]
        reasons = [one.reason for one in known if one.reason]
        if not found and reasons:
            raise ArgumentError(f"{self.__name__} has no program to export: {reasons[0]}")
        if len(found) != 1:
            raise ArgumentError(
                f"{self.__name__} has programs for {len(found)} signatures, and one can be "
                "exported: call the function, or a new jit of it, with the arguments that it "
                "shall take, twice"
            )
        paths = found[0].root.all() if found[0].root else []
        numbers = {id(path): number for number, path in enumerate(paths)}
        exported = [
            ExportedPath(
                expand_loops(path.recorded),
                path.results,
                {guard: numbers[id(other)] for guard, other in path.branches.items()},
            )
            for path in paths
        ]
        name = identifier(name or self.__name__)
        arguments = argument_names(given_names(self.__wrapped__, found[0].given), name)
        batched = _find_lone_batch(paths[0].program, len(arguments))
        return Export(name, arguments, exported, batched, self.function.options.precise)


def _find_lone_batch(program: RunnableProgram, inputs: int) -> BatchedKernel | None:
    """Return the only batched function of a program, if it has the same arguments and results."""
    if not isinstance(program, BatchedProgram):
        return None
    places = [int(arg) if type(arg) is Ref else -1 for arg in program.args]
    results = range(len(program.kernel.outputs))
    straight = places == [*range(inputs)] and list(program.which) == [*results]
    return program.batched if straight and not program.batched.size else None


def make_jitted(f: F | None, precise: bool, tier: str | None, threads: int, max_paths: int) -> Any:
    """Make what `jit` returns."""
    if tier is not None and tier not in TIERS:
        raise ArgumentError(f"tier is one of {', '.join(TIERS)}, or None; got {tier!r}")
    for name, number in (("threads", threads), ("max_paths", max_paths)):
        if not isinstance(number, int) or number < 1:
            raise ArgumentError(f"{name} is an integer, at least 1; got {number!r}")
    options = Options(precise, tier, threads, max_paths)
    if f is None:
        return lambda f: _make(f, options)
    return _make(f, options)


def _make(f: F, options: Options) -> Jitted:
    check_function(f)
    return Jitted(f, options)


def _remake(how: Any, options: Options) -> Jitted:
    return Jitted(follow_recipe(how), options)


def _point_to_code(itself: weakref.ref[Jitted]) -> None:
    """Make Python call the compiled code of all signatures and paths directly."""
    jitted = itself()
    if jitted is None:
        return
    programs = [path.program for found in list(jitted.function.known.values())
                for path in (found.first.all() if found.first else [])
                if path.unconfirmed is None]  # fmt: skip
    entries = [program.entry for program in programs if isinstance(program, EnteredProgram)]
    jitted.point_to(*[entry for entry in entries if entry is not None])


def _join_paths(function: JitFunction, text: Callable[[Path], str]) -> str:
    paths = [path for found in function.known.values() for path in found.paths()]
    if not paths:
        return "nothing was compiled yet: call the function twice"
    return "\n\n".join(text(path) for path in paths)


def _codes(path: Path, text: Callable[[Code], str]) -> str:
    if not available():
        return f"; {MISSING_COMPILER}"
    return "\n".join(text(code) for code in path.program.codes())
