"""NumPy under another name, for code written for HIPS autograd: change the import line.

Plain `import numpy as np` does the same here: NumPy's own functions take nodes. Only
np.array([a, b]) and np.full(n, a) of nodes need this module; np.stack([a, b]) does not.
"""

import sys

from numpy import *  # noqa: F403
from numpy import fft, linalg, random

from simpleautodiff.arrays.numpy import selection

for _module in (fft, linalg, random):  # import simpleautodiff.numpy.random as npr
    sys.modules[f"{__name__}.{_module.__name__.rpartition('.')[2]}"] = _module

array = selection.new_array
full = selection.new_full  # type: ignore[assignment]
__all__ = ["array", "fft", "full", "linalg", "random"]
