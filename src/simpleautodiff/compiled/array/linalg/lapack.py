"""Solutions and factors of matrices as calls of LAPACK, which SciPy brings along.

What fails (a matrix without an inverse, one that is not positive definite) is said by a status: the
program is run again by NumPy, which raises its error, unless a guard before fails.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable

from simpleautodiff.compiled.array.build_loops import Factor
from simpleautodiff.compiled.array.linalg.blas import Writer
from simpleautodiff.compiled.array.view_accesses import View, apart, layout, matrix_of
from simpleautodiff.compiled.backends.llvm.instructions import BYTES
from simpleautodiff.compiled.backends.llvm.module import ATTRIBUTES
from simpleautodiff.compiled.backends.llvm.shared_code import Shared

FAILED = -3


def write_factor(module: Shared, piece: Factor) -> tuple[str, list[int]]:
    """Write a call of LAPACK as a function of the addresses of its buffers, giving a status."""
    writer = _Matrices(module, piece)
    _CALLS[piece.what.name](writer)
    slots = [piece.number, *[view.root for view in piece.reads]]
    taken = ", ".join([f"ptr %base{k}" for k in range(len(slots))])
    text = "\n".join([f"({taken}) {ATTRIBUTES} {{", *writer.text(), "}"])
    return module.function(piece.what.name, text, "i32"), slots


class _Matrices(Writer):
    """Writes a loop over matrices: what is done with one, and a status where that fails."""

    def __init__(self, module: Shared, piece: Factor) -> None:
        super().__init__(module, piece.kind)
        self.what, self.reads = piece.what, piece.reads
        self.count = piece.what.count
        self.body: list[str] = []
        self.made = 0

    def new(self, text: str) -> str:
        """Write an instruction of the body, and return what its result is called."""
        self.made += 1
        self.body.append(f"  %v{self.made} = {text}")
        return f"%v{self.made}"

    def at(self, base: int, far: str | int, kind: str = "") -> str:
        """Return the address of an element of a buffer."""
        return self.new(f"getelementptr {kind or self.element}, ptr %base{base}, i64 {far}")

    def own(self, beyond: int = 0) -> str:
        """Return the address of the matrix at hand, or of what is behind it."""
        far = self.new(f"mul i64 %i, {self.what.each}")
        return f"ptr {self.at(0, self.new(f'add i64 {far}, {beyond}'))}"

    def other(self, k: int, each: int, beyond: int = 0) -> str:
        """Return the address of the matrix that is read along with it."""
        far = self.new(f"mul i64 %i, {each}")
        return f"ptr {self.at(k + 1, self.new(f'add i64 {far}, {beyond}'))}"

    def working(self, beyond: int = 0) -> str:
        """Return the address of the elements to work in."""
        return f"ptr {self.at(0, self.count * self.what.each + beyond)}"

    def said(self, letters: str) -> list[str]:
        """Return letters that say what is to be done."""
        return [self.given("i8", str(ord(letter))) for letter in letters]

    def lapack(self, function: str, args: list[str], must: bool = True) -> None:
        """Call a function of LAPACK, which may fail."""
        info = self.given("i32", "0")
        self.body.append("  " + self.called(function, [*args, info]))
        if must:
            self.require(f"icmp eq i32 {self.new(f'load i32, {info}')}, 0")

    def require(self, text: str) -> None:
        """Go on if something is true."""
        good = self.new(text)
        self.body.append(f"  br i1 {good}, label %good{self.made}, label %failed")
        self.body.append(f"good{self.made}:")

    def text(self) -> list[str]:
        """Return the whole function but for its head."""
        return [
            *self.lines,
            "  br label %matrix",
            "matrix:",
            "  %i = phi i64 [ 0, %0 ], [ %next, %end ]",
            *self.body,
            "  br label %end",
            "end:",
            "  %next = add i64 %i, 1",
            f"  %more = icmp slt i64 %next, {self.count}",
            "  br i1 %more, label %matrix, label %done",
            "done:",
            "  ret i32 0",
            "failed:",
            f"  ret i32 {FAILED}",
        ]


def _lu(writer: _Matrices) -> None:
    n = writer.what.columns
    size = writer.size(n)
    args = [size, size, writer.own(), size, writer.own(n * n)]
    writer.lapack("getrf", args, writer.what.must)


def _regular(writer: _Matrices) -> None:
    """Estimate from the factors, and from the norm, how far a matrix is from a singular one."""
    n = math.isqrt(math.prod(writer.reads[0].shape) // writer.what.count)
    size, found = writer.size(n), writer.working(5 * n)
    matrix = [*writer.said("1"), size, writer.other(0, n * (n + 1)), size, writer.own()]
    writer.lapack("gecon", [*matrix, found, writer.working(), writer.working(4 * n)])
    power = math.frexp(n * n)[1] + (7 - 52 if writer.kind == "d" else 7 - 23)  # it is an estimate
    number = writer.new(f"load {writer.element}, {found}")
    near = struct.pack(">d", 2.0**power).hex().upper()
    writer.require(f"fcmp ogt {writer.element} {number}, 0x{near}")


def _lu_solve(writer: _Matrices) -> None:
    """Solve with factors; those of a single matrix for all right sides at once."""
    what = writer.what
    k, n = what.rows, what.columns
    single = math.prod(writer.reads[0].shape) == n * (n + 1)
    if single:
        k, writer.count = k * what.count, 1
    size, far = writer.size(n), 0 if single else n * (n + 1)
    factors = [writer.other(0, far), size, writer.other(0, far, n * n)]
    args = [*writer.said(what.option), size, writer.size(k), *factors, writer.own(), size]
    writer.lapack("getrs", args)


def _solve_triangular(writer: _Matrices) -> None:
    what, (a, *largest) = writer.what, writer.reads
    for k in range(len(largest)):
        number = writer.new(f"load {writer.element}, ptr {writer.at(k + 2, 0)}")
        writer.require(f"fcmp one {writer.element} {number}, 0x7FF0000000000000")
    k, n = what.rows, what.columns
    if not apart(a):  # one matrix for all right sides
        k, writer.count = k * what.count, 1
    size, matrix = writer.size(n), writer.other(0, apart(a) or 0, a.offset)
    sizes = [size, writer.size(k), matrix, writer.size(_far(a))]
    writer.lapack("trtrs", [*writer.said(what.option), *sizes, writer.own(), size])


def _far(a: View) -> int:
    known = layout(matrix_of(a))
    assert known is not None  # else it would have been copied
    return known[1]


def _cholesky(writer: _Matrices) -> None:
    size = writer.size(writer.what.columns)
    writer.lapack("potrf", [*writer.said("U"), size, writer.own(), size])


def _eigh(writer: _Matrices) -> None:
    n = writer.what.columns
    size, work = writer.size(n), 1 + 6 * n + 2 * n * n
    rest = [writer.working(), writer.size(work), writer.working(work), writer.size(3 + 5 * n)]
    args = [*writer.said("VL"), size, writer.own(), size, writer.own(n * n), *rest]
    writer.lapack("syevd", args)


def _svd(writer: _Matrices) -> None:
    """Find singular values and vectors, which lie behind the matrix."""
    what = writer.what
    m, n = what.columns, what.rows
    k, rows = min(m, n), writer.size(m)
    work = what.work - 8 * k
    values = m * n
    left, right = values + k, values + k + k * m
    results = [writer.own(values), writer.own(left), rows, writer.own(right), writer.size(k)]
    rest = [writer.working(), writer.size(work), writer.working(work)]
    matrix = [rows, writer.size(n), writer.own(), rows]
    writer.lapack("gesdd", [*writer.said("S"), *matrix, *results, *rest])


def _qr(writer: _Matrices) -> None:
    m, n = writer.what.columns, writer.what.rows
    rows, work = writer.size(m), writer.size(writer.what.work)
    args = [rows, writer.size(n), writer.own(), rows, writer.own(m * n), writer.working(), work]
    writer.lapack("geqrf", args)


def _qr_columns(writer: _Matrices) -> None:
    m, n = writer.what.columns, writer.what.rows
    rows, columns = writer.size(m), writer.size(n)
    behind = writer.other(0, m * n + n, m * n)
    work = [writer.working(), writer.size(writer.what.work)]
    writer.lapack("orgqr", [rows, columns, columns, writer.own(), rows, behind, *work])


def _det_sign(writer: _Matrices) -> None:
    """Multiply the signs of the diagonal, and change it where a row was exchanged."""
    n = math.isqrt(math.prod(writer.reads[0].shape) // writer.what.count)
    element = writer.element
    name = writer.module.function("signs", _signs(n, element, BYTES[writer.kind]), "i32")
    writer.body.append(f"  call i32 @{name}({writer.other(0, n * (n + 1))}, {writer.own()})")


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


_CALLS: dict[str, Callable[[_Matrices], None]] = {
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
