"""Mathematics on lanes of floats, written as LLVM functions to be put inline into kernels.

Every function is made of exact splits of its argument, fused multiply-adds and selects, at any
number of lanes, for float64 and float32 alike; the constants are made by tools/fit_vectormath.py.
"""

from simpleautodiff.compiled.backends.llvm.math.library import (
    NAMES,
    OF_TWO,
    Text,
    functions,
    symbol,
)

__all__ = ["NAMES", "OF_TWO", "Text", "functions", "symbol"]
