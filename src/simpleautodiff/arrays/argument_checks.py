"""What NumPy and SciPy refuse of matrices and vectors, refused before a program is asked."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from simpleautodiff.arrays.lost_derivatives import SCIPY
from simpleautodiff.arrays.numpy import (
    calculus,
    numpy_linalg as algebra,
    polynomials,
    selection as choosing,
)
from simpleautodiff.arrays.registry import FUNCTIONS, Function, as_array, name_of
from simpleautodiff.arrays.scipy import (
    scipy_factorizations as scipy_factors,
    scipy_linalg,
    scipy_signal,
    scipy_sparse,
)
from simpleautodiff.core.level import plain
from simpleautodiff.errors import InputError, MatrixError, cite_line
from simpleautodiff.rules.array.shapes import shape_of
from simpleautodiff.values.pytree import flatten

__all__ = [
    "algebra",
    "calculus",
    "choosing",
    "polynomials",
    "scipy_factors",
    "scipy_linalg",
    "scipy_signal",
    "scipy_sparse",
]
Check = Callable[[str, tuple[int, ...]], None]


def _square(name: str, shape: tuple[int, ...]) -> None:
    _matrix(name, shape)
    if shape[-1] != shape[-2]:
        raise MatrixError(
            f"{name} needs a square matrix, not an array of shape {shape}{cite_line()}"
        )


def _matrix(name: str, shape: tuple[int, ...]) -> None:
    if len(shape) < 2:
        given = f"an array of shape {shape}" if shape else "a single number"
        raise MatrixError(
            f"{name} needs a matrix, or a stack of them, not {given}; write "
            f"x.reshape(rows, columns){cite_line()}"
        )


def _one_matrix(name: str, shape: tuple[int, ...]) -> None:
    if len(shape) != 2:
        many = "; simpleautodiff.vmap takes a stack" if len(shape) > 2 else ""
        raise InputError(
            f"{name} needs one matrix, not an array of shape {shape}{many}{cite_line()}"
        )


def _vector(name: str, shape: tuple[int, ...]) -> None:
    if len(shape) != 1:
        raise InputError(
            f"{name} needs vectors, not an array of shape {shape}; np.ravel(x) writes all its "
            f"elements in a row{cite_line()}"
        )


def _at_most_vector(name: str, shape: tuple[int, ...]) -> None:
    if len(shape) > 1:
        _vector(name, shape)


def _checked(name: str, program: Function, check: Check, count: int) -> Function:
    """Return a program that looks at the shapes of its first arguments before it begins."""
    names = [*inspect.signature(program).parameters][:count]

    @functools.wraps(program)
    def function(*args: Any, **kwargs: Any) -> Any:
        for x in (*args[:count], *[kwargs[given] for given in names if given in kwargs]):
            check(name, shape_of(as_array(x)))
        return program(*args, **kwargs)

    return function


def _refuse(check: Check, functions: Iterable[Any], count: int = 1) -> None:
    for function in functions:
        program = FUNCTIONS[function]
        FUNCTIONS[function] = _checked(name_of(function), program, check, count)


def _refuse_scipy(check: Check, names: str, count: int = 1) -> None:
    for name in names.split():
        SCIPY[name] = _checked(f"scipy.{name}", SCIPY[name], check, count)


_SQUARE: tuple[Any, ...] = (
    *(np.linalg.det, np.linalg.slogdet, np.linalg.inv, np.linalg.solve, np.linalg.cholesky),
    *(np.linalg.eig, np.linalg.eigvals, np.linalg.eigh, np.linalg.eigvalsh, np.linalg.matrix_power),
)
_MATRICES: tuple[Any, ...] = (
    *(np.linalg.svd, np.linalg.svdvals, np.linalg.qr, np.linalg.pinv, np.linalg.cond),
    *(np.linalg.trace, np.linalg.diagonal, np.linalg.matrix_norm, np.linalg.matrix_transpose),
    np.matrix_transpose,
)
_LINALG = """
    linalg.cho_factor linalg.cholesky linalg.coshm linalg.cosm linalg.det linalg.eig linalg.eigh
    linalg.eigvals linalg.eigvalsh linalg.expm linalg.fractional_matrix_power linalg.inv linalg.logm
    linalg.sinhm linalg.sinm linalg.solve linalg.solve_continuous_lyapunov
    linalg.solve_discrete_lyapunov linalg.solve_lyapunov linalg.solve_triangular linalg.sqrtm
    linalg.tanhm linalg.tanm
"""
_FACTORS = """
    linalg.lu linalg.lu_factor linalg.pinv linalg.qr linalg.solveh_banded linalg.svd linalg.svdvals
"""
_refuse(_square, _SQUARE)
_refuse(_matrix, _MATRICES)
_refuse(_one_matrix, [np.linalg.lstsq])
_refuse(_vector, [np.linalg.outer], 2)
_refuse(_vector, [np.vander])
_refuse(_at_most_vector, [np.convolve, np.correlate, np.polymul], 2)
_refuse(_at_most_vector, [np.polyder, np.polyint, np.roots])
_refuse_scipy(_square, _LINALG)
_refuse_scipy(_square, "linalg.solve_sylvester linalg.expm_frechet", 2)
_refuse_scipy(_matrix, _FACTORS)
_refuse_scipy(_one_matrix, "linalg.lstsq")
_refuse_scipy(_one_matrix, "signal.convolve2d signal.correlate2d", 2)


# Numbers that are not finite. ---------------------------------------------------------------------


def _finite(name: str, program: Function) -> Function:
    """Return a program that refuses nan and inf, unless told not to, as SciPy's functions do."""
    parameters = inspect.signature(program).parameters
    place = [*parameters].index("check_finite") if "check_finite" in parameters else len(parameters)
    default = parameters["check_finite"].default if "check_finite" in parameters else True

    @functools.wraps(program)
    def function(*args: Any, **kwargs: Any) -> Any:
        if kwargs.get("check_finite", args[place] if len(args) > place else default):
            _refuse_others(name, flatten((args, kwargs))[0])
        return program(*args, **kwargs)

    return function


def _refuse_others(name: str, numbers: Iterable[Any]) -> None:
    """Refuse arrays that are not finite; those that stand for many are not looked at."""
    for number in map(plain, numbers):
        if isinstance(number, np.ndarray) and not np.isfinite(number).all():
            raise InputError(
                f"{name} refuses nan and inf, and was given some; mend the array, or pass "
                f"check_finite=False{cite_line()}"
            )


_FINITE = """
    cho_factor cho_solve cholesky det eig eigh eigvals eigvalsh expm_frechet inv lstsq lu lu_factor
    lu_solve matmul_toeplitz norm pinv qr solve solve_banded solve_toeplitz solve_triangular
    solveh_banded svd svdvals
"""
for _name in _FINITE.split():
    SCIPY[f"linalg.{_name}"] = _finite(f"scipy.linalg.{_name}", SCIPY[f"linalg.{_name}"])
