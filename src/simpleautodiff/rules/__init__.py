"""The table of primitives: the only place where derivatives are written down.

A row's `partials` are written with recorded operations (the wrapping functions and operators), so
every derivative can be differentiated again. Constants in rows are integers, because integers are
exact in every number type and do not turn a float32 into a float64.
"""

from simpleautodiff.rules.array import (
    convolution,
    decompositions,
    dtypes,
    fourier,
    indexing,
    linear_systems,
    matrix_equations,
    matrix_functions,
    products,
    shapes,
    sparse_products,
)
from simpleautodiff.rules.row import TABLE
from simpleautodiff.rules.scalar import (
    arithmetic,
    bessel,
    complex_parts,
    exponential,
    incomplete,
    information,
    noncentral,
    piecewise,
    probability,
    special,
    trigonometric,
)

__all__ = [
    "TABLE",
    "arithmetic",
    "bessel",
    "complex_parts",
    "convolution",
    "decompositions",
    "dtypes",
    "exponential",
    "fourier",
    "incomplete",
    "indexing",
    "information",
    "linear_systems",
    "matrix_equations",
    "matrix_functions",
    "noncentral",
    "piecewise",
    "probability",
    "products",
    "shapes",
    "sparse_products",
    "special",
    "trigonometric",
]
