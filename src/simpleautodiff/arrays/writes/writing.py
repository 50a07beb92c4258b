"""Writing in recorded code: `y = np.zeros_like(x); y[i] = ...; y += ...`.

NumPy's `zeros_like` and relatives, and copies, return writable arrays for nodes, and a node that is
written to becomes one. As in NumPy, slices and reshapes are views: what is written to one is
written to the other.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from simpleautodiff.arrays.call_arguments import bind_arguments
from simpleautodiff.arrays.call_hints import random_call_error
from simpleautodiff.arrays.operators import BINARY
from simpleautodiff.arrays.registry import (
    FUNCTIONS,
    IN_PLACE_FUNCTIONS,
    METHOD_NAMES,
    RETURNING_ARGUMENT,
    name_of,
    write_result,
)
from simpleautodiff.arrays.writes.example_indices import (
    has_repeats,
    is_recorded_mask,
    is_single,
    put_each,
    put_last,
    put_where,
    to_plain_index,
)
from simpleautodiff.arrays.writes.new_arrays import NEW_ARRAY_FUNCTIONS, copy
from simpleautodiff.arrays.writes.promotion import SPECIAL_METHODS, writable
from simpleautodiff.arrays.writes.put_functions import write_at
from simpleautodiff.arrays.writes.versions import Writable, as_made
from simpleautodiff.arrays.writes.writable import (
    as_cell,
    current,
    dtype,
    find_form,
    flat_view,
    get_item,
    imaginary_part,
    is_written_where_it_lies,
    real_part,
    repeat_for_flat,
    replace,
    shape,
    view_or_copy,
    views_or_copies,
    write_cell,
)
from simpleautodiff.core.level import Traced, Written, take_current, to_plain
from simpleautodiff.core.node import NODES, TapeNode
from simpleautodiff.errors import ArgumentError, LostDerivativeError, TraceError, cite_line
from simpleautodiff.rules.array.dtypes import dtype_of
from simpleautodiff.rules.array.indexing import find_batches, flat_indices, is_basic, set_item
from simpleautodiff.rules.array.shapes import shape_of
from simpleautodiff.values.pytree import map_leaves

_FLOAT, _SCALARS = np.dtype(float), {float, np.float64}
_BINARY_OPERATORS = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul")
_COMPARISON_OPERATORS = ("lt", "le", "gt", "ge", "eq", "ne")
_UNARY_OPERATORS = ("neg", "pos", "abs")


def _get_attribute(self: Writable, name: str) -> Any:
    """Return an attribute of the current array.

    A method of a plain array does not dispatch on its arguments, so the function of that name is
    called.
    """
    current = self.current
    if type(current) is np.ndarray and name in METHOD_NAMES:
        return partial(getattr(np, name), self)
    return getattr(current, name)


def _set(self: Writable, index: Any, value: Any) -> None:
    kind = type(index)
    if kind is not int and kind is not slice:
        index = to_plain_index(index)
    _, form_dtype = self.form or find_form(self)
    cell = as_cell(self, index) if kind is not slice else None
    if type(value) not in NODES:
        if is_written_where_it_lies(self, index, value):
            return
        value = take_current(value)
        if type(value) is list or type(value) is tuple:
            value = FUNCTIONS[np.asarray](value)
    if form_dtype is not _FLOAT:
        _check_dtype(self, value)
    if cell is not None and write_cell(self, cell, value):
        return
    if self.as_view is not None:
        value = repeat_for_flat(self, index, value)
    if kind is slice:
        replace(self, set_item(current(self), value, index))
        return
    if find_batches(index):
        self.current = put_each(self.current, value, index)
        return
    if is_recorded_mask(index):
        written = put_where(self.current, value, index)
        if written is not None:
            self.current = written
            return
        index = index.level.pin(index)
    put = put_last if _has_repeats(self, index) else set_item
    self.current = put(self.current, value, index)


def _check_dtype(self: Writable, value: Any) -> None:
    """Reject values that the dtype of the array would round."""
    integers = dtype(self).kind in "biu"
    if integers and isinstance(value, Traced) and dtype_of(value).kind not in "biu":
        raise LostDerivativeError(
            f"an array of integers would round what is written to it; make it an array of "
            f"floats{cite_line()}"
        )


def _has_repeats(self: Writable, index: Any) -> bool:
    if is_basic(index) or is_single(index):
        return False
    return has_repeats(flat_indices(index, shape(self)))


def _set_imaginary(self: Writable, new: Any) -> None:
    if dtype(self).kind != "c":
        raise ArgumentError(f"real numbers have no imaginary part that could be set{cite_line()}")
    _set(imaginary_part(self), ..., new)


def _fill(self: Writable, value: Any) -> None:
    _set(self, ..., value)


def _sort(self: Writable, axis: int = -1, **how: Any) -> None:
    self.current = np.sort(self.current, axis, **how)


def _partition(self: Writable, kth: Any, axis: int = -1, **how: Any) -> None:
    self.current = np.partition(self.current, kth, axis, **how)


def _put(self: Writable, indices: Any, values: Any, mode: str = "raise") -> None:
    IN_PLACE_FUNCTIONS[np.put](self, indices, values, mode)


def _refuse(name: str) -> Callable[..., Any]:
    def refuse(self: Writable, *args: Any, **kwargs: Any) -> Any:
        raise LostDerivativeError(
            f"y.{name}(...) changes an array in place in a way that is not recorded; write with "
            f"y[...] = ..., or use np.{name}{cite_line()}"
        )

    return refuse


def _view(self: Writable, *args: Any, **kwargs: Any) -> Any:
    """Return a view of the array as it is; refuse another dtype, which would read its bytes."""
    return _refuse("view")(self) if args or kwargs else view_or_copy(self, lambda x: x[...])


def _ufunc(self: Writable, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    if method == "__call__" and not kwargs:
        return as_made(ufunc(*map(take_current, inputs)))  # nearly all calls
    if method == "at":
        return write_at(ufunc, *inputs)
    out = kwargs.pop("out", (None,))
    where = kwargs.pop("where", True) if method == "__call__" else True
    with np.errstate(all=None if where is True else "ignore"):
        result = getattr(ufunc, method)(*map(take_current, inputs), **kwargs)
    if where is not True:  # the other elements do not change
        result = np.where(
            to_plain(take_current(where)), result, 0.0 if out[0] is None else take_current(out[0])
        )
    return as_made(write_result(result, out, f"np.{ufunc.__name__}"))


def _function(self: Writable, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    return as_made(_call_function(function, args, kwargs))


def _call_function(function: Any, args: Any, kwargs: Any) -> Any:
    first = args[0] if args else None
    if function in NEW_ARRAY_FUNCTIONS:
        return FUNCTIONS[function](*args, **kwargs)  # called for `like=`, which is not passed on
    if function in IN_PLACE_FUNCTIONS and isinstance(first, (Traced, Written)):
        return IN_PLACE_FUNCTIONS[function](first.writable(), *args[1:], **kwargs)
    if function in _VIEW_FUNCTIONS and isinstance(first, Written):
        return views_or_copies(
            first.writable(), lambda x: function(x, *args[1:], **kwargs), function
        )
    if function in OTHER_VIEWS and (view := OTHER_VIEWS[function](*args, **kwargs)) is not None:
        return view
    if function in RETURNING_ARGUMENT and isinstance(first, Written):
        return _same_or_made(first.writable(), lambda x: function(x, *args[1:], **kwargs))
    if len(args) == 1 and not kwargs and isinstance(first, Written):
        return function(first.writable().current)  # nearly all calls
    if function is not np.take and len(args) <= 2 and "out" not in kwargs:
        return function(*map(_unwrap, args), **{key: _unwrap(arg) for key, arg in kwargs.items()})
    needed, given = bind_arguments(function, args, kwargs)
    out = given.pop("out", None)
    if function is not np.take and not isinstance(out, (Traced, Written)):
        return function(*map_leaves(take_current, args), **map_leaves(take_current, kwargs))
    ask = FUNCTIONS[np.take] if function is np.take else function  # np.take ignores its indices
    result = ask(*map_leaves(take_current, needed), **map_leaves(take_current, given))
    return write_result(result, out, name_of(function))


def _unwrap(arg: Any) -> Any:
    """Return an argument with arrays that were written to replaced by their current nodes."""
    return (
        take_current(arg) if type(arg) not in (list, tuple, dict) else map_leaves(take_current, arg)
    )


# Functions whose views depend on more than shapes: return the view of a writable array, or None.
OTHER_VIEWS: dict[Any, Callable[..., Any]] = {
    np.real: lambda val: val.writable().real,
    np.imag: lambda val: val.writable().imag,
}
_VIEW_FUNCTIONS: set[Any] = {
    *(np.ravel, np.reshape, np.transpose, np.moveaxis, np.swapaxes, np.rollaxis, np.squeeze),
    *(np.expand_dims, np.flip, np.fliplr, np.flipud, np.rot90, np.diagonal, np.matrix_transpose),
    *(np.split, np.array_split, np.hsplit, np.vsplit, np.dsplit, np.broadcast_to),
    *(np.atleast_1d, np.atleast_2d, np.atleast_3d, np.linalg.diagonal, np.linalg.matrix_transpose),
    *([np.unstack] if hasattr(np, "unstack") else []),  # since NumPy 2.1
}


_OPERANDS = {TapeNode, float, int, np.float64, np.ndarray}  # of which nothing need be asked


def _make_binary(name: str, reflected: bool = False) -> Callable[[Any, Any], Any]:
    function = getattr(operator, name)
    wrapping = BINARY.get(name, function)

    def calculate(self: Writable, other: Any) -> Any:
        now = current(self)
        if type(now) is TapeNode and type(other) in _OPERANDS:
            return wrapping(other, now) if reflected else wrapping(now, other)
        other = take_current(other)
        return as_made(function(other, now) if reflected else function(now, other))

    return calculate


def _make_in_place(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def change(self: Writable, other: Any) -> Writable:
        now = current(self)
        new = function(now, take_current(other))
        if shape_of(new) != shape_of(now):
            raise ArgumentError(
                f"an array of shape {shape(self)} cannot be changed in place to shape "
                f"{shape_of(new)}{cite_line()}"
            )
        replace(self, new)
        return self

    return change


def _make_unary(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda self: as_made(function(self.current))


def _same_or_made(self: Writable, convert: Callable[[Any], Any]) -> Any:
    """Return the array itself if there was nothing to convert, as NumPy does; else a new array."""
    now = self.current
    result = convert(now)
    return self if result is now else as_made(result)


def _refuse_pickle(self: Writable) -> Any:
    raise TraceError(f"{self!r} belongs to a derivative that is being computed; pickle its value")


def _axes(given: tuple[Any, ...]) -> Any:
    return given[0] if len(given) == 1 else given or None


def methods_of_writable() -> dict[str, Any]:
    """Return the methods of writable arrays, by name."""
    methods: dict[str, Any] = {
        "__setitem__": _set,
        "__getitem__": get_item,
        "__len__": lambda self: len(self.current),
        "shape": property(shape),
        "__iter__": lambda self: (self[i] for i in range(len(self))),
        "current": property(current, replace),
        "T": property(lambda self: view_or_copy(self, np.transpose)),
        "mT": property(lambda self: view_or_copy(self, np.matrix_transpose)),
        "flat": property(flat_view, lambda self, new: _set(flat_view(self), ..., new)),
        "real": property(real_part, lambda self, new: _set(real_part(self), ..., new)),
        "imag": property(imaginary_part, _set_imaginary),
        "diagonal": lambda self, *args, **how: view_or_copy(
            self, lambda x: x.diagonal(*args, **how), read_only=True
        ),
        "flatten": lambda self, order="C": Writable(np.ravel(self.current, order)),
        "transpose": lambda self, *axes: view_or_copy(self, lambda x: np.transpose(x, _axes(axes))),
        "reshape": lambda self, *new, **how: view_or_copy(
            self, lambda x: np.reshape(x, _axes(new), **how)
        ),
        "ravel": lambda self, order="C": view_or_copy(self, lambda x: np.ravel(x, order)),
        "swapaxes": lambda self, a, b: view_or_copy(self, lambda x: np.swapaxes(x, a, b)),
        "view": _view,
        "squeeze": lambda self, axis=None: view_or_copy(self, lambda x: np.squeeze(x, axis)),
        "__bool__": lambda self: bool(self.current),
        "__float__": lambda self: float(self.current),
        "__int__": lambda self: int(self.current),
        "__complex__": lambda self: complex(self.current),
        "__contains__": lambda self, x: x in self.current,
        "__divmod__": lambda self, other: divmod(self.current, take_current(other)),
        "__copy__": lambda self: Writable(self.current),
        "__deepcopy__": lambda self, memo: Writable(self.current),
        "__reduce__": _refuse_pickle,
        "__array_ufunc__": _ufunc,
        "__array_function__": _function,
        "__array__": lambda self, *args, **kwargs: np.asarray(self.current, *args, **kwargs),
        "__getattr__": _get_attribute,
        "astype": lambda self, *args, **how: _same_or_made(self, lambda x: x.astype(*args, **how)),
        "conj": lambda self: _same_or_made(self, lambda x: x.conj()),
        "conjugate": lambda self: _same_or_made(self, lambda x: x.conj()),
        "copy": lambda self, order="C": copy(self.current, order),
        "fill": _fill,
        "sort": _sort,
        "partition": _partition,
        "put": _put,
        "writable": lambda self: self,
        **{name: _refuse(name) for name in ("resize", "itemset", "byteswap")},
        "__repr__": lambda self: f"Writable({self.current!r})",
        "__hash__": None,
    }
    for name in _BINARY_OPERATORS:
        methods[f"__{name}__"] = _make_binary(name)
        methods[f"__r{name}__"] = _make_binary(name, reflected=True)
        methods[f"__i{name}__"] = _make_in_place(getattr(operator, name))
    methods |= {f"__{name}__": _make_binary(name) for name in _COMPARISON_OPERATORS}
    methods |= {f"__{name}__": _make_unary(getattr(operator, name)) for name in _UNARY_OPERATORS}
    SPECIAL_METHODS.update({name: method for name, method in methods.items() if name[:2] == "__"})
    for name in ("__getattr__", "__hash__"):
        del SPECIAL_METHODS[name]
    return methods


def writes_to_nodes() -> dict[str, Any]:
    """Return the methods that write to nodes, by name; a scalar is replaced."""
    changes: dict[str, Any] = {"__setitem__": _set_node, "writable": writable}
    for name in ("fill", "sort", "partition", "put"):
        changes[name] = _forward_to_array(name)
    for name in _BINARY_OPERATORS:
        changes[f"__i{name}__"] = _make_augmented(f"__i{name}__", getattr(operator, name))
    return changes


def _set_node(self: Traced, index: Any, value: Any) -> None:
    drawn = random_call_error(self)
    if drawn:
        raise drawn
    _set(self.writable(), index, value)


def _forward_to_array(name: str) -> Callable[..., Any]:
    return lambda self, *args, **how: getattr(self.writable(), name)(*args, **how)


def _make_augmented(name: str, function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return an operator such as +=, which changes an array and replaces a scalar."""
    quick: Callable[..., Any] = BINARY.get(name[3:-2], function)

    def change(self: Traced, other: Any) -> Any:
        if type(self) in NODES and type(self.value) in _SCALARS:
            return quick(self, other)
        if not shape_of(self):
            return function(self, other)
        getattr(self.writable(), name)(other)
        return self

    return change
