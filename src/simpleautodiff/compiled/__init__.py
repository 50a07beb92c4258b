"""Compiled: a function and its derivatives as machine code, from what the engine records."""

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
    program that was recorded, on better and better machines: the tape machine, then code that LLVM
    made quickly, then code that it made well. Derivatives are recorded like everything else:
    `jit(grad(f))`, `jit(vmap(jacobian(f)))`.

    Parameters
    ----------
    f
        A function of numbers, arrays and structures of them, or a derivative of one. What it
        reads besides its arguments is taken as it is when it is recorded.
    precise
        Round every operation and call the C library, as Python does, instead of our own functions
        on vectors, which differ from it in the last bits.
    tier
        Use one machine only, and wait for it: "numpy", "tape", "cheap" or "optimised".
    threads
        How many threads share the rows of `vmap`.
    max_paths
        How many ways through the code are kept, where `if` and `while` decide by numbers.

    Examples
    --------
    >>> import simpleautodiff as ad
    >>> slope = ad.jit(ad.grad(lambda x1, x2: ad.log(x1) + x1 * x2 - ad.sin(x2)))
    >>> [slope(2.0, 5.0) for _ in range(3)]
    [5.5, 5.5, 5.5]
    """
    from simpleautodiff.compiled.jitted import make_jitted

    return make_jitted(f, precise, tier, threads, max_paths)
