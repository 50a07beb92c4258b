"""NumPy's and SciPy's functions, methods and attributes on nodes.

`np.var(x)` of a node runs an implementation that calls primitives only, so its derivatives of every
order follow from theirs. Functions without a derivative (`np.argmax`, `np.shape`, comparisons) are
evaluated on the plain array.
"""

from simpleautodiff.arrays import (
    argument_checks as argument_checks,
    install as install,
    numpy as numpy,
    reductions as reductions,
    scipy as scipy,
    shaping as shaping,
    ufuncs as ufuncs,
)
from simpleautodiff.arrays.registry import (
    FUNCTIONS as FUNCTIONS,
    PLAIN_FUNCTIONS as PLAIN_FUNCTIONS,
)
