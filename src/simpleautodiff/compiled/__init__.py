"""Compile a function and its derivatives to machine code, from what the engine records.

A call of a compiled function goes down this list, as far as it has to:

- `jit` makes a `Jitted`, which is what users call. It is a `CallSlot`: Python enters the compiled
  code through it, with nothing in between, once there is an *entry* for the arguments.
- Its `JitFunction` finds the *signature* of a call (structure, dtypes, shapes), and with it a
  `Specialization`: the *paths* through the code that such arguments have taken.
- A `Path` has a `RunnableProgram`, which runs on better and better *tiers*. Where a *guard* of it
  fails, the call takes another path: a *branch*.

What each kind of program is:

==================  ===============================================================================
RecordedProgram     what the function did, run on symbols: *lines*, each a primitive (or a function
                    of NumPy) on arrays, whose arguments are `Ref`s to earlier lines
ScalarProgram       *steps* on single numbers, each an operation of `scalar/operations.py`;
                    recorded programs on small arrays are unrolled into one
Kernel              a scalar program with its arguments and results: *leaves*, of one dtype each
BatchedKernel       a kernel that is run for every example of a batch (`vmap`)
SplitProgram        a scalar program in parts of limited length, as compilers need
LoopSchedule        a recorded program on large arrays, with how and when each line is computed
Task                one piece of the work of a schedule: a `Loop` (whose body is a scalar program),
                    a call of BLAS, LAPACK or NumPy, a check
BufferLayout        where in memory the results of a schedule are
RolledProgram       a long recorded program as calls of *bodies*: what repeats is one body
RolledLayout        the memory of a rolled program, and the *words* that encode its calls
Bytecode            a kernel in the form that the interpreter reads
Module              functions in LLVM's language, as a `Builder` writes them
Code                machine code in this process
Export              the paths of a function that are written as C or Python
==================  ===============================================================================

The folders, each of which knows only those before it:

==================  ===============================================================================
native/             machine code in this process: compiled, loaded, cached, called
recording/          a function becomes a recorded program
scalar/             scalar programs, and the one table of their operations
array/              recorded programs on large arrays: simplified, scheduled, fused into loops
loops/              loops that are recorded by one of their steps
rolled/             programs that repeat, and programs with loops, as calls of bodies
backends/           targets and languages for export, behind one interface
running/            programs that run, on one tier after the other
==================  ===============================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, overload

if TYPE_CHECKING:
    from simpleautodiff.compiled.jitted import Jitted

F = Callable[..., Any]


@overload
def jit(f: F, *, precise: bool = ..., tier: str | None = ..., threads: int = ...,
        max_paths: int = ...) -> Jitted: ...  # fmt: skip
@overload
def jit(*, precise: bool = ..., tier: str | None = ..., threads: int = ...,
        max_paths: int = ...) -> Callable[[F], Jitted]: ...  # fmt: skip
def jit(
    f: F | None = None,
    *,
    precise: bool = False,
    tier: str | None = None,
    threads: int = 1,
    max_paths: int = 64,
) -> Any:
    """Return a function that does what `f` does, and is compiled as it is called.

    The first call runs `f`; the second records what it does, and the calls that follow run the
    program that was recorded, at first on the interpreter, then as code that LLVM compiled. If
    `scan`, `fori_loop` or `while_loop` take more than 256 steps, the first call is recorded, and
    runs the program; so is that of a derivative of large arguments. Derivatives are recorded like
    everything else: `jit(grad(f))`, `jit(vmap(jacobian(f)))`.

    Parameters
    ----------
    f
        A function of numbers, arrays and structures of them, or a derivative of one. Anything
        else that it reads keeps the value that it has when it is recorded.
    precise
        Round every operation and call the C library, as Python does, instead of our own functions
        on vectors, which differ from it in the last bits.
    tier
        Use one tier only, and wait for it: "numpy", "tape", "cheap" or "optimised".
    threads
        How many threads share the rows of `vmap`, and loops over large arrays. They add up parts of
        a sum each, so the last bits of a sum depend on their number, unless `precise` is set.
    max_paths
        How many paths through the code are kept, where `if` and `while` depend on numbers.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> slope = ad.jit(ad.grad(lambda x1, x2: ad.log(x1) + x1 * x2 - ad.sin(x2)))
    >>> [slope(2.0, 5.0) for _ in range(3)]
    [5.5, 5.5, 5.5]
    """
    from simpleautodiff.compiled.jitted import make_jitted

    return make_jitted(f, precise, tier, threads, max_paths)
