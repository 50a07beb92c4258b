"""The functions of scipy.fft on nodes: Fourier transforms, transforms into cosines and sines.

What only saves time or memory (`overwrite_x`, `workers`, `plan`) is accepted and ignored.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from simpleautodiff.arrays.lost_derivatives import SCIPY
from simpleautodiff.arrays.numpy import numpy_fft as fourier
from simpleautodiff.arrays.numpy.reductions import axes_of
from simpleautodiff.arrays.registry import Function
from simpleautodiff.errors import ArgumentError, cite_line
from simpleautodiff.rules.array.dtypes import real_dtype
from simpleautodiff.rules.array.fourier import INVERSE_TYPE, waves
from simpleautodiff.rules.array.shapes import shape_of
from simpleautodiff.rules.scalar.complex_parts import conj

# Fourier transforms. ------------------------------------------------------------------------------


def _along_one(program: Function) -> Function:
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
        return program(x, n, axis, norm)

    return transform


def _several(numbers: Any) -> Any:
    return (numbers,) if isinstance(numbers, int) else numbers


def _along_many(program: Function, default: Any) -> Function:
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
        return program(x, _several(s), _several(axes), norm)

    return transform


def hfftn(x: Any, s: Any, axes: Any, norm: str | None) -> Any:
    """Transform numbers whose spectrum is real along several axes."""
    return fourier.irfftn(conj(x), s, axes, fourier.SWAPPED[norm])


def ihfftn(x: Any, s: Any, axes: Any, norm: str | None) -> Any:
    """Transform a real spectrum back along several axes."""
    return conj(fourier.rfftn(x, s, axes, fourier.SWAPPED[norm]))


for _program in (*(fourier.fft, fourier.ifft, fourier.rfft), fourier.irfft, fourier.hfft):
    SCIPY[f"fft.{_program.__name__}"] = _along_one(_program)
SCIPY["fft.ihfft"] = _along_one(fourier.ihfft)
for _program in (fourier.fftn, fourier.ifftn, fourier.rfftn, fourier.irfftn, hfftn, ihfftn):
    SCIPY[f"fft.{_program.__name__}"] = _along_many(_program, None)
    SCIPY[f"fft.{_program.__name__[:-1]}2"] = _along_many(_program, (-2, -1))

# Cosines and sines. -------------------------------------------------------------------------------

_LONGER = {("dct", 1): -1, ("dst", 1): 1}  # how much longer than n half of a period is
_SCALED = {  # the first, the last element that is √2 smaller in the orthogonal transform
    ("dct", 1): (True, True),
    ("dct", 2): (True, False),
    ("dct", 3): (True, False),
    ("dst", 2): (False, True),
    ("dst", 3): (False, True),
}
_BEFORE, _AFTER = (1, 3), (1, 2)  # the types in which that is one of the input, of the result


def _ends(x: Any, axis: int, name: str, kind: int, factor: float) -> Any:
    """Multiply the first or the last element along an axis by a factor."""
    first, last = _SCALED[name, kind]
    factors = np.ones(shape_of(x)[axis], real_dtype(x))
    factors[: int(first)] = factor
    factors[len(factors) - int(last) :] = factor
    return x * factors.reshape([-1 if i == axis else 1 for i in range(len(shape_of(x)))])


def _into_waves(name: str, x: Any, kind: int, axis: int, norm: str | None, orthogonal: Any) -> Any:
    """Transform along one axis: the orthogonal transform, scaled."""
    if kind not in (1, 2, 3, 4) or norm not in fourier.SWAPPED:
        raise ArgumentError(
            f"scipy.fft.{name}: the type is 1, 2, 3 or 4, not {kind!r}, and norm is 'backward', "
            f"'ortho' or 'forward', not {norm!r}{cite_line()}"
        )
    longer = _LONGER.get((name, kind), 0)
    scale = {"ortho": 0.0, "forward": -0.5}.get(norm or "backward", 0.5)
    plain_ends = not (norm == "ortho" if orthogonal is None else orthogonal)
    unequal = plain_ends and (name, kind) in _SCALED
    if unequal and kind in _BEFORE:
        x = _ends(x, axis, name, kind, math.sqrt(0.5))
    result = waves(x, axis, name, kind) * float((2 * (shape_of(x)[axis] + longer)) ** scale)
    return _ends(result, axis, name, kind, math.sqrt(2)) if unequal and kind in _AFTER else result


def _transform(name: str, back: bool) -> tuple[Function, Function]:
    """Return a transform into waves, or back, along one axis and along several."""

    def one(x: Any, type: int, n: int | None, axis: int, norm: Any, orthogonalize: Any) -> Any:
        (axis,) = axes_of(x, axis)
        x = fourier.resized(x, n, axis)
        kind = INVERSE_TYPE.get(type, type) if back else type
        norm = fourier.SWAPPED.get(norm, norm) if back else norm
        return _into_waves(name, x, kind, axis, norm, orthogonalize)

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
        for n, axis in fourier.plan_of(x, _several(s), _several(axes)):
            x = one(x, type, n, axis, norm, orthogonalize)
        return x

    return along_one, along_many


for _name in ("dct", "dst"):
    for _start in ("", "i"):
        _one, _many = _transform(_name, bool(_start))
        SCIPY[f"fft.{_start}{_name}"], SCIPY[f"fft.{_start}{_name}n"] = _one, _many
