"""Rows: Fourier transforms along one axis, without normalisation.

The matrix of a Fourier transform is symmetric, so the transform is its own transpose. The transform
of real numbers stores half of the frequencies; those that also stand for their conjugate count
twice in its transpose. With the right scaling the matrix of a cosine or sine transform is
orthogonal, so its transpose is its inverse.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from simpleautodiff.core.linear import ZERO, Linear
from simpleautodiff.rules.array.dtypes import real_dtype
from simpleautodiff.rules.array.shapes import shape_of
from simpleautodiff.rules.row import Wrapping, row
from simpleautodiff.rules.scalar.complex_parts import conj
from simpleautodiff.values.functions import optional


def _transform(x: Any, axis: int, back: bool) -> Any:
    return np.fft.ifft(x, axis=axis, norm="forward") if back else np.fft.fft(x, axis=axis)


fourier: Wrapping = row(
    "fourier",
    lambda _v, _x, axis, back: Linear(
        lambda dot: fourier(dot, axis, back), lambda bar: fourier(bar, axis, back)
    ),
    ZERO,
    ZERO,
    value=_transform,
    numpy=(),
    settings=(1, 2),
    text="fft({0}, {1})",
    latex=r"\operatorname{{fft}}({0})",
    arrays=True,
    reason="every element contributes to every frequency; the matrix is symmetric",
    batch=lambda size, which, x, axis, back: fourier(x, axis + 1, back),
)


def _count_frequencies(n: int, axis: int, like: Any) -> Any:
    """Return how many of all n frequencies each of the n // 2 + 1 stored ones stands for."""
    count = np.full(n // 2 + 1, 2)
    count[0] = 1
    if n % 2 == 0:
        count[-1] = 1
    new = [1] * len(shape_of(like))
    new[axis] = -1
    return count.reshape(new).astype(real_dtype(like))


def _half_back(bar: Any, x: Any, axis: int) -> Any:
    n = shape_of(x)[axis]
    return whole_transform(conj(bar) / _count_frequencies(n, axis, bar), axis, n)


half_transform: Wrapping = row(
    "half_transform",
    lambda _v, x, axis: Linear(
        lambda dot: half_transform(dot, axis), lambda bar: _half_back(bar, x, axis)
    ),
    ZERO,
    value=lambda x, axis: np.fft.rfft(x, axis=axis),
    numpy=(),
    settings=(1,),
    text="rfft({0}, {1})",
    latex=r"\operatorname{{rfft}}({0})",
    arrays=True,
    real=True,
    reason="every real element contributes to every frequency",
    batch=lambda size, which, x, axis: half_transform(x, axis + 1),
)
whole_transform: Wrapping = row(
    "whole_transform",
    lambda v, _z, axis, n: Linear(
        lambda dot: whole_transform(dot, axis, n),
        lambda bar: conj(half_transform(bar, axis)) * _count_frequencies(n, axis, v),
    ),
    ZERO,
    ZERO,
    value=lambda z, axis, n: np.fft.irfft(z, n, axis, "forward"),
    numpy=(),
    settings=(1, 2),
    text="irfft({0}, {1}, {2})",
    latex=r"\operatorname{{irfft}}({0})",
    arrays=True,
    holomorphic=False,
    reason="a frequency contributes for itself and for its conjugate, which is not stored",
    batch=lambda size, which, z, axis, n: whole_transform(z, axis + 1, n),
)
INVERSE_TYPE = {1: 1, 2: 3, 3: 2, 4: 4}  # the type of the inverse transform, by type


def _waves(x: Any, axis: int, name: str, kind: int) -> Any:
    fft = optional("scipy.fft", f"{name} of an array")
    if np.iscomplexobj(x):
        return _waves(x.real, axis, name, kind) + 1j * _waves(x.imag, axis, name, kind)
    return getattr(fft, name)(x, kind, axis=axis, norm="ortho", orthogonalize=True)


waves: Wrapping = row(
    "waves",
    lambda _v, _x, axis, name, kind: Linear(
        lambda dot: waves(dot, axis, name, kind),
        lambda bar: waves(bar, axis, name, INVERSE_TYPE[kind]),
    ),
    ZERO,
    ZERO,
    ZERO,
    value=_waves,
    numpy=(),
    settings=(1, 2, 3),
    text="{2}({0}, type={3}, axis={1})",
    latex=r"\operatorname{{waves}}({0})",
    arrays=True,
    reason="every element contributes to every wave; the matrix is orthogonal",
    batch=lambda size, which, x, axis, name, kind: waves(x, axis + 1, name, kind),
)
