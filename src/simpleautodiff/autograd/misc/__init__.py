"""HIPS autograd's `misc`: structures as vectors, fixed points, and simple optimizers."""

from .flatten import flatten
from .tracers import const_graph

__all__ = ["const_graph", "flatten"]
