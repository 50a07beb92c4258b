"""SciPy's functions that are written in Python: for nodes they ask our programs.

NumPy's functions ask their arguments who answers; these convert them to plain arrays instead. So
`teach_scipy` puts a function in front of each of them, in the modules of SciPy that are loaded,
which looks for nodes and else calls SciPy's own. A few of NumPy's are like that, too.
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Iterable
from typing import Any

import numpy as np

from simpleautodiff.arrays.lost_derivatives import SCIPY, UNPATCHED
from simpleautodiff.arrays.numpy import polynomial_series as series, r_c_vectorize as joining
from simpleautodiff.arrays.registry import Function, explain_arguments
from simpleautodiff.arrays.scipy.solver_hints import teach_solvers
from simpleautodiff.arrays.writes.versions import Writable
from simpleautodiff.core.level import Traced, plain, unwrapped
from simpleautodiff.errors import RuleError, cite_line
from simpleautodiff.values.functions import is_complex, optional
from simpleautodiff.values.pytree import flatten

MODULES = (
    *("fft", "integrate", "interpolate", "linalg", "ndimage", "signal", "sparse", "sparse.linalg"),
    *("spatial.distance", "special", "stats"),
)
_COMPLEX = {  # modules and functions whose programs take complex numbers, too
    *("fft", "integrate", "signal", "sparse", "sparse.linalg", "linalg.block_diag"),
    *("linalg.cho_factor", "linalg.cho_solve", "linalg.cholesky", "linalg.eigh"),
    *("linalg.eigvalsh", "linalg.lu", "linalg.lu_factor", "linalg.lu_solve"),
    *("linalg.solve_continuous_lyapunov", "linalg.solve_discrete_lyapunov"),
    *("linalg.solve_lyapunov", "linalg.solve_triangular", "linalg.tanhm", "linalg.tanm"),
    *("special.logsumexp", "special.softmax"),
    *("linalg.circulant", "linalg.companion", "linalg.cosm", "linalg.coshm", "linalg.det"),
    *("linalg.eig", "linalg.eigvals", "linalg.expm", "linalg.hankel", "linalg.inv", "linalg.kron"),
    *("linalg.logm", "linalg.lstsq", "linalg.norm", "linalg.pinv", "linalg.qr", "linalg.sinhm"),
    *("linalg.sinm", "linalg.solve", "linalg.solve_banded", "linalg.solve_sylvester"),
    *("linalg.sqrtm", "linalg.svd", "linalg.svdvals"),
}
UNPATCHED.update(MODULES)
_loaded = 0  # how many modules there were when this was last looked at


def teach_scipy() -> None:
    """Make the functions of SciPy that have a program answer for nodes, in modules that are loaded.

    Every transformation calls it; a module is taught once.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.linalg
    >>> import simpleautodiff as ad
    >>> ad.grad(lambda x: scipy.linalg.norm(x))(np.array([3.0, 4.0]))
    array([0.6, 0.8])
    """
    global _loaded
    if _loaded == len(sys.modules):
        return
    _loaded = len(sys.modules)
    for name in tuple(_waiting):
        module = sys.modules.get(name)
        if module is not None and _is_loading(module):
            _loaded = 0  # look again
        elif module is not None and name in _waiting:
            _waiting.pop(name)(module)


def taught(name: str) -> Any:
    """Load a module of SciPy and return it, with functions that answer for nodes."""
    optional("scipy", f"simpleautodiff.scipy.{name}")
    module = importlib.import_module(f"scipy.{name}")
    teach_scipy()
    return module


def _is_loading(module: Any) -> bool:
    return bool(getattr(module.__spec__, "_initializing", False))


def _teach(prefix: str, module: Any) -> None:
    UNPATCHED.discard(prefix)
    for key, program in SCIPY.items():
        if module_of(key) != prefix:
            continue
        name, *method = key.removeprefix(f"{prefix}.").split(".")
        found = getattr(module, name, None)
        if found is not None and method:
            kind = found if isinstance(found, type) else type(found)
            _teach_method(kind, method[0], f"scipy.{key}", program, isinstance(found, type))
        elif found is not None:
            setattr(module, name, _in_front(found, f"scipy.{key}", program))


def _teach_numpy(numpy: Any) -> None:
    _teach_method(type(numpy.r_), "__getitem__", "np.r_", joining.rows, True)
    _teach_method(type(numpy.c_), "__getitem__", "np.c_", joining.columns, True)
    _teach_method(numpy.vectorize, "__call__", "np.vectorize", joining.each, True)


def _teach_series(polynomial: Any) -> None:
    for family in series.FAMILIES:
        module = getattr(polynomial, family.module)
        for name, program in series.programs(family, module).items():
            full = f"np.polynomial.{family.module}.{name}"
            setattr(module, name, _in_front(getattr(module, name), full, program))
    base = polynomial.Polynomial.__mro__[1]
    _teach_method(base, "__call__", "np.polynomial", series.called, True)


_waiting: dict[str, Function] = {  # those not taught yet
    "numpy": _teach_numpy,
    "numpy.polynomial": _teach_series,
    "scipy.optimize": teach_solvers,
    **{f"scipy.{name}": functools.partial(_teach, name) for name in MODULES},
}


def module_of(key: str) -> str:
    """Return the module of a function of SciPy: ``sparse.linalg`` of ``sparse.linalg.spsolve``."""
    return max((name for name in MODULES if key.startswith(f"{name}.")), key=len)


def _in_front(original: Any, name: str, program: Function) -> Function:
    """Return the function that asks the program if there are nodes, and else SciPy's own."""

    @functools.wraps(original)
    def function(*args: Any, **kwargs: Any) -> Any:
        if _has_node(args) or _has_node(kwargs.values()):
            return _ask(name, program, args, kwargs)
        return original(*args, **kwargs)

    function.__module__ = name.rpartition(".")[0].replace("np.", "numpy.")  # where pickle looks
    return function


def _teach_method(kind: type, method: str, name: str, program: Function, own: bool) -> None:
    """Put a method in front; a program of a class is given its object, its `own`.

    A subclass of a distribution may be another distribution.
    """
    original = getattr(kind, method)

    @functools.wraps(original)
    def function(self: Any, *args: Any, **kwargs: Any) -> Any:
        if (own or type(self) is kind) and (_has_node(args) or _has_node(kwargs.values())):
            return _ask(name, program, (self, *args) if own else args, kwargs)
        return original(self, *args, **kwargs)

    setattr(kind, method, function)


def _has_node(values: Iterable[Any]) -> bool:
    return any(
        isinstance(value, (Traced, Writable))
        or (isinstance(value, (list, tuple)) and _has_node(value))
        for value in values
    )


def _ask(name: str, program: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    args = tuple(_as_array(arg) for arg in args)
    kwargs = {key: _as_array(value) for key, value in kwargs.items()}
    key = name.removeprefix("scipy.")
    takes_reals = key != name and _COMPLEX.isdisjoint((key, module_of(key)))
    if takes_reals and any(is_complex(plain(leaf)) for leaf in flatten((args, kwargs))[0]):
        raise RuleError(
            f"{name} of complex numbers has no derivative rule. Differentiate with respect to the "
            f"real and imaginary parts instead{cite_line()}"
        )
    try:
        return program(*args, **kwargs)
    except TypeError:
        explain_arguments(name, program, args, kwargs)
        raise


def _as_array(value: Any) -> Any:
    """Return what stands for an argument: a list of numbers and nodes is an array."""
    if isinstance(value, tuple):
        return tuple(_as_array(part) for part in value)
    if not isinstance(value, list):
        return unwrapped(value)
    return np.stack([_as_array(part) for part in value]) if _has_node(value) else np.asarray(value)
