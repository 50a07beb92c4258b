"""Products of vectors and matrices as calls of BLAS, which SciPy brings along.

BLAS thinks of matrices column by column, NumPy row by row: what is a matrix to one is its transpose
to the other, so the factors change places. A transposed matrix is a letter, not a copy.
"""

from __future__ import annotations

import math
from dataclasses import replace

from simpleautodiff.compiled.array.build_loops import Product
from simpleautodiff.compiled.array.view_accesses import View, apart, layout, matrix_of
from simpleautodiff.compiled.backends.llvm.instructions import BYTES, ELEMENT
from simpleautodiff.compiled.backends.llvm.module import ATTRIBUTES
from simpleautodiff.compiled.backends.llvm.shared_code import Shared

_LETTER = {"d": "d", "f": "s"}


def write_product(module: Shared, product: Product) -> tuple[str, list[int]]:
    """Write a product as a function of the addresses of its buffers (see `write_loop`)."""
    slots = [product.left.root, product.right.root, product.number]
    if max(len(product.left.shape), len(product.right.shape)) > 2:
        return _write_stack(module, product), slots
    return _write_one(module, product), slots


def _write_stack(module: Shared, product: Product) -> str:
    """Write a loop over products of matrices."""
    views = (product.left, product.right)
    left, right = (matrix_of(view) for view in views)
    one = _write_one(module, replace(product, left=left, right=right))
    far = [apart(view) for view in views]
    far.append(math.prod(product.result[-2:]))
    lines = []
    for key, step in zip(("left.base", "right.base", "result"), far, strict=True):
        lines.append(f"  %{key}.far = mul i64 %i, {step}")
        lines.append(
            f"  %{key}.at = getelementptr {ELEMENT[product.kind]}, ptr %{key}, i64 %{key}.far"
        )
    text = [
        f"(ptr %left.base, ptr %right.base, ptr %result) {ATTRIBUTES} {{",
        "  br label %matrix",
        "matrix:",
        "  %i = phi i64 [ 0, %0 ], [ %next, %matrix ]",
        *lines,
        f"  call void @{one}(ptr %left.base.at, ptr %right.base.at, ptr %result.at)",
        "  %next = add i64 %i, 1",
        f"  %more = icmp slt i64 %next, {math.prod(product.result[:-2])}",
        "  br i1 %more, label %matrix, label %done",
        "done:",
        "  ret void",
        "}",
    ]
    return module.function("products", "\n".join(text))


def _write_one(module: Shared, product: Product) -> str:
    writer = Writer(module, product.kind)
    for key, view in (("%left", product.left), ("%right", product.right)):
        offset = view.offset * BYTES[product.kind]
        writer.lines.append(f"  {key} = getelementptr i8, ptr {key}.base, i64 {offset}")
    ranks = len(product.left.shape), len(product.right.shape)
    if ranks == (1, 1):
        _dot(writer, product)
    elif ranks == (2, 1):
        _by_vector(writer, product.left, "%left", product.right, "%right", turned=False)
    elif ranks == (1, 2):
        _by_vector(writer, product.right, "%right", product.left, "%left", turned=True)
    else:
        _by_matrix(writer, product)
    head = f"(ptr %left.base, ptr %right.base, ptr %result) {ATTRIBUTES} {{"
    return module.function("product", "\n".join([head, *writer.lines, "  ret void", "}"]))


class Writer:
    """Writes calls of BLAS and LAPACK, which take the addresses of all numbers."""

    def __init__(self, module: Shared, kind: str) -> None:
        self.module, self.kind, self.lines = module, kind, list[str]()
        self.element, self._given = ELEMENT[kind], 0

    def given(self, kind: str, number: str) -> str:
        """Put a number into memory, where BLAS reads it."""
        self._given += 1
        name = f"%given{self._given}"
        self.lines.append(f"  {name} = alloca {kind}")
        self.lines.append(f"  store {kind} {number}, ptr {name}")
        return f"ptr {name}"

    def size(self, number: int) -> str:
        """Put a size into memory."""
        return self.given("i32", str(number))

    def letter(self, transposed: bool) -> str:
        """Put the letter for a transposed matrix into memory, or that for one as it is."""
        return self.given("i8", str(ord("T" if transposed else "N")))

    def call(self, function: str, args: list[str], gives: str = "void") -> None:
        """Call a function of BLAS."""
        result = "" if gives == "void" else "%product = "
        self.lines.append(f"  {result}{self.called(function, args, gives)}")

    def called(self, function: str, args: list[str], gives: str = "void") -> str:
        """Return the text of a call."""
        function = _LETTER[self.kind] + function
        kinds = ", ".join(["ptr"] * len(args))
        self.module.declare(f"{gives} @{function}({kinds})")
        return f"call {gives} @{function}({', '.join(args)})"


def _dot(writer: Writer, product: Product) -> None:
    n = product.left.shape[0]
    steps = [writer.size(_found(view)[1]) for view in (product.left, product.right)]
    args = [writer.size(n), "ptr %left", steps[0], "ptr %right", steps[1]]
    writer.call("dot", args, writer.element)
    writer.lines.append(f"  store {writer.element} %product, ptr %result")


def _by_vector(writer: Writer, matrix: View, m: str, vector: View, v: str, turned: bool) -> None:
    by_columns, apart = _found(matrix)
    rows, columns = matrix.shape if by_columns else matrix.shape[::-1]
    one, zero = writer.given(writer.element, "1.0"), writer.given(writer.element, "0.0")
    step = writer.size(_found(vector)[1])
    sizes = [writer.size(rows), writer.size(columns)]
    head = [writer.letter(by_columns == turned), *sizes, one]
    rest = [f"ptr {m}", writer.size(apart), f"ptr {v}", step, zero, "ptr %result", writer.size(1)]
    writer.call("gemv", [*head, *rest])


def _by_matrix(writer: Writer, product: Product) -> None:
    left, right = _found(product.left), _found(product.right)
    (rows, inner), columns = product.left.shape, product.right.shape[1]
    one, zero = writer.given(writer.element, "1.0"), writer.given(writer.element, "0.0")
    letters = [writer.letter(right[0]), writer.letter(left[0])]
    sizes = [writer.size(n) for n in (columns, rows, inner)]
    factors = ["ptr %right", writer.size(right[1]), "ptr %left", writer.size(left[1])]
    result = [zero, "ptr %result", writer.size(columns)]
    writer.call("gemm", [*letters, *sizes, one, *factors, *result])


def _found(view: View) -> tuple[bool, int]:
    known = layout(view)
    assert known is not None  # else it would have been copied
    return known
