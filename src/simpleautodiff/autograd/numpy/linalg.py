"""`numpy.linalg` under another name; see `simpleautodiff.numpy`."""

import numpy as _numpy
from numpy.linalg import *  # noqa: F403

from simpleautodiff.autograd.numpy.joining import join_lists

T = _numpy.linalg.matrix_transpose
_dot = _numpy.matmul  # of stacks of matrices

globals().update(join_lists(_numpy.linalg))
