"""HIPS autograd's `check_grads`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from simpleautodiff.program.check_grad import check_grad

__all__ = ["check_grads"]


def check_grads(
    f: Callable[..., Any], modes: Sequence[str] = ("fwd", "rev"), order: int = 2
) -> Callable[..., None]:
    """Return a function that compares all derivatives at its arguments up to an order.

    `check_grad` compares forward and reverse mode with differences, whatever `modes` is.

    Raises
    ------
    CheckError
        If they disagree.

    Examples
    --------
    >>> import numpy as np
    >>> from simpleautodiff.test_util import check_grads
    >>> check_grads(lambda x: np.sin(x) * x, modes=["rev"], order=2)(0.7)
    """

    def check(*args: Any, **kwargs: Any) -> None:
        for n in range(1, order + 1):
            check_grad(lambda *xs: f(*xs, **kwargs), *args, order=n)

    return check
