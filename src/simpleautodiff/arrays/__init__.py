"""NumPy's and SciPy's functions, methods and attributes on nodes: rows, or programs made of rows.

`np.var(x)` of a node runs the program written here with the rows' operations, so its derivatives of
every order follow from theirs. What has a plain answer (`np.argmax`, `np.shape`, comparisons) gets
it from the plain array.
"""

from simpleautodiff.arrays import (
    argument_checks as argument_checks,
    install as install,
    numpy as numpy,
    scipy as scipy,
    ufuncs as ufuncs,
)
from simpleautodiff.arrays.registry import FUNCTIONS as FUNCTIONS, PLAIN as PLAIN
