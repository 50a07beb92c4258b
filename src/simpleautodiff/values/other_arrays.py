"""Arrays of other libraries (PyTorch, JAX, CuPy, Dask, ...) behind NumPy's ways of asking.

`Foreign` gives an array of any library that follows the array API standard NumPy's operators and
the two protocols by which NumPy asks others, so that rows written for NumPy compute with it. What
NumPy arrays and numbers it meets become arrays of the same library on the same device.
"""

from __future__ import annotations

import importlib
import math
import operator
from collections.abc import Callable, Iterator
from typing import Any, final

import numpy as np

from simpleautodiff.errors import MissingExtraError, RuleError, ValueKindError, cite_line

_LIBRARIES = {"torch", "jax", "jaxlib", "cupy", "dask", "array_api_strict"}
_OTHER_NAMES = {  # what the standard calls a ufunc of NumPy
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
_BY_HAND: dict[str, Callable[..., Any]] = {  # what the standard does not have
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


_KNOWN: dict[type, bool] = {}  # kinds met so far, and whether they are arrays of other libraries


def is_foreign(value: Any) -> bool:
    """Tell arrays of other libraries from numbers and NumPy's arrays."""
    kind = type(value)
    if kind not in _KNOWN:
        root = kind.__module__.partition(".")[0]
        standard = hasattr(kind, "__array_namespace__")
        _KNOWN[kind] = hasattr(kind, "shape") and (
            root in _LIBRARIES or (standard and root not in ("numpy", "simpleautodiff"))
        )
    return _KNOWN[kind]


def wrapped(array: Any) -> Foreign:
    """Return an array of another library behind NumPy's ways of asking."""
    try:
        from array_api_compat import array_namespace
    except ImportError:
        raise MissingExtraError(
            f"arrays of {type(array).__module__.partition('.')[0]} need array-api-compat, which is "
            "not installed: pip install array-api-compat"
        ) from None
    return Foreign(array, array_namespace(array))


def outward(value: Any) -> Any:
    """Return a result as the user's own library has it."""
    return value.array if type(value) is Foreign else value


@final
class Foreign:
    """An array of another library, asked in NumPy's ways."""

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
        """The kind of number, as NumPy names it."""
        name = str(self.array.dtype).rpartition(".")[2]
        try:
            return np.dtype(name)
        except TypeError:
            raise ValueKindError(
                f"NumPy has no kind of number {name}; convert the array to float32 "
                f"first{cite_line()}"
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
        """Return the complex conjugates; of real numbers themselves."""
        return Foreign(self.xp.conj(self.array), self.xp) if self.dtype.kind == "c" else self

    def astype(self, dtype: Any, copy: bool = True) -> Foreign:
        """Return the array in another kind of number."""
        if np.dtype(dtype) == self.dtype:
            return self
        return Foreign(self.xp.astype(self.array, self.kind(dtype)), self.xp)

    def kind(self, dtype: Any) -> Any:
        """Return a kind of number of NumPy as the library names it."""
        name = np.dtype(dtype).name
        if self.library in ("jax", "jaxlib"):  # which may have been told to do without 64 bits
            name = self.xp.zeros(0, np.dtype(dtype).type).dtype.name if "64" in name else name
        return getattr(self.xp, name)

    def zeros(self) -> Foreign:
        """Return zeros of the same shape and kind, on the same device."""
        return Foreign(self.xp.zeros_like(self.array), self.xp)

    def numpy(self) -> Any:
        """Return a plain array of NumPy."""
        array = self.array.detach().cpu() if self.library == "torch" else self.array
        array = array.get() if self.library == "cupy" else array
        return np.asarray(array)

    def own(self, x: Any) -> Any:
        """Return a number or an array of NumPy as an array of this library, on this device."""
        if type(x) is Foreign:
            return x.array
        if isinstance(x, (bool, int, float, complex, np.generic)):
            number = x.item() if isinstance(x, np.generic) else x
            kind = self._kind_for(number)
            return self.xp.asarray(number, dtype=kind, **self._device())
        if isinstance(x, (np.ndarray, list)):
            plain = np.array(x)  # PyTorch does not take arrays that cannot be written to
            return self.xp.asarray(plain, dtype=self.kind(plain.dtype), **self._device())
        return x

    def _kind_for(self, number: Any) -> Any:
        """Return the kind that a Python number takes beside this array."""
        if isinstance(number, bool):
            return self.kind(bool)
        if isinstance(number, complex) and self.dtype.kind != "c":
            return self.kind(np.result_type(self.dtype, np.complex64))
        if isinstance(number, float) and self.dtype.kind in "biu":
            return self.kind(np.float64)
        return self.array.dtype if self.dtype.kind != "b" else self.kind(np.int64)

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
        return self._taken(_places(index, self.shape))

    def _flat(self) -> Foreign:
        return Foreign(self._reshaped(self.array, (-1,)), self.xp)

    def _taken(self, places: Any) -> Foreign:
        """Return the elements at places counted through the flattened array."""
        flat = self._flat().array
        if self.library == "dask":
            taken = flat[places.ravel()]
        else:
            taken = self.xp.take(flat, self.own(places.ravel()), axis=0)
        return Foreign(self._reshaped(taken, places.shape), self.xp)

    def _reshaped(self, array: Any, new: tuple[int, ...]) -> Any:
        try:
            return self.xp.reshape(array, new)
        except NotImplementedError:  # Dask, where the chunks do not fit the new shape
            return self.xp.reshape(array.rechunk(-1), new)

    def reshape(self, new: tuple[int, ...]) -> Foreign:
        """Return the same elements in another shape."""
        return Foreign(self._reshaped(self.array, new), self.xp)

    def scattered(self, index: Any, new: tuple[int, ...]) -> Foreign:
        """Return zeros of shape `new` with this array at `index`, where equal places add up."""
        places, size = _places(index, new).ravel(), math.prod(new)
        flat, zeros = self._flat(), self.xp.zeros((size,), dtype=self.array.dtype, **self._device())
        if self.library in ("jax", "jaxlib"):
            total = zeros.at[places].add(flat.array)
        elif self.library == "torch":
            total = zeros.index_add(0, self.own(places), flat.array)
        elif self.library == "cupy":
            total = zeros
            self.xp.add.at(total, self.own(places), flat.array)
        elif np.unique(places).size == places.size:
            return Foreign(zeros, self.xp).with_item(flat, places).reshape(new)
        else:
            chosen = self.own((places[:, None] == np.arange(size)).astype(self.dtype))
            total = self.xp.matmul(flat.array, chosen)
        return Foreign(self._reshaped(total, new), self.xp)

    def with_item(self, value: Any, index: Any) -> Foreign:
        """Return a copy in which `index` has another value: all elements chosen from both."""
        places = _places(index, self.shape)
        new = Foreign(self.own(value), self.xp).astype(self.dtype)
        new = Foreign(self.xp.broadcast_to(new.array, places.shape), self.xp)
        source = np.arange(math.prod(self.shape))
        source[places.ravel()] = source.size + np.arange(places.size)
        both = self.xp.concat([self._flat().array, new._flat().array])
        return Foreign(both, self.xp)._taken(source.reshape(self.shape))

    def __int__(self) -> int:
        return int(self.array)

    def __float__(self) -> float:
        return float(self.array)

    def __index__(self) -> int:
        if self.shape:  # PyTorch and Dask would take an array of one number for it
            raise TypeError("only a single whole number can be an index")
        return operator.index(self.array)

    def __bool__(self) -> bool:
        return bool(self.array)

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Foreign]:
        if not self.shape:
            raise TypeError("a single number cannot be iterated over")
        return (self[i] for i in range(len(self)))  # JAX would take the last beyond the end

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        return np.asarray(self.numpy(), *args)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if any(hasattr(x, "level") for x in inputs):
            return NotImplemented  # a node or a batch among them is to be asked
        if method != "__call__" or any(value is not None for value in kwargs.values()):
            raise RuleError(
                f"arrays of {self.library} have no np.{ufunc.__name__}.{method} with "
                f"{', '.join(kwargs) or 'these arguments'}{cite_line()}"
            )
        function = self._function(ufunc)
        result = function(*self._promoted(inputs, ufunc.__name__))
        if ufunc.nout == 1:
            return Foreign(result, self.xp)
        return tuple([Foreign(part, self.xp) for part in result])

    def _promoted(self, inputs: tuple[Any, ...], name: str) -> list[Any]:
        """Return arrays of one kind, as the standard asks for."""
        first = next(x for x in inputs if type(x) is Foreign)
        arrays = [Foreign(first.own(x), self.xp) for x in inputs]
        kind = np.result_type(*[x.dtype for x in arrays])
        if kind.kind in "biu" and name in _OF_FLOATS:
            kind = np.result_type(kind, np.float64)
        return [x.astype(kind).array for x in arrays]

    def _function(self, ufunc: np.ufunc) -> Callable[..., Any]:
        """Return the library's own function for a ufunc; SciPy's on plain arrays if it has none."""
        name = ufunc.__name__
        found = getattr(self.xp, _OTHER_NAMES.get(name, name), None) or _special(self.library, name)
        if found is not None:
            return found
        if name in _BY_HAND:
            return lambda *xs: _BY_HAND[name](self.xp, *xs)
        if self.library == "dask":
            return ufunc
        return lambda *xs: self._own_results(ufunc(*[Foreign(x, self.xp).numpy() for x in xs]))

    def _own_results(self, result: Any) -> Any:
        return tuple(map(self.own, result)) if isinstance(result, tuple) else self.own(result)

    def __repr__(self) -> str:
        return f"Foreign({self.array!r})"


_OF_FLOATS = {"divide", "true_divide", "sqrt", "exp", "log", "sin", "cos", "tanh", "float_power"}


def _places(index: Any, full: tuple[int, ...]) -> Any:
    """Return the places that an index chooses, counted through an array of a given shape."""
    parts = index if isinstance(index, tuple) else (index,)
    plain = tuple([wrapped(p).numpy() if is_foreign(p) else p for p in parts])
    plain = tuple([p.numpy() if type(p) is Foreign else p for p in plain])
    return np.arange(math.prod(full)).reshape(full)[plain if isinstance(index, tuple) else plain[0]]


def _special(library: str, name: str) -> Callable[..., Any] | None:
    """Return the library's own special function of a name, if it has one."""
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
    """Give the operators: each is a ufunc of NumPy."""
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
        setattr(Foreign, f"__{name}__", lambda self, other, f=ufunc: _ask(f, self, other))
        setattr(Foreign, f"__r{name}__", lambda self, other, f=ufunc: _ask(f, other, self))
    unary = {"neg": np.negative, "pos": np.positive, "abs": np.absolute, "invert": np.invert}
    for name, ufunc in unary.items():
        setattr(Foreign, f"__{name}__", lambda self, f=ufunc: f(self))


def _ask(ufunc: Any, a: Any, b: Any) -> Any:
    """Apply an operator, unless the other operand wants to be asked first."""
    for x in (a, b):
        if type(x) is not Foreign and hasattr(x, "level"):
            return NotImplemented
    return ufunc(a, b)


_install()
