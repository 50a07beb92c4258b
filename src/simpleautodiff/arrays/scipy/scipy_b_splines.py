"""B-splines of scipy.interpolate whose coefficients are nodes: they are linear in these."""

from __future__ import annotations

from typing import Any

import numpy as np

from simpleautodiff.arrays.registry import as_array, decide, implements_scipy
from simpleautodiff.arrays.scipy import scipy_interpolate as checks
from simpleautodiff.arrays.scipy.scipy_interpolate import b_spline, inner_knots
from simpleautodiff.core.level import Traced, to_plain
from simpleautodiff.errors import InputError, RuleError, cite_line
from simpleautodiff.rules.array.indexing import concatenate, getitem
from simpleautodiff.rules.array.shapes import reshape, shape_of
from simpleautodiff.rules.branches import where
from simpleautodiff.values.functions import optional


class NodeSpline:
    """A B-spline with nodes for coefficients: SciPy's of the identity matrix, times these."""

    def __init__(self, basis: Any, c: Any, axis: int) -> None:
        self.basis, self.c, self.axis = basis, c, axis

    @property
    def t(self) -> Any:
        """The knots."""
        return self.basis.t

    @property
    def k(self) -> int:
        """The degree."""
        return int(self.basis.k)

    @property
    def extrapolate(self) -> Any:
        """Whether it is continued beyond its ends."""
        return self.basis.extrapolate

    @property
    def tck(self) -> tuple[Any, Any, int]:
        """The knots, the coefficients and the degree."""
        return self.t, self.c, self.k

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        """Evaluate the spline, or its derivative of order nu."""
        x = x if hasattr(x, "shape") else np.asarray(x)
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        basis = b_spline(self.basis, x, nu, extrapolate or True)
        result = np.tensordot(basis, self._columns(), axes=1)
        rank = len(shape_of(x))
        if not extrapolate:
            first, *_, last = inner_knots(self)
            outside = reshape(
                (to_plain(x) < first) | (to_plain(x) > last),
                (*shape_of(x), *[1] * (len(shape_of(result)) - rank)),
            )
            result = where(outside, np.nan, result)
        return np.moveaxis(result, range(rank), range(self.axis, self.axis + rank))

    def derivative(self, nu: int = 1) -> NodeSpline:
        """Return the derivative of order nu, or an integral if nu < 0."""
        basis = self.basis.derivative(nu) if nu > 0 else self.basis.antiderivative(-nu)
        count = len(basis.t) - basis.k - 1
        c = np.tensordot(basis.c[:count], self._columns(), axes=1)
        kind = type(self.basis)
        unit = kind(basis.t, np.eye(count), basis.k, basis.extrapolate)
        return NodeSpline(unit, np.moveaxis(c, 0, self.axis), self.axis)

    def antiderivative(self, nu: int = 1) -> NodeSpline:
        """Return an integral of order nu."""
        return self.derivative(-nu)

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        """Return the integral between two points; what is not extrapolated is 0 outside."""
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        if extrapolate == "periodic":
            raise RuleError(f"integrate of a periodic spline of nodes has no rule{cite_line()}")
        if not extrapolate:
            a, b = (np.clip(end, self.t[self.k], self.t[-self.k - 1]) for end in (a, b))
        whole = self.antiderivative()
        return whole(b, extrapolate=True) - whole(a, extrapolate=True)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise RuleError(
            f"{name} of a BSpline of nodes has no derivative rule; the spline can be evaluated, "
            f"differentiated and integrated{cite_line()}"
        )

    def _columns(self) -> Any:
        """Return the coefficients that belong to the knots, with their axis first."""
        return getitem(np.moveaxis(self.c, self.axis, 0), slice(0, len(self.t) - self.k - 1))


def make_spline(t: Any, c: Any, k: int, extrapolate: Any = True, axis: int = 0) -> NodeSpline:
    """Return the B-spline with given knots and coefficients."""
    if isinstance(t, Traced):
        raise RuleError(f"the knots of a BSpline of nodes have to be plain numbers{cite_line()}")
    t, c = np.asarray(t, float), as_array(c)
    kind = optional("scipy.interpolate", "a spline").BSpline
    axis = axis % len(shape_of(c))
    return NodeSpline(kind(t, np.eye(len(t) - k - 1), k, extrapolate), c, axis)


@implements_scipy("interpolate.BSpline.__init__")
def become_spline(
    spline: Any, t: Any, c: Any, k: int, extrapolate: Any = True, axis: int = 0
) -> None:
    """Make an object of SciPy's class a spline with nodes for coefficients."""
    made = make_spline(t, c, k, extrapolate, axis)
    spline.__class__ = NodeSpline
    vars(spline).update(vars(made))


@implements_scipy("interpolate.make_interp_spline")
def make_interp_spline(
    x: Any,
    y: Any,
    k: int = 3,
    t: Any = None,
    bc_type: Any = None,
    axis: int = 0,
    check_finite: bool = True,
) -> NodeSpline:
    """Return the B-spline through given points: its coefficients are a matrix times y."""
    if isinstance(x, Traced) or not (bc_type is None or isinstance(bc_type, str)):
        raise RuleError(
            "make_interp_spline of nodes takes plain points x, and the name of a condition for "
            f"bc_type; it got {type(x).__name__} and {bc_type!r}{cite_line()}"
        )
    make = optional("scipy.interpolate", "a spline").make_interp_spline
    y = as_array(y)
    if check_finite:
        checks.check_finite("make_interp_spline", y)
    axis = axis % len(shape_of(y))
    if np.shape(x) != shape_of(y)[axis : axis + 1]:
        raise InputError(
            f"make_interp_spline: x of shape {np.shape(x)} and y of shape {shape_of(y)} are "
            f"incompatible along axis {axis}{cite_line()}"
        )
    columns = np.moveaxis(y, axis, 0)
    rows = np.eye(shape_of(columns)[0])
    if bc_type == "periodic":
        rows[-1] = rows[0]  # the last value is the first one again
        if not decide(_closes, np.moveaxis(y, axis, -1)):
            raise InputError(f"a periodic spline ends with the value it begins with{cite_line()}")
    through = make(x, rows, k, t, bc_type)
    c = np.tensordot(through.c, columns, axes=1)
    return make_spline(through.t, np.moveaxis(c, 0, axis), k, through.extrapolate, axis)


def _closes(y: Any) -> Any:
    return np.all(np.isclose(y[..., 0], y[..., -1], atol=1e-15))


@implements_scipy("interpolate.splrep")
def splrep(
    x: Any, y: Any, w: Any = None, xb: Any = None, xe: Any = None, k: int = 3, **named: Any
) -> Any:
    """Return knots, coefficients and degree of the interpolating spline."""
    given = {
        name: value for name, value in named.items() if name not in ("s", "quiet", "full_output")
    }
    if w is not None or xb is not None or xe is not None or given or named.get("s"):
        raise RuleError(
            "splrep of nodes interpolates alone: s=0, without weights, ends and knots; for a "
            f"smoothing spline solve the normal equations of its design matrix{cite_line()}"
        )
    knots = optional("scipy.interpolate", "a spline").splrep(x, np.zeros(shape_of(y)), k=k)[0]
    spline = make_interp_spline(x, y, k, knots)
    return spline.t, concatenate([spline.c, np.zeros(k + 1)]), k


@implements_scipy("interpolate.splev")
def splev(x: Any, tck: Any, der: int = 0, ext: int = 0) -> Any:
    """Evaluate a spline, or its derivative, given by knots, coefficients and degree."""
    t, c, k = tck if isinstance(tck, tuple) else tck.tck
    if ext not in (0, "extrapolate"):
        raise RuleError(f"splev of nodes takes ext=0, not {ext!r}{cite_line()}")
    return make_spline(t, c, k)(x, der)
