"""HIPS autograd's `ArrayBox`: what stands for an array inside a derivative, here any node."""

from simpleautodiff.core.level import Traced as ArrayBox

__all__ = ["ArrayBox"]
