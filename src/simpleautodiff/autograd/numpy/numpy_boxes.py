"""HIPS autograd's `ArrayBox`: the class of arrays inside a derivative; here any node."""

from simpleautodiff.core.level import Traced as ArrayBox

__all__ = ["ArrayBox"]
