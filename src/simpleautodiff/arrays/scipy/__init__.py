"""Implementations of SciPy's functions for nodes."""

from simpleautodiff.arrays.scipy import (
    scipy_b_splines as scipy_b_splines,
    scipy_coordinates as scipy_coordinates,
    scipy_distance as scipy_distance,
    scipy_ends as scipy_ends,
    scipy_factorizations as scipy_factorizations,
    scipy_fft as scipy_fft,
    scipy_half_lines as scipy_half_lines,
    scipy_integrate as scipy_integrate,
    scipy_interpolate as scipy_interpolate,
    scipy_linalg as scipy_linalg,
    scipy_multivariate as scipy_multivariate,
    scipy_ndimage as scipy_ndimage,
    scipy_pearson3 as scipy_pearson3,
    scipy_quantiles as scipy_quantiles,
    scipy_signal as scipy_signal,
    scipy_sparse as scipy_sparse,
    scipy_special as scipy_special,
    scipy_special_shapes as scipy_special_shapes,
    scipy_stats as scipy_stats,
    solver_hints as solver_hints,
)
