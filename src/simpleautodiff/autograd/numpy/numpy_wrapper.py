"""HIPS autograd's `numpy_wrapper`: NumPy's functions, and `wrap_namespace` for other modules."""

from __future__ import annotations

from typing import Any

from simpleautodiff.autograd.numpy import *  # noqa: F403


def wrap_namespace(old: dict[str, Any], new: dict[str, Any]) -> None:
    """Copy the public names of one module into another; its functions take nodes anyway."""
    new.update({name: value for name, value in old.items() if not name.startswith("_")})
