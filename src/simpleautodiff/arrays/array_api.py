"""NumPy's functions on arrays of other libraries, by the array API standard.

The kernels here are those that the rows of primitives call. Every other function of NumPy runs the
implementation that nodes use, which is made of these.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from simpleautodiff.arrays.operators import COMPARISONS
from simpleautodiff.arrays.registry import FUNCTIONS, array_function
from simpleautodiff.arrays.torch_functional import FUNCTIONAL
from simpleautodiff.errors import RuleError, cite_line
from simpleautodiff.rules.array.linear_systems import symmetrize
from simpleautodiff.rules.scalar import exponential as elementary, special
from simpleautodiff.values.other_arrays import Foreign
from simpleautodiff.values.pytree import flatten, map_leaves

ArrayKernel = Callable[..., Any]
_KERNELS: dict[Any, ArrayKernel] = {}


def _register_kernel(*functions: Any) -> Callable[[ArrayKernel], ArrayKernel]:
    def register(kernel: ArrayKernel) -> ArrayKernel:
        _KERNELS.update(dict.fromkeys(functions, kernel))
        return kernel

    return register


def _find_foreign(args: Any) -> Foreign:
    return next(x for x in flatten(args)[0] if type(x) is Foreign)


_WITH_INITIAL = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}


def _make_reduction(name: str) -> ArrayKernel:
    def reduce(
        x: Foreign, axis: Any = None, keepdims: bool = False, initial: Any = None
    ) -> Foreign:
        if initial is not None and 0 in x.shape:  # the standard has no maximum of an empty array
            options = {"axis": axis, "keepdims": keepdims, "initial": initial}
            return Foreign(x.convert(np.asarray(getattr(np, name)(x.numpy(), **options))), x.xp)
        x = x.astype(np.int64) if x.dtype.kind == "b" and name in ("sum", "prod") else x
        result = Foreign(getattr(x.xp, name)(x.array, axis=axis, keepdims=keepdims), x.xp)
        return result if initial is None else _WITH_INITIAL[name](result, initial)

    return reduce


for _name in ("sum", "prod", "max", "min", "any", "all", "argmax", "argmin"):
    _KERNELS[getattr(np, _name)] = _make_reduction(_name)


@_register_kernel(np.reshape)
def _reshape(x: Foreign, shape: Any) -> Foreign:
    return x.reshape(np.empty(x.shape, bool).reshape(shape).shape)


@_register_kernel(np.transpose)
def _transpose(x: Foreign, axes: Any = None) -> Foreign:
    order = tuple(reversed(range(x.ndim))) if axes is None else tuple(axes)
    return Foreign(x.xp.permute_dims(x.array, order), x.xp)


@_register_kernel(np.broadcast_to)
def _broadcast_to(x: Foreign, shape: Any) -> Foreign:
    return Foreign(x.xp.broadcast_to(x.array, tuple(shape)), x.xp)


@_register_kernel(np.cumsum)
def _cumsum(x: Foreign, axis: int) -> Foreign:
    return Foreign(x.xp.cumulative_sum(x.array, axis=axis), x.xp)


@_register_kernel(np.concatenate)
def _concatenate(arrays: Any, axis: int = 0) -> Foreign:
    like = _find_foreign(list(arrays))
    dtype = np.result_type(*[x.dtype for x in arrays])
    parts = [Foreign(like.convert(x), like.xp).astype(dtype).array for x in arrays]
    return Foreign(like.xp.concat(parts, axis=axis), like.xp)


@_register_kernel(np.where)
def _where(condition: Any, x: Any, y: Any) -> Foreign:
    like = _find_foreign([v for v in (x, y, condition) if type(v) is Foreign])
    a, b = like.promote((x, y), "where") if like is not condition else _convert_branches(like, x, y)
    return Foreign(
        like.xp.where(Foreign(like.convert(condition), like.xp).astype(bool).array, a, b), like.xp
    )


def _convert_branches(condition: Foreign, x: Any, y: Any) -> tuple[Any, Any]:
    """Convert both branches to the library of the condition."""
    dtype = np.result_type(x, y)
    return condition.convert(np.asarray(x, dtype)), condition.convert(np.asarray(y, dtype))


@_register_kernel(np.einsum)
def _einsum(subscripts: str, *operands: Any, optimize: bool = False) -> Foreign:
    like = _find_foreign(list(operands))
    arrays = like.promote(operands, "einsum")
    if hasattr(like.xp, "einsum"):
        return Foreign(like.xp.einsum(subscripts, *arrays), like.xp)
    return _einsum_by_products(subscripts, arrays, like.xp)


def _einsum_by_products(subscripts: str, arrays: list[Any], xp: Any) -> Foreign:
    """Broadcast all factors to all letters, multiply, and sum over letters not in the output."""
    inputs, output = subscripts.split("->")
    letters = sorted(set(inputs) - {","})
    product: Any = None
    for term, array in zip(inputs.split(","), arrays, strict=True):
        while len(set(term)) < len(term):
            term, array = _diagonal(term, array, xp)
        order = sorted(range(len(term)), key=term.__getitem__)
        array = xp.permute_dims(array, tuple(order))
        sizes = iter(array.shape)
        array = xp.reshape(array, tuple(next(sizes) if c in term else 1 for c in letters))
        product = array if product is None else product * array
    total = xp.sum(product, axis=tuple(i for i, c in enumerate(letters) if c not in output))
    kept = [c for c in letters if c in output]
    return Foreign(xp.permute_dims(total, tuple(kept.index(c) for c in output)), xp)


def _diagonal(term: str, array: Any, xp: Any) -> tuple[str, Any]:
    """Take the diagonal of two axes that have the same letter."""
    letter = next(c for c in term if term.count(c) > 1)
    i, j = [k for k, c in enumerate(term) if c == letter][:2]
    rest = [k for k in range(len(term)) if k not in (i, j)]
    moved = xp.permute_dims(array, (*rest, i, j))
    return "".join(term[k] for k in rest) + letter, xp.linalg.diagonal(moved)


@_register_kernel(np.roll)
def _roll(x: Foreign, shift: Any, axis: Any) -> Foreign:
    return Foreign(x.xp.roll(x.array, tuple(shift), axis=tuple(axis)), x.xp)


@_register_kernel(np.argsort)
def _argsort(x: Foreign, axis: int = -1, kind: Any = None) -> Foreign:
    return Foreign(x.xp.argsort(x.array, axis=axis), x.xp)


@_register_kernel(np.zeros_like, np.empty_like)
def _zeros_like(x: Foreign) -> Foreign:
    return x.zeros()


@_register_kernel(np.ones_like)
def _ones_like(x: Foreign) -> Foreign:
    return Foreign(x.xp.ones_like(x.array), x.xp)


def _make_linalg_kernel(name: str) -> ArrayKernel:
    """Return a function of the linalg extension; for Dask, which has few, NumPy's, delayed."""

    def call(*args: Any, **kwargs: Any) -> Any:
        like = _find_foreign(list(args))
        if like.library == "dask":
            return _delay(getattr(np.linalg, name), like, args, kwargs)
        result = getattr(like.xp.linalg, name)(*[like.convert(x) for x in args], **kwargs)
        return map_leaves(lambda part: Foreign(part, like.xp), result)

    return call


def _delay(function: Any, like: Foreign, args: Any, kwargs: Any) -> Any:
    """Return the results of a function as delayed Dask arrays; find their shapes by a trial run."""
    from dask.delayed import delayed

    trial = [np.eye(*x.shape[-2:]) + np.zeros(x.shape) for x in args]
    outline, rebuild = flatten(function(*trial, **kwargs))
    later = delayed(lambda *xs: flatten(function(*xs, **kwargs))[0])(
        *[like.convert(x) for x in args]
    )
    arrays = [
        like.xp.from_delayed(later[i], shape=np.shape(part), dtype=np.result_type(part, like.dtype))
        for i, part in enumerate(outline)
    ]
    return rebuild(Foreign(array, like.xp) for array in arrays)


for _name in ("inv", "solve", "det", "slogdet", "cholesky", "svd", "qr"):
    _KERNELS[getattr(np.linalg, _name)] = _make_linalg_kernel(_name)


def _make_symmetric_kernel(name: str) -> ArrayKernel:
    """Return a function of symmetric matrices; the standard's version reads the whole matrix."""
    call = _make_linalg_kernel(name)
    return lambda a, UPLO="L": call(symmetrize(a, UPLO))


for _name in ("eigh", "eigvalsh"):
    _KERNELS[getattr(np.linalg, _name)] = _make_symmetric_kernel(_name)


def _make_shape_kernel(function: Any) -> ArrayKernel:
    return lambda *args: function(
        *[np.empty(x.shape, x.dtype) if type(x) is Foreign else x for x in args]
    )


for _function in (np.shape, np.ndim, np.size, np.result_type, np.iscomplexobj, np.isrealobj):
    _KERNELS[_function] = _make_shape_kernel(_function)


def _array_function(self: Foreign, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """Handle a NumPy function that has an array of another library among its arguments."""
    if any(hasattr(x, "level") for x in flatten((args, kwargs))[0]):
        return NotImplemented  # a node or a batch among them handles the call
    kernel = _KERNELS.get(function)
    if kernel is not None:
        return kernel(*args, **kwargs)
    running = _RUNNING.setdefault(threading.get_ident(), [])
    if function in FUNCTIONS and function not in running:
        running.append(function)
        try:
            return array_function(self, function, types, args, kwargs)
        finally:
            running.pop()
    return _call_numpy(self, function, args, kwargs)


_RUNNING: dict[int, list[Any]] = {}  # by thread: functions whose implementation is running


def _call_numpy(like: Foreign, function: Any, args: Any, kwargs: Any) -> Any:
    """Convert to NumPy arrays and call NumPy: for indices that an implementation needs."""
    plain = map_leaves(lambda x: x.numpy() if type(x) is Foreign else x, (args, kwargs))
    return map_leaves(
        lambda x: Foreign(like.convert(x), like.xp) if isinstance(x, np.ndarray) else x,
        function(*plain[0], **plain[1]),
    )


# Functions of PyTorch on nodes: those with the meaning of NumPy's. --------------------------------

_SAME_IN_TORCH = (
    *("sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "expm1", "log", "log1p", "log2", "log10"),
    *("sqrt", "square", "abs", "sign", "floor", "ceil", "trunc", "exp2", "maximum", "minimum"),
    *("hypot", "logaddexp", "matmul", "outer", "where", "stack", "sum", "mean", "cumsum"),
    *("arctan2", "arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh", "reciprocal"),
    *("reshape", "broadcast_to", "kron", "einsum"),
    *("less", "greater", "less_equal", "greater_equal"),
)
_TORCH: dict[str, Any] = {name: getattr(np, name) for name in _SAME_IN_TORCH} | {
    "add": np.add,
    "sub": np.subtract,
    "rsub": lambda x, y: np.subtract(y, x),
    "mul": np.multiply,
    "div": np.divide,
    "true_divide": np.divide,
    "pow": np.power,
    "neg": np.negative,
    "mm": np.matmul,
    "mv": np.matmul,
    "dot": np.matmul,
    "cat": np.concatenate,
    "concat": np.concatenate,
    "clamp": np.clip,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "sigmoid": elementary.sigmoid,
    "erf": special.erf,
    **FUNCTIONAL,
    **COMPARISONS,
}
_KEYWORDS = {"dim": "axis", "keepdim": "keepdims"}


def _torch_function(cls: Any, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """Handle a function of PyTorch that has a node among its arguments."""
    name = function.__name__.strip("_")
    implementation = _TORCH.get(name) or _TORCH.get(name.removeprefix("r"))
    if implementation is None:
        raise RuleError(
            f"torch.{name} of a node is not answered; use NumPy's function of the same meaning: "
            f"np.f(x) of a tensor gives a tensor{cite_line()}"
        )
    if name not in _TORCH:
        args = args[::-1]
    keywords = {} if name in FUNCTIONAL else _KEYWORDS
    return implementation(*args, **{keywords.get(k, k): v for k, v in (kwargs or {}).items()})


def _refuse_dask(node: Any) -> Any:
    """Refuse the token by which Dask would store a node in an array, losing the derivative."""
    raise RuleError(
        "a function of dask.array of a node is not answered; use NumPy's function of the same "
        "meaning: np.f(x) of a Dask array gives a Dask array"
    )


Foreign.__array_function__ = _array_function  # type: ignore[attr-defined]
PROTOCOLS: dict[str, Any] = {  # the protocols through which other libraries call nodes
    "__torch_function__": classmethod(_torch_function),
    "__dask_tokenize__": _refuse_dask,
    "__array_namespace__": lambda self, api_version=None: np,
    "__array_priority__": 1000,
    "__pandas_priority__": 10000,  # makes pandas leave `series * node` to the node
}
