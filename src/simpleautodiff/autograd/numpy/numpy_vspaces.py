"""HIPS autograd's vector spaces of arrays."""

from simpleautodiff.autograd.vspaces import ArrayVSpace

__all__ = ["ArrayVSpace", "ComplexArrayVSpace"]
ComplexArrayVSpace = ArrayVSpace
