"""Solutions and factors of matrices as calls of LAPACK, which SciPy provides.

A failure (a singular matrix, one that is not positive definite) is reported by a status: NumPy then
runs the program again and raises its error, unless an earlier guard fails.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable

from simpleautodiff.compiled.array.build_loops import LapackCall
from simpleautodiff.compiled.array.view_accesses import View, apart, find_matrix_layout, matrix_of
from simpleautodiff.compiled.backends.llvm.blas import BlasBuilder
from simpleautodiff.compiled.backends.llvm.instructions import BYTES
from simpleautodiff.compiled.backends.llvm.module import ATTRIBUTES, Module
from simpleautodiff.compiled.scalar.scalar_program import LEFT_TO_NUMPY


def write_factor(module: Module, piece: LapackCall) -> tuple[str, list[int]]:
    """Write a call of LAPACK as a function of the addresses of its buffers; it returns a status."""
    builder = LapackBuilder(module, piece)
    _CALLS[piece.what.name](builder)
    slots = [piece.number, *[view.root for view in piece.reads]]
    taken = ", ".join([f"ptr %base{k}" for k in range(len(slots))])
    text = "\n".join([f"({taken}) {ATTRIBUTES} {{", *builder.each(), "}"])
    return module.function(piece.what.name, text, "i32"), slots


class LapackBuilder(BlasBuilder):
    """Writes a loop over matrices: the work on one, and a status for failures."""

    def __init__(self, module: Module, piece: LapackCall) -> None:
        super().__init__(module, piece.dtype)
        self.what, self.reads = piece.what, piece.reads
        self.matrices = piece.what.count

    def at(self, base: int, far: str | int, kind: str = "") -> str:
        """Return the address of an element of a buffer."""
        return self.new(f"getelementptr {kind or self.element}, ptr %base{base}, i64 {far}")

    def matrix_address(self, beyond: int = 0) -> str:
        """Return the address of the current matrix, or of the memory behind it."""
        far = self.new(f"mul i64 %i, {self.what.each}")
        return f"ptr {self.at(0, self.new(f'add i64 {far}, {beyond}'))}"

    def other_address(self, k: int, each: int, beyond: int = 0) -> str:
        """Return the address of a matrix that is read with the current one."""
        far = self.new(f"mul i64 %i, {each}")
        return f"ptr {self.at(k + 1, self.new(f'add i64 {far}, {beyond}'))}"

    def work_address(self, beyond: int = 0) -> str:
        """Return the address of the work memory."""
        return f"ptr {self.at(0, self.matrices * self.what.each + beyond)}"

    def by_letters(self, letters: str) -> list[str]:
        """Return option letters, in memory."""
        return [self.by_address("i8", str(ord(letter))) for letter in letters]

    def lapack(self, function: str, args: list[str], must: bool = True) -> None:
        """Call a function of LAPACK, which may fail."""
        info = self.by_address("i32", "0")
        self.line(self.call_text(function, [*args, info]))
        if must:
            self.require(f"icmp eq i32 {self.new(f'load i32, {info}')}, 0")

    def require(self, text: str) -> None:
        """Continue if a condition is true, else return a status."""
        self.go_on_if(self.new(text), "failed")

    def each(self) -> list[str]:
        """Return the body of the function: a loop over the matrices."""
        return [
            *self.first,
            "  br label %matrix",
            "matrix:",
            "  %i = phi i64 [ 0, %0 ], [ %next, %end ]",
            *self.lines,
            "  br label %end",
            "end:",
            "  %next = add i64 %i, 1",
            f"  %more = icmp slt i64 %next, {self.matrices}",
            "  br i1 %more, label %matrix, label %done",
            "done:",
            "  ret i32 0",
            "failed:",
            f"  ret i32 {LEFT_TO_NUMPY}",
        ]


def _lu(builder: LapackBuilder) -> None:
    n = builder.what.columns
    size = builder.size(n)
    args = [size, size, builder.matrix_address(), size, builder.matrix_address(n * n)]
    builder.lapack("getrf", args, builder.what.must)


def _regular(builder: LapackBuilder) -> None:
    """Estimate from the factors, and from the norm, how far a matrix is from a singular one."""
    n = math.isqrt(math.prod(builder.reads[0].shape) // builder.what.count)
    size, found = builder.size(n), builder.work_address(5 * n)
    matrix = [
        *builder.by_letters("1"),
        size,
        builder.other_address(0, n * (n + 1)),
        size,
        builder.matrix_address(),
    ]
    builder.lapack("gecon", [*matrix, found, builder.work_address(), builder.work_address(4 * n)])
    power = math.frexp(n * n)[1] + (7 - 52 if builder.dtype == "d" else 7 - 23)  # a margin
    number = builder.new(f"load {builder.element}, {found}")
    near = struct.pack(">d", 2.0**power).hex().upper()
    builder.require(f"fcmp ogt {builder.element} {number}, 0x{near}")


def _lu_solve(builder: LapackBuilder) -> None:
    """Solve with factors; those of a single matrix for all right-hand sides at once."""
    what = builder.what
    k, n = what.rows, what.columns
    single = math.prod(builder.reads[0].shape) == n * (n + 1)
    if single:
        k, builder.matrices = k * what.count, 1
    size, far = builder.size(n), 0 if single else n * (n + 1)
    factors = [builder.other_address(0, far), size, builder.other_address(0, far, n * n)]
    args = [
        *builder.by_letters(what.option),
        size,
        builder.size(k),
        *factors,
        builder.matrix_address(),
        size,
    ]
    builder.lapack("getrs", args)


def _solve_triangular(builder: LapackBuilder) -> None:
    what, (a, *largest) = builder.what, builder.reads
    for k in range(len(largest)):
        number = builder.new(f"load {builder.element}, ptr {builder.at(k + 2, 0)}")
        builder.require(f"fcmp one {builder.element} {number}, 0x7FF0000000000000")
    k, n = what.rows, what.columns
    if not apart(a):  # one matrix for all right-hand sides
        k, builder.matrices = k * what.count, 1
    size, matrix = builder.size(n), builder.other_address(0, apart(a) or 0, a.offset)
    sizes = [size, builder.size(k), matrix, builder.size(_far(a))]
    builder.lapack(
        "trtrs", [*builder.by_letters(what.option), *sizes, builder.matrix_address(), size]
    )


def _far(a: View) -> int:
    known = find_matrix_layout(matrix_of(a))
    assert known is not None  # else it would have been copied
    return known[1]


def _cholesky(builder: LapackBuilder) -> None:
    size = builder.size(builder.what.columns)
    builder.lapack("potrf", [*builder.by_letters("U"), size, builder.matrix_address(), size])


def _eigh(builder: LapackBuilder) -> None:
    n = builder.what.columns
    size, work = builder.size(n), 1 + 6 * n + 2 * n * n
    rest = [
        builder.work_address(),
        builder.size(work),
        builder.work_address(work),
        builder.size(3 + 5 * n),
    ]
    args = [
        *builder.by_letters("VL"),
        size,
        builder.matrix_address(),
        size,
        builder.matrix_address(n * n),
        *rest,
    ]
    builder.lapack("syevd", args)


def _svd(builder: LapackBuilder) -> None:
    """Find singular values and vectors, which are stored behind the matrix."""
    what = builder.what
    m, n = what.columns, what.rows
    k, rows = min(m, n), builder.size(m)
    work = what.work - 8 * k
    values = m * n
    left, right = values + k, values + k + k * m
    results = [
        builder.matrix_address(values),
        builder.matrix_address(left),
        rows,
        builder.matrix_address(right),
        builder.size(k),
    ]
    rest = [builder.work_address(), builder.size(work), builder.work_address(work)]
    matrix = [rows, builder.size(n), builder.matrix_address(), rows]
    builder.lapack("gesdd", [*builder.by_letters("S"), *matrix, *results, *rest])


def _qr(builder: LapackBuilder) -> None:
    m, n = builder.what.columns, builder.what.rows
    rows, work = builder.size(m), builder.size(builder.what.work)
    args = [
        rows,
        builder.size(n),
        builder.matrix_address(),
        rows,
        builder.matrix_address(m * n),
        builder.work_address(),
        work,
    ]
    builder.lapack("geqrf", args)


def _qr_columns(builder: LapackBuilder) -> None:
    m, n = builder.what.columns, builder.what.rows
    rows, columns = builder.size(m), builder.size(n)
    behind = builder.other_address(0, m * n + n, m * n)
    work = [builder.work_address(), builder.size(builder.what.work)]
    builder.lapack("orgqr", [rows, columns, columns, builder.matrix_address(), rows, behind, *work])


def _det_sign(builder: LapackBuilder) -> None:
    """Multiply the signs of the diagonal, and flip the sign for every row exchange."""
    n = math.isqrt(math.prod(builder.reads[0].shape) // builder.what.count)
    element = builder.element
    name = builder.module.function("signs", _signs(n, element, BYTES[builder.dtype]), "i32")
    builder.line(
        f"call i32 @{name}({builder.other_address(0, n * (n + 1))}, {builder.matrix_address()})"
    )


def _signs(n: int, element: str, size: int) -> str:
    return f"""(ptr %lu, ptr %sign) {ATTRIBUTES} {{
  br label %each
each:
  %k = phi i64 [ 0, %0 ], [ %next, %each ]
  %so.far = phi {element} [ 1.0, %0 ], [ %now, %each ]
  %next = add i64 %k, 1
  %far = mul i64 %k, {n + 1}
  %at = getelementptr {element}, ptr %lu, i64 %far
  %number = load {element}, ptr %at
  %pivots = getelementptr i8, ptr %lu, i64 {n * n * size}
  %pivot.at = getelementptr i32, ptr %pivots, i64 %k
  %pivot = load i32, ptr %pivot.at
  %row = trunc i64 %next to i32
  %moved = icmp ne i32 %pivot, %row
  %below = fcmp olt {element} %number, 0.0
  %turns = xor i1 %moved, %below
  %zero = fcmp oeq {element} %number, 0.0
  %factor = select i1 %turns, {element} -1.0, {element} 1.0
  %or.zero = select i1 %zero, {element} 0.0, {element} %factor
  %now = fmul {element} %so.far, %or.zero
  %more = icmp slt i64 %next, {n}
  br i1 %more, label %each, label %done
done:
  %positive = fadd {element} %now, 0.0
  store {element} %positive, ptr %sign
  ret i32 0
}}"""


_CALLS: dict[str, Callable[[LapackBuilder], None]] = {
    "lu": _lu,
    "regular": _regular,
    "lu_solve": _lu_solve,
    "solve_triangular": _solve_triangular,
    "cholesky": _cholesky,
    "eigh": _eigh,
    "svd": _svd,
    "qr": _qr,
    "qr_columns": _qr_columns,
    "det_sign": _det_sign,
}
