"""HIPS autograd's `numpy_wrapper`: the functions of NumPy, and how to take over other modules'."""

from __future__ import annotations

from typing import Any

from simpleautodiff.autograd.numpy import *  # noqa: F403


def wrap_namespace(old: dict[str, Any], new: dict[str, Any]) -> None:
    """Put the public names of one module into another: functions take nodes as they are."""
    new.update({name: value for name, value in old.items() if not name.startswith("_")})
