"""Record a function as one scalar program, for other uses than running it here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from simpleautodiff.compiled.record_function import Options, run_on_symbols
from simpleautodiff.compiled.recording.estimates import Estimates
from simpleautodiff.compiled.recording.trace_program import Ref
from simpleautodiff.compiled.scalar.kernel import Kernel
from simpleautodiff.compiled.scalar.unroll_arrays import unroll
from simpleautodiff.compiled.signature import signature


def record_kernel(f: Callable[..., list[Any]], args: Sequence[Any]) -> tuple[Kernel, list[int]]:
    """Return a function of numbers and arrays as a scalar program, and its results.

    The function returns a list of numbers and arrays. Those that do not depend on its arguments
    are no results of the program. A program that is too large to be unrolled, or
    is not made of scalar operations, is refused with a `TraceError`.

    Examples
    --------
    >>> import numpy as np
    >>> kernel, given = record_kernel(lambda x: [2.0, np.sum(x * x)], [np.array([1.0, 2.0])])
    >>> print(kernel.program, given)
    v0 = input 0
    v1 = input 1
    v2 = mul v0 v0
    v3 = mul v1 v1
    v4 = add v2 v3
    return v4 [1]
    """
    options, described = Options(precise=True), signature((tuple(args), {}))
    recorded, *_ = run_on_symbols(f, described, options, Estimates())
    given = [k for k, output in enumerate(recorded.outputs) if type(output) is Ref]
    return unroll(recorded, precise=True), given
