"""Rows of linear algebra that are computed by LAPACK, which SciPy provides."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from simpleautodiff.compiled.array.linalg import decompose as factors, solve as systems
from simpleautodiff.compiled.array.linalg.matrix_calls import dtype_of, in_dtype, shape_of
from simpleautodiff.compiled.recording.trace_program import Line, Ref
from simpleautodiff.compiled.scalar.lower_rows import dtype_letter
from simpleautodiff.core.primitive import Primitive
from simpleautodiff.rules.row import TABLE

if TYPE_CHECKING:
    from simpleautodiff.compiled.array.schedule import LoopSchedule


def lower_to_lapack(plan: LoopSchedule, line: Line) -> Ref | None:
    """Add the lines that compute a row of linear algebra; None if it is left to NumPy."""
    make = _ROWS.get(line.what) if isinstance(line.what, Primitive) else None
    if make is None or not has_scipy():
        return None
    given = line.args[: _MATRICES.get(line.name, 1)]
    dtype = line.dtype if line.name != "is_singular" else dtype_of(plan, given[0])
    if dtype_letter(dtype) not in ("d", "f"):
        return None
    matrices = [in_dtype(plan, x, dtype) for x in given]
    shapes = [shape_of(plan, x) if x is not None else (0,) for x in matrices]
    if any(0 in shape or len(shape) < 2 for shape in shapes):
        return None
    return make(plan, line, *matrices)


@cache
def has_scipy() -> bool:
    """Tell whether SciPy is installed, with BLAS and LAPACK."""
    return importlib.util.find_spec("scipy") is not None


_ROWS: dict[Primitive, Callable[..., Ref | None]] = {
    TABLE["solve"]: systems.solve,
    TABLE["inv"]: systems.inv,
    TABLE["solve_triangular"]: systems.solve_triangular,
    TABLE["logabsdet"]: systems.logabsdet,
    TABLE["det"]: systems.det,
    TABLE["cholesky"]: factors.cholesky,
    TABLE["eigenvalues"]: factors.eigenvalues,
    TABLE["eigenvectors"]: factors.eigenvectors,
    TABLE["svd"]: factors.svd,
    TABLE["pinv"]: factors.pinv,
    TABLE["qr"]: factors.qr,
    TABLE["det_sign"]: systems.sign,
    TABLE["is_singular"]: systems.is_singular,
}
_MATRICES = {"solve": 2, "solve_triangular": 2}  # number of matrices, if not one
