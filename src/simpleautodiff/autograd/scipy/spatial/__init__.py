"""Distances of SciPy, answering for nodes: see `distance`."""
