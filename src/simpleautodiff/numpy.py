"""NumPy under another name, for code written for HIPS autograd: change the import line.

Plain `import numpy as np` does the same here: NumPy's own functions answer for nodes.
"""

from numpy import *  # noqa: F403
from numpy import fft, linalg, random

__all__ = ["fft", "linalg", "random"]
