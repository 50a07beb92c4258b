"""NumPy under another name, for code written for HIPS autograd: change the import line.

Plain `import numpy as np` does the same here: NumPy's own functions answer for nodes. Only
np.array([a, b]) of nodes needs this module, or np.stack([a, b]).
"""

from numpy import *  # noqa: F403
from numpy import fft, linalg, random

from simpleautodiff.dispatch.choosing import new_array as array  # type: ignore[no-redef]

__all__ = ["array", "fft", "linalg", "random"]
