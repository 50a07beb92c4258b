"""np.fft, made of transforms along one axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from simpleautodiff.arrays.reductions import axes_of
from simpleautodiff.arrays.registry import FUNCTIONS, implements
from simpleautodiff.arrays.shaping import move_by_index
from simpleautodiff.core.level import to_plain
from simpleautodiff.errors import ArgumentError
from simpleautodiff.rules.array.dtypes import dtype_of
from simpleautodiff.rules.array.fourier import fourier, half_transform, whole_transform
from simpleautodiff.rules.array.indexing import concatenate, getitem
from simpleautodiff.rules.array.shapes import shape_of
from simpleautodiff.rules.scalar.complex_parts import conj
from simpleautodiff.values.functions import is_complex

_DIVISORS = {
    None: (0.0, 1.0),
    "backward": (0.0, 1.0),
    "ortho": (0.5, 0.5),
    "forward": (1.0, 0.0),
}


def _find_divisor(n: int, norm: str | None, back: bool) -> float:
    """Return the divisor of a transform."""
    if norm not in _DIVISORS:
        raise ArgumentError(f"norm is 'backward', 'ortho' or 'forward', not {norm!r}")
    return float(n ** _DIVISORS[norm][back])


def resize_axis(x: Any, n: int | None, axis: int) -> Any:
    """Cut an axis, or fill it with zeros, to the length n."""
    have = shape_of(x)[axis]
    if n is None or n == have:
        return x
    if n < 1:
        raise ArgumentError(f"a Fourier transform needs one point at least, not {n}")
    if n < have:
        return getitem(x, (slice(None),) * axis + (slice(0, n),))
    missing = [n - have if i == axis else m for i, m in enumerate(shape_of(x))]
    return concatenate([x, np.zeros(missing, dtype_of(x))], axis)


def _transform_along(x: Any, n: int | None, axis: int, norm: str | None, back: bool) -> Any:
    (axis,) = axes_of(x, axis)
    x = resize_axis(x, n, axis)
    return fourier(x, axis, back) / _find_divisor(shape_of(x)[axis], norm, back)


@implements(np.fft.fft)
def fft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """Transform along one axis."""
    return _transform_along(a, n, axis, norm, False)


@implements(np.fft.ifft)
def ifft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """Transform back along one axis."""
    return _transform_along(a, n, axis, norm, True)


@implements(np.fft.rfft)
def rfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """Transform real input: return the nonnegative frequencies."""
    if is_complex(to_plain(a)):
        raise ArgumentError("np.fft.rfft takes real numbers; np.fft.fft takes complex ones")
    (axis,) = axes_of(a, axis)
    a = resize_axis(a, n, axis)
    return half_transform(a, axis) / _find_divisor(shape_of(a)[axis], norm, False)


@implements(np.fft.irfft)
def irfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """Transform back to real numbers."""
    (axis,) = axes_of(a, axis)
    n = 2 * (shape_of(a)[axis] - 1) if n is None else n
    a = resize_axis(a, n // 2 + 1, axis)
    a = a if is_complex(to_plain(a)) else a + 0j
    return whole_transform(a, axis, n) / _find_divisor(n, norm, True)


SWAPPED = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


@implements(np.fft.hfft)
def hfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """Transform a signal with Hermitian symmetry, whose spectrum is real."""
    return irfft(conj(a), n, axis, SWAPPED[norm])


@implements(np.fft.ihfft)
def ihfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """Undo hfft: transform a real spectrum back."""
    return conj(rfft(a, n, axis, SWAPPED[norm]))


def plan_of(x: Any, s: Any, axes: Any) -> list[tuple[int | None, int]]:
    """Return the length and the index of each axis that is transformed."""
    if axes is None:
        rank = len(shape_of(x))
        axes = range(rank) if s is None else range(rank - len(s), rank)
    lengths = [None] * len(axes) if s is None else [None if n == -1 else n for n in s]
    if len(lengths) != len(axes):
        raise ArgumentError(f"s = {s} and axes = {tuple(axes)} have different lengths")
    return [(n, axes_of(x, int(i))[0]) for n, i in zip(lengths, axes, strict=True)]


def _transform_over(
    x: Any, plan: list[tuple[int | None, int]], norm: str | None, back: bool
) -> Any:
    for n, axis in reversed(plan):
        x = _transform_along(x, n, axis, norm, back)
    return x


@implements(np.fft.fftn)
def fftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> Any:
    """Transform along several axes."""
    return _transform_over(a, plan_of(a, s, axes), norm, False)


@implements(np.fft.ifftn)
def ifftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> Any:
    """Transform back along several axes."""
    return _transform_over(a, plan_of(a, s, axes), norm, True)


@implements(np.fft.rfftn)
def rfftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> Any:
    """Transform real input along several axes; the last one retains half of the frequencies."""
    *others, (n, last) = plan_of(a, s, axes)
    return _transform_over(rfft(a, n, last, norm), others, norm, False)


@implements(np.fft.irfftn)
def irfftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> Any:
    """Transform back to real numbers along several axes."""
    *others, (n, last) = plan_of(a, s, axes)
    return irfft(_transform_over(a, others, norm, True), n, last, norm)


def _restrict_to_2d(implementation: Any) -> Any:
    return lambda a, s=None, axes=(-2, -1), norm=None: implementation(a, s, axes, norm)


_TWO_DIMENSIONAL: dict[Any, Any] = {
    np.fft.fft2: fftn,
    np.fft.ifft2: ifftn,
    np.fft.rfft2: rfftn,
    np.fft.irfft2: irfftn,
}
FUNCTIONS.update(
    {
        function: _restrict_to_2d(implementation)
        for function, implementation in _TWO_DIMENSIONAL.items()
    }
)


@implements(np.fft.fftshift)
def fftshift(x: Any, axes: Any = None) -> Any:
    """Put frequency 0 in the middle."""
    return move_by_index(lambda numbers: np.fft.fftshift(numbers, axes), x)


@implements(np.fft.ifftshift)
def ifftshift(x: Any, axes: Any = None) -> Any:
    """Undo fftshift."""
    return move_by_index(lambda numbers: np.fft.ifftshift(numbers, axes), x)
