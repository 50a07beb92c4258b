"""NumPy under another name, for code written for HIPS autograd: change the import line.

Plain `import numpy as np` does the same here: NumPy's own functions take nodes. Those of this
module also take lists of nodes at once, and it has what HIPS autograd adds to NumPy.
"""

import numpy as _numpy
from numpy import *  # noqa: F403

import simpleautodiff.autograd.numpy.fft as fft  # type: ignore[no-redef]
import simpleautodiff.autograd.numpy.linalg as linalg  # type: ignore[no-redef]
import simpleautodiff.autograd.numpy.random as random  # type: ignore[no-redef]
from simpleautodiff.arrays.numpy import creation as _creation
from simpleautodiff.autograd.numpy import additions as _additions
from simpleautodiff.autograd.numpy.joining import integers_of, join_lists

globals().update(join_lists(_numpy), **integers_of(_numpy))
make_diagonal, where = _additions.make_diagonal, _additions.where
array = _creation.new_array
full = _creation.new_full  # type: ignore[assignment]
numpy_version = _numpy.__version__
__all__ = ["array", "fft", "full", "linalg", "make_diagonal", "random", "where"]
__all__ += _numpy.__all__
