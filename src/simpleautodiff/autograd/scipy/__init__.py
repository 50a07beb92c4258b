"""SciPy under another name, for code written for HIPS autograd: change the import line.

`simpleautodiff.scipy.special`, `.linalg`, `.stats`, `.fft`, `.signal`, `.integrate`, `.ndimage`,
`.interpolate`, `.sparse` and `.spatial.distance` are SciPy's own modules, with functions that take
nodes and plain numbers alike. Names imported from here answer for nodes, whenever they are
imported; `import scipy.linalg` and `scipy.linalg.expm(...)` do the same.

Examples
--------
>>> import numpy as np
>>> import simpleautodiff as ad
>>> from simpleautodiff.scipy.linalg import expm
>>> rotation = lambda t: expm(t * np.array([[0.0, -1.0], [1.0, 0.0]]))
>>> ad.jacobian(rotation)(0.0).round(12)
array([[ 0., -1.],
       [ 1.,  0.]])
>>> from simpleautodiff.scipy.stats import norm
>>> ad.grad(norm.logpdf)(2.0)
-2.0
"""
