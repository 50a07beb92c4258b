"""The methods and attributes of arrays, on nodes."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from simpleautodiff.arrays.registry import (
    AS_THEY_ARE,
    FUNCTIONS,
    METHOD_NAMES,
    Function,
    array_function,
    as_array,
    method_of,
)
from simpleautodiff.arrays.scipy.scipy_sparse import is_sparse, multiply_from_left
from simpleautodiff.arrays.shaping import (
    astype_,
    matrix_transpose,
    ravel,
    reshape_,
    transpose_,
)
from simpleautodiff.arrays.ufuncs import array_ufunc
from simpleautodiff.arrays.writes.example_indices import is_plain_index, is_single, to_plain_index
from simpleautodiff.arrays.writes.views import note
from simpleautodiff.arrays.writes.writable import flat_view, get_item
from simpleautodiff.core.level import to_plain
from simpleautodiff.core.node import Hand
from simpleautodiff.errors import (
    ArgumentError,
    LostDerivativeError,
    PlainAttributeError,
    cite_line,
)
from simpleautodiff.rules.array.indexing import find_batches, flat_indices, getitem
from simpleautodiff.rules.array.products import matmul
from simpleautodiff.rules.array.shapes import reshape, shape_of, transpose
from simpleautodiff.rules.decisions import as_operand
from simpleautodiff.rules.scalar.complex_parts import conj, imag, real
from simpleautodiff.values.functions import is_complex


def _index(self: Any, index: Any) -> Any:
    if type(index) is not int and not is_plain_index(index):
        index = to_plain_index(index)
        if isinstance(index, tuple) and find_batches(index):
            part = getitem(reshape(self, (-1,)), flat_indices(index, shape_of(self)))
            if is_single(index) and shape_of(part):
                note(part, self, lambda array: get_item(array, index))
            return part
    plain = self.value
    is_array = plain.ndim if type(plain) is np.ndarray else shape_of(self)
    return getitem(self, index) if is_array else _index_number(self, index)


def _index_number(self: Any, index: Any) -> Any:
    try:
        new = np.empty((), bool)[index].shape
    except IndexError:
        raise TypeError(f"{self!r} is a single number, not an array") from None
    if 0 in new:  # the mask False
        return reshape(getitem(reshape(self, (1,)), slice(0)), new)
    return reshape(self, new) if new else self


def _length(self: Any) -> int:
    if not shape_of(self):
        raise TypeError(f"{self!r} is a single number, not an array")
    return shape_of(self)[0]


class _SingleNumberError(PlainAttributeError, TypeError):
    """A single number has no length."""


class _Length:
    """`__len__` of arrays alone: ``hasattr(x, "__len__")`` answers as for the value of a node."""

    def __get__(self, node: Any, owner: Any = None) -> Any:
        if node is None:
            return self
        if not shape_of(node) and not isinstance(to_plain(node), np.ndarray):
            raise _SingleNumberError(f"{node!r} is a single number, not an array")
        return partial(_length, node)


def _iterate(self: Any) -> Any:
    return (self[i] for i in range(_length(self)))  # the array may be written to meanwhile


def _shape_method(function: Function) -> Function:
    def method(self: Any, *given: Any, **kwargs: Any) -> Any:
        one = len(given) == 1 and not isinstance(given[0], (int, np.integer))
        return function(self, given[0] if one else given or None, **kwargs)

    return method


def _item(self: Any, *position: Any) -> Any:
    """Return one element; it is a node, so its derivative is not lost."""
    if not position and int(np.prod(shape_of(self), dtype=int)) != 1:
        raise ArgumentError(f"x.item() needs an array of one element, not {shape_of(self)}")
    if len(position) > 1 or (position and isinstance(position[0], tuple)):
        return _index(self, position if len(position) > 1 else position[0])
    return getitem(ravel(self), int(position[0]) if position else 0) if shape_of(self) else self


def _to_list(self: Any) -> Any:
    return [_to_list(part) for part in self] if shape_of(self) else self


def _times(self: Any, other: Any) -> Any:
    if type(other) in AS_THEY_ARE:
        return matmul(self, other)
    return multiply_from_left(self, other) if is_sparse(other) else matmul(self, as_array(other))


def _flat(self: Any) -> Any:
    """Return all elements as a vector; writing to it writes to them."""
    written = shape_of(self) and not isinstance(self.level, Hand)
    return flat_view(self.writable()) if written else ravel(self)


def _make_setter(name: str) -> Function:
    return lambda self, new: setattr(self.writable(), name, new)


def _refuse_attribute(name: str) -> Any:
    def refuse(self: Any) -> Any:
        raise PlainAttributeError(
            f"x.{name} of a node would drop its derivative; use x.value.{name}{cite_line()}"
        )

    return property(refuse)


def _refuse_method(call: str, instead: str, why: str = "would drop its derivative") -> Function:
    def refuse(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise LostDerivativeError(f"x.{call} of a node {why}; {instead}{cite_line()}")

    return refuse


_refuse_view = _refuse_method("view()", "use x.astype(dtype), x.real or x.imag")


def _view(self: Any, *args: Any, **kwargs: Any) -> Any:
    """Return a view of an array as it is; refuse another dtype, which would read its bytes."""
    return _refuse_view(self) if args or kwargs or not shape_of(self) else self[...]


def _refuse_foreign_name(name: str, instead: str) -> Any:
    """Refuse an attribute of another library's nodes; `hasattr` returns False."""

    def refuse(self: Any, *new: Any) -> Any:
        raise PlainAttributeError(f"a node has no {name}: {instead}{cite_line()}")

    return property(refuse, refuse)


_RETURNED = (
    "derivatives are returned, not stored. Of nodes typed by hand write bar = reverse(y), then "
    "bar[x]; of a function, grad(f)(x)"
)
FOREIGN_NAMES = {  # of PyTorch's tensors and other libraries' nodes: what to write
    "backward": _RETURNED,
    "grad": _RETURNED,
    "gradient": _RETURNED,
    "zero_grad": "every sweep starts from 0, so there is nothing to reset",
    "requires_grad": "every Node is differentiated, and so is what grad(f, argnums) selects",
    "detach": "write stop_gradient(x), or x.value for the plain number",
    "numpy": "x.value is the plain number or array, without its derivative",
}


def _conjugate(self: Any) -> Any:
    """Return the complex conjugate; real numbers are returned themselves, as by NumPy."""
    return conj(self) if is_complex(to_plain(self)) else self


ARRAY_METHODS: dict[str, Any] = {name: method_of(getattr(np, name)) for name in METHOD_NAMES}
ARRAY_METHODS |= {
    name: property(lambda self, name=name: getattr(np.asarray(to_plain(self)), name))  # type: ignore[misc]
    for name in ("itemsize", "nbytes", "strides", "flags", "device")
}
ARRAY_METHODS |= {
    "resize": _refuse_method("resize()", "it changes x in place; write x = np.resize(x, shape)"),
    "view": _view,
    "byteswap": _refuse_method("byteswap()", "use x.value.byteswap()"),
    "setflags": _refuse_method("setflags()", "use x.copy() to keep x as it is", "has no effect"),
    "as_integer_ratio": _refuse_method(
        "as_integer_ratio()",
        "for statistics.mean(x) write np.mean(x), for its stdev and variance np.std and np.var "
        "with ddof=1, and for fractions.Fraction(x), which is a plain number, "
        "fractions.Fraction(x.value); x.value.as_integer_ratio() is that of the plain number",
    ),
    "is_integer": lambda self: bool(self == np.floor(self)),
    "hex": _refuse_method("hex()", "use x.value.hex()"),
    **{name: _refuse_attribute(name) for name in ("data", "ctypes", "base")},
    **{name: _refuse_attribute(name) for name in ("__dlpack__", "__dlpack_device__")},
    **{name: _refuse_foreign_name(name, instead) for name, instead in FOREIGN_NAMES.items()},
    "tobytes": _refuse_method("tobytes()", "use x.value.tobytes()"),
    "copy": lambda self, order="C": FUNCTIONS[np.copy](self, order),
    "reshape": _shape_method(reshape_),
    "transpose": _shape_method(transpose_),
    "flatten": lambda self, order="C": FUNCTIONS[np.copy](ravel(self, order)),
    "flat": property(_flat, _make_setter("flat")),
    "astype": astype_,
    "compress": lambda self, condition, axis=None: np.compress(condition, self, axis),
    "choose": lambda self, choices, mode="raise": np.choose(to_plain(self), choices, mode=mode),
    "item": _item,
    "tolist": _to_list,
    "shape": property(shape_of, _refuse_method("shape = ...", "write x = x.reshape(...)")),
    "ndim": property(lambda self: len(shape_of(self))),
    "size": property(lambda self: int(np.prod(shape_of(self), dtype=int))),
    "dtype": property(lambda self: np.result_type(to_plain(self))),
    "real": property(lambda self: real(self), _make_setter("real")),
    "imag": property(lambda self: imag(self), _make_setter("imag")),
    "conj": _conjugate,
    "conjugate": _conjugate,
    "T": property(lambda self: transpose(self, None)),
    "mT": property(matrix_transpose),
    "_value": property(lambda self: self.value),  # as HIPS autograd calls it
    "__getitem__": _index,
    "__len__": _Length(),
    "__iter__": _iterate,
    "__contains__": lambda self, value: bool(np.any(as_operand(self) == to_plain(value))),
    "__array_function__": array_function,
    "__array_ufunc__": array_ufunc,
    "__matmul__": _times,
    "__rmatmul__": lambda self, other: matmul(as_array(other), self),
}
