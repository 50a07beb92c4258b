"""Rows: real part, imaginary part and conjugate: linear over the reals, not over the complexes.

A complex number is two real ones, z = x + iy, and the gradient of a real function f of it is
∂f/∂x - i ∂f/∂y. With that convention the adjoint of a product is the product of adjoints, without
conjugates, so that holomorphic functions need no rules of their own.
"""

from __future__ import annotations

from typing import Any

from simpleautodiff.core.level import to_plain
from simpleautodiff.core.linear import ZERO, Linear
from simpleautodiff.rules.row import Wrapping, row
from simpleautodiff.values.functions import is_complex, zero_like


def real_valued(gradient: Any) -> Linear:
    """Return the local derivative of a real function of a complex number from its gradient."""
    return Linear(lambda dot: real(gradient * dot), lambda bar: bar * gradient)


def squared_size(z: Any) -> Any:
    """Return |z|², smooth everywhere."""
    return real(z * conj(z)) if is_complex(to_plain(z)) else z * z


conj: Wrapping = row(
    "conj",
    lambda _v, _z: (
        Linear(lambda dot: conj(dot), lambda bar: conj(bar), True)
        if is_complex(to_plain(_z))
        else 1
    ),
    value=lambda z: z.conjugate() if is_complex(z) else +z,  # a new array, as np.conj returns
    numpy=["conjugate"],
    text="conj({0})",
    latex=r"\overline{{{0}}}",
    reason="the derivative of the conjugate is the conjugate of the derivative",
    holomorphic=False,
)
real: Wrapping = row(
    "real",
    lambda _v, _z: (
        Linear(lambda dot: real(dot), lambda bar: bar, True) if is_complex(to_plain(_z)) else 1
    ),
    value=lambda z: z.real if is_complex(z) else z,
    numpy=(),
    text="Re({0})",
    latex=r"\operatorname{{Re}} {0}",
    reason="a change dz changes Re z by Re dz; as a gradient it is 1",
    holomorphic=False,
)
imag: Wrapping = row(
    "imag",
    lambda _v, _z: (
        Linear(lambda dot: imag(dot), lambda bar: bar * -1j) if is_complex(to_plain(_z)) else ZERO
    ),
    value=lambda z: z.imag if is_complex(z) else zero_like(z),
    numpy=(),
    text="Im({0})",
    latex=r"\operatorname{{Im}} {0}",
    reason="a change dz changes Im z by Im dz; as a gradient it is -i",
    holomorphic=False,
)
