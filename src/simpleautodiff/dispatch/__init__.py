"""NumPy's functions, methods and attributes on nodes: rows, or short programs made of rows.

`np.var(x)` of a node runs the program written here with the rows' operations, so its derivatives of
every order follow from theirs. What has a plain answer (`np.argmax`, `np.shape`, comparisons) gets
it from the plain array.
"""

from simpleautodiff.dispatch import writing  # isort: skip  (first: methods need its copy)
from simpleautodiff.dispatch import (
    algebra,
    calculus,
    choosing,
    factors,
    fourier,
    libraries,
    methods,
    nans,
    padding,
    polynomials,
    products,
    quantiles,
    scipy_distance,
    scipy_factors,
    scipy_fft,
    scipy_integrate,
    scipy_interpolate,
    scipy_linalg,
    scipy_ndimage,
    scipy_signal,
    scipy_sparse,
    scipy_stats,
    shaping,
    special_functions,
    statistics,
    sums,
    ufuncs,
    updating,
)
from simpleautodiff.dispatch.table import FUNCTIONS, PLAIN

__all__ = [
    "FUNCTIONS",
    "PLAIN",
    "algebra",
    "calculus",
    "choosing",
    "factors",
    "fourier",
    "libraries",
    "methods",
    "nans",
    "padding",
    "polynomials",
    "products",
    "quantiles",
    "scipy_distance",
    "scipy_factors",
    "scipy_fft",
    "scipy_integrate",
    "scipy_interpolate",
    "scipy_linalg",
    "scipy_ndimage",
    "scipy_signal",
    "scipy_sparse",
    "scipy_stats",
    "shaping",
    "special_functions",
    "statistics",
    "sums",
    "ufuncs",
    "updating",
    "writing",
]
