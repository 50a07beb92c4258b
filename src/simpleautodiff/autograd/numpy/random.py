"""`numpy.random` under another name; see `simpleautodiff.numpy`."""

from numpy.random import *  # noqa: F403
