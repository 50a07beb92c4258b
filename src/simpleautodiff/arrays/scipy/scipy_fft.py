"""The functions of scipy.fft on nodes: Fourier, cosine and sine transforms.

Arguments that only save time or memory (`overwrite_x`, `workers`, `plan`) are accepted and ignored.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from simpleautodiff.arrays.lost_derivatives import SCIPY
from simpleautodiff.arrays.numpy import numpy_fft as fourier
from simpleautodiff.arrays.reductions import axes_of
from simpleautodiff.arrays.registry import Function
from simpleautodiff.errors import ArgumentError, cite_line
from simpleautodiff.rules.array.dtypes import real_dtype
from simpleautodiff.rules.array.fourier import INVERSE_TYPE, waves
from simpleautodiff.rules.array.shapes import shape_of
from simpleautodiff.rules.scalar.complex_parts import conj

# Fourier transforms. ------------------------------------------------------------------------------


def _transform_along_one(implementation: Function) -> Function:
    def transform(
        x: Any,
        n: int | None = None,
        axis: int = -1,
        norm: str | None = None,
        overwrite_x: bool = False,
        workers: Any = None,
        *,
        plan: Any = None,
    ) -> Any:
        return implementation(x, n, axis, norm)

    return transform


def _as_sequence(numbers: Any) -> Any:
    return (numbers,) if isinstance(numbers, int) else numbers


def _transform_along_many(implementation: Function, default: Any) -> Function:
    def transform(
        x: Any,
        s: Any = None,
        axes: Any = default,
        norm: str | None = None,
        overwrite_x: bool = False,
        workers: Any = None,
        *,
        plan: Any = None,
    ) -> Any:
        return implementation(x, _as_sequence(s), _as_sequence(axes), norm)

    return transform


def hfftn(x: Any, s: Any, axes: Any, norm: str | None) -> Any:
    """Transform a signal with Hermitian symmetry along several axes."""
    return fourier.irfftn(conj(x), s, axes, fourier.SWAPPED[norm])


def ihfftn(x: Any, s: Any, axes: Any, norm: str | None) -> Any:
    """Undo hfftn: transform a real spectrum back along several axes."""
    return conj(fourier.rfftn(x, s, axes, fourier.SWAPPED[norm]))


for _implementation in (*(fourier.fft, fourier.ifft, fourier.rfft), fourier.irfft, fourier.hfft):
    SCIPY[f"fft.{_implementation.__name__}"] = _transform_along_one(_implementation)
SCIPY["fft.ihfft"] = _transform_along_one(fourier.ihfft)
for _implementation in (fourier.fftn, fourier.ifftn, fourier.rfftn, fourier.irfftn, hfftn, ihfftn):
    SCIPY[f"fft.{_implementation.__name__}"] = _transform_along_many(_implementation, None)
    SCIPY[f"fft.{_implementation.__name__[:-1]}2"] = _transform_along_many(
        _implementation, (-2, -1)
    )

# Cosine and sine transforms. ----------------------------------------------------------------------

_LONGER = {("dct", 1): -1, ("dst", 1): 1}  # half a period minus n
_SCALED = {  # the first or last element, which is √2 smaller in the orthogonal transform
    ("dct", 1): (True, True),
    ("dct", 2): (True, False),
    ("dct", 3): (True, False),
    ("dst", 2): (False, True),
    ("dst", 3): (False, True),
}
_BEFORE, _AFTER = (1, 3), (1, 2)  # the types that scale the input, and those that scale the result


def _scale_ends(x: Any, axis: int, name: str, wave_type: int, factor: float) -> Any:
    """Multiply the first or the last element along an axis by a factor."""
    first, last = _SCALED[name, wave_type]
    factors = np.ones(shape_of(x)[axis], real_dtype(x))
    factors[: int(first)] = factor
    factors[len(factors) - int(last) :] = factor
    return x * factors.reshape([-1 if i == axis else 1 for i in range(len(shape_of(x)))])


def _transform_to_waves(
    name: str, x: Any, wave_type: int, axis: int, norm: str | None, orthogonal: Any
) -> Any:
    """Transform along one axis: scale the orthogonal transform."""
    if wave_type not in (1, 2, 3, 4) or norm not in fourier.SWAPPED:
        raise ArgumentError(
            f"scipy.fft.{name}: the type is 1, 2, 3 or 4, not {wave_type!r}, and norm is "
            f"'backward', 'ortho' or 'forward', not {norm!r}{cite_line()}"
        )
    longer = _LONGER.get((name, wave_type), 0)
    scale = {"ortho": 0.0, "forward": -0.5}.get(norm or "backward", 0.5)
    plain_ends = not (norm == "ortho" if orthogonal is None else orthogonal)
    unequal = plain_ends and (name, wave_type) in _SCALED
    if unequal and wave_type in _BEFORE:
        x = _scale_ends(x, axis, name, wave_type, math.sqrt(0.5))
    result = waves(x, axis, name, wave_type) * float((2 * (shape_of(x)[axis] + longer)) ** scale)
    return (
        _scale_ends(result, axis, name, wave_type, math.sqrt(2))
        if unequal and wave_type in _AFTER
        else result
    )


def _transform(name: str, back: bool) -> tuple[Function, Function]:
    """Return a cosine or sine transform, or its inverse, along one axis and along several."""

    def one(x: Any, type: int, n: int | None, axis: int, norm: Any, orthogonalize: Any) -> Any:
        (axis,) = axes_of(x, axis)
        x = fourier.resize_axis(x, n, axis)
        wave_type = INVERSE_TYPE.get(type, type) if back else type
        norm = fourier.SWAPPED.get(norm, norm) if back else norm
        return _transform_to_waves(name, x, wave_type, axis, norm, orthogonalize)

    def along_one(
        x: Any,
        type: int = 2,
        n: int | None = None,
        axis: int = -1,
        norm: Any = None,
        overwrite_x: bool = False,
        workers: Any = None,
        orthogonalize: Any = None,
    ) -> Any:
        return one(x, type, n, axis, norm, orthogonalize)

    def along_many(
        x: Any,
        type: int = 2,
        s: Any = None,
        axes: Any = None,
        norm: Any = None,
        overwrite_x: bool = False,
        workers: Any = None,
        *,
        orthogonalize: Any = None,
    ) -> Any:
        for n, axis in fourier.plan_of(x, _as_sequence(s), _as_sequence(axes)):
            x = one(x, type, n, axis, norm, orthogonalize)
        return x

    return along_one, along_many


for _name in ("dct", "dst"):
    for _start in ("", "i"):
        _one, _many = _transform(_name, bool(_start))
        SCIPY[f"fft.{_start}{_name}"], SCIPY[f"fft.{_start}{_name}n"] = _one, _many
