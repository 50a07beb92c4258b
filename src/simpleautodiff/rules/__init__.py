"""The table of primitives: the only place where derivatives are written down.

A row's `partials` are written with recorded operations (the wrapping functions and operators), so
every derivative can be differentiated again. Constants in rows are whole numbers: those are exact
in every kind of number, and keep a float32 a float32.
"""

from simpleautodiff.rules import (
    arithmetic,
    bessel,
    complexes,
    contract,
    convolve,
    elementary,
    factors,
    fourier,
    indexing,
    information,
    kinds,
    linalg,
    matrices,
    piecewise,
    probability,
    shapes,
    sparse,
    special,
    trigonometric,
)
from simpleautodiff.rules.row import TABLE

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
