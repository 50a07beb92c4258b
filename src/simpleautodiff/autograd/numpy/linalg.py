"""`numpy.linalg` under another name; see `simpleautodiff.numpy`."""

import numpy as _numpy
from numpy.linalg import *  # noqa: F403

from simpleautodiff.autograd.numpy.joining import join_lists

globals().update(join_lists(_numpy.linalg))
