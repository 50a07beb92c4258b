"""Find the form in which Python can call compiled code directly: what it passes, and gets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from simpleautodiff.compiled.backends.interface import (
    Argument,
    Array,
    CallForm,
    Container,
    Known,
    ListOf,
    Number,
    Structure,
)
from simpleautodiff.compiled.native.object_offsets import is_known
from simpleautodiff.compiled.paths import Path
from simpleautodiff.compiled.running.runnable import EnteredProgram
from simpleautodiff.compiled.signature import CallSignature
from simpleautodiff.values.pytree import flatten

_FLOATS = ("float64", "float32")
_ARRAYS = (*_FLOATS, "int64", "bool")
_FIXED = {int, bool, str, bytes, type(None)}  # equal values are interchangeable for any program


def find_form(described: CallSignature, path: Path, result: Any, out: bool) -> CallForm | None:
    """Return the form in which Python could call a program directly; None if it cannot."""
    args, kwargs = described.tree
    if kwargs or not is_known() or not isinstance(path.program, EnteredProgram):
        return None
    known: list[Any] = []
    inputs = [_argument(arg, known) for arg in args]
    outputs = [_number_or_array(leaf, _FLOATS) for leaf in flatten(result)[0]]
    structure = _structure(result, iter(range(len(outputs))))
    whole = len(outputs) == path.program.results  # no part of the result is a constant
    if None in inputs or None in outputs or structure is None or not whole:
        return None
    form = CallForm(tuple(inputs), tuple(outputs), structure, out, tuple(known))  # type: ignore[arg-type]
    return form if _is_as_recorded(form, path) else None


def _is_as_recorded(form: CallForm, path: Path) -> bool:
    """Tell whether no number has to be converted to another type."""
    lines, inputs = path.recorded.lines, path.recorded.inputs
    if len(form.leaves) != inputs:
        return False
    passed = [*zip(range(inputs), form.leaves, strict=True)]
    passed += [*zip(path.recorded.outputs, form.outputs, strict=True)]
    return all(lines[place].dtype == np.dtype(part.dtype) for place, part in passed)


def _argument(given: Any, known: list[Any]) -> Argument | None:
    """Return how an argument is passed; append the value it must equal to `known`."""
    kind: type = type(given)
    if kind in _FIXED:
        known.append(given)
        return Known(len(known) - 1)
    if not issubclass(kind, tuple) and kind is not list:
        return _number_or_array(given, _ARRAYS)
    known.append(kind)
    number = len(known) - 1
    parts = [_argument(part, known) for part in given]
    return None if None in parts else Container(number, kind is list, tuple(parts))  # type: ignore[arg-type]


def _number_or_array(leaf: Any, dtypes: tuple[str, ...]) -> Number | Array | None:
    if type(leaf) is float:
        return Number()
    if type(leaf) in (np.float64, np.float32):
        return Number(leaf.dtype.name)
    if type(leaf) is np.ndarray and leaf.ndim and leaf.dtype.name in dtypes:
        return Array(leaf.dtype.name, leaf.shape)
    return None


def _structure(result: Any, numbers: Iterator[int]) -> Structure | None:
    if type(result) not in (tuple, list):
        return next(numbers) if _number_or_array(result, _FLOATS) is not None else None
    parts = [_structure(part, numbers) for part in result]
    if None in parts:
        return None
    return ListOf(tuple(parts)) if type(result) is list else tuple(parts)  # type: ignore[arg-type]
