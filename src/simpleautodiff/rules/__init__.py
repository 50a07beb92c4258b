"""The table of primitives: the only place where derivatives are written down.

A row's `partials` are written with recorded operations (the wrapping functions and operators), so
every derivative can be differentiated again. Constants in rows are whole numbers: those are exact
in every kind of number, and keep a float32 a float32.
"""

from simpleautodiff.rules.array import (
    convolution as convolve,
    decompositions as factors,
    dtypes as kinds,
    fourier,
    indexing,
    linear_systems as linalg,
    matrix_functions as matrices,
    products as contract,
    shapes,
    sparse_products as sparse,
)
from simpleautodiff.rules.row import TABLE
from simpleautodiff.rules.scalar import (
    arithmetic,
    bessel,
    complex_parts as complexes,
    exponential as elementary,
    information,
    piecewise,
    probability,
    special,
    trigonometric,
)

__all__ = [
    "TABLE",
    "arithmetic",
    "bessel",
    "complexes",
    "contract",
    "convolve",
    "elementary",
    "factors",
    "fourier",
    "indexing",
    "information",
    "kinds",
    "linalg",
    "matrices",
    "piecewise",
    "probability",
    "shapes",
    "sparse",
    "special",
    "trigonometric",
]
