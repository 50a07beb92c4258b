"""Solutions and factors of matrices in other lines: what LAPACK does in place, and views of that.

LAPACK thinks of matrices column by column, as BLAS does, and writes over what it is given: a line
of it begins with a copy, turned where need be. Systems with the same matrix, or with its transpose,
share the factors: the sweep back solves with those that the function itself needs.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from simpleautodiff.compiled.large.views import Shape, View, layout, steps
from simpleautodiff.compiled.numbers.lowering import kind_of
from simpleautodiff.compiled.recorded import Line, Place
from simpleautodiff.number import optional
from simpleautodiff.primitives import Primitive
from simpleautodiff.rules.row import TABLE

if TYPE_CHECKING:
    from simpleautodiff.compiled.large.planning import Plan


class Lapack:
    """What LAPACK does with copies of matrices, one after the other.

    Parameters
    ----------
    name
        What it does (see `lapack`).
    stack
        How many matrices there are, along each axis.
    rows, columns
        Of a matrix as it lies in memory, row by row.
    behind
        How many elements follow each matrix, for what else comes out.
    work
        How many elements follow all of them, to work in.
    option
        What the function is told: whether a matrix is transposed, triangular or the like.

    Attributes
    ----------
    must : bool
        Whether NumPy refuses a matrix that has no inverse.
    is_in_place : bool
        Whether it begins with a copy of the first argument.
    """

    def __init__(
        self,
        name: str,
        stack: Shape,
        rows: int,
        columns: int,
        behind: int = 0,
        work: int = 0,
        option: str = "",
    ) -> None:
        self.name, self.stack, self.rows, self.columns = name, stack, rows, columns
        self.each = rows * columns + behind
        self.work, self.option = work, option
        self.must = True
        self.is_in_place = name != "det_sign"

    @property
    def count(self) -> int:
        """How many matrices there are."""
        return math.prod(self.stack)

    @property
    def size(self) -> int:
        """How many elements it takes in all."""
        return self.count * self.each + self.work

    def copied(self, number: int) -> View:
        """Return where the matrices are that are worked on."""
        far = [self.each * step for step in steps(self.stack)]
        shape = (*self.stack, self.rows, self.columns)
        return View(number, shape, 0, (*far, self.columns, 1))

    def __str__(self) -> str:
        sizes = "x".join(map(str, (*self.stack, self.rows, self.columns)))
        return f"{self.name} {sizes}"


def by_lapack(plan: Plan, line: Line) -> Place | None:
    """Add the lines that a row of linear algebra is made of; None if it is left to NumPy."""
    make = _ROWS.get(line.what) if isinstance(line.what, Primitive) else None
    if make is None or not has_scipy():
        return None
    given = line.args[: _MATRICES.get(line.name, 1)]
    dtype = line.dtype if line.name != "is_singular" else _dtype(plan, given[0])
    if kind_of(dtype) not in ("d", "f"):
        return None
    matrices = [_in_kind(plan, x, dtype) for x in given]
    shapes = [_shape(plan, x) if x is not None else (0,) for x in matrices]
    if any(0 in shape or len(shape) < 2 for shape in shapes):
        return None
    return make(plan, line, *matrices)


@cache
def has_scipy() -> bool:
    """Tell whether SciPy is there, with BLAS and LAPACK."""
    return importlib.util.find_spec("scipy") is not None


# Lines. -------------------------------------------------------------------------------------------


def _in_kind(plan: Plan, x: Any, dtype: Any) -> Any:
    """Return an argument in the kind of the result; None if it is none that is compiled."""
    if isinstance(x, np.ndarray):
        return x if x.dtype == dtype else x.astype(dtype)
    if type(x) is not Place or plan.kind(x) is None:
        return None
    if plan.lines[x].dtype == dtype:
        return x
    return plan.append(Line(TABLE["astype"], (x, dtype), {}, plan.lines[x].shape, dtype))


def _shape(plan: Plan, x: Any) -> Shape:
    shape: Shape = plan.lines[x].shape if type(x) is Place else x.shape
    return shape


def _dtype(plan: Plan, x: Any) -> Any:
    return plan.lines[x].dtype if type(x) is Place else np.asarray(x).dtype


def _row(plan: Plan, name: str, args: tuple[Any, ...], shape: Shape, like: Any) -> Place:
    """Add a line with a row, of the kind of a line that is there."""
    return plan.append(Line(TABLE[name], args, {}, shape, plan.lines[like].dtype))


def _swap(plan: Plan, x: Place) -> Place:
    """Add the transposes of matrices."""
    shape, rank = _shape(plan, x), len(_shape(plan, x))
    axes = (*range(rank - 2), rank - 1, rank - 2)
    return _row(plan, "transpose", (x, axes), _turned(shape), x)


def _swapped(plan: Plan, x: Any) -> Any:
    """Return the transposes of matrices, which may be constant."""
    return _swap(plan, x) if type(x) is Place else np.swapaxes(x, -1, -2)


def _spread(plan: Plan, x: Any, shape: Shape) -> Any:
    """Return matrices for every place in a stack."""
    is_line = type(x) is Place
    return (
        _row(plan, "broadcast_to", (x, shape), shape, x) if is_line else np.broadcast_to(x, shape)
    )


def _part(plan: Plan, x: Place, start: int, shape: Shape) -> Place:
    """Return some elements of each block that LAPACK has worked on, in a shape."""
    what = plan.lines[x].what
    if what.work:
        used = what.count * what.each
        x = _row(plan, "getitem", (x, (slice(0, used),)), (used,), x)
    x = _row(plan, "reshape", (x, (*what.stack, what.each)), (*what.stack, what.each), x)
    size = math.prod(shape)
    index = (..., slice(start, start + size))
    x = _row(plan, "getitem", (x, index), (*what.stack, size), x)
    return _row(plan, "reshape", (x, (*what.stack, *shape)), (*what.stack, *shape), x)


def _added(plan: Plan, what: Lapack, args: tuple[Any, ...], dtype: Any) -> Place:
    return plan.append(Line(what, args, {}, (what.size,), dtype))


def _shared(plan: Plan, name: str, a: Any, make: Callable[[], Place]) -> tuple[Place, bool]:
    """Return what was made of a matrix or of its transpose, and whether of the transpose."""
    view = plan.view(a)
    turned = view._replace(shape=_turned(view.shape), strides=_turned(view.strides))
    for key, is_turned in ((view, False), (turned, True)):
        if (name, key) in plan.factors:
            return plan.factors[name, key], is_turned
    plan.factors[name, view] = made = make()
    return made, False


def _turned(sizes: Shape) -> Shape:
    return (*sizes[:-2], sizes[-1], sizes[-2])


# Systems. -----------------------------------------------------------------------------------------


def _lu(plan: Plan, a: Any, dtype: Any, must: bool = True) -> tuple[Place, bool]:
    """Return the line of L, U and exchanges of rows, and whether they are those of aᵀ."""
    *stack, n, _ = _shape(plan, a)

    def make() -> Place:
        what = Lapack("lu", tuple(stack), n, n, behind=n)
        what.must = False
        return _added(plan, what, (_swapped(plan, a),), dtype)

    lu, turned = _shared(plan, "lu", a, make)
    plan.lines[lu].what.must |= must
    return lu, turned


def _solved(plan: Plan, a: Any, b: Any, stack: Shape, dtype: Any) -> Place:
    """Return a⁻¹ b, for all matrices of a stack."""
    own = _shape(plan, a)
    if math.prod(own[:-2]) > 1 and own[:-2] != stack:
        a = _spread(plan, a, (*stack, *own[-2:]))
    lu, turned = _lu(plan, a, dtype)
    n, k = _shape(plan, b)[-2:]
    what = Lapack("lu_solve", stack, k, n, option="T" if turned else "N")
    solved = _added(plan, what, (_swapped(plan, b), lu), dtype)
    return _swap(plan, _part(plan, solved, 0, (k, n)))


def _solve(plan: Plan, line: Line, a: Any, b: Any) -> Place:
    return _solved(plan, a, b, line.shape[:-2], line.dtype)


def _inv(plan: Plan, line: Line, a: Any) -> Place:
    """Solve for the unit matrix, as NumPy does."""
    one = np.eye(line.shape[-1], dtype=line.dtype)
    made, turned = _shared(
        plan, "inv", a, lambda: _solved(plan, a, one, line.shape[:-2], line.dtype)
    )
    return _swap(plan, made) if turned else made


def _solve_triangular(plan: Plan, line: Line, a: Any, b: Any) -> Place | None:
    """Solve with one triangle; what SciPy refuses (nan, inf) is found before."""
    lower, unit = line.args[2:]
    stack = line.shape[:-2]
    if type(a) is not Place or not (stack == () or _shape(plan, a)[:-2] == stack):
        return None
    a = plan.copy(a) if stack else plan.multipliable(a)
    largest = [_largest(plan, x) for x in (a, b) if type(x) is Place]
    if type(b) is not Place and not np.isfinite(b).all():
        return None
    view = plan.views[a]
    known = layout(View(0, view.shape[-2:], 0, view.strides[-2:]))
    assert known is not None  # else it would have been copied
    by_columns, _ = known
    option = "LN" if lower and by_columns else "UT" if lower else "UN" if by_columns else "LT"
    n, k = _shape(plan, b)[-2:]
    what = Lapack("solve_triangular", stack, k, n, option=option + ("U" if unit else "N"))
    solved = _added(plan, what, (_swapped(plan, b), a, *largest), line.dtype)
    return _swap(plan, _part(plan, solved, 0, (k, n)))


def _largest(plan: Plan, x: Place) -> Place:
    """Return how large the largest element is; that of what is not finite is not, either."""

    def make() -> Place:
        size = _row(plan, "abs", (x,), _shape(plan, x), x)
        return _row(plan, "max", (size, None, False), (), x)

    return _shared(plan, "largest", x, make)[0]


# Determinants. ------------------------------------------------------------------------------------


def _logabsdet(plan: Plan, line: Line, a: Any) -> Place:
    """Add up the logarithms of the diagonal of U."""
    n, stack = _shape(plan, a)[-1], line.shape
    lu, _ = _lu(plan, a, line.dtype, must=False)
    whole = _row(plan, "reshape", (lu, (*stack, n * (n + 1))), (*stack, n * (n + 1)), lu)
    index = (..., slice(None, None, n + 1))
    diagonal = _row(plan, "getitem", (whole, index), (*stack, n), lu)
    size = _row(plan, "abs", (diagonal,), (*stack, n), lu)
    logarithm = _row(plan, "log", (size,), (*stack, n), lu)
    return _row(plan, "sum", (logarithm, (len(stack),), False), stack, lu)


def _sign(plan: Plan, line: Line, a: Any) -> Place:
    """Count the exchanges of rows, and what is negative on the diagonal of U."""
    lu, _ = _lu(plan, a, line.dtype, must=False)
    sign = _added(plan, Lapack("det_sign", line.shape, 1, 1), (lu,), line.dtype)
    return _row(plan, "reshape", (sign, line.shape), line.shape, lu)


def _det(plan: Plan, line: Line, a: Any) -> Place:
    """Return the sign times the exponential of the logarithm, as NumPy does."""
    sign, logarithm = _sign(plan, line, a), _logabsdet(plan, line, a)
    size = _row(plan, "exp", (logarithm,), line.shape, logarithm)
    return _row(plan, "mul", (sign, size), line.shape, size)


# Factors. -----------------------------------------------------------------------------------------


def _cholesky(plan: Plan, line: Line, a: Any) -> Place:
    """Row by row, the lower factor is LAPACK's upper one; the other half keeps what it was."""
    n = line.shape[-1]
    whole = _added(plan, Lapack("cholesky", line.shape[:-2], n, n), (a,), line.dtype)
    factor = _part(plan, whole, 0, (n, n))
    return _row(plan, "where", (np.tri(n, dtype=bool), factor, 0.0), line.shape, factor)


def _eigh(plan: Plan, line: Line, a: Any) -> Place:
    """Return the line of eigenvectors, row by row, and the eigenvalues behind them."""
    *stack, n, _ = _shape(plan, a)
    work = 1 + 6 * n + 2 * n * n + 3 + 5 * n
    what = Lapack("eigh", tuple(stack), n, n, behind=n, work=work)
    view = plan.view(a)
    if ("eigh", view) not in plan.factors:
        plan.factors["eigh", view] = _added(plan, what, (_swapped(plan, a),), line.dtype)
    return plan.factors["eigh", view]


def _eigenvalues(plan: Plan, line: Line, a: Any) -> Place:
    n = line.shape[-1]
    return _part(plan, _eigh(plan, line, a), n * n, (n,))


def _eigenvectors(plan: Plan, line: Line, a: Any) -> Place:
    n = line.shape[-1]
    return _swap(plan, _part(plan, _eigh(plan, line, a), 0, (n, n)))


def _is_singular(plan: Plan, line: Line, a: Any) -> Place:
    """Compare the smallest and the largest singular value, as NumPy does for the rank."""
    n, stack, dtype = _shape(plan, a)[-1], line.shape, _dtype(plan, a)
    work = _work_of_svd(n, dtype) + 8 * n
    what = Lapack("singular_values", stack, n, n, behind=n, work=work)
    values = _part(plan, _added(plan, what, (a,), dtype), n * n, (n,))
    first, last = (_row(plan, "getitem", (values, (..., k)), stack, values) for k in (0, -1))
    bound = _row(plan, "mul", (first, n * float(np.finfo(dtype).eps)), stack, values)
    truth = np.dtype(bool)
    regular = plan.append(Line(np.greater, (last, bound), {}, stack, truth))
    return plan.append(Line(np.invert, (regular,), {}, stack, truth))


def _work_of_svd(n: int, dtype: Any) -> int:
    """Ask LAPACK how much it wants to work in."""
    lapack = optional("scipy.linalg.lapack", "singular values in compiled code")
    ask = lapack.dgesdd_lwork if dtype.char == "d" else lapack.sgesdd_lwork
    return int(ask(n, n, compute_uv=False)[0])


_ROWS: dict[Primitive, Callable[..., Place | None]] = {
    TABLE["solve"]: _solve,
    TABLE["inv"]: _inv,
    TABLE["solve_triangular"]: _solve_triangular,
    TABLE["logabsdet"]: _logabsdet,
    TABLE["det"]: _det,
    TABLE["cholesky"]: _cholesky,
    TABLE["eigenvalues"]: _eigenvalues,
    TABLE["eigenvectors"]: _eigenvectors,
    TABLE["det_sign"]: _sign,
    TABLE["is_singular"]: _is_singular,
}
_MATRICES = {"solve": 2, "solve_triangular": 2}  # arguments, where there is not one alone
