"""Checks of the arguments of NumPy's and SciPy's linear algebra, made before it runs."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from simpleautodiff.arrays.lost_derivatives import SCIPY
from simpleautodiff.arrays.numpy import calculus, creation, numpy_linalg, polynomials
from simpleautodiff.arrays.registry import FUNCTIONS, Function, as_array, name_of
from simpleautodiff.arrays.scipy import (
    scipy_factorizations,
    scipy_linalg,
    scipy_signal,
    scipy_sparse,
)
from simpleautodiff.core.level import to_plain
from simpleautodiff.errors import InputError, MatrixError, cite_line
from simpleautodiff.rules.array.shapes import shape_of
from simpleautodiff.values.pytree import flatten

__all__ = [  # imported so that the implementations are registered before they are wrapped here
    "calculus",
    "creation",
    "numpy_linalg",
    "polynomials",
    "scipy_factorizations",
    "scipy_linalg",
    "scipy_signal",
    "scipy_sparse",
]
ShapeCheck = Callable[[str, tuple[int, ...]], None]


def _check_square(name: str, shape: tuple[int, ...]) -> None:
    _check_matrix(name, shape)
    if shape[-1] != shape[-2]:
        raise MatrixError(
            f"{name} needs a square matrix, not an array of shape {shape}{cite_line()}"
        )


def _check_matrix(name: str, shape: tuple[int, ...]) -> None:
    if len(shape) < 2:
        given = f"an array of shape {shape}" if shape else "a single number"
        raise MatrixError(
            f"{name} needs a matrix, or a stack of them, not {given}; write "
            f"x.reshape(rows, columns){cite_line()}"
        )


def _check_one_matrix(name: str, shape: tuple[int, ...]) -> None:
    if len(shape) != 2:
        many = "; simpleautodiff.vmap takes a stack" if len(shape) > 2 else ""
        raise InputError(
            f"{name} needs one matrix, not an array of shape {shape}{many}{cite_line()}"
        )


def _check_vector(name: str, shape: tuple[int, ...]) -> None:
    if len(shape) != 1:
        raise InputError(
            f"{name} needs vectors, not an array of shape {shape}; np.ravel(x) writes all its "
            f"elements in a row{cite_line()}"
        )


def _check_at_most_vector(name: str, shape: tuple[int, ...]) -> None:
    if len(shape) > 1:
        _check_vector(name, shape)


def _add_shape_check(
    name: str, implementation: Function, check: ShapeCheck, count: int
) -> Function:
    """Return an implementation that checks the shapes of its first `count` arguments."""
    names = [*inspect.signature(implementation).parameters][:count]

    @functools.wraps(implementation)
    def function(*args: Any, **kwargs: Any) -> Any:
        for x in (*args[:count], *[kwargs[given] for given in names if given in kwargs]):
            check(name, shape_of(as_array(x)))
        return implementation(*args, **kwargs)

    return function


def _check_numpy(check: ShapeCheck, functions: Iterable[Any], count: int = 1) -> None:
    for function in functions:
        implementation = FUNCTIONS[function]
        FUNCTIONS[function] = _add_shape_check(name_of(function), implementation, check, count)


def _check_scipy(check: ShapeCheck, names: str, count: int = 1) -> None:
    for name in names.split():
        SCIPY[name] = _add_shape_check(f"scipy.{name}", SCIPY[name], check, count)


_NUMPY_OF_SQUARE: tuple[Any, ...] = (
    *(np.linalg.det, np.linalg.slogdet, np.linalg.inv, np.linalg.solve, np.linalg.cholesky),
    *(np.linalg.eig, np.linalg.eigvals, np.linalg.eigh, np.linalg.eigvalsh, np.linalg.matrix_power),
)
_NUMPY_OF_MATRIX: tuple[Any, ...] = (
    *(np.linalg.svd, np.linalg.svdvals, np.linalg.qr, np.linalg.pinv, np.linalg.cond),
    *(np.linalg.trace, np.linalg.diagonal, np.linalg.matrix_norm, np.linalg.matrix_transpose),
    np.matrix_transpose,
)
_SCIPY_OF_SQUARE = """
    linalg.cho_factor linalg.cholesky linalg.coshm linalg.cosm linalg.det linalg.eig linalg.eigh
    linalg.eigvals linalg.eigvalsh linalg.expm linalg.fractional_matrix_power linalg.inv linalg.logm
    linalg.sinhm linalg.sinm linalg.solve linalg.solve_continuous_lyapunov
    linalg.solve_discrete_lyapunov linalg.solve_lyapunov linalg.solve_triangular linalg.sqrtm
    linalg.tanhm linalg.tanm linalg.signm
"""
_SCIPY_OF_MATRIX = """
    linalg.lu linalg.lu_factor linalg.pinv linalg.qr linalg.solveh_banded linalg.svd linalg.svdvals
"""
_check_numpy(_check_square, _NUMPY_OF_SQUARE)
_check_numpy(_check_matrix, _NUMPY_OF_MATRIX)
_check_numpy(_check_one_matrix, [np.linalg.lstsq])
_check_numpy(_check_vector, [np.linalg.outer], 2)
_check_numpy(_check_vector, [np.vander])
_check_numpy(_check_at_most_vector, [np.convolve, np.correlate, np.polymul], 2)
_check_numpy(_check_at_most_vector, [np.polyder, np.polyint, np.roots])
_check_scipy(_check_square, _SCIPY_OF_SQUARE)
_check_scipy(_check_square, "linalg.solve_sylvester linalg.expm_frechet", 2)
_check_scipy(_check_matrix, _SCIPY_OF_MATRIX)
_check_scipy(_check_square, "linalg.hessenberg linalg.ldl linalg.schur")
_check_scipy(_check_one_matrix, "linalg.hessenberg linalg.ldl linalg.lstsq linalg.polar")
_check_scipy(_check_one_matrix, "linalg.schur")
_check_scipy(_check_one_matrix, "linalg.solve_continuous_are linalg.solve_discrete_are", 4)
_check_scipy(_check_one_matrix, "signal.convolve2d signal.correlate2d", 2)


# Arrays with nan or inf. --------------------------------------------------------------------------


def _add_finite_check(name: str, implementation: Function) -> Function:
    """Return an implementation that rejects nan and inf, unless `check_finite=False`."""
    parameters = inspect.signature(implementation).parameters
    position = (
        [*parameters].index("check_finite") if "check_finite" in parameters else len(parameters)
    )
    default = parameters["check_finite"].default if "check_finite" in parameters else True

    @functools.wraps(implementation)
    def function(*args: Any, **kwargs: Any) -> Any:
        if kwargs.get("check_finite", args[position] if len(args) > position else default):
            _check_finite(name, flatten((args, kwargs))[0])
        return implementation(*args, **kwargs)

    return function


def _check_finite(name: str, numbers: Iterable[Any]) -> None:
    """Raise an error for arrays that are not finite; batches and symbols are not checked."""
    for number in map(to_plain, numbers):
        if isinstance(number, np.ndarray) and not np.isfinite(number).all():
            raise InputError(
                f"{name} refuses nan and inf, and was given some; replace them, or pass "
                f"check_finite=False{cite_line()}"
            )


_SCIPY_OF_FINITE = """
    cho_factor cho_solve cholesky det eig eigh eigvals eigvalsh expm_frechet inv lstsq lu lu_factor
    lu_solve matmul_toeplitz norm pinv qr solve solve_banded solve_toeplitz solve_triangular
    solveh_banded svd svdvals
"""
for _name in _SCIPY_OF_FINITE.split():
    SCIPY[f"linalg.{_name}"] = _add_finite_check(f"scipy.linalg.{_name}", SCIPY[f"linalg.{_name}"])
