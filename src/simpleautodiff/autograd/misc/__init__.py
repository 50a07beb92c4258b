"""HIPS autograd's `misc`: structures as vectors, and simple optimizers."""

from simpleautodiff.autograd.misc.flatten import flatten

__all__ = ["flatten"]
