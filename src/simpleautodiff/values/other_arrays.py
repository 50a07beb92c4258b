"""Arrays of other libraries (PyTorch, JAX, CuPy, Dask, ...) behind NumPy's interface.

`Foreign` gives an array of any library that follows the array API standard NumPy's operators and
NumPy's two dispatch protocols, so that rows written for NumPy compute with it. NumPy arrays and
numbers combined with it become arrays of the same library on the same device.
"""

from __future__ import annotations

import importlib
import math
import operator
from collections.abc import Callable, Iterator
from typing import Any, final

import numpy as np

from simpleautodiff.errors import MissingExtraError, RuleError, ValueKindError, cite_line
from simpleautodiff.values.libraries import library_of

ARRAY_LIBRARIES = {"torch", "jax", "jaxlib", "cupy", "dask", "array_api_strict"}
_STANDARD_NAMES = {  # the standard's name for a ufunc of NumPy
    "absolute": "abs",
    "fabs": "abs",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "conjugate": "conj",
    "invert": "bitwise_invert",
    "power": "pow",
    "float_power": "pow",
    "rint": "round",
}
_MISSING_UFUNCS: dict[str, Callable[..., Any]] = {  # ufuncs that the standard lacks
    "cbrt": lambda xp, x: xp.sign(x) * xp.abs(x) ** (1 / 3),
    "exp2": lambda xp, x: xp.exp(x * float(np.log(2.0))),
    "reciprocal": lambda xp, x: 1 / x,
    "square": lambda xp, x: x * x,
    "deg2rad": lambda xp, x: x * (np.pi / 180),
    "rad2deg": lambda xp, x: x * (180 / np.pi),
    "fmax": lambda xp, x, y: xp.where(xp.isnan(x), y, xp.where(xp.isnan(y), x, xp.maximum(x, y))),
    "fmin": lambda xp, x, y: xp.where(xp.isnan(x), y, xp.where(xp.isnan(y), x, xp.minimum(x, y))),
    "logaddexp2": lambda xp, x, y: (
        xp.logaddexp(x * float(np.log(2.0)), y * float(np.log(2.0))) / float(np.log(2.0))
    ),
}


_IS_FOREIGN: dict[type, bool] = {}  # by type, once it has been seen


def is_foreign(value: Any) -> bool:
    """Tell whether a value is an array of another library than NumPy."""
    kind = type(value)
    if kind not in _IS_FOREIGN:
        root = kind.__module__.partition(".")[0]
        standard = hasattr(kind, "__array_namespace__")
        _IS_FOREIGN[kind] = hasattr(kind, "shape") and (
            root in ARRAY_LIBRARIES
            or (standard and library_of(kind) not in ("numpy", "simpleautodiff"))
        )
    return _IS_FOREIGN[kind]


def wrap_foreign(array: Any) -> Foreign:
    """Wrap an array of another library."""
    try:
        from array_api_compat import array_namespace
    except ImportError:
        raise MissingExtraError(
            f"arrays of {type(array).__module__.partition('.')[0]} need array-api-compat, which is "
            "not installed: pip install array-api-compat"
        ) from None
    return Foreign(array, array_namespace(array))


def unwrap_foreign(value: Any) -> Any:
    """Unwrap a result: return the other library's own array."""
    return value.array if type(value) is Foreign else value


def read_foreign(value: Any) -> Any:
    """Return an array of another library as NumPy's, to be shown; Dask's stays as it is."""
    return value.numpy() if type(value) is Foreign and value.library != "dask" else value


@final
class Foreign:
    """An array of another library with NumPy's interface."""

    __slots__ = ("array", "xp")
    array_like = True
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, array: Any, xp: Any) -> None:
        self.array = array
        self.xp = xp
        if any(not isinstance(n, int) for n in array.shape):
            raise ValueKindError(
                f"an array of unknown shape {array.shape} cannot be differentiated; call "
                f".compute_chunk_sizes() on it first{cite_line()}"
            )

    @property
    def library(self) -> str:
        """The name of the library, for messages."""
        return type(self.array).__module__.partition(".")[0]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape."""
        return tuple(self.array.shape)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.array.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype, as NumPy's."""
        name = str(self.array.dtype).rpartition(".")[2]
        try:
            return np.dtype(name)
        except TypeError:
            raise ValueKindError(
                f"NumPy has no dtype {name}; convert the array to float32 first{cite_line()}"
            ) from None

    @property
    def real(self) -> Foreign:
        """The real parts."""
        return Foreign(self.xp.real(self.array), self.xp)

    @property
    def imag(self) -> Foreign:
        """The imaginary parts."""
        return Foreign(self.xp.imag(self.array), self.xp)

    @property
    def T(self) -> Foreign:
        """The array with its axes reversed."""
        return Foreign(self.xp.permute_dims(self.array, tuple(range(self.ndim))[::-1]), self.xp)

    def conjugate(self) -> Foreign:
        """Return the complex conjugates; for real numbers, themselves."""
        return Foreign(self.xp.conj(self.array), self.xp) if self.dtype.kind == "c" else self

    def astype(self, dtype: Any, copy: bool = True) -> Foreign:
        """Return the array in another dtype."""
        if np.dtype(dtype) == self.dtype:
            return self
        return Foreign(self.xp.astype(self.array, self.native_dtype(dtype)), self.xp)

    def native_dtype(self, dtype: Any) -> Any:
        """Return the library's dtype for one of NumPy's."""
        name = np.dtype(dtype).name
        if self.library in ("jax", "jaxlib"):  # JAX may be configured without 64 bits
            name = self.xp.zeros(0, np.dtype(dtype).type).dtype.name if "64" in name else name
        return getattr(self.xp, name)

    def zeros(self) -> Foreign:
        """Return zeros of the same shape and dtype, on the same device."""
        return Foreign(self.xp.zeros_like(self.array), self.xp)

    def numpy(self) -> Any:
        """Return a NumPy array."""
        array = self.array.detach().cpu() if self.library == "torch" else self.array
        array = array.get() if self.library == "cupy" else array
        return np.asarray(array)

    def convert(self, x: Any) -> Any:
        """Convert a number or a NumPy array to an array of this library, on this device."""
        if type(x) is Foreign:
            return x.array
        if isinstance(x, (bool, int, float, complex, np.generic)):
            number = x.item() if isinstance(x, np.generic) else x
            kind = self._dtype_for(number)
            return self.xp.asarray(number, dtype=kind, **self._device())
        if isinstance(x, (np.ndarray, list)):
            plain = np.array(x)  # PyTorch rejects read-only arrays
            return self.xp.asarray(plain, dtype=self.native_dtype(plain.dtype), **self._device())
        return x

    def _dtype_for(self, number: Any) -> Any:
        """Return the dtype that a Python number takes beside this array."""
        if isinstance(number, bool):
            return self.native_dtype(bool)
        if isinstance(number, complex) and self.dtype.kind != "c":
            return self.native_dtype(np.result_type(self.dtype, np.complex64))
        if isinstance(number, float) and self.dtype.kind in "biu":
            return self.native_dtype(np.float64)
        return self.array.dtype if self.dtype.kind != "b" else self.native_dtype(np.int64)

    def _device(self) -> dict[str, Any]:
        device = getattr(self.array, "device", None)
        return (
            {}
            if device is None or self.library in ("dask", "jax", "jaxlib")
            else {"device": device}
        )

    def __getitem__(self, index: Any) -> Foreign:
        parts = list(index) if isinstance(index, tuple) else [index]
        basic = all(p is None or p is ... or isinstance(p, (int, slice)) for p in parts)
        if basic and not any(isinstance(p, slice) and (p.step or 1) < 0 for p in parts):
            parts += [] if ... in parts else [...]
            return Foreign(self.array[tuple(parts)], self.xp)
        return self._take(_flat_indices(index, self.shape))

    def _flat(self) -> Foreign:
        return Foreign(self._reshape(self.array, (-1,)), self.xp)

    def _take(self, indices: Any) -> Foreign:
        """Return the elements at flat indices."""
        flat = self._flat().array
        if self.library == "dask":
            taken = flat[indices.ravel()]
        else:
            taken = self.xp.take(flat, self.convert(indices.ravel()), axis=0)
        return Foreign(self._reshape(taken, indices.shape), self.xp)

    def _reshape(self, array: Any, new: tuple[int, ...]) -> Any:
        try:
            return self.xp.reshape(array, new)
        except NotImplementedError:  # Dask raises it if the chunks do not fit the new shape
            return self.xp.reshape(array.rechunk(-1), new)

    def reshape(self, new: tuple[int, ...]) -> Foreign:
        """Return the same elements in another shape."""
        return Foreign(self._reshape(self.array, new), self.xp)

    def scatter(self, index: Any, new: tuple[int, ...]) -> Foreign:
        """Return zeros of shape `new` with this array at `index`; repeated indices add up."""
        indices, size = _flat_indices(index, new).ravel(), math.prod(new)
        flat, zeros = self._flat(), self.xp.zeros((size,), dtype=self.array.dtype, **self._device())
        if self.library in ("jax", "jaxlib"):
            total = zeros.at[indices].add(flat.array)
        elif self.library == "torch":
            total = zeros.index_add(0, self.convert(indices), flat.array)
        elif self.library == "cupy":
            total = zeros
            self.xp.add.at(total, self.convert(indices), flat.array)
        elif np.unique(indices).size == indices.size:
            return Foreign(zeros, self.xp).with_item(flat, indices).reshape(new)
        else:
            chosen = self.convert((indices[:, None] == np.arange(size)).astype(self.dtype))
            total = self.xp.matmul(flat.array, chosen)
        return Foreign(self._reshape(total, new), self.xp)

    def with_item(self, value: Any, index: Any) -> Foreign:
        """Return a copy with `value` at `index`: all elements selected from the two."""
        indices = _flat_indices(index, self.shape)
        new = Foreign(self.convert(value), self.xp).astype(self.dtype)
        new = Foreign(self.xp.broadcast_to(new.array, indices.shape), self.xp)
        source = np.arange(math.prod(self.shape))
        source[indices.ravel()] = source.size + np.arange(indices.size)
        both = self.xp.concat([self._flat().array, new._flat().array])
        return Foreign(both, self.xp)._take(source.reshape(self.shape))

    def __int__(self) -> int:
        return int(self.array)

    def __float__(self) -> float:
        return float(self.array)

    def __index__(self) -> int:
        if self.shape:  # PyTorch and Dask would accept an array of one element
            raise TypeError("only a single integer can be an index")
        return operator.index(self.array)

    def __bool__(self) -> bool:
        return bool(self.array)

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Foreign]:
        if not self.shape:
            raise TypeError("a single number cannot be iterated over")
        return (self[i] for i in range(len(self)))  # JAX clamps an index beyond the end

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        return np.asarray(self.numpy(), *args)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if any(hasattr(x, "level") for x in inputs):
            return NotImplemented  # a node or a batch among them handles the call
        if method != "__call__" or any(value is not None for value in kwargs.values()):
            raise RuleError(
                f"arrays of {self.library} have no np.{ufunc.__name__}.{method} with "
                f"{', '.join(kwargs) or 'these arguments'}{cite_line()}"
            )
        function = self._function(ufunc)
        result = function(*self.promote(inputs, ufunc.__name__))
        if ufunc.nout == 1:
            return Foreign(result, self.xp)
        return tuple([Foreign(part, self.xp) for part in result])

    def promote(self, inputs: tuple[Any, ...], name: str) -> list[Any]:
        """Return arrays of one dtype, as the standard requires."""
        first = next(x for x in inputs if type(x) is Foreign)
        arrays = [Foreign(first.convert(x), self.xp) for x in inputs]
        dtype = np.result_type(*[x.dtype for x in arrays])
        if dtype.kind in "biu" and name in _FLOAT_UFUNCS:
            dtype = np.result_type(dtype, np.float64)
        return [x.astype(dtype).array for x in arrays]

    def _function(self, ufunc: np.ufunc) -> Callable[..., Any]:
        """Return the library's own function for a ufunc, or SciPy's on plain arrays."""
        name = ufunc.__name__
        found = getattr(self.xp, _STANDARD_NAMES.get(name, name), None) or _special(
            self.library, name
        )
        if found is not None:
            return found
        if name in _MISSING_UFUNCS:
            return lambda *xs: _MISSING_UFUNCS[name](self.xp, *xs)
        if self.library == "dask":
            return ufunc
        return lambda *xs: self._wrap_results(ufunc(*[Foreign(x, self.xp).numpy() for x in xs]))

    def _wrap_results(self, result: Any) -> Any:
        return (
            tuple(map(self.convert, result)) if isinstance(result, tuple) else self.convert(result)
        )

    def __repr__(self) -> str:
        return repr(self.array)


_FLOAT_UFUNCS = {"divide", "true_divide", "sqrt", "exp", "log", "sin", "cos", "tanh", "float_power"}


def _flat_indices(index: Any, full: tuple[int, ...]) -> Any:
    """Return the flat indices that an index selects from an array of a given shape."""
    parts = index if isinstance(index, tuple) else (index,)
    plain = tuple([wrap_foreign(p).numpy() if is_foreign(p) else p for p in parts])
    plain = tuple([p.numpy() if type(p) is Foreign else p for p in plain])
    return np.arange(math.prod(full)).reshape(full)[plain if isinstance(index, tuple) else plain[0]]


def _special(library: str, name: str) -> Callable[..., Any] | None:
    """Return the library's own special function of a name, or None."""
    modules = {
        "torch": "torch.special",
        "cupy": "cupyx.scipy.special",
        "jax": "jax.scipy.special",
        "jaxlib": "jax.scipy.special",
    }
    if library not in modules:
        return None
    name = "digamma" if name == "psi" else name
    return getattr(importlib.import_module(modules[library]), name, None)


def _install() -> None:
    """Install the operators: each is a ufunc of NumPy."""
    binary = {
        "add": np.add,
        "sub": np.subtract,
        "mul": np.multiply,
        "truediv": np.divide,
        "floordiv": np.floor_divide,
        "mod": np.remainder,
        "pow": np.power,
        "matmul": np.matmul,
        "and": np.bitwise_and,
        "or": np.bitwise_or,
        "xor": np.bitwise_xor,
        "lt": np.less,
        "le": np.less_equal,
        "gt": np.greater,
        "ge": np.greater_equal,
        "eq": np.equal,
        "ne": np.not_equal,
    }
    for name, ufunc in binary.items():
        setattr(Foreign, f"__{name}__", lambda self, other, f=ufunc: _apply(f, self, other))
        setattr(Foreign, f"__r{name}__", lambda self, other, f=ufunc: _apply(f, other, self))
    unary = {"neg": np.negative, "pos": np.positive, "abs": np.absolute, "invert": np.invert}
    for name, ufunc in unary.items():
        setattr(Foreign, f"__{name}__", lambda self, f=ufunc: f(self))


def _apply(ufunc: Any, a: Any, b: Any) -> Any:
    """Apply an operator, unless the other operand takes precedence."""
    for x in (a, b):
        if type(x) is not Foreign and hasattr(x, "level"):
            return NotImplemented
    return ufunc(a, b)


_install()
