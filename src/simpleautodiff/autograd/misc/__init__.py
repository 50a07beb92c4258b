"""HIPS autograd's `misc`: structures as vectors, and simple optimizers."""

from .flatten import flatten

__all__ = ["flatten"]
