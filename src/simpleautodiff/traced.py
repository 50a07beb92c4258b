"""What transformations pass to functions in place of numbers, and what it refuses to become."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import takewhile
from types import FrameType, FunctionType
from typing import TYPE_CHECKING, Any

from simpleautodiff.drawing import drawn_with
from simpleautodiff.errors import LostDerivativeError, TraceError, at_line, scipy_frames

if TYPE_CHECKING:
    from simpleautodiff.node import Level

SPECIAL: dict[
    str, Callable[..., Any]
] = {}  # names of scipy.special's ufuncs, which may not be loaded
SCIPY: dict[str, Callable[..., Any]] = {}  # "linalg.expm" -> the program that answers for nodes
INSTEAD: dict[str, str] = {}  # "linalg.orth" -> what to write, as it has no derivative
UNTAUGHT: set[str] = set()  # "linalg", until its functions answer for nodes
UFUNCS: dict[Any, Callable[..., Any]] = {}  # NumPy's ufunc -> the wrapping function that answers


class Traced:
    """What every transformation passes to a function in place of a number."""

    __slots__ = ("__weakref__", "level", "value")
    value: Any
    level: Level
    many = False  # a batch: an array even where each example is a single number
    opaque = False  # it has no number to go by

    __hash__ = object.__hash__

    def plainly(self) -> Any:
        """Return the innermost number; of what stands for many, that which stands for them."""
        return plain(self.value)

    def __bool__(self) -> bool:
        raise known_to_lose() or LostDerivativeError(
            f"`if node:` asks whether {self!r} is non-zero, which is easily a mistake. "
            f"Write the comparison: `if node != 0:`{at_line()}"
        )

    def _lost(self, conversion: str) -> LostDerivativeError:
        return known_to_lose() or LostDerivativeError(
            f"{conversion} of {self!r} would drop its derivative. node.value is the plain number; "
            f"of functions take simpleautodiff's or NumPy's: np.sin(x) for math.sin(x); to write "
            f"into an array, make it with np.zeros_like(x) or np.zeros(shape, like=x){at_line()}"
        )

    def __float__(self) -> float:
        raise self._lost("float()")

    def __int__(self) -> int:
        raise self._lost("int()")

    def __index__(self) -> int:
        raise self._lost("the use as an index")

    def __complex__(self) -> complex:
        raise self._lost("complex()")

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        asked = scipy_caller()
        late = [name for name in UNTAUGHT if asked.startswith(f"{name}.")]
        if late:
            raise LostDerivativeError(
                f"scipy.{late[0]} was first imported while a derivative was computed, so it takes "
                f"plain arrays until the next one: import it outside the function{at_line()}"
            )
        if asked in SCIPY:
            module, _, name = f"scipy.{asked}".rpartition(".")
            raise LostDerivativeError(
                f"{module}.{name} imported by name takes plain arrays; write {module}.{name}(...) "
                f"or `from simpleautodiff.{module} import {name}`{at_line()}"
            )
        if asked:
            raise no_rule(asked)
        raise drawn_with(self) or kept_plain() or self._into_array()

    def _into_array(self) -> LostDerivativeError:
        return LostDerivativeError(
            f"putting {self!r} into a NumPy array would drop its derivative. For np.array([a, b]) "
            "write np.stack([a, b]), for np.array([[a, b], [c, d]]) np.block([[a, b], [c, d]]); "
            "for np.asarray(x) write x, which NumPy's functions take as it is; to write into an "
            f"array, make it with np.zeros_like(x) or np.zeros(shape, like=x){at_line()}"
        )

    def __format__(self, spec: str) -> str:
        return format(plain(self), spec) if spec else repr(self)

    def __copy__(self) -> Any:
        return self.copy() if self.shape else self

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy() if self.shape else self

    def __reduce__(self) -> Any:
        raise TraceError(
            f"{self!r} belongs to a derivative that is being computed and cannot be pickled; "
            "pickle its value"
        )

    def _sympy_(self) -> Any:
        """Tell SymPy that a node is none of its own, so that Symbol * node asks the node."""
        from sympy import SympifyError

        raise SympifyError(self)

    if TYPE_CHECKING:  # installed from the table by `operators`
        shape: Any

        copy: Callable[[], Any]
        writable: Callable[[], Writable]  # by `dispatch.versions`

        def __add__(self, other: Any) -> Any: ...
        def __radd__(self, other: Any) -> Any: ...
        def __sub__(self, other: Any) -> Any: ...
        def __rsub__(self, other: Any) -> Any: ...
        def __mul__(self, other: Any) -> Any: ...
        def __rmul__(self, other: Any) -> Any: ...
        def __truediv__(self, other: Any) -> Any: ...
        def __rtruediv__(self, other: Any) -> Any: ...
        def __floordiv__(self, other: Any) -> Any: ...
        def __rfloordiv__(self, other: Any) -> Any: ...
        def __mod__(self, other: Any) -> Any: ...
        def __rmod__(self, other: Any) -> Any: ...
        def __divmod__(self, other: Any) -> tuple[Any, Any]: ...
        def __rdivmod__(self, other: Any) -> tuple[Any, Any]: ...
        def __pow__(self, other: Any) -> Any: ...
        def __rpow__(self, other: Any) -> Any: ...
        def __neg__(self) -> Any: ...
        def __pos__(self) -> Any: ...
        def __abs__(self) -> Any: ...
        def __round__(self, ndigits: int | None = None) -> Any: ...
        def __floor__(self) -> Any: ...
        def __ceil__(self) -> Any: ...
        def __trunc__(self) -> Any: ...
        def __lt__(self, other: Any) -> bool: ...
        def __le__(self, other: Any) -> bool: ...
        def __gt__(self, other: Any) -> bool: ...
        def __ge__(self, other: Any) -> bool: ...


_KEPT_PLAIN = {  # what of NumPy keeps plain arrays, by its module or its name: what to write
    "numpy.ma": "np.ma keeps plain arrays; write np.where(mask, 0.0, x), or x[~mask]",
    "numpy.polynomial": "this part of np.polynomial keeps plain coefficients; these functions take "
    "nodes: np.polynomial.polynomial.polyval(x, c), chebyshev.chebval(x, c), np.roots and others",
    "as_strided": "as_strided looks at plain memory; sliding_window_view(x, n), which is in "
    "np.lib.stride_tricks, too, takes nodes",
    "ndenumerate": "np.ndenumerate gives plain numbers; write for i in np.ndindex(x.shape): x[i]",
    "matrix": "np.matrix keeps plain numbers; use x, and @ for products",
}


def kept_plain() -> LostDerivativeError | None:
    """Return what to say if a part of NumPy asked for an array that keeps plain numbers."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and str(frame.f_globals.get("__name__")).startswith("numpy"):
        module, name = frame.f_globals["__name__"], frame.f_code.co_qualname.split(".")[0]
        for known, instead in _KEPT_PLAIN.items():
            if name == known or f"{module}.".startswith(f"{known}."):
                return LostDerivativeError(f"{instead}{at_line()}")
        frame = frame.f_back
    return None


def no_rule(asked: str) -> LostDerivativeError:
    """Say that a function of SciPy has no derivative rule, and what to write."""
    instead = INSTEAD.get(asked, "write it with functions that have one")
    return LostDerivativeError(
        f"no derivative rule for scipy.{_as_written(asked)}; {instead}, or declare it with "
        f"@simpleautodiff.primitive{at_line()}"
    )


def known_to_lose() -> LostDerivativeError | None:
    """Return what to say if a function of SciPy is running for which it is known what to write."""
    asked = scipy_caller()
    return no_rule(asked) if asked in INSTEAD else None


def scipy_caller() -> str:
    """Return which function of SciPy the user called: ``linalg.expm``; empty if none is running."""
    names = [name for frame in scipy_frames() for name in _names(frame)]
    for name in names:
        if name in SCIPY:
            return name
    known = [name for name in names if name in INSTEAD or _is_public(name)]
    return (known or names or [""])[-1]


def _as_written(asked: str) -> str:
    """Write a method of a running object as users do: by the object's name, or that of its class.

    ``stats.weibull_min.logpdf`` is a method of ``rv_continuous``; a call is that of the object.
    """
    module, *inner = asked.rsplit(".", 2)
    owners = [
        f.f_locals.get("self") for f in scipy_frames() if len(inner) > 1 and asked in _names(f)
    ]
    for owner in [o for o in owners if o is not None]:
        kind = type(owner).__name__
        short = kind.removesuffix("_gen").removesuffix("_frozen")
        for name in (getattr(owner, "name", 0), getattr(owner, "__name__", 0), short, kind):
            if isinstance(name, str) and hasattr(sys.modules.get(f"scipy.{module}"), name):
                return f"{module}.{name}" + ("" if inner[1][0] == "_" else f".{inner[1]}")
    return asked


def _is_public(name: str) -> bool:
    """Tell whether a user finds a function, or the class of a method, in a module of SciPy's."""
    parts = ["scipy", *name.split(".")]
    ends = [n for n in range(1, len(parts)) if ".".join(parts[:n]) in sys.modules]
    return hasattr(sys.modules[".".join(parts[: ends[-1]])], parts[ends[-1]])


def _names(frame: FrameType) -> list[str]:
    """Return the public name of a running function; of a decorator's, what it decorates."""
    if "<locals>" in frame.f_code.co_qualname:
        inner = [f for f in frame.f_locals.values() if isinstance(f, FunctionType)]
        found = [(f.__module__, f.__name__) for f in inner if f.__module__.startswith("scipy.")]
    else:
        found = [(frame.f_globals["__name__"], frame.f_code.co_qualname)]
    parts = [(_public(module), name) for module, name in found]
    return [f"{part}.{name}" for part, name in parts if part and "<" not in name]


def _public(module: str) -> str:
    """Return the public part of a module's name: ``linalg`` of ``scipy.linalg._basic``."""
    return ".".join(takewhile(lambda part: part[0] != "_", module.split(".")[1:]))


def plain(x: Any) -> Any:
    """Return the innermost number of a node of nodes; a number is its own.

    A batch stays one: of plain numbers.
    """
    while isinstance(x, Traced):
        if x.opaque:
            return x.plainly()
        x = x.value
    return x


def concrete(x: Any) -> Any:
    """Return the plain array of a node; of what stands for many, that of all or of this call."""
    while isinstance(x, Traced):
        x = x.concrete if x.opaque and hasattr(x, "concrete") else x.value
    return x


class Written:
    """What has been written to: `current` is the node, or the array, that it is now."""

    __slots__ = ()

    if TYPE_CHECKING:  # given by `dispatch.memory`

        @property
        def current(self) -> Any:
            """What the array is now."""

        @current.setter
        def current(self, new: Any) -> None: ...

        writable: Callable[[], Writable]


class Writable(Written):
    """An array that is written to.

    Every write makes a new node, so what was computed from the old one stays right. `writes` are
    those still to be carried out, by cell; a view has no value of its own, but one it is `seen` in.
    `first` is the node that it was before the first write, if it was one. `lies` is an array that
    lies in memory as NumPy's own would, once that is known.
    """

    __slots__ = ("first", "lies", "seen", "value", "writes")

    def __init__(self, value: Any, seen: Any = None) -> None:
        self.value = value
        self.seen = seen
        self.first: Any = None
        self.lies: Any = None
        self.writes: dict[tuple[int, ...], Any] = {}


def unwrapped(x: Any) -> Any:
    """Return what a writable array is now; anything else is as it is."""
    return x.current if isinstance(x, Written) else x
