"""Solutions of differential equations under the name that users of HIPS autograd know."""

from simpleautodiff.plug import odeint

__all__ = ["odeint"]
