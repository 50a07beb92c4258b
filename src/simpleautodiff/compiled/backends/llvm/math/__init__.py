"""Mathematical functions on lanes of floats, as LLVM functions to be inlined into kernels.

Every function consists of exact splits of its argument, fused multiply-adds and selects, for any
number of lanes, for float64 and float32; the constants are made by tools/fit_vectormath.py.
"""

from simpleautodiff.compiled.backends.llvm.math.library import (
    NAMES,
    OF_TWO,
    Text,
    functions,
    symbol,
)

__all__ = ["NAMES", "OF_TWO", "Text", "functions", "symbol"]
