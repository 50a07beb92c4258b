"""SciPy under another name, for code written for HIPS autograd: change the import line.

`simpleautodiff.scipy.special`, `.linalg` and `.stats` are SciPy's own modules, with functions that
take nodes and plain numbers alike. Names imported from here answer for nodes whenever they were
imported; `import scipy.linalg` and `scipy.linalg.expm(...)` do the same.
"""
