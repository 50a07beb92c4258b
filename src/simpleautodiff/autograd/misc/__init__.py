"""What HIPS autograd keeps under `misc`: structures as vectors, and simple optimizers."""

from simpleautodiff.autograd.misc.flatten import flatten

__all__ = ["flatten"]
