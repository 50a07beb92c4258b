"""Implementations of NumPy's functions for nodes."""

from simpleautodiff.arrays.numpy import (
    calculus as calculus,
    contractions as contractions,
    creation as creation,
    emath as emath,
    factorizations as factorizations,
    histograms as histograms,
    nans as nans,
    numpy_fft as numpy_fft,
    numpy_linalg as numpy_linalg,
    padding as padding,
    polynomial_series as polynomial_series,
    polynomials as polynomials,
    r_c as r_c,
    selection as selection,
    sorting as sorting,
    statistics as statistics,
    vectorize as vectorize,
)
