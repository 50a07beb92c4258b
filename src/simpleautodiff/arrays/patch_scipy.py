"""SciPy's functions that are written in Python, patched so that they take nodes.

NumPy's functions call the implementation of a node by NumPy's protocols; SciPy's convert their
arguments to plain arrays instead. So `patch_scipy` replaces each of them, in the modules of SciPy
that are loaded, by a function that looks for nodes and otherwise calls SciPy's own. A few functions
of NumPy need the same.
"""

from __future__ import annotations

import functools
import importlib
import sys
from typing import Any

import numpy as np

from simpleautodiff.arrays.call_arguments import explain_arguments
from simpleautodiff.arrays.elements import enumerate_elements
from simpleautodiff.arrays.given_values import give_values, unless_double
from simpleautodiff.arrays.hidden_frames import hide_frame
from simpleautodiff.arrays.lost_derivatives import PLAINLY, SCIPY
from simpleautodiff.arrays.numpy import polynomial_series as series, r_c as joining
from simpleautodiff.arrays.numpy.polynomials import make_poly1d
from simpleautodiff.arrays.numpy.vectorize import call_vectorized
from simpleautodiff.arrays.registry import Function
from simpleautodiff.arrays.scipy.patch_rotation import patch_rotation
from simpleautodiff.arrays.scipy.scipy_kernel_density import patch_kernel_density
from simpleautodiff.arrays.scipy.scipy_quantiles import PLAIN_LAWS
from simpleautodiff.arrays.scipy.solver_hints import patch_solvers
from simpleautodiff.arrays.scipy.sparse_constructors import patch_constructors
from simpleautodiff.arrays.scipy.sparse_nodes import SparseNode, has_node
from simpleautodiff.arrays.writes.versions import MAKING
from simpleautodiff.core.level import Traced, take_current, to_plain
from simpleautodiff.errors import RuleError, cite_line
from simpleautodiff.rules.array.shapes import shape_of
from simpleautodiff.values.functions import is_complex, optional
from simpleautodiff.values.pytree import flatten

MODULES = (
    *("fft", "integrate", "interpolate", "linalg", "ndimage", "signal", "sparse", "sparse.linalg"),
    *("spatial.distance", "special", "stats"),
)
_COMPLEX = {  # modules and functions whose implementations take complex numbers, too
    *("fft", "integrate", "signal", "sparse", "sparse.linalg", "linalg.block_diag"),
    *("linalg.cho_factor", "linalg.cho_solve", "linalg.cholesky", "linalg.eigh"),
    *("linalg.eigvalsh", "linalg.lu", "linalg.lu_factor", "linalg.lu_solve"),
    *("linalg.solve_continuous_lyapunov", "linalg.solve_discrete_lyapunov"),
    *("linalg.solve_lyapunov", "linalg.solve_triangular", "linalg.tanhm", "linalg.tanm"),
    *("special.lambertw", "special.logsumexp", "special.softmax"),
    *("linalg.circulant", "linalg.companion", "linalg.cosm", "linalg.coshm", "linalg.det"),
    *("linalg.eig", "linalg.eigvals", "linalg.expm", "linalg.hankel", "linalg.inv", "linalg.kron"),
    *("linalg.logm", "linalg.lstsq", "linalg.norm", "linalg.pinv", "linalg.qr", "linalg.sinhm"),
    *("linalg.sinm", "linalg.solve", "linalg.solve_banded", "linalg.solve_sylvester"),
    *("linalg.sqrtm", "linalg.svd", "linalg.svdvals"),
}
PATCHED: dict[int, Function] = {}  # by the id of the original, to which other modules may refer


def patch_scipy() -> None:
    """Patch the functions of SciPy that have an implementation for nodes, in loaded modules.

    Every transformation calls it; a module is patched once.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.linalg
    >>> import simpleautodiff as ad
    >>> ad.grad(lambda x: scipy.linalg.norm(x))(np.array([3.0, 4.0]))
    array([0.6, 0.8])
    """
    if _PENDING_NAMES.isdisjoint(_MODULE_NAMES):
        return
    for name in tuple(PENDING):
        module, patch = sys.modules.get(name), PENDING.get(name)
        if module is not None and patch is not None and not _is_loading(module):
            patch(module)
            PENDING.pop(name, None)  # not before: an interrupt leaves it to be patched again


def load_patched(name: str) -> Any:
    """Import a module of SciPy, patched, and return it."""
    optional("scipy", f"simpleautodiff.scipy.{name}")
    module = importlib.import_module(f"scipy.{name}")
    patch_scipy()
    return module


def _is_loading(module: Any) -> bool:
    return bool(getattr(module.__spec__, "_initializing", False))


def _patch(prefix: str, module: Any) -> None:
    for key, implementation in SCIPY.items():
        if module_of(key) != prefix:
            continue
        name, *method = key.removeprefix(f"{prefix}.").split(".")
        found = getattr(module, name, None)
        if found is not None and method:
            owner = found if isinstance(found, type) else type(found)
            _patch_method(owner, method[0], f"scipy.{key}", implementation, isinstance(found, type))
        elif found is not None:
            setattr(module, name, _wrap(found, f"scipy.{key}", implementation))
    if prefix == "sparse":
        patch_constructors()
    PATCHED.update(patch_solvers(prefix, module))


def _patch_numpy(numpy: Any) -> None:
    _patch_method(type(numpy.r_), "__getitem__", "np.r_", joining.join_rows, True)
    _patch_method(type(numpy.c_), "__getitem__", "np.c_", joining.join_columns, True)
    numpy.vectorize.__call__ = _choose_vectorized(numpy.vectorize.__call__)
    _patch_method(numpy.ndenumerate, "__init__", "np.ndenumerate", enumerate_elements, True)
    _patch_method(numpy.poly1d, "__init__", "np.poly1d", make_poly1d, True)


def _choose_vectorized(original: Any) -> Any:
    """Return np.vectorize's call: of nodes, or of a function that may compute with nodes."""

    @functools.wraps(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        module = str(getattr(self.pyfunc, "__module__", "numpy")).partition(".")[0]
        may_compute = MAKING.get() and module not in ("numpy", "scipy", "simpleautodiff")
        if may_compute or has_node(args) or has_node(kwargs.values()):
            return _call_implementation("np.vectorize", call_vectorized, (self, *args), kwargs)
        return original(self, *args, **kwargs)

    return call


def _patch_series(polynomial: Any) -> None:
    for family in series.FAMILIES:
        module = getattr(polynomial, family.module)
        for name, implementation in series.implementations(family, module).items():
            full = f"np.polynomial.{family.module}.{name}"
            setattr(module, name, _wrap(getattr(module, name), full, implementation))
    tools = polynomial.polyutils
    for name, implementation in (
        ("as_series", series.as_series),
        ("mapdomain", series.map_domain),
    ):
        full = f"np.polynomial.polyutils.{name}"
        setattr(tools, name, _wrap(getattr(tools, name), full, implementation))
    base = polynomial.Polynomial.__mro__[1]
    for kind in base.__subclasses__():
        for name, own in list(vars(kind).items()):
            if isinstance(own, staticmethod) and id(own.__func__) in PATCHED:
                setattr(kind, name, staticmethod(PATCHED[id(own.__func__)]))
    _patch_method(base, "__call__", "np.polynomial", series.evaluate_series, True)


def _patch_writes(module: Any) -> None:
    """Tell what SciPy writes arrays with that a node that is a single number is not written to."""
    original = module.is_writeable_array
    module.is_writeable_array = lambda x: bool(
        shape_of(x) if isinstance(x, Traced) else original(x)
    )


PENDING: dict[str, Function] = {  # by the name of a module not patched yet: what patches it
    "numpy": _patch_numpy,
    "numpy.polynomial": _patch_series,
    **{f"scipy.{name}": functools.partial(_patch, name) for name in (*MODULES, "optimize")},
    "scipy._lib.array_api_extra._lib._at": _patch_writes,
    "scipy.stats._kde": lambda module: patch_kernel_density(module, has_node),
    "scipy.spatial.transform._rotation": lambda module: patch_rotation(module, has_node),
}
_PENDING_NAMES, _MODULE_NAMES = PENDING.keys(), sys.modules.keys()  # they show what changes


def module_of(key: str) -> str:
    """Return the module of a function of SciPy: ``sparse.linalg`` for ``sparse.linalg.spsolve``."""
    return max((name for name in MODULES if key.startswith(f"{name}.")), key=len)


def _wrap(original: Any, name: str, implementation: Function) -> Function:
    """Return a function that calls the implementation for nodes, and otherwise SciPy's own."""
    known = PATCHED.get(id(original))
    if known is not None and getattr(known, "implementation", None) is implementation:
        return known  # SciPy has it under another name, too
    plainly = PLAINLY.get(name.removeprefix("scipy."))
    call_plainly = original if plainly is None else functools.partial(hide_frame(plainly), original)

    @hide_frame
    @functools.wraps(original)
    def function(*args: Any, **kwargs: Any) -> Any:
        if has_node(args) or has_node(kwargs.values()):
            own = function.implementation  # type: ignore[attr-defined]
            result = _call_implementation(name, own, args, kwargs)
            return (
                _give_values(result, name, original, args, kwargs)
                if own is implementation
                else result
            )
        return call_plainly(*args, **kwargs)

    function.implementation = implementation  # type: ignore[attr-defined]  # users may give another
    module, _, function.__qualname__ = name.rpartition(".")  # pickle finds it by these
    function.__module__ = module.replace("np.", "numpy.")
    PATCHED[id(original)] = function
    return function


def _patch_method(owner: type, method: str, name: str, implementation: Function, own: bool) -> None:
    """Patch a method; with `own`, the implementation is passed the object, too.

    A subclass of a distribution may be another distribution, so it is not patched with it.
    """
    original = getattr(owner, method)

    @hide_frame
    @functools.wraps(original)
    def function(self: Any, *args: Any, **kwargs: Any) -> Any:
        if (own or type(self) is owner) and (has_node(args) or has_node(kwargs.values())):
            result = _call_implementation(
                name, implementation, (self, *args) if own else args, kwargs
            )
            return _give_values(result, name, functools.partial(original, self), args, kwargs)
        return original(self, *args, **kwargs)

    setattr(owner, method, function)


_EXACT = {  # exact to the last bit, or with arbitrary signs
    *("scipy.linalg." + name for name in ("logm", "lu")),
    *("scipy.linalg." + name for name in ("cho_factor", "lu_factor", "solve_sylvester")),
    *("scipy.stats." + name for name in ("pearsonr", "rv_continuous._cdf", "rv_continuous._ppf")),
    *(
        f"scipy.stats.{law}.{name}"
        for law in PLAIN_LAWS
        for name in ("_cdf", "_sf", "_ppf", "_isf")
    ),
    "scipy.stats.vonmises._cdf",
}
_EXACT_IN_DOUBLE = {  # computed in 64 bits, where SciPy computes in those of the argument
    *("scipy.linalg." + name for name in ("expm", "sqrtm", "cosm", "sinm", "tanm")),
    *("scipy.linalg." + name for name in ("coshm", "sinhm", "tanhm")),
}


_VECTORS = {*("scipy.linalg." + name for name in ("svd", "eig", "eigh"))}  # of repeated values, any


def _give_values(result: Any, name: str, original: Any, args: Any, kwargs: Any) -> Any:
    """Give the values of SciPy's own function to the result of the implementation."""
    exact = name in _EXACT or (name in _EXACT_IN_DOUBLE and not unless_double(result))
    if exact or not name.startswith("scipy."):
        return result
    if isinstance(result, SparseNode) or any(isinstance(arg, SparseNode) for arg in args):
        return result
    if any(callable(leaf) for leaf in flatten((args, kwargs))[0]):
        return result
    return give_values(result, original, args, kwargs, near=name in _VECTORS)


def _call_implementation(
    name: str, implementation: Function, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    args = tuple(_as_array(arg) for arg in args)
    kwargs = {key: _as_array(value) for key, value in kwargs.items()}
    key = name.removeprefix("scipy.")
    takes_reals = key != name and _COMPLEX.isdisjoint((key, module_of(key)))
    if takes_reals and any(is_complex(to_plain(leaf)) for leaf in flatten((args, kwargs))[0]):
        raise RuleError(
            f"{name} of complex numbers has no derivative rule. Differentiate with respect to the "
            f"real and imaginary parts instead{cite_line()}"
        )
    try:
        return implementation(*args, **kwargs)
    except TypeError:
        explain_arguments(name, implementation, args, kwargs)
        raise


def _as_array(value: Any) -> Any:
    """Return an argument for an implementation: a list of numbers and nodes becomes an array.

    A list of arrays of different shapes, or of sparse matrices, stays a list.
    """
    if isinstance(value, tuple):
        return tuple(_as_array(part) for part in value)
    if not isinstance(value, list):
        return take_current(value)
    if any(part is None or hasattr(type(part), "tocsr") for part in value):
        return value  # blocks of a sparse matrix
    if not has_node(value):
        return np.asarray(value)
    parts = [_as_array(part) for part in value]
    if any(isinstance(part, list) for part in parts):
        return parts
    return np.stack(parts) if len({shape_of(part) for part in parts}) == 1 else parts
